/* Items of jobs: how their turns ended, and what people and workers say of them. Pure. */
#include "describe.h"
#include "job/job.h"
#include "schema.h"

/* ---- outputs ---- */

/* Whether a result fits the schema of the job; `why` says how it does not. */
static bool fits(struct ar_decision *d, const struct ar_job *job, struct ar_str result, struct ar_str *why)
{
	struct ar_str text =
		ar_str_absent(job->schema_ref) ? AR_STR_NONE : ar_decide_text(d, job->schema_ref);
	struct ar_schema_fault fault = { .message = "the result is not JSON" };
	struct ar_schema *schema = NULL;
	struct ar_error err = { 0 };
	struct ar_json v;
	bool is_good;

	if (ar_str_absent(text))
		return true;
	if (ar_schema_compile(text, d->json, &d->schema_steps, &schema, &err) != AR_OK) {
		*why = ar_arena_fmt(d->arena, "%s", err.msg);
		return false;
	}
	is_good = !ar_str_absent(result) && ar_json_parse(d->json, result, &v, NULL) == AR_OK &&
		  ar_schema_check(schema, v, &d->schema_steps, &fault);
	ar_schema_free(schema);
	if (!is_good)
		*why = ar_arena_fmt(d->arena, "the result does not fit the schema: %s", fault.message);
	return is_good;
}

struct done {
	struct ar_str output_ref;
	int status; /* of the fact */
	const struct ar_shape_usage *usage;
	struct ar_str cost;
};

static void say_done(struct ar_decision *d, const struct ar_job *job, const struct ar_job_item *item,
		     const struct done *done)
{
	struct ar_ids ids = ar_job_item_ids(d, job, item->number);

	ar_decide_emit(d, AR_EV_JOB_ITEM_COMPLETED, &ids,
		       &(struct ar_ev_job_item_completed){
			       .output_ref = done->output_ref,
			       .attempt_count = item->attempt,
			       .status = done->status,
			       .assigned_thread_id = ar_job_thread_of(d->session, d->arena, job, item),
			       .input_ref = item->input_ref,
			       .usage = done->usage,
			       .cost = done->cost });
}

/* ---- another attempt ---- */

/* False: the input of the item is not at hand (needs.c says what is), or not stored any more. */
static bool make_attempt(struct ar_decision *d, const struct ar_job *job, int64_t number,
			 struct ar_str input_ref, struct ar_job_attempt *ret)
{
	struct ar_job_page page;

	if (!ar_job_read_list(d, input_ref, &page) || number < page.first ||
	    number >= page.first + (int64_t)page.count ||
	    ar_str_absent(ar_decide_text(d, job->instruction_ref)))
		return false;
	ret->number = number;
	ret->input_ref = input_ref;
	ret->text = page.items[number - page.first];
	return true;
}

/* The next attempt begins at once, in the place of this one. */
static void end_attempt(struct ar_decision *d, struct ar_job *job, const struct ar_job_item *item,
			struct ar_job_failure why)
{
	struct ar_job_attempt next = { .count = item->attempt + 1 };
	bool is_again = why.retryable && !why.is_final && item->attempt < job->max_attempts.v &&
			make_attempt(d, job, item->number, item->input_ref, &next);

	why.is_final = job->max_attempts.set && !is_again;
	ar_job_item_failed(d, job, item, &why);
	if (is_again && d->fault == AR_OK)
		ar_job_start_item(d, job, &next);
}

/* ---- the turn of an item ended ---- */

/* A report that is late, of another attempt or of another session says nothing. */
static bool is_expected(struct ar_decision *d, const struct ar_job *job, const struct ar_job_item *item,
			const struct ar_cmd_report_turn_in *in)
{
	struct ar_str key;

	if (!item || item->is_assigned || job->status != AR_JOB_RUNNING)
		return false;
	key = ar_job_item_key(d->session, d->arena, job, item->number);
	return ar_str_eq(ar_id_session_key(in->session_id), key) &&
	       ar_str_eq(in->turn_id, ar_job_item_turn(d->arena, key, item->attempt));
}

