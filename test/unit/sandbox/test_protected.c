/* Which paths of a workspace stay read-only: the usual ones, links, hooks that git is told of, worktrees and
 * submodules. */
#include "desk.h"
#include "git_config.h"
#include "protected.h"

static const struct ar_protected *find(struct desk *d, const char *setting)
{
	struct ar_protected *found = ar_arena_alloc(&d->arena, sizeof(*found));
	const struct ar_protected_options o = { ar_str_from(d->workspace), ar_str_from(setting),
						ar_str_from(desk_path(d, "home")) };

	if (ar_protected_find(&o, &d->arena, found, &d->err) != AR_OK)
		fail_msg("%s", d->err.msg);
	return found;
}

static void test_the_usual(void **state)
{
	static const char *const usual[] = {
		".git/commondir", ".git/hooks", ".git/config", ".git/config.worktree",
		".gitmodules",	  ".vscode",	".idea",       ".envrc",
		".husky",	  ".mcp.json",	".claude",     ".codex",
		".agents"
	};
	struct desk *d = desk_new();
	const struct ar_protected *p;

	(void)state;
	desk_file(d, "ws/.git/config", "[core]\n\tbare = false\n");
	p = find(d, "deploy.sh:infra/prod/");
	for (size_t i = 0; i < AR_ARRAY_LEN(usual); i++)
		assert_true(desk_has(&p->paths, usual[i]));
	assert_true(desk_has(&p->paths, "deploy.sh"));
	assert_true(desk_has(&p->paths, "infra/prod"));
	assert_int_equal(p->replaceable.count, 0);
	assert_int_equal(p->git.count, 0);
	desk_free(d);
}

static void test_settings_stay_inside(void **state)
{
	static const char *const wrong[] = { "/etc", "..", "a/../../b", "./a", "a//b" };
	struct desk *d = desk_new();

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(wrong); i++) {
		const struct ar_protected_options o = { ar_str_from(d->workspace), ar_str_from(wrong[i]),
							AR_STR_NONE };
		struct ar_protected p;

		assert_int_equal(ar_protected_find(&o, &d->arena, &p, &d->err), AR_E_INVALID);
		assert_non_null(strstr(d->err.msg, "sandbox.protected"));
	}
	desk_free(d);
}

/* The target is protected; that the name itself can be replaced is said. */
static void test_links(void **state)
{
	struct desk *d = desk_new();
	const struct ar_protected *p;

	(void)state;
	desk_folder(d, "ws/tools/husky/");
	desk_folder(d, "ws/.git/");
	desk_link(d, "ws/.husky", "tools/husky");
	desk_link(d, "ws/.git/hooks", desk_path(d, "ws/shared-hooks"));
	desk_folder(d, "ws/shared-hooks/");
	desk_link(d, "ws/.vscode", "/etc");
	desk_link(d, "ws/.idea", "nowhere");
	desk_link(d, "ws/.envrc", ".envrc");
	p = find(d, "");
	assert_true(desk_has(&p->paths, "tools/husky"));
	assert_true(desk_has(&p->paths, "shared-hooks"));
	assert_false(desk_has(&p->paths, ".husky") || desk_has(&p->paths, ".vscode") ||
		     desk_has(&p->paths, ".idea"));
	assert_true(desk_has(&p->replaceable, ".husky"));
	assert_true(desk_has(&p->replaceable, ".git/hooks"));
	assert_true(desk_has(&p->replaceable, ".vscode"));
	assert_true(desk_has(&p->replaceable, ".idea"));
	assert_true(desk_has(&p->replaceable, ".envrc"));
	desk_free(d);
}

static void test_the_launch_says_what_is_replaceable(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	desk_link(d, "ws/.husky", "x");
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	assert_non_null(strstr(d->launch.guarantees.p, "\"replaceable\":[\".husky\"]}"));
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	assert_null(strstr(d->launch.guarantees.p, "replaceable"));
	desk_free(d);
}

