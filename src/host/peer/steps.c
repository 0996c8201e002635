/* Requests to a peer about work that is with it: the task is followed until it has ended, a peer that is away
 * is asked again until the work counts as lost, and one whose task is to end is asked to cancel it. See
 * delegate_priv.h. */
#include "a2a_client.h"
#include "peer/delegate_priv.h"
#include "peer/remote.h"
#include "task/task.h"

#define MS ((ar_usec)1000)
#define FOLLOW_MS ((int64_t)24 * 3600 * 1000) /* then it is followed anew */
#define AWAY_MS_MAX 30000
#define REASON_MAX 1024

/* ---- the end ---- */

void ar_work_end(struct ar_work *w, struct ar_tool_result result)
{
	if (w->is_ending)
		return;
	w->is_ending = true;
	result.message = ar_arena_str(&w->arena, result.message);
	w->end = result;
	w->due = NULL;
	uv_timer_stop(&w->timer);
	if (w->is_running)
		w->peer->v->cancel(w->peer, &w->run);
	if (w->is_aside)
		w->peer->v->cancel(w->peer, &w->aside);
	ar_work_finish(w);
}

static void end_without_outcome(struct ar_work *w, const char *category, struct ar_str why)
{
	ar_work_end(w,
		    (struct ar_tool_result){ .outcome = AR_TOOL_ERROR,
					     .category = ar_str_from(category),
					     .message = why,
					     .advice = AR_STR("look at the peer before the work is handed on "
							      "again: it may have been done") });
}

static struct ar_peer_note *note_reason(struct ar_work *w, int event, struct ar_str why)
{
	struct ar_peer_note *n = ar_work_note(w, event);

	n->reason = ar_arena_str(&n->arena, ar_str_utf8_prefix(why, REASON_MAX));
	return n;
}

void ar_work_end_missing(struct ar_work *w, struct ar_str why)
{
	note_reason(w, AR_REPORT_PEER_TASK_EVENT_MISSING, why);
	end_without_outcome(w, AR_CATEGORY_PEER_LOST, why);
}

void ar_work_end_unclear(struct ar_work *w, struct ar_str why)
{
	struct ar_clock *clock = ar_clock_system();
	struct ar_peer_note *n = note_reason(w, AR_REPORT_PEER_TASK_EVENT_UNCLEAR, why);

	if (w->away_since)
		n->since = clock->wall(clock) - (ar_work_now() - w->away_since);
	end_without_outcome(w, AR_CATEGORY_END_UNKNOWN, why);
}

/* The peer was asked, and the answer is final. */
void ar_work_end_refused(struct ar_work *w, enum ar_tool_outcome outcome, const struct ar_peer_result *r)
{
	if (outcome == AR_TOOL_NOT_RUN)
		note_reason(w, AR_REPORT_PEER_TASK_EVENT_MISSING, r->reason);
	ar_work_end(w, (struct ar_tool_result){
			       .outcome = outcome,
			       .category = ar_str_from(ar_a2a_error_word(r->error)),
			       .message = ar_str_absent(r->reason) ? AR_STR("the peer gave no reason")
								   : r->reason,
			       .advice = AR_STR("look at the peer and its entry in the settings") });
}

/* Also of one that has ended: what the peer left is of the other work. */
void ar_work_end_confused(struct ar_work *w)
{
	const struct ar_tool_result result = { .outcome = AR_TOOL_ERROR,
					       .category = ar_str_from(ar_a2a_error_word(AR_PEER_PROTOCOL)),
					       .message = AR_STR(
						       "the peer named a task that is another piece of work"),
					       .advice = AR_STR("look at the peer") };

	if (w->is_ending && w->end.outcome == AR_TOOL_OK)
		w->end = result;
	else
		ar_work_end(w, result);
}

