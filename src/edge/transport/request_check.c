/* What the head of a request has to be before its body is read: where it comes from (Host,
 * Origin, the key of a node), what it asks for (the route, looked up once), and of which type its
 * body is. Owner: the loop thread. */
#include "a2a/a2a.h"
#include "credentials.h"
#include "hash.h"
#include "request.h"
#include "server.h"

/* Its body is not read, so nothing else can follow on its connection. */
static void count_refusal(struct ar_http_request *req)
{
	req->carrier->server->counters.refused++;
	req->reply.is_close = true;
}

static bool refuse_early(struct ar_http_request *req, uint16_t code, const char *why)
{
	count_refusal(req);
	ar_http_request_refuse(req, code, why, 0);
	return false;
}

/* Lets the page of an allowed origin read the answer. */
static void allow_origin(struct ar_http_request *req)
{
	struct ar_str origin = ar_names_shared_with(&req->carrier->server->names, req->head);

	if (ar_str_absent(origin))
		return;
	ar_reply_add(&req->reply, "Access-Control-Allow-Origin", origin);
	ar_reply_add(&req->reply, "Vary", AR_STR("Origin"));
}

/* A browser asks before it sends what a form cannot. */
bool ar_http_request_is_preflight(const struct ar_http_request *req)
{
	return ar_str_is(req->head->method, "OPTIONS") && !ar_str_absent(req->head->asked_method) &&
	       !ar_str_absent(ar_names_shared_with(&req->carrier->server->names, req->head));
}

void ar_http_request_answer_preflight(struct ar_http_request *req)
{
	ar_reply_add(&req->reply, "Access-Control-Allow-Methods", AR_STR("GET, POST"));
	ar_reply_add(&req->reply, "Access-Control-Allow-Headers",
		     AR_STR("authorization, content-type, idempotency-key, last-event-id, x-request-id"));
	ar_reply_add(&req->reply, "Access-Control-Max-Age", AR_STR("600"));
	ar_http_request_answer(req, 200, AR_STR(""));
}

/* A browser sends a page's requests as the person who sits before it: being on this
 * machine, or a client certificate, says nothing about the page. A bearer does, because the
 * page itself has to know it. */
static bool check_page(struct ar_http_request *req)
{
	allow_origin(req);
	switch (ar_names_page(&req->carrier->server->names, req->carrier->source, req->head)) {
	case AR_PAGE_NONE:
	case AR_PAGE_LISTED:
		break;
	case AR_PAGE_LISTED_ELSEWHERE:
	case AR_PAGE_NEAR:
		if (ar_http_request_is_preflight(req) || ar_http_head_has_bearer(req->head))
			break;
		ar_reply_add(&req->reply, "WWW-Authenticate", AR_STR("Bearer"));
		return refuse_early(req, AR_ERR_AUTH_FAILED,
				    "a web page must send a token: Authorization: Bearer art_...; create one "
				    "with `agentctl token create`");
	case AR_PAGE_FOREIGN:
		return refuse_early(
			req, AR_ERR_NOT_AUTHORIZED,
			"pages of this Origin are not allowed; http.origins lists those that are");
	}
	return true;
}

/* The unix socket is out of a browser's reach. */
static bool check_source(struct ar_http_request *req)
{
	const struct ar_names *names = &req->carrier->server->names;
	const struct ar_source *from = req->carrier->source;
	const struct ar_http_head *h = req->head;
	struct ar_str authority = req->target.authority;

	if (!from->is_unix) {
		if (!ar_str_absent(h->host) && !ar_names_host(names, from, h->host))
			return refuse_early(
				req, AR_ERR_NOT_AUTHORIZED,
				"the Host header does not name this server; http.hosts lists its names");
		if (!ar_str_absent(authority) && !ar_names_host(names, from, authority))
			return refuse_early(
				req, AR_ERR_NOT_AUTHORIZED,
				"the target does not name this server; http.hosts lists its names");
	}
	return check_page(req);
}

/* Who is no node of the cluster learns nothing here, not even what exists. Under TLS the handshake has
 * judged the certificate, and a key does not help; without TLS there is only this machine, and the key. */
static bool check_peer(struct ar_http_request *req)
{
	struct ar_str scheme, key = ar_str_split(req->head->authorization, ' ', &scheme);
	const struct ar_source *from = req->carrier->source;

	if (req->carrier->server->tls.mutual && !ar_str_absent(from->certificate))
		return true;
	if (!req->carrier->server->tls.mutual && from->is_loopback && !ar_str_empty(key) &&
	    ar_is_word(scheme, "bearer") &&
	    ar_hash_is_same(key, ar_str_from(req->carrier->server->peers.key)))
		return true;
	return refuse_early(req, AR_ERR_AUTH_FAILED, "this address is only for nodes of the cluster");
}

/* A form, or a script without a preflight, cannot send this type. Requests of A2A may have no body. */
static bool check_content_type(struct ar_http_request *req)
{
	struct ar_str type;

	if (!ar_str_is(req->head->method, "POST"))
		return true;
	ar_str_split(req->head->content_type, ';', &type);
	if (req->route.name == AR_ROUTE_A2A && ar_str_absent(req->head->content_type))
		return true;
	if ((req->route.name == AR_ROUTE_A2A || req->route.name == AR_ROUTE_PEER_PUSH) &&
	    ar_is_word(ar_str_trim(type, " \t"), "application/a2a+json"))
		return true;
	if (ar_is_word(ar_str_trim(type, " \t"), "application/json"))
		return true;
	if (req->route.name == AR_ROUTE_A2A) {
		count_refusal(req);
		ar_a2a_refuse_type(req);
		return false;
	}
	return refuse_early(req, AR_ERR_UNSUPPORTED_MEDIA_TYPE,
			    "a POST needs the header Content-Type: application/json");
}

/* Nodes of the cluster send commands by POST and nothing else. */
void ar_http_route_of(const struct ar_http_head *head, struct ar_str path, bool is_peer,
		      struct ar_http_route *ret)
{
	static const struct ar_command_table commands = { ar_command_descs, AR_CMD_COUNT };

	ar_http_route_find(&commands, head->method, path, ret);
	if (ret->code == AR_ERR_NOT_FOUND && ar_a2a_is_path(path)) {
		*ret = (struct ar_http_route){ .name = AR_ROUTE_A2A, .access = AR_ACCESS_ANY };
		ret->is_get = ar_str_is(head->method, "GET");
	}
	if (is_peer && ret->command && ret->is_get)
		*ret = (struct ar_http_route){ .access = AR_ACCESS_ANY,
					       .code = AR_ERR_METHOD_NOT_ALLOWED,
					       .allow = "POST" };
}

bool ar_http_request_check(struct ar_http_request *req)
{
	bool is_peer = req->carrier->source->is_peer;

	if (is_peer && !check_peer(req))
		return false;
	if (!ar_target_parse(req->head->target, &req->target)) {
		ar_http_request_fault(req,
				      &(struct ar_fault){
					      400, "the target is neither a path nor an http:// address" });
		return false;
	}
	ar_http_route_of(req->head, req->target.path, is_peer, &req->route);
	return (is_peer || check_source(req)) && check_content_type(req);
}
