/* An event stream of another node on its way to a client of ours, byte for byte. While the client's socket is full nothing is
 * read from the peer, so one read is all that is held here. Heartbeats are the owner's. Owner: the loop thread. */
#include "forward.h"

#include <string.h>

static void write_more(struct ar_forward *f);

static void finish(struct ar_forward *f)
{
	ar_forward_stop(f);
	ar_conn_linger(f->conn);
}

static void on_written(uv_write_t *req, int status)
{
	struct ar_forward *f = AR_CONTAINER_OF(req, struct ar_forward, write);

	f->is_writing = false;
	if (f->conn->state == AR_CONN_CLOSED)
		return;
	if (status) {
		ar_conn_close(f->conn);
		return;
	}
	ar_buf_clear(&f->out);
	ar_deadline_clear(&f->conn->deadline);
	write_more(f);
}

/* The client does not take more now: the rest is written as it reads, and the peer waits so long. */
static void write_rest(struct ar_forward *f)
{
	struct ar_buf written = f->out;
	uv_buf_t buf;

	f->out = f->next;
	f->next = written;
	buf = (uv_buf_t){ f->out.p, f->out.len };
	f->is_writing = true;
	ar_peer_ask_pause(&f->ask);
	ar_conn_set_deadline(f->conn, AR_DEADLINE_WRITE);
	if (uv_write(&f->write, &f->conn->u.stream, &buf, 1, on_written))
		ar_conn_close(f->conn);
}

static void write_more(struct ar_forward *f)
{
	if (f->next.len)
		write_rest(f);
	else if (f->is_over)
		finish(f);
	else
		ar_peer_ask_resume(&f->ask);
}

static void send_bytes(struct ar_forward *f, struct ar_str bytes)
{
	uv_buf_t buf = { (char *)bytes.p, bytes.len };
	int n = 0;

	f->conn->server->counters.bytes_sent += bytes.len;
	if (!f->is_writing)
		n = uv_try_write(&f->conn->u.stream, &buf, 1);
	if (n < 0 && n != UV_EAGAIN) {
		ar_conn_close(f->conn);
		return;
	}
	if (n > 0)
		bytes = ar_str_sub(bytes, (size_t)n, bytes.len);
	ar_buf_adds(&f->next, bytes);
	if (f->next.len && !f->is_writing)
		write_rest(f);
}

static void keep_tail(struct ar_forward *f, struct ar_str bytes)
{
	size_t fresh = bytes.len < AR_RELAY_TAIL ? bytes.len : AR_RELAY_TAIL;
	size_t old = f->tail_len < AR_RELAY_TAIL - fresh ? f->tail_len : AR_RELAY_TAIL - fresh;

	memmove(f->tail, f->tail + f->tail_len - old, old);
	memcpy(f->tail + old, bytes.p + bytes.len - fresh, fresh);
	f->tail_len = old + fresh;
}

void ar_relay_open(struct ar_forward *f)
{
	struct ar_str head;

	f->is_open = true;
	f->ask.body = AR_STR_NONE; /* goes with the exchange */
	if (ar_sse_begin(f->conn, &head))
		send_bytes(f, head);
}

void ar_relay_bytes(struct ar_forward *f, struct ar_str bytes)
{
	if (f->conn->state != AR_CONN_STREAMING || f->is_over || !bytes.len)
		return;
	keep_tail(f, bytes);
	send_bytes(f, bytes);
}

/* Between two events, and the owner has not said itself when to come back. */
static bool wants_farewell(const struct ar_forward *f)
{
	struct ar_str tail = { f->tail, f->tail_len };

	if (!tail.len)
		return true;
	return ar_str_ends(tail, AR_STR("\n\n")) && !memmem(tail.p, tail.len, "retry:", 6);
}

void ar_relay_end(struct ar_forward *f, struct ar_str farewell)
{
	if (f->conn->state != AR_CONN_STREAMING || f->is_over)
		return;
	f->is_over = true;
	if (wants_farewell(f))
		send_bytes(f, farewell);
	if (f->conn->state == AR_CONN_STREAMING && !f->is_writing)
		finish(f);
}