void ar_work_end_by_state(struct ar_work *w)
{
	static const char *const categories[] = {
		[AR_PEER_STATE_FAILED] = AR_CATEGORY_PEER_FAILED,
		[AR_PEER_STATE_CANCELED] = AR_CATEGORY_PEER_CANCELLED,
		[AR_PEER_STATE_REJECTED] = AR_CATEGORY_PEER_REJECTED,
	};

	if (w->state == AR_PEER_STATE_COMPLETED || w->state == AR_PEER_STATE_NONE) {
		ar_work_end(w, (struct ar_tool_result){ .outcome = AR_TOOL_OK });
		return;
	}
	ar_work_end(w, (struct ar_tool_result){ .outcome = AR_TOOL_ERROR,
						.category = ar_str_from(categories[w->state]),
						.message = ar_str_empty(w->prompt)
								   ? AR_STR("the peer gave no reason")
								   : w->prompt,
						.advice = AR_STR("look at the peer's task"),
						.retryable = w->state == AR_PEER_STATE_FAILED });
}

/* ---- asking ---- */

static void on_run_done(struct ar_peer_run *run, const struct ar_peer_result *r)
{
	struct ar_work *w = AR_CONTAINER_OF(run, struct ar_work, run);

	w->is_running = false;
	if (!w->call)
		ar_work_let_go(w);
	else if (w->is_ending)
		ar_work_finish(w);
	else if (w->is_cancelled && run->op != AR_PEER_SEND)
		ar_work_stop(w);
	else
		w->on_run(w, r);
}

static void on_update(struct ar_peer_run *run, const struct ar_peer_update *u);

static enum ar_peer_way way_of(const struct ar_work *w)
{
	if (w->mechanism == AR_DELIVERY_MECHANISM_PUSH_NOTIFICATION)
		return AR_PEER_BY_PUSH;
	return w->mechanism == AR_DELIVERY_MECHANISM_POLLING ? AR_PEER_BY_ASKING : AR_PEER_BY_STREAM;
}

void ar_work_ask(struct ar_work *w, enum ar_peer_op op, ar_work_done_fn *then)
{
	bool is_follow = op == AR_PEER_FOLLOW;

	w->run = (struct ar_peer_run){ .op = op,
				       .task_id = is_follow ? w->remote_task : AR_STR_NONE,
				       .context_id = is_follow ? AR_STR_NONE : w->context,
				       .message_id = w->message_id,
				       .text = w->message,
				       .push_url = w->push_url,
				       .push_token = w->push_token,
				       .way = way_of(w),
				       .trace_parent = w->call->trace_parent,
				       .deadline = ar_work_now() +
						   MS * (is_follow ? FOLLOW_MS : 2 * w->setting->timeout_ms),
				       .on_update = is_follow ? on_update : NULL,
				       .on_done = on_run_done };
	w->due = NULL;
	uv_timer_stop(&w->timer);
	w->is_running = true;
	w->on_run = then;
	w->peer->v->start(w->peer, &w->run);
}

static void on_timer(uv_timer_t *timer)
{
	struct ar_work *w = timer->data;
	ar_work_step_fn *due = w->due;

	w->due = NULL;
	if (due)
		due(w);
}

void ar_work_wait(struct ar_work *w, int64_t ms, ar_work_step_fn *then)
{
	if (w->is_ending || w->is_cancelled)
		return;
	w->due = then;
	uv_timer_start(&w->timer, on_timer, (uint64_t)ms, 0);
}

/* ---- a peer that is not there ---- */

/* What stands before a peer, or the peer while it starts, says that it cannot answer now. */
static bool is_busy(const struct ar_peer_result *r)
{
	return r->error == AR_PEER_REFUSED && r->code == 0 &&
	       (r->http == 429 || r->http == 502 || r->http == 503 || r->http == 504);
}

/* A credential that is refused may be renewed, and a network comes back: the work is not lost for that. */
bool ar_work_is_away(const struct ar_peer_result *r)
{
	return r->error == AR_PEER_UNREACHABLE || r->error == AR_PEER_TIMEOUT || r->error == AR_PEER_AUTH ||
	       is_busy(r);
}

static void note_unreachable(struct ar_work *w, struct ar_str reason)
{
	struct ar_peer_note *n = note_reason(w, AR_REPORT_PEER_TASK_EVENT_UNREACHABLE, reason);
	struct ar_clock *clock = ar_clock_system();

	n->since = clock->wall(clock);
	ar_work_report(w);
}

