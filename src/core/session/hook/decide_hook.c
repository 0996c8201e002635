/* One handler is asked, and what came of it: the intent is a fact before it is run, its end is
 * another. What the end means for the turn is turn_points.c's and tool/'s. Pure: the run is an
 * effect, its end an input. */
#include "hook/hooks.h"
#include "hook.h"
#include "permission/permission.h"

#define PREVIEW_MAX 200
#define MESSAGE_MAX 1024

/* ---- asking ---- */

static bool is_for(const struct ar_hook_rule *rule, const struct ar_invocation *call,
		   enum ar_hook_point point)
{
	return rule->point == (int)point &&
	       (!call || ar_str_empty(rule->tool) || ar_pattern_fits(rule->tool, call->name));
}

static const struct ar_hook_rule *next_rule(const struct ar_decision *d, const struct ar_hook_chain *chain,
					    const struct ar_invocation *call, enum ar_hook_point point)
{
	const struct ar_policy *policy = d->input->policy;

	for (size_t i = 0; i < policy->hook_count; i++) {
		const struct ar_hook_rule *rule = &policy->hooks[i];

		if (is_for(rule, call, point) &&
		    ar_session_is_among(d->session, policy, &rule->audience, true) &&
		    (!chain || !ar_texts_have(chain->done, rule->name)))
			return rule;
	}
	return NULL;
}

static const struct ar_hook_rule *find_rule(const struct ar_decision *d, struct ar_str name)
{
	const struct ar_policy *policy = d->input->policy;

	for (size_t i = 0; i < policy->hook_count; i++) {
		if (ar_str_eq(policy->hooks[i].name, name))
			return &policy->hooks[i];
	}
	return NULL;
}

struct ar_ids ar_hook_ids(struct ar_decision *d, const struct ar_turn *turn,
			  const struct ar_hook_chain *chain)
{
	const struct ar_invocation *call = ar_turn_call(turn, chain->subject);
	struct ar_ids ids = ar_ids_turn(d, turn);

	ids.at[AR_SCOPE_STEP] = call ? call->step : chain->subject;
	if (call)
		ids.at[AR_SCOPE_TOOL_CALL] = call->id;
	return ids;
}

/* In short what it is asked about. */
static struct ar_str summary(struct ar_decision *d, const struct ar_turn *turn,
			     const struct ar_invocation *call)
{
	if (!call)
		return ar_str_utf8_prefix(turn->input_preview, PREVIEW_MAX);
	return ar_arena_fmt(d->arena, "%.*s %.*s", AR_STR_ARG(ar_str_utf8_prefix(call->name, 64)),
			    AR_STR_ARG(ar_str_absent(call->status) ? AR_STR("planned") : call->status));
}

static void ask_about_call(struct ar_decision *d, struct ar_turn *turn, const struct ar_invocation *call,
			   enum ar_hook_point point, const struct ar_hook_rule *rule)
{
	struct ar_hook_chain *chain = ar_hook_said(turn, call, point);
	struct ar_hook_chain subject = { .subject = ar_hook_subject(turn, call, point) };
	struct ar_ids ids = ar_hook_ids(d, turn, &subject);
	struct ar_str preview = summary(d, turn, call);
	struct ar_effect_hook_run *run;

	ar_decide_emit(d, AR_EV_HOOK_STARTED, &ids,
		       &(struct ar_ev_hook_started){ .hook_point = (int)point,
						     .handler_ref = rule->name,
						     .scope_ids = ar_hook_scope_ids(d, &ids),
						     .timeout_ms = rule->timeout_ms,
						     .preview_summary = preview,
						     .attempt = AR_OPT_INT(chain ? chain->tries + 1 : 1) });
	chain = ar_hook_said(turn, call, point);
	run = &ar_decide_effect(d, AR_EFFECT_HOOK_RUN)->hook_run;
	run->run = chain->run;
	run->turn = turn->id;
	run->handler = rule->name;
	run->deadline = d->input->now + rule->timeout_ms * 1000;
	ar_hook_document(d, turn, call, chain, run);
}

enum ar_hold ar_hook_ask(struct ar_decision *d, struct ar_turn *turn, const struct ar_invocation *call,
			 enum ar_hook_point point)
{
	const struct ar_hook_chain *chain = ar_hook_said(turn, call, point);
	const struct ar_hook_rule *rule;