/* What somebody interrupted is not begun again without being asked for. */
static void end_failed(struct ar_decision *d, struct ar_job *job, const struct ar_job_item *item,
		       const struct ar_cmd_report_turn_in *in)
{
	const struct ar_shape_failure none = { 0 }, *error = in->error ? in->error : &none;
	bool is_cancelled = ar_str_is(in->status, "cancelled");

	end_attempt(d, job, item,
		    (struct ar_job_failure){
			    .category = !ar_str_absent(error->category) ? error->category : in->status,
			    .message = !ar_str_absent(error->message) ? error->message
								      : AR_STR("its turn did not complete"),
			    .retryable = is_cancelled || !error->retryable.set || error->retryable.v,
			    .is_final = is_cancelled,
			    .usage = in->usage,
			    .cost = in->cost });
}

static void end_completed(struct ar_decision *d, struct ar_job *job, const struct ar_job_item *item,
			  const struct ar_cmd_report_turn_in *in)
{
	struct ar_str why = AR_STR_NONE, ref = in->output_ref;
	struct ar_str text = ar_str_absent(ref) ? AR_STR("") : ar_decide_text(d, ref);

	if (!fits(d, job, text, &why)) {
		end_attempt(d, job, item,
			    (struct ar_job_failure){ .category = AR_STR("schema_mismatch"),
						     .message = why,
						     .retryable = true,
						     .usage = in->usage,
						     .cost = in->cost });
		return;
	}
	say_done(d, job, item,
		 &(struct done){ .output_ref = ar_str_absent(ref) ? ar_decide_content(d, AR_STR("")) : ref,
				 .status = AR_JOB_ITEM_COMPLETED_STATUS_COMPLETED,
				 .usage = in->usage,
				 .cost = in->cost });
}

enum ar_status ar_job_report_turn(struct ar_decision *d, const struct ar_cmd_report_turn_in *in,
				  struct ar_error *err)
{
	int64_t number;
	struct ar_job *job = ar_session_job_of(d->session, in->to, &number);
	const struct ar_job_item *item = job ? ar_job_running(job, number) : NULL;

	if (!job)
		return ar_refuse(err, AR_ERR_NOT_FOUND, "there is no such item of a job");
	if (!is_expected(d, job, item, in))
		return AR_OK;
	if (ar_str_is(in->status, "completed"))
		end_completed(d, job, item, in);
	else
		end_failed(d, job, item, in);
	ar_job_continue(d, job);
	return AR_OK;
}

/* ---- the turn of an item was not taken ---- */

static struct ar_str message_in(struct ar_decision *d, struct ar_str reply, bool *ret_retryable)
{
	struct ar_str message = AR_STR("the turn of the item was refused");
	struct ar_json v, error;

	if (ar_json_parse(d->json, reply, &v, NULL) != AR_OK)
		return message;
	error = ar_json_get(v, "error");
	ar_json_bool(ar_json_get(error, "retryable"), ret_retryable);
	return ar_json_str(ar_json_get(error, "message"), &message) ? ar_arena_str(d->arena, message)
								    : message;
}

/* The item and the attempt that an answer is about; NULL: neither is at work any more. */
static const struct ar_job_item *item_of_answer(const struct ar_decision *d, struct ar_job **ret_job)
{
	const struct ar_job_item *item;
	int64_t number;
	uint64_t attempt;

	*ret_job = ar_session_job_of_subject(d->session, d->input->sent->subject, &number, &attempt);
	item = *ret_job && (*ret_job)->status == AR_JOB_RUNNING ? ar_job_running(*ret_job, number) : NULL;
	return item && !item->is_assigned && item->attempt == (int64_t)attempt ? item : NULL;
}

void ar_job_sent(struct ar_decision *d)
{
	uint16_t code = d->input->sent->code;
	struct ar_job *job = NULL;
	const struct ar_job_item *item = item_of_answer(d, &job);
	bool is_retryable = true;
	struct ar_str message;

	if (ar_job_report_answered(d))
		return;
	/* A turn that exists under this id is the item's own, from before a restart: it reports its end. */
	if (!item || code == 0 || code == AR_ERR_ID_CONFLICT)
		return;
	message = message_in(d, d->input->sent->reply, &is_retryable);
	end_attempt(d, job, item,
		    (struct ar_job_failure){ .category = ar_str_from(ar_error_describe(code)->name),
					     .message = message,
					     .retryable = is_retryable });
	ar_job_continue(d, job);
}