static void test_hooks_path_of_a_text(void **state)
{
	static const struct {
		const char *text, *path; /* NULL: none */
	} rows[] = {
		{ "[core]\n\thooksPath = .hooks\n", ".hooks" },
		{ "[CORE]\nHOOKSPATH=a b ; comment\n", "a b" },
		{ "[core] hooksPath = x\r\n", "x" },
		{ "[core]\n hooksPath = \"with # in it\"\n", "with # in it" },
		{ "[core]\nhooksPath = one\n[user]\nname = x\n[core]\nhooksPath = two\n", "two" },
		{ "[corexx]\nhooksPath = no\n", NULL },
		{ "[core \"sub\"]\nhooksPath = no\n", NULL },
		{ "[user]\nhooksPath = no\n", NULL },
		{ "; hooksPath = no\n[core]\n# hooksPath = no\n", NULL },
		{ "[core", NULL },
		{ "", NULL },
	};
	struct ar_arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_str got = ar_git_hooks_path(ar_str_from(rows[i].text), &a);

		if (!rows[i].path)
			assert_true(ar_str_absent(got));
		else
			assert_str(got, rows[i].path);
	}
	ar_arena_fini(&a);
}

static void test_hooks_path(void **state)
{
	static const struct {
		const char *value, *path; /* NULL: nothing more is protected */
	} rows[] = {
		{ ".hooks", ".hooks" },	     { "./scripts/hooks/", "scripts/hooks" },
		{ "a/../.hooks", ".hooks" }, { "/etc/hooks", NULL },
		{ "~/hooks", NULL },	     { "../outside", NULL },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk *d = desk_new();
		size_t usual = find(d, "")->paths.count;
		const struct ar_protected *p;

		desk_folder(d, "ws/a/");
		desk_folder(d, "ws/.hooks/");
		desk_file(d, "ws/.git/config",
			  ar_arena_fmt(&d->arena, "[core]\n\thooksPath = %s\n", rows[i].value).p);
		p = find(d, "");
		assert_int_equal(p->paths.count, usual + (rows[i].path != NULL));
		if (rows[i].path)
			assert_true(desk_has(&p->paths, rows[i].path));
		desk_free(d);
	}
}

