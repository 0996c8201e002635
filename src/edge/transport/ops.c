/* The routes that no command of the catalogue answers: is it alive, is it ready, the OpenAPI document,
 * which nodes are there, drain this one, verify the store. The host or the core knows; here is only the
 * wording. Owner: the loop thread. */
#include "request.h"
#include "openapi.h"
#include "ws/worker_link.h"
#include "ws/ws.h"
#include "server.h"
#include "trigger.h"
#include "a2a/a2a.h"
#include "a2a/card_route.h"

#include <stdio.h>

static void health(struct ar_http_request *req)
{
	ar_http_request_answer(req, 200, AR_STR("{\"status\":\"ok\"}"));
}

static void ready(struct ar_http_request *req)
{
	const struct ar_http_server *s = req->carrier->server;
	struct ar_str why = AR_STR("not ready");
	struct ar_jw w = ar_jw(&req->text);

	if (s->is_draining) {
		ar_http_request_answer(req, 503, AR_STR("{\"status\":\"draining\"}"));
		return;
	}
	if (!s->ops.is_ready || s->ops.is_ready(s->ops.arg, &why)) {
		ar_http_request_answer(req, 200, AR_STR("{\"status\":\"ready\"}"));
		return;
	}
	ar_jw_open(&w);
	ar_jw_mstr(&w, "status", AR_STR("not_ready"));
	ar_jw_mstr(&w, "reason", why);
	ar_jw_close(&w);
	ar_http_request_answer(req, 503, ar_buf_str(&req->text));
}

static void metrics(struct ar_http_request *req)
{
	const struct ar_http_ops *ops = &req->carrier->server->ops;

	ops->metrics(ops->arg, &req->text);
	req->reply.type = "text/plain; version=0.0.4; charset=utf-8";
	ar_http_request_answer(req, 200, ar_buf_str(&req->text));
}

static void nodes(struct ar_http_request *req)
{
	const struct ar_http_ops *ops = &req->carrier->server->ops;

	ops->nodes(ops->arg, &req->text);
	ar_http_request_answer(req, 200, ar_buf_str(&req->text));
}

static void drain_recorded(struct ar_call *call)
{
	struct ar_http_request *req = AR_CONTAINER_OF(call, struct ar_http_request, call);
	const struct ar_http_ops *ops = &req->carrier->server->ops;

	req->is_calling = false;
	if (call->http == 200)
		ops->drain(ops->arg);
	if (req->carrier->is_closed)
		req->carrier->v->released(req->carrier);
	else if (call->http == 200)
		ar_http_request_answer(req, 202, AR_STR("{\"status\":\"draining\"}"));
	else
		ar_http_request_answer(req, call->http, ar_call_reply(call));
}

static void drain(struct ar_http_request *req)
{
	ar_http_request_record(req, "drain_node", drain_recorded);
}

static void openapi(struct ar_http_request *req)
{
	req->reply.cache = "no-cache";
	ar_reply_add(&req->reply, "ETag", ar_openapi_tag);
	if (ar_header_has_tag(req->head->if_none_match, ar_openapi_tag))
		ar_http_request_answer(req, 304, AR_STR(""));
	else
		ar_http_request_answer(req, 200, ar_openapi_text);
}

static void audit(struct ar_http_request *req)
{
	ar_control_audit_told(req->carrier->server->control, req->content, false);
	ar_http_request_answer(req, 202, AR_STR("{}"));
}

static const struct {
	void (*answer)(struct ar_http_request *req);
	const char *absent; /* said where it is not served; NULL: it always is */
} rows[] = {
	[AR_ROUTE_HEALTH] = { health, NULL },
	[AR_ROUTE_READY] = { ready, NULL },
	[AR_ROUTE_METRICS] = { metrics, "there are no metrics here" },
	[AR_ROUTE_OPENAPI] = { openapi, NULL },
	[AR_ROUTE_NODES] = { nodes, "this server is not a node of a cluster" },
	[AR_ROUTE_DRAIN] = { drain, "this server is not a node of a cluster" },
	[AR_ROUTE_VERIFY] = { ar_http_request_verify,
			      "a node does not verify for another; send the request to that node" },
	[AR_ROUTE_RPC] = { ar_ws_open, NULL },
	[AR_ROUTE_WORKER] = { ar_worker_link_open, "this server takes no workers" },
	[AR_ROUTE_AUDIT] = { audit, "there is no path '/v1/audit'" },
	[AR_ROUTE_AGENT_CARD] = { ar_a2a_card_answer, "this server publishes no agents" },
	[AR_ROUTE_AGENT_CARD_OF] = { ar_a2a_card_answer, "this server publishes no agents" },
	[AR_ROUTE_A2A] = { ar_a2a_start, "this server publishes no agents" },
	[AR_ROUTE_PEER_PUSH] = { ar_peer_push_start, "this server takes no notifications of peers" },
	[AR_ROUTE_TRIGGER] = { ar_trigger_start, "this server has no triggers" },
};

/* Nodes of the cluster get from each other what is theirs and what everybody gets. */
static bool is_served(const struct ar_http_request *req)
{
	const struct ar_http_ops *ops = &req->carrier->server->ops;
	bool is_peer = req->carrier->source->is_peer;

	switch (req->route.name) {
	case AR_ROUTE_METRICS:
		return !is_peer && ops->metrics;
	case AR_ROUTE_NODES:
		return !is_peer && ops->nodes;
	case AR_ROUTE_DRAIN:
		return !is_peer && ops->drain;
	case AR_ROUTE_VERIFY:
		return !is_peer;
	case AR_ROUTE_WORKER:
		return !is_peer && req->carrier->server->workers.take;
	case AR_ROUTE_AUDIT:
		return is_peer;
	case AR_ROUTE_TRIGGER:
		return !is_peer && ops->trigger;
	case AR_ROUTE_PEER_PUSH:
		return ops->peer_push;
	case AR_ROUTE_AGENT_CARD:
	case AR_ROUTE_AGENT_CARD_OF:
	case AR_ROUTE_A2A:
		return !is_peer && ops->a2a;
	default:
		return true;
	}
}

/* The server as a whole is no tenant's. Sessions are: the right to verify them is checked by core/control. */
static bool is_authorized(const struct ar_http_request *req)
{
	const struct ar_principal *who = req->carrier->who;
	enum ar_route_access access = req->route.access;
	unsigned right = access == AR_ACCESS_READ ? AR_RIGHT_READ : AR_RIGHT_ADMIN;

	if (!who || req->route.name == AR_ROUTE_VERIFY ||
	    (access != AR_ACCESS_READ && access != AR_ACCESS_ADMIN))
		return true;
	return ar_str_is(who->tenant, AR_TENANT_LOCAL) && (who->rights & (right | AR_RIGHT_ADMIN));
}

void ar_ops_answer(struct ar_http_request *req)
{
	char why[96];

	if (!is_served(req)) {
		ar_http_request_refuse(req, AR_ERR_NOT_FOUND, rows[req->route.name].absent, 0);
		return;
	}
	if (is_authorized(req)) {
		rows[req->route.name].answer(req);
		return;
	}
	snprintf(why, sizeof why, "this needs the scope '%s' of the tenant '%s'",
		 req->route.access == AR_ACCESS_READ ? "read" : "admin", AR_TENANT_LOCAL);
	ar_http_request_refuse(req, AR_ERR_NOT_AUTHORIZED, why, 0);
}
