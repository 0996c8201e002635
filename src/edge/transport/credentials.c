/* See credentials.h. A bearer comes in Authorization, or in the subprotocol of a WebSocket, for
 * browsers cannot set headers there. */
#include "credentials.h"
#include "base64.h"
#include "request.h"
#include "server.h"
#include "trace.h"

/* `agentruntime.v1, bearer.<token>`: the one that is a token. */
static struct ar_str bearer_of_protocols(struct ar_str list)
{
	struct ar_str item;

	while (ar_header_next(&list, &item)) {
		if (ar_str_starts(item, AR_STR("bearer.")))
			return ar_str_sub(item, 7, item.len);
	}
	return AR_STR_NONE;
}

/* Another scheme is shown as it is, so that it is refused and not overlooked. */
static struct ar_str bearer_of(const struct ar_http_head *r)
{
	struct ar_str scheme, rest;

	if (ar_str_absent(r->authorization))
		return r->is_upgrade ? bearer_of_protocols(r->ws_protocol) : AR_STR_NONE;
	rest = ar_str_split(r->authorization, ' ', &scheme);
	return ar_is_word(scheme, "bearer") && !ar_str_absent(rest) ? rest : r->authorization;
}

bool ar_http_head_has_bearer(const struct ar_http_head *r)
{
	return !ar_str_absent(bearer_of(r));
}

/* A message of JSON-RPC has no method of HTTP. */
static enum ar_call_protocol protocol_of(const struct ar_http_request *req)
{
	const struct ar_source *from = req->carrier->source;

	if (from->is_inside)
		return AR_PROTOCOL_INSIDE;
	if (!req->head || !ar_str_absent(req->head->method))
		return AR_PROTOCOL_HTTP;
	return from->is_unix || from->address[0] ? AR_PROTOCOL_WEBSOCKET : AR_PROTOCOL_STDIO;
}

/* What another node passed on came from where that node says. */
struct ar_call_origin ar_http_request_origin(const struct ar_http_request *req)
{
	const struct ar_source *from = req->carrier->source;

	if (from->is_peer)
		return req->forwarded_from;
	return (struct ar_call_origin){
		.address = from->address[0] ? ar_str_from(from->address) : AR_STR_NONE,
		.request_id = ar_trace_sent(req),
		.trace_parent = ar_trace_parent_sent(req),
		.via = from->is_unix	  ? "unix"
		       : from->address[0] ? "tcp"
					  : "stdio",
		.protocol = protocol_of(req),
		.has_uid = (from->is_unix || from->is_loopback) && from->uid != AR_NO_USER,
		.uid = from->uid
	};
}

struct ar_credentials ar_http_request_credentials(const struct ar_http_request *req)
{
	const struct ar_source *from = req->carrier->source;

	return (struct ar_credentials){ .bearer = bearer_of(req->head),
					.certificate = from->certificate,
					.is_loopback = from->is_loopback,
					.is_unix = from->is_unix,
					.is_in_group = from->is_in_group,
					.uid = from->uid,
					.from = ar_http_request_origin(req) };
}

/* ---- between nodes ---- */

bool ar_http_request_read_principal(struct ar_http_request *req, struct ar_principal *ret)
{
	struct ar_str text;
	struct ar_json v;
	int64_t rights, mark, protocol;

	*ret = (struct ar_principal){ 0 };
	if (ar_str_absent(req->head->principal) ||
	    !ar_base64_decode(&req->pool, req->head->principal, &text) ||
	    ar_json_parse(req->carrier->server->parser, text, &v, NULL) != AR_OK ||
	    !ar_json_str(ar_json_get(v, "tenant"), &ret->tenant) ||
	    !ar_json_str(ar_json_get(v, "actor"), &ret->actor) ||
	    !ar_json_i64(ar_json_get(v, "rights"), &rights))
		return false;
	ar_json_str(ar_json_get(v, "person"), &ret->person);
	ar_json_str(ar_json_get(v, "token"), &ret->token);
	ar_json_str(ar_json_get(v, "worker"), &ret->worker);
	ar_json_bool(ar_json_get(v, "enrolment"), &ret->is_enrolment);
	ar_json_bool(ar_json_get(v, "runtime"), &ret->is_runtime);
	if (ar_json_i64(ar_json_get(v, "mark"), &mark))
		ret->mark = (uint64_t)mark;
	req->forwarded_from = ar_control_read_origin(v, &req->pool);
	if (ar_json_i64(ar_json_get(v, "protocol"), &protocol) && protocol > 0 &&
	    protocol < AR_PROTOCOL_COUNT)
		req->forwarded_from.protocol = (enum ar_call_protocol)protocol;
	ret->rights = (unsigned)rights & AR_RIGHT_ALL;
	return !ar_str_empty(ret->tenant) && !ar_str_empty(ret->actor);
}

void ar_principal_write_header(const struct ar_principal *who, const struct ar_call_origin *from,
			       struct ar_buf *out)
{
	static const struct ar_principal the_operator = {
		.tenant = { AR_TENANT_LOCAL, sizeof AR_TENANT_LOCAL - 1 },
		.actor = { "local", 5 },
		.person = { AR_PERSON_LOCAL, sizeof AR_PERSON_LOCAL - 1 },
		.rights = AR_RIGHT_ALL
	};
	struct ar_arena a = { 0 };
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	who = who ? who : &the_operator;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "tenant", who->tenant);
	ar_jw_mstr(&w, "actor", who->actor);
	ar_jw_mstr(&w, "person", who->person);
	ar_jw_mstr(&w, "token", who->token);
	if (!ar_str_absent(who->worker)) { /* what enrol_worker needs; nobody else's mark leaves the node */
		ar_jw_mstr(&w, "worker", who->worker);
		ar_jw_mbool(&w, "enrolment", who->is_enrolment);
		ar_jw_mint(&w, "mark", (int64_t)who->mark);
	}
	if (who->is_runtime)
		ar_jw_mbool(&w, "runtime", true);
	ar_jw_mint(&w, "rights", who->rights);
	ar_control_write_origin(&w, from);
	ar_jw_mint(&w, "protocol", from->protocol);
	ar_jw_close(&w);
	ar_buf_addz(out, AR_PRINCIPAL_HEADER ": ");
	ar_buf_adds(out, ar_base64(&a, ar_buf_str(&text)));
	ar_buf_addz(out, "\r\n");
	ar_buf_fini(&text);
	ar_arena_fini(&a);
}
