/* The worker's end of a link: greeting, lease, messages; see serve.h. Calls are serve_calls.c, processes
 * serve_process.c.
 *
 * The lease counts from when a ping was sent, not from when its answer came: the daemon has heard of the
 * worker at that time or later, so it never counts calls as lost that still run here. */
#include "serve_priv.h"

#include "hash.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#define LEASE_MS 30000
#define HEARTBEAT_MS 5000
#define WELCOME_MS 10000
#define TICK_MAX_MS 250

/* ---- time ---- */

ar_usec ar_serve_now(const struct ar_worker_serve *s)
{
	return s->options.clock->mono(s->options.clock);
}

static void on_later(uv_timer_t *timer);

void ar_serve_later(struct ar_worker_serve *s)
{
	if (!s->is_closing)
		uv_timer_start(&s->later, on_later, 0, 0);
}

/* ---- sending ---- */

bool ar_serve_is_up(const struct ar_worker_serve *s)
{
	return s->link && s->is_welcome && !s->broken;
}

void ar_serve_break(struct ar_worker_serve *s, const char *why)
{
	if (s->broken || !s->link)
		return;
	s->broken = why;
	ar_serve_later(s);
}

void ar_serve_send(struct ar_worker_serve *s, struct ar_wire_writer *w)
{
	if (s->link && !s->broken && ar_wire_out_send(&s->out, w) != AR_OK)
		ar_serve_break(s, "the daemon does not read fast enough");
}

void ar_serve_send_copy(struct ar_worker_serve *s, const struct ar_wire_writer *w)
{
	if (s->link && !s->broken && ar_wire_out_send_copy(&s->out, w) != AR_OK)
		ar_serve_break(s, "the daemon does not read fast enough");
}

void ar_serve_send_word(struct ar_worker_serve *s, const char *op, struct ar_str ref)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, op, ref);
	ar_serve_send(s, &w);
}

static void write_profile(struct ar_jw *w, const struct ar_sandbox_standing *p)
{
	ar_jw_open(w);
	ar_jw_mbool(w, "isAvailable", p->is_available);
	ar_jw_mstr(w, "reason", p->reason);
	ar_jw_mstr(w, "remedy", p->remedy);
	ar_jw_mraw(w, "guarantees", p->guarantees);
	ar_jw_close(w);
}

static void write_capabilities(const struct ar_worker_serve *s, struct ar_buf *out)
{
	const struct ar_sandbox_host *host = s->local.processes ? s->local.processes->sandbox : NULL;
	struct ar_jw w = ar_jw(out);
	struct utsname name;

	ar_jw_open(&w);
	if (uname(&name) == 0)
		ar_jw_mstr(&w, "kernel", ar_str_from(name.release));
	if (host) {
		ar_jw_key(&w, "profiles");
		ar_jw_open(&w);
		for (int i = 1; i < AR_SANDBOX_COUNT; i++) {
			ar_jw_key(&w, ar_sandbox_name((enum ar_sandbox_profile)i));
			write_profile(&w, &host->profiles[i]);
		}
		ar_jw_close(&w);
		ar_jw_mraw(&w, "ladder", host->ladder);
	}
	ar_jw_close(&w);
}

static void send_hello(struct ar_worker_serve *s)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf capabilities = { 0 };

	write_capabilities(s, &capabilities);
	ar_wire_begin(&w, "hello", AR_STR_NONE);
	ar_jw_mstr(&w.w, "life", ar_str_from(s->life));
	ar_wire_add(&w, "version", s->options.version);
	ar_wire_add(&w, "capabilities", ar_buf_str(&capabilities));
	ar_wire_add(&w, "labels", s->options.labels);
	ar_jw_mint(&w.w, "begun", (int64_t)ar_begun_count(s->shared->begun));
	ar_jw_mbool(&w.w, "isDraining", s->is_draining);
	s->hello_at = ar_serve_now(s);
	ar_serve_send(s, &w);
}

static void send_ping(struct ar_worker_serve *s, ar_usec now)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	s->pings++;
	s->ping_at = s->ping_times[s->pings % AR_SERVE_PINGS] = now;
	ar_wire_begin(&w, "ping", AR_STR_NONE);
	ar_jw_mint(&w.w, "n", (int64_t)s->pings);
	if (ar_wire_out_send_now(&s->out, &w) != AR_OK)
		ar_serve_break(s, "the daemon does not read fast enough");
}

