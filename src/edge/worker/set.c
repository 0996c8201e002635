/* Workers, their links and their leases; see set.h. What runs over a link is calls.c and remote_process.c.
 *
 *   link -> hello -> (welcome, what is open is resumed) -> messages... -> silence or cut -> STALE -> LOST
 *
 * Nothing is called back, and no link is closed, from inside a call of an owner: that is left to `later`. */
#include "set_priv.h"

#include <stdio.h>
#include <string.h>

#define HEARTBEAT_MS 5000
#define LEASE_MS 30000
#define HELLO_MS 10000
#define TICK_MAX_MS 250
#define STRAYS_MAX 4096 /* of one link, and so many more for each thing that was given up */
#define HELD_MAX ((size_t)512 << 20)
#define VERSION_MAX 128
#define CAPABILITIES_MAX 65536

ar_usec ar_worker_set_now(const struct ar_worker_set *s)
{
	return s->options.clock->mono(s->options.clock);
}

static void on_later(uv_timer_t *timer);

void ar_worker_set_later(struct ar_worker_set *s)
{
	if (!s->is_closing)
		uv_timer_start(&s->later, on_later, 0, 0);
}

/* ---- finding ---- */

struct ar_remote *ar_remote_find(struct ar_worker_set *s, struct ar_str id)
{
	return ar_map_get(&s->by_id, id);
}

static void on_clock(uv_timer_t *timer)
{
	ar_worker_set_tick(timer->data);
}

static void start_clock(struct ar_worker_set *s)
{
	uint64_t ms = (uint64_t)(s->options.heartbeat_ms / 4);

	if (s->has_clock_timer || s->is_closing)
		return;
	s->has_clock_timer = true;
	ms = ms > TICK_MAX_MS ? TICK_MAX_MS : ms > 0 ? ms : 1;
	uv_timer_start(&s->clock_timer, on_clock, ms, ms);
}

struct ar_remote *ar_remote_make(struct ar_worker_set *s, struct ar_str id)
{
	struct ar_remote *r = ar_remote_find(s, id);

	start_clock(s);
	if (r)
		return r;
	r = ar_new0(sizeof(*r));
	r->set = s;
	r->id = ar_str_dup(id);
	r->heard_at = ar_worker_set_now(s);
	r->reported = AR_WORKER_AWAY;
	ar_list_init(&r->calls);
	ar_list_init(&r->processes);
	ar_wire_out_init(&r->out, NULL);
	ar_map_put(&s->by_id, ar_str_from(r->id), r);
	return r;
}

static void remote_free(struct ar_remote *r)
{
	ar_map_fini(&r->calls_by_ref);
	ar_map_fini(&r->processes_by_ref);
	ar_free(r->version);
	ar_free(r->capabilities);
	ar_free(r->tenant);
	ar_free(r->id);
	ar_free(r);
}

/* ---- states ---- */

static bool has_open(const struct ar_remote *r)
{
	return !ar_list_empty(&r->calls) || !ar_list_empty(&r->processes);
}

static enum ar_worker_state state_of(const struct ar_remote *r)
{
	ar_usec silent = ar_worker_set_now(r->set) - r->heard_at;

	if (ar_remote_is_up(r))
		return silent < r->set->options.stale_ms * 1000 ? AR_WORKER_CONNECTED : AR_WORKER_STALE;
	if (r->is_lost)
		return AR_WORKER_LOST;
	return has_open(r) ? AR_WORKER_STALE : AR_WORKER_AWAY;
}

static void report_state(struct ar_remote *r)
{
	struct ar_workers *w = &r->set->workers;
	enum ar_worker_state state = state_of(r);

	if (state == r->reported)
		return;
	r->reported = state;
	if (w->on_changed)
		w->on_changed(w->arg, ar_str_from(r->id), state);
}

static size_t count_open(const struct ar_remote *r)
{
	return r->calls_by_ref.count + r->processes_by_ref.count;
}

static struct ar_worker_status find_status(struct ar_workers *w, struct ar_str worker_id)
{
	struct ar_worker_set *s = AR_CONTAINER_OF(w, struct ar_worker_set, workers);
	const struct ar_remote *r = ar_remote_find(s, worker_id);

	if (!r || r->is_dropped)
		return (struct ar_worker_status){ .state = AR_WORKER_AWAY };
	return (struct ar_worker_status){ .state = state_of(r),
					  .is_draining = r->is_draining,
					  .last_seen = r->seen_at,
					  .version = ar_str_from(r->version),
					  .capabilities = ar_str_from(r->capabilities),
					  .open_calls = (int64_t)count_open(r) };
}

/* ---- links ---- */

