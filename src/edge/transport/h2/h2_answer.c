/* The answer side of a stream: a reply, or events for as long as they come. nghttp2 asks for bytes
 * when the windows and the socket allow; it is told that there are none yet when the stream has
 * nothing. Owner: the loop thread. */
#include "h2/h2_stream.h"
#include "mem.h"
#include "server.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define HELD_BYTES ((size_t)64 * 1024) /* of frames by reference; more stays in the log */
#define HELD_FRAMES 256
#define MAX_NAME 48

static void set_deadline(struct ar_h2_stream *s, enum ar_deadline_kind kind)
{
	ar_server_set_deadline(s->carrier.server, &s->deadline, kind);
}

static void drop_frames(struct ar_h2_stream *s)
{
	for (uint32_t i = s->frame_at; i < s->frame_count; i++)
		ar_frame_unref(s->frames[i]);
	ar_free(s->frames);
	s->frames = NULL;
	s->frame_count = s->frame_at = 0;
	s->byte_at = 0;
}

static void drop_text(struct ar_h2_stream *s)
{
	ar_free(s->text);
	s->text = NULL;
	s->text_len = s->text_at = 0;
	s->is_text_last = false;
}

void ar_h2_answer_fini(struct ar_h2_stream *s)
{
	drop_frames(s);
	drop_text(s);
}

/* ---- what nghttp2 asks for ---- */

static bool has_bytes(const struct ar_h2_stream *s)
{
	return s->text_at < s->text_len || s->frame_at < s->frame_count;
}

static size_t take_text(struct ar_h2_stream *s, uint8_t *room, size_t size)
{
	size_t n = s->text_len - s->text_at < size ? s->text_len - s->text_at : size;

	if (n)
		memcpy(room, s->text + s->text_at, n);
	s->text_at += n;
	return n;
}

static size_t take_frame(struct ar_h2_stream *s, uint8_t *room, size_t size)
{
	struct ar_frame *f = s->frames[s->frame_at];
	size_t left = f->sse.len - s->byte_at, n = left < size ? left : size;

	memcpy(room, f->sse.p + s->byte_at, n);
	s->byte_at += n;
	if (n == left) {
		ar_frame_unref(f);
		s->frame_at++;
		s->byte_at = 0;
	}
	return n;
}

/* Everything is out: the idle time begins, and the writer of the stream is notified after the flush. */
static void begin_silence(struct ar_h2_stream *s)
{
	drop_frames(s);
	drop_text(s);
	if (s->carrier.sse || s->carrier.a2a)
		set_deadline(s, AR_DEADLINE_HEARTBEAT);
	else
		ar_deadline_clear(&s->deadline);
	if (!s->is_stalled)
		return;
	ar_list_del(&s->drained);
	ar_list_push(&s->conn->drained, &s->drained);
}

/* size: the shape is nghttp2's */
static ssize_t read_events(nghttp2_session *session AR_UNUSED, int32_t id AR_UNUSED, uint8_t *room,
			   size_t size, uint32_t *flags, nghttp2_data_source *source, void *arg AR_UNUSED)
{
	struct ar_h2_stream *s = source->ptr;
	size_t n = s->is_text_last ? 0 : take_text(s, room, size);

	while (n < size && s->frame_at < s->frame_count)
		n += take_frame(s, room + n, size - n);
	if (s->is_text_last && s->frame_at == s->frame_count)
		n += take_text(s, room + n, size - n);
	if (has_bytes(s))
		return (ssize_t)n;
	if (s->is_ending) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
		return (ssize_t)n;
	}
	begin_silence(s);
	return n ? (ssize_t)n : NGHTTP2_ERR_DEFERRED;
}

