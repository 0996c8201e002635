/* One model step: asking, what came back, trying again. Pure: the call itself is an effect, its
 * end an input. */
#include "context/context.h"
#include "limits/budget.h"
#include "hook/hooks.h"
#include "identity.h"
#include "limits/limits.h"
#include "limits/money.h"
#include "limits/reserve.h"
#include "provider.h"
#include "quota/quota.h"
#include "task/task.h"

static const int outcome_word[] = {
	[0] = AR_MODEL_FAILED_OUTCOME_INTERRUPTED, /* the runtime stopped */
	[AR_MODEL_REJECTED] = AR_MODEL_FAILED_OUTCOME_REJECTED,
	[AR_MODEL_FAILED] = AR_MODEL_FAILED_OUTCOME_FAILED,
	[AR_MODEL_CUT] = AR_MODEL_FAILED_OUTCOME_CUT,
	[AR_MODEL_TIMEOUT] = AR_MODEL_FAILED_OUTCOME_TIMEOUT,
	[AR_MODEL_CANCELLED] = AR_MODEL_FAILED_OUTCOME_CANCELLED,
	[AR_MODEL_UNREACHABLE] = AR_MODEL_FAILED_OUTCOME_REJECTED,
	[AR_MODEL_GARBLED] = AR_MODEL_FAILED_OUTCOME_FAILED,
};

static const char *const segment_word[] = {
	[AR_OUT_TEXT] = "text", [AR_OUT_REASONING] = "reasoning", [AR_OUT_TOOL_ARGS] = "tool_args"
};

#define PREVIEW_MAX 200
#define SUMMARY_MAX 16384 /* bytes of a summary that its fact carries; the whole is behind the ref */
#define BACKOFF_MAX_MS 60000

/* ---- asking ---- */

struct ar_str ar_decide_options_json(struct ar_decision *d, const struct ar_shape_turn_options *options)
{
	struct ar_jw w = ar_decide_json(d);

	ar_struct_encode(&ar_shape_turn_options_desc, options, AR_STR_NONE, &w);
	return ar_decide_json_end(d);
}

void ar_decide_call_model(struct ar_decision *d, const struct ar_turn *turn,
			  struct ar_effect_model_call *call)
{
	struct ar_ids ids = ar_ids_turn(d, turn);

	ids.at[AR_SCOPE_STEP] = ar_decide_mint(d, "step", &d->counters.step);
	ids.at[AR_SCOPE_MODEL_REQUEST] = ar_decide_mint(d, "mreq", &d->counters.request);
	ar_decide_emit(d, AR_EV_MODEL_REQUESTED, &ids,
		       &(struct ar_ev_model_requested){
			       .provider = call->choice.entry->provider,
			       .model = call->choice.name,
			       .attempt = call->attempt,
			       .request_ref = call->request_ref,
			       .streaming = AR_OPT_BOOL(true),
			       .purpose = ar_str_from(call->purpose),
			       .max_output_tokens = call->max_output,
			       .reserved = call->reserved > 0 ? ar_money_text(d->arena, call->reserved)
							      : AR_STR_NONE });
	call->thread = turn->thread;
	call->turn = turn->id;
	call->step = ids.at[AR_SCOPE_STEP];
	call->model_request = ids.at[AR_SCOPE_MODEL_REQUEST];
	ar_decide_effect(d, AR_EFFECT_MODEL_CALL)->model_call = *call;
}

enum ar_hold ar_decide_reserve(struct ar_decision *d, struct ar_turn *turn,
			       const struct ar_shape_turn_options *options, int64_t input,
			       struct ar_effect_model_call *call)
{
	struct ar_shape_turn_options sent = *options;
	struct ar_reservation r = { .input = input, .output = options->max_output_tokens };

