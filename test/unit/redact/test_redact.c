/* Redaction: what is masked and what is not, in every form a value may take; and that a stream gives the same
 * text however it is cut. */
#include "cmocka_unit.h"
#include "clock.h"
#include "mem.h"
#include "redact.h"

#include <time.h>

#define KEY "hunter2/\"Pa\\ss~word+9"
#define MIB ((size_t)1 << 20)

static struct ar_redactor *redactor(bool with_shapes)
{
	struct ar_redactor *r = ar_redactor_new(with_shapes);

	ar_redactor_add(r, AR_STR(KEY));
	ar_redactor_add(r, AR_STR("AKIAlongsecretvalue"));
	ar_redactor_add(r, AR_STR("longsecretvalue-and-more"));
	ar_redactor_add(r, AR_STR("short"));
	return r;
}

struct row {
	const char *text, *want; /* NULL: stays as it is */
};

static const struct row rows[] = {
	/* known values, in their forms */
	{ "the key is " KEY ".", "the key is [redacted:secret]." },
	{ KEY KEY, "[redacted:secret][redacted:secret]" },
	{ "{\"a\":\"hunter2/\\\"Pa\\\\ss~word+9\"}", "{\"a\":\"[redacted:secret]\"}" },
	{ "?k=hunter2%2F%22Pa%5Css~word%2B9&x", "?k=[redacted:secret]&x" },
	{ "?k=hunter2%2f%22Pa%5css~word%2b9&x", "?k=[redacted:secret]&x" },
	{ "aHVudGVyMi8iUGFcc3N+d29yZCs5", "[redacted:secret]" },
	{ "aHVudGVyMi8iUGFcc3N-d29yZCs5", "[redacted:secret]" },
	{ "eGh1bnRlcjIvIlBhXHNzfndvcmQrOXk=", "eG[redacted:secret]Xk=" },
	{ "eHhodW50ZXIyLyJQYVxzc353b3JkKzl5", "eHh[redacted:secret]l5" },
	/* two that overlap */
	{ "AKIAlongsecretvalue-and-more!", "[redacted:secret]!" },
	/* a good part of one at the very end */
	{ "cut: hunter2/\"", "cut: [redacted:secret]" },
	{ "cut: hunter2", NULL },
	{ "hunter2/\"Pa\\ss~word+8", NULL },
	{ "short", NULL },
	{ "", NULL },
	/* shapes */
	{ "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWx-yz_1.", "[redacted:anthropic_key]." },
	{ "use sk-proj-AbCd1234EfGh5678IjKl, ok?", "use [redacted:openai_key], ok?" },
	{ "a\\nsk-proj-AbCd1234EfGh5678IjKl\\n", "a\\n[redacted:openai_key]\\n" },
	{ "ghp_0123456789abcdefghijABCDEFGHIJ012345", "[redacted:github_token]" },
	{ "github_pat_11AAAAAAA0aaaaaaaaaaaaaaaaaaaa_bbbb", "[redacted:github_token]" },
	{ "glpat-ABCDEFGHIJ0123456789", "[redacted:gitlab_token]" },
	{ "xoxb-123456789012-abcdefABCDEF", "[redacted:slack_token]" },
	{ "AKIAIOSFODNN7EXAMPLE", "[redacted:aws_key]" },
	{ "AIzaSyA-0123456789abcdefghijABCDEFGHIJ0", "[redacted:google_key]" },
	{ "art_0123456789abcdef_0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk",
	  "[redacted:runtime_token]" },
	{ "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln now", "jwt [redacted:jwt] now" },
	{ "-----BEGIN RSA PRIVATE KEY-----\nMIIE+/=\n-----END RSA PRIVATE KEY-----\nafter",
	  "[redacted:private_key]\nafter" },
	{ "\"-----BEGIN PRIVATE KEY-----\\nMIIE\\n\"}", "\"[redacted:private_key]\"}" },
	{ "postgres://app:s3cret!pw@db/x", "postgres://app:[redacted:url_password]@db/x" },
	{ "redis://:pw@h https://ghp_0123456789abcdefghijABCDEFGHIJ012345:x@h",
	  "redis://:[redacted:url_password]@h https://[redacted:github_token]:[redacted:url_password]@h" },
	{ "postgres://app:" KEY "@db", "postgres://app:[redacted:secret]@db" },
	/* none of these is one */
	{ "risk-averse-and-also-very-long-words-1A", NULL },
	{ "sk-learn-is-a-library-for-python", NULL },
	{ "sk-short1", NULL },
	{ "ghp_tooshort1", NULL },
	{ "AKIA is a prefix; xeyJhbGciOiJI.eyJzdWIiOiIx", NULL },
	{ "eyJhbGciOiJIUzI1NiJ9 alone", NULL },
	{ "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----", NULL },
	{ "http://localhost:8080/a@b and a://b and c@d", NULL },
	{ "postgres://app:[redacted:url_password]@db", NULL },
	{ "h\xC3\xA9llo \xE6\x97\xA5 [redacted:jwt]", NULL },
};

