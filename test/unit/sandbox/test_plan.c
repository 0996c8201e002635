/* Launches as they are settled: what each profile puts into a plan, what is refused, and with which words. */
#include "desk.h"

#include <sys/stat.h>
#include <unistd.h>

static bool by_root(void)
{
	return geteuid() == 0;
}

static void test_profiles(void **state)
{
	static const struct {
		enum ar_sandbox_profile name;
		enum ar_plan_mode mode;
		enum ar_plan_network network;
	} rows[] = {
		{ AR_SANDBOX_READ_ONLY, AR_PLAN_READ_ONLY, AR_PLAN_NET_NONE },
		{ AR_SANDBOX_WORKSPACE_WRITE, AR_PLAN_WORKSPACE_WRITE, AR_PLAN_NET_NONE },
		{ AR_SANDBOX_NO_NETWORK, AR_PLAN_WORKSPACE_WRITE, AR_PLAN_NET_NONE },
		{ AR_SANDBOX_ALLOWLISTED_NETWORK, AR_PLAN_WORKSPACE_WRITE, AR_PLAN_NET_PROXY },
		{ AR_SANDBOX_DANGER_FULL_ACCESS, AR_PLAN_DANGER, AR_PLAN_NET_HOST },
	};
	struct desk *d = desk_new();

	(void)state;
	d->options.allows_danger = d->options.has_proxy = true;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		bool is_danger = rows[i].name == AR_SANDBOX_DANGER_FULL_ACCESS;
		const struct ar_plan *p;

		assert_int_equal(desk_plan(d, rows[i].name), AR_OK);
		p = d->launch.plan;
		assert_int_equal(p->mode, rows[i].mode);
		assert_int_equal(p->network, rows[i].network);
		assert_int_equal(p->uses_landlock, !is_danger);
		assert_non_null(p->filter);
		assert_true(p->notifies);
		assert_int_not_equal(p->uid, 0);
		assert_string_equal(p->workspace, d->workspace);
		assert_string_equal(p->cwd, d->workspace);
		assert_string_equal(p->argv[0], "true");
		assert_null(p->argv[1]);
		assert_int_equal(p->read_roots.count == 0, is_danger);
		assert_int_equal(desk_env(p, "HTTPS_PROXY") != NULL, rows[i].network == AR_PLAN_NET_PROXY);
	}
	desk_free(d);
}

static void test_who_it_runs_as(void **state)
{
	struct desk *d = desk_new();
	uint32_t first;

	(void)state;
	if (!by_root())
		skip();
	d->options.allows_danger = true;
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	first = d->launch.plan->uid;
	assert_in_range(first, 61000, 64999);
	assert_int_equal(d->launch.plan->gid, first);
	assert_int_equal(d->launch.plan->workspace_uid, 1000);
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	assert_int_equal(d->launch.plan->uid, first);
	d->spec.session_id = AR_STR("sess_two");
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	assert_int_not_equal(d->launch.plan->uid, first);
	assert_int_equal(desk_plan(d, AR_SANDBOX_DANGER_FULL_ACCESS), AR_OK);
	assert_int_equal(d->launch.plan->uid, 1000);
	desk_free(d);
}

/* What root owns is not written by anybody who is mapped to root; it may be read. */
static void test_a_workspace_of_root(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	if (!by_root())
		skip();
	d->options.allows_danger = d->options.has_proxy = true;
	assert_int_equal(chown(d->workspace, 0, 0), 0);
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	for (int i = AR_SANDBOX_WORKSPACE_WRITE; i < AR_SANDBOX_COUNT; i++) {
		assert_int_equal(desk_plan(d, (enum ar_sandbox_profile)i), AR_E_UNAVAILABLE);
		assert_non_null(strstr(d->err.msg,
				       "give the workspace to an unprivileged user (chown), or run agentd "
				       "as its owner"));
	}
	desk_free(d);
}

/* A group of root is refused by its name: with the user alone given away, the sentence about
 * the user would be no help. */
static void test_a_workspace_of_the_group_root(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	if (!by_root())
		skip();
	d->options.allows_danger = d->options.has_proxy = true;
	assert_int_equal(chown(d->workspace, 1000, 0), 0);
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	for (int i = AR_SANDBOX_WORKSPACE_WRITE; i < AR_SANDBOX_COUNT; i++) {
		assert_int_equal(desk_plan(d, (enum ar_sandbox_profile)i), AR_E_UNAVAILABLE);
		assert_non_null(strstr(d->err.msg,
				       "belongs to the group root; give the workspace to an unprivileged "
				       "group (chgrp), or run agentd as its owner"));
	}
	desk_free(d);
}

