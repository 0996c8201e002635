/* One Chat Completions call per model call: request out over a transfer, answer in through openai_stream, and the end of
 * both joined into one result. Retrying is left to the runtime. Loop thread only. */
#include "openai_chat.h"

#include "clock.h"
#include "mem.h"
#include "openai_error.h"
#include "openai_headers.h"
#include "openai_request.h"
#include "openai_stream.h"
#include "transfer.h"

#include <string.h>

#define KEPT_ERROR_BODY ((size_t)64 * 1024)
#define FRAMING_PER_BYTE 64 /* a token of a few bytes comes in a chunk of some hundred */
#define FRAMING_FREE ((uint64_t)16 << 20)
#define WHOLE_FRAMING ((size_t)1 << 20)
#define AFTER_DONE_MS 200 /* for the end of the response to follow the end mark */
#define AFTER_STOP_MS 5000 /* for usage and end mark to follow the stop reason */

struct openai {
	struct ar_provider base;
	struct ar_transfer_pool *pool;
	struct ar_json_parser *answers; /* of the event being taken */
	struct ar_json_parser
		*requests; /* its own: a callback that starts a call must not end that event's document */
	char *url;
	char *shown_url; /* without user and password */
	char *api_key;
	char *ca_file;
	struct ar_transfer_limits limits;
	size_t output_max;
};

enum body_form {
	BODY_UNKNOWN,
	BODY_EVENTS,
	BODY_WHOLE, /* 2xx, but no event stream: read at the end */
	BODY_ERROR,
};

struct chat {
	struct ar_transfer transfer;
	struct openai *provider;
	struct ar_model_call *call;
	struct ar_openai_stream stream;
	struct ar_buf request;
	struct ar_buf kept; /* a body that is read at the end */
	enum body_form form;
	bool cancelled;
	bool bad_request; /* ours: there was nothing to send */
	ar_usec began, first_output, finished;
};

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

/* ---- outputs on their way to the caller ---- */

static void pass_tool(void *owner, uint32_t index, struct ar_str id, struct ar_str name)
{
	struct chat *c = owner;

	if (c->cancelled)
		return;
	if (!c->first_output)
		c->first_output = now();
	c->call->v->on_tool(c->call, index, id, name);
}

static void pass_output(void *owner, enum ar_output_kind kind, uint32_t index, struct ar_str bytes)
{
	struct chat *c = owner;

	if (c->cancelled)
		return;
	if (!c->first_output)
		c->first_output = now();
	c->call->v->on_output(c->call, kind, index, bytes);
}

/* ---- the answer ---- */

static enum body_form form_of(const struct ar_transfer *t)
{
	static const char events[] = "text/event-stream";
	int status = ar_transfer_status(t);
	struct ar_str type = ar_transfer_header(t, "content-type");

	if (status < 200 || status > 299)
		return BODY_ERROR;
	if (type.len >= sizeof(events) - 1 && strncasecmp(type.p, events, sizeof(events) - 1) == 0)
		return BODY_EVENTS;
	return BODY_WHOLE;
}

static bool take_events(struct chat *c, struct ar_str bytes)
{
	bool was_done = c->stream.done;
	bool go_on = ar_openai_stream_feed(&c->stream, bytes);

	if (was_done || !ar_openai_stream_is_whole(&c->stream))
		return go_on;
	ar_transfer_linger(&c->transfer, c->stream.done ? AFTER_DONE_MS : AFTER_STOP_MS);
	c->finished = now();
	return true;
}

static bool on_body(struct ar_transfer *t, struct ar_str bytes)
{
	struct chat *c = AR_CONTAINER_OF(t, struct chat, transfer);

	if (c->form == BODY_UNKNOWN) {
		c->form = form_of(t);
		c->kept.cap =
			c->form == BODY_ERROR ? KEPT_ERROR_BODY : c->provider->output_max + WHOLE_FRAMING;
	}
	if (c->form == BODY_EVENTS)
		return take_events(c, bytes);
	if (c->form == BODY_ERROR)
		bytes = ar_str_sub(bytes, 0, KEPT_ERROR_BODY - c->kept.len);
	ar_buf_adds(&c->kept, bytes);
	return !c->kept.failed && (c->form == BODY_WHOLE || c->kept.len < KEPT_ERROR_BODY);
}

/* ---- the end ---- */

static void set_outcome(struct ar_model_result *r, enum ar_model_outcome outcome, const char *category,
			bool retryable)
{
	r->outcome = outcome;
	r->category = ar_str_from(category);
	r->retryable = retryable;
}