static void test_rows(void **state)
{
	struct ar_redactor *r = redactor(true);
	struct ar_arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_redact_counts counts = { 0 };
		struct ar_str got = ar_redact(r, ar_str_from(rows[i].text), &a, &counts);

		assert_string_equal(got.p, rows[i].want ? rows[i].want : rows[i].text);
	}
	ar_arena_fini(&a);
	ar_redactor_free(r);
}

static void test_counts(void **state)
{
	struct ar_redactor *r = redactor(true);
	struct ar_arena a = { 0 };
	struct ar_redact_counts counts = { 0 };

	(void)state;
	ar_redact(r, AR_STR(KEY " " KEY " ftp://a:b@c"), &a, &counts);
	assert_int_equal(counts.by[AR_REDACT_SECRET], 2);
	assert_int_equal(counts.by[AR_REDACT_URL_PASSWORD], 1);
	assert_string_equal(ar_redact_rule_name(AR_REDACT_URL_PASSWORD), "url_password");
	assert_null(ar_redact(NULL, AR_STR_NONE, &a, &counts).p);
	ar_arena_fini(&a);
	ar_redactor_free(r);
}

static void test_shapes_off(void **state)
{
	struct ar_redactor *r = redactor(false);
	struct ar_arena a = { 0 };
	struct ar_redact_counts counts = { 0 };

	(void)state;
	assert_string_equal(ar_redact(r, AR_STR("a://b:c@d " KEY), &a, &counts).p,
			    "a://b:c@d [redacted:secret]");
	ar_arena_fini(&a);
	ar_redactor_free(r);
}

/* A value of many lines is known by parts: nothing of it stays. */
static void test_long_value(void **state)
{
	struct ar_redactor *r = ar_redactor_new(false);
	struct ar_redact_counts counts = { 0 };
	struct ar_arena a = { 0 };
	struct ar_buf value = { 0 };
	struct ar_str got;

	(void)state;
	for (int i = 0; i < 4000; i++)
		ar_buf_addf(&value, "%d\xC3\xA9", i * 7919);
	ar_redactor_add(r, ar_buf_str(&value));
	got = ar_redact(r, ar_buf_str(&value), &a, &counts);
	assert_int_equal(got.len, (size_t)counts.by[AR_REDACT_SECRET] * strlen("[redacted:secret]"));
	ar_buf_fini(&value);
	ar_arena_fini(&a);
	ar_redactor_free(r);
}

/* It is looked through in pieces: a secret over the end of one, and one in the last. */
static void test_long_text(void **state)
{
	const size_t piece = (size_t)128 * 1024;
	struct ar_redactor *r = redactor(true);
	struct ar_redact_counts counts = { 0 };
	struct ar_arena a = { 0 };
	struct ar_buf text = { 0 }, want = { 0 };

	(void)state;
	for (size_t i = 0; i < piece - 5; i++)
		ar_buf_addc(&text, '.');
	ar_buf_adds(&want, ar_buf_str(&text));
	assert_ptr_equal(ar_redact(r, ar_buf_str(&text), &a, &counts).p, text.p); /* no copy */
	for (int i = 0; i < 2; i++) {
		ar_buf_addz(&text, KEY);
		ar_buf_addz(&want, "[redacted:secret]");
		for (size_t k = 0; k < piece; k++) {
			ar_buf_addc(&text, '-');
			ar_buf_addc(&want, '-');
		}
	}
	assert_true(ar_str_eq(ar_redact(r, ar_buf_str(&text), &a, &counts), ar_buf_str(&want)));
	assert_int_equal(counts.by[AR_REDACT_SECRET], 2);
	ar_buf_fini(&text);
	ar_buf_fini(&want);
	ar_arena_fini(&a);
	ar_redactor_free(r);
}

/* ---- streams ---- */

static void stream_cut(const struct ar_redactor *r, struct ar_str text, size_t one, size_t two,
		       struct ar_buf *out)
{
	struct ar_redact_stream s = { .redactor = r };

	ar_buf_clear(out);
	ar_buf_adds(out, ar_redact_feed(&s, ar_str_sub(text, 0, one)));
	ar_buf_adds(out, ar_redact_feed(&s, ar_str_sub(text, one, two - one)));
	ar_buf_adds(out, ar_redact_feed(&s, ar_str_sub(text, two, text.len)));
	ar_buf_adds(out, ar_redact_end(&s));
	ar_redact_stream_fini(&s);
}

static void test_every_cut(void **state)
{
	struct ar_redactor *r = redactor(true);
	struct ar_buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_str text = ar_str_from(rows[i].text);
		struct ar_str want = ar_str_from(rows[i].want ? rows[i].want : rows[i].text);

		for (size_t one = 0; one <= text.len; one++) {
			for (size_t two = one; two <= text.len; two++) {
				stream_cut(r, text, one, two, &out);
				assert_int_equal(out.len, want.len);
				assert_memory_equal(out.p ? out.p : "", want.p, want.len);
			}
		}
	}
	ar_buf_fini(&out);
	ar_redactor_free(r);
}

