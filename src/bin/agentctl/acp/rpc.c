/* See acp.h: JSON-RPC 2.0, one message in a line. Which method is whose is one table. */
#include "acp/acp.h"

#include <stdarg.h>
#include <string.h>

#define METHOD_SHOWN 64 /* bytes of a method that does not exist */
#define FLUSH_AT ((size_t)64 << 10)

/* ---- writing ---- */

static struct ar_jw begin(struct ar_acp *a)
{
	struct ar_jw w = ar_jw(&a->out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jsonrpc", AR_STR("2.0"));
	return w;
}

void ar_acp_end(struct ar_acp *a, struct ar_jw *w)
{
	ar_jw_close(w);
	ar_buf_addc(&a->out, '\n');
	if (a->out.len > FLUSH_AT)
		ar_acp_flush(a);
}

struct ar_jw ar_acp_result(struct ar_acp *a, struct ar_str id)
{
	struct ar_jw w = begin(a);

	ar_jw_mraw(&w, "id", id);
	ar_jw_key(&w, "result");
	return w;
}

void ar_acp_result_empty(struct ar_acp *a, struct ar_str id)
{
	struct ar_jw w = ar_acp_result(a, id);

	ar_jw_open(&w);
	ar_jw_close(&w);
	ar_acp_end(a, &w);
}

static void add_error(struct ar_acp *a, struct ar_str id, enum ar_acp_code code, struct ar_str message,
		      struct ar_json error)
{
	struct ar_jw w = begin(a);

	ar_jw_mraw(&w, "id", id);
	ar_jw_key(&w, "error");
	ar_jw_open(&w);
	ar_jw_mint(&w, "code", code);
	ar_jw_mstr(&w, "message", message);
	if (ar_json_type(error) == AR_JSON_OBJECT) {
		ar_jw_key(&w, "data");
		ar_jw_open(&w);
		ar_jw_mstr(&w, "code", ar_api_str(error, "code"));
		ar_jw_mstr(&w, "next", ar_api_str(error, "next"));
		ar_jw_close(&w);
	}
	ar_jw_close(&w);
	ar_acp_end(a, &w);
}

void ar_acp_error(struct ar_acp *a, struct ar_str id, enum ar_acp_code code, const char *fmt, ...)
{
	va_list ap;

	if (ar_str_absent(id))
		return;
	va_start(ap, fmt);
	add_error(a, id, code, ar_arena_vfmt(&a->ctl->arena, fmt, ap), (struct ar_json){ 0 });
	va_end(ap);
}

static enum ar_acp_code code_of(long status, struct ar_str code)
{
	if (status == 401)
		return AR_ACP_AUTH;
	if (status == 404 || ar_str_ends(code, AR_STR("_not_found")))
		return AR_ACP_NOT_FOUND;
	return status == 400 ? AR_ACP_INVALID_PARAMS : AR_ACP_INTERNAL;
}

void ar_acp_refused(struct ar_acp *a, struct ar_str id, enum ar_status st, const struct ar_api_reply *reply,
		    const struct ar_error *err)
{
	struct ar_json error = ar_json_get(reply->doc, "error");
	struct ar_str message = ar_api_str(error, "message");

	if (ar_str_absent(id))
		return;
	if (st != AR_OK)
		ar_acp_error(a, id, AR_ACP_INTERNAL, "agentd does not answer: %s", err->msg);
	else
		add_error(a, id, code_of(reply->http.status, ar_api_str(error, "code")),
			  ar_str_absent(message) ? AR_STR("agentd refused it without a reason") : message,
			  error);
}

struct ar_jw ar_acp_notify(struct ar_acp *a, const char *method)
{
	struct ar_jw w = begin(a);

	ar_jw_mstr(&w, "method", ar_str_from(method));
	ar_jw_key(&w, "params");
	return w;
}

struct ar_jw ar_acp_ask(struct ar_acp *a, const char *method, int64_t *ret_id)
{
	struct ar_jw w = begin(a);

	*ret_id = ++a->last_request;
	ar_jw_mint(&w, "id", *ret_id);
	ar_jw_mstr(&w, "method", ar_str_from(method));
	ar_jw_key(&w, "params");
	return w;
}

void ar_acp_withdraw(struct ar_acp *a, int64_t request)
{
	struct ar_jw w = ar_acp_notify(a, "$/cancel_request");

	ar_jw_open(&w);
	ar_jw_mint(&w, "requestId", request);
	ar_jw_close(&w);
	ar_acp_end(a, &w);
}

struct ar_jw ar_acp_update(struct ar_acp_session *s, const char *kind)
{
	struct ar_jw w = ar_acp_notify(s->acp, "session/update");

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_buf_str(&s->id));
	ar_jw_key(&w, "update");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionUpdate", ar_str_from(kind));
	return w;
}

