/* Agents that the settings publish by A2A: what is read of them at start, and their cards. A public card is
 * made when it is first asked for, and kept; an extended one is made each time. Owner: the loop thread. */
#ifndef AR_HOST_A2A_HOST_A2A_H
#define AR_HOST_A2A_HOST_A2A_H

#include "config.h"
#include "published.h"
#include "session.h"

/* AR_E_INVALID: one of a2a_agents, or what section a2a says of them, cannot be used. *ret_key: the setting
 * that is wrong; NULL: it is an entry of a2a_agents. */
AR_MUST_USE enum ar_status ar_host_a2a_check(const struct ar_config *c, const char **ret_key,
					     struct ar_error *err);

/* The same of a2a.url alone, which is set. */
AR_MUST_USE enum ar_status ar_host_a2a_url_check(const struct ar_config *c, struct ar_error *err);

/* *ret NULL with AR_OK: none are published. The policy has the agent definitions; both live as long. */
AR_MUST_USE enum ar_status ar_host_a2a_open(const struct ar_config *c, const struct ar_policy *policy,
					    const struct ar_a2a_published **ret, struct ar_error *err);
void ar_host_a2a_close(const struct ar_a2a_published *p); /* NULL: nothing */

#endif
