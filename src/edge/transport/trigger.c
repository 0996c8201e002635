/* Requests whose senders the host judges, by a token or a signature of their own. POST /v1/triggers/NAME: the
 * host makes the input of submit_turn or create_job from the body; from there on it is that command, of a
 * caller that may do nothing else. POST /v1/peers/OPERATION/push: the host looks after the work, and the
 * sender is not told what it is doing. Owner: the loop thread. */
#include "trigger.h"
#include "credentials.h"
#include "describe.h"
#include "request.h"
#include "server.h"

static struct ar_http_trigger trigger_of(const struct ar_http_request *req)
{
	const struct ar_http_head *h = req->head;
	struct ar_credentials shown = ar_http_request_credentials(req);

	return (struct ar_http_trigger){ .name = req->route.params[0].value,
					 .body = req->content,
					 .bearer = shown.bearer,
					 .gitlab_token = h->gitlab_token,
					 .webhook_id = h->webhook_id,
					 .webhook_timestamp = h->webhook_timestamp,
					 .webhook_signature = h->webhook_signature,
					 .hub_signature = h->hub_signature,
					 .hub_delivery = h->hub_delivery,
					 .idempotency_key = h->idempotency_key };
}

/* A key that is not right is on record as that of an API token is, those alike counted together. The name is
 * not: it is text of the sender, and may be that of no trigger. */
static void record_refusal(const struct ar_http_request *req, const char *who, const struct ar_error *err)
{
	struct ar_auth *auth = req->carrier->server->auth;

	if (!auth || err->code != AR_ERR_AUTH_FAILED)
		return;
	auth->v->refused(auth, &(struct ar_audit){ .tenant = AR_STR("local"),
						   .actor = ar_str_from(who),
						   .command = ar_str_from(who),
						   .code = err->code,
						   .message = ar_str_from(err->msg),
						   .count = 1,
						   .from = ar_http_request_origin(req) });
}

static void refuse(struct ar_http_request *req, const char *who, const struct ar_error *err)
{
	req->carrier->server->counters.refused++;
	record_refusal(req, who, err);
	if (err->code == AR_ERR_AUTH_FAILED)
		ar_reply_add(&req->reply, "WWW-Authenticate", AR_STR("Bearer"));
	ar_http_request_refuse(req, err->code, err->msg, 0);
}

void ar_trigger_start(struct ar_http_request *req)
{
	const struct ar_http_ops *ops = &req->carrier->server->ops;
	const struct ar_http_trigger t = trigger_of(req);
	struct ar_http_triggered made = { 0 };
	struct ar_error err = { 0 };

	if (ops->trigger(ops->arg, &t, &req->pool, &made, &err) != AR_OK) {
		refuse(req, "trigger", &err);
		return;
	}
	ar_carrier_admit(req->carrier, made.who);
	req->route.command = ar_command_describe(made.command);
	req->body = made.input;
	ar_http_request_begin(req);
}

void ar_peer_push_start(struct ar_http_request *req)
{
	const struct ar_http_ops *ops = &req->carrier->server->ops;
	const struct ar_http_peer_push p = { .operation = req->route.params[0].value,
					     .body = req->content,
					     .token = req->head->a2a_token,
					     .bearer = ar_http_request_credentials(req).bearer,
					     .is_from_node = req->carrier->source->is_peer };
	struct ar_error err = { 0 };

	if (ops->peer_push(ops->arg, &p, &err) == AR_OK)
		ar_http_request_answer(req, 202, AR_STR("{\"status\":\"accepted\"}"));
	else
		refuse(req, "peer_push", &err);
}
