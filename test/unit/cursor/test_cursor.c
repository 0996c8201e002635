/* Cursors: what parses, what it prints back, and the few things done with one. */
#include "cmocka_unit.h"
#include "catalog.h"
#include "cursor.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text, *printed; /* NULL: refused */
	} rows[] = {
		{ "", "0" },
		{ "0", "0" },
		{ "17", "17" },
		{ "007", "7" },
		{ "17.3:40", "17.3:40" },
		{ "17.3:40,5:0", "17.3:40,5:0" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "9223372036854775808", NULL },
		{ "18446744073709551616", NULL },
		{ "-1", NULL },
		{ "+1", NULL },
		{ " 1", NULL },
		{ "1 ", NULL },
		{ "1.", NULL },
		{ "1.2", NULL },
		{ "1.2:", NULL },
		{ "1.:2", NULL },
		{ "1.2:3,", NULL },
		{ "1.2:3:4", NULL },
		{ "1,2:3", NULL },
		{ ".2:3", NULL },
		{ "now", NULL },
		{ "1.1152921504606846975:18446744073709551615",
		  "1.1152921504606846975:18446744073709551615" },
		{ "1.1152921504606846976:1", NULL },
		{ "7.3o:10,3e:0,12t:5,4:9", "7.3o:10,3e:0,12t:5,4:9" },
		{ "7.3x:10", NULL },
		{ "7.o:10", NULL },
		{ "7.3oo:10", NULL },
		{ "7.1152921504606846976o:1", NULL },
		{ "1.2:18446744073709551616", NULL },
	};
	struct ar_buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_error err = { 0 };
		struct ar_cursor c;
		enum ar_status rc = ar_cursor_parse(ar_str_from(rows[i].text), &c, &err);

		if (!rows[i].printed) {
			assert_int_equal(rc, AR_E_REFUSED);
			assert_int_equal(err.code, AR_ERR_INVALID_CURSOR);
			continue;
		}
		assert_int_equal(rc, AR_OK);
		ar_buf_clear(&out);
		ar_cursor_print(&c, &out);
		ar_buf_addc(&out, 0);
		assert_string_equal(out.p, rows[i].printed);
		ar_cursor_fini(&c);
	}
	ar_buf_fini(&out);
}

static void test_as_many_steps_as_fit(void **state)
{
	struct ar_cursor c = { .sequence = 1 }, back;
	struct ar_buf out = { 0 };
	struct ar_error err;

	(void)state;
	for (uint64_t step = 1; step <= AR_CURSOR_STEPS + 3; step++)
		ar_cursor_set(&c, step, step * 10);
	assert_int_equal(c.count, AR_CURSOR_STEPS);
	ar_cursor_print(&c, &out);
	assert_int_equal(ar_cursor_parse(ar_buf_str(&out), &back, &err), AR_OK);
	assert_int_equal(back.sequence, c.sequence);
	assert_int_equal(back.count, c.count);
	assert_memory_equal(c.steps, back.steps, c.count * sizeof(*c.steps));
	ar_cursor_fini(&back);
	ar_buf_addz(&out, ",99:1");
	assert_int_equal(ar_cursor_parse(ar_buf_str(&out), &back, &err), AR_E_REFUSED);
	ar_cursor_fini(&c);
	ar_buf_fini(&out);
}

static void test_positions(void **state)
{
	struct ar_cursor c = { 0 };

	(void)state;
	assert_int_equal(ar_cursor_pos(&c, 4), 0);
	ar_cursor_set(&c, 4, 10);
	ar_cursor_set(&c, 5, 20);
	ar_cursor_set(&c, 4, 11);
	assert_int_equal(c.count, 2);
	assert_int_equal(ar_cursor_pos(&c, 4), 11);
	ar_cursor_drop(&c, 4);
	ar_cursor_drop(&c, 4);
	assert_int_equal(c.count, 1);
	assert_int_equal(ar_cursor_pos(&c, 4), 0);
	assert_int_equal(ar_cursor_pos(&c, 5), 20);
	ar_cursor_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_as_many_steps_as_fit),
		cmocka_unit_test(test_positions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
