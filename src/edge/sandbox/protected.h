/* What of a writable workspace stays read-only: places from which the host itself would later run something.
 * Decided before the launch, from the names below and the settings; the workspace's own content can only add
 * to it, never take away, and never makes anything outside visible that does not point back to it. Reads the
 * file system; loop thread. */
#ifndef AR_SANDBOX_PROTECTED_H
#define AR_SANDBOX_PROTECTED_H

#include "path_list.h"
#include "status.h"

struct ar_protected {
	struct ar_plan_paths paths; /* relative to the workspace; may not exist */
	/* links: what they point to is protected, their own names cannot be */
	struct ar_plan_paths replaceable;
	/* absolute: folders outside that hold this worktree's repository, to be read */
	struct ar_plan_paths git;
};

struct ar_protected_options {
	struct ar_str workspace; /* links followed */
	struct ar_str setting; /* more names, colons between them */
	struct ar_str home; /* whose git configuration may name a folder of hooks; absent: none */
};

AR_BEGIN_DECLS

/* AR_E_INVALID: a name of the settings is absolute or leads outside; AR_E_LIMIT: too many. */
AR_MUST_USE enum ar_status ar_protected_find(const struct ar_protected_options *o, struct ar_arena *a,
					     struct ar_protected *ret, struct ar_error *err);

AR_END_DECLS

#endif
