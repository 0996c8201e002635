/* The routes that no command of the catalogue answers: is it alive, is it ready, which nodes are there, drain this one, verify the
 * store. The host or the core knows; here is only the wording. Owner: the loop thread. */
#include "conn.h"

static void health(struct ar_exchange *x)
{
	ar_exchange_answer(x, 200, AR_STR("{\"status\":\"ok\"}"));
}

static void ready(struct ar_exchange *x)
{
	const struct ar_http_server *s = x->conn->server;
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

static void nodes(struct ar_exchange *x)
{
	const struct ar_http_ops *ops = &x->conn->server->ops;

	if (!ops->nodes || x->conn->is_peer) {
		ar_exchange_refuse(x, AR_ERR_NOT_FOUND, "this server is not a node of a cluster", 0);
		return;
	}
	ops->nodes(ops->arg, &x->text);
	ar_exchange_answer(x, 200, ar_buf_str(&x->text));
}

static void drain(struct ar_exchange *x)
{
	const struct ar_http_ops *ops = &x->conn->server->ops;

	if (!ops->drain || x->conn->is_peer) {
		ar_exchange_refuse(x, AR_ERR_NOT_FOUND, "this server is not a node of a cluster", 0);
		return;
	}
	ops->drain(ops->arg);
	ar_exchange_answer(x, 202, AR_STR("{\"status\":\"draining\"}"));
}

static void verify(struct ar_exchange *x)
{
	if (x->conn->is_peer)
		ar_exchange_refuse(x, AR_ERR_NOT_FOUND, "nodes do not verify for each other", 0);
	else
		ar_exchange_verify(x);
}

static void (*const answers[])(struct ar_exchange *x) = {
	[AR_ROUTE_HEALTH] = health, [AR_ROUTE_READY] = ready,	[AR_ROUTE_NODES] = nodes,
	[AR_ROUTE_DRAIN] = drain,   [AR_ROUTE_VERIFY] = verify,
};

void ar_ops_answer(struct ar_exchange *x, enum ar_route_kind kind)
{
	answers[kind](x);
}
