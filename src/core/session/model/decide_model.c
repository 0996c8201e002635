/* One model step: asking, what came back, trying again. Pure: the call itself is an effect, its end an input. */
#include "decide.h"
#include "identity.h"
#include "limits/limits.h"

/* The outcomes of port/provider.h by value, as words of the catalogue. */
enum {
	OUTCOME_COMPLETED = 1,
	OUTCOME_CANCELLED = 6,
};

static const int outcome_word[] = {
	[0] = AR_MODEL_FAILED_OUTCOME_INTERRUPTED, [2] = AR_MODEL_FAILED_OUTCOME_REJECTED,
	[3] = AR_MODEL_FAILED_OUTCOME_FAILED,	   [4] = AR_MODEL_FAILED_OUTCOME_CUT,
	[5] = AR_MODEL_FAILED_OUTCOME_TIMEOUT,	   [6] = AR_MODEL_FAILED_OUTCOME_CANCELLED,
	[7] = AR_MODEL_FAILED_OUTCOME_REJECTED,	   [8] = AR_MODEL_FAILED_OUTCOME_FAILED,
};

static const char *const segment_word[] = { "", "text", "reasoning", "tool_args" };
static const char *const role_word[] = { "", "system", "user", "assistant", "tool" };

#define PREVIEW_MAX 200
#define BACKOFF_MAX_MS 60000

/* ---- asking ---- */

struct request {
	const struct ar_context_entry **entries;
	size_t count;
	size_t skipped; /* older ones that do not go along */
	size_t first_new; /* index of the first that no earlier request carried */
};

static const struct ar_context_entry *entry_at(const struct ar_draft *w, size_t i)
{
	return i < w->kept ? w->thread->context.at[i] : w->context.at[i - w->kept];
}

/* How many of the oldest messages stay behind: policy bounds their number and their bytes, the newest always goes. */
static size_t count_skipped(const struct ar_draft *w, size_t total)
{
	const struct ar_policy *policy = w->d->input->policy;
	int64_t bytes = 0, count = 0;
	size_t first = total;

	while (first > 0) {
		bytes += entry_at(w, first - 1)->bytes;
		if (++count > 1 && (count > policy->context_max || bytes > policy->context_bytes))
			break;
		first--;
	}
	/* Never begin with the answer to a call: the message that made it goes along, beyond the bounds if need be. */
	while (first > 0 && first < total && entry_at(w, first)->role == AR_CONTEXT_TOOL)
		first--;
	return first;
}

static struct request gather(struct ar_draft *w)
{
	size_t total = w->kept + w->context.count;
	struct request r = { .skipped = count_skipped(w, total) };

	r.entries = ar_arena_alloc(w->d->arena, (total + 1) * sizeof(*r.entries));
	for (size_t i = r.skipped; i < total; i++)
		r.entries[r.count++] = entry_at(w, i);
	r.first_new = w->sent > r.skipped ? w->sent - r.skipped : 0;
	return r;
}

void ar_draft_write_messages(struct ar_jw *j, const struct ar_context_entry *const *entries, size_t count)
{
	ar_jw_open_array(j);
	for (size_t i = 0; i < count; i++) {
		ar_jw_open(j);
		ar_jw_mstr(j, "role", ar_str_from(role_word[entries[i]->role]));
		ar_jw_mstr(j, "ref", entries[i]->ref);
		ar_jw_mstr(j, "toolCallId", entries[i]->tool_call_id);
		ar_jw_mraw(j, "toolCalls", entries[i]->uses);
		ar_jw_close(j);
	}
	ar_jw_close_array(j);
}

/* A manifest names what is new and the manifest before it, so a long conversation is not stored again with every call. */
static struct ar_str manifest(struct ar_draft *w, const struct ar_turn *turn, const struct request *r,
			      const struct ar_choice *choice, struct ar_str system)
{
	struct ar_jw j = ar_decide_json(w->d);

	ar_jw_open(&j);
	ar_jw_mstr(&j, "base", w->base);
	ar_jw_mstr(&j, "provider", choice->entry->provider);
	ar_jw_mstr(&j, "model", choice->model);
	ar_jw_mstr(&j, "systemRef", system);
	ar_jw_mraw(&j, "options", turn->options);
	ar_jw_mint(&j, "omitted", w->thread->omitted + (int64_t)r->skipped);
	ar_jw_key(&j, "append");
	ar_draft_write_messages(&j, r->entries + r->first_new, r->count - r->first_new);
	ar_jw_close(&j);
	return ar_decide_content(w->d, ar_decide_json_end(w->d));
}

static int64_t bytes_of(const struct request *r)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < r->count; i++)
		bytes += r->entries[i]->bytes;
	return bytes;
}

