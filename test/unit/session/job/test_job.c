/* Jobs, with the engine and the sessions of the items played: contents are kept here, ends of turns are told
 * as report_turn. What must hold after every decision is checked after every decision. */
#include "codec.h"
#include "desk.h"
#include "job/job.h"
#include "mem.h"

#include <stdio.h>
#include <string.h>

#define KEPT_MAX 512

struct bench {
	struct desk *desk;
	struct ar_arena arena;
	struct ar_text kept[KEPT_MAX]; /* contents that decisions stored */
	size_t kept_count;
	struct ar_job_read read;
	struct ar_text texts[KEPT_MAX];
};

static void keep_contents(struct bench *b)
{
	const struct ar_decision *d = &b->desk->decision;

	for (size_t i = 0; i < d->content_count && b->kept_count < KEPT_MAX; i++) {
		struct ar_decision one = { .arena = &b->arena, .session = &b->desk->session };

		b->kept[b->kept_count++] = (struct ar_text){ ar_decide_ref(&one, d->contents[i].bytes),
							     ar_arena_str(&b->arena, d->contents[i].bytes) };
	}
}

static struct ar_str kept(const struct bench *b, struct ar_str ref)
{
	for (size_t i = 0; i < b->kept_count; i++) {
		if (ar_str_eq(b->kept[i].ref, ref))
			return b->kept[i].bytes;
	}
	return AR_STR_NONE;
}

/* The state of a session is what its snapshot restores. */
static void check_snapshot(struct bench *b)
{
	struct ar_buf first = { 0 }, second = { 0 };
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_session other;
	struct ar_json v;

	ar_session_snapshot(&b->desk->session, &first);
	ar_session_init(&other, b->desk->session.session_key, b->desk->json);
	assert_int_equal(ar_json_parse(json, ar_buf_str(&first), &v, NULL), AR_OK);
	assert_int_equal(ar_session_restore(&other, v, NULL), AR_OK);
	ar_session_snapshot(&other, &second);
	assert_true(ar_str_eq(ar_buf_str(&first), ar_buf_str(&second)));
	ar_session_fini(&other);
	ar_json_parser_free(json);
	ar_buf_fini(&first);
	ar_buf_fini(&second);
}

static void check_laws(struct bench *b)
{
	for (size_t i = 0; i < b->desk->session.jobs.count; i++) {
		const struct ar_job *job = b->desk->session.jobs.at[i];
		struct ar_shape_job_counts c = ar_job_counts(job);

		assert_true(c.pending.v >= 0 && job->retryable >= 0 && job->retryable <= job->failed);
		assert_int_equal(c.pending.v + c.running.v + c.completed.v + c.failed.v + c.reported.v,
				 job->item_count);
		assert_true(job->cursor <= job->item_count);
	}
	check_snapshot(b);
}

static enum ar_status play(struct bench *b, struct ar_input in)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_job_needs needs;
	enum ar_status rc;

	if (ar_job_needs(&b->desk->session, &in, &b->read.row, json, &b->arena, &needs)) {
		for (size_t i = 0; i < needs.count; i++)
			b->texts[i] = (struct ar_text){ needs.refs[i], kept(b, needs.refs[i]) };
		b->read.texts = b->texts;
		b->read.text_count = needs.count;
		in.read = &b->read;
	}
	ar_json_parser_free(json);
	rc = desk_do(b->desk, in);
	if (rc == AR_OK) {
		keep_contents(b);
		check_laws(b);
	}
	b->read = (struct ar_job_read){ 0 };
	return rc;
}

static enum ar_status command(struct bench *b, enum ar_command id, const void *args)
{
	return play(b, (struct ar_input){ .kind = AR_IN_COMMAND, .command = { .id = id, .args = args } });
}

static struct ar_job *make(struct bench *b, struct ar_str input, int64_t concurrency)
{
	const struct ar_cmd_create_job_in in = { .instruction = AR_STR("Do it."),
						 .input = input,
						 .concurrency = AR_OPT_INT(concurrency) };