/* size: the shape is nghttp2's */
static ssize_t read_body(nghttp2_session *session AR_UNUSED, int32_t id AR_UNUSED, uint8_t *room, size_t size,
			 uint32_t *flags, nghttp2_data_source *source, void *arg AR_UNUSED)
{
	struct ar_h2_stream *s = source->ptr;
	struct ar_str body = s->carrier.request->reply.body;
	size_t left = body.len - s->byte_at, n = left < size ? left : size;

	memcpy(room, body.p + s->byte_at, n);
	s->byte_at += n;
	if (n == left)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

/* ---- heads ---- */

struct head {
	nghttp2_nv fields[AR_REPLY_HEADERS + 6];
	size_t count;
	char names[AR_REPLY_HEADERS][MAX_NAME];
	char status[8], length[24];
};

static void add(struct head *h, const char *name, struct ar_str value)
{
	h->fields[h->count++] = (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value.p, strlen(name), value.len,
					      NGHTTP2_NV_FLAG_NONE };
}

static void add_common(struct head *h, const struct ar_reply *r, int status)
{
	snprintf(h->status, sizeof h->status, "%d", status);
	add(h, ":status", ar_str_from(h->status));
	add(h, "cache-control", r->cache ? ar_str_from(r->cache) : AR_STR("no-store"));
	add(h, "x-content-type-options", AR_STR("nosniff"));
}

/* A 304 says nothing of the content that it does not have. */
static void add_content(struct head *h, const struct ar_reply *r)
{
	if (r->status == 304)
		return;
	snprintf(h->length, sizeof h->length, "%zu", r->body.len);
	add(h, "content-type", r->type ? ar_str_from(r->type) : AR_STR("application/json"));
	add(h, "content-length", ar_str_from(h->length));
}

/* Names are written small here. */
static void add_headers(struct head *h, const struct ar_reply *r)
{
	for (size_t i = 0; i < r->header_count; i++) {
		size_t len = strlen(r->headers[i].name);

		AR_ASSERT(len < MAX_NAME);
		for (size_t k = 0; k <= len; k++)
			h->names[i][k] = (char)tolower((unsigned char)r->headers[i].name[k]);
		add(h, h->names[i], r->headers[i].value);
	}
}

static void submit(struct ar_h2_stream *s, const struct head *h, nghttp2_data_source_read_callback read)
{
	nghttp2_data_provider body = { .source.ptr = s, .read_callback = read };

	s->is_answered = true;
	if (nghttp2_submit_response(s->conn->session, s->id, h->fields, h->count, read ? &body : NULL))
		nghttp2_submit_rst_stream(s->conn->session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_INTERNAL_ERROR);
	set_deadline(s, AR_DEADLINE_WRITE);
	ar_h2_wake(s->conn);
}

static void reply(struct ar_carrier *c)
{
	struct ar_h2_stream *s = ar_h2_stream_of(c);
	const struct ar_reply *r = &c->request->reply;
	struct head h = { .count = 0 };

	if (s->is_answered)
		return;
	add_common(&h, r, r->status);
	add_content(&h, r);
	add_headers(&h, r);
	s->byte_at = 0;
	c->server->counters.bytes_sent += r->body.len;
	submit(s, &h, r->body.len ? read_body : NULL);
}

/* ---- events ---- */

static bool stream_begin(struct ar_carrier *c)
{
	struct ar_h2_stream *s = ar_h2_stream_of(c);
	struct head h = { .count = 0 };

	add_common(&h, &c->request->reply, 200);
	add(&h, "content-type", AR_STR("text/event-stream"));
	add_headers(&h, &c->request->reply);
	s->is_streaming = true;
	submit(s, &h, read_events);
	ar_h2_drop_request(s);
	return true;
}

static bool takes_more(struct ar_carrier *c)
{
	struct ar_h2_stream *s = ar_h2_stream_of(c);

	s->is_waiting = s->conn->is_busy;
	return !s->is_waiting;
}

/* There are bytes: nghttp2 will ask. True when as much again may come at once. */
static bool offer_bytes(struct ar_h2_stream *s, size_t bytes)
{
	if (s->deadline.kind != AR_DEADLINE_WRITE || ar_list_empty(&s->deadline.node))
		set_deadline(s, AR_DEADLINE_WRITE);
	nghttp2_session_resume_data(s->conn->session, s->id);
	ar_h2_wake(s->conn);
	s->is_stalled =
		s->frame_count >= HELD_FRAMES || bytes >= HELD_BYTES ||
		nghttp2_session_get_stream_remote_window_size(s->conn->session, s->id) < (int32_t)bytes;
	return !s->is_stalled;
}

static size_t held_bytes(const struct ar_h2_stream *s)
{
	size_t bytes = s->text_len - s->text_at;

	for (uint32_t i = s->frame_at; i < s->frame_count; i++)
		bytes += s->frames[i]->sse.len;
	return bytes - s->byte_at;
}

static bool stream_frames(struct ar_carrier *c, struct ar_frame **frames, size_t count)
{
	struct ar_h2_stream *s = ar_h2_stream_of(c);

	s->frames = ar_grow(s->frames, s->frame_count + count, sizeof *s->frames);
	memcpy(s->frames + s->frame_count, frames, count * sizeof *frames);
	s->frame_count += (uint32_t)count;
	return offer_bytes(s, held_bytes(s));
}

static bool stream_bytes(struct ar_carrier *c, struct ar_str bytes)
{
	struct ar_h2_stream *s = ar_h2_stream_of(c);
	size_t old = s->text_len - s->text_at;
	char *text = ar_grow(NULL, old + bytes.len, 1);

	if (old)
		memcpy(text, s->text + s->text_at, old);
	memcpy(text + old, bytes.p, bytes.len);
	ar_free(s->text);
	s->text = text;
	s->text_len = old + bytes.len;
	s->text_at = 0;
	s->is_text_last = s->frame_at < s->frame_count;
	return offer_bytes(s, held_bytes(s));
}

void ar_h2_answer_beat(struct ar_h2_stream *s)
{
	if (!has_bytes(s))
		stream_bytes(&s->carrier, AR_STR(":\n\n"));
}

static void stream_end(struct ar_carrier *c, unsigned retry_ms, const struct ar_error *err AR_UNUSED)
{
	struct ar_h2_stream *s = ar_h2_stream_of(c);
	char text[32];

	snprintf(text, sizeof text, "retry: %u\n\n", retry_ms);
	s->is_ending = true;
	if (retry_ms)
		stream_bytes(c, ar_str_from(text));
	else
		offer_bytes(s, 0);
}

void ar_h2_stream_go_on(struct ar_h2_stream *s)
{
	bool was_held = s->is_stalled || s->is_waiting;

	s->is_stalled = s->is_waiting = false;
	if (was_held && !s->is_gone)
		ar_carrier_drained(&s->carrier);
}

/* The client may still be sending what we have answered already. Many clients take a reset while they
 * send for a failure and do not show the answer, so what is on its way is let come; who goes on for
 * longer is told to stop (h2_stream.c). */
void ar_h2_stream_sent(struct ar_h2_stream *s)
{
	if (s->is_whole)
		ar_deadline_clear(&s->deadline);
	else
		set_deadline(s, AR_DEADLINE_LINGER);
}

const struct ar_carrier_vtable ar_h2_carrier = {
	.reply = reply,
	.admitted = ar_h2_stream_admitted,
	.takes_more = takes_more,
	.stream_begin = stream_begin,
	.stream_frames = stream_frames,
	.stream_bytes = stream_bytes,
	.stream_end = stream_end,
	.released = ar_h2_stream_released,
};
