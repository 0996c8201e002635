/* POST /v1/verify: one session, or a page of the list, one after the other. What is verified is
 * the engine's (core/engine/verify.h); here are the question, the walk and the words of the
 * answer. Owner: the loop thread. */
#include "audit/trail.h"
#include "control_priv.h"
#include "storage.h"
#include "verify/verify.h"

#define PAGE_DEFAULT 20
#define PAGE_FACTS 200000 /* replayed in one answer; the rest is for the next page */

/* An operation beside the commands, of a scope like theirs. */
static const struct ar_command_desc verification = { .name = "verify",
						     .right = AR_RIGHT_ADMIN,
						     .scope = "admin" };

struct verify_walk {
	struct ar_call *call;
	struct ar_call_work work; /* the call's */
	struct ar_str session_key; /* of the only one */
	bool repair, accept_loss, is_one;
	struct ar_engine_verify v;
	struct ar_store_sessions page;
	size_t at; /* of the page, next to be verified */
	uint64_t facts;
	int64_t elsewhere;
	struct ar_jw w;
};

static void next_session(struct verify_walk *k);

/* ---- the question ---- */

struct question {
	struct ar_str session, cursor;
	bool repair, audit, accept_loss;
	struct ar_opt_int limit;
};

static bool take_member(struct question *q, struct ar_str name, struct ar_json v)
{
	if (ar_str_is(name, "sessionId"))
		return ar_json_str(v, &q->session);
	if (ar_str_is(name, "cursor"))
		return ar_json_str(v, &q->cursor);
	if (ar_str_is(name, "repair"))
		return ar_json_bool(v, &q->repair);
	if (ar_str_is(name, "audit"))
		return ar_json_bool(v, &q->audit);
	if (ar_str_is(name, "acceptLoss"))
		return ar_json_bool(v, &q->accept_loss);
	q->limit.set = true;
	return ar_str_is(name, "limit") && ar_json_i64(v, &q->limit.v);
}

static enum ar_status read_question(struct ar_call *c, struct question *q, struct ar_error *err)
{
	struct ar_str body = ar_str_empty(c->body) ? AR_STR("{}") : c->body;
	struct ar_json v;

	*q = (struct question){ 0 };
	if (ar_json_parse(c->control->json, body, &v, err) != AR_OK || ar_json_type(v) != AR_JSON_OBJECT)
		return ar_refuse(err, AR_ERR_INVALID_JSON, "the body is not one JSON object");
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (!take_member(q, it.name, it.value))
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "verify has sessionId, cursor (text), repair, audit, acceptLoss "
					 "(true or false) and limit (a number), not '%.*s'",
					 AR_STR_ARG(ar_str_utf8_prefix(it.name, 64)));
	}
	if (q->accept_loss && ar_str_absent(q->session))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "acceptLoss needs one session; name its sessionId");
	if (!q->audit && !ar_str_absent(q->cursor) && !ar_call_is_list_cursor(c, q->cursor))
		return ar_refuse(err, AR_ERR_INVALID_CURSOR,
				 "cursor must be the nextCursor of an earlier reply");
	return AR_OK;
}

/* ---- the answer ---- */

static const char *const words[] = {
	[AR_VERIFY_FAILED] = "failed",	 [AR_VERIFY_OK] = "ok",		  [AR_VERIFY_REPAIRED] = "repaired",
	[AR_VERIFY_DIFFERS] = "differs", [AR_VERIFY_CORRUPT] = "corrupt",
};

static void write_finding(struct ar_jw *w, const struct ar_verify_finding *f)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "what", ar_str_from(f->what));
	if (f->sequence > 0)
		ar_jw_mint(w, "sequence", (int64_t)f->sequence);
	ar_jw_mstr(w, "id", f->id);
	ar_jw_mstr(w, "stored", f->stored);
	ar_jw_mstr(w, "folded", f->folded);
	ar_jw_mstr(w, "message", f->message);
	if (f->is_repaired)
		ar_jw_mbool(w, "repaired", true);
	ar_jw_close(w);
}

static void write_session(struct ar_jw *w, struct ar_call *c, const struct ar_engine_verify *v)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "sessionId", ar_id_root(&c->arena, "sess", v->session));
	ar_jw_mstr(w, "status", ar_str_from(words[v->verdict]));
	ar_jw_mint(w, "facts", (int64_t)v->facts);
	ar_jw_key(w, "findings");
	ar_jw_open_array(w);
	for (size_t i = 0; i < v->finding_count; i++)
		write_finding(w, &v->findings[i]);
	ar_jw_close_array(w);
	if (v->has_more)
		ar_jw_mbool(w, "moreFindings", true);
	if (v->verdict == AR_VERIFY_FAILED)
		ar_jw_mstr(w, "message", ar_str_from(v->err.msg));
	ar_jw_close(w);
}

