/* An HTTP/1 connection: bytes in, requests one after the other, replies out in order. While a
 * request is answered at most one read is taken, so a peer that pipelines is held back by its
 * own socket. What a request means is decided in request.c, the body of a stream is
 * h1_stream.c's. Owner: the loop thread. */
#include "h1/h1_conn.h"
#include "mem.h"
#include "peer/forward.h"
#include "server.h"

#include <string.h>

static void set_deadline(struct ar_conn *c, enum ar_deadline_kind kind)
{
	ar_byte_link_set_deadline(c->link, kind);
}

void ar_conn_drop_request(struct ar_conn *c)
{
	if (!c->carrier.request)
		return;
	c->is_authenticated = c->is_authenticated || c->carrier.request->is_authenticated;
	ar_h1_request_end(ar_h1_request_of(c));
	c->carrier.request = NULL;
}

/* ---- the end ---- */

static void release(struct ar_conn *c)
{
	struct ar_byte_link *l = c->link;

	if (!c->is_released || !ar_carrier_fini(&c->carrier))
		return;
	ar_conn_drop_request(c);
	ar_h1_held_free(c->held);
	ar_free(c->again);
	ar_buf_fini(&c->pending);
	ar_free(c);
	ar_byte_link_free(l);
}

static void on_released(struct ar_carrier *carrier)
{
	release(ar_conn_of(carrier));
}

static void on_closed(struct ar_byte_link *l)
{
	struct ar_conn *c = l->owner;

	c->is_released = true;
	release(c);
}

void ar_conn_close(struct ar_conn *c)
{
	if (c->state == AR_CONN_CLOSED)
		return;
	c->state = AR_CONN_CLOSED;
	ar_carrier_stop(&c->carrier);
	ar_byte_link_close(c->link);
}

void ar_conn_linger(struct ar_conn *c)
{
	if (!ar_byte_link_shutdown(c->link)) {
		ar_conn_close(c);
		return;
	}
	c->state = AR_CONN_LINGERING;
	ar_buf_fini(&c->pending);
	set_deadline(c, ar_byte_link_is_flushed(c->link) ? AR_DEADLINE_LINGER : AR_DEADLINE_WRITE);
	ar_conn_read_start(c);
}

/* ---- giving the link away ---- */

/* The request may still be looked at by the one who takes the link; then nothing of ours is left. */
static void give_link_away(struct ar_conn *c, struct ar_str rest)
{
	ar_deadline_clear(&c->link->deadline);
	ar_byte_link_read_stop(c->link);
	c->take(c->link, c->carrier.request, rest);
	ar_conn_drop_request(c);
	ar_free(c->again);
	ar_buf_fini(&c->pending);
	ar_free(c);
}

static void upgrade(struct ar_carrier *carrier, ar_takeover_fn *take)
{
	struct ar_conn *c = ar_conn_of(carrier);

	c->take = take;
	c->state = AR_CONN_LEAVING;
	if (!c->is_pumping)
		give_link_away(c, ar_buf_str(&c->pending));
}

/* ---- reading ---- */

/* A socket that cannot take 25 bytes belongs to a peer that does not read its earlier replies. */
static bool go_on(struct ar_conn *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	uv_buf_t buf = uv_buf_init((char *)text, sizeof text - 1);

	if (ar_byte_link_try_write(c->link, &buf, 1) == (int)buf.len)
		return true;
	ar_conn_close(c);
	return false;
}

static bool answer_expect(struct ar_conn *c)
{
	const struct ar_h1 *h1 = &ar_h1_request_of(c)->h1;

	if (ar_str_absent(h1->head.expect) || h1->head.is_1_0)
		return true;
	if (ar_is_word(h1->head.expect, "100-continue"))
		return !ar_h1_awaits_body(h1) || go_on(c);
	ar_http_request_fault(c->carrier.request,
			      &(struct ar_fault){ 417, "the only supported Expect is 100-continue" });
	return false;
}

#define MISSES 8 /* so many other heads in a row, and the next one is kept instead */

/* From the second request on: most connections have one. */
static void remember_head(struct ar_conn *c, const struct ar_h1 *h1)
{
	bool is_first = !c->is_kept;

	c->is_kept = true;
	if (is_first || (c->again && ++c->again->misses < MISSES))
		return;
	ar_free(c->again);
	c->again = ar_h1_again_new(h1, c->carrier.source->is_peer);
}

