/* Where push notifications of A2A may go, which the operator says and callers choose among, and how what
 * callers show there is stored. Pure functions over the settings. */
#ifndef AR_HOST_WEBHOOK_PUSH_TARGET_H
#define AR_HOST_WEBHOOK_PUSH_TARGET_H

#include "config.h"
#include "control.h"

enum ar_push_way {
	AR_PUSH_NOWHERE, /* refused */
	AR_PUSH_NAMED, /* its origin is in the settings */
	AR_PUSH_PUBLIC, /* only a public address is dialled */
};

/* AR_E_INVALID: a2a.push_to cannot be used; the same of a2a.push_key, which has its value by now. */
AR_MUST_USE enum ar_status ar_host_push_check(const struct ar_config *c, struct ar_error *err);
AR_MUST_USE enum ar_status ar_host_push_key_check(const struct ar_config *c, struct ar_error *err);

/* `ret_why`: what is wrong with one that is refused; NULL: nobody asks. */
enum ar_push_way ar_host_push_way(const struct ar_config *c, struct ar_str url, const char **ret_why);

/* As struct ar_control_webhooks says. */
AR_MUST_USE enum ar_status ar_host_push_seal(const struct ar_config *c, const struct ar_push_target *t,
					     struct ar_arena *a, struct ar_push_sealed *ret,
					     struct ar_error *err);
AR_MUST_USE bool ar_host_push_unseal(const struct ar_config *c, struct ar_str sealed, struct ar_arena *a,
				     struct ar_push_target *t);

/* Scheme and host of a url, in the arena: what may be shown of it. */
struct ar_str ar_host_webhook_address(struct ar_str url, struct ar_arena *a);

#endif
