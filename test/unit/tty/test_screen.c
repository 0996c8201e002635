/* The inline renderer in a terminal of three sizes: every line of history once, the live region below it and
 * nothing left of older ones, the cursor at the caret; after a resize too. */
#include "unit.h"

#include "fake_terminal.h"
#include "screen.h"

#include <stdio.h>

static const struct {
	int rows, cols;
} sizes[] = { { 12, 40 }, { 24, 80 }, { 40, 134 } };

struct fixture {
	struct fake_terminal t;
	struct ar_tty_screen s;
	struct ar_buf bytes, seen;
	ar_usec now;
};

static void begin(struct fixture *f, int rows, int cols)
{
	*f = (struct fixture){ .s = { .cols = cols, .rows = rows, .has_colour = true } };
	fake_terminal_init(&f->t, rows, cols);
}

static void end(struct fixture *f)
{
	fake_terminal_fini(&f->t);
	ar_tty_fini(&f->s);
	ar_buf_fini(&f->bytes);
	ar_buf_fini(&f->seen);
}

static void frame(struct fixture *f)
{
	f->now += AR_SCREEN_FRAME_USEC;
	ar_tty_frame(&f->s, f->now, &f->bytes);
	fake_terminal_feed(&f->t, &f->bytes);
}

static struct ar_str seen(struct fixture *f)
{
	ar_buf_clear(&f->seen);
	fake_terminal_text(&f->t, &f->seen);
	return ar_buf_str(&f->seen);
}

static int count(struct ar_str text, const char *what)
{
	int n = 0;

	for (const char *at = text.p; (at = memmem(at, text.len - (size_t)(at - text.p), what, strlen(what)));
	     at++)
		n++;
	return n;
}

static void test_golden_screen(void **state)
{
	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(sizes); i++) {
		struct fixture f;
		VTermPos at;

		begin(&f, sizes[i].rows, sizes[i].cols);
		ar_tty_print(&f.s, AR_STR("first line"), 0);
		ar_tty_live(&f.s, AR_STR("working\n> text\nstatus\n"), 1, 6);
		frame(&f);
		assert_str(seen(&f), "first line\nworking\n> text\nstatus\n");
		at = fake_terminal_cursor(&f.t);
		assert_int_equal(at.row, 2);
		assert_int_equal(at.col, 6);
		ar_tty_print(&f.s, AR_STR("second line"), 0);
		ar_tty_live(&f.s, AR_STR("> \nstatus\n"), 0, 2);
		frame(&f);
		assert_str(seen(&f), "first line\nsecond line\n>\nstatus\n");
		at = fake_terminal_cursor(&f.t);
		assert_int_equal(at.row, 2);
		assert_int_equal(at.col, 2);
		ar_tty_leave(&f.s, &f.bytes);
		fake_terminal_feed(&f.t, &f.bytes);
		assert_str(seen(&f), "first line\nsecond line\n");
		end(&f);
	}
}

static void test_every_line_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(sizes); i++) {
		struct ar_buf live = { 0 };
		struct fixture f;
		char line[32];

		begin(&f, sizes[i].rows, sizes[i].cols);
		for (int n = 0; n < 200; n++) {
			snprintf(line, sizeof(line), "[line %d]", n);
			if (n % 3)
				ar_tty_print(&f.s, ar_str_from(line), 0);
			else
				ar_tty_print_whole(&f.s, ar_str_from(line));
			ar_buf_clear(&live);
			for (int k = 0; k <= n % 7; k++)
				ar_buf_addz(&live, "a live row\n");
			ar_tty_live(&f.s, ar_buf_str(&live), n % 7 / 2, 3);
			if (n % 5 != 4) /* several lines in some frames */
				frame(&f);
		}
		frame(&f);
		seen(&f);
		for (int n = 0; n < 200; n++) {
			snprintf(line, sizeof(line), "[line %d]", n);
			assert_int_equal(count(ar_buf_str(&f.seen), line), 1);
		}
		assert_int_equal(count(ar_buf_str(&f.seen), "a live row"), 199 % 7 + 1);
		ar_buf_fini(&live);
		end(&f);
	}
}

