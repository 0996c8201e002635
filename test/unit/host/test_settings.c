/* The configuration from a file: lists with every field, what is wrong with a file and how that is said,
 * secrets of entries. */
#include "limits/money.h"
#include "secrets.h"
#include "settings/settings_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct ar_arena arena;
static struct ar_config config;
static struct ar_error error;

static enum ar_status load(const char *yaml)
{
	char path[] = "/tmp/ar-settings-XXXXXX";
	int fd = mkstemp(path);
	struct ar_settings_args args = { .config_file = path, .data_dir = "/nowhere" };
	enum ar_status rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, yaml, strlen(yaml)), strlen(yaml));
	close(fd);
	error = (struct ar_error){ 0 };
	rc = ar_settings_load(&args, &arena, &config, &error);
	unlink(path);
	return rc;
}

static void assert_refused(const char *yaml, const char *sentence)
{
	assert_int_equal(load(yaml), AR_E_INVALID);
	if (!strstr(error.msg, sentence))
		fail_msg("'%s' does not say '%s'", error.msg, sentence);
}

static int teardown(void **state AR_UNUSED)
{
	ar_arena_fini(&arena);
	return 0;
}

static const char all_lists[] =
	"models:\n"
	"  - name: big\n"
	"    provider: anthropic\n"
	"    model: claude-x\n"
	"    api_key: env:AR_TEST_LIST_KEY\n"
	"    capabilities: [vision, tools]\n"
	"    context_tokens: 200000\n"
	"    input_price: 3.00\n"
	"    output_price: '15'\n"
	"  - name: small\n"
	"    provider: openai-chat\n"
	"    local: true\n"
	"mcp_servers:\n"
	"  - name: files\n"
	"    command: npx\n"
	"    args: [-y, server-files, '']\n"
	"    env: [FILES_TOKEN=env:AR_TEST_LIST_KEY, MODE=ordinary-word]\n"
	"    scope: session\n"
	"  - name: far\n"
	"    url: http://127.0.0.1:1/mcp\n"
	"    headers: ['Authorization: Bearer env:AR_TEST_LIST_KEY', 'Accept: application/json']\n"
	"http_tools:\n"
	"  - {name: weather, description: Says the weather., url: 'http://127.0.0.1:1/w', method: GET, "
	"read_only: true}\n"
	"hooks:\n"
	"  - {name: audit, point: pre_tool_use, match: 'write_*', command: /bin/true, on_failure: closed}\n"
	"permission_rules:\n"
	"  - {name: r1, effect: deny, tool: '*', only_destructive: true}\n";

static void test_lists_are_read(void **state AR_UNUSED)
{
	setenv("AR_TEST_LIST_KEY", "key-of-the-list-0123", 1);
	assert_int_equal(load(all_lists), AR_OK);
	assert_int_equal(config.models_count, 2);
	assert_string_equal(config.models[0].name, "big");
	assert_int_equal(config.models[0].provider, AR_CONFIG_MODELS_PROVIDER_ANTHROPIC);
	assert_string_equal(config.models[0].api_key, "key-of-the-list-0123");
	assert_int_equal(config.models[0].capabilities.count, 2);
	assert_string_equal(config.models[0].capabilities.v[1], "tools");
	assert_int_equal(config.models[0].context_tokens, 200000);
	assert_int_equal(config.models[0].input_price, 3 * AR_MONEY_UNIT);
	assert_int_equal(config.models[0].cached_price, AR_CONFIG_UNSET);
	assert_int_equal(config.models[1].provider, AR_CONFIG_MODELS_PROVIDER_OPENAI_CHAT);
	assert_string_equal(config.models[1].currency, "USD");
	assert_true(config.models[1].local);
	assert_int_equal(config.mcp_servers_count, 2);
	assert_int_equal(config.mcp_servers[0].args.count, 3);
	assert_string_equal(config.mcp_servers[0].args.v[2], "");
	assert_string_equal(config.mcp_servers[0].env.v[0], "FILES_TOKEN=key-of-the-list-0123");
	assert_int_equal(config.mcp_servers[0].scope, AR_CONFIG_MCP_SERVERS_SCOPE_SESSION);
	assert_int_equal(config.mcp_servers[1].call_timeout_ms, 120000);
	assert_false(config.mcp_servers[1].trust_annotations);
	assert_string_equal(config.mcp_servers[1].headers.v[0], "Authorization: Bearer key-of-the-list-0123");
	assert_int_equal(config.http_tools[0].method, AR_CONFIG_HTTP_TOOLS_METHOD_GET);
	assert_true(config.http_tools[0].read_only);
	assert_false(config.http_tools[0].destructive);
	assert_int_equal(config.hooks[0].point, AR_CONFIG_HOOKS_POINT_PRE_TOOL_USE);
	assert_int_equal(config.permission_rules[0].effect, AR_CONFIG_PERMISSION_RULES_EFFECT_DENY);
	assert_true(config.permission_rules[0].only_destructive);
}

