/* task_snapshot: the record of one task, with its attempts and edges. Pure. */
#include "peer/remote.h"
#include "task/task.h"
#include "thread.h"

/* The snapshot schema knows no lost or timed_out attempt: the coarse word goes into status,
 * the exact one into detail. */
static struct ar_str coarse(struct ar_str status)
{
	if (ar_str_is(status, "lost"))
		return AR_STR("unknown");
	return ar_str_is(status, "timed_out") ? AR_STR("failed") : status;
}

/* ---- lists: one that is empty is not absent ---- */

static struct ar_shape_stored_ref_list stored_refs(struct ar_arena *a, struct ar_texts refs)
{
	struct ar_shape_stored_ref *at = ar_arena_alloc(a, (refs.count + 1) * sizeof(*at));

	for (size_t i = 0; i < refs.count; i++)
		at[i].ref = refs.at[i];
	return (struct ar_shape_stored_ref_list){ at, refs.count };
}

/* One that was given as a text becomes an object. */
static struct ar_shape_result_ref_list artifacts_of(struct ar_arena *a, struct ar_shape_result_ref_list given)
{
	struct ar_shape_result_ref *at = ar_arena_alloc(a, (given.count + 1) * sizeof(*at));

	for (size_t i = 0; i < given.count; i++) {
		at[i] = given.at[i];
		if (!ar_str_absent(at[i].text_))
			at[i] = (struct ar_shape_result_ref){ .ref = at[i].text_ };
	}
	return (struct ar_shape_result_ref_list){ at, given.count };
}

/* The same; criteria as they were met count more than as they were declared. */
static struct ar_shape_criterion_list acceptance_of(struct ar_arena *a, const struct ar_sheet *sheet)
{
	struct ar_shape_criterion_list given = sheet->accepted.count ? sheet->accepted : sheet->acceptance;
	struct ar_shape_criterion *at = ar_arena_alloc(a, (given.count + 1) * sizeof(*at));

	for (size_t i = 0; i < given.count; i++) {
		at[i] = given.at[i];
		if (!ar_str_absent(at[i].text_))
			at[i] = (struct ar_shape_criterion){ .criterion = at[i].text_ };
	}
	return (struct ar_shape_criterion_list){ at, given.count };
}

/* ---- attempts ---- */

/* Of the task of a turn only the category is kept. */
static const struct ar_shape_failure *category_alone(struct ar_arena *a, struct ar_str category)
{
	struct ar_shape_failure *failure;

	if (ar_str_absent(category))
		return NULL;
	failure = ar_arena_alloc(a, sizeof(*failure));
	failure->category = category;
	return failure;
}

static struct ar_shape_task_attempt attempt(struct ar_arena *a, const struct ar_run *run)
{
	struct ar_shape_task_attempt r = {
		.run_id = run->id,
		.attempt_id = run->attempt_id,
		.status = coarse(run->status),
		.status_detail = run->status,
		.trigger = run->trigger,
		.attempt_count = AR_OPT_INT(run->count),
		.turn_id = run->turn,
		.worker = run->worker,
		.retry_policy = run->policy,
		.completion_summary = run->summary,
		.started_at = run->started,
		.ended_at = run->ended,
		.last_error = run->error ? run->error : category_alone(a, run->category),
		.remote_tasks = run->remote,
	};

	if (!run->worker)
		return r;
	r.input_refs = stored_refs(a, run->inputs);
	r.output_refs = stored_refs(a, run->outputs);
	r.checkpoint_refs = stored_refs(a, (struct ar_texts){ 0 });
	return r;
}

static struct ar_shape_task_attempt_list attempts_of(struct ar_arena *a, const struct ar_task *task)
{
	struct ar_shape_task_attempt *at = ar_arena_alloc(a, (task->runs.count + 1) * sizeof(*at));

	for (size_t i = 0; i < task->runs.count; i++)
		at[i] = attempt(a, task->runs.at[i]);
	return (struct ar_shape_task_attempt_list){ at, task->runs.count };
}

/* ---- status ---- */

/* The turn that works on it; NULL: somebody outside does, or nobody. */
static const struct ar_turn *turn_at_work(const struct ar_session *s, const struct ar_task *task)
{
	const struct ar_run *run = task->sheet ? ar_task_open_run(task) : NULL;
	struct ar_thread *t;

	if (!task->sheet)
		return ar_session_task(s, task->id);
	return run ? ar_session_turn(s, run->turn, &t) : NULL;
}

/* A run goes on for the log; its turn shows how far it has come. */
struct ar_str ar_projection_task_status(const struct ar_session *s, const struct ar_task *task)
{
	struct ar_str word = ar_task_status_word(task);
	const struct ar_turn *turn = ar_str_is(word, "running") ? turn_at_work(s, task) : NULL;

