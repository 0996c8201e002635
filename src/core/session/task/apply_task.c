/* Facts about tasks and their attempts, of turns and declared ones alike; a declared one has a sheet, which
 * keeps more. Pure; see apply.c. */
#include "apply.h"
#include "delivery/delivery.h"
#include "describe.h"
#include "peer/remote.h"
#include "task/blocks.h"
#include "task/words.h"

/* ---- sheets: making and runs ---- */

/* The task joins the session's declared ones, with all that was said about it. */
static void begin_sheet(struct ar_session *s, const struct ar_event *e, struct ar_task *task)
{
	const struct ar_ev_task_created *p = KEPT(s, e, task_created);
	struct ar_sheet *sheet = ar_arena_alloc(&s->arena, sizeof(*sheet));
	uint64_t n;

	*sheet = (struct ar_sheet){
		.thread = ar_apply_keep(s, e->ids[AR_SCOPE_THREAD]),
		.turn = ar_apply_keep(s, e->ids[AR_SCOPE_TURN]),
		.kind = p->task_kind,
		.family = p->task_family,
		.priority = p->priority,
		.scope = p->scope,
		.constraints = p->constraints,
		.profile = p->task_profile,
		.acceptance = p->acceptance,
		.requested_by = p->requested_by,
		.owner = p->owner,
		.assignee = p->assignee,
		.metadata = p->metadata,
		.people = p->submitted_by,
		.command = p->command,
		.deliver_to = p->delivery,
	};
	task->sheet = sheet;
	ar_vec_push(&s->arena, &s->declared, task);
	ar_blocks_add_task(s, task);
	s->declared_count = AR_OPT_INT(s->declared_count.v + 1);
	if (!ar_id_counter(task->id, &n))
		sheet->number = AR_OPT_INT(++s->counters.task);
}

static void begin_sheet_run(struct ar_session *s, const struct ar_event *e, struct ar_task *task,
			    struct ar_run *run)
{
	const struct ar_ev_task_attempt_started *p = KEPT(s, e, task_attempt_started);

	run->turn = ar_apply_keep(s, e->ids[AR_SCOPE_TURN]);
	run->worker = p->worker;
	run->inputs = p->input_refs;
	run->policy = p->retry_policy;
	task->updated = e->time;
	task->sheet->start = NULL;
	task->sheet->retry_at = 0;
	task->sheet->alive = e->time;
	task->sheet->checks = (struct ar_shape_criterion_list){ 0 };
	if (task->sheet->deliver_to) /* each run has a result of its own */
		task->sheet->delivery = NULL;
}

static void end_sheet_run(struct ar_session *s, const struct ar_event *e, struct ar_task *task,
			  struct ar_run *run)
{
	const struct ar_ev_task_attempt_failed *p;

	task->updated = e->time;
	if (e->type == AR_EV_TASK_ATTEMPT_COMPLETED) {
		run->outputs = KEPT(s, e, task_attempt_completed)->output_refs;
		run->summary = ar_apply_keep(s, PAYLOAD(e, task_attempt_completed)->completion_summary);
		return;
	}
	p = KEPT(s, e, task_attempt_failed);
	run->error = p->last_error;
	task->sheet->error = run->error;
	if (ar_str_is(p->next_attempt_policy, AR_RETRY_AUTOMATIC))
		task->sheet->retry_at =
			e->time + ar_task_limit(ar_task_retry_policy(task)->backoff_ms) * 1000;
}

/* ---- sheets: status ---- */

static void replace_text(struct ar_str *place, struct ar_str said)
{
	if (!ar_str_absent(said))
		*place = said;
}

static void completed(struct ar_session *s, const struct ar_event *e, struct ar_sheet *sheet)
{
	const struct ar_ev_task_completed *p = KEPT(s, e, task_completed);

	sheet->accepted = p->acceptance;
	sheet->artifacts = p->artifacts;
	sheet->evidence = p->evidence_refs;
	sheet->delivery = p->delivery_state;
	replace_text(&sheet->summary, p->completion_summary);
}

