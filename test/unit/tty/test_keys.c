/* Keys from bytes, in one piece and byte by byte; pastes with and without brackets. */
#include "unit.h"

#include "keys.h"

#include <stdio.h>

static void add_key(struct ar_buf *to, const struct ar_key *key)
{
	static const char *const names[] = {
		[AR_KEY_TEXT] = "text",
		[AR_KEY_PASTE] = "paste",
		[AR_KEY_CTRL] = "ctrl",
		[AR_KEY_ALT] = "alt",
		[AR_KEY_ENTER] = "enter",
		[AR_KEY_NEWLINE] = "newline",
		[AR_KEY_TAB] = "tab",
		[AR_KEY_BACKTAB] = "backtab",
		[AR_KEY_ESC] = "esc",
		[AR_KEY_BACKSPACE] = "back",
		[AR_KEY_DELETE] = "delete",
		[AR_KEY_UP] = "up",
		[AR_KEY_DOWN] = "down",
		[AR_KEY_LEFT] = "left",
		[AR_KEY_RIGHT] = "right",
		[AR_KEY_HOME] = "home",
		[AR_KEY_END] = "end",
		[AR_KEY_WORD_LEFT] = "word_left",
		[AR_KEY_WORD_RIGHT] = "word_right",
		[AR_KEY_POSITION] = "position",
		[AR_KEY_FOCUS] = "focus",
	};

	ar_buf_addf(to, "%s", names[key->kind]);
	if (key->letter)
		ar_buf_addf(to, "-%c", key->letter);
	if (key->kind == AR_KEY_POSITION || key->kind == AR_KEY_FOCUS)
		ar_buf_addf(to, "-%d", key->value);
	if (key->kind == AR_KEY_PASTE)
		ar_buf_addf(to, "(%.*s)", AR_STR_ARG(key->text));
	ar_buf_addc(to, ' ');
}

static void read_keys(struct ar_str bytes, size_t step, struct ar_buf *to, struct ar_buf *text)
{
	struct ar_keys k = { 0 };
	struct ar_key key;

	for (size_t at = 0; at < bytes.len; at += step) {
		ar_keys_feed(&k, ar_str_sub(bytes, at, step));
		while (ar_keys_next(&k, at + step >= bytes.len, &key)) {
			if (key.kind == AR_KEY_TEXT)
				ar_buf_adds(text, key.text);
			else
				add_key(to, &key);
		}
	}
	ar_keys_fini(&k);
}

static const struct {
	const char *bytes, *text, *keys;
} cases[] = {
	{ "abc", "abc", "" },
	{ "日本é", "日本é", "" },
	{ "a\r", "a", "enter " },
	{ "\n", "", "newline " },
	{ "\033\r", "", "newline " },
	{ "\003\004\022", "", "ctrl-c ctrl-d ctrl-r " },
	{ "\033", "", "esc " },
	{ "\033\033", "", "esc esc " },
	{ "\033[A\033OB\033[1;5C\033[3~", "", "up down word_right delete " },
	{ "\033[Z", "", "backtab " },
	{ "\033b", "", "alt-b " },
	{ "\033[24;17R", "", "position-16 " },
	{ "\033[I\033[O", "", "focus-1 focus-0 " },
	{ "\033[13;2u", "", "newline " },
	{ "\033[99;99Zx\033[?1;2c", "x", "" },
	{ "\033[200~one\r\ntwo\033[A\r\033[201~x", "x", "paste(one\ntwo\033[A\n) " },
	{ "\177\b\t", "", "back back tab " },
};

static void test_keys(void **state)
{
	struct ar_buf keys = { 0 }, text = { 0 };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_str bytes = ar_str_from(cases[i].bytes);

		for (size_t step = 1; step <= bytes.len; step++) {
			ar_buf_clear(&keys);
			ar_buf_clear(&text);
			read_keys(bytes, step, &keys, &text);
			assert_str(ar_buf_str(&keys), cases[i].keys);
			assert_str(ar_buf_str(&text), cases[i].text);
		}
	}
	ar_buf_fini(&keys);
	ar_buf_fini(&text);
}

/* 2,000 lines without brackets, in the pieces that a terminal gives. */
static void test_a_burst_is_one_paste(void **state)
{
	struct ar_buf bytes = { 0 };
	struct ar_keys k = { 0 };
	struct ar_key key;

	(void)state;
	for (int i = 0; i < 2000; i++)
		ar_buf_addf(&bytes, "this is line %d\r", i);
	for (size_t at = 0; at < bytes.len; at += 4095) {
		ar_keys_feed(&k, ar_str_sub(ar_buf_str(&bytes), at, 4095));
		assert_false(ar_keys_next(&k, false, &key));
		assert_true(ar_keys_wait(&k));
	}
	assert_true(ar_keys_next(&k, true, &key));
	assert_int_equal(key.kind, AR_KEY_PASTE);
	assert_int_equal(key.text.len, bytes.len);
	assert_null(memchr(key.text.p, '\r', key.text.len));
	assert_false(ar_keys_next(&k, true, &key));
	ar_buf_fini(&bytes);
	ar_keys_fini(&k);
}

static void test_a_sequence_without_end_is_dropped(void **state)
{
	struct ar_buf bytes = { 0 }, keys = { 0 }, text = { 0 };

	(void)state;
	ar_buf_addz(&bytes, "\033[");
	for (int i = 0; i < 62; i++)
		ar_buf_addc(&bytes, '1');
	ar_buf_addz(&bytes, "abc");
	read_keys(ar_buf_str(&bytes), bytes.len, &keys, &text);
	assert_str(ar_buf_str(&text), "abc");
	assert_int_equal(keys.len, 0);
	ar_buf_fini(&bytes);
	ar_buf_fini(&keys);
	ar_buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_a_burst_is_one_paste),
		cmocka_unit_test(test_a_sequence_without_end_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
