/* The bytes of a request, field by field as opentelemetry-proto numbers them, and the pairs of the OTEL_
 * variables. Whole messages are read by the strict reader of test/telemetry. */
#include "cmocka_unit.h"
#include "encode.h"
#include "proto.h"

#include <string.h>

static void assert_bytes(struct ar_buf *b, const char *want, size_t len)
{
	assert_int_equal(b->len, len);
	assert_memory_equal(b->p, want, len);
	ar_buf_fini(b);
}

#define ASSERT_BYTES(b, literal) assert_bytes(b, literal, sizeof(literal) - 1)

static void test_fields(void **state AR_UNUSED)
{
	struct ar_buf b = { 0 };
	size_t mark;

	ar_proto_uint(&b, 1, 300);
	ASSERT_BYTES(&b, "\x08\xac\x02");
	ar_proto_uint(&b, 3, UINT64_MAX); /* -1 as int64 */
	ASSERT_BYTES(&b, "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	ar_proto_fixed64(&b, 7, 0x0102030405060708);
	ASSERT_BYTES(&b, "\x39\x08\x07\x06\x05\x04\x03\x02\x01");
	ar_proto_fixed32(&b, 16, 0x101);
	ASSERT_BYTES(&b, "\x85\x01\x01\x01\0\0");
	ar_proto_double(&b, 4, 1.5);
	ASSERT_BYTES(&b, "\x21\0\0\0\0\0\0\xf8\x3f");
	ar_proto_text(&b, 5, AR_STR("abc"));
	ASSERT_BYTES(&b, "\x2a\x03"
			 "abc");
	mark = ar_proto_open(&b, 2);
	ar_proto_text(&b, 1, AR_STR("x"));
	ar_proto_close(&b, mark);
	ASSERT_BYTES(&b, "\x12\x83\x80\x80\0\x0a\x01"
			 "x");
}

static void test_span(void **state AR_UNUSED)
{
	const struct ar_attr attr = { .name = "k", .kind = AR_ATTR_IS_TEXT, .text = AR_STR("v") };
	struct ar_span s = { .name = AR_STR("n"),
			     .kind = AR_SPAN_KIND_CLIENT,
			     .start = 1,
			     .end = 2,
			     .is_failed = true,
			     .attrs = { &attr, 1 } };
	struct ar_buf b = { 0 };

	memset(s.of.trace, 0xaa, sizeof(s.of.trace));
	memset(s.of.span, 0xbb, sizeof(s.of.span));
	s.of.flags = 1;
	ar_otlp_span(&b, &s);
	ASSERT_BYTES(&b, "\x12\xca\x80\x80\0"
			 "\x0a\x10\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa\xaa"
			 "\x12\x08\xbb\xbb\xbb\xbb\xbb\xbb\xbb\xbb"
			 "\x2a\x01n"
			 "\x30\x03"
			 "\x39\xe8\x03\0\0\0\0\0\0"
			 "\x41\xd0\x07\0\0\0\0\0\0"
			 "\x4a\x08\x0a\x01k\x12\x03\x0a\x01v"
			 "\x7a\x82\x80\x80\0\x18\x02"
			 "\x85\x01\x01\x01\0\0");
}

static void test_rejected(void **state AR_UNUSED)
{
	static const struct {
		const char *bytes;
		size_t len;
		uint64_t rejected;
	} rows[] = {
		{ "", 0, 0 }, /* all is well */
		{ "\x0a\x02\x08\x05", 4, 5 },
		{ "\x0a\x08\x12\x03"
		  "bad\x08\xac\x02",
		  10, 300 }, /* the message first */
		{ "\x15\1\2\3\4\x0a\x02\x08\x05", 9, 5 }, /* behind a field of later versions */
		{ "\x0a\x7f\x08\x05", 4, 0 }, /* longer than it is */
		{ "\x0a\x02\x08\xff", 4, 0 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, 0 },
		{ "\x0b\x0a\x02\x08\x05", 5, 0 }, /* a group */
		{ "{\"partialSuccess\":{}}", 21, 0 },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++)
		assert_int_equal(ar_otlp_rejected((struct ar_str){ rows[i].bytes, rows[i].len }),
				 rows[i].rejected);
}

static void join(void *arg, struct ar_str name, struct ar_str value)
{
	ar_buf_addf(arg, "%.*s>%.*s;", AR_STR_ARG(name), AR_STR_ARG(value));
}

static void test_pairs(void **state AR_UNUSED)
{
	static const char *const bad[] = { "a",	    "a=b,c", "=b",	     "a=%",  "a=%1",
					   "a=%zz", "a=%0a", "a=%0D%0Ax: y", "a\n=b" };
	struct ar_buf out = { 0 };
	struct ar_arena a = { 0 };

	assert_true(ar_otlp_pairs(AR_STR(""), &a, join, &out));
	assert_true(ar_otlp_pairs(AR_STR(" a = b , c=%41%2c=,d=,,"), &a, join, &out));
	ASSERT_BYTES(&out, "a>b;c>A,=;d>;");
	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++) {
		if (ar_otlp_pairs(ar_str_from(bad[i]), &a, join, &out))
			fail_msg("'%s' is read as pairs", bad[i]);
	}
	ar_buf_fini(&out);
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_span),
		cmocka_unit_test(test_rejected),
		cmocka_unit_test(test_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
