/* Boundaries, from settings to plans: what this host can enforce is proven once at start (agent-init attacks
 * each mechanism), and each launch is settled here in every detail before anything of it exists. Makes cgroup
 * folders, starts nothing but the self-test; agent-init enforces.
 *
 * Contract: loop thread only; opening blocks until the self-test is through (its deadline is 10 s). A profile
 * that was not proven makes no plan; nothing is ever replaced by something weaker. */
#ifndef AR_SANDBOX_BOUNDARY_H
#define AR_SANDBOX_BOUNDARY_H

#include "arena.h"
#include "plan.h"
#include "process.h"
#include "sandbox.h"
#include "status.h"

/* The settings. Lists of paths have colons between them, the others commas or line ends; absent and empty are
 * the same. All is copied. */
struct ar_sandbox_options {
	struct ar_str helpers; /* folder of agent-init and agent-shim; absent: where this program is */
	struct ar_str state_dir; /* of the runtime itself: never seen inside */
	/* of the user who runs the daemon: toolchains are looked for in it; absent: none */
	struct ar_str home;
	struct ar_str read_roots, write_roots; /* beyond the usual */
	struct ar_str protected_paths; /* beyond the usual; relative to the workspace */
	struct ar_str env; /* K=V: what every process finds */
	struct ar_str without; /* mechanisms to take for absent */
	uint32_t uid_first, uid_last; /* 0: 61000 and 64999 */
	const struct ar_command_secret *secrets;
	size_t secret_count;
	struct ar_plan_limits limits;
	bool allows_danger;
	bool has_proxy; /* somebody serves the sockets of allowlisted_network */
};

/* A secret that commands get: as a file in memory, or as a placeholder that the proxy replaces. */
struct ar_command_secret {
	struct ar_str name, value;
	const struct ar_str *commands; /* first words of those that get it */
	size_t command_count; /* 0: every command does */
	bool is_proxied;
};

struct ar_sandbox;

/* One launch. What is behind the pointers is the arena's. */
struct ar_launch {
	struct ar_plan *plan;
	struct ar_str read_roots, write_roots; /* JSON arrays */
	struct ar_str environment; /* JSON object of the variables */
	struct ar_str limits; /* JSON object */
	struct ar_str guarantees; /* JSON object: what is enforced and what is not */
	/* Contents of plan->given descriptors, which the caller that starts it makes; the sandbox's own */
	struct ar_str given[AR_PLAN_GIVEN_MAX];
};

AR_BEGIN_DECLS

/* Fails only for settings that cannot be meant, with a sentence that names one. A host that can enforce
 * nothing opens, with no profile available. */
AR_MUST_USE enum ar_status ar_sandbox_open(const struct ar_sandbox_options *o, struct ar_sandbox **ret,
					   struct ar_error *err);

/* What the self-test found; lives as long as the sandbox. */
const struct ar_sandbox_host *ar_sandbox_host_of(const struct ar_sandbox *s);

/* Refusals of the kernel are read as well: Landlock's, and with `sees_mounts` those of read-only mounts. The
 * guarantees of every profile say so. */
void ar_sandbox_add_evidence(struct ar_sandbox *s, bool sees_mounts);

/* The folder of the helpers, and the path of one: "agent-init", "agent-shim". */
struct ar_str ar_sandbox_helpers(const struct ar_sandbox *s);
struct ar_str ar_sandbox_helper(const struct ar_sandbox *s, const char *name, struct ar_arena *a);

/* The paths of the workspace that stay read-only in it, as a JSON array: those of a launch there now. */
struct ar_str ar_sandbox_protected_json(const struct ar_sandbox *s, struct ar_str workspace,
					struct ar_arena *a);

/* Settles everything of one launch: roots, ids, filter, limits, environment; makes its cgroup folders.
 * AR_E_UNAVAILABLE: the profile, with its reason and remedy in the sentence; AR_E_INVALID: a folder or a
 * variable that was asked for, named. Nothing is left of a failure. */
AR_MUST_USE enum ar_status ar_sandbox_plan(struct ar_sandbox *s, const struct ar_process_spec *spec,
					   struct ar_arena *a, struct ar_launch *ret, struct ar_error *err);

/* The same inside control groups that are there already, of a prewarmed sandbox; they stay its own. */
AR_MUST_USE enum ar_status ar_sandbox_plan_in(struct ar_sandbox *s, const struct ar_process_spec *spec,
					      const struct ar_plan_paths *groups, struct ar_arena *a,
					      struct ar_launch *ret, struct ar_error *err);

/* Of a process that is gone, or of one that never came to be: removes its cgroup folders. Looks at
 * plan->cgroups alone, so that a plan that was read again from its text serves as well; touches no folder
 * that is not one of ours and empty. */
void ar_sandbox_release(struct ar_sandbox *s, const struct ar_launch *l);

void ar_sandbox_close(struct ar_sandbox *s); /* NULL is fine */

AR_END_DECLS

#endif
