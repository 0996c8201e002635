/* Member `diagnostics` of a thread: what needs somebody's attention now, each with the ids to look
 * further by. A finding is there as long as its cause is, and goes with it. Nothing is guessed: a
 * finding is what a fact said. Pure. */
#include "action/action.h"
#include "quotas.h"
#include "thread.h"

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
	if (!turn->is_lost || turn->lost_worker.v)
		return;
	if (ar_str_is(r->thread->reason, AR_REASON_NO_CANDIDATE))
		add_finding(r, &(struct finding){ "no_candidate", "turnId", turn->id, AR_STR_NONE,
						  turn->route ? turn->route->reason : r->thread->reason, 0 });
	else
		add_finding(r, &(struct finding){ "lost_worker", "runId", turn->run, turn->id,
						  r->thread->reason, 0 });
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
	struct ar_str word = ar_projection_quota_word(s, turn);

	if (!ar_str_absent(word))
		add_finding(r, &(struct finding){ "quota", "threadId", r->thread->id, turn->id, word, 0 });
}

static void context_gap(struct report *r)
{
	if (r->thread->omitted > 0)
		add_finding(r,
			    &(struct finding){ "context_gap", "threadId", r->thread->id, AR_STR_NONE,
					       AR_STR("older messages are no longer sent to the model"), 0 });
}

static void warnings(struct report *r)
{
	for (size_t i = 0; i < r->thread->incidents.count; i++) {
		const struct ar_incident *incident = r->thread->incidents.at[i];

		add_finding(r, &(struct finding){ "warning", "incidentId", incident->id, incident->turn,
						  incident->message, incident->at });
	}
}

/* That nothing is found of a kind says something only where it is looked for. */
static void kinds(struct ar_jw *w)
{
	static const struct {
		const char *kind;
		bool is_looked_for;
	} rows[] = {
		{ "pending_request", true }, { "interrupt_requested", true }, { "lost_worker", true },
		{ "no_candidate", true },    { "failed_turn", true },	      { "failed_tool", true },
		{ "quota", true },	     { "context_gap", true },	      { "warning", true },
		{ "stalled_turn", false },   { "stalled_task", false },	      { "failed_command", false },
	};

	ar_jw_key(w, "kinds");
	ar_jw_open(w);
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		ar_jw_mstr(w, rows[i].kind,
			   rows[i].is_looked_for ? AR_STR("available") : AR_STR("unavailable"));
	ar_jw_close(w);
}

void ar_projection_diagnostics(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	struct report r = { w, t };
	const struct ar_turn *newest = t->turns.count ? t->turns.at[t->turns.count - 1] : NULL;

	ar_jw_key(w, "diagnostics");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", AR_STR("partial"));
	kinds(w);
	ar_jw_key(w, "findings");
	ar_jw_open_array(w);
	pending_requests(&r, s);
	if (newest) {
		turn_state(&r, newest);
		missed_worker(&r, s, newest);
		failed_tools(&r, newest);
		quota(&r, s, newest);
	}
	context_gap(&r);
	warnings(&r);
	ar_jw_close_array(w);
	ar_jw_close(w);
}
