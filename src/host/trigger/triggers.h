/* Triggers of the settings: who may start which turn from outside. Checks the token or the signature of a
 * request, counts it, and makes the input of submit_turn from it. Owner: the loop thread. */
#ifndef AR_HOST_TRIGGER_TRIGGERS_H
#define AR_HOST_TRIGGER_TRIGGERS_H

#include "config.h"
#include "status.h"
#include "transport.h"

/* What the settings say of them; `has_secrets`: references to secrets have their values. */
AR_MUST_USE enum ar_status ar_host_triggers_check(const struct ar_config *c, bool has_secrets,
						  struct ar_error *err);

struct ar_host_triggers;

/* NULL: there are none. The settings are borrowed: secrets are renewed in them. */
struct ar_host_triggers *ar_host_triggers_new(const struct ar_config *c);
void ar_host_triggers_free(struct ar_host_triggers *t); /* NULL: nothing */

/* As struct ar_http_ops says. An unknown trigger is refused like a wrong token. */
AR_MUST_USE enum ar_status ar_host_trigger(struct ar_host_triggers *all, const struct ar_http_trigger *t,
					   struct ar_arena *a, struct ar_http_triggered *ret,
					   struct ar_error *err);

#endif