static void run_request(struct ar_conn *c, struct ar_h1_request *r)
{
	ar_deadline_clear(&c->link->deadline);
	c->state = AR_CONN_ANSWERING;
	r->base.content = ar_buf_str(&r->h1.body);
	r->base.content_buf = &r->h1.body;
	ar_http_request_run(&r->base);
}

/* A body that came with its head is read before anything is said, so that a refusal need not end
 * the connection; what is still to come is asked for when the caller is known. */
static bool admit_body(struct ar_conn *c, size_t there)
{
	const struct ar_h1 *h1 = &ar_h1_request_of(c)->h1;

	if (h1->is_done || (!h1->head.is_chunked && h1->head.length <= there))
		return answer_expect(c);
	if (ar_http_request_admit(c->carrier.request))
		return answer_expect(c);
	if (c->state == AR_CONN_READING) { /* nothing was said yet */
		ar_deadline_clear(&c->link->deadline);
		c->state = AR_CONN_ANSWERING;
	}
	return false;
}

/* Lets the codec take what it wants; false when the connection is not to be read on now. */
static bool feed_codec(struct ar_conn *c, struct ar_str bytes, size_t *ret_used)
{
	struct ar_h1_request *r = ar_h1_request_of(c);

	switch (ar_h1_feed(&r->h1, bytes, ret_used)) {
	case AR_H1_MORE:
		return ar_http_request_may_grow(&r->base, *ret_used, r->h1.body.len);
	case AR_H1_HEAD:
		set_deadline(c, AR_DEADLINE_BODY);
		return ar_http_request_check(&r->base) && admit_body(c, bytes.len - *ret_used);
	case AR_H1_DONE:
		remember_head(c, &r->h1);
		run_request(c, r);
		return true;
	case AR_H1_BAD:
		ar_http_request_fault(&r->base, &r->h1.fault);
		return false;
	}
	return false;
}

static bool wants_bytes(const struct ar_conn *c)
{
	return c->state == AR_CONN_IDLE || c->state == AR_CONN_READING;
}

static void begin_request(struct ar_conn *c)
{
	c->carrier.request = &ar_h1_request_begin(&c->carrier)->base;
	c->state = AR_CONN_READING;
	set_deadline(c, AR_DEADLINE_HEADER);
}

/* A request with the head that is known, all of it at the start of the bytes: 0 when it is none.
 * Where it comes from and what it brings was judged with the first; but the names of a
 * certificate may have changed. */
static size_t run_again(struct ar_conn *c, struct ar_str bytes)
{
	struct ar_h1_again *again = c->again;
	size_t len = again ? ar_h1_again_length(again, bytes) : 0;
	struct ar_h1_request *r;

	if (!len)
		return 0;
	again->misses = 0;
	r = ar_h1_request_begin(&c->carrier);
	c->carrier.request = &r->base;
	r->base.head = &again->head.request;
	r->base.target = again->target;
	r->base.route = again->route;
	ar_h1_take(&r->h1, ar_str_sub(bytes, again->len, len - again->len));
	if (!c->link->tls || ar_http_request_check(&r->base))
		run_request(c, r);
	return len;
}

static bool has_whole_request(struct ar_conn *c)
{
	return c->carrier.request && ar_h1_request_of(c)->h1.is_done;
}

/* Reads requests from the bytes for as long as they are answered at once; returns how many bytes were
 * taken. */
static size_t read_requests(struct ar_conn *c, struct ar_str bytes)
{
	size_t at = 0, used;
	bool is_going_on = true;

	c->is_pumping = true;
	while (is_going_on && wants_bytes(c) && (at < bytes.len || has_whole_request(c))) {
		used = c->state == AR_CONN_IDLE ? run_again(c, ar_str_sub(bytes, at, bytes.len)) : 0;
		at += used;
		if (used)
			continue;
		if (c->state == AR_CONN_IDLE)
			begin_request(c);
		is_going_on = feed_codec(c, ar_str_sub(bytes, at, bytes.len), &used);
		at += used;
	}
	c->is_pumping = false;
	return at;
}

