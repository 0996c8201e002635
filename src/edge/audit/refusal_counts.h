/* The refusals of one watcher: the first of a kind is reported at once, the exact count of those that came
 * more than once at the end. A loop of a million denials costs two facts. Pure but for the callback. */
#ifndef AR_AUDIT_REFUSAL_COUNTS_H
#define AR_AUDIT_REFUSAL_COUNTS_H

#include "aggregate.h"

struct ar_audit_refusal {
	bool is_landlock; /* otherwise of a read-only mount */
	struct ar_str op; /* right that was missing, or name of the system call */
	struct ar_str path; /* absent: none is known */
	int64_t error; /* errno */
};

AR_BEGIN_DECLS

void ar_refusal_counts_add(struct ar_audit_watcher *w, const struct ar_audit_refusal *r);
void ar_refusal_counts_report(struct ar_audit_watcher *w); /* the counts */
void ar_refusal_counts_fini(struct ar_audit_watcher *w);

AR_END_DECLS

#endif