	if (ar_money_reserve(d, turn, call->choice.entry, &r) == AR_HELD)
		return AR_HELD;
	if (r.amount > 0) {
		call->reserved = r.amount;
		call->max_output = sent.max_output_tokens = r.output;
	}
	call->options = ar_decide_options_json(d, &sent);
	return AR_GO_ON;
}

static void ask_for_answer(struct ar_conversation *c, struct ar_turn *turn, int64_t attempt,
			   const struct ar_choice *choice)
{
	struct ar_decision *d = c->d;
	struct ar_selection s = ar_conversation_select(c);
	struct ar_offers offers = ar_offers_of(d, turn);
	struct ar_effect_model_call ask = { .purpose = "turn", .attempt = attempt, .choice = *choice };
	struct ar_context_entry *messages =
		ar_arena_room(d->arena, (s.count + AR_ARRAY_LEN(s.system)) * sizeof(*messages));
	int64_t most = 0; /* tokens that are sent */

	if (ar_money_is_limited(d, turn))
		most = ar_conversation_most(c, turn, &offers, choice);
	if (ar_decide_reserve(d, turn, ar_turn_options(turn), most, &ask) == AR_HELD)
		return;
	ar_conversation_resolve(c, turn, &s);
	for (size_t i = 0; i < AR_ARRAY_LEN(s.system); i++) {
		if (!ar_str_absent(s.system[i]))
			messages[ask.message_count++] =
				(struct ar_context_entry){ .role = AR_CONTEXT_SYSTEM, .ref = s.system[i] };
	}
	for (size_t i = 0; i < s.count; i++) {
		messages[ask.message_count] = *s.entries[i];
		if (!ar_str_eq(s.entries[i]->echo_by, choice->entry->provider))
			messages[ask.message_count].echo = AR_STR_NONE; /* it means nothing to another kind */
		ask.message_count++;
	}
	if (offers.count > 0 && turn->rounds == 0 && attempt == 1)
		ar_decide_say_offers(d, turn, &offers);
	ask.tools = ar_offers_keep(d, &offers);
	ask.tool_count = offers.count;
	ask.messages = messages;
	ask.request_ref = ar_conversation_manifest(c, ask.options, &s, choice);
	ar_decide_call_model(d, turn, &ask);
}

void ar_decide_ask_model(struct ar_decision *d, struct ar_turn *turn, int64_t attempt)
{
	bool is_saving = turn->compaction.trigger.v == AR_COMPACTION_TRIGGER_BUDGET;
	struct ar_conversation c = ar_conversation_of(d, ar_decide_thread(d, turn), turn);
	struct ar_choice choice;

	if (ar_turn_is_modelless(turn)) {
		ar_task_go_on(d, turn);
		return;
	}
	if (ar_tenant_claim(d, turn) == AR_HELD || ar_decide_compact_for_budget(&c, turn) == AR_HELD)
		return;
	/* A summary that is made to save tokens was found to fit before it was begun. */
	if (ar_budget_claim(d, turn,
			    (struct ar_spending){
				    .tokens = is_saving ? 0 : ar_conversation_select(&c).tokens }) ==
		    AR_HELD ||
	    ar_limits_route(d, turn, ar_conversation_bytes(&c), &choice) == AR_HELD)
		return;
	c.window = choice.entry->context_tokens;
	if (ar_decide_compact_first(&c, turn, attempt) == AR_GO_ON)
		ask_for_answer(&c, turn, attempt, &choice);
}

/* ---- what came back ---- */

static struct ar_str segments_json(struct ar_decision *d, const struct ar_step_output *out)
{
	struct ar_jw w = ar_decide_json(d);

	if (out->segment_count == 0)
		return AR_STR_NONE;
	ar_jw_open_array(&w);
	for (size_t i = 0; i < out->segment_count; i++) {
		ar_jw_open_array(&w);
		ar_jw_str(&w, ar_str_from(segment_word[out->segments[i].kind]));
		ar_jw_int(&w, out->segments[i].index);
		ar_jw_int(&w, (int64_t)out->segments[i].len);
		ar_jw_close_array(&w);
	}
	ar_jw_close_array(&w);
	return ar_decide_json_end(d);
}

