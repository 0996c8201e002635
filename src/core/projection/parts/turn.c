/* What a turn is read with beside its steps. Its environment is whole for the newest turns of a thread; the
 * others name it, and get_execution_environment reads it. Pure. */
#include "parts/parts.h"
#include "describe.h"
#include "quotas.h"

#define WHOLE_ENVIRONMENTS 3 /* newest turns of a thread that are shown with theirs */

const struct ar_shape_turn_environment *ar_projection_environment_of(const struct ar_session *s,
								     const struct ar_turn *turn)
{
	return turn ? ar_session_turn_environment(s, turn->origin.environment) : NULL;
}

bool ar_projection_turn_environment(const struct ar_session *s, const struct ar_turn *turn,
				    struct ar_shape_turn_environment *ret)
{
	const struct ar_shape_turn_environment *e = ar_projection_environment_of(s, turn);

	if (!e)
		return false;
	*ret = *e;
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (ar_str_eq(p->turn, turn->id) && !ar_str_absent(p->environment))
			ret->env_ref = p->environment;
	}
	return true;
}

const struct ar_turn *ar_projection_newest_turn(const struct ar_thread *t)
{
	const struct ar_turn *newest = NULL;

	for (size_t i = 0; i < t->turns.count; i++) {
		const struct ar_turn *turn = t->turns.at[i];

		if (turn->start.set && (!newest || turn->start.v > newest->start.v))
			newest = turn;
	}
	return newest;
}

/* A run of a turn's own task has none in its facts; it is named as those of other tasks are. */
static void attempt(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w)
{
	struct ar_arena a = { 0 };
	uint64_t n;

	if (ar_id_counter(turn->run, &n))
		ar_jw_mstr(w, "attemptId", ar_id_inner(&a, "attempt", s->session_key, n));
	ar_arena_fini(&a);
}

static bool is_among_newest(const struct ar_thread *t, const struct ar_turn *turn)
{
	size_t at = t->turns.count;

	while (at > 0 && t->turns.at[at - 1] != turn)
		at--;
	return t->turns.count - at < WHOLE_ENVIRONMENTS;
}

static void environment(const struct ar_session *s, const struct ar_thread *t, const struct ar_turn *turn,
			struct ar_jw *w)
{
	struct ar_shape_turn_environment e = { 0 };
	bool is_known = ar_projection_turn_environment(s, turn, &e);

	ar_shape_write(w, "sandboxProfile", &ar_shape_environment_sandbox_desc, e.sandbox_profile);
	if (is_known && is_among_newest(t, turn)) {
		ar_shape_write(w, "executionEnvironment", &ar_shape_turn_environment_desc, &e);
		return;
	}
	ar_jw_key(w, "executionEnvironment");
	ar_jw_open(w);
	ar_jw_mstr(w, "state",
		   is_known	     ? AR_STR("recorded")
		   : turn->start.set ? AR_STR("unknown")
				     : AR_STR("not_applicable"));
	ar_jw_mstr(w, "ref", turn->origin.environment);
	ar_jw_close(w);
}

/* ---- permission and limits ---- */

static bool is_of_turn(const struct ar_turn *turn, struct ar_str call)
{
	return ar_turn_call(turn, call) != NULL;
}

static void permission(const struct ar_session *s, const struct ar_thread *t, const struct ar_turn *turn,
		       struct ar_jw *w)
{
	const struct ar_shape_turn_environment *e = ar_projection_environment_of(s, turn);
	int64_t decided = 0, open = 0;
	struct ar_str mode = e ? e->permission_mode : AR_STR_NONE;

	for (size_t i = 0; i < t->judged.count; i++) {
		const struct ar_judged *j = t->judged.at[i];

		if (!is_of_turn(turn, j->call))
			continue;
		decided++;
		mode = j->mode;
	}
	for (size_t i = 0; i < turn->calls.count; i++)
		open += ((const struct ar_invocation *)turn->calls.at[i])->stage == AR_CALL_WAITING;
	ar_jw_key(w, "permissionState");
	ar_jw_open(w);
	ar_jw_mstr(w, "mode", ar_str_absent(mode) ? AR_STR("unknown") : mode);
	ar_jw_mint(w, "decisions", decided);
	ar_jw_mint(w, "pendingApprovals", open);
	ar_jw_close(w);
}

