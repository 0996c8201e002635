/* What a decision about a job has to read: the content with its next items, the instruction, the row of an
 * item; the result that a delivery is about, and the content that redact_output is about. Asked before each
 * input, so the common answer, that there is nothing, comes first. Pure. */
#include "delivery/delivery.h"
#include "identity.h"
#include "job/job.h"

/* A quarter of the places: items begin several at a time. */
bool ar_job_wants_items(const struct ar_job *job, int64_t ends)
{
	int64_t running = ar_job_at_work(job) - ends, free = job->concurrency - running;

	if (job->status == AR_JOB_PENDING)
		return true;
	return job->status == AR_JOB_RUNNING && free > 0 && !ar_str_absent(job->list_ref) &&
	       (running <= 0 || free >= (job->concurrency + 3) / 4);
}

static void add(struct ar_job_needs *n, struct ar_str ref)
{
	if (ar_str_absent(ref))
		return;
	for (size_t i = 0; i < n->count; i++) {
		if (ar_str_eq(n->refs[i], ref))
			return;
	}
	n->refs[n->count++] = ref;
}

static void add_turn(struct ar_job_needs *n, const struct ar_job *job, struct ar_str list_ref)
{
	add(n, job->instruction_ref);
	add(n, job->schema_ref);
	add(n, list_ref);
}

static void make_room(struct ar_job_needs *n, struct ar_arena *a, size_t count)
{
	n->refs = ar_arena_alloc(a, (count + 8) * sizeof(*n->refs));
}

static void for_end_of_item(const struct ar_job *job, struct ar_arena *a, struct ar_job_needs *n)
{
	make_room(n, a, 0);
	if (ar_job_wants_items(job, 1))
		add_turn(n, job, job->list_ref);
}

/* The attempt may have failed, and another one begin. */
static void for_next_attempt(const struct ar_job *job, int64_t number, struct ar_job_needs *n)
{
	const struct ar_job_item *item = ar_job_running(job, number);

	if (item && item->attempt < job->max_attempts.v)
		add_turn(n, job, item->input_ref);
}

static void for_new_job(const struct ar_cmd_create_job_in *in, struct ar_arena *a, struct ar_job_needs *n)
{
	make_room(n, a, in->input_refs.count);
	add(n, in->instruction_ref);
	add(n, in->output_schema_ref);
	for (size_t i = 0; i < in->input_refs.count && i < AR_JOB_INPUTS_MAX; i++)
		n->refs[n->count++] = in->input_refs.at[i];
}

/* The only content of another session that is read: what the session of the item put. */
static bool is_of_item(const struct ar_session *s, const struct ar_job *job, int64_t number,
		       struct ar_str ref, struct ar_arena *a)
{
	struct ar_str key;
	struct ar_hash hash;

	return ar_ref_parse(ref, &key, &hash) && ar_str_eq(key, ar_job_item_key(s, a, job, number));
}

static void for_report(const struct ar_session *s, const struct ar_cmd_report_turn_in *in, struct ar_arena *a,
		       struct ar_job_needs *n)
{
	int64_t number;
	const struct ar_job *job = ar_session_job_of(s, in->to, &number);

	if (!job)
		return;
	for_end_of_item(job, a, n);
	if (!ar_str_absent(job->schema_ref) || !ar_str_is(in->status, "completed"))
		for_next_attempt(job, number, n);
	if (!ar_str_absent(job->schema_ref) && is_of_item(s, job, number, in->output_ref, a)) {
		add(n, job->schema_ref);
		add(n, in->output_ref);
	}
}

static void need_row(const struct ar_job *job, int64_t number, struct ar_job_needs *n)
{
	n->has_row = true;
	n->list = job->list;
	n->number = number;
}

static struct ar_str ref_in(struct ar_str record, struct ar_json_parser *json, struct ar_arena *a)
{
	struct ar_str ref = AR_STR_NONE;
	struct ar_json v;

	if (!ar_str_absent(record) && ar_json_parse(json, record, &v, NULL) == AR_OK &&
	    ar_json_str(ar_json_get(v, "inputRef"), &ref))
		ref = ar_arena_str(a, ref);
	return ref;
}

static void for_retry(const struct ar_session *s, struct ar_str item, const struct ar_job_row *row,
		      struct ar_json_parser *json, struct ar_arena *a, struct ar_job_needs *n)
{
	int64_t number;
	const struct ar_job *job = ar_session_job_of(s, item, &number);

