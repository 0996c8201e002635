/* What facts have to show before a task is completed: artifacts and evidence that its criteria name, the end
 * of the commands that it began, and the delivery of its result. No caller can replace them, and a task
 * that lacks only these is completed automatically when the last of them is there. Pure. */
#include "artifact/artifact.h"
#include "delivery/delivery.h"
#include "describe.h"
#include "evidence/evidence.h"
#include "peer/remote.h"
#include "process/record.h"
#include "task/task.h"

#define SHOWN_MAX 256 /* bytes of a target that are quoted */

/* ---- criteria ---- */

bool ar_criterion_is_shown(const struct ar_shape_criterion *c)
{
	return !ar_str_absent(c->artifact) || c->evidence != 0;
}

/* Whether a fact that names this task, or this turn, is about `task`: itself, or a turn that works for it. */
static bool is_about(const struct ar_session *s, const struct ar_task *task, struct ar_str named,
		     struct ar_str turn_id)
{
	struct ar_thread *t;
	const struct ar_turn *turn;

	if (ar_str_absent(named) && ar_str_absent(turn_id))
		return false;
	if (ar_str_eq(named, task->id))
		return true;
	turn = ar_str_absent(turn_id) ? ar_session_task(s, named) : ar_session_turn(s, turn_id, &t);
	return turn && turn->task && ar_str_eq(turn->task->parent, task->id);
}

/* The id of the artifact; absent: no fact shows that the task left it. */
static struct ar_str artifact_of(const struct ar_session *s, const struct ar_task *task, struct ar_str wanted)
{
	for (size_t i = s->artifacts.count; i > 0; i--) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->artifacts, i - 1);

		if ((ar_str_eq(r->path, wanted) || ar_str_eq(r->artifact_id, wanted)) &&
		    r->change != AR_ARTIFACT_RECORD_CHANGE_CONSUMED &&
		    r->state != AR_ARTIFACT_RECORD_STATE_DELETED && is_about(s, task, r->task_id, r->turn_id))
			return r->artifact_id;
	}
	return AR_STR_NONE;
}

static struct ar_str evidence_of(const struct ar_session *s, const struct ar_task *task, int kind)
{
	for (size_t i = s->evidence.count; i > 0; i--) {
		const struct ar_shape_evidence_record *r = ar_evidence_at(s, i - 1);

		if (r->kind == kind && r->scope && is_about(s, task, r->scope->task_id, r->scope->turn_id))
			return r->evidence_id;
	}
	return AR_STR_NONE;
}

struct ar_str ar_required_ref(const struct ar_session *s, const struct ar_task *task,
			      const struct ar_shape_criterion *c)
{
	return ar_str_absent(c->artifact) ? evidence_of(s, task, c->evidence)
					  : artifact_of(s, task, c->artifact);
}

static const struct ar_shape_criterion *first_missing(const struct ar_session *s, const struct ar_task *task,
						      bool is_artifact)
{
	for (size_t i = 0; i < task->sheet->acceptance.count; i++) {
		const struct ar_shape_criterion *c = &task->sheet->acceptance.at[i];

		if (ar_criterion_is_shown(c) && is_artifact == !ar_str_absent(c->artifact) &&
		    ar_str_absent(ar_required_ref(s, task, c)))
			return c;
	}
	return NULL;
}

bool ar_task_lacks_artifact(struct ar_decision *d, struct ar_turn *turn)
{
	const struct ar_task *task = ar_task_executed_by(d, turn);
	const struct ar_shape_criterion *c = task ? first_missing(d->session, task, true) : NULL;

	if (!c)
		return false;
	ar_decide_fail(d, turn,
		       &(struct ar_ending){
			       .status = AR_TURN_FAILED_STATUS_FAILED,
			       .category = AR_STR(AR_CATEGORY_UNMET),
			       .message = ar_arena_fmt(d->arena,
						       "The criterion '%.*s' is not met: no fact shows that "
						       "the artifact '%.*s' was made",
						       AR_STR_ARG(ar_criterion_name(c)),
						       AR_STR_ARG(c->artifact)),
			       .advice = AR_STR("retry the task, or change its criteria with update_task"),
			       .output_ref = turn->output_ref,
			       .retryable = true });
	return true;
}

