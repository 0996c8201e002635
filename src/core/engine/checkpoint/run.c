/* One run of the checkpoint port for a session: a checkpoint of its workspace is made or restored, and its
 * end goes back into the session's inbox with secrets masked; or what is not kept any more is forgotten, of
 * which nothing comes back. Runs are counted as steps: a session with one does not move to another node
 * without waiting for it.
 *
 *   PLANNED -> RUNNING -> ENDED;  a cancel before RUNNING ends without a run. */
#include "checkpoint/checkpoints.h"
#include "engine_priv.h"
#include "fault.h"
#include "funnel.h"
#include "request/delivery.h"
#include "worker/worker_watch.h"
#include "workspace/work_folder.h"

enum run_state {
	RUN_PLANNED = 1,
	RUN_RUNNING,
	RUN_ENDED,
};

struct ar_live_checkpoint {
	struct ar_list node; /* live's checkpoints */
	struct ar_live *live;
	struct ar_arena arena;
	enum run_state state;
	bool is_cancelled;
	struct ar_checkpoint_run run;
	struct ar_funnel funnel;
	struct ar_checkpoint_end end;
	struct ar_delivery ended;
};

static void run_free(struct ar_live_checkpoint *c)
{
	ar_list_del(&c->node);
	c->live->engine->counts.steps--;
	c->live->engine->counts.calls--;
	c->live->engine->load[c->live->partition].steps--;
	ar_funnel_fini(&c->funnel);
	ar_arena_fini(&c->arena);
	ar_free(c);
}

/* ---- the end ---- */

static void end_delivered(struct ar_delivery *d)
{
	run_free(AR_CONTAINER_OF(d, struct ar_live_checkpoint, ended));
}

/* The id of a state goes back to the port as it is; what is too long for one is none. */
static struct ar_str keep_id(struct ar_live_checkpoint *c, struct ar_str id)
{
	return id.len > AR_CHECKPOINT_ID_MAX ? AR_STR_NONE : ar_arena_str(&c->arena, id);
}

static void keep_result(struct ar_live_checkpoint *c, const struct ar_checkpoint_result *r)
{
	struct ar_checkpoint_end *end = &c->end;

	end->status = r->status;
	end->message = ar_funnel_text(&c->funnel, r->message, &c->arena);
	end->tree = keep_id(c, r->id);
	end->files = r->files;
	end->bytes = r->bytes;
	end->left_out = r->left_out;
	end->is_cut = r->is_cut;
	end->is_shared = r->is_shared;
	end->base = keep_id(c, r->base);
	if (r->conflicts.len <= AR_CHECKPOINT_CHANGES_MAX)
		end->conflicts = ar_funnel_text(&c->funnel, r->conflicts, &c->arena);
	end->used = r->used;
	end->is_measured = r->is_measured;
	end->is_partial = r->is_partial;
	if (r->changes.len <= AR_CHECKPOINT_CHANGES_MAX)
		end->changes = ar_funnel_text(&c->funnel, r->changes, &c->arena);
	end->artifacts = ar_funnel_artifacts(&c->funnel, r->artifacts, r->artifact_count, &c->arena);
	end->artifact_count = r->artifact_count;
	end->changed = r->changed;
	end->masked = ar_funnel_masked(&c->funnel.counts, &c->arena);
}

static void run_end(struct ar_live_checkpoint *c, const struct ar_checkpoint_result *result)
{
	struct ar_live *l = c->live;

	c->state = RUN_ENDED;
	if (l->engine->is_stopping)
		return; /* the next start finds the checkpoint open and says so */
	if (c->run.kind == AR_CHECKPOINT_FORGET) {
		run_free(c);
		ar_live_pump(l);
		return;
	}
	AR_FAULT("engine.checkpoint_end");
	keep_result(c, result);
	c->ended.over = end_delivered;
	c->ended.request.input =
		(struct ar_input){ .kind = AR_IN_CHECKPOINT_DONE, .checkpoint_done = &c->end };
	ar_delivery_send(l, &c->ended);
}

static void on_done(struct ar_checkpoint_run *r, const struct ar_checkpoint_result *result)
{
	run_end(AR_CONTAINER_OF(r, struct ar_live_checkpoint, run), result);
}

/* ---- the beginning ---- */

