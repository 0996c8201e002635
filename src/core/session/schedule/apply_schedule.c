/* What the facts of a schedule leave in the state of its log. Pure. */
#include "apply.h"
#include "schedule/schedule.h"

#include <string.h>

static void keep_record(struct ar_session *s, const struct ar_shape_schedule_record *record)
{
	s->own_schedule = ar_struct_copy(&ar_shape_schedule_record_desc, record, AR_COPY_TEXT, &s->arena);
}

/* Texts stay: they are the session's already. */
static struct ar_shape_schedule_record *change_record(struct ar_session *s)
{
	struct ar_shape_schedule_record *record = ar_arena_alloc(&s->arena, sizeof(*record));

	*record = *s->own_schedule;
	s->own_schedule = record;
	return record;
}

enum ar_status ar_apply_schedule_created(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_schedule_created *p = PAYLOAD(e, schedule_created);

	if (s->own_schedule || !p->schedule)
		return ar_fail(err, AR_E_CORRUPT, "fact %llu creates a schedule a second time, or none",
			       (unsigned long long)e->sequence);
	keep_record(s, p->schedule);
	return AR_OK;
}

enum ar_status ar_apply_schedule_updated(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_schedule_updated *p = PAYLOAD(e, schedule_updated);

	if (!s->own_schedule || !p->schedule)
		return ar_apply_unknown(err, e, "schedule");
	keep_record(s, p->schedule);
	return AR_OK;
}

enum ar_status ar_apply_schedule_ended(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_shape_schedule_record *record;

	if (!s->own_schedule)
		return ar_apply_unknown(err, e, "schedule");
	record = change_record(s);
	record->status = AR_SCHEDULE_RECORD_STATUS_ENDED;
	record->next_at = 0;
	record->version++;
	record->updated_at = e->time;
	return AR_OK;
}

/* ---- runs ---- */

static size_t count_ended(struct ar_shape_schedule_run_list runs)
{
	size_t ended = 0;

	for (size_t i = 0; i < runs.count; i++)
		ended += runs.at[i].ended_at != 0;
	return ended;
}

/* The list with this run in its place or at its end, without the oldest that have ended. */
static void put_run(struct ar_session *s, const struct ar_shape_schedule_run *run)
{
	struct ar_shape_schedule_run_list old = s->schedule_runs;
	struct ar_shape_schedule_run *at = ar_arena_alloc(&s->arena, (old.count + 1) * sizeof(*at));
	const struct ar_shape_schedule_run *known = ar_schedule_run(s, run->run_id);
	const struct ar_shape_schedule_run *kept =
		ar_struct_copy(&ar_shape_schedule_run_desc, run, AR_COPY_TEXT, &s->arena);
	size_t count = 0, surplus;

	if (old.count > 0)
		memcpy(at, old.at, old.count * sizeof(*at));
	at[known ? (size_t)(known - old.at) : old.count] = *kept;
	s->schedule_runs = (struct ar_shape_schedule_run_list){ at, old.count + !known };
	surplus = count_ended(s->schedule_runs);
	surplus = surplus > AR_SCHEDULE_KEPT ? surplus - AR_SCHEDULE_KEPT : 0;
	for (size_t i = 0; i < s->schedule_runs.count; i++) {
		if (at[i].ended_at && surplus > 0)
			surplus--;
		else
			at[count++] = at[i];
	}
	s->schedule_runs.count = count;
}

enum ar_status ar_apply_schedule_fired(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_schedule_fired *p = PAYLOAD(e, schedule_fired);
	struct ar_shape_schedule_record *record;

	if (!s->own_schedule || !p->run)
		return ar_apply_unknown(err, e, "schedule");
	record = change_record(s);
	record->next_at = p->next_at;
	record->runs++;
	put_run(s, p->run);
	return AR_OK;
}

enum ar_status ar_apply_schedule_missed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_schedule_missed *p = PAYLOAD(e, schedule_missed);
	struct ar_shape_schedule_record *record;

	if (!s->own_schedule || !p->run)
		return ar_apply_unknown(err, e, "schedule");
	record = change_record(s);
	record->next_at = p->next_at;
	record->missed += p->run->count.v;
	put_run(s, p->run);
	return AR_OK;
}

enum ar_status ar_apply_schedule_run_changed(struct ar_session *s, const struct ar_event *e,
					     struct ar_error *err)
{
	const struct ar_ev_schedule_run_changed *p = PAYLOAD(e, schedule_run_changed);

	if (!p->run || !ar_schedule_run(s, p->run->run_id))
		return ar_apply_unknown(err, e, "run");
	put_run(s, p->run);
	return AR_OK;
}