static void answer(struct verify_walk *k)
{
	struct ar_call *c = k->call;
	bool has_more = k->at < k->page.count || k->page.more;

	ar_jw_close_array(&k->w);
	ar_jw_mint(&k->w, "elsewhere", k->elsewhere);
	if (has_more && k->at > 0)
		ar_jw_mstr(&k->w, "nextCursor", k->page.ids[k->at - 1]);
	ar_jw_close(&k->w);
	ar_store_op_fini(&k->page.op);
	ar_call_done(c, 200);
}

/* ---- the walk ---- */

/* A session that cannot be verified is an answer in a list, and a refusal where it alone was asked for. */
static void verified(struct ar_engine_verify *v)
{
	struct verify_walk *k = AR_CONTAINER_OF(v, struct verify_walk, v);
	struct ar_error err = v->err;

	if (v->verdict == AR_VERIFY_FAILED && k->is_one) {
		ar_engine_verify_fini(v);
		ar_call_fail(k->call, &err);
		return;
	}
	write_session(&k->w, k->call, v);
	k->facts += v->facts;
	ar_engine_verify_fini(v);
	next_session(k);
}

static bool is_here(const struct ar_control *c, struct ar_str session_key)
{
	struct ar_str address;

	return ar_control_place(c, session_key, &address) == AR_PLACE_HERE;
}

static void verify(struct verify_walk *k, struct ar_str session_key)
{
	k->v = (struct ar_engine_verify){ .session = session_key,
					  .repair = k->repair || k->accept_loss,
					  .accept_loss = k->accept_loss,
					  .done = verified };
	ar_engine_verify(k->call->control->engine, &k->v);
}

static void next_session(struct verify_walk *k)
{
	while (k->at < k->page.count && k->facts < PAGE_FACTS) {
		struct ar_str session_key = k->page.ids[k->at++];

		if (is_here(k->call->control, session_key)) {
			verify(k, session_key);
			return;
		}
		k->elsewhere++;
	}
	answer(k);
}

static void on_page(struct ar_store_op *op)
{
	struct verify_walk *k = AR_CONTAINER_OF(op, struct verify_walk, page.op);
	struct ar_call *c = k->call;

	if (op->status == AR_OK) {
		next_session(k);
		return;
	}
	ar_store_op_fini(op); /* first: the answer gives the call's memory back */
	ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
}

static void begin_answer(struct verify_walk *k)
{
	k->w = ar_jw(&k->call->reply);
	ar_jw_open(&k->w);
	ar_jw_key(&k->w, "sessions");
	ar_jw_open_array(&k->w);
}

static void verify_own(struct ar_call *c)
{
	struct verify_walk *k = AR_CONTAINER_OF(c->work, struct verify_walk, work);

	begin_answer(k);
	verify(k, k->session_key);
}

static void verify_one(struct verify_walk *k, struct ar_str session_id)
{
	struct ar_error err = { 0 };
	struct ar_call *c = k->call;

	if (ar_call_session(session_id, &k->session_key, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	k->is_one = true;
	k->session_key = ar_arena_str(&c->arena, k->session_key);
	if (!is_here(c->control, k->session_key)) {
		begin_answer(k);
		k->elsewhere = 1;
		answer(k);
	} else if (c->who) {
		ar_call_check_tenant(c, k->session_key, verify_own, ar_call_no_session);
	} else {
		verify_own(c);
	}
}

void ar_control_verify(struct ar_control *control, struct ar_call *c)
{
	struct verify_walk *k = ar_arena_alloc(&c->arena, sizeof(*k));
	struct ar_error err = { 0 };
	struct question q;

	c->control = control;
	c->began = ar_engine_now(control->engine);
	c->work = &k->work;
	k->work.call = k->call = c;
	if (ar_control_admit(control, c->who, &c->from, &verification, &err) != AR_OK ||
	    read_question(c, &q, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	if (q.audit) {
		ar_trail_verify(c, q.cursor);
		return;
	}
	k->repair = q.repair;
	k->accept_loss = q.accept_loss;
	if (!ar_str_absent(q.session)) {
		verify_one(k, q.session);
		return;
	}
	begin_answer(k);
	k->page = (struct ar_store_sessions){ .op = { .kind = AR_STORE_SESSIONS, .done = on_page },
					      .before = ar_arena_str(&c->arena, q.cursor),
					      .tenant = c->who ? c->who->tenant : AR_STR_NONE,
					      .limit = ar_call_limit(q.limit, PAGE_DEFAULT, AR_LIST_MAX) };
	ar_store_submit(control->store, &k->page.op);
}
