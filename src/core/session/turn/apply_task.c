/* Facts about tasks and their attempts, of turns and declared ones alike; what only declared
 * ones have is in task/. Pure; see apply.c. */
#include "apply.h"
#include "task/sheet.h"

/* The task that a fact is about; *ret_turn is the turn that has it, NULL for a declared one. */
static struct ar_task *task_of(struct ar_session *s, const struct ar_event *e, struct ar_turn **ret_turn)
{
	struct ar_task *declared = ar_session_declared(s, e->ids[AR_SCOPE_TASK]);
	struct ar_thread *t;

	*ret_turn = declared ? NULL : ar_apply_turn(s, e, &t);
	if (declared)
		return declared;
	return *ret_turn ? (*ret_turn)->task : NULL;
}

enum ar_status ar_apply_task_created(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_task_created *p = PAYLOAD(e, task_created);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_task *task = ar_arena_alloc(&s->arena, sizeof(*task));

	task->id = ar_apply_keep(s, e->ids[AR_SCOPE_TASK]);
	task->parent = ar_apply_keep(s, e->ids[AR_SCOPE_PARENT_TASK]);
	task->root = ar_apply_keep(s, e->ids[AR_SCOPE_ROOT_TASK]);
	task->objective = ar_apply_keep(s, p->objective);
	task->title = ar_apply_keep(s, p->title);
	task->visibility = p->visibility;
	task->status = AR_TASK_DRAFT;
	task->created = task->updated = e->time;
	ar_apply_count(&s->counters.task, task->id);
	if (turn && !turn->task) {
		turn->task = task;
		return AR_OK;
	}
	if (!turn && !ar_str_absent(e->ids[AR_SCOPE_TURN]))
		return ar_apply_unknown(err, e, "turn");
	ar_sheet_begin(s, e, task);
	return AR_OK;
}

enum ar_status ar_apply_attempt_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_task_attempt_started *p = PAYLOAD(e, task_attempt_started);
	struct ar_turn *turn;
	struct ar_task *task = task_of(s, e, &turn);
	struct ar_run *run;

	if (!task)
		return ar_apply_unknown(err, e, "task");
	run = ar_arena_alloc(&s->arena, sizeof(*run));
	run->id = ar_apply_keep(s, e->ids[AR_SCOPE_RUN]);
	run->attempt_id = ar_apply_keep(s, e->ids[AR_SCOPE_ATTEMPT]);
	run->status = AR_STR("running");
	run->trigger = ar_apply_word(e, "trigger", p->trigger);
	run->count = p->attempt_count;
	run->started = e->time;
	ar_vec_push(&s->arena, &task->runs, run);
	if (task->runs.count > AR_WINDOW_RUNS)
		ar_vec_remove(&task->runs, 0);
	task->attempts = p->attempt_count;
	ar_apply_count(&s->counters.run, run->id);
	if (turn) {
		turn->run = run->id;
		turn->attempt = 0;
		turn->restarts += p->trigger == AR_TASK_ATTEMPT_STARTED_TRIGGER_RESUME_AFTER_CRASH &&
				  !p->is_bystander.v;
		turn->is_lost = false;
	} else {
		ar_sheet_run(s, e, task, run);
	}
	return ar_apply_move(&task->status, AR_MACHINE_TASK, e, err);
}

enum ar_status ar_apply_attempt_ended(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_turn *turn;
	struct ar_task *task = task_of(s, e, &turn);
	struct ar_run *run = task ? ar_task_run(task) : NULL;

	if (!run)
		return ar_apply_unknown(err, e, "attempt");
	run->ended = e->time;
	run->status = AR_STR("completed");
	if (e->type == AR_EV_TASK_ATTEMPT_FAILED) {
		run->status = ar_apply_word(e, "status", PAYLOAD(e, task_attempt_failed)->status);
		run->category = ar_apply_keep(s, PAYLOAD(e, task_attempt_failed)->failure_category);
	}
	if (task->sheet)
		ar_sheet_run_over(s, e, task, run);
	return AR_OK;
}

/* Every task fact moves the task's machine; some leave more behind. */
static enum ar_status moved(struct ar_session *s, const struct ar_event *e, struct ar_task *task,
			    struct ar_error *err)
{
	task->updated = e->time;
	if (e->type == AR_EV_TASK_STARTED && task->started == 0)
		task->started = e->time;
	if (e->type == AR_EV_TASK_RETRYING)
		task->ended = 0; /* a lost one was over for nobody */
	if (e->type == AR_EV_TASK_FAILED)
		task->error_category = ar_apply_keep(s, PAYLOAD(e, task_failed)->failure_category);
	if (task->sheet)
		ar_sheet_moved(s, e, task);
	return ar_apply_move(&task->status, AR_MACHINE_TASK, e, err);
}

enum ar_status ar_apply_task_moved(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_turn *turn;
	struct ar_task *task = task_of(s, e, &turn);

	return task ? moved(s, e, task, err) : ar_apply_unknown(err, e, "task");
}

enum ar_status ar_apply_task_waiting(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_turn *turn;
	struct ar_task *task = task_of(s, e, &turn);

	if (task)
		task->waiting = ar_apply_word(e, "status", PAYLOAD(e, task_waiting)->status);
	return ar_apply_task_moved(s, e, err);
}

enum ar_status ar_apply_task_ended(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_turn *turn;
	struct ar_task *task = task_of(s, e, &turn);
	enum ar_status rc;

	if (!task)
		return ar_apply_unknown(err, e, "task");
	task->ended = e->time;
	s->tasks.completed += e->type == AR_EV_TASK_COMPLETED;
	s->tasks.failed += e->type == AR_EV_TASK_FAILED;
	s->tasks.cancelled += e->type == AR_EV_TASK_CANCELLED;
	if (e->type == AR_EV_TASK_TIMED_OUT)
		s->tasks.timed_out = AR_OPT_INT(s->tasks.timed_out.v + 1);
	s->tasks.lost += e->type == AR_EV_TASK_LOST;
	rc = moved(s, e, task, err);
	if (task->sheet)
		ar_sheet_window(s);
	return rc;
}
