/* The diffs of changed files: applied to what was there before, each gives what is there now. */
#include "unit.h"
#include "write/diff.h"
#include "write/lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reader of unified diffs that believes nothing: every line it does not add must stand in the old text. */
struct reader {
	struct ar_lines old;
	struct ar_str rest; /* of the diff */
	size_t at; /* next line of old */
	struct ar_buf out;
};

static struct ar_str next_line(struct reader *r)
{
	const char *end = memchr(r->rest.p, '\n', r->rest.len);
	struct ar_str line = ar_str_sub(r->rest, 0, (size_t)(end - r->rest.p) + 1);

	r->rest = ar_str_sub(r->rest, line.len, r->rest.len);
	return line;
}

static void copy_until(struct reader *r, size_t line)
{
	assert_true(line >= r->at && line <= r->old.count);
	while (r->at < line)
		ar_buf_adds(&r->out, r->old.at[r->at++]);
}

static void apply_line(struct reader *r, struct ar_str line)
{
	struct ar_str text = ar_str_sub(line, 1, line.len);

	if (r->rest.len > 0 && r->rest.p[0] == '\\') {
		text.len--;
		next_line(r);
	}
	if (line.p[0] != '+') {
		assert_true(r->at < r->old.count);
		assert_true(ar_str_eq(r->old.at[r->at], text));
		r->at++;
	}
	if (line.p[0] != '-')
		ar_buf_adds(&r->out, text);
}

static void expect_applies(struct ar_str before, struct ar_str after)
{
	struct ar_arena a = { 0 };
	struct ar_buf diff = { 0 };
	struct reader r = { 0 };

	if (!ar_diff_write(&(struct ar_diff){ AR_STR("f"), true, true, before, after }, &diff)) {
		assert_true(ar_str_eq(before, after));
		return;
	}
	assert_true(ar_lines_split(&a, before, &r.old));
	r.rest = ar_buf_str(&diff);
	assert_true(ar_str_eq(next_line(&r), AR_STR("--- a/f\n")));
	assert_true(ar_str_eq(next_line(&r), AR_STR("+++ b/f\n")));
	while (r.rest.len > 0) {
		struct ar_str line = next_line(&r);
		size_t from, count;

		if (line.p[0] != '@') {
			apply_line(&r, line);
			continue;
		}
		assert_int_equal(sscanf(line.p, "@@ -%zu,%zu ", &from, &count), 2);
		copy_until(&r, count > 0 ? from - 1 : from);
	}
	copy_until(&r, r.old.count);
	assert_true(ar_str_eq(ar_buf_str(&r.out), after));
	ar_buf_fini(&r.out);
	ar_buf_fini(&diff);
	ar_arena_fini(&a);
}

/* Few different lines, so that many are equal by chance. */
static struct ar_str random_text(struct ar_buf *b, size_t lines, unsigned kinds)
{
	for (size_t i = 0; i < lines; i++)
		ar_buf_addf(b, "line %u\n", (unsigned)rand() % kinds);
	if (b->len > 0 && rand() % 3 == 0)
		b->len--; /* the last line has no end */
	return ar_buf_str(b);
}

static void random_texts_are_restored(void **state)
{
	(void)state;
	srand(16);
	for (int i = 0; i < 3000; i++) {
		AR_AUTO(ar_buf_fini) struct ar_buf a = { 0 };
		AR_AUTO(ar_buf_fini) struct ar_buf b = { 0 };
		unsigned kinds = 1 + (unsigned)rand() % 40;
		struct ar_str before = random_text(&a, (size_t)rand() % 60, kinds);

		expect_applies(before, random_text(&b, (size_t)rand() % 60, kinds));
	}
}

static void one_line_of_many_gives_a_small_diff(void **state)
{
	AR_AUTO(ar_buf_fini) struct ar_buf a = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf b = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf diff = { 0 };

	(void)state;
	for (int i = 0; i < 20000; i++) {
		ar_buf_addf(&a, "%d\n", i);
		ar_buf_addf(&b, "%d\n", i == 100 || i == 19000 ? -i : i);
	}
	expect_applies(ar_buf_str(&a), ar_buf_str(&b));
	assert_true(
		ar_diff_write(&(struct ar_diff){ AR_STR("f"), true, true, ar_buf_str(&a), ar_buf_str(&b) },
			      &diff));
	assert_true(diff.len < 300);
}

static void texts_without_a_common_line_are_one_hunk(void **state)
{
	AR_AUTO(ar_buf_fini) struct ar_buf a = { 0 };
	AR_AUTO(ar_buf_fini) struct ar_buf b = { 0 };

	(void)state;
	for (int i = 0; i < 30000; i++) {
		ar_buf_addf(&a, "a%d\n", i);
		ar_buf_addf(&b, "b%d\n", i);
	}
	expect_applies(ar_buf_str(&a), ar_buf_str(&b));
}

static void new_and_deleted_files_name_dev_null(void **state)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };

	(void)state;
	assert_true(ar_diff_write(&(struct ar_diff){ AR_STR("a\nb"), false, true, AR_STR(""), AR_STR("x") },
				  &out));
	assert_true(ar_str_eq(ar_buf_str(&out), AR_STR("--- /dev/null\n+++ \"b/a\\nb\"\n@@ -0,0 +1,1 @@\n+x\n"
						       "\\ No newline at end of file\n")));
	out.len = 0;
	assert_true(ar_diff_write(&(struct ar_diff){ AR_STR("f"), true, false, AR_STR("x\n"), AR_STR("") },
				  &out));
	assert_true(ar_str_eq(ar_buf_str(&out), AR_STR("--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n")));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_texts_are_restored),
		cmocka_unit_test(one_line_of_many_gives_a_small_diff),
		cmocka_unit_test(texts_without_a_common_line_are_one_hunk),
		cmocka_unit_test(new_and_deleted_files_name_dev_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
