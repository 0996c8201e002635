/* Results of tools/call as the port shows them. */
#include "unit.h"

#include "result.h"

static struct ar_json_parser *parser;

static void read_result(struct ar_arena *a, const char *text, struct ar_tool_result *r)
{
	struct ar_json root;

	assert_int_equal(ar_json_parse(parser, ar_str_from(text), &root, NULL), AR_OK);
	ar_mcp_result_read(a, root, r);
}

static void test_contents(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_tool_result r;

	read_result(&a,
		    "{\"content\":[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"text\",\"text\":\"two\"},"
		    "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAAA\"},"
		    "{\"type\":\"resource\",\"resource\":{\"uri\":\"f:1\",\"text\":\"body\"}},"
		    "{\"type\":\"resource\",\"resource\":{\"uri\":\"f:2\",\"mimeType\":\"image/"
		    "gif\",\"blob\":\"BBBB\"}},"
		    "{\"type\":\"resource\",\"resource\":{\"uri\":\"f:3\",\"mimeType\":\"x/"
		    "y\",\"blob\":\"CCCCCCCC\"}},"
		    "{\"type\":\"resource_link\",\"name\":\"n\",\"uri\":\"f:4\"}]}",
		    &r);
	assert_int_equal(r.outcome, AR_TOOL_OK);
	assert_str(r.text,
		   "one\ntwo\n[resource f:1]\nbody\n[resource f:2]\n[resource f:3]\n[binary, x/y, 6 bytes]\n"
		   "[resource n: f:4]");
	assert_int_equal(r.image_count, 2);
	assert_str(r.images[0].mime, "image/png");
	assert_str(r.images[1].data, "BBBB");
	ar_arena_fini(&a);
}

static void test_structure(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_tool_result r;

	read_result(&a, "{\"content\":[],\"structuredContent\":{\"a\":[1,2.5]}}", &r);
	assert_str(r.structured, "{\"a\":[1,2.5]}");
	assert_str(r.text, "{\"a\":[1,2.5]}");
	read_result(&a, "{\"content\":[{\"type\":\"text\",\"text\":\"t\"}],\"structuredContent\":7}", &r);
	assert_true(ar_str_absent(r.structured));
	assert_str(r.text, "t");
	read_result(&a, "{}", &r);
	assert_str(r.text, "");
	ar_arena_fini(&a);
}

static void test_errors(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_tool_result r;

	read_result(&a, "{\"content\":[{\"type\":\"text\",\"text\":\"broken\"}],\"isError\":true}", &r);
	assert_int_equal(r.outcome, AR_TOOL_ERROR);
	assert_str(r.category, "tool_error");
	assert_str(r.message, "broken");
	read_result(&a, "{\"isError\":true}", &r);
	assert_str(r.message, "the tool failed and did not say why");
	ar_arena_fini(&a);
}

static void test_many_images(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_buf text = { 0 };
	struct ar_tool_result r;

	ar_buf_addz(&text, "{\"content\":[0");
	for (int i = 0; i < 100; i++)
		ar_buf_addz(&text, ",{\"type\":\"image\",\"data\":\"\"}");
	ar_buf_add(&text, "]}", 3);
	read_result(&a, text.p, &r);
	assert_int_equal(r.image_count, 64);
	ar_buf_fini(&text);
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_structure),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_many_images),
	};
	int failed;

	parser = ar_json_parser_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	ar_json_parser_free(parser);
	return failed;
}