/* ---- what is open ---- */

/* A command that runs, which a turn of the task started, or one that worked for it. */
const struct ar_process_record *ar_task_process(const struct ar_session *s, struct ar_str task)
{
	struct ar_thread *thread;

	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];
		const struct ar_turn *turn = ar_session_turn(s, p->turn, &thread);

		if (ar_process_is_running(p) && turn && turn->task &&
		    (ar_str_eq(turn->task->id, task) || ar_str_eq(turn->task->parent, task)))
			return p;
	}
	return NULL;
}

bool ar_task_sends_result(struct ar_decision *d, const struct ar_task *task, struct ar_str summary)
{
	const struct ar_deliverable what = { .task = task };
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));
	const struct ar_shape_delivery_state *sent;

	if (!ar_delivery_to(&what) || ar_delivery_state(&what))
		return ar_delivery_is_open(&what);
	sent = ar_delivery_begin(d, &what, summary);
	if (ar_str_is(sent->state, "failed"))
		return false;
	ar_decide_emit(d, AR_EV_TASK_PROGRESS, &ids,
		       &(struct ar_ev_task_progress){ .phase = AR_TASK_PROGRESS_PHASE_DELIVERING,
						      .counters = AR_STR("{}"),
						      .summary = summary,
						      .delivery_state = sent });
	ar_delivery_set_clock(d, &what);
	return true;
}

struct ar_str ar_task_open_end(struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_process_record *p = ar_task_process(d->session, task->id);
	const struct ar_shape_criterion *c = first_missing(d->session, task, false);

	if (p)
		return ar_arena_fmt(d->arena,
				    "its command %.*s runs: the task is completed when that has ended",
				    AR_STR_ARG(p->id));
	if (!ar_str_absent(ar_peer_open_end(task)))
		return ar_peer_open_end(task);
	if (c)
		return ar_arena_fmt(d->arena, "evidence about it is missing (%s): export or record it",
				    ar_enum_name(&ar_criterion_evidence_desc, c->evidence));
	return AR_STR_NONE;
}

struct ar_str ar_task_undelivered(struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_shape_task_delivery *to = task->sheet->deliver_to;

	return ar_arena_fmt(d->arena, "its result is being delivered to the %.*s %.*s", AR_STR_ARG(to->kind),
			    AR_STR_ARG(ar_str_utf8_prefix(to->target, SHOWN_MAX)));
}

/* ---- and when it is not any more ---- */

/* A part of it did not end well: somebody has to say that the whole is complete all the same. */
static bool has_bad_part(const struct ar_session *s, const struct ar_task *task)
{
	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *part = s->declared.at[i];

		if (ar_str_eq(part->parent, task->id) && part->status != AR_TASK_COMPLETED &&
		    part->status != AR_TASK_ARCHIVED)
			return true;
	}
	return false;
}

void ar_task_look_again(struct ar_decision *d, struct ar_str id)
{
	const struct ar_task *task = ar_str_absent(id) ? NULL : ar_session_declared(d->session, id);
	const struct ar_run *run = task ? ar_task_run(task) : NULL;

	if (run && run->ended && task->status == AR_TASK_WAITING && ar_str_is(run->status, "completed") &&
	    !has_bad_part(d->session, task))
		ar_task_settle(d, task);
}

void ar_task_look_again_for(struct ar_decision *d, struct ar_str turn_id)
{
	struct ar_thread *t;
	const struct ar_turn *turn = ar_str_absent(turn_id) ? NULL : ar_session_turn(d->session, turn_id, &t);

	if (turn && turn->task)
		ar_task_look_again(d, turn->task->parent);
}

/* A run of the runtime is complete now; the worker of another one says so itself. */
void ar_task_delivered(struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_run *run = ar_task_open_run(task);

	if (task->status != AR_TASK_WAITING)
		return;
	if (!run) {
		ar_task_look_again(d, task->id);
		return;
	}
	ar_task_emit(d, task, AR_EV_TASK_RESUMED,
		     &(struct ar_ev_task_resumed){ .reason = AR_STR("the delivery of its result has ended"),
						   .from_status = AR_STR("waiting_resource") });
	ar_task_set_clock(d, task, run);
}
