/* How a delivery begins, is acknowledged, and ends when its time is over. See delivery.h. Pure. */
#include "delivery/delivery.h"
#include "channel/channel.h"
#include "describe.h"
#include "task/task.h"

#include <string.h>

#define PREVIEW_MAX 1024

/* ---- where to ---- */

static bool has_webhook(const struct ar_decision *d, struct ar_str name)
{
	const struct ar_policy *p = d->input->policy;

	for (size_t i = 0; i < p->webhook_count; i++) {
		if (ar_str_eq(p->webhooks[i].tenant, ar_session_tenant(d->session)) &&
		    ar_str_eq(p->webhooks[i].name, name))
			return true;
	}
	return false;
}

/* What a path shows without a look at the file system; the tool that writes it looks there. */
static bool is_path_in(struct ar_str path)
{
	struct ar_str rest = path, part;

	if (path.p[0] == '/' || memchr(path.p, 0, path.len))
		return false;
	while (rest.len > 0) {
		rest = ar_str_split(rest, '/', &part);
		if (ar_str_is(part, ".."))
			return false;
	}
	return true;
}

enum ar_status ar_delivery_check(const struct ar_decision *d, const struct ar_shape_task_delivery *to,
				 struct ar_error *err)
{
	if (!to)
		return AR_OK;
	if (ar_str_empty(to->target))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "delivery: target is empty");
	if (ar_str_is(to->kind, AR_DELIVERY_CHANNEL))
		return AR_OK;
	if (ar_str_is(to->kind, AR_DELIVERY_WEBHOOK)) {
		if (has_webhook(d, to->target))
			return AR_OK;
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "delivery: there is no webhook '%.*s'; list_webhooks shows them",
				 AR_STR_ARG(ar_str_utf8_prefix(to->target, 64)));
	}
	if (!ar_str_is(to->kind, AR_DELIVERY_FILE))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "delivery: kind is channel, webhook or file");
	if (!is_path_in(to->target))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "delivery: target is a path in the workspace, without '..'");
	return AR_OK;
}

/* ---- beginning ---- */

static struct ar_ids ids_of(struct ar_decision *d, const struct ar_deliverable *what)
{
	struct ar_ids ids;

	if (what->task)
		return ar_task_ids(what->task, ar_task_run(what->task));
	ids = ar_job_ids(d, what->job);
	ids.at[AR_SCOPE_TASK] = AR_STR_NONE;
	return ids;
}

static struct ar_str status_of(const struct ar_deliverable *what)
{
	return what->task ? AR_STR("completed") : ar_job_status_word(what->job);
}

static struct ar_str summary_of(struct ar_decision *d, const struct ar_deliverable *what,
				struct ar_str summary)
{
	if (!ar_str_empty(summary))
		return summary;
	return ar_arena_fmt(d->arena, "%s %.*s is %.*s", what->task ? "Task" : "Job",
			    AR_STR_ARG(ar_delivery_subject(what)), AR_STR_ARG(status_of(what)));
}

static void send_message(struct ar_decision *d, const struct ar_deliverable *what, struct ar_str summary)
{
	struct ar_ids ids = ids_of(d, what);
	struct ar_str ref = ar_delivery_result(d->session, what);

	ids.at[AR_SCOPE_CHANNEL] = ar_delivery_to(what)->target;
	ar_decide_emit(d, AR_EV_CHANNEL_MESSAGE, &ids,
		       &(struct ar_ev_channel_message){
			       .message_kind = AR_CHANNEL_MESSAGE_MESSAGE_KIND_OTHER,
			       .message_ref = ref,
			       .preview = ar_str_absent(ref) ? ar_str_utf8_prefix(summary, PREVIEW_MAX)
							     : AR_STR_NONE,
			       .direction = AR_CHANNEL_MESSAGE_DIRECTION_OUT });
}

static void request_webhook(struct ar_decision *d, const struct ar_deliverable *what, struct ar_str summary,
			    ar_usec deadline)
{
	const struct ar_shape_job_counts counts =
		what->job ? ar_job_counts(what->job) : (struct ar_shape_job_counts){ 0 };
	struct ar_ids ids = ids_of(d, what);

	ar_decide_emit(d, AR_EV_DELIVERY_REQUESTED, &ids,
		       &(struct ar_ev_delivery_requested){ .webhook = ar_delivery_to(what)->target,
							   .status = status_of(what),
							   .summary = summary,
							   .result_ref = ar_delivery_result(d->session, what),
							   .counts = what->job ? &counts : NULL,
							   .error = what->job ? what->job->error : NULL,
							   .deadline = deadline });
}

