/* The two system call filters: programs for the kernel, as the hex text that a plan carries. Made once, at
 * start; the same for every launch of their kind. What they forbid and why is in filter_rules.c. Pure but for
 * libseccomp asking the kernel which actions it knows. */
#ifndef AR_SANDBOX_FILTER_H
#define AR_SANDBOX_FILTER_H

#include "arena.h"
#include "filter_rules.h"
#include "status.h"

AR_BEGIN_DECLS

/* The program of one kind, in the arena. AR_E_UNAVAILABLE: this kernel or library cannot express it, the
 * sentence says what. */
AR_MUST_USE enum ar_status ar_filter_make(enum ar_filter_kind kind, struct ar_arena *a,
					  struct ar_str *ret_hex, struct ar_error *err);

AR_END_DECLS

#endif
