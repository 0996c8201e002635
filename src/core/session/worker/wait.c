/* A session whose workspace a worker has: calls begin while the worker is connected, and wait while it is
 * not. How the session found its worker is a fact, written when something of the session depends on it; the
 * live state comes with every input. Waiting has no deadline of its own: those of the turn count. Pure. */
#include "worker/worker.h"
#include "action/action.h"
#include "tool/calls.h"

static const struct ar_ids none;

static bool has_worker(const struct ar_session *s)
{
	return !ar_str_absent(ar_session_worker(s));
}

bool ar_worker_is_ready(const struct ar_decision *d)
{
	const struct ar_worker_status *w = &d->input->worker;

	return !has_worker(d->session) || (w->state == AR_WORKER_CONNECTED && !w->is_draining);
}

/* What is confined, or is a process, is done in the folder. */
bool ar_worker_has_calls(const struct ar_session *s, const struct ar_turn *turn)
{
	for (size_t i = 0; has_worker(s) && i < turn->calls.count; i++) {
		const struct ar_invocation *call = ar_call_at(turn, i);

		if (call->stage == AR_CALL_RUNNING && !call->is_client &&
		    (call->profile.set || call->runs_process.v))
			return true;
	}
	return false;
}

/* ---- what the session sees ---- */

static int state_of(const struct ar_worker_status *w)
{
	static const int states[] = { [0] = AR_WORKER_REACH_AWAY,
				      [AR_WORKER_AWAY] = AR_WORKER_REACH_AWAY,
				      [AR_WORKER_CONNECTED] = AR_WORKER_REACH_CONNECTED,
				      [AR_WORKER_STALE] = AR_WORKER_REACH_STALE,
				      [AR_WORKER_LOST] = AR_WORKER_REACH_LOST };

	return states[w->state];
}

/* One that was never missed is no fact. */
bool ar_worker_observe(struct ar_decision *d)
{
	const struct ar_worker_status *w = &d->input->worker;
	const struct ar_shape_worker_observed *known = d->session->worker;
	const struct ar_shape_worker_observed now = { .worker_id = ar_session_worker(d->session),
						      .state = state_of(w),
						      .draining = w->is_draining,
						      .last_seen_at = w->last_seen };

	if (known ? known->state == now.state && known->draining == now.draining : ar_worker_is_ready(d))
		return false;
	ar_decide_emit(d, AR_EV_WORKER_CHANGED, &none, &(struct ar_ev_worker_changed){ .worker = &now });
	return true;
}

/* ---- waiting ---- */

static struct ar_str why_it_waits(struct ar_decision *d)
{
	struct ar_str id = ar_session_worker(d->session);

	if (ar_session_is_in_pool(d->session))
		return ar_arena_fmt(d->arena,
				    "no worker of pool %.*s is connected and takes calls; start one, or "
				    "interrupt_turn ends the turn",
				    AR_STR_ARG(id));
	if (d->input->worker.state == AR_WORKER_CONNECTED)
		return ar_arena_fmt(d->arena,
				    "worker %.*s is drained and begins no calls; update_worker with draining "
				    "false ends the wait, interrupt_turn ends the turn",
				    AR_STR_ARG(id));
	return ar_arena_fmt(d->arena,
			    "worker %.*s, which has the workspace, is not connected; start it again, or "
			    "interrupt_turn ends the turn",
			    AR_STR_ARG(id));
}

/* A question to a person goes before: its answer brings the turn back here. */
static void wait(struct ar_decision *d, struct ar_turn *turn)
{
	bool is_new = ar_worker_observe(d);

	if (ar_turn_is_waiting(d->session, turn) || (turn->waits_worker.v && !is_new))
		return;
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_BLOCKED, AR_REASON_WORKER_WAIT,
			 "waiting_resource", turn);
	ar_turn_emit(d, turn, AR_EV_TASK_WAITING,
		     &(struct ar_ev_task_waiting){ .wait_for = AR_TASK_WAITING_WAIT_FOR_WORKER,
						   .status = AR_TASK_WAITING_STATUS_WAITING_RESOURCE,
						   .status_reason = why_it_waits(d) });
}

static void end_wait(struct ar_decision *d, struct ar_turn *turn)
{
	ar_worker_observe(d);
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_RUNNING, AR_REASON_WORKER_BACK,
			 "preparing", turn);
	ar_turn_emit(d, turn, AR_EV_TASK_RESUMED,
		     &(struct ar_ev_task_resumed){ .reason = AR_STR("the worker is connected"),
						   .from_status = AR_STR("waiting_resource") });
}

enum ar_hold ar_worker_before_call(struct ar_decision *d, struct ar_turn *turn, const struct ar_tool *tool)
{
	if (!has_worker(d->session) || !tool->works_in_folder)
		return AR_GO_ON;
	if (!ar_worker_is_ready(d)) {
		wait(d, turn);
		return AR_HELD;
	}
	ar_worker_observe(d); /* it may have come back while nothing waited for it */
	if (turn->waits_worker.v)
		end_wait(d, turn);
	return AR_GO_ON;
}

/* ---- calls that run ---- */

static bool is_shown_stale(const struct ar_decision *d, const struct ar_turn *turn)
{
	return ar_str_is(ar_decide_thread(d, turn)->reason, AR_REASON_WORKER_STALE);
}

static void show_calls(struct ar_decision *d, struct ar_turn *turn)
{
	const struct ar_thread *t = ar_decide_thread(d, turn);

	ar_worker_observe(d);
	if (d->input->worker.state == AR_WORKER_STALE && !is_shown_stale(d, turn))
		ar_decide_status(d, t, AR_THREAD_STATUS_STALE, AR_REASON_WORKER_STALE, "stale", turn);
	else if (d->input->worker.state == AR_WORKER_CONNECTED && is_shown_stale(d, turn))
		ar_decide_status(d, t, AR_THREAD_STATUS_RUNNING, AR_REASON_WORKER_BACK, "preparing", turn);
}

void ar_worker_look(struct ar_decision *d, struct ar_turn *turn)
{
	if (turn->is_interrupted)
		return;
	if (turn->is_lost) {
		if (turn->lost_worker.v && ar_worker_is_ready(d))
			ar_worker_back(d, turn);
		return;
	}
	if (ar_worker_has_calls(d->session, turn) && ar_worker_lose(d, turn))
		return;
	if (ar_worker_has_calls(d->session, turn) && !ar_turn_is_waiting(d->session, turn))
		show_calls(d, turn);
	if (turn->waits_worker.v && !ar_worker_is_ready(d)) {
		wait(d, turn);
	} else if (turn->waits_worker.v) {
		end_wait(d, turn);
		ar_decide_advance(d, turn);
	}
}

enum ar_status ar_decide_worker_changed(struct ar_decision *d, struct ar_error *err)
{
	(void)err;
	if (!has_worker(d->session))
		return AR_OK;
	for (size_t i = 0; i < d->session->threads.count; i++) {
		struct ar_turn *turn = ar_thread_active(d->session->threads.at[i]);

		if (turn)
			ar_worker_look(d, turn);
	}
	return AR_OK;
}