/* Why it cannot even begin; absent: it can. */
static struct ar_str refusal(const struct ar_decision *d, const struct ar_shape_task_delivery *to)
{
	if (d->session->deliveries.count >= AR_DELIVERIES_MAX)
		return AR_STR("too many deliveries of the session are open");
	if (ar_str_is(to->kind, AR_DELIVERY_CHANNEL) && !ar_session_channel(d->session, to->target))
		return AR_STR("the session has no such channel");
	if (ar_str_is(to->kind, AR_DELIVERY_WEBHOOK) && !has_webhook(d, to->target))
		return AR_STR("there is no such webhook any more");
	return AR_STR_NONE;
}

const struct ar_shape_delivery_state *ar_delivery_begin(struct ar_decision *d,
							const struct ar_deliverable *what,
							struct ar_str summary)
{
	const struct ar_shape_task_delivery *to = ar_delivery_to(what);
	struct ar_shape_delivery_state *state;

	if (!to)
		return NULL;
	state = ar_arena_alloc(d->arena, sizeof(*state));
	*state = (struct ar_shape_delivery_state){
		.state = AR_STR("queued"), .to = to->target, .kind = to->kind, .reason = refusal(d, to)
	};
	if (!ar_str_absent(state->reason)) {
		state->state = AR_STR("failed");
		return state;
	}
	state->deadline = d->input->now + d->input->policy->delivery_ms * 1000;
	summary = summary_of(d, what, summary);
	if (ar_str_is(to->kind, AR_DELIVERY_FILE))
		return state;
	state->sequence = AR_OPT_INT((int64_t)ar_decide_next_sequence(d));
	if (ar_str_is(to->kind, AR_DELIVERY_WEBHOOK)) {
		request_webhook(d, what, summary, state->deadline);
		return state;
	}
	if (ar_session_channel(d->session, to->target)->status != AR_CHANNEL_CONNECTED)
		state->state = AR_STR("pending");
	send_message(d, what, summary);
	return state;
}

void ar_delivery_begin_job(struct ar_decision *d, const struct ar_job *job)
{
	const struct ar_deliverable what = { .job = job };
	const struct ar_shape_delivery_state *state = ar_delivery_begin(d, &what, AR_STR_NONE);

	if (!state)
		return;
	ar_delivery_say(d, &what, state);
	ar_delivery_set_clock(d, &what);
}

/* ---- facts ---- */

void ar_delivery_say(struct ar_decision *d, const struct ar_deliverable *what,
		     const struct ar_shape_delivery_state *state)
{
	struct ar_ids ids = ids_of(d, what);

	if (what->job)
		ar_decide_emit(d, AR_EV_JOB_DELIVERY, &ids,
			       &(struct ar_ev_job_delivery){ .delivery_state = state });
	else
		ar_decide_emit(d, AR_EV_TASK_PROGRESS, &ids,
			       &(struct ar_ev_task_progress){ .phase = AR_TASK_PROGRESS_PHASE_DELIVERING,
							      .counters = AR_STR("{}"),
							      .delivery_state = state });
}

static void end_delivery(struct ar_decision *d, const struct ar_deliverable *what,
			 const struct ar_shape_delivery_state *state)
{
	ar_delivery_say(d, what, state);
	ar_decide_wake_cancel(d, ar_delivery_subject(what));
	if (what->task)
		ar_task_delivered(d, what->task);
}

void ar_delivery_say_failed(struct ar_decision *d, const struct ar_deliverable *what, struct ar_str reason)
{
	struct ar_shape_delivery_state state = *ar_delivery_state(what);

	state.state = AR_STR("failed");
	state.reason = ar_str_utf8_prefix(reason, PREVIEW_MAX);
	end_delivery(d, what, &state);
}

void ar_delivery_say_delivered(struct ar_decision *d, const struct ar_deliverable *what)
{
	struct ar_shape_delivery_state state = *ar_delivery_state(what);

	state.state = AR_STR("delivered");
	state.reason = AR_STR_NONE;
	end_delivery(d, what, &state);
}

