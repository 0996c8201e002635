/* Outputs with a lifetime, and content that is redacted later: which facts, what the state keeps of them,
 * and what stays because something needs it. */
#include "desk.h"
#include "identity.h"
#include "job/job.h"
#include "json.h"
#include "output/outputs.h"

#include <stdio.h>
#include <string.h>

#define SECOND ((ar_usec)1000000)
#define LIMIT 64 /* bytes of a result that a model reads */

static const struct ar_tool put = { .name = AR_STR("put"),
				    .description = AR_STR("Puts."),
				    .schema = AR_STR("{\"type\":\"object\"}"),
				    .owner = AR_TOOL_LOCAL };
static const struct ar_tool *const tools[] = { &put };
static const struct ar_inventory inventory = { tools, AR_ARRAY_LEN(tools), 1, true };

static int open_desk(void **state)
{
	struct desk *d;

	desk_open(state);
	d = *state;
	d->policy.inventory = &inventory;
	d->policy.permission_mode = AR_MODE_BYPASS;
	d->policy.max_rounds = 5000;
	d->policy.tool_result_bytes = LIMIT;
	d->policy.output_seconds = 10;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	return 0;
}

/* A call of the running turn ends with this; its ref. */
static struct ar_str result(struct desk *d, const char *text)
{
	struct ar_tool_use use = { AR_STR("call"), AR_STR("put"), AR_STR("{}") };
	struct ar_step_output out = {
		.tools = &use, .tool_count = 1, .text = AR_STR(""), .step = desk_active(d)->open_step
	};
	const struct ar_vec *calls = &desk_active(d)->calls;

	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						       .model_done = { .output = &out,
								       .end =
									       &(struct ar_model_result){
										       .outcome = 1 } } }),
			 AR_OK);
	desk_end_call(d, ((const struct ar_invocation *)calls->at[calls->count - 1])->id,
		      &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = ar_str_from(text) });
	return ((const struct ar_invocation *)calls->at[calls->count - 1])->output_ref;
}

static const char *long_text(char *out, unsigned number)
{
	snprintf(out, 256, "%0200u", number);
	return out;
}

static size_t count(const struct desk *d, enum ar_event_type type)
{
	size_t n = 0;

	for (size_t i = 0; i < d->decision.event_count; i++)
		n += d->decision.events[i].type == type;
	return n;
}

static void wake(struct desk *d)
{
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_SCHEDULE_DUE }), AR_OK);
}

static void outputs_leave_at_their_time_and_not_before(void **state)
{
	struct desk *d = *state;
	char text[256];
	struct ar_str first = result(d, long_text(text, 1)), second;
	ar_usec due = ar_session_due(&d->session), later;

	assert_int_equal(due, d->now + 10 * SECOND);
	d->now += SECOND;
	second = result(d, long_text(text, 2));
	later = d->now + 10 * SECOND;
	result(d, "short");
	assert_int_equal(ar_session_due(&d->session), due);
	wake(d);
	assert_int_equal(count(d, AR_EV_OUTPUT_EXPIRED), 0);
	d->now = due;
	wake(d);
	assert_int_equal(count(d, AR_EV_OUTPUT_EXPIRED), 1);
	assert_non_null(ar_session_removed_output(&d->session, first));
	assert_null(ar_session_removed_output(&d->session, second));
	assert_int_equal(ar_session_due(&d->session), later);
	wake(d);
	assert_int_equal(d->decision.event_count, 0);
}

static void the_same_bytes_again_live_longer(void **state)
{
	struct desk *d = *state;
	char text[256];
	struct ar_str ref = result(d, long_text(text, 1));

	d->now += 5 * SECOND;
	assert_true(ar_str_eq(result(d, text), ref));
	assert_int_equal(ar_session_due(&d->session), d->now + 10 * SECOND);
	d->now += 10 * SECOND;
	wake(d);
	assert_int_equal(count(d, AR_EV_OUTPUT_EXPIRED), 1);
	assert_true(ar_str_eq(result(d, text), ref));
	assert_null(ar_session_removed_output(&d->session, ref));
}

static void what_the_conversation_has_stays(void **state)
{
	struct desk *d = *state;
	char text[256];
	struct ar_str ref = result(d, long_text(text, 1));
	struct ar_context_entry *entry = desk_thread(d, 0)->context.at[0];
	struct ar_str was = entry->ref;

	entry->ref = ref;
	d->now += 60 * SECOND;
	assert_int_equal(ar_session_due(&d->session), 0);
	wake(d);
	assert_int_equal(d->decision.event_count, 0);
	entry->ref = was;
	assert_true(ar_session_due(&d->session) > 0);
	wake(d);
	assert_int_equal(count(d, AR_EV_OUTPUT_EXPIRED), 1);
}

