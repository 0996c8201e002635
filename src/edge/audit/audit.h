/* Refusals that the kernel itself reports: Landlock's denials, and writes that met a read-only mount. Each is
 * told for the launch it belongs to, found by the audit session that agent-init began for it, never by a pid.
 * What a program prints, or what file permissions refuse, is not here.
 *
 * Contract: loop thread only. Audit is the whole machine's: agent-audit switches it on when nobody else uses
 * it and back when we are gone; otherwise we only read. Opening waits for its first word (3 s at most). */
#ifndef AR_AUDIT_AUDIT_H
#define AR_AUDIT_AUDIT_H

#include "aggregate.h"

#include <uv.h>

struct ar_audit_options {
	const char *program; /* agent-audit */
	uint32_t uid_first, uid_last; /* login ids of sandboxed processes */
};

struct ar_audit_reader;

AR_BEGIN_DECLS

/* AR_E_UNAVAILABLE: there is no evidence of this kind here, the sentence says why. */
AR_MUST_USE enum ar_status ar_audit_open(uv_loop_t *loop, const struct ar_audit_options *o,
					 struct ar_audit_reader **ret, struct ar_error *err);

/* Whether writes to read-only mounts are seen; Landlock's denials always are. */
bool ar_audit_sees_mounts(const struct ar_audit_reader *a);

/* From now on the watcher gets the violations of its session. It stays the caller's until unwatch(), or
 * until on_settled. */
void ar_audit_watch(struct ar_audit_reader *a, struct ar_audit_watcher *w);

/* Its processes are gone: on_violation for the exact counts, then on_settled once, when all that the kernel
 * had to say of them is read (half a second at most), never before this returns. */
void ar_audit_settle(struct ar_audit_reader *a, struct ar_audit_watcher *w);

/* At once, and without another word. */
void ar_audit_unwatch(struct ar_audit_reader *a, struct ar_audit_watcher *w);

void ar_audit_close(struct ar_audit_reader *a); /* NULL is fine. Memory goes in the loop's next turns */

AR_END_DECLS

#endif
