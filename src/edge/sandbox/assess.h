/* From what the self-test found to what this host can enforce: which profile is available, why another is not
 * and what to do about it. A mechanism that was not proven is not there. Pure. */
#ifndef AR_SANDBOX_ASSESS_H
#define AR_SANDBOX_ASSESS_H

#include "arena.h"
#include "plan.h"
#include "sandbox.h"
#include "status.h"

enum ar_mechanism {
	AR_MECH_LANDLOCK,
	AR_MECH_MOUNT_VIEW,
	AR_MECH_PINS,
	AR_MECH_IDMAP,
	AR_MECH_PID_NAMESPACE,
	AR_MECH_NETWORK_NAMESPACE,
	AR_MECH_IPC_NAMESPACE,
	AR_MECH_USER_NAMESPACE,
	AR_MECH_SECCOMP,
	AR_MECH_SECCOMP_NOTIFY,
	AR_MECH_CAPABILITIES,
	AR_MECH_FD_HYGIENE,
	AR_MECH_CGROUP_KILL,
	AR_MECH_CGROUP_PIDS,
	AR_MECH_CGROUP_MEMORY,
	AR_MECH_PTY,
	AR_MECH_COUNT,
};

struct ar_mechanisms {
	bool works[AR_MECH_COUNT];
	struct ar_str detail[AR_MECH_COUNT]; /* may be absent */
};

struct ar_assess_options {
	enum ar_plan_backend backend;
	bool allows_danger, has_proxy;
	struct ar_str failure; /* why there is no answer of the self-test at all; absent: there is */
	bool is_missing; /* and that is because the program is not there */
	bool sees_landlock, sees_mounts; /* refusals of the kernel are read */
	bool lacks_cpu; /* CPU time is to be limited, and cannot be */
};

AR_BEGIN_DECLS

const char *ar_mechanism_name(enum ar_mechanism m);

/* Takes over what the text says; what it does not name does not work. AR_E_INVALID: it is no such text. */
AR_MUST_USE enum ar_status ar_mechanisms_read(struct ar_str text, struct ar_arena *a,
					      struct ar_mechanisms *ret, struct ar_error *err);

/* Names the settings may give as absent that are none; absent: all are known. */
struct ar_str ar_mechanisms_unknown(struct ar_str names);

void ar_sandbox_assess(const struct ar_mechanisms *m, const struct ar_assess_options *o, struct ar_arena *a,
		       struct ar_sandbox_host *ret);

AR_END_DECLS

#endif
