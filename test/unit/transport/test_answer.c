/* The reader of a peer's answer in any portion of bytes: bodies, streams, ends, caps. */
#include "peer/h1_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define OK "HTTP/1.1 200 OK\r\n"
#define STREAM OK "Content-Type: text/event-stream\r\n"

struct reader {
	struct ar_h1_answer answer;
	struct ar_buf streamed;
	unsigned opened;
};

static void on_opened(struct ar_h1_answer *a)
{
	AR_CONTAINER_OF(a, struct reader, answer)->opened++;
}

static void on_bytes(struct ar_h1_answer *a, struct ar_str bytes)
{
	struct reader *r = AR_CONTAINER_OF(a, struct reader, answer);

	assert_int_equal(r->opened, 1);
	ar_buf_adds(&r->streamed, bytes);
}

static const struct ar_h1_answer_vtable callbacks = { on_opened, on_bytes };

/* Feeds `portion` bytes at a time, then the end; *ret_used is where the answer was complete. */
static enum ar_h1_answer_outcome feed_all(struct reader *r, struct ar_str bytes, size_t portion,
					  bool wants_stream, size_t *ret_used)
{
	enum ar_h1_answer_outcome outcome = AR_H1_ANSWER_MORE;
	size_t used;

	*r = (struct reader){ 0 };
	*ret_used = 0;
	ar_h1_answer_init(&r->answer, wants_stream ? &callbacks : NULL);
	while (outcome == AR_H1_ANSWER_MORE && *ret_used < bytes.len) {
		outcome = ar_h1_answer_feed(&r->answer, ar_str_sub(bytes, *ret_used, portion), &used);
		*ret_used += used;
	}
	return outcome == AR_H1_ANSWER_MORE ? ar_h1_answer_finish(&r->answer) : outcome;
}

static void fini(struct reader *r)
{
	ar_h1_answer_fini(&r->answer);
	ar_buf_fini(&r->streamed);
}

