/* See worker_link.h. Frames are ws_codec.c's; here is the life of the connection: a ping now and then, whose
 * pong has a deadline, deadlines for a message that has begun and for output that is not read, and the close
 * on either side. All frames leave in the order of one queue, of which a piece at a time is given to the
 * outbox: a slow line has a deadline for each piece, and not one for all that waits. Owner: the loop
 * thread. */
#include "ws/worker_link.h"
#include "admission.h"
#include "link.h"
#include "mem.h"
#include "request.h"
#include "rpc/outbox.h"
#include "server.h"
#include "ws/ws_upgrade.h"
#include "ws_codec.h"

#define SEND_BUFFER (256 * 1024) /* in the kernel: else a stuck reader is noticed late */
#define PIECE_BYTES ((size_t)128 * 1024)

struct worker_link {
	struct ar_outbox out; /* first: see outbox.c */
	struct ar_link port;
	struct ar_ws_codec codec;
	struct ar_byte_link *bytes; /* its deadline: of the output, then of the close */
	struct ar_deadline life; /* ping and pong */
	struct ar_deadline body; /* of a message that has begun */
	struct ar_buf queue; /* behind what the outbox has */
	struct ar_http_admission *admission;
	bool is_owned; /* the owner has neither closed it nor heard of its end */
	bool is_over; /* our close frame is in the queue, or the connection is lost */
	bool has_sent; /* the owner waits for on_drained */
};

static struct worker_link *of_port(const struct ar_link *l)
{
	return AR_CONTAINER_OF(l, struct worker_link, port);
}

/* ---- the end ---- */

/* Not from within a call of the owner. */
static void part(struct worker_link *w, struct ar_str why)
{
	if (!w->is_owned)
		return;
	w->is_owned = false;
	w->port.on_close(w->port.arg, why);
}

static void end_connection(struct worker_link *w, struct ar_str why)
{
	w->is_over = true;
	ar_deadline_clear(&w->life);
	ar_deadline_clear(&w->body);
	ar_buf_fini(&w->queue);
	ar_byte_link_close(w->bytes);
	part(w, why);
}

/* Our close frame is the last in the queue. A peer that does not read has a short while to take it. */
static void fall_silent(struct worker_link *w)
{
	w->is_over = true;
	ar_deadline_clear(&w->life);
	ar_deadline_clear(&w->body);
	ar_byte_link_set_deadline(w->bytes, AR_DEADLINE_LINGER);
	ar_outbox_wake(&w->out);
}

static void close_with(struct worker_link *w, unsigned code, struct ar_str reason)
{
	if (w->is_over)
		return;
	ar_ws_write_close(&w->queue, code, reason);
	fall_silent(w);
	part(w, reason);
}

/* Waits a little for the peer's end, so that our last bytes are not lost. */
static void linger(struct worker_link *w)
{
	if (!ar_byte_link_shutdown(w->bytes) || !ar_byte_link_read_start(w->bytes))
		end_connection(w, AR_STR("the connection is lost"));
	else
		ar_byte_link_set_deadline(w->bytes, AR_DEADLINE_LINGER);
}

/* ---- input ---- */

static void on_message(struct ar_ws_codec *c, struct ar_str message)
{
	struct worker_link *w = AR_CONTAINER_OF(c, struct worker_link, codec);

	if (!w->is_over && w->is_owned)
		w->port.on_message(w->port.arg, message);
}

static void on_pong(struct ar_ws_codec *c)
{
	struct worker_link *w = AR_CONTAINER_OF(c, struct worker_link, codec);

	if (!w->is_over)
		ar_server_set_deadline(w->bytes->server, &w->life, AR_DEADLINE_PING);
}

static bool takes_more(struct ar_ws_codec *c)
{
	return !AR_CONTAINER_OF(c, struct worker_link, codec)->is_over;
}

static const struct ar_ws_codec_vtable codec_callbacks = { on_message, on_pong, takes_more };

/* A message that has begun has to arrive in time, however slowly it comes. */
static void watch_body(struct worker_link *w)
{
	if (!ar_ws_is_amid(&w->codec))
		ar_deadline_clear(&w->body);
	else if (ar_list_empty(&w->body.node))
		ar_server_set_deadline(w->bytes->server, &w->body, AR_DEADLINE_BODY);
}

