/* See acp.h: the events of each open session, side by side. A stream that is cut is joined again where it
 * was, so that a restart of the daemon loses nothing; one that stays cut fails the prompts that wait, and
 * the next prompt tries again. */
#include "acp/acp.h"
#include "clock.h"
#include "describe.h"

#define ATTEMPTS 20
#define FIRST_PAUSE_MS 100
#define LONGEST_PAUSE_MS 3000
#define SILENCE_MS 120000 /* the server sends a heartbeat every 15 s */
#define EVENT_MAX ((size_t)16 << 20)
#define IDLE_MS 1000

static bool is_frame(struct ar_str type)
{
	const struct ar_event_desc *desc = ar_event_find(type);

	return desc && desc->frame;
}

static bool on_event(void *arg, struct ar_str name AR_UNUSED, struct ar_str payload)
{
	struct ar_acp_session *s = arg;
	struct ar_acp_stream *t = &s->stream;
	struct ar_json event;
	int64_t sequence;

	if (ar_json_parse(t->parser, payload, &event, NULL) != AR_OK) {
		t->is_broken = true;
		return false;
	}
	t->failures = 0;
	ar_buf_clear(&t->cursor);
	ar_buf_adds(&t->cursor, ar_buf_str(&t->sse.id));
	sequence = ar_api_int(event, "sequence");
	if (is_frame(ar_api_str(event, "type"))) {
		ar_acp_event(s, event);
	} else if (sequence > t->last_fact) {
		t->last_fact = sequence;
		ar_acp_event(s, event);
	}
	return true;
}

static bool on_bytes(void *arg, struct ar_str bytes)
{
	struct ar_acp_session *s = arg;
	enum ar_status st = ar_sse_feed(&s->stream.sse, bytes);

	if (st == AR_E_LIMIT)
		s->stream.is_broken = true;
	ar_acp_flush(s->acp);
	return st == AR_OK;
}

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

static void on_done(void *arg, enum ar_status st, const struct ar_http_reply *reply,
		    const struct ar_error *err AR_UNUSED)
{
	struct ar_acp_session *s = arg;
	struct ar_acp_stream *t = &s->stream;
	bool is_refused = st == AR_OK && reply->status >= 400 && reply->status < 500;
	int64_t ms = FIRST_PAUSE_MS << (t->failures < 5 ? t->failures : 5);

	t->transfer = NULL;
	if (is_refused || t->is_broken || ++t->failures > ATTEMPTS) {
		t->retry_at = 0;
		ar_acp_prompts_fail(s);
		return;
	}
	t->retry_at = now() + (ms < LONGEST_PAUSE_MS ? ms : LONGEST_PAUSE_MS) * 1000;
}

void ar_acp_stream_open(struct ar_acp_session *s)
{
	struct ar_acp_stream *t = &s->stream;
	struct ar_str path;
	struct ar_http_request r;

	if (t->transfer)
		return;
	path = ar_arena_fmt(&s->acp->ctl->arena, "/v1/sessions/%.*s/events?after=%.*s",
			    AR_STR_ARG(ar_buf_str(&s->id)), AR_STR_ARG(ar_buf_str(&t->cursor)));
	r = ar_api_request(s->acp->ctl, path.p);
	if (!t->parser)
		t->parser = ar_json_parser_new();
	r.total_ms = 0;
	r.idle_ms = SILENCE_MS;
	r.sink = on_bytes;
	r.arg = s;
	t->retry_at = 0;
	t->is_broken = false;
	ar_sse_fini(&t->sse);
	ar_sse_init(&t->sse, EVENT_MAX, on_event, s);
	t->transfer = ar_http_start(s->acp->set, &r, on_done);
}

void ar_acp_stream_close(struct ar_acp_session *s)
{
	struct ar_acp_stream *t = &s->stream;

	if (t->transfer)
		ar_http_cancel(t->transfer);
	ar_sse_fini(&t->sse);
	ar_buf_fini(&t->cursor);
	if (t->parser)
		ar_json_parser_free(t->parser);
	*t = (struct ar_acp_stream){ 0 };
}

int ar_acp_streams_due(struct ar_acp *a)
{
	int wait = IDLE_MS;

	for (size_t i = 0; i < AR_ACP_SESSIONS; i++) {
		struct ar_acp_session *s = a->sessions[i];
		ar_usec left = s && s->stream.retry_at ? s->stream.retry_at - now() : IDLE_MS * 1000;

		if (s && s->stream.retry_at && left <= 0)
			ar_acp_stream_open(s);
		else if (left / 1000 < wait)
			wait = (int)(left / 1000) + 1;
	}
	return wait;
}
