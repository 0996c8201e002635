/* Requests for sessions that nobody owns at this moment, or of which we cannot be sure: they are tried
 * again ten times a second until their time is over. Each comes in its own turn, so many of them do not
 * come in one burst. Owner: the loop thread. */
#include "peer/forward.h"
#include "server.h"

#define RETRY_MS 100

static void on_settle(uv_timer_t *timer);

static struct ar_http_request *first_of(const struct ar_http_server *s)
{
	return AR_CONTAINER_OF(s->settling.next, struct ar_http_request, settle);
}

static void arm_timer(struct ar_http_server *s)
{
	uint64_t now = uv_now(s->loop);

	if (ar_list_empty(&s->settling) || s->is_closing)
		return;
	uv_timer_start(&s->settle, on_settle, first_of(s)->retry_at > now ? first_of(s)->retry_at - now : 1,
		       0);
}

static void on_settle(uv_timer_t *timer)
{
	struct ar_http_server *s = timer->data;
	uint64_t now = uv_now(s->loop);

	while (!ar_list_empty(&s->settling) && first_of(s)->retry_at <= now) {
		struct ar_http_request *req = first_of(s);

		ar_settle_drop(req);
		ar_http_request_start(req);
	}
	arm_timer(s);
}

/* Without the store nobody knows who owns what: then it is the store that is to be
 * looked at, not the nodes. */
static void give_up(struct ar_http_request *req)
{
	struct ar_http_server *s = req->carrier->server;

	s->counters.forward_failed++;
	if (s->ops.is_store_out && s->ops.is_store_out(s->ops.arg))
		ar_http_request_refuse(
			req, AR_ERR_STORAGE_UNAVAILABLE,
			"this node does not reach the store, so it does not know who owns the session; "
			"repeat the call with the same key",
			0);
	else
		ar_http_request_refuse(
			req, AR_ERR_OWNER_UNREACHABLE,
			"no node that can be reached owns the session yet; repeat the call with the same key",
			0);
}

void ar_settle_wait(struct ar_http_request *req)
{
	struct ar_http_server *s = req->carrier->server;
	uint64_t now = uv_now(s->loop);

	if (s->is_draining || now >= req->arrived + s->settle_ms) {
		give_up(req);
		return;
	}
	req->retry_at = now + RETRY_MS;
	ar_list_push(&s->settling, &req->settle);
	s->counters.settling++;
	if (!uv_is_active((uv_handle_t *)&s->settle))
		arm_timer(s);
}

bool ar_settle_is_waiting(const struct ar_http_request *req)
{
	return !ar_list_empty(&req->settle);
}

void ar_settle_drop(struct ar_http_request *req)
{
	if (!ar_settle_is_waiting(req))
		return;
	ar_list_del(&req->settle);
	req->carrier->server->counters.settling--;
}
