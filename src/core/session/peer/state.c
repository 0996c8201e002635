/* The states of peers as ours, and the records of their tasks in the state of a session. Pure. */
#include "peer/remote.h"
#include "task/words.h"

#include <string.h>

#define STATUS(word) AR_TASK_STATUS_##word
#define RECOVERY(word) AR_REMOTE_TASK_RECOVERY_STATE_##word
#define NATIVE_PREFIX "TASK_STATE_"

static const struct {
	const char *word; /* as in version 0.3; 1.0 has it in capitals behind the prefix, with _ for - */
	struct ar_peer_meaning meaning;
} meanings[] = {
	{ "submitted", { STATUS(ACCEPTED), RECOVERY(IDLE), false, NULL } },
	{ "working", { STATUS(RUNNING), RECOVERY(RUNNING), false, NULL } },
	{ "input-required", { STATUS(WAITING_INPUT), RECOVERY(WAITING), false, NULL } },
	{ "auth-required", { STATUS(WAITING_PERMISSION), RECOVERY(WAITING), false, NULL } },
	/* completed only when our side has settled it */
	{ "completed", { STATUS(RUNNING), RECOVERY(UNRECONCILED), true, NULL } },
	{ "canceled", { STATUS(CANCELLED), RECOVERY(ENDED), true, AR_CATEGORY_PEER_CANCELLED } },
	{ "failed", { STATUS(FAILED), RECOVERY(ENDED), true, AR_CATEGORY_PEER_FAILED } },
	{ "rejected", { STATUS(FAILED), RECOVERY(ENDED), true, AR_CATEGORY_PEER_REJECTED } },
};

static char lower(char c)
{
	if (c == '_')
		return '-';
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_word(struct ar_str native, const char *word)
{
	size_t i = 0;

	if (ar_str_starts(native, AR_STR(NATIVE_PREFIX))) {
		native = ar_str_sub(native, strlen(NATIVE_PREFIX), SIZE_MAX);
		for (; i < native.len && word[i] && lower(native.p[i]) == word[i]; i++)
			;
		return i == native.len && !word[i];
	}
	return ar_str_is(native, word);
}

struct ar_peer_meaning ar_peer_meaning(struct ar_str native_status)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(meanings); i++) {
		if (is_word(native_status, meanings[i].word))
			return meanings[i].meaning;
	}
	return (struct ar_peer_meaning){ .status = STATUS(UNKNOWN), .recovery = RECOVERY(IDLE) };
}

const struct ar_shape_remote_task *ar_run_remote(const struct ar_run *run)
{
	return run && run->remote.count ? &run->remote.at[run->remote.count - 1] : NULL;
}

const struct ar_shape_remote_task *ar_task_remote(const struct ar_task *task)
{
	for (size_t i = task->runs.count; i > 0; i--) {
		const struct ar_shape_remote_task *r = ar_run_remote(task->runs.at[i - 1]);

		if (r)
			return r;
	}
	return NULL;
}

const struct ar_shape_remote_task *ar_task_remote_of(const struct ar_task *task, struct ar_str operation)
{
	for (size_t i = task->runs.count; i > 0; i--) {
		const struct ar_run *run = task->runs.at[i - 1];

		for (size_t k = run->remote.count; k > 0; k--) {
			if (ar_str_eq(run->remote.at[k - 1].operation_id, operation))
				return &run->remote.at[k - 1];
		}
	}
	return NULL;
}

static bool has_remote(const struct ar_task *task, struct ar_str channel, struct ar_str remote_task)
{
	for (size_t i = 0; task && i < task->runs.count; i++) {
		const struct ar_run *run = task->runs.at[i];

		for (size_t k = 0; k < run->remote.count; k++) {
			const struct ar_shape_remote_task *r = &run->remote.at[k];

			if (ar_str_eq(r->remote_task_id, remote_task) && ar_str_eq(r->channel_id, channel))
				return true;
		}
	}
	return false;
}

const struct ar_task *ar_session_remote(const struct ar_session *s, struct ar_str channel,
					struct ar_str remote_task)
{
	for (size_t i = 0; i < s->declared.count; i++) {
		if (has_remote(s->declared.at[i], channel, remote_task))
			return s->declared.at[i];
	}
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (has_remote(turn->task, channel, remote_task))
				return turn->task;
		}
	}
	return NULL;
}

static bool is_open(const struct ar_session *s, struct ar_str operation)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_turn *turn = ar_thread_active(s->threads.at[i]);

		for (size_t k = 0; turn && k < turn->calls.count; k++) {
			const struct ar_invocation *call = turn->calls.at[k];

			if (call->stage != AR_CALL_ENDED && ar_str_eq(call->permission, operation))
				return true;
		}
	}
	return false;
}

/* The oldest whose call has ended: one that is open would be handed on again after a restart if nothing were
 * known of it. The count of all: each call is open. */
static size_t find_leaver(const struct ar_session *s, const struct ar_run *run)
{
	size_t i = 0;

	while (i < run->remote.count && is_open(s, run->remote.at[i].operation_id))
		i++;
	return i;
}

void ar_peer_keep(struct ar_session *s, struct ar_run *run, const struct ar_shape_remote_task *r)
{
	size_t count = run->remote.count, leaver = count, kept = 0;
	struct ar_shape_remote_task *at = ar_arena_alloc(&s->arena, (count + 1) * sizeof(*at));
	bool is_known = false;

	for (size_t i = 0; i < count; i++)
		is_known = is_known || ar_str_eq(run->remote.at[i].operation_id, r->operation_id);
	if (!is_known && count >= AR_REMOTE_TASKS_MAX)
		leaver = find_leaver(s, run);
	for (size_t i = 0; i < count; i++) {
		if (i != leaver)
			at[kept++] = ar_str_eq(run->remote.at[i].operation_id, r->operation_id)
					     ? *r
					     : run->remote.at[i];
	}
	if (!is_known)
		at[kept++] = *r;
	run->remote = (struct ar_shape_remote_task_list){ at, kept };
}

struct ar_str ar_peer_status_word(const struct ar_task *task)
{
	const struct ar_run *run = ar_task_open_run(task);
	const struct ar_shape_remote_task *r = ar_run_remote(run);

	if (!r || !task->sheet || !ar_str_is(run->worker->kind, AR_WORKER_PEER))
		return AR_STR_NONE;
	if (r->unreachable_since)
		return AR_STR("stale");
	if (r->status == STATUS(ACCEPTED))
		return AR_STR("accepted");
	return r->status == STATUS(UNKNOWN) && !ar_str_absent(r->native_status) ? AR_STR("unknown")
										: AR_STR_NONE;
}
