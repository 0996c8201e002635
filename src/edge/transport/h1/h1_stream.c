/* An event stream as the body of an HTTP/1 answer. It ends with the connection, so frames need no
 * framing of their own. At most one write is in flight; what belongs to it is held by reference until
 * the peer has read it. A comment is sent when a stream of ours was silent; one that is relayed gets
 * its owner's. Owner: the loop thread. */
#include "h1/h1_conn.h"
#include "mem.h"
#include "server.h"

#include <stdio.h>
#include <string.h>

#define MAX_FRAMES 64
#define SEND_BUFFER \
	(64 * 1024) /* in the kernel: else a stuck reader swallows megabytes before it is noticed */

/* Of the write in flight: frames, or text of ours. */
struct ar_h1_held {
	size_t frame_count;
	struct ar_frame **frames;
	char *text;
};

void ar_h1_held_free(struct ar_h1_held *held)
{
	if (!held)
		return;
	for (size_t i = 0; i < held->frame_count; i++)
		ar_frame_unref(held->frames[i]);
	ar_free(held->frames);
	ar_free(held->text);
	ar_free(held);
}

/* Nothing waits to be written. */
static void begin_silence(struct ar_conn *c)
{
	if (c->carrier.sse || c->carrier.a2a)
		ar_byte_link_set_deadline(c->link, AR_DEADLINE_HEARTBEAT);
	else
		ar_deadline_clear(&c->link->deadline);
}

static void on_written(struct ar_byte_link *l, int status)
{
	struct ar_conn *c = l->owner;

	c->is_busy = false;
	ar_h1_held_free(c->held);
	c->held = NULL;
	if (c->state == AR_CONN_CLOSED)
		return;
	if (status) {
		ar_conn_close(c);
	} else if (c->is_ending) {
		ar_conn_linger(c);
	} else {
		begin_silence(c);
		ar_carrier_drained(&c->carrier);
	}
}

static bool write_rest(struct ar_conn *c, const uv_buf_t *bufs, size_t count, struct ar_h1_held held)
{
	c->held = ar_new0(sizeof *c->held);
	*c->held = held;
	c->is_busy = true;
	ar_byte_link_set_deadline(c->link, AR_DEADLINE_WRITE);
	if (ar_byte_link_write(c->link, bufs, (unsigned)count, on_written))
		ar_conn_close(c);
	return false;
}

static void unref_frames(struct ar_frame **frames, size_t count)
{
	for (size_t i = 0; i < count; i++)
		ar_frame_unref(frames[i]);
}

static bool hold_frames(struct ar_conn *c, const uv_buf_t *bufs, struct ar_frame **frames, size_t count)
{
	struct ar_h1_held held = { .frame_count = count };

	held.frames = ar_grow(NULL, count, sizeof *held.frames);
	memcpy(held.frames, frames, count * sizeof *held.frames);
	return write_rest(c, bufs, count, held);
}

bool ar_h1_stream_frames(struct ar_carrier *carrier, struct ar_frame **frames, size_t count)
{
	struct ar_conn *c = ar_conn_of(carrier);
	uv_buf_t bufs[MAX_FRAMES];
	size_t done = 0, taken;
	int n;

	AR_ASSERT(count && count <= MAX_FRAMES && !c->is_busy);
	for (size_t i = 0; i < count; i++)
		bufs[i] = (uv_buf_t){ (char *)frames[i]->sse.p, frames[i]->sse.len };
	n = ar_byte_link_try_write(c->link, bufs, (unsigned)count);
	if (n < 0 && n != UV_EAGAIN) {
		unref_frames(frames, count);
		ar_conn_close(c);
		return false;
	}
	for (taken = n < 0 ? 0 : (size_t)n; done < count && taken >= bufs[done].len; done++)
		taken -= bufs[done].len;
	unref_frames(frames, done);
	if (done == count) {
		begin_silence(c);
		return true;
	}
	bufs[done].base += taken;
	bufs[done].len -= taken;
	return hold_frames(c, bufs + done, frames + done, count - done);
}

bool ar_h1_stream_bytes(struct ar_carrier *carrier, struct ar_str bytes)
{
	struct ar_conn *c = ar_conn_of(carrier);
	uv_buf_t buf = { (char *)bytes.p, bytes.len };
	int n;

	AR_ASSERT(!c->is_busy);
	n = ar_byte_link_try_write(c->link, &buf, 1);
	if (n < 0 && n != UV_EAGAIN) {
		ar_conn_close(c);
		return false;
	}
	bytes = ar_str_sub(bytes, n < 0 ? 0 : (size_t)n, bytes.len);
	if (!bytes.len) {
		begin_silence(c);
		return true;
	}
	buf = (uv_buf_t){ ar_str_dup(bytes), bytes.len };
	return write_rest(c, &buf, 1, (struct ar_h1_held){ .text = buf.base });
}

void ar_h1_stream_beat(struct ar_conn *c)
{
	if (!c->is_busy)
		c->carrier.v->stream_bytes(&c->carrier, AR_STR(":\n\n"));
}

bool ar_h1_stream_begin(struct ar_carrier *carrier)
{
	struct ar_conn *c = ar_conn_of(carrier);
	char head[1024];
	size_t len = ar_h1_stream_format(&carrier->request->reply, head, sizeof head);

	carrier->server->counters.bytes_sent += len;
	c->state = AR_CONN_STREAMING;
	ar_conn_drop_request(c);
	ar_free(c->again);
	c->again = NULL;
	ar_buf_fini(&c->pending);
	ar_byte_link_set_send_buffer(c->link, SEND_BUFFER);
	ar_conn_read_start(c);
	return c->state == AR_CONN_STREAMING && ar_h1_stream_bytes(carrier, (struct ar_str){ head, len });
}

void ar_h1_stream_end(struct ar_carrier *carrier, unsigned retry_ms, const struct ar_error *err AR_UNUSED)
{
	struct ar_conn *c = ar_conn_of(carrier);
	char text[32];

	c->is_ending = true;
	snprintf(text, sizeof text, "retry: %u\n\n", retry_ms);
	if (!retry_ms || ar_h1_stream_bytes(carrier, ar_str_from(text)))
		ar_conn_linger(c);
}
