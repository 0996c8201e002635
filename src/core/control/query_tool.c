/* get_tool_inventory: the tools of a turn, or those that a turn of the thread would have now, each with
 * what the policy says of it. */
#include "control_priv.h"
#include "permission/permission.h"

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

static void on_view(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_policy *policy;
	const struct ar_cmd_get_tool_inventory_in *in = c->input;
	struct ar_jw w = ar_jw(&c->reply);
	struct ar_shape_turn_options options;
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
	ar_session_render_tools(s, policy, &turn, &c->arena, &w);
	ar_jw_mint(&w, "asOfSequence", (int64_t)s->head);
	ar_jw_close(&w);
	ar_call_done(c, 200);
}

void ar_query_get_tool_inventory(struct ar_call *c)
{
	const struct ar_cmd_get_tool_inventory_in *in = c->input;
	struct ar_error err = { 0 };

	if (!ar_str_absent(in->policy) || in->caller) {
		ar_call_refuse(c, AR_ERR_UNAVAILABLE,
			       "there is one policy for all callers; leave out caller and policy");
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
