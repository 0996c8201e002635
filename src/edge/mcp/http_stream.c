/* See http_stream.h. Loop thread only. */
#include "http_stream.h"

#include "rpc.h"

#include <stdio.h>
#include <strings.h>

#define ERROR_BODY_MAX (64u << 10)
#define STREAM_MAX (256u << 20) /* bytes of one event stream */
#define BARREN_MAX 5
#define RETRY_MS 1000 /* unless the server says otherwise */
#define RETRY_MAX_MS 30000
#define LINGER_MS 1000 /* for the server to end a stream whose answer came */
#define FOR_EVER (24u * 24 * 3600 * 1000)

enum form { UNKNOWN, EVENTS, WHOLE, REFUSAL };

static struct ar_mcp_stream *stream_of(struct ar_transfer *t)
{
	return AR_CONTAINER_OF(t, struct ar_mcp_stream, transfer);
}

static bool on_event(void *owner, struct ar_str name AR_UNUSED, struct ar_str text)
{
	struct ar_mcp_stream *s = owner;

	s->got_event = true;
	/* An event without text only carries the cursor. */
	if (text.len > 0 && !s->abandoned)
		s->v->on_message(s, text);
	return !s->abandoned;
}

static void store_event_id(struct ar_mcp_stream *s)
{
	if (s->sse.id.len > 0) {
		ar_buf_clear(&s->last_id);
		ar_buf_adds(&s->last_id, ar_buf_str(&s->sse.id));
	}
	if (s->sse.retry_ms >= 0)
		s->retry_ms = s->sse.retry_ms;
}

static enum form form_of(const struct ar_transfer *t)
{
	static const char events[] = "text/event-stream";
	int status = ar_transfer_status(t);
	struct ar_str type = ar_transfer_header(t, "content-type");

	if (status < 200 || status > 299)
		return REFUSAL;
	if (type.len >= sizeof(events) - 1 && strncasecmp(type.p, events, sizeof(events) - 1) == 0)
		return EVENTS;
	return WHOLE;
}

static void read_headers(struct ar_mcp_stream *s)
{
	if (s->form != UNKNOWN)
		return;
	s->form = (uint8_t)form_of(&s->transfer);
	s->kept.cap = s->form == REFUSAL ? ERROR_BODY_MAX : AR_MCP_MESSAGE_MAX;
	s->v->on_headers(s);
}

static bool on_body(struct ar_transfer *t, struct ar_str bytes)
{
	struct ar_mcp_stream *s = stream_of(t);
	enum ar_status st;

	read_headers(s);
	if (s->form == EVENTS) {
		st = ar_sse_feed(&s->sse, bytes);
		return st == AR_OK;
	}
	if (s->form == REFUSAL)
		bytes = ar_str_sub(bytes, 0, ERROR_BODY_MAX - s->kept.len);
	ar_buf_adds(&s->kept, bytes);
	return !s->kept.failed;
}

/* ---- the end ---- */

static void on_retry_closed(uv_handle_t *handle)
{
	struct ar_mcp_stream *s = handle->data;
	struct ar_buf kept = s->kept; /* the failure may point into it */

	ar_sse_fini(&s->sse);
	ar_buf_fini(&s->last_id);
	s->v->on_end(s, s->failure.why && !s->settled ? &s->failure : NULL);
	ar_buf_fini(&kept);
}

static void finish(struct ar_mcp_stream *s)
{
	if (s->ended)
		return;
	s->ended = true;
	uv_close((uv_handle_t *)&s->retry, on_retry_closed);
}

static void fail(struct ar_mcp_stream *s, const char *why)
{
	snprintf(s->why, sizeof(s->why), "%s", why);
	s->failure.why = s->why;
	s->failure.sent = s->failure.sent || s->transfer.sent;
	s->failure.http = ar_transfer_status(&s->transfer);
	s->failure.body = ar_buf_str(&s->kept);
	finish(s);
}

static void begin(struct ar_mcp_stream *s);

static void on_retry(uv_timer_t *timer)
{
	begin(timer->data);
}

static uint64_t wait_of(const struct ar_mcp_stream *s)
{
	int64_t ms = s->retry_ms >= 0 ? s->retry_ms : RETRY_MS;

	if (s->barren > 0 && s->retry_ms < (RETRY_MS << s->barren))
		ms = RETRY_MS << s->barren;
	return (uint64_t)(ms < RETRY_MAX_MS ? ms : RETRY_MAX_MS);
}

/* A stream that broke: gone on with, or over. */
static void go_on(struct ar_mcp_stream *s, const char *why)
{
	bool can = s->standing || (s->resumable && s->last_id.len > 0);

	s->barren = s->got_event ? 0 : s->barren + 1;
	if (!can || (!s->standing && s->barren >= BARREN_MAX)) {
		fail(s, why);
		return;
	}
	if (s->barren >= BARREN_MAX)
		s->barren = BARREN_MAX;
	s->failure.sent = true;
	s->method = "GET";
	uv_timer_start(&s->retry, on_retry, wait_of(s), 0);
}