static void failed(struct ar_session *s, const struct ar_event *e, struct ar_sheet *sheet)
{
	const struct ar_ev_task_failed *p = KEPT(s, e, task_failed);

	sheet->error = p->last_error;
	sheet->artifacts = p->artifacts;
	sheet->evidence = p->evidence_refs;
}

/* One that is tried again has not failed after all, and its last error stays with the attempt
 * that made it. */
static void retried(struct ar_session *s, struct ar_task *task)
{
	s->tasks.failed -= task->status == AR_TASK_FAILED;
	s->tasks.timed_out.v -= task->status == AR_TASK_TIMED_OUT && s->tasks.timed_out.v > 0;
	s->tasks.lost -= task->status == AR_TASK_LOST;
	task->ended = 0;
	task->error_category = AR_STR_NONE;
	task->sheet->error = NULL;
}

static struct ar_str reason_of(const struct ar_event *e)
{
	switch (e->type) {
	case AR_EV_TASK_WAITING:
		return PAYLOAD(e, task_waiting)->status_reason;
	case AR_EV_TASK_BLOCKED:
		return PAYLOAD(e, task_blocked)->status_reason;
	case AR_EV_TASK_PAUSED:
		return PAYLOAD(e, task_paused)->reason;
	case AR_EV_TASK_RESUMED:
		return PAYLOAD(e, task_resumed)->reason;
	case AR_EV_TASK_RETRYING:
		return PAYLOAD(e, task_retrying)->retry_reason;
	case AR_EV_TASK_CANCEL_REQUESTED:
		return PAYLOAD(e, task_cancel_requested)->reason;
	case AR_EV_TASK_CANCELLED:
		return PAYLOAD(e, task_cancelled)->reason;
	default:
		return AR_STR_NONE;
	}
}

static void queued(struct ar_session *s, const struct ar_event *e, struct ar_sheet *sheet)
{
	const struct ar_ev_task_queued *p = KEPT(s, e, task_queued);

	sheet->start = p->start;
	if (p->submitted_by.at)
		sheet->people = p->submitted_by;
}

/* Any fact that moves the status of the task, before it does. */
static void move_sheet(struct ar_session *s, const struct ar_event *e, struct ar_task *task)
{
	struct ar_sheet *sheet = task->sheet;

	sheet->reason = ar_apply_keep(s, reason_of(e));
	if (e->type == AR_EV_TASK_ACCEPTED && !sheet->owner)
		sheet->owner = KEPT(s, e, task_accepted)->owner;
	if (e->type == AR_EV_TASK_QUEUED)
		queued(s, e, sheet);
	if (e->type == AR_EV_TASK_COMPLETED)
		completed(s, e, sheet);
	if (e->type == AR_EV_TASK_FAILED)
		failed(s, e, sheet);
	if (e->type == AR_EV_TASK_RETRYING)
		retried(s, task);
	if (e->type == AR_EV_TASK_CANCEL_REQUESTED || e->type == AR_EV_TASK_PAUSED || task->ended)
		sheet->start = NULL;
	if (e->type == AR_EV_TASK_CANCEL_REQUESTED || task->ended)
		sheet->retry_at = 0;
}

/* The oldest ended tasks leave when there are too many, archived ones first: they are read from the store.
 * What this decision is about stays, since its row is still to be written, and so does what keeps an open
 * task from running, which nothing else would. */
static void keep_window(struct ar_session *s)
{
	size_t ended = 0;

	for (size_t i = s->declared.count; i > 0; i--) {
		struct ar_task *task = s->declared.at[i - 1];

		if (!ar_task_is_over(task) || ++ended <= AR_WINDOW_TASKS || task->updated >= s->updated ||
		    ar_task_holds_another(task) ||
		    ar_delivery_is_open(&(struct ar_deliverable){ .task = task }))
			continue;
		ar_vec_remove(&s->declared, i - 1);
		ar_blocks_drop_task(s, task);
	}
}

/* ---- facts of all tasks ---- */

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
	begin_sheet(s, e, task);
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
		turn->waits_worker = turn->lost_worker = (struct ar_opt_bool){ 0 };
	} else {
		begin_sheet_run(s, e, task, run);
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
		end_sheet_run(s, e, task, run);
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
		move_sheet(s, e, task);
	return ar_apply_move(&task->status, AR_MACHINE_TASK, e, err);
}

