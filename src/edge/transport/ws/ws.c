/* See ws.h. Frames are ws_codec.c's, what messages mean is rpc/; here is the life of the connection: a
 * ping now and then whose pong has an absolute deadline, deadlines for a message that has begun and for
 * output that is not read, and the close on either side. Owner: the loop thread. */
#include "ws/ws.h"
#include "admission.h"
#include "request.h"
#include "mem.h"
#include "rpc/outbox.h"
#include "rpc/rpc.h"
#include "server.h"
#include "ws_codec.h"
#include "ws/ws_upgrade.h"

#define SEND_BUFFER \
	(64 * 1024) /* in the kernel: else a stuck reader swallows megabytes before it is noticed */

struct ar_ws {
	struct ar_outbox out; /* first: see outbox.c */
	struct ar_rpc rpc;
	struct ar_ws_codec codec;
	struct ar_byte_link *link; /* its deadline: of the output, then of the close */
	struct ar_deadline life; /* ping and pong */
	struct ar_deadline body; /* of a message that has begun */
	struct ar_buf pending; /* came in while no message was wanted */
	struct ar_http_admission *admission; /* of who was let in; NULL: the operator */
	bool is_over; /* our close frame is written or in the outbox: nothing counts any more */
	bool is_closed;
};

/* ---- the end ---- */

static void release(struct ar_ws *w)
{
	struct ar_byte_link *l = w->link;

	if (!w->is_closed || !ar_rpc_is_idle(&w->rpc))
		return;
	ar_outbox_fini(&w->out);
	ar_ws_codec_fini(&w->codec);
	ar_buf_fini(&w->pending);
	ar_http_admission_free(w->admission);
	ar_free(w);
	ar_byte_link_free(l);
}

static void end_connection(struct ar_ws *w, bool is_stuck)
{
	w->is_over = true;
	ar_deadline_clear(&w->life);
	ar_deadline_clear(&w->body);
	ar_rpc_stop(&w->rpc, is_stuck);
	ar_byte_link_close(w->link);
}

/* Nothing more is said: what is in the outbox is our last word. */
static void fall_silent(struct ar_ws *w)
{
	w->is_over = true;
	ar_deadline_clear(&w->life);
	ar_deadline_clear(&w->body);
	ar_buf_fini(&w->pending);
	ar_rpc_stop(&w->rpc, false);
	ar_outbox_wake(&w->out);
}

static void close_with(struct ar_ws *w, unsigned code, struct ar_str reason)
{
	if (w->is_over)
		return;
	ar_ws_write_close(ar_outbox_open(&w->out), code, reason);
	fall_silent(w);
}

/* Waits a little for the peer's end, so that our last bytes are not lost. */
static void linger(struct ar_ws *w)
{
	if (!ar_byte_link_shutdown(w->link) || !ar_byte_link_read_start(w->link)) {
		end_connection(w, false);
		return;
	}
	ar_byte_link_set_deadline(w->link, AR_DEADLINE_LINGER);
}

/* ---- input ---- */

static bool wants_more(const struct ar_ws *w)
{
	return !w->is_over && ar_rpc_wants_more(&w->rpc) && ar_outbox_takes_more(&w->out);
}

static void on_text(struct ar_ws_codec *c, struct ar_str text)
{
	ar_rpc_take(&AR_CONTAINER_OF(c, struct ar_ws, codec)->rpc, text);
}

static void on_pong(struct ar_ws_codec *c)
{
	struct ar_ws *w = AR_CONTAINER_OF(c, struct ar_ws, codec);

	ar_server_set_deadline(w->link->server, &w->life, AR_DEADLINE_PING);
}

static bool takes_bytes(struct ar_ws_codec *c)
{
	return wants_more(AR_CONTAINER_OF(c, struct ar_ws, codec));
}

static const struct ar_ws_codec_vtable codec_callbacks = { on_text, on_pong, takes_bytes };

/* A message that has begun has to arrive in time, however slowly it comes. */
static void watch_body(struct ar_ws *w)
{
	if (!ar_ws_is_amid(&w->codec))
		ar_deadline_clear(&w->body);
	else if (ar_list_empty(&w->body.node))
		ar_server_set_deadline(w->link->server, &w->body, AR_DEADLINE_BODY);
}