/* ---- commands ---- */

static enum ar_status need_item(const struct ar_decision *d, struct ar_str job_id, struct ar_str item_id,
				struct ar_job **ret, int64_t *ret_number, struct ar_error *err)
{
	struct ar_job *job;

	if (ar_job_need(d, job_id, &job, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_session_job_of(d->session, item_id, ret_number) != job)
		return ar_refuse(err, AR_ERR_JOB_NOT_FOUND, "job %.*s has no item '%.*s'",
				 AR_STR_ARG(job->id), AR_STR_ARG(ar_str_utf8_prefix(item_id, 64)));
	*ret = job;
	return AR_OK;
}

/* What the row of the item says; zeroed: there is none. */
static struct ar_shape_job_item row_of(struct ar_decision *d)
{
	struct ar_shape_job_item *item = ar_arena_alloc(d->arena, sizeof(*item));
	struct ar_str record = d->input->read ? d->input->read->row.record : AR_STR_NONE;
	struct ar_json v;

	if (ar_str_absent(record) || ar_json_parse(d->json, record, &v, NULL) != AR_OK ||
	    ar_struct_decode_strict(&ar_shape_job_item_desc, v, d->arena, item, NULL, NULL) != AR_OK)
		*item = (struct ar_shape_job_item){ 0 };
	return *item;
}

static enum ar_status check_running(const struct ar_job *job, struct ar_error *err)
{
	if (job->status == AR_JOB_RUNNING)
		return AR_OK;
	if (job->status == AR_JOB_CANCELLED)
		return ar_refuse(err, AR_ERR_JOB_CANCELLED, "job %.*s is cancelled", AR_STR_ARG(job->id));
	return ar_refuse(err, AR_ERR_CONFLICT, "job %.*s is %.*s, not running", AR_STR_ARG(job->id),
			 AR_STR_ARG(ar_job_status_word(job)));
}

static enum ar_status check_retry(const struct ar_job *job, int64_t number,
				  const struct ar_shape_job_item *row, struct ar_error *err)
{
	if (check_running(job, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_job_running(job, number) || !ar_str_is(row->status, "failed"))
		return ar_refuse(err, AR_ERR_ITEM_NOT_FAILED, "item %lld is %.*s", (long long)number,
				 AR_STR_ARG(ar_job_running(job, number)	 ? AR_STR("running")
					    : ar_str_absent(row->status) ? AR_STR("pending")
									 : row->status));
	if (!row->retryable.v || ar_str_absent(row->input_ref))
		return ar_refuse(err, AR_ERR_NOT_RETRYABLE, "item %lld failed for good", (long long)number);
	if (ar_job_at_work(job) >= 2 * job->concurrency)
		return ar_refuse(err, AR_ERR_CONFLICT,
				 "%lld items are at work, twice the concurrency of the job; wait for one",
				 (long long)ar_job_at_work(job));
	return AR_OK;
}

enum ar_status ar_decide_retry_job_item(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_retry_job_item_in *in = d->input->command.args;
	struct ar_job_attempt next;
	struct ar_shape_job_item row;
	struct ar_job *job;
	int64_t number;

	if (need_item(d, in->job_id, in->job_item_id, &job, &number, err) != AR_OK)
		return AR_E_REFUSED;
	row = row_of(d);
	if (check_retry(job, number, &row, err) != AR_OK)
		return AR_E_REFUSED;
	if (!make_attempt(d, job, number, row.input_ref, &next))
		return ar_refuse(err, AR_ERR_NOT_RETRYABLE, "the input of item %lld is not stored any more",
				 (long long)number);
	next.count = row.attempt_count.v + 1;
	ar_job_start_item(d, job, &next);
	ar_job_say_progress(d, job);
	ar_decide_reply(d, AR_CMD_RETRY_JOB_ITEM,
			&(struct ar_cmd_retry_job_item_out){ .job_item_id =
								     ar_job_item_id(d->arena, job, number),
							     .attempt_count = next.count });
	return AR_OK;
}

/* ---- items that others work on ---- */

static enum ar_status check_assign(const struct ar_decision *d, const struct ar_job *job, int64_t number,
				   struct ar_str thread, struct ar_error *err)
{
	if (check_running(job, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_job_is_pending(job, number))
		return ar_refuse(err, AR_ERR_ITEM_NOT_PENDING, "item %lld was begun before",
				 (long long)number);
	if (job->ahead.count >= AR_JOB_AHEAD_MAX)
		return ar_refuse(err, AR_ERR_CONFLICT, "%d items are assigned ahead, which is the limit",
				 AR_JOB_AHEAD_MAX);
	if (ar_str_eq(ar_id_session_key(thread), d->session->session_key) &&
	    !ar_session_thread(d->session, thread))
		return ar_refuse(err, AR_ERR_THREAD_NOT_FOUND, "session %.*s has no such thread",
				 AR_STR_ARG(d->session->id));
	return AR_OK;
}

enum ar_status ar_decide_assign_job_item(struct ar_decision *d, struct ar_error *err)
{
	static const struct ar_shape_party somebody = { .kind = { "worker", 6 } };
	const struct ar_cmd_assign_job_item_in *in = d->input->command.args;
	const struct ar_job_item *item;
	struct ar_job *job;
	struct ar_ids ids;
	int64_t number;

	if (need_item(d, in->job_id, in->job_item_id, &job, &number, err) != AR_OK)
		return AR_E_REFUSED;
	item = ar_job_running(job, number);
	if (!(item && item->is_assigned && ar_str_eq(item->thread, in->thread_id))) {
		if (check_assign(d, job, number, in->thread_id, err) != AR_OK)
			return AR_E_REFUSED;
		ids = ar_job_item_ids(d, job, number);
		ar_decide_emit(d, AR_EV_JOB_ITEM_STARTED, &ids,
			       &(struct ar_ev_job_item_started){ .attempt_count = 1,
								 .assigned_thread_id = in->thread_id,
								 .worker = in->worker ? in->worker
										      : &somebody });
		ar_job_say_progress(d, job);
	}
	ar_decide_reply(d, AR_CMD_ASSIGN_JOB_ITEM,
			&(struct ar_cmd_assign_job_item_out){ .job_item_id =
								      ar_job_item_id(d->arena, job, number),
							      .assigned_thread_id = in->thread_id });
	return AR_OK;
}

/* The same result again: of an item that was reported with it. */
static bool is_repeat(const struct ar_shape_job_item *row, struct ar_str ref)
{
	return ar_str_is(row->status, "reported") && ar_str_eq(row->output_ref, ref);
}

enum ar_status ar_decide_report_job_item(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_report_job_item_in *in = d->input->command.args;
	const struct ar_job_item *item;
	struct ar_shape_job_item row;
	struct ar_str why = AR_STR_NONE, ref;
	struct ar_job *job;
	int64_t number;

	if (need_item(d, in->job_id, in->job_item_id, &job, &number, err) != AR_OK)
		return AR_E_REFUSED;
	row = row_of(d);
	ref = ar_str_absent(in->output_ref) ? ar_decide_ref(d, in->result) : in->output_ref;
	item = ar_job_running(job, number);
	if (!item || job->status != AR_JOB_RUNNING) {
		if (!is_repeat(&row, ref))
			return ar_refuse(err, AR_ERR_ITEM_NOT_RUNNING, "item %lld is not at work",
					 (long long)number);
	} else {
		if (!fits(d, job, in->result, &why))
			return ar_refuse(err, AR_ERR_SCHEMA_MISMATCH, "%.*s", AR_STR_ARG(why));
		ar_job_stop_turn(d, job, item, AR_STR("its result was reported"));
		if (ar_str_absent(in->output_ref))
			ref = ar_decide_content(d, in->result);
		say_done(d, job, item,
			 &(struct done){ .output_ref = ref,
					 .status = AR_JOB_ITEM_COMPLETED_STATUS_REPORTED });
		ar_job_continue(d, job);
	}
	ar_decide_reply(d, AR_CMD_REPORT_JOB_ITEM,
			&(struct ar_cmd_report_job_item_out){ .job_item_id =
								      ar_job_item_id(d->arena, job, number),
							      .status = AR_REPORT_JOB_ITEM_STATUS_REPORTED });
	return AR_OK;
}