/* ---- the link ---- */

/* Calls go on: their lease is not over. Processes are found again by their handles. */
static void after_link(struct ar_worker_serve *s)
{
	s->link = NULL;
	s->is_welcome = false;
	s->broken = NULL;
	ar_serve_processes_leave(s);
	ar_wire_in_fini(&s->in);
	ar_wire_out_fini(&s->out);
}

static void close_link(struct ar_worker_serve *s, struct ar_str why)
{
	struct ar_link *link = s->link;

	if (!link)
		return;
	after_link(s);
	link->v->close(link, why);
}

static void report_parted(struct ar_worker_serve *s, struct ar_str why)
{
	if (s->options.on_parted)
		s->options.on_parted(s->options.arg, why);
}

static void on_link_closed(void *arg, struct ar_str why)
{
	struct ar_worker_serve *s = arg;

	after_link(s);
	report_parted(s, why);
}

static void on_link_drained(void *arg)
{
	struct ar_worker_serve *s = arg;

	if (ar_wire_out_pump(&s->out) != AR_OK)
		ar_serve_break(s, "the daemon does not read fast enough");
	ar_serve_processes_drained(s);
}

/* ---- messages ---- */

static void on_nodes(struct ar_worker_serve *s, struct ar_wire_message *m)
{
	struct ar_json nodes = ar_wire_array(m, m->head, "nodes", AR_WORKER_NODES_MAX);
	struct ar_str urls[AR_WORKER_NODES_MAX];
	size_t count = ar_json_type(nodes) == AR_JSON_ARRAY ? ar_json_len(nodes) : 0;

	for (size_t i = 0; i < count && !m->is_broken; i++)
		m->is_broken = !ar_json_str(ar_json_at(nodes, i), &urls[i]) || urls[i].len == 0 ||
			       urls[i].len > AR_WORKER_NODE_URL_MAX;
	if (!m->is_broken && s->options.on_nodes)
		s->options.on_nodes(s->options.arg, urls, count);
}

/* Another daemon, or one that was started again, counts the calls of the one before it as lost. */
static void set_daemon(struct ar_worker_serve *s, struct ar_str id)
{
	if (ar_str_is(id, s->daemon_id))
		return;
	ar_serve_calls_kill(s, true);
	snprintf(s->daemon_id, sizeof(s->daemon_id), "%.*s", AR_STR_ARG(id));
}

static void on_welcome(struct ar_worker_serve *s, struct ar_wire_message *m)
{
	int64_t lease = ar_wire_int(m, m->head, "leaseMs", 1, 24 * 3600 * 1000);
	int64_t heartbeat = ar_wire_int(m, m->head, "heartbeatMs", 1, 3600 * 1000);
	struct ar_str id = AR_STR_NONE;

	if (s->is_welcome || m->is_broken || lease == 0 || heartbeat == 0 ||
	    !ar_json_str(ar_json_get(m->head, "daemonId"), &id) || id.len == 0 ||
	    id.len >= sizeof(s->daemon_id)) {
		ar_serve_break(s, "the greeting of the daemon cannot be used");
		return;
	}
	set_daemon(s, id);
	ar_serve_calls_greeted(s);
	s->is_welcome = true;
	s->lease_ms = lease;
	s->heartbeat_ms = heartbeat;
	s->leased_at = s->ping_at = s->hello_at;
	on_nodes(s, m);
	if (s->options.on_joined)
		s->options.on_joined(s->options.arg);
}

static void on_pong(struct ar_worker_serve *s, struct ar_wire_message *m)
{
	int64_t n = ar_wire_int(m, m->head, "n", 1, INT64_MAX);

	if (m->is_broken || (uint64_t)n > s->pings || (uint64_t)n + AR_SERVE_PINGS <= s->pings)
		return;
	if (s->ping_times[n % AR_SERVE_PINGS] > s->leased_at)
		s->leased_at = s->ping_times[n % AR_SERVE_PINGS];
}

