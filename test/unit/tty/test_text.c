/* Styled text: widths, cutting, wrapping, painting. */
#include "unit.h"

#include "text.h"

static void assert_text(struct ar_buf *b, const char *want)
{
	assert_str(ar_buf_str(b), want);
	ar_buf_clear(b);
}

static void test_width_is_of_columns(void **state)
{
	static const struct {
		const char *text;
		int cols;
	} rows[] = {
		{ "", 0 },
		{ "abc", 3 },
		{ "日本語", 6 },
		{ "e\xcc\x81", 1 },
		{ "…•│", 3 },
		{ "\xf0\x9f\x98\x80", 2 },
		{ "\xe2\x9d\xa4\xef\xb8\x8f", 2 },
		{ "\xf0\x9f\x87\xa8\xf0\x9f\x87\xad", 2 },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		assert_int_equal(ar_text_width(ar_str_from(rows[i].text)), rows[i].cols);
}

static void test_foreign_text_has_no_style(void **state)
{
	struct ar_buf b = { 0 }, out = { 0 };

	(void)state;
	for (int c = 0; c < 0x20; c++)
		ar_text_add(&b, (struct ar_str){ &(char){ (char)c }, 1 });
	ar_text_paint(&out, ar_buf_str(&b), true);
	assert_int_equal(out.len, b.len);
	for (size_t i = 0; i < out.len; i++)
		assert_true((unsigned char)out.p[i] >= 0x20);
	ar_buf_fini(&b);
	ar_buf_fini(&out);
}

static void test_wrapping_breaks_at_blanks(void **state)
{
	struct ar_buf b = { 0 };

	(void)state;
	ar_text_wrap(&b, AR_STR("the quick brown fox"), 10, 2);
	assert_text(&b, "the quick\n  brown\n  fox\n");
	ar_text_wrap(&b, AR_STR("abcdefghijkl"), 5, 0);
	assert_text(&b, "abcde\nfghij\nkl\n");
	ar_text_wrap(&b, AR_STR("日本語日本"), 5, 0);
	assert_text(&b, "日本\n語日\n本\n");
	ar_text_wrap(&b, AR_STR(""), 5, 0);
	assert_text(&b, "\n");
	ar_text_wrap(&b, AR_STR("    indented text"), 8, 4);
	assert_text(&b, "    inde\n    nted\n    text\n");
	ar_text_wrap(&b, AR_STR("日"), 1, 0);
	assert_text(&b, "日\n");
	ar_buf_fini(&b);
}

static void test_a_style_holds_on_the_next_row(void **state)
{
	struct ar_buf line = { 0 }, rows = { 0 }, out = { 0 };
	struct ar_str rest, row;

	(void)state;
	ar_text_style(&line, AR_STYLE_BOLD);
	ar_text_style(&line, AR_STYLE_RED);
	ar_text_style(&line, AR_STYLE_GREEN);
	ar_text_add(&line, AR_STR("one two"));
	ar_text_style(&line, AR_STYLE_PLAIN);
	ar_text_wrap(&rows, ar_buf_str(&line), 4, 0);
	rest = ar_str_split(ar_buf_str(&rows), '\n', &row);
	ar_text_paint(&out, row, true);
	assert_text(&out, "\033[1m\033[31m\033[32mone\033[0m");
	ar_str_split(rest, '\n', &row);
	ar_text_paint(&out, row, true);
	assert_text(&out, "\033[1m\033[32mtwo\033[0m");
	ar_text_paint(&out, row, false);
	assert_text(&out, "two");
	ar_buf_fini(&line);
	ar_buf_fini(&rows);
	ar_buf_fini(&out);
}

static void test_cutting_says_so(void **state)
{
	struct ar_buf b = { 0 };

	(void)state;
	ar_text_cut(&b, AR_STR("abcdef"), 6);
	assert_text(&b, "abcdef");
	ar_text_cut(&b, AR_STR("日本語"), 4);
	assert_text(&b, "日\x0e…");
	ar_text_cut_path(&b, AR_STR("src/core/session/turn/decide_turn.c"), 20);
	assert_text(&b, "src/co…decide_turn.c");
	assert_int_equal(ar_text_width(AR_STR("src/co…decide_turn.c")), 20);
	ar_buf_fini(&b);
}

static void test_tabs_of_code_are_blanks(void **state)
{
	struct ar_buf b = { 0 };

	(void)state;
	ar_text_add_code(&b, AR_STR("\ta\tb"));
	assert_text(&b, "        a       b");
	ar_buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_width_is_of_columns),
		cmocka_unit_test(test_foreign_text_has_no_style),
		cmocka_unit_test(test_wrapping_breaks_at_blanks),
		cmocka_unit_test(test_a_style_holds_on_the_next_row),
		cmocka_unit_test(test_cutting_says_so),
		cmocka_unit_test(test_tabs_of_code_are_blanks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
