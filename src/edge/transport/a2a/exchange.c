/* See exchange.h. Commands are asked through a wire of their own (rpc/local_wire.h), so authentication,
 * limits and the way to the node that owns the session are those of every other caller. Their answers only
 * mark the exchange; all work happens in the flush, and nothing re-enters the core. Owner: the loop
 * thread. */
#include "a2a/exchange.h"
#include "a2a/a2a.h"
#include "mem.h"
#include "rpc/local_wire.h"
#include "server.h"

static void push_due(struct ar_a2a_exchange *x)
{
	ar_list_del(&x->due);
	ar_list_push(&x->server->a2a_due, &x->due);
	ar_server_wake(x->server);
}

/* ---- commands ---- */

static void on_result(void *arg, struct ar_str json)
{
	struct ar_a2a_exchange *x = arg;

	ar_buf_clear(&x->got);
	ar_buf_adds(&x->got, json);
	x->has_got = x->is_got_good = true;
	push_due(x);
}

static void on_failed(void *arg, struct ar_str json)
{
	struct ar_a2a_exchange *x = arg;

	on_result(x, json);
	x->is_got_good = false;
}

static void ask_as(struct ar_a2a_exchange *x, const struct ar_principal *who, const char *method,
		   struct ar_str params)
{
	static const struct ar_local_vtable callbacks = { .result = on_result, .failed = on_failed };

	AR_ASSERT(!x->call);
	x->call = ar_local_open(x->server, &callbacks, x, who);
	ar_local_ask(x->call, ar_str_from(method), params);
}

void ar_a2a_ask(struct ar_a2a_exchange *x, const char *method, struct ar_str params, ar_a2a_next_fn *next)
{
	x->next = next;
	ask_as(x, x->carrier->who, method, params);
}

void ar_a2a_ask_inner(struct ar_a2a_exchange *x, const char *method, struct ar_str params,
		      ar_a2a_next_fn *next)
{
	static const struct ar_principal the_operator = {
		.tenant = { AR_TENANT_LOCAL, sizeof AR_TENANT_LOCAL - 1 },
		.actor = { "local", 5 },
		.person = { AR_PERSON_LOCAL, sizeof AR_PERSON_LOCAL - 1 },
		.rights = AR_RIGHT_ALL
	};

	x->next = next;
	x->inner = x->carrier->who ? *x->carrier->who : the_operator;
	x->inner.is_runtime = true;
	ask_as(x, &x->inner, method, params);
}

static void close_wires(struct ar_a2a_exchange *x)
{
	if (x->call)
		ar_local_close(x->call);
	if (x->following)
		ar_local_close(x->following);
	x->call = x->following = NULL;
}

static void take_answer(struct ar_a2a_exchange *x)
{
	struct ar_json doc = { 0 };
	struct ar_buf got = x->got;

	ar_local_close(x->call);
	x->call = NULL;
	x->has_got = false;
	x->got = (struct ar_buf){ 0 };
	/* an answer with facts that nest too deep cannot be read: it counts as a failed one */
	x->is_got_good =
		ar_json_parse(x->server->parser, ar_buf_str(&got), &doc, NULL) == AR_OK && x->is_got_good;
	x->next(x, x->is_got_good, doc);
	ar_buf_fini(&got); /* x may be gone */
}

/* ---- answers ---- */

void ar_a2a_free(struct ar_a2a_exchange *x)
{
	close_wires(x);
	ar_a2a_list_free(x);
	ar_list_del(&x->node);
	ar_list_del(&x->due);
	ar_buf_fini(&x->got);
	ar_buf_fini(&x->events);
	ar_a2a_task_fini(&x->task);
	ar_arena_fini(&x->facts);
	ar_arena_fini(&x->arena);
	ar_free(x);
}

static void send_reply(struct ar_a2a_exchange *x, int status)
{
	struct ar_http_request *req = x->carrier->request;

	req->is_calling = false;
	if (!x->is_rpc && x->is_v1_type)
		req->reply.type = "application/a2a+json";
	x->carrier->a2a = NULL;
	ar_a2a_free(x);
	ar_http_request_answer(req, status, ar_buf_str(&req->text));
}

void ar_a2a_answer(struct ar_a2a_exchange *x, struct ar_str result)
{
	struct ar_buf *out = &x->carrier->request->text, room = { 0 };
	struct ar_jw w = ar_jw(out);

	result = ar_a2a_as_asked(x, result, &room);
	ar_buf_clear(out);
	if (x->is_rpc) {
		ar_jw_open(&w);
		ar_jw_mstr(&w, "jsonrpc", AR_STR("2.0"));
		ar_jw_mraw(&w, "id", x->id);
		ar_jw_mraw(&w, "result", result);
		ar_jw_close(&w);
	} else {
		ar_buf_adds(out, result);
	}
	ar_buf_fini(&room);
	send_reply(x, x->is_rpc || !x->status ? 200 : x->status);
}

void ar_a2a_refuse(struct ar_a2a_exchange *x, const struct ar_a2a_failure *f)
{
	struct ar_buf *out;

	if (x->is_streaming) {
		ar_a2a_end_stream(x);
		return;
	}
	out = &x->carrier->request->text;
	ar_buf_clear(out);
	if (x->is_rpc)
		ar_a2a_write_rpc_error(out, x->id, f);
	else
		ar_a2a_write_rest_error(out, f);
	send_reply(x, x->is_rpc ? 200 : ar_a2a_http(f->code));
}

