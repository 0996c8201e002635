/* Facts about hooks: a run begins, and what its end comes to for its chain, for the call that it was asked
 * about and for the conversation. Pure; see apply.c. */
#include "apply.h"
#include "hook/hooks.h"

#define DECISION(word) AR_HOOK_COMPLETED_DECISION_##word

/* A run that ends, and what its end may change. */
struct ending {
	struct ar_session *session;
	struct ar_thread *thread;
	struct ar_turn *turn;
	struct ar_hook_chain *chain;
};

static struct ar_hook_chain *add_chain(struct ar_session *s, struct ar_turn *turn, int64_t point,
				       struct ar_str subject)
{
	struct ar_hook_chain *chain = ar_arena_alloc(&s->arena, sizeof(*chain));

	chain->point = point;
	chain->subject = ar_apply_keep(s, subject);
	ar_vec_push(&s->arena, &turn->hooks, chain);
	return chain;
}

static void add_run(struct ar_session *s, const struct ar_event *e, struct ar_turn *turn,
		    const struct ar_hook_chain *chain)
{
	struct ar_hook_record *run = ar_arena_alloc(&s->arena, sizeof(*run));

	if (!ar_apply_is_shown(turn))
		return;
	*run = (struct ar_hook_record){ .id = chain->run,
					.handler = chain->handler,
					.subject = chain->subject,
					.status = AR_STR("running"),
					.point = chain->point,
					.started = e->time };
	ar_vec_push(&s->arena, &turn->hook_runs, run);
	if (turn->hook_runs.count > AR_WINDOW_HOOK_RUNS)
		ar_vec_remove(&turn->hook_runs, 0);
}

/* The run that the fact ends, if it is among those that are kept. */
static void end_run(struct ar_session *s, const struct ar_event *e, const struct ar_turn *turn,
		    const struct ar_hook_record *as)
{
	for (size_t i = turn->hook_runs.count; i > 0; i--) {
		struct ar_hook_record *run = turn->hook_runs.at[i - 1];

		if (!ar_str_eq(run->id, as->id))
			continue;
		run->status = as->status;
		run->decision = as->decision;
		run->category = ar_apply_keep(s, as->category);
		run->ended = e->time;
		return;
	}
}

enum ar_status ar_apply_hook_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_hook_started *p = PAYLOAD(e, hook_started);
	struct ar_str call = e->ids[AR_SCOPE_TOOL_CALL];
	struct ar_str subject = ar_str_absent(call) ? e->ids[AR_SCOPE_STEP] : call;
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_hook_chain *chain;

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	chain = ar_hook_chain(turn, p->hook_point, subject);
	if (!chain)
		chain = add_chain(s, turn, p->hook_point, subject);
	chain->run = ar_apply_keep(s, e->event_id);
	chain->handler = ar_apply_keep(s, p->handler_ref);
	chain->tries++;
	chain->started = e->time;
	add_run(s, e, turn, chain);
	return AR_OK;
}

/* ---- a run ends ---- */

static enum ar_status find_ending(struct ar_session *s, const struct ar_event *e, struct ar_str run,
				  struct ending *ret, struct ar_error *err)
{
	ret->session = s;
	ret->turn = ar_apply_turn(s, e, &ret->thread);
	ret->chain = ret->turn ? ar_turn_hook_run(ret->turn, run) : NULL;
	return ret->chain ? AR_OK : ar_apply_unknown(err, e, "hook run");
}

static void close_run(struct ar_session *s, struct ar_hook_chain *chain)
{
	chain->done = ar_arena_texts_add(&s->arena, chain->done, chain->handler);
	chain->runs = ar_arena_texts_add(&s->arena, chain->runs, chain->run);
	chain->tries = 0;
}

/* The strictest of all answers holds. */
static void judge(struct ar_session *s, struct ar_hook_chain *chain, int decision, struct ar_str reason)
{
	static const int strictness[] = { [DECISION(CONTINUE)] = 1,
					  [DECISION(ALLOW)] = 2,
					  [DECISION(ASK)] = 3,
					  [DECISION(BLOCK)] = 4,
					  [DECISION(DENY)] = 4 };

	if (chain->decision && strictness[decision] <= strictness[chain->decision])
		return;
	chain->decision = decision;
	chain->by = chain->run;
	chain->by_handler = chain->handler;
	chain->reason = ar_apply_keep(s, reason);
}

/* Index of the newest message of a person in this turn that has the ref; the count when it is not there. */
static size_t find_prompt(const struct ending *end, struct ar_str ref)
{
	const struct ar_vec *context = &end->thread->context;

	for (size_t i = context->count; i > 0; i--) {
		const struct ar_context_entry *entry = context->at[i - 1];

		if (entry->role == AR_CONTEXT_USER && entry->turn.v == end->turn->start.v &&
		    ar_str_eq(entry->ref, ref))
			return i - 1;
	}
	return context->count;
}

/* Index of the answer to a call. Those of one step are the newest messages, in the order of the
 * calls: what the model calls them need not tell them apart. */
static size_t find_answer(const struct ending *end, const struct ar_invocation *call)
{
	size_t i = end->thread->context.count;

	for (size_t k = end->turn->calls.count; k > 0 && i > 0; k--) {
		const struct ar_invocation *other = end->turn->calls.at[k - 1];

		i -= ar_str_eq(other->step, call->step);
		if (other == call)
			return i;
	}
	return end->thread->context.count;
}