static void limits(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w)
{
	struct ar_str word = ar_projection_quota_word(s, turn);

	ar_jw_key(w, "limitState");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", ar_str_absent(word) ? AR_STR("ok") : word);
	if (!ar_str_absent(word))
		ar_projection_quotas(s, turn, w);
	if (turn->crowded.v)
		ar_jw_mbool(w, "parallelBudgetReached", true);
	ar_jw_close(w);
}

/* ---- what it ran ---- */

static void hook_run(const struct ar_hook_record *run, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "hookRunId", run->id);
	ar_jw_mstr(w, "hookPoint",
		   ar_str_from(ar_enum_name(&ar_hook_started_hook_point_desc, (int)run->point)));
	ar_jw_mstr(w, "handlerRef", run->handler);
	ar_jw_mstr(w, "subjectId", run->subject);
	ar_jw_mstr(w, "status", run->status);
	ar_jw_mstr(w, "decision", run->decision);
	ar_jw_mstr(w, "errorCategory", run->category);
	ar_jw_mtime(w, "startedAt", run->started);
	ar_jw_mtime(w, "endedAt", run->ended);
	ar_jw_close(w);
}

static void hook_runs(const struct ar_turn *turn, struct ar_jw *w)
{
	if (turn->hook_runs.count == 0)
		return;
	ar_jw_key(w, "hookRuns");
	ar_jw_open_array(w);
	for (size_t i = 0; i < turn->hook_runs.count; i++)
		hook_run(turn->hook_runs.at[i], w);
	ar_jw_close_array(w);
}

/* The whole of them is a member of the thread. */
static void processes(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w)
{
	bool is_open = false;

	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (!ar_str_eq(p->turn, turn->id))
			continue;
		if (!is_open) {
			ar_jw_key(w, "processes");
			ar_jw_open_array(w);
			is_open = true;
		}
		ar_jw_open(w);
		ar_jw_mstr(w, "processId", p->id);
		ar_jw_mstr(w, "status", ar_projection_process(p).status);
		ar_jw_close(w);
	}
	if (is_open)
		ar_jw_close_array(w);
}

static bool is_output_of(const struct ar_session *s, const struct ar_turn *turn,
			 const struct ar_stored_output *o)
{
	for (size_t i = 0; i < s->processes.count && !ar_str_absent(o->process); i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (ar_str_eq(p->id, o->process))
			return ar_str_eq(p->turn, turn->id);
	}
	return !ar_str_absent(o->call) && is_of_turn(turn, o->call);
}

static void output_ref(struct ar_str ref, const struct ar_stored_output *o, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "outputRef", ref);
	if (o) {
		ar_jw_mstr(w, "toolCallId", o->call);
		ar_jw_mstr(w, "processId", o->process);
		ar_jw_mint(w, "sizeBytes", o->size);
	}
	ar_jw_close(w);
}

static void output_refs(const struct ar_session *s, const struct ar_thread *t, const struct ar_turn *turn,
			struct ar_jw *w)
{
	ar_jw_key(w, "outputRefs");
	ar_jw_open_array(w);
	if (!ar_str_absent(turn->output_ref))
		output_ref(turn->output_ref, NULL, w);
	for (size_t i = 0; i < t->outputs.count; i++) {
		const struct ar_stored_output *o = t->outputs.at[i];

		if (is_output_of(s, turn, o))
			output_ref(o->ref, o, w);
	}
	ar_jw_close_array(w);
}

void ar_projection_turn_parts(const struct ar_session *s, const struct ar_thread *t,
			      const struct ar_turn *turn, struct ar_jw *w)
{
	attempt(s, turn, w);
	environment(s, t, turn, w);
	permission(s, t, turn, w);
	limits(s, turn, w);
	hook_runs(turn, w);
	processes(s, turn, w);
	output_refs(s, t, turn, w);
	if (!turn->task)
		return;
	ar_jw_key(w, "tasks");
	ar_jw_open_array(w);
	ar_jw_open(w);
	ar_jw_mstr(w, "taskId", turn->task->id);
	ar_jw_mstr(w, "status", ar_projection_task_status(s, turn->task));
	ar_jw_close(w);
	ar_jw_close_array(w);
}