static struct ar_str content_or_none(struct ar_decision *d, struct ar_str bytes)
{
	return bytes.len > 0 ? ar_decide_content(d, bytes) : AR_STR_NONE;
}

/* The provider's id of the call, when it told one: an id in a fact is never empty. */
static struct ar_str request_of(const struct ar_model_result *end)
{
	return ar_str_empty(end->request_id) ? AR_STR_NONE : end->request_id;
}

/* Some servers end without saying why; the fact has to say something. */
static struct ar_str stop_reason_of(const struct ar_model_result *end)
{
	return ar_str_empty(end->stop_reason) ? AR_STR("unknown") : end->stop_reason;
}

/* A provider that counts below zero has counted nothing. */
static struct ar_opt_int count_of(int64_t tokens)
{
	return AR_OPT_INT(tokens > 0 ? tokens : 0);
}

/* Calls the model made, each with our id, its own and the content of its arguments. */
static struct ar_shape_requested_call_list requested_calls(struct ar_decision *d,
							   const struct ar_step_output *out)
{
	struct ar_shape_requested_call *calls =
		ar_arena_alloc(d->arena, (out->tool_count + 1) * sizeof(*calls));

	for (size_t i = 0; i < out->tool_count; i++) {
		const struct ar_tool_use *use = &out->tools[i];

		calls[i] =
			(struct ar_shape_requested_call){ .tool_call_id = ar_tool_call_id(d->arena, out->step,
											  (uint32_t)i),
							  .id = use->id,
							  .name = use->name,
							  .ref = ar_decide_content(d, use->args),
							  .bytes = AR_OPT_INT((int64_t)use->args.len) };
	}
	return (struct ar_shape_requested_call_list){ out->tool_count ? calls : NULL, out->tool_count };
}

void ar_decide_ask_again(struct ar_decision *d, struct ar_turn *turn)
{
	if (turn->rounds < d->input->policy->max_rounds) {
		ar_decide_ask_model(d, turn, 1);
		return;
	}
	ar_decide_fail(d, turn,
		       &(struct ar_ending){ .status = AR_TURN_FAILED_STATUS_FAILED,
					    .category = AR_STR("round_limit"),
					    .message =
						    AR_STR("the model kept calling tools without an answer"),
					    .advice = AR_STR("ask a narrower question"),
					    .output_ref = turn->output_ref });
}

/* A summary is no part of the conversation that it shortens; calls in it are not made. */
static void summary_completed(struct ar_decision *d, struct ar_turn *turn, const struct ar_step *step,
			      const struct ar_step_output *out)
{
	if (turn->is_interrupted)
		ar_decide_cancel(d, turn, turn->interrupt_reason, AR_STR_NONE);
	else
		ar_decide_compacted(d, turn, step->attempt, out->text);
}

/* What the provider shows of the reasoning beside the answer. */
static void say_summary(struct ar_decision *d, const struct ar_ids *scope, const struct ar_step_output *out)
{
	if (!d->input->model_done.end->is_summary || out->reasoning.len == 0)
		return;
	ar_decide_emit(d, AR_EV_REASONING_SUMMARY, scope,
		       &(struct ar_ev_reasoning_summary){
			       .summary = ar_str_utf8_prefix(out->reasoning, SUMMARY_MAX),
			       .reasoning_ref = ar_decide_ref(d, out->reasoning) });
}

