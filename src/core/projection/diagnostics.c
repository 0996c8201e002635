/* Member `diagnostics` of a thread: what needs somebody's attention now, each with the ids to look
 * further by. A finding is there as long as its cause is, and goes with it. Nothing is guessed: a
 * finding is what a fact said. Pure. */
#include "action/action.h"
#include "quotas.h"
#include "task/blocks.h"
#include "thread.h"

#define STALLED_TASKS 20 /* that are listed */

struct report {
	struct ar_jw *w;
	const struct ar_thread *thread;
};

struct finding {
	const char *kind;
	const char *id_name; /* of what it is about */
	struct ar_str id, turn, message;
	ar_usec since;
};

static void add_finding(struct report *r, const struct finding *f)
{
	ar_jw_open(r->w);
	ar_jw_mstr(r->w, "kind", ar_str_from(f->kind));
	ar_jw_mstr(r->w, f->id_name, f->id);
	if (!ar_str_absent(f->turn))
		ar_jw_mstr(r->w, "turnId", f->turn);
	ar_jw_mstr(r->w, "message", f->message);
	if (f->since)
		ar_jw_mtime(r->w, "since", f->since);
	ar_jw_close(r->w);
}

static void pending_requests(struct report *r, const struct ar_session *s)
{
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (a->status == AR_ACTION_PENDING && ar_str_eq(a->thread, r->thread->id))
			add_finding(r, &(struct finding){ "pending_request", "actionId", a->id, a->turn,
							  a->prompt, a->created });
	}
}

static bool is_failure(const struct ar_invocation *call)
{
	return ar_str_is(call->status, "failed") || ar_str_is(call->status, "timed_out");
}

/* Of the newest turn alone: what an earlier one could not do is history. */
static void failed_tools(struct report *r, const struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->calls.count; i++) {
		const struct ar_invocation *call = turn->calls.at[i];

		if (call->stage == AR_CALL_UNKNOWN || is_failure(call))
			add_finding(r, &(struct finding){ "failed_tool", "toolCallId", call->id, turn->id,
							  call->category, call->ended });
	}
}

/* A worker that is drained is not lost. */
static void missed_worker(struct report *r, const struct ar_session *s, const struct ar_turn *turn)
{
	bool is_reached = !s->worker || s->worker->state == AR_WORKER_REACH_CONNECTED;

	if (is_reached ||
	    !(turn->waits_worker.v || turn->lost_worker.v || (turn->task && turn->task->stale.v)))
		return;
	add_finding(r, &(struct finding){ "lost_worker", "workerId", s->worker->worker_id, turn->id,
					  r->thread->reason, s->worker->last_seen_at });
}

/* It goes on with resume_thread. Only a worker that was lost is called so. */
static void stands_still(struct report *r, const struct ar_turn *turn)
{
	struct ar_str reason = r->thread->reason;

	if (!turn->is_lost)
		return;
	if (ar_str_is(reason, AR_REASON_NO_CANDIDATE)) {
		add_finding(r, &(struct finding){ "no_candidate", "turnId", turn->id, AR_STR_NONE,
						  turn->route ? turn->route->reason : reason, 0 });
		return;
	}
	add_finding(r, &(struct finding){ "stalled_turn", "turnId", turn->id, AR_STR_NONE, reason,
					  r->thread->updated });
	if (!turn->lost_worker.v)
		add_finding(r, &(struct finding){ "lost_worker", "runId", turn->run, turn->id, reason, 0 });
}

static void turn_state(struct report *r, const struct ar_turn *turn)
{
	if (turn->is_interrupted && ar_str_absent(turn->outcome))
		add_finding(r, &(struct finding){ "interrupt_requested", "turnId", turn->id, AR_STR_NONE,
						  turn->interrupt_reason, 0 });
	stands_still(r, turn);
	if (ar_str_is(turn->outcome, "failed") || ar_str_is(turn->outcome, "timed_out"))
		add_finding(r, &(struct finding){ "failed_turn", "turnId", turn->id, AR_STR_NONE,
						  turn->error_message, turn->ended });
}

static void quota(struct report *r, const struct ar_session *s, const struct ar_turn *turn)
{
	bool is_open = ar_str_absent(turn->outcome); /* what an ended one used up holds nothing up */
	struct ar_str word = ar_projection_quota_word(s, is_open ? turn : NULL);

	if (!ar_str_absent(word))
		add_finding(r, &(struct finding){ "quota", "threadId", r->thread->id, turn->id, word, 0 });
}