/* How a transfer that broke reads as the end of a call. */
static const struct {
	enum ar_model_outcome outcome;
	const char *category;
	bool retryable;
	const char *sentence;
} broken[] = {
	[AR_TRANSFER_UNREACHABLE] = { AR_MODEL_UNREACHABLE, "network", true,
				      "the model server could not be reached; check that the base URL is "
				      "right and "
				      "the server runs" },
	[AR_TRANSFER_CUT] = { AR_MODEL_CUT, "network", true, "the connection to the model server broke" },
	[AR_TRANSFER_NOT_HTTP] = { AR_MODEL_GARBLED, "protocol", false,
				   "the model server does not speak HTTP; check the base URL" },
	[AR_TRANSFER_TIMEOUT] = { AR_MODEL_TIMEOUT, "timeout", true, "the model server took too long" },
	[AR_TRANSFER_TOO_LARGE] = { AR_MODEL_GARBLED, "too_large", false,
				    "the answer of the model server is too large" },
	[AR_TRANSFER_CANCELLED] = { AR_MODEL_CANCELLED, "cancelled", false, "the call was cancelled" },
};

static void end_broken(struct chat *c, struct ar_model_result *r, enum ar_transfer_end end, const char *why)
{
	set_outcome(r, broken[end].outcome, broken[end].category, broken[end].retryable);
	r->message = ar_arena_fmt(&c->stream.arena, "%s (%s: %s)", broken[end].sentence,
				  c->provider->shown_url, why);
}

static void end_rejected(struct chat *c, struct ar_model_result *r)
{
	const struct ar_transfer *t = &c->transfer;
	struct ar_clock *clock = ar_clock_system();
	struct ar_str advice, in_ms;

	ar_openai_reject(&c->stream.arena, c->provider->answers, ar_transfer_status(t), ar_buf_str(&c->kept),
			 r);
	in_ms = ar_arena_str(&c->stream.arena, ar_transfer_header(t, "retry-after-ms"));
	r->retry_after_ms =
		ar_openai_retry_after(in_ms, ar_transfer_header(t, "retry-after"), clock->wall(clock));
	advice = ar_transfer_header(t, "x-should-retry");
	if (ar_str_is(advice, "true") || ar_str_is(advice, "false"))
		r->retryable = ar_str_is(advice, "true");
}

static void end_whole(struct chat *c)
{
	ar_openai_stream_whole(&c->stream, ar_buf_str(&c->kept));
	c->finished = now();
}

/* Joins what the transfer knows with what the stream knows. A whole answer stays whole when the connection then breaks;
 * a cancelled call is cancelled whatever came. */
static void join(struct chat *c, enum ar_transfer_end end, const char *why)
{
	struct ar_model_result *r = &c->stream.result;
	bool over_cap = end == AR_TRANSFER_STOPPED && c->form == BODY_WHOLE;

	if (end == AR_TRANSFER_COMPLETE && c->form == BODY_UNKNOWN)
		c->form = form_of(&c->transfer);
	if (end == AR_TRANSFER_CANCELLED) {
		end_broken(c, r, end, why);
	} else if (c->form == BODY_ERROR) {
		end_rejected(c, r);
	} else if (over_cap) {
		end_broken(c, r, AR_TRANSFER_TOO_LARGE, "over the configured maximum");
	} else if (end == AR_TRANSFER_COMPLETE || end == AR_TRANSFER_STOPPED) {
		if (c->form == BODY_WHOLE)
			end_whole(c);
		ar_openai_stream_end(&c->stream);
	} else if (ar_openai_stream_is_whole(&c->stream)) {
		ar_openai_stream_end(&c->stream);
	} else {
		end_broken(c, r, end, why);
	}
}

static int64_t ms_since(const struct chat *c, ar_usec t)
{
	return t > c->began ? (t - c->began) / 1000 : 0;
}

static void chat_free(struct chat *c)
{
	curl_slist_free_all(c->transfer.headers);
	ar_buf_fini(&c->request);
	ar_buf_fini(&c->kept);
	ar_openai_stream_fini(&c->stream);
	ar_free(c);
}

static void on_end(struct ar_transfer *t, enum ar_transfer_end end, const char *why)
{
	struct chat *c = AR_CONTAINER_OF(t, struct chat, transfer);
	struct ar_model_result *r = &c->stream.result;
	struct ar_model_call *call = c->call;

	if (!c->bad_request)
		join(c, end, why);
	/* Also when it was cancelled from inside an output that join() passed on. */
	if (c->cancelled)
		end_broken(c, r, AR_TRANSFER_CANCELLED, "on request");
	r->http = ar_transfer_status(t);
	r->request_id = ar_arena_str(&c->stream.arena, ar_transfer_header(t, "x-request-id"));
	if (r->request_id.len == 0)
		r->request_id = c->stream.answer_id;
	if (!ar_str_absent(r->message))
		r->message = ar_openai_mask(&c->stream.arena, r->message, ar_str_from(c->provider->api_key));
	r->ttft_ms = ms_since(c, c->first_output);
	r->latency_ms = ms_since(c, c->finished ? c->finished : now());
	call->provider_state = NULL;
	call->v->on_done(call, r);
	chat_free(c);
}

static const struct ar_transfer_vtable transfer_vtable = { on_body, on_end };

/* ---- the request ---- */

static void refuse_request(struct chat *c, const struct ar_error *err)
{
	struct ar_model_result *r = &c->stream.result;

	c->bad_request = true;
	set_outcome(r, AR_MODEL_REJECTED, "invalid_request", false);
	r->message = ar_arena_fmt(&c->stream.arena, "the model request cannot be written: %s", err->msg);
	ar_transfer_cancel(&c->transfer);
}

