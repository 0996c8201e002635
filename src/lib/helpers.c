/* Where the helper programs of a sandbox are, for a program that is not agentd: beside it as for agentd,
 * or in the folder `agentd` beside the library, where the package has them. */
#include "runtime_priv.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define HELPER "agent-init"

static bool has_helper(struct ar_str folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*s/" HELPER, AR_STR_ARG(folder));
	return access(path, X_OK) == 0;
}

static struct ar_str folder_of(struct ar_str path)
{
	while (path.len > 0 && path.p[path.len - 1] != '/')
		path.len--;
	return path.len > 1 ? ar_str_sub(path, 0, path.len - 1) : path;
}

const char *ar_runtime_helpers(struct ar_arena *a)
{
	char program[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program));
	struct ar_str installed;
	Dl_info info;

	if (len > 0 && has_helper(folder_of((struct ar_str){ program, (size_t)len })))
		return "";
	if (!dladdr((const void *)(uintptr_t)ar_runtime_helpers, &info))
		return "";
	installed = ar_arena_fmt(a, "%.*s/agentd", AR_STR_ARG(folder_of(ar_str_from(info.dli_fname))));
	return has_helper(installed) ? installed.p : "";
}
