/* The source itself: the port's functions, which connection a call goes over, and what is done by the
 * clock (see source.h). Loop thread only. */
#include "source.h"

#include "call.h"
#include "mem.h"

#include <string.h>

#define LINKS_MAX 256 /* connections of sessions at once */
#define LIST_MAX 1024 /* entries of a list in the options */

static const struct ar_mcp_peer_events peer_events;

static struct ar_mcp_source *source_of(struct ar_tool_source *base)
{
	return AR_CONTAINER_OF(base, struct ar_mcp_source, base);
}

static struct ar_mcp_call *call_at(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_mcp_call, node);
}

static struct ar_mcp_link *link_at(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_mcp_link, node);
}

/* ---- connections ---- */

static struct ar_mcp_link *link_find(struct ar_mcp_source *s, struct ar_str session)
{
	AR_LIST_FOR (it, &s->links) {
		if (ar_str_eq(ar_str_from(link_at(it)->session), session))
			return link_at(it);
	}
	return NULL;
}

static size_t link_count(const struct ar_mcp_source *s)
{
	size_t n = 0;

	AR_LIST_FOR (it, &s->links)
		n++;
	return n;
}

static struct ar_mcp_link *link_get(struct ar_mcp_source *s, struct ar_str session)
{
	struct ar_mcp_link *link = link_find(s, session);

	if (link || link_count(s) >= LINKS_MAX)
		return link;
	link = ar_new0(sizeof(*link));
	link->source = s;
	link->session = ar_str_dup(session);
	link->idle_at = ar_mcp_now() + (ar_usec)s->options.idle_timeout_ms * 1000;
	link->peer = ar_mcp_peer_new(&s->setup, &peer_events, link);
	ar_list_init(&link->calls);
	ar_list_push(&s->links, &link->node);
	return link;
}

static void link_close(struct ar_mcp_link *link)
{
	ar_list_del(&link->node);
	ar_mcp_peer_close(link->peer);
	ar_free(link->session);
	ar_free(link);
}

void ar_mcp_link_reset(struct ar_mcp_link *link, const char *why)
{
	link->resetting = true;
	ar_mcp_peer_reset(link->peer, why);
	link->resetting = false;
	if (ar_mcp_peer_open(link->peer))
		return;
	AR_LIST_FOR_SAFE (it, &link->calls) {
		if (call_at(it)->waits)
			ar_mcp_call_end(call_at(it), AR_TOOL_NOT_RUN, "network", link->peer->why);
	}
}

static void on_ready(void *owner)
{
	struct ar_mcp_link *link = owner;

	if (!link->session)
		ar_mcp_list(link);
	AR_LIST_FOR_SAFE (it, &link->calls) {
		if (call_at(it)->waits)
			ar_mcp_call_go(call_at(it));
	}
	ar_mcp_source_arm(link->source);
}

static void on_down(void *owner, const char *why)
{
	struct ar_mcp_link *link = owner;

	if (link->resetting)
		return;
	AR_LIST_FOR_SAFE (it, &link->calls) {
		if (call_at(it)->waits)
			ar_mcp_call_end(call_at(it), AR_TOOL_NOT_RUN, "network", why);
	}
	if (!link->session)
		ar_mcp_list_failed(link->source, why);
	ar_mcp_source_arm(link->source);
}

static void on_list_changed(void *owner)
{
	ar_mcp_list(owner);
}

/* Which call a question belongs to when the server does not say: any of them, as long as
 * they are all of one session. Between sessions there is no guessing: a question must not be
 * shown to the wrong person. */
static struct ar_mcp_call *on_call_request(struct ar_mcp_link *link, struct ar_mcp_request *stream)
{
	struct ar_mcp_call *found = NULL;

	if (stream && ar_mcp_call_is(stream))
		return AR_CONTAINER_OF(stream, struct ar_mcp_call, request);
	AR_LIST_FOR (it, &link->calls) {
		struct ar_mcp_call *c = call_at(it);

		if (c->request.id == 0)
			continue;
		if (found && !ar_str_eq(found->port->session_id, c->port->session_id))
			return NULL;
		found = found ? found : c;
	}
	return found;
}

static void on_asked(void *owner, const struct ar_mcp_message *m, struct ar_mcp_request *stream)
{
	struct ar_mcp_link *link = owner;
	struct ar_mcp_call *c = on_call_request(link, stream);
	struct ar_buf id = { 0 };

	if (c) {
		ar_mcp_call_on_request(c, m);
		return;
	}
	ar_json_print(m->id, &id);
	ar_mcp_peer_answer(link->peer, ar_buf_str(&id), AR_STR("{\"action\":\"decline\"}"));
	ar_buf_fini(&id);
}

static const struct ar_mcp_peer_events peer_events = { on_ready, on_down, on_list_changed, on_asked };