static const struct ar_str *copy_trees(struct ar_live_checkpoint *c, struct ar_texts trees)
{
	struct ar_str *ids = ar_arena_alloc(&c->arena, (trees.count + 1) * sizeof(*ids));

	for (size_t i = 0; i < trees.count; i++)
		ids[i] = ar_arena_str(&c->arena, trees.at[i]);
	return ids;
}

void ar_checkpoint_plan(struct ar_live *l, const struct ar_effect_checkpoint *effect)
{
	struct ar_live_checkpoint *c = ar_new0(sizeof(*c));
	const struct ar_session *s = &l->state;
	const struct ar_work_folder place = ar_work_folder_named(s, effect->child);
	struct ar_engine *e = l->engine;
	struct ar_arena *a = &c->arena;
	ar_usec left = effect->deadline - l->commit.request->input.now;

	c->live = l;
	c->state = RUN_PLANNED;
	c->funnel.redactor = e->o.redactor;
	c->end.kind = effect->kind;
	c->end.id = ar_arena_str(a, effect->id);
	c->run = (struct ar_checkpoint_run){ .kind = effect->kind,
					     .tenant = ar_arena_str(a, ar_session_tenant(s)),
					     .workspace_id = ar_arena_str(a, place.bound->workspace_id),
					     .folder = ar_arena_str(a, place.bound->folder),
					     .worker = ar_arena_str(a, ar_worker_for(e, s)),
					     .origin = ar_arena_str(a, place.bound->origin),
					     .isolation = (enum ar_isolation)place.bound->isolation,
					     .label = ar_arena_str(a, effect->label),
					     .side = effect->side,
					     .session_id = ar_arena_str(a, s->id),
					     .from = ar_arena_str(a, effect->from),
					     .to = ar_arena_str(a, effect->tree),
					     .ids = copy_trees(c, effect->trees),
					     .id_count = effect->trees.count,
					     .keep_days = e->o.policy->checkpoint_days,
					     .measures = effect->measures,
					     .deadline = e->o.clock->mono(e->o.clock) + left,
					     .on_done = on_done };
	ar_list_push(&l->checkpoints, &c->node);
	e->counts.steps++;
	e->counts.calls++;
	e->load[l->partition].steps++;
}

static void begin(struct ar_live_checkpoint *c)
{
	struct ar_checkpoints *port = c->live->engine->o.checkpoints;

	if (c->is_cancelled) {
		run_end(c, &(struct ar_checkpoint_result){ .status = AR_E_CANCELED });
		return;
	}
	if (!port) {
		run_end(c, &(struct ar_checkpoint_result){
				   .status = AR_E_UNAVAILABLE,
				   .message = AR_STR("this runtime keeps no checkpoints") });
		return;
	}
	c->state = RUN_RUNNING;
	AR_FAULT("engine.before_checkpoint");
	port->v->start(port, &c->run);
}

void ar_checkpoints_begin(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->checkpoints) {
		struct ar_live_checkpoint *c = AR_CONTAINER_OF(it, struct ar_live_checkpoint, node);

		if (c->state == RUN_PLANNED)
			begin(c);
	}
}

static void cancel_run(struct ar_live_checkpoint *c)
{
	struct ar_checkpoints *port = c->live->engine->o.checkpoints;

	c->is_cancelled = true;
	if (c->state == RUN_RUNNING)
		port->v->cancel(port, &c->run);
}

void ar_checkpoint_cancel(struct ar_live *l, struct ar_str id)
{
	AR_LIST_FOR_SAFE (it, &l->checkpoints) {
		struct ar_live_checkpoint *c = AR_CONTAINER_OF(it, struct ar_live_checkpoint, node);

		if (ar_str_eq(c->end.id, id))
			cancel_run(c);
	}
}

void ar_checkpoints_release(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->checkpoints) {
		struct ar_live_checkpoint *c = AR_CONTAINER_OF(it, struct ar_live_checkpoint, node);

		if (c->state == RUN_PLANNED)
			run_free(c);
		else
			cancel_run(c);
	}
}

void ar_checkpoints_drop(struct ar_live *l)
{
	while (!ar_list_empty(&l->checkpoints))
		run_free(AR_CONTAINER_OF(l->checkpoints.next, struct ar_live_checkpoint, node));
}
