/* Messages of JSON-RPC as text: what is a request, what is refused with which number, and how answers
 * look. */
#include "rpc/rpc_message.h"
#include "catalog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

struct read {
	struct ar_json_parser *parser;
	struct ar_arena arena;
	struct ar_rpc_message m;
};

static struct read read_text(const char *text)
{
	struct read r = { .parser = ar_json_parser_new() };

	ar_rpc_message_read(r.parser, ar_str_from(text), &r.arena, &r.m);
	return r;
}

static void end(struct read *r)
{
	ar_arena_fini(&r->arena);
	ar_json_parser_free(r->parser);
}

static void is(struct ar_str got, const char *expected)
{
	assert_int_equal(got.len, strlen(expected));
	assert_memory_equal(got.p, expected, got.len);
}

static void reads_a_request(void **state AR_UNUSED)
{
	static const struct {
		const char *text, *id, *params;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":[1,2.5]}}", "1",
		  "{\"a\":[1,2.5]}" },
		{ " {\"method\":\"m\",\"id\":\"x y\",\"jsonrpc\":\"2.0\"} ", "\"x y\"", "{}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", "null", "{}" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"m\",\"extra\":true}", "-7", "{}" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct read r = read_text(cases[i].text);

		assert_int_equal(r.m.count, 1);
		assert_false(r.m.is_batch);
		assert_int_equal(r.m.requests[0].code, 0);
		is(r.m.requests[0].id, cases[i].id);
		is(r.m.requests[0].method, "m");
		is(r.m.requests[0].params, cases[i].params);
		end(&r);
	}
}

static void nobody_waits_without_an_id(void **state AR_UNUSED)
{
	struct read r = read_text("{\"jsonrpc\":\"2.0\",\"method\":\"m\"}");

	assert_int_equal(r.m.requests[0].code, 0);
	assert_true(ar_str_absent(r.m.requests[0].id));
	end(&r);
}

static void refuses_what_is_no_request(void **state AR_UNUSED)
{
	static const struct {
		const char *text, *id;
		int rpc;
	} cases[] = {
		{ "", "null", -32700 },
		{ "{", "null", -32700 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":1,\"method\":\"m\"}", "null", -32700 },
		{ "\"\xff\"", "null", -32700 },
		{ "1", "null", -32600 },
		{ "[]", "null", -32600 },
		{ "{}", "null", -32600 },
		{ "{\"jsonrpc\":\"1.0\",\"id\":4,\"method\":\"m\"}", "4", -32600 },
		{ "{\"jsonrpc\":2.0,\"id\":4,\"method\":\"m\"}", "4", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":4}", "4", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":7}", "4", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}", "4", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}", "null", -32600 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"params\":[1]}", "4", -32602 },
		{ "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"m\",\"params\":null}", "4", -32602 },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct read r = read_text(cases[i].text);

		assert_int_equal(r.m.count, 1);
		assert_int_not_equal(r.m.requests[0].code, 0);
		assert_int_equal(ar_error_descs[r.m.requests[0].code].rpc, cases[i].rpc);
		is(r.m.requests[0].id, cases[i].id);
		end(&r);
	}
}

static void an_id_has_a_cap(void **state AR_UNUSED)
{
	struct ar_buf text = { 0 };
	struct read r;

	ar_buf_addz(&text, "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":\"");
	for (int i = 0; i < AR_RPC_ID_BYTES; i++)
		ar_buf_addc(&text, 'i');
	ar_buf_addz(&text, "\"}");
	ar_buf_addc(&text, '\0');
	r = read_text(text.p);
	assert_int_equal(r.m.requests[0].code, AR_ERR_INVALID_REQUEST);
	is(r.m.requests[0].id, "null");
	end(&r);
	ar_buf_fini(&text);
}

static struct read read_batch(size_t count)
{
	struct ar_buf text = { 0 };
	struct read r;

