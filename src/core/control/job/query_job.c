/* Reads of jobs: the job from the state of its session, its items from their rows. An item without a row was
 * not begun. Owner: the loop thread. */
#include "control_priv.h"
#include "job/job.h"
#include "limits/money.h"
#include "storage.h"

#define NO_JOB "there is no such job"
#define ITEMS_DEFAULT 100
#define ITEMS_MAX 1000
#define JOBS_MAX 1000

static void no_job(struct ar_call *c)
{
	ar_call_refuse(c, AR_ERR_JOB_NOT_FOUND, NO_JOB);
}

/* ---- get_job ---- */

/* What the answer is written with when the rows are there: the state is not, by then. */
struct items_page {
	struct ar_call *call;
	struct ar_cmd_get_job_out head;
	struct ar_shape_job_counts counts;
	struct ar_shape_usage usage;
	int64_t from, to;
	struct ar_store_items rows;
};

static void fill_head(struct items_page *p, const struct ar_session *s, const struct ar_job *job)
{
	struct ar_arena *a = &p->call->arena;

	p->counts = ar_job_counts(job);
	p->usage = (struct ar_shape_usage){ .input_tokens = AR_OPT_INT(job->input_tokens),
					    .output_tokens = AR_OPT_INT(job->output_tokens),
					    .cached_tokens = AR_OPT_INT(job->cached_tokens) };
	p->head = (struct ar_cmd_get_job_out){
		.job_id = ar_arena_str(a, job->id),
		.status = ar_job_status_word(job),
		.session_id = ar_arena_str(a, s->id),
		.task_id = ar_arena_str(a, job->task),
		.instruction_ref = ar_arena_str(a, job->instruction_ref),
		.input_refs = ar_arena_texts(a, job->input_refs),
		.output_schema_ref = ar_arena_str(a, job->schema_ref),
		.max_runtime = job->max_runtime,
		.max_attempts = job->max_attempts,
		.concurrency = job->concurrency,
		.item_count = job->item_count,
		.item_cursor = ar_job_cursor_text(a, job->cursor, job->list_ref),
		.assigned_thread_ids = ar_arena_texts(a, ar_job_threads(s, job, a)),
		.usage = &p->usage,
		.cost = job->unpriced.v ? AR_STR_NONE : ar_money_text(a, job->cost),
		.created_at = job->created,
		.started_at = job->started,
		.ended_at = job->ended,
		.error = job->error ? ar_struct_copy(&ar_shape_failure_desc, job->error, AR_COPY_TEXT, a)
				    : NULL,
		.reason = ar_arena_str(a, job->reason),
		.schedule_id = ar_arena_str(a, job->schedule),
		.schedule_run_id = ar_arena_str(a, job->schedule_run),
		.delivery = job->deliver_to ? ar_struct_copy(&ar_shape_task_delivery_desc, job->deliver_to,
							     AR_COPY_TEXT, a)
					    : NULL,
		.delivery_state = job->delivery ? ar_struct_copy(&ar_shape_delivery_state_desc, job->delivery,
								 AR_COPY_TEXT, a)
						: NULL,
		.inactivity_ms = job->inactivity_ms,
		.submitted_by = ar_arena_str(a, job->person),
		.options = job->options ? ar_struct_copy(&ar_shape_turn_options_desc, job->options,
							 AR_COPY_TEXT, a)
					: NULL,
		.counts = &p->counts,
	};
}

static void write_pending(struct ar_jw *w, struct items_page *p, int64_t number)
{
	const struct ar_shape_job_item item = { .job_item_id = ar_arena_fmt(&p->call->arena, "%.*s.%lld",
									    AR_STR_ARG(p->head.job_id),
									    (long long)number),
						.status = AR_STR("pending"),
						.attempt_count = AR_OPT_INT(0),
						.number = AR_OPT_INT(number) };

	ar_struct_encode(&ar_shape_job_item_desc, &item, AR_STR_NONE, w);
}

static struct ar_str items_json(struct items_page *p, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);
	size_t next = 0;

	ar_jw_open_array(&w);
	for (int64_t n = p->from; n < p->to; n++) {
		if (next < p->rows.count && p->rows.rows[next].number == (uint64_t)n) {
			ar_jw_raw(&w, p->rows.rows[next++].record);
			continue;
		}
		if (w.comma)
			ar_buf_addc(out, ',');
		w.comma = false;
		write_pending(&w, p, n);
		w.comma = true;
	}
	ar_jw_close_array(&w);
	return ar_buf_str(out);
}

/* The head as the catalogue writes it, with the items in the place of its empty list. */
static void write_answer(struct items_page *p)
{
	struct ar_call *c = p->call;
	struct ar_buf head = { 0 }, items = { 0 };
	struct ar_jw w = ar_jw(&head);
	struct ar_str text, list = items_json(p, &items);

	if (p->to < p->head.item_count)
		p->head.next_cursor = ar_arena_fmt(&c->arena, "%lld", (long long)p->to);
	ar_struct_encode(&ar_command_describe(AR_CMD_GET_JOB)->out, &p->head, AR_STR_NONE, &w);
	text = ar_buf_str(&head);
	ar_buf_adds(&c->reply, (struct ar_str){ text.p, text.len - 1 });
	ar_buf_adds(&c->reply, AR_STR(",\"items\":"));
	ar_buf_adds(&c->reply, list);
	ar_buf_addc(&c->reply, '}');
	ar_buf_fini(&head);
	ar_buf_fini(&items);
}

