/* Push configurations of A2A: kept in the home of the tenant as webhooks (core/session/webhook), with what is
 * secret of them encrypted by the host, which sends. Owner: the loop thread. */
#include "control_priv.h"
#include "webhook/control_webhook.h"
#include "webhook/webhook.h"

enum ar_status ar_push_seal(struct ar_call *c, struct ar_input_command *command, struct ar_error *err)
{
	const struct ar_control_webhooks *all = &c->control->webhooks;
	const struct ar_cmd_set_task_push_in *in = c->input;
	struct ar_push_sealed sealed = { AR_STR_NONE, AR_STR_NONE };

	if (c->command != AR_CMD_SET_TASK_PUSH || !ar_control_who(c->who)->is_runtime)
		return AR_OK; /* the decision refuses it */
	if (!all->seal)
		return ar_refuse(err, AR_ERR_POLICY_DENIED, "push notifications are not offered");
	if (all->seal(all->arg,
		      &(struct ar_push_target){ .tenant = ar_control_who(c->who)->tenant,
						.task = in->task_id,
						.config = in->config_id,
						.url = in->url,
						.token = in->token,
						.scheme = in->scheme,
						.credentials = in->credentials },
		      &c->arena, &sealed, err) != AR_OK)
		return AR_E_REFUSED;
	command->sealed = sealed.sealed;
	command->address = sealed.address;
	return AR_OK;
}

void ar_push_changed(struct ar_call *c, struct ar_str reply)
{
	const struct ar_control_webhooks *all = &c->control->webhooks;

	if (all->pushes_changed)
		all->pushes_changed(all->arg, ar_control_who(c->who)->tenant);
	ar_buf_adds(&c->reply, reply);
	ar_call_done(c, ar_command_describe(c->command)->http);
}

/* ---- list_task_pushes ---- */

/* One that cannot be decrypted is shown by what was stored in the clear. */
static struct ar_shape_push_row row_of(struct ar_call *c, const struct ar_webhook *w)
{
	const struct ar_control_webhooks *all = &c->control->webhooks;
	struct ar_push_target t = { .tenant = ar_control_who(c->who)->tenant,
				    .task = w->push->task_id,
				    .config = w->push->config_id };

	if (!all->unseal || !all->unseal(all->arg, w->push->sealed, &c->arena, &t))
		t.url = w->push->address;
	return (struct ar_shape_push_row){ .config_id = w->push->config_id,
					   .url = t.url,
					   .scheme = t.scheme };
}

void ar_push_answer(struct ar_call *c, const struct ar_session *home)
{
	const struct ar_cmd_list_task_pushes_in *in = c->input;
	struct ar_shape_push_row rows[AR_WEBHOOK_TASK_PUSHES_MAX];
	struct ar_cmd_list_task_pushes_out out = { .pushes = { rows, 0 } };
	struct ar_jw w = ar_jw(&c->reply);

	for (size_t i = 0; home && i < home->webhooks.count; i++) {
		const struct ar_webhook *at = home->webhooks.at[i];

		if (at->push && ar_str_eq(at->push->task_id, in->task_id) &&
		    out.pushes.count < AR_ARRAY_LEN(rows))
			rows[out.pushes.count++] = row_of(c, at);
	}
	ar_struct_encode(&ar_command_describe(c->command)->out, &out, AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

/* Who asks has seen that the task is the caller's, which is not known here. */
void ar_query_list_task_pushes(struct ar_call *c)
{
	if (ar_control_who(c->who)->is_runtime)
		ar_webhook_read_home(c);
	else
		ar_call_refuse(c, AR_ERR_NOT_AUTHORIZED,
			       "push configurations are listed over A2A (see docs/a2a.md), not by commands");
}
