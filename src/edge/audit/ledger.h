/* The refusals of one watcher: the first of a kind is told at once, the exact count of those that came more than once at the end. A loop of a million
 * denials costs two facts. Pure but for the callback. */
#ifndef AR_AUDIT_LEDGER_H
#define AR_AUDIT_LEDGER_H

#include "book.h"

struct ar_audit_refusal {
	bool is_landlock; /* otherwise of a read-only mount */
	struct ar_str op; /* right that was missing, or name of the system call */
	struct ar_str path; /* absent: none is known */
	int64_t error; /* errno */
};

AR_BEGIN_DECLS

void ar_ledger_add(struct ar_audit_watcher *w, const struct ar_audit_refusal *r);
void ar_ledger_close(struct ar_audit_watcher *w); /* tells the counts */
void ar_ledger_fini(struct ar_audit_watcher *w);

AR_END_DECLS

#endif
