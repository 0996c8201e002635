/* One look at the files of a workspace in flight: its result goes to the session's inbox. It is counted as a
 * step: a session with one does not move to another node without waiting for it. */
#include "engine_priv.h"
#include "inspect.h"
#include "request/delivery.h"
#include "worker/worker_watch.h"
#include "workspace/environment.h"

enum look_state {
	LOOK_PLANNED = 1,
	LOOK_RUNNING,
	LOOK_ENDED,
};

struct ar_live_inspect {
	struct ar_list node; /* live's inspects */
	struct ar_live *live;
	struct ar_arena arena;
	enum look_state state;
	struct ar_str turn;
	struct ar_inspect_run run;
	struct ar_inspected found;
	struct ar_delivery ended;
};

static void look_free(struct ar_live_inspect *i)
{
	ar_list_del(&i->node);
	i->live->engine->counts.steps--;
	i->live->engine->counts.calls--;
	i->live->engine->load[i->live->partition].steps--;
	ar_arena_fini(&i->arena);
	ar_free(i);
}

static void end_delivered(struct ar_delivery *d)
{
	look_free(AR_CONTAINER_OF(d, struct ar_live_inspect, ended));
}

static const struct ar_definition *keep_definitions(struct ar_arena *a, const struct ar_inspected *found)
{
	struct ar_definition *list = ar_arena_alloc(a, (found->definition_count + 1) * sizeof(*list));

	for (size_t i = 0; i < found->definition_count; i++) {
		const struct ar_definition *of = &found->definitions[i];

		list[i] = (struct ar_definition){ .kind = of->kind,
						  .name = ar_arena_str(a, of->name),
						  .description = ar_arena_str(a, of->description),
						  .path = ar_arena_str(a, of->path),
						  .text = ar_arena_str(a, of->text),
						  .tools = ar_arena_texts(a, of->tools),
						  .model = ar_arena_str(a, of->model),
						  .mode = ar_arena_str(a, of->mode),
						  .isolation = ar_arena_str(a, of->isolation) };
	}
	return list;
}

/* The items are for callers of inspect_workspace: the session uses the texts. */
static void on_done(struct ar_inspect_run *r, const struct ar_inspected *found)
{
	struct ar_live_inspect *i = AR_CONTAINER_OF(r, struct ar_live_inspect, run);

	if (i->live->engine->is_stopping)
		return; /* the next start looks again */
	i->state = LOOK_ENDED;
	i->found = (struct ar_inspected){ .digest = ar_arena_str(&i->arena, found->digest),
					  .file = ar_arena_str(&i->arena, found->file),
					  .instructions = ar_arena_str(&i->arena, found->instructions),
					  .reason = ar_arena_str(&i->arena, found->reason),
					  .definitions = keep_definitions(&i->arena, found),
					  .definition_count = found->definition_count,
					  .servers = ar_servers_copy(&i->arena, found->servers,
								     found->server_count),
					  .server_count = found->server_count,
					  .servers_digest = ar_arena_str(&i->arena, found->servers_digest) };
	i->ended.over = end_delivered;
	i->ended.request.input = (struct ar_input){ .kind = AR_IN_INSPECTED,
						    .inspected = { .turn = i->turn, .found = &i->found } };
	ar_delivery_send(i->live, &i->ended);
}

void ar_inspect_plan(struct ar_live *l, const struct ar_effect_inspect *effect)
{
	struct ar_live_inspect *i = ar_new0(sizeof(*i));
	struct ar_engine *e = l->engine;

	i->live = l;
	i->state = LOOK_PLANNED;
	i->turn = ar_arena_str(&i->arena, effect->turn);
	i->run.folder = ar_arena_str(&i->arena, effect->folder);
	i->run.worker = ar_arena_str(&i->arena, ar_worker_for(e, &l->state));
	i->run.variables = ar_environment_texts(ar_session_environment(&l->state), true, &i->arena);
	i->run.on_done = on_done;
	ar_list_push(&l->inspects, &i->node);
	e->counts.steps++;
	e->counts.calls++;
	e->load[l->partition].steps++;
}

void ar_inspects_begin(struct ar_live *l)
{
	struct ar_engine *e = l->engine;

	AR_LIST_FOR_SAFE (it, &l->inspects) {
		struct ar_live_inspect *i = AR_CONTAINER_OF(it, struct ar_live_inspect, node);

		if (i->state != LOOK_PLANNED)
			continue;
		i->state = LOOK_RUNNING;
		e->o.inspector->v->start(e->o.inspector, &i->run);
	}
}

void ar_inspects_release(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->inspects) {
		struct ar_live_inspect *i = AR_CONTAINER_OF(it, struct ar_live_inspect, node);

		if (i->state == LOOK_PLANNED)
			look_free(i);
	}
}

void ar_inspects_drop(struct ar_live *l)
{
	while (!ar_list_empty(&l->inspects))
		look_free(AR_CONTAINER_OF(l->inspects.next, struct ar_live_inspect, node));
}
