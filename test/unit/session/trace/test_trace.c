/* Ids of traces and spans in facts are those that follow from the ids in the log, whatever was derived
 * before. */
#include "trace/trace.h"
#include "context.h"
#include "desk.h"

static void expect_derived(struct desk *d)
{
	for (size_t i = 0; i < d->decision.event_count; i++) {
		const struct ar_event *e = &d->decision.events[i];
		struct ar_str trace = ar_trace_text(&d->arena, d->session.id, ar_trace_subject(e));
		struct ar_str span = ar_span_text(&d->arena, d->session.id, ar_trace_span_subject(e));

		if (ar_str_absent(ar_trace_subject(e))) {
			assert_true(ar_str_absent(e->ids[AR_SCOPE_TRACE]));
			assert_true(ar_str_absent(e->ids[AR_SCOPE_SPAN]));
			continue;
		}
		assert_true(ar_str_eq(e->ids[AR_SCOPE_TRACE], trace));
		assert_true(ar_str_eq(e->ids[AR_SCOPE_SPAN], span));
	}
}

static void facts_have_the_ids_that_follow_from_the_log(void **state)
{
	static const char *const turns[] = {
		"a", "b", "a-turn-whose-caller-gave-it-an-id-that-is-longer-than-all-of-ours", "c", "d",
	};
	struct desk *d = *state;

	d->policy.is_traced = true;
	for (size_t i = 0; i < AR_ARRAY_LEN(turns); i++) {
		assert_int_equal(desk_submit(d, turns[i]), AR_OK);
		expect_derived(d);
		if (i == 0)
			continue; /* one runs while the next is queued */
		assert_int_equal(desk_answer(d, "done"), AR_OK);
		expect_derived(d);
	}
}

static void facts_without_a_trace_have_none(void **state)
{
	struct desk *d = *state;

	assert_int_equal(desk_submit(d, "a"), AR_OK);
	for (size_t i = 0; i < d->decision.event_count; i++)
		assert_true(ar_str_absent(d->decision.events[i].ids[AR_SCOPE_TRACE]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(facts_have_the_ids_that_follow_from_the_log, desk_open,
						desk_close),
		cmocka_unit_test_setup_teardown(facts_without_a_trace_have_none, desk_open, desk_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
