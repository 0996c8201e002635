/* See telemetry.h. Texts of facts are not repeated here: a reason or a message may quote what a model or a
 * person said. The id of the fact leads to them. */
#include "attributes.h"
#include "describe.h"

typedef void record_fn(const struct ar_event *e, struct ar_attribute_list *l);

static void warning(const struct ar_event *e, struct ar_attribute_list *l)
{
	ar_attribute_text(l, AR_ATTR_CODE, ((const struct ar_ev_runtime_warning *)e->payload)->code);
}

static void permission_evaluated(const struct ar_event *e, struct ar_attribute_list *l)
{
	const struct ar_ev_permission_evaluated *p = e->payload;

	ar_attribute_word(l, AR_ATTR_DECISION, &ar_permission_evaluated_decision_desc, p->decision);
	ar_attribute_word(l, AR_ATTR_DECISION_SOURCE, &ar_permission_evaluated_decision_source_desc,
			  p->decision_source);
}

static void permission_resolved(const struct ar_event *e, struct ar_attribute_list *l)
{
	const struct ar_ev_permission_resolved *p = e->payload;

	ar_attribute_word(l, AR_ATTR_DECISION, &ar_permission_resolved_outcome_desc, p->outcome);
	ar_attribute_word(l, AR_ATTR_DECISION_SOURCE, &ar_permission_resolved_decision_source_desc,
			  p->decision_source);
}

static void action_resolved(const struct ar_event *e, struct ar_attribute_list *l)
{
	const struct ar_ev_action_resolved *p = e->payload;

	ar_attribute_word(l, AR_ATTR_DECISION_SOURCE, &ar_action_resolved_decision_source_desc,
			  p->decision_source);
}

static void routing_decided(const struct ar_event *e, struct ar_attribute_list *l)
{
	const struct ar_ev_routing_decided *p = e->payload;

	ar_attribute_word(l, AR_ATTR_ROUTING_MODE, &ar_routing_decided_routing_mode_desc, p->routing_mode);
	ar_attribute_text(l, AR_ATTR_ROUTING_SOURCE, p->decision_source);
	ar_attribute_text(l, AR_ATTR_PROVIDER, p->selected_provider);
	ar_attribute_text(l, AR_ATTR_REQUEST_MODEL, p->selected_model);
}

static void routing_fallback(const struct ar_event *e, struct ar_attribute_list *l)
{
	const struct ar_ev_routing_fallback_applied *p = e->payload;

	if (p->to)
		ar_attribute_text(l, AR_ATTR_REQUEST_MODEL, p->to->model);
}

static void cost_recorded(const struct ar_event *e, struct ar_attribute_list *l)
{
	const struct ar_ev_cost_recorded *p = e->payload;

	ar_attribute_int(l, AR_ATTR_INPUT_TOKENS, AR_OPT_INT(p->input_tokens));
	ar_attribute_int(l, AR_ATTR_OUTPUT_TOKENS, AR_OPT_INT(p->output_tokens));
	ar_attribute_int(l, AR_ATTR_CACHED_TOKENS, AR_OPT_INT(p->cached_tokens));
}

static void rate_limit_hit(const struct ar_event *e, struct ar_attribute_list *l)
{
	const struct ar_ev_rate_limit_hit *p = e->payload;

	ar_attribute_word(l, AR_ATTR_DECISION_SOURCE, &ar_rate_limit_hit_source_desc, p->source);
}

static void quota_low(const struct ar_event *e, struct ar_attribute_list *l)
{
	ar_attribute_text(l, AR_ATTR_CODE, ((const struct ar_ev_quota_low *)e->payload)->quota_kind);
}

static void quota_blocked(const struct ar_event *e, struct ar_attribute_list *l)
{
	ar_attribute_text(l, AR_ATTR_CODE, ((const struct ar_ev_quota_blocked *)e->payload)->quota_kind);
}

static void sandbox_violation(const struct ar_event *e, struct ar_attribute_list *l)
{
	const struct ar_ev_sandbox_violation *p = e->payload;

	ar_attribute_word(l, AR_ATTR_DECISION, &ar_sandbox_violation_effect_desc, p->effect);
	ar_attribute_word(l, AR_ATTR_CODE, &ar_sandbox_violation_boundary_desc, p->boundary);
}

static const struct {
	enum ar_severity severity; /* 0: the fact is no record */
	record_fn *fill;
} rows[AR_EV_COUNT] = {
	[AR_EV_RUNTIME_WARNING] = { AR_SEVERITY_WARN, warning },
	[AR_EV_RUNTIME_ERROR] = { AR_SEVERITY_ERROR, NULL },
	[AR_EV_PERMISSION_EVALUATED] = { AR_SEVERITY_INFO, permission_evaluated },
	[AR_EV_PERMISSION_REQUESTED] = { AR_SEVERITY_INFO, NULL },
	[AR_EV_PERMISSION_RESOLVED] = { AR_SEVERITY_INFO, permission_resolved },
	[AR_EV_ACTION_REQUIRED] = { AR_SEVERITY_INFO, NULL },
	[AR_EV_ACTION_RESOLVED] = { AR_SEVERITY_INFO, action_resolved },
	[AR_EV_ROUTING_DECIDED] = { AR_SEVERITY_INFO, routing_decided },
	[AR_EV_ROUTING_FALLBACK_APPLIED] = { AR_SEVERITY_WARN, routing_fallback },
	[AR_EV_ROUTING_NOT_POSSIBLE] = { AR_SEVERITY_WARN, NULL },
	[AR_EV_COST_RECORDED] = { AR_SEVERITY_INFO, cost_recorded },
	[AR_EV_RATE_LIMIT_HIT] = { AR_SEVERITY_WARN, rate_limit_hit },
	[AR_EV_QUOTA_LOW] = { AR_SEVERITY_WARN, quota_low },
	[AR_EV_QUOTA_BLOCKED] = { AR_SEVERITY_WARN, quota_blocked },
	[AR_EV_SANDBOX_VIOLATION] = { AR_SEVERITY_WARN, sandbox_violation },
};

bool ar_telemetry_record(const struct ar_session *s, const struct ar_event *e, struct ar_arena *a,
			 struct ar_record *ret)
{
	struct ar_attribute_list l;

	*ret = (struct ar_record){ 0 };
	if (!rows[e->type].severity)
		return false;
	l = ar_attributes_of(s, e, a);
	ret->has_trace = ar_telemetry_ids(e, &ret->of);
	if (!ret->has_trace) /* said, and not guessed from what happened near it */
		ar_attribute_text(&l, AR_ATTR_CORRELATION, AR_STR("missing"));
	if (rows[e->type].fill)
		rows[e->type].fill(e, &l);
	ret->time = e->time;
	ret->severity = rows[e->type].severity;
	ret->event = ar_event_describe(e->type)->name;
	ret->body = ar_str_from(ret->event);
	ret->attrs = (struct ar_attrs){ l.at, l.count };
	return true;
}