	ar_buf_addc(&text, '[');
	for (size_t i = 0; i < count; i++)
		ar_buf_addf(&text, "%s{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"m\"}", i ? "," : "", i);
	ar_buf_addz(&text, "]");
	ar_buf_addc(&text, '\0');
	r = read_text(text.p);
	ar_buf_fini(&text);
	return r;
}

static void a_batch_has_1_to_64_requests(void **state AR_UNUSED)
{
	struct read r = read_batch(AR_RPC_BATCH);

	assert_true(r.m.is_batch);
	assert_int_equal(r.m.count, AR_RPC_BATCH);
	is(r.m.requests[63].id, "63");
	end(&r);
	r = read_batch(AR_RPC_BATCH + 1);
	assert_false(r.m.is_batch);
	assert_int_equal(r.m.count, 1);
	assert_int_equal(r.m.requests[0].code, AR_ERR_INVALID_REQUEST);
	end(&r);
	r = read_text("[1,{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\"}]");
	assert_int_equal(r.m.count, 2);
	assert_int_equal(r.m.requests[0].code, AR_ERR_INVALID_REQUEST);
	assert_int_equal(r.m.requests[1].code, 0);
	end(&r);
}

static void writes_answers(void **state AR_UNUSED)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_buf out = { 0 };

	ar_rpc_write_reply(parser, &out, AR_STR("\"a\""), 202, AR_STR("{\"x\":1}"));
	is(ar_buf_str(&out), "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"x\":1}}");
	ar_buf_clear(&out);
	ar_rpc_write_reply(
		parser, &out, AR_STR("1"), 404,
		AR_STR("{\"error\":{\"code\":\"session_not_found\",\"message\":\"no\",\"more\":[1]}}"));
	is(ar_buf_str(&out),
	   "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,\"message\":\"no\",\"data\":"
	   "{\"code\":\"session_not_found\",\"message\":\"no\",\"more\":[1]}}}");
	ar_buf_clear(&out);
	/* A node of a later version may know more codes; one that is broken may send anything. */
	ar_rpc_write_reply(parser, &out, AR_STR("1"), 500,
			   AR_STR("{\"error\":{\"code\":\"new\",\"message\":\"m\"}}"));
	is(ar_buf_str(&out),
	   "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"m\",\"data\":"
	   "{\"code\":\"new\",\"message\":\"m\"}}}");
	ar_buf_clear(&out);
	ar_rpc_write_reply(parser, &out, AR_STR("1"), 502, AR_STR("<html>"));
	is(ar_buf_str(&out),
	   "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"\",\"data\":null}}");
	ar_buf_fini(&out);
	ar_json_parser_free(parser);
}

static void writes_notifications(void **state AR_UNUSED)
{
	struct ar_buf out = { 0 };

	ar_rpc_write_event(&out, AR_STR("s_1"), AR_STR("7.1:2"), AR_STR("{\"type\":\"t\"}"));
	is(ar_buf_str(&out),
	   "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"subscriptionId\":\"s_1\","
	   "\"cursor\":\"7.1:2\",\"event\":{\"type\":\"t\"}}}");
	ar_buf_clear(&out);
	ar_rpc_write_ended(&out, AR_STR("s_1"), AR_STR_NONE, AR_STR("{\"code\":\"overloaded\"}"));
	is(ar_buf_str(&out),
	   "{\"jsonrpc\":\"2.0\",\"method\":\"subscription.ended\",\"params\":{\"subscriptionId\":"
	   "\"s_1\",\"error\":{\"code\":\"overloaded\"}}}");
	ar_buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_request),
		cmocka_unit_test(nobody_waits_without_an_id),
		cmocka_unit_test(refuses_what_is_no_request),
		cmocka_unit_test(an_id_has_a_cap),
		cmocka_unit_test(a_batch_has_1_to_64_requests),
		cmocka_unit_test(writes_answers),
		cmocka_unit_test(writes_notifications),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
