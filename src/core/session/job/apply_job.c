/* What the facts about jobs mean. */
#include "apply.h"
#include "delivery/delivery.h"
#include "job/job.h"
#include "limits/money.h"

static struct ar_job *job_of(struct ar_session *s, const struct ar_event *e)
{
	return ar_session_job(s, e->ids[AR_SCOPE_JOB]);
}

static void set_cursor(struct ar_session *s, struct ar_job *job, struct ar_str text)
{
	struct ar_str number, ref = ar_str_split(text, ' ', &number), known = job->list_ref;
	uint64_t n;

	job->list_ref = AR_STR_NONE;
	if (ar_str_empty(text)) {
		job->cursor = job->item_count;
		return;
	}
	if (ar_str_to_u64(number, &n))
		job->cursor = (int64_t)n;
	job->list_ref = ar_str_eq(ref, known) ? known : ar_apply_keep(s, ref);
}

enum ar_status ar_apply_job_created(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_job_created *p = KEPT(s, e, job_created);
	struct ar_job *job = ar_arena_alloc(&s->arena, sizeof(*job));
	enum ar_status rc;

	if (job_of(s, e))
		return ar_fail(err, AR_E_CORRUPT, "fact %llu makes a job that exists",
			       (unsigned long long)e->sequence);
	*job = (struct ar_job){ .id = ar_apply_keep(s, e->ids[AR_SCOPE_JOB]),
				.task = ar_apply_keep(s, e->ids[AR_SCOPE_TASK]),
				.person = p->submitted_by,
				.instruction_ref = p->instruction_ref,
				.schema_ref = p->output_schema_ref,
				.input_refs = p->input_refs,
				.options = p->options,
				.policy = p->item_policy,
				.list = (int64_t)e->sequence,
				.item_count = p->item_count,
				.concurrency = p->concurrency.set ? p->concurrency.v : AR_JOB_CONCURRENCY,
				.max_runtime = p->max_runtime,
				.max_attempts = p->max_attempts,
				.inactivity_ms = p->inactivity_ms,
				.deliver_to = p->delivery,
				.schedule = p->schedule_id,
				.schedule_run = p->schedule_run_id,
				.report_to = p->schedule_run_id,
				.created = e->time };
	rc = ar_apply_move(&job->status, AR_MACHINE_JOB, e, err);
	if (rc != AR_OK)
		return rc;
	set_cursor(s, job, p->item_cursor);
	ar_vec_push(&s->arena, &s->jobs, job);
	ar_apply_count(&s->counters.job.v, job->id);
	s->counters.job.set = true;
	return AR_OK;
}

/* The job of the fact, moved; NULL with *rc. */
static struct ar_job *moved(struct ar_session *s, const struct ar_event *e, enum ar_status *rc,
			    struct ar_error *err)
{
	struct ar_job *job = job_of(s, e);

	*rc = job ? ar_apply_move(&job->status, AR_MACHINE_JOB, e, err) : ar_apply_unknown(err, e, "job");
	return *rc == AR_OK ? job : NULL;
}

enum ar_status ar_apply_job_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	enum ar_status rc;
	struct ar_job *job = moved(s, e, &rc, err);

	if (job)
		job->started = job->progressed = job->alive = PAYLOAD(e, job_started)->started_at;
	return rc;
}

enum ar_status ar_apply_job_progress(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	enum ar_status rc;
	struct ar_job *job = moved(s, e, &rc, err);

	if (!job)
		return rc;
	set_cursor(s, job, PAYLOAD(e, job_progress)->item_cursor);
	job->progressed = e->time;
	return AR_OK;
}

/* ---- items ---- */

static void drop_ahead(struct ar_job *job)
{
	for (size_t i = job->ahead.count; i > 0; i--) {
		if (((const struct ar_job_ahead *)job->ahead.at[i - 1])->number < job->cursor)
			ar_vec_remove(&job->ahead, i - 1);
	}
}

/* Those that were assigned before are passed over. */
static void advance(struct ar_job *job)
{
	do
		job->cursor++;
	while (job->cursor < job->item_count && ar_job_is_ahead(job, job->cursor));
	drop_ahead(job);
}

static void put_ahead(struct ar_session *s, struct ar_job *job, int64_t number)
{
	struct ar_job_ahead *ahead = ar_arena_alloc(&s->arena, sizeof(*ahead));

	ahead->number = number;
	ar_vec_push(&s->arena, &job->ahead, ahead);
}

/* A job may have a million items, and the memory of a state is given back when the session leaves the cache:
 * what an item took is used again. */
static struct ar_job_item *new_item(struct ar_session *s, struct ar_job *job)
{
	struct ar_job_item *item;

	if (job->spare.count == 0)
		return ar_arena_alloc(&s->arena, sizeof(*item));
	item = job->spare.at[job->spare.count - 1];
	ar_vec_remove(&job->spare, job->spare.count - 1);
	return item;
}

