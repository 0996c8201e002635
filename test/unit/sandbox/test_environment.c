/* The environment of a process: made anew, and what may be asked for. */
#include "desk.h"
#include "env_vector.h"

#include <stdlib.h>

static void test_nothing_is_inherited(void **state)
{
	struct desk *d = desk_new();
	const struct ar_plan *p;

	(void)state;
	setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
	setenv("LD_PRELOAD_X", "hidden", 1);
	setenv("LC_ALL", "C", 1);
	setenv("TZ", "Europe/Berlin", 1);
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	p = d->launch.plan;
	for (size_t i = 0; i < p->env_count; i++)
		assert_null(strstr(p->env[i], "hidden"));
	assert_null(p->env[p->env_count]);
	assert_string_equal(desk_env(p, "LC_ALL"), "C");
	assert_string_equal(desk_env(p, "TZ"), "Europe/Berlin");
	assert_string_equal(desk_env(p, "HOME"), "/home/agent");
	assert_string_equal(desk_env(p, "TMPDIR"), "/tmp");
	assert_string_equal(desk_env(p, "PAGER"), "cat");
	assert_string_equal(desk_env(p, "GIT_TERMINAL_PROMPT"), "0");
	assert_string_equal(desk_env(p, "TERM"), "dumb");
	assert_string_equal(desk_env(p, "AGENTRUNTIME_SESSION_ID"), "sess_one");
	assert_non_null(strstr(d->launch.environment.p, "\"HOME\":\"/home/agent\""));
	unsetenv("LC_ALL");
	unsetenv("TZ");
	desk_free(d);
}

static void test_what_may_be_asked(void **state)
{
	static const char *const refused[] = {
		"LD_PRELOAD=x",
		"LD_LIBRARY_PATH=x",
		"BASH_ENV=x",
		"ENV=x",
		"SHELLOPTS=x",
		"BASH_FUNC_a=x",
		"PROMPT_COMMAND=x",
		"GIT_SSH_COMMAND=x",
		"GIT_EXTERNAL_DIFF=x",
		"GIT_CONFIG_COUNT=1",
		"NODE_OPTIONS=x",
		"PYTHONSTARTUP=x",
		"PERL5OPT=x",
		"RUBYOPT=x",
		"SSH_AUTH_SOCK=x",
		"JAVA_TOOL_OPTIONS=x",
		"DBUS_X=x",
		"HTTPS_PROXY=x",
		"no_proxy=*",
		"HOME=/root",
		"AGENTRUNTIME_X=x",
		"GLIBC_TUNABLES=x",
	};
	static const char *const malformed[] = { "", "=x", "NAME", "A B=x", "1A=x", "BASH-X=1" };
	struct desk *d = desk_new();
	struct ar_str asked;

	(void)state;
	d->spec.env = &asked;
	d->spec.env_count = 1;
	for (size_t i = 0; i < AR_ARRAY_LEN(refused); i++) {
		asked = ar_str_from(refused[i]);
		assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_E_INVALID);
		assert_non_null(strstr(d->err.msg, "a request may not set the variable"));
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(malformed); i++) {
		asked = ar_str_from(malformed[i]);
		assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_E_INVALID);
		assert_non_null(strstr(d->err.msg, "is not NAME=value"));
	}
	asked = AR_STR("CI=0");
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	assert_string_equal(desk_env(d->launch.plan, "CI"), "0");
	asked = AR_STR("ENVIRONMENT=test=1");
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	assert_string_equal(desk_env(d->launch.plan, "ENVIRONMENT"), "test=1");
	desk_free(d);
}

static void test_settings_may_name_anything(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	d->options.has_proxy = true;
	d->options.env = AR_STR("LD_LIBRARY_PATH=/opt/x, PATH=/opt/x/bin:/usr/bin\nHTTPS_PROXY=http://evil");
	assert_int_equal(desk_plan(d, AR_SANDBOX_ALLOWLISTED_NETWORK), AR_OK);
	assert_string_equal(desk_env(d->launch.plan, "LD_LIBRARY_PATH"), "/opt/x");
	assert_string_equal(desk_env(d->launch.plan, "PATH"), "/opt/x/bin:/usr/bin");
	assert_string_equal(desk_env(d->launch.plan, "HTTPS_PROXY"), "http://127.0.0.1:3128");
	desk_free(d);
}

static void test_there_is_an_end(void **state)
{
	struct ar_str *many = calloc(AR_PLAN_ENV_MAX, sizeof(*many));
	struct desk *d = desk_new();

	(void)state;
	for (size_t i = 0; i < AR_PLAN_ENV_MAX; i++)
		many[i] = ar_arena_fmt(&d->arena, "X%zu=1", i);
	d->spec.env = many;
	d->spec.env_count = AR_PLAN_ENV_MAX;
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_E_LIMIT);
	desk_free(d);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_inherited),
		cmocka_unit_test(test_what_may_be_asked),
		cmocka_unit_test(test_settings_may_name_anything),
		cmocka_unit_test(test_there_is_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
