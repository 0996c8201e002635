/* The files of one workspace that all sessions with one share, and the store of their states, driven by the
 * seed: runs take their time, one after the other, fail, are cancelled, or die with the process. The files
 * are a number, which every process that begins changes. Checked where a run begins: its intent is durable,
 * and no state is forgotten that the session still has. */
#include "sim.h"
#include "checkpoint/checkpoints.h"

#include <stdio.h>

struct sim_checkpoint {
	struct ar_list node; /* in the order of their start */
	struct sim *sim;
	struct ar_checkpoint_run *run;
	bool is_cancelled;
};

static const char *const kinds[] = { [AR_CHECKPOINT_SAVE] = "save",  [AR_CHECKPOINT_RESTORE] = "restore",
				     [AR_CHECKPOINT_DIFF] = "diff",  [AR_CHECKPOINT_FORGET] = "forget",
				     [AR_CHECKPOINT_FILL] = "fill",  [AR_CHECKPOINT_MERGE] = "merge",
				     [AR_CHECKPOINT_CLEAR] = "clear" };

static struct sim_checkpoint *first_of(struct sim *s)
{
	return ar_list_empty(&s->checkpoint_runs)
		       ? NULL
		       : AR_CONTAINER_OF(s->checkpoint_runs.next, struct sim_checkpoint, node);
}

/* Long enough that crashes find runs open. */
static ar_usec takes(struct sim *s)
{
	return (ar_usec)sim_below(s, 20 * (uint64_t)s->plan.pace) + 1;
}

static void finish(struct sim_checkpoint *c, const struct ar_checkpoint_result *result)
{
	struct sim *s = c->sim;
	struct ar_checkpoint_run *run = c->run;

	sim_say(s, "files", "%s for %.*s ends with %d, %.*s", kinds[run->kind], AR_STR_ARG(run->session_id),
		(int)result->status, AR_STR_ARG(result->id));
	ar_list_del(&c->node);
	ar_free(c);
	if (first_of(s))
		sim_actor_by(&s->files_actor, s->now + takes(s));
	run->on_done(run, result);
}

static struct ar_str tree_of(uint64_t files, char text[32])
{
	snprintf(text, 32, "tree%llu", (unsigned long long)files);
	return ar_str_from(text);
}

/* What the files are made as is a state that was told before. */
static void set_files(struct sim *s, struct ar_str tree)
{
	if (!ar_str_starts(tree, AR_STR("tree")) || !ar_str_to_u64(ar_str_sub(tree, 4, SIZE_MAX), &s->files))
		sim_fail(s, "'%.*s' is restored, and nobody was given it", AR_STR_ARG(tree));
}

/* What is merged is kept; now and then somebody else has changed the same. */
static void merge(struct sim *s, const struct ar_checkpoint_run *run, struct ar_checkpoint_result *r)
{
	if (run->side == AR_MERGE_SIDE_NONE && sim_chance(s, 300)) {
		r->conflicts = AR_STR("[\"a\"]");
		r->id = AR_STR_NONE;
		return;
	}
	r->base = r->id;
	set_files(s, run->from);
	s->files++;
}

static void files_step(struct sim *s, struct sim_actor *a AR_UNUSED)
{
	struct sim_checkpoint *c = first_of(s);
	struct ar_checkpoint_result r = { .files = 1, .bytes = 2, .changes = AR_STR("[]") };
	struct ar_tool_artifact made;
	char text[32];

	if (!c)
		return;
	r.id = tree_of(s->files, text);
	if (c->is_cancelled) {
		finish(c, &(struct ar_checkpoint_result){ .status = AR_E_CANCELED });
		return;
	}
	if (sim_chance(s, 150)) {
		finish(c, &(struct ar_checkpoint_result){ .status = AR_E_IO, .message = AR_STR("no space") });
		return;
	}
	if (c->run->kind == AR_CHECKPOINT_RESTORE)
		set_files(s, c->run->to);
	if (c->run->kind == AR_CHECKPOINT_MERGE)
		merge(s, c->run, &r);
	s->counts->checkpoints++;
	if (!ar_str_absent(c->run->from) && !ar_str_eq(c->run->from, r.id)) {
		made = (struct ar_tool_artifact){ .path = AR_STR("made.txt"),
						  .change = AR_TOOL_MODIFIED,
						  .version = r.id,
						  .content = r.id,
						  .size = (int64_t)r.id.len };
		r.artifacts = &made;
		r.artifact_count = 1;
		r.changed = 1;
	}
	finish(c, &r);
}