/* After a reply: what came in behind the request, then the socket again. */
static void resume(struct ar_conn *c)
{
	struct ar_buf bytes = c->pending;

	c->pending = (struct ar_buf){ 0 };
	if (bytes.len)
		ar_buf_eat(&bytes, read_requests(c, ar_buf_str(&bytes)));
	if (bytes.len && (c->state == AR_CONN_ANSWERING || c->state == AR_CONN_LEAVING))
		c->pending = bytes;
	else
		ar_buf_fini(&bytes);
	if (c->state == AR_CONN_LEAVING)
		give_link_away(c, ar_buf_str(&c->pending));
	else if (wants_bytes(c))
		ar_conn_read_start(c);
}

static void on_admitted(struct ar_carrier *carrier)
{
	struct ar_conn *c = ar_conn_of(carrier);

	c->state = AR_CONN_READING;
	set_deadline(c, AR_DEADLINE_BODY);
	if (answer_expect(c))
		resume(c);
}

static void take_h2(struct ar_byte_link *l, struct ar_http_request *req AR_UNUSED, struct ar_str rest)
{
	ar_h2_open(l, rest);
}

/* The first bytes: the preface of HTTP/2, the beginning of it, or anything else. True when
 * they need no more care here. */
static bool sniff_preface(struct ar_conn *c, struct ar_str bytes)
{
	struct ar_str preface = ar_h2_preface();
	size_t len;

	ar_buf_adds(&c->pending, bytes);
	len = c->pending.len < preface.len ? c->pending.len : preface.len;
	if (memcmp(c->pending.p, preface.p, len) == 0) {
		if (len == preface.len) {
			c->take = take_h2;
			give_link_away(c, ar_buf_str(&c->pending));
		}
		return true;
	}
	c->is_known = true;
	resume(c);
	return true;
}

/* Nearly always the first byte decides. */
static bool is_sniffed(struct ar_conn *c, struct ar_str bytes)
{
	if (c->is_known)
		return false;
	if (c->pending.len || bytes.p[0] == ar_h2_preface().p[0])
		return sniff_preface(c, bytes);
	c->is_known = true;
	return false;
}

/* What comes behind a request waits for its answer, and the socket is not read on. */
static void hold_bytes(struct ar_conn *c, struct ar_str bytes)
{
	ar_buf_adds(&c->pending, bytes);
	ar_byte_link_read_stop(c->link);
}

/* Nearly always nothing comes before the answer is out: then to stop and to start reading would cost
 * two system calls for nothing, so it is stopped only with the first bytes that come too early. Not so
 * under TLS, where the end of what the peer says must not be read before the answer is written. */
static void on_bytes(struct ar_byte_link *l, struct ar_str bytes)
{
	struct ar_conn *c = l->owner;
	size_t used;

	if (c->state == AR_CONN_ANSWERING) {
		hold_bytes(c, bytes);
		return;
	}
	if (!wants_bytes(c) || is_sniffed(c, bytes))
		return;
	used = read_requests(c, bytes);
	bytes = ar_str_sub(bytes, used, bytes.len);
	if (c->state == AR_CONN_LEAVING) {
		give_link_away(c, bytes);
		return;
	}
	if (c->state == AR_CONN_ANSWERING && (bytes.len || l->tls))
		hold_bytes(c, bytes);
}

static void on_abort(struct ar_byte_link *l)
{
	ar_conn_close(l->owner);
}

/* A peer that has nothing more to say still wants its answer. If it is gone altogether, writing finds
 * out; but nobody looks for the owner of a session any longer for one who is likely gone. */
static void on_lost(struct ar_byte_link *l)
{
	struct ar_conn *c = l->owner;

	if (c->state != AR_CONN_ANSWERING || l->tls || ar_settle_is_waiting(c->carrier.request))
		ar_conn_close(c);
}

void ar_conn_read_start(struct ar_conn *c)
{
	if (c->state != AR_CONN_CLOSED && !ar_byte_link_read_start(c->link))
		ar_conn_close(c);
}

/* ---- replying ---- */

static bool is_last(const struct ar_conn *c, const struct ar_h1_request *r)
{
	return r->base.reply.is_close || !r->h1.is_keepalive || c->carrier.server->is_draining;
}

static void reply_sent(struct ar_conn *c)
{
	bool is_over = is_last(c, ar_h1_request_of(c));

	ar_conn_drop_request(c);
	if (is_over) {
		ar_conn_linger(c);
		return;
	}
	c->state = AR_CONN_IDLE;
	set_deadline(c, c->is_authenticated ? AR_DEADLINE_KEEPALIVE : AR_DEADLINE_STRANGER);
	if (!c->is_pumping)
		resume(c);
}

