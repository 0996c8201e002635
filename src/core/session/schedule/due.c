/* A time of a schedule has come, or somebody wants a run now: which times passed, which of them get a run,
 * and what the others are called. Pure. */
#include "output/outputs.h"
#include "schedule/schedule.h"

#include <string.h>

#define COUNTED_MAX 20000 /* times that one decision looks at; more are the next one's */
#define MILLISECOND 1000 /* microseconds */

static const struct ar_ids none;

ar_usec ar_schedule_jitter(const struct ar_session *s, ar_usec due)
{
	const struct ar_shape_schedule_record *record = s->own_schedule;
	char text[AR_SESSION_KEY_LEN + sizeof(due)];
	struct ar_hash h;
	uint64_t drawn;

	if (record->jitter_ms.v <= 0)
		return 0;
	memcpy(text, s->session_key.p, AR_SESSION_KEY_LEN);
	memcpy(text + AR_SESSION_KEY_LEN, &due, sizeof(due));
	h = ar_hash_of((struct ar_str){ text, sizeof(text) });
	memcpy(&drawn, h.b, sizeof(drawn));
	return (ar_usec)(drawn % (uint64_t)(record->jitter_ms.v * MILLISECOND));
}

ar_usec ar_session_due(const struct ar_session *s)
{
	const struct ar_shape_schedule_record *record = s->own_schedule;

	if (!record)
		return ar_outputs_due(s);
	if (!record->next_at)
		return 0;
	return record->next_at + ar_schedule_jitter(s, record->next_at);
}

/* ---- facts ---- */

static struct ar_shape_schedule_run new_run(struct ar_decision *d, int trigger, ar_usec due)
{
	const struct ar_shape_schedule_run_list runs = d->session->schedule_runs;
	int64_t number = 1 + (runs.count > 0 ? runs.at[runs.count - 1].number : 0);
	ar_usec late = d->input->now - due - ar_schedule_jitter(d->session, due);

	return (struct ar_shape_schedule_run){
		.run_id =
			ar_id_inner(d->arena, AR_SCHEDULE_PREFIX, d->session->session_key, (uint64_t)number),
		.number = number,
		.trigger = trigger,
		.due_at = due,
		.fired_at = d->input->now,
		.late_ms = { late / MILLISECOND, late > 0 },
	};
}

/* What passed while no server ran is told to the session that it was for. */
static void miss(struct ar_decision *d, struct ar_shape_schedule_run run, int64_t count, struct ar_str reason,
		 ar_usec next)
{
	bool has_task = ar_str_is(reason, AR_MISSED_DOWN) &&
			!ar_str_absent(d->session->own_schedule->start->session_id);

	run.status = AR_SCHEDULE_RUN_STATUS_MISSED;
	run.count = AR_OPT_INT(count);
	run.reason = reason;
	run.ended_at = has_task ? 0 : d->input->now;
	ar_decide_emit(d, AR_EV_SCHEDULE_MISSED, &none,
		       &(struct ar_ev_schedule_missed){ .run = &run, .next_at = next });
	if (has_task)
		ar_schedule_send(d, &run);
}

static void fire(struct ar_decision *d, struct ar_shape_schedule_run run, ar_usec next)
{
	ar_decide_emit(d, AR_EV_SCHEDULE_FIRED, &none,
		       &(struct ar_ev_schedule_fired){ .run = &run, .next_at = next });
	if (run.status == AR_SCHEDULE_RUN_STATUS_STARTING)
		ar_schedule_send(d, &run);
}

/* Runs that are made up for wait for each other, whatever the policy says of runs in their time. */
static void run_once(struct ar_decision *d, int trigger, ar_usec due, ar_usec next, int overlap)
{
	struct ar_shape_schedule_run run = new_run(d, trigger, due);
	size_t open = ar_schedule_open(d->session);

	if (open > 0 && overlap == AR_SCHEDULE_OVERLAP_SKIP) {
		miss(d, run, 1, AR_STR(AR_MISSED_OVERLAP), next);
		return;
	}
	if (open >= AR_SCHEDULE_OPEN_MAX) {
		miss(d, run, 1, AR_STR(AR_MISSED_FULL), next);
		return;
	}
	run.status = AR_SCHEDULE_RUN_STATUS_QUEUED;
	if (open == 0 || overlap == AR_SCHEDULE_OVERLAP_CANCEL)
		ar_schedule_begin(d, &run);
	if (open > 0 && overlap == AR_SCHEDULE_OVERLAP_CANCEL)
		ar_schedule_cancel_open(d);
	fire(d, run, next);
}

/* ---- times that passed ---- */

struct passed {
	ar_usec first, last; /* from the next one on */
	int64_t count;
	ar_usec next; /* the one after them */
};

static struct passed passed_times(const struct ar_decision *d, const struct ar_cron_clock *clock)
{
	ar_usec due = d->session->own_schedule->next_at;
	/* one whose jitter may not be over has not passed yet */
	ar_usec until = d->input->now - d->session->own_schedule->jitter_ms.v * MILLISECOND;
	struct passed p = { .first = due, .last = due };

	p.count = 1 + (int64_t)ar_cron_count(clock, due, until, COUNTED_MAX, &p.last);
	p.next = ar_cron_next(clock, p.last);
	return p;
}

