/* Rows of items of jobs. A row follows from the newest fact about its item alone: the state knows only the
 * items at work. Owner: the loop thread. */
#include "index_rows.h"
#include "job/job.h"

static struct ar_shape_job_item started(const struct ar_event *e)
{
	const struct ar_ev_job_item_started *p = e->payload;

	return (struct ar_shape_job_item){ .status = AR_STR("running"),
					   .attempt_count = AR_OPT_INT(p->attempt_count),
					   .assigned_thread_id = p->assigned_thread_id,
					   .input_ref = p->input_ref };
}

static struct ar_shape_job_item completed(const struct ar_event *e)
{
	const struct ar_ev_job_item_completed *p = e->payload;

	return (struct ar_shape_job_item){ .status = p->status == AR_JOB_ITEM_COMPLETED_STATUS_REPORTED
							     ? AR_STR("reported")
							     : AR_STR("completed"),
					   .attempt_count = AR_OPT_INT(p->attempt_count),
					   .assigned_thread_id = p->assigned_thread_id,
					   .output_ref = p->output_ref,
					   .input_ref = p->input_ref };
}

static struct ar_shape_job_item failed(const struct ar_event *e)
{
	const struct ar_ev_job_item_failed *p = e->payload;

	return (struct ar_shape_job_item){ .status = AR_STR("failed"),
					   .attempt_count = AR_OPT_INT(p->attempt_count),
					   .assigned_thread_id = p->assigned_thread_id,
					   .last_error = p->last_error,
					   .retryable = AR_OPT_BOOL(p->retryable),
					   .input_ref = p->input_ref };
}

/* False: the fact is not about an item. */
static bool item_of(const struct ar_event *e, struct ar_shape_job_item *ret)
{
	switch (e->type) {
	case AR_EV_JOB_ITEM_STARTED:
		*ret = started(e);
		return true;
	case AR_EV_JOB_ITEM_COMPLETED:
		*ret = completed(e);
		return true;
	case AR_EV_JOB_ITEM_FAILED:
		*ret = failed(e);
		return true;
	default:
		return false;
	}
}

static struct ar_str record_of(struct ar_arena *a, const struct ar_shape_job_item *item)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str text;

	ar_struct_encode(&ar_shape_job_item_desc, item, AR_STR_NONE, &w);
	text = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return text;
}

/* An item that somebody outside works on has no turn of ours. */
static void add_turn(const struct ar_session *s, const struct ar_job *job, struct ar_arena *a,
		     struct ar_shape_job_item *item)
{
	struct ar_str key = ar_job_item_key(s, a, job, item->number.v);

	if (!ar_str_eq(item->assigned_thread_id, ar_job_item_thread(a, key)))
		return;
	item->session_id = ar_id_root(a, "sess", key);
	item->turn_id = ar_job_item_turn(a, key, item->attempt_count.v);
}

static size_t place_of(const struct ar_store_item_row *rows, size_t count, uint64_t list, uint64_t number)
{
	size_t i = count;

	while (i > 0 && (rows[i - 1].list != list || rows[i - 1].number != number))
		i--;
	return i > 0 ? i - 1 : count;
}

size_t ar_index_items(const struct ar_session *s, const struct ar_event *events, size_t count,
		      struct ar_arena *a, struct ar_store_item_row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct ar_shape_job_item item;
		const struct ar_job *job;
		size_t place;

		if (!item_of(&events[i], &item))
			continue;
		item.job_item_id = events[i].ids[AR_SCOPE_JOB_ITEM];
		job = ar_session_job_of(s, item.job_item_id, &item.number.v);
		if (!job)
			continue;
		item.number.set = true;
		add_turn(s, job, a, &item);
		place = place_of(rows, n, (uint64_t)job->list, (uint64_t)item.number.v);
		rows[place] = (struct ar_store_item_row){ (uint64_t)job->list, (uint64_t)item.number.v,
							  record_of(a, &item) };
		n += place == n;
	}
	return n;
}