static void only_so_many_have_a_lifetime(void **state)
{
	struct desk *d = *state;
	char text[256];

	for (unsigned i = 0; i < AR_EXPIRING_MAX + 2; i++)
		result(d, long_text(text, i));
	assert_int_equal(d->session.expiring.count, AR_EXPIRING_MAX);
	d->now += 60 * SECOND;
	for (size_t rounds = 0; ar_session_due(&d->session); rounds++) {
		assert_true(rounds < 20);
		wake(d);
	}
	assert_int_equal(d->session.expiring.count, 0);
	assert_int_equal(d->session.removed.count, AR_WINDOW_REMOVED);
}

static void a_policy_of_the_session_comes_first(void **state)
{
	struct desk *d = *state;
	char text[256];
	const struct ar_cmd_set_policy_in in = { .scope = AR_SET_POLICY_SCOPE_SESSION,
						 .scope_id = d->session.id,
						 .policy = AR_STR("{\"outputSeconds\":0}") };

	assert_int_equal(desk_command(d, AR_CMD_SET_POLICY, &in), AR_OK);
	result(d, long_text(text, 1));
	assert_int_equal(ar_session_due(&d->session), 0);
}

/* ---- redaction ---- */

static enum ar_status redact(struct desk *d, struct ar_str ref, const char *content,
			     struct ar_shape_byte_range_list ranges)
{
	const struct ar_cmd_redact_output_in in = { .session_id = d->session.id,
						    .output_ref = ref,
						    .ranges = ranges };
	struct ar_text text = { ref, content ? ar_str_from(content) : AR_STR_NONE };
	struct ar_job_read read = { .texts = &text, .text_count = 1 };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .read = &read,
					     .command = { .id = AR_CMD_REDACT_OUTPUT, .args = &in } });
}

static void expect_content(struct desk *d, const char *text)
{
	assert_true(d->decision.content_count > 0);
	assert_true(ar_str_is(d->decision.contents[0].bytes, text));
}

static void ranges_are_replaced_and_the_conversation_follows(void **state)
{
	const struct ar_shape_byte_range parts[] = { { .offset = 0, .length = 2 },
						     { .offset = 4, .length = 3 } };
	struct desk *d = *state;
	struct ar_str ref = result(d, "0123456789"), now;
	const struct ar_removed_output *removed;
	const struct ar_thread *t = desk_thread(d, 0);
	const struct ar_context_entry *entry;

	desk_answer(d, "done");
	entry = ar_vec_last_with(&t->context, offsetof(struct ar_context_entry, ref), ref);
	assert_non_null(entry);
	assert_int_equal(redact(d, ref, "0123456789", (struct ar_shape_byte_range_list){ parts, 2 }), AR_OK);
	expect_content(d, "[redacted]23[redacted]789");
	desk_expect_reply(d, "\"redactedBytes\":5");
	now = ar_session_output_now(&d->session, ref, &removed);
	assert_non_null(removed);
	assert_false(ar_str_eq(now, ref));
	assert_true(ar_str_eq(entry->ref, now));
	desk_expect_refusal(d, redact(d, ref, "0123456789", (struct ar_shape_byte_range_list){ 0 }),
			    AR_ERR_REDACTED);
	assert_int_equal(redact(d, now, "[redacted]23[redacted]789", (struct ar_shape_byte_range_list){ 0 }),
			 AR_OK);
	ar_session_output_now(&d->session, ref, &removed);
	assert_true(removed->whole.v);
}

