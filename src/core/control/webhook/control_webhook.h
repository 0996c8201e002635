/* Commands about webhooks; see webhooks.c. Owner: the loop thread. */
#ifndef AR_CONTROL_WEBHOOK_CONTROL_WEBHOOK_H
#define AR_CONTROL_WEBHOOK_CONTROL_WEBHOOK_H

#include "control_priv.h"

/* Whether it writes to the home of the tenant. */
bool ar_webhook_is_command(enum ar_command command);

/* Refused: the settings have no such webhook for the tenant. */
AR_MUST_USE enum ar_status ar_webhook_check(const struct ar_call *c, struct ar_str name,
					    struct ar_error *err);

/* set_task_push: encrypts what is secret of it. Refused: notifications may not go there. */
AR_MUST_USE enum ar_status ar_push_seal(struct ar_call *c, struct ar_input_command *command,
					struct ar_error *err);

/* Reads the home of the tenant, and answers list_webhooks or list_task_pushes with what it has. */
void ar_webhook_read_home(struct ar_call *c);
void ar_push_answer(struct ar_call *c, const struct ar_session *home); /* NULL: there is none yet */

/* A push configuration was set or removed, durably: tells the host, then answers. */
void ar_push_changed(struct ar_call *c, struct ar_str reply);

/* redeliver_webhook is durable: tells the host, then answers. */
void ar_webhook_redelivering(struct ar_call *c, struct ar_str reply);

#endif
