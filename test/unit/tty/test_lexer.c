/* Colours of code: one letter per style under each line. */
#include "unit.h"

#include "lexer.h"

static const struct {
	const char *language, *line, *want;
} lines[] = {
	{ "c", "int x = 10; // ten", "<35>int</> x = <36>10</>; <2>// ten</>" },
	{ "c", "char *s = \"a\\\"b\";", "<35>char</> *s = <32>\"a\\\"b\"</>;" },
	{ "python", "def f(): # x", "<35>def</> f(): <2># x</>" },
	{ "PYTHON title=x", "def f():", "<35>def</> f():" },
	{ "sql", "SELECT 'x' FROM t", "<35>SELECT</> <32>'x'</> <35>FROM</> t" },
	{ "js", "const é = `日本`", "<35>const</> é = <32>`日本`</>" },
	{ "diff", "+added", "<32>+added</>" },
	{ "diff", "-gone", "<31>-gone</>" },
	{ "nonsense", "int x", "int x" },
	{ "", "int x", "int x" },
	{ "c", "\"open", "<32>\"open</>" },
	{ "c", "interval", "interval" },
};

static void paint(struct ar_lexer *l, const char *line, struct ar_buf *to)
{
	struct ar_buf styled = { 0 }, bytes = { 0 };

	ar_lexer_line(l, ar_str_from(line), &styled);
	ar_text_paint(&bytes, ar_buf_str(&styled), true);
	ar_buf_clear(to);
	for (size_t i = 0; i < bytes.len; i++) {
		if (bytes.p[i] != '\033') {
			ar_buf_addc(to, bytes.p[i]);
			continue;
		}
		ar_buf_addc(to, '<');
		for (i += 2; bytes.p[i] != 'm'; i++)
			ar_buf_addc(to, bytes.p[i] == '0' && bytes.p[i - 1] == '[' ? '/' : bytes.p[i]);
		ar_buf_addc(to, '>');
	}
	ar_buf_fini(&styled);
	ar_buf_fini(&bytes);
}

static void test_lines(void **state)
{
	struct ar_buf got = { 0 };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(lines); i++) {
		struct ar_lexer l = ar_lexer(ar_str_from(lines[i].language));

		paint(&l, lines[i].line, &got);
		assert_str(ar_buf_str(&got), lines[i].want);
	}
	ar_buf_fini(&got);
}

static void test_a_comment_over_lines(void **state)
{
	struct ar_lexer l = ar_lexer(AR_STR("c"));
	struct ar_buf got = { 0 };

	(void)state;
	paint(&l, "x /* begins", &got);
	assert_str(ar_buf_str(&got), "x <2>/* begins</>");
	paint(&l, "int inside", &got);
	assert_str(ar_buf_str(&got), "<2>int inside</>");
	paint(&l, "ends */ int", &got);
	assert_str(ar_buf_str(&got), "<2>ends */</> <35>int</>");
	ar_buf_fini(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_a_comment_over_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
