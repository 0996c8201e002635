/* Stored outputs that leave before their session does: because their lifetime is over, or because somebody
 * had their bytes removed. The session remembers what became of them. */
#ifndef AR_SESSION_OUTPUTS_H
#define AR_SESSION_OUTPUTS_H

#include "decide.h"

#define AR_OUTPUT_PREVIEW_MAX 1024 /* bytes of an output that a fact shows */
#define AR_EVENT_BYTES 131072 /* no fact is larger: content goes by ref */
#define AR_EXPIRING_MAX 1024 /* outputs of a session that have a lifetime at once */
#define AR_WINDOW_REMOVED 256 /* that are remembered; the oldest that expired leave first */
#define AR_REDACTED_MAX 128 /* of these, redacted ones: each is remembered for ever */

struct ar_expiring_output {
	struct ar_str ref;
	ar_usec expires;
};

struct ar_removed_output {
	struct ar_str ref;
	struct ar_str replacement; /* what it stands for now; absent: it expired */
	struct ar_opt_bool whole; /* nothing of it is left to read */
	ar_usec expires, at;
};

/* Seconds that a new output of a tool or process is kept; 0: as long as the session. */
int64_t ar_output_seconds(const struct ar_session *s, const struct ar_policy *policy);

/* When one that has just been stored is to leave; 0: with its session. */
ar_usec ar_output_expiry(const struct ar_decision *d);

/* The earliest time at which an output is to leave that nothing else needs; 0: none is. */
ar_usec ar_outputs_due(const struct ar_session *s);

/* Those whose time is over. */
void ar_outputs_expire(struct ar_decision *d);

/* What became of it; NULL: it was not removed, or that is not remembered. */
const struct ar_removed_output *ar_session_removed_output(const struct ar_session *s, struct ar_str ref);

/* The content of it, or of what replaced it, or of what replaced that; NULL in *ret_removed: it is `ref`. */
struct ar_str ar_session_output_now(const struct ar_session *s, struct ar_str ref,
				    const struct ar_removed_output **ret_removed);

/* It is stored, until then; 0: with its session. It may have been before. */
void ar_apply_output_stored(struct ar_session *s, struct ar_str ref, ar_usec expires);

/* Those that are stored stay with the session from now on. */
void ar_apply_outputs_kept(struct ar_session *s);

/* Remembers it; `removed` is copied. */
void ar_apply_output_removed(struct ar_session *s, const struct ar_removed_output *removed);

#endif
