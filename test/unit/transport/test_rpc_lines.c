/* Lines and server-sent events in any portion of bytes. */
#include "rpc/lines.h"
#include "rpc/sse_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define CAP 8

struct reader {
	struct ar_lines lines;
	struct ar_buf seen; /* each line with a bar behind it, `!` for one that was too long */
	size_t budget; /* lines that are taken before a pause */
};

static void on_line(struct ar_lines *l, struct ar_str text)
{
	struct reader *r = AR_CONTAINER_OF(l, struct reader, lines);

	ar_buf_adds(&r->seen, text);
	ar_buf_addc(&r->seen, '|');
	r->budget--;
}

static void on_too_long(struct ar_lines *l)
{
	ar_buf_addz(&AR_CONTAINER_OF(l, struct reader, lines)->seen, "!|");
}

static bool takes_more(struct ar_lines *l)
{
	return AR_CONTAINER_OF(l, struct reader, lines)->budget > 0;
}

static const struct ar_lines_vtable callbacks = { on_line, on_too_long, takes_more };

static void is(const struct ar_buf *got, const char *expected)
{
	assert_int_equal(got->len, strlen(expected));
	assert_memory_equal(got->p, expected, got->len);
}

static void reads_lines_in_any_portion(void **state AR_UNUSED)
{
	static const char wire[] = "one\r\n\n\r\n12345678\r\n123456789\nlong long long\ntwo\nrest";

	for (size_t portion = 1; portion < sizeof wire; portion++) {
		struct reader r = { .lines = { .v = &callbacks, .cap = CAP }, .budget = 100 };
		struct ar_str left = { wire, sizeof wire - 1 };

		while (left.len) {
			struct ar_str part = ar_str_sub(left, 0, portion);

			assert_int_equal(ar_lines_feed(&r.lines, part), part.len);
			left = ar_str_sub(left, part.len, left.len);
		}
		is(&r.seen, "one|12345678|!|!|two|");
		ar_lines_finish(&r.lines);
		is(&r.seen, "one|12345678|!|!|two|rest|");
		ar_lines_fini(&r.lines);
		ar_buf_fini(&r.seen);
	}
}

static void stops_when_no_more_is_wanted(void **state AR_UNUSED)
{
	struct reader r = { .lines = { .v = &callbacks, .cap = CAP }, .budget = 2 };
	struct ar_str wire = AR_STR("a\nb\nc\nd\n");
	size_t used = ar_lines_feed(&r.lines, wire);

	assert_int_equal(used, 4);
	is(&r.seen, "a|b|");
	r.budget = 2;
	assert_int_equal(ar_lines_feed(&r.lines, ar_str_sub(wire, used, wire.len)), 4);
	is(&r.seen, "a|b|c|d|");
	ar_lines_fini(&r.lines);
	ar_buf_fini(&r.seen);
}

static void on_event(void *arg, struct ar_str cursor, struct ar_str json)
{
	ar_buf_addf(arg, "%.*s=%.*s|", AR_STR_ARG(cursor), AR_STR_ARG(json));
}

static void reads_events_in_any_portion(void **state AR_UNUSED)
{
	static const char wire[] =
		"id: 1\ndata: {\"a\":1}\n\n:\n\nid: 2.1:3\ndata: {}\n\nretry: 500\n\ndata: {}\n\nid: 3\nda";

	for (size_t portion = 1; portion < sizeof wire; portion++) {
		struct ar_sse_text t = { 0 };
		struct ar_buf seen = { 0 };
		struct ar_str left = { wire, sizeof wire - 1 };

		while (left.len) {
			assert_true(ar_sse_text_feed(&t, ar_str_sub(left, 0, portion), 64, on_event, &seen));
			left = ar_str_sub(left, portion, left.len);
		}
		is(&seen, "1={\"a\":1}|2.1:3={}|");
		ar_sse_text_fini(&t);
		ar_buf_fini(&seen);
	}
}

static void an_event_has_a_cap(void **state AR_UNUSED)
{
	struct ar_sse_text t = { 0 };
	struct ar_buf seen = { 0 };

	assert_true(ar_sse_text_feed(&t, AR_STR("id: 1\ndata: 12"), 16, on_event, &seen));
	assert_false(ar_sse_text_feed(&t, AR_STR("345"), 16, on_event, &seen));
	ar_sse_text_fini(&t);
	ar_buf_fini(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_lines_in_any_portion),
		cmocka_unit_test(stops_when_no_more_is_wanted),
		cmocka_unit_test(reads_events_in_any_portion),
		cmocka_unit_test(an_event_has_a_cap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
