/* The tools with which a model has children: spawn_agent, send_input, wait_agents, close_agent. No source
 * runs them: the engine brings their arguments back, and the call is answered here, at once or when the
 * children that it waits for have ended. What it waits for is a fact: a crash loses nothing of it. Pure. */
#include "closed/closed_group.h"
#include "subagent/subagents.h"
#include "describe.h"
#include "tool/calls.h"

#define MILLISECOND 1000
#define WAIT_MAX_MS ((int64_t)24 * 3600 * 1000)
#define WAIT_MS ((int64_t)600 * 1000) /* of wait_agents without a time of its own */
#define AGENTS_MAX 100 /* that one call waits for */
#define TEXT_MAX 16384 /* of an objective or input */

bool ar_call_is_delegated(const struct ar_invocation *call)
{
	return call->delegates.v;
}

bool ar_subagent_has_ended(const struct ar_session *s, const struct ar_invocation *call)
{
	size_t ended = 0;

	for (size_t i = 0; i < call->waits.count; i++) {
		const struct ar_shape_subagent_record *r = ar_session_subagent(s, call->waits.at[i]);

		ended += !r || ar_subagent_is_over(r);
	}
	return call->waits.count > 0 && (call->waits_any.v ? ended > 0 : ended == call->waits.count);
}

/* ---- answers ---- */

static struct ar_str words_of(struct ar_decision *d, struct ar_str id)
{
	const struct ar_shape_subagent_record *r = ar_session_subagent(d->session, id);

	if (!r)
		return ar_arena_fmt(d->arena, "[%.*s] is not known any more", AR_STR_ARG(id));
	if (r->error && ar_str_is(r->status, "failed"))
		return ar_arena_fmt(d->arena, "[%.*s] failed (%.*s): %.*s", AR_STR_ARG(id),
				    AR_STR_ARG(r->error->category), AR_STR_ARG(r->error->message));
	if (ar_str_is(r->status, "completed") && !ar_str_empty(r->summary))
		return ar_arena_fmt(d->arena, "[%.*s] completed:\n%.*s", AR_STR_ARG(id),
				    AR_STR_ARG(r->summary));
	return ar_arena_fmt(d->arena, "[%.*s] is %.*s%s%.*s", AR_STR_ARG(id), AR_STR_ARG(r->status),
			    ar_str_empty(r->status_reason) ? "" : ": ", AR_STR_ARG(r->status_reason));
}

static void end_with(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
		     struct ar_str text)
{
	ar_decide_wake_cancel(d, call->id);
	ar_decide_end_call(d, turn, call, &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = text },
			   ar_decide_since(d, call->started) / MILLISECOND);
}

void ar_subagent_answer(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call, bool is_late)
{
	size_t room = call->waits.count * 2 + 1, n = 0;
	struct ar_str *parts = ar_arena_alloc(d->arena, room * sizeof(*parts));

	for (size_t i = 0; i < call->waits.count; i++) {
		parts[n++] = words_of(d, call->waits.at[i]);
		parts[n++] = AR_STR("\n");
	}
	parts[n++] = is_late ? AR_STR("The time of this wait is over.") : AR_STR("");
	end_with(d, turn, call, ar_arena_join(d->arena, parts, n));
}

void ar_subagent_wait_due(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call)
{
	if (call->waits.count == 0 || d->input->now < call->expires)
		return;
	ar_subagent_answer(d, turn, call, true);
	ar_decide_advance(d, turn);
}

static void refuse_call(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			const struct ar_error *err)
{
	ar_decide_fail_call(d, turn, call,
			    &(struct ar_call_failure){
				    .status = AR_TOOL_FAILED_STATUS_FAILED,
				    .category = err->code ? ar_str_from(ar_error_describe(err->code)->name)
							  : AR_STR("invalid_arguments"),
				    .message = ar_arena_str(d->arena, ar_str_from(err->msg)),
				    .advice = err->code ? ar_str_from(ar_error_describe(err->code)->doc)
							: AR_STR("correct the arguments and call again"),
				    .retryable = false });
}

/* ---- waiting ---- */

struct wait {
	struct ar_texts ids;
	bool is_any;
	int64_t ms;
};

