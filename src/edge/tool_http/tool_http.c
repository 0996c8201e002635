/* The source: tools from their declarations, one transfer per call, and the end of it as a result. What
 * is sent is in http_request.c, what the end means in http_answer.c. Loop thread only. */
#include "tool_http.h"

#include "clock.h"
#include "http_answer.h"
#include "http_request.h"
#include "mem.h"
#include "transfer.h"

#include <string.h>
#include <strings.h>

#define CONNECT_MS 10000
#define DEFAULT_MS 30000

struct http_source {
	struct ar_tool_source base;
	uv_loop_t *loop;
	struct ar_arena arena; /* what was declared */
	struct ar_tool *tools;
	struct plan *plans; /* beside the tools */
	struct ar_buf trouble;
	struct ar_json_parser *args, *answers;
	struct ar_transfer_pool *pools[2]; /* by TLS or not; made when first used */
	char *ca_file;
};

struct plan {
	struct ar_http_plan http;
	uint32_t timeout_ms;
	bool is_tls;
};

struct exchange {
	struct ar_transfer transfer;
	struct http_source *source;
	struct ar_tool_call *call;
	char *url;
	struct ar_buf body;
	struct ar_error refusal; /* ours: the arguments make no request */
};

/* ---- calls ---- */

static bool on_body(struct ar_transfer *t, struct ar_str bytes)
{
	struct exchange *x = AR_CONTAINER_OF(t, struct exchange, transfer);

	ar_buf_adds(&x->body, bytes);
	return !x->body.failed;
}

static struct ar_tool_result refused_result(const struct exchange *x)
{
	return (struct ar_tool_result){ .outcome = AR_TOOL_NOT_RUN,
					.category = AR_STR("invalid_request"),
					.message = ar_str_from(x->refusal.msg),
					.advice = AR_STR("change the arguments") };
}

static struct ar_tool_result result_of(struct exchange *x, enum ar_transfer_end end, const char *why,
				       struct ar_arena *a)
{
	struct ar_transfer *t = &x->transfer;
	struct ar_http_end e = { .tool = x->call->tool,
				 .end = end,
				 .why = why,
				 .is_sent = ar_transfer_is_sent(t),
				 .status = ar_transfer_status(t),
				 .body = ar_buf_str(&x->body) };

	if (x->refusal.status)
		return refused_result(x);
	/* A header is valid until the next is asked for. */
	e.type = ar_arena_str(a, ar_transfer_header(t, "content-type"));
	e.retry_after = ar_arena_str(a, ar_transfer_header(t, "retry-after"));
	return ar_http_result(&e, x->source->answers, a);
}

static void on_end(struct ar_transfer *t, enum ar_transfer_end end, const char *why)
{
	struct exchange *x = AR_CONTAINER_OF(t, struct exchange, transfer);
	struct ar_tool_call *call = x->call;
	struct ar_arena a = { 0 };
	struct ar_tool_result result = result_of(x, end, why, &a);

	call->source_state = NULL;
	call->v->on_done(call, &result);
	ar_arena_fini(&a);
	curl_slist_free_all(t->headers);
	ar_buf_fini(&x->body);
	ar_free(x->url);
	ar_free(x);
}

static const struct ar_transfer_vtable exchange_vtable = { .on_body = on_body, .on_end = on_end };

static struct ar_transfer_pool *pool_for(struct http_source *s, bool is_tls)
{
	struct ar_transfer_pool_options o = { .tls = is_tls, .ca_file = s->ca_file };

	if (!s->pools[is_tls])
		s->pools[is_tls] = ar_transfer_pool_new(s->loop, &o);
	return s->pools[is_tls];
}

/* What the tool may take, but not past the end of the call. */
static struct ar_transfer_limits limits_of(const struct plan *p, const struct ar_tool_call *c)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec left = c->deadline ? (c->deadline - clock->mono(clock)) / 1000 : (ar_usec)p->timeout_ms;
	uint32_t ms = left >= (ar_usec)p->timeout_ms ? p->timeout_ms : left > 0 ? (uint32_t)left + 1 : 1;

	return (struct ar_transfer_limits){ ms < CONNECT_MS ? ms : CONNECT_MS, ms, ms, ms,
					    AR_TOOL_HTTP_ANSWER_MAX };
}