enum ar_status ar_apply_task_moved(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_turn *turn;
	struct ar_task *task = task_of(s, e, &turn);

	if (turn && e->type == AR_EV_TASK_RESUMED)
		turn->waits_worker = (struct ar_opt_bool){ 0 };
	return task ? moved(s, e, task, err) : ar_apply_unknown(err, e, "task");
}

enum ar_status ar_apply_task_waiting(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_turn *turn;
	struct ar_task *task = task_of(s, e, &turn);

	if (task)
		task->waiting = ar_apply_word(e, "status", PAYLOAD(e, task_waiting)->status);
	if (turn) {
		bool is_for_worker = PAYLOAD(e, task_waiting)->wait_for == AR_TASK_WAITING_WAIT_FOR_WORKER;

		turn->waits_worker = (struct ar_opt_bool){ is_for_worker, is_for_worker };
	}
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
	if (turn && e->type == AR_EV_TASK_LOST && PAYLOAD(e, task_lost)->worker &&
	    ar_str_is(PAYLOAD(e, task_lost)->worker->kind, AR_WORKER_KIND))
		turn->lost_worker = AR_OPT_BOOL(true);
	rc = moved(s, e, task, err);
	if (task->sheet) {
		ar_deliveries_note(s, &(struct ar_deliverable){ .task = task });
		keep_window(s);
	}
	return rc;
}

/* ---- facts of declared tasks ---- */

enum ar_status ar_apply_task_archived(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_task *task = ar_session_declared(s, e->ids[AR_SCOPE_TASK]);

	if (!task)
		return ar_apply_unknown(err, e, "task");
	task->updated = e->time;
	return ar_apply_move(&task->status, AR_MACHINE_TASK, e, err);
}

static void change(struct ar_task *task, const struct ar_shape_task_change *c)
{
	struct ar_sheet *sheet = task->sheet;

	replace_text(&task->title, c->title);
	replace_text(&task->objective, c->objective);
	replace_text(&sheet->priority, c->priority);
	replace_text(&sheet->metadata, c->metadata);
	sheet->owner = c->owner ? c->owner : sheet->owner;
	sheet->assignee = c->assignee ? c->assignee : sheet->assignee;
	sheet->acceptance = c->acceptance.at ? c->acceptance : sheet->acceptance;
	sheet->constraints = c->constraints ? c->constraints : sheet->constraints;
	sheet->profile = c->task_profile ? c->task_profile : sheet->profile;
}

enum ar_status ar_apply_task_updated(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_task *task = ar_session_declared(s, e->ids[AR_SCOPE_TASK]);
	const struct ar_ev_task_updated *p = KEPT(s, e, task_updated);

	if (!task)
		return ar_apply_unknown(err, e, "task");
	if (p->changed)
		change(task, p->changed);
	if (p->submitted_by.at)
		task->sheet->people = p->submitted_by;
	task->updated = p->updated_at;
	return AR_OK;
}

/* The newest of each criterion stays. */
static void note_check(struct ar_session *s, struct ar_sheet *sheet, const struct ar_shape_criterion *check)
{
	size_t count = sheet->checks.count, i = 0;
	struct ar_shape_criterion *at = ar_arena_alloc(&s->arena, (count + 1) * sizeof(*at));

	for (; i < count; i++)
		at[i] = sheet->checks.at[i];
	for (i = 0; i < count && !ar_str_eq(at[i].criterion, check->criterion); i++)
		;
	at[i] = *check;
	sheet->checks = (struct ar_shape_criterion_list){ at, i < count ? count : count + 1 };
}

