/* The strict look at a request head: every case on which two readers could differ is refused. */
#include "h1/h1_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

/* The status with which a head is refused; 0 when it is taken. */
static int verdict(struct ar_str raw)
{
	struct ar_h1_scan scan = { 0 };
	struct ar_fault fault = { 0 };
	struct ar_h1_head head;
	size_t used = ar_h1_scan(&scan, raw, &fault);

	if (fault.status)
		return fault.status;
	assert_true(scan.is_over);
	assert_int_equal(used, raw.len);
	ar_h1_head_read(raw, &head, &fault);
	return fault.status;
}

#define LINE "POST /x HTTP/1.1\r\nHost: localhost\r\n"

static void takes_a_plain_head(void **state AR_UNUSED)
{
	struct ar_str raw =
		AR_STR("POST /a?b=c HTTP/1.1\r\nhOST:\t[::1]:80 \r\nContent-Length: 12\r\nContent-Type: "
		       "application/json\r\n"
		       "Last-Event-ID: 7.1:2\r\nExpect: 100-continue\r\nOrigin:\r\nX-Obs: \xff\r\n\r\n");
	struct ar_fault fault = { 0 };
	struct ar_h1_head head;

	assert_true(ar_h1_head_read(raw, &head, &fault));
	assert_true(ar_str_is(head.request.method, "POST"));
	assert_true(ar_str_is(head.request.target, "/a?b=c"));
	assert_true(ar_str_is(head.request.host, "[::1]:80"));
	assert_true(ar_str_is(head.request.last_event_id, "7.1:2"));
	assert_true(ar_str_is(head.request.origin, ""));
	assert_true(ar_str_absent(head.transfer_encoding));
	assert_int_equal(head.length, 12);
	assert_false(head.is_chunked || head.is_1_0);
}

static void refuses_what_readers_differ_on(void **state AR_UNUSED)
{
	static const struct {
		struct ar_str raw;
		int status;
	} cases[] = {
		{ AR_STR(LINE "\r\n"), 0 },
		{ AR_STR("GET / HTTP/1.0\r\n\r\n"), 0 },
		{ AR_STR("GET / HTTP/1.1\r\n\r\n"), 400 },
		{ AR_STR("GET / HTTP/2.7\r\nHost: x\r\n\r\n"), 505 },
		{ AR_STR("GET / HTTP/1.1 \r\nHost: x\r\n\r\n"), 400 },
		{ AR_STR("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"), 400 },
		{ AR_STR("GET /\r\nHost: x\r\n\r\n"), 400 },
		{ AR_STR("GET /#f HTTP/1.1\r\nHost: x\r\n\r\n"), 400 },
		{ AR_STR("GET /\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n"), 400 },
		{ AR_STR("G(T / HTTP/1.1\r\nHost: x\r\n\r\n"), 400 },
		{ AR_STR("\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"), 400 },
		{ AR_STR("\x16\x03\x01"), 400 },
		{ AR_STR(" GET / HTTP/1.1\r\n"), 400 },
		{ AR_STR(LINE "Host: b\r\n\r\n"), 400 },
		{ AR_STR(LINE "X A: 1\r\n\r\n"), 400 },
		{ AR_STR(LINE "X-A : 1\r\n\r\n"), 400 },
		{ AR_STR(LINE ": 1\r\n\r\n"), 400 },
		{ AR_STR(LINE "XA\r\n\r\n"), 400 },
		{ AR_STR(LINE "X-A: 1\r\n 2\r\n\r\n"), 400 },
		{ AR_STR(LINE "X-A: 1\n\r\n"), 400 },
		{ AR_STR(LINE "X-A: 1\rX-B: 2\r\n\r\n"), 400 },
		{ AR_STR(LINE "X-A: a\0b\r\n\r\n"), 400 },
		{ AR_STR(LINE "X-A: a\x7f\r\n\r\n"), 400 },
		{ AR_STR(LINE "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"), 400 },
		{ AR_STR(LINE "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"), 400 },
		{ AR_STR(LINE "Content-Length: 5,5\r\n\r\n"), 400 },
		{ AR_STR(LINE "Content-Length: +5\r\n\r\n"), 400 },
		{ AR_STR(LINE "Content-Length:\r\n\r\n"), 400 },
		{ AR_STR(LINE "Content-Length: 18446744073709551621\r\n\r\n"), 400 },
		{ AR_STR(LINE "Transfer-Encoding: chunked\r\n\r\n"), 0 },
		{ AR_STR(LINE "Transfer-Encoding: CHUNKED\r\n\r\n"), 0 },
		{ AR_STR(LINE "Transfer-Encoding: xchunked\r\n\r\n"), 400 },
		{ AR_STR(LINE "Transfer-Encoding: chunked, identity\r\n\r\n"), 400 },
		{ AR_STR(LINE "Transfer-Encoding: \x0b"
			      "chunked\r\n\r\n"),
		  400 },
		{ AR_STR(LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"), 400 },
		{ AR_STR("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400 },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		if (verdict(cases[i].raw) != cases[i].status)
			fail_msg("case %zu is %d, not %d", i, verdict(cases[i].raw), cases[i].status);
	}
}

static void scan_stops_behind_the_empty_line(void **state AR_UNUSED)
{
	struct ar_str raw = AR_STR(LINE "\r\nGET / HTTP/1.1\n");
	struct ar_h1_scan scan = { 0 };
	struct ar_fault fault = { 0 };
	size_t at = 0;

	for (; at < raw.len && !scan.is_over; at++)
		assert_int_equal(ar_h1_scan(&scan, ar_str_sub(raw, at, 1), &fault), 1);
	assert_int_equal(at, strlen(LINE "\r\n"));
	assert_int_equal(ar_h1_scan(&scan, ar_str_sub(raw, at, raw.len), &fault), 0);
	assert_int_equal(fault.status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_a_plain_head),
		cmocka_unit_test(refuses_what_readers_differ_on),
		cmocka_unit_test(scan_stops_behind_the_empty_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
