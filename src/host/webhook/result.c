/* The result of a task or a job on its way: how its delivery ended is reported to the session of the task or
 * job (report_delivery) before it counts as over, so that a crash in between sends it again rather than
 * forgets to tell. Owner: the loop thread. */
#include "codec.h"
#include "describe.h"
#include "webhook/webhook_priv.h"

bool ar_delivery_is_result(struct ar_delivery *d, struct ar_json event, struct ar_str *ret_webhook)
{
	struct ar_str id;

	if (!ar_json_str(ar_json_get(event, "taskId"), &id) && !ar_json_str(ar_json_get(event, "jobId"), &id))
		return false;
	d->result_of = ar_arena_str(&d->arena, id);
	return ar_json_str(ar_json_get(ar_json_get(event, "payload"), "webhook"), ret_webhook);
}

/* Refused for good: the session or the task is gone, and nobody is left who wants to know. */
static void on_reported(struct ar_send_run *run, uint16_t code, struct ar_str reply AR_UNUSED)
{
	struct ar_delivery *d = AR_CONTAINER_OF(run, struct ar_delivery, report);

	if (d->is_orphan) {
		ar_delivery_free(d);
		return;
	}
	if (code && ar_error_describe(code)->retryable)
		d->due = ar_webhook_now() + AR_WEBHOOK_RETRY;
	else
		d->state = d->then;
	ar_host_webhook_wake(d->hook);
}

void ar_delivery_report_again(struct ar_delivery *d)
{
	const struct ar_cmd_report_delivery_in in = {
		.to = d->result_of,
		.sequence = d->record.sequence,
		.delivery_id = d->record.delivery_id,
		.state = d->then == AR_DELIVERY_DONE ? AR_REPORT_DELIVERY_STATE_DELIVERED
						     : AR_REPORT_DELIVERY_STATE_FAILED,
		.attempts = AR_OPT_INT(d->record.attempts),
		.reason = d->then == AR_DELIVERY_DONE ? AR_STR_NONE : d->record.reason,
	};
	struct ar_sender *sender = ar_control_sender(d->hook->all->o.control);
	struct ar_buf body = { 0 };
	struct ar_jw json = ar_jw(&body);

	d->due = 0;
	ar_struct_encode(&ar_command_describe(AR_CMD_REPORT_DELIVERY)->in, &in, AR_STR_NONE, &json);
	d->report = (struct ar_send_run){ .command = AR_CMD_REPORT_DELIVERY,
					  .body = ar_arena_str(&d->arena, ar_buf_str(&body)),
					  .tenant = d->hook->setting->tenant,
					  .on_done = on_reported };
	ar_buf_fini(&body);
	sender->v->start(sender, &d->report);
}

void ar_delivery_report(struct ar_delivery *d, enum ar_delivery_state then)
{
	d->state = then;
	if (ar_str_absent(d->result_of))
		return;
	d->then = then;
	d->state = AR_DELIVERY_REPORTING;
	ar_delivery_report_again(d);
}
