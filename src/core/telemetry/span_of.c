/* See telemetry.h. A row of a table per fact that ends a span. A fact that belongs to no trace gives no span:
 * there is nothing to join it with. */
#include "attributes.h"
#include "process/record.h"
#include "trace/trace.h"

/* What the rows fill. */
struct draft {
	const struct ar_session *s;
	const struct ar_event *e;
	const struct ar_turn *turn; /* NULL: none, or it has left the window */
	struct ar_attribute_list l;
	struct ar_str subject; /* behind the name; absent: none */
	struct ar_opt_int ms; /* that it lasted, if the fact says so */
	ar_usec start; /* 0: by `ms`, else it has no length */
	bool is_failed, with_content;
};

typedef void draft_fn(struct draft *d);

static struct ar_str word_of(const struct ar_enum_desc *desc, int value)
{
	return value > 0 && value < desc->count ? ar_str_from(desc->names[value]) : AR_STR_NONE;
}

static void fail(struct draft *d, struct ar_str category)
{
	d->is_failed = true;
	ar_attribute_text(&d->l, AR_ATTR_ERROR_TYPE, ar_str_empty(category) ? AR_STR("_OTHER") : category);
}

/* ---- turns ---- */

static void add_route(struct draft *d, const struct ar_route *r)
{
	ar_attribute_text(&d->l, AR_ATTR_PROVIDER, r->provider);
	ar_attribute_text(&d->l, AR_ATTR_REQUEST_MODEL, r->model);
	ar_attribute_text(&d->l, AR_ATTR_ROUTING_MODE, r->mode);
	ar_attribute_text(&d->l, AR_ATTR_ROUTING_SOURCE, r->source);
	ar_attribute_int(&d->l, AR_ATTR_ROUTING_FALLBACKS, AR_OPT_INT(r->fallbacks));
}

static void interaction(struct draft *d, struct ar_str outcome)
{
	const struct ar_turn *t = d->turn;

	d->subject = AR_STR("agentd");
	ar_attribute_text(&d->l, AR_ATTR_AGENT, d->subject);
	ar_attribute_text(&d->l, AR_ATTR_OUTCOME, outcome);
	if (!t)
		return;
	d->start = t->started ? t->started : t->submitted;
	if (ar_telemetry_has_waited(t))
		ar_attribute_text(&d->l, AR_ATTR_QUEUED_TURN, t->id);
	if (t->started)
		ar_attribute_int(&d->l, AR_ATTR_QUEUE_WAIT, AR_OPT_INT((t->started - t->submitted) / 1000));
	ar_attribute_int(&d->l, AR_ATTR_REQUESTS, AR_OPT_INT(t->spent.requests));
	ar_attribute_int(&d->l, AR_ATTR_INPUT_TOKENS, AR_OPT_INT(t->input_tokens));
	ar_attribute_int(&d->l, AR_ATTR_OUTPUT_TOKENS, AR_OPT_INT(t->output_tokens));
	ar_attribute_int(&d->l, AR_ATTR_CACHED_TOKENS, AR_OPT_INT(t->cached_tokens));
	if (t->spent.requests > 0 && t->spent.unpriced == 0) /* else nobody knows it */
		ar_attribute_int(&d->l, AR_ATTR_COST, AR_OPT_INT(t->spent.cost));
	if (t->route)
		add_route(d, t->route);
	if (d->with_content)
		ar_attribute_text(&d->l, AR_ATTR_INPUT_PREVIEW, t->input_preview);
}

static void turn_completed(struct draft *d)
{
	d->ms = ((const struct ar_ev_turn_completed *)d->e->payload)->duration_ms;
	interaction(d, AR_STR("completed"));
}

static void turn_failed(struct draft *d)
{
	const struct ar_ev_turn_failed *p = d->e->payload;

	interaction(d, word_of(&ar_turn_failed_status_desc, p->status));
	if (p->status != AR_TURN_FAILED_STATUS_CANCELLED)
		fail(d, p->error ? p->error->category : AR_STR_NONE);
}

/* ---- tasks ---- */

static void attempt(struct draft *d, struct ar_str outcome)
{
	const struct ar_task *task = ar_session_any_task(d->s, d->e->ids[AR_SCOPE_TASK]);

	ar_attribute_text(&d->l, AR_ATTR_OUTCOME, outcome);
	for (size_t i = 0; task && i < task->runs.count; i++) {
		const struct ar_run *run = task->runs.at[i];

		if (!ar_str_eq(run->id, d->e->ids[AR_SCOPE_RUN]))
			continue;
		d->start = run->started;
		ar_attribute_int(&d->l, AR_ATTR_ATTEMPT, AR_OPT_INT(run->count));
	}
}