void ar_a2a_refuse_with(struct ar_a2a_exchange *x, enum ar_a2a_code code, const char *why)
{
	struct ar_a2a_failure f = { 0 };

	ar_a2a_fail(&f, code, NULL, "%s", why);
	ar_a2a_refuse(x, &f);
}

static const struct {
	const char *code;
	enum ar_a2a_code means;
	const char *field;
} inner_codes[] = {
	{ "task_not_found", AR_A2A_TASK_NOT_FOUND, NULL },
	{ "session_not_found", AR_A2A_INVALID_PARAMS, "message.contextId" },
	{ "channel_not_found", AR_A2A_INVALID_PARAMS, "message.contextId" },
	{ "already_terminal", AR_A2A_TASK_NOT_CANCELABLE, NULL },
	{ "turn_not_active", AR_A2A_UNSUPPORTED_OPERATION, NULL },
	{ "turn_mismatch", AR_A2A_UNSUPPORTED_OPERATION, NULL },
	{ "already_resolved", AR_A2A_UNSUPPORTED_OPERATION, NULL },
	{ "expired", AR_A2A_UNSUPPORTED_OPERATION, NULL },
	{ "invalid_decision", AR_A2A_INVALID_PARAMS, "message.parts" },
	{ "schema_mismatch", AR_A2A_INVALID_PARAMS, "message.parts" },
	{ "id_conflict", AR_A2A_INVALID_PARAMS, "message.messageId" },
	{ "invalid_input", AR_A2A_INVALID_PARAMS, "message" },
	{ "invalid_cursor", AR_A2A_INVALID_PARAMS, "pageToken" },
	{ "payload_too_large", AR_A2A_INVALID_PARAMS, "message" },
	{ "not_authorized", AR_A2A_NOT_ALLOWED, NULL },
	{ "other_person_needed", AR_A2A_NOT_ALLOWED, NULL },
	{ "auth_failed", AR_A2A_NOT_ALLOWED, NULL },
	{ "policy_denied", AR_A2A_NOT_ALLOWED, NULL },
	{ "overloaded", AR_A2A_BUSY, NULL },
	{ "rate_limited", AR_A2A_BUSY, NULL },
	{ "quota_blocked", AR_A2A_BUSY, NULL },
	{ "tenant_quota_exceeded", AR_A2A_BUSY, NULL },
	{ "unavailable", AR_A2A_BUSY, NULL },
	{ "owner_unreachable", AR_A2A_BUSY, NULL },
};

void ar_a2a_refuse_inner(struct ar_a2a_exchange *x, struct ar_json json)
{
	struct ar_json error = ar_json_get(json, "error");
	struct ar_str code = AR_STR_NONE, why = AR_STR("the command failed");
	enum ar_a2a_code means = AR_A2A_INTERNAL;
	struct ar_a2a_failure f = { 0 };
	const char *field = NULL;

	ar_json_str(ar_json_get(error, "code"), &code);
	ar_json_str(ar_json_get(error, "message"), &why);
	for (size_t i = 0; i < AR_ARRAY_LEN(inner_codes); i++) {
		if (ar_str_is(code, inner_codes[i].code)) {
			means = inner_codes[i].means;
			field = inner_codes[i].field;
		}
	}
	ar_a2a_fail(&f, means, field, "%.*s", AR_STR_ARG(ar_str_utf8_prefix(why, AR_A2A_WHY - 1)));
	ar_a2a_refuse(x, &f);
}

/* ---- what the carrier tells ---- */

void ar_a2a_drained(struct ar_a2a_exchange *x)
{
	x->is_busy = false;
	push_due(x);
}

void ar_a2a_drain(struct ar_a2a_exchange *x)
{
	x->until = 1;
	push_due(x);
}

/* Nobody waits: what was asked is done, and its answer is nobody's. */
void ar_a2a_stop(struct ar_a2a_exchange *x)
{
	close_wires(x);
	x->is_over = true;
	ar_list_del(&x->due);
	if (x->carrier->request)
		x->carrier->request->is_calling = false;
}

/* ---- the loop ---- */

static bool is_late(const struct ar_a2a_exchange *x)
{
	return x->until && uv_now(x->server->loop) >= x->until;
}

static void end_late(struct ar_a2a_exchange *x)
{
	if (x->is_streaming)
		ar_a2a_end_stream(x);
	else if (x->following)
		ar_a2a_answer_task(x);
	else
		ar_a2a_refuse_with(x, AR_A2A_BUSY, "the server is stopping, or has no answer in time");
}

static void run_due(struct ar_a2a_exchange *x)
{
	if (x->is_over || x->is_busy)
		return;
	if (x->is_ending)
		ar_a2a_end_stream(x);
	else if (is_late(x))
		end_late(x);
	else if (x->is_task_owed)
		ar_a2a_begin_events(x);
	else if (x->has_got)
		take_answer(x);
	else if (x->following)
		ar_a2a_take_events(x);
}

void ar_a2a_flush(struct ar_http_server *s)
{
	struct ar_list now, *node;

	ar_list_init(&now);
	ar_list_splice(&now, &s->a2a_due);
	while ((node = ar_list_pop(&now)))
		run_due(AR_CONTAINER_OF(node, struct ar_a2a_exchange, due));
}

void ar_a2a_sweep(struct ar_http_server *s)
{
	AR_LIST_FOR (it, &s->a2a) {
		struct ar_a2a_exchange *x = AR_CONTAINER_OF(it, struct ar_a2a_exchange, node);

		if (is_late(x))
			push_due(x);
	}
}
