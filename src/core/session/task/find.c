/* Declared tasks by their ids, what facts about them are called, and what is said of them in
 * more than one place. Pure. */
#include "peer/remote.h"
#include "task/task.h"
#include "machine.h"

enum ar_status ar_task_need(const struct ar_decision *d, struct ar_str id, struct ar_task **ret,
			    struct ar_error *err)
{
	const struct ar_session *s = d->session;
	uint64_t n;

	*ret = ar_session_declared(s, id);
	if (*ret)
		return AR_OK;
	if (ar_session_task(s, id))
		return ar_refuse(err, AR_ERR_TASK_NOT_FOUND,
				 "%.*s is the internal task of a turn; use the commands for turns",
				 AR_STR_ARG(id));
	if (ar_id_counter(id, &n) && (int64_t)n <= s->counters.task)
		return ar_refuse(err, AR_ERR_TASK_NOT_FOUND,
				 "task %.*s is not among the newest %d ended tasks and is read-only",
				 AR_STR_ARG(id), AR_WINDOW_TASKS);
	return ar_refuse(err, AR_ERR_TASK_NOT_FOUND, "session %.*s has no task %.*s", AR_STR_ARG(s->id),
			 AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

enum ar_status ar_task_check_open(const struct ar_task *task, struct ar_error *err)
{
	if (ar_task_is_over(task))
		return ar_refuse(err, AR_ERR_ALREADY_TERMINAL, "task %.*s is %.*s", AR_STR_ARG(task->id),
				 AR_STR_ARG(ar_task_status_word(task)));
	return AR_OK;
}

struct ar_ids ar_task_ids(const struct ar_task *task, const struct ar_run *run)
{
	struct ar_ids ids = { 0 };

	ids.at[AR_SCOPE_TASK] = task->id;
	ids.at[AR_SCOPE_PARENT_TASK] = task->parent;
	ids.at[AR_SCOPE_ROOT_TASK] = task->root;
	if (task->sheet)
		ids.at[AR_SCOPE_THREAD] = task->sheet->thread;
	if (run) {
		ids.at[AR_SCOPE_RUN] = run->id;
		ids.at[AR_SCOPE_ATTEMPT] = run->attempt_id;
	}
	return ids;
}

void ar_task_emit(struct ar_decision *d, const struct ar_task *task, enum ar_event_type type,
		  const void *payload)
{
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));

	ar_decide_emit(d, type, &ids, payload);
}

struct ar_str ar_task_status_word(const struct ar_task *task)
{
	const struct ar_run *run = ar_task_run(task);

	if (task->status == AR_TASK_WAITING)
		return task->waiting;
	if (task->status == AR_TASK_RUNNING && task->sheet && task->sheet->retry_at)
		return AR_STR("retrying");
	if (task->status == AR_TASK_RUNNING && !ar_str_absent(ar_peer_status_word(task)))
		return ar_peer_status_word(task);
	if (task->status == AR_TASK_RUNNING && task->stale.v)
		return AR_STR("stale");
	if (task->status == AR_TASK_LOST && run && ar_str_is(run->category, AR_CATEGORY_END_UNKNOWN))
		return AR_STR("unknown");
	return ar_str_from(ar_machine_state_name(AR_MACHINE_TASK, (int)task->status));
}

static const struct ar_shape_party *party(struct ar_decision *d, struct ar_str kind, struct ar_str id)
{
	struct ar_shape_party *made = ar_arena_alloc(d->arena, sizeof(*made));

	*made = (struct ar_shape_party){ .kind = kind, .id = id };
	return made;
}

const struct ar_shape_party *ar_task_caller(struct ar_decision *d, const struct ar_shape_party *said)
{
	return said ? said : party(d, AR_STR("caller"), d->input->account);
}

const struct ar_shape_party *ar_task_channel(struct ar_decision *d, struct ar_str channel)
{
	return ar_str_absent(channel) ? NULL : party(d, AR_STR("channel"), channel);
}