static void attempt_completed(struct draft *d)
{
	attempt(d, AR_STR("completed"));
}

static void attempt_failed(struct draft *d)
{
	const struct ar_ev_task_attempt_failed *p = d->e->payload;

	attempt(d, word_of(&ar_task_attempt_failed_status_desc, p->status));
	if (p->status != AR_TASK_ATTEMPT_FAILED_STATUS_CANCELLED)
		fail(d, p->failure_category);
}

/* ---- models ---- */

static void model(struct draft *d, struct ar_str provider, struct ar_str name)
{
	const struct ar_step *step = d->turn ? ar_turn_step(d->turn, d->e->ids[AR_SCOPE_STEP]) : NULL;

	d->subject = name;
	ar_attribute_text(&d->l, AR_ATTR_PROVIDER, provider);
	ar_attribute_text(&d->l, AR_ATTR_REQUEST_MODEL, name);
	if (step && ar_str_eq(step->model_request, d->e->ids[AR_SCOPE_MODEL_REQUEST]))
		d->start = step->started;
}

static void model_completed(struct draft *d)
{
	const struct ar_ev_model_completed *p = d->e->payload;

	model(d, p->provider, p->model);
	d->ms = p->latency_ms;
	if (p->usage) {
		ar_attribute_int(&d->l, AR_ATTR_INPUT_TOKENS, p->usage->input_tokens);
		ar_attribute_int(&d->l, AR_ATTR_OUTPUT_TOKENS, p->usage->output_tokens);
		ar_attribute_int(&d->l, AR_ATTR_CACHED_TOKENS, p->usage->cached_tokens);
	}
	d->l.at[d->l.count++] = (struct ar_attr){ .name = ar_attribute_names[AR_ATTR_FINISH_REASONS],
						  .kind = AR_ATTR_IS_TEXTS,
						  .text = p->stop_reason };
	if (p->ttft_ms.set)
		d->l.at[d->l.count++] = (struct ar_attr){ .name = ar_attribute_names[AR_ATTR_FIRST_CHUNK],
							  .kind = AR_ATTR_IS_NUM,
							  .num = (double)p->ttft_ms.v / 1000 };
	if (d->with_content)
		ar_attribute_text(&d->l, AR_ATTR_OUTPUT_PREVIEW, p->preview);
}

static void model_failed(struct draft *d)
{
	const struct ar_ev_model_failed *p = d->e->payload;

	model(d, p->provider, p->model);
	ar_attribute_int(&d->l, AR_ATTR_ATTEMPT, AR_OPT_INT(p->attempt));
	ar_attribute_int(&d->l, AR_ATTR_HTTP_STATUS, p->status);
	ar_attribute_word(&d->l, AR_ATTR_OUTCOME, &ar_model_failed_outcome_desc, p->outcome);
	if (p->outcome != AR_MODEL_FAILED_OUTCOME_CANCELLED)
		fail(d, p->error ? p->error->category : AR_STR_NONE);
}

/* ---- what models ask for ---- */

/* A name that is no tool's is a text of the model's own: it may be anything, and stays here. */
static void tool(struct draft *d, bool is_offered)
{
	const struct ar_invocation *call =
		d->turn ? ar_turn_call(d->turn, d->e->ids[AR_SCOPE_TOOL_CALL]) : NULL;

	if (!call)
		return;
	d->start = call->started;
	if (is_offered)
		d->subject = call->name;
	ar_attribute_text(&d->l, AR_ATTR_TOOL, d->subject);
	ar_attribute_int(&d->l, AR_ATTR_ATTEMPT, AR_OPT_INT(call->attempt));
}

static void tool_result(struct draft *d)
{
	const struct ar_ev_tool_result *p = d->e->payload;

	tool(d, true);
	d->ms = p->duration_ms;
	ar_attribute_text(&d->l, AR_ATTR_OUTCOME, AR_STR("ok"));
	if (d->with_content)
		ar_attribute_text(&d->l, AR_ATTR_TOOL_RESULT, p->preview);
}

static void tool_failed(struct draft *d)
{
	const struct ar_ev_tool_failed *p = d->e->payload;

	tool(d, !ar_str_is(p->error_category, "tool_unavailable"));
	ar_attribute_word(&d->l, AR_ATTR_OUTCOME, &ar_tool_failed_status_desc, p->status);
	if (p->status == AR_TOOL_FAILED_STATUS_FAILED || p->status == AR_TOOL_FAILED_STATUS_TIMED_OUT)
		fail(d, p->error_category);
}

