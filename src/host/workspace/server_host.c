/* See server_host.h. */
#include "workspace/server_host.h"

#include "contained_wire.h"
#include "mem.h"
#include "secrets.h"

#include <stdio.h>
#include <string.h>

#define WAITED_MS 25 /* between two looks at servers that a turn waits for */
#define IDLE_MS 1000

enum state {
	CLOSED, /* not started yet, or no room for it: tried at the next turn */
	STARTING,
	READY,
	FAILED, /* stays so until the group ends: a turn does not wait for it again */
};

struct server {
	struct group *group;
	const struct ar_server *of; /* in the group's arena */
	struct ar_mcp_contained boundary;
	struct ar_tool_source *source; /* NULL: it does not run */
	enum state state;
	char reason[AR_SERVER_REASON_MAX];
};

/* The servers of one file in one folder. */
struct group {
	struct ar_list node; /* groups, or ending */
	struct ar_host_servers *owner;
	struct ar_arena arena;
	struct ar_str key, tenant, workspace, folder, digest;
	struct ar_texts environment;
	enum ar_sandbox_profile profile;
	struct server servers[AR_SERVERS_MAX];
	size_t count;
	size_t open; /* of which something is left */
	bool is_apart, is_ending;
	uint64_t start_until; /* of the loop's clock, as below */
	uint64_t used_at;
};

struct waiting {
	struct ar_list node;
	struct ar_servers_run *run;
	struct group *group; /* NULL: nothing was to be started, or it has ended */
};

static struct group *group_at(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct group, node);
}

static struct waiting *waiting_at(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct waiting, node);
}

/* ---- the end ---- */

static void free_if_over(struct group *g)
{
	if (!g->is_ending || g->open > 0)
		return;
	ar_list_del(&g->node);
	ar_arena_fini(&g->arena);
	ar_free(g);
}

static void on_gone(void *arg)
{
	struct server *s = arg;
	struct group *g = s->group;

	g->open--;
	g->owner->open--;
	free_if_over(g);
}

/* Its open calls end here, and sessions go on with that: the group may be another afterwards. */
static void stop_server(struct server *s)
{
	struct ar_tool_source *source = s->source;

	s->source = NULL;
	if (source)
		ar_toolbox_remove(s->group->owner->box, source);
}

static void end_group(struct group *g)
{
	struct ar_host_servers *h = g->owner;

	ar_list_del(&g->node);
	ar_list_push(&h->ending, &g->node);
	AR_LIST_FOR (it, &h->waiting) {
		if (waiting_at(it)->group == g)
			waiting_at(it)->group = NULL;
	}
	g->open++; /* not freed below */
	for (size_t i = 0; i < g->count; i++)
		stop_server(&g->servers[i]);
	g->is_ending = true;
	g->open--;
	free_if_over(g);
}

/* ---- starting ---- */

static bool is_of_settings(const struct ar_config *c, struct ar_str name)
{
	for (size_t i = 0; i < c->mcp_servers_count; i++) {
		if (ar_str_is(name, c->mcp_servers[i].name))
			return true;
	}
	return false;
}

static size_t open_of_tenant(const struct ar_host_servers *h, struct ar_str tenant)
{
	size_t count = 0;

	AR_LIST_FOR (it, &h->groups)
		count += ar_str_eq(group_at(it)->tenant, tenant) ? group_at(it)->open : 0;
	AR_LIST_FOR (it, &h->ending)
		count += ar_str_eq(group_at(it)->tenant, tenant) ? group_at(it)->open : 0;
	return count;
}

/* Empty: there is room. */
static void check_room(const struct ar_host_servers *h, const struct group *g, char *ret, size_t size)
{
	int64_t all = h->config->workspaces.servers, own = h->config->workspaces.servers_per_tenant;

	*ret = 0;
	if ((int64_t)h->open >= all)
		snprintf(ret, size, "limit: %lld servers of workspaces run already (workspaces.servers)",
			 (long long)all);
	else if ((int64_t)open_of_tenant(h, g->tenant) >= own)
		snprintf(ret, size,
			 "limit: %lld servers of the tenant run already (workspaces.servers_per_tenant)",
			 (long long)own);
}

/* Of both, one after the other. */
static const char *const *list_of(struct ar_arena *a, struct ar_texts first, struct ar_texts rest)
{
	const char **list = ar_arena_alloc(a, (first.count + rest.count + 1) * sizeof(*list));

	for (size_t i = 0; i < first.count; i++)
		list[i] = ar_arena_str(a, first.at[i]).p;
	for (size_t i = 0; i < rest.count; i++)
		list[first.count + i] = ar_arena_str(a, rest.at[i]).p;
	return list;
}

static void on_listener(void *arg, struct ar_str name, int fd)
{
	const struct ar_host_servers *h = arg;

	ar_host_processes_serve(h->processes, name, fd);
}

static void on_listener_gone(void *arg, struct ar_str name)
{
	const struct ar_host_servers *h = arg;

	ar_host_processes_unserve(h->processes, name);
}

