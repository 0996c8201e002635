/* Messages over Streamable HTTP (see wire.h): a POST for each of ours, its answer as one text or as an event
 * stream; in the legacy era also a session, a standing GET for what the server says unasked, and a DELETE at
 * the end. Loop thread only. */
#include "wire.h"

#include "http_stream.h"
#include "list.h"
#include "mem.h"
#include "param_headers.h"

#include <string.h>
#include <strings.h>

#define SESSION_MAX 256
#define DELETE_MS 2000

struct http_wire {
	struct ar_mcp_wire base;
	uv_loop_t *loop;
	struct ar_transfer_pool *pool;
	char *url;
	const char *const *fixed; /* headers of the configuration, ended by NULL; the owner's */
	char *session; /* NULL: none */
	const char *version; /* NULL: not agreed yet */
	uint32_t connect_ms;
	struct ar_list exchanges;
	bool modern, is_closing;
};

struct exchange {
	struct ar_mcp_stream stream;
	struct ar_list node;
	struct http_wire *wire;
	int64_t id;
	bool wants_ack, opens_session;
	struct ar_buf text;
	struct curl_slist *own; /* headers of this request alone */
};

static struct http_wire *wire_of(struct ar_mcp_wire *w)
{
	return AR_CONTAINER_OF(w, struct http_wire, base);
}

static struct exchange *exchange_of(struct ar_mcp_stream *s)
{
	return AR_CONTAINER_OF(s, struct exchange, stream);
}

/* ---- headers ---- */

/* libcurl leaves a header without a value out unless it ends in a semicolon. */
static struct curl_slist *add_header(struct curl_slist *list, const char *name, struct ar_str value)
{
	struct ar_buf line = { 0 };

	ar_buf_addf(&line, value.len > 0 ? "%s: %.*s" : "%s;", name, AR_STR_ARG(value));
	ar_buf_addc(&line, '\0');
	list = curl_slist_append(list, line.p);
	ar_buf_fini(&line);
	return list;
}

static struct curl_slist *copy_headers(struct curl_slist *to, const struct curl_slist *from)
{
	for (; from; from = from->next)
		to = curl_slist_append(to, from->data);
	return to;
}

/* "Name: value". One with control characters in it could smuggle another header in and is left out. */
static struct curl_slist *add_line(struct curl_slist *list, struct ar_str line)
{
	struct ar_str head, value = ar_str_split(line, ':', &head);
	char name[128];

	if (ar_str_absent(value) || head.len == 0 || head.len >= sizeof(name))
		return list;
	for (size_t i = 0; i < line.len; i++) {
		if (line.p[i] >= 0 && line.p[i] < ' ')
			return list;
	}
	memcpy(name, head.p, head.len);
	name[head.len] = '\0';
	while (value.len > 0 && value.p[0] == ' ')
		value = ar_str_sub(value, 1, value.len);
	return add_header(list, name, value);
}

static struct curl_slist *add_lines(struct curl_slist *list, struct ar_str lines)
{
	struct ar_str line;

	while (!ar_str_absent(lines) && lines.len > 0) {
		lines = ar_str_split(lines, '\n', &line);
		list = add_line(list, line);
	}
	return list;
}

static struct curl_slist *headers(struct ar_mcp_stream *s, struct ar_str last_id)
{
	struct exchange *x = exchange_of(s);
	struct http_wire *w = x->wire;
	struct curl_slist *list = NULL;
	bool get = s->method && strcmp(s->method, "GET") == 0;

	for (size_t i = 0; w->fixed && w->fixed[i]; i++)
		list = add_line(list, ar_str_from(w->fixed[i]));
	list = curl_slist_append(list, get ? "Accept: text/event-stream"
					   : "Accept: application/json, text/event-stream");
	if (!s->method)
		list = curl_slist_append(list, "Content-Type: application/json");
	/* libcurl waits for a 100 before long bodies; servers need not send it. */
	list = curl_slist_append(list, "Expect:");
	if (w->version && !x->opens_session)
		list = add_header(list, "MCP-Protocol-Version", ar_str_from(w->version));
	if (w->session && !x->opens_session)
		list = add_header(list, "Mcp-Session-Id", ar_str_from(w->session));
	if (!ar_str_absent(last_id))
		list = add_header(list, "Last-Event-ID", last_id);
	return copy_headers(list, x->own);
}

/* What the modern era wants to see without reading the body. */
static struct curl_slist *own_headers(const struct ar_mcp_send *m)
{
	struct curl_slist *list = NULL;
	struct ar_buf value = { 0 };

	if (m->method)
		list = add_header(list, "Mcp-Method", ar_str_from(m->method));
	if (!ar_str_absent(m->name)) {
		ar_mcp_header_value(m->name, &value);
		list = add_header(list, "Mcp-Name", ar_buf_str(&value));
		ar_buf_fini(&value);
	}
	return add_lines(list, m->headers);
}

/* ---- the stream's events ---- */

static bool is_visible(struct ar_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return false;
	}
	return s.len > 0 && s.len <= SESSION_MAX;
}

static void on_headers(struct ar_mcp_stream *s)
{
	struct exchange *x = exchange_of(s);
	struct ar_str session;

	if (!x->opens_session || x->wire->session)
		return;
	session = ar_mcp_stream_header(s, "mcp-session-id");
	if (!ar_str_absent(session) && is_visible(session))
		x->wire->session = ar_str_dup(session);
}

