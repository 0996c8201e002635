/* Evidence: what was exported of a session, and what evidence systems said of it. The newest are in the
 * state, all are in the log. */
#ifndef AR_SESSION_EVIDENCE_H
#define AR_SESSION_EVIDENCE_H

#include "decide.h"

#define AR_WINDOW_EVIDENCE 64 /* newest kept per session */
#define AR_EVIDENCE_RUNTIME "runtime" /* source of what this runtime exported */

struct ar_evidence {
	const struct ar_shape_evidence_record *record;
};

/* What an export came to, for the decision that records it; see engine/export/. */
struct ar_exported {
	uint16_t code; /* catalogue code of the refusal; 0: there is a document */
	const char *why;
	struct ar_str document; /* the content that the ref names */
	uint64_t sequence; /* of the newest fact that it covers */
	struct ar_str root; /* of the tree over the facts up to that one, in hex */
	struct ar_shape_known_gap_list gaps;
	struct ar_str signals; /* JSON object */
	struct ar_texts traces;
	int64_t duration_ms; /* that it took */
};

static inline const struct ar_shape_evidence_record *ar_evidence_at(const struct ar_session *s, size_t i)
{
	return ((const struct ar_evidence *)s->evidence.at[i])->record;
}

/* Thread absent: any. That of a session is about each of its threads. */
static inline bool ar_evidence_is_of(const struct ar_shape_evidence_record *r, struct ar_str thread)
{
	return ar_str_absent(thread) || !r->scope || ar_str_absent(r->scope->thread_id) ||
	       ar_str_eq(r->scope->thread_id, thread);
}

#endif