static void test_roots(void **state)
{
	struct desk *d = desk_new();
	const struct ar_plan *p;

	(void)state;
	desk_folder(d, "tools/");
	desk_folder(d, "cache/");
	desk_folder(d, "home/.cargo/bin/");
	desk_file(d, "home/.cargo/credentials.toml", "secret");
	desk_folder(d, "home/.ssh/");
	d->options.read_roots = ar_str_from(desk_path(d, "tools/"));
	d->options.write_roots = ar_str_from(desk_path(d, "cache"));
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	p = d->launch.plan;
	assert_true(desk_has(&p->read_roots, "/usr"));
	assert_true(desk_has(&p->read_roots, "/etc/passwd"));
	assert_true(desk_has(&p->read_roots, desk_path(d, "tools")));
	assert_true(desk_has(&p->read_roots, desk_path(d, "home/.cargo/bin")));
	assert_true(desk_has(&p->write_roots, desk_path(d, "cache")));
	assert_true(desk_has(&p->decoys, "/home/agent/.ssh/id_rsa"));
	for (size_t i = 0; i < p->read_roots.count; i++) {
		const char *root = p->read_roots.at[i];

		assert_false(strcmp(root, "/") == 0 || strcmp(root, "/etc") == 0 ||
			     strcmp(root, "/home") == 0);
		assert_null(strstr(root, "shadow"));
		assert_null(strstr(root, ".ssh"));
		assert_true(i == 0 || strcmp(p->read_roots.at[i - 1], root) < 0);
	}
	assert_true(ar_str_starts(ar_str_from(desk_env(p, "PATH")),
				  ar_str_from(desk_path(d, "home/.cargo/bin:"))));
	assert_non_null(strstr(d->launch.write_roots.p, "\"/tmp\""));
	assert_non_null(strstr(d->launch.write_roots.p, d->workspace));

	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	assert_int_equal(d->launch.plan->write_roots.count, 0);
	assert_true(desk_has(&d->launch.plan->read_roots, desk_path(d, "cache")));
	assert_null(strstr(d->launch.write_roots.p, d->base));
	desk_free(d);
}

static void refused(const char *read_roots, const char *words)
{
	struct desk *d = desk_new();

	d->options.read_roots = ar_str_from(*read_roots == '/' ? read_roots : desk_path(d, "%s", read_roots));
	assert_int_equal(ar_sandbox_open(&d->options, &d->sandbox, &d->err), AR_E_INVALID);
	if (!strstr(d->err.msg, words))
		fail_msg("'%s' is not in '%s'", words, d->err.msg);
	d->sandbox = NULL;
	desk_free(d);
}

static void test_roots_that_are_refused(void **state)
{
	(void)state;
	refused("state", "the runtime's own state folder");
	refused("", "the runtime's own state folder");
	refused("home", "a whole home folder");
	refused("nowhere", "does not exist");
	refused("/", "absolute path");
	refused("/usr/../etc", "absolute path");
}

/* A link to it is the same as the folder. */
static void test_roots_behind_links(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	desk_link(d, "innocent", "state");
	d->options.read_roots = ar_str_from(desk_path(d, "innocent"));
	assert_int_equal(ar_sandbox_open(&d->options, &d->sandbox, &d->err), AR_E_INVALID);
	d->sandbox = NULL;
	desk_free(d);
}

/* A state folder that is made only after the sandbox was opened is as hidden as one that was there. */
static void test_a_state_folder_to_be(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	desk_link(d, "alias", "ws");
	d->options.state_dir = ar_str_from(desk_path(d, "alias/not/yet"));
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_E_UNAVAILABLE);
	assert_non_null(strstr(d->err.msg, "the runtime's own state folder"));
	desk_free(d);
}

static void test_workspaces_that_are_refused(void **state)
{
	struct desk *d = desk_new();
	const char *const wrong[] = {
		"/", "/usr", "/etc", desk_path(d, "state"), desk_path(d, "state/.."), desk_path(d, "home")
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(wrong); i++) {
		d->spec.workspace = ar_str_from(wrong[i]);
		assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_E_UNAVAILABLE);
		assert_non_null(strstr(d->err.msg, "use a directory that contains only the project"));
	}
	d->spec.workspace = ar_str_from(desk_path(d, "nowhere"));
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_E_INVALID);
	desk_free(d);
}

