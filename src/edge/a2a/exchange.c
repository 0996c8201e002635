/* One request of a call (see client_priv.h): headers, limits, the answer whole or as a stream of events, and
 * what its end means. Loop thread only. */
#include "client_priv.h"
#include "header_value.h"

#include <strings.h>

#define RETRY_AFTER_MAX ((int64_t)3600 * 1000)
#define REFUSAL_MAX ((size_t)64 * 1024) /* of an answer that is no success */
#define EVENTS_MAX 100000 /* of one run */

static struct ar_a2a_call *call_of(struct ar_transfer *t)
{
	return AR_CONTAINER_OF(t, struct ar_a2a_call, transfer);
}

static bool on_event(void *owner, struct ar_str name AR_UNUSED, struct ar_str text)
{
	struct ar_a2a_call *c = owner;

	if (c->is_cancelled)
		return false;
	c->got_event = true;
	if (++c->events > EVENTS_MAX) {
		ar_a2a_answer_fail(c, AR_PEER_TOO_LARGE, "its stream has too many events");
		return false;
	}
	return ar_a2a_answer_event(c, text);
}

static bool has_type(const struct ar_transfer *t, const char *type, size_t len)
{
	struct ar_str given = ar_transfer_header(t, "content-type");

	return given.len >= len && strncasecmp(given.p, type, len) == 0;
}

/* False: nothing of this answer is read. */
static bool read_head(struct ar_a2a_call *c)
{
	static const char events[] = "text/event-stream";
	int status = ar_transfer_status(&c->transfer);
	struct ar_str coding;

	if (c->is_head_read)
		return true;
	c->is_head_read = true;
	c->is_stream = c->request.ask == AR_A2A_ASK_SUBSCRIBE && status == 200 &&
		       has_type(&c->transfer, events, sizeof events - 1);
	c->body.cap = status >= 200 && status < 300 ? c->client->o.answer_max : REFUSAL_MAX;
	coding = ar_transfer_header(&c->transfer, "content-encoding");
	if (ar_str_absent(coding) || ar_str_is(coding, "identity"))
		return true;
	ar_a2a_answer_fail(c, AR_PEER_PROTOCOL, "its answer is encoded, which was not asked for");
	return false;
}

static bool on_body(struct ar_transfer *t, struct ar_str bytes)
{
	struct ar_a2a_call *c = call_of(t);
	enum ar_status status;

	if (!read_head(c))
		return false;
	if (!c->is_stream) {
		ar_buf_adds(&c->body, bytes);
		if (c->body.failed)
			ar_a2a_answer_fail(c, AR_PEER_TOO_LARGE,
					   "its answer is larger than the settings allow");
		return !c->body.failed;
	}
	status = ar_sse_feed(&c->sse, bytes);
	if (status == AR_E_LIMIT)
		ar_a2a_answer_fail(c, AR_PEER_TOO_LARGE,
				   "an event of its stream is larger than the settings allow");
	return status == AR_OK;
}

/* ---- the end ---- */

static const struct {
	enum ar_peer_error error;
	const char *why;
} ends[] = {
	[AR_TRANSFER_COMPLETE] = { AR_PEER_UNREACHABLE, "its stream ended before its task" },
	[AR_TRANSFER_UNREACHABLE] = { AR_PEER_UNREACHABLE, "it cannot be reached" },
	[AR_TRANSFER_NO_DESCRIPTORS] = { AR_PEER_UNREACHABLE, "this runtime has no file descriptor left" },
	[AR_TRANSFER_CUT] = { AR_PEER_UNREACHABLE, "the connection broke" },
	[AR_TRANSFER_NOT_HTTP] = { AR_PEER_PROTOCOL, "it does not answer in HTTP" },
	[AR_TRANSFER_TIMEOUT] = { AR_PEER_UNREACHABLE, "it took too long" },
	[AR_TRANSFER_TOO_LARGE] = { AR_PEER_TOO_LARGE, "its answer is larger than the settings allow" },
	[AR_TRANSFER_STOPPED] = { AR_PEER_PROTOCOL, "its answer was not taken" },
	[AR_TRANSFER_CANCELLED] = { AR_PEER_CANCELLED, "cancelled" },
};

static bool is_read_only(const struct ar_a2a_call *c)
{
	return c->request.ask == AR_A2A_ASK_GET || c->request.ask == AR_A2A_ASK_SUBSCRIBE;
}