static void start(struct ar_provider *base, struct ar_model_call *call)
{
	struct openai *p = AR_CONTAINER_OF(base, struct openai, base);
	struct chat *c = ar_new0(sizeof(*c));
	struct ar_openai_sink sink = { pass_tool, pass_output, c };
	struct ar_error err = { 0 };
	enum ar_status st;

	c->provider = p;
	c->call = call;
	c->began = now();
	call->provider_state = c;
	ar_openai_stream_init(&c->stream, p->answers, &sink, p->output_max);
	st = ar_openai_request_write(call->request, p->requests, &c->request, &err);
	c->transfer.v = &transfer_vtable;
	c->transfer.url = p->url;
	c->transfer.headers = ar_openai_headers(call->request, ar_str_from(p->api_key));
	c->transfer.body = ar_buf_str(&c->request);
	c->transfer.limits = p->limits;
	ar_transfer_start(p->pool, &c->transfer);
	if (st != AR_OK)
		refuse_request(c, &err);
}

static void cancel(struct ar_provider *base AR_UNUSED, struct ar_model_call *call)
{
	struct chat *c = call->provider_state;

	if (!c)
		return;
	c->cancelled = true;
	ar_transfer_cancel(&c->transfer);
}

static void close_provider(struct ar_provider *base)
{
	struct openai *p = AR_CONTAINER_OF(base, struct openai, base);

	ar_transfer_pool_close(p->pool);
	ar_json_parser_free(p->answers);
	ar_json_parser_free(p->requests);
	ar_free(p->url);
	ar_free(p->shown_url);
	ar_free(p->api_key);
	ar_free(p->ca_file);
	ar_free(p);
}

static const struct ar_provider_vtable provider_vtable = { start, cancel, close_provider };

/* ---- options ---- */

static struct ar_str trim(struct ar_str s, const char *set)
{
	while (s.len > 0 && strchr(set, s.p[s.len - 1]))
		s.len--;
	while (s.len > 0 && strchr(set, s.p[0]))
		s = ar_str_sub(s, 1, s.len);
	return s;
}

static char *endpoint_of(struct ar_str base_url)
{
	struct ar_buf url = { 0 };
	char *ret;

	ar_buf_adds(&url, base_url);
	while (url.len > 0 && url.p[url.len - 1] == '/')
		url.len--;
	ar_buf_addz(&url, "/chat/completions");
	ret = ar_str_dup(ar_buf_str(&url));
	ar_buf_fini(&url);
	return ret;
}

/* The URL for messages: a password in it stays out of them. */
static char *shown_url_of(const char *url)
{
	CURLU *parts = curl_url();
	char *text = NULL, *ret;

	if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK) {
		curl_url_set(parts, CURLUPART_USER, NULL, 0);
		curl_url_set(parts, CURLUPART_PASSWORD, NULL, 0);
		curl_url_get(parts, CURLUPART_URL, &text, 0);
	}
	ret = ar_str_dup(text ? ar_str_from(text) : AR_STR("the base URL is not a valid URL"));
	curl_free(text);
	curl_url_cleanup(parts);
	return ret;
}

static uint32_t or_default(uint32_t v, uint32_t otherwise)
{
	return v ? v : otherwise;
}

static void set_limits(struct openai *p, const struct ar_openai_options *o)
{
	p->output_max = or_default(o->max_output_bytes, 8u << 20);
	p->limits = (struct ar_transfer_limits){
		.connect_ms = or_default(o->connect_timeout_ms, 10 * 1000),
		.first_byte_ms = or_default(o->first_byte_timeout_ms, 5 * 60 * 1000),
		.idle_ms = or_default(o->idle_timeout_ms, 2 * 60 * 1000),
		.total_ms = or_default(o->total_timeout_ms, 30 * 60 * 1000),
		.response_max = FRAMING_FREE + FRAMING_PER_BYTE * (uint64_t)p->output_max,
	};
}

struct ar_provider *ar_provider_openai_new(uv_loop_t *loop, const struct ar_openai_options *o)
{
	struct openai *p = ar_new0(sizeof(*p));
	struct ar_transfer_pool_options pool = { 0 };
	struct ar_str key = trim(o->api_key ? ar_str_from(o->api_key) : AR_STR(""), " \t\r\n");

	p->base = (struct ar_provider){ &provider_vtable, "openai-chat" };
	p->url = endpoint_of(ar_str_from(o->base_url));
	p->shown_url = shown_url_of(p->url);
	p->api_key = key.len > 0 ? ar_str_dup(key) : NULL;
	p->ca_file = ar_str_dup(ar_str_from(o->ca_file));
	set_limits(p, o);
	p->answers = ar_json_parser_new();
	p->requests = ar_json_parser_new();
	pool.tls = strncasecmp(p->url, "https:", 6) == 0;
	pool.ca_file = p->ca_file;
	p->pool = ar_transfer_pool_new(loop, &pool);
	return &p->base;
}