static void dispatch(struct ar_worker_serve *s, struct ar_wire_message *m)
{
	if (ar_str_is(m->op, "welcome"))
		on_welcome(s, m);
	else if (!s->is_welcome)
		ar_serve_break(s, "the first message of the daemon is no greeting");
	else if (ar_str_is(m->op, "pong"))
		on_pong(s, m);
	else if (ar_str_is(m->op, "nodes"))
		on_nodes(s, m);
	else if (!ar_serve_calls_message(s, m))
		(void)ar_serve_processes_message(s, m);
	if (m->is_broken)
		ar_serve_break(s, "a message of the daemon is not what it must be");
}

static void on_link_message(void *arg, struct ar_str message)
{
	struct ar_worker_serve *s = arg;
	struct ar_wire_message m;
	enum ar_wire_read read;

	if (s->broken)
		return;
	read = ar_wire_read(&s->in, message, &m);
	if (read == AR_WIRE_BROKEN)
		ar_serve_break(s, "a message of the daemon cannot be read");
	if (read != AR_WIRE_WHOLE)
		return;
	dispatch(s, &m);
	ar_wire_in_done(&s->in, &m);
}

void ar_worker_serve_link(struct ar_worker_serve *s, struct ar_link *link)
{
	close_link(s, AR_STR("the worker connects again"));
	s->link = link;
	s->pings = 0;
	s->in = (struct ar_wire_in){ .parser = s->parser, .checker = s->checker };
	ar_wire_out_init(&s->out, link);
	link->on_message = on_link_message;
	link->on_drained = on_link_drained;
	link->on_close = on_link_closed;
	link->arg = s;
	send_hello(s);
}

/* ---- the lease ---- */

void ar_worker_serve_tick(struct ar_worker_serve *s)
{
	ar_usec now = ar_serve_now(s);

	if (s->is_closing)
		return;
	if (s->link && !s->is_welcome && now - s->hello_at > (ar_usec)WELCOME_MS * 1000)
		ar_serve_break(s, "the daemon does not greet");
	if (s->running > 0 && now - s->leased_at >= s->lease_ms * 1000)
		ar_serve_calls_kill(s, false);
	if (ar_serve_is_up(s) && now - s->leased_at >= s->lease_ms * 1000)
		ar_serve_break(s, "the daemon does not answer");
	if (ar_serve_is_up(s) && now - s->ping_at >= s->heartbeat_ms * 1000)
		send_ping(s, now);
	ar_serve_calls_tick(s, now);
	on_later(&s->later);
}

/* It follows the heartbeat, which the daemon chooses. */
static void on_clock(uv_timer_t *timer)
{
	struct ar_worker_serve *s = timer->data;
	uint64_t ms = (uint64_t)(s->heartbeat_ms / 4);

	uv_timer_set_repeat(timer, ms > TICK_MAX_MS ? TICK_MAX_MS : ms > 0 ? ms : 1);
	ar_worker_serve_tick(s);
}

static void on_later(uv_timer_t *timer)
{
	struct ar_worker_serve *s = timer->data;

	if (s->broken) {
		struct ar_str why = ar_str_from(s->broken);

		close_link(s, why);
		report_parted(s, why);
	}
	ar_serve_processes_later(s);
	if (s->is_draining && !s->is_drained && s->running + s->kept == 0) {
		s->is_drained = true;
		if (s->options.on_drained)
			s->options.on_drained(s->options.arg);
	}
}

/* ---- folders ---- */

static bool is_below(struct ar_str folder, struct ar_str root)
{
	return ar_str_starts(folder, root) && folder.len > root.len && folder.p[root.len] == '/';
}

bool ar_serve_may_use(const struct ar_worker_serve *s, struct ar_str folder)
{
	const struct ar_texts *offered = &s->options.offered;

	if (!ar_str_is_plain_path(folder))
		return false;
	for (size_t i = 0; i < offered->count; i++) {
		if (ar_str_eq(folder, offered->at[i]) || is_below(folder, offered->at[i]))
			return true;
	}
	return ar_str_absent(s->options.folders) || is_below(folder, s->options.folders);
}

/* ---- life ---- */

static struct ar_str copy_text(struct ar_str text)
{
	return (struct ar_str){ ar_str_dup(text), text.len };
}