/* Of a fact: the checkpoint that it begins (is_begun) or ends; absent: none. */
static struct ar_str named_by(const struct ar_event *e, bool is_begun)
{
	switch (e->type) {
	case AR_EV_CHECKPOINT_STARTED:
		return is_begun ? ((const struct ar_ev_checkpoint_started *)e->payload)->checkpoint_id
				: AR_STR_NONE;
	case AR_EV_CHECKPOINT_RESTORING:
		return is_begun ? ((const struct ar_ev_checkpoint_restoring *)e->payload)->checkpoint_id
				: AR_STR_NONE;
	case AR_EV_WORKSPACE_PREPARING:
		return is_begun ? AR_STR("fill") : AR_STR_NONE;
	case AR_EV_WORKSPACE_PREPARED:
		return is_begun ? AR_STR_NONE : AR_STR("fill");
	case AR_EV_WORKSPACE_APPLYING:
		return is_begun ? AR_STR("merge") : AR_STR_NONE;
	case AR_EV_WORKSPACE_APPLIED:
	case AR_EV_WORKSPACE_CONFLICTED:
		return is_begun ? AR_STR_NONE : AR_STR("merge");
	case AR_EV_WORKSPACE_FAILED:
		return is_begun ? AR_STR_NONE
		       : ((const struct ar_ev_workspace_failed *)e->payload)->phase ==
				       AR_WORKSPACE_FAILED_PHASE_PREPARE
			       ? AR_STR("fill")
			       : AR_STR("merge");
	case AR_EV_CHECKPOINT_CREATED:
		return is_begun ? AR_STR_NONE
				: ((const struct ar_ev_checkpoint_created *)e->payload)->checkpoint_id;
	case AR_EV_CHECKPOINT_FAILED:
		return is_begun ? AR_STR_NONE
				: ((const struct ar_ev_checkpoint_failed *)e->payload)->checkpoint_id;
	case AR_EV_CHECKPOINT_RESTORED:
		return is_begun ? AR_STR_NONE
				: ((const struct ar_ev_checkpoint_restored *)e->payload)->checkpoint_id;
	default:
		return AR_STR_NONE;
	}
}

static bool is_open(const struct sim_log *log, size_t at)
{
	struct ar_str id = named_by(&log->facts[at].e, true);

	if (ar_str_absent(id))
		return false;
	for (size_t i = at + 1; i < log->count; i++) {
		if (ar_str_eq(named_by(&log->facts[i].e, false), id))
			return false;
	}
	return true;
}

static void check_intent(struct sim *s, const struct ar_checkpoint_run *run, const struct sim_log *log)
{
	for (size_t i = 0; log && i < log->count; i++) {
		if (is_open(log, i))
			return;
	}
	sim_fail(s, "%s for %.*s begins and the intent is not stored", kinds[run->kind],
		 AR_STR_ARG(run->session_id));
}

static void check_forgotten(struct sim *s, const struct ar_checkpoint_run *run, const struct sim_log *log)
{
	struct ar_session state;

	sim_replay(s, log, log->count, &state);
	for (size_t i = 0; i < state.checkpoints.count; i++) {
		for (size_t k = 0; k < run->id_count; k++) {
			if (ar_str_eq(ar_checkpoint_at(&state, i)->tree, run->ids[k]))
				sim_fail(s, "%.*s is forgotten, and a checkpoint has it",
					 AR_STR_ARG(run->ids[k]));
		}
	}
	for (size_t k = 0; state.files && k < run->id_count; k++) {
		if (ar_str_eq(state.files->base, run->ids[k]))
			sim_fail(s, "%.*s is forgotten, and changes are counted from it",
				 AR_STR_ARG(run->ids[k]));
	}
	ar_session_fini(&state);
}