static void test_no_list_is_no_entry(void **state AR_UNUSED)
{
	assert_int_equal(load("listen: off\nmodels: []\n"), AR_OK);
	assert_int_equal(config.models_count, 0);
	assert_int_equal(config.hooks_count, 0);
	assert_int_equal(config.budget.turn_cost, AR_CONFIG_UNSET);
	assert_int_equal(load("budget:\n  turn_cost: 0.05\n"), AR_OK);
	assert_int_equal(config.budget.turn_cost, 50000000);
}

static void test_what_is_wrong_is_named(void **state AR_UNUSED)
{
	unsetenv("AR_TEST_ABSENT");
	assert_refused("models:\n  - name: a\n", ":2: models[0].provider: it is required");
	assert_refused("models:\n  - provider: gemini\n", ":2: models[0].name: it is required");
	assert_refused("models:\n  - {name: '', provider: gemini}\n", ":2: models[0].name: it is required");
	assert_refused(
		"models:\n  - {name: a, provider: gemini}\n  - {name: b, provider: bard}\n",
		":3: models[1].provider: 'bard' is not allowed; choose one of openai-chat, openai-responses, "
		"anthropic, gemini");
	assert_refused("models:\n  - {name: a, provider: gemini}\n  - {name: a, provider: gemini}\n",
		       ":3: models[1].name: models[0] has the same value");
	assert_refused("models:\n  - {name: a, provider: gemini, input_price: 1e3}\n",
		       ":2: models[0].input_price: '1e3' is not an amount");
	assert_refused(
		"models:\n  - {name: a, provider: gemini, capabilities: [vision, smell]}\n",
		":2: models[0].capabilities: 'smell' is not allowed; choose one of vision, tools, json, "
		"reasoning");
	assert_refused(
		"models:\n  - {name: a, provider: gemini, api_key: 'env:AR_TEST_ABSENT'}\n",
		":2: models[0].api_key: the environment variable AR_TEST_ABSENT that it names is not set");
	assert_refused("hooks:\n  - {name: a, point: stop, timeout_ms: 0}\n",
		       ":2: hooks[0].timeout_ms: '0' is out of range; 1 to 600000 ms is allowed");
	assert_refused("hooks:\n  - {name: a, point: stop, timout_ms: 5}\n",
		       "there is no such field in hooks; did you mean 'timeout_ms'?");
	assert_refused("hooks: nothing\n", ":1: hooks: a list is needed");
}

/* A number without a unit counts what the setting's name says; with one it is converted exactly, or
 * refused. */
static void test_units_are_converted(void **state AR_UNUSED)
{
	assert_int_equal(load("model: {first_byte_timeout_ms: 1s, idle_timeout_ms: 250}\n"
			      "auth: {jwt_leeway_s: 2m}\n"
			      "retention: {days: 2d}\n"
			      "limits: {ring_bytes: 2MiB, max_body_bytes: 512kB}\n"
			      "sandbox: {memory_bytes: 2GiB}\n"
			      "context: {compact_at: 75%}\n"
			      "permission: {timeout_ms: 2h}\n"),
			 AR_OK);
	assert_int_equal(config.model.first_byte_timeout_ms, 1000);
	assert_int_equal(config.model.idle_timeout_ms, 250);
	assert_int_equal(config.auth.jwt_leeway_s, 120);
	assert_int_equal(config.retention.days, 2);
	assert_int_equal(config.limits.ring_bytes, 2 << 20);
	assert_int_equal(config.limits.max_body_bytes, 512000);
	assert_int_equal(config.sandbox.memory_bytes, (int64_t)2 << 30);
	assert_int_equal(config.context.compact_at, 75);
	assert_int_equal(config.permission.timeout_ms, 7200000);
	assert_refused("auth: {jwt_leeway_s: 1500ms}\n", "is not a duration in whole seconds");
	assert_refused("sandbox: {memory_bytes: 9999999999TiB}\n", "is not a size");
	assert_refused("model: {max_attempts: 3s}\n", "is not a whole number");
}