static void step_completed(struct ar_decision *d, struct ar_turn *turn, const struct ar_step_output *out)
{
	const struct ar_model_result *end = d->input->model_done.end;
	const struct ar_step *step = ar_turn_step(turn, turn->open_step);
	struct ar_str output_ref = ar_decide_content(d, out->text);
	struct ar_str echo = content_or_none(d, end->echo);
	bool is_summary = turn->compaction.trigger.set;
	struct ar_shape_requested_call_list calls = { 0 };
	struct ar_ids scope = ar_ids_turn(d, turn);

	if (!is_summary)
		calls = requested_calls(d, out);
	scope.at[AR_SCOPE_STEP] = step->id;
	scope.at[AR_SCOPE_MODEL_REQUEST] = step->model_request;
	scope.at[AR_SCOPE_REQUEST] = request_of(end);
	ar_decide_emit(d, AR_EV_MODEL_COMPLETED, &scope,
		       &(struct ar_ev_model_completed){
			       .usage =
				       &(struct ar_shape_usage){
					       .input_tokens = count_of(end->input_tokens),
					       .output_tokens = count_of(end->output_tokens),
					       .cached_tokens = count_of(end->cached_tokens),
					       .state = end->has_usage ? AR_STR_NONE : AR_STR("unknown") },
			       .stop_reason = stop_reason_of(end),
			       .provider = step->provider,
			       .model = ar_str_empty(end->model) ? step->model : end->model,
			       .output_ref = output_ref,
			       .ttft_ms = AR_OPT_INT(end->ttft_ms),
			       .latency_ms = AR_OPT_INT(end->latency_ms),
			       .segments = segments_json(d, out),
			       .output_bytes = AR_OPT_INT((int64_t)out->text.len),
			       .preview = ar_str_utf8_prefix(out->text, PREVIEW_MAX),
			       .reasoning_ref = content_or_none(d, out->reasoning),
			       .tool_calls = calls,
			       .echo_ref = echo });
	say_summary(d, &scope, out);
	ar_decide_spilled(d, &scope,
			  &(struct ar_spill){ .owner = AR_OUTPUT_SPILLED_OWNER_MODEL,
					      .ref = output_ref,
					      .beginning = out->text,
					      .size = (int64_t)out->text.len,
					      .masked = &out->masked });
	ar_decide_masked(d, &scope, output_ref, &out->masked);
	ar_limits_record(d, turn, step, end);
	ar_budget_note(d, turn);
	if (is_summary) {
		summary_completed(d, turn, step, out);
		return;
	}
	ar_task_note_progress(d, turn, AR_STR("model"), output_ref);
	if (out->tool_count > 0)
		ar_decide_advance(d, turn);
	else if (!ar_task_refuses_answer(d, turn, out->text))
		ar_decide_sampled(d, turn);
}

struct ar_str ar_decide_model_failed(struct ar_decision *d, const struct ar_turn *turn,
				     const struct ar_step_output *out, const struct ar_model_result *end)
{
	const struct ar_step *step = ar_turn_step(turn, turn->open_step);
	struct ar_str partial = content_or_none(d, out->text);
	struct ar_ids ids = ar_ids_turn(d, turn);

	ids.at[AR_SCOPE_STEP] = step->id;
	ids.at[AR_SCOPE_MODEL_REQUEST] = step->model_request;
	ids.at[AR_SCOPE_REQUEST] = request_of(end);
	ar_decide_emit(d, AR_EV_MODEL_FAILED, &ids,
		       &(struct ar_ev_model_failed){
			       .error =
				       &(struct ar_shape_failure){ .category = end->category,
								   .message = end->message,
								   .retryable = AR_OPT_BOOL(end->retryable) },
			       .provider = step->provider,
			       .model = step->model,
			       .attempt = step->attempt,
			       .raw_provider_ref = content_or_none(d, end->payload),
			       .output_ref = partial,
			       .segments = segments_json(d, out),
			       .reasoning_ref = content_or_none(d, out->reasoning),
			       .status = { end->http, end->http > 0 },
			       .retry_after_ms = { end->retry_after_ms, end->retry_after_ms > 0 },
			       .outcome = outcome_word[end->outcome],
		       });
	ar_decide_masked(d, &ids,
			 out->masked.count > 0 && ar_str_absent(partial) ? ar_decide_content(d, end->message)
									 : partial,
			 &out->masked);
	return partial;
}