static void test_byte_by_byte(void **state)
{
	struct ar_redactor *r = redactor(true);
	struct ar_redact_stream s = { .redactor = r };
	struct ar_buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		ar_buf_clear(&out);
		for (const char *p = rows[i].text; *p; p++) {
			ar_buf_adds(&out, ar_redact_feed(&s, (struct ar_str){ p, 1 }));
			assert_true(s.held.len <= AR_REDACT_HOLD);
		}
		ar_buf_adds(&out, ar_redact_end(&s));
		ar_buf_addc(&out, '\0');
		assert_string_equal(out.p, rows[i].want ? rows[i].want : rows[i].text);
	}
	ar_buf_fini(&out);
	ar_redact_stream_fini(&s);
	ar_redactor_free(r);
}

/* What is not the beginning of anything is not held back. */
static void test_nothing_held(void **state)
{
	struct ar_redactor *r = redactor(true);
	struct ar_redact_stream s = { .redactor = r };

	(void)state;
	assert_int_equal(ar_redact_feed(&s, AR_STR("No, 42. ")).len, 8);
	assert_int_equal(ar_redact_feed(&s, AR_STR("hunter3 ")).len, 8);
	assert_int_equal(ar_redact_feed(&s, AR_STR("hunter2")).len, 0);
	assert_int_equal(ar_redact_feed(&s, AR_STR("!")).len, 8);
	ar_redact_stream_fini(&s);
	ar_redactor_free(r);
}

/* ---- time ---- */

/* What this thread has worked so far: the time that others had the processor is not in it. */
static ar_usec worked(void)
{
	struct timespec ts;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts), 0);
	return (ar_usec)ts.tv_sec * 1000000 + (ar_usec)ts.tv_nsec / 1000;
}

static ar_usec time_of(const struct ar_redactor *r, const char *unit, size_t size)
{
	struct ar_redact_counts counts = { 0 };
	struct ar_arena a = { 0 };
	struct ar_buf text = { 0 };
	ar_usec began;

	while (text.len < size)
		ar_buf_addz(&text, unit);
	began = worked();
	ar_redact(r, ar_buf_str(&text), &a, &counts);
	began = worked() - began;
	ar_buf_fini(&text);
	ar_arena_fini(&a);
	return began;
}

/* The least of a few: what others do to the caches only adds. */
static ar_usec least_of(const struct ar_redactor *r, const char *unit, size_t size)
{
	ar_usec least = time_of(r, unit, size);

	for (int i = 0; i < 4; i++) {
		ar_usec again = time_of(r, unit, size);

		least = again < least ? again : least;
	}
	return least;
}

/* A MiB that is all near misses takes a moment, not minutes; eight times the text not much more than eight
 * times as long. */
static void test_near_misses(void **state)
{
	static const char *const units[] = { "hunter2/\"Pa\\ss~word+8",
					     "eyJ",
					     "eyJ.eyJ.",
					     "eyJ-",
					     "-----BEGIN ",
					     "://:a",
					     "sk-",
					     "ghp_a",
					     "AKIA",
					     "\\ne",
					     "hunter2" };
	struct ar_redactor *r = redactor(true);

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(units); i++) {
		ar_usec small = least_of(r, units[i], MIB / 8);
		ar_usec large = least_of(r, units[i], MIB);

		assert_true(large < 2000000);
		assert_true(large < 50000 || large < small * 40);
	}
	ar_redactor_free(r);
}

/* A value that becomes known in the middle of a stream is masked in what is still to come; forgotten ones are
 * ordinary text again, shapes are not. */
static void test_values_come_and_go(void **state AR_UNUSED)
{
	struct ar_redactor *r = redactor(true);
	struct ar_redact_stream s = { .redactor = r };
	struct ar_redact_counts counts = { 0 };
	struct ar_arena a = { 0 };
	struct ar_str out;

	ar_redact_feed(&s, AR_STR("before, "));
	ar_redactor_add(r, AR_STR("rotated-value-1"));
	out = ar_redact_feed(&s, AR_STR("rotated-value-1."));
	assert_true(ar_str_is(out, "[redacted:secret]."));
	ar_redact_stream_fini(&s);
	ar_redactor_forget(r);
	ar_redactor_add(r, AR_STR("rotated-value-2"));
	out = ar_redact(r, AR_STR("rotated-value-1 rotated-value-2 AKIAIOSFODNN7EXAMPLE"), &a, &counts);
	assert_true(ar_str_is(out, "rotated-value-1 [redacted:secret] [redacted:aws_key]"));
	ar_arena_fini(&a);
	ar_redactor_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_come_and_go),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_shapes_off),
		cmocka_unit_test(test_long_value),
		cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_nothing_held),
		cmocka_unit_test(test_near_misses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
