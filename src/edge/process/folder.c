/* See folder.h. */
#include "folder.h"

#include "id.h"
#include "io/descriptor.h"
#include "mem.h"
#include "plan_check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FILES_MAX 64 /* of one folder; there are six */
#define SHIM_FILE_MAX ((size_t)64 * 1024)

enum ar_status ar_folder_prepare(const char *path, char **ret, struct ar_error *err)
{
	char real[PATH_MAX];

	if (path[0] != '/' || (mkdir(path, 0700) != 0 && errno != EEXIST))
		return ar_fail(err, AR_E_IO, "the directory of processes '%s' cannot be created: %s", path,
			       path[0] != '/' ? "the path has to be absolute" : strerror(errno));
	if (!realpath(path, real) || chmod(real, 0700) != 0)
		return ar_fail(err, AR_E_IO,
			       "the directory of processes '%s' cannot be used: %s; it must belong to the "
			       "user of agentd",
			       path, strerror(errno));
	*ret = ar_str_dup(ar_str_from(real));
	return AR_OK;
}

int ar_folder_make(struct ar_str parent, struct ar_arena *a, struct ar_str *ret_path, struct ar_error *err)
{
	char name[AR_SESSION_KEY_LEN];
	struct ar_str path;
	int dir;

	ar_id_mint(name);
	path = ar_arena_fmt(a, "%.*s/%.*s", AR_STR_ARG(parent), AR_SESSION_KEY_LEN, name);
	dir = mkdir(path.p, 0700) == 0 ? open(path.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (dir < 0) {
		ar_fail(err, AR_E_IO,
			"its directory in '%.*s' cannot be created: %s; check the free space and the owner "
			"of that directory",
			AR_STR_ARG(parent), strerror(errno));
		return -1;
	}
	*ret_path = path;
	return dir;
}

static bool has_our_name(struct ar_str path)
{
	const char *slash = memrchr(path.p, '/', path.len);
	size_t len = slash ? path.len - (size_t)(slash + 1 - path.p) : 0;

	if (len != AR_SESSION_KEY_LEN)
		return false;
	for (size_t i = 1; i <= len; i++) {
		char c = slash[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
			return false;
	}
	return true;
}

int ar_folder_open(struct ar_str path)
{
	char text[PATH_MAX];
	struct stat st;
	int dir;

	if (!has_our_name(path) || path.len >= sizeof(text))
		return -1;
	memcpy(text, path.p, path.len);
	text[path.len] = '\0';
	dir = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return -1;
	if (fstat(dir, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0)
		return dir;
	close(dir);
	return -1;
}

enum ar_status ar_folder_write(int dir, const char *name, struct ar_str bytes, struct ar_error *err)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool is_written = fd >= 0 && ar_fd_write_all(fd, bytes);

	if (!is_written)
		ar_fail(err, AR_E_IO, "its file '%s' cannot be written: %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
	return is_written ? AR_OK : AR_E_IO;
}

enum ar_status ar_folder_write_plan(int dir, const char *name, const struct ar_plan *plan,
				    struct ar_error *err)
{
	size_t len = ar_plan_write(plan, NULL, 0);
	const char *wrong = ar_plan_wrong(plan);
	enum ar_status rc;
	char *text;

	if (wrong)
		return ar_fail(err, AR_E_INVALID, "the sandbox of the command cannot be created: %s", wrong);
	if (len == 0 || len > AR_PLAN_TEXT_MAX)
		return ar_fail(err, AR_E_LIMIT,
			       "the command with its arguments and variables is longer than %zu bytes; "
			       "put them into a file",
			       AR_PLAN_TEXT_MAX);
	text = ar_new0(len + 1);
	len = ar_plan_write(plan, text, len + 1);
	rc = ar_folder_write(dir, name, (struct ar_str){ text, len }, err);
	ar_free(text);
	return rc;
}

struct ar_str ar_folder_read(int dir, const char *name, size_t max, struct ar_arena *a)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct ar_str all = AR_STR_NONE;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= max) {
		char *text = ar_arena_alloc(a, (size_t)st.st_size + 1);
		ssize_t n = pread(fd, text, (size_t)st.st_size, 0);

		if (n >= 0)
			all = (struct ar_str){ text, (size_t)n };
	}
	if (fd >= 0)
		close(fd);
	return all;
}

bool ar_folder_is_locked(int dir)
{
	int fd = openat(dir, "lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool is_locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return is_locked;
}

/* By the descriptor: the name of a socket has 107 bytes, a folder's path may have more. */
int ar_folder_connect(int dir)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -1;
	snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/sock", dir);
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
		return fd;
	rc = errno;
	close(fd);
	errno = rc;
	return -1;
}

void ar_folder_cgroups(int dir, struct ar_arena *a, struct ar_plan_paths *ret)
{
	struct ar_str rest = ar_folder_read(dir, AR_FOLDER_SHIM, SHIM_FILE_MAX, a), line, word, value;

	ret->count = 0;
	while (!ar_str_empty(rest) && ret->count < AR_FOLDER_CGROUPS_MAX) {
		rest = ar_str_split(rest, '\n', &line);
		value = ar_str_split(line, ' ', &word);
		if (ar_str_is(word, "cgroup") && !ar_str_empty(value) && value.p[0] == '/')
			ret->at[ret->count++] = ar_arena_str(a, value).p;
	}
}

static void remove_files(int dir)
{
	int again = dup(dir);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	struct dirent *e;

	for (int i = 0; d && i < FILES_MAX && (e = readdir(d)); i++)
		unlinkat(dir, e->d_name, 0);
	if (d)
		closedir(d);
	else if (again >= 0)
		close(again);
}

void ar_folder_remove(struct ar_str path)
{
	char text[PATH_MAX];
	int dir = ar_folder_open(path);

	if (dir < 0)
		return;
	remove_files(dir);
	close(dir);
	snprintf(text, sizeof(text), "%.*s", AR_STR_ARG(path));
	rmdir(text);
}