/* ---- trying again ---- */

static ar_usec backoff(const struct ar_policy *policy, int64_t attempt, int64_t asked_ms)
{
	int64_t ms = policy->backoff_ms << (attempt < 10 ? attempt - 1 : 9);

	if (asked_ms > ms)
		ms = asked_ms;
	return (ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS) * 1000;
}

static void wait_for_retry(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_model_result *end = d->input->model_done.end;

	ar_turn_emit(d, turn, AR_EV_RUN_STATUS,
		     &(struct ar_ev_run_status){ .phase = AR_STR("retrying"),
						 .title = ar_arena_fmt(d->arena,
								       "Attempt %lld failed, trying again",
								       (long long)turn->attempt),
						 .detail = end->message });
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_RUNNING, "model_failed", "retrying",
			 turn);
	ar_decide_wake(d, AR_IN_RETRY_DUE, turn->id,
		       d->input->now + backoff(d->input->policy, turn->attempt, end->retry_after_ms));
}

static void step_failed(struct ar_decision *d, struct ar_turn *turn, const struct ar_step_output *out)
{
	const struct ar_model_result *end = d->input->model_done.end;
	const struct ar_step *step = ar_turn_step(turn, turn->open_step);
	struct ar_str partial = ar_decide_model_failed(d, turn, out, end);
	bool is_spent = turn->attempt >= d->input->policy->max_attempts;

	ar_limits_record(d, turn, step, end);
	ar_limits_throttle(d, turn, step, end);
	if (turn->is_interrupted || end->outcome == AR_MODEL_CANCELLED) {
		ar_decide_cancel(d, turn, turn->interrupt_reason, partial);
		return;
	}
	if (ar_limits_fall_back(d, turn, end, is_spent)) {
		ar_decide_ask_model(d, turn, 1);
		return;
	}
	if (end->retryable && !is_spent) {
		wait_for_retry(d, turn);
		return;
	}
	if (turn->compaction.trigger.set) {
		ar_decide_compaction_failed(d, turn, turn->attempt, end->category, end->message);
		return;
	}
	if (ar_str_is(end->category, "context_length") && ar_decide_compact_overflow(d, turn) == AR_HELD)
		return;
	ar_decide_fail(d, turn,
		       &(struct ar_ending){
			       .status = AR_TURN_FAILED_STATUS_FAILED,
			       .category = end->category,
			       .message = end->message,
			       .advice = end->retryable
						 ? AR_STR("submit the turn again later")
						 : AR_STR("correct the cause, then submit the turn again"),
			       .output_ref = partial,
			       .retryable = end->retryable });
}

/* The running turn that has this step open; NULL when it was settled meanwhile. */
static struct ar_turn *turn_of_step(const struct ar_session *s, struct ar_str step)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		struct ar_turn *turn = ar_thread_active(s->threads.at[i]);

		if (turn && ar_str_eq(turn->open_step, step))
			return turn;
	}
	return NULL;
}

enum ar_status ar_decide_model_done(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_step_output *out = d->input->model_done.output;
	struct ar_turn *turn = turn_of_step(d->session, out->step);

	(void)err;
	if (!turn)
		return AR_OK;
	if (d->input->model_done.end->outcome == AR_MODEL_COMPLETED)
		step_completed(d, turn, out);
	else
		step_failed(d, turn, out);
	return AR_OK;
}

enum ar_status ar_decide_retry_due(struct ar_decision *d, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_session_turn(d->session, d->input->due, &t);

	(void)err;
	if (!turn || turn != ar_thread_active(t) || turn->is_interrupted || turn->is_lost ||
	    !ar_str_absent(turn->open_step) || ar_turn_has_open_calls(turn))
		return AR_OK;
	ar_decide_ask_model(d, turn, turn->attempt + 1);
	return AR_OK;
}