static void on_message(struct ar_mcp_stream *s, struct ar_str text)
{
	struct exchange *x = exchange_of(s);
	struct http_wire *w = x->wire;

	if (!w->is_closing)
		w->base.events->on_message(w->base.owner, text, x->id);
}

static void free_if_over(struct http_wire *w)
{
	const struct ar_mcp_wire_events *events = w->base.events;
	void *owner = w->base.owner;

	if (!w->is_closing || !ar_list_empty(&w->exchanges))
		return;
	ar_transfer_pool_close(w->pool);
	ar_free(w->session);
	ar_free(w->url);
	ar_free(w);
	events->on_closed(owner);
}

static void on_end(struct ar_mcp_stream *s, const struct ar_mcp_failure *f)
{
	struct exchange *x = exchange_of(s);
	struct http_wire *w = x->wire;

	/* It stays in the list meanwhile: a callback may close the wire, which then lives on until the list
	 * is empty. */
	if (!w->is_closing && f && x->id != 0)
		w->base.events->on_failed(w->base.owner, x->id, f);
	if (!w->is_closing && x->wants_ack)
		w->base.events->on_acked(w->base.owner);
	ar_list_del(&x->node);
	curl_slist_free_all(x->own);
	ar_buf_fini(&x->text);
	ar_free(x);
	free_if_over(w);
}

static const struct ar_mcp_stream_vtable stream_vtable = { headers, on_headers, on_message, on_end };

/* ---- the wire ---- */

static struct exchange *exchange_new(struct http_wire *w)
{
	struct exchange *x = ar_new0(sizeof(*x));

	x->wire = w;
	x->stream.v = &stream_vtable;
	x->stream.pool = w->pool;
	x->stream.url = w->url;
	x->stream.connect_ms = w->connect_ms;
	ar_list_push(&w->exchanges, &x->node);
	return x;
}

static ar_usec later(uint32_t ms)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock) + (ar_usec)ms * 1000;
}

static void http_send(struct ar_mcp_wire *base, const struct ar_mcp_send *m)
{
	struct http_wire *w = wire_of(base);
	struct exchange *x = exchange_new(w);

	x->id = m->id;
	x->wants_ack = m->wants_ack;
	x->opens_session = m->method && strcmp(m->method, "initialize") == 0;
	ar_buf_adds(&x->text, m->text);
	if (w->modern)
		x->own = own_headers(m);
	x->stream.body = ar_buf_str(&x->text);
	/* A request has its deadline elsewhere: the caller that waits for the answer sets it. */
	if (m->id == 0)
		x->stream.deadline = later(w->connect_ms);
	x->stream.expects_answer = m->id != 0;
	x->stream.resumable = !w->modern;
	ar_mcp_stream_start(&x->stream, w->loop);
}

static void http_settle(struct ar_mcp_wire *base, int64_t id, bool abandoned)
{
	struct http_wire *w = wire_of(base);

	AR_LIST_FOR (it, &w->exchanges) {
		struct exchange *x = AR_CONTAINER_OF(it, struct exchange, node);

		if (x->id == id) {
			ar_mcp_stream_settle(&x->stream, abandoned);
			return;
		}
	}
}

static void listen_standing(struct http_wire *w)
{
	struct exchange *x = exchange_new(w);

	x->stream.method = "GET";
	x->stream.standing = true;
	ar_mcp_stream_start(&x->stream, w->loop);
}

static void http_agree(struct ar_mcp_wire *base, const char *version, bool modern)
{
	struct http_wire *w = wire_of(base);

	w->version = version;
	w->modern = modern;
	w->base.closing_cancels = modern;
}

static void http_listen(struct ar_mcp_wire *base)
{
	struct http_wire *w = wire_of(base);

	if (!w->modern)
		listen_standing(w);
}

static void end_session(struct http_wire *w)
{
	struct exchange *x = exchange_new(w);

	x->stream.method = "DELETE";
	x->stream.deadline = later(DELETE_MS);
	x->stream.connect_ms = DELETE_MS;
	ar_mcp_stream_start(&x->stream, w->loop);
}

static void http_close(struct ar_mcp_wire *base)
{
	struct http_wire *w = wire_of(base);

	w->is_closing = true;
	AR_LIST_FOR_SAFE (it, &w->exchanges)
		ar_mcp_stream_settle(&AR_CONTAINER_OF(it, struct exchange, node)->stream, true);
	if (w->session)
		end_session(w);
	free_if_over(w);
}

static const struct ar_mcp_wire_vtable vtable = { http_send, http_settle, http_agree, http_listen,
						  http_close };

struct ar_mcp_wire *ar_mcp_http_open(uv_loop_t *loop, const struct ar_mcp_options *o,
				     const struct ar_mcp_wire_events *events, void *owner)
{
	struct http_wire *w = ar_new0(sizeof(*w));
	struct ar_transfer_pool_options pool = { 0 };

	w->base = (struct ar_mcp_wire){ .v = &vtable, .events = events, .owner = owner };
	w->loop = loop;
	w->url = ar_str_dup(ar_str_from(o->url));
	w->connect_ms = o->connect_timeout_ms;
	w->fixed = o->headers;
	ar_list_init(&w->exchanges);
	pool.tls = strncasecmp(w->url, "https:", 6) == 0;
	w->pool = ar_transfer_pool_new(loop, &pool);
	return &w->base;
}