void ar_acp_end_update(struct ar_acp_session *s, struct ar_jw *w)
{
	ar_jw_close(w);
	ar_jw_close(w);
	ar_acp_end(s->acp, w);
}

/* ---- reading ---- */

/* The editor does not want an answer any more; only a prompt takes long enough for that. */
static void cancel_request(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_buf id = { 0 };

	ar_json_print(ar_json_get(r->params, "requestId"), &id);
	for (size_t i = 0; i < AR_ACP_SESSIONS * AR_ACP_PROMPTS; i++) {
		struct ar_acp_session *s = a->sessions[i / AR_ACP_PROMPTS];
		struct ar_acp_prompt *p = s ? &s->prompts[i % AR_ACP_PROMPTS] : NULL;

		if (p && p->id.len && ar_str_eq(ar_buf_str(&p->id), ar_buf_str(&id)))
			ar_acp_interrupt(s);
	}
	ar_buf_fini(&id);
}

static const struct method {
	const char *name;
	void (*run)(struct ar_acp *a, const struct ar_acp_request *r);
	bool is_notification, is_first; /* is_first: also before initialize */
} methods[] = {
	{ "initialize", ar_acp_initialize, false, true },
	{ "authenticate", ar_acp_authenticate, false, false },
	{ "session/new", ar_acp_session_new, false, false },
	{ "session/load", ar_acp_session_load, false, false },
	{ "session/resume", ar_acp_session_resume, false, false },
	{ "session/list", ar_acp_session_list, false, false },
	{ "session/close", ar_acp_session_close, false, false },
	{ "session/prompt", ar_acp_prompt, false, false },
	{ "session/set_mode", ar_acp_set_mode, false, false },
	{ "session/set_config_option", ar_acp_set_option, false, false },
	{ "session/cancel", ar_acp_cancel, true, false },
	{ "$/cancel_request", cancel_request, true, true },
};

static void run_method(struct ar_acp *a, struct ar_str name, const struct ar_acp_request *r)
{
	const struct method *m = methods, *end = methods + AR_ARRAY_LEN(methods);

	while (m < end && !ar_str_is(name, m->name))
		m++;
	if (m == end)
		ar_acp_error(a, r->id, AR_ACP_NO_METHOD, "there is no method '%.*s'",
			     AR_STR_ARG(ar_str_utf8_prefix(name, METHOD_SHOWN)));
	else if (m->is_notification != ar_str_absent(r->id))
		ar_acp_error(a, r->id, AR_ACP_INVALID_REQUEST, "%s is a notification", m->name);
	else if (!a->is_ready && !m->is_first)
		ar_acp_error(a, r->id, AR_ACP_INVALID_REQUEST, "initialize comes first");
	else if (ar_json_type(r->params) != AR_JSON_OBJECT)
		ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS, "params of %s is an object", m->name);
	else
		m->run(a, r);
}

/* An id that we did not give out, or whose answer came, is nobody's. */
static void take_answer(struct ar_acp *a, struct ar_json doc)
{
	struct ar_json result = ar_json_get(doc, "result");
	int64_t id;

	if (ar_json_i64(ar_json_get(doc, "id"), &id) && id > 0 && !ar_acp_question_answer(a, id, result))
		(void)ar_acp_buffer_answer(a, id, result);
}

static bool is_id(struct ar_json id)
{
	enum ar_json_type type = ar_json_type(id);

	return type == AR_JSON_STR || type == AR_JSON_INT || type == AR_JSON_NULL;
}

static void run_line(struct ar_acp *a, struct ar_json doc)
{
	struct ar_json id = ar_json_get(doc, "id");
	struct ar_acp_request r = { .params = ar_json_get(doc, "params") };
	struct ar_str method = ar_api_str(doc, "method");
	struct ar_buf text = { 0 };

	if (is_id(id)) {
		ar_json_print(id, &text);
		r.id = ar_buf_str(&text);
	}
	if (!ar_str_is(ar_api_str(doc, "jsonrpc"), "2.0") || (ar_json_type(id) != AR_JSON_NONE && !is_id(id)))
		ar_acp_error(a, ar_str_absent(r.id) ? AR_STR("null") : r.id, AR_ACP_INVALID_REQUEST,
			     "the line is not a message of JSON-RPC 2.0");
	else if (!ar_str_absent(method))
		run_method(a, method, &r);
	else
		take_answer(a, doc);
	ar_buf_fini(&text);
}

void ar_acp_line(struct ar_acp *a, struct ar_str line)
{
	struct ar_json doc;

	if (ar_json_parse(a->parser, line, &doc, NULL) != AR_OK)
		ar_acp_error(a, AR_STR("null"), AR_ACP_PARSE, "the line is not JSON");
	else if (ar_json_type(doc) != AR_JSON_OBJECT)
		ar_acp_error(a, AR_STR("null"), AR_ACP_INVALID_REQUEST, "a message is one JSON object");
	else
		run_line(a, doc);
}