static void open_source(struct server *s)
{
	struct group *g = s->group;
	struct ar_host_servers *h = g->owner;
	uint32_t start_ms = (uint32_t)h->config->workspaces.servers_start_ms;

	s->boundary = (struct ar_mcp_contained){
		.sandbox = h->sandbox,
		.profile = g->profile,
		.name = ar_arena_fmt(&g->arena, "mcp-%llu", (unsigned long long)++h->count),
		.user = g->workspace,
		.folder = g->folder,
		.is_apart = g->is_apart,
		.on_listener = on_listener,
		.on_listener_gone = on_listener_gone,
		.arg = h,
	};
	g->open++;
	h->open++;
	s->state = STARTING;
	s->source = ar_mcp_source_new(h->loop,
				      &(struct ar_mcp_options){
					      .name = s->of->name.p,
					      .command = s->of->command.p,
					      .args = list_of(&g->arena, s->of->args, (struct ar_texts){ 0 }),
					      .env = list_of(&g->arena, g->environment, s->of->env),
					      .open_wire = ar_mcp_contained_open,
					      .wire_arg = &s->boundary,
					      .origin = ar_arena_fmt(&g->arena, "%.*s/%.*s",
								     AR_STR_ARG(g->workspace),
								     AR_STR_ARG(s->of->name))
								.p,
					      .is_of_workspace = true,
					      .connect_timeout_ms = start_ms,
					      .on_gone = on_gone,
					      .arg = s });
	ar_toolbox_add_for(h->box, g->key, s->source);
}

static void start_server(struct server *s)
{
	struct ar_host_servers *h = s->group->owner;

	if (s->state != CLOSED)
		return;
	if (is_of_settings(h->config, s->of->name)) {
		snprintf(s->reason, sizeof(s->reason),
			 "conflict: a server of the settings has this name; use another");
		s->state = FAILED;
		return;
	}
	check_room(h, s->group, s->reason, sizeof(s->reason));
	if (!*s->reason)
		open_source(s);
}

static struct group *make_group(struct ar_host_servers *h, const struct ar_servers_run *r)
{
	struct group *g = ar_new0(sizeof(*g));
	struct ar_server *servers = ar_arena_alloc(&g->arena, r->count * sizeof(*servers));

	g->owner = h;
	g->key = ar_arena_str(&g->arena, r->key);
	g->tenant = ar_arena_str(&g->arena, r->tenant);
	g->workspace = ar_arena_str(&g->arena, r->workspace);
	g->folder = ar_arena_str(&g->arena, r->folder);
	g->digest = ar_arena_str(&g->arena, r->digest);
	g->environment = ar_arena_texts(&g->arena, r->environment);
	g->profile = r->profile;
	g->is_apart = r->is_apart;
	g->count = r->count < AR_SERVERS_MAX ? r->count : AR_SERVERS_MAX;
	for (size_t i = 0; i < g->count; i++) {
		servers[i] = (struct ar_server){ .name = ar_arena_str(&g->arena, r->servers[i].name),
						 .command = ar_arena_str(&g->arena, r->servers[i].command),
						 .args = ar_arena_texts(&g->arena, r->servers[i].args),
						 .env = ar_arena_texts(&g->arena, r->servers[i].env) };
		g->servers[i] = (struct server){ .group = g, .of = &servers[i] };
	}
	ar_list_push(&h->groups, &g->node);
	return g;
}

static bool is_wanted(const struct group *g, const struct ar_servers_run *r)
{
	return r->count > 0 && ar_str_eq(g->key, r->key);
}

/* Of the run's folder, and of another file than it has now. Sessions may have servers of one file with
 * different environments. */
static bool is_outdated(const struct group *g, const struct ar_servers_run *r)
{
	return ar_str_eq(g->workspace, r->workspace) && ar_str_eq(g->folder, r->folder) &&
	       !ar_str_eq(g->digest, r->digest);
}

static struct group *find_group(struct ar_host_servers *h, const struct ar_servers_run *r,
				bool (*fits)(const struct group *g, const struct ar_servers_run *r))
{
	AR_LIST_FOR (it, &h->groups) {
		if (fits(group_at(it), r))
			return group_at(it);
	}
	return NULL;
}

/* ---- how it goes ---- */

static void fail_server(struct server *s, const char *why)
{
	struct ar_arena a = { 0 };
	struct ar_str text = ar_secrets_mask(s->group->owner->redactor, why, &a);

	snprintf(s->reason, sizeof(s->reason), "%.*s",
		 AR_STR_ARG(ar_str_utf8_prefix(text, sizeof(s->reason) - 1)));
	ar_arena_fini(&a);
	s->state = FAILED;
	stop_server(s);
}