/* The newest `count` of them begin here. */
static ar_usec newest_from(const struct ar_cron_clock *clock, const struct passed *p, int64_t count)
{
	ar_usec at = p->first;

	if (clock->cron.every)
		return p->last - (count - 1) * clock->cron.every * 1000000;
	for (int64_t i = 0; i < p->count - count; i++)
		at = ar_cron_next(clock, at);
	return at;
}

static int catching_up(int overlap)
{
	return overlap == AR_SCHEDULE_OVERLAP_SKIP ? AR_SCHEDULE_OVERLAP_QUEUE : overlap;
}

/* Each of the newest gets a run; those before are missed. */
static void run_all(struct ar_decision *d, const struct ar_cron_clock *clock, const struct passed *p)
{
	int64_t count = p->count < AR_SCHEDULE_OPEN_MAX ? p->count : AR_SCHEDULE_OPEN_MAX;
	int overlap = catching_up(d->session->own_schedule->overlap);
	ar_usec at = newest_from(clock, p, count);

	if (p->count > count)
		miss(d, new_run(d, AR_SCHEDULE_RUN_TRIGGER_CATCH_UP, p->first), p->count - count,
		     AR_STR(AR_MISSED_DOWN), at);
	for (int64_t i = 0; i < count; i++) {
		ar_usec next = ar_cron_next(clock, at);

		run_once(d, AR_SCHEDULE_RUN_TRIGGER_CATCH_UP, at, next, overlap);
		at = next;
	}
}

static void run_passed(struct ar_decision *d, const struct ar_cron_clock *clock)
{
	const struct ar_shape_schedule_record *record = d->session->own_schedule;
	struct passed p = passed_times(d, clock);
	ar_usec late = d->input->now - p.last - ar_schedule_jitter(d->session, p.last);
	bool is_late = late > d->input->policy->schedule_late_ms * MILLISECOND;
	int trigger = is_late ? AR_SCHEDULE_RUN_TRIGGER_CATCH_UP : AR_SCHEDULE_RUN_TRIGGER_TIME;
	int64_t lost = p.count - 1;

	if (record->catch_up == AR_SCHEDULE_CATCH_UP_ALL && (is_late || lost > 0)) {
		run_all(d, clock, &p);
		return;
	}
	if (is_late && record->catch_up == AR_SCHEDULE_CATCH_UP_SKIP) {
		miss(d, new_run(d, trigger, p.last), p.count, AR_STR(AR_MISSED_DOWN), p.next);
		return;
	}
	if (lost > 0)
		miss(d, new_run(d, AR_SCHEDULE_RUN_TRIGGER_CATCH_UP, p.first), lost, AR_STR(AR_MISSED_DOWN),
		     p.last);
	run_once(d, trigger, p.last, p.next, record->overlap);
}

/* The zone is gone from this server: nobody can say when it is due next. */
static void pause_unknown_zone(struct ar_decision *d, const struct ar_error *why)
{
	struct ar_shape_schedule_record record;

	miss(d, new_run(d, AR_SCHEDULE_RUN_TRIGGER_TIME, d->session->own_schedule->next_at), 1,
	     ar_arena_str(d->arena, ar_str_from(why->msg)), 0);
	record = *d->session->own_schedule;
	record.status = AR_SCHEDULE_RECORD_STATUS_PAUSED;
	record.version++;
	record.updated_at = d->input->now;
	ar_decide_emit(d, AR_EV_SCHEDULE_UPDATED, &none,
		       &(struct ar_ev_schedule_updated){ .actor = AR_STR("runtime"), .schedule = &record });
}

/* It may come early, late, or twice: the state says what is due. */
enum ar_status ar_decide_schedule_due(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	const struct ar_shape_schedule_record *record = d->session->own_schedule;
	ar_usec due = ar_session_due(d->session);
	struct ar_cron_clock clock;
	struct ar_error why = { 0 };

	if (!due || due > d->input->now)
		return AR_OK;
	if (!record) {
		ar_outputs_expire(d);
		return AR_OK;
	}
	if (ar_schedule_clock(d, record->spec, record->zone, record->anchor_at, &clock, &why) == AR_OK)
		run_passed(d, &clock);
	else
		pause_unknown_zone(d, &why);
	return AR_OK;
}

/* ---- run_schedule ---- */

enum ar_status ar_decide_run_schedule(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_shape_schedule_record *record = d->session->own_schedule;
	const struct ar_shape_schedule_run_list *runs = &d->session->schedule_runs;

	if (!record)
		return ar_refuse(err, AR_ERR_SCHEDULE_NOT_FOUND, "%s", AR_NO_SCHEDULE);
	if (record->status == AR_SCHEDULE_RECORD_STATUS_ENDED)
		return ar_refuse(err, AR_ERR_SCHEDULE_ENDED, "schedule %.*s has ended",
				 AR_STR_ARG(record->schedule_id));
	run_once(d, AR_SCHEDULE_RUN_TRIGGER_REQUEST, d->input->now, record->next_at, record->overlap);
	ar_decide_reply(d, AR_CMD_RUN_SCHEDULE,
			&(struct ar_cmd_run_schedule_out){ .run = &runs->at[runs->count - 1] });
	return AR_OK;
}