static void test_where_it_runs(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	desk_folder(d, "ws/src/");
	desk_link(d, "alias", "ws");
	d->spec.workspace = ar_str_from(desk_path(d, "alias"));
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_E_UNAVAILABLE);
	assert_non_null(strstr(d->err.msg, "has a link"));
	d->spec.workspace = ar_str_from(desk_path(d, "ws"));
	d->spec.cwd = ar_str_from(desk_path(d, "alias/src"));
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	assert_string_equal(d->launch.plan->cwd, desk_path(d, "ws/src"));
	assert_string_equal(desk_env(d->launch.plan, "PWD"), desk_path(d, "ws/src"));
	d->spec.cwd = AR_STR("/tmp");
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	d->spec.cwd = ar_str_from(desk_path(d, "home"));
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_E_INVALID);
	assert_non_null(strstr(d->err.msg, "use one in the workspace"));
	d->spec.cwd = ar_str_from(desk_path(d, "ws/none"));
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_E_INVALID);
	d->spec.cwd = AR_STR("src");
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_E_INVALID);
	desk_free(d);
}

static void test_streams_and_limits(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	d->spec.timeout_ms = 1500;
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	assert_false(d->launch.plan->keeps_stdin || d->launch.plan->stdin_is_given);
	assert_non_null(
		strstr(d->launch.limits.p, "\"processes\":64,\"memoryBytes\":268435456,\"timeoutMs\":1500"));
	assert_non_null(strstr(d->launch.limits.p, "\"tty\":false,\"stdin\":\"empty\""));
	d->spec.has_input = true;
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	assert_true(d->launch.plan->keeps_stdin);
	d->spec.input = AR_STR("hello");
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	assert_true(d->launch.plan->stdin_is_given && !d->launch.plan->keeps_stdin);
	d->spec.tty = true;
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	assert_int_equal(d->launch.plan->rows, 24);
	assert_int_equal(d->launch.plan->columns, 80);
	desk_free(d);
}

static void test_terminals_may_be_missing(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	desk_probe(d, "pty");
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	d->spec.tty = true;
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_E_UNAVAILABLE);
	desk_free(d);
}

static void test_words_are_words(void **state)
{
	struct ar_str words[] = { AR_STR("echo"), { "a\0b", 3 } };
	struct desk *d = desk_new();

	(void)state;
	d->spec.argv = words;
	d->spec.argc = 2;
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_E_INVALID);
	d->spec.argc = 0;
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_E_INVALID);
	d->spec.argc = AR_PLAN_ARGS_MAX + 1;
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_E_INVALID);
	desk_free(d);
}

static void test_uid_ranges(void **state)
{
	static const struct {
		uint32_t first, last;
		bool is_fine;
	} rows[] = { { 61000, 61000, true },  { 999, 2000, false },	{ 3000, 2000, false },
		     { 65000, 66000, false }, { 100000, 165535, true }, { 0, 62000, true } };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk *d = desk_new();
		enum ar_status rc;

		d->options.uid_first = rows[i].first;
		d->options.uid_last = rows[i].last;
		rc = ar_sandbox_open(&d->options, &d->sandbox, &d->err);
		assert_int_equal(rc, rows[i].is_fine ? AR_OK : AR_E_INVALID);
		if (rc != AR_OK) {
			assert_non_null(strstr(d->err.msg, "sandbox.uid_first"));
			d->sandbox = NULL;
		}
		desk_free(d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_who_it_runs_as),
		cmocka_unit_test(test_a_workspace_of_root),
		cmocka_unit_test(test_a_workspace_of_the_group_root),
		cmocka_unit_test(test_roots),
		cmocka_unit_test(test_roots_that_are_refused),
		cmocka_unit_test(test_roots_behind_links),
		cmocka_unit_test(test_a_state_folder_to_be),
		cmocka_unit_test(test_workspaces_that_are_refused),
		cmocka_unit_test(test_where_it_runs),
		cmocka_unit_test(test_streams_and_limits),
		cmocka_unit_test(test_terminals_may_be_missing),
		cmocka_unit_test(test_words_are_words),
		cmocka_unit_test(test_uid_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