/* ---- by the clock ---- */

/* One that is being opened is wanted by somebody: a server that starts slowly must not be ended
 * before it has said a word. */
static bool is_idle(const struct ar_mcp_link *link)
{
	bool closes = link->source->options.scope == AR_MCP_PER_SESSION;
	bool is_settled = link->peer->state == AR_MCP_READY || link->peer->state == AR_MCP_DOWN;

	return closes && is_settled && ar_list_empty(&link->calls) && link->source->listing.link != link;
}

static void list_due(struct ar_mcp_source *s)
{
	struct ar_mcp_link *link = link_get(s, AR_STR_NONE);

	s->list_at = AR_MCP_NEVER;
	if (link && link->peer->state == AR_MCP_READY) {
		ar_mcp_list(link);
		return;
	}
	if (!link || !ar_mcp_peer_open(link->peer))
		ar_mcp_list_failed(s, link ? link->peer->why : "too many connections are open");
}

static void on_chores(uv_timer_t *timer)
{
	struct ar_mcp_source *s = timer->data;
	ar_usec now = ar_mcp_now();

	AR_LIST_FOR_SAFE (it, &s->links) {
		if (is_idle(link_at(it)) && link_at(it)->idle_at <= now)
			link_close(link_at(it));
	}
	if (s->list_at <= now)
		list_due(s);
	ar_mcp_source_arm(s);
}

void ar_mcp_source_arm(struct ar_mcp_source *s)
{
	ar_usec now = ar_mcp_now(), next = s->list_at;

	if (s->is_closing)
		return;
	AR_LIST_FOR (it, &s->links) {
		if (is_idle(link_at(it)) && link_at(it)->idle_at < next)
			next = link_at(it)->idle_at;
	}
	if (next == AR_MCP_NEVER) {
		uv_timer_stop(&s->chores);
		return;
	}
	uv_update_time(s->setup.loop);
	uv_timer_start(&s->chores, on_chores, next > now ? (uint64_t)(next - now) / 1000 + 1 : 0, 0);
}

static void deliver(struct ar_mcp_source *s)
{
	struct ar_list *node;

	while ((node = ar_list_pop(&s->ended))) {
		struct ar_mcp_call *c = call_at(node);
		struct ar_tool_call *port = c->port;

		port->source_state = NULL;
		port->v->on_done(port, &c->result);
		ar_mcp_call_free(c);
	}
}

static void on_due(uv_timer_t *timer)
{
	deliver(timer->data);
}

void ar_mcp_source_deliver_soon(struct ar_mcp_source *s)
{
	if (!s->is_closing)
		uv_timer_start(&s->due, on_due, 0, 0);
}

/* ---- the port ---- */

/* A call that cannot be made still ends as any other: from the loop. */
static void refuse(struct ar_mcp_source *s, struct ar_tool_call *port, const char *category, const char *why)
{
	struct ar_mcp_call *c = ar_new0(sizeof(*c));

	c->port = port;
	c->has_ended = true;
	port->source_state = c;
	c->result = (struct ar_tool_result){ .outcome = AR_TOOL_NOT_RUN, .category = ar_str_from(category) };
	c->result.message = ar_arena_fmt(&c->arena, "MCP server '%s': %s", s->base.name, why);
	ar_list_push(&s->ended, &c->node);
	ar_mcp_source_deliver_soon(s);
}

static void start(struct ar_tool_source *base, struct ar_tool_call *port)
{
	struct ar_mcp_source *s = source_of(base);
	ptrdiff_t index = ar_mcp_inventory_find(s->inventory, port->tool->name);
	bool own = s->options.scope == AR_MCP_PER_SESSION;
	struct ar_mcp_link *link;
	struct ar_mcp_call *c;

	if (index < 0 || s->is_closing) {
		refuse(s, port, "not_found", "it no longer offers this tool");
		return;
	}
	link = link_get(s, own ? port->session_id : AR_STR_NONE);
	if (!link) {
		refuse(s, port, "overloaded", "too many sessions have their own connection; repeat later");
		return;
	}
	c = ar_mcp_call_new(link, port, (size_t)index);
	if (link->peer->state == AR_MCP_READY)
		ar_mcp_call_go(c);
	else if (!ar_mcp_peer_open(link->peer))
		ar_mcp_call_end(c, AR_TOOL_NOT_RUN, "network", link->peer->why);
}

static void cancel(struct ar_tool_source *base AR_UNUSED, struct ar_tool_call *port)
{
	struct ar_mcp_call *c = port->source_state;

	if (c)
		ar_mcp_call_cancel(c, "the call was cancelled");
}

