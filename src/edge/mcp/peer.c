/* See peer.h. Loop thread only. */
#include "peer.h"

#include "mem.h"

#include <stdio.h>
#include <string.h>

#define MINUTE ((ar_usec)60 * 1000 * 1000)
#define PAUSE_MS 250 /* after the first failure; doubles */
#define PAUSE_MAX_MS 10000
#define GARBLED_MAX 100

ar_usec ar_mcp_now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

/* ---- requests ---- */

static struct ar_mcp_request *find_request(struct ar_mcp_peer *p, int64_t id)
{
	AR_LIST_FOR (it, &p->requests) {
		struct ar_mcp_request *r = AR_CONTAINER_OF(it, struct ar_mcp_request, node);

		if (r->id == id)
			return r;
	}
	return NULL;
}

static void remove_request(struct ar_mcp_peer *p, struct ar_mcp_request *r)
{
	ar_list_del(&r->node);
	p->request_count--;
	r->id = 0;
}

int64_t ar_mcp_peer_id(struct ar_mcp_peer *p)
{
	return ++p->last_id;
}

bool ar_mcp_peer_send(struct ar_mcp_peer *p, struct ar_mcp_request *r, int64_t id, struct ar_mcp_send *m)
{
	if (p->request_count >= AR_MCP_PENDING_MAX)
		return false;
	r->id = id;
	m->id = id;
	ar_list_push(&p->requests, &r->node);
	p->request_count++;
	p->wire->v->send(p->wire, m);
	ar_mcp_peer_arm(p);
	return true;
}

static void send_cancel(struct ar_mcp_peer *p, int64_t id, const char *reason)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_mcp_open(&text, 0, "notifications/cancelled", &(struct ar_mcp_meta){ 0 });
	struct ar_mcp_send m = { .method = "notifications/cancelled" };

	ar_jw_mint(&w, "requestId", id);
	ar_jw_mstr(&w, "reason", ar_str_from(reason));
	ar_mcp_close(&w);
	m.text = ar_buf_str(&text);
	p->wire->v->send(p->wire, &m);
	ar_buf_fini(&text);
}

void ar_mcp_peer_drop(struct ar_mcp_peer *p, struct ar_mcp_request *r, const char *cancel)
{
	int64_t id = r->id;

	if (id == 0)
		return;
	remove_request(p, r);
	if (!p->wire)
		return;
	if (cancel && !p->wire->closing_cancels)
		send_cancel(p, id, cancel);
	p->wire->v->settle(p->wire, id, true);
}

static void send_answer(struct ar_mcp_peer *p, struct ar_buf *text)
{
	struct ar_mcp_send m = { .text = ar_buf_str(text) };

	if (p->wire)
		p->wire->v->send(p->wire, &m);
	ar_buf_fini(text);
}

void ar_mcp_peer_answer(struct ar_mcp_peer *p, struct ar_str id, struct ar_str result)
{
	struct ar_buf text = { 0 };

	ar_mcp_write_result(&text, id, result);
	send_answer(p, &text);
}

/* ---- time ---- */

static ar_usec sooner(ar_usec a, ar_usec b)
{
	return a < b ? a : b;
}

static void expire(struct ar_mcp_peer *p, struct ar_mcp_request *r)
{
	struct ar_mcp_failure f = { .sent = true, .timed_out = true, .why = "it did not answer in time" };

	/* A handshake must not be cancelled, says the protocol. */
	ar_mcp_peer_drop(p, r, r == &p->hello ? NULL : "timeout");
	r->v->on_failed(r, &f);
}

static struct ar_mcp_request *overdue(struct ar_mcp_peer *p, ar_usec now)
{
	AR_LIST_FOR (it, &p->requests) {
		struct ar_mcp_request *r = AR_CONTAINER_OF(it, struct ar_mcp_request, node);

		if (r->deadline <= now)
			return r;
	}
	return NULL;
}

static void begin(struct ar_mcp_peer *p);

static void on_time(uv_timer_t *timer)
{
	struct ar_mcp_peer *p = timer->data;
	ar_usec now = ar_mcp_now();
	struct ar_mcp_request *r;

	while ((r = overdue(p, now)))
		expire(p, r);
	if (p->state == AR_MCP_PAUSING && p->open_at <= now)
		begin(p);
	if (p->state == AR_MCP_READY && p->listen_at <= now)
		ar_mcp_handshake_listen(p);
	ar_mcp_peer_arm(p);
}

void ar_mcp_peer_arm(struct ar_mcp_peer *p)
{
	ar_usec now = ar_mcp_now(), next = AR_MCP_NEVER;

	AR_LIST_FOR (it, &p->requests)
		next = sooner(next, AR_CONTAINER_OF(it, struct ar_mcp_request, node)->deadline);
	if (p->state == AR_MCP_PAUSING)
		next = sooner(next, p->open_at);
	if (p->state == AR_MCP_READY)
		next = sooner(next, p->listen_at);
	if (next == AR_MCP_NEVER) {
		uv_timer_stop(&p->timer);
		return;
	}
	/* The timer counts from the loop's cached time, which may lie far back. */
	uv_update_time(p->setup->loop);
	uv_timer_start(&p->timer, on_time, next > now ? (uint64_t)(next - now) / 1000 + 1 : 0, 0);
}

