/* An event stream: pulls shared frames from the log's reader side and writes them as the peer takes them. A
 * stream has at most one write in flight and no queue; what it has not pulled yet stays in the ring. The
 * callbacks of the subscription only mark the stream, all work happens in the flush, once per turn of the
 * loop: many events become one writev, and nothing re-enters the core. The body ends with the connection, so
 * frames need no framing of their own. Owner: the loop thread. */
#include "forward.h"
#include "mem.h"

#define BATCH_FRAMES 64
#define BATCH_BYTES ((size_t)256 * 1024)
#define ROUNDS 4 /* batches of one stream per turn; then the others come first */
#define SEND_BUFFER \
	(64 * 1024) /* in the kernel: else a stuck reader swallows megabytes before it is noticed */

struct ar_sse {
	struct ar_subscription sub;
	struct ar_conn *conn;
	struct ar_list node; /* in server->streams while there is something to do */
	struct ar_frame **held; /* frames of the write in flight */
	size_t held_count;
	struct ar_error *refusal; /* why it ended before it was opened */
	struct ar_str farewell;
	uv_write_t write;
	bool is_live; /* subscribed and counted */
	bool is_open;
	bool is_over; /* no more frames */
	bool has_head;
	bool is_writing;
};

/* Being active is its whole purpose. */
static void on_awake(uv_idle_t *handle AR_UNUSED)
{
}

/* The flush will look at this stream. The idle handle keeps the loop from sleeping if the flush of this turn
 * is over. */
static void push(struct ar_sse *s)
{
	struct ar_http_server *server = s->conn->server;

	ar_list_del(&s->node);
	ar_list_push(&server->streams, &s->node);
	uv_idle_start(&server->awake, on_awake);
}

/* ---- callbacks of the subscription ---- */

static void on_opened(struct ar_subscription *sub)
{
	struct ar_sse *s = AR_CONTAINER_OF(sub, struct ar_sse, sub);

	s->is_open = true;
	push(s);
}

static void on_ready(struct ar_subscription *sub)
{
	struct ar_sse *s = AR_CONTAINER_OF(sub, struct ar_sse, sub);

	if (!s->is_writing)
		push(s);
}

static void on_ended(struct ar_subscription *sub, const struct ar_error *err)
{
	struct ar_sse *s = AR_CONTAINER_OF(sub, struct ar_sse, sub);

	s->is_over = true;
	if (!s->is_open) {
		s->refusal = ar_new0(sizeof *s->refusal);
		if (err)
			*s->refusal = *err;
	}
	push(s);
}

static const struct ar_subscription_vtable callbacks = { on_opened, on_ready, on_ended };

/* ---- life ---- */

void ar_sse_stop(struct ar_sse *s)
{
	if (!s->is_live)
		return;
	s->is_live = false;
	s->is_over = true;
	s->conn->server->counters.subscribers--;
	ar_list_del(&s->node);
	ar_follow_close(&s->sub);
}

static void drop_held(struct ar_sse *s)
{
	for (size_t i = 0; i < s->held_count; i++)
		ar_frame_unref(s->held[i]);
	ar_free(s->held);
	s->held = NULL;
	s->held_count = 0;
}

void ar_sse_free(struct ar_sse *s)
{
	drop_held(s);
	ar_free(s->refusal);
	ar_free(s);
}

/* Not a stream after all; the exchange goes on alone. */
static struct ar_exchange *drop(struct ar_sse *s)
{
	struct ar_conn *c = s->conn;

	ar_sse_stop(s);
	ar_sse_free(s);
	c->sse = NULL;
	return c->x;
}

/* The answer is JSON and the connection stays. */
static void refuse(struct ar_sse *s, const struct ar_error *err)
{
	struct ar_error why = err ? *err : (struct ar_error){ 0 };

	if (!why.code)
		why.code = why.status == AR_E_INVALID ? AR_ERR_INVALID_INPUT : AR_ERR_INTERNAL;
	ar_exchange_refuse(drop(s), why.code, why.msg, 0);
}

static void subscribe(struct ar_sse *s)
{
	struct ar_conn *c = s->conn;
	struct ar_subscribe_call call = { .body = c->x->body, .is_from_peer = c->is_peer };
	struct ar_error err = { 0 };

	if (ar_control_subscribe(c->server->control, &call, &s->sub, &err) == AR_OK)
		return;
	/* Nothing is passed on twice: a peer is told, and looks again itself. */
	if (err.code != AR_ERR_NOT_OWNER || c->is_peer)
		refuse(s, &err);
	else if (call.place == AR_PLACE_PEER)
		ar_forward_open(drop(s), call.peer);
	else
		ar_settle_wait(drop(s));
}

void ar_sse_open(struct ar_exchange *x)
{
	struct ar_conn *c = x->conn;
	struct ar_http_server *server = c->server;
	struct ar_sse *s;

	if (server->counters.subscribers >= server->max_subscribers) {
		ar_exchange_refuse(x, AR_ERR_OVERLOADED, "too many event streams are open", 0);
		return;
	}
	s = c->sse = ar_new0(sizeof *s);
	s->conn = c;
	s->sub.v = &callbacks;
	s->is_live = true;
	ar_list_init(&s->node);
	server->counters.subscribers++;
	subscribe(s);
}

void ar_sse_drain(struct ar_sse *s)
{
	if (!s->is_live)
		return;
	ar_follow_close(&s->sub);
	s->is_over = true;
	s->farewell = AR_STR("retry: 1000\n\n");
	if (!s->is_open && !s->refusal) {
		s->refusal = ar_new0(sizeof *s->refusal);
		ar_refuse(s->refusal, AR_ERR_OVERLOADED, "the server is going down");
	}
	push(s);
}

