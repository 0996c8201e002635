/* For which sessions entries of the settings are: the members `tenants` and `workspace` of their lists, as
 * decisions read them. Owner: the loop thread, at start. */
#ifndef AR_HOST_AUDIENCE_H
#define AR_HOST_AUDIENCE_H

#include "config.h"
#include "session.h"

/* Of hooks the rules get theirs; tools, skills, agent definitions and secrets come into the policy. Text is
 * copied into the arena. AR_E_INVALID: an entry of ret_list names what cannot be a tenant or a workspace, or
 * a directory that cannot be used. Nobody would be meant by it, and a hook would never be called. */
AR_MUST_USE enum ar_status ar_host_audiences_read(const struct ar_config *c, struct ar_arena *a,
						  struct ar_hook_rule *hooks, struct ar_policy *policy,
						  const char **ret_list, struct ar_error *err);

#endif