static void on_bytes(struct ar_byte_link *l, struct ar_str bytes)
{
	struct worker_link *w = l->owner;
	size_t before = w->queue.len, used;
	struct ar_buf out = { 0 };
	bool goes_on;

	if (w->is_over)
		return;
	goes_on = ar_ws_feed(&w->codec, bytes, &out, &used);
	if (w->is_over) { /* the owner has closed it in a message */
		ar_buf_fini(&out);
		return;
	}
	ar_buf_adds(&w->queue, ar_buf_str(&out));
	ar_buf_fini(&out);
	if (w->queue.len > before)
		ar_outbox_wake(&w->out);
	if (!goes_on) {
		l->server->counters.refused++;
		fall_silent(w);
		part(w, AR_STR("the worker has closed the link, or broken its rules"));
	} else if (!ar_server_has_room(l->server, used, w->codec.message.len)) {
		close_with(w, AR_WS_TRY_LATER, AR_STR("the server is short of memory"));
	} else {
		watch_body(w);
	}
}

/* ---- output ---- */

static size_t count_waiting(const struct worker_link *w)
{
	return w->queue.len + w->out.next.len + w->out.writing.len;
}

static size_t waiting(const struct ar_link *l)
{
	return count_waiting(of_port(l));
}

/* The owner learns of an overflow by the answer; on_close follows when the connection is closed. */
static enum ar_status send_message(struct ar_link *l, struct ar_str message)
{
	struct worker_link *w = of_port(l);

	if (w->is_over || !w->is_owned)
		return AR_E_UNAVAILABLE;
	if (message.len > AR_LINK_MESSAGE_MAX)
		return AR_E_LIMIT;
	if (count_waiting(w) + message.len > AR_LINK_QUEUE_MAX) {
		w->is_over = true;
		ar_byte_link_close(w->bytes);
		return AR_E_LIMIT;
	}
	ar_ws_write_binary(&w->queue, message);
	w->has_sent = true;
	ar_outbox_wake(&w->out);
	return AR_OK;
}

static void close_link(struct ar_link *l, struct ar_str why)
{
	struct worker_link *w = of_port(l);

	w->is_owned = false;
	if (w->is_over)
		return;
	ar_ws_write_close(&w->queue, AR_WS_NORMAL, why);
	fall_silent(w);
}

static const struct ar_link_vtable port_vtable = { send_message, waiting, close_link };

static void on_stalled(struct ar_outbox *o)
{
	struct worker_link *w = AR_CONTAINER_OF(o, struct worker_link, out);

	if (!w->is_over)
		ar_byte_link_set_deadline(o->link, AR_DEADLINE_WRITE);
}

static void send_piece(struct worker_link *w)
{
	size_t len = w->queue.len < PIECE_BYTES ? w->queue.len : PIECE_BYTES;

	ar_buf_adds(ar_outbox_open(&w->out), ar_str_sub(ar_buf_str(&w->queue), 0, len));
	if (len == w->queue.len)
		ar_buf_fini(&w->queue);
	else
		ar_buf_eat(&w->queue, len);
}

static void on_drained(struct ar_outbox *o)
{
	struct worker_link *w = AR_CONTAINER_OF(o, struct worker_link, out);

	if (!w->is_over)
		ar_deadline_clear(&w->bytes->deadline);
	if (w->queue.len) {
		send_piece(w);
	} else if (w->is_over) {
		linger(w);
	} else if (!ar_byte_link_read_start(w->bytes)) {
		end_connection(w, AR_STR("the connection is lost"));
	} else if (w->has_sent) {
		w->has_sent = false;
		if (w->port.on_drained)
			w->port.on_drained(w->port.arg);
	}
}

static void on_broken(struct ar_outbox *o)
{
	end_connection(AR_CONTAINER_OF(o, struct worker_link, out), AR_STR("the connection is lost"));
}

static const struct ar_outbox_vtable out_callbacks = { on_stalled, on_drained, on_broken };

/* ---- deadlines ---- */

/* Behind what waits a ping would come late: then it is the write that decides. */
static void on_life(struct ar_deadline *d)
{
	struct worker_link *w = AR_CONTAINER_OF(d, struct worker_link, life);
	struct ar_http_server *s = w->bytes->server;

	if (count_waiting(w) > 0) {
		ar_server_set_deadline(s, d, AR_DEADLINE_PING);
		return;
	}
	if (d->kind == AR_DEADLINE_PONG) {
		s->counters.timeouts++;
		end_connection(w, AR_STR("the worker does not answer"));
		return;
	}
	ar_ws_write_ping(&w->queue);
	ar_outbox_wake(&w->out);
	ar_server_set_deadline(s, d, AR_DEADLINE_PONG);
}

static void on_body_late(struct ar_deadline *d)
{
	struct worker_link *w = AR_CONTAINER_OF(d, struct worker_link, body);

	w->bytes->server->counters.timeouts++;
	close_with(w, AR_WS_POLICY, AR_STR("the message did not arrive in time"));
}