static void process(struct draft *d, struct ar_str outcome)
{
	const struct ar_process_record *p = ar_session_process(d->s, d->e->ids[AR_SCOPE_PROCESS]);

	ar_attribute_text(&d->l, AR_ATTR_OUTCOME, outcome);
	if (!p)
		return;
	d->start = p->started;
	if (d->with_content)
		ar_attribute_text(&d->l, AR_ATTR_COMMAND_LINE, p->command);
}

static void process_completed(struct draft *d)
{
	const struct ar_ev_process_completed *p = d->e->payload;

	d->ms = AR_OPT_INT(p->duration_ms);
	process(d, AR_STR("completed"));
	ar_attribute_int(&d->l, AR_ATTR_EXIT_CODE, AR_OPT_INT(p->exit_code));
}

static void process_failed(struct draft *d)
{
	const struct ar_ev_process_failed *p = d->e->payload;

	d->ms = p->duration_ms;
	process(d, AR_STR("failed"));
	fail(d, word_of(&ar_process_failed_failure_kind_desc, p->failure_kind));
}

static void process_terminated(struct draft *d)
{
	const struct ar_ev_process_terminated *p = d->e->payload;

	process(d, AR_STR("terminated"));
	ar_attribute_int(&d->l, AR_ATTR_EXIT_CODE, p->exit_code);
	ar_attribute_word(&d->l, AR_ATTR_TERMINATED_BY, &ar_process_terminated_terminated_by_desc,
			  p->terminated_by);
}

/* ---- the rest ---- */

static void hook_completed(struct draft *d)
{
	const struct ar_ev_hook_completed *p = d->e->payload;

	d->ms = AR_OPT_INT(p->duration_ms);
	ar_attribute_text(&d->l, AR_ATTR_HOOK_HANDLER, p->handler_ref);
	ar_attribute_word(&d->l, AR_ATTR_HOOK_DECISION, &ar_hook_completed_decision_desc, p->decision);
}

static void hook_failed(struct draft *d)
{
	const struct ar_ev_hook_failed *p = d->e->payload;

	d->ms = p->duration_ms;
	ar_attribute_text(&d->l, AR_ATTR_HOOK_HANDLER, p->handler_ref);
	fail(d, p->error_category);
}

static void artifact_changed(struct draft *d)
{
	const struct ar_ev_artifact_changed *p = d->e->payload;

	ar_attribute_word(&d->l, AR_ATTR_ARTIFACT_CHANGE, &ar_artifact_changed_change_desc, p->change);
	ar_attribute_text(&d->l, AR_ATTR_ARTIFACT_KIND, p->kind);
	ar_attribute_text(&d->l, AR_ATTR_ARTIFACT_VERSION, p->version_id);
	ar_attribute_int(&d->l, AR_ATTR_ARTIFACT_SIZE, p->size_bytes);
	if (d->with_content)
		ar_attribute_text(&d->l, AR_ATTR_ARTIFACT_PATH, p->path);
}

static void evidence_changed(struct draft *d)
{
	const struct ar_ev_evidence_changed *p = d->e->payload;

	d->ms = p->duration_ms;
	ar_attribute_word(&d->l, AR_ATTR_EVIDENCE_KIND, &ar_evidence_changed_kind_desc, p->kind);
}

static const struct {
	enum ar_span_type type;
	draft_fn *fill; /* NULL: the fact ends no span */
} rows[AR_EV_COUNT] = {
	[AR_EV_TURN_COMPLETED] = { AR_SPAN_INTERACTION, turn_completed },
	[AR_EV_TURN_FAILED] = { AR_SPAN_INTERACTION, turn_failed },
	[AR_EV_TASK_ATTEMPT_COMPLETED] = { AR_SPAN_TASK_RUN, attempt_completed },
	[AR_EV_TASK_ATTEMPT_FAILED] = { AR_SPAN_TASK_RUN, attempt_failed },
	[AR_EV_CONTEXT_RESOLVED] = { AR_SPAN_CONTEXT_RESOLVE, NULL },
	[AR_EV_MODEL_COMPLETED] = { AR_SPAN_MODEL_REQUEST, model_completed },
	[AR_EV_MODEL_FAILED] = { AR_SPAN_MODEL_REQUEST, model_failed },
	[AR_EV_TOOL_RESULT] = { AR_SPAN_TOOL_CALL, tool_result },
	[AR_EV_TOOL_FAILED] = { AR_SPAN_TOOL_CALL, tool_failed },
	[AR_EV_PROCESS_COMPLETED] = { AR_SPAN_PROCESS_EXEC, process_completed },
	[AR_EV_PROCESS_FAILED] = { AR_SPAN_PROCESS_EXEC, process_failed },
	[AR_EV_PROCESS_TERMINATED] = { AR_SPAN_PROCESS_EXEC, process_terminated },
	[AR_EV_HOOK_COMPLETED] = { AR_SPAN_HOOK_RUN, hook_completed },
	[AR_EV_HOOK_FAILED] = { AR_SPAN_HOOK_RUN, hook_failed },
	[AR_EV_ARTIFACT_CHANGED] = { AR_SPAN_ARTIFACT_WRITE, artifact_changed },
	[AR_EV_EVIDENCE_CHANGED] = { AR_SPAN_EVIDENCE_EXPORT, evidence_changed },
};