/* A message is replaced, never changed: a branch may share it. */
static void replace_entry(const struct ending *end, size_t i, struct ar_str ref, int64_t bytes)
{
	struct ar_vec *context = &end->thread->context;
	struct ar_context_entry *entry;

	if (i == context->count)
		return;
	entry = ar_arena_alloc(&end->session->arena, sizeof(*entry));
	*entry = *(const struct ar_context_entry *)context->at[i];
	entry->ref = ref;
	entry->bytes = bytes;
	entry->images = (struct ar_texts){ 0 };
	context->at[i] = entry;
}

/* Context that was added becomes messages of a person, from index `i` on. */
static void add_contexts(const struct ending *end, size_t i, const struct ar_ev_hook_completed *p)
{
	struct ar_session *s = end->session;
	struct ar_json sizes = ar_apply_parse(s, p->additional_context_bytes);

	for (size_t n = 0; n < p->additional_context_refs.count; n++) {
		struct ar_context_entry *entry = ar_arena_alloc(&s->arena, sizeof(*entry));

		entry->role = AR_CONTEXT_USER;
		entry->ref = ar_apply_keep(s, p->additional_context_refs.at[n]);
		entry->turn = end->turn->start;
		ar_json_i64(ar_json_at(sizes, n), &entry->bytes);
		ar_vec_insert(&s->arena, &end->thread->context, i + n, entry);
	}
}

static void change_prompt(const struct ending *end, const struct ar_ev_hook_completed *p)
{
	struct ar_turn *turn = end->turn;
	size_t i = find_prompt(end, ar_hook_prompt(turn));

	if (!ar_str_absent(p->updated_input_ref)) {
		turn->updated_input_ref = end->chain->input_ref;
		replace_entry(end, i, turn->updated_input_ref, p->updated_input_bytes.v);
	}
	add_contexts(end, i, p);
}

static void change_answer(const struct ending *end, const struct ar_ev_hook_completed *p)
{
	struct ar_invocation *call = ar_turn_call(end->turn, end->chain->subject);

	if (!call || ar_str_absent(p->updated_tool_output_ref))
		return;
	call->answer_ref = ar_apply_keep(end->session, p->updated_tool_output_ref);
	call->answer_bytes = p->updated_tool_output_bytes.v;
	call->images = (struct ar_texts){ 0 }; /* what stands in its place is all there is */
	if (call->is_joined)
		replace_entry(end, find_answer(end, call), call->answer_ref, call->answer_bytes);
}

static void change_arguments(const struct ending *end, const struct ar_ev_hook_completed *p)
{
	struct ar_invocation *call = ar_turn_call(end->turn, end->chain->subject);

	if (call && !ar_str_absent(p->updated_input_ref))
		call->args_ref = end->chain->input_ref;
}

/* The reason to go on is said to the model, as often as policy allows. */
static void keep_going(const struct ending *end, const struct ar_ev_hook_completed *p)
{
	if (!ar_hook_objects(p->decision))
		return;
	if (++end->turn->stop_blocks.v <= AR_STOP_BLOCKS_MAX)
		add_contexts(end, end->thread->context.count, p);
	end->turn->stop_blocks.set = true;
}

enum ar_status ar_apply_hook_completed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_hook_completed *p = PAYLOAD(e, hook_completed);
	struct ending end;

	if (find_ending(s, e, p->hook_run_ref, &end, err) != AR_OK)
		return AR_E_CORRUPT;
	close_run(s, end.chain);
	end_run(s, e, end.turn,
		&(struct ar_hook_record){ .id = p->hook_run_ref,
					  .status = AR_STR("completed"),
					  .decision = ar_apply_word(e, "decision", p->decision) });
	judge(s, end.chain, p->decision, p->reason);
	end.chain->run = AR_STR_NONE;
	if (!ar_str_absent(p->updated_input_ref))
		end.chain->input_ref = ar_apply_keep(s, p->updated_input_ref);
	switch (end.chain->point) {
	case AR_AT_SESSION_START:
	case AR_AT_USER_PROMPT_SUBMIT:
		change_prompt(&end, p);
		break;
	case AR_AT_PRE_TOOL_USE:
	case AR_AT_PERMISSION_REQUEST:
		change_arguments(&end, p);
		break;
	case AR_AT_POST_TOOL_USE:
	case AR_AT_POST_TOOL_FAILURE:
		change_answer(&end, p);
		break;
	case AR_AT_STOP:
		keep_going(&end, p);
		break;
	default:
		break;
	}
	return AR_OK;
}

/* One that was interrupted is not done: it is run again, or nobody asks any more. */
enum ar_status ar_apply_hook_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_hook_failed *p = PAYLOAD(e, hook_failed);
	bool is_done = !ar_str_is(p->error_category, AR_CATEGORY_INTERRUPTED);
	struct ending end;

	if (find_ending(s, e, p->hook_run_ref, &end, err) != AR_OK)
		return AR_E_CORRUPT;
	end_run(s, e, end.turn,
		&(struct ar_hook_record){
			.id = p->hook_run_ref, .status = AR_STR("failed"), .category = p->error_category });
	if (is_done)
		close_run(s, end.chain);
	if (is_done && p->fail_mode == AR_HOOK_FAILED_FAIL_MODE_FAIL_CLOSED) {
		judge(s, end.chain, DECISION(BLOCK), p->message);
		end.chain->has_failed = AR_OPT_BOOL(true);
	}
	end.chain->run = AR_STR_NONE;
	return AR_OK;
}

/* What was said about steps and calls that are over is no longer asked for; what was said about
 * the turn is. */
void ar_apply_forget_hooks(struct ar_turn *turn)
{
	for (size_t i = turn->hooks.count; i > 0; i--) {
		if (!ar_str_absent(((const struct ar_hook_chain *)turn->hooks.at[i - 1])->subject))
			ar_vec_remove(&turn->hooks, i - 1);
	}
}