	if (!job)
		return;
	if (!row->is_known) {
		need_row(job, number, n);
		return;
	}
	make_room(n, a, 0);
	add_turn(n, job, ref_in(row->record, json, a));
}

static void for_reported(const struct ar_session *s, struct ar_str item, const struct ar_job_row *row,
			 struct ar_arena *a, struct ar_job_needs *n)
{
	int64_t number;
	const struct ar_job *job = ar_session_job_of(s, item, &number);

	if (!job)
		return;
	if (!row->is_known) {
		need_row(job, number, n);
		return;
	}
	for_end_of_item(job, a, n);
	add(n, job->schema_ref);
}

static void for_command(const struct ar_session *s, const struct ar_input_command *c,
			const struct ar_job_row *row, struct ar_json_parser *json, struct ar_arena *a,
			struct ar_job_needs *n)
{
	const struct ar_job *job;

	switch (c->id) {
	case AR_CMD_CREATE_JOB:
		for_new_job(c->args, a, n);
		return;
	case AR_CMD_START_JOB:
		job = ar_session_job(s, ((const struct ar_cmd_start_job_in *)c->args)->job_id);
		make_room(n, a, 0);
		if (job && job->status == AR_JOB_PENDING)
			add_turn(n, job, job->list_ref);
		return;
	case AR_CMD_REPORT_TURN:
		for_report(s, c->args, a, n);
		return;
	case AR_CMD_RETRY_JOB_ITEM:
		for_retry(s, ((const struct ar_cmd_retry_job_item_in *)c->args)->job_item_id, row, json, a,
			  n);
		return;
	case AR_CMD_REPORT_JOB_ITEM:
		for_reported(s, ((const struct ar_cmd_report_job_item_in *)c->args)->job_item_id, row, a, n);
		return;
	case AR_CMD_REDACT_OUTPUT:
		make_room(n, a, 0);
		add(n, ((const struct ar_cmd_redact_output_in *)c->args)->output_ref);
		return;
	default:
		return;
	}
}

static void for_recovery(const struct ar_session *s, struct ar_arena *a, struct ar_job_needs *n)
{
	size_t room = 0;

	for (size_t i = 0; i < s->jobs.count; i++)
		room += 3 + ((const struct ar_job *)s->jobs.at[i])->running.count;
	make_room(n, a, room);
	for (size_t i = 0; i < s->jobs.count; i++) {
		const struct ar_job *job = s->jobs.at[i];

		if (job->status != AR_JOB_RUNNING)
			continue;
		add_turn(n, job, job->list_ref);
		for (size_t k = 0; k < job->running.count; k++)
			add(n, ((const struct ar_job_item *)job->running.at[k])->input_ref);
	}
}

/* The answer to a submission: item and attempt. */
static void for_answer(const struct ar_session *s, struct ar_str subject, struct ar_arena *a,
		       struct ar_job_needs *n)
{
	int64_t number;
	uint64_t attempt;
	const struct ar_job *job = ar_session_job_of_subject(s, subject, &number, &attempt);

	if (!job)
		return;
	for_end_of_item(job, a, n);
	for_next_attempt(job, number, n);
}

bool ar_job_needs(const struct ar_session *s, const struct ar_input *in, const struct ar_job_row *row,
		  struct ar_json_parser *json, struct ar_arena *a, struct ar_job_needs *ret)
{
	const struct ar_job *job;

	*ret = (struct ar_job_needs){ 0 };
	if (in->kind == AR_IN_COMMAND) {
		for_command(s, &in->command, row, json, a, ret);
	} else if (in->kind == AR_IN_TASK_DUE && !ar_str_absent(ar_delivery_needs(s, in->due))) {
		make_room(ret, a, 1);
		add(ret, ar_delivery_needs(s, in->due));
	} else if (s->jobs.count == 0) {
		return false;
	} else if (in->kind == AR_IN_RECOVER) {
		for_recovery(s, a, ret);
	} else if (in->kind == AR_IN_SENT && in->sent->code) {
		for_answer(s, in->sent->subject, a, ret);
	} else if (in->kind == AR_IN_JOB_DUE) {
		job = ar_session_job(s, in->due);
		if (job)
			for_end_of_item(job, a, ret);
	}
	return ret->count > 0 || ret->has_row;
}