static void start(struct ar_checkpoints *port, struct ar_checkpoint_run *run)
{
	struct sim *s = AR_CONTAINER_OF(port, struct sim, checkpoints);
	const struct sim_log *log = sim_log_of(s, ar_id_session_key(run->session_id));
	struct sim_checkpoint *c = ar_new0(sizeof(*c));

	if (run->kind == AR_CHECKPOINT_FORGET)
		check_forgotten(s, run, log);
	else if (run->kind != AR_CHECKPOINT_DIFF)
		check_intent(s, run, log);
	c->sim = s;
	c->run = run;
	run->adapter_state = c;
	sim_say(s, "files", "%s for %.*s begins", kinds[run->kind], AR_STR_ARG(run->session_id));
	if (!first_of(s))
		sim_actor_by(&s->files_actor, s->now + takes(s));
	ar_list_push(&s->checkpoint_runs, &c->node);
}

static void cancel(struct ar_checkpoints *port, struct ar_checkpoint_run *run)
{
	struct sim *s = AR_CONTAINER_OF(port, struct sim, checkpoints);
	struct sim_checkpoint *c = run->adapter_state;

	if (sim_chance(s, 850))
		c->is_cancelled = true;
}

static void close_port(struct ar_checkpoints *port)
{
	struct sim *s = AR_CONTAINER_OF(port, struct sim, checkpoints);

	while (first_of(s))
		finish(first_of(s), &(struct ar_checkpoint_result){ .status = AR_E_CANCELED });
}

static const struct ar_checkpoints_vtable vtable = { start, cancel, close_port };

static void find_folder(void *arg AR_UNUSED, struct ar_folder_request *r)
{
	r->status = AR_OK;
	r->folder = ar_str_absent(r->session) ? AR_STR("/sim/files") : AR_STR("/sim/own");
	r->done(r);
}

void sim_files_serve(struct sim *s)
{
	ar_control_serve_folders(s->control, find_folder, s);
}

/* In good weather: the workspace is there before anybody needs it. */
void sim_files_make(struct sim *s)
{
	struct ar_json v;
	struct ar_str reply;

	s->is_calm = true;
	sim_workers_make(s);
	reply = sim_ask_now(
		s, AR_CMD_CREATE_WORKSPACE,
		s->worker.is_used
			? AR_STR("{\"name\":\"sim\",\"idempotencyKey\":\"sim\",\"worker\":\"" SIM_WORKER
				 "\"}")
			: AR_STR("{\"name\":\"sim\",\"idempotencyKey\":\"sim\"}"));
	s->is_calm = false;
	if (ar_json_parse(s->json, reply, &v, NULL) != AR_OK)
		sim_fail(s, "create_workspace is not JSON: %.*s", AR_STR_ARG(reply));
	s->workspace = sim_keep(s, sim_text(ar_json_get(v, "workspace"), "workspaceId"));
	sim_actor_by(&s->mover, s->now + SIM_MS);
}

void sim_files_open(struct sim *s)
{
	ar_list_init(&s->checkpoint_runs);
	s->checkpoints = (struct ar_checkpoints){ &vtable };
	sim_actor_start(s, &s->files_actor, SIM_NEVER, files_step);
}

void sim_files_crashed(struct sim *s)
{
	close_port(&s->checkpoints);
	s->files_actor.at = SIM_NEVER;
}

struct ar_str sim_some_checkpoint(struct sim *s, struct ar_str session_key)
{
	const struct sim_log *log = sim_log_of(s, session_key);
	struct ar_str found = AR_STR_NONE;

	for (size_t i = 0; log && i < log->count; i++) {
		const struct ar_event *e = &log->facts[i].e;

		if ((e->type == AR_EV_CHECKPOINT_CREATED || e->type == AR_EV_CHECKPOINT_RESTORED) &&
		    (ar_str_absent(found) || sim_chance(s, 500)))
			found = named_by(e, false);
	}
	return found;
}