static void begin_wait(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
		       const struct wait *w)
{
	const struct ar_shape_run_metadata metadata = {
		.subagent_ids = w->ids,
		.waits_for_any = AR_OPT_BOOL(w->is_any),
		.until = d->input->now + w->ms * MILLISECOND,
	};
	struct ar_ids ids = ar_ids_call(d, turn, call);

	ar_decide_emit(d, AR_EV_RUN_STATUS, &ids,
		       &(struct ar_ev_run_status){ .phase = AR_STR(AR_PHASE_WAITING_SUBAGENTS),
						   .title = AR_STR("Waits for subagents"),
						   .detail = call->name,
						   .metadata = &metadata });
	if (ar_subagent_has_ended(d->session, call))
		ar_subagent_answer(d, turn, call, false);
	else
		ar_decide_wake(d, AR_IN_CALL_DUE, call->id, call->expires);
}

static void wait_for_one(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			 struct ar_str id)
{
	const struct wait w = { .ids = AR_TEXTS(id), .ms = WAIT_MAX_MS };

	begin_wait(d, turn, call, &w);
}

/* ---- arguments ---- */

static struct ar_str text_in(struct ar_decision *d, struct ar_json args, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(args, name), &text);
	return ar_arena_str(d->arena, ar_str_utf8_prefix(text, TEXT_MAX));
}

static bool flag_in(struct ar_json args, const char *name)
{
	bool is_set = false;

	return ar_json_bool(ar_json_get(args, name), &is_set) && is_set;
}

/* A child that the turn's own agent has: a model sees no further. */
static enum ar_status find_own(const struct ar_decision *d, const struct ar_turn *turn, struct ar_str id,
			       const struct ar_shape_subagent_record **ret, struct ar_error *err)
{
	if (ar_subagent_need(d, ar_str_absent(id) ? AR_STR("") : id, ret, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_eq((*ret)->parent_thread_id, turn->thread))
		return ar_refuse(err, AR_ERR_SUBAGENT_NOT_FOUND, "%.*s is no agent of yours",
				 AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
	return AR_OK;
}

/* ---- the four ---- */

static const struct ar_shape_subagent_record *child_of(const struct ar_session *s, struct ar_str call)
{
	for (size_t i = s->subagents.count; i > 0; i--) {
		if (ar_str_eq(ar_subagent_at(s, i - 1)->tool_call_id, call))
			return ar_subagent_at(s, i - 1);
	}
	return ar_closed_groups_seek(s, call) ? child_of(s, call) : NULL;
}

static const struct ar_shape_turn_budget *budget_in(struct ar_decision *d, struct ar_json args)
{
	struct ar_shape_turn_budget *budget = ar_arena_alloc(d->arena, sizeof(*budget));
	int64_t tokens = 0, calls = 0;

	if (ar_json_i64(ar_json_get(args, "max_tokens"), &tokens))
		budget->tokens = AR_OPT_INT(tokens);
	if (ar_json_i64(ar_json_get(args, "max_tool_calls"), &calls))
		budget->tool_calls = AR_OPT_INT(calls);
	return budget->tokens.set || budget->tool_calls.set ? budget : NULL;
}

static enum ar_status spawn(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			    struct ar_json args, struct ar_error *err)
{
	const struct ar_shape_subagent_record *r = child_of(d->session, call->id);
	bool is_background = flag_in(args, "background");
	struct ar_shape_isolation isolation = { .tool = text_in(d, args, "tools"),
						.workspace = text_in(d, args, "workspace"),
						.worktree = text_in(d, args, "worktree") };
	struct ar_spawn asked = { .thread = ar_decide_thread(d, turn),
				  .turn = turn,
				  .call = call->id,
				  .objective = text_in(d, args, "objective"),
				  .role = ar_str_utf8_prefix(text_in(d, args, "role"), 128),
				  .nickname = ar_str_utf8_prefix(text_in(d, args, "nickname"), 128),
				  .definition = text_in(d, args, "agent"),
				  .isolation = &isolation,
				  .budget = budget_in(d, args) };
	struct ar_spawn_plan plan;
	struct ar_str id;

	if (!r && ar_subagent_plan(d, &asked, &plan, err) != AR_OK)
		return AR_E_REFUSED;
	id = r ? r->subagent_id : ar_subagent_begin(d, &plan);
	if (d->fault != AR_OK)
		return AR_OK;
	if (is_background)
		end_with(d, turn, call,
			 ar_arena_fmt(d->arena,
				      "[%.*s] works in the background; wait_agents brings its result",
				      AR_STR_ARG(id)));
	else
		wait_for_one(d, turn, call, id);
	return AR_OK;
}

static enum ar_status send(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			   struct ar_json args, struct ar_error *err)
{
	struct ar_subagent_input in = { .text = text_in(d, args, "text"),
					.turn = ar_arena_fmt(d->arena, "input.%.*s", AR_STR_ARG(call->id)) };
	const struct ar_shape_subagent_record *r;
	struct ar_str id = text_in(d, args, "agent");
	bool is_background = flag_in(args, "background");
	struct ar_thread *t;
	struct ar_new_turn n;

	if (find_own(d, turn, id, &r, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_session_turn(d->session, in.turn, &t)) {
		if (ar_subagent_check_input(d, r, &in, &n, err) != AR_OK ||
		    ar_subagent_check_again(d, r, err) != AR_OK)
			return AR_E_REFUSED;
		ar_subagent_send(d, r, &n, false);
	}
	if (d->fault != AR_OK)
		return AR_OK;
	if (is_background)
		end_with(d, turn, call, ar_arena_fmt(d->arena, "[%.*s] has the input", AR_STR_ARG(id)));
	else
		wait_for_one(d, turn, call, id);
	return AR_OK;
}

static enum ar_status wait(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			   struct ar_json args, struct ar_error *err)
{
	struct wait w = { .ids = ar_texts_empty, .ms = WAIT_MS };
	const struct ar_shape_subagent_record *r;
	struct ar_str ids[AGENTS_MAX];
	size_t count = 0;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(args, "agents")); ar_json_next(&it);) {
		struct ar_str id = AR_STR_NONE;

		ar_json_str(it.value, &id);
		if (count == AGENTS_MAX)
			return ar_refuse(err, AR_ERR_INVALID_INPUT, "wait for at most %d agents", AGENTS_MAX);
		ids[count++] = ar_arena_str(d->arena, id);
	}
	w.is_any = ar_str_is(text_in(d, args, "mode"), "any");
	ar_json_i64(ar_json_get(args, "timeout_ms"), &w.ms);
	w.ms = w.ms < 0 ? 0 : w.ms > WAIT_MAX_MS ? WAIT_MAX_MS : w.ms;
	if (count == 0)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "name the agents to wait for");
	for (size_t i = 0; i < count; i++) {
		if (find_own(d, turn, ids[i], &r, err) != AR_OK)
			return AR_E_REFUSED;
		w.ids = ar_arena_texts_add(d->arena, w.ids, ids[i]);
	}
	begin_wait(d, turn, call, &w);
	return AR_OK;
}

