/* A job at work: its items begin while there is room, and it ends when all are settled. The intent to begin
 * an item is a fact before its turn is submitted; ids that follow from the job make a repeat the same turn.
 * Pure. */
#include "delivery/delivery.h"
#include "describe.h"
#include "job/job.h"

struct ar_ids ar_job_ids(struct ar_decision *d, const struct ar_job *job)
{
	struct ar_ids ids = { 0 };

	(void)d;
	ids.at[AR_SCOPE_JOB] = job->id;
	ids.at[AR_SCOPE_TASK] = job->task;
	return ids;
}

struct ar_ids ar_job_item_ids(struct ar_decision *d, const struct ar_job *job, int64_t number)
{
	struct ar_ids ids = ar_job_ids(d, job);

	ids.at[AR_SCOPE_TASK] = AR_STR_NONE;
	ids.at[AR_SCOPE_JOB_ITEM] = ar_job_item_id(d->arena, job, number);
	return ids;
}

/* ---- the turn of an item ---- */

static struct ar_str input_of(struct ar_decision *d, const struct ar_job *job, struct ar_str text)
{
	struct ar_str instruction = ar_decide_text(d, job->instruction_ref);
	/* some models get both as one text */
	const struct ar_str parts[] = { ar_arena_fmt(d->arena, "%.*s\n\n", AR_STR_ARG(instruction)), text };
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open_array(&w);
	for (size_t i = 0; i < AR_ARRAY_LEN(parts); i++) {
		ar_jw_open(&w);
		ar_jw_mstr(&w, "type", AR_STR("text"));
		ar_jw_mstr(&w, "text", parts[i]);
		ar_jw_close(&w);
	}
	ar_jw_close_array(&w);
	return ar_decide_json_end(d);
}

/* The same for the same attempt, whenever it is made: it is sent again after a restart. */
static struct ar_str submission(struct ar_decision *d, const struct ar_job *job,
				const struct ar_job_attempt *attempt)
{
	static const struct ar_shape_turn_options none;
	static const struct ar_shape_create_policy nowhere;
	struct ar_str key = ar_job_item_key(d->session, d->arena, job, attempt->number);
	struct ar_shape_create_policy policy = job->policy ? *job->policy : nowhere;
	struct ar_shape_turn_options options = job->options ? *job->options : none;
	struct ar_cmd_submit_turn_in in = {
		.session_id = ar_id_root(d->arena, "sess", key),
		.create_policy = &policy,
		.turn_id = ar_job_item_turn(d->arena, key, attempt->count),
		.input = input_of(d, job, attempt->text),
		.options = &options,
		.busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_QUEUE,
		.source = AR_STR(AR_SOURCE_JOB),
		.report_to = ar_job_item_id(d->arena, job, attempt->number),
	};
	struct ar_jw w;

	policy.title =
		ar_arena_fmt(d->arena, "Item %lld of %.*s", (long long)attempt->number, AR_STR_ARG(job->id));
	if (!ar_str_absent(job->schema_ref))
		options.output_schema = ar_decide_text(d, job->schema_ref);
	w = ar_decide_json(d);
	ar_struct_encode(&ar_command_describe(AR_CMD_SUBMIT_TURN)->in, &in, AR_STR_NONE, &w);
	return ar_decide_json_end(d);
}

static void send_turn(struct ar_decision *d, const struct ar_job *job, const struct ar_job_attempt *attempt)
{
	struct ar_str id = ar_job_item_id(d->arena, job, attempt->number);

	ar_decide_send(d, &(struct ar_effect_send){ .subject = ar_arena_fmt(d->arena, "%.*s:%lld",
									    AR_STR_ARG(id),
									    (long long)attempt->count),
						    .command = AR_CMD_SUBMIT_TURN,
						    .body = submission(d, job, attempt),
						    .person = job->person });
}

void ar_job_start_item(struct ar_decision *d, struct ar_job *job, const struct ar_job_attempt *attempt)
{
	struct ar_ids ids = ar_job_item_ids(d, job, attempt->number);
	struct ar_str key = ar_job_item_key(d->session, d->arena, job, attempt->number);

	ar_decide_emit(d, AR_EV_JOB_ITEM_STARTED, &ids,
		       &(struct ar_ev_job_item_started){ .attempt_count = attempt->count,
							 .assigned_thread_id =
								 ar_job_item_thread(d->arena, key),
							 .input_ref = attempt->input_ref });
	send_turn(d, job, attempt);
}

