/* The output of a step: segments by kind, pieces within them, never half a character. */
#include "cmocka_unit.h"
#include "output.h"
#include "provider.h"

#define UMBRELLA "\xe2\x98\x82"

/* Pieces from `pos` on, as "pos+len@offset:kind " each. */
static void expect_pieces(const struct ar_output *o, uint64_t pos, size_t max, const char *wanted)
{
	struct ar_output_piece p;
	struct ar_buf got = { 0 };

	for (; ar_output_piece_at(o, pos, max, &p); pos = p.pos + p.len)
		ar_buf_addf(&got, "%d+%d@%d:%d ", (int)p.pos, (int)p.len, (int)p.offset, p.segment->kind);
	ar_buf_addc(&got, 0);
	assert_string_equal(got.p, wanted);
	ar_buf_fini(&got);
}

static void test_segments(void **state)
{
	struct ar_output o = { 0 };
	struct ar_buf text = { 0 };

	(void)state;
	ar_output_add(&o, AR_OUT_TEXT, 0, AR_STR("ab"));
	ar_output_add(&o, AR_OUT_TEXT, 0, AR_STR("cd"));
	ar_output_add(&o, AR_OUT_REASONING, 0, AR_STR("hm"));
	ar_output_add(&o, AR_OUT_TEXT, 0, AR_STR(""));
	ar_output_add(&o, AR_OUT_TEXT, 0, AR_STR("ef"));
	ar_output_add(&o, AR_OUT_TOOL_ARGS, 0, AR_STR("{"));
	ar_output_add(&o, AR_OUT_TOOL_ARGS, 1, AR_STR("}"));
	assert_int_equal(o.count, 5);
	assert_int_equal(o.pos, 10);
	expect_pieces(&o, 0, 100, "0+4@0:1 4+2@0:2 6+2@4:1 8+1@0:3 9+1@0:3 ");
	expect_pieces(&o, 3, 100, "3+1@3:1 4+2@0:2 6+2@4:1 8+1@0:3 9+1@0:3 ");
	expect_pieces(&o, 0, 3, "0+3@0:1 3+1@3:1 4+2@0:2 6+2@4:1 8+1@0:3 9+1@0:3 ");
	expect_pieces(&o, 10, 100, "");
	expect_pieces(&o, 99, 100, "");
	ar_output_collect(&o, AR_OUT_TEXT, 0, &text);
	assert_true(ar_str_is(ar_buf_str(&text), "abcdef"));
	ar_buf_fini(&text);
	ar_output_fini(&o);
}

static void test_whole_characters(void **state)
{
	struct ar_output o = { 0 };

	(void)state;
	ar_output_add(&o, AR_OUT_TEXT, 0, AR_STR("a" UMBRELLA UMBRELLA "b"));
	expect_pieces(&o, 0, 5, "0+4@0:1 4+4@4:1 ");
	expect_pieces(&o, 0, 4, "0+4@0:1 4+4@4:1 ");
	expect_pieces(&o, 0, 3, "0+1@0:1 1+3@1:1 4+3@4:1 7+1@7:1 ");
	expect_pieces(&o, 1, 2,
		      "1+1@1:1 2+2@2:1 4+1@4:1 5+2@5:1 7+1@7:1 "); /* no room for one: bytes, but it ends */
	ar_output_fini(&o);
}

static void test_content_from_elsewhere(void **state)
{
	struct ar_output o = { 0 };
	struct ar_output_piece p;

	(void)state;
	ar_output_add_stored(&o, AR_OUT_TEXT, 0, 3, AR_STR("abc"));
	ar_output_add_stored(&o, AR_OUT_REASONING, 0, 4, AR_STR_NONE);
	ar_output_add_stored(&o, AR_OUT_TEXT, 0, 2, AR_STR("de"));
	ar_output_add_stored(&o, AR_OUT_TEXT, 0, 5, AR_STR("short"));
	ar_output_add_stored(&o, AR_OUT_TEXT, 0, 5, AR_STR("shor"));
	expect_pieces(&o, 0, 100, "0+3@0:1 3+4@0:2 7+2@3:1 9+5@5:1 14+5@10:1 ");
	assert_true(ar_output_piece_at(&o, 4, 100, &p));
	assert_true(ar_str_absent(p.bytes));
	assert_true(ar_output_piece_at(&o, 15, 100, &p)); /* not as long as it should be: not to be had */
	assert_true(ar_str_absent(p.bytes));
	ar_output_fini(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_whole_characters),
		cmocka_unit_test(test_content_from_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
