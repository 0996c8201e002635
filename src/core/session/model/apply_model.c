/* Facts about model steps. Pure; see apply.c. */
#include "apply.h"
#include "context/context.h"
#include "limits/money.h"

void ar_apply_step(struct ar_session *s, struct ar_turn *turn, struct ar_step *step)
{
	ar_vec_push(&s->arena, &turn->steps, step);
	if (turn->steps.count > AR_WINDOW_STEPS)
		ar_vec_remove(&turn->steps, 0);
	ar_apply_count(&s->counters.step, step->id);
}

/* Such a call is about the conversation, no part of it. */
static bool is_compaction(const struct ar_step *step)
{
	return ar_str_is(step->purpose, AR_PURPOSE_COMPACTION);
}

enum ar_status ar_apply_model_requested(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_model_requested *p = PAYLOAD(e, model_requested);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_step *step;
	int64_t reserved;

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	step = ar_arena_alloc(&s->arena, sizeof(*step));
	step->id = ar_apply_keep(s, e->ids[AR_SCOPE_STEP]);
	step->model_request = ar_apply_keep(s, e->ids[AR_SCOPE_MODEL_REQUEST]);
	step->status = AR_STR("open");
	step->purpose = ar_apply_keep(s, p->purpose);
	step->provider = ar_apply_keep(s, p->provider);
	step->model = ar_apply_keep(s, p->model);
	step->attempt = p->attempt;
	step->started = e->time;
	ar_apply_step(s, turn, step);
	if (ar_money_parse(p->reserved, &reserved))
		ar_apply_reserve(s, turn, step, reserved);
	ar_apply_steers(s, t, turn);
	ar_apply_forget_hooks(turn);
	turn->open_step = step->id;
	turn->attempt = p->attempt;
	ar_apply_count(&s->counters.request, step->model_request);
	if (is_compaction(step))
		return AR_OK;
	t->request_ref = ar_apply_keep(s, p->request_ref);
	t->sent = (int64_t)t->context.count;
	return AR_OK;
}

static struct ar_step *close_step(struct ar_session *s, const struct ar_event *e, struct ar_turn **ret_turn,
				  struct ar_thread **ret_thread)
{
	struct ar_turn *turn = ar_apply_turn(s, e, ret_thread);
	struct ar_step *step = turn ? ar_turn_step(turn, e->ids[AR_SCOPE_STEP]) : NULL;

	*ret_turn = turn;
	if (!step)
		return NULL;
	turn->open_step = AR_STR_NONE;
	step->ended = e->time;
	return step;
}

static int64_t bytes_of_calls(const struct ar_shape_requested_call_list *calls)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < calls->count; i++)
		bytes += ar_context_call_bytes(calls->at[i].name, calls->at[i].bytes.v);
	return bytes;
}

enum ar_status ar_apply_model_completed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_model_completed *p = PAYLOAD(e, model_completed);
	struct ar_thread *t;
	struct ar_turn *turn;
	struct ar_step *step = close_step(s, e, &turn, &t);
	struct ar_shape_usage usage = { 0 };
	struct ar_shape_requested_call_list calls;

	if (!step)
		return ar_apply_unknown(err, e, "step");
	step->status = AR_STR("completed");
	step->output_ref = ar_apply_keep(s, p->output_ref);
	step->preview = ar_apply_keep(s, p->preview);
	turn->attempt = 0;
	if (p->usage)
		usage = *p->usage;
	turn->input_tokens += usage.input_tokens.v;
	turn->output_tokens += usage.output_tokens.v;
	turn->cached_tokens += usage.cached_tokens.v;
	if (is_compaction(step))
		return AR_OK;
	turn->rounds++;
	turn->output_ref = step->output_ref;
	turn->stop_reason = ar_apply_keep(s, p->stop_reason);
	turn->compaction.overflows = (struct ar_opt_int){ 0 };
	t->anchor = AR_OPT_INT(usage.input_tokens.v);
	ar_list_copy(&ar_shape_requested_call_desc, &p->tool_calls, AR_COPY_TEXT, &s->arena, &calls);
	t->anchor_at = AR_OPT_INT(t->omitted + t->sent);
	ar_apply_context(s, t,
			 (struct ar_context_entry){ .role = AR_CONTEXT_ASSISTANT,
						    .ref = step->output_ref,
						    .bytes = p->output_bytes.v + bytes_of_calls(&calls),
						    .uses = calls,
						    .echo = ar_apply_keep(s, p->echo_ref),
						    .echo_by = step->provider });
	ar_apply_calls(s, turn, step, &calls);
	return AR_OK;
}

void ar_apply_incident(struct ar_session *s, const struct ar_event *e, struct ar_thread *t,
		       const struct ar_shape_failure *error)
{
	struct ar_incident *incident = ar_arena_alloc(&s->arena, sizeof(*incident));

	incident->id = ar_apply_keep(s, e->event_id);
	incident->code = ar_apply_keep(s, error->category);
	incident->message = ar_apply_keep(s, error->message);
	incident->turn = ar_apply_keep(s, e->ids[AR_SCOPE_TURN]);
	incident->at = e->time;
	ar_vec_push(&s->arena, &t->incidents, incident);
	if (t->incidents.count > AR_WINDOW_INCIDENTS)
		ar_vec_remove(&t->incidents, 0);
}

/* A provider that refuses does not charge. What was done behind a gateway that gave up is not known. */
static bool is_free(const struct ar_ev_model_failed *p)
{
	return p->outcome == AR_MODEL_FAILED_OUTCOME_REJECTED && p->status.v != 502 && p->status.v != 504;
}

enum ar_status ar_apply_model_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_model_failed *p = PAYLOAD(e, model_failed);
	struct ar_thread *t;
	struct ar_turn *turn;
	struct ar_step *step = close_step(s, e, &turn, &t);
	struct ar_shape_failure error = ar_apply_failure(p->error);

	if (!step)
		return ar_apply_unknown(err, e, "step");
	step->status = AR_STR("failed");
	step->category = ar_apply_keep(s, error.category);
	step->output_ref = ar_apply_keep(s, p->output_ref);
	if (is_free(p))
		ar_apply_reserve(s, turn, step, 0);
	if (!is_compaction(step) && ar_str_is(step->category, "context_length"))
		turn->compaction.overflows = AR_OPT_INT(turn->compaction.overflows.v + 1);
	ar_apply_incident(s, e, t, &error);
	return AR_OK;
}

enum ar_status ar_apply_reasoning_summary(struct ar_session *s, const struct ar_event *e,
					  struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_step *step = turn ? ar_turn_step(turn, e->ids[AR_SCOPE_STEP]) : NULL;

	(void)err;
	if (step)
		step->summary = ar_apply_keep(s, PAYLOAD(e, reasoning_summary)->reasoning_ref);
	return AR_OK;
}
