/* Verification of a session: its whole log is replayed, page by page, and what is stored beside the log
 * (snapshot, index rows, contents) has to be what the replay gives. Repair writes the read models
 * again, as a decision of the session; what the log itself lost is reported and left alone. The session
 * works on while its log is folded; it waits only for the comparison. Owner: the loop thread. */
#ifndef AR_ENGINE_VERIFY_H
#define AR_ENGINE_VERIFY_H

#include "engine.h"

enum ar_verify_verdict {
	AR_VERIFY_FAILED = 0, /* it could not be verified; err says why */
	AR_VERIFY_OK,
	AR_VERIFY_REPAIRED, /* differed, and was written again */
	AR_VERIFY_DIFFERS,
	AR_VERIFY_CORRUPT, /* the log itself has a gap or a fact that cannot follow: nothing is repaired */
};

struct ar_verify_finding {
	const char *what; /* log, snapshot, memory, session.<column>, task, action, content */
	uint64_t sequence; /* of the first bad fact, or of the one that names the content; 0 = none */
	struct ar_str id; /* of the task, the action or the content; absent otherwise */
	struct ar_str stored, folded; /* beginnings of the two texts; absent where there is none */
	struct ar_str message; /* why, where the texts do not say it */
	bool is_repairable, is_repaired;
};

/* A verification on its way. The caller owns it until done(); the results live until
 * ar_engine_verify_fini(). */
struct ar_engine_verify {
	struct ar_str session; /* the 26 characters; borrowed until done() */
	bool repair;
	bool accept_loss; /* the session goes on without the lost end of its log; with repair */
	void (*done)(struct ar_engine_verify *v);

	enum ar_verify_verdict verdict; /* results */
	struct ar_error err; /* FAILED: with a catalogue code */
	uint64_t facts; /* replayed */
	struct ar_verify_finding *findings;
	size_t finding_count;
	bool has_more; /* findings than are listed */

	struct ar_arena arena; /* private from here on */
	struct ar_verify *work;
};

/* Exactly one done(); it may come before this returns when the engine is stopping. */
void ar_engine_verify(struct ar_engine *e, struct ar_engine_verify *v);
void ar_engine_verify_fini(struct ar_engine_verify *v);

#endif
