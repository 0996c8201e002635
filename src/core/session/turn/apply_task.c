/* Facts about tasks and their attempts. Pure; see apply.c. */
#include "apply.h"

enum ar_status ar_apply_task_created(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_task_created *p = PAYLOAD(e, task_created);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_task *task;

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	task = ar_arena_alloc(&s->arena, sizeof(*task));
	task->id = ar_apply_keep(s, e->ids[AR_SCOPE_TASK]);
	task->objective = ar_apply_keep(s, p->objective);
	task->title = ar_apply_keep(s, p->title);
	task->visibility = p->visibility;
	task->status = AR_TASK_DRAFT;
	task->created = task->updated = e->time;
	turn->task = task;
	ar_apply_count(&s->counters.task, task->id);
	return AR_OK;
}

enum ar_status ar_apply_attempt_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_task_attempt_started *p = PAYLOAD(e, task_attempt_started);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_run *run;

	if (!turn || !turn->task)
		return ar_apply_unknown(err, e, "task");
	run = ar_arena_alloc(&s->arena, sizeof(*run));
	run->id = ar_apply_keep(s, e->ids[AR_SCOPE_RUN]);
	run->attempt_id = ar_apply_keep(s, e->ids[AR_SCOPE_ATTEMPT]);
	run->status = AR_STR("running");
	run->trigger = ar_apply_word(e, "trigger", p->trigger);
	run->count = p->attempt_count;
	run->started = e->time;
	ar_vec_push(&s->arena, &turn->task->runs, run);
	if (turn->task->runs.count > AR_WINDOW_RUNS)
		ar_vec_remove(&turn->task->runs, 0);
	turn->task->attempts = p->attempt_count;
	turn->run = run->id;
	turn->attempt = 0;
	turn->restarts += p->trigger == AR_TASK_ATTEMPT_STARTED_TRIGGER_RESUME_AFTER_CRASH;
	turn->is_lost = false;
	ar_apply_count(&s->counters.run, run->id);
	return ar_apply_move(&turn->task->status, AR_MACHINE_TASK, e, err);
}

static struct ar_run *current_run(const struct ar_task *task)
{
	return task->runs.count ? task->runs.at[task->runs.count - 1] : NULL;
}

enum ar_status ar_apply_attempt_ended(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_run *run = turn && turn->task ? current_run(turn->task) : NULL;

	if (!run)
		return ar_apply_unknown(err, e, "attempt");
	run->ended = e->time;
	run->status = AR_STR("completed");
	if (e->type != AR_EV_TASK_ATTEMPT_FAILED)
		return AR_OK;
	run->status = ar_apply_word(e, "status", PAYLOAD(e, task_attempt_failed)->status);
	run->category = ar_apply_keep(s, PAYLOAD(e, task_attempt_failed)->failure_category);
	return AR_OK;
}

/* Every task fact moves the task's machine; some leave more behind. */
enum ar_status ar_apply_task_moved(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_task *task = turn ? turn->task : NULL;

	if (!task)
		return ar_apply_unknown(err, e, "task");
	task->updated = e->time;
	if (e->type == AR_EV_TASK_STARTED && task->started == 0)
		task->started = e->time;
	if (e->type == AR_EV_TASK_FAILED)
		task->error_category = ar_apply_keep(s, PAYLOAD(e, task_failed)->failure_category);
	return ar_apply_move(&task->status, AR_MACHINE_TASK, e, err);
}

enum ar_status ar_apply_task_waiting(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (turn && turn->task)
		turn->task->waiting = ar_apply_word(e, "status", PAYLOAD(e, task_waiting)->status);
	return ar_apply_task_moved(s, e, err);
}

enum ar_status ar_apply_task_ended(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (turn && turn->task)
		turn->task->ended = e->time;
	s->tasks.completed += e->type == AR_EV_TASK_COMPLETED;
	s->tasks.failed += e->type == AR_EV_TASK_FAILED;
	s->tasks.cancelled += e->type == AR_EV_TASK_CANCELLED;
	s->tasks.lost += e->type == AR_EV_TASK_LOST;
	return ar_apply_task_moved(s, e, err);
}