void ar_delivery_acknowledged(struct ar_decision *d, struct ar_str channel, int64_t sequence)
{
	struct ar_vec open = ar_vec_copy(d->arena, &d->session->deliveries);

	for (size_t i = 0; i < open.count; i++) {
		const struct ar_deliverable *what = open.at[i];
		const struct ar_shape_delivery_state *state = ar_delivery_state(what);

		if (ar_str_is(ar_delivery_to(what)->kind, AR_DELIVERY_CHANNEL) &&
		    ar_str_eq(state->to, channel) && state->sequence.set && state->sequence.v <= sequence)
			ar_delivery_say_delivered(d, what);
	}
}

/* ---- the host's report about a webhook ---- */

static bool is_said(const struct ar_shape_delivery_state *known, const struct ar_cmd_report_delivery_in *in)
{
	return ar_str_is(known->state, "delivered") ||
	       (in->state == AR_REPORT_DELIVERY_STATE_FAILED && ar_str_is(known->state, "failed") &&
		ar_str_eq(known->delivery_id, in->delivery_id));
}

enum ar_status ar_decide_report_delivery(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_report_delivery_in *in = d->input->command.args;
	bool is_delivered = in->state == AR_REPORT_DELIVERY_STATE_DELIVERED;
	struct ar_shape_delivery_state state;
	struct ar_deliverable what;

	if (!d->input->is_runtime)
		return ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
				 "report_delivery is sent by the runtime, not by callers");
	if (!ar_session_deliverable(d->session, in->to, &what) || !ar_delivery_state(&what) ||
	    ar_delivery_state(&what)->sequence.v != in->sequence)
		return ar_refuse(err, AR_ERR_NOT_FOUND, "nothing here is delivered as %.*s",
				 AR_STR_ARG(ar_str_utf8_prefix(in->to, 64)));
	state = *ar_delivery_state(&what);
	if (!is_said(&state, in)) {
		state.state = is_delivered ? AR_STR("delivered") : AR_STR("failed");
		state.reason = is_delivered ? AR_STR_NONE : in->reason;
		state.delivery_id = in->delivery_id;
		state.attempts = in->attempts;
		end_delivery(d, &what, &state);
	}
	ar_decide_reply(d, AR_CMD_REPORT_DELIVERY, &(struct ar_cmd_report_delivery_out){ .to = in->to });
	return AR_OK;
}

/* ---- time ---- */

static bool is_file(const struct ar_deliverable *what)
{
	return ar_str_is(ar_delivery_to(what)->kind, AR_DELIVERY_FILE);
}

/* The turn of its latest attempt, while it is open. */
static bool has_open_turn(const struct ar_decision *d, const struct ar_deliverable *what)
{
	struct ar_thread *t;
	const struct ar_turn *turn = ar_session_turn(d->session, ar_delivery_state(what)->turn_id, &t);

	return turn && ar_str_absent(turn->outcome);
}

/* One from before deliveries had deadlines gets the one that it would have. */
static ar_usec deadline_of(const struct ar_decision *d, const struct ar_deliverable *what)
{
	ar_usec ended = what->task ? what->task->ended : what->job->ended;

	return ar_delivery_state(what)->deadline ? ar_delivery_state(what)->deadline
						 : ended + d->input->policy->delivery_ms * 1000;
}

void ar_delivery_wake(struct ar_decision *d, const struct ar_deliverable *what, ar_usec at)
{
	ar_decide_wake_cancel(d, ar_delivery_subject(what));
	ar_decide_wake(d, what->task ? AR_IN_TASK_DUE : AR_IN_JOB_DUE, ar_delivery_subject(what), at);
}

void ar_delivery_set_clock(struct ar_decision *d, const struct ar_deliverable *what)
{
	bool is_next = is_file(what) && !has_open_turn(d, what);

	if (!ar_delivery_is_open(what))
		return;
	ar_delivery_wake(d, what, is_next ? d->input->now : deadline_of(d, what));
}

void ar_delivery_due(struct ar_decision *d, const struct ar_deliverable *what)
{
	if (!ar_delivery_to(what) || !ar_delivery_is_open(what))
		return;
	if (d->input->now >= deadline_of(d, what))
		ar_delivery_say_failed(d, what,
				       ar_str_is(ar_delivery_to(what)->kind, AR_DELIVERY_CHANNEL)
					       ? AR_STR("its peer did not acknowledge it in time")
					       : AR_STR("it was not delivered in time"));
	else if (is_file(what) && !has_open_turn(d, what))
		ar_delivery_write(d, what);
	else
		ar_delivery_set_clock(d, what);
}

void ar_deliveries_recover(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->deliveries.count; i++)
		ar_delivery_set_clock(d, d->session->deliveries.at[i]);
}
