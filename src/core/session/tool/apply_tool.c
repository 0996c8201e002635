/* Facts about tool calls. A call is known from the answer that asks for it; when the last of an
 * answer's calls has ended, what they brought joins the conversation, in the order in which they
 * were asked for. Pure; see apply.c. */
#include "action/action.h"
#include "apply.h"
#include "hook/hooks.h"
#include "limits/budget.h"

/* Answered calls leave, oldest first; open ones stay whatever their number. */
static void drop_old_calls(struct ar_turn *turn)
{
	while (turn->calls.count > AR_WINDOW_CALLS &&
	       ((const struct ar_invocation *)turn->calls.at[0])->is_joined)
		ar_vec_remove(&turn->calls, 0);
}

void ar_apply_calls(struct ar_session *s, struct ar_turn *turn, const struct ar_step *step,
		    const struct ar_shape_requested_call_list *calls)
{
	for (size_t i = 0; i < calls->count; i++) {
		struct ar_invocation *call = ar_arena_alloc(&s->arena, sizeof(*call));

		*call = (struct ar_invocation){ .id = calls->at[i].tool_call_id,
						.step = step->id,
						.name = calls->at[i].name,
						.provider_id = calls->at[i].id,
						.args_ref = calls->at[i].ref,
						.stage = AR_CALL_PLANNED };
		ar_vec_push(&s->arena, &turn->calls, call);
	}
	drop_old_calls(turn);
}

static void join_answers(struct ar_session *s, struct ar_thread *t, struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		if (((const struct ar_invocation *)turn->calls.at[i])->stage != AR_CALL_ENDED)
			return;
	}
	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = turn->calls.at[i];

		if (call->is_joined)
			continue;
		call->is_joined = true;
		ar_guard_count(&turn->repeat, call);
		if (!ar_turn_is_system(turn)) /* no model asked for it: it answers nothing */
			ar_apply_context(s, t, ar_call_message(call));
	}
}

/* A person decided about a call whose end was lost, or that lacked a credential; or nobody will any more. */
void ar_apply_lost_decided(struct ar_session *s, const struct ar_event *e, const struct ar_action *a)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_invocation *call = turn ? ar_turn_call(turn, a->call) : NULL;

	if (!call || call->stage != AR_CALL_UNKNOWN)
		return;
	call->stage = ar_texts_have(AR_TEXTS(AR_STR("retry"), AR_STR("provide")), a->decision)
			      ? AR_CALL_ALLOWED
			      : AR_CALL_ENDED;
	if (ar_str_is(a->decision, "mark_done") && !ar_str_absent(a->response_ref)) {
		call->answer_ref = a->response_ref;
		call->answer_bytes = AR_CONFIRMED_BYTES;
	}
	join_answers(s, t, turn);
}

static struct ar_invocation *find_call(struct ar_session *s, const struct ar_event *e,
				       struct ar_turn **ret_turn, struct ar_thread **ret_thread)
{
	*ret_turn = ar_apply_turn(s, e, ret_thread);
	return *ret_turn ? ar_turn_call(*ret_turn, e->ids[AR_SCOPE_TOOL_CALL]) : NULL;
}

static void count_call(struct ar_session *s, struct ar_turn *turn)
{
	turn->calls_started = AR_OPT_INT(turn->calls_started.v + 1);
	ar_apply_subagent_spent(s, turn->thread, (struct ar_subagent_use){ .calls = 1 });
}

enum ar_status ar_apply_tool_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_tool_started *p = PAYLOAD(e, tool_started);
	struct ar_thread *t;
	struct ar_turn *turn;
	struct ar_invocation *call = find_call(s, e, &turn, &t);

	if (!call && turn && !ar_str_absent(p->retry_of)) {
		call = ar_turn_call(turn, p->retry_of);
		if (call) {
			call->id = ar_apply_keep(s, e->ids[AR_SCOPE_TOOL_CALL]);
			ar_hook_follow(turn, p->retry_of, call->id);
		}
	}
	if (!call)
		return ar_apply_unknown(err, e, "tool call");
	if (turn->checkpoint.v >= AR_TURN_CHECKPOINT_ENDED) /* the turn goes on: its end is yet to come */
		turn->checkpoint = AR_OPT_INT(AR_TURN_CHECKPOINT_CREATED);
	call->stage = AR_CALL_RUNNING;
	call->attempt = p->attempt.set ? p->attempt.v : 1;
	if (p->attempt.set)
		count_call(s, turn);
	call->args_ref = ar_apply_keep(s, p->input_ref);
	call->is_read_only = p->is_read_only.v;
	call->is_parallel = p->is_concurrency_safe.v;
	call->is_destructive = p->is_destructive.v;
	call->is_idempotent = p->is_idempotent.v;
	call->is_client = ar_str_is(p->runtime_owner, "client");
	if (ar_str_is(p->runtime_owner, "subagent"))
		call->delegates = AR_OPT_BOOL(true);
	call->blocks = ar_str_is(p->interrupt_behavior, "block");
	call->runs_process = p->runs_process;
	call->category = AR_STR_NONE;
	call->started = e->time;
	call->expires = p->expires_at;
	if (!ar_str_absent(p->sandbox_profile))
		call->profile = AR_OPT_INT(ar_sandbox_find(p->sandbox_profile));
	return AR_OK;
}

enum ar_status ar_apply_tool_result(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_tool_result *p = PAYLOAD(e, tool_result);
	struct ar_thread *t;
	struct ar_turn *turn;
	struct ar_invocation *call = find_call(s, e, &turn, &t);

	if (!call)
		return ar_apply_unknown(err, e, "tool call");
	call->stage = AR_CALL_ENDED;
	call->status = AR_STR("ok");
	call->output_ref = ar_apply_keep(s, p->output_ref);
	call->answer_ref = ar_apply_keep(s, ar_str_absent(p->answer_ref) ? p->output_ref : p->answer_ref);
	call->answer_bytes = p->answer_bytes.v;
	call->images = ar_arena_texts(&s->arena, p->images);
	call->preview = ar_apply_keep(s, ar_str_utf8_prefix(p->preview, AR_CALL_PREVIEW));
	call->ended = e->time;
	ar_apply_call_over(s, call);
	join_answers(s, t, turn);
	return AR_OK;
}

enum ar_status ar_apply_tool_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_tool_failed *p = PAYLOAD(e, tool_failed);
	struct ar_thread *t;
	struct ar_turn *turn;
	struct ar_invocation *call = find_call(s, e, &turn, &t);

	if (!call)
		return ar_apply_unknown(err, e, "tool call");
	call->stage = ar_str_is(p->error_category, AR_CATEGORY_UNKNOWN_OUTCOME) ||
				      ar_str_is(p->error_category, AR_CATEGORY_NOT_BEGUN) ||
				      ar_str_is(p->error_category, AR_CATEGORY_CREDENTIAL)
			      ? AR_CALL_UNKNOWN
			      : AR_CALL_ENDED;
	call->status = ar_apply_word(e, "status", p->status);
	call->category = ar_apply_keep(s, p->error_category);
	call->answer_ref = ar_apply_keep(s, p->error_ref);
	ar_apply_call_over(s, call);
	call->answer_bytes = p->answer_bytes.v;
	call->ended = e->time;
	join_answers(s, t, turn);
	return AR_OK;
}
