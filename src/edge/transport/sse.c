/* An event stream: pulls shared frames from the log's reader side and gives them to the carrier as the
 * peer takes them. A stream has at most one write in flight and no queue; what it has not pulled yet
 * stays in the ring. The callbacks of the subscription only mark the stream, all work happens in the
 * flush, once per turn of the loop: many events become one write, and nothing re-enters the core. How
 * frames look on the wire is the carrier's. Owner: the loop thread. */
#include "sse.h"
#include "credentials.h"
#include "mem.h"
#include "peer/forward.h"
#include "server.h"
#include "trace.h"

#include <inttypes.h>
#include <stdio.h>

#define BATCH_FRAMES 64
#define BATCH_BYTES ((size_t)256 * 1024)
#define ROUNDS 4 /* batches of one stream per turn; then the others come first */
#define RETRY_MS 1000

struct ar_sse {
	struct ar_subscription sub;
	struct ar_carrier *carrier;
	struct ar_list node; /* in server->streams while there is something to do */
	struct ar_error *why; /* it ended; NULL: no reason is known */
	struct ar_following *following; /* of a channel; else NULL */
	unsigned retry_ms;
	bool is_live; /* subscribed and counted */
	bool is_open;
	bool is_over; /* no more frames */
	bool has_begun;
	bool is_busy; /* the carrier will say when it takes more */
};

/* The flush will look at this stream. */
static void push_ready(struct ar_sse *s)
{
	struct ar_http_server *server = s->carrier->server;

	ar_list_del(&s->node);
	ar_list_push(&server->streams, &s->node);
	ar_server_wake(server);
}

static void keep_reason(struct ar_sse *s, const struct ar_error *err)
{
	if (!err)
		return;
	s->why = ar_new0(sizeof *s->why);
	*s->why = *err;
}

/* ---- callbacks of the subscription ---- */

static void on_opened(struct ar_subscription *sub)
{
	struct ar_sse *s = AR_CONTAINER_OF(sub, struct ar_sse, sub);

	s->is_open = true;
	push_ready(s);
}

static void on_ready(struct ar_subscription *sub)
{
	struct ar_sse *s = AR_CONTAINER_OF(sub, struct ar_sse, sub);

	if (!s->is_busy)
		push_ready(s);
}

static void on_ended(struct ar_subscription *sub, const struct ar_error *err)
{
	struct ar_sse *s = AR_CONTAINER_OF(sub, struct ar_sse, sub);

	s->is_over = true;
	keep_reason(s, err);
	push_ready(s);
}

static const struct ar_subscription_vtable callbacks = { on_opened, on_ready, on_ended };

/* ---- life ---- */

/* The reason for its channel: a reader that fell behind was cut by us, one that we ask
 * to come back was not. */
static enum ar_leave why_left(const struct ar_sse *s)
{
	if (s->carrier->is_stuck)
		return AR_LEAVE_SILENT;
	if (s->why && s->why->code == AR_ERR_AUTH_FAILED)
		return AR_LEAVE_AUTH;
	return s->why && !s->retry_ms ? AR_LEAVE_ERROR : AR_LEAVE_CLOSED;
}

void ar_sse_stop(struct ar_sse *s)
{
	if (!s->is_live)
		return;
	s->is_live = false;
	s->is_over = true;
	s->carrier->server->counters.subscribers--;
	ar_list_del(&s->node);
	ar_follow_close(&s->sub);
	ar_control_leave(s->following, why_left(s));
	s->following = NULL;
}

void ar_sse_free(struct ar_sse *s)
{
	ar_free(s->why);
	ar_free(s);
}

/* Not a stream after all; the request goes on alone. */
static struct ar_http_request *drop_stream(struct ar_sse *s)
{
	struct ar_carrier *c = s->carrier;

	ar_sse_stop(s);
	ar_sse_free(s);
	c->sse = NULL;
	return c->request;
}

/* The answer is JSON and the connection stays. */
static void refuse_stream(struct ar_sse *s, const struct ar_error *err)
{
	struct ar_error why = err ? *err : (struct ar_error){ 0 };

	if (!why.code)
		why.code = why.status == AR_E_INVALID ? AR_ERR_INVALID_INPUT : AR_ERR_INTERNAL;
	ar_http_request_refuse(drop_stream(s), why.code, why.msg, 0);
}

static void subscribe(struct ar_sse *s)
{
	struct ar_carrier *c = s->carrier;
	struct ar_subscribe_call call = { .body = c->request->body,
					  .who = c->who,
					  .protocol = ar_http_request_origin(c->request).protocol,
					  .is_from_peer = c->source->is_peer };
	struct ar_error err = { 0 };

	if (ar_control_subscribe(c->server->control, &call, &s->sub, &err) == AR_OK) {
		s->following = call.following;
		return;
	}
	/* Nothing is passed on twice: a peer gets the refusal and looks up the owner itself. */
	if (err.code != AR_ERR_NOT_OWNER || c->source->is_peer)
		refuse_stream(s, &err);
	else if (call.place == AR_PLACE_PEER)
		ar_forward_open(drop_stream(s), call.peer);
	else
		ar_settle_wait(drop_stream(s));
}

