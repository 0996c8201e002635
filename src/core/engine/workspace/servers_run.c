/* The servers of a workspace being started for a turn: how it went goes to the session's inbox. It is counted
 * as a step: a session with one does not move to another node without waiting for it. */
#include "engine_priv.h"
#include "permission/permission.h"
#include "request/delivery.h"
#include "workspace/environment.h"
#include "workspace/servers.h"
#include "toolbox.h"

enum start_state {
	START_PLANNED = 1,
	START_RUNNING,
	START_ENDED,
};

struct ar_live_servers {
	struct ar_list node; /* live's servers */
	struct ar_live *live;
	struct ar_arena arena;
	enum start_state state;
	struct ar_str turn;
	struct ar_servers_run run;
	struct ar_servers_end end;
	struct ar_delivery ended;
};

static struct ar_live_servers *servers_at(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_live_servers, node);
}

static void start_free(struct ar_live_servers *s)
{
	ar_list_del(&s->node);
	s->live->engine->counts.steps--;
	s->live->engine->counts.calls--;
	s->live->engine->load[s->live->partition].steps--;
	ar_arena_fini(&s->arena);
	ar_free(s);
}

static void end_delivered(struct ar_delivery *d)
{
	start_free(AR_CONTAINER_OF(d, struct ar_live_servers, ended));
}

static void on_done(struct ar_servers_run *r, const struct ar_server_state *states, size_t count)
{
	struct ar_live_servers *s = AR_CONTAINER_OF(r, struct ar_live_servers, run);
	struct ar_server_state *list = ar_arena_alloc(&s->arena, (count + 1) * sizeof(*list));

	if (s->live->engine->is_stopping)
		return; /* the next start asks again */
	s->state = START_ENDED;
	for (size_t i = 0; i < count; i++) {
		list[i] = states[i];
		list[i].name = ar_arena_str(&s->arena, states[i].name);
		list[i].reason = ar_arena_str(&s->arena, states[i].reason);
	}
	s->ended.over = end_delivered;
	s->end = (struct ar_servers_end){ .turn = s->turn, .states = list, .count = count };
	s->ended.request.input = (struct ar_input){ .kind = AR_IN_SERVERS, .servers = &s->end };
	ar_delivery_send(s->live, &s->ended);
}

const struct ar_server *ar_servers_copy(struct ar_arena *a, const struct ar_server *of, size_t count)
{
	struct ar_server *list = ar_arena_alloc(a, (count + 1) * sizeof(*list));

	for (size_t i = 0; i < count; i++)
		list[i] = (struct ar_server){ .name = ar_arena_str(a, of[i].name),
					      .command = ar_arena_str(a, of[i].command),
					      .args = ar_arena_texts(a, of[i].args),
					      .env = ar_arena_texts(a, of[i].env),
					      .url = ar_arena_str(a, of[i].url),
					      .reason = ar_arena_str(a, of[i].reason) };
	return list;
}

void ar_servers_plan(struct ar_live *l, const struct ar_effect_servers *effect)
{
	const struct ar_shape_workspace_binding *bound = l->state.bound;
	struct ar_live_servers *s = ar_new0(sizeof(*s));
	struct ar_engine *e = l->engine;
	enum ar_sandbox_profile profile;

	if (!ar_profile_of_servers(&l->state, e->o.policy, &profile))
		profile = 0; /* there is none to start */
	s->live = l;
	s->state = START_PLANNED;
	s->turn = ar_arena_str(&s->arena, effect->turn);
	s->run = (struct ar_servers_run){
		.tenant = ar_arena_str(&s->arena, ar_session_tenant(&l->state)),
		.workspace = ar_arena_str(&s->arena, bound->workspace_id),
		.folder = ar_arena_str(&s->arena, bound->folder),
		.digest = ar_arena_str(&s->arena, effect->digest),
		.key = ar_session_servers_key(&l->state, &s->arena),
		.environment = ar_environment_texts(&bound->environment, false, &s->arena),
		.profile = profile,
		.is_apart = ar_session_is_apart(&l->state, e->o.policy),
		.servers = ar_servers_copy(&s->arena, effect->servers, effect->count),
		.count = effect->count,
		.on_done = on_done,
	};
	ar_list_push(&l->servers, &s->node);
	e->counts.steps++;
	e->counts.calls++;
	e->load[l->partition].steps++;
}

void ar_servers_begin(struct ar_live *l)
{
	struct ar_engine *e = l->engine;

	AR_LIST_FOR_SAFE (it, &l->servers) {
		struct ar_live_servers *s = servers_at(it);

		if (s->state != START_PLANNED)
			continue;
		s->state = START_RUNNING;
		e->o.servers->v->start(e->o.servers, &s->run);
	}
}

void ar_servers_release(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->servers) {
		if (servers_at(it)->state == START_PLANNED)
			start_free(servers_at(it));
	}
}

void ar_servers_drop(struct ar_live *l)
{
	struct ar_engine *e = l->engine;

	while (!ar_list_empty(&l->servers)) {
		struct ar_live_servers *s = servers_at(l->servers.next);

		if (s->state == START_RUNNING)
			e->o.servers->v->drop(e->o.servers, &s->run);
		start_free(s);
	}
}

/* ---- the tools of a session ---- */

const struct ar_inventory *ar_live_inventory(const struct ar_engine *e, const struct ar_session *s)
{
	struct ar_arena a = { 0 };
	const struct ar_inventory *found = NULL;

	if (e->o.toolbox)
		found = ar_toolbox_inventory_for(e->o.toolbox, ar_session_servers_key(s, &a));
	ar_arena_fini(&a);
	return found;
}

const struct ar_policy *ar_engine_policy_of(const struct ar_engine *e, const struct ar_session *s,
					    struct ar_arena *a)
{
	struct ar_policy *own;

	if (!e->o.policy->inventory || s->servers.count == 0)
		return e->o.policy;
	own = ar_arena_alloc(a, sizeof(*own));
	*own = *e->o.policy;
	own->inventory = ar_live_inventory(e, s);
	return own;
}

bool ar_engine_has_turns_in(const struct ar_engine *e, struct ar_str workspace)
{
	const struct ar_live *l;
	size_t cursor = 0;

	while ((l = ar_map_next(&e->sessions, &cursor))) {
		if (l->is_loaded && l->state.bound && ar_str_eq(l->state.bound->workspace_id, workspace) &&
		    ar_session_is_active(&l->state))
			return true;
	}
	return false;
}
