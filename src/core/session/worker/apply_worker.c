/* What the facts of a worker leave in the state of its own log, and what a session saw of it. Pure. */
#include "apply.h"
#include "worker/worker.h"

static void keep_record(struct ar_session *s, const struct ar_shape_worker_record *record)
{
	s->own_worker = ar_struct_copy(&ar_shape_worker_record_desc, record, AR_COPY_TEXT, &s->arena);
}

enum ar_status ar_apply_worker_created(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_worker_created *p = PAYLOAD(e, worker_created);

	if (s->own_worker || !p->worker)
		return ar_fail(err, AR_E_CORRUPT, "fact %llu creates a worker a second time, or none",
			       (unsigned long long)e->sequence);
	keep_record(s, p->worker);
	return AR_OK;
}

static enum ar_status replace_record(struct ar_session *s, const struct ar_event *e,
				     const struct ar_shape_worker_record *record, struct ar_error *err)
{
	if (!s->own_worker || !record)
		return ar_apply_unknown(err, e, "worker");
	keep_record(s, record);
	return AR_OK;
}

enum ar_status ar_apply_worker_enrolled(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	return replace_record(s, e, PAYLOAD(e, worker_enrolled)->worker, err);
}

enum ar_status ar_apply_worker_updated(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	return replace_record(s, e, PAYLOAD(e, worker_updated)->worker, err);
}

enum ar_status ar_apply_worker_removed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_shape_worker_record record;

	if (!s->own_worker)
		return ar_apply_unknown(err, e, "worker");
	record = *s->own_worker;
	record.status = AR_WORKER_RECORD_STATUS_REMOVED;
	record.version++;
	record.updated_at = e->time;
	keep_record(s, &record);
	return AR_OK;
}

enum ar_status ar_apply_worker_changed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_worker_changed *p = PAYLOAD(e, worker_changed);

	if (!p->worker)
		return ar_apply_unknown(err, e, "worker");
	s->worker = ar_struct_copy(&ar_shape_worker_observed_desc, p->worker, AR_COPY_TEXT, &s->arena);
	for (size_t i = 0; i < s->threads.count; i++) {
		struct ar_turn *turn = ar_thread_active(s->threads.at[i]);
		bool is_stale =
			turn && p->worker->state == AR_WORKER_REACH_STALE && ar_worker_has_calls(s, turn);

		if (turn && turn->task)
			turn->task->stale = (struct ar_opt_bool){ is_stale, is_stale };
	}
	return AR_OK;
}