	if (!turn || !ar_str_absent(turn->outcome))
		return word;
	if (turn->status == AR_TURN_QUEUED)
		return AR_STR("queued");
	if (turn->steps.count == 0 && turn->calls.count == 0)
		return AR_STR("preparing");
	return word;
}

/* ---- records ---- */

/* What every task has. */
static struct ar_shape_task_record record_of(const struct ar_session *s, const struct ar_task *task,
					     const struct ar_shown *shown, struct ar_arena *a)
{
	static const struct ar_shape_delivery_state none = { .state = AR_STR("not_applicable") };

	return (struct ar_shape_task_record){
		.task_id = task->id,
		.parent_task_id = task->parent,
		.root_task_id = ar_str_absent(task->root) ? task->id : task->root,
		.session_id = s->id,
		.objective = task->objective,
		.title = task->title,
		.visibility = (int)task->visibility,
		.status = ar_projection_task_status(s, task),
		.attempts = attempts_of(a, task),
		.attempt_count = AR_OPT_INT(task->attempts),
		.relationships = ar_projection_relationships(s, task, shown, a),
		.artifacts = artifacts_of(a, (struct ar_shape_result_ref_list){ 0 }),
		.evidence_refs = artifacts_of(a, (struct ar_shape_result_ref_list){ 0 }),
		.delivery_state = &none,
		.last_error = category_alone(a, task->error_category),
		.created_at = task->created,
		.updated_at = task->updated,
		.started_at = task->started,
		.ended_at = task->ended,
		.as_of_sequence = AR_OPT_INT((int64_t)s->head),
	};
}

static const struct ar_shape_task_progress *progress_of(struct ar_arena *a, const struct ar_sheet *sheet)
{
	struct ar_shape_task_progress *p = ar_arena_alloc(a, sizeof(*p));

	*p = (struct ar_shape_task_progress){
		.phase = sheet->phase,
		.percent = sheet->percent,
		.current_step = sheet->step,
		.summary = sheet->summary,
		.counters = ar_str_absent(sheet->counters) ? AR_STR("{}") : sheet->counters,
		.output_refs = ar_texts_joined(a, sheet->outputs, (struct ar_texts){ 0 }, AR_TASK_OUTPUTS),
		.output_offset = sheet->offset,
		.validation_state = sheet->validation,
		.acceptance_coverage = sheet->coverage,
	};
	return p;
}

/* What only a declared task has. */
static void add_sheet(struct ar_shape_task_record *r, const struct ar_task *task, struct ar_arena *a)
{
	const struct ar_sheet *sheet = task->sheet;
	const struct ar_run *run = ar_task_run(task);

	r->thread_id = sheet->thread;
	r->turn_id = sheet->turn;
	r->task_kind = sheet->kind;
	r->task_family = sheet->family;
	r->priority = sheet->priority;
	r->requested_by = sheet->requested_by;
	r->owner = sheet->owner;
	r->assignee = sheet->assignee;
	r->scope = sheet->scope;
	r->constraints = sheet->constraints;
	r->task_profile = sheet->profile;
	r->metadata = sheet->metadata;
	r->status_reason = sheet->reason;
	r->acceptance = acceptance_of(a, sheet);
	r->checks = sheet->checks;
	r->command = sheet->command;
	r->delivery = sheet->deliver_to;
	r->progress = progress_of(a, sheet);
	r->current_run_id = run ? run->id : AR_STR_NONE;
	r->artifacts = artifacts_of(a, sheet->artifacts);
	r->evidence_refs = sheet->evidence.at ? sheet->evidence : r->evidence_refs;
	r->delivery_state = sheet->delivery ? sheet->delivery : r->delivery_state;
	r->last_error = sheet->error;
}

void ar_projection_shown_task(const struct ar_session *s, const struct ar_task *task,
			      const struct ar_turn *turn, const struct ar_shown *shown, struct ar_jw *w)
{
	struct ar_arena arena = { 0 };
	struct ar_shape_task_record r = record_of(s, task, shown, &arena);

	r.remote_task = ar_task_remote(task);
	if (!turn) {
		add_sheet(&r, task, &arena);
	} else {
		r.thread_id = turn->thread;
		r.turn_id = turn->id;
		r.current_run_id = turn->run;
	}
	ar_struct_encode(&ar_shape_task_record_desc, &r, AR_STR_NONE, w);
	ar_arena_fini(&arena);
}

void ar_projection_task(const struct ar_session *s, struct ar_str id, struct ar_jw *w)
{
	const struct ar_task *task = ar_session_declared(s, id);
	const struct ar_turn *turn = task ? NULL : ar_session_task(s, id);

	ar_projection_shown_task(s, task ? task : turn->task, turn, NULL, w);
}