/* An artifact that was only looked at is in a span, and ends none. */
static bool is_end(const struct ar_event *e)
{
	if (e->type == AR_EV_ARTIFACT_CHANGED)
		return ar_str_eq(ar_trace_span_subject(e), e->event_id);
	return e->type == AR_EV_CONTEXT_RESOLVED || rows[e->type].fill;
}

bool ar_telemetry_ends_span(const struct ar_event *e, struct ar_trace_context *ret)
{
	return is_end(e) && ar_telemetry_ids(e, ret);
}

/* The id of what it is a part of; absent: it is the root. */
static struct ar_str parent_of(const struct ar_event *e, struct ar_str own)
{
	static const enum ar_scope order[] = { AR_SCOPE_TOOL_CALL, AR_SCOPE_TURN, AR_SCOPE_RUN };

	for (size_t i = 0; i < AR_ARRAY_LEN(order); i++) {
		if (rows[e->type].type == AR_SPAN_INTERACTION)
			break;
		if (!ar_str_absent(e->ids[order[i]]) && !ar_str_eq(e->ids[order[i]], own))
			return e->ids[order[i]];
	}
	return AR_STR_NONE;
}

static struct ar_str name_of(const struct draft *d, const struct ar_span_desc *desc, struct ar_arena *a)
{
	if (ar_str_empty(d->subject))
		return ar_str_from(desc->name);
	return ar_arena_fmt(a, "%s %.*s", desc->name, AR_STR_ARG(d->subject));
}

static ar_usec start_of(const struct draft *d)
{
	ar_usec start = d->start;

	if (!start)
		start = d->ms.set ? d->e->time - d->ms.v * 1000 : d->e->time;
	return start < d->e->time ? start : d->e->time;
}

static const struct ar_trace_context *link_of(const struct draft *d, struct ar_arena *a)
{
	struct ar_trace_context c, *kept;

	if (rows[d->e->type].type != AR_SPAN_INTERACTION || !d->turn || !d->turn->trace ||
	    !ar_traceparent_parse(d->turn->trace->parent, &c))
		return NULL;
	kept = ar_arena_room(a, sizeof(*kept));
	*kept = c;
	return kept;
}

static bool has_operation(enum ar_span_type type)
{
	return type == AR_SPAN_INTERACTION || type == AR_SPAN_TASK_RUN || type == AR_SPAN_MODEL_REQUEST ||
	       type == AR_SPAN_TOOL_CALL;
}

void ar_telemetry_span(const struct ar_session *s, const struct ar_event *e, bool with_content,
		       struct ar_arena *a, struct ar_span *ret)
{
	const struct ar_span_desc *desc = &ar_span_descs[rows[e->type].type];
	struct draft d = { .s = s, .e = e, .with_content = with_content };
	struct ar_str own, parent;
	struct ar_thread *thread;

	if (!ar_str_absent(e->ids[AR_SCOPE_TURN]))
		d.turn = ar_session_turn(s, e->ids[AR_SCOPE_TURN], &thread);
	d.l = ar_attributes_of(s, e, a);
	ar_attribute_text(&d.l, AR_ATTR_SPAN_KIND, ar_str_from(desc->word));
	if (has_operation(rows[e->type].type))
		ar_attribute_text(&d.l, AR_ATTR_OPERATION, ar_str_from(desc->name));
	if (rows[e->type].fill)
		rows[e->type].fill(&d);
	own = ar_trace_span_subject(e);
	parent = parent_of(e, own);
	ret->has_parent = !ar_str_absent(parent);
	if (ret->has_parent)
		ar_trace_span_of(s, parent, ret->parent);
	ret->name = name_of(&d, desc, a);
	ret->kind = desc->kind;
	ret->start = start_of(&d);
	ret->end = e->time;
	ret->is_failed = d.is_failed;
	ret->attrs = (struct ar_attrs){ d.l.at, d.l.count };
	ret->link = link_of(&d, a);
}
