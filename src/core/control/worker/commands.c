/* Commands about workers. Each has a log of its own (core/session/worker); its one token is core/access's:
 * made as an enrolment token with the worker, replaced when a machine enrols, revoked before the worker is
 * removed. A secret is in one reply and in no receipt. One of another tenant is as if it did not exist.
 * Owner: the loop thread. */
#include "access.h"
#include "control_priv.h"
#include "tenant.h"
#include "worker.h"
#include "worker/worker.h"

#include <string.h>

#define ENROLMENT_TIME ((ar_usec)3600 * 1000000)

bool ar_worker_is_command(enum ar_command command)
{
	return command == AR_CMD_CREATE_WORKER || command == AR_CMD_ENROL_WORKER ||
	       command == AR_CMD_UPDATE_WORKER || command == AR_CMD_REMOVE_WORKER;
}

void ar_worker_refuse_unknown(struct ar_call *c)
{
	ar_call_refuse(c, AR_ERR_WORKER_NOT_FOUND, "%s", AR_NO_WORKER);
}

void ar_control_serve_workers(struct ar_control *c, struct ar_workers *workers)
{
	c->workers = workers;
}

/* ---- tokens ---- */

struct change {
	struct ar_token_change base;
	struct ar_call *call;
	struct ar_str reply; /* of the decision */
};

static struct change *begin(struct ar_call *c, enum ar_token_act act,
			    void (*done)(struct ar_token_change *base))
{
	struct change *change = ar_arena_alloc(&c->arena, sizeof(*change));

	change->call = c;
	c->from.request_id = ar_engine_mask(c->control->engine, c->from.request_id, &c->arena);
	change->base = (struct ar_token_change){ .act = act, .who = c->who, .from = &c->from, .done = done };
	return change;
}

static struct ar_str worker_of(struct ar_call *c)
{
	return ar_arena_fmt(&c->arena, "wk_%.*s", AR_STR_ARG(c->work->write.session));
}

/* The reply of the decision with more in it; false: the call is over. */
static bool read_reply(struct ar_call *c, struct ar_str reply, void *ret)
{
	struct ar_json v;

	if (ar_json_parse(c->control->json, reply, &v, NULL) == AR_OK &&
	    ar_struct_decode_strict(&ar_command_describe(c->command)->out, v, &c->arena, ret, NULL, NULL) ==
		    AR_OK)
		return true;
	ar_call_refuse(c, AR_ERR_STORAGE_CORRUPT, "the stored reply cannot be read");
	return false;
}

static void answer(struct ar_call *c, const void *out)
{
	struct ar_jw w = ar_jw(&c->reply);

	ar_struct_encode(&ar_command_describe(c->command)->out, out, AR_STR_NONE, &w);
	ar_call_done(c, ar_command_describe(c->command)->http);
}

/* ---- create_worker ---- */

static void on_created(struct ar_token_change *base)
{
	struct change *change = AR_CONTAINER_OF(base, struct change, base);
	struct ar_call *c = change->call;
	struct ar_cmd_create_worker_out out = { 0 };

	if (base->status != AR_OK) {
		ar_call_fail(c, &base->err);
		return;
	}
	if (read_reply(c, change->reply, &out)) {
		if (base->text[0]) {
			out.enrolment_token = ar_arena_str(&c->arena, ar_str_from(base->text));
			out.expires_at = base->token->expires;
		}
		explicit_bzero(base->text, sizeof(base->text));
		answer(c, &out);
	}
}

/* A repeat after a crash between the fact and the token makes the token: it has one id. */
void ar_worker_created(struct ar_call *c, struct ar_str reply)
{
	const struct ar_cmd_create_worker_in *in = c->input;
	struct change *change = begin(c, AR_TOKEN_CREATE, on_created);

	change->reply = ar_arena_str(&c->arena, reply);
	change->base.worker = worker_of(c);
	change->base.name = ar_str_utf8_prefix(in->name, AR_TOKEN_NAME_MAX);
	change->base.rights = AR_RIGHT_WORKER;
	change->base.expires = ar_access_now(c->control->access) + ENROLMENT_TIME;
	ar_access_change(c->control->access, &change->base);
}

/* ---- enrol_worker ---- */

static void on_enrolled(struct ar_token_change *base)
{
	struct change *change = AR_CONTAINER_OF(base, struct change, base);
	struct ar_call *c = change->call;
	struct ar_cmd_enrol_worker_out out = { 0 };

	if (base->status != AR_OK) {
		ar_call_fail(c, &base->err);
		return;
	}
	out.worker_id = worker_of(c);
	out.token = ar_arena_str(&c->arena, ar_str_from(base->text));
	explicit_bzero(base->text, sizeof(base->text));
	answer(c, &out);
}

