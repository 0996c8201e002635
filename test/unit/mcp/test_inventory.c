/* Lists of tools: names for models, flags by trust, what is left out, headers that arguments become. */
#include "unit.h"

#include "inventory.h"
#include "tool_name.h"

static struct ar_json_parser *parser;

static struct ar_json parse(const char *text)
{
	struct ar_json root;
	struct ar_error err = { 0 };

	if (ar_json_parse(parser, ar_str_from(text), &root, &err) != AR_OK)
		fail_msg("%s: %s", text, err.msg);
	return root;
}

static struct ar_mcp_inventory *list(const struct ar_mcp_reading *how, const char *tools)
{
	struct ar_mcp_inventory *v = ar_mcp_inventory_new();
	struct ar_buf text = { 0 };

	ar_buf_addf(&text, "{\"tools\":[%s]}", tools);
	ar_buf_addc(&text, '\0');
	assert_int_equal(ar_mcp_inventory_add(v, how, parse(text.p), NULL), AR_OK);
	ar_buf_fini(&text);
	return v;
}

#define TOOL(name) "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\"}}"

static void test_names(void **state AR_UNUSED)
{
	struct ar_mcp_reading how = { .server = AR_STR("git hub") };
	struct ar_mcp_inventory *v = list(&how, TOOL("a.b") "," TOOL("a_b") "," TOOL("a_b") "," TOOL("ü"));

	assert_int_equal(v->count, 3);
	assert_str(v->tools[0].name, "git_hub_a_b");
	assert_int_equal(v->tools[1].name.len, strlen("git_hub_a_b_12345678"));
	assert_true(ar_str_starts(v->tools[1].name, AR_STR("git_hub_a_b_")));
	assert_str(v->remotes[1].name, "a_b");
	assert_str(v->tools[2].name, "git_hub___");
	assert_int_equal(v->left_out, 1);
	assert_non_null(strstr(v->why, "'a_b' is not offered: another tool has the same name"));
	assert_int_equal(ar_mcp_inventory_find(v, v->tools[1].name), 1);
	assert_int_equal(ar_mcp_inventory_find(v, AR_STR("a_b")), -1);
	ar_mcp_inventory_unref(v);
}

static void test_long_names_differ(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_str server = AR_STR("0123456789012345678901234567890123456789");
	struct ar_str one = ar_mcp_tool_name(&a, server, AR_STR("a_rather_long_name_of_a_tool_1"), false);
	struct ar_str two = ar_mcp_tool_name(&a, server, AR_STR("a_rather_long_name_of_a_tool_2"), false);

	assert_int_equal(one.len, AR_TOOL_NAME_MAX);
	assert_int_equal(two.len, AR_TOOL_NAME_MAX);
	assert_false(ar_str_eq(one, two));
	assert_true(ar_str_eq(one,
			      ar_mcp_tool_name(&a, server, AR_STR("a_rather_long_name_of_a_tool_1"), false)));
	ar_arena_fini(&a);
}

#define HINTED(hints) "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"},\"annotations\":{" hints "}}"

static void assert_flags(bool trusted, const char *tool, const char *want)
{
	struct ar_mcp_reading how = { .server = AR_STR("s"), .trusted = trusted };
	struct ar_mcp_inventory *v = list(&how, tool);
	const struct ar_tool *t = &v->tools[0];
	char flags[8] = { 0 };
	size_t n = 0;

	if (t->is_read_only)
		flags[n++] = 'r';
	if (t->is_concurrency_safe)
		flags[n++] = 'c';
	if (t->is_destructive)
		flags[n++] = 'd';
	if (t->is_idempotent)
		flags[n++] = 'i';
	if (t->capabilities & AR_TOOL_NETWORK)
		flags[n++] = 'n';
	assert_string_equal(flags, want);
	assert_int_equal((t->capabilities & AR_TOOL_WRITE) != 0, !t->is_read_only);
	ar_mcp_inventory_unref(v);
}

