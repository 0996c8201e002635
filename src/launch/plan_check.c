/* The rules of a plan as one table: each a question and what is said when the answer is yes. Text that was
 * read and a plan that is to be written go through the same. No state. */
#include "plan_check.h"

#include <string.h>

/* Components without a dot or two, without an empty one: a path that says itself where it leads, links
 * aside. */
static bool is_clean(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		if (len == 0 || (len <= 2 && memcmp(path, "..", len) == 0))
			return false;
		if (path[len] == '\0')
			return true;
		path += len + 1;
	}
}

static bool is_absolute(const char *path)
{
	return path && path[0] == '/' && (path[1] == '\0' || is_clean(path + 1));
}

static bool are_all(const struct ar_plan_paths *paths, bool (*is_right)(const char *path))
{
	if (paths->count > AR_PLAN_PATHS_MAX)
		return false;
	for (size_t i = 0; i < paths->count; i++) {
		if (!paths->at[i] || !is_right(paths->at[i]))
			return false;
	}
	return true;
}

static bool is_relative(const char *path)
{
	return path[0] != '/' && is_clean(path);
}

static bool is_below_root(const char *path)
{
	return is_absolute(path) && path[1] != '\0';
}

static bool has_no_kind(const struct ar_plan *p)
{
	return p->mode < AR_PLAN_READ_ONLY || p->mode > AR_PLAN_DANGER || p->network < AR_PLAN_NET_NONE ||
	       p->network > AR_PLAN_NET_HOST || p->backend < AR_PLAN_ROOT || p->backend > AR_PLAN_USERNS;
}

static bool stays_root(const struct ar_plan *p)
{
	return p->backend == AR_PLAN_ROOT && (p->uid == 0 || p->gid == 0);
}

/* (uid_t)-1 means "leave it" to the calls that would take it. */
static bool has_no_id(const struct ar_plan *p)
{
	return p->uid == UINT32_MAX || p->gid == UINT32_MAX || p->workspace_uid == UINT32_MAX ||
	       p->workspace_gid == UINT32_MAX;
}

static bool has_bad_workspace(const struct ar_plan *p)
{
	return p->workspace && !is_below_root(p->workspace);
}

static bool writes_to_root(const struct ar_plan *p)
{
	return p->workspace && p->backend == AR_PLAN_ROOT && p->mode == AR_PLAN_WORKSPACE_WRITE &&
	       (p->workspace_uid == 0 || p->workspace_gid == 0);
}

static bool has_bad_cwd(const struct ar_plan *p)
{
	return !is_absolute(p->cwd);
}

static bool has_bad_roots(const struct ar_plan *p)
{
	return !are_all(&p->read_roots, is_below_root) || !are_all(&p->write_roots, is_below_root) ||
	       !are_all(&p->decoys, is_below_root) || !are_all(&p->cgroups, is_below_root);
}

static bool has_bad_protected(const struct ar_plan *p)
{
	return !are_all(&p->protected_paths, is_relative) || (p->protected_paths.count > 0 && !p->workspace);
}

static bool has_bad_filter(const struct ar_plan *p)
{
	if (!p->filter)
		return false;

	size_t len = strlen(p->filter);

	return len == 0 || len % AR_PLAN_FILTER_DIGITS != 0 ||
	       len / AR_PLAN_FILTER_DIGITS > AR_PLAN_FILTER_MAX ||
	       strspn(p->filter, "0123456789abcdef") != len;
}

static bool listens_to_nothing(const struct ar_plan *p)
{
	return p->notifies && !p->filter;
}

static bool bounds_danger(const struct ar_plan *p)
{
	return p->mode == AR_PLAN_DANGER && (p->uses_landlock || p->network != AR_PLAN_NET_HOST);
}

static bool has_two_inputs(const struct ar_plan *p)
{
	return p->keeps_stdin && p->stdin_is_given;
}

static bool gives_too_much(const struct ar_plan *p)
{
	return p->given > AR_PLAN_GIVEN_MAX;
}

/* The host's own view is made of nothing that could be made before. */
static bool prewarms_danger(const struct ar_plan *p)
{
	return p->is_prewarmed && p->mode == AR_PLAN_DANGER;
}

static bool has_command_early(const struct ar_plan *p)
{
	return p->is_prewarmed && (p->argc > 0 || p->env_count > 0 || p->given > 0 || p->stdin_is_given ||
				   p->protected_paths.count > 0);
}

static bool has_bad_argv(const struct ar_plan *p)
{
	if (p->is_prewarmed)
		return false;
	if (p->argc == 0 || p->argc > AR_PLAN_ARGS_MAX)
		return true;
	for (size_t i = 0; i < p->argc; i++) {
		if (!p->argv[i])
			return true;
	}
	return p->argv[0][0] == '\0';
}

static bool has_bad_env(const struct ar_plan *p)
{
	if (p->env_count > AR_PLAN_ENV_MAX)
		return true;
	for (size_t i = 0; i < p->env_count; i++) {
		if (!p->env[i] || p->env[i][0] == '=' || !strchr(p->env[i], '='))
			return true;
	}
	return false;
}

static const struct {
	bool (*is_so)(const struct ar_plan *p);
	const char *wrong;
} rules[] = {
	{ has_no_kind, "mode, network and backend must be given" },
	{ stays_root, "the root backend needs a uid and a gid that are not 0" },
	{ has_no_id, "an id that is not valid" },
	{ has_bad_workspace, "the workspace is not an absolute path below /, without dots" },
	{ writes_to_root, "a workspace of root cannot be written: its owner must be given and not be 0" },
	{ has_bad_cwd, "cwd is not an absolute path without dots" },
	{ has_bad_roots, "a root, decoy or cgroup is not an absolute path below /, without dots" },
	{ has_bad_protected, "a protected path is not relative and clean, or there is no workspace" },
	{ has_bad_filter, "the filter is no program in hex" },
	{ listens_to_nothing, "notifies without a filter" },
	{ bounds_danger, "danger has the host's view and network, and no Landlock" },
	{ has_two_inputs, "stdin is both kept and given" },
	{ gives_too_much, "more descriptors are given than a command takes" },
	{ prewarms_danger, "danger has nothing that could be made before its command" },
	{ has_command_early, "a prewarmed sandbox has no command yet" },
	{ has_bad_argv, "argv is empty, or too long" },
	{ has_bad_env, "an environment entry is no NAME=value, or there are too many" },
};

const char *ar_plan_wrong(const struct ar_plan *p)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		if (rules[i].is_so(p))
			return rules[i].wrong;
	}
	return NULL;
}
