/* The connection: bytes of the link into nghttp2, its frames out again, gathered and written once per
 * turn of the loop. While the peer does not read what it was sent nothing of it is read either, so that
 * it cannot make us pile up answers. Owner: the loop thread. */
#include "h2/h2_conn.h"
#include "h2/h2_stream.h"
#include "mem.h"
#include "server.h"

#include <string.h>

#define GATHER_BYTES ((size_t)64 * 1024)
#define SEND_BUFFER (256 * 1024) /* in the kernel, for all streams of the connection */
#define MAX_OUTBOUND_ACKS 200
#define RESET_BURST 400 /* nghttp2's own limit, behind our budget */
#define RESET_RATE 100

struct ar_str ar_h2_preface(void)
{
	return (struct ar_str){ NGHTTP2_CLIENT_MAGIC, NGHTTP2_CLIENT_MAGIC_LEN };
}

void ar_h2_wake(struct ar_h2_conn *h)
{
	struct ar_http_server *s = h->link->server;

	if (h->is_closed || h->is_over)
		return;
	ar_list_del(&h->ready);
	ar_list_push(&s->h2.ready, &h->ready);
	ar_server_wake(s);
}

/* ---- the end ---- */

static void release(struct ar_h2_conn *h)
{
	struct ar_byte_link *l = h->link;

	if (!h->is_released || h->stream_count)
		return;
	nghttp2_session_del(h->session);
	ar_free(h->out);
	ar_free(h);
	ar_byte_link_free(l);
}

static void on_closed(struct ar_byte_link *l)
{
	struct ar_h2_conn *h = l->owner;

	h->is_released = true;
	release(h);
}

static void close_streams(struct ar_h2_conn *h)
{
	AR_LIST_FOR_SAFE (it, &h->streams) {
		struct ar_h2_stream *s = AR_CONTAINER_OF(it, struct ar_h2_stream, node);

		if (!s->is_gone)
			ar_h2_stream_close(s);
	}
}

static void close_conn(struct ar_h2_conn *h)
{
	if (h->is_closed)
		return;
	h->is_closed = true;
	ar_list_del(&h->ready);
	close_streams(h);
	ar_byte_link_close(h->link);
}

static void on_lost(struct ar_byte_link *l)
{
	close_conn(l->owner);
}

/* All is said: as an HTTP/1 connection lingers, so that the last bytes are not lost. */
static void finish(struct ar_h2_conn *h)
{
	h->is_over = true;
	ar_list_del(&h->ready);
	close_streams(h);
	if (!ar_byte_link_shutdown(h->link) || !ar_byte_link_read_start(h->link))
		close_conn(h);
	else
		ar_byte_link_set_deadline(h->link, AR_DEADLINE_LINGER);
}

static void wait_for_requests(struct ar_h2_conn *h)
{
	ar_byte_link_set_deadline(h->link,
				  h->is_authenticated ? AR_DEADLINE_KEEPALIVE : AR_DEADLINE_STRANGER);
}

void ar_h2_forget(struct ar_h2_conn *h)
{
	h->stream_count--;
	if (!h->stream_count && !h->is_closed && !h->is_over && !h->is_busy)
		wait_for_requests(h);
	release(h);
}

/* ---- callbacks of nghttp2 ---- */

static struct ar_h2_stream *stream_of(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *arg)
{
	struct ar_h2_conn *h = arg;
	uint64_t now = uv_now(h->link->server->loop);

	if (ar_h2_budget_pay(&h->budget, hd->type, hd->length, hd->flags & NGHTTP2_FLAG_END_STREAM, now))
		return 0;
	h->link->server->counters.refused++;
	nghttp2_session_terminate_session(session, NGHTTP2_ENHANCE_YOUR_CALM);
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* Streams that were reset while the core works for them still count: their work does. */
static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct ar_h2_conn *h = arg;
	struct ar_h2_stream *s;

	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	if (h->stream_count >= 2 * AR_H2_STREAMS)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (!h->is_busy)
		ar_deadline_clear(&h->link->deadline);
	s = ar_h2_stream_new(h, frame->hd.stream_id);
	nghttp2_session_set_stream_user_data(session, s->id, s);
	return 0;
}

/* size: the shape is nghttp2's */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags AR_UNUSED,
		     void *arg AR_UNUSED)
{
	struct ar_h2_stream *s = stream_of(session, frame->hd.stream_id);

	if (!s || frame->headers.cat != NGHTTP2_HCAT_REQUEST || !s->carrier.request)
		return 0;
	return ar_h2_stream_header(s, (struct ar_str){ (const char *)name, name_len },
				   (struct ar_str){ (const char *)value, value_len })
		       ? 0
		       : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg AR_UNUSED)
{
	struct ar_h2_stream *s = stream_of(session, frame->hd.stream_id);
	bool is_last = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

	if (!s)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		s->is_whole = is_last;
		ar_h2_stream_head(s, is_last);
	} else if ((frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS) && is_last) {
		ar_h2_stream_run(s);
	}
	return 0;
}

