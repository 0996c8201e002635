/* The calls of one model answer, from the asking to the last end: is there such a tool, are the arguments good, may it run, when is its place. Those
 * that change nothing run together, the others one after another in the order they were asked for. When all have ended the model is asked
 * again. Every stage is a fact, so that all of it can be taken up after a crash. Pure: the running itself is an effect, its end an input. */
#include "tool/calls.h"
#include "identity.h"
#include "schema.h"

#define MILLISECOND 1000

/* ---- may it run ---- */

/* What is wrong with the arguments, in words for the model; absent: nothing. A schema that cannot be read checks nothing here: the tool will. */
static struct ar_str fault_in(struct ar_decision *d, const struct ar_tool *tool, struct ar_str args)
{
	struct ar_schema *schema = NULL;
	struct ar_schema_fault fault;
	struct ar_error err = { 0 };
	struct ar_json v;
	bool is_good;

	if (!ar_str_empty(tool->schema) &&
	    ar_schema_compile(tool->schema, d->session->json, &schema, &err) != AR_OK)
		schema = NULL;
	if (ar_json_parse(d->session->json, ar_str_empty(args) ? AR_STR("{}") : args, &v, NULL) != AR_OK ||
	    ar_json_type(v) != AR_JSON_OBJECT) {
		ar_schema_free(schema);
		return AR_STR("the arguments have to be one JSON object");
	}
	is_good = !schema || ar_schema_check(schema, v, &fault);
	ar_schema_free(schema);
	return is_good ? AR_STR_NONE : ar_arena_str(d->arena, ar_str_from(fault.message));
}

static void no_such_tool(struct ar_draft *w, struct ar_turn *turn, struct ar_invocation *call)
{
	ar_draft_refuse_call(w, turn, call, "unavailable",
			     &(struct ar_call_failure){
				     .status = AR_TOOL_FAILED_STATUS_FAILED,
				     .category = AR_STR("tool_unavailable"),
				     .message =
					     ar_arena_fmt(w->d->arena, "there is no tool '%.*s' in this turn",
							  AR_STR_ARG(ar_str_utf8_prefix(call->name, 64))),
				     .advice = AR_STR("use one of the tools that were offered") });
}

static void bad_arguments(struct ar_draft *w, struct ar_turn *turn, struct ar_invocation *call,
			  struct ar_str fault)
{
	ar_draft_refuse_call(w, turn, call, "allowed",
			     &(struct ar_call_failure){
				     .status = AR_TOOL_FAILED_STATUS_FAILED,
				     .category = AR_STR("invalid_arguments"),
				     .message = fault,
				     .advice = AR_STR("correct the arguments and call again"),
				     .retryable = true });
}

/* Every call is judged before it may begin. */
static void judge(struct ar_draft *w, const struct ar_turn *turn, struct ar_invocation *call,
		  const struct ar_tool *tool)
{
	struct ar_ids ids = ar_ids_call(w->d, turn, call);

	ids.at[AR_SCOPE_TRACE] = turn->id;
	ar_decide_emit(w->d, AR_EV_PERMISSION_EVALUATED, &ids,
		       &(struct ar_ev_permission_evaluated){
			       .decision = AR_PERMISSION_EVALUATED_DECISION_ALLOW,
			       .decision_source = AR_PERMISSION_EVALUATED_DECISION_SOURCE_MODE,
			       .decision_reason = AR_STR("no rule restricts tools"),
			       .rule_refs = AR_STR("[]"),
			       .scope = AR_PERMISSION_EVALUATED_SCOPE_ONCE,
			       .mode = AR_STR("bypass"),
			       .destructive = tool->is_destructive });
	call->permission = w->d->events[w->d->event_count - 1].event_id;
	call->stage = AR_CALL_ALLOWED;
}

static void describe(struct ar_invocation *call, const struct ar_tool *tool)
{
	call->is_read_only = tool->is_read_only;
	call->is_parallel = tool->is_concurrency_safe;
	call->is_destructive = tool->is_destructive;
	call->is_idempotent = tool->is_idempotent;
	call->is_client = tool->owner == AR_TOOL_CLIENT;
	call->blocks = tool->blocks_interrupt;
}

/* ---- when ---- */

static bool is_startable(const struct ar_invocation *call)
{
	return call->stage == AR_CALL_ALLOWED ||
	       (call->stage == AR_CALL_UNKNOWN && (call->is_read_only || call->is_idempotent));
}

static bool has_place(const struct ar_decision *d, const struct ar_turn *turn, size_t at)
{
	const struct ar_invocation *call = ar_call_at(turn, at);
	int64_t running = 0;

	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *other = ar_call_at(turn, i);

		if (i != at && !other->is_parallel && other->stage != AR_CALL_ENDED &&
		    (other->stage == AR_CALL_RUNNING || (i < at && !call->is_parallel)))
			return false;
		running += other->stage == AR_CALL_RUNNING;
	}
	return call->is_parallel ? running < d->input->policy->tool_parallel : running == 0;
}

/* Another try has an id of its own, after those of its step. */
static struct ar_str next_id(struct ar_decision *d, const struct ar_turn *turn,
			     const struct ar_invocation *call)
{
	uint64_t last = 0, n;

	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *other = ar_call_at(turn, i);

		if (ar_str_eq(other->step, call->step) && ar_id_counter(other->id, &n) && n > last)
			last = n;
	}
	return ar_tool_call_id(d->arena, call->step, (uint32_t)(last % AR_TOOL_CALLS_MAX + 1));
}

