/* See meter.h. Durations come from the facts themselves, so that they are the same that a
 * reader of the log computes. */
#include "meter.h"
#include "limits/money.h"
#include "meter/durations.h"

typedef void meter_fn(struct ar_metrics *m, const struct ar_event *e);

static void count(struct ar_metrics *m, enum ar_metric_id metric)
{
	ar_metric_add(m, metric, AR_STR_NONE, AR_STR_NONE, 1);
}

static void count_as(struct ar_metrics *m, enum ar_metric_id metric, struct ar_str label)
{
	ar_metric_add(m, metric, label, AR_STR_NONE, 1);
}

static struct ar_str enum_name(const struct ar_enum_desc *d, int value)
{
	return value > 0 && value < d->count ? ar_str_from(d->names[value]) : AR_STR("unknown");
}

static void observe_ms(struct ar_metrics *m, enum ar_metric_id metric, struct ar_str label,
		       struct ar_opt_int ms)
{
	if (ms.set)
		ar_metric_observe(m, metric, label, ms.v * 1000);
}

static void turn_completed(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_turn_completed *p = e->payload;

	count_as(m, AR_METRIC_TURNS_ENDED, AR_STR("completed"));
	observe_ms(m, AR_METRIC_TURN_DURATION, AR_STR_NONE, p->duration_ms);
}

static void turn_failed(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_turn_failed *p = e->payload;

	count_as(m, AR_METRIC_TURNS_ENDED, enum_name(&ar_turn_failed_status_desc, p->status));
}

static void model_requested(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_model_requested *p = e->payload;

	count_as(m, AR_METRIC_MODEL_REQUESTS, p->provider);
}

static void model_completed(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_model_completed *p = e->payload;

	ar_metric_add(m, AR_METRIC_MODEL_ENDED, p->provider, AR_STR("completed"), 1);
	observe_ms(m, AR_METRIC_MODEL_LATENCY, p->provider, p->latency_ms);
	observe_ms(m, AR_METRIC_MODEL_FIRST_TOKEN, p->provider, p->ttft_ms);
}

static void model_failed(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_model_failed *p = e->payload;

	ar_metric_add(m, AR_METRIC_MODEL_ENDED, p->provider,
		      enum_name(&ar_model_failed_outcome_desc, p->outcome), 1);
}

static void cost_recorded(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_cost_recorded *p = e->payload;
	int64_t nano;

	ar_metric_add(m, AR_METRIC_MODEL_TOKENS, AR_STR("input"), AR_STR_NONE, p->input_tokens);
	ar_metric_add(m, AR_METRIC_MODEL_TOKENS, AR_STR("cached"), AR_STR_NONE, p->cached_tokens);
	ar_metric_add(m, AR_METRIC_MODEL_TOKENS, AR_STR("output"), AR_STR_NONE, p->output_tokens);
	if (ar_money_parse(p->amount, &nano)) /* unknown is a word */
		ar_metric_add(m, AR_METRIC_COST, p->currency, AR_STR_NONE, nano);
}

static void tool_started(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_tool_started *p = e->payload;

	count_as(m, AR_METRIC_TOOL_CALLS,
		 ar_str_absent(p->runtime_owner) ? AR_STR("unknown") : p->runtime_owner);
}

static void tool_result(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_tool_result *p = e->payload;

	count_as(m, AR_METRIC_TOOL_CALLS_ENDED, AR_STR("ok"));
	observe_ms(m, AR_METRIC_TOOL_DURATION, AR_STR_NONE, p->duration_ms);
}

static void tool_failed(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_tool_failed *p = e->payload;

	count_as(m, AR_METRIC_TOOL_CALLS_ENDED, enum_name(&ar_tool_failed_status_desc, p->status));
}

static void action_resolved(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_action_resolved *p = e->payload;

	count_as(m, AR_METRIC_ACTIONS_RESOLVED,
		 enum_name(&ar_action_resolved_decision_source_desc, p->decision_source));
}

static void process_completed(struct ar_metrics *m, const struct ar_event *e AR_UNUSED)
{
	count_as(m, AR_METRIC_PROCESSES_ENDED, AR_STR("completed"));
}

static void process_failed(struct ar_metrics *m, const struct ar_event *e AR_UNUSED)
{
	count_as(m, AR_METRIC_PROCESSES_ENDED, AR_STR("failed"));
}

static void process_terminated(struct ar_metrics *m, const struct ar_event *e AR_UNUSED)
{
	count_as(m, AR_METRIC_PROCESSES_ENDED, AR_STR("terminated"));
}

static void sandbox_violation(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_sandbox_violation *p = e->payload;

	ar_metric_add(m, AR_METRIC_SANDBOX_VIOLATIONS,
		      enum_name(&ar_sandbox_violation_boundary_desc, p->boundary),
		      enum_name(&ar_sandbox_violation_effect_desc, p->effect), p->count.set ? p->count.v : 1);
}

static void hook_completed(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_hook_completed *p = e->payload;

	count_as(m, AR_METRIC_HOOKS_ENDED, AR_STR("completed"));
	observe_ms(m, AR_METRIC_HOOK_DURATION, AR_STR_NONE, AR_OPT_INT(p->duration_ms));
}