bool ar_remote_is_up(const struct ar_remote *r)
{
	return r->link && r->is_greeted && !r->broken;
}

void ar_remote_break(struct ar_remote *r, const char *why)
{
	if (r->broken || !r->link)
		return;
	r->broken = why;
	ar_worker_set_later(r->set);
}

void ar_remote_send(struct ar_remote *r, struct ar_wire_writer *w)
{
	if (!r->broken && ar_wire_out_send(&r->out, w) != AR_OK)
		ar_remote_break(r, "the worker does not read fast enough");
}

void ar_remote_send_copy(struct ar_remote *r, const struct ar_wire_writer *w)
{
	if (!r->broken && ar_wire_out_send_copy(&r->out, w) != AR_OK)
		ar_remote_break(r, "the worker does not read fast enough");
}

void ar_remote_stray(struct ar_remote *r)
{
	if (++r->strays > r->strays_max)
		ar_remote_break(r, "too many messages about calls that are not open");
}

void ar_remote_expect_strays(struct ar_remote *r)
{
	r->strays_max += STRAYS_MAX;
}

/* The link is gone, by either end: what is open waits for the next one. */
static void after_link(struct ar_remote *r)
{
	r->link = NULL;
	r->is_greeted = false;
	r->broken = NULL;
	ar_wire_in_fini(&r->in);
	ar_wire_out_fini(&r->out);
	ar_processes_cut(r);
	ar_worker_set_later(r->set);
}

static void close_link(struct ar_remote *r, struct ar_str why)
{
	struct ar_link *link = r->link;

	if (!link)
		return;
	after_link(r);
	link->v->close(link, why);
}

static void on_link_closed(void *arg, struct ar_str why AR_UNUSED)
{
	after_link(arg);
}

static void on_link_drained(void *arg)
{
	struct ar_remote *r = arg;

	if (ar_wire_out_pump(&r->out) != AR_OK)
		ar_remote_break(r, "the worker does not read fast enough");
}

/* ---- messages ---- */

static char *copy_text(char *old, struct ar_str text)
{
	ar_free(old);
	return ar_str_dup(text);
}

static void write_nodes(const struct ar_worker_set *s, struct ar_jw *w)
{
	if (s->node_count == 0)
		return;
	ar_jw_key(w, "nodes");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->node_count; i++)
		ar_jw_str(w, ar_str_from(s->nodes[i]));
	ar_jw_close_array(w);
}

static void send_nodes(struct ar_remote *r)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "nodes", AR_STR_NONE);
	write_nodes(r->set, &w.w);
	ar_remote_send(r, &w);
}

static void send_welcome(struct ar_remote *r)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "welcome", AR_STR_NONE);
	ar_jw_mint(&w.w, "leaseMs", r->set->options.lease_ms);
	ar_jw_mint(&w.w, "heartbeatMs", r->set->options.heartbeat_ms);
	ar_jw_mstr(&w.w, "daemonId", ar_str_from(r->set->id));
	ar_jw_mint(&w.w, "generation", (int64_t)r->generation);
	write_nodes(r->set, &w.w);
	ar_remote_send(r, &w);
}

static void on_hello(struct ar_remote *r, struct ar_wire_message *m)
{
	struct ar_str life = AR_STR(""), version = ar_wire_text(m, m->head, "version");
	struct ar_str capabilities = ar_wire_json(m, m->head, "capabilities", AR_JSON_OBJECT);

	bool is_same_life;

	ar_json_str(ar_json_get(m->head, "life"), &life);
	if (r->is_greeted || m->is_broken || version.len > VERSION_MAX || life.len >= sizeof(r->life) ||
	    capabilities.len > CAPABILITIES_MAX) {
		ar_remote_break(r, "its greeting cannot be used");
		return;
	}
	r->is_greeted = true;
	r->is_lost = false;
	r->is_draining = ar_wire_bool(m, m->head, "isDraining");
	r->version = copy_text(r->version, version);
	r->capabilities = copy_text(r->capabilities, capabilities);
	is_same_life = ar_str_is(life, r->life);
	snprintf(r->life, sizeof(r->life), "%.*s", AR_STR_ARG(life));
	send_welcome(r);
	ar_calls_resume(r, is_same_life);
	ar_processes_resume(r);
	ar_worker_set_later(r->set);
}

static void on_ping(struct ar_remote *r, struct ar_wire_message *m)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer w = { 0 };

	ar_wire_begin(&w, "pong", AR_STR_NONE);
	ar_jw_mint(&w.w, "n", ar_wire_int(m, m->head, "n", 0, INT64_MAX));
	if (ar_wire_out_send_now(&r->out, &w) != AR_OK)
		ar_remote_break(r, "the worker does not read fast enough");
}