static void test_environment_is_read_by_the_same_rules(void **state AR_UNUSED)
{
	setenv("AGENTD_AUTH_REQUIRED", "flase", 1);
	assert_refused(
		"",
		"environment AGENTD_AUTH_REQUIRED: auth.required: 'flase' is not a boolean; write true or "
		"false; did you mean 'false'?");
	unsetenv("AGENTD_AUTH_REQUIRED");
	setenv("AGENTD_MEMORY_BYTES", "1GiB", 1);
	assert_int_equal(load(""), AR_OK);
	assert_int_equal(config.limits.memory_bytes, 1 << 30);
	unsetenv("AGENTD_MEMORY_BYTES");
	setenv("AGENTD_AUTH_REQUIERD", "true", 1);
	assert_refused("", "environment AGENTD_AUTH_REQUIERD: there is no such variable; did you mean "
			   "AGENTD_AUTH_REQUIRED?");
	unsetenv("AGENTD_AUTH_REQUIERD");
	setenv("AGENTD_COLOUR_OF_THE_SKY", "blue", 1);
	assert_int_equal(load(""), AR_OK);
	unsetenv("AGENTD_COLOUR_OF_THE_SKY");
}

static void test_all_mistakes_are_named_and_places_remembered(void **state AR_UNUSED)
{
	struct ar_settings_args args = { .data_dir = "/nowhere" };
	char path[] = "/tmp/ar-settings-XXXXXX";
	int fd = mkstemp(path);
	static const char yaml[] = "model:\n  name: m\n  max_attempts: x\nlisten: off\nlog: {level: loud}\n";
	struct ar_settings s;

	assert_int_equal(write(fd, yaml, strlen(yaml)), strlen(yaml));
	close(fd);
	args.config_file = path;
	ar_settings_read(&args, &arena, &s);
	unlink(path);
	assert_int_equal(s.problems.count, 2);
	assert_non_null(strstr(s.problems.v[0].p, ":3: model.max_attempts: 'x'"));
	assert_non_null(strstr(s.problems.v[1].p, ":5: log.level: 'loud'"));
	assert_int_equal(ar_settings_origin(&s, "listen")->line, 4);
	assert_int_equal(ar_settings_origin(&s, "listen")->kind, AR_FROM_FILE);
	assert_int_equal(ar_settings_origin(&s, "data_dir")->kind, AR_FROM_COMMAND_LINE);
	assert_int_equal(ar_settings_origin(&s, "store")->kind, AR_FROM_DEFAULT);
}

static void assert_masked(const struct ar_redactor *r, const char *text, const char *want_not)
{
	if (strstr(ar_secrets_mask(r, text, &arena).p, want_not))
		fail_msg("'%s' is not masked", want_not);
}

static void test_secrets_of_entries_are_known(void **state AR_UNUSED)
{
	struct ar_redactor *r;

	setenv("AR_TEST_LIST_KEY", "key-of-the-list-0123", 1);
	assert_int_equal(load("models:\n  - {name: a, provider: gemini, api_key: plain-key-77}\n"
			      "mcp_servers:\n"
			      "  - {name: s, env: [S_TOKEN=var-value-55, MODE=ordinary-word],"
			      " headers: ['X-Pass: head-value-66', 'Accept: application/json']}\n"
			      "http_tools:\n"
			      "  - {name: h, description: d., url: u, headers: ['Authorization: Bearer "
			      "env:AR_TEST_LIST_KEY']}\n"),
			 AR_OK);
	assert_int_equal(ar_secrets_load(&config, &r, &error), AR_OK);
	assert_masked(r, "say plain-key-77 now", "plain-key-77");
	assert_masked(r, "say var-value-55 now", "var-value-55");
	assert_masked(r, "say head-value-66 now", "head-value-66");
	assert_masked(r, "say key-of-the-list-0123 now", "key-of-the-list-0123");
	assert_string_equal(ar_secrets_mask(r, "ordinary-word application/json", &arena).p,
			    "ordinary-word application/json");
	ar_redactor_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_lists_are_read, teardown),
		cmocka_unit_test_teardown(test_no_list_is_no_entry, teardown),
		cmocka_unit_test_teardown(test_what_is_wrong_is_named, teardown),
		cmocka_unit_test_teardown(test_units_are_converted, teardown),
		cmocka_unit_test_teardown(test_environment_is_read_by_the_same_rules, teardown),
		cmocka_unit_test_teardown(test_all_mistakes_are_named_and_places_remembered, teardown),
		cmocka_unit_test_teardown(test_secrets_of_entries_are_known, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