enum ar_status ar_apply_job_item_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_job_item_started *p = PAYLOAD(e, job_item_started);
	struct ar_job_item *item;
	struct ar_job *job;
	enum ar_status rc;
	int64_t number;

	job = moved(s, e, &rc, err);
	if (!job)
		return rc;
	if (ar_session_job_of(s, e->ids[AR_SCOPE_JOB_ITEM], &number) != job || ar_job_running(job, number))
		return ar_apply_unknown(err, e, "item of a job");
	if (p->attempt_count > 1) {
		job->failed--;
		job->retryable--;
	} else if (number == job->cursor) {
		advance(job);
	} else {
		put_ahead(s, job, number);
	}
	job->alive = e->time;
	item = new_item(s, job);
	*item = (struct ar_job_item){ .number = number,
				      .attempt = p->attempt_count,
				      .thread = p->worker ? ar_apply_keep(s, p->assigned_thread_id)
							  : AR_STR_NONE,
				      .is_assigned = p->worker != NULL,
				      .input_ref = ar_str_eq(p->input_ref, job->list_ref)
							   ? job->list_ref
							   : ar_apply_keep(s, p->input_ref) };
	ar_vec_push(&s->arena, &job->running, item);
	return AR_OK;
}

static void add_usage(struct ar_job *job, const struct ar_shape_usage *usage, struct ar_str cost)
{
	int64_t nano;

	if (usage) {
		job->input_tokens += usage->input_tokens.v;
		job->output_tokens += usage->output_tokens.v;
		job->cached_tokens += usage->cached_tokens.v;
	}
	if (!ar_str_absent(cost) && ar_money_parse(cost, &nano))
		job->cost += nano;
	else if (usage)
		job->unpriced = AR_OPT_BOOL(true);
}

/* Takes the item of the fact from those at work; NULL with *rc. */
static struct ar_job *ended(struct ar_session *s, const struct ar_event *e, enum ar_status *rc,
			    struct ar_error *err)
{
	struct ar_job *job = moved(s, e, rc, err);
	struct ar_job_item *item;
	size_t index;
	int64_t number;

	if (!job)
		return NULL;
	item = ar_session_job_of(s, e->ids[AR_SCOPE_JOB_ITEM], &number) == job ? ar_job_running(job, number)
									       : NULL;
	if (!item || !ar_vec_find(&job->running, item, &index)) {
		*rc = ar_apply_unknown(err, e, "item of a job");
		return NULL;
	}
	job->alive = e->time;
	ar_vec_remove(&job->running, index);
	ar_vec_push(&s->arena, &job->spare, item);
	return job;
}

enum ar_status ar_apply_job_item_completed(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	const struct ar_ev_job_item_completed *p = PAYLOAD(e, job_item_completed);
	enum ar_status rc;
	struct ar_job *job = ended(s, e, &rc, err);

	if (!job)
		return rc;
	if (p->status == AR_JOB_ITEM_COMPLETED_STATUS_REPORTED)
		job->reported++;
	else
		job->completed++;
	add_usage(job, p->usage, p->cost);
	return AR_OK;
}

enum ar_status ar_apply_job_item_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_job_item_failed *p = PAYLOAD(e, job_item_failed);
	enum ar_status rc;
	struct ar_job *job = ended(s, e, &rc, err);

	if (!job)
		return rc;
	job->failed++;
	job->retryable += p->retryable;
	add_usage(job, p->usage, p->cost);
	return AR_OK;
}

/* ---- ends ---- */

enum ar_status ar_apply_job_completed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	enum ar_status rc;
	struct ar_job *job = moved(s, e, &rc, err);

	if (job)
		job->ended = e->time;
	return rc;
}

enum ar_status ar_apply_job_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_job_failed *p = KEPT(s, e, job_failed);
	enum ar_status rc;
	struct ar_job *job = moved(s, e, &rc, err);

	if (!job)
		return rc;
	job->error = p->error;
	job->ended = e->time;
	return AR_OK;
}

enum ar_status ar_apply_job_cancelled(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	enum ar_status rc;
	struct ar_job *job = moved(s, e, &rc, err);

	if (!job)
		return rc;
	job->reason = ar_apply_keep(s, PAYLOAD(e, job_cancelled)->reason);
	job->ended = e->time;
	return AR_OK;
}

enum ar_status ar_apply_job_reported(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_job *job = job_of(s, e);

	if (!job)
		return ar_apply_unknown(err, e, "job");
	job->report_to = AR_STR_NONE;
	return AR_OK;
}

enum ar_status ar_apply_job_delivery(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_job *job = job_of(s, e);

	if (!job)
		return ar_apply_unknown(err, e, "job");
	job->delivery = KEPT(s, e, job_delivery)->delivery_state;
	ar_deliveries_note(s, &(struct ar_deliverable){ .job = job });
	return AR_OK;
}
