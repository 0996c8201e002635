/* See profile.h. */
#include "profile.h"

#include "status.h"

static const struct ar_profile profiles[AR_SANDBOX_COUNT] = {
	[AR_SANDBOX_READ_ONLY] = { AR_PLAN_READ_ONLY, AR_PLAN_NET_NONE, AR_FILTER_BOUNDED },
	[AR_SANDBOX_WORKSPACE_WRITE] = { AR_PLAN_WORKSPACE_WRITE, AR_PLAN_NET_NONE, AR_FILTER_BOUNDED },
	[AR_SANDBOX_NO_NETWORK] = { AR_PLAN_WORKSPACE_WRITE, AR_PLAN_NET_NONE, AR_FILTER_BOUNDED },
	[AR_SANDBOX_ALLOWLISTED_NETWORK] = { AR_PLAN_WORKSPACE_WRITE, AR_PLAN_NET_PROXY, AR_FILTER_BOUNDED },
	[AR_SANDBOX_DANGER_FULL_ACCESS] = { AR_PLAN_DANGER, AR_PLAN_NET_HOST, AR_FILTER_DANGER },
};

const struct ar_profile *ar_profile_of(enum ar_sandbox_profile name)
{
	AR_ASSERT(name > 0 && name < AR_SANDBOX_COUNT);
	return &profiles[name];
}
