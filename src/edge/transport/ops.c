/* The routes that no command of the catalogue answers: is it alive, is it ready, the OpenAPI document, which nodes are there,
 * drain this one, verify the store. The host or the core knows; here is only the wording. Owner: the loop thread. */
#include "exchange.h"
#include "openapi.h"
#include "ws/ws.h"
#include "server.h"

#include <stdio.h>

static void health(struct ar_exchange *x)
{
	ar_exchange_answer(x, 200, AR_STR("{\"status\":\"ok\"}"));
}

static void ready(struct ar_exchange *x)
{
	const struct ar_http_server *s = x->carrier->server;
	struct ar_str why = AR_STR("not ready");
	struct ar_jw w = ar_jw(&x->text);

	if (s->is_draining) {
		ar_exchange_answer(x, 503, AR_STR("{\"status\":\"draining\"}"));
		return;
	}
	if (!s->ops.is_ready || s->ops.is_ready(s->ops.arg, &why)) {
		ar_exchange_answer(x, 200, AR_STR("{\"status\":\"ready\"}"));
		return;
	}
	ar_jw_open(&w);
	ar_jw_mstr(&w, "status", AR_STR("not_ready"));
	ar_jw_mstr(&w, "reason", why);
	ar_jw_close(&w);
	ar_exchange_answer(x, 503, ar_buf_str(&x->text));
}

/* The server as a whole is no tenant's. */
static bool may_ask(struct ar_exchange *x, unsigned right, const char *scope)
{
	const struct ar_principal *who = x->carrier->who;
	char why[96];

	if (!who || (ar_str_is(who->tenant, AR_TENANT_LOCAL) && (who->rights & (right | AR_RIGHT_ADMIN))))
		return true;
	snprintf(why, sizeof why, "this needs the scope '%s' of the tenant '%s'", scope, AR_TENANT_LOCAL);
	ar_exchange_refuse(x, AR_ERR_NOT_AUTHORIZED, why, 0);
	return false;
}

static void metrics(struct ar_exchange *x)
{
	const struct ar_http_ops *ops = &x->carrier->server->ops;

	if (!ops->metrics || x->carrier->source->is_peer) {
		ar_exchange_refuse(x, AR_ERR_NOT_FOUND, "there are no metrics here", 0);
		return;
	}
	if (!may_ask(x, AR_RIGHT_READ, "read"))
		return;
	ops->metrics(ops->arg, &x->text);
	x->reply.type = "text/plain; version=0.0.4; charset=utf-8";
	ar_exchange_answer(x, 200, ar_buf_str(&x->text));
}

static void nodes(struct ar_exchange *x)
{
	const struct ar_http_ops *ops = &x->carrier->server->ops;

	if (!ops->nodes || x->carrier->source->is_peer) {
		ar_exchange_refuse(x, AR_ERR_NOT_FOUND, "this server is not a node of a cluster", 0);
		return;
	}
	if (!may_ask(x, AR_RIGHT_READ, "read"))
		return;
	ops->nodes(ops->arg, &x->text);
	ar_exchange_answer(x, 200, ar_buf_str(&x->text));
}

static void drain_recorded(struct ar_call *call)
{
	struct ar_exchange *x = AR_CONTAINER_OF(call, struct ar_exchange, call);
	const struct ar_http_ops *ops = &x->carrier->server->ops;

	x->is_calling = false;
	if (call->http == 200)
		ops->drain(ops->arg);
	if (x->carrier->is_closed)
		x->carrier->v->released(x->carrier);
	else if (call->http == 200)
		ar_exchange_answer(x, 202, AR_STR("{\"status\":\"draining\"}"));
	else
		ar_exchange_answer(x, call->http, ar_buf_str(&call->reply));
}

static void drain(struct ar_exchange *x)
{
	const struct ar_http_ops *ops = &x->carrier->server->ops;

	if (!ops->drain || x->carrier->source->is_peer) {
		ar_exchange_refuse(x, AR_ERR_NOT_FOUND, "this server is not a node of a cluster", 0);
		return;
	}
	if (may_ask(x, AR_RIGHT_ADMIN, "admin"))
		ar_exchange_record(x, "drain_node", drain_recorded);
}

static void verify(struct ar_exchange *x)
{
	if (x->carrier->source->is_peer)
		ar_exchange_refuse(x, AR_ERR_NOT_FOUND, "nodes do not verify for each other", 0);
	else
		ar_exchange_verify(x);
}

/* `*`, or a list of tags; a weak one is as good here. */
static bool has_tag(struct ar_str list, struct ar_str tag)
{
	struct ar_str one;

	while (!ar_str_absent(list)) {
		list = ar_str_split(list, ',', &one);
		one = ar_str_trim(one, " \t");
		if (ar_str_starts(one, AR_STR("W/")))
			one = ar_str_sub(one, 2, one.len);
		if (ar_str_is(one, "*") || ar_str_eq(one, tag))
			return true;
	}
	return false;
}

static void openapi(struct ar_exchange *x)
{
	x->reply.is_kept = true;
	ar_reply_add(&x->reply, "ETag", ar_openapi_tag);
	if (has_tag(x->request->if_none_match, ar_openapi_tag))
		ar_exchange_answer(x, 304, AR_STR(""));
	else
		ar_exchange_answer(x, 200, ar_openapi_text);
}

/* To anybody else it is no path at all. */
static void audit(struct ar_exchange *x)
{
	if (!x->carrier->source->is_peer) {
		ar_exchange_refuse(x, AR_ERR_NOT_FOUND, "nothing answers under '/v1/audit'", 0);
		return;
	}
	ar_control_audit_told(x->carrier->server->control, x->content, false);
	ar_exchange_answer(x, 202, AR_STR("{}"));
}

static void (*const answers[])(struct ar_exchange *x) = {
	[AR_ROUTE_HEALTH] = health,   [AR_ROUTE_READY] = ready,	   [AR_ROUTE_METRICS] = metrics,
	[AR_ROUTE_OPENAPI] = openapi, [AR_ROUTE_NODES] = nodes,	   [AR_ROUTE_DRAIN] = drain,
	[AR_ROUTE_VERIFY] = verify,   [AR_ROUTE_RPC] = ar_ws_open, [AR_ROUTE_AUDIT] = audit,
};

void ar_ops_answer(struct ar_exchange *x, enum ar_route_name name)
{
	answers[name](x);
}