void ar_job_resend(struct ar_decision *d, const struct ar_job *job)
{
	struct ar_job_page page = { 0 };
	struct ar_str ref = AR_STR_NONE;

	for (size_t i = 0; i < job->running.count; i++) {
		const struct ar_job_item *item = job->running.at[i];

		if (item->is_assigned)
			continue;
		if (!ar_str_eq(ref, item->input_ref) && !ar_job_read_list(d, item->input_ref, &page))
			continue; /* its content is gone: it ends when the job does */
		ref = item->input_ref;
		if (item->number < page.first || item->number >= page.first + (int64_t)page.count)
			continue;
		send_turn(d, job,
			  &(struct ar_job_attempt){ .number = item->number,
						    .count = item->attempt,
						    .input_ref = item->input_ref,
						    .text = page.items[item->number - page.first] });
	}
}

/* The answer says nothing that is needed: the end of the turn is not waited for. */
void ar_job_stop_turn(struct ar_decision *d, const struct ar_job *job, const struct ar_job_item *item,
		      struct ar_str reason)
{
	struct ar_str key = ar_job_item_key(d->session, d->arena, job, item->number);
	const struct ar_cmd_interrupt_turn_in in = { .session_id = ar_id_root(d->arena, "sess", key),
						     .turn_id =
							     ar_job_item_turn(d->arena, key, item->attempt),
						     .reason = reason };
	struct ar_jw w;

	if (item->is_assigned)
		return;
	w = ar_decide_json(d);
	ar_struct_encode(&ar_command_describe(AR_CMD_INTERRUPT_TURN)->in, &in, AR_STR_NONE, &w);
	ar_decide_send(d, &(struct ar_effect_send){ .subject = AR_STR("job_stop"),
						    .command = AR_CMD_INTERRUPT_TURN,
						    .body = ar_decide_json_end(d) });
}

void ar_job_stop_turns(struct ar_decision *d, const struct ar_job *job, struct ar_str reason)
{
	for (size_t i = 0; i < job->running.count; i++)
		ar_job_stop_turn(d, job, job->running.at[i], reason);
}

/* ---- where it is ---- */

static void say_progress(struct ar_decision *d, const struct ar_job *job, struct ar_str list_ref)
{
	struct ar_ids ids = ar_job_ids(d, job);
	const struct ar_shape_job_counts counts = ar_job_counts(job);

	ids.at[AR_SCOPE_TASK] = AR_STR_NONE;
	ar_decide_emit(d, AR_EV_JOB_PROGRESS, &ids,
		       &(struct ar_ev_job_progress){
			       .counts = &counts,
			       .item_cursor = ar_job_cursor_text(d->arena, job->cursor, list_ref) });
}

void ar_job_say_progress(struct ar_decision *d, const struct ar_job *job)
{
	say_progress(d, job, job->list_ref);
}

void ar_job_item_failed(struct ar_decision *d, const struct ar_job *job, const struct ar_job_item *item,
			const struct ar_job_failure *why)
{
	struct ar_ids ids = ar_job_item_ids(d, job, item->number);
	const struct ar_shape_failure error = { .category = why->category,
						.message = why->message,
						.retryable = AR_OPT_BOOL(why->retryable) };

	ar_decide_emit(d, AR_EV_JOB_ITEM_FAILED, &ids,
		       &(struct ar_ev_job_item_failed){
			       .attempt_count = item->attempt,
			       .last_error = &error,
			       .retryable = why->retryable && !why->is_final,
			       .assigned_thread_id = ar_job_thread_of(d->session, d->arena, job, item),
			       .input_ref = item->input_ref,
			       .usage = why->usage,
			       .cost = why->cost });
}

