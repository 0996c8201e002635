/* Boundaries by name, and what this host can enforce of them. The kernel enforces; a profile is available
 * only when an attack on each of its mechanisms was tried here and failed. Plain data. */
#ifndef AR_PORT_SANDBOX_H
#define AR_PORT_SANDBOX_H

#include "str.h"

/* In order of what they allow. */
enum ar_sandbox_profile {
	AR_SANDBOX_READ_ONLY = 1, /* reads the workspace and the toolchains, no network */
	AR_SANDBOX_WORKSPACE_WRITE, /* and writes the workspace, but for its protected paths */
	/* as workspace_write: for callers that want the absence of a network in its name */
	AR_SANDBOX_NO_NETWORK,
	AR_SANDBOX_ALLOWLISTED_NETWORK, /* and reaches listed hosts through the proxy */
	AR_SANDBOX_DANGER_FULL_ACCESS, /* no boundary: tracked, limited in time, with a fresh environment */
	AR_SANDBOX_COUNT,
};

struct ar_sandbox_standing {
	bool is_available;
	struct ar_str reason; /* why not, for people */
	struct ar_str remedy; /* what to do about it */
	struct ar_str guarantees; /* JSON object: what is enforced and how it is proven; what is not */
};

/* What the self-test found; constant while the process lives. */
struct ar_sandbox_host {
	struct ar_sandbox_standing profiles[AR_SANDBOX_COUNT]; /* by enum ar_sandbox_profile */
	struct ar_str ladder; /* JSON array of {"mechanism","isWorking","detail","remedy"} */
};

/* The name of a profile, as settings, facts and tools call it. */
static inline const char *ar_sandbox_name(enum ar_sandbox_profile profile)
{
	static const char *const names[AR_SANDBOX_COUNT] = {
		"none",	      "read_only",	     "workspace_write",
		"no_network", "allowlisted_network", "danger_full_access"
	};

	return names[profile];
}

/* 0: no profile has this name. */
static inline enum ar_sandbox_profile ar_sandbox_find(struct ar_str name)
{
	for (int i = 1; i < AR_SANDBOX_COUNT; i++) {
		if (ar_str_is(name, ar_sandbox_name((enum ar_sandbox_profile)i)))
			return (enum ar_sandbox_profile)i;
	}
	return (enum ar_sandbox_profile)0;
}

#endif