void ar_draft_ask_model(struct ar_draft *w, struct ar_turn *turn, int64_t attempt)
{
	struct ar_decision *d = w->d;
	const struct ar_policy *policy = d->input->policy;
	struct ar_ids ids = ar_ids_turn(d, turn);
	struct ar_context_entry *messages;
	struct ar_effect *call;
	struct ar_str system = AR_STR_NONE;
	struct ar_choice choice;
	struct request r;

	ar_draft_take_steers(w, turn);
	r = gather(w);
	if (!ar_limits_route(w, turn, bytes_of(&r), &choice))
		return;
	if (!ar_str_empty(policy->system_prompt))
		system = ar_decide_content(d, policy->system_prompt);
	ids.at[AR_SCOPE_STEP] = ar_decide_mint(d, "step", &d->counters.step);
	ids.at[AR_SCOPE_MODEL_REQUEST] = ar_decide_mint(d, "mreq", &d->counters.request);
	ar_decide_emit(d, AR_EV_MODEL_REQUESTED, &ids,
		       &(struct ar_ev_model_requested){ .provider = choice.entry->provider,
							.model = choice.name,
							.attempt = attempt,
							.request_ref = manifest(w, turn, &r, &choice, system),
							.streaming = AR_OPT_BOOL(true),
							.purpose = AR_STR("turn") });
	messages = ar_arena_alloc(d->arena, (r.count + 1) * sizeof(*messages));
	messages[0] = (struct ar_context_entry){ .role = AR_CONTEXT_SYSTEM, .ref = system };
	for (size_t i = 0; i < r.count; i++)
		messages[i + 1] = *r.entries[i];
	call = ar_decide_effect(d, AR_EFFECT_MODEL_CALL);
	*call = (struct ar_effect){ .kind = AR_EFFECT_MODEL_CALL,
				    .thread = turn->thread,
				    .turn = turn->id,
				    .step = ids.at[AR_SCOPE_STEP],
				    .model_request = ids.at[AR_SCOPE_MODEL_REQUEST],
				    .route = choice.entry->name,
				    .model = choice.model,
				    .options = turn->options,
				    .messages = ar_str_absent(system) ? messages + 1 : messages,
				    .message_count = ar_str_absent(system) ? r.count : r.count + 1 };
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
static struct ar_str request_of(const struct ar_step_end *end)
{
	return ar_str_empty(end->request_id) ? AR_STR_NONE : end->request_id;
}

/* Some servers end without saying why; the fact has to say something. */
static struct ar_str stop_reason_of(const struct ar_step_end *end)
{
	return ar_str_empty(end->stop_reason) ? AR_STR("unknown") : end->stop_reason;
}

static struct ar_str usage_json(struct ar_decision *d, const struct ar_step_end *end)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mint(&w, "inputTokens", end->input_tokens);
	ar_jw_mint(&w, "outputTokens", end->output_tokens);
	ar_jw_mint(&w, "cachedTokens", end->cached_tokens);
	if (!end->has_usage)
		ar_jw_mstr(&w, "state", AR_STR("unknown"));
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

/* Calls the model made, each with our id, its own and the content of its arguments. */
static struct ar_str tool_calls_json(struct ar_decision *d, const struct ar_step_output *out,
				     struct ar_str *ids, struct ar_str *refs)
{
	struct ar_jw w;

	if (out->tool_count == 0)
		return AR_STR_NONE;
	for (size_t i = 0; i < out->tool_count; i++) {
		ids[i] = ar_tool_call_id(d->arena, out->step, (uint32_t)i);
		refs[i] = ar_decide_content(d, out->tools[i].args);
	}
	w = ar_decide_json(d);
	ar_jw_open_array(&w);
	for (size_t i = 0; i < out->tool_count; i++) {
		ar_jw_open(&w);
		ar_jw_mstr(&w, "toolCallId", ids[i]);
		ar_jw_mstr(&w, "id", out->tools[i].id);
		ar_jw_mstr(&w, "name", out->tools[i].name);
		ar_jw_mstr(&w, "ref", refs[i]);
		ar_jw_close(&w);
	}
	ar_jw_close_array(&w);
	return ar_decide_json_end(d);
}

static void add_context(struct ar_draft *w, struct ar_context_entry entry)
{
	struct ar_context_entry *e = ar_arena_alloc(w->d->arena, sizeof(*e));

	*e = entry;
	ar_vec_push(w->d->arena, &w->context, e);
}

/* No tool runs yet, so a call the model makes anyway is answered with that fact, and the model may go on. */
static void refuse_tool(struct ar_draft *w, const struct ar_turn *turn, const struct ar_tool_request *tool,
			struct ar_str id, struct ar_str ref)
{
	struct ar_decision *d = w->d;
	struct ar_ids ids = ar_ids_turn(d, turn);
	struct ar_str answer = ar_arena_fmt(d->arena, "The tool '%.*s' is not available in this runtime.",
					    AR_STR_ARG(ar_str_utf8_prefix(tool->name, 64)));
	struct ar_str answer_ref = ar_decide_content(d, answer);

	ids.at[AR_SCOPE_STEP] = turn->open_step;
	ids.at[AR_SCOPE_TOOL_CALL] = id;
	ar_decide_emit(d, AR_EV_TOOL_STARTED, &ids,
		       &(struct ar_ev_tool_started){ .tool_name = ar_str_utf8_prefix(tool->name, 64),
						     .input_ref = ref,
						     .policy = AR_STR("unavailable"),
						     .provider_call_id = tool->id });
	ar_decide_emit(d, AR_EV_TOOL_FAILED, &ids,
		       &(struct ar_ev_tool_failed){ .status = AR_TOOL_FAILED_STATUS_FAILED,
						    .error_category = AR_STR("tool_unavailable"),
						    .recovery_advice = AR_STR("offer the model no such tool"),
						    .error_ref = answer_ref });
	add_context(w, (struct ar_context_entry){
			       .role = AR_CONTEXT_TOOL, .ref = answer_ref, .tool_call_id = tool->id });
}

static void go_on(struct ar_draft *w, struct ar_turn *turn, struct ar_str output_ref,
		  const struct ar_step_output *out)
{
	const struct ar_policy *policy = w->d->input->policy;

	if (turn->is_interrupted) {
		ar_draft_cancel(w, turn, turn->interrupt_reason, output_ref);
		return;
	}
	if (out->tool_count == 0 && turn->steers.count == 0) {
		ar_draft_complete(w, turn, output_ref, stop_reason_of(&w->d->input->end));
		return;
	}
	if (turn->rounds >= policy->max_rounds) {
		ar_draft_fail(w, turn,
			      &(struct ar_ending){
				      .status = AR_TURN_FAILED_STATUS_FAILED,
				      .category = AR_STR("round_limit"),
				      .message = AR_STR("the model kept calling tools without an answer"),
				      .advice = AR_STR("ask a narrower question"),
				      .output_ref = output_ref });
		return;
	}
	ar_draft_ask_model(w, turn, 1);
}

static void step_completed(struct ar_draft *w, struct ar_turn *turn, const struct ar_step_output *out)
{
	struct ar_decision *d = w->d;
	const struct ar_step_end *end = &d->input->end;
	const struct ar_step *step = ar_turn_step(turn, turn->open_step);
	struct ar_str *ids = ar_arena_alloc(d->arena, (out->tool_count + 1) * sizeof(*ids));
	struct ar_str *refs = ar_arena_alloc(d->arena, (out->tool_count + 1) * sizeof(*refs));
	struct ar_str output_ref = ar_decide_content(d, out->text);
	struct ar_str calls = tool_calls_json(d, out, ids, refs);
	struct ar_ids scope = ar_ids_turn(d, turn);

	scope.at[AR_SCOPE_STEP] = step->id;
	scope.at[AR_SCOPE_MODEL_REQUEST] = step->model_request;
	scope.at[AR_SCOPE_REQUEST] = request_of(end);
	ar_decide_emit(d, AR_EV_MODEL_COMPLETED, &scope,
		       &(struct ar_ev_model_completed){ .usage = usage_json(d, end),
							.stop_reason = stop_reason_of(end),
							.provider = step->provider,
							.model = ar_str_empty(end->model) ? step->model
											  : end->model,
							.output_ref = output_ref,
							.ttft_ms = AR_OPT_INT(end->ttft_ms),
							.latency_ms = AR_OPT_INT(end->latency_ms),
							.segments = segments_json(d, out),
							.output_bytes = AR_OPT_INT((int64_t)out->text.len),
							.preview = ar_str_utf8_prefix(out->text, PREVIEW_MAX),
							.reasoning_ref = content_or_none(d, out->reasoning),
							.tool_calls = calls });
	ar_decide_masked(d, &scope, output_ref, &out->masked);
	ar_limits_record(w, turn, step, end);
	turn->rounds++;
	turn->input_tokens += end->input_tokens;
	turn->output_tokens += end->output_tokens;
	turn->cached_tokens += end->cached_tokens;
	add_context(w, (struct ar_context_entry){ .role = AR_CONTEXT_ASSISTANT,
						  .ref = output_ref,
						  .bytes = (int64_t)out->text.len,
						  .uses = calls });
	for (size_t i = 0; i < out->tool_count; i++)
		refuse_tool(w, turn, &out->tools[i], ids[i], refs[i]);
	go_on(w, turn, output_ref, out);
}

struct ar_str ar_draft_model_failed(struct ar_draft *w, const struct ar_turn *turn,
				    const struct ar_step_output *out, const struct ar_step_end *end)
{
	struct ar_decision *d = w->d;
	const struct ar_step *step = ar_turn_step(turn, turn->open_step);
	struct ar_str partial = content_or_none(d, out->text);
	struct ar_ids ids = ar_ids_turn(d, turn);

	ids.at[AR_SCOPE_STEP] = step->id;
	ids.at[AR_SCOPE_MODEL_REQUEST] = step->model_request;
	ids.at[AR_SCOPE_REQUEST] = request_of(end);
	ar_decide_emit(d, AR_EV_MODEL_FAILED, &ids,
		       &(struct ar_ev_model_failed){
			       .error = ar_decide_error(d, end->category, end->message, end->retryable,
							AR_STR_NONE),
			       .provider = step->provider,
			       .model = step->model,
			       .attempt = step->attempt,
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

static void wait_for_retry(struct ar_draft *w, const struct ar_turn *turn)
{
	struct ar_decision *d = w->d;
	const struct ar_step_end *end = &d->input->end;
	struct ar_ids ids = ar_ids_turn(d, turn);
	struct ar_effect *wake;

	ar_decide_emit(d, AR_EV_RUN_STATUS, &ids,
		       &(struct ar_ev_run_status){ .phase = AR_STR("retrying"),
						   .title = ar_arena_fmt(d->arena,
									 "Attempt %lld failed, trying again",
									 (long long)turn->attempt),
						   .detail = end->message,
						   .checkpoints = AR_STR("[]"),
						   .metadata = AR_STR("{}") });
	ar_draft_status(w, AR_THREAD_STATUS_RUNNING, "model_failed", "retrying", turn);
	wake = ar_decide_effect(d, AR_EFFECT_WAKE);
	wake->turn = turn->id;
	wake->at = d->input->now + backoff(d->input->policy, turn->attempt, end->retry_after_ms);
}

static void step_failed(struct ar_draft *w, struct ar_turn *turn, const struct ar_step_output *out)
{
	const struct ar_step_end *end = &w->d->input->end;
	const struct ar_step *step = ar_turn_step(turn, turn->open_step);
	struct ar_str partial = ar_draft_model_failed(w, turn, out, end);
	bool is_spent = turn->attempt >= w->d->input->policy->max_attempts;

	ar_limits_record(w, turn, step, end);
	ar_limits_throttle(w, turn, step, end);
	if (turn->is_interrupted || end->outcome == OUTCOME_CANCELLED) {
		ar_draft_cancel(w, turn, turn->interrupt_reason, partial);
		return;
	}
	if (ar_limits_fall_back(w, turn, end, is_spent)) {
		ar_draft_ask_model(w, turn, 1);
		return;
	}
	if (end->retryable && !is_spent) {
		wait_for_retry(w, turn);
		return;
	}
	ar_draft_fail(w, turn,
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
static struct ar_turn *turn_of_step(const struct ar_session *s, struct ar_str step,
				    const struct ar_thread **ret_thread)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];
		struct ar_turn *turn = ar_thread_active(t);

		if (!turn || !ar_str_eq(turn->open_step, step))
			continue;
		*ret_thread = t;
		return turn;
	}
	return NULL;
}

enum ar_status ar_decide_model_done(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_step_output *out = &d->input->outputs[0];
	const struct ar_thread *t;
	struct ar_turn *turn = turn_of_step(d->session, out->step, &t);
	struct ar_draft w;

	(void)err;
	if (!turn)
		return AR_OK;
	w = ar_draft_of(d, t);
	turn = ar_draft_own(&w, turn);
	if (d->input->end.outcome == OUTCOME_COMPLETED)
		step_completed(&w, turn, out);
	else
		step_failed(&w, turn, out);
	return AR_OK;
}

enum ar_status ar_decide_retry_due(struct ar_decision *d, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_session_turn(d->session, d->input->turn, &t);
	struct ar_draft w;

	(void)err;
	if (!turn || turn != ar_thread_active(t) || turn->is_interrupted || turn->is_lost ||
	    !ar_str_absent(turn->open_step))
		return AR_OK;
	w = ar_draft_of(d, t);
	ar_draft_ask_model(&w, ar_draft_own(&w, turn), turn->attempt + 1);
	return AR_OK;
}
