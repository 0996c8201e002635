/* Lookups in session state. Pure; the owner of the session owns it. */
#include "action/action.h"
#include "checkpoint/checkpoints.h"
#include "workspace/isolation.h"
#include "auth.h"
#include "job/job.h"
#include "closed/closed_group.h"
#include "process/record.h"
#include "state.h"

struct ar_thread *ar_session_thread(const struct ar_session *s, struct ar_str id)
{
	struct ar_thread *t = ar_vec_last_with(&s->threads, offsetof(struct ar_thread, id), id);

	if (t && !t->pack)
		return t;
	return ar_closed_groups_seek(s, id) ? ar_session_thread(s, id) : NULL;
}

struct ar_turn *ar_thread_turn(const struct ar_thread *t, struct ar_str id)
{
	return ar_vec_last_with(&t->turns, offsetof(struct ar_turn, id), id);
}

struct ar_turn *ar_session_turn(const struct ar_session *s, struct ar_str id, struct ar_thread **ret_thread)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		struct ar_thread *t = s->threads.at[i];
		struct ar_turn *turn = ar_thread_turn(t, id);

		if (!turn)
			continue;
		*ret_thread = t;
		return turn;
	}
	return ar_closed_groups_seek(s, id) ? ar_session_turn(s, id, ret_thread) : NULL;
}

struct ar_turn *ar_session_task(const struct ar_session *s, struct ar_str task)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		for (size_t k = t->turns.count; k > 0; k--) {
			struct ar_turn *turn = t->turns.at[k - 1];

			if (turn->task && ar_str_eq(turn->task->id, task))
				return turn;
		}
	}
	return ar_closed_groups_seek(s, task) ? ar_session_task(s, task) : NULL;
}

struct ar_task *ar_session_declared(const struct ar_session *s, struct ar_str task)
{
	return ar_map_get(&s->declared_ids, task);
}

struct ar_task *ar_session_any_task(const struct ar_session *s, struct ar_str task)
{
	struct ar_task *declared = ar_session_declared(s, task);
	struct ar_turn *turn = declared ? NULL : ar_session_task(s, task);

	return turn ? turn->task : declared;
}

bool ar_task_is_over(const struct ar_task *task)
{
	static const bool is_end[] = {
		[AR_TASK_COMPLETED] = true, [AR_TASK_FAILED] = true,   [AR_TASK_CANCELLED] = true,
		[AR_TASK_TIMED_OUT] = true, [AR_TASK_ARCHIVED] = true,
	};

	return task->status >= 0 && (size_t)task->status < AR_ARRAY_LEN(is_end) && is_end[task->status];
}

struct ar_run *ar_task_run(const struct ar_task *task)
{
	return task->runs.count ? task->runs.at[task->runs.count - 1] : NULL;
}

struct ar_run *ar_task_open_run(const struct ar_task *task)
{
	struct ar_run *run = ar_task_run(task);

	return run && run->ended == 0 ? run : NULL;
}

const struct ar_shape_turn_environment *ar_session_turn_environment(const struct ar_session *s,
								    struct ar_str ref)
{
	for (size_t i = s->environments.count; i > 0 && !ar_str_absent(ref); i--) {
		const struct ar_kept_environment *kept = s->environments.at[i - 1];

		if (ar_str_eq(kept->ref, ref))
			return kept->of;
	}
	return NULL;
}

struct ar_turn *ar_thread_active(const struct ar_thread *t)
{
	return ar_str_absent(t->active_turn) ? NULL : ar_thread_turn(t, t->active_turn);
}

bool ar_thread_is_at_work(const struct ar_session *s, const struct ar_thread *t)
{
	if (ar_thread_active(t) || t->queue.count > 0)
		return true;
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (p->status == AR_PROCESS_RUNNING && ar_str_eq(p->thread, t->id))
			return true;
	}
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (a->status == AR_ACTION_PENDING && ar_str_eq(a->thread, t->id))
			return true;
	}
	return false;
}

struct ar_step *ar_turn_step(const struct ar_turn *t, struct ar_str id)
{
	return ar_vec_last_with(&t->steps, offsetof(struct ar_step, id), id);
}