static enum ar_status write_request(struct exchange *x, const struct ar_http_plan *p, struct ar_error *err)
{
	struct ar_json args;
	enum ar_status status = ar_json_parse(x->source->args, x->call->args, &args, err);

	if (!status && ar_json_type(args) != AR_JSON_OBJECT)
		status = ar_fail(err, AR_E_INVALID, "the arguments must be a JSON object");
	return status ? status : ar_http_url(p, args, &x->url, err);
}

static const struct plan *plan_of(const struct http_source *s, const struct ar_tool *tool)
{
	AR_ASSERT(tool >= s->tools && tool < s->tools + s->base.tool_count);
	return &s->plans[tool - s->tools];
}

static void start(struct ar_tool_source *base, struct ar_tool_call *c)
{
	struct http_source *s = AR_CONTAINER_OF(base, struct http_source, base);
	const struct plan *p = plan_of(s, c->tool);
	struct exchange *x = ar_new0(sizeof(*x));
	bool can_send;

	x->source = s;
	x->call = c;
	x->body.cap = AR_TOOL_HTTP_ANSWER_MAX;
	can_send = write_request(x, &p->http, &x->refusal) == AR_OK;
	x->transfer.v = &exchange_vtable;
	x->transfer.url = can_send ? x->url : "";
	x->transfer.method = p->http.method;
	x->transfer.headers = ar_http_headers(&p->http, c);
	x->transfer.body = p->http.sends_body ? c->args : AR_STR_NONE;
	x->transfer.limits = limits_of(p, c);
	c->source_state = x;
	ar_transfer_start(pool_for(s, p->is_tls), &x->transfer);
	/* Nothing leaves before the loop turns: the refusal comes back from there like every other end. */
	if (!can_send)
		ar_transfer_cancel(&x->transfer);
}

static void cancel(struct ar_tool_source *base AR_UNUSED, struct ar_tool_call *c)
{
	struct exchange *x = c->source_state;

	if (x)
		ar_transfer_cancel(&x->transfer);
}

/* These tools ask nothing. */
static void answer(struct ar_tool_source *base AR_UNUSED, struct ar_tool_call *c AR_UNUSED,
		   const struct ar_tool_answer *a AR_UNUSED)
{
}

static void close_source(struct ar_tool_source *base)
{
	struct http_source *s = AR_CONTAINER_OF(base, struct http_source, base);

	for (size_t i = 0; i < AR_ARRAY_LEN(s->pools); i++) {
		if (s->pools[i])
			ar_transfer_pool_close(s->pools[i]);
	}
	ar_json_parser_free(s->args);
	ar_json_parser_free(s->answers);
	ar_arena_fini(&s->arena);
	ar_buf_fini(&s->trouble);
	ar_free(s->ca_file);
	ar_free(s);
}

static const struct ar_tool_source_vtable source_vtable = {
	.start = start, .cancel = cancel, .answer = answer, .close = close_source
};

/* ---- declarations ---- */

static const char *copy(struct http_source *s, const char *text)
{
	return ar_arena_str(&s->arena, ar_str_from(text ? text : "")).p;
}

static bool is_name(struct ar_str name)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

	for (size_t i = 0; i < name.len; i++) {
		if (!strchr(allowed, name.p[i]))
			return false;
	}
	return name.len > 0 && name.len <= AR_TOOL_NAME_MAX;
}

static enum ar_status check_texts(struct http_source *s, const struct ar_tool *t, struct ar_error *err)
{
	struct ar_json schema;