/* Returns how many bytes were taken. */
static size_t feed_codec(struct ar_ws *w, struct ar_str bytes)
{
	struct ar_buf out = { 0 };
	size_t used;
	bool goes_on = ar_ws_feed(&w->codec, bytes, &out, &used);

	if (out.len)
		ar_buf_adds(ar_outbox_open(&w->out), ar_buf_str(&out));
	ar_buf_fini(&out);
	if (goes_on && ar_server_has_room(w->link->server, used, w->codec.message.len)) {
		watch_body(w);
		return used;
	}
	if (goes_on)
		ar_ws_write_close(ar_outbox_open(&w->out), AR_WS_TRY_LATER,
				  AR_STR("the server is short of memory"));
	w->link->server->counters.refused++;
	fall_silent(w);
	return bytes.len;
}

static void on_bytes(struct ar_byte_link *l, struct ar_str bytes)
{
	struct ar_ws *w = l->owner;
	size_t used = 0;

	if (w->is_over)
		return;
	if (!w->pending.len)
		used = feed_codec(w, bytes);
	if (used < bytes.len)
		ar_buf_adds(&w->pending, ar_str_sub(bytes, used, bytes.len));
	if (w->pending.len || !wants_more(w))
		ar_byte_link_read_stop(l);
}

static void read_on(struct ar_ws *w)
{
	struct ar_buf bytes = w->pending;

	w->pending = (struct ar_buf){ 0 };
	if (bytes.len)
		ar_buf_eat(&bytes, feed_codec(w, ar_buf_str(&bytes)));
	if (bytes.len)
		w->pending = bytes;
	else
		ar_buf_fini(&bytes);
	if (!w->pending.len && wants_more(w) && !ar_byte_link_read_start(w->link))
		end_connection(w, false);
}

/* ---- output ---- */

static void send_text(struct ar_rpc *r, struct ar_str text)
{
	struct ar_ws *w = AR_CONTAINER_OF(r, struct ar_ws, rpc);

	if (!w->is_over)
		ar_ws_write_text(ar_outbox_open(&w->out), text);
}

static bool takes_more(struct ar_rpc *r)
{
	return ar_outbox_takes_more(&AR_CONTAINER_OF(r, struct ar_ws, rpc)->out);
}

static void on_hurry(struct ar_rpc *r)
{
	ar_outbox_push(&AR_CONTAINER_OF(r, struct ar_ws, rpc)->out);
}

static void on_moved(struct ar_rpc *r)
{
	struct ar_ws *w = AR_CONTAINER_OF(r, struct ar_ws, rpc);

	if (w->is_closed)
		release(w);
	else
		ar_outbox_wake(&w->out);
}

static const struct ar_rpc_vtable rpc_callbacks = { send_text, takes_more, on_hurry, on_moved };

static void on_stalled(struct ar_outbox *o)
{
	ar_byte_link_set_deadline(o->link, AR_DEADLINE_WRITE);
}

static void on_drained(struct ar_outbox *o)
{
	struct ar_ws *w = AR_CONTAINER_OF(o, struct ar_ws, out);

	ar_deadline_clear(&w->link->deadline);
	if (w->is_over) {
		linger(w);
		return;
	}
	ar_rpc_drained(&w->rpc);
	if (!w->rpc.is_draining)
		read_on(w);
	else if (ar_rpc_is_idle(&w->rpc))
		close_with(w, AR_WS_GOING_AWAY, AR_STR("the server is stopping"));
}

static void on_broken(struct ar_outbox *o)
{
	end_connection(AR_CONTAINER_OF(o, struct ar_ws, out), false);
}

static const struct ar_outbox_vtable out_callbacks = { on_stalled, on_drained, on_broken };

/* ---- deadlines ---- */

/* While we do not read, a pong cannot be seen: then it is the write that decides. */
static void on_life(struct ar_deadline *d)
{
	struct ar_ws *w = AR_CONTAINER_OF(d, struct ar_ws, life);

	if (d->kind == AR_DEADLINE_PONG && wants_more(w)) {
		w->link->server->counters.timeouts++;
		end_connection(w, true);
		return;
	}
	if (!w->out.is_writing)
		ar_ws_write_ping(ar_outbox_open(&w->out));
	ar_server_set_deadline(w->link->server, &w->life, AR_DEADLINE_PONG);
}