	assert_int_equal(command(b, AR_CMD_CREATE_JOB, &in), AR_OK);
	return b->desk->session.jobs.at[b->desk->session.jobs.count - 1];
}

/* The turn of attempt `attempt` at the item ended so. */
static enum ar_status report(struct bench *b, const struct ar_job *job, int64_t number, int64_t attempt,
			     const char *status)
{
	struct ar_str key = ar_job_item_key(&b->desk->session, &b->arena, job, number);
	const struct ar_cmd_report_turn_in in = { .to = ar_job_item_id(&b->arena, job, number),
						  .turn_id = ar_job_item_turn(&b->arena, key, attempt),
						  .session_id = ar_id_root(&b->arena, "sess", key),
						  .status = ar_str_from(status),
						  .output_ref = AR_STR("blob_x") };

	return play(b, (struct ar_input){ .kind = AR_IN_COMMAND,
					  .is_runtime = true,
					  .command = { .id = AR_CMD_REPORT_TURN, .args = &in } });
}

static int open_bench(void **state)
{
	struct bench *b = ar_new0(sizeof(*b));
	void *desk;

	desk_open(&desk);
	b->desk = desk;
	*state = b;
	return 0;
}

static int close_bench(void **state)
{
	struct bench *b = *state;
	void *desk = b->desk;

	desk_close(&desk);
	ar_arena_fini(&b->arena);
	ar_free(b);
	return 0;
}

static struct ar_str numbered(struct bench *b, int count)
{
	struct ar_buf text = { 0 };
	struct ar_str kept_text;

	for (int i = 0; i < count; i++)
		ar_buf_addf(&text, "item %d\n", i);
	kept_text = ar_arena_str(&b->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
	return kept_text;
}

static void items_run_to_their_end(void **state)
{
	struct bench *b = *state;
	struct ar_job *job = make(b, AR_STR("a\nb\nc\n"), 2);

	desk_expect(b->desk, "session.created thread.started job.created job.started job.item.started "
			     "job.item.started");
	assert_int_equal(desk_effects(b->desk, AR_EFFECT_SEND), 2);
	assert_true(ar_session_is_active(&b->desk->session));
	assert_int_equal(report(b, job, 1, 1, "completed"), AR_OK);
	desk_expect(b->desk, "job.item.completed job.item.started job.progress");
	assert_int_equal(report(b, job, 1, 1, "completed"), AR_OK);
	desk_expect(b->desk, ""); /* it came twice */
	assert_int_equal(report(b, job, 0, 1, "completed"), AR_OK);
	assert_int_equal(report(b, job, 2, 1, "completed"), AR_OK);
	desk_expect(b->desk, "job.item.completed job.completed");
	assert_false(ar_session_is_active(&b->desk->session));
}

static void a_list_of_many_contents_is_gone_through_in_order(void **state)
{
	struct bench *b = *state;
	struct ar_job *job = make(b, numbered(b, 700), 1);
	size_t early = 0;

	for (int64_t i = 0; i < 700; i++) {
		if (i == 100)
			early = b->desk->session.arena.total;
		assert_int_equal(job->running.count, 1);
		assert_int_equal(((const struct ar_job_item *)job->running.at[0])->number, i);
		assert_int_equal(report(b, job, i, 1, "completed"), AR_OK);
	}
	assert_int_equal(job->status, AR_JOB_COMPLETED);
	assert_int_equal(job->completed, 700);
	/* the refs of two more contents, and nothing an item */
	assert_true(b->desk->session.arena.total - early < 2048);
}

/* One content of a list after the other, each as `first:length of an item,...`. */
static void expect_list(struct bench *b, struct ar_str ref, const char *expected)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_buf got = { 0 };
	struct ar_json v;

