/* The line editor: keys in, text and rows out. */
#include "unit.h"

#include "edit.h"

#include <stdlib.h>

static struct ar_edit *new_edit(void)
{
	return calloc(1, sizeof(struct ar_edit));
}

static void free_edit(struct ar_edit *e)
{
	ar_edit_fini(e);
	free(e);
}

static bool type(struct ar_edit *e, const char *bytes)
{
	struct ar_keys k = { 0 };
	struct ar_key key;
	bool is_taken = false;

	ar_keys_feed(&k, ar_str_from(bytes));
	while (ar_keys_next(&k, true, &key))
		is_taken = ar_edit_key(e, &key);
	ar_keys_fini(&k);
	return is_taken;
}

static void assert_view(struct ar_edit *e, int cols, const char *want, int row, int col)
{
	struct ar_edit_view v;
	struct ar_buf plain = { 0 };

	ar_edit_show(e, cols, &v);
	ar_text_paint(&plain, ar_buf_str(&v.rows), false);
	assert_str(ar_buf_str(&plain), want);
	assert_int_equal(v.caret_row, row);
	assert_int_equal(v.caret_col, col);
	ar_buf_fini(&v.rows);
	ar_buf_fini(&plain);
}

static void enter(struct ar_edit *e, const char *want)
{
	struct ar_buf text = { 0 };

	ar_edit_enter(e, &text);
	assert_str(ar_buf_str(&text), want);
	ar_buf_fini(&text);
}

static void test_keys_change_the_text(void **state)
{
	static const struct {
		const char *keys, *want;
	} cases[] = {
		{ "abc\002\002X", "aXbc" },
		{ "abc\001X", "Xabc" },
		{ "abc\001\005X", "abcX" },
		{ "one two\027", "one " },
		{ "one two\027\031\031", "one twotwo" },
		{ "one\002\002\013", "o" },
		{ "one two\025x", "x" },
		{ "a\nb\001X", "a\nXb" },
		{ "日本\177", "日" },
		{ "e\xcc\x81x\002\002\033[3~", "x" },
		{ "ab\033[D\033[D\033[C-", "a-b" },
		{ "one two\033bX", "one Xtwo" },
		{ "a\033[3~", "a" },
		{ "one\ntwo\033[A!", "one!\ntwo" },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_edit *e = new_edit();

		type(e, cases[i].keys);
		enter(e, cases[i].want);
		free_edit(e);
	}
}

static void test_keys_of_vi(void **state)
{
	static const struct {
		const char *keys[12], *want;
	} cases[] = {
		{ { "one two", "\033", "bdw" }, "one " },	{ { "one two", "\033", "0dw" }, "two" },
		{ { "one two", "\033", "0cw", "1" }, "1 two" }, { { "one two", "\033", "x" }, "one tw" },
		{ { "one two", "\033", "0xp" }, "noe two" },	{ { "one two", "\033", "hX" }, "one wo" },
		{ { "one two", "\033", "bD" }, "one " },	{ { "one two", "\033", "bC", "2" }, "one 2" },
		{ { "one two", "\033", "Sx" }, "x" },		{ { "one two", "\033", "S", "x" }, "x" },
		{ { "a\nb\nc", "\033", "kdd" }, "a\nc" },	{ { "a\nb", "\033", "yyP" }, "a\nbb" },
		{ { "ab", "\033", "i", "-" }, "a-b" },		{ { "ab", "\033", "a", "-" }, "ab-" },
		{ { " ab", "\033", "I", "-" }, " -ab" },	{ { "ab", "\033", "0A-" }, "ab-" },
		{ { "ab", "\033", "o", "c" }, "ab\nc" },	{ { "ab", "\033", "O", "c" }, "c\nab" },
		{ { "one two", "\033", "bdwu" }, "one two" },	{ { "one two", "\033", "bdwuu" }, "one " },
		{ { "one two", "\033", "dqx" }, "one tw" }, /* no motion drops the operator */
		{ { "日本語", "\033", "hx" }, "日語" },		{ { "", "\033", "xXhlwbe0$^DdduPp" }, "" },
		{ { "one two", "\033", "0ex" }, "on two" },	{ { "one two", "\033", "0de" }, " two" },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_edit *e = new_edit();

		e->is_vi = true;
		for (size_t k = 0; cases[i].keys[k]; k++)
			type(e, cases[i].keys[k]);
		enter(e, cases[i].want);
		assert_false(e->is_normal);
		free_edit(e);
	}
}

