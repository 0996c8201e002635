/* Ids of traces and spans, and the header that carries them: what is written is read again, and what the
 * recommendation forbids counts as absent. */
#include "cmocka_unit.h"
#include "context.h"

#include <string.h>

#define GOOD "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static void test_ids_depend_on_session_and_id(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_str one = ar_trace_text(&a, AR_STR("sess_1"), AR_STR("turn_1"));

	assert_int_equal(one.len, 32);
	assert_true(ar_str_eq(one, ar_trace_text(&a, AR_STR("sess_1"), AR_STR("turn_1"))));
	assert_false(ar_str_eq(one, ar_trace_text(&a, AR_STR("sess_2"), AR_STR("turn_1"))));
	assert_false(ar_str_eq(one, ar_trace_text(&a, AR_STR("sess_1"), AR_STR("turn_2"))));
	/* Where one ends and the other begins counts. */
	assert_false(ar_str_eq(ar_trace_text(&a, AR_STR("ab"), AR_STR("c")),
			       ar_trace_text(&a, AR_STR("a"), AR_STR("bc"))));
	/* sha256 of "span\nsess_1\nturn_1", by another program */
	assert_true(ar_str_is(ar_span_text(&a, AR_STR("sess_1"), AR_STR("turn_1")), "d8a55fa9e06a1b98"));
	assert_true(ar_str_is(one, "2360be367055f17f74cf9176893bdffb"));
	assert_true(ar_str_absent(ar_trace_text(&a, AR_STR("sess_1"), AR_STR_NONE)));
	ar_arena_fini(&a);
}

static void test_header_is_read_again(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_str text = ar_traceparent(&a, ar_trace_text(&a, AR_STR("sess_1"), AR_STR("turn_1")),
					    ar_span_text(&a, AR_STR("sess_1"), AR_STR("call_1")));
	struct ar_trace_context c;
	uint8_t trace[AR_TRACE_BYTES], span[AR_SPAN_BYTES];

	assert_int_equal(text.len, AR_TRACEPARENT_LEN);
	assert_true(ar_traceparent_parse(text, &c));
	ar_trace_of(AR_STR("sess_1"), AR_STR("turn_1"), trace);
	ar_span_of(AR_STR("sess_1"), AR_STR("call_1"), span);
	assert_memory_equal(c.trace, trace, sizeof(trace));
	assert_memory_equal(c.span, span, sizeof(span));
	assert_int_equal(c.flags, 1);
	assert_true(ar_str_absent(ar_traceparent(&a, AR_STR_NONE, AR_STR("b7ad6b7169203331"))));
	ar_arena_fini(&a);
}

static void test_other_texts_are_none(void **state AR_UNUSED)
{
	static const char *const bad[] = {
		"",
		"00",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
		GOOD "-",
		GOOD "-x",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
		"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
		"00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x",
	};
	struct ar_trace_context c;

	assert_true(ar_traceparent_parse(AR_STR(GOOD), &c));
	assert_int_equal(c.flags, 1);
	assert_true(
		ar_traceparent_parse(AR_STR("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-later"),
				     &c));
	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++) {
		if (ar_traceparent_parse(ar_str_from(bad[i]), &c))
			fail_msg("'%s' is read as one", bad[i]);
	}
	assert_false(ar_traceparent_parse(AR_STR_NONE, &c));
}

static void test_ids_of_facts_are_read_back(void **state AR_UNUSED)
{
	struct ar_str session = AR_STR("sess_1"), id = AR_STR("turn_1");
	struct ar_arena a = { 0 };
	struct ar_trace_context c, expected;

	ar_trace_of(session, id, expected.trace);
	ar_span_of(session, id, expected.span);
	assert_true(ar_trace_read(ar_trace_text(&a, session, id), ar_span_text(&a, session, id), &c));
	assert_memory_equal(c.trace, expected.trace, sizeof(c.trace));
	assert_memory_equal(c.span, expected.span, sizeof(c.span));
	assert_int_equal(c.flags, 1);
	assert_false(ar_trace_read(ar_trace_text(&a, session, id), AR_STR_NONE, &c));
	assert_false(ar_trace_read(AR_STR_NONE, ar_span_text(&a, session, id), &c));
	assert_false(ar_trace_read(ar_trace_text(&a, session, id), AR_STR("000000000000000g"), &c));
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_depend_on_session_and_id),
		cmocka_unit_test(test_header_is_read_again),
		cmocka_unit_test(test_other_texts_are_none),
		cmocka_unit_test(test_ids_of_facts_are_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