/* ---- what comes ---- */

static void read_answer(struct ar_mcp_peer *p, const struct ar_mcp_message *m, int64_t stream)
{
	/* A server that could not read our request does not know its id. */
	int64_t id = m->answers == 0 && m->kind == AR_MCP_ERROR ? stream : m->answers;
	struct ar_mcp_request *r = find_request(p, id);

	if (!r || id == 0)
		return;
	remove_request(p, r);
	p->wire->v->settle(p->wire, id, false);
	if (p->state == AR_MCP_READY)
		p->failures = 0;
	r->v->on_answer(r, m);
}

static void read_progress(struct ar_mcp_peer *p, struct ar_json params)
{
	struct ar_mcp_request *r;
	int64_t token = 0;

	ar_json_i64(ar_json_get(params, "progressToken"), &token);
	r = token ? find_request(p, token) : NULL;
	if (r && r->v->on_progress)
		r->v->on_progress(r, params);
}

static void read_request(struct ar_mcp_peer *p, const struct ar_mcp_message *m, int64_t stream)
{
	struct ar_buf id = { 0 }, text = { 0 };

	if (ar_str_is(m->method, "elicitation/create") && p->state == AR_MCP_READY) {
		p->events->on_asked(p->owner, m, stream ? find_request(p, stream) : NULL);
		return;
	}
	ar_json_print(m->id, &id);
	if (ar_str_is(m->method, "ping"))
		ar_mcp_write_result(&text, ar_buf_str(&id), AR_STR("{}"));
	else
		ar_mcp_write_error(&text, ar_buf_str(&id), AR_MCP_ERR_METHOD,
				   AR_STR("this client does not support that method"));
	send_answer(p, &text);
	ar_buf_fini(&id);
}

static void read_garbled(struct ar_mcp_peer *p, const char *why)
{
	char text[300];

	if (++p->garbled < GARBLED_MAX)
		return;
	snprintf(text, sizeof(text), "it violates the MCP protocol: %s", why);
	ar_mcp_peer_down(p, text);
}

static void on_message(void *owner, struct ar_str text, int64_t stream)
{
	struct ar_mcp_peer *p = owner;
	struct ar_mcp_message m;
	struct ar_error err = { 0 };

	if (ar_mcp_read(p->setup->answers, text, &m, &err) != AR_OK) {
		read_garbled(p, err.msg);
		return;
	}
	p->garbled = 0;
	if (m.kind == AR_MCP_REQUEST)
		read_request(p, &m, stream);
	else if (m.kind != AR_MCP_NOTIFICATION)
		read_answer(p, &m, stream);
	else if (ar_str_is(m.method, "notifications/progress"))
		read_progress(p, m.params);
	else if (ar_str_is(m.method, "notifications/tools/list_changed") && p->state == AR_MCP_READY)
		p->events->on_list_changed(p->owner);
}

/* A refusal over HTTP may hold the same answer as any other; but with a status that may mean the end of a
 * session, its user decides. */
static void on_failed(void *owner, int64_t id, const struct ar_mcp_failure *f)
{
	struct ar_mcp_peer *p = owner;
	struct ar_mcp_request *r = find_request(p, id);
	bool session_over = p->state == AR_MCP_READY && !p->modern && (f->http == 404 || f->http == 400);
	struct ar_mcp_message m;

	if (!r)
		return;
	remove_request(p, r);
	if (f->http >= 400 && !session_over && ar_mcp_read(p->setup->answers, f->body, &m, NULL) == AR_OK &&
	    m.kind == AR_MCP_ERROR)
		r->v->on_answer(r, &m);
	else
		r->v->on_failed(r, f);
}

static void on_acked(void *owner)
{
	ar_mcp_handshake_acked(owner);
}

static void on_gone(void *owner, const char *why)
{
	ar_mcp_peer_down(owner, why);
}

/* Only after ar_mcp_peer_close can the last one go: the timer is among them. */
static void handle_gone(struct ar_mcp_peer *p)
{
	struct ar_mcp_setup *setup = p->setup;

	if (--p->handles > 0)
		return;
	ar_free(p);
	if (--setup->peers == 0)
		setup->on_quiet(setup);
}

static void on_closed(void *owner)
{
	handle_gone(owner);
}

static const struct ar_mcp_wire_events wire_events = { on_message, on_failed, on_acked, on_gone, on_closed };

/* ---- life ---- */