void ar_work_try_again(struct ar_work *w, const struct ar_peer_result *r, ar_work_step_fn *then)
{
	ar_usec now = ar_work_now(), left;
	int64_t ms = w->setting->poll_ms;

	if (!w->away_since) {
		w->away_since = now;
		w->tries = 0;
		note_unreachable(w, r->reason);
	}
	left = (w->away_since + MS * w->setting->lost_ms - now) / MS;
	if (left <= 0) {
		end_without_outcome(w, AR_CATEGORY_PEER_LOST, r->reason);
		return;
	}
	for (unsigned i = 0; i < w->tries && ms < AWAY_MS_MAX; i++)
		ms *= 2;
	w->tries++;
	ms = ms < AWAY_MS_MAX ? ms : AWAY_MS_MAX;
	ms = ms < r->retry_after_ms ? r->retry_after_ms : ms;
	ar_work_wait(w, ms < left ? ms : left, then);
}

/* ---- following ---- */

static void on_update(struct ar_peer_run *run, const struct ar_peer_update *u)
{
	struct ar_work *w = AR_CONTAINER_OF(run, struct ar_work, run);

	if (!w->call || w->is_ending || w->is_cancelled || !ar_work_update(w, u))
		return;
	ar_work_report(w);
	if (!w->is_ending && w->state == AR_PEER_STATE_AUTH_REQUIRED && u->state == w->state &&
	    !ar_work_is_answered(w))
		ar_work_want_answer(w);
}

static void follow_done(struct ar_work *w, const struct ar_peer_result *r)
{
	if (r->error == AR_PEER_OK)
		ar_work_go_on(w);
	else if (r->error == AR_PEER_NOT_FOUND)
		ar_work_end_missing(w, r->reason);
	else if (ar_work_is_away(r))
		ar_work_try_again(w, r, ar_work_follow);
	else
		ar_work_end_refused(w, AR_TOOL_ERROR, r);
}

void ar_work_follow(struct ar_work *w)
{
	ar_work_ask(w, AR_PEER_FOLLOW, follow_done);
}

/* Others may answer it, too: the task is looked at meanwhile. */
static void wait_for_answer(struct ar_work *w)
{
	if (w->is_asked || !ar_work_is_answered(w))
		ar_work_want_answer(w);
	ar_work_wait(w, w->setting->poll_ms, ar_work_follow);
}

void ar_work_go_on(struct ar_work *w)
{
	ar_work_report(w);
	if (w->is_ending)
		return; /* what it said was refused */
	if (ar_peer_state_is_end(w->state) || ar_str_absent(w->remote_task))
		ar_work_end_by_state(w);
	else if (w->state != AR_PEER_STATE_INPUT_REQUIRED)
		ar_work_follow(w);
	else
		wait_for_answer(w);
}

/* ---- cancelling ---- */

static struct ar_str stopped(const struct ar_work *w)
{
	if (w->is_cancel_sent)
		return AR_STR("stopped; the peer was asked to end its task");
	if (w->is_unclear)
		return AR_STR("stopped; the peer may have the message, and was not asked to end its task");
	return AR_STR("stopped");
}

/* The peer is asked to end its task, and waited for a little. */
void ar_work_stop(struct ar_work *w)
{
	bool is_left = w->call->is_released || ar_peer_state_is_end(w->state);

	if (w->is_running) {
		if (w->run.op != AR_PEER_SEND || is_left) /* its answer has the task that is to end */
			w->peer->v->cancel(w->peer, &w->run);
		return;
	}
	if (w->is_aside) {
		if (w->aside.op != AR_PEER_CANCEL || is_left)
			w->peer->v->cancel(w->peer, &w->aside);
		return;
	}
	if (!is_left && !w->is_cancel_sent && !ar_str_absent(w->remote_task)) {
		w->is_cancel_sent = true;
		ar_work_ask_beside(w, AR_PEER_CANCEL, AR_STR_NONE);
		return;
	}
	ar_work_end(w, (struct ar_tool_result){ .outcome = AR_TOOL_CANCELLED, .message = stopped(w) });
}

void ar_work_cancel(struct ar_work *w)
{
	if (w->is_ending || w->is_cancelled)
		return;
	w->is_cancelled = true;
	w->due = NULL;
	uv_timer_stop(&w->timer);
	ar_work_stop(w);
}
