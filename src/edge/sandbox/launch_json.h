/* A settled launch as the facts will say it. Pure. */
#ifndef AR_SANDBOX_LAUNCH_JSON_H
#define AR_SANDBOX_LAUNCH_JSON_H

#include "arena.h"
#include "plan.h"
#include "process.h"

AR_BEGIN_DECLS

/* Everything that can be read, and everything that can be written, inside. */
struct ar_str ar_launch_read_roots(const struct ar_plan *p, struct ar_arena *a);
struct ar_str ar_launch_write_roots(const struct ar_plan *p, struct ar_arena *a);

/* What it may use, and what of terminal, input and time was asked for. */
struct ar_str ar_launch_limits(const struct ar_plan *p, const struct ar_process_spec *spec,
			       struct ar_arena *a);

/* What the profile guarantees, with the names that this workspace leaves replaceable. */
struct ar_str ar_launch_guarantees(struct ar_str of_profile, const struct ar_plan_paths *replaceable,
				   struct ar_arena *a);

AR_END_DECLS

#endif
