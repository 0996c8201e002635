/* task_snapshot: the record of one task, with its attempts and edges. Pure. */
#include "projection.h"
#include "describe.h"
#include "task/task.h"

/* The snapshot schema knows no lost or timed_out attempt: the coarse word goes into status,
 * the exact one into detail. */
static struct ar_str coarse(struct ar_str status)
{
	if (ar_str_is(status, "lost"))
		return AR_STR("unknown");
	return ar_str_is(status, "timed_out") ? AR_STR("failed") : status;
}

/* Refs and criteria are objects in a snapshot; one that was given as a text becomes one
 * with that `member`. */
static void objects(const struct ar_session *s, const char *name, struct ar_str list, const char *member,
		    struct ar_jw *w)
{
	struct ar_buf one = { 0 };
	struct ar_json v = { 0 };

	ar_jw_key(w, name);
	ar_jw_open_array(w);
	if (!ar_str_empty(list) && ar_json_parse(s->json, list, &v, NULL) != AR_OK)
		v = (struct ar_json){ 0 };
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		struct ar_str text;

		if (ar_json_str(it.value, &text)) {
			ar_jw_open(w);
			ar_jw_mstr(w, member, text);
			ar_jw_close(w);
			continue;
		}
		ar_buf_clear(&one);
		ar_json_print(it.value, &one);
		ar_jw_raw(w, ar_buf_str(&one));
	}
	ar_jw_close_array(w);
	ar_buf_fini(&one);
}

static void attempt(const struct ar_session *s, const struct ar_run *run, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "runId", run->id);
	ar_jw_mstr(w, "attemptId", run->attempt_id);
	ar_jw_mstr(w, "status", coarse(run->status));
	ar_jw_mstr(w, "statusDetail", run->status);
	ar_jw_mstr(w, "trigger", run->trigger);
	ar_jw_mint(w, "attemptCount", run->count);
	ar_jw_mstr(w, "turnId", run->turn);
	if (!ar_str_absent(run->worker)) {
		ar_jw_mraw(w, "worker", run->worker);
		objects(s, "inputRefs", run->inputs, "ref", w);
		objects(s, "outputRefs", run->outputs, "ref", w);
		ar_jw_mraw(w, "checkpointRefs", AR_STR("[]"));
		ar_jw_mraw(w, "retryPolicy", run->policy);
	}
	ar_jw_mstr(w, "completionSummary", run->summary);
	ar_jw_mtime(w, "startedAt", run->started);
	ar_jw_mtime(w, "endedAt", run->ended);
	ar_shape_write(w, "lastError", &ar_shape_failure_desc, run->error);
	if (!ar_str_absent(run->category) && !run->error) {
		ar_jw_key(w, "lastError");
		ar_jw_open(w);
		ar_jw_mstr(w, "category", run->category);
		ar_jw_close(w);
	}
	ar_jw_close(w);
}

static void attempts(const struct ar_session *s, const struct ar_task *task, struct ar_jw *w)
{
	ar_jw_key(w, "attempts");
	ar_jw_open_array(w);
	for (size_t i = 0; i < task->runs.count; i++)
		attempt(s, task->runs.at[i], w);
	ar_jw_close_array(w);
	ar_jw_mint(w, "attemptCount", task->attempts);
}

struct ar_str ar_projection_task_status(const struct ar_task *task)
{
	return ar_task_status_word(task);
}

/* What every task begins with. */
static void heading(const struct ar_session *s, const struct ar_task *task, struct ar_str thread,
		    struct ar_str turn, struct ar_jw *w)
{
	ar_jw_mstr(w, "taskId", task->id);
	ar_jw_mstr(w, "parentTaskId", task->parent);
	ar_jw_mstr(w, "rootTaskId", ar_str_absent(task->root) ? task->id : task->root);
	ar_jw_mstr(w, "sessionId", s->id);
	ar_jw_mstr(w, "threadId", thread);
	ar_jw_mstr(w, "turnId", turn);
	ar_jw_mstr(w, "objective", task->objective);
	ar_jw_mstr(w, "title", task->title);
	ar_jw_mstr(w, "visibility",
		   ar_str_from(ar_enum_name(&ar_task_visibility_desc, (int)task->visibility)));
	ar_jw_mstr(w, "status", ar_projection_task_status(task));
}

static void times(const struct ar_session *s, const struct ar_task *task, struct ar_jw *w)
{
	ar_jw_mtime(w, "createdAt", task->created);
	ar_jw_mtime(w, "updatedAt", task->updated);
	ar_jw_mtime(w, "startedAt", task->started);
	ar_jw_mtime(w, "endedAt", task->ended);
	ar_jw_mint(w, "asOfSequence", (int64_t)s->head);
}

