/* Markdown as it streams: what each kind of block looks like, that cutting the stream anywhere changes
 * nothing, and that no control character passes. */
#include "unit.h"

#include "markdown.h"

#include <stdlib.h>

static void on_line(void *arg, struct ar_str line, bool is_whole)
{
	struct ar_buf *to = arg;

	ar_text_paint(to, line, false);
	ar_buf_addz(to, is_whole ? "$\n" : "\n");
}

static void on_styled(void *arg, struct ar_str line, bool is_whole)
{
	(void)is_whole;
	ar_text_paint(arg, line, true);
	ar_buf_addc(arg, '\n');
}

static void render(struct ar_str text, size_t step, int cols, struct ar_buf *to)
{
	struct ar_md_out out = { on_line, to, cols };
	struct ar_md m = { 0 };

	for (size_t at = 0; at < text.len; at += step)
		ar_md_feed(&m, ar_str_sub(text, at, step), &out);
	ar_md_end(&m, &out);
	ar_md_fini(&m);
}

static const struct {
	const char *text, *want;
} cases[] = {
	{ "Hello *there*.", "Hello there.\n" },
	{ "one\ntwo\n\nthree", "one two\n\nthree\n" },
	{ "# Title\n\nText", "Title\n\nText\n" },
	{ "a paragraph that is longer than thirty columns",
	  "a paragraph that is longer\nthan thirty columns\n" },
	{ "- one\n- two\n  - deep\n- three\n\nAfter", "• one\n• two\n  • deep\n• three\n\nAfter\n" },
	{ "3. three\n4. four", "3. three\n4. four\n" },
	{ "- an item that is longer than thirty columns",
	  "• an item that is longer than\n  thirty columns\n" },
	{ "- [ ] open\n- [x] done", "• [ ] open\n• [x] done\n" },
	{ "> quoted\n> more", "│ quoted more\n" },
	{ "```c\nint x;\n\nint y;\n```\nAfter", "```c$\nint x;$\n$\nint y;$\n```$\nAfter\n" },
	{ "```\nnot closed", "```$\nnot closed$\n" },
	{ "Text\n```\ncode\n```", "Text\n```$\ncode$\n```$\n" },
	{ "| a | bb |\n|---|---|\n| 1 | 2 |\n| 333 |", "a   │ bb\n────┼───\n1   │ 2\n333 │ \n" },
	{ "| name | long |\n|---|---|\n| x | a cell that does not fit here |",
	  "name: x\nlong: a cell that does not fit\n  here\n" },
	{ "see [the page](http://a.b/c) or <http://x.y>", "see the page (http://a.b/c) or\nhttp://x.y\n" },
	{ "http://example.com/an/address/longer/than/a/row",
	  "http://example.com/an/address/longer/than/a/row$\n" },
	{ "<b>no html</b> &amp; &lt;", "<b>no html</b> & <\n" },
	{ "---\n", "──────────────────────────────\n" },
	{ "`code` and ~~gone~~", "code and gone\n" },
	{ "a  \nb", "a\nb\n" },
	{ "1. one\n\n   more of one\n\n2. two", "1. one\n   more of one\n\n2. two\n" },
	{ "", "" },
};

static void test_blocks(void **state)
{
	struct ar_buf got = { 0 };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_str text = ar_str_from(cases[i].text);

		for (size_t step = 1; step <= text.len + 1; step++) {
			ar_buf_clear(&got);
			render(text, step, 30, &got);
			assert_str(ar_buf_str(&got), cases[i].want);
		}
	}
	ar_buf_fini(&got);
}

static void test_a_block_is_final_when_it_is_complete(void **state)
{
	struct ar_buf got = { 0 }, open = { 0 };
	struct ar_md_out out = { on_line, &got, 40 }, look = { on_line, &open, 40 };
	struct ar_md m = { 0 };

	(void)state;
	ar_md_feed(&m, AR_STR("First para"), &out);
	assert_int_equal(got.len, 0);
	ar_md_show_open(&m, &look);
	assert_str(ar_buf_str(&open), "First para\n");
	ar_md_feed(&m, AR_STR("graph.\n\nSec"), &out);
	assert_str(ar_buf_str(&got), "First paragraph.\n");
	ar_buf_clear(&open);
	ar_md_show_open(&m, &look);
	assert_str(ar_buf_str(&open), "\nSec\n");
	ar_md_feed(&m, AR_STR("ond.\n```sh\necho one\necho t"), &out);
	assert_str(ar_buf_str(&got), "First paragraph.\n\nSecond.\n```sh$\necho one$\n");
	ar_buf_clear(&open);
	ar_md_show_open(&m, &look);
	assert_str(ar_buf_str(&open), "echo t$\n");
	ar_md_end(&m, &out);
	assert_str(ar_buf_str(&got), "First paragraph.\n\nSecond.\n```sh$\necho one$\necho t$\n");
	ar_md_fini(&m);
	ar_buf_fini(&got);
	ar_buf_fini(&open);
}

static void test_styles(void **state)
{
	struct ar_buf got = { 0 };
	struct ar_md_out out = { on_styled, &got, 60 };

	(void)state;
	ar_md_block(AR_STR("**bold *both* bold** `x`"), &out);
	assert_str(ar_buf_str(&got), "\033[1mbold \033[3mboth\033[0m\033[1m bold\033[0m \033[36mx\033[0m\n");
	ar_buf_fini(&got);
}

/* The same bytes in every run. */
static void test_random_bytes_pass_no_control(void **state)
{
	struct ar_buf got = { 0 }, text = { 0 };
	static const char *const pieces[] = { "\033[2J",
					      "\033]0;x\007",
					      "\x9b",
					      "\xc2\x9b",
					      "\n",
					      "\n\n",
					      "```",
					      "| a | b |\n|-|-|\n",
					      "- ",
					      "> ",
					      "*",
					      "[x](",
					      ")",
					      "\t",
					      "\xe2\x80\xae",
					      "\x0e\x13" };

	(void)state;
	srandom(20);
	for (int round = 0; round < 300; round++) {
		ar_buf_clear(&text);
		ar_buf_clear(&got);
		for (int i = 0; i < 60; i++) {
			if (random() % 2)
				ar_buf_addz(&text, pieces[(size_t)random() % AR_ARRAY_LEN(pieces)]);
			else
				ar_buf_addc(&text, (char)random());
		}
		render(ar_buf_str(&text), 1 + (size_t)random() % 20, 40, &got);
		assert_true(ar_str_is_utf8(ar_buf_str(&got)));
		for (size_t i = 0; i < got.len; i++)
			assert_true(got.p[i] == '\n' ||
				    ((unsigned char)got.p[i] >= 0x20 && got.p[i] != 0x7f));
		assert_true(!got.len || !memmem(got.p, got.len, "\xc2\x9b", 2));
		assert_true(!got.len || !memmem(got.p, got.len, "\xe2\x80\xae", 3));
	}
	ar_buf_fini(&text);
	ar_buf_fini(&got);
}

static void test_a_block_without_end_is_cut(void **state)
{
	struct ar_buf got = { 0 };
	struct ar_md_out out = { on_line, &got, 40 };
	struct ar_md m = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++)
		ar_md_feed(&m, AR_STR("word "), &out);
	assert_true(m.text.len < 64 * 1024);
	assert_true(got.len > 400000);
	ar_md_fini(&m);
	ar_buf_fini(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_a_block_is_final_when_it_is_complete),
		cmocka_unit_test(test_styles),
		cmocka_unit_test(test_random_bytes_pass_no_control),
		cmocka_unit_test(test_a_block_without_end_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