static void test_includes(void **state)
{
	static const struct {
		const char *config, *path; /* NULL: nothing more is protected */
	} rows[] = {
		{ "[include]\n\tpath = ../team.cfg\n", "team.cfg" },
		{ "[include] path = \"../team.cfg\" ; ours\n", "team.cfg" },
		{ "[Include]\n\tPATH=../etc/missing.cfg\n", "etc/missing.cfg" },
		{ "[includeIf \"onbranch:main\"]\n\tpath = extra\n", ".git/extra" },
		{ "[include]\n\tpath = ../chain.cfg\n", "far/last.cfg" },
		{ "[include]\n\tpath = ../hooked.cfg\n", "etc/hooks" },
		{ "[include]\n\tpath = ../../outside.cfg\n", NULL },
		{ "[include]\n\tpath = /etc/gitconfig\n", NULL },
		{ "[include]\n\tpath = ~/x\n", NULL },
		{ "[included]\n\tpath = ../team.cfg\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk *d = desk_new();
		size_t usual = find(d, "")->paths.count;
		const struct ar_protected *p;

		desk_folder(d, "ws/etc/");
		desk_folder(d, "ws/far/");
		desk_file(d, "ws/team.cfg", "");
		desk_file(d, "ws/chain.cfg", "[include]\n\tpath = far/next.cfg\n");
		desk_file(d, "ws/far/next.cfg", "[include]\n\tpath = last.cfg\n\tpath = next.cfg\n");
		desk_file(d, "ws/hooked.cfg", "[core]\n\thooksPath = etc/hooks\n");
		desk_file(d, "ws/.git/config", rows[i].config);
		p = find(d, "");
		if (rows[i].path)
			assert_true(desk_has(&p->paths, rows[i].path));
		else
			assert_int_equal(p->paths.count, usual);
		desk_free(d);
	}
}

static void test_hooks_path_of_the_user(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	desk_file(d, "home/.gitconfig", "[core]\n\thooksPath = .githooks\n");
	assert_true(desk_has(&find(d, "")->paths, ".githooks"));
	desk_free(d);
}

static void test_submodules(void **state)
{
	struct desk *d = desk_new();
	const struct ar_protected *p;

	(void)state;
	desk_file(d, "ws/.git/modules/lib/HEAD", "ref: x\n");
	desk_file(d, "ws/.git/modules/deep/er/HEAD", "ref: x\n");
	desk_file(d, "ws/.git/modules/lib/modules/inner/HEAD", "ref: x\n");
	p = find(d, "");
	assert_true(desk_has(&p->paths, ".git/modules/lib/hooks"));
	assert_true(desk_has(&p->paths, ".git/modules/lib/config"));
	assert_true(desk_has(&p->paths, ".git/modules/deep/er/hooks"));
	assert_true(desk_has(&p->paths, ".git/modules/lib/modules/inner/config"));
	desk_free(d);
}

static void test_too_many_submodules_are_all_protected(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	for (int i = 0; i < 140; i++)
		desk_file(d, ar_arena_fmt(&d->arena, "ws/.git/modules/m%d/HEAD", i).p, "ref: x\n");
	assert_true(desk_has(&find(d, "")->paths, ".git/modules"));
	desk_free(d);
}

/* Whoever fills the folder, or puts a link there, must not keep the daemon busy with it. */
static void test_modules_are_looked_at_within_bounds(void **state)
{
	struct desk *d = desk_new(), *linked = desk_new();

	(void)state;
	for (int i = 0; i < 700; i++)
		desk_folder(d, ar_arena_fmt(&d->arena, "ws/.git/modules/m%d/", i).p);
	assert_true(desk_has(&find(d, "")->paths, ".git/modules"));
	desk_free(d);
	desk_file(linked, "ws/.git/HEAD", "ref: x\n");
	desk_file(linked, "ws/elsewhere/m/HEAD", "ref: x\n");
	desk_link(linked, "ws/.git/modules", "../elsewhere");
	assert_true(desk_has(&find(linked, "")->paths, "elsewhere"));
	assert_true(desk_has(&find(linked, "")->replaceable, ".git/modules"));
	desk_free(linked);
}

/* The repository outside is shown when it names this worktree. */
static void test_a_worktree(void **state)
{
	struct desk *d = desk_new();
	const struct ar_protected *p;

	(void)state;
	desk_file(d, "ws/.git", ar_arena_fmt(&d->arena, "gitdir: %s/repo/.git/worktrees/ws\n", d->base).p);
	desk_file(d, "repo/.git/worktrees/ws/gitdir", ar_arena_fmt(&d->arena, "%s/.git\n", d->workspace).p);
	desk_file(d, "repo/.git/worktrees/ws/commondir", "../..\n");
	p = find(d, "");
	assert_true(desk_has(&p->paths, ".git"));
	assert_false(desk_has(&p->paths, ".git/hooks"));
	assert_int_equal(p->git.count, 1);
	assert_string_equal(p->git.at[0], desk_path(d, "repo/.git"));
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	assert_true(desk_has(&d->launch.plan->read_roots, desk_path(d, "repo/.git")));
	assert_false(desk_has(&d->launch.plan->write_roots, desk_path(d, "repo/.git")));
	desk_free(d);
}

/* A file that was planted must not open the folder that it names. */
static void test_a_planted_git_file_shows_nothing(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	desk_file(d, "home/.ssh/id_rsa", "secret");
	desk_file(d, "ws/.git", ar_arena_fmt(&d->arena, "gitdir: %s/home/.ssh\n", d->base).p);
	assert_int_equal(find(d, "")->git.count, 0);
	desk_file(d, "ws/fake/gitdir", ar_arena_fmt(&d->arena, "%s/.git\n", d->workspace).p);
	desk_file(d, "ws/fake/commondir", desk_path(d, "home/.ssh"));
	desk_file(d, "ws/.git", "gitdir: fake\n");
	assert_int_equal(find(d, "")->git.count, 0);
	assert_true(desk_has(&find(d, "")->paths, "fake/hooks"));
	desk_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_usual),
		cmocka_unit_test(test_settings_stay_inside),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_the_launch_says_what_is_replaceable),
		cmocka_unit_test(test_hooks_path_of_a_text),
		cmocka_unit_test(test_hooks_path),
		cmocka_unit_test(test_includes),
		cmocka_unit_test(test_hooks_path_of_the_user),
		cmocka_unit_test(test_submodules),
		cmocka_unit_test(test_too_many_submodules_are_all_protected),
		cmocka_unit_test(test_modules_are_looked_at_within_bounds),
		cmocka_unit_test(test_a_worktree),
		cmocka_unit_test(test_a_planted_git_file_shows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