/* ---- tasks of turns ---- */

static void of_turn(const struct ar_session *s, const struct ar_turn *turn, struct ar_jw *w)
{
	const struct ar_task *task = turn->task;

	ar_jw_open(w);
	heading(s, task, turn->thread, turn->id, w);
	ar_jw_mstr(w, "currentRunId", turn->run);
	attempts(s, task, w);
	ar_projection_relationships(s, task, w);
	ar_jw_mraw(w, "artifacts", AR_STR("[]"));
	ar_jw_mraw(w, "evidenceRefs", AR_STR("[]"));
	ar_jw_mraw(w, "deliveryState", AR_STR("{\"state\":\"not_applicable\"}"));
	if (!ar_str_absent(task->error_category)) {
		ar_jw_key(w, "lastError");
		ar_jw_open(w);
		ar_jw_mstr(w, "category", task->error_category);
		ar_jw_close(w);
	}
	times(s, task, w);
	ar_jw_close(w);
}

/* ---- declared tasks ---- */

static void write_sheet(const struct ar_sheet *sheet, struct ar_jw *w)
{
	ar_jw_mstr(w, "taskKind", sheet->kind);
	ar_jw_mstr(w, "taskFamily", sheet->family);
	ar_jw_mstr(w, "priority", sheet->priority);
	ar_jw_mraw(w, "requestedBy", sheet->requested_by);
	ar_jw_mraw(w, "owner", sheet->owner);
	ar_jw_mraw(w, "assignee", sheet->assignee);
	ar_shape_write(w, "scope", &ar_shape_task_scope_desc, sheet->scope);
	ar_jw_mraw(w, "constraints", sheet->constraints);
	ar_jw_mraw(w, "taskProfile", sheet->profile);
	ar_jw_mraw(w, "metadata", sheet->metadata);
	ar_jw_mstr(w, "statusReason", sheet->reason);
}

static void progress(const struct ar_sheet *sheet, struct ar_jw *w)
{
	ar_jw_key(w, "progress");
	ar_jw_open(w);
	ar_jw_mstr(w, "phase", sheet->phase);
	ar_jw_mraw(w, "percent", sheet->percent);
	ar_jw_mstr(w, "currentStep", sheet->step);
	ar_jw_mstr(w, "summary", sheet->summary);
	ar_jw_mraw(w, "counters", ar_str_absent(sheet->counters) ? AR_STR("{}") : sheet->counters);
	ar_jw_mraw(w, "outputRefs", ar_str_absent(sheet->outputs) ? AR_STR("[]") : sheet->outputs);
	if (sheet->offset.set)
		ar_jw_mint(w, "outputOffset", sheet->offset.v);
	ar_jw_mstr(w, "validationState", sheet->validation);
	ar_jw_mraw(w, "acceptanceCoverage", sheet->coverage);
	ar_jw_close(w);
}

static struct ar_str acceptance_of(const struct ar_sheet *sheet)
{
	bool is_said = !ar_str_empty(sheet->accepted) && !ar_str_is(sheet->accepted, "[]");

	return is_said ? sheet->accepted : sheet->acceptance;
}

static void declared(const struct ar_session *s, const struct ar_task *task, struct ar_jw *w)
{
	const struct ar_sheet *sheet = task->sheet;
	const struct ar_run *run = ar_task_run(task);

	ar_jw_open(w);
	heading(s, task, sheet->thread, sheet->turn, w);
	write_sheet(sheet, w);
	objects(s, "acceptance", acceptance_of(sheet), "criterion", w);
	progress(sheet, w);
	ar_jw_mstr(w, "currentRunId", run ? run->id : AR_STR_NONE);
	attempts(s, task, w);
	ar_projection_relationships(s, task, w);
	objects(s, "artifacts", sheet->artifacts, "ref", w);
	ar_jw_mraw(w, "evidenceRefs", ar_str_absent(sheet->evidence) ? AR_STR("[]") : sheet->evidence);
	ar_jw_mraw(w, "deliveryState",
		   ar_str_absent(sheet->delivery) ? AR_STR("{\"state\":\"not_applicable\"}")
						  : sheet->delivery);
	ar_shape_write(w, "lastError", &ar_shape_failure_desc, sheet->error);
	times(s, task, w);
	ar_jw_close(w);
}

void ar_projection_task(const struct ar_session *s, struct ar_str id, struct ar_jw *w)
{
	const struct ar_task *task = ar_session_declared(s, id);

	if (task)
		declared(s, task, w);
	else
		of_turn(s, ar_session_task(s, id), w);
}