/* Unknown ones are those of a later version. */
static void dispatch(struct ar_remote *r, struct ar_wire_message *m)
{
	if (ar_str_is(m->op, "hello"))
		on_hello(r, m);
	else if (!r->is_greeted)
		ar_remote_break(r, "its first message is no greeting");
	else if (ar_str_is(m->op, "ping"))
		on_ping(r, m);
	else if (ar_str_is(m->op, "drain")) {
		r->is_draining = true;
		ar_worker_set_later(r->set);
	} else if (!ar_calls_message(r, m))
		(void)ar_processes_message(r, m);
}

static void on_link_message(void *arg, struct ar_str message)
{
	struct ar_remote *r = arg;
	struct ar_clock *clock = r->set->options.clock;
	struct ar_wire_message m;
	enum ar_wire_read read;

	if (r->broken)
		return;
	r->heard_at = clock->mono(clock);
	r->seen_at = clock->wall(clock);
	read = ar_wire_read(&r->in, message, &m);
	if (read == AR_WIRE_BROKEN)
		ar_remote_break(r, "a message cannot be read");
	if (read != AR_WIRE_WHOLE)
		return;
	dispatch(r, &m);
	ar_wire_in_done(&r->in, &m);
	if (r->reported != AR_WORKER_CONNECTED)
		ar_worker_set_later(r->set);
}

void ar_worker_set_link(struct ar_worker_set *s, struct ar_str worker_id, struct ar_str tenant,
			struct ar_link *link)
{
	struct ar_remote *r = ar_remote_make(s, worker_id);

	close_link(r, AR_STR("the worker has connected again"));
	r->tenant = copy_text(r->tenant, tenant);
	r->link = link;
	r->linked_at = ar_worker_set_now(s);
	r->generation++;
	r->strays = 0;
	r->strays_max = STRAYS_MAX;
	r->is_dropped = false;
	r->in = (struct ar_wire_in){
		.parser = s->parser, .checker = s->checker, .held = &s->held, .held_max = HELD_MAX
	};
	ar_wire_out_init(&r->out, link);
	link->on_message = on_link_message;
	link->on_drained = on_link_drained;
	link->on_close = on_link_closed;
	link->arg = r;
}

/* ---- nodes ---- */

static bool has_nodes(const struct ar_worker_set *s, struct ar_texts urls)
{
	for (size_t i = 0; i < urls.count && urls.count == s->node_count; i++) {
		if (!ar_str_is(urls.at[i], s->nodes[i]))
			return false;
	}
	return urls.count == s->node_count;
}

static void free_nodes(struct ar_worker_set *s)
{
	for (size_t i = 0; i < s->node_count; i++)
		ar_free(s->nodes[i]);
	ar_free(s->nodes);
	s->nodes = NULL;
	s->node_count = 0;
}

void ar_worker_set_nodes(struct ar_worker_set *s, struct ar_texts urls)
{
	size_t cursor = 0;
	struct ar_remote *r;

	AR_ASSERT(urls.count <= AR_WORKER_NODES_MAX);
	if (has_nodes(s, urls))
		return;
	free_nodes(s);
	s->nodes = ar_grow(NULL, urls.count + 1, sizeof(*s->nodes));
	for (size_t i = 0; i < urls.count; i++)
		s->nodes[i] = ar_str_dup(urls.at[i]);
	s->node_count = urls.count;
	s->workers.is_on_all_nodes = urls.count > 0;
	while ((r = ar_map_next(&s->by_id, &cursor))) {
		if (ar_remote_is_up(r))
			send_nodes(r);
	}
}

/* ---- time ---- */

static void lose(struct ar_remote *r)
{
	r->is_lost = true;
	ar_calls_lose(r, AR_DOOM_LOST);
	ar_processes_lose(r, false);
}

static void tick_remote(struct ar_remote *r, ar_usec now)
{
	const struct ar_worker_set_options *o = &r->set->options;
	ar_usec lease = (o->lease_ms + o->lease_ms / 4) * 1000;

	if (r->link && !r->is_greeted && now - r->linked_at > (ar_usec)HELLO_MS * 1000)
		ar_remote_break(r, "no greeting came");
	if (now - r->heard_at > lease) {
		if (r->is_greeted)
			ar_remote_break(r, "nothing was heard of the worker for longer than its lease");
		if (!r->is_lost && has_open(r) && !(r->link && !r->is_greeted))
			lose(r);
	}
	ar_calls_tick(r, now);
}

void ar_worker_set_tick(struct ar_worker_set *s)
{
	ar_usec now = ar_worker_set_now(s);
	size_t cursor = 0;
	struct ar_remote *r;

	while ((r = ar_map_next(&s->by_id, &cursor)))
		tick_remote(r, now);
	on_later(&s->later);
}

