/* One HTTP request per model call: request out over a transfer, answer in through the wire format, and the
 * end of both joined into one result. Retrying is left to the runtime. Loop thread only. */
#include "http_provider.h"

#include "clock.h"
#include "endpoint.h"
#include "mask.h"
#include "mem.h"
#include "pacing.h"
#include "refusal.h"
#include "request_headers.h"
#include "transfer.h"

#include <string.h>

#define KEPT_ERROR_BODY ((size_t)64 * 1024)
#define FRAMING_PER_BYTE 64 /* a token of a few bytes comes in a chunk of some hundred */
#define FRAMING_FREE ((uint64_t)16 << 20)
#define WHOLE_FRAMING ((size_t)1 << 20)
#define AFTER_DONE_MS 200 /* for the end of the response to follow the end mark */
#define AFTER_STOP_MS 5000 /* for usage and end mark to follow the stop reason */

struct http_provider {
	struct ar_provider base;
	const struct ar_wire *wire;
	struct ar_transfer_pool *pool;
	struct ar_json_parser *answers; /* of the event being taken */
	/* its own: a callback that starts a call must not end that event's document */
	struct ar_json_parser *requests;
	char *base_url;
	char *api_key;
	const char *const *api_key_at; /* the owner's; NULL: api_key counts */
	char *version;
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

struct exchange {
	struct ar_transfer transfer;
	struct http_provider *provider;
	struct ar_model_call *call;
	struct ar_answer answer;
	char *url;
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
	struct exchange *c = owner;