/* What a command of the newest turn came to. */
static void failed_commands(struct report *r, const struct ar_session *s, const struct ar_turn *turn)
{
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];
		bool has_exit = p->status == AR_PROCESS_COMPLETED && p->exit_code.set && p->exit_code.v != 0;

		if (!ar_str_eq(p->turn, turn->id))
			continue;
		if (has_exit || p->status == AR_PROCESS_FAILED || p->status == AR_PROCESS_UNAVAILABLE)
			add_finding(r, &(struct finding){ "failed_command", "processId", p->id, turn->id,
							  p->command, p->ended });
	}
}

static bool has_failed_blocker(const struct ar_task *task)
{
	struct ar_str held, blocker;

	for (size_t i = 0; i < task->held_by.count; i++) {
		const struct ar_block *b = ar_block_at(&task->held_by, i);

		if (ar_block_ends(b->from, b->edge, &held, &blocker) &&
		    ar_str_is(b->edge->status, AR_EDGE_FAILED))
			return true;
	}
	return false;
}

/* Tasks of the thread that no work under way will move: lost, silent, or behind one that failed. */
static void stalled_tasks(struct report *r, const struct ar_session *s)
{
	size_t shown = 0;

	for (size_t i = s->declared.count; i > 0 && shown < STALLED_TASKS; i--) {
		const struct ar_task *task = s->declared.at[i - 1];

		if (!ar_str_eq(task->sheet->thread, r->thread->id) || ar_task_is_over(task))
			continue;
		if (task->status != AR_TASK_LOST && !task->stale.v && !has_failed_blocker(task))
			continue;
		add_finding(r, &(struct finding){ "stalled_task", "taskId", task->id, task->sheet->turn,
						  task->sheet->reason, task->updated });
		shown++;
	}
}

/* That a summary stands for something is no gap, and a file that nobody wrote is none either. */
static bool is_gap(const struct ar_shape_omission *o)
{
	return !ar_str_starts(o->reason, AR_STR("compacted")) &&
	       !ar_str_starts(o->reason, AR_STR("not_found"));
}

/* What the newest request could not carry. */
static void context_gap(struct report *r)
{
	const struct ar_shape_context_selection *newest = r->thread->selected;

	for (size_t i = 0; newest && i < newest->omissions.count; i++) {
		const struct ar_shape_omission *o = &newest->omissions.at[i];

		if (is_gap(o))
			add_finding(r, &(struct finding){ "context_gap", "ref", o->ref, newest->turn_id,
							  o->reason, 0 });
	}
	if (!newest && r->thread->omitted > 0)
		add_finding(r,
			    &(struct finding){ "context_gap", "threadId", r->thread->id, AR_STR_NONE,
					       AR_STR("older messages are no longer sent to the model"), 0 });
}

/* Of the newest turn, as failed tools are; `incidents` of the thread has those before. */
static void warnings(struct report *r, const struct ar_turn *newest)
{
	for (size_t i = 0; i < r->thread->incidents.count; i++) {
		const struct ar_incident *incident = r->thread->incidents.at[i];

		if (newest && incident->at < newest->submitted)
			continue;
		add_finding(r, &(struct finding){ "warning", "incidentId", incident->id, incident->turn,
						  incident->message, incident->at });
	}
}

/* That nothing is found of a kind says something only where it is looked for. */
static void kinds(struct ar_jw *w)
{
	static const char *const rows[] = {
		"pending_request", "interrupt_requested", "lost_worker",  "no_candidate",
		"failed_turn",	   "failed_tool",	  "quota",	  "context_gap",
		"warning",	   "stalled_turn",	  "stalled_task", "failed_command",
	};

	ar_jw_key(w, "kinds");
	ar_jw_open(w);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		ar_jw_mstr(w, rows[i], AR_STR("available"));
	ar_jw_close(w);
}

void ar_projection_diagnostics(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	struct report r = { w, t };
	const struct ar_turn *newest = t->turns.count ? t->turns.at[t->turns.count - 1] : NULL;

	ar_jw_key(w, "diagnostics");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", AR_STR("available"));
	kinds(w);
	ar_jw_key(w, "findings");
	ar_jw_open_array(w);
	pending_requests(&r, s);
	if (newest) {
		turn_state(&r, newest);
		missed_worker(&r, s, newest);
		failed_tools(&r, newest);
		failed_commands(&r, s, newest);
		quota(&r, s, newest);
	}
	stalled_tasks(&r, s);
	context_gap(&r);
	warnings(&r, newest);
	ar_jw_close_array(w);
	ar_jw_close(w);
}
