/* The event stream reader: odd streams in one piece, the same streams cut in two at every byte and given byte
 * by byte. */
#include "unit.h"

#include "sse_reader.h"

static const struct {
	const char *bytes;
	const char *events; /* name|data; for each event */
	size_t len; /* 0: strlen */
} streams[] = {
	{ "data: a\n\n", "|a;", 0 },
	{ "data:a\n\n", "|a;", 0 },
	{ "data:  two spaces keep one\n\n", "| two spaces keep one;", 0 },
	{ "data: a\r\n\r\ndata: b\r\rdata: c\n\n", "|a;|b;|c;", 0 },
	{ "data: a\r\ndata: b\r\n\r\n", "|a\nb;", 0 },
	{ "\xef\xbb\xbf"
	  "data: bom\n\n",
	  "|bom;", 0 },
	{ "\xef\xbb"
	  "data: half a bom is no field\n\ndata: b\n\n",
	  "|b;", 0 },
	{ ": comment\n\n:\n:keep-alive\n\ndata: a\n: inside\ndata: b\n\n", "|a\nb;", 0 },
	{ "event: error\ndata: x\n\ndata: y\n\n", "error|x;|y;", 0 },
	{ "event: lonely\n\ndata: y\n\n", "|y;", 0 },
	{ "data\n\n", "|;", 0 },
	{ "data:\ndata:\n\n", "|\n;", 0 },
	{ "id: 7\nretry: 3\nunknown: x\nno colon\ndata: a\n\n", "|a;", 0 },
	{ "\n\n\r\n\rdata: a\n\n\n\n", "|a;", 0 },
	{ "data: \xf0\x9f\x98\x80 e\xcc\x81\n\n", "|\xf0\x9f\x98\x80 e\xcc\x81;", 0 },
	{ "data: a:b: c\n\n", "|a:b: c;", 0 },
	{ "data: a\n", "|a;", 0 },
	{ "data: done\n\ndata: cut", "|done;", 0 },
	{ "data: n\0l\n\n", "|n\0l;", 11 },
	{ "", "", 0 },
};

struct seen {
	struct ar_buf events;
	int left; /* events until on_event says stop */
};

static bool on_event(void *owner, struct ar_str name, struct ar_str data)
{
	struct seen *s = owner;

	ar_buf_adds(&s->events, name);
	ar_buf_addc(&s->events, '|');
	ar_buf_adds(&s->events, data);
	ar_buf_addc(&s->events, ';');
	return --s->left != 0;
}

static void assert_events(struct ar_str bytes, size_t cut, size_t step, struct ar_str want)
{
	struct seen seen = { 0 };
	struct ar_sse_reader r;

	ar_sse_init(&r, 1024, on_event, &seen);
	assert_int_equal(ar_sse_feed(&r, ar_str_sub(bytes, 0, cut)), AR_OK);
	for (size_t at = cut; at < bytes.len; at += step)
		assert_int_equal(ar_sse_feed(&r, ar_str_sub(bytes, at, step)), AR_OK);
	assert_int_equal(ar_sse_end(&r), AR_OK);
	if (!ar_str_eq(ar_buf_str(&seen.events), want))
		print_error("cut %zu step %zu: '%.*s'\n", cut, step, AR_STR_ARG(ar_buf_str(&seen.events)));
	assert_true(ar_str_eq(ar_buf_str(&seen.events), want));
	ar_sse_fini(&r);
	ar_buf_fini(&seen.events);
}

static void test_odd_streams_at_every_cut(void **state AR_UNUSED)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(streams); i++) {
		size_t len = streams[i].len ? streams[i].len : strlen(streams[i].bytes);
		struct ar_str bytes = { streams[i].bytes, len };
		size_t want_len = streams[i].len ? 5 : strlen(streams[i].events);

		for (size_t cut = 0; cut <= len; cut++)
			assert_events(bytes, cut, len + 1, (struct ar_str){ streams[i].events, want_len });
		assert_events(bytes, 0, 1, (struct ar_str){ streams[i].events, want_len });
	}
}

/* The cap holds for one line, for many lines of one event, and does not count events that are over. */
static void test_cap(void **state AR_UNUSED)
{
	struct seen seen = { 0 };
	struct ar_sse_reader r;

	ar_sse_init(&r, 16, on_event, &seen);
	for (int i = 0; i < 10; i++)
		assert_int_equal(ar_sse_feed(&r, AR_STR("data: 0123456789\n\n")), AR_OK);
	assert_int_equal(ar_sse_feed(&r, AR_STR("data: 0123456789\n")), AR_OK);
	assert_int_equal(ar_sse_feed(&r, AR_STR("data: 0123456789\n")), AR_E_LIMIT);
	ar_sse_fini(&r);
	ar_sse_init(&r, 16, on_event, &seen);
	assert_int_equal(ar_sse_feed(&r, AR_STR("data: 01234567")), AR_OK);
	assert_int_equal(ar_sse_feed(&r, AR_STR("89abcdef")), AR_E_LIMIT);
	ar_sse_fini(&r);
	ar_buf_fini(&seen.events);
}

static void test_stop(void **state AR_UNUSED)
{
	struct seen seen = { .left = 2 };
	struct ar_sse_reader r;

	ar_sse_init(&r, 1024, on_event, &seen);
	assert_int_equal(ar_sse_feed(&r, AR_STR("data: a\n\ndata: b\n\ndata: c\n\n")), AR_E_CANCELED);
	assert_str(ar_buf_str(&seen.events), "|a;|b;");
	ar_sse_fini(&r);
	ar_buf_fini(&seen.events);
}

/* Where a reader that reconnects goes on, and when. */
static void test_place(void **state AR_UNUSED)
{
	struct seen seen = { 0 };
	struct ar_sse_reader r;

	ar_sse_init(&r, 1024, on_event, &seen);
	assert_int_equal(r.retry_ms, -1);
	assert_int_equal(ar_sse_feed(&r, AR_STR("id: a7\nretry: 500\ndata: \n\ndata: x\n\n")), AR_OK);
	assert_str(ar_buf_str(&r.id), "a7");
	assert_int_equal(r.retry_ms, 500);
	assert_int_equal(ar_sse_feed(&r, AR_STR("id: b\nid: c\0d\nretry: soon\nretry: -4\n\n")), AR_OK);
	assert_str(ar_buf_str(&r.id), "b");
	assert_int_equal(r.retry_ms, 500);
	ar_sse_fini(&r);
	ar_buf_fini(&seen.events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_odd_streams_at_every_cut),
		cmocka_unit_test(test_cap),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
