/* Path, query and Last-Event-ID as the JSON input of a command. */
#include "input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct ar_field_desc fields[] = {
	{ .name = "sessionId", .kind = AR_F_STRING }, { .name = "after", .kind = AR_F_STRING },
	{ .name = "fromSequence", .kind = AR_F_INT }, { .name = "ratio", .kind = AR_F_NUM },
	{ .name = "deltas", .kind = AR_F_BOOL },      { .name = "types", .kind = AR_F_ARRAY },
	{ .name = "options", .kind = AR_F_OBJECT },
};
static const struct ar_command_desc command = { .name = "x",
						.in = { fields, AR_ARRAY_LEN(fields), 0, NULL, 0 } };
static const struct ar_http_route route = { .command = &command,
					    .params = { { AR_STR("sessionId"), AR_STR("s%2F1") } },
					    .param_count = 1 };

static void expect_json(const char *query, struct ar_str after, const char *json)
{
	struct ar_buf out = { 0 };
	struct ar_error err = { 0 };

	assert_int_equal(ar_input_from_target(&route, ar_str_from(query), after, &out, &err), AR_OK);
	ar_buf_addc(&out, 0);
	assert_string_equal(out.p, json);
	ar_buf_fini(&out);
}

static void types_the_query(void **state AR_UNUSED)
{
	expect_json(NULL, AR_STR_NONE, "{\"sessionId\":\"s/1\"}");
	expect_json("", AR_STR_NONE, "{\"sessionId\":\"s/1\"}");
	expect_json("after=a%22b+c&fromSequence=-5&deltas=true&&ratio=0.5&types=a,b", AR_STR_NONE,
		    "{\"sessionId\":\"s/1\",\"after\":\"a\\\"b "
		    "c\",\"fromSequence\":-5,\"deltas\":true,\"ratio\":0.5,"
		    "\"types\":[\"a\",\"b\"]}");
	expect_json("from_sequence=7&after", AR_STR_NONE,
		    "{\"sessionId\":\"s/1\",\"fromSequence\":7,\"after\":\"\"}");
}

static void last_event_id_wins(void **state AR_UNUSED)
{
	expect_json("after=1&fromSequence=3&deltas=false", AR_STR("9.1:2"),
		    "{\"sessionId\":\"s/1\",\"after\":\"9.1:2\",\"deltas\":false}");
}

static void refuses_what_does_not_fit(void **state AR_UNUSED)
{
	static const char *const queries[] = {
		"nope=1",     "fromSequence=x",	 "fromSequence=",   "deltas=1",	   "after=%",
		"after=%4",   "after=%zz",	 "after=%ff",	    "ratio=nan",   "ratio=1x",
		"options={}", "after=1&after=2", "sessionId=other", "ratio=0x1p3", "=1"
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(queries); i++) {
		struct ar_buf out = { 0 };
		struct ar_error err = { 0 };

		if (ar_input_from_target(&route, ar_str_from(queries[i]), AR_STR_NONE, &out, &err) == AR_OK)
			fail_msg("'%s' was taken", queries[i]);
		assert_int_equal(err.code, AR_ERR_INVALID_INPUT);
		ar_buf_fini(&out);
	}
}

static void puts_the_cursor_into_a_body(void **state AR_UNUSED)
{
	struct ar_json_parser *p = ar_json_parser_new();
	struct ar_buf out = { 0 };
	struct ar_error err = { 0 };

	assert_int_equal(ar_input_with_after(
				 p, AR_STR("{\"a\":[1,{}],\"after\":\"1\",\"b\\\"\":2,\"fromSequence\":1}"),
				 AR_STR("5"), &out, &err),
			 AR_OK);
	ar_buf_addc(&out, 0);
	assert_string_equal(out.p, "{\"a\":[1,{}],\"b\\\"\":2,\"after\":\"5\"}");
	ar_buf_clear(&out);
	assert_int_equal(ar_input_with_after(p, AR_STR("[]"), AR_STR("5"), &out, &err), AR_E_REFUSED);
	assert_int_equal(err.code, AR_ERR_INVALID_JSON);
	assert_int_equal(ar_input_with_after(p, AR_STR("{"), AR_STR("5"), &out, &err), AR_E_REFUSED);
	ar_buf_fini(&out);
	ar_json_parser_free(p);
}

static void puts_the_key_into_a_body(void **state AR_UNUSED)
{
	static const struct {
		const char *body, *key, *out; /* out NULL: refused */
		uint16_t code;
	} rows[] = {
		{ "", "k", "{\"idempotencyKey\":\"k\"}", 0 },
		{ "{\"a\":1}", "\"k 1\"", "{\"a\":1,\"idempotencyKey\":\"k 1\"}", 0 },
		{ "{\"idempotency_key\":\"k\",\"a\":1}", "k", "{\"a\":1,\"idempotencyKey\":\"k\"}", 0 },
		{ "{\"idempotencyKey\":\"j\"}", "k", NULL, AR_ERR_INVALID_INPUT },
		{ "{\"idempotency_key\":\"j\"}", "k", NULL, AR_ERR_INVALID_INPUT },
		{ "{\"idempotencyKey\":null}", "k", NULL, AR_ERR_INVALID_INPUT },
		{ "{}", "", NULL, AR_ERR_INVALID_INPUT },
		{ "{}", "\"\"", NULL, AR_ERR_INVALID_INPUT },
		{ "{}", "\xff", NULL, AR_ERR_INVALID_INPUT },
		{ "[]", "k", NULL, AR_ERR_INVALID_JSON },
	};
	struct ar_json_parser *p = ar_json_parser_new();

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_buf out = { 0 };
		struct ar_error err = { 0 };
		enum ar_status st =
			ar_input_with_key(p, ar_str_from(rows[i].body), ar_str_from(rows[i].key), &out, &err);

		ar_buf_addc(&out, 0);
		assert_int_equal(st, rows[i].out ? AR_OK : AR_E_REFUSED);
		assert_int_equal(err.code, rows[i].code);
		if (rows[i].out)
			assert_string_equal(out.p, rows[i].out);
		ar_buf_fini(&out);
	}
	ar_json_parser_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_the_query),	     cmocka_unit_test(last_event_id_wins),
		cmocka_unit_test(refuses_what_does_not_fit), cmocka_unit_test(puts_the_cursor_into_a_body),
		cmocka_unit_test(puts_the_key_into_a_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