struct ar_invocation *ar_turn_call(const struct ar_turn *t, struct ar_str id)
{
	return ar_vec_last_with(&t->calls, offsetof(struct ar_invocation, id), id);
}

bool ar_turn_has_open_calls(const struct ar_turn *t)
{
	for (size_t i = t->calls.count; i > 0; i--) {
		if (!((const struct ar_invocation *)t->calls.at[i - 1])->is_joined)
			return true;
	}
	return false;
}

struct ar_turn *ar_session_call(const struct ar_session *s, struct ar_str call, struct ar_invocation **ret,
				struct ar_thread **ret_thread)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		struct ar_thread *t = s->threads.at[i];
		struct ar_turn *turn = ar_thread_active(t);

		*ret = turn ? ar_turn_call(turn, call) : NULL;
		if (!*ret)
			continue;
		*ret_thread = t;
		return turn;
	}
	return NULL;
}

bool ar_turn_is_system(const struct ar_turn *t)
{
	return ar_str_is(t->source, AR_SOURCE_SYSTEM);
}

bool ar_turn_is_modelless(const struct ar_turn *t)
{
	int purpose = ar_turn_options(t)->purpose;

	return ar_turn_is_system(t) &&
	       (purpose == AR_TURN_OPTIONS_PURPOSE_ACCEPTANCE || purpose == AR_TURN_OPTIONS_PURPOSE_COMMAND ||
		purpose == AR_TURN_OPTIONS_PURPOSE_DELIVERY || purpose == AR_TURN_OPTIONS_PURPOSE_PEER);
}

const struct ar_shape_turn_options *ar_turn_options(const struct ar_turn *t)
{
	static const struct ar_shape_turn_options none;

	return t && t->options ? t->options : &none;
}

const struct ar_boundary *ar_thread_boundary(const struct ar_thread *t, int64_t start)
{
	for (size_t i = t->boundaries.count; i > 0; i--) {
		const struct ar_boundary *b = t->boundaries.at[i - 1];

		if (b->start < start)
			return b;
	}
	return NULL;
}

size_t ar_thread_visible(const struct ar_thread *t, const struct ar_boundary *b)
{
	int64_t hidden = b ? b->covered - t->omitted : 0;

	if (hidden <= 0)
		return 0;
	return (size_t)hidden < t->context.count ? (size_t)hidden : t->context.count;
}

struct ar_step *ar_turn_last_step(const struct ar_turn *t)
{
	for (size_t i = t->steps.count; i > 0; i--) {
		struct ar_step *step = t->steps.at[i - 1];

		if (!ar_str_absent(step->model_request))
			return step;
	}
	return NULL;
}

bool ar_turn_has_open_hooks(const struct ar_turn *t)
{
	for (size_t i = 0; i < t->hooks.count; i++) {
		if (!ar_str_absent(((const struct ar_hook_chain *)t->hooks.at[i])->run))
			return true;
	}
	return false;
}

/* Turns that have ended, and whose end is not reported yet. */
static bool has_reports(const struct ar_thread *t)
{
	for (size_t i = 0; i < t->turns.count; i++) {
		if (!ar_str_absent(((const struct ar_turn *)t->turns.at[i])->report_to))
			return true;
	}
	return false;
}

bool ar_session_is_active(const struct ar_session *s)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		if (!ar_str_absent(t->active_turn) || t->queue.count > 0 || has_reports(t))
			return true;
	}
	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *task = s->declared.at[i];

		if (!ar_task_is_over(task) &&
		    (ar_task_open_run(task) || task->sheet->retry_at || task->sheet->start))
			return true;
	}
	if (ar_session_has_open_jobs(s) || s->deliveries.count > 0)
		return true;
	for (size_t i = 0; i < s->processes.count; i++) {
		if (((const struct ar_process_record *)s->processes.at[i])->status == AR_PROCESS_RUNNING)
			return true;
	}
	return ar_session_makes_checkpoint(s) || ar_session_moves_files(s) || ar_session_sends_runs(s);
}

struct ar_str ar_session_tenant(const struct ar_session *s)
{
	return ar_str_absent(s->tenant) ? AR_STR(AR_TENANT_LOCAL) : s->tenant;
}
