/* See planted.h. Breadth first, so that what a person enters first is found first; the folders that wait are
 * in one mapping of fixed size. */
#include "planted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES_MAX 200000
#define ROOM ((size_t)2 << 20) /* bytes of the paths of all folders */

struct search {
	const struct ar_planted_search *o;
	char *paths; /* of folders, each terminated */
	size_t at, end; /* first that waits; behind the last */
	unsigned long entries;
	unsigned found;
	bool is_cut; /* something was not looked at */
};

/* What was seen in one folder. */
struct folder {
	const char *path;
	int fd;
	bool has_head, has_part;
};

static bool is_after(struct statx_timestamp t, uint64_t since)
{
	return t.tv_sec >= 0 && (uint64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 >= since;
}

static bool is_out_of_bounds(struct search *s)
{
	if (s->entries < ENTRIES_MAX && s->found < AR_PLANTED_MAX && !s->o->is_over(s->o->arg))
		return false;
	s->is_cut = true;
	return true;
}

static bool has_changed(const struct search *s, int folder, const char *name)
{
	struct statx st;

	return statx(folder, name, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_CTIME, &st) ==
		       0 &&
	       is_after(st.stx_ctime, s->o->since);
}

/* A file system that knows no time of birth reports the last change instead. */
static bool is_new(const struct search *s, int fd)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_CTIME | STATX_BTIME, &st) != 0)
		return true;
	return is_after(st.stx_mask & STATX_BTIME ? st.stx_btime : st.stx_ctime, s->o->since);
}

static int open_beneath(int from, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)(flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, from, path, &how, sizeof(how));
}

static int open_folder(int from, const char *path)
{
	return open_beneath(from, path, O_RDONLY | O_NONBLOCK);
}

/* Calls `see` for each entry until it gives false. */
static void list(struct search *s, struct folder *f,
		 bool (*look_at_entry)(struct search *, struct folder *, const struct dirent64 *))
{
	_Alignas(struct dirent64) char room[8192];
	ssize_t len;

	while (!is_out_of_bounds(s) && (len = getdents64(f->fd, room, sizeof(room))) > 0) {
		for (ssize_t i = 0; i < len;) {
			const struct dirent64 *e = (const void *)(room + i);

			i += e->d_reclen;
			s->entries++;
			if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
			    !look_at_entry(s, f, e))
				return;
		}
	}
}

static bool report(struct search *s, const char *what, const char *path)
{
	s->found++;
	if (s->o->found(s->o->arg, what, path))
		return true;
	s->is_cut = true;
	s->at = s->end; /* nothing waits any more */
	return false;
}

/* ---- repositories ---- */

static bool look_at_hook(struct search *s, struct folder *f, const struct dirent64 *e)
{
	f->has_part = f->has_part || has_changed(s, f->fd, e->d_name);
	return !f->has_part;
}

static bool have_hooks_changed(struct search *s, int gitdir)
{
	struct folder hooks = { .fd = open_folder(gitdir, "hooks") };

	if (hooks.fd < 0)
		return false;
	list(s, &hooks, look_at_hook);
	close(hooks.fd);
	return hooks.has_part;
}

static bool is_changed_repository(struct search *s, int gitdir)
{
	static const char *const names[] = { "HEAD", "config", "config.worktree", "commondir", "hooks" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (has_changed(s, gitdir, names[i]))
			return true;
	}
	return have_hooks_changed(s, gitdir);
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The name as git takes it where file systems do not tell cases apart. */
static bool is_git_name(const char *name)
{
	return strcasecmp(name, ".git") == 0;
}

static void report_if_changed(struct search *s, const struct folder *f)
{
	bool is_named = is_git_name(last_name(f->path)), is_layout = f->has_head && f->has_part;

	if (is_git_name(f->path)) /* the root's own */
		return;
	if ((is_named && is_new(s, f->fd)) || ((is_named || is_layout) && is_changed_repository(s, f->fd)))
		report(s, "plant repository", f->path);
}

/* ---- the walk ---- */

static void wait_for(struct search *s, const char *path)
{
	size_t len = strlen(path) + 1;

	if (len > ROOM - s->end || len > PATH_MAX) {
		s->is_cut = true;
		return;
	}
	memcpy(s->paths + s->end, path, len);
	s->end += len;
}

static unsigned char type_of(int folder, const struct dirent64 *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type;
	if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}

static bool look_at_entry(struct search *s, struct folder *f, const struct dirent64 *e)
{
	static const char *const parts[] = { "config", "hooks", "objects" };
	bool is_root = strcmp(f->path, ".") == 0, is_folder = type_of(f->fd, e) == DT_DIR;
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s%s", is_root ? "" : f->path, is_root ? "" : "/", e->d_name);

	f->has_head = f->has_head || strcmp(e->d_name, "HEAD") == 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		f->has_part = f->has_part || strcmp(e->d_name, parts[i]) == 0;
	if (n < 0 || (size_t)n >= sizeof(path)) {
		s->is_cut = true;
		return true;
	}
	if (is_folder)
		wait_for(s, path);
	else if (!is_root && is_git_name(e->d_name) && has_changed(s, f->fd, e->d_name))
		return report(s, "plant repository", path);
	return true;
}

/* A folder that was closed, to be opened when nobody looks. */
static void look_from_outside(struct search *s, const char *path)
{
	int fd = open_beneath(s->o->workspace, path, O_PATH);

	if (fd < 0)
		return;
	if (has_changed(s, fd, ""))
		report(s, "hide", path);
	close(fd);
}

static void enter(struct search *s, const char *path)
{
	struct folder f = { .path = path, .fd = open_folder(s->o->workspace, path) };

	if (f.fd < 0) {
		if (errno == EACCES)
			look_from_outside(s, path);
		return;
	}
	list(s, &f, look_at_entry);
	report_if_changed(s, &f);
	close(f.fd);
}

bool ar_planted_find(const struct ar_planted_search *o)
{
	struct search s = { .o = o };

	s.paths = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s.paths == MAP_FAILED)
		return false;
	wait_for(&s, ".");
	while (s.at < s.end && !is_out_of_bounds(&s)) {
		const char *path = s.paths + s.at;

		s.at += strlen(path) + 1;
		enter(&s, path);
	}
	munmap(s.paths, ROOM);
	return !s.is_cut;
}