static void test_history(void **state)
{
	struct ar_edit *e = new_edit();

	(void)state;
	assert_false(type(e, "\033[A"));
	type(e, "first");
	enter(e, "first");
	type(e, "second");
	enter(e, "second");
	type(e, "dra");
	type(e, "\033[A\033[A");
	assert_str(ar_buf_str(&e->text), "first");
	type(e, "\033[B");
	assert_str(ar_buf_str(&e->text), "second");
	type(e, "\033[B");
	assert_str(ar_buf_str(&e->text), "dra");
	assert_false(type(e, "\033[B"));
	type(e, "\025\022fi");
	assert_true(e->is_searching);
	assert_str(ar_buf_str(&e->text), "first");
	type(e, "\033");
	assert_false(e->is_searching);
	assert_str(ar_buf_str(&e->text), "");
	type(e, "\022s\022");
	assert_str(ar_buf_str(&e->text), "first"); /* the one before */
	enter(e, "first");
	free_edit(e);
}

static void test_a_long_paste_is_one_character(void **state)
{
	struct ar_edit *e = new_edit();
	struct ar_buf paste = { 0 }, whole = { 0 };
	struct ar_key key = { .kind = AR_KEY_PASTE };

	(void)state;
	for (int i = 0; i < 2000; i++)
		ar_buf_addf(&paste, "line %d\n", i);
	type(e, "look: ");
	key.text = ar_buf_str(&paste);
	ar_edit_key(e, &key);
	type(e, " ok");
	assert_view(e, 60, "› look: [Pasted text #1, 2000 lines] ok\n", 0, 39);
	ar_buf_addz(&whole, "look: ");
	ar_buf_adds(&whole, ar_buf_str(&paste));
	ar_buf_addz(&whole, " ok");
	ar_buf_addc(&whole, '\0');
	ar_edit_remember(e, AR_STR("x"));
	enter(e, whole.p);
	type(e, "a");
	ar_edit_key(e, &key);
	type(e, "\177");
	enter(e, "a");
	key.text = AR_STR("two\nlines\033[2J\001\002");
	ar_edit_key(e, &key);
	enter(e, "two\nlines[2J");
	ar_buf_fini(&paste);
	ar_buf_fini(&whole);
	free_edit(e);
}

static void test_rows_and_caret(void **state)
{
	struct ar_edit *e = new_edit();

	(void)state;
	assert_view(e, 40, "› \n", 0, 2);
	type(e, "abcdefghijklmnop");
	assert_view(e, 13, "› abcdefghij\n  klmnop\n", 1, 8);
	type(e, "\nx");
	assert_view(e, 13, "› abcdefghij\n  klmnop\n  x\n", 2, 3);
	ar_edit_set(e, AR_STR("1\n2\n3\n4\n5\n6\n7\n8\n9\n10"));
	assert_view(e, 40, "  3\n  4\n  5\n  6\n  7\n  8\n  9\n  10\n", 7, 4);
	ar_edit_set(e, AR_STR("日本"));
	assert_view(e, 40, "› 日本\n", 0, 6);
	free_edit(e);
}

static void test_words(void **state)
{
	struct ar_edit *e = new_edit();

	(void)state;
	type(e, "look at @sr");
	assert_str(ar_edit_word(e), "@sr");
	ar_edit_replace_word(e, AR_STR("@src/a.c "));
	enter(e, "look at @src/a.c ");
	free_edit(e);
}

static void test_a_text_has_a_limit(void **state)
{
	struct ar_edit *e = new_edit();
	struct ar_buf piece = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++)
		ar_buf_addc(&piece, 'x');
	for (int i = 0; i < 20; i++)
		ar_edit_insert(e, ar_buf_str(&piece));
	assert_int_equal(e->text.len, 1000000);
	ar_buf_fini(&piece);
	free_edit(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_change_the_text),
		cmocka_unit_test(test_keys_of_vi),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_a_long_paste_is_one_character),
		cmocka_unit_test(test_rows_and_caret),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_a_text_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