	if (c->cancelled)
		return;
	if (!c->first_output)
		c->first_output = now();
	c->call->v->on_tool(c->call, index, id, name);
}

static void pass_output(void *owner, enum ar_output_kind kind, uint32_t index, struct ar_str bytes)
{
	struct exchange *c = owner;

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

static bool read_events(struct exchange *c, struct ar_str bytes)
{
	bool was_done = c->answer.done;
	bool go_on = ar_answer_feed(&c->answer, bytes);

	if (was_done || !ar_answer_is_whole(&c->answer))
		return go_on;
	ar_transfer_linger(&c->transfer, c->answer.done ? AFTER_DONE_MS : AFTER_STOP_MS);
	c->finished = now();
	return true;
}

static bool on_body(struct ar_transfer *t, struct ar_str bytes)
{
	struct exchange *c = AR_CONTAINER_OF(t, struct exchange, transfer);

	if (c->form == BODY_UNKNOWN) {
		c->form = form_of(t);
		c->kept.cap =
			c->form == BODY_ERROR ? KEPT_ERROR_BODY : c->provider->output_max + WHOLE_FRAMING;
	}
	if (c->form == BODY_EVENTS)
		return read_events(c, bytes);
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
	[AR_TRANSFER_NO_DESCRIPTORS] = { AR_MODEL_UNREACHABLE, "descriptors", true,
					 "this runtime has no file descriptor left for a connection to the "
					 "model server; raise the limit (LimitNOFILE, ulimit -n) or lower "
					 "model.max_calls" },
	[AR_TRANSFER_CUT] = { AR_MODEL_CUT, "network", true, "the connection to the model server broke" },
	[AR_TRANSFER_NOT_HTTP] = { AR_MODEL_GARBLED, "protocol", false,
				   "the model server does not answer in HTTP; check the base URL" },
	[AR_TRANSFER_TIMEOUT] = { AR_MODEL_TIMEOUT, "timeout", true, "the model server took too long" },
	[AR_TRANSFER_TOO_LARGE] = { AR_MODEL_GARBLED, "too_large", false,
				    "the answer of the model server is too large" },
	[AR_TRANSFER_CANCELLED] = { AR_MODEL_CANCELLED, "cancelled", false, "the call was cancelled" },
};

static void end_broken(struct exchange *c, struct ar_model_result *r, enum ar_transfer_end end,
		       const char *why)
{
	char *url = ar_endpoint_shown(c->url);

	set_outcome(r, broken[end].outcome, broken[end].category, broken[end].retryable);
	r->message = ar_arena_fmt(&c->answer.arena, "%s (%s: %s)", broken[end].sentence, url, why);
	ar_free(url);
}

static struct ar_str header_of(const void *owner, const char *name)
{
	return ar_transfer_header(owner, name);
}

static void end_rejected(struct exchange *c, struct ar_model_result *r)
{
	const struct ar_transfer *t = &c->transfer;
	struct ar_str advice;

	ar_refusal_reject(&c->answer.arena, c->provider->answers, ar_transfer_status(t), ar_buf_str(&c->kept),
			  r);
	advice = ar_transfer_header(t, "x-should-retry");
	if (ar_str_is(advice, "true") || ar_str_is(advice, "false"))
		r->retryable = ar_str_is(advice, "true");
}

/* How long to wait: what the headers ask for, else the body, else until an exhausted limit is filled
 * again. */
static void set_pace(struct exchange *c, struct ar_model_result *r)
{
	struct ar_header_source headers = { header_of, &c->transfer };
	struct ar_clock *clock = ar_clock_system();
	ar_usec wall = clock->wall(clock);
	int64_t asked;

	ar_pacing_limits(&headers, wall, r->limits);
	if (r->outcome != AR_MODEL_REJECTED)
		return;
	asked = ar_pacing_retry_after(&headers, wall);
	if (asked > 0)
		r->retry_after_ms = asked;
	else if (r->http == 429 && r->retry_after_ms == 0)
		r->retry_after_ms = ar_pacing_reset(r->limits);
}

static void end_whole(struct exchange *c)
{
	ar_answer_whole(&c->answer, ar_buf_str(&c->kept));
	c->finished = now();
}

/* Joins what the transfer knows with what the stream knows. A whole answer stays whole when the connection
 * then breaks; a cancelled call is cancelled whatever came. */
static void join(struct exchange *c, enum ar_transfer_end end, const char *why)
{
	struct ar_model_result *r = &c->answer.result;
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
		ar_answer_end(&c->answer);
	} else if (ar_answer_is_whole(&c->answer)) {
		ar_answer_end(&c->answer);
	} else {
		end_broken(c, r, end, why);
	}
}

static int64_t ms_since(const struct exchange *c, ar_usec t)
{
	return t > c->began ? (t - c->began) / 1000 : 0;
}

static void exchange_free(struct exchange *c)
{
	curl_slist_free_all(c->transfer.headers);
	ar_free(c->url);
	ar_buf_fini(&c->request);
	ar_buf_fini(&c->kept);
	ar_answer_fini(&c->answer);
	ar_free(c);
}

static struct ar_str trim_key(const char *key)
{
	return key ? ar_str_trim(ar_str_from(key), " \t\r\n") : AR_STR("");
}

/* Absent: none is sent. */
static struct ar_str key_of(const struct http_provider *p)
{
	struct ar_str key = p->api_key_at ? trim_key(*p->api_key_at) : ar_str_from(p->api_key);