static void reads_bodies_in_any_portion(void **state AR_UNUSED)
{
	static const struct {
		struct ar_str wire;
		bool is_keepalive;
	} cases[] = {
		{ AR_STR(OK "Content-Length: 11\r\n\r\nhello world"), true },
		{ AR_STR(OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n"),
		  true },
		{ AR_STR(OK "Connection: close\r\nContent-Length: 11\r\n\r\nhello world"), false },
		{ AR_STR(OK "X-A: 1\r\n\r\nhello world"), false },
		{ AR_STR(STREAM "Content-Length: 11\r\n\r\nhello world"), true },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		for (size_t portion = 1; portion <= cases[i].wire.len; portion++) {
			struct reader r;
			size_t used;

			assert_int_equal(feed_all(&r, cases[i].wire, portion, false, &used),
					 AR_H1_ANSWER_DONE);
			assert_int_equal(used, cases[i].wire.len);
			assert_int_equal(r.answer.status, 200);
			assert_int_equal(r.answer.is_keepalive, cases[i].is_keepalive);
			assert_true(ar_str_is(ar_buf_str(&r.answer.body), "hello world"));
			fini(&r);
		}
	}
}

static void hands_a_stream_on_as_it_comes(void **state AR_UNUSED)
{
	static const struct ar_str wires[] = {
		AR_STR(STREAM "\r\ndata: 1\n\n"),
		AR_STR(OK "content-TYPE:  Text/Event-Stream; charset=utf-8\r\n\r\ndata: 1\n\n"),
		AR_STR(STREAM "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n0\r\n\r\n"),
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(wires); i++) {
		for (size_t portion = 1; portion <= wires[i].len; portion++) {
			struct reader r;
			size_t used;

			assert_int_equal(feed_all(&r, wires[i], portion, true, &used), AR_H1_ANSWER_DONE);
			assert_int_equal(r.opened, 1);
			assert_true(ar_str_is(ar_buf_str(&r.streamed), "data: 1\n\n"));
			assert_int_equal(r.answer.body.len, 0);
			fini(&r);
		}
	}
}

static void tells_where_a_session_was(void **state AR_UNUSED)
{
	static const struct {
		struct ar_str wire;
		uint64_t as_of;
	} cases[] = {
		{ AR_STR(STREAM "Agentruntime-As-Of: 17\r\n\r\n"), 17 },
		{ AR_STR(OK
			 "agentruntime-as-of:9223372036854775807\r\nContent-Type: text/event-stream\r\n\r\n"),
		  INT64_MAX },
		{ AR_STR(STREAM "\r\n"), 0 },
		{ AR_STR(STREAM "Agentruntime-As-Of: \r\n\r\n"), 0 },
		{ AR_STR(STREAM "Agentruntime-As-Of: -1\r\n\r\n"), 0 },
		{ AR_STR(STREAM "Agentruntime-As-Of: 17x\r\n\r\n"), 0 },
		{ AR_STR(STREAM "Agentruntime-As-Of: 9223372036854775808\r\n\r\n"), 0 },
		{ AR_STR(STREAM "Agentruntime-As-Of: 1111111111111111111111111111111111111111\r\n\r\n"), 0 },
		{ AR_STR(STREAM "Agentruntime-As-Of-Else-And-More-Of-It: 17\r\n\r\n"), 0 },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		for (size_t portion = 1; portion <= cases[i].wire.len; portion++) {
			struct reader r;
			size_t used;

			assert_int_equal(feed_all(&r, cases[i].wire, portion, true, &used),
					 AR_H1_ANSWER_DONE);
			assert_int_equal(r.opened, 1);
			assert_true(r.answer.as_of == cases[i].as_of);
			fini(&r);
		}
	}
}

static void a_refused_stream_is_an_answer(void **state AR_UNUSED)
{
	static const struct ar_str wires[] = {
		AR_STR("HTTP/1.1 404 Not Found\r\nContent-Type: text/event-stream\r\nContent-Length: "
		       "2\r\n\r\n{}"),
		AR_STR(OK "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"),
		AR_STR(OK "Content-Type: text/event-streams\r\nContent-Length: 2\r\n\r\n{}"),
		AR_STR(OK "X-Type: text/event-stream\r\nContent-Length: 2\r\n\r\n{}"),
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(wires); i++) {
		struct reader r;
		size_t used;

		assert_int_equal(feed_all(&r, wires[i], wires[i].len, true, &used), AR_H1_ANSWER_DONE);
		assert_int_equal(r.opened, 0);
		assert_true(ar_str_is(ar_buf_str(&r.answer.body), "{}"));
		fini(&r);
	}
}

static void what_is_no_whole_answer_is_bad(void **state AR_UNUSED)
{
	static const struct ar_str wires[] = {
		AR_STR(""),
		AR_STR("HTTP/1.1 200"),
		AR_STR("HTTP/1.1 2000 OK\r\n\r\n"),
		AR_STR("HTTP/1.1 100 Continue\r\n\r\n"),
		AR_STR("SSH-2.0-x\r\n"),
		AR_STR("GET / HTTP/1.1\r\n\r\n"),
		AR_STR(OK "Content-Length: 11\r\n\r\nhello"),
		AR_STR(OK "Content-Length: 68000000\r\n\r\n"),
		AR_STR(OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
		AR_STR(OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
		AR_STR(OK "Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: 1\r\n\r\n"),
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(wires); i++) {
		for (size_t portion = 1; portion <= wires[i].len + 1; portion++) {
			struct reader r;
			size_t used;

			assert_int_equal(feed_all(&r, wires[i], portion, true, &used), AR_H1_ANSWER_BAD);
			assert_non_null(r.answer.fault);
			fini(&r);
		}
	}
}

static void leaves_what_comes_behind(void **state AR_UNUSED)
{
	struct ar_str wire = AR_STR(OK "Content-Length: 2\r\n\r\n{}HTTP/1.1 500");
	struct reader r;
	size_t used;

	assert_int_equal(feed_all(&r, wire, wire.len, false, &used), AR_H1_ANSWER_DONE);
	assert_int_equal(used, wire.len - 12);
	fini(&r);
}

/* The head may be as long as its cap with the body right behind it, and not a byte longer. */
static void caps_the_head(void **state AR_UNUSED)
{
	for (size_t over = 0; over < 2; over++) {
		struct ar_buf wire = { 0 };
		struct reader r;
		size_t used;

		ar_buf_addz(&wire, OK "Content-Length: 2\r\nX-A: ");
		while (wire.len < AR_ANSWER_HEAD_MAX - 4 + over)
			ar_buf_addc(&wire, 'a');
		ar_buf_addz(&wire, "\r\n\r\n{}");
		assert_int_equal(feed_all(&r, ar_buf_str(&wire), wire.len, false, &used),
				 over ? AR_H1_ANSWER_BAD : AR_H1_ANSWER_DONE);
		fini(&r);
		ar_buf_fini(&wire);
	}
}

/* A length that is too large is refused when it is said, not when it has come. */
static void caps_the_body(void **state AR_UNUSED)
{
	struct ar_str wire = AR_STR(OK "Content-Length: 67108865\r\n\r\n");
	struct ar_h1_answer a;
	size_t used;

	ar_h1_answer_init(&a, NULL);
	assert_int_equal(ar_h1_answer_feed(&a, wire, &used), AR_H1_ANSWER_BAD);
	ar_h1_answer_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_bodies_in_any_portion),
		cmocka_unit_test(hands_a_stream_on_as_it_comes),
		cmocka_unit_test(tells_where_a_session_was),
		cmocka_unit_test(a_refused_stream_is_an_answer),
		cmocka_unit_test(what_is_no_whole_answer_is_bad),
		cmocka_unit_test(leaves_what_comes_behind),
		cmocka_unit_test(caps_the_head),
		cmocka_unit_test(caps_the_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
