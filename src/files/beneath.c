/* See beneath.h. The way by hand keeps a descriptor for every folder on the way, so that ".." goes back to
 * where it came from even when somebody moves the folders meanwhile. */
#include "beneath.h"

#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel asks for another try when something was renamed on the way; somebody who renames without end
 * gets a refusal. */
#define TRIES 32
#define LEVELS_MAX 256
#define LINKS_MAX 40

struct way {
	int folders[LEVELS_MAX]; /* [0] is borrowed */
	size_t depth;
	char rest[PATH_MAX]; /* not yet walked */
	int links;
};

static void go_back(struct way *y)
{
	close(y->folders[y->depth--]);
}

/* Takes the next name off the rest; false: none is left. `ret_is_last`: nothing but slashes follows, and no
 * slash does. */
static bool next_name(struct way *y, char name[NAME_MAX + 1], bool *ret_is_last)
{
	char *from = y->rest + strspn(y->rest, "/");
	size_t len = strcspn(from, "/");

	if (len == 0)
		return false;
	if (len > NAME_MAX) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(name, from, len);
	name[len] = '\0';
	*ret_is_last = from[len] == '\0';
	memmove(y->rest, from + len, strlen(from + len) + 1);
	return true;
}

/* Puts the target of a link before what is left of the path. */
static bool follow(struct way *y, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(y->folders[y->depth], name, target, sizeof(target));
	size_t rest = strlen(y->rest);

	if (len < 0)
		return false;
	if (len > 0 && target[0] == '/') {
		errno = EXDEV;
		return false;
	}
	if (++y->links > LINKS_MAX || (size_t)len + rest + 1 >= sizeof(y->rest)) {
		errno = ELOOP;
		return false;
	}
	memmove(y->rest + len, y->rest, rest + 1);
	memcpy(y->rest, target, (size_t)len);
	return true;
}

static bool is_link(const struct way *y, const char *name)
{
	struct stat st;

	return fstatat(y->folders[y->depth], name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

static bool enter(struct way *y, const char *name)
{
	int fd;

	if (y->depth + 1 == LEVELS_MAX) {
		errno = ENAMETOOLONG;
		return false;
	}
	fd = openat(y->folders[y->depth], name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	y->folders[++y->depth] = fd;
	return true;
}

/* One name of a folder on the way. */
static bool step(struct way *y, const char *name, bool follows_links)
{
	if (strcmp(name, ".") == 0)
		return true;
	if (strcmp(name, "..") == 0) {
		if (y->depth == 0) {
			errno = EXDEV;
			return false;
		}
		go_back(y);
		return true;
	}
	if (enter(y, name))
		return true;
	if ((errno != ELOOP && errno != ENOTDIR) || !is_link(y, name)) {
		errno = errno == ELOOP ? EAGAIN : errno;
		return false;
	}
	if (follows_links)
		return follow(y, name);
	errno = ELOOP;
	return false;
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int open_last(struct way *y, int flags, bool follows_links)
{
	char name[NAME_MAX + 1] = ".";
	bool is_last = false;

	errno = 0;
	while (next_name(y, name, &is_last)) {
		bool goes_on = !is_last || is_dots(name);

		if (!goes_on && is_link(y, name) && !(flags & O_NOFOLLOW)) {
			errno = ELOOP;
			if (!follows_links || !follow(y, name))
				return -1;
			continue;
		}
		if (!goes_on)
			return openat(y->folders[y->depth], name, flags | O_NOFOLLOW | O_CLOEXEC);
		if (!step(y, name, follows_links))
			return -1;
		errno = 0;
	}
	if (errno != 0)
		return -1;
	return openat(y->folders[y->depth], ".", flags | O_CLOEXEC);
}

int ar_beneath_walk(int folder, const char *path, int flags, bool follows_links)
{
	struct way y = { .folders = { folder } };
	int fd = -1, code = ENAMETOOLONG;

	if (path[0] == '/' || path[0] == '\0') {
		errno = path[0] ? EXDEV : ENOENT;
		return -1;
	}
	if (strlen(path) < sizeof(y.rest)) {
		memcpy(y.rest, path, strlen(path) + 1);
		fd = open_last(&y, flags, follows_links);
		code = errno;
	}
	while (y.depth > 0)
		go_back(&y);
	errno = code;
	return fd;
}

int ar_beneath_open(int folder, const char *path, int flags, bool follows_links)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS |
			   (follows_links ? 0u : (unsigned)RESOLVE_NO_SYMLINKS),
	};
	long fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));
		if (fd < 0 && errno == ENOSYS)
			fd = ar_beneath_walk(folder, path, flags, follows_links);
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}
