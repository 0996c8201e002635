/* See durations.h. Times come from the facts, so that they are those that a reader of the log computes. */
#include "meter/durations.h"
#include "action/action.h"
#include "describe.h"
#include "process/record.h"

typedef void duration_fn(struct ar_metrics *m, const struct ar_session *s, const struct ar_event *e);

static void observe(struct ar_metrics *m, enum ar_metric_id metric, struct ar_str label, ar_usec from,
		    ar_usec to)
{
	if (from > 0)
		ar_metric_observe(m, metric, label, to > from ? to - from : 0);
}

static const struct ar_turn *turn_of(const struct ar_session *s, const struct ar_event *e)
{
	struct ar_thread *thread;

	return ar_session_turn(s, e->ids[AR_SCOPE_TURN], &thread);
}

static void turn_started(struct ar_metrics *m, const struct ar_session *s, const struct ar_event *e)
{
	const struct ar_turn *turn = turn_of(s, e);

	if (turn)
		observe(m, AR_METRIC_QUEUE_WAIT, AR_STR_NONE, turn->submitted, e->time);
}

static void action_resolved(struct ar_metrics *m, const struct ar_session *s, const struct ar_event *e)
{
	const struct ar_action *action = ar_session_action(s, e->ids[AR_SCOPE_ACTION]);

	if (action)
		observe(m, AR_METRIC_PERMISSION_WAIT, AR_STR_NONE, action->created, e->time);
}

static void observe_run(struct ar_metrics *m, const struct ar_session *s, const struct ar_event *e,
			struct ar_str outcome)
{
	const struct ar_task *task = ar_session_any_task(s, e->ids[AR_SCOPE_TASK]);

	for (size_t i = 0; task && i < task->runs.count; i++) {
		const struct ar_run *run = task->runs.at[i];

		if (ar_str_eq(run->id, e->ids[AR_SCOPE_RUN]))
			observe(m, AR_METRIC_TASK_DURATION, outcome, run->started, e->time);
	}
}

static void attempt_completed(struct ar_metrics *m, const struct ar_session *s, const struct ar_event *e)
{
	observe_run(m, s, e, AR_STR("completed"));
}

static void attempt_failed(struct ar_metrics *m, const struct ar_session *s, const struct ar_event *e)
{
	int status = ((const struct ar_ev_task_attempt_failed *)e->payload)->status;

	observe_run(m, s, e, ar_str_from(ar_enum_name(&ar_task_attempt_failed_status_desc, status)));
}

static void process_ended(struct ar_metrics *m, const struct ar_session *s, const struct ar_event *e)
{
	const struct ar_process_record *p = ar_session_process(s, e->ids[AR_SCOPE_PROCESS]);

	if (p)
		observe(m, AR_METRIC_PROCESSES_DURATION, AR_STR_NONE, p->started, e->time);
}

/* The attempt before it is the step before it. */
static void model_requested(struct ar_metrics *m, const struct ar_session *s, const struct ar_event *e)
{
	const struct ar_ev_model_requested *p = e->payload;
	const struct ar_turn *turn = p->attempt > 1 ? turn_of(s, e) : NULL;
	struct ar_str reason = AR_STR("unknown");

	if (p->attempt <= 1)
		return;
	for (size_t i = 0; turn && i < turn->steps.count; i++) {
		const struct ar_step *step = turn->steps.at[i];

		if (ar_str_eq(step->id, e->ids[AR_SCOPE_STEP]))
			break;
		if (!ar_str_empty(step->category))
			reason = step->category;
	}
	ar_metric_add(m, AR_METRIC_MODEL_RETRIES, reason, AR_STR_NONE, 1);
}

static void quota_low(struct ar_metrics *m, const struct ar_session *s AR_UNUSED, const struct ar_event *e)
{
	ar_metric_add(m, AR_METRIC_QUOTA_EVENTS, AR_STR("low"),
		      ((const struct ar_ev_quota_low *)e->payload)->quota_kind, 1);
}

static void quota_blocked(struct ar_metrics *m, const struct ar_session *s AR_UNUSED,
			  const struct ar_event *e)
{
	ar_metric_add(m, AR_METRIC_QUOTA_EVENTS, AR_STR("blocked"),
		      ((const struct ar_ev_quota_blocked *)e->payload)->quota_kind, 1);
}

void ar_meter_durations(struct ar_metrics *m, const struct ar_session *s, const struct ar_event *e)
{
	static duration_fn *const rows[AR_EV_COUNT] = {
		[AR_EV_TURN_STARTED] = turn_started,
		[AR_EV_ACTION_RESOLVED] = action_resolved,
		[AR_EV_TASK_ATTEMPT_COMPLETED] = attempt_completed,
		[AR_EV_TASK_ATTEMPT_FAILED] = attempt_failed,
		[AR_EV_PROCESS_COMPLETED] = process_ended,
		[AR_EV_PROCESS_FAILED] = process_ended,
		[AR_EV_PROCESS_TERMINATED] = process_ended,
		[AR_EV_MODEL_REQUESTED] = model_requested,
		[AR_EV_QUOTA_LOW] = quota_low,
		[AR_EV_QUOTA_BLOCKED] = quota_blocked,
	};

	if (rows[e->type])
		rows[e->type](m, s, e);
}