void ar_draft_run_call(struct ar_draft *w, const struct ar_turn *turn, const struct ar_invocation *call)
{
	struct ar_effect *effect =
		ar_decide_effect(w->d, call->is_client ? AR_EFFECT_WAKE : AR_EFFECT_TOOL_CALL);

	effect->thread = turn->thread;
	effect->turn = turn->id;
	effect->step = call->step;
	effect->subject = call->id;
	effect->tool = call->name;
	effect->args_ref = call->args_ref;
	effect->operation = call->permission;
	effect->input = AR_IN_CALL_DUE;
	effect->at = call->expires;
}

static void start(struct ar_draft *w, struct ar_turn *turn, struct ar_invocation *call,
		  const struct ar_tool *tool)
{
	struct ar_decision *d = w->d;
	struct ar_str before = call->attempt > 0 ? call->id : AR_STR_NONE;
	struct ar_ids ids;

	describe(call, tool);
	if (call->attempt++ > 0)
		call->id = next_id(d, turn, call);
	call->stage = AR_CALL_RUNNING;
	call->expires = d->input->now + d->input->policy->tool_ms * MILLISECOND;
	ids = ar_ids_call(d, turn, call);
	ar_decide_emit(d, AR_EV_TOOL_STARTED, &ids,
		       &(struct ar_ev_tool_started){ .tool_name = call->name,
						     .input_ref = call->args_ref,
						     .policy = AR_STR("allowed"),
						     .permission_ref = call->permission,
						     .is_read_only = AR_OPT_BOOL(call->is_read_only),
						     .is_concurrency_safe = AR_OPT_BOOL(call->is_parallel),
						     .is_destructive = AR_OPT_BOOL(call->is_destructive),
						     .interrupt_behavior = call->blocks ? AR_STR("block")
											: AR_STR("cancel"),
						     .provider_call_id = call->provider_id,
						     .runtime_owner = ar_tool_owner_word(tool),
						     .is_idempotent = AR_OPT_BOOL(call->is_idempotent),
						     .attempt = AR_OPT_INT(call->attempt),
						     .retry_of = before,
						     .expires_at = call->expires });
	ar_draft_run_call(w, turn, call);
}

static void start_some(struct ar_draft *w, struct ar_turn *turn, const struct ar_offers *offers)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = ar_call_at(turn, i);
		const struct ar_tool *tool;

		if (!is_startable(call) || !has_place(w->d, turn, i))
			continue;
		tool = ar_offers_find(offers, call->name);
		if (tool)
			start(w, turn, call, tool);
		else
			no_such_tool(w, turn, call); /* it was there when the call was judged */
	}
}

/* ---- going on ---- */

static bool is_over(const struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		if (ar_call_at(turn, i)->stage != AR_CALL_ENDED)
			return false;
	}
	return true;
}

void ar_draft_join_answers(struct ar_draft *w, struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = ar_call_at(turn, i);

		if (call->is_joined)
			continue;
		call->is_joined = true;
		ar_draft_say(w, (struct ar_context_entry){ .role = AR_CONTEXT_TOOL,
							   .ref = call->answer_ref,
							   .bytes = call->answer_bytes,
							   .tool_call_id = call->provider_id });
	}
}

void ar_draft_advance(struct ar_draft *w, struct ar_turn *turn)
{
	struct ar_offers offers = ar_offers_of(w->d, turn);

	if (turn->is_interrupted)
		ar_draft_stop_calls(w, turn);
	else
		start_some(w, turn, &offers);
	if (!is_over(turn))
		return;
	ar_draft_join_answers(w, turn);
	if (turn->is_interrupted)
		ar_draft_cancel(w, turn, turn->interrupt_reason, AR_STR_NONE);
	else
		ar_draft_ask_again(w, turn);
}

static void admit(struct ar_draft *w, struct ar_turn *turn, struct ar_invocation *call, struct ar_str args,
		  const struct ar_offers *offers)
{
	const struct ar_tool *tool = ar_offers_find(offers, call->name);
	struct ar_str fault;

	if (!tool) {
		no_such_tool(w, turn, call);
		return;
	}
	describe(call, tool);
	fault = fault_in(w->d, tool, args);
	if (ar_str_absent(fault))
		judge(w, turn, call, tool);
	else
		bad_arguments(w, turn, call, fault);
}

void ar_draft_plan_calls(struct ar_draft *w, struct ar_turn *turn, const struct ar_step_output *out,
			 const struct ar_str *ids, const struct ar_str *refs)
{
	struct ar_offers offers = ar_offers_of(w->d, turn);
	size_t first = turn->calls.count;

	for (size_t i = 0; i < out->tool_count; i++) {
		struct ar_invocation *call = ar_arena_alloc(w->d->arena, sizeof(*call));

		*call = (struct ar_invocation){ .id = ids[i],
						.step = out->step,
						.name = out->tools[i].name,
						.provider_id = out->tools[i].id,
						.args_ref = refs[i],
						.stage = AR_CALL_PLANNED };
		ar_vec_push(w->d->arena, &turn->calls, call);
	}
	for (size_t i = 0; i < out->tool_count && !turn->is_interrupted; i++)
		admit(w, turn, ar_call_at(turn, first + i), out->tools[i].args, &offers);
	ar_draft_advance(w, turn);
}
