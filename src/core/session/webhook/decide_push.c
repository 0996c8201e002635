/* See webhook.h: push configurations of A2A are set and removed by the front that callers of A2A come to,
 * which has seen that the task is theirs. What is secret of them comes here encrypted. Pure. */
#include "webhook/webhook.h"

static enum ar_status check_sender(const struct ar_decision *d, struct ar_error *err)
{
	if (d->input->is_runtime)
		return AR_OK;
	return ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
			 "push configurations are set over A2A (see docs/a2a.md), not by commands");
}

/* `old`: the one that is replaced, and counts for nothing; NULL: none is. */
static enum ar_status check_room(const struct ar_decision *d, const struct ar_webhook *old,
				 struct ar_str task, struct ar_error *err)
{
	size_t of_task = 0, all = 0;

	for (size_t i = 0; i < d->session->webhooks.count; i++) {
		const struct ar_webhook *w = d->session->webhooks.at[i];

		if (!w->push || w == old)
			continue;
		of_task += ar_str_eq(w->push->task_id, task);
		all += !ar_webhook_is_over(w);
	}
	if (of_task >= AR_WEBHOOK_TASK_PUSHES_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "the task has %d push configurations; remove one first",
				 AR_WEBHOOK_TASK_PUSHES_MAX);
	if (all >= AR_WEBHOOK_PUSHES_MAX)
		return ar_refuse(err, AR_ERR_TENANT_QUOTA_EXCEEDED,
				 "the tenant has %d push configurations of tasks that have not ended",
				 AR_WEBHOOK_PUSHES_MAX);
	return AR_OK;
}

static void emit_removed(struct ar_decision *d, const struct ar_webhook *w)
{
	const struct ar_ids none = { 0 };

	ar_decide_emit(d, AR_EV_WEBHOOK_REMOVED, &none,
		       &(struct ar_ev_webhook_removed){ .webhook = w->name, .actor = d->input->account });
}

enum ar_status ar_decide_set_task_push(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_set_task_push_in *in = d->input->command.args;
	const struct ar_ids none = { 0 };
	struct ar_shape_push_record push = { .task_id = in->task_id,
					     .config_id = in->config_id,
					     .version = in->version,
					     .begin = in->begin,
					     .address = d->input->command.address,
					     .sealed = d->input->command.sealed };
	const struct ar_webhook *old = ar_session_push(d->session, in->task_id, in->config_id);

	if (check_sender(d, err) != AR_OK || check_room(d, old, in->task_id, err) != AR_OK)
		return AR_E_REFUSED;
	ar_decide_home(d);
	if (old)
		emit_removed(d, old);
	ar_decide_emit(d, AR_EV_WEBHOOK_ADDED, &none,
		       &(struct ar_ev_webhook_added){ .webhook = ar_webhook_push_name(d->arena, push.sealed),
						      .push = &push,
						      .actor = d->input->account });
	ar_decide_reply(d, AR_CMD_SET_TASK_PUSH,
			&(struct ar_cmd_set_task_push_out){ .config_id = in->config_id });
	return AR_OK;
}

enum ar_status ar_decide_remove_task_push(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_remove_task_push_in *in = d->input->command.args;
	const struct ar_webhook *w = ar_session_push(d->session, in->task_id, in->config_id);

	if (check_sender(d, err) != AR_OK)
		return AR_E_REFUSED;
	if (!w)
		return ar_refuse(err, AR_ERR_NOT_FOUND, "the task has no such push configuration");
	emit_removed(d, w);
	ar_decide_reply(d, AR_CMD_REMOVE_TASK_PUSH,
			&(struct ar_cmd_remove_task_push_out){ .config_id = in->config_id });
	return AR_OK;
}