static void test_a_frame_only_when_something_changed(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 24, 80);
	assert_false(ar_tty_is_due(&f.s));
	ar_tty_live(&f.s, AR_STR("> \n"), 0, 2);
	assert_true(ar_tty_is_due(&f.s));
	frame(&f);
	assert_int_equal(ar_tty_frame_time(&f.s), f.now + AR_SCREEN_FRAME_USEC);
	ar_tty_live(&f.s, AR_STR("> \n"), 0, 2);
	assert_false(ar_tty_is_due(&f.s));
	ar_tty_frame(&f.s, f.now, &f.bytes);
	assert_int_equal(f.bytes.len, 0);
	ar_tty_live(&f.s, AR_STR("> \n"), 0, 3);
	assert_true(ar_tty_is_due(&f.s));
	end(&f);
}

/* Only sequences that every terminal and every multiplexer knows. */
static void test_sequences_are_the_few_known_ones(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 24, 80);
	for (int n = 0; n < 50; n++) {
		ar_tty_print(&f.s, AR_STR("text"), 0);
		ar_tty_live(&f.s, AR_STR("a\nb\n> \nstatus\n"), 2, n % 40);
		f.now += AR_SCREEN_FRAME_USEC;
		ar_tty_frame(&f.s, f.now, &f.bytes);
	}
	for (size_t i = 0; i < f.bytes.len; i++) {
		unsigned char c = (unsigned char)f.bytes.p[i];

		if (c != 0x1b) {
			assert_true(c >= 0x20 || c == '\r' || c == '\n');
			continue;
		}
		assert_int_equal(f.bytes.p[++i], '[');
		do
			i++;
		while (strchr("0123456789;?", f.bytes.p[i]));
		assert_non_null(strchr("ACJmhl", f.bytes.p[i]));
	}
	end(&f);
}

static void test_a_live_region_higher_than_the_terminal_is_cut_at_its_top(void **state)
{
	struct ar_buf rows = { 0 };
	struct fixture f;

	(void)state;
	begin(&f, 12, 40);
	ar_tty_print(&f.s, AR_STR("history"), 0);
	for (int i = 0; i < 30; i++)
		ar_buf_addf(&rows, "row %d\n", i);
	ar_tty_live(&f.s, ar_buf_str(&rows), 29, 0);
	frame(&f);
	frame(&f);
	assert_int_equal(count(seen(&f), "row "), 11);
	assert_int_equal(count(ar_buf_str(&f.seen), "row 29"), 1);
	assert_int_equal(count(ar_buf_str(&f.seen), "history"), 1);
	ar_buf_fini(&rows);
	end(&f);
}

/* libvterm cuts rows and does not break them: a terminal without reflow. */
static void test_resize_without_reflow_keeps_history(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 24, 80);
	for (int i = 0; i < 5; i++)
		ar_tty_print(&f.s, AR_STR("[history]"), 0);
	ar_tty_live(&f.s, AR_STR("a live row that is longer than forty columns, by far\n> \nstatus\n"), 1, 2);
	frame(&f);
	vterm_set_size(f.t.vt, 24, 40);
	f.t.cols = 40;
	ar_tty_resize(&f.s, 40, 24, &f.bytes);
	assert_str(ar_buf_str(&f.bytes), "\033[6n");
	ar_buf_clear(&f.bytes);
	ar_tty_print(&f.s, AR_STR("[history]"), 0);
	frame(&f);
	assert_int_equal(count(seen(&f), "[history]"), 5); /* nothing is drawn before the answer */
	ar_tty_resized(&f.s, 2);
	ar_tty_live(&f.s, AR_STR("> \nstatus\n"), 0, 2);
	frame(&f);
	assert_str(seen(&f), "[history]\n[history]\n[history]\n[history]\n[history]\n[history]\n>\nstatus\n");
	end(&f);
}