/* Whether all that were started have said what they offer, or will not. */
static bool settle(struct group *g, uint64_t now)
{
	bool is_settled = true;

	for (size_t i = 0; i < g->count; i++) {
		struct server *s = &g->servers[i];

		if (s->state != STARTING)
			continue;
		if (s->source->is_ready && (s->source->tool_count > 0 || !s->source->trouble))
			s->state = READY;
		else if (s->source->is_ready)
			fail_server(s, s->source->trouble);
		else if (now >= g->start_until)
			fail_server(s, "timeout: it did not say in time what it offers "
				       "(workspaces.servers_start_ms)");
		else
			is_settled = false;
	}
	return is_settled;
}

static void answer(struct waiting *w)
{
	struct ar_server_state states[AR_SERVERS_MAX];
	struct ar_servers_run *run = w->run;
	size_t count = w->group ? w->group->count : 0;

	for (size_t i = 0; i < count; i++) {
		const struct server *s = &w->group->servers[i];

		states[i] = (struct ar_server_state){
			.name = s->of->name,
			.status = s->state == READY    ? AR_SERVER_READY
				  : s->state == FAILED ? AR_SERVER_FAILED
						       : AR_SERVER_REFUSED,
			.reason = ar_str_from(s->reason),
			.tools = s->source ? (int64_t)s->source->tool_count : 0,
		};
	}
	ar_list_del(&w->node);
	ar_free(w);
	run->port_state = NULL;
	run->on_done(run, states, count);
}

/* The first run that is settled; NULL: none is. An answer may start and end others. */
static struct waiting *find_settled(struct ar_host_servers *h)
{
	AR_LIST_FOR (it, &h->waiting) {
		struct waiting *w = waiting_at(it);

		if (!w->group || settle(w->group, uv_now(h->loop)))
			return w;
	}
	return NULL;
}

/* ---- by the clock ---- */

static void on_tick(uv_timer_t *timer);

static void arm(struct ar_host_servers *h)
{
	if (!ar_list_empty(&h->waiting))
		uv_timer_start(&h->timer, on_tick, WAITED_MS, 0);
	else if (!ar_list_empty(&h->groups))
		uv_timer_start(&h->timer, on_tick, IDLE_MS, 0);
	else
		uv_timer_stop(&h->timer);
}

static struct group *find_idle(struct ar_host_servers *h)
{
	uint64_t now = uv_now(h->loop), idle = (uint64_t)h->config->workspaces.servers_idle_ms;

	AR_LIST_FOR (it, &h->groups) {
		struct group *g = group_at(it);

		if (now - g->used_at < idle)
			continue;
		if (!h->has_turns(h->arg, g->workspace))
			return g;
		g->used_at = now;
	}
	return NULL;
}

static void on_tick(uv_timer_t *timer)
{
	struct ar_host_servers *h = timer->data;
	struct waiting *w;
	struct group *g;

	while ((w = find_settled(h)))
		answer(w);
	while ((g = find_idle(h)))
		end_group(g);
	arm(h);
}

/* ---- the port ---- */

static void start(struct ar_servers *port, struct ar_servers_run *r)
{
	struct ar_host_servers *h = AR_CONTAINER_OF(port, struct ar_host_servers, port);
	struct waiting *w = ar_new0(sizeof(*w));
	struct group *g;

	while ((g = find_group(h, r, is_outdated))) /* ending one may end and start others */
		end_group(g);
	g = find_group(h, r, is_wanted);
	if (!g && r->count > 0)
		g = make_group(h, r);
	for (size_t i = 0; g && i < g->count; i++)
		start_server(&g->servers[i]);
	if (g) {
		uv_update_time(h->loop);
		g->used_at = uv_now(h->loop);
		if (g->start_until <= g->used_at)
			g->start_until = g->used_at + (uint64_t)h->config->workspaces.servers_start_ms;
	}
	*w = (struct waiting){ .run = r, .group = g };
	r->port_state = w;
	ar_list_push(&h->waiting, &w->node);
	arm(h);
}

static void drop(struct ar_servers *port AR_UNUSED, struct ar_servers_run *r)
{
	struct waiting *w = r->port_state;

	if (!w)
		return;
	ar_list_del(&w->node);
	ar_free(w);
	r->port_state = NULL;
}

static const struct ar_servers_vtable vtable = { .start = start, .drop = drop };

/* ---- life ---- */

void ar_host_servers_open(struct ar_host_servers *h)
{
	h->port.v = &vtable;
	ar_list_init(&h->groups);
	ar_list_init(&h->ending);
	ar_list_init(&h->waiting);
	uv_timer_init(h->loop, &h->timer);
	h->timer.data = h;
}

void ar_host_servers_end(struct ar_host_servers *h)
{
	if (!h->loop)
		return;
	while (!ar_list_empty(&h->waiting))
		drop(&h->port, waiting_at(h->waiting.next)->run);
	while (!ar_list_empty(&h->groups))
		end_group(group_at(h->groups.next));
}

void ar_host_servers_close(struct ar_host_servers *h)
{
	if (!h->loop)
		return;
	while (h->open > 0)
		uv_run(h->loop, UV_RUN_ONCE);
	uv_close((uv_handle_t *)&h->timer, NULL);
	h->loop = NULL;
}