	if (chain && !ar_str_absent(chain->run))
		return AR_HELD;
	if (turn->is_interrupted || ar_hook_blocks(chain))
		return AR_GO_ON;
	rule = next_rule(d, chain, call, point);
	if (!rule)
		return AR_GO_ON;
	ask_about_call(d, turn, call, point, rule);
	return AR_HELD;
}

/* ---- it failed ---- */

static int fail_mode(const struct ar_hook_rule *rule, int64_t point)
{
	bool could_forbid = point == AR_AT_PRE_TOOL_USE || point == AR_AT_PERMISSION_REQUEST;
	enum ar_hook_on_failure how = rule ? rule->on_failure : AR_HOOK_FAIL_AUTO;

	if (how == AR_HOOK_FAIL_CLOSED || (how == AR_HOOK_FAIL_AUTO && could_forbid))
		return AR_HOOK_FAILED_FAIL_MODE_FAIL_CLOSED;
	return AR_HOOK_FAILED_FAIL_MODE_FAIL_OPEN;
}

void ar_hook_warn(struct ar_decision *d, const struct ar_ids *ids, const char *code, struct ar_str message)
{
	ar_decide_emit(d, AR_EV_RUNTIME_WARNING, ids,
		       &(struct ar_ev_runtime_warning){ .code = ar_str_from(code),
							.message = message,
							.scope = ar_hook_scope_ids(d, ids) });
}

struct fault {
	struct ar_str category, message;
	bool retryable, timed_out;
	int64_t duration_ms;
};

static void fail(struct ar_decision *d, struct ar_turn *turn, struct ar_hook_chain *chain,
		 const struct fault *f)
{
	struct ar_ids ids = ar_hook_ids(d, turn, chain);
	struct ar_ev_hook_failed p = { .error_category = f->category,
				       .retryable = f->retryable,
				       .fail_mode = fail_mode(find_rule(d, chain->handler), chain->point),
				       .timed_out = AR_OPT_BOOL(f->timed_out),
				       .duration_ms = { f->duration_ms, f->duration_ms >= 0 },
				       .hook_run_ref = chain->run,
				       .handler_ref = chain->handler,
				       .message = ar_str_utf8_prefix(f->message, MESSAGE_MAX) };
	bool is_over = ar_str_is(f->category, AR_CATEGORY_INTERRUPTED) || ar_str_is(f->category, "cancelled");

	ar_decide_emit(d, AR_EV_HOOK_FAILED, &ids, &p);
	if (p.fail_mode == AR_HOOK_FAILED_FAIL_MODE_FAIL_OPEN && !is_over)
		ar_hook_warn(d, &ids, "hook_failed",
			     ar_arena_fmt(d->arena,
					  "hook '%.*s' failed and the turn goes on without it: %.*s",
					  AR_STR_ARG(chain->handler), AR_STR_ARG(p.message)));
}

void ar_hook_end_runs(struct ar_decision *d, struct ar_turn *turn, bool is_lost)
{
	static const struct fault lost = {
		.category = { AR_CATEGORY_INTERRUPTED, sizeof(AR_CATEGORY_INTERRUPTED) - 1 },
		.message = { "the runtime stopped while it ran; it is run again", 48 },
		.retryable = true,
		.duration_ms = -1
	};
	static const struct fault unwanted = { .category = { "cancelled", 9 },
					       .message = { "the turn ended before it did", 28 },
					       .duration_ms = -1 };

	for (size_t i = 0; i < turn->hooks.count; i++) {
		struct ar_hook_chain *chain = turn->hooks.at[i];

		if (ar_str_absent(chain->run))
			continue;
		if (!is_lost)
			ar_decide_effect(d, AR_EFFECT_HOOK_CANCEL)->hook_cancel = chain->run;
		fail(d, turn, chain, is_lost ? &lost : &unwanted);
	}
}

/* ---- it answered ---- */

static struct ar_str sizes_of(struct ar_decision *d, const struct ar_str *texts, size_t count)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open_array(&w);
	for (size_t i = 0; i < count; i++)
		ar_jw_int(&w, (int64_t)texts[i].len);
	ar_jw_close_array(&w);
	return ar_decide_json_end(d);
}

/* What the model reads of a call now: what the handler put in place or what it was, why it
 * objects, and what it adds. */
