/* Chains: the handlers of one hook point that were asked about one thing, and what they came to. Pure. */
#include "hook/hooks.h"

#define DECISION(word) AR_HOOK_COMPLETED_DECISION_##word

/* ---- finding ---- */

static struct ar_hook_chain *chain_at(const struct ar_turn *turn, size_t i)
{
	return turn->hooks.at[i];
}

struct ar_str ar_hook_subject(const struct ar_turn *turn, const struct ar_invocation *call,
			      enum ar_hook_point point)
{
	const struct ar_step *step = ar_turn_last_step(turn);

	if (call)
		return call->id;
	return (point == AR_AT_POST_SAMPLING || point == AR_AT_STOP) && step ? step->id : AR_STR_NONE;
}

static struct ar_hook_chain *find_chain(const struct ar_turn *turn, int64_t point, struct ar_str subject)
{
	for (size_t i = 0; i < turn->hooks.count; i++) {
		struct ar_hook_chain *chain = chain_at(turn, i);

		if (chain->point == point && ar_str_eq(chain->subject, subject))
			return chain;
	}
	return NULL;
}

struct ar_hook_chain *ar_hook_said(const struct ar_turn *turn, const struct ar_invocation *call,
				   enum ar_hook_point point)
{
	return find_chain(turn, point, ar_hook_subject(turn, call, point));
}

bool ar_hook_is_open(const struct ar_turn *turn, const struct ar_invocation *call, enum ar_hook_point point)
{
	const struct ar_hook_chain *chain = ar_hook_said(turn, call, point);

	return chain && !ar_str_absent(chain->run);
}

bool ar_hook_blocks(const struct ar_hook_chain *chain)
{
	return chain && (chain->decision == DECISION(BLOCK) || chain->decision == DECISION(DENY));
}

struct ar_hook_chain *ar_turn_hook_run(const struct ar_turn *turn, struct ar_str run)
{
	return ar_str_absent(run) ? NULL
				  : ar_vec_last_with(&turn->hooks, offsetof(struct ar_hook_chain, run), run);
}

void ar_hook_follow(struct ar_turn *turn, struct ar_str before, struct ar_str now)
{
	for (size_t i = 0; i < turn->hooks.count; i++) {
		if (ar_str_eq(chain_at(turn, i)->subject, before))
			chain_at(turn, i)->subject = now;
	}
}

struct ar_texts ar_hook_refs(struct ar_decision *d, const struct ar_turn *turn,
			     const struct ar_invocation *call)
{
	struct ar_texts all = { 0 };

	for (size_t i = 0; i < turn->hooks.count; i++) {
		const struct ar_hook_chain *chain = chain_at(turn, i);

		for (size_t n = 0; ar_str_eq(chain->subject, call->id) && n < chain->runs.count; n++)
			all = ar_arena_texts_add(d->arena, all, chain->runs.at[n]);
	}
	return all;
}

/* ---- a run begins ---- */

struct ar_hook_chain *ar_hook_take_started(const struct ar_hook_place *at, const struct ar_event *e)
{
	const struct ar_ev_hook_started *p = e->payload;
	struct ar_str subject = e->ids[AR_SCOPE_TOOL_CALL];
	struct ar_hook_chain *chain;

	if (ar_str_absent(subject))
		subject = e->ids[AR_SCOPE_STEP];
	chain = find_chain(at->turn, p->hook_point, subject);
	if (!chain) {
		chain = ar_arena_alloc(at->arena, sizeof(*chain));
		chain->point = p->hook_point;
		chain->subject = ar_arena_str(at->arena, subject);
		ar_vec_push(at->arena, &at->turn->hooks, chain);
	}
	chain->run = ar_arena_str(at->arena, e->event_id);
	chain->handler = ar_arena_str(at->arena, p->handler_ref);
	chain->tries++;
	chain->started = e->time;
	return chain;
}

/* ---- and ends ---- */

static void close_run(const struct ar_hook_place *at, struct ar_hook_chain *chain)
{
	chain->done = ar_arena_texts_add(at->arena, chain->done, chain->handler);
	chain->runs = ar_arena_texts_add(at->arena, chain->runs, chain->run);
	chain->tries = 0;
}

/* The strictest of all answers holds. */
static void judge(const struct ar_hook_place *at, struct ar_hook_chain *chain, int decision,
		  struct ar_str reason)
{
	static const int strictness[] = { [DECISION(CONTINUE)] = 1,
					  [DECISION(ALLOW)] = 2,
					  [DECISION(ASK)] = 3,
					  [DECISION(BLOCK)] = 4,
					  [DECISION(DENY)] = 4 };

	if (chain->decision && strictness[decision] <= strictness[chain->decision])
		return;
	chain->decision = decision;
	chain->by = ar_arena_str(at->arena, chain->run);
	chain->by_handler = ar_arena_str(at->arena, chain->handler);
	chain->reason = ar_arena_str(at->arena, reason);
}

static struct ar_context_entry *new_entry(const struct ar_hook_place *at, const struct ar_context_entry *like)
{
	struct ar_context_entry *entry = ar_arena_alloc(at->arena, sizeof(*entry));

	*entry = *like;
	return entry;
}

/* Index of the newest message of a person in this turn that has the ref; the count when it is not there. */
static size_t find_prompt(const struct ar_hook_place *at, struct ar_str ref)
{
	for (size_t i = at->context->count; i > 0; i--) {
		const struct ar_context_entry *entry = at->context->at[i - 1];

		if (entry->role == AR_CONTEXT_USER && entry->turn.v == at->turn->start.v &&
		    ar_str_eq(entry->ref, ref))
			return i - 1;
	}
	return at->context->count;
}