/* A terminal that breaks rows, as most do: 79 columns become two rows of 40. The column of the cursor
 * says so when it was behind the new edge. */
static void test_resize_with_reflow_finds_the_region(void **state)
{
	struct fixture f;
	char row[82];

	(void)state;
	memset(row, 'x', 79);
	memcpy(row + 79, "\n", 2);
	begin(&f, 24, 80);
	ar_tty_live(&f.s, ar_str_from(row), 0, 79);
	frame(&f);
	ar_tty_resize(&f.s, 40, 24, &f.bytes);
	ar_tty_resized(&f.s, 39);
	assert_int_equal(f.s.reflow, AR_REFLOW_NO);
	ar_tty_live(&f.s, ar_str_from(row), 0, 60);
	ar_tty_frame(&f.s, f.now, &f.bytes);
	ar_tty_resize(&f.s, 25, 24, &f.bytes);
	ar_tty_resized(&f.s, 39 % 25);
	assert_int_equal(f.s.reflow, AR_REFLOW_YES);
	ar_buf_clear(&f.bytes);
	ar_tty_frame(&f.s, f.now, &f.bytes);
	assert_non_null(memmem(f.bytes.p, f.bytes.len, "\r\033[1A\033[J", 8));
	end(&f);
}

/* Much history comes in several frames; leaving writes all that is left. */
static void test_a_frame_is_small(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 24, 80);
	ar_tty_live(&f.s, AR_STR("> \n"), 0, 2);
	for (int i = 0; i < 300; i++)
		ar_tty_print(&f.s, AR_STR("[a line of history, and more of it]"), 0);
	for (int i = 0; i < 4; i++) {
		f.now += AR_SCREEN_FRAME_USEC;
		ar_tty_frame(&f.s, f.now, &f.bytes);
		assert_true(f.bytes.len > 0 && f.bytes.len < 4096);
		assert_true(ar_tty_is_due(&f.s));
		fake_terminal_feed(&f.t, &f.bytes);
	}
	ar_tty_leave(&f.s, &f.bytes);
	fake_terminal_feed(&f.t, &f.bytes);
	assert_int_equal(count(seen(&f), "[a line"), 300);
	assert_int_equal(count(ar_buf_str(&f.seen), ">"), 0);
	end(&f);
}

static void test_without_colours_there_is_no_sgr(void **state)
{
	struct fixture f;
	struct ar_buf line = { 0 };

	(void)state;
	begin(&f, 24, 80);
	f.s.has_colour = false;
	ar_text_add_styled(&line, AR_STYLE_RED, AR_STR("red"));
	ar_tty_print(&f.s, ar_buf_str(&line), 0);
	ar_tty_frame(&f.s, f.now, &f.bytes);
	assert_null(memmem(f.bytes.p, f.bytes.len, "m", 1));
	f.s.has_colour = true;
	ar_tty_print(&f.s, ar_buf_str(&line), 0);
	frame(&f);
	assert_int_equal(fake_terminal_cell(&f.t, 1, 0).fg.indexed.idx, 1);
	ar_buf_fini(&line);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_screen),
		cmocka_unit_test(test_every_line_once),
		cmocka_unit_test(test_a_frame_only_when_something_changed),
		cmocka_unit_test(test_sequences_are_the_few_known_ones),
		cmocka_unit_test(test_a_live_region_higher_than_the_terminal_is_cut_at_its_top),
		cmocka_unit_test(test_resize_without_reflow_keeps_history),
		cmocka_unit_test(test_resize_with_reflow_finds_the_region),
		cmocka_unit_test(test_a_frame_is_small),
		cmocka_unit_test(test_without_colours_there_is_no_sgr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
