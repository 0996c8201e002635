/* Tasks as one thread of a document shows them: ids and states of the newest, and counts. The document
 * itself has their records, edges and blockers. Pure. */
#include "parts/parts.h"
#include "task/blocks.h"
#include "task/task.h"

#define SHOWN_TASKS 50 /* newest declared ones of a thread that are listed */

static void line(const struct ar_session *s, const struct ar_task *task, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "taskId", task->id);
	ar_jw_mstr(w, "status", ar_projection_task_status(s, task));
	ar_jw_close(w);
}

struct own_tasks {
	struct ar_arena arena;
	struct ar_vec newest, blocked; /* struct ar_task, newest first */
	int64_t count, edges, blocked_count;
};

static void gather(const struct ar_session *s, const struct ar_thread *t, struct own_tasks *ret)
{
	for (size_t i = s->declared.count; i > 0; i--) {
		struct ar_task *task = s->declared.at[i - 1];

		if (!ar_str_eq(task->sheet->thread, t->id))
			continue;
		if (ret->count++ < SHOWN_TASKS)
			ar_vec_push(&ret->arena, &ret->newest, task);
		ret->edges += (int64_t)task->edges.count;
		if (ar_task_is_over(task) || !ar_task_is_blocked(task))
			continue;
		if (ret->blocked_count++ < SHOWN_TASKS)
			ar_vec_push(&ret->arena, &ret->blocked, task);
	}
}

void ar_projection_thread_tasks(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	struct own_tasks own = { 0 };
	int64_t of_turns = 0;

	gather(s, t, &own);
	ar_jw_key(w, "tasks");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->turns.count; i++) {
		const struct ar_turn *turn = t->turns.at[i];

		if (turn->task && !turn->removed.v) {
			line(s, turn->task, w);
			of_turns++;
		}
	}
	for (size_t i = 0; i < own.newest.count; i++)
		line(s, own.newest.at[i], w);
	ar_jw_close_array(w);
	ar_jw_key(w, "blockedTasks");
	ar_jw_open_array(w);
	for (size_t i = 0; i < own.blocked.count; i++)
		line(s, own.blocked.at[i], w);
	ar_jw_close_array(w);
	ar_jw_key(w, "taskGraph");
	ar_jw_open(w);
	ar_jw_mint(w, "tasks", own.count + of_turns);
	ar_jw_mint(w, "edges", own.edges);
	ar_jw_mint(w, "blocked", own.blocked_count);
	ar_jw_close(w);
	ar_arena_fini(&own.arena);
}