/* Index of the answer to a call. Those of one step are the newest messages, in the order of the
 * calls: what the model calls them need not tell them apart. */
static size_t find_answer(const struct ar_hook_place *at, const struct ar_invocation *call)
{
	size_t i = at->context->count;

	for (size_t k = at->turn->calls.count; k > 0 && i > 0; k--) {
		const struct ar_invocation *other = at->turn->calls.at[k - 1];

		i -= ar_str_eq(other->step, call->step);
		if (other == call)
			return i;
	}
	return at->context->count;
}

/* A message is replaced, never changed: a branch may share it. */
static void replace_entry(const struct ar_hook_place *at, size_t i, struct ar_str ref, int64_t bytes)
{
	struct ar_context_entry *entry;

	if (i == at->context->count)
		return;
	entry = new_entry(at, at->context->at[i]);
	entry->ref = ar_arena_str(at->arena, ref);
	entry->bytes = bytes;
	entry->images = (struct ar_texts){ 0 };
	at->context->at[i] = entry;
}

/* Context that was added becomes messages of a person, from index `i` on. */
static void add_contexts(const struct ar_hook_place *at, size_t i, const struct ar_ev_hook_completed *p)
{
	struct ar_texts refs = p->additional_context_refs;
	struct ar_json sizes = { 0 };

	if (!ar_str_absent(p->additional_context_bytes) &&
	    ar_json_parse(at->json, p->additional_context_bytes, &sizes, NULL) != AR_OK)
		sizes = (struct ar_json){ 0 };
	for (size_t n = 0; n < refs.count; n++) {
		struct ar_context_entry entry = { .role = AR_CONTEXT_USER,
						  .ref = ar_arena_str(at->arena, refs.at[n]),
						  .turn = at->turn->start };

		ar_json_i64(ar_json_at(sizes, n), &entry.bytes);
		ar_vec_insert(at->arena, at->context, i + n, new_entry(at, &entry));
	}
}

static void change_prompt(const struct ar_hook_place *at, const struct ar_ev_hook_completed *p)
{
	struct ar_turn *turn = at->turn;
	struct ar_str now =
		ar_str_absent(turn->updated_input_ref) ? turn->input_ref : turn->updated_input_ref;
	size_t i = find_prompt(at, now);

	if (!ar_str_absent(p->updated_input_ref)) {
		replace_entry(at, i, p->updated_input_ref, p->updated_input_bytes.v);
		turn->updated_input_ref = ar_arena_str(at->arena, p->updated_input_ref);
	}
	add_contexts(at, i, p);
}

static void change_answer(const struct ar_hook_place *at, struct ar_str subject,
			  const struct ar_ev_hook_completed *p)
{
	struct ar_invocation *call = ar_turn_call(at->turn, subject);

	if (!call || ar_str_absent(p->updated_tool_output_ref))
		return;
	if (call->is_joined)
		replace_entry(at, find_answer(at, call), p->updated_tool_output_ref,
			      p->updated_tool_output_bytes.v);
	call->answer_ref = ar_arena_str(at->arena, p->updated_tool_output_ref);
	call->answer_bytes = p->updated_tool_output_bytes.v;
	call->images = (struct ar_texts){ 0 }; /* what stands in its place is all there is */
}

static void change_arguments(const struct ar_hook_place *at, struct ar_str subject,
			     const struct ar_ev_hook_completed *p)
{
	struct ar_invocation *call = ar_turn_call(at->turn, subject);

	if (call && !ar_str_absent(p->updated_input_ref))
		call->args_ref = ar_arena_str(at->arena, p->updated_input_ref);
}

/* The reason to go on is said to the model, as often as policy allows. */
static void keep_going(const struct ar_hook_place *at, const struct ar_ev_hook_completed *p)
{
	if (p->decision != DECISION(BLOCK) && p->decision != DECISION(DENY))
		return;
	if (++at->turn->stop_blocks.v <= AR_STOP_BLOCKS_MAX)
		add_contexts(at, at->context->count, p);
	at->turn->stop_blocks.set = true;
}

void ar_hook_take_completed(const struct ar_hook_place *at, struct ar_hook_chain *chain,
			    const struct ar_ev_hook_completed *p)
{
	close_run(at, chain);
	judge(at, chain, p->decision, p->reason);
	chain->run = AR_STR_NONE;
	if (!ar_str_absent(p->updated_input_ref))
		chain->input_ref = ar_arena_str(at->arena, p->updated_input_ref);
	switch (chain->point) {
	case AR_AT_SESSION_START:
	case AR_AT_USER_PROMPT_SUBMIT:
		change_prompt(at, p);
		break;
	case AR_AT_PRE_TOOL_USE:
	case AR_AT_PERMISSION_REQUEST:
		change_arguments(at, chain->subject, p);
		break;
	case AR_AT_POST_TOOL_USE:
	case AR_AT_POST_TOOL_FAILURE:
		change_answer(at, chain->subject, p);
		break;
	case AR_AT_STOP:
		keep_going(at, p);
		break;
	default:
		break;
	}
}

/* One that was interrupted is not done: it is run again, or nobody asks any more. */
void ar_hook_take_failed(const struct ar_hook_place *at, struct ar_hook_chain *chain,
			 const struct ar_ev_hook_failed *p)
{
	bool is_done = !ar_str_is(p->error_category, AR_CATEGORY_INTERRUPTED);

	if (is_done)
		close_run(at, chain);
	if (is_done && p->fail_mode == AR_HOOK_FAILED_FAIL_MODE_FAIL_CLOSED) {
		judge(at, chain, DECISION(BLOCK), p->message);
		chain->has_failed = AR_OPT_BOOL(true);
	}
	chain->run = AR_STR_NONE;
}
