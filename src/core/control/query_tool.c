/* get_tool_inventory: the tools of a turn, or those that a turn of the thread would have now, each with
 * what the policy says of it. */
#include "control_priv.h"
#include "permission/permission.h"
#include "subagent/subagents.h"

#define CALLER_RUNTIME "runtime"
#define CALLER_SUBAGENT "subagent"
#define POLICY_HOST "host"
#define POLICY_SESSION "session"

/* The turn that is meant; one that has but its thread when none is named. False: there
 * is no such thread or turn. */
static bool find_turn(const struct ar_session *s, const struct ar_cmd_get_tool_inventory_in *in,
		      struct ar_turn *ret)
{
	struct ar_thread *thread = ar_str_absent(in->thread_id) ? NULL : ar_session_thread(s, in->thread_id);
	const struct ar_turn *turn = NULL;

	if (!ar_str_absent(in->thread_id) && !thread)
		return false;
	*ret = (struct ar_turn){ .thread = in->thread_id };
	if (ar_str_absent(in->turn_id))
		return true;
	turn = thread ? ar_thread_turn(thread, in->turn_id) : ar_session_turn(s, in->turn_id, &thread);
	if (turn)
		*ret = *turn;
	return turn != NULL;
}

/* Who would call them: the model of the thread, or a child agent, which works in a thread of its own.
 * False: the session has no such child. */
static bool find_caller(const struct ar_session *s, const struct ar_shape_party *caller, struct ar_turn *turn)
{
	const struct ar_shape_subagent_record *r;

	if (!caller || !ar_str_is(caller->kind, CALLER_SUBAGENT))
		return true;
	r = ar_session_subagent(s, caller->id);
	if (!r)
		return false;
	*turn = (struct ar_turn){ .thread = r->child_thread_id, .options = r->options };
	return true;
}

/* As if set_policy had never changed it; what it points to is the session's own. */
static struct ar_session without_policy(const struct ar_session *s)
{
	struct ar_session bare = *s;

	bare.mode = bare.policy_ref = AR_STR_NONE;
	bare.workspace_policy = NULL;
	bare.rules.count = bare.grants.count = 0;
	return bare;
}

static void on_view(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_policy *policy;
	const struct ar_cmd_get_tool_inventory_in *in = c->input;
	struct ar_jw w = ar_jw(&c->reply);
	struct ar_shape_turn_options options;
	struct ar_session bare;
	struct ar_turn turn;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!find_turn(s, in, &turn)) {
		ar_call_refuse(c, AR_ERR_INVALID_SCOPE, "session %.*s has no such thread or turn",
			       AR_STR_ARG(s->id));
		return;
	}
	if (!find_caller(s, in->caller, &turn)) {
		ar_call_refuse(c, AR_ERR_INVALID_SCOPE, "session %.*s has no subagent '%.*s'",
			       AR_STR_ARG(s->id), AR_STR_ARG(ar_str_utf8_prefix(in->caller->id, 64)));
		return;
	}
	policy = ar_engine_policy_of(c->control->engine, s, &c->arena);
	if (policy->inventory && !policy->inventory->is_ready) {
		ar_call_refuse(c, AR_ERR_CATALOG_UNAVAILABLE, "a source of tools is still starting");
		return;
	}
	/* As if it had been submitted in that mode; of its own wishes those about tools stay. */
	options = (struct ar_shape_turn_options){ .mode = (int)ar_mode_find(in->mode),
						  .tools = ar_turn_options(&turn)->tools };
	if (options.mode)
		turn.options = &options;
	ar_jw_open(&w);
	ar_jw_key(&w, "tools");
	bare = ar_str_is(in->policy, POLICY_HOST) ? without_policy(s) : *s;
	ar_session_render_tools(&bare, policy, &turn, &c->arena, &w);
	ar_jw_mint(&w, "asOfSequence", (int64_t)s->head);
	ar_jw_close(&w);
	ar_call_done(c, 200);
}

void ar_query_get_tool_inventory(struct ar_call *c)
{
	const struct ar_cmd_get_tool_inventory_in *in = c->input;
	struct ar_error err = { 0 };

	if (!ar_str_absent(in->policy) && !ar_str_is(in->policy, POLICY_HOST) &&
	    !ar_str_is(in->policy, POLICY_SESSION)) {
		ar_call_refuse(c, AR_ERR_INVALID_INPUT,
			       "there is no policy '%.*s'; send " POLICY_SESSION " or " POLICY_HOST,
			       AR_STR_ARG(ar_str_utf8_prefix(in->policy, 64)));
		return;
	}
	if (in->caller && !ar_str_is(in->caller->kind, CALLER_RUNTIME) &&
	    !ar_str_is(in->caller->kind, CALLER_SUBAGENT)) {
		ar_call_refuse(c, AR_ERR_INVALID_INPUT,
			       "tools are called by the model of a thread (kind " CALLER_RUNTIME
			       ") or by a child agent (kind " CALLER_SUBAGENT ", with its id)");
		return;
	}
	if (!ar_str_absent(in->mode) && !ar_mode_find(in->mode)) {
		ar_call_refuse(c, AR_ERR_INVALID_INPUT, "there is no mode '%.*s'",
			       AR_STR_ARG(ar_str_utf8_prefix(in->mode, 64)));
		return;
	}
	c->work->view.done = on_view;
	/* A thread's id has the session's 26 characters in it. */
	c->work->view.session = ar_id_session_key(in->thread_id);
	if (!ar_str_absent(in->session_id) &&
	    ar_call_session(in->session_id, &c->work->view.session, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	if (ar_str_absent(c->work->view.session)) {
		ar_call_refuse(c, AR_ERR_INVALID_SCOPE, "name the session, or one of its threads");
		return;
	}
	ar_call_look(c);
}