/* ---- writing ---- */

static void on_written(uv_write_t *req, int status)
{
	struct ar_sse *s = AR_CONTAINER_OF(req, struct ar_sse, write);

	s->is_writing = false;
	drop_held(s);
	if (s->conn->state == AR_CONN_CLOSED)
		return;
	if (status) {
		ar_conn_close(s->conn);
		return;
	}
	ar_conn_set_deadline(s->conn, AR_DEADLINE_HEARTBEAT);
	push(s);
}

/* The kernel took no more: the frames stay until the peer has read. */
static bool write_rest(struct ar_sse *s, uv_buf_t *bufs, struct ar_frame **frames, size_t count)
{
	if (frames) {
		s->held = ar_grow(NULL, count, sizeof *s->held);
		s->held_count = count;
		for (size_t i = 0; i < count; i++)
			s->held[i] = frames[i];
	}
	s->is_writing = true;
	ar_conn_set_deadline(s->conn, AR_DEADLINE_WRITE);
	if (uv_write(&s->write, &s->conn->u.stream, bufs, (unsigned)count, on_written))
		ar_conn_close(s->conn);
	return false;
}

/* Writes all or starts to; true when the stream may go on at once. Takes the references of the frames (frames
 * may be NULL for our own constant text). */
static bool write_bufs(struct ar_sse *s, uv_buf_t *bufs, struct ar_frame **frames, size_t count)
{
	int n = uv_try_write(&s->conn->u.stream, bufs, (unsigned)count);
	size_t done = 0, left = n < 0 ? 0 : (size_t)n;

	if (n < 0 && n != UV_EAGAIN) {
		for (size_t i = 0; frames && i < count; i++)
			ar_frame_unref(frames[i]);
		ar_conn_close(s->conn);
		return false;
	}
	for (; done < count && left >= bufs[done].len; done++) {
		left -= bufs[done].len;
		if (frames)
			ar_frame_unref(frames[done]);
	}
	if (done == count) {
		ar_conn_set_deadline(s->conn, AR_DEADLINE_HEARTBEAT);
		return true;
	}
	bufs[done].base += left;
	bufs[done].len -= left;
	return write_rest(s, bufs + done, frames ? frames + done : NULL, count - done);
}

static bool write_text(struct ar_sse *s, struct ar_str text)
{
	uv_buf_t buf = { (char *)text.p, text.len };

	s->conn->server->counters.bytes_sent += text.len;
	return write_bufs(s, &buf, NULL, 1);
}

void ar_sse_heartbeat(struct ar_sse *s)
{
	if (!s->is_writing)
		write_text(s, AR_STR(":\n\n"));
}

/* Pulls and writes one batch; false when there is nothing more to pull or the peer does not take more. */
static bool write_batch(struct ar_sse *s)
{
	struct ar_frame *frames[BATCH_FRAMES];
	uv_buf_t bufs[BATCH_FRAMES];
	size_t count = 0, bytes = 0;

	while (!s->is_over && count < BATCH_FRAMES && bytes < BATCH_BYTES) {
		struct ar_frame *f = ar_follow_next(&s->sub);

		if (!f)
			break;
		frames[count] = f;
		bufs[count++] = (uv_buf_t){ (char *)f->sse.p, f->sse.len };
		bytes += f->sse.len;
	}
	if (!count)
		return false;
	s->conn->server->counters.frames += count;
	s->conn->server->counters.bytes_sent += bytes;
	return write_bufs(s, bufs, frames, count);
}

bool ar_sse_begin(struct ar_conn *c, struct ar_str *ret_head)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n"
				   "Content-Type: text/event-stream\r\n"
				   "Cache-Control: no-store\r\n"
				   "X-Accel-Buffering: no\r\n"
				   "X-Content-Type-Options: nosniff\r\n"
				   "Connection: close\r\n\r\n";
	int size = SEND_BUFFER;

	c->server->counters.streams++;
	c->state = AR_CONN_STREAMING;
	ar_conn_drop_exchange(c);
	ar_buf_fini(&c->pending);
	uv_send_buffer_size(&c->u.handle, &size);
	ar_conn_read_start(c);
	*ret_head = (struct ar_str){ head, sizeof head - 1 };
	return c->state == AR_CONN_STREAMING;
}

static bool write_head(struct ar_sse *s)
{
	struct ar_str head;

	s->has_head = true;
	return ar_sse_begin(s->conn, &head) && write_text(s, head);
}

static void finish(struct ar_sse *s)
{
	struct ar_str farewell = s->farewell;

	s->farewell = AR_STR_NONE;
	if (farewell.len && !write_text(s, farewell))
		return;
	ar_sse_stop(s);
	ar_conn_linger(s->conn);
}

static void flush_one(struct ar_sse *s)
{
	int rounds = 0;

	if (s->is_writing)
		return;
	if (!s->is_open) {
		if (s->is_over)
			refuse(s, s->refusal);
		return;
	}
	if (!s->has_head && !write_head(s))
		return;
	while (rounds < ROUNDS && write_batch(s))
		rounds++;
	if (s->is_writing || !s->is_live)
		return;
	if (rounds == ROUNDS)
		push(s);
	else if (s->is_over)
		finish(s);
}

void ar_sse_flush(struct ar_http_server *s)
{
	struct ar_list now, *node;

	ar_list_init(&now);
	ar_list_splice(&now, &s->streams);
	while ((node = ar_list_pop(&now)))
		flush_one(AR_CONTAINER_OF(node, struct ar_sse, node));
	if (ar_list_empty(&s->streams))
		uv_idle_stop(&s->awake);
}