	if (!is_name(t->name))
		return ar_fail(err, AR_E_INVALID, "the name must be 1 to %d of A-Z a-z 0-9 _ -",
			       AR_TOOL_NAME_MAX);
	if (t->description.len > AR_TOOL_DESCRIPTION_MAX)
		return ar_fail(err, AR_E_LIMIT, "the description must have at most %d bytes",
			       AR_TOOL_DESCRIPTION_MAX);
	if (t->schema.len > AR_TOOL_SCHEMA_MAX)
		return ar_fail(err, AR_E_LIMIT, "the schema must have at most %d bytes", AR_TOOL_SCHEMA_MAX);
	if (ar_json_parse(s->args, t->schema, &schema, err))
		return ar_fail_wrap(err, "the schema is not JSON");
	if (ar_json_type(schema) != AR_JSON_OBJECT)
		return ar_fail(err, AR_E_INVALID, "the schema must be a JSON object");
	return AR_OK;
}

static struct plan plan_from(struct http_source *s, const struct ar_tool_http *d)
{
	const char *method = copy(s, d->method);
	struct plan p = { .timeout_ms = d->timeout_ms ? d->timeout_ms : DEFAULT_MS };

	p.http.method = *method ? method : "POST";
	p.http.url = copy(s, d->url);
	p.http.headers = d->headers;
	p.http.header_count = d->header_count;
	p.http.sends_body = strcmp(p.http.method, "GET") != 0 && strcmp(p.http.method, "DELETE") != 0;
	p.is_tls = strncasecmp(p.http.url, "https:", 6) == 0;
	return p;
}

static struct ar_tool tool_from(struct http_source *s, const struct ar_tool_http *d, const struct plan *p)
{
	const char *schema = copy(s, d->schema);

	return (struct ar_tool){
		.name = ar_str_from(copy(s, d->name)),
		.description = ar_str_from(copy(s, d->description)),
		.schema = *schema ? ar_str_from(schema) : AR_STR("{\"type\":\"object\"}"),
		.origin = ar_arena_str(&s->arena, ar_http_host(ar_str_from(p->http.url))),
		.owner = AR_TOOL_CONNECTOR,
		.capabilities = AR_TOOL_NETWORK | (d->is_read_only ? AR_TOOL_READ : AR_TOOL_WRITE) |
				(d->is_browser ? AR_TOOL_BROWSER : 0),
		.is_read_only = d->is_read_only,
		.is_concurrency_safe = d->is_read_only,
		.is_destructive = d->is_destructive && !d->is_read_only,
		.is_idempotent = d->is_idempotent,
	};
}

static void declare(struct http_source *s, const struct ar_tool_http *d)
{
	size_t at = s->base.tool_count;
	struct ar_error err = { 0 };
	enum ar_status status;

	s->plans[at] = plan_from(s, d);
	s->tools[at] = tool_from(s, d, &s->plans[at]);
	status = check_texts(s, &s->tools[at], &err);
	if (!status)
		status = ar_http_plan_check(&s->plans[at].http, &err);
	if (!status) {
		s->base.tool_count++;
		return;
	}
	ar_buf_addf(&s->trouble, "%shttp tool '%.64s': %s", s->trouble.len ? "\n" : "",
		    d->name ? d->name : "", err.msg);
}

struct ar_tool_source *ar_tool_http_open(uv_loop_t *loop, const struct ar_tool_http *tools, size_t count,
					 const struct ar_tool_http_options *o)
{
	struct http_source *s = ar_new0(sizeof(*s));

	s->base = (struct ar_tool_source){ .v = &source_vtable, .name = "http", .is_ready = true };
	s->loop = loop;
	s->args = ar_json_parser_new();
	s->answers = ar_json_parser_new();
	s->ca_file = o->ca_file ? ar_str_dup(ar_str_from(o->ca_file)) : NULL;
	s->tools = ar_arena_alloc(&s->arena, (count + 1) * sizeof(*s->tools));
	s->plans = ar_arena_alloc(&s->arena, (count + 1) * sizeof(*s->plans));
	for (size_t i = 0; i < count; i++)
		declare(s, &tools[i]);
	s->base.tools = s->tools;
	ar_buf_addc(&s->trouble, '\0');
	s->base.trouble = s->trouble.p[0] ? s->trouble.p : NULL;
	return &s->base;
}