void ar_worker_enrolled(struct ar_call *c, struct ar_str reply AR_UNUSED)
{
	ar_access_change(c->control->access, &begin(c, AR_TOKEN_ENROL, on_enrolled)->base);
}

/* ---- remove_worker ---- */

static void on_revoked(struct ar_token_change *base)
{
	struct ar_call *c = AR_CONTAINER_OF(base, struct change, base)->call;

	if (base->status != AR_OK)
		ar_call_fail(c, &base->err);
	else
		ar_call_send(c);
}

/* First: a crash after it leaves a worker that cannot connect, and the command can be repeated. */
static void revoke_token(struct ar_call *c)
{
	struct change *change = begin(c, AR_TOKEN_REVOKE, on_revoked);

	change->base.tenant = ar_control_who(c->who)->tenant;
	change->base.worker = worker_of(c);
	ar_access_change(c->control->access, &change->base);
}

void ar_worker_removed(struct ar_call *c, struct ar_str reply)
{
	struct ar_workers *workers = c->control->workers;

	if (workers)
		workers->v->drop(workers, worker_of(c));
	ar_buf_adds(&c->reply, reply);
	ar_call_done(c, ar_command_describe(c->command)->http);
}

/* ---- all of them ---- */

void ar_worker_write(struct ar_call *c)
{
	if (!c->control->access)
		ar_call_refuse(c, AR_ERR_UNAVAILABLE, "this server has no tokens, and so no workers");
	else if (c->command == AR_CMD_CREATE_WORKER)
		ar_call_send(c);
	else
		ar_call_check_tenant(c, c->work->write.session,
				     c->command == AR_CMD_REMOVE_WORKER ? revoke_token : ar_call_send,
				     ar_worker_refuse_unknown);
}

/* ---- get_worker ---- */

static const int states[] = { [AR_WORKER_AWAY] = AR_WORKER_REACH_AWAY,
			      [AR_WORKER_CONNECTED] = AR_WORKER_REACH_CONNECTED,
			      [AR_WORKER_STALE] = AR_WORKER_REACH_STALE,
			      [AR_WORKER_LOST] = AR_WORKER_REACH_LOST };

/* One that is not here may be connected to another node, unless workers are connected to all. */
static struct ar_shape_worker_live live_of(struct ar_control *c, const struct ar_shape_worker_record *r)
{
	struct ar_shape_worker_live live = { .state = AR_WORKER_REACH_UNKNOWN };
	struct ar_worker_status s;

	if (!c->workers)
		return live;
	s = c->workers->v->find(c->workers, r->worker_id);
	if (s.state == AR_WORKER_AWAY && c->placement && !c->workers->is_on_all_nodes)
		return live;
	live.state = states[s.state];
	live.last_seen_at = s.last_seen;
	live.version = s.version;
	live.capabilities = s.capabilities;
	live.draining = AR_OPT_BOOL(s.is_draining || r->draining);
	live.open_calls = AR_OPT_INT(s.open_calls);
	return live;
}

static void seen_worker(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	struct ar_shape_worker_live live;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!s->own_worker) {
		ar_worker_refuse_unknown(c);
		return;
	}
	live = live_of(c->control, s->own_worker);
	answer(c, &(struct ar_cmd_get_worker_out){ .worker = s->own_worker, .live = &live });
}

void ar_query_get_worker(struct ar_call *c)
{
	const struct ar_cmd_get_worker_in *in = c->input;

	c->work->view.done = seen_worker;
	c->work->view.session = ar_worker_key_in(in->worker_id);
	if (ar_str_absent(c->work->view.session))
		ar_worker_refuse_unknown(c);
	else
		ar_call_look_else(c, ar_worker_refuse_unknown);
}

/* ---- list_workers ---- */

static void on_workers(struct ar_store_op *op)
{
	ar_list_answer(op, "workers");
}

static struct ar_str status_word(int wanted)
{
	static const char *const words[] = { [0] = "active",
					     [AR_LIST_WORKERS_STATUS_ACTIVE] = "active",
					     [AR_LIST_WORKERS_STATUS_REMOVED] = "removed",
					     [AR_LIST_WORKERS_STATUS_ALL] = NULL };

	return words[wanted] ? ar_str_from(words[wanted]) : AR_STR_NONE;
}

void ar_query_list_workers(struct ar_call *c)
{
	const struct ar_cmd_list_workers_in *in = c->input;
	struct ar_store_sessions *wanted = &c->work->sessions;

	if (!ar_str_absent(in->cursor) && !ar_key_is_worker(in->cursor)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	*wanted = ar_sessions_of(c, on_workers);
	wanted->above = ar_str_from(ar_workers_above);
	wanted->before = ar_str_absent(in->cursor) ? ar_str_from(ar_workers_below) : in->cursor;
	wanted->status = status_word(in->status);
	wanted->limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX);
	ar_store_submit(c->control->store, &wanted->op);
}
