/* The five profiles as what agent-init knows: a mode, a network, a filter. One constant table. */
#ifndef AR_SANDBOX_PROFILE_H
#define AR_SANDBOX_PROFILE_H

#include "filter_rules.h"
#include "plan.h"
#include "sandbox.h"

struct ar_profile {
	enum ar_plan_mode mode;
	enum ar_plan_network network;
	enum ar_filter_kind filter;
};

const struct ar_profile *ar_profile_of(enum ar_sandbox_profile name);

/* Whether the workspace, and nothing else of the host, may be written. */
static inline bool ar_profile_writes(const struct ar_profile *p)
{
	return p->mode == AR_PLAN_WORKSPACE_WRITE;
}

static inline bool ar_profile_is_danger(const struct ar_profile *p)
{
	return p->mode == AR_PLAN_DANGER;
}

#endif