static void end_whole(struct ar_mcp_stream *s)
{
	if (s->kept.len > 0 && !s->abandoned)
		s->v->on_message(s, ar_buf_str(&s->kept));
	if (s->settled || !s->expects_answer) {
		finish(s);
		return;
	}
	s->failure.garbled = s->kept.len > 0;
	fail(s, s->kept.len > 0 ? "its answer does not belong to the request" : "it sent no answer");
}

static const char *const ends[] = {
	[AR_TRANSFER_COMPLETE] = "the stream ended before the answer came",
	[AR_TRANSFER_UNREACHABLE] = "it cannot be reached",
	[AR_TRANSFER_NO_DESCRIPTORS] = "this runtime has no file descriptor left for it",
	[AR_TRANSFER_CUT] = "the connection broke",
	[AR_TRANSFER_NOT_HTTP] = "it does not answer in HTTP",
	[AR_TRANSFER_TIMEOUT] = "it took too long",
	[AR_TRANSFER_TOO_LARGE] = "its answer is too large",
	[AR_TRANSFER_STOPPED] = "its answer is too large",
	[AR_TRANSFER_CANCELLED] = "cancelled",
};

static void decide(struct ar_mcp_stream *s, enum ar_transfer_end end, const char *detail)
{
	bool again = s->failure.sent; /* the request left long ago: this is a try to go on */
	bool broken = end == AR_TRANSFER_COMPLETE || end == AR_TRANSFER_CUT || end == AR_TRANSFER_TIMEOUT ||
		      (again && (end == AR_TRANSFER_UNREACHABLE || end == AR_TRANSFER_NO_DESCRIPTORS));
	char why[256];

	if (end == AR_TRANSFER_COMPLETE)
		read_headers(s);
	if (s->settled) {
		finish(s);
		return;
	}
	if (end == AR_TRANSFER_COMPLETE && s->form == WHOLE && !s->standing) {
		end_whole(s);
		return;
	}
	if (s->form == REFUSAL) {
		snprintf(why, sizeof(why), "it answered with HTTP status %d",
			 ar_transfer_status(&s->transfer));
		fail(s, why);
		return;
	}
	snprintf(why, sizeof(why), end == AR_TRANSFER_COMPLETE ? "%s" : "%s (%.180s)", ends[end], detail);
	/* A standing stream that never was one is not asked for again. */
	if (broken && (s->form == EVENTS || (again && s->form == UNKNOWN)))
		go_on(s, why);
	else
		fail(s, why);
}

static void on_end(struct ar_transfer *t, enum ar_transfer_end end, const char *why)
{
	struct ar_mcp_stream *s = stream_of(t);

	s->running = false;
	curl_slist_free_all(t->headers);
	t->headers = NULL;
	if (s->form == EVENTS && !s->abandoned && ar_sse_end(&s->sse) != AR_OK)
		s->abandoned = s->settled = true;
	store_event_id(s);
	decide(s, end, why);
}

static const struct ar_transfer_vtable vtable = { on_body, on_end };

/* ---- the beginning ---- */

static uint32_t time_left(const struct ar_mcp_stream *s)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec left;

	if (s->deadline == 0)
		return FOR_EVER;
	left = (s->deadline - clock->mono(clock)) / 1000;
	/* The owner's own deadline comes first; this one is for when it fails to. */
	return left > 0 ? (uint32_t)(left < FOR_EVER - LINGER_MS ? left + LINGER_MS : FOR_EVER) : LINGER_MS;
}

static void begin(struct ar_mcp_stream *s)
{
	uint32_t left = time_left(s);

	ar_sse_fini(&s->sse);
	ar_sse_init(&s->sse, AR_MCP_MESSAGE_MAX, on_event, s);
	ar_buf_clear(&s->kept);
	s->form = UNKNOWN;
	s->got_event = false;
	s->running = true;
	s->transfer.v = &vtable;
	s->transfer.url = s->url;
	s->transfer.method = s->method;
	s->transfer.body = s->body;
	s->transfer.headers = s->v->headers(s, s->last_id.len > 0 ? ar_buf_str(&s->last_id) : AR_STR_NONE);
	s->transfer.limits = (struct ar_transfer_limits){
		.connect_ms = s->connect_ms,
		.first_byte_ms = left,
		.idle_ms = left,
		.total_ms = left,
		.response_max = s->standing ? UINT64_MAX : STREAM_MAX,
	};
	ar_transfer_start(s->pool, &s->transfer);
}

void ar_mcp_stream_start(struct ar_mcp_stream *s, uv_loop_t *loop)
{
	s->retry_ms = -1;
	uv_timer_init(loop, &s->retry);
	s->retry.data = s;
	begin(s);
}

void ar_mcp_stream_settle(struct ar_mcp_stream *s, bool abandoned)
{
	s->settled = true;
	s->abandoned = s->abandoned || abandoned;
	if (!s->running)
		finish(s);
	else if (abandoned)
		ar_transfer_cancel(&s->transfer);
	else
		ar_transfer_linger(&s->transfer, LINGER_MS);
}

int ar_mcp_stream_status(const struct ar_mcp_stream *s)
{
	return ar_transfer_status(&s->transfer);
}

struct ar_str ar_mcp_stream_header(const struct ar_mcp_stream *s, const char *name)
{
	return ar_transfer_header(&s->transfer, name);
}