static struct ar_str new_output(struct ar_decision *d, const struct ar_hook_chain *chain,
				const struct ar_invocation *call, const struct ar_hook_answer *a)
{
	bool objects = ar_hook_objects(a->decision);
	struct ar_str before = ar_decide_text(d, call->answer_ref);
	struct ar_buf text = { 0 };
	struct ar_str kept;

	if (ar_str_absent(a->output) && !objects && a->context_count == 0)
		return AR_STR_NONE;
	ar_buf_adds(&text, ar_str_absent(a->output) ? before : a->output);
	if (objects)
		ar_buf_addf(&text, "\n\n[hook %.*s objects] %.*s", AR_STR_ARG(chain->handler),
			    AR_STR_ARG(ar_str_empty(a->reason) ? AR_STR("no reason given") : a->reason));
	for (size_t i = 0; i < a->context_count; i++)
		ar_buf_addf(&text, "\n\n[hook %.*s] %.*s", AR_STR_ARG(chain->handler),
			    AR_STR_ARG(a->contexts[i]));
	kept = ar_arena_str(d->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
	return kept;
}

/* A reason to go on is context for the model, too. */
static void add_reason(struct ar_hook_answer *a)
{
	if (!ar_hook_objects(a->decision) || a->context_count == AR_ARRAY_LEN(a->contexts))
		return;
	for (size_t i = a->context_count++; i > 0; i--)
		a->contexts[i] = a->contexts[i - 1];
	a->contexts[0] = ar_str_empty(a->reason) ? AR_STR("You are not done yet. Go on.") : a->reason;
}

/* Nothing that a handler says is cut without a fact: `ref` is what is kept, `raw` is all of it or absent. */
static void say_cut(struct ar_decision *d, const struct ar_ids *owner, struct ar_str ref,
		    const struct ar_ev_output_truncated *cut)
{
	struct ar_ids ids = *owner;

	ids.at[AR_SCOPE_OUTPUT] = ref;
	ar_decide_emit(d, AR_EV_OUTPUT_TRUNCATED, &ids, cut);
}

static void say_long_reason(struct ar_decision *d, const struct ar_ids *ids, const struct ar_hook_answer *a)
{
	struct ar_str ref;

	if (ar_str_absent(a->long_reason))
		return;
	ref = ar_decide_content(d, a->long_reason);
	say_cut(d, ids, ref,
		&(struct ar_ev_output_truncated){ .truncation = AR_OUTPUT_TRUNCATED_TRUNCATION_HEAD,
						  .original_size = (int64_t)a->long_reason.len,
						  .kept_size = (int64_t)a->reason.len,
						  .raw_output_ref = ref });
}

/* It said more than may be read: its beginning is kept, and how much there was. */
static void say_too_long(struct ar_decision *d, const struct ar_turn *turn, const struct ar_hook_chain *chain)
{
	const struct ar_hook_end *end = d->input->hook_done;
	struct ar_ids ids = ar_hook_ids(d, turn, chain);

	if (end->size == 0)
		return;
	say_cut(d, &ids, ar_decide_content(d, end->output),
		&(struct ar_ev_output_truncated){ .truncation = AR_OUTPUT_TRUNCATED_TRUNCATION_HEAD,
						  .original_size = end->size,
						  .kept_size = (int64_t)end->output.len });
}

static void say_spilled(struct ar_decision *d, const struct ar_ids *ids, struct ar_str ref,
			struct ar_str text)
{
	ar_decide_spilled(d, ids,
			  &(struct ar_spill){ .owner = AR_OUTPUT_SPILLED_OWNER_HOOK,
					      .ref = ref,
					      .beginning = text,
					      .size = (int64_t)text.len,
					      .masked = &d->input->hook_done->masked });
}

static void complete(struct ar_decision *d, struct ar_turn *turn, struct ar_hook_chain *chain,
		     struct ar_hook_answer *a)
{
	const struct ar_hook_end *end = d->input->hook_done;
	const struct ar_invocation *call = ar_turn_call(turn, chain->subject);
	bool is_after_tool = chain->point == AR_AT_POST_TOOL_USE || chain->point == AR_AT_POST_TOOL_FAILURE;
	struct ar_str output = is_after_tool && call ? new_output(d, chain, call, a) : AR_STR_NONE;
	struct ar_str refs[AR_ARRAY_LEN(a->contexts)];
	struct ar_ids ids = ar_hook_ids(d, turn, chain);
	struct ar_ev_hook_completed p = { .status = AR_STR("completed"),
					  .duration_ms = end->duration_ms,
					  .decision = a->decision,
					  .reason = a->reason,
					  .audit_refs = a->audit_refs,
					  .suppress_output = { a->suppress_output, a->suppress_output },
					  .hook_run_ref = chain->run,
					  .handler_ref = chain->handler };

	if (chain->point == AR_AT_STOP)
		add_reason(a);
	for (size_t i = 0; i < a->context_count; i++) {
		a->contexts[i] = ar_decide_text_parts(d, a->contexts[i]);
		refs[i] = ar_decide_content(d, a->contexts[i]);
	}
	p.additional_context_refs = (struct ar_texts){ refs, a->context_count };
	p.additional_context_bytes = sizes_of(d, a->contexts, a->context_count);
	if (!ar_str_absent(a->input)) {
		p.updated_input_ref = ar_decide_content(d, a->input);
		p.updated_input_bytes = AR_OPT_INT((int64_t)a->input.len);
		p.original_input_ref = call ? call->args_ref : ar_hook_prompt(turn);
	}
	if (!ar_str_absent(output)) {
		p.updated_tool_output_ref = ar_decide_content(d, output);
		p.updated_tool_output_bytes = AR_OPT_INT((int64_t)output.len);
	}
	ar_decide_emit(d, AR_EV_HOOK_COMPLETED, &ids, &p);
	for (size_t i = 0; i < a->context_count; i++)
		say_spilled(d, &ids, refs[i], a->contexts[i]);
	if (!ar_str_absent(a->input))
		say_spilled(d, &ids, p.updated_input_ref, a->input);
	if (!ar_str_absent(output))
		say_spilled(d, &ids, p.updated_tool_output_ref, output);
	say_long_reason(d, &ids, a);
	ar_decide_masked(d, &ids, p.hook_run_ref, &end->masked);
}

/* ---- the end of a run ---- */

static void take_answer(struct ar_decision *d, struct ar_turn *turn, struct ar_hook_chain *chain)
{
	const struct ar_hook_end *end = d->input->hook_done;
	struct ar_hook_answer answer;
	struct ar_error err;

	if (ar_hook_answer_read(d, (enum ar_hook_point)chain->point, end->output, &answer, &err) == AR_OK) {
		complete(d, turn, chain, &answer);
		return;
	}
	fail(d, turn, chain,
	     &(struct fault){ .category = AR_STR("invalid_output"),
			      .message = ar_arena_str(d->arena, ar_str_from(err.msg)),
			      .duration_ms = end->duration_ms });
}

static void take_end(struct ar_decision *d, struct ar_turn *turn, struct ar_hook_chain *chain)
{
	static const struct {
		const char *category;
		bool retryable;
	} faults[] = {
		[AR_HOOK_FAILED] = { "hook_error", false },
		[AR_HOOK_TIMEOUT] = { "timeout", true },
		[AR_HOOK_CANCELLED] = { "cancelled", true },
	};
	const struct ar_hook_end *end = d->input->hook_done;
	struct ar_hook_answer answer = { 0 };

	if (end->outcome == AR_HOOK_ANSWERED) {
		take_answer(d, turn, chain);
		return;
	}
	if (end->outcome == AR_HOOK_BLOCKED) {
		answer.decision = AR_HOOK_COMPLETED_DECISION_BLOCK;
		ar_hook_reason(d, end->output, &answer);
		complete(d, turn, chain, &answer);
		return;
	}
	say_too_long(d, turn, chain);
	fail(d, turn, chain,
	     &(struct fault){ .category = end->size > 0 ? AR_STR("output_too_large")
							: ar_str_from(faults[end->outcome].category),
			      .message = ar_str_empty(end->message) ? AR_STR("it did not end in time")
								    : end->message,
			      .retryable = faults[end->outcome].retryable,
			      .timed_out = end->outcome == AR_HOOK_TIMEOUT,
			      .duration_ms = end->duration_ms });
}

enum ar_status ar_decide_hook_done(struct ar_decision *d, struct ar_error *err)
{
	struct ar_str run = d->input->hook_done->run;

	(void)err;
	for (size_t i = 0; i < d->session->threads.count; i++) {
		struct ar_turn *turn = ar_thread_active(d->session->threads.at[i]);

		if (!turn || !ar_turn_hook_run(turn, run))
			continue;
		take_end(d, turn, ar_turn_hook_run(turn, run));
		ar_decide_resume(d, turn);
		break;
	}
	return AR_OK;
}
