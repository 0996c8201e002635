/* An event stream of another node on its way to a client of ours, byte for byte. While the client does
 * not take more nothing is read from the peer, so one read is all that is held here. Heartbeats are the
 * owner's. Owner: the loop thread. */
#include "peer/forward.h"
#include "server.h"
#include "trace.h"

#include <string.h>

static bool is_streaming(const struct ar_forward *f)
{
	return f->is_open && !f->carrier->is_closed;
}

static void finish_relay(struct ar_forward *f)
{
	ar_forward_stop(f);
	f->carrier->v->stream_end(f->carrier, f->retry_ms, NULL);
}

static void went_out(struct ar_forward *f, bool is_taken)
{
	f->is_busy = !is_taken && !f->carrier->is_closed;
	if (f->is_busy)
		ar_peer_ask_pause(&f->ask);
}

static void send_bytes(struct ar_forward *f, struct ar_str bytes)
{
	f->carrier->server->counters.bytes_sent += bytes.len;
	if (f->is_busy)
		ar_buf_adds(&f->next, bytes);
	else
		went_out(f, f->carrier->v->stream_bytes(f->carrier, bytes));
}

void ar_relay_drained(struct ar_forward *f)
{
	struct ar_buf next = f->next;

	f->is_busy = false;
	f->next = (struct ar_buf){ 0 };
	if (next.len)
		went_out(f, f->carrier->v->stream_bytes(f->carrier, ar_buf_str(&next)));
	ar_buf_fini(&next);
	if (f->is_busy || f->carrier->is_closed)
		return;
	if (f->is_over)
		finish_relay(f);
	else
		ar_peer_ask_resume(&f->ask);
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
	f->is_open = true;
	f->ask.body = AR_STR_NONE; /* goes with the request */
	f->carrier->server->counters.streams++;
	f->carrier->request->reply.status = 200;
	ar_trace_answer(f->carrier->request);
	went_out(f, f->carrier->v->stream_begin(f->carrier));
}

void ar_relay_bytes(struct ar_forward *f, struct ar_str bytes)
{
	if (!is_streaming(f) || f->is_over || !bytes.len)
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

void ar_relay_end(struct ar_forward *f, unsigned retry_ms)
{
	if (!is_streaming(f) || f->is_over)
		return;
	f->is_over = true;
	f->retry_ms = wants_farewell(f) ? retry_ms : 0;
	if (!f->is_busy)
		finish_relay(f);
}
