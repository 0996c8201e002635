/* Passing a request on to the node that owns its session, and its answer back, both untouched. A
 * request that may have been taken is never sent again unless it only reads: the client repeats it with
 * the same key. Owner: the loop thread. */
#include "peer/forward.h"
#include "credentials.h"
#include "mem.h"
#include "server.h"

#include <stdio.h>

#define RETRY_LOST_MS 500
#define RETRY_DRAIN_MS 1000

void ar_forward_stop(struct ar_forward *f)
{
	ar_peer_ask_stop(&f->ask);
	f->carrier->server->counters.subscribers -= f->is_counted;
	f->is_counted = false;
}

void ar_forward_free(struct ar_forward *f)
{
	ar_buf_fini(&f->next);
	ar_free(f->address);
	ar_free(f);
}

/* Back to the request alone, which then gets an answer. */
static struct ar_http_request *drop_forward(struct ar_forward *f)
{
	struct ar_carrier *c = f->carrier;

	ar_forward_stop(f);
	ar_forward_free(f);
	c->forward = NULL;
	return c->request;
}

static void fail_forward(struct ar_forward *f, const char *why)
{
	char message[256];

	snprintf(message, sizeof message,
		 "the session belongs to the node at %.128s, and %s; repeat the call with the same key",
		 f->address, why);
	f->carrier->server->counters.forward_failed++;
	ar_http_request_refuse(drop_forward(f), AR_ERR_OWNER_UNREACHABLE, message, 0);
}

static void on_answered(struct ar_peer_ask *ask, struct ar_h1_answer *answer)
{
	struct ar_forward *f = AR_CONTAINER_OF(ask, struct ar_forward, ask);
	struct ar_http_request *req = drop_forward(f);

	/* It does not own the session any more, or not yet: the next look at the table will tell who does. */
	if (answer->status == ar_error_descs[AR_ERR_NOT_OWNER].http) {
		ar_settle_wait(req);
		return;
	}
	req->carrier->server->counters.forwarded++;
	ar_buf_fini(&req->text);
	req->text = answer->body;
	answer->body = (struct ar_buf){ 0 };
	ar_http_request_answer(req, answer->status, ar_buf_str(&req->text));
}

static void on_opened(struct ar_peer_ask *ask, uint64_t as_of)
{
	struct ar_forward *f = AR_CONTAINER_OF(ask, struct ar_forward, ask);

	f->opened_at = as_of;
	f->carrier->server->counters.forwarded++;
	ar_relay_open(f);
}

static void on_bytes(struct ar_peer_ask *ask, struct ar_str bytes)
{
	ar_relay_bytes(AR_CONTAINER_OF(ask, struct ar_forward, ask), bytes);
}

static void on_ended(struct ar_peer_ask *ask)
{
	ar_relay_end(AR_CONTAINER_OF(ask, struct ar_forward, ask), RETRY_LOST_MS);
}

/* A read may be asked for twice; that it came back without a byte says that an old
 * connection was to blame. */
static bool repeat_read(struct ar_forward *f)
{
	struct ar_peer_ask *ask = &f->ask;

	if (f->has_repeated || !ask->was_pooled || ask->has_bytes ||
	    f->carrier->request->route.command->write)
		return false;
	f->has_repeated = ask->is_fresh = true;
	return ar_peer_ask_start(f->carrier->server, ask);
}

static void on_lost(struct ar_peer_ask *ask, const char *why)
{
	struct ar_forward *f = AR_CONTAINER_OF(ask, struct ar_forward, ask);

	if (f->is_open) {
		f->carrier->server->counters.forward_failed++;
		ar_relay_end(f, RETRY_LOST_MS);
	} else if (!repeat_read(f)) {
		fail_forward(f, why);
	}
}

static const struct ar_peer_ask_vtable callbacks = { on_answered, on_opened, on_bytes, on_ended, on_lost };

void ar_forward_open(struct ar_http_request *req, struct ar_str address)
{
	struct ar_http_server *s = req->carrier->server;
	bool is_stream = req->route.command->id == AR_CMD_SUBSCRIBE_EVENTS;
	struct ar_forward *f = req->carrier->forward = ar_new0(sizeof *f);

	f->carrier = req->carrier;
	f->address = ar_str_dup(address);
	f->is_counted = is_stream;
	s->counters.subscribers += is_stream;
	f->ask = (struct ar_peer_ask){ .v = &callbacks,
				       .address = ar_str_from(f->address),
				       .command = req->route.command->name,
				       .body = req->body,
				       .who = req->carrier->who,
				       .from = ar_http_request_origin(req),
				       .is_stream = is_stream };
	if (!ar_peer_ask_start(s, &f->ask))
		fail_forward(f, f->ask.refused ? f->ask.refused : "it cannot be connected to");
}

void ar_forward_expire(struct ar_forward *f)
{
	ar_peer_ask_stop(&f->ask);
	if (f->is_open)
		ar_relay_end(f, 0);
	else
		ar_http_request_refuse(drop_forward(f), AR_ERR_AUTH_FAILED,
				       "the token has expired or was revoked", 0);
}

void ar_forward_drain(struct ar_forward *f)
{
	if (!f->ask.is_stream)
		return;
	ar_peer_ask_stop(&f->ask);
	if (f->is_open)
		ar_relay_end(f, RETRY_DRAIN_MS);
	else
		ar_http_request_refuse(drop_forward(f), AR_ERR_OVERLOADED, "the server is stopping", 0);
}