static void on_bytes_late(struct ar_deadline *d)
{
	struct ar_byte_link *l = AR_CONTAINER_OF(d, struct ar_byte_link, deadline);

	if (d->kind == AR_DEADLINE_WRITE)
		l->server->counters.timeouts++;
	end_connection(l->owner, AR_STR("the worker does not read"));
}

/* ---- the bytes below ---- */

static void on_lost(struct ar_byte_link *l)
{
	end_connection(l->owner, AR_STR("the connection is lost"));
}

static void on_closed(struct ar_byte_link *l)
{
	struct worker_link *w = l->owner;

	part(w, AR_STR("more waits than the worker reads"));
	ar_deadline_clear(&w->life);
	ar_deadline_clear(&w->body);
	ar_outbox_fini(&w->out);
	ar_ws_codec_fini(&w->codec);
	ar_buf_fini(&w->queue);
	ar_http_admission_free(w->admission);
	ar_free(w);
	ar_byte_link_free(l);
}

static void on_drain(struct ar_byte_link *l)
{
	close_with(l->owner, AR_WS_GOING_AWAY, AR_STR("the server is stopping"));
}

static const struct ar_byte_link_vtable link_callbacks = { on_bytes, on_lost, on_closed, on_drain, on_lost };

/* ---- the beginning ---- */

static void on_credentials_ended(struct ar_http_admission *a)
{
	close_with(a->owner, AR_WS_AUTH_FAILED, AR_STR("auth_failed"));
}

static struct worker_link *make_link(struct ar_byte_link *l, struct ar_carrier *c)
{
	struct worker_link *w = ar_new0(sizeof *w);

	w->bytes = l;
	w->port.v = &port_vtable;
	w->is_owned = true;
	w->codec = (struct ar_ws_codec){ .v = &codec_callbacks,
					 .spare = &l->server->ws_spare,
					 .cap = AR_LINK_MESSAGE_MAX,
					 .is_binary = true };
	w->admission = c->admission;
	c->admission = NULL;
	ar_outbox_init(&w->out, &out_callbacks, l);
	ar_deadline_init(&w->life, on_life);
	ar_deadline_init(&w->body, on_body_late);
	l->deadline.expired = on_bytes_late;
	ar_byte_link_own(l, &link_callbacks, w);
	ar_byte_link_set_send_buffer(l, SEND_BUFFER);
	return w;
}

/* The owner sets its callbacks before anything is read. */
static void take_bytes(struct ar_byte_link *l, struct ar_http_request *req, struct ar_str rest)
{
	struct ar_http_server *s = l->server;
	struct worker_link *w = make_link(l, req->carrier);

	ar_ws_upgrade_write(&w->queue, req->head->ws_key, AR_WS_WORKER_PROTOCOL,
			    s->workers.node ? s->workers.node(s->workers.arg) : AR_STR_NONE);
	ar_outbox_wake(&w->out);
	ar_server_set_deadline(s, &w->life, AR_DEADLINE_PING);
	s->workers.take(s->workers.arg,
			&(struct ar_http_worker){ .id = w->admission->who.worker,
						  .tenant = w->admission->who.tenant },
			&w->port);
	ar_http_admission_watch(w->admission, on_credentials_ended, w);
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

/* No page of a browser is a worker, whatever it knows: a token in a subprotocol does not count here. */
static bool is_worker(const struct ar_http_request *req)
{
	const struct ar_principal *who = req->carrier->who;

	return who && req->carrier->admission && !ar_str_absent(who->worker) && !who->is_enrolment &&
	       (who->rights & AR_RIGHT_WORKER) && ar_str_absent(req->head->origin) &&
	       !ar_str_absent(req->head->authorization);
}

void ar_worker_link_open(struct ar_http_request *req)
{
	struct ar_carrier *c = req->carrier;
	struct ar_fault fault;

	if (!is_worker(req))
		ar_http_request_refuse(
			req, AR_ERR_NOT_AUTHORIZED,
			"this path is for workers: a process that shows the token which it got "
			"by enrol_worker, and no web page",
			0);
	else if (!c->v->upgrade)
		ar_http_request_refuse(req, AR_ERR_UNAVAILABLE, "open the WebSocket over HTTP/1.1", 0);
	else if (!ar_ws_upgrade_check(req->head, AR_WS_WORKER_PROTOCOL, &fault))
		refuse_upgrade(req, &fault);
	else if (c->server->is_draining)
		ar_http_request_refuse(req, AR_ERR_OVERLOADED, "the server is stopping", 0);
	else
		c->v->upgrade(c, take_bytes);
}