static void answer(struct ar_tool_source *base AR_UNUSED, struct ar_tool_call *port,
		   const struct ar_tool_answer *a)
{
	struct ar_mcp_call *c = port->source_state;

	if (c)
		ar_mcp_call_answer(c, a);
}

static void free_if_over(struct ar_mcp_source *s)
{
	void (*on_gone)(void *arg) = s->options.on_gone;
	void *arg = s->options.arg;

	if (s->handles > 0 || s->setup.peers > 0)
		return;
	ar_mcp_inventory_unref(s->inventory);
	ar_json_parser_free(s->setup.answers);
	ar_json_parser_free(s->setup.requests);
	ar_arena_fini(&s->arena);
	ar_free(s);
	if (on_gone)
		on_gone(arg);
}

static void on_closed(uv_handle_t *handle)
{
	struct ar_mcp_source *s = handle->data;

	s->handles--;
	free_if_over(s);
}

static void on_quiet(struct ar_mcp_setup *setup)
{
	free_if_over(AR_CONTAINER_OF(setup, struct ar_mcp_source, setup));
}

static void close_links(struct ar_mcp_source *s)
{
	AR_LIST_FOR_SAFE (it, &s->links) {
		struct ar_mcp_link *link = link_at(it);

		AR_LIST_FOR_SAFE (call, &link->calls)
			ar_mcp_call_cancel(call_at(call), "the runtime is stopping");
		if (s->listing.link == link) {
			ar_mcp_peer_drop(link->peer, &s->listing.request, NULL);
			ar_mcp_inventory_unref(s->listing.found);
			ar_buf_fini(&s->listing.cursor);
		}
		link_close(link);
	}
}

static void close_source(struct ar_tool_source *base)
{
	struct ar_mcp_source *s = source_of(base);

	s->is_closing = true;
	close_links(s);
	deliver(s);
	uv_close((uv_handle_t *)&s->due, on_closed);
	uv_close((uv_handle_t *)&s->chores, on_closed);
}

static const struct ar_tool_source_vtable vtable = {
	.start = start, .cancel = cancel, .answer = answer, .close = close_source
};

/* ---- options ---- */

static const char *copy(struct ar_arena *a, const char *text)
{
	return ar_arena_str(a, ar_str_from(text)).p;
}

static const char *const *copy_list(struct ar_arena *a, const char *const *list)
{
	const char **ret;
	size_t n = 0;

	if (!list)
		return NULL;
	while (list[n] && n < LIST_MAX)
		n++;
	ret = ar_arena_alloc(a, (n + 1) * sizeof(*ret));
	for (size_t i = 0; i < n; i++)
		ret[i] = copy(a, list[i]);
	return ret;
}

static uint32_t or_default(uint32_t v, uint32_t otherwise)
{
	return v ? v : otherwise;
}

static void copy_options(struct ar_mcp_source *s, const struct ar_mcp_options *from)
{
	struct ar_mcp_options *o = &s->options;

	*o = *from;
	o->name = copy(&s->arena, from->name);
	o->command = copy(&s->arena, from->command);
	o->workdir = copy(&s->arena, from->workdir);
	o->url = copy(&s->arena, from->url);
	o->origin = copy(&s->arena, from->origin ? from->origin : from->name);
	o->args = copy_list(&s->arena, from->args);
	o->tools = copy_list(&s->arena, from->tools);
	o->connect_timeout_ms = or_default(from->connect_timeout_ms, 30 * 1000);
	o->call_timeout_ms = or_default(from->call_timeout_ms, 10 * 60 * 1000);
	o->idle_timeout_ms = or_default(from->idle_timeout_ms, 5 * 60 * 1000);
	o->exit_grace_ms = or_default(from->exit_grace_ms, 1000);
	o->restarts_per_minute = or_default(from->restarts_per_minute, 5);
}

static void timer_init(struct ar_mcp_source *s, uv_timer_t *timer)
{
	uv_timer_init(s->setup.loop, timer);
	timer->data = s;
	s->handles++;
}

struct ar_tool_source *ar_mcp_source_new(uv_loop_t *loop, const struct ar_mcp_options *o)
{
	struct ar_mcp_source *s = ar_new0(sizeof(*s));

	AR_ASSERT(o->name && (o->command != NULL) != (o->url != NULL));
	copy_options(s, o);
	s->base = (struct ar_tool_source){ .v = &vtable, .name = s->options.name };
	s->setup = (struct ar_mcp_setup){
		.loop = loop,
		.options = &s->options,
		.answers = ar_json_parser_new(),
		.requests = ar_json_parser_new(),
		.on_quiet = on_quiet,
	};
	ar_list_init(&s->links);
	ar_list_init(&s->ended);
	timer_init(s, &s->due);
	timer_init(s, &s->chores);
	s->list_at = ar_mcp_now();
	ar_mcp_source_arm(s);
	return &s->base;
}
