/* Writing JSON: commas, escapes, bad UTF-8, numbers; doubles read back equal. */
#include "unit.h"
#include "json.h"

#include <math.h>
#include <stdlib.h>

static void test_commas_and_members(void **state AR_UNUSED)
{
	struct ar_buf buf AR_AUTO(ar_buf_fini) = { 0 };
	struct ar_jw w = ar_jw(&buf);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "none", AR_STR_NONE);
	ar_jw_mstr(&w, "s", AR_STR(""));
	ar_jw_mint(&w, "i", INT64_MIN);
	ar_jw_mtime(&w, "t0", 0);
	ar_jw_mtime(&w, "t", 1);
	ar_jw_mraw(&w, "no", AR_STR_NONE);
	ar_jw_mraw(&w, "raw", AR_STR("{\"x\":1}"));
	ar_jw_key(&w, "a");
	ar_jw_open_array(&w);
	ar_jw_open(&w);
	ar_jw_close(&w);
	ar_jw_int(&w, 0);
	ar_jw_null(&w);
	ar_jw_str(&w, AR_STR_NONE);
	ar_jw_bool(&w, true);
	ar_jw_close_array(&w);
	ar_jw_mbool(&w, "b", false);
	ar_jw_close(&w);
	assert_str(ar_buf_str(&buf), "{\"s\":\"\",\"i\":-9223372036854775808,"
				     "\"t\":\"1970-01-01T00:00:00.000001Z\",\"raw\":{\"x\":1},"
				     "\"a\":[{},0,null,null,true],\"b\":false}");
}

#define CASE(literal, written) \
	{ \
		{ literal, sizeof(literal) - 1 }, "\"" written "\"" \
	}
#define BAD "\xEF\xBF\xBD"

static const struct {
	struct ar_str text;
	const char *written;
} strings[] = {
	CASE("plain text of more than eight bytes", "plain text of more than eight bytes"),
	CASE("say \"hi\" \\ /", "say \\\"hi\\\" \\\\ /"),
	CASE("1234567\"89012345\\", "1234567\\\"89012345\\\\"),
	CASE("\b\f\n\r\t\x01\x1f\x7f", "\\b\\f\\n\\r\\t\\u0001\\u001f\x7f"),
	CASE("a\0b", "a\\u0000b"),
	CASE("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
	CASE("a\xFF"
	     "b",
	     "a" BAD "b"),
	CASE("\xC0\xAF", BAD BAD),
	CASE("cut \xE2\x82", "cut " BAD BAD),
	CASE("\xED\xA0\x80", BAD BAD BAD),
};

static void test_strings(void **state AR_UNUSED)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(strings); i++) {
		struct ar_buf buf AR_AUTO(ar_buf_fini) = { 0 };
		struct ar_jw w = ar_jw(&buf);

		ar_jw_str(&w, strings[i].text);
		assert_str(ar_buf_str(&buf), strings[i].written);
	}
}

/* Every byte at every place of a word, against the rule said in another way. */
static void test_each_byte_at_each_place(void **state AR_UNUSED)
{
	struct ar_buf buf AR_AUTO(ar_buf_fini) = { 0 };

	for (int byte = 0; byte < 128; byte++) {
		for (size_t at = 0; at < 20; at++) {
			char text[20];
			struct ar_jw w = ar_jw(&buf);

			memset(text, 'x', sizeof text);
			text[at] = (char)byte;
			ar_buf_clear(&buf);
			ar_jw_str(&w, (struct ar_str){ text, sizeof text });
			if (byte < 0x20 || byte == '"' || byte == '\\')
				assert_in_range(buf.len, 23, 27);
			else
				assert_int_equal(buf.len, 22);
			assert_memory_equal(buf.p + 1, text, at);
		}
	}
}

static const struct {
	double v;
	const char *written;
} doubles[] = {
	{ 0, "0.0" },
	{ 1, "1.0" },
	{ -2.5, "-2.5" },
	{ 0.7, "0.7" },
	{ 1e6, "1000000.0" },
	{ 123456789, "123456789.0" },
	{ 1e15, "1e+15" },
	{ 1e-5, "0.00001" },
	{ 1e-6, "1e-06" },
	{ 999999999999999, "999999999999999.0" },
	{ NAN, "null" },
	{ INFINITY, "null" },
	{ -INFINITY, "null" },
	{ 0.00001234567890123457, "0.00001234567890123457" },
	{ -0.000012345678901234567, "-0.000012345678901234568" },
};

static void test_doubles(void **state AR_UNUSED)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(doubles); i++) {
		struct ar_buf buf AR_AUTO(ar_buf_fini) = { 0 };
		struct ar_jw w = ar_jw(&buf);

		ar_jw_num(&w, doubles[i].v);
		assert_str(ar_buf_str(&buf), doubles[i].written);
	}
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed ^ *seed >> 29;
}

static void test_random_doubles_read_back_equal(void **state AR_UNUSED)
{
	uint64_t seed = 1;

	for (int i = 0; i < 100000; i++) {
		char text[AR_JSON_NUM_TEXT + 1];
		uint64_t bits = next_random(&seed);
		double v;

		memcpy(&v, &bits, sizeof v);
		if (i % 2)
			v = (double)(int64_t)bits / 1e9;
		if (!isfinite(v))
			continue;
		text[ar_json_num_text(v, text)] = '\0';
		assert_true(strtod(text, NULL) == v);
		assert_non_null(strpbrk(text, ".e"));
	}
}

static void test_cap_keeps_a_prefix(void **state AR_UNUSED)
{
	struct ar_buf buf AR_AUTO(ar_buf_fini) = { .cap = 10 };
	struct ar_jw w = ar_jw(&buf);

	ar_jw_open_array(&w);
	ar_jw_str(&w, AR_STR("123456789"));
	ar_jw_int(&w, 1);
	assert_true(buf.failed);
	assert_str(ar_buf_str(&buf), "[");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commas_and_members),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_each_byte_at_each_place),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_random_doubles_read_back_equal),
		cmocka_unit_test(test_cap_keeps_a_prefix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