static void hook_failed(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_hook_failed *p = e->payload;

	count_as(m, AR_METRIC_HOOKS_ENDED, AR_STR("failed"));
	observe_ms(m, AR_METRIC_HOOK_DURATION, AR_STR_NONE, p->duration_ms);
}

static void rate_limit_hit(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_rate_limit_hit *p = e->payload;

	count_as(m, AR_METRIC_RATE_LIMITS_HIT, enum_name(&ar_rate_limit_hit_source_desc, p->source));
}

static void evidence_changed(struct ar_metrics *m, const struct ar_event *e)
{
	const struct ar_ev_evidence_changed *p = e->payload;

	observe_ms(m, AR_METRIC_EVIDENCE_DURATION, enum_name(&ar_evidence_changed_kind_desc, p->kind),
		   p->duration_ms);
}

/* Facts that are counted, one by one; `more` has labels or durations of its own. */
static const struct {
	enum ar_metric_id metric;
	bool is_counted; /* under `metric` */
	meter_fn *more;
} meters[AR_EV_COUNT] = {
	[AR_EV_SESSION_CREATED] = { AR_METRIC_SESSIONS_CREATED, true, NULL },
	[AR_EV_TURN_SUBMITTED] = { AR_METRIC_TURNS_SUBMITTED, true, NULL },
	[AR_EV_TURN_STARTED] = { AR_METRIC_TURNS_STARTED, true, NULL },
	[AR_EV_TURN_COMPLETED] = { .more = turn_completed },
	[AR_EV_TURN_FAILED] = { .more = turn_failed },
	[AR_EV_MODEL_REQUESTED] = { .more = model_requested },
	[AR_EV_MODEL_COMPLETED] = { .more = model_completed },
	[AR_EV_MODEL_FAILED] = { .more = model_failed },
	[AR_EV_COST_RECORDED] = { .more = cost_recorded },
	[AR_EV_TOOL_STARTED] = { .more = tool_started },
	[AR_EV_TOOL_RESULT] = { .more = tool_result },
	[AR_EV_TOOL_FAILED] = { .more = tool_failed },
	[AR_EV_ACTION_REQUIRED] = { AR_METRIC_ACTIONS_REQUIRED, true, NULL },
	[AR_EV_ACTION_RESOLVED] = { .more = action_resolved },
	[AR_EV_PROCESS_STARTED] = { AR_METRIC_PROCESSES_STARTED, true, NULL },
	[AR_EV_PROCESS_COMPLETED] = { .more = process_completed },
	[AR_EV_PROCESS_FAILED] = { .more = process_failed },
	[AR_EV_PROCESS_TERMINATED] = { .more = process_terminated },
	[AR_EV_SANDBOX_VIOLATION] = { .more = sandbox_violation },
	[AR_EV_HOOK_COMPLETED] = { .more = hook_completed },
	[AR_EV_HOOK_FAILED] = { .more = hook_failed },
	[AR_EV_RATE_LIMIT_HIT] = { .more = rate_limit_hit },
	[AR_EV_EVIDENCE_CHANGED] = { .more = evidence_changed },
	[AR_EV_RUNTIME_WARNING] = { AR_METRIC_WARNINGS, true, NULL },
	[AR_EV_RUNTIME_ERROR] = { AR_METRIC_WARNINGS, true, NULL },
};

void ar_meter_committed(struct ar_metrics *m, const struct ar_decision *d, size_t bytes, ar_usec took)
{
	if (!m)
		return;
	for (size_t i = 0; i < d->event_count; i++) {
		const struct ar_event *e = &d->events[i];

		if (meters[e->type].is_counted)
			count(m, meters[e->type].metric);
		if (meters[e->type].more)
			meters[e->type].more(m, e);
		ar_meter_durations(m, d->session, e);
	}
	ar_metric_add(m, AR_METRIC_EVENTS_APPENDED, AR_STR_NONE, AR_STR_NONE, (int64_t)d->event_count);
	ar_metric_add(m, AR_METRIC_EVENT, AR_STR_NONE, AR_STR_NONE, (int64_t)bytes);
	ar_metric_observe(m, AR_METRIC_COMMIT_DURATION, AR_STR_NONE, took);
	ar_metric_observe(m, AR_METRIC_COMMIT_FACTS, AR_STR_NONE, (int64_t)d->event_count);
}

void ar_meter_refused(struct ar_metrics *m, enum ar_status why)
{
	struct ar_str reason = why == AR_E_EXISTS   ? AR_STR("repeated")
			       : why == AR_E_FENCED ? AR_STR("fenced")
						    : AR_STR("unavailable");

	count_as(m, AR_METRIC_COMMITS_FAILED, reason);
}

void ar_meter_sealed(struct ar_metrics *m, size_t rows)
{
	if (m && rows > 0)
		ar_metric_add(m, AR_METRIC_LOG_ROWS_SEALED, AR_STR_NONE, AR_STR_NONE, (int64_t)rows);
}