/* ---- what is not done from inside a call ---- */

static void drop_remote(struct ar_remote *r)
{
	close_link(r, AR_STR("the worker was removed"));
	ar_calls_lose(r, AR_DOOM_LOST);
	ar_processes_lose(r, true);
	r->is_lost = false;
	r->is_draining = false;
}

static void settle_remote(struct ar_remote *r)
{
	if (r->is_dropped)
		drop_remote(r);
	else if (r->broken)
		close_link(r, ar_str_from(r->broken));
	report_state(r);
}

/* Callbacks may bring new workers, so the walk begins again while there is something to report. */
static void on_later(uv_timer_t *timer)
{
	struct ar_worker_set *s = timer->data;
	size_t cursor = 0;
	struct ar_remote *r;

	ar_calls_end_doomed(s);
	ar_processes_end_doomed(s);
	while ((r = ar_map_next(&s->by_id, &cursor))) {
		size_t count = s->by_id.count;

		settle_remote(r);
		if (s->by_id.count != count)
			cursor = 0;
	}
}

void ar_worker_set_drop(struct ar_worker_set *s, struct ar_str worker_id)
{
	struct ar_remote *r = ar_remote_find(s, worker_id);

	if (!r)
		return;
	r->is_dropped = true;
	ar_worker_set_later(s);
}

static void drop_worker(struct ar_workers *w, struct ar_str worker_id)
{
	ar_worker_set_drop(AR_CONTAINER_OF(w, struct ar_worker_set, workers), worker_id);
}

/* ---- life ---- */

static const struct ar_workers_vtable workers_vtable = { .find = find_status, .drop = drop_worker };

static void set_defaults(struct ar_worker_set_options *o)
{
	if (o->heartbeat_ms <= 0)
		o->heartbeat_ms = HEARTBEAT_MS;
	if (o->stale_ms <= 0)
		o->stale_ms = 2 * o->heartbeat_ms + 1000;
	if (o->lease_ms <= 0)
		o->lease_ms = LEASE_MS;
	if (!o->clock)
		o->clock = ar_clock_system();
}

static void open_timer(struct ar_worker_set *s, uv_timer_t *timer)
{
	AR_ASSERT(uv_timer_init(s->loop, timer) == 0);
	timer->data = s;
	s->handles++;
}

struct ar_worker_set *ar_worker_set_new(uv_loop_t *loop, const struct ar_worker_ports *local,
					const struct ar_worker_set_options *o)
{
	struct ar_worker_set *s = ar_new0(sizeof(*s));
	uint8_t random[16];

	s->loop = loop;
	s->local = *local;
	s->options = *o;
	set_defaults(&s->options);
	s->workers.v = &workers_vtable;
	s->parser = ar_json_parser_new();
	s->checker = ar_json_parser_new();
	ar_hash_draw(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(s->id + 2 * i, 3, "%02x", random[i]);
	ar_list_init(&s->doomed_calls);
	ar_list_init(&s->doomed_processes);
	open_timer(s, &s->clock_timer);
	open_timer(s, &s->later);
	ar_calls_init(s);
	ar_processes_init(s);
	return s;
}

const struct ar_worker_ports *ar_worker_set_ports(struct ar_worker_set *s)
{
	return &s->front;
}

struct ar_workers *ar_worker_set_workers(struct ar_worker_set *s)
{
	return &s->workers;
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct ar_worker_set *s = handle->data;

	if (--s->handles > 0)
		return;
	ar_json_parser_free(s->parser);
	ar_json_parser_free(s->checker);
	ar_free(s);
}

static void close_remote(struct ar_remote *r)
{
	close_link(r, AR_STR("the daemon stops"));
	ar_calls_lose(r, AR_DOOM_CLOSED);
	ar_processes_lose(r, true);
}

void ar_worker_set_close(struct ar_worker_set *s)
{
	size_t cursor = 0;
	struct ar_remote *r;

	s->is_closing = true;
	s->workers.on_changed = NULL;
	if (s->local.files)
		s->local.files->on_changed = NULL;
	while ((r = ar_map_next(&s->by_id, &cursor)))
		close_remote(r);
	ar_calls_end_doomed(s);
	ar_processes_end_doomed(s);
	cursor = 0;
	while ((r = ar_map_next(&s->by_id, &cursor)))
		remote_free(r);
	ar_map_fini(&s->by_id);
	ar_map_fini(&s->by_owner);
	free_nodes(s);
	uv_close((uv_handle_t *)&s->clock_timer, on_timer_closed);
	uv_close((uv_handle_t *)&s->later, on_timer_closed);
}