enum ar_status ar_apply_task_progress(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_task_progress *p = KEPT(s, e, task_progress);
	struct ar_turn *turn = NULL;
	struct ar_task *task = task_of(s, e, &turn);
	struct ar_sheet *sheet = task ? task->sheet : NULL;
	struct ar_run *run = task ? ar_task_open_run(task) : NULL;

	if (!task)
		return ar_apply_unknown(err, e, "task");
	if (p->remote_task && ar_task_run(task))
		ar_peer_keep(s, ar_task_run(task), p->remote_task);
	if (turn) /* the task of a turn has no sheet */
		return ar_apply_move(&task->status, AR_MACHINE_TASK, e, err);
	if (run) /* what an attempt has made stays its own, however it ends */
		run->outputs = ar_texts_joined(&s->arena, run->outputs, p->output_refs, AR_TASK_OUTPUTS);
	sheet->phase = ar_apply_word(e, "phase", p->phase);
	sheet->counters = ar_text_merged(s->json, &s->arena, sheet->counters, p->counters);
	sheet->outputs = ar_texts_joined(&s->arena, sheet->outputs, p->output_refs, AR_TASK_OUTPUTS);
	sheet->percent = p->percent.set ? p->percent : sheet->percent;
	sheet->delivery = p->delivery_state ? p->delivery_state : sheet->delivery;
	ar_deliveries_note(s, &(struct ar_deliverable){ .task = task });
	replace_text(&sheet->step, p->current_step);
	replace_text(&sheet->summary, p->summary);
	replace_text(&sheet->validation, p->validation_state);
	replace_text(&sheet->coverage, p->acceptance_coverage);
	if (p->checked)
		note_check(s, sheet, p->checked);
	if (p->output_offset.set) {
		sheet->offset = p->output_offset;
		sheet->offset_at = AR_OPT_INT((int64_t)e->sequence);
		sheet->offset_run = ar_apply_keep(s, e->ids[AR_SCOPE_RUN]);
	}
	task->updated = sheet->alive = e->time;
	return ar_apply_move(&task->status, AR_MACHINE_TASK, e, err);
}

/* A task that is put under another is a part of it from then on; taken away, it stands alone. */
static void move_under(struct ar_session *s, struct ar_task *from, const struct ar_shape_relationship *edge,
		       bool is_removed)
{
	struct ar_task *other = ar_session_declared(s, edge->target_id);
	bool is_child = ar_str_is(edge->kind, "child");
	struct ar_task *child = is_child ? other : from, *parent = is_child ? from : other;

	if ((!is_child && !ar_str_is(edge->kind, "parent")) || !child || !parent || !child->sheet)
		return;
	if (!is_removed && ar_str_absent(child->parent)) {
		child->parent = parent->id;
		child->root = ar_str_absent(parent->root) ? parent->id : parent->root;
	} else if (is_removed && ar_str_eq(child->parent, parent->id)) {
		child->parent = AR_STR_NONE;
		child->root = child->id;
	}
}

enum ar_status ar_apply_dependency(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_task_dependency_updated *p = PAYLOAD(e, task_dependency_updated);
	struct ar_task *task = ar_session_any_task(s, e->ids[AR_SCOPE_TASK]);
	const struct ar_shape_relationship *r = p->relationship;
	struct ar_edge *edge;

	if (!task || !r)
		return ar_apply_unknown(err, e, task ? "edge" : "task");
	edge = ar_task_edge(task, r->kind, r->target_id);
	task->updated = e->time;
	move_under(s, task, r, p->change == AR_TASK_DEPENDENCY_UPDATED_CHANGE_REMOVED);
	if (p->change == AR_TASK_DEPENDENCY_UPDATED_CHANGE_REMOVED) {
		ar_blocks_drop_edge(task, edge);
		ar_task_drop_edge(task, edge);
		return AR_OK;
	}
	if (!edge) {
		edge = ar_arena_alloc(&s->arena, sizeof(*edge));
		*edge = (struct ar_edge){ .kind = ar_apply_keep(s, r->kind),
					  .target = ar_apply_keep(s, r->target_id),
					  .created = e->time };
		ar_vec_push(&s->arena, &task->edges, edge);
		ar_blocks_add_edge(s, task, edge);
	}
	edge->status = ar_apply_keep(s, r->status);
	edge->reason = ar_apply_keep(s, r->reason);
	edge->updated = e->time;
	return AR_OK;
}
