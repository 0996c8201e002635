/* Inside a verification: its stages, what it has read, what it found. verify.c reads and goes from
 * stage to stage, verify_compare.c compares what was read with the replay. Owner: the loop thread. */
#ifndef AR_ENGINE_VERIFY_PRIV_H
#define AR_ENGINE_VERIFY_PRIV_H

#include "engine_priv.h"
#include "verify/verify.h"
#include "verify/verify_fold.h"

#define AR_VERIFY_FINDINGS 100 /* listed per session */
#define AR_VERIFY_BLOBS 8 /* contents looked at together */

enum ar_verify_stage {
	AR_VERIFY_WHOLE, /* the log, while the session works on */
	AR_VERIFY_REST, /* what it has added since; the session waits from here on */
	AR_VERIFY_TAIL, /* stored snapshot and the facts after it */
	AR_VERIFY_TASKS, /* stored task rows */
	AR_VERIFY_ACTIONS, /* stored action rows */
	AR_VERIFY_AGAIN, /* the log once more, for the rows that are to be written */
};

struct ar_verify {
	struct ar_list node; /* waits in the session's list */
	struct ar_engine *engine;
	struct ar_engine_verify *v;
	struct ar_live *held; /* the session, while it waits for us */
	enum ar_verify_stage stage;
	struct ar_fold whole, tail, again;
	size_t window; /* bytes of the next page */
	bool at_end; /* of the log */
	struct ar_store_read read;
	struct ar_store_blobs_get blobs;
	struct ar_hash hashes[AR_VERIFY_BLOBS];
	size_t refs_seen; /* of whole.refs */
	struct ar_fold_ref *absent; /* contents that are not stored; a later fact may say why */
	size_t absent_count, absent_room;
	struct ar_store_index index;
	struct ar_store_tasks tasks;
	struct ar_store_actions actions;
	struct ar_fold_kept bad[AR_FOLD_KEEP_MAX]; /* rows that are to be written */
	size_t bad_count;
	struct ar_engine_request request;
	struct ar_repair repair;
	struct ar_store_task_row *task_rows; /* of the repair, in v's arena */
	struct ar_store_action_row *action_rows;
	bool is_corrupt;
	/* last fact of an end of the log that is lost, and that the session is to go on without; 0: none */
	uint64_t lost_to;
};

/* Lists a finding; text is copied, long text cut. */
void ar_verify_find(struct ar_verify *w, const struct ar_verify_finding *f);

/* verify_compare.c. Each lists what differs. */
void ar_verify_log_broken(struct ar_verify *w, const char *why); /* at fact whole.state.head + 1 */
void ar_verify_contents(struct ar_verify *w); /* of w->blobs; what is absent is only noted */
void ar_verify_absent(struct ar_verify *w); /* those that no fact says were removed */
void ar_verify_index(
	struct ar_verify *w); /* w->index against the whole fold: session row, lost end of the log */
void ar_verify_snapshot_broken(struct ar_verify *w, const char *why);
void ar_verify_tail(struct ar_verify *w); /* snapshot and tail against the whole */
void ar_verify_memory(struct ar_verify *w); /* the session in memory against the whole */
void ar_verify_tasks(struct ar_verify *w); /* one page; a row that was seen is struck from the digests */
void ar_verify_actions(struct ar_verify *w); /* the same */
void ar_verify_missing(struct ar_verify *w, enum ar_fold_kind kind); /* those that no page had */

/* What the repair says about itself, from the findings. */
struct ar_repair ar_verify_repair(const struct ar_verify *w, struct ar_arena *a);

#endif