static void what_cannot_be_redacted_is_refused_and_changes_nothing(void **state)
{
	const struct ar_shape_byte_range outside = { .offset = 9, .length = 2 },
					 half = { .offset = 1, .length = 1 },
					 brace = { .offset = 0, .length = 1 },
					 huge = { .offset = INT64_MAX, .length = INT64_MAX };
	struct desk *d = *state;
	struct ar_str ref = result(d, "0123456789"), args;

	desk_expect_refusal(d, redact(d, ref, "0123456789", (struct ar_shape_byte_range_list){ &outside, 1 }),
			    AR_ERR_INVALID_INPUT);
	desk_expect_refusal(d, redact(d, ref, "0123456789", (struct ar_shape_byte_range_list){ &huge, 1 }),
			    AR_ERR_INVALID_INPUT);
	desk_expect_refusal(d, redact(d, ref, "\xc3\xa4", (struct ar_shape_byte_range_list){ &half, 1 }),
			    AR_ERR_INVALID_INPUT);
	desk_expect_refusal(d, redact(d, ref, "{\"a\":1}", (struct ar_shape_byte_range_list){ &brace, 1 }),
			    AR_ERR_INVALID_INPUT);
	desk_expect_refusal(d, redact(d, ref, NULL, (struct ar_shape_byte_range_list){ 0 }),
			    AR_ERR_REF_NOT_FOUND);
	desk_expect_refusal(d, redact(d, AR_STR("nothing"), "x", (struct ar_shape_byte_range_list){ 0 }),
			    AR_ERR_REF_NOT_FOUND);
	args = ((const struct ar_invocation *)desk_active(d)->calls.at[0])->args_ref;
	desk_expect_refusal(d, redact(d, args, "{}", (struct ar_shape_byte_range_list){ 0 }),
			    AR_ERR_CONFLICT);
	assert_int_equal(d->session.removed.count, 0);
}

static void what_a_person_said_is_replaced_by_a_part(void **state)
{
	struct desk *d = *state;

	assert_int_equal(redact(d, desk_active(d)->input_ref, "[{\"type\":\"text\",\"text\":\"hello\"}]",
				(struct ar_shape_byte_range_list){ 0 }),
			 AR_OK);
	expect_content(d, "[{\"type\":\"text\",\"text\":\"[redacted] 32 bytes\"}]");
}

static void a_session_has_so_many_redactions(void **state)
{
	struct desk *d = *state;
	char text[32];

	for (int i = 0; i < AR_REDACTED_MAX; i++) {
		snprintf(text, sizeof(text), "text %d", i);
		assert_int_equal(redact(d, result(d, text), text, (struct ar_shape_byte_range_list){ 0 }),
				 AR_OK);
	}
	desk_expect_refusal(d, redact(d, result(d, "more"), "more", (struct ar_shape_byte_range_list){ 0 }),
			    AR_ERR_CONFLICT);
}

/* ---- over a restart ---- */

static void a_snapshot_has_all_of_it(void **state)
{
	struct desk *d = *state;
	char text[256];
	struct ar_buf once = { 0 }, twice = { 0 };
	struct ar_session copy;
	struct ar_json v;
	struct ar_str expired = result(d, long_text(text, 1)), ref;

	d->now += 10 * SECOND;
	wake(d);
	result(d, long_text(text, 2));
	ref = result(d, "to be redacted");
	assert_int_equal(redact(d, ref, "to be redacted", (struct ar_shape_byte_range_list){ 0 }), AR_OK);
	ar_session_snapshot(&d->session, &once);
	ar_session_init(&copy, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(d->decide_json, ar_buf_str(&once), &v, NULL), AR_OK);
	assert_int_equal(ar_session_restore(&copy, v, &d->err), AR_OK);
	ar_session_snapshot(&copy, &twice);
	assert_true(ar_str_eq(ar_buf_str(&once), ar_buf_str(&twice)));
	assert_int_equal(ar_session_due(&copy), ar_session_due(&d->session));
	assert_true(ar_str_absent(ar_session_removed_output(&copy, expired)->replacement));
	assert_true(ar_session_removed_output(&copy, ref)->whole.v);
	ar_session_fini(&copy);
	ar_buf_fini(&once);
	ar_buf_fini(&twice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(outputs_leave_at_their_time_and_not_before, open_desk,
						desk_close),
		cmocka_unit_test_setup_teardown(the_same_bytes_again_live_longer, open_desk, desk_close),
		cmocka_unit_test_setup_teardown(what_the_conversation_has_stays, open_desk, desk_close),
		cmocka_unit_test_setup_teardown(only_so_many_have_a_lifetime, open_desk, desk_close),
		cmocka_unit_test_setup_teardown(a_policy_of_the_session_comes_first, open_desk, desk_close),
		cmocka_unit_test_setup_teardown(ranges_are_replaced_and_the_conversation_follows, open_desk,
						desk_close),
		cmocka_unit_test_setup_teardown(what_cannot_be_redacted_is_refused_and_changes_nothing,
						open_desk, desk_close),
		cmocka_unit_test_setup_teardown(what_a_person_said_is_replaced_by_a_part, open_desk,
						desk_close),
		cmocka_unit_test_setup_teardown(a_session_has_so_many_redactions, open_desk, desk_close),
		cmocka_unit_test_setup_teardown(a_snapshot_has_all_of_it, open_desk, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