	while (!ar_str_absent(ref)) {
		struct ar_str item;
		int64_t first = -1;

		assert_int_equal(ar_json_parse(json, kept(b, ref), &v, NULL), AR_OK);
		assert_true(ar_json_i64(ar_json_get(v, "first"), &first));
		ar_buf_addf(&got, "%lld:", (long long)first);
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(v, "items")); ar_json_next(&it);) {
			assert_true(ar_json_str(it.value, &item));
			ar_buf_addf(&got, "%.1s%zu,", item.p, item.len);
		}
		if (!ar_json_str(ar_json_get(v, "next"), &ref))
			ref = AR_STR_NONE;
		ref = ar_arena_str(&b->arena, ref);
	}
	assert_string_equal(ar_arena_str(&b->arena, ar_buf_str(&got)).p, expected);
	ar_buf_fini(&got);
	ar_json_parser_free(json);
}

static void lines_are_items_wherever_a_content_ends(void **state)
{
	struct bench *b = *state;
	char *text = ar_arena_alloc(&b->arena, AR_JOB_ITEM_BYTES * 2);
	size_t len;

	memset(text, 'x', AR_JOB_ITEM_BYTES * 2);
	memcpy(text, "\r\n\na\r\n\nb\r\r\n", 11);
	len = 11 + 50000; /* more than a content takes, and less than an item may have */
	memcpy(text + len, "\n\nccc\r\n\r\n\r\r", 11);
	expect_list(b, make(b, (struct ar_str){ text, len + 11 }, 1)->list_ref, "0:a1,b2,2:x50000,3:c3,\r1,");
	expect_list(b, make(b, AR_STR("\n\none\ntwo"), 1)->list_ref, "0:o3,t3,");
}

static void a_report_of_another_attempt_or_session_says_nothing(void **state)
{
	struct bench *b = *state;
	struct ar_job *job = make(b, AR_STR("a\nb"), 2);
	struct ar_cmd_report_turn_in in = { .to = ar_job_item_id(&b->arena, job, 0),
					    .turn_id = AR_STR("item-x-1"),
					    .session_id = b->desk->session.id,
					    .status = AR_STR("completed") };

	assert_int_equal(report(b, job, 0, 2, "completed"), AR_OK);
	desk_expect(b->desk, "");
	assert_int_equal(play(b, (struct ar_input){ .kind = AR_IN_COMMAND,
						    .is_runtime = true,
						    .command = { .id = AR_CMD_REPORT_TURN, .args = &in } }),
			 AR_OK);
	desk_expect(b->desk, "");
	in.to = AR_STR("job_0123456789abcdefghjkmnpqrs_1.7");
	desk_expect_refusal(b->desk,
			    play(b,
				 (struct ar_input){ .kind = AR_IN_COMMAND,
						    .is_runtime = true,
						    .command = { .id = AR_CMD_REPORT_TURN, .args = &in } }),
			    AR_ERR_NOT_FOUND);
	desk_expect_refusal(b->desk, command(b, AR_CMD_REPORT_TURN, &in), AR_ERR_NOT_AUTHORIZED);
}

#define RUN "sched_0000000000p008104g20810g10_3"

