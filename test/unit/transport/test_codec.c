/* The request reader in any portion of bytes: bodies, chunks, caps, and what stays for the next request. */
#include "h1/h1_codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define HEAD "POST /x HTTP/1.1\r\nHost: localhost\r\n"
#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

static const struct ar_h1_limits limits = { 1024, 64 };

/* Feeds `portion` bytes at a time until the request is done or bad; *ret_used is where that was. */
static enum ar_h1_outcome feed_all(struct ar_h1 *h, struct ar_str bytes, size_t portion, size_t *ret_used)
{
	enum ar_h1_outcome outcome = AR_H1_MORE;
	size_t used;

	*ret_used = 0;
	ar_h1_init(h, &limits);
	while (outcome == AR_H1_MORE || outcome == AR_H1_HEAD) {
		struct ar_str part = ar_str_sub(bytes, *ret_used, portion);

		if (outcome == AR_H1_MORE && !part.len)
			return outcome;
		outcome = ar_h1_feed(h, part, &used);
		*ret_used += used;
	}
	return outcome;
}

static int verdict(struct ar_str bytes)
{
	int first = -1;

	for (size_t portion = 1; portion <= bytes.len; portion++) {
		struct ar_h1 h;
		size_t used;
		enum ar_h1_outcome outcome = feed_all(&h, bytes, portion, &used);
		int status = outcome == AR_H1_BAD ? h.fault.status : outcome == AR_H1_DONE ? 0 : 1;

		ar_h1_fini(&h);
		if (portion > 1)
			assert_int_equal(status, first);
		first = status;
	}
	return first;
}

static void reads_bodies_in_any_portion(void **state AR_UNUSED)
{
	static const struct ar_str wires[] = {
		AR_STR(HEAD "Content-Length: 11\r\n\r\nhello world"),
		AR_STR(CHUNKED "5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n"),
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(wires); i++) {
		for (size_t portion = 1; portion < 200; portion++) {
			struct ar_buf bytes = { 0 };
			struct ar_h1 h;
			size_t used;

			ar_buf_adds(&bytes, wires[i]);
			ar_buf_addz(&bytes, "GET /next");
			assert_int_equal(feed_all(&h, ar_buf_str(&bytes), portion, &used), AR_H1_DONE);
			assert_int_equal(used, wires[i].len);
			assert_true(ar_str_is(ar_buf_str(&h.body), "hello world"));
			assert_true(h.is_keepalive);
			ar_h1_fini(&h);
			ar_buf_fini(&bytes);
		}
	}
}

static void judges_framing_alike_in_every_portion(void **state AR_UNUSED)
{
	static const struct {
		struct ar_str bytes;
		int status;
	} cases[] = {
		{ AR_STR(HEAD "\r\n"), 0 },
		{ AR_STR(HEAD "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n"), 0 },
		{ AR_STR(HEAD "Content-Length: 3\r\n\r\nab"), 1 },
		{ AR_STR(HEAD "Content-Length: 65\r\n\r\n"), 413 },
		{ AR_STR(CHUNKED "41\r\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"
				 "0\r\n\r\n"),
		  413 },
		{ AR_STR(CHUNKED "fffffffffffffffff5\r\nabcde\r\n0\r\n\r\n"), 400 },
		{ AR_STR(CHUNKED "0x5\r\nabcde\r\n0\r\n\r\n"), 400 },
		{ AR_STR(CHUNKED "-5\r\nabcde\r\n0\r\n\r\n"), 400 },
		{ AR_STR(CHUNKED "5\r\nabcdeXX0\r\n\r\n"), 400 },
		{ AR_STR(CHUNKED "5\nabcde\r\n0\r\n\r\n"), 400 },
		{ AR_STR(CHUNKED "5\r\nabcde\n0\r\n\r\n"), 400 },
		{ AR_STR(CHUNKED "5;a\nabcde\r\n0\r\n\r\n"), 400 },
		{ AR_STR(CHUNKED "5\rabcde\r\n0\r\n\r\n"), 400 },
		{ AR_STR(CHUNKED "5;a\rXabcde\r\n0\r\n\r\n"), 400 },
		{ AR_STR(CHUNKED "0\r\n\n"), 400 },
		{ AR_STR(CHUNKED "0\r\n\rX"), 400 },
		{ AR_STR(CHUNKED "0\n\r\n"), 400 },
		{ AR_STR(CHUNKED "0\r\n\r"), 1 },
		{ AR_STR(CHUNKED "00;x\r\n\r\n"), 0 },
		{ AR_STR(CHUNKED "0\r\nX: y\r\n\r\n"), 400 },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		if (verdict(cases[i].bytes) != cases[i].status)
			fail_msg("case %zu is %d, not %d", i, verdict(cases[i].bytes), cases[i].status);
	}
}

static void caps_the_head(void **state AR_UNUSED)
{
	struct ar_buf bytes = { 0 };

	ar_buf_addz(&bytes, HEAD "X-A: ");
	for (int i = 0; i < 1024; i++)
		ar_buf_addc(&bytes, 'a');
	ar_buf_addc(&bytes, 0); /* behind the cap nothing is looked at */
	assert_int_equal(verdict(ar_buf_str(&bytes)), 431);
	ar_buf_fini(&bytes);
}

static void caps_chunk_extensions(void **state AR_UNUSED)
{
	struct ar_buf bytes = { 0 };

	ar_buf_addz(&bytes, CHUNKED "5;");
	for (int i = 0; i < 1100; i++)
		ar_buf_addc(&bytes, 'a');
	ar_buf_addz(&bytes, "\r\nhello\r\n0\r\n\r\n");
	assert_int_equal(verdict(ar_buf_str(&bytes)), 400);
	ar_buf_fini(&bytes);
}

static void knows_when_to_close(void **state AR_UNUSED)
{
	static const struct {
		struct ar_str bytes;
		bool is_keepalive;
	} cases[] = {
		{ AR_STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), true },
		{ AR_STR("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), false },
		{ AR_STR("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), false },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_h1 h;
		size_t used;

		assert_int_equal(feed_all(&h, cases[i].bytes, 7, &used), AR_H1_DONE);
		assert_int_equal(h.is_keepalive, cases[i].is_keepalive);
		ar_h1_fini(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_bodies_in_any_portion),
		cmocka_unit_test(judges_framing_alike_in_every_portion),
		cmocka_unit_test(caps_the_head),
		cmocka_unit_test(caps_chunk_extensions),
		cmocka_unit_test(knows_when_to_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