static int on_chunk(nghttp2_session *session, uint8_t flags AR_UNUSED, int32_t id, const uint8_t *p,
		    size_t len, void *arg AR_UNUSED)
{
	struct ar_h2_stream *s = stream_of(session, id);

	nghttp2_session_consume_connection(session, len);
	if (s)
		ar_h2_stream_body(s, (struct ar_str){ (const char *)p, len });
	if (!s || !s->held_bytes)
		nghttp2_session_consume_stream(session, id, len);
	return 0;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *arg AR_UNUSED)
{
	struct ar_h2_stream *s;

	if ((frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) ||
	    !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	s = stream_of(session, frame->hd.stream_id);
	if (s)
		ar_h2_stream_sent(s);
	return 0;
}

static int on_stream_closed(nghttp2_session *session, int32_t id, uint32_t error AR_UNUSED,
			    void *arg AR_UNUSED)
{
	struct ar_h2_stream *s = stream_of(session, id);

	if (s)
		ar_h2_stream_close(s);
	return 0;
}

void ar_h2_shared_init(struct ar_h2_shared *s)
{
	ar_list_init(&s->ready);
	AR_ASSERT(!nghttp2_session_callbacks_new(&s->callbacks) && !nghttp2_option_new(&s->option));
	nghttp2_session_callbacks_set_on_begin_frame_callback(s->callbacks, on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(s->callbacks, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(s->callbacks, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(s->callbacks, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(s->callbacks, on_chunk);
	nghttp2_session_callbacks_set_on_frame_send_callback(s->callbacks, on_frame_sent);
	nghttp2_session_callbacks_set_on_stream_close_callback(s->callbacks, on_stream_closed);
	nghttp2_option_set_no_auto_window_update(s->option, 1);
	nghttp2_option_set_no_closed_streams(s->option, 1);
	nghttp2_option_set_max_outbound_ack(s->option, MAX_OUTBOUND_ACKS);
	nghttp2_option_set_stream_reset_rate_limit(s->option, RESET_BURST, RESET_RATE);
}

void ar_h2_shared_fini(struct ar_h2_shared *s)
{
	nghttp2_session_callbacks_del(s->callbacks);
	nghttp2_option_del(s->option);
	ar_buf_fini(&s->out);
}

/* ---- writing ---- */

static void flush_one(struct ar_h2_conn *h);

static void go_on(struct ar_h2_conn *h)
{
	AR_LIST_FOR_SAFE (it, &h->streams) {
		struct ar_h2_stream *s = AR_CONTAINER_OF(it, struct ar_h2_stream, node);

		if (s->is_waiting)
			ar_h2_stream_go_on(s);
	}
}

static void on_written(struct ar_byte_link *l, int status)
{
	struct ar_h2_conn *h = l->owner;

	h->is_busy = false;
	ar_free(h->out);
	h->out = NULL;
	if (h->is_closed)
		return;
	if (status || !ar_byte_link_read_start(l)) {
		close_conn(h);
		return;
	}
	ar_deadline_clear(&l->deadline);
	if (!h->stream_count)
		wait_for_requests(h);
	go_on(h);
	ar_h2_wake(h);
}

/* The socket took `sent` bytes; the rest is written as the peer reads, and nothing else
 * happens until then. */
static void write_rest(struct ar_h2_conn *h, struct ar_str bytes)
{
	uv_buf_t buf;

	h->out = ar_str_dup(bytes);
	h->is_busy = true;
	buf = (uv_buf_t){ h->out, bytes.len };
	ar_byte_link_read_stop(h->link);
	ar_byte_link_set_deadline(h->link, AR_DEADLINE_WRITE);
	if (ar_byte_link_write(h->link, &buf, 1, on_written))
		close_conn(h);
}

/* Frames what the streams have; false: nghttp2 cannot go on. */
static bool gather(struct ar_h2_conn *h, struct ar_buf *out)
{
	while (out->len < GATHER_BYTES) {
		const uint8_t *p;
		ssize_t n = nghttp2_session_mem_send(h->session, &p);

		if (n <= 0)
			return n == 0;
		ar_buf_add(out, p, (size_t)n);
	}
	return true;
}

/* One gathering to the socket; false when there is no more to write, or no more can be written. */
static bool write_some(struct ar_h2_conn *h)
{
	struct ar_buf *out = &h->link->server->h2.out;
	uv_buf_t buf;
	int n;

	ar_buf_clear(out);
	if (!gather(h, out)) {
		close_conn(h);
		return false;
	}
	if (!out->len)
		return false;
	h->link->server->counters.h2_bytes += out->len;
	ar_h2_budget_earn(&h->budget, out->len);
	buf = (uv_buf_t){ out->p, out->len };
	n = ar_byte_link_try_write(h->link, &buf, 1);
	if (n < 0 && n != UV_EAGAIN) {
		close_conn(h);
		return false;
	}
	n = n < 0 ? 0 : n;
	if ((size_t)n < out->len)
		write_rest(h, ar_str_sub(ar_buf_str(out), (size_t)n, out->len));
	return (size_t)n == out->len;
}

static void tell_drained(struct ar_h2_conn *h)
{
	struct ar_list *node;

	while ((node = ar_list_pop(&h->drained)))
		ar_h2_stream_go_on(AR_CONTAINER_OF(node, struct ar_h2_stream, drained));
}

static void flush_one(struct ar_h2_conn *h)
{
	if (h->is_busy || h->is_closed || h->is_over)
		return;
	while (write_some(h))
		;
	if (h->is_closed)
		return;
	tell_drained(h);
	if (!h->is_busy && !nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session))
		finish(h);
}

void ar_h2_flush(struct ar_http_server *s)
{
	struct ar_list now, *node;

	ar_list_init(&now);
	ar_list_splice(&now, &s->h2.ready);
	while ((node = ar_list_pop(&now)))
		flush_one(AR_CONTAINER_OF(node, struct ar_h2_conn, ready));
}

/* ---- reading ---- */

static void on_bytes(struct ar_byte_link *l, struct ar_str bytes)
{
	struct ar_h2_conn *h = l->owner;
	ssize_t n;

	if (h->is_over || h->is_closed)
		return;
	n = nghttp2_session_mem_recv(h->session, (const uint8_t *)bytes.p, bytes.len);
	if (n >= 0) {
		ar_h2_wake(h);
		return;
	}
	nghttp2_session_terminate_session(h->session, NGHTTP2_ENHANCE_YOUR_CALM);
	flush_one(h);
	if (!h->is_closed && !h->is_over && !h->is_busy)
		finish(h);
	else if (h->is_busy)
		close_conn(h);
}

/* ---- deadlines ---- */

static void on_expired(struct ar_deadline *d)
{
	struct ar_h2_conn *h = AR_CONTAINER_OF(d, struct ar_byte_link, deadline)->owner;
	struct ar_http_counters *counters = &h->link->server->counters;

	counters->timeouts += d->kind == AR_DEADLINE_HEADER || d->kind == AR_DEADLINE_WRITE;
	if (d->kind == AR_DEADLINE_WRITE || d->kind == AR_DEADLINE_LINGER) {
		close_conn(h);
		return;
	}
	nghttp2_session_terminate_session(h->session, NGHTTP2_NO_ERROR);
	ar_h2_wake(h);
}

static void on_drain(struct ar_byte_link *l)
{
	struct ar_h2_conn *h = l->owner;

	if (h->is_closed || h->is_over)
		return;
	nghttp2_submit_goaway(h->session, NGHTTP2_FLAG_NONE,
			      nghttp2_session_get_last_proc_stream_id(h->session), NGHTTP2_NO_ERROR, NULL, 0);
	AR_LIST_FOR_SAFE (it, &h->streams) {
		struct ar_h2_stream *s = AR_CONTAINER_OF(it, struct ar_h2_stream, node);

		if (!s->is_gone)
			ar_carrier_drain(&s->carrier);
	}
	ar_h2_wake(h);
}

static const struct ar_byte_link_vtable link_callbacks = { on_bytes, on_lost, on_closed, on_drain, on_lost };

void ar_h2_open(struct ar_byte_link *l, struct ar_str rest)
{
	struct ar_http_server *server = l->server;
	struct ar_h2_conn *h = ar_new0(sizeof *h);
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, AR_H2_STREAMS },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)server->limits.head_bytes },
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
	};

	h->link = l;
	ar_list_init(&h->streams);
	ar_list_init(&h->drained);
	ar_list_init(&h->ready);
	ar_byte_link_own(l, &link_callbacks, h);
	l->deadline.expired = on_expired;
	AR_ASSERT(!nghttp2_session_server_new2(&h->session, server->h2.callbacks, h, server->h2.option));
	nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, settings, AR_ARRAY_LEN(settings));
	ar_byte_link_set_send_buffer(l, SEND_BUFFER);
	ar_byte_link_set_deadline(l, AR_DEADLINE_HEADER);
	server->counters.h2_connections++;
	ar_h2_wake(h);
	if (rest.len)
		on_bytes(l, rest);
	if (!h->is_closed && !h->is_over && !ar_byte_link_read_start(l))
		close_conn(h);
}