/* The schedule is told until it has answered. */
static void a_job_of_a_schedule_reports_its_end(void **state)
{
	struct bench *b = *state;
	const struct ar_cmd_create_job_in in = { .instruction = AR_STR("Do it."),
						 .input = AR_STR("a"),
						 .report_to = AR_STR(RUN) };
	struct ar_sent answer = { .code = 0, .reply = AR_STR("{}") };
	struct ar_job *job;

	desk_expect_refusal(b->desk, command(b, AR_CMD_CREATE_JOB, &in), AR_ERR_INVALID_INPUT);
	assert_int_equal(play(b, (struct ar_input){ .kind = AR_IN_COMMAND,
						    .is_runtime = true,
						    .command = { .id = AR_CMD_CREATE_JOB, .args = &in } }),
			 AR_OK);
	desk_expect_payload(b->desk, AR_EV_JOB_CREATED,
			    "\"scheduleId\":\"sched_0000000000p008104g20810g10\",\"scheduleRunId\":\"" RUN
			    "\"");
	job = b->desk->session.jobs.at[0];
	assert_int_equal(report(b, job, 0, 1, "completed"), AR_OK);
	desk_expect(b->desk, "job.item.completed job.completed");
	assert_int_equal(desk_effects(b->desk, AR_EFFECT_SEND), 1);
	assert_true(ar_session_is_active(&b->desk->session));
	/* it was not answered: again after a restart */
	assert_int_equal(play(b, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(b->desk, AR_EFFECT_SEND), 1);
	for (size_t i = 0; i < b->desk->decision.effect_count; i++) {
		const struct ar_effect *effect = &b->desk->decision.effects[i];

		if (effect->kind == AR_EFFECT_SEND) {
			assert_int_equal(effect->send.command, AR_CMD_REPORT_JOB);
			answer.subject = ar_arena_str(&b->arena, effect->send.subject);
		}
	}
	assert_int_equal(play(b, (struct ar_input){ .kind = AR_IN_SENT, .sent = &answer }), AR_OK);
	desk_expect_payload(b->desk, AR_EV_JOB_REPORTED, "\"to\":\"" RUN "\",\"result\":\"accepted\"");
	assert_false(ar_session_is_active(&b->desk->session));
	assert_int_equal(play(b, (struct ar_input){ .kind = AR_IN_SENT, .sent = &answer }), AR_OK);
	desk_expect(b->desk, "");
}

static void what_is_at_work_is_sent_again_as_it_was(void **state)
{
	struct bench *b = *state;
	struct ar_job *job = make(b, AR_STR("a\nb\nc"), 2);
	struct ar_str first = ar_arena_str(&b->arena, b->desk->decision.effects[0].send.body);

	assert_int_equal(play(b, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(b->desk, AR_EFFECT_SEND), 2);
	assert_true(ar_str_eq(b->desk->decision.effects[0].send.body, first));
	assert_int_equal(job->running.count, 2);
}

static void a_session_that_comes_back_says_that_its_jobs_did(void **state)
{
	struct bench *b = *state;

	make(b, AR_STR("a"), 1);
	assert_int_equal(desk_submit(b->desk, "turn"), AR_OK);
	keep_contents(b);
	assert_int_equal(play(b, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	desk_expect_payload(b->desk, AR_EV_HISTORY_RECONSTRUCTED, "\"jobs\":\"restored\"");
}

static void a_turn_that_is_refused_is_a_failed_item(void **state)
{
	struct bench *b = *state;
	struct ar_job *job = make(b, AR_STR("a\nb"), 1);
	const struct ar_sent refused = { .subject = ar_arena_fmt(&b->arena, "%.*s.0:1", AR_STR_ARG(job->id)),
					 .code = AR_ERR_POLICY_DENIED,
					 .reply = AR_STR(
						 "{\"error\":{\"message\":\"no\",\"retryable\":false}}") };
	const struct ar_sent known = { .subject = ar_arena_fmt(&b->arena, "%.*s.1:1", AR_STR_ARG(job->id)),
				       .code = AR_ERR_ID_CONFLICT,
				       .reply = AR_STR("{}") };

	assert_int_equal(play(b, (struct ar_input){ .kind = AR_IN_SENT, .sent = &refused }), AR_OK);
	desk_expect_payload(b->desk, AR_EV_JOB_ITEM_FAILED,
			    "\"category\":\"policy_denied\",\"message\":\"no\"");
	assert_int_equal(job->running.count, 1);
	assert_int_equal(play(b, (struct ar_input){ .kind = AR_IN_SENT, .sent = &known }), AR_OK);
	desk_expect(b->desk, ""); /* the turn is there, from before a restart */
	assert_int_equal(report(b, job, 1, 1, "completed"), AR_OK);
	assert_int_equal(job->status, AR_JOB_COMPLETED); /* nothing is left that may be tried again */
}

static void only_a_failed_item_is_tried_again_by_what_its_row_says(void **state)
{
	struct bench *b = *state;
	struct ar_job *job = make(b, AR_STR("a\nb"), 1);
	struct ar_str ref = ar_arena_str(&b->arena, job->list_ref);
	const struct ar_cmd_retry_job_item_in in = { .job_id = job->id,
						     .job_item_id = ar_job_item_id(&b->arena, job, 0) };

	assert_int_equal(report(b, job, 0, 1, "failed"), AR_OK);
	assert_int_equal(report(b, job, 1, 1, "completed"), AR_OK);
	assert_int_equal(job->status, AR_JOB_RUNNING);
	b->read.row = (struct ar_job_row){ .is_known = true };
	desk_expect_refusal(b->desk, command(b, AR_CMD_RETRY_JOB_ITEM, &in), AR_ERR_ITEM_NOT_FAILED);
	b->read.row = (struct ar_job_row){
		true, ar_arena_fmt(&b->arena,
				   "{\"jobItemId\":\"x\",\"status\":\"failed\",\"attemptCount\":1,"
				   "\"retryable\":true,\"inputRef\":\"%.*s\"}",
				   AR_STR_ARG(ref))
	};
	assert_int_equal(command(b, AR_CMD_RETRY_JOB_ITEM, &in), AR_OK);
	desk_expect(b->desk, "job.item.started job.progress");
	desk_expect_reply(b->desk, "\"attemptCount\":2");
	assert_int_equal(report(b, job, 0, 1, "completed"), AR_OK);
	desk_expect(b->desk, ""); /* the first attempt is over */
	assert_int_equal(report(b, job, 0, 2, "completed"), AR_OK);
	assert_int_equal(job->status, AR_JOB_COMPLETED);
}

static void an_item_assigned_ahead_is_passed_over(void **state)
{
	struct bench *b = *state;
	struct ar_job *job = make(b, AR_STR("a\nb\nc"), 1);
	const struct ar_cmd_assign_job_item_in in = { .job_id = job->id,
						      .job_item_id = ar_job_item_id(&b->arena, job, 1),
						      .thread_id = desk_thread(b->desk, 0)->id };

	assert_int_equal(command(b, AR_CMD_ASSIGN_JOB_ITEM, &in), AR_OK);
	desk_expect(b->desk, "job.item.started job.progress");
	assert_int_equal(report(b, job, 0, 1, "completed"), AR_OK);
	assert_non_null(ar_job_running(job, 1));
	assert_non_null(ar_job_running(job, 2)); /* an item that somebody else has takes no place */
	assert_int_equal(job->cursor, 3);
	assert_int_equal(job->ahead.count, 0);
}

static void a_job_whose_list_is_gone_failed(void **state)
{
	struct bench *b = *state;
	struct ar_job *job = make(b, AR_STR("a\nb"), 1);

	b->kept_count = 0;
	assert_int_equal(report(b, job, 0, 1, "completed"), AR_OK);
	desk_expect(b->desk, "job.item.completed job.failed");
	desk_expect_payload(b->desk, AR_EV_JOB_FAILED, "\"category\":\"input_missing\"");
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_bench, close_bench)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(items_run_to_their_end),
		T(a_list_of_many_contents_is_gone_through_in_order),
		T(lines_are_items_wherever_a_content_ends),
		T(a_report_of_another_attempt_or_session_says_nothing),
		T(what_is_at_work_is_sent_again_as_it_was),
		T(a_job_of_a_schedule_reports_its_end),
		T(a_session_that_comes_back_says_that_its_jobs_did),
		T(a_turn_that_is_refused_is_a_failed_item),
		T(only_a_failed_item_is_tried_again_by_what_its_row_says),
		T(an_item_assigned_ahead_is_passed_over),
		T(a_job_whose_list_is_gone_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