static void free_text(struct ar_str text)
{
	ar_free((void *)(uintptr_t)text.p);
}

static void open_timer(struct ar_worker_serve *s, uv_timer_t *timer)
{
	AR_ASSERT(uv_timer_init(s->loop, timer) == 0);
	timer->data = s;
	s->handles++;
}

static void copy_options(struct ar_worker_serve *s, const struct ar_worker_serve_options *o)
{
	s->options = *o;
	s->options.dir = copy_text(o->dir);
	s->options.folders = copy_text(o->folders);
	s->options.version = copy_text(o->version);
	s->options.labels = copy_text(o->labels);
	if (!o->clock)
		s->options.clock = ar_clock_boot();
}

static void draw_life(struct ar_worker_serve *s)
{
	uint8_t random[16];

	ar_hash_draw(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(s->life + 2 * i, 3, "%02x", random[i]);
}

struct ar_serve_shared *ar_serve_shared_open(uv_loop_t *loop, struct ar_str dir, struct ar_error *err)
{
	struct ar_begun *begun = ar_begun_open(loop, dir, err);
	struct ar_serve_shared *shared;

	if (!begun)
		return NULL;
	shared = ar_new0(sizeof(*shared));
	shared->begun = begun;
	return shared;
}

void ar_serve_shared_close(struct ar_serve_shared *shared)
{
	ar_begun_close(shared->begun);
	ar_map_fini(&shared->processes);
	ar_free(shared);
}

struct ar_worker_serve *ar_worker_serve_new(uv_loop_t *loop, const struct ar_worker_ports *local,
					    const struct ar_worker_serve_options *o, struct ar_error *err)
{
	struct ar_serve_shared *shared = o->shared ? o->shared : ar_serve_shared_open(loop, o->dir, err);
	struct ar_worker_serve *s;

	if (!shared)
		return NULL;
	s = ar_new0(sizeof(*s));
	s->loop = loop;
	s->local = *local;
	s->shared = shared;
	s->owns_shared = !o->shared;
	s->lease_ms = LEASE_MS;
	s->heartbeat_ms = HEARTBEAT_MS;
	copy_options(s, o);
	draw_life(s);
	s->parser = ar_json_parser_new();
	s->checker = ar_json_parser_new();
	ar_list_init(&s->calls);
	ar_list_init(&s->processes);
	ar_wire_out_init(&s->out, NULL);
	open_timer(s, &s->clock_timer);
	open_timer(s, &s->later);
	uv_timer_start(&s->clock_timer, on_clock, TICK_MAX_MS, TICK_MAX_MS);
	return s;
}

void ar_worker_serve_drain(struct ar_worker_serve *s)
{
	if (s->is_draining)
		return;
	s->is_draining = true;
	if (ar_serve_is_up(s))
		ar_serve_send_word(s, "drain", AR_STR_NONE);
	ar_serve_later(s);
}

size_t ar_worker_serve_open_calls(const struct ar_worker_serve *s)
{
	return s->running + s->kept;
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct ar_worker_serve *s = handle->data;

	s->handles--;
	ar_serve_settle(s);
}

void ar_serve_settle(struct ar_worker_serve *s)
{
	if (!s->is_closing || s->handles > 0 || !ar_list_empty(&s->calls))
		return;
	ar_map_fini(&s->calls_by_ref);
	ar_map_fini(&s->processes_by_ref);
	ar_json_parser_free(s->parser);
	ar_json_parser_free(s->checker);
	free_text(s->options.dir);
	free_text(s->options.folders);
	free_text(s->options.version);
	free_text(s->options.labels);
	ar_free(s);
}

void ar_worker_serve_close(struct ar_worker_serve *s)
{
	if (ar_serve_is_up(s))
		ar_serve_send_word(s, "bye", AR_STR_NONE);
	close_link(s, AR_STR("the worker stops"));
	s->is_closing = true;
	if (s->owns_shared)
		ar_serve_shared_close(s->shared);
	s->shared = NULL;
	ar_serve_calls_kill(s, true);
	uv_close((uv_handle_t *)&s->clock_timer, on_timer_closed);
	uv_close((uv_handle_t *)&s->later, on_timer_closed);
}