void ar_sse_open(struct ar_http_request *req)
{
	struct ar_carrier *c = req->carrier;
	struct ar_http_server *server = c->server;
	struct ar_sse *s;

	if (server->counters.subscribers >= server->max_subscribers) {
		ar_http_request_refuse(req, AR_ERR_OVERLOADED, "too many event streams are open", 0);
		return;
	}
	s = c->sse = ar_new0(sizeof *s);
	s->carrier = c;
	s->sub.v = &callbacks;
	s->is_live = true;
	ar_list_init(&s->node);
	server->counters.subscribers++;
	subscribe(s);
}

/* No more frames; what was pulled goes out, then the end. */
static void wind_up(struct ar_sse *s, unsigned retry_ms, const struct ar_error *why)
{
	if (!s->is_live)
		return;
	ar_follow_close(&s->sub);
	s->is_over = true;
	s->retry_ms = retry_ms;
	if (!s->why)
		keep_reason(s, why);
	push_ready(s);
}

void ar_sse_drain(struct ar_sse *s)
{
	struct ar_error going_down = { 0 };

	ar_refuse(&going_down, AR_ERR_OVERLOADED, "the server is stopping");
	wind_up(s, RETRY_MS, &going_down);
}

void ar_sse_expire(struct ar_sse *s, const struct ar_error *why)
{
	wind_up(s, 0, why);
}

uint64_t ar_sse_opened_at(const struct ar_sse *s)
{
	return ar_follow_opened_at(&s->sub);
}

void ar_sse_drained(struct ar_sse *s)
{
	s->is_busy = false;
	if (s->is_live)
		push_ready(s);
}

/* ---- writing ---- */

/* What the carrier said: true when the stream may go on at once. */
static bool went_out(struct ar_sse *s, bool is_taken)
{
	s->is_busy = !is_taken && s->is_live;
	return is_taken;
}

/* A node that passes the stream on says it to its client as we say it to ours. */
static void tell_peer(struct ar_sse *s, struct ar_http_request *req)
{
	uint64_t opened_at = ar_sse_opened_at(s);

	if (!s->carrier->source->is_peer || !opened_at)
		return;
	snprintf(req->as_of, sizeof req->as_of, "%" PRIu64, opened_at);
	ar_reply_add(&req->reply, AR_AS_OF_HEADER, ar_str_from(req->as_of));
}

static bool begin_stream(struct ar_sse *s)
{
	s->has_begun = true;
	s->carrier->server->counters.streams++;
	s->carrier->request->reply.status = 200;
	tell_peer(s, s->carrier->request);
	ar_trace_answer(s->carrier->request);
	return went_out(s, s->carrier->v->stream_begin(s->carrier));
}

/* Many streams may share what their peer takes. */
static bool may_pull(struct ar_sse *s)
{
	return !s->carrier->v->takes_more || went_out(s, s->carrier->v->takes_more(s->carrier));
}

/* Pulls and writes one batch; false when there is nothing more to pull or the peer does not take more. */
static bool write_batch(struct ar_sse *s)
{
	struct ar_http_counters *counters = &s->carrier->server->counters;
	struct ar_frame *frames[BATCH_FRAMES];
	size_t count = 0, bytes = 0;

	while (!s->is_over && count < BATCH_FRAMES && bytes < BATCH_BYTES) {
		struct ar_frame *f = ar_follow_next(&s->sub);

		if (!f)
			break;
		frames[count++] = f;
		bytes += f->sse.len;
	}
	if (!count)
		return false;
	counters->frames += count;
	counters->bytes_sent += bytes;
	return went_out(s, s->carrier->v->stream_frames(s->carrier, frames, count));
}

static void finish_stream(struct ar_sse *s)
{
	ar_sse_stop(s);
	s->carrier->v->stream_end(s->carrier, s->retry_ms, s->why);
}

static void flush_one(struct ar_sse *s)
{
	int rounds = 0;

	if (s->is_busy)
		return;
	if (!s->is_open) {
		if (s->is_over)
			refuse_stream(s, s->why);
		return;
	}
	if (!s->has_begun && !begin_stream(s))
		return;
	while (rounds < ROUNDS && may_pull(s) && write_batch(s))
		rounds++;
	if (s->is_busy || !s->is_live)
		return;
	if (rounds == ROUNDS)
		push_ready(s);
	else if (s->is_over)
		finish_stream(s);
}

void ar_sse_flush(struct ar_http_server *s)
{
	struct ar_list now, *node;

	ar_list_init(&now);
	ar_list_splice(&now, &s->streams);
	while ((node = ar_list_pop(&now)))
		flush_one(AR_CONTAINER_OF(node, struct ar_sse, node));
}