static void begin(struct ar_mcp_peer *p)
{
	const struct ar_mcp_options *o = p->setup->options;

	p->state = AR_MCP_OPENING;
	p->modern = false;
	p->garbled = 0;
	p->listen_at = AR_MCP_NEVER;
	p->open_deadline = ar_mcp_now() + (ar_usec)o->connect_timeout_ms * 1000;
	p->handles++;
	if (o->open_wire)
		p->wire = o->open_wire(p->setup->loop, o, &wire_events, p);
	else if (o->url)
		p->wire = ar_mcp_http_open(p->setup->loop, o, &wire_events, p);
	else
		p->wire = ar_mcp_stdio_open(p->setup->loop, o, &wire_events, p);
	ar_mcp_handshake_begin(p);
}

/* Whether another start is within the limit; then it counts. */
static bool count_start(struct ar_mcp_peer *p, ar_usec now)
{
	uint32_t max = p->setup->options->restarts_per_minute + 1;

	if (max > AR_MCP_STARTS_MAX)
		max = AR_MCP_STARTS_MAX;
	while (p->start_count > 0 && p->starts[0] + MINUTE <= now)
		memmove(p->starts, p->starts + 1, --p->start_count * sizeof(p->starts[0]));
	if (p->start_count >= max)
		return false;
	p->starts[p->start_count++] = now;
	return true;
}

static ar_usec pause_of(const struct ar_mcp_peer *p)
{
	ar_usec ms = p->failures > 0 ? (ar_usec)PAUSE_MS << (p->failures < 8 ? p->failures - 1 : 7) : 0;

	return (ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS) * 1000;
}

bool ar_mcp_peer_open(struct ar_mcp_peer *p)
{
	ar_usec now = ar_mcp_now();
	char before[400];

	if (p->state != AR_MCP_DOWN)
		return true;
	if (!count_start(p, now)) {
		if (!strstr(p->why, "times in a minute")) {
			snprintf(before, sizeof(before), "%.399s", p->why);
			snprintf(p->why, sizeof(p->why),
				 "it was started %u times in a minute and is not restarted for a while: %s",
				 p->start_count, before);
		}
		return false;
	}
	p->state = AR_MCP_PAUSING;
	p->open_at = now + pause_of(p);
	ar_mcp_peer_arm(p);
	return true;
}

void ar_mcp_peer_ready(struct ar_mcp_peer *p)
{
	p->state = AR_MCP_READY;
	p->why[0] = '\0';
	p->wire->v->listen(p->wire);
	p->events->on_ready(p->owner);
	if (p->state == AR_MCP_READY)
		ar_mcp_handshake_listen(p);
}

static void close_wire(struct ar_mcp_peer *p)
{
	struct ar_mcp_wire *wire = p->wire;

	p->wire = NULL;
	if (wire)
		wire->v->close(wire);
}

static void fail_all(struct ar_mcp_peer *p, const char *why)
{
	struct ar_mcp_failure f = { .sent = true, .why = why };
	struct ar_list *node;

	while ((node = p->requests.next) != &p->requests) {
		struct ar_mcp_request *r = AR_CONTAINER_OF(node, struct ar_mcp_request, node);

		remove_request(p, r);
		if (r != &p->hello && r != &p->listen)
			r->v->on_failed(r, &f);
	}
}

void ar_mcp_peer_down(struct ar_mcp_peer *p, const char *why)
{
	char text[sizeof(p->why)];

	if (p->state == AR_MCP_DOWN)
		return;
	snprintf(text, sizeof(text), "%s", why);
	if (ar_mcp_handshake_can_skip_probe(p)) {
		/* It may have died of a question that it does not know: without it, once more. */
		p->skips_probe = true;
		fail_all(p, text);
		close_wire(p);
		begin(p);
		return;
	}
	memcpy(p->why, text, sizeof(text));
	p->state = AR_MCP_DOWN;
	p->failures++;
	close_wire(p);
	fail_all(p, text);
	ar_mcp_peer_arm(p);
	p->events->on_down(p->owner, p->why);
}

void ar_mcp_peer_reset(struct ar_mcp_peer *p, const char *why)
{
	ar_mcp_peer_down(p, why);
	p->failures = 0;
}

struct ar_mcp_peer *ar_mcp_peer_new(struct ar_mcp_setup *setup, const struct ar_mcp_peer_events *events,
				    void *owner)
{
	struct ar_mcp_peer *p = ar_new0(sizeof(*p));

	p->setup = setup;
	p->events = events;
	p->owner = owner;
	p->state = AR_MCP_DOWN;
	p->listen_at = AR_MCP_NEVER;
	ar_list_init(&p->requests);
	uv_timer_init(setup->loop, &p->timer);
	p->timer.data = p;
	p->handles = 1;
	setup->peers++;
	return p;
}

static void on_timer_closed(uv_handle_t *handle)
{
	handle_gone(handle->data);
}

void ar_mcp_peer_close(struct ar_mcp_peer *p)
{
	p->state = AR_MCP_DOWN;
	close_wire(p);
	uv_close((uv_handle_t *)&p->timer, on_timer_closed);
}