static void on_written(struct ar_byte_link *l, int status)
{
	struct ar_conn *c = l->owner;

	if (c->state == AR_CONN_CLOSED)
		return;
	if (status)
		ar_conn_close(c);
	else
		reply_sent(c);
}

/* The kernel took `sent` bytes of the two; the rest is written as the peer reads. */
static void write_rest(struct ar_conn *c, uv_buf_t bufs[2], size_t sent)
{
	unsigned first = sent >= bufs[0].len;

	sent -= first ? bufs[0].len : 0;
	bufs[first].base += sent;
	bufs[first].len -= sent;
	set_deadline(c, AR_DEADLINE_WRITE);
	if (ar_byte_link_write(c->link, bufs + first, 2 - first, on_written))
		ar_conn_close(c);
}

static void reply(struct ar_carrier *carrier)
{
	struct ar_conn *c = ar_conn_of(carrier);
	struct ar_h1_request *r = ar_h1_request_of(c);
	struct ar_str body = r->base.reply.body;
	uv_buf_t bufs[2];
	int sent;

	r->head_len = ar_h1_reply_format(&r->base.reply, is_last(c, r), r->head, sizeof r->head);
	bufs[0] = uv_buf_init(r->head, (unsigned)r->head_len);
	bufs[1] = (uv_buf_t){ (char *)body.p, body.len };
	c->state = AR_CONN_ANSWERING;
	ar_deadline_clear(&c->link->deadline);
	carrier->server->counters.bytes_sent += r->head_len + body.len;
	sent = ar_byte_link_try_write(c->link, bufs, 2);
	if (sent < 0 && sent != UV_EAGAIN)
		ar_conn_close(c);
	else if (sent >= 0 && (size_t)sent == r->head_len + body.len)
		reply_sent(c);
	else
		write_rest(c, bufs, sent < 0 ? 0 : (size_t)sent);
}

/* ---- deadlines ---- */

static void expire_request(struct ar_conn *c)
{
	c->carrier.server->counters.timeouts++;
	if (!c->carrier.request) {
		ar_conn_close(c);
		return;
	}
	ar_byte_link_read_stop(c->link);
	ar_http_request_fault(c->carrier.request,
			      &(struct ar_fault){ 408, "the request did not arrive in time" });
}

static void expire_write(struct ar_conn *c)
{
	c->carrier.server->counters.timeouts++;
	c->carrier.server->counters.streams_cut += c->state == AR_CONN_STREAMING;
	c->carrier.is_stuck = true;
	ar_conn_close(c);
}

static void on_expired(struct ar_deadline *d)
{
	struct ar_conn *c = AR_CONTAINER_OF(d, struct ar_byte_link, deadline)->owner;

	if (d->kind == AR_DEADLINE_HEADER || d->kind == AR_DEADLINE_BODY)
		expire_request(c);
	else if (d->kind == AR_DEADLINE_WRITE)
		expire_write(c);
	else if (d->kind == AR_DEADLINE_HEARTBEAT)
		ar_h1_stream_beat(c);
	else
		ar_conn_close(c);
}

/* ---- the beginning ---- */

static void on_drain(struct ar_byte_link *l)
{
	struct ar_conn *c = l->owner;

	if (c->state == AR_CONN_IDLE)
		ar_conn_close(c);
	else
		ar_carrier_drain(&c->carrier);
}

static const struct ar_byte_link_vtable link_callbacks = { on_bytes, on_lost, on_closed, on_drain, on_abort };

static const struct ar_carrier_vtable carrier_callbacks = {
	.reply = reply,
	.admitted = on_admitted,
	.stream_begin = ar_h1_stream_begin,
	.stream_frames = ar_h1_stream_frames,
	.stream_bytes = ar_h1_stream_bytes,
	.stream_end = ar_h1_stream_end,
	.released = on_released,
	.upgrade = upgrade,
};

void ar_conn_open(struct ar_byte_link *l)
{
	struct ar_conn *c = ar_new0(sizeof *c);

	c->carrier =
		(struct ar_carrier){ .v = &carrier_callbacks, .server = l->server, .source = &l->source };
	c->link = l;
	c->is_known = l->source.is_tls || l->source.is_peer;
	l->deadline.expired = on_expired;
	ar_byte_link_own(l, &link_callbacks, c);
	set_deadline(c, AR_DEADLINE_HEADER);
	ar_conn_read_start(c);
}
