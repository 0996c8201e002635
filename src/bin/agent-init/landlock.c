/* Rules of Landlock from a plan: read roots are read, the workspace and the private folders are written, and
 * devices are made nowhere. The network is no matter of Landlock here: its rules leave gaps that a namespace
 * does not. */
#include "landlock.h"

#include "message.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READS (LL_FS_EXECUTE | LL_FS_READ_FILE | LL_FS_READ_DIR)
#define DEVICES (LL_FS_READ_FILE | LL_FS_WRITE_FILE | LL_FS_READ_DIR | LL_FS_TRUNCATE | LL_FS_IOCTL_DEV)
#define WRITES (~(LL_FS_MAKE_CHAR | LL_FS_MAKE_BLOCK | LL_FS_IOCTL_DEV))

static int allow_paths(struct ar_init *in, int rules, const struct ar_plan_paths *paths, uint64_t rights)
{
	for (size_t i = 0; i < paths->count; i++) {
		if (ar_landlock_allow(rules, in->landlock_abi, paths->at[i], rights) < 0)
			return ar_init_fail(in, "rule for", paths->at[i]);
	}
	return 0;
}

/* That folders may be listed everywhere is no leak: everything there is in the view on purpose. A decoy is a
 * file, and has no rule. */
static int allow_view(struct ar_init *in, int rules)
{
	static const struct {
		const char *path;
		uint64_t rights;
	} rows[] = {
		{ "/", LL_FS_READ_DIR }, { "/proc", READS }, { "/dev", DEVICES },
		{ "/dev/shm", WRITES },	 { "/tmp", WRITES }, { AR_INIT_HOME, WRITES },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (ar_landlock_allow(rules, in->landlock_abi, rows[i].path, rows[i].rights) < 0)
			return ar_init_fail(in, "rule for", rows[i].path);
	}
	return 0;
}

/* Length of the first name of an absolute path, with its slash. */
static size_t top_of(const char *path)
{
	return 1 + strcspn(path + 1, "/");
}

static bool is_top_of(const char *path, const char *top, size_t len)
{
	return strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* A decoy must not get a rule by where it lies. */
static bool has_decoy(const struct ar_plan *p, const char *top, size_t len)
{
	for (size_t i = 0; i < p->decoys.count; i++) {
		if (is_top_of(p->decoys.at[i], top, len))
			return true;
	}
	return false;
}

static bool is_first(const struct ar_plan_paths *roots, size_t n, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (is_top_of(roots->at[i], roots->at[n], len))
			return false;
	}
	return true;
}

/* One rule for all roots with the same first name: below it the view has nothing else. */
static int allow_read_roots(struct ar_init *in, int rules)
{
	const struct ar_plan_paths *roots = &in->plan.read_roots;

	for (size_t i = 0; i < roots->count; i++) {
		size_t len = top_of(roots->at[i]);
		bool is_whole = has_decoy(&in->plan, roots->at[i], len);
		char top[NAME_MAX + 2];

		if (!is_whole && !is_first(roots, i, len))
			continue;
		snprintf(top, sizeof(top), "%.*s", (int)len, roots->at[i]);
		if (ar_landlock_allow(rules, in->landlock_abi, is_whole ? roots->at[i] : top, READS) < 0)
			return ar_init_fail(in, "rule for", roots->at[i]);
	}
	return 0;
}

static int allow_plan(struct ar_init *in, int rules)
{
	uint64_t roots = in->plan.mode == AR_PLAN_WORKSPACE_WRITE ? WRITES : READS;
	uint64_t workspace = in->plan.reads_workspace ? READS : roots;

	if (allow_view(in, rules) < 0 || allow_read_roots(in, rules) < 0 ||
	    allow_paths(in, rules, &in->plan.write_roots, roots) < 0)
		return -1;
	if (in->plan.workspace &&
	    ar_landlock_allow(rules, in->landlock_abi, in->plan.workspace, workspace) < 0)
		return ar_init_fail(in, "rule for", in->plan.workspace);
	return 0;
}

int ar_landlock_prepare(struct ar_init *in)
{
	in->landlock_abi = ar_landlock_abi();
	if (!in->plan.uses_landlock)
		return 0;
	in->rules = ar_landlock_new(in->landlock_abi);
	if (in->rules < 0)
		return ar_init_fail(in, "rules", NULL);
	return allow_plan(in, in->rules);
}

int ar_landlock_apply(struct ar_init *in)
{
	if (!in->plan.uses_landlock)
		return 0;
	if (ar_landlock_enforce(in->rules, in->landlock_abi) < 0)
		return ar_init_fail(in, "enforcing", NULL);
	close(in->rules);
	in->rules = -1;
	in->is_landlocked = true;
	return 0;
}
