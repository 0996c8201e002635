/* What the end of one task means for those that wait for it: they begin by themselves when nothing
 * else holds them, and stay blocked, with the reason, when it did not end well. Pure. */
#include "task/blocks.h"
#include "task/task.h"

/* ---- held ---- */

static bool may_block(const struct ar_task *task)
{
	static const bool may[] = { [AR_TASK_ACCEPTED] = true,
				    [AR_TASK_QUEUED] = true,
				    [AR_TASK_RUNNING] = true,
				    [AR_TASK_WAITING] = true,
				    [AR_TASK_BLOCKED] = true };

	return task->status >= 0 && (size_t)task->status < AR_ARRAY_LEN(may) && may[task->status];
}

/* What is said of a task that `blocker` holds. */
static struct ar_str why_held(struct ar_decision *d, const struct ar_task *blocker)
{
	if (!blocker || !ar_task_is_over(blocker))
		return AR_STR("another task has to be completed first");
	return ar_arena_fmt(
		d->arena,
		"task %.*s is %.*s and has to be completed first: retry it, or take the edge away "
		"with unlink_tasks",
		AR_STR_ARG(blocker->id), AR_STR_ARG(ar_task_status_word(blocker)));
}

void ar_task_say_blocked(struct ar_decision *d, const struct ar_task *task, struct ar_str blocker)
{
	struct ar_shape_blocker one;

	if (!task || !may_block(task))
		return;
	one = ar_task_blocker(d->session, blocker);
	ar_task_emit(d, task, AR_EV_TASK_BLOCKED,
		     &(struct ar_ev_task_blocked){
			     .blockers = { &one, 1 },
			     .status_reason = why_held(d, ar_session_any_task(d->session, blocker)) });
}

/* ---- free ---- */

/* With a decision of its own each begins: it sees the graph as it is then, and a long chain needs no
 * deep stack. */
void ar_task_unblock(struct ar_decision *d, const struct ar_task *task)
{
	if (!task || ar_task_is_over(task) || ar_task_is_blocked(task))
		return;
	if (task->sheet->start || task->sheet->retry_at) {
		ar_task_set_clock(d, task, NULL);
		return;
	}
	if (task->status != AR_TASK_BLOCKED)
		return;
	if (ar_task_run(task)) {
		ar_task_emit(d, task, AR_EV_TASK_RESUMED,
			     &(struct ar_ev_task_resumed){ .reason = AR_STR("nothing blocks it any more"),
							   .from_status = AR_STR("blocked"),
							   .actor = d->input->account });
		ar_task_set_clock(d, task, ar_task_open_run(task));
		return;
	}
	ar_task_emit(d, task, AR_EV_TASK_QUEUED,
		     &(struct ar_ev_task_queued){ .queue_reason =
							  AR_TASK_QUEUED_QUEUE_REASON_WORKER_CAPACITY });
}

/* ---- ends and new beginnings of a blocker ---- */

/* Each edge by which the task holds another, and is not in that state already, gets the state. */
static void move_edges(struct ar_decision *d, const struct ar_task *task, const char *status)
{
	struct ar_vec holds = ar_vec_copy(d->arena, &task->holds);

	for (size_t i = 0; i < holds.count; i++) {
		const struct ar_block *b = ar_block_at(&holds, i);
		struct ar_edge now = *b->edge;

		if (!ar_block_is_open(b) || ar_str_is(now.status, status))
			continue;
		now.status = ar_str_from(status);
		now.updated = d->input->now;
		ar_task_say_edge(d, b->from, &now, AR_TASK_DEPENDENCY_UPDATED_CHANGE_UPDATED);
		if (!b->held || !b->held->sheet)
			continue;
		if (ar_block_is_open(b))
			ar_task_say_blocked(d, b->held, task->id);
		else
			ar_task_unblock(d, b->held);
	}
}

void ar_task_release_held(struct ar_decision *d, const struct ar_task *task, bool is_completed)
{
	move_edges(d, task, is_completed ? AR_EDGE_SATISFIED : AR_EDGE_FAILED);
}

void ar_task_release(struct ar_decision *d, const struct ar_task *task, bool is_completed)
{
	ar_task_release_held(d, task, is_completed);
	ar_task_child_ended(d, task->parent);
	if (is_completed)
		ar_task_look_again(d, task->parent);
}

void ar_task_hold_again(struct ar_decision *d, const struct ar_task *task)
{
	move_edges(d, task, AR_EDGE_OPEN);
}
