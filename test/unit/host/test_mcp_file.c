/* .mcp.json: what is read, and that every form that could do harm is refused with a reason. */
#include "unit.h"
#include "workspace/mcp_file.h"

static struct ar_arena arena;
static struct ar_server servers[AR_SERVERS_MAX];
static size_t count;
static struct ar_texts variables;

static const char *read_file(const char *text)
{
	ar_arena_fini(&arena);
	return ar_mcp_file_read(ar_str_from(text), variables, &arena, servers, &count);
}

static void assert_refused(const char *text, const char *word)
{
	const char *reason = read_file(text);

	assert_non_null(reason);
	assert_non_null(strstr(reason, word));
	assert_int_equal(count, 0);
}

/* The one server of the file. */
static void assert_unusable(const char *text, const char *word)
{
	assert_null(read_file(text));
	assert_int_equal(count, 1);
	assert_false(ar_str_absent(servers[0].reason));
	assert_non_null(strstr(servers[0].reason.p, word));
}

static void programs_are_read(void **state)
{
	(void)state;
	assert_null(read_file(
		"{\"mcpServers\":{\"a\":{\"command\":\"node\",\"args\":[\"x y\",\"${N:-b}c\"],"
		"\"env\":{\"K\":\"${V:-}\"},\"unknown\":1},\"b-2\":{\"command\":\"./run\"}},\"z\":[]}"));
	assert_int_equal(count, 2);
	assert_str(servers[0].name, "a");
	assert_str(servers[0].command, "node");
	assert_int_equal(servers[0].args.count, 2);
	assert_str(servers[0].args.at[0], "x y");
	assert_str(servers[0].args.at[1], "bc");
	assert_str(servers[0].env.at[0], "K=");
	assert_true(ar_str_absent(servers[0].reason));
	assert_str(servers[1].name, "b-2");
	assert_int_equal(servers[1].args.count + servers[1].env.count, 0);
	assert_true(ar_str_absent(servers[1].reason));
}

static void files_of_another_form_are_refused(void **state)
{
	(void)state;
	assert_refused("", "JSON");
	assert_refused("[]", "mcpServers");
	assert_refused("{\"mcpServers\":[]}", "mcpServers");
	assert_refused("{\"mcpServers\":{}}", "names no server");
	assert_refused("{\"mcpServers\":{\"../x\":{\"command\":\"a\"}}}", "name");
	assert_refused("{\"mcpServers\":{\"\":{\"command\":\"a\"}}}", "name");
	assert_refused("{\"mcpServers\":{\"a\":{\"command\":\"b\"},\"a\":{\"command\":\"c\"}}}", "");
}

static void one_that_cannot_be_used_says_why(void **state)
{
	(void)state;
	assert_unusable("{\"mcpServers\":{\"a\":1}}", "command or a url");
	assert_unusable("{\"mcpServers\":{\"a\":{\"command\":\"\"}}}", "empty");
	assert_unusable("{\"mcpServers\":{\"a\":{\"command\":[\"x\"]}}}", "texts");
	assert_unusable("{\"mcpServers\":{\"a\":{\"command\":\"x\\u0000y\"}}}", "NUL");
	assert_unusable("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"args\":\"y\"}}}", "texts");
	assert_unusable("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"env\":{\"A=B\":\"y\"}}}}", "name");
	assert_unusable("{\"mcpServers\":{\"a\":{\"command\":\"${PATH}\"}}}", "PATH");
	assert_unusable("{\"mcpServers\":{\"a\":{\"command\":\"${a b:-x}\"}}}", "name of a variable");
	assert_unusable("{\"mcpServers\":{\"a\":{\"url\":\"http://x\"}}}", "HTTP");
	assert_true(ar_str_absent(servers[0].command));
}

static void variables_are_those_of_the_workspace(void **state)
{
	static char big[2010] = "BIG=";
	const struct ar_str set[] = {
		AR_STR("STAGE=a=b"), AR_STR("EMPTY="), AR_STR("TOKEN"), { big, sizeof(big) }
	};

	(void)state;
	memset(big + 4, 'x', sizeof(big) - 4);
	variables = (struct ar_texts){ set, AR_ARRAY_LEN(set) };
	assert_null(read_file(
		"{\"mcpServers\":{\"a\":{\"command\":\"${STAGE}-${STAGE:-c}\",\"args\":"
		"[\"<${EMPTY}>\",\"<${EMPTY:-d}>\",\"${NONE:-e}\"],\"env\":{\"S\":\"${STAGE}\"}}}}"));
	assert_str(servers[0].command, "a=b-a=b");
	assert_str(servers[0].args.at[0], "<>");
	assert_str(servers[0].args.at[1], "<d>");
	assert_str(servers[0].args.at[2], "e");
	assert_str(servers[0].env.at[0], "S=a=b");
	assert_unusable("{\"mcpServers\":{\"a\":{\"command\":\"${STAG}\"}}}", "STAG;");
	assert_unusable("{\"mcpServers\":{\"a\":{\"command\":\"${TOKEN:-x}\"}}}", "secret");
	assert_unusable("{\"mcpServers\":{\"a\":{\"command\":\"${BIG}${BIG}${BIG}\"}}}", "too_large");
	variables = (struct ar_texts){ 0 };
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_read),
		cmocka_unit_test(files_of_another_form_are_refused),
		cmocka_unit_test(one_that_cannot_be_used_says_why),
		cmocka_unit_test(variables_are_those_of_the_workspace),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	ar_arena_fini(&arena);
	return failed;
}
