/* RFC 8785 with the examples of its text, and names and numbers that are easy to get wrong. */
#include "jcs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_form(const char *text, const char *want)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_arena a = { 0 };
	struct ar_buf out = { 0 };
	struct ar_error err = { 0 };
	struct ar_json v;

	if (ar_json_parse(json, ar_str_from(text), &v, &err) != AR_OK)
		fail_msg("%s: %s", text, err.msg);
	ar_jcs(v, &a, &out);
	ar_buf_addc(&out, 0);
	assert_string_equal(out.p, want);
	ar_buf_fini(&out);
	ar_arena_fini(&a);
	ar_json_parser_free(json);
}

/* Section 3.2.2 and 3.2.3. */
static void test_example_of_the_rfc(void **state AR_UNUSED)
{
	assert_form("{\"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],"
		    "\"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\","
		    "\"literals\": [null, true, false]}",
		    "{\"literals\":[null,true,false],"
		    "\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
		    "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

static void test_names_are_sorted_by_utf16(void **state AR_UNUSED)
{
	assert_form(
		"{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet\","
		"\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji\",\"\\u0080\":\"Control\",\"\\u00f6\":\"O\"}",
		"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\",\"\xc3\xb6\":\"O\","
		"\"\xe2\x82\xac\":\"Euro Sign\",\"\xf0\x9f\x98\x80\":\"Emoji\","
		"\"\xef\xac\xb3\":\"Hebrew Letter Dalet\"}");
	/* beyond U+FFFF before U+E000, behind U+D7FF; among themselves by code point */
	assert_form("{\"\\ue000\":1,\"\\ud7ff\":2,\"\\udbff\\udfff\":3,\"\\ud800\\udc00\":4,\"\\uffff\":5}",
		    "{\"\xed\x9f\xbf\":2,\"\xf0\x90\x80\x80\":4,\"\xf4\x8f\xbf\xbf\":3,\"\xee\x80\x80\":1,"
		    "\"\xef\xbf\xbf\":5}");
}

static void test_nasty_names(void **state AR_UNUSED)
{
	assert_form("{}", "{}");
	assert_form("{\"b\":{\"z\":[],\"\":{}},\"a\":[{\"y\":1,\"x\":2}],\"aa\":0,\"A\":0,\"a\\u0000\":0}",
		    "{\"A\":0,\"a\":[{\"x\":2,\"y\":1}],\"a\\u0000\":0,\"aa\":0,\"b\":{\"\":{},\"z\":[]}}");
	assert_form("{\"10\":1,\"9\":2,\"\\\"\":3,\"\\\\\":4,\"/\":5,\"\\u007f\":6}",
		    "{\"\\\"\":3,\"/\":5,\"10\":1,\"9\":2,\"\\\\\":4,\"\x7f\":6}");
	assert_form("\"\\b\\t\\n\\f\\r\\u0000\\u001f\\u2028\"",
		    "\"\\b\\t\\n\\f\\r\\u0000\\u001f\xe2\x80\xa8\"");
}

/* Appendix B, and where the form changes. */
static void test_numbers(void **state AR_UNUSED)
{
	static const struct {
		double v;
		const char *text;
	} rows[] = {
		{ 0.0, "0" },
		{ -0.0, "0" },
		{ 5e-324, "5e-324" },
		{ -5e-324, "-5e-324" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" },
		{ 9007199254740992, "9007199254740992" },
		{ -9007199254740992, "-9007199254740992" },
		{ 295147905179352830000.0, "295147905179352830000" },
		{ 9.999999999999997e22, "9.999999999999997e+22" },
		{ 1e23, "1e+23" },
		{ 1.0000000000000001e23, "1.0000000000000001e+23" },
		{ 999999999999999700000.0, "999999999999999700000" },
		{ 999999999999999900000.0, "999999999999999900000" },
		{ 1e21, "1e+21" },
		{ 1e20, "100000000000000000000" },
		{ 9.999999999999997e-7, "9.999999999999997e-7" },
		{ 0.000001, "0.000001" },
		{ 333333333.3333332, "333333333.3333332" },
		{ -0.0000033333333333333333, "-0.0000033333333333333333" },
		{ 1424953923781206.2, "1424953923781206.2" },
		{ 100, "100" },
		{ 12.5, "12.5" },
		{ 0.1, "0.1" },
		{ 1e-7, "1e-7" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[AR_JCS_NUM_TEXT + 1];

		text[ar_jcs_num_text(rows[i].v, text)] = 0;
		assert_string_equal(text, rows[i].text);
	}
	assert_form("[1, 1.0, 1e2, -7, 9007199254740993, 9223372036854775807, -0]",
		    "[1,1,100,-7,9007199254740992,9223372036854776000,0]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_example_of_the_rfc),
		cmocka_unit_test(test_names_are_sorted_by_utf16),
		cmocka_unit_test(test_nasty_names),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
