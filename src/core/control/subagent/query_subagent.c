/* Reads of child agents: a page of their list, and wait_subagents, which answers when some of them have ended
 * or its time is over. Nothing changes by waiting. Owner: the loop thread. */
#include "control_priv.h"
#include "projection.h"
#include "subagent/subagents.h"

#define MILLISECOND 1000
#define WAIT_DEFAULT_MS 30000
#define WAIT_MAX 100 /* children of one wait */

static struct ar_call *call_of(struct ar_engine_view *v)
{
	return AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
}

/* ---- list_subagents ---- */

static void no_scope(struct ar_call *c)
{
	ar_call_refuse(c, AR_ERR_SCOPE_NOT_FOUND, "there is nothing with this id that could have subagents");
}

/* The thread whose children are wanted; absent: of the whole session. False: there is no such thing. */
static bool find_thread(const struct ar_session *s, const struct ar_cmd_list_subagents_in *in,
			struct ar_str *ret)
{
	const struct ar_shape_subagent_record *r;

	*ret = in->thread_id;
	if (!ar_str_absent(in->subagent_id)) {
		r = ar_session_subagent(s, in->subagent_id);
		*ret = r ? r->child_thread_id : AR_STR_NONE;
		return r != NULL;
	}
	return ar_str_absent(in->thread_id) || ar_session_thread(s, in->thread_id);
}

static void on_list(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = call_of(v);
	const struct ar_cmd_list_subagents_in *in = c->input;
	struct ar_subagent_page page = { .limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX),
					 .is_deep = in->depth == AR_LIST_SUBAGENTS_DEPTH_DESCENDANTS,
					 .status = in->status };
	struct ar_jw w = ar_jw(&c->reply);
	int64_t from = 0;
	size_t next;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!find_thread(s, in, &page.thread)) {
		no_scope(c);
		return;
	}
	if (!ar_str_absent(in->cursor) && (!ar_str_to_i64(in->cursor, &from) || from < 0)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	page.from = (size_t)from;
	ar_jw_open(&w);
	ar_jw_key(&w, "subagents");
	next = ar_projection_subagent_page(s, &page, &w);
	if (next > 0)
		ar_jw_mstr(&w, "nextCursor", ar_arena_fmt(&c->arena, "%zu", next));
	ar_jw_mint(&w, "asOfSequence", (int64_t)s->head);
	ar_jw_close(&w);
	ar_call_done(c, 200);
}

void ar_query_list_subagents(struct ar_call *c)
{
	const struct ar_cmd_list_subagents_in *in = c->input;
	struct ar_str id = !ar_str_absent(in->session_id)  ? in->session_id
			   : !ar_str_absent(in->thread_id) ? in->thread_id
							   : in->subagent_id;

	c->work->view.session = ar_id_owner(id);
	c->work->view.done = on_list;
	if (ar_str_absent(c->work->view.session) ||
	    (!ar_str_absent(in->session_id) && !ar_str_starts(id, AR_STR("sess_"))))
		no_scope(c);
	else
		ar_call_look_else(c, no_scope);
}

/* ---- wait_subagents ---- */

struct wait {
	struct ar_call *call;
	struct ar_engine_watch watch;
	ar_usec until; /* monotonic */
	bool is_late;
};

static void no_subagent(struct ar_call *c)
{
	ar_call_refuse(c, AR_ERR_SUBAGENT_NOT_FOUND, "there is no such subagent");
}

/* How many of them have ended; false: one of them is none. */
static bool count_ended(const struct ar_session *s, struct ar_texts ids, size_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < ids.count; i++) {
		const struct ar_shape_subagent_record *r = ar_session_subagent(s, ids.at[i]);

		if (!r)
			return false;
		*ret += ar_subagent_is_over(r);
	}
	return true;
}

static void answer(struct ar_call *c, const struct ar_session *s, bool is_late)
{
	const struct ar_cmd_wait_subagents_in *in = c->input;
	struct ar_shape_subagent_end *ends =
		ar_arena_alloc(&c->arena, (in->subagent_ids.count + 1) * sizeof(*ends));
	struct ar_cmd_wait_subagents_out out = { .children = { ends, in->subagent_ids.count },
						 .timed_out = is_late };
	struct ar_jw w = ar_jw(&c->reply);

	for (size_t i = 0; i < in->subagent_ids.count; i++) {
		const struct ar_shape_subagent_record *r = ar_session_subagent(s, in->subagent_ids.at[i]);

		ends[i] = (struct ar_shape_subagent_end){ .subagent_id = r->subagent_id,
							  .status = r->status,
							  .result_ref = r->result_ref,
							  .error = r->error };
	}
	ar_struct_encode(&ar_command_describe(c->command)->out, &out, AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

static void on_woken(struct ar_engine_watch *watch, enum ar_engine_woken why)
{
	struct wait *wait = AR_CONTAINER_OF(watch, struct wait, watch);

	wait->is_late |= why != AR_WOKEN_BY_FACT;
	if (why == AR_WOKEN_STOPPED)
		ar_call_refuse(wait->call, AR_ERR_UNAVAILABLE, "the runtime stops; ask again");
	else
		ar_call_look_else(wait->call, no_subagent);
}

static void on_look(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = call_of(v);
	const struct ar_cmd_wait_subagents_in *in = c->input;
	struct wait *wait = c->work->walk;
	ar_usec now = ar_engine_now(c->control->engine);
	size_t ended;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!count_ended(s, in->subagent_ids, &ended)) {
		no_subagent(c);
		return;
	}
	if (ended == in->subagent_ids.count || (ended > 0 && in->mode == AR_WAIT_SUBAGENTS_MODE_ANY)) {
		answer(c, s, false);
		return;
	}
	if (wait->is_late || now >= wait->until) {
		answer(c, s, true);
		return;
	}
	wait->watch = (struct ar_engine_watch){ .session = v->session,
						.delay = wait->until - now,
						.done = on_woken };
	ar_engine_watch(c->control->engine, &wait->watch);
}

void ar_query_wait_subagents(struct ar_call *c)
{
	const struct ar_cmd_wait_subagents_in *in = c->input;
	int64_t ms = in->timeout_ms.set ? in->timeout_ms.v : WAIT_DEFAULT_MS;
	struct wait *wait = ar_arena_alloc(&c->arena, sizeof(*wait));

	if (in->subagent_ids.count == 0 || in->subagent_ids.count > WAIT_MAX) {
		ar_call_refuse(c, AR_ERR_INVALID_INPUT, "name 1 to %d subagents", WAIT_MAX);
		return;
	}
	c->work->view.session = ar_id_owner(in->subagent_ids.at[0]);
	for (size_t i = 0; i < in->subagent_ids.count; i++) {
		if (ar_str_absent(c->work->view.session) ||
		    !ar_str_eq(ar_id_owner(in->subagent_ids.at[i]), c->work->view.session)) {
			no_subagent(c);
			return;
		}
	}
	wait->call = c;
	wait->until = ar_engine_now(c->control->engine) + ms * MILLISECOND;
	c->work->walk = wait;
	c->work->view.done = on_look;
	ar_call_look_else(c, no_subagent);
}