static void on_rows(struct ar_store_op *op)
{
	struct items_page *p = AR_CONTAINER_OF(op, struct items_page, rows.op);
	struct ar_call *c = p->call;

	if (op->status != AR_OK) {
		ar_store_op_fini(op); /* first: the answer gives the call's memory back */
		ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
		return;
	}
	write_answer(p);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

static void on_job(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_cmd_get_job_in *in = c->input;
	const struct ar_job *job = s ? ar_session_job(s, in->job_id) : NULL;
	struct items_page *p;
	uint64_t from = 0;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!job) {
		no_job(c);
		return;
	}
	if (!ar_str_absent(in->cursor) &&
	    (!ar_str_to_u64(in->cursor, &from) || from > (uint64_t)job->item_count)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	p = ar_arena_alloc(&c->arena, sizeof(*p));
	p->call = c;
	p->from = (int64_t)from;
	p->to = p->from + (int64_t)ar_call_limit(in->limit, ITEMS_DEFAULT, ITEMS_MAX);
	if (p->to > job->item_count)
		p->to = job->item_count;
	fill_head(p, s, job);
	p->rows = (struct ar_store_items){ .op = { .kind = AR_STORE_ITEMS, .done = on_rows },
					   .session = v->session,
					   .list = (uint64_t)job->list,
					   .from = from,
					   .to = (uint64_t)p->to,
					   .limit = ITEMS_MAX };
	ar_store_submit(c->control->store, &p->rows.op);
}

void ar_query_get_job(struct ar_call *c)
{
	const struct ar_cmd_get_job_in *in = c->input;

	c->work->view.done = on_job;
	c->work->view.session = ar_id_owner(in->job_id);
	if (ar_str_absent(c->work->view.session))
		no_job(c);
	else
		ar_call_look_else(c, no_job);
}

/* ---- list_jobs ---- */

static void no_scope(struct ar_call *c)
{
	ar_call_refuse(c, AR_ERR_SCOPE_NOT_FOUND, "there is nothing with that id in this runtime");
}

static bool is_listed(const struct ar_cmd_list_jobs_in *in, const struct ar_job *job)
{
	return (ar_str_absent(in->task_id) || ar_str_eq(in->task_id, job->task)) &&
	       (ar_str_absent(in->status) || ar_str_eq(in->status, ar_job_status_word(job)));
}

static void write_summary(struct ar_jw *w, const struct ar_job *job)
{
	const struct ar_shape_job_counts counts = ar_job_counts(job);
	const struct ar_shape_job_summary summary = { .job_id = job->id,
						      .task_id = job->task,
						      .status = ar_job_status_word(job),
						      .counts = &counts,
						      .item_count = AR_OPT_INT(job->item_count),
						      .created_at = job->created };
	struct ar_jw inner = { .out = w->out };

	if (w->comma)
		ar_buf_addc(w->out, ',');
	ar_struct_encode(&ar_shape_job_summary_desc, &summary, AR_STR_NONE, &inner);
	w->comma = true;
}

static void write_list(struct ar_call *c, const struct ar_session *s, uint64_t from)
{
	const struct ar_cmd_list_jobs_in *in = c->input;
	size_t limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, JOBS_MAX), n = 0, i;
	struct ar_jw w = ar_jw(&c->reply);

	ar_jw_open(&w);
	ar_jw_key(&w, "jobs");
	ar_jw_open_array(&w);
	for (i = (size_t)from; i < s->jobs.count && n < limit; i++) {
		if (!is_listed(in, s->jobs.at[i]))
			continue;
		write_summary(&w, s->jobs.at[i]);
		n++;
	}
	ar_jw_close_array(&w);
	if (i < s->jobs.count)
		ar_jw_mstr(&w, "nextCursor", ar_arena_fmt(&c->arena, "%zu", i));
	ar_jw_close(&w);
}

static void on_session(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_cmd_list_jobs_in *in = c->input;
	uint64_t from = 0;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if ((!ar_str_absent(in->thread_id) && !ar_session_thread(s, in->thread_id)) ||
	    (!ar_str_absent(in->task_id) && !ar_session_any_task(s, in->task_id))) {
		no_scope(c);
		return;
	}
	if (!ar_str_absent(in->cursor) && !ar_str_to_u64(in->cursor, &from)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	write_list(c, s, from);
	ar_call_done(c, 200);
}

void ar_query_list_jobs(struct ar_call *c)
{
	const struct ar_cmd_list_jobs_in *in = c->input;
	struct ar_str id = !ar_str_absent(in->session_id) ? in->session_id
			   : ar_str_absent(in->thread_id) ? in->task_id
							  : in->thread_id;

	c->work->view.done = on_session;
	c->work->view.session = ar_id_owner(id);
	if (ar_str_absent(c->work->view.session))
		no_scope(c);
	else
		ar_call_look_else(c, no_scope);
}