static void test_flags(void **state AR_UNUSED)
{
	assert_flags(true, TOOL("t"), "dn");
	assert_flags(true, HINTED("\"readOnlyHint\":true"), "rcin");
	assert_flags(true, HINTED("\"readOnlyHint\":true,\"destructiveHint\":true,\"openWorldHint\":false"),
		     "rci");
	assert_flags(true,
		     HINTED("\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":false"),
		     "i");
	assert_flags(true, HINTED("\"readOnlyHint\":\"yes\""), "dn");
	/* A claim that nobody believes changes nothing. */
	assert_flags(false,
		     HINTED("\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":true,"
			    "\"openWorldHint\":false"),
		     "dn");
}

static void test_left_out(void **state AR_UNUSED)
{
	static const char *const allowed[] = { "good", NULL };
	struct ar_mcp_reading how = { .server = AR_STR("s"), .allowed = allowed };
	struct ar_mcp_inventory *v = list(&how, TOOL("good") "," TOOL("other"));
	struct ar_error err = { 0 };

	assert_int_equal(v->count, 1);
	assert_int_equal(v->left_out, 0); /* not wanted is not missing */
	ar_mcp_inventory_unref(v);
	how.allowed = NULL;
	v = list(&how, "{\"name\":\"a\"},7,{},{\"name\":\"b\",\"inputSchema\":{},\"execution\":{"
		       "\"taskSupport\":\"required\"}}");
	assert_int_equal(v->count, 0);
	assert_int_equal(v->left_out, 4);
	assert_int_equal(ar_mcp_inventory_add(v, &how, parse("{\"tools\":{}}"), &err), AR_E_INVALID);
	ar_mcp_inventory_unref(v);
}

#define TEN(text) text text text text text text text text text text
#define FIFTY TEN("[[[[[") TEN("]]]]]")

/* What is kept of a tool stands in documents of ours. */
static void test_deep(void **state AR_UNUSED)
{
	struct ar_mcp_reading how = { .server = AR_STR("s") };
	struct ar_mcp_inventory *v =
		list(&how, "{\"name\":\"a\",\"inputSchema\":{\"x\":" FIFTY "}}," TOOL("b"));

	assert_int_equal(v->count, 1);
	assert_int_equal(v->left_out, 1);
	ar_mcp_inventory_unref(v);
}

static enum ar_status read_params(struct ar_arena *a, const char *schema, struct ar_mcp_params *params)
{
	return ar_mcp_params_read(a, parse(schema), params, NULL);
}

#define PROPERTY(name, type, mark) "\"" name "\":{\"type\":\"" type "\",\"x-mcp-header\":\"" mark "\"}"
#define OBJECT(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"

static void test_params(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_mcp_params params = { 0 };
	struct ar_buf out = { 0 };

	assert_int_equal(read_params(&a,
				     OBJECT(PROPERTY("region", "string", "Region") "," PROPERTY(
					     "n", "integer",
					     "N") ",\"in\":" OBJECT(PROPERTY("deep", "boolean",
									     "Deep")) ",\"x-mcp-header\":{"
										      "\"type\":\"string\"}"),
				     &params),
			 AR_OK);
	assert_int_equal(params.count, 3);
	ar_mcp_params_write(&params, parse("{\"region\":\"\\u00fc\",\"n\":42,\"in\":{\"deep\":false}}"),
			    &out);
	assert_str(ar_buf_str(&out),
		   "Mcp-Param-Region: =?base64?w7w=?=\nMcp-Param-N: 42\nMcp-Param-Deep: false\n");
	ar_buf_clear(&out);
	ar_mcp_params_write(&params, parse("{\"region\":null,\"n\":\"a\\r\\nb\",\"in\":7}"), &out);
	assert_str(ar_buf_str(&out), "Mcp-Param-N: =?base64?YQ0KYg==?=\n");
	ar_buf_fini(&out);
	ar_arena_fini(&a);
}

static void test_bad_params(void **state AR_UNUSED)
{
	static const char *const bad[] = {
		OBJECT(PROPERTY("a", "string", "")),
		OBJECT(PROPERTY("a", "string", "A B")),
		OBJECT(PROPERTY("a", "number", "A")),
		OBJECT(PROPERTY("a", "string", "Same") "," PROPERTY("b", "string", "sAME")),
		"{\"type\":\"string\",\"x-mcp-header\":\"Root\"}",
		"{\"anyOf\":[" OBJECT(PROPERTY("a", "string", "A")) "]}",
		OBJECT("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}"),
		"{\"$defs\":{\"d\":{\"type\":\"string\",\"x-mcp-header\":\"A\"}}}",
	};
	struct ar_arena a = { 0 };
	struct ar_mcp_params params;

	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++)
		assert_int_equal(read_params(&a, bad[i], &params), AR_E_INVALID);
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	   cmocka_unit_test(test_long_names_differ),
		cmocka_unit_test(test_flags),	   cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_deep),	   cmocka_unit_test(test_params),
		cmocka_unit_test(test_bad_params),
	};
	int failed;

	parser = ar_json_parser_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	ar_json_parser_free(parser);
	return failed;
}
