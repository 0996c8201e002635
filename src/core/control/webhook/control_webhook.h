/* Commands about webhooks; see webhooks.c. Owner: the loop thread. */
#ifndef AR_CONTROL_WEBHOOK_CONTROL_WEBHOOK_H
#define AR_CONTROL_WEBHOOK_CONTROL_WEBHOOK_H

#include "control_priv.h"

/* Whether it writes to the home of the tenant. */
bool ar_webhook_is_command(enum ar_command command);

/* Refused: the settings have no such webhook for the tenant. */
AR_MUST_USE enum ar_status ar_webhook_check(const struct ar_call *c, struct ar_str name,
					    struct ar_error *err);

/* redeliver_webhook is durable: tells the host, then answers. */
void ar_webhook_redelivering(struct ar_call *c, struct ar_str reply);

#endif