static enum ar_status close_one(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
				struct ar_json args, struct ar_error *err)
{
	struct ar_str id = text_in(d, args, "agent");
	const struct ar_shape_subagent_record *r;

	if (find_own(d, turn, id, &r, err) != AR_OK)
		return AR_E_REFUSED;
	ar_subagent_close(d, id, AR_STR("closed by its parent"), false);
	if (d->fault == AR_OK)
		wait_for_one(d, turn, call, id);
	return AR_OK;
}

typedef enum ar_status tool_fn(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			       struct ar_json args, struct ar_error *err);

static const struct {
	const char *name;
	tool_fn *run;
} tools[] = { { AR_SPAWN_AGENT, spawn },
	      { "send_input", send },
	      { "wait_agents", wait },
	      { "close_agent", close_one } };

void ar_subagent_called(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			struct ar_str args)
{
	/* Its own parser: what runs below reads JSON, too. */
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_error err = { 0 };
	struct ar_json v = { 0 };

	if (call->waits.count > 0)
		goto out; /* it was here before */
	if (ar_json_parse(parser, args, &v, &err) != AR_OK) {
		refuse_call(d, turn, call, &err);
		goto out;
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(tools); i++) {
		if (ar_str_is(call->name, tools[i].name) && tools[i].run(d, turn, call, v, &err) != AR_OK)
			refuse_call(d, turn, call, &err);
	}
out:
	ar_json_parser_free(parser);
}
