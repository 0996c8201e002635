/* See trace.h. Ids of sessions and turns are taken from the answer, then from the input; only
 * for a report that is wanted. */
#include "trace.h"
#include "context.h"
#include "id.h"
#include "server.h"

#include <string.h>

#define SENT_MAX 64
#define PATH_MAX_SHOWN 200
#define READ_MAX ((size_t)64 * 1024) /* larger texts are not looked into */
#define ID_ROOM 96

struct ids {
	char session[ID_ROOM], queued_turn[ID_ROOM], code[ID_ROOM];
	char at[AR_SCOPE_COUNT][ID_ROOM];
};

static bool is_sane(struct ar_str id)
{
	if (ar_str_empty(id) || id.len > SENT_MAX)
		return false;
	for (size_t i = 0; i < id.len; i++) {
		char c = id.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    !memchr("-_.:", c, 4))
			return false;
	}
	return true;
}

struct ar_str ar_trace_sent(const struct ar_http_request *req)
{
	return req->head && is_sane(req->head->request_id) ? req->head->request_id : AR_STR_NONE;
}

struct ar_str ar_trace_parent_sent(const struct ar_http_request *req)
{
	struct ar_trace_context c;

	return req->head && ar_traceparent_parse(req->head->trace_parent, &c) &&
			       req->head->trace_parent.len == AR_TRACEPARENT_LEN
		       ? req->head->trace_parent
		       : AR_STR_NONE;
}

static struct ar_str id_of(struct ar_http_request *req)
{
	if (!ar_str_absent(ar_trace_sent(req)))
		return req->head->request_id;
	if (!req->trace[0]) {
		memcpy(req->trace, "req_", 4);
		ar_id_mint(req->trace + 4);
	}
	return (struct ar_str){ req->trace, sizeof(req->trace) };
}

/* ---- the report ---- */

static void copy_member(char out[ID_ROOM], struct ar_json object, const char *name)
{
	struct ar_str s;

	if (out[0] || !ar_json_str(ar_json_get(object, name), &s) || s.len >= ID_ROOM)
		return;
	memcpy(out, s.p, s.len);
}

static void read_ids(struct ar_json_parser *parser, struct ar_str text, struct ids *ret)
{
	struct ar_json doc;

	if (ar_str_empty(text) || text.len > READ_MAX || ar_json_parse(parser, text, &doc, NULL) != AR_OK)
		return;
	copy_member(ret->code, ar_json_get(doc, "error"), "code");
	copy_member(ret->session, doc, "sessionId");
	copy_member(ret->queued_turn, doc, "queuedTurnId");
	for (int i = 0; i < AR_SCOPE_COUNT; i++) {
		/* traces are told by the runtime, and the id of the request is another one */
		if (i != AR_SCOPE_TRACE && i != AR_SCOPE_SPAN && i != AR_SCOPE_REQUEST)
			copy_member(ret->at[i], doc, ar_scope_names[i]);
	}
	copy_member(ret->at[AR_SCOPE_TURN], doc, "childTurnId");
}

static struct ar_str text_of(const char *s)
{
	return *s ? ar_str_from(s) : AR_STR_NONE;
}

static void report(struct ar_http_request *req)
{
	struct ar_http_server *s = req->carrier->server;
	const struct ar_source *from = req->carrier->source;
	const struct ar_principal *who = req->carrier->who;
	struct ids ids = { 0 };

	struct ar_http_answered a = {
		.request_id = id_of(req),
		.method = req->head ? req->head->method : AR_STR_NONE,
		.path = ar_str_utf8_prefix(req->target.path, PATH_MAX_SHOWN),
		.command = req->route.command ? ar_str_from(req->route.command->name) : AR_STR_NONE,
		.tenant = who ? who->tenant : AR_STR_NONE,
		.actor = who ? who->actor : AR_STR_NONE,
		.via = from->is_peer   ? "peer"
		       : from->is_unix ? "unix"
				       : "tcp",
		.status = req->reply.status,
		.micros = req->began ? (uv_hrtime() - req->began) / 1000 : 0,
		.bytes = req->reply.body.len,
	};

	read_ids(s->parser, req->reply.body, &ids);
	read_ids(s->parser, req->body, &ids);
	a.code = text_of(ids.code);
	a.session = text_of(ids.session);
	a.queued_turn = text_of(ids.queued_turn);
	for (int i = 0; i < AR_SCOPE_COUNT; i++)
		a.ids[i] = text_of(ids.at[i]);
	s->ops.answered(s->ops.arg, &a);
}

void ar_trace_answer(struct ar_http_request *req)
{
	const struct ar_http_server *s = req->carrier->server;

	if (req->reply.status >= 400 || (req->head && is_sane(req->head->request_id)))
		ar_reply_add(&req->reply, "X-Request-Id", id_of(req));
	if (s->ops.answered && req->reply.status >= s->ops.answered_from)
		report(req);
}