static void on_body_late(struct ar_deadline *d)
{
	struct ar_ws *w = AR_CONTAINER_OF(d, struct ar_ws, body);

	w->link->server->counters.timeouts++;
	close_with(w, AR_WS_POLICY, AR_STR("the message did not arrive in time"));
}

static void on_link_late(struct ar_deadline *d)
{
	struct ar_byte_link *l = AR_CONTAINER_OF(d, struct ar_byte_link, deadline);

	if (d->kind == AR_DEADLINE_WRITE) {
		l->server->counters.timeouts++;
		l->server->counters.streams_cut++;
	}
	end_connection(l->owner, d->kind == AR_DEADLINE_WRITE);
}

/* ---- the link ---- */

static void on_lost(struct ar_byte_link *l)
{
	end_connection(l->owner, false);
}

static void on_closed(struct ar_byte_link *l)
{
	struct ar_ws *w = l->owner;

	w->is_closed = true;
	release(w);
}

static void on_drain(struct ar_byte_link *l)
{
	struct ar_ws *w = l->owner;

	if (w->is_over)
		return;
	ar_byte_link_read_stop(l);
	ar_rpc_drain(&w->rpc);
	ar_outbox_wake(&w->out);
}

static const struct ar_byte_link_vtable link_callbacks = { on_bytes, on_lost, on_closed, on_drain, on_lost };

/* ---- the beginning ---- */

static void on_credentials_ended(struct ar_http_admission *a)
{
	close_with(a->owner, AR_WS_AUTH_FAILED, AR_STR("auth_failed"));
}

/* The request was authenticated; its principal makes every call of this connection. */
static void take_admission(struct ar_ws *w, struct ar_carrier *c)
{
	w->admission = c->admission;
	c->admission = NULL;
	ar_http_admission_watch(w->admission, on_credentials_ended, w);
}

static void take_link(struct ar_byte_link *l, struct ar_http_request *req, struct ar_str rest)
{
	struct ar_http_server *s = l->server;
	struct ar_ws *w = ar_new0(sizeof *w);

	w->link = l;
	w->codec = (struct ar_ws_codec){ .v = &codec_callbacks,
					 .spare = &s->ws_spare,
					 .cap = s->limits.body_bytes };
	ar_outbox_init(&w->out, &out_callbacks, l);
	take_admission(w, req->carrier);
	ar_rpc_init(&w->rpc, &rpc_callbacks, s, &l->source, w->admission ? &w->admission->who : NULL);
	ar_deadline_init(&w->life, on_life);
	ar_deadline_init(&w->body, on_body_late);
	l->deadline.expired = on_link_late;
	ar_byte_link_own(l, &link_callbacks, w);
	ar_byte_link_set_send_buffer(l, SEND_BUFFER);
	ar_ws_upgrade_write(ar_outbox_open(&w->out), req->head->ws_key, AR_WS_PROTOCOL, AR_STR_NONE);
	ar_outbox_wake(&w->out); /* reading begins when that is out */
	ar_server_set_deadline(s, &w->life, AR_DEADLINE_PING);
	if (rest.len)
		on_bytes(l, rest);
}

static void refuse_upgrade(struct ar_http_request *req, const struct ar_fault *f)
{
	if (f->status == 426) {
		ar_reply_add(&req->reply, "Upgrade", AR_STR("websocket"));
		ar_reply_add(&req->reply, "Sec-WebSocket-Version", AR_STR("13"));
	}
	ar_http_request_fault(req, f);
}

void ar_ws_open(struct ar_http_request *req)
{
	struct ar_carrier *c = req->carrier;
	struct ar_fault fault;

	if (c->source->is_peer)
		ar_http_request_refuse(req, AR_ERR_NOT_FOUND, "a node has to POST its commands", 0);
	else if (!c->v->upgrade)
		ar_http_request_refuse(req, AR_ERR_UNAVAILABLE, "open the WebSocket over HTTP/1.1", 0);
	else if (!ar_ws_upgrade_check(req->head, AR_WS_PROTOCOL, &fault))
		refuse_upgrade(req, &fault);
	else if (c->server->is_draining)
		ar_http_request_refuse(req, AR_ERR_OVERLOADED, "the server is stopping", 0);
	else
		c->v->upgrade(c, take_link);
}
