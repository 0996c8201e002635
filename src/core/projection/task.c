/* task_snapshot: records, attempts, counts. Pure. */
#include "projection.h"
#include "describe.h"
#include "machine.h"

/* The snapshot schema knows no lost or timed_out attempt: the coarse word goes into status, the exact one into detail. */
static struct ar_str coarse(struct ar_str status)
{
	if (ar_str_is(status, "lost"))
		return AR_STR("unknown");
	return ar_str_is(status, "timed_out") ? AR_STR("failed") : status;
}

static void attempt(const struct ar_run *run, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "runId", run->id);
	ar_jw_mstr(w, "attemptId", run->attempt_id);
	ar_jw_mstr(w, "status", coarse(run->status));
	ar_jw_mstr(w, "statusDetail", run->status);
	ar_jw_mstr(w, "trigger", run->trigger);
	ar_jw_mint(w, "attemptCount", run->count);
	ar_jw_mtime(w, "startedAt", run->started);
	ar_jw_mtime(w, "endedAt", run->ended);
	if (!ar_str_absent(run->category)) {
		ar_jw_key(w, "lastError");
		ar_jw_open(w);
		ar_jw_mstr(w, "category", run->category);
		ar_jw_close(w);
	}
	ar_jw_close(w);
}

struct ar_str ar_projection_task_status(const struct ar_task *task)
{
	if (task->status == AR_TASK_WAITING)
		return task->waiting;
	return ar_str_from(ar_machine_state_name(AR_MACHINE_TASK, (int)task->status));
}

static void identity(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w)
{
	const struct ar_task *task = turn->task;

	ar_jw_mstr(w, "taskId", task->id);
	ar_jw_mstr(w, "rootTaskId", task->id);
	ar_jw_mstr(w, "sessionId", s->id);
	ar_jw_mstr(w, "threadId", turn->thread);
	ar_jw_mstr(w, "turnId", turn->id);
	ar_jw_mstr(w, "objective", task->objective);
	ar_jw_mstr(w, "title", task->title);
	ar_jw_mstr(w, "visibility",
		   ar_str_from(ar_enum_name(&ar_task_visibility_desc, (int)task->visibility)));
	ar_jw_mstr(w, "status", ar_projection_task_status(task));
}

void ar_projection_task(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w)
{
	const struct ar_task *task = turn->task;

	ar_jw_open(w);
	identity(s, turn, w);
	ar_jw_mstr(w, "currentRunId", turn->run);
	ar_jw_key(w, "attempts");
	ar_jw_open_array(w);
	for (size_t i = 0; i < task->runs.count; i++)
		attempt(task->runs.at[i], w);
	ar_jw_close_array(w);
	ar_jw_mint(w, "attemptCount", task->attempts);
	ar_jw_mraw(w, "relationships", AR_STR("[]"));
	ar_jw_mraw(w, "artifacts", AR_STR("[]"));
	ar_jw_mraw(w, "evidenceRefs", AR_STR("[]"));
	ar_jw_mraw(w, "deliveryState", AR_STR("{\"state\":\"not_applicable\"}"));
	if (!ar_str_absent(task->error_category)) {
		ar_jw_key(w, "lastError");
		ar_jw_open(w);
		ar_jw_mstr(w, "category", task->error_category);
		ar_jw_close(w);
	}
	ar_jw_mtime(w, "createdAt", task->created);
	ar_jw_mtime(w, "updatedAt", task->updated);
	ar_jw_mtime(w, "startedAt", task->started);
	ar_jw_mtime(w, "endedAt", task->ended);
	ar_jw_mint(w, "asOfSequence", (int64_t)s->head);
	ar_jw_close(w);
}

struct open_tasks {
	int64_t active, waiting, blocked;
};

static struct open_tasks count_open(const struct ar_session *s)
{
	struct open_tasks n = { 0 };

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (!ar_str_absent(turn->outcome) || !turn->task)
				continue;
			n.blocked += turn->task->status == AR_TASK_BLOCKED;
			n.waiting += turn->task->status == AR_TASK_WAITING;
			n.active += turn->task->status != AR_TASK_BLOCKED;
		}
	}
	return n;
}

static void recent_terminal(const struct ar_session *s, struct ar_jw *w)
{
	ar_jw_key(w, "recentTerminal");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (!ar_str_absent(turn->outcome) && turn->task)
				ar_jw_str(w, turn->task->id);
		}
	}
	ar_jw_close_array(w);
}

void ar_projection_task_summary(const struct ar_session *s, struct ar_jw *w)
{
	struct open_tasks open = count_open(s);

	ar_jw_open(w);
	ar_jw_mint(w, "active", open.active);
	ar_jw_mint(w, "waiting", open.waiting);
	ar_jw_mint(w, "blocked", open.blocked);
	ar_jw_mint(w, "completed", s->tasks.completed);
	ar_jw_mint(w, "failed", s->tasks.failed);
	ar_jw_mint(w, "cancelled", s->tasks.cancelled);
	ar_jw_mint(w, "lost", s->tasks.lost);
	ar_jw_mint(w, "terminal", s->tasks.completed + s->tasks.failed + s->tasks.cancelled);
	recent_terminal(s, w);
	ar_jw_close(w);
}