	return key.len > 0 ? key : AR_STR_NONE;
}

static void name_request(struct exchange *c, struct ar_model_result *r)
{
	struct ar_str id = ar_transfer_header(&c->transfer, c->provider->wire->request_id_header);

	r->request_id = id.len > 0 ? ar_arena_str(&c->answer.arena, id) : c->answer.answer_id;
}

static void on_end(struct ar_transfer *t, enum ar_transfer_end end, const char *why)
{
	struct exchange *c = AR_CONTAINER_OF(t, struct exchange, transfer);
	struct ar_model_result *r = &c->answer.result;
	struct ar_model_call *call = c->call;
	struct ar_str key = key_of(c->provider);

	if (!c->bad_request)
		join(c, end, why);
	/* Also when it was cancelled from inside an output that join() passed on. */
	if (c->cancelled)
		end_broken(c, r, AR_TRANSFER_CANCELLED, "on request");
	r->http = ar_transfer_status(t);
	set_pace(c, r);
	name_request(c, r);
	r->message = ar_mask(&c->answer.arena, r->message, key);
	r->payload = ar_mask(&c->answer.arena, r->payload, key);
	r->ttft_ms = ms_since(c, c->first_output);
	r->latency_ms = ms_since(c, c->finished ? c->finished : now());
	call->provider_state = NULL;
	call->v->on_done(call, r);
	exchange_free(c);
}

static const struct ar_transfer_vtable transfer_vtable = { on_body, on_end };

/* ---- the request ---- */

static void refuse_request(struct exchange *c, const struct ar_error *err)
{
	struct ar_model_result *r = &c->answer.result;

	c->bad_request = true;
	set_outcome(r, AR_MODEL_REJECTED, "invalid_request", false);
	r->message = ar_arena_fmt(&c->answer.arena, "the model request cannot be written: %s", err->msg);
	ar_transfer_cancel(&c->transfer);
}

static char *url_of(const struct http_provider *p, const struct ar_model_request *r)
{
	struct ar_buf path = { 0 };
	char *ret;

	p->wire->path(r, &path);
	ret = ar_endpoint_join(ar_str_from(p->base_url), ar_buf_str(&path));
	ar_buf_fini(&path);
	return ret;
}

static void start(struct ar_provider *base, struct ar_model_call *call)
{
	struct http_provider *p = AR_CONTAINER_OF(base, struct http_provider, base);
	struct exchange *c = ar_new0(sizeof(*c));
	struct ar_answer_sink sink = { pass_tool, pass_output, c };
	struct ar_error err = { 0 };
	enum ar_status st;

	c->provider = p;
	c->call = call;
	c->began = now();
	call->provider_state = c;
	ar_answer_init(&c->answer, p->wire, p->answers, &sink, p->output_max);
	st = p->wire->write(call->request, ar_str_from(p->version), p->requests, &c->request, &err);
	c->url = url_of(p, call->request);
	c->transfer.v = &transfer_vtable;
	c->transfer.url = c->url;
	c->transfer.headers = ar_request_headers(p->wire, call->request, key_of(p), ar_str_from(p->version));
	c->transfer.body = ar_buf_str(&c->request);
	c->transfer.limits = p->limits;
	ar_transfer_start(p->pool, &c->transfer);
	if (st != AR_OK)
		refuse_request(c, &err);
}

static void cancel(struct ar_provider *base AR_UNUSED, struct ar_model_call *call)
{
	struct exchange *c = call->provider_state;

	if (!c)
		return;
	c->cancelled = true;
	ar_transfer_cancel(&c->transfer);
}

static void close_provider(struct ar_provider *base)
{
	struct http_provider *p = AR_CONTAINER_OF(base, struct http_provider, base);

	ar_transfer_pool_close(p->pool);
	ar_json_parser_free(p->answers);
	ar_json_parser_free(p->requests);
	ar_free(p->base_url);
	ar_free(p->api_key);
	ar_free(p->version);
	ar_free(p->ca_file);
	ar_free(p);
}

static const struct ar_provider_vtable provider_vtable = { start, cancel, close_provider };

/* ---- options ---- */

static uint32_t or_default(uint32_t v, uint32_t otherwise)
{
	return v ? v : otherwise;
}

static void set_limits(struct http_provider *p, const struct ar_http_provider_options *o)
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

struct ar_provider *ar_http_provider_new(uv_loop_t *loop, const struct ar_http_provider_options *o)
{
	struct http_provider *p = ar_new0(sizeof(*p));
	struct ar_transfer_pool_options pool = { 0 };
	struct ar_str key = trim_key(o->api_key);
	struct ar_str url = ar_str_from(o->base_url ? o->base_url : o->wire->base_url);

	while (ar_str_ends(url, AR_STR("/")))
		url.len--;
	p->base = (struct ar_provider){ &provider_vtable, o->wire->name };
	p->wire = o->wire;
	p->base_url = ar_str_dup(url);
	p->api_key_at = o->api_key_at;
	p->api_key = key.len > 0 ? ar_str_dup(key) : NULL;
	p->version = ar_str_dup(ar_str_from(o->version ? o->version : o->wire->version));
	p->ca_file = ar_str_dup(ar_str_from(o->ca_file));
	set_limits(p, o);
	p->answers = ar_json_parser_new();
	p->requests = ar_json_parser_new();
	pool.tls = strncasecmp(p->base_url, "https:", 6) == 0;
	pool.ca_file = p->ca_file;
	pool.kept_connections = o->kept_connections;
	p->pool = ar_transfer_pool_new(loop, &pool);
	return &p->base;
}