static void judge(struct ar_a2a_call *c, enum ar_transfer_end end, const char *detail)
{
	struct ar_a2a_outcome *o = &c->outcome;

	o->http = ar_transfer_status(&c->transfer);
	o->retry_after_ms =
		ar_header_retry_after_ms(ar_transfer_header(&c->transfer, "Retry-After"),
					 ar_clock_system()->wall(ar_clock_system()), RETRY_AFTER_MAX);
	if (o->error != AR_PEER_OK)
		return; /* judged while it came */
	if (end == AR_TRANSFER_COMPLETE && read_head(c) && !c->is_stream)
		ar_a2a_answer_whole(c);
	else if (o->error == AR_PEER_OK && !(c->is_stream && c->is_ended)) {
		o->error = ends[end].error;
		o->reason = end == AR_TRANSFER_COMPLETE || end == AR_TRANSFER_CANCELLED
				    ? ar_arena_str(&c->came, ar_str_from(ends[end].why))
				    : ar_arena_fmt(&c->came, "%s (%.180s)", ends[end].why, detail);
	}
	o->may_repeat = is_read_only(c) && (o->error == AR_PEER_UNREACHABLE || o->http == 429 ||
					    (o->http >= 500 && o->http != 501));
}

static void on_end(struct ar_transfer *t, enum ar_transfer_end end, const char *why)
{
	struct ar_a2a_call *c = call_of(t);

	c->is_running = false;
	c->is_sent = c->is_sent || (c->request.ask != AR_A2A_ASK_CARD && ar_transfer_is_sent(t));
	curl_slist_free_all(t->headers);
	t->headers = NULL;
	if (c->is_stream && !c->is_cancelled && c->outcome.error == AR_PEER_OK && !c->is_ended &&
	    ar_sse_end(&c->sse) == AR_E_LIMIT)
		ar_a2a_answer_fail(c, AR_PEER_TOO_LARGE, "an event of its stream is too large");
	judge(c, end, why);
	ar_a2a_call_ended(c);
}

/* ---- the beginning ---- */

static void add_header(struct ar_a2a_call *c, const char *name, struct ar_str value)
{
	struct ar_str line = ar_arena_fmt(&c->asked, "%s: %.*s", name, AR_STR_ARG(value));

	c->transfer.headers = curl_slist_append(c->transfer.headers, line.p);
}

static void add_headers(struct ar_a2a_call *c)
{
	const struct ar_a2a_options *o = &c->client->o;
	bool is_stream = c->request.ask == AR_A2A_ASK_SUBSCRIBE;

	/* Without it 0.3 is spoken. A card is asked for in the form of 1.0, the one that is signed. */
	if (c->request.ask == AR_A2A_ASK_CARD || !ar_a2a_interface_is_old(&c->client->interface))
		add_header(c, "A2A-Version", AR_STR("1.0"));
	add_header(c, "Accept",
		   is_stream ? AR_STR("text/event-stream, application/a2a+json, application/json")
			     : AR_STR("application/a2a+json, application/json"));
	add_header(c, "User-Agent", AR_STR("agentd"));
	c->transfer.headers = curl_slist_append(c->transfer.headers, "Expect:");
	if (!ar_str_absent(c->request.body))
		add_header(c, "Content-Type", AR_STR("application/json"));
	if (o->token && *o->token && **o->token)
		add_header(c, "Authorization", ar_arena_fmt(&c->asked, "Bearer %s", *o->token));
	if (!ar_str_absent(c->run->trace_parent))
		add_header(c, "traceparent", c->run->trace_parent);
}

static uint32_t ms_left(const struct ar_a2a_call *c, uint32_t most)
{
	ar_usec left = (c->run->deadline - ar_a2a_now()) / 1000;

	return left <= 1 ? 1 : left < most ? (uint32_t)left : most;
}

void ar_a2a_exchange_start(struct ar_a2a_call *c)
{
	static const struct ar_transfer_vtable vtable = { .on_body = on_body, .on_end = on_end };
	const struct ar_a2a_options *o = &c->client->o;
	bool is_stream = c->request.ask == AR_A2A_ASK_SUBSCRIBE;
	uint32_t ms = ms_left(c, o->timeout_ms);

	ar_sse_fini(&c->sse);
	ar_sse_init(&c->sse, o->answer_max, on_event, c);
	ar_buf_clear(&c->body);
	ar_arena_reset(&c->came);
	c->outcome = (struct ar_a2a_outcome){ 0 };
	c->tasks = NULL;
	c->task_count = 0;
	c->next_page = AR_STR_NONE;
	c->reading = (struct ar_a2a_reading){ 0 };
	c->is_head_read = c->is_stream = c->got_event = false;
	c->is_running = true;
	c->transfer = (struct ar_transfer){
		.v = &vtable,
		.url = c->request.url.p,
		.method = c->request.method,
		.body = c->request.body,
		.limits = { .connect_ms = ms,
			    .first_byte_ms = is_stream ? ms_left(c, o->idle_ms) : ms,
			    .idle_ms = is_stream ? ms_left(c, o->idle_ms) : ms,
			    .total_ms = is_stream ? ms_left(c, UINT32_MAX / 2) : ms,
			    .response_max = is_stream ? o->stream_max : o->answer_max + (uint64_t)1 },
	};
	add_headers(c);
	ar_transfer_start(c->client->pool, &c->transfer);
}