void ar_job_fail(struct ar_decision *d, struct ar_job *job, struct ar_str category, struct ar_str message)
{
	struct ar_ids ids = ar_job_ids(d, job);
	const struct ar_shape_job_counts counts = ar_job_counts(job);

	ids.at[AR_SCOPE_TASK] = AR_STR_NONE;
	ar_job_stop_turns(d, job, message);
	ar_decide_emit(d, AR_EV_JOB_FAILED, &ids,
		       &(struct ar_ev_job_failed){
			       .error = &(struct ar_shape_failure){ .category = category,
								    .message = message,
								    .retryable = AR_OPT_BOOL(false) },
			       .counts = &counts });
	ar_decide_wake_cancel(d, job->id);
	ar_job_report(d, job);
	ar_delivery_begin_job(d, job);
}

static void complete(struct ar_decision *d, const struct ar_job *job)
{
	struct ar_ids ids = ar_job_ids(d, job);
	const struct ar_shape_job_counts counts = ar_job_counts(job);

	ids.at[AR_SCOPE_TASK] = AR_STR_NONE;
	ar_decide_emit(d, AR_EV_JOB_COMPLETED, &ids,
		       &(struct ar_ev_job_completed){ .counts = &counts, .ended_at = d->input->now });
	ar_decide_wake_cancel(d, job->id);
	ar_job_report(d, job);
	ar_delivery_begin_job(d, job);
}

/* ---- going on ---- */

/* The engine looked for the content, and it is not there. */
static bool is_gone(const struct ar_decision *d, struct ar_str ref)
{
	const struct ar_job_read *read = d->input->read;

	for (size_t i = 0; read && i < read->text_count; i++) {
		if (ar_str_eq(read->texts[i].ref, ref))
			return ar_str_absent(read->texts[i].bytes);
	}
	return false;
}

static bool is_list_gone(const struct ar_decision *d, const struct ar_job *job)
{
	return is_gone(d, job->list_ref) || is_gone(d, job->instruction_ref) ||
	       (!ar_str_absent(job->schema_ref) && is_gone(d, job->schema_ref));
}

/* From one content of the list: the next one is for the next decision. */
static void fill(struct ar_decision *d, struct ar_job *job)
{
	struct ar_str ref = job->list_ref;
	struct ar_job_page page;
	int64_t end;

	if (ar_str_absent(ref) || ar_str_absent(ar_decide_text(d, job->instruction_ref)) ||
	    !ar_job_read_list(d, ref, &page))
		return;
	end = page.first + (int64_t)page.count;
	while (d->fault == AR_OK && ar_job_at_work(job) < job->concurrency && job->cursor < end &&
	       job->cursor >= page.first)
		ar_job_start_item(d, job,
				  &(struct ar_job_attempt){ .number = job->cursor,
							    .count = 1,
							    .input_ref = ref,
							    .text = page.items[job->cursor - page.first] });
	if (job->cursor >= end)
		say_progress(d, job, page.next);
}

static bool is_settled(const struct ar_job *job)
{
	return job->running.count == 0 && job->retryable == 0 && ar_job_counts(job).pending.v == 0;
}

void ar_job_continue(struct ar_decision *d, struct ar_job *job)
{
	if (job->status != AR_JOB_RUNNING)
		return;
	if (ar_job_wants_items(job, 0)) {
		if (is_list_gone(d, job)) {
			ar_job_fail(d, job, AR_STR("input_missing"),
				    AR_STR("the list of the items, the instruction or the schema is not "
					   "stored any more"));
			return;
		}
		fill(d, job);
	}
	if (is_settled(job)) {
		complete(d, job);
		return;
	}
	if (ar_job_at_work(job) == 0 && ar_job_counts(job).pending.v > 0)
		ar_decide_wake(d, AR_IN_JOB_DUE, job->id, d->input->now);
	else if (job->progressed != d->input->now &&
		 (ar_job_at_work(job) == 0 || d->input->now - job->progressed >= AR_JOB_PROGRESS))
		ar_job_say_progress(d, job);
}

void ar_job_begin(struct ar_decision *d, struct ar_job *job)
{
	struct ar_ids ids = ar_job_ids(d, job);

	ids.at[AR_SCOPE_TASK] = AR_STR_NONE;
	ar_decide_emit(d, AR_EV_JOB_STARTED, &ids,
		       &(struct ar_ev_job_started){ .started_at = d->input->now,
						    .assigned_thread_ids = ar_texts_empty });
	ar_job_set_clock(d, job);
	ar_job_continue(d, job);
}
