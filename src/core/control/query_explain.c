/* explain: reads the log of a session a page at a time, first to find the turn that a thing
 * belongs to, then again for the reasons. Each page is one operation of the store, so a
 * long log keeps nobody waiting. */
#include "control_priv.h"
#include "explain.h"
#include "mem.h"
#include "storage.h"

#define PAGE_BYTES ((size_t)256 * 1024)

/* In its own memory: it is large, and outlives no answer. */
struct explain {
	struct ar_call *call;
	struct ar_store_read read;
	struct ar_explanation x;
	struct ar_str session_key;
	bool is_second; /* pass */
};

static void read_from(struct explain *e, uint64_t from);

static void fail(struct explain *e, uint16_t code, const char *why)
{
	struct ar_call *c = e->call;

	ar_store_op_fini(&e->read.op);
	ar_explain_fini(&e->x);
	ar_free(e);
	ar_call_refuse(c, code, "%.200s", why);
}

static void answer(struct explain *e)
{
	struct ar_call *c = e->call;
	struct ar_jw w = ar_jw(&c->reply);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "id", e->x.id);
	ar_jw_mstr(&w, "kind", ar_str_from(e->x.kind));
	ar_jw_mstr(&w, "sessionId", ar_arena_fmt(&c->arena, "sess_%.*s", AR_STR_ARG(e->session_key)));
	ar_jw_mstr(&w, "turnId", e->x.turn);
	ar_jw_mstr(&w, "summary", ar_explain_summary(&e->x));
	ar_jw_key(&w, "reasons");
	ar_explain_write(&e->x, &w);
	ar_jw_mbool(&w, "truncated", e->x.count > AR_EXPLAIN_MAX);
	ar_jw_mraw(&w, "instructionRefs", e->x.instructions);
	ar_jw_close(&w);
	ar_store_op_fini(&e->read.op);
	ar_explain_fini(&e->x);
	ar_free(e);
	ar_call_done(c, 200);
}

/* False: enough was seen. */
static bool take_row(struct explain *e, struct ar_str body)
{
	struct ar_str line;

	while (!ar_str_empty(body)) {
		struct ar_json fact;

		body = ar_str_split(body, '\n', &line);
		if (ar_str_empty(line) || ar_json_parse(e->call->control->json, line, &fact, NULL) != AR_OK)
			continue;
		if (!(e->is_second ? ar_explain_collect(&e->x, fact) : ar_explain_find(&e->x, fact)))
			return false;
	}
	return true;
}

static void pass_over(struct explain *e)
{
	if (e->is_second) {
		answer(e);
	} else if (ar_str_absent(e->x.turn)) {
		fail(e, AR_ERR_SCOPE_NOT_FOUND, "no fact of this session names it");
	} else {
		e->is_second = true;
		read_from(e, e->x.first);
	}
}

static void on_page(struct ar_store_op *op)
{
	struct explain *e = AR_CONTAINER_OF(op, struct explain, read.op);
	struct ar_error err;
	uint64_t next = 0;

	if (op->status == AR_E_NOT_FOUND) {
		fail(e, AR_ERR_SESSION_NOT_FOUND, "there is no such session");
		return;
	}
	if (op->status != AR_OK) {
		err = op->err; /* what it is part of is freed before the answer is written */
		ar_storage_refuse(&err, op->status, err.msg, e->session_key);
		fail(e, err.code, err.msg);
		return;
	}
	for (size_t i = 0; i < e->read.row_count; i++) {
		if (!take_row(e, e->read.rows[i].body)) {
			pass_over(e);
			return;
		}
		next = e->read.rows[i].last_seq + 1;
	}
	if (e->read.at_end || next == 0)
		pass_over(e);
	else
		read_from(e, next);
}

static void read_from(struct explain *e, uint64_t from)
{
	ar_store_op_fini(&e->read.op);
	e->read = (struct ar_store_read){ .op = { .kind = AR_STORE_READ, .done = on_page },
					  .session = e->session_key,
					  .from = from,
					  .max_bytes = PAGE_BYTES };
	ar_store_submit(e->call->control->store, &e->read.op);
}

static struct ar_str session_key_of(const struct ar_cmd_explain_in *in)
{
	struct ar_str session_key = ar_id_session_key(in->id);

	return ar_str_absent(session_key) ? ar_id_session_key(in->session_id) : session_key;
}

static void begin(struct ar_call *c)
{
	const struct ar_cmd_explain_in *in = c->input;
	struct explain *e = ar_new0(sizeof(*e));

	e->call = c;
	e->session_key = session_key_of(in);
	e->x.id = in->id;
	e->x.kind = ar_explain_kind(in->id);
	if (ar_str_is(ar_str_from(e->x.kind), "tool_call"))
		e->x.call = in->id;
	else if (ar_str_is(ar_str_from(e->x.kind), "action"))
		e->x.action = in->id;
	read_from(e, 1);
}

void ar_query_explain(struct ar_call *c)
{
	const struct ar_cmd_explain_in *in = c->input;
	struct ar_str session_key = session_key_of(in);

	if (ar_str_absent(session_key)) {
		ar_call_refuse(c, AR_ERR_SCOPE_NOT_FOUND,
			       "'%.*s' does not say which session it is of; send sessionId too",
			       AR_STR_ARG(ar_str_utf8_prefix(in->id, 64)));
		return;
	}
	ar_call_check_tenant(c, session_key, begin, ar_call_no_session);
}
