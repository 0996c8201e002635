/* See observed.h. */
#include "observed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_path(int folder, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
				.resolve = RESOLVE_NO_SYMLINKS | resolve };

	return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

void ar_observed_open(struct ar_observation *o, const char *workspace)
{
	o->last[0] = '\0';
	o->workspace = open_path(AT_FDCWD, workspace, 0);
}

/* A name on the way: whether something is there, and whether it is a folder. */
static bool is_there(int workspace, const char *name, bool *ret_is_folder)
{
	int fd = open_path(workspace, name, RESOLVE_BENEATH);
	struct stat st;

	if (fd < 0)
		return false;
	*ret_is_folder = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
	close(fd);
	return true;
}

/* Cuts the path behind the first name that is no folder, or (false) behind the last that can be seen. */
static bool cut_at_obstacle(int workspace, char *path)
{
	char *end = NULL;

	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		bool is_folder = false;

		*slash = '\0';
		if (!is_there(workspace, path, &is_folder))
			break;
		if (!is_folder)
			return true;
		*slash = '/';
		end = slash;
	}
	*(end ? end : path) = '\0';
	return false;
}

static const char *look_at(int workspace, char *path)
{
	bool is_folder;

	if (is_there(workspace, path, &is_folder))
		return "create";
	if (errno != ELOOP && errno != ENOTDIR && errno != EACCES)
		return NULL;
	return cut_at_obstacle(workspace, path) ? "create" : path[0] ? "hide" : NULL;
}

const char *ar_observed_check(struct ar_observation *o, char path[PATH_MAX])
{
	const char *what = o->workspace >= 0 ? look_at(o->workspace, path) : NULL;

	if (!what || strcmp(path, o->last) == 0)
		return NULL;
	snprintf(o->last, sizeof(o->last), "%s", path);
	return what;
}
