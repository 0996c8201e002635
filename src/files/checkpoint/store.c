/* See store.h. */
#include "checkpoint/store.h"

#include "checkpoint/index.h"
#include "checkpoint/entries.h"
#include "checkpoint/scan.h"
#include "clock.h"
#include "io/descriptor.h"
#include "mem.h"
#include "shown.h"
#include "workspace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPOSITORY "checkpoints.git"
#define HALF_MADE REPOSITORY ".new"
#define PACKS REPOSITORY "/objects/pack"
#define KEPT REPOSITORY "/refs/checkpoints"
#define BASES REPOSITORY "/refs/bases"
#define FORGOTTEN "forgotten"
#define SESSION_MAX 80
#define INDEX_NAME_MAX (8 + SESSION_MAX)
#define LOCK_WAIT_US 10000
#define ARGS_MAX 32
#define UNUSED_AT_ONCE 16 /* sessions */

/* Objects in packs of their own, written so that they survive a crash; names as they are on this system. */
static const char *const options[] = {
	"-c", "core.fsync=all",	    "-c", "core.protectNTFS=false",   "-c", "core.protectHFS=false",
	"-c", "core.compression=1", "-c", "fastimport.unpackLimit=0", "-c", "core.logAllRefUpdates=false",
	"-c", "gc.auto=0",
};

/* ---- git in the store ---- */

bool ar_store_git_open(struct ar_store *s, const char *const *args, struct ar_git_child *ret)
{
	const char *all[AR_ARRAY_LEN(options) + ARGS_MAX + 2];
	size_t count = AR_ARRAY_LEN(options);

	memcpy(all, options, sizeof(options));
	all[count++] = s->git_dir;
	for (size_t i = 0; args[i]; i++) {
		AR_ASSERT(i < ARGS_MAX);
		all[count++] = args[i];
	}
	all[count] = NULL;
	if (ar_git_child_open(s->work, s->path, all, ret))
		return true;
	s->work->category = "unavailable"; /* there is no git */
	return false;
}

static bool is_full(struct ar_str said)
{
	return memmem(said.p, said.len, "No space", 8) || memmem(said.p, said.len, "Out of diskspace", 16) ||
	       memmem(said.p, said.len, "quota exceeded", 14);
}

void ar_store_git_failed(struct ar_store *s, const struct ar_git_child *c)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	struct ar_str line;

	if (c->is_late) {
		ar_files_fail(s->work, "timeout", "Try again; the next attempt finds what was already done.",
			      "git took too long in the store of checkpoints.");
		return;
	}
	if (is_full(ar_buf_str(&c->said))) {
		ar_files_fail(s->work, "no_space", "Tell the operator.",
			      "There is no space left for the store of checkpoints.");
		return;
	}
	ar_str_split(ar_buf_str(&c->said), '\n', &line);
	ar_shown_add_text(&text, line);
	ar_files_fail(s->work, "store",
		      "Tell the operator; without its folder a store of checkpoints begins again.",
		      "git failed in the store of checkpoints: %.*s", AR_STR_ARG(ar_buf_str(&text)));
}

bool ar_store_git(struct ar_store *s, const char *const *args, struct ar_str input, struct ar_buf *ret)
{
	struct ar_git_child c;

	if (!ar_store_git_open(s, args, &c))
		return false;
	if (!ar_str_empty(input))
		ar_git_child_write(&c, input);
	ar_git_child_drain(&c, ret);
	bool is_ok = ar_git_child_close(&c);

	if (!is_ok)
		ar_store_git_failed(s, &c);
	ar_git_child_fini(&c);
	return is_ok;
}

/* ---- opening ---- */

static bool fail_open(struct ar_store *s, const char *what)
{
	ar_files_fail(s->work, errno == ENOSPC || errno == EDQUOT ? "no_space" : "unavailable",
		      "Tell the operator.", "The store of checkpoints cannot be used (%s: %s).", what,
		      strerror(errno));
	return false;
}

static bool wait_for_lock(struct ar_store *s)
{
	s->lock = openat(s->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return fail_open(s, "lock");
	while (flock(s->lock, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return fail_open(s, "lock");
		if (ar_files_is_late(s->work)) {
			ar_files_fail(s->work, "timeout", "Try again later.",
				      "Another process works with the store of checkpoints.");
			return false;
		}
		usleep(LOCK_WAIT_US);
	}
	return true;
}

/* Under another name until it is whole. */
static bool make_repository(struct ar_store *s)
{
	static const char *const args[] = { "init",	   "--quiet",
					    "--bare",	   "--object-format=sha256",
					    "--template=", "--initial-branch=none",
					    HALF_MADE,	   NULL };
	struct stat st;

	if (fstatat(s->fd, REPOSITORY, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return true;
	if (!ar_store_git(s, args, AR_STR_NONE, NULL))
		return false;
	if (renameat2(s->fd, HALF_MADE, s->fd, REPOSITORY, RENAME_NOREPLACE) != 0 || fsync(s->fd) != 0)
		return fail_open(s, REPOSITORY);
	return true;
}

static bool is_left(const char *name)
{
	struct ar_str n = ar_str_from(name);

	return ar_str_ends(n, AR_STR(".lock")) || ar_str_starts(n, AR_STR("tmp_")) ||
	       ar_str_starts(n, AR_STR(".tmp-")) || ar_str_starts(n, AR_STR("fast_import_crash_"));
}

/* Of git that was killed: nobody else is in the store while we hold its lock. */
static void remove_left(struct ar_store *s, const char *folder)
{
	int fd = openat(s->fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		ar_workspace_closep(&fd);
		return;
	}
	while ((d = readdir(dir)) != NULL) {
		if (is_left(d->d_name))
			(void)unlinkat(dirfd(dir), d->d_name, 0);
	}
	closedir(dir);
}

static void remove_all_left(struct ar_store *s)
{
	const char *kept = ar_arena_fmt(&s->work->arena, KEPT "/%s", s->session).p;
	const char *const folders[] = { REPOSITORY, PACKS, REPOSITORY "/refs", BASES, kept };

	for (size_t i = 0; i < AR_ARRAY_LEN(folders); i++)
		remove_left(s, folders[i]);
}

static bool open_store(struct ar_store *s)
{
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->fd < 0)
		return fail_open(s, "folder");
	if (!wait_for_lock(s))
		return false;
	s->is_ours = true;
	if (!make_repository(s))
		return false;
	remove_all_left(s);
	return true;
}

/* Safe as the name of a ref and of a folder. */
static bool is_session(struct ar_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.p[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
			return false;
	}
	return text.len > 0 && text.len <= SESSION_MAX;
}

bool ar_store_open(struct ar_store *s, struct ar_files_work *w, struct ar_str path, struct ar_str session)
{
	*s = (struct ar_store){ .work = w,
				.fd = -1,
				.lock = -1,
				.files_max = AR_TREE_ENTRIES_MAX,
				.bytes_max = AR_TREE_ENTRIES_BYTES_MAX };
	if (!is_session(session) || path.len < 2 || path.p[0] != '/' || path.len > PATH_MAX - 64 ||
	    memchr(path.p, '\0', path.len)) {
		ar_files_fail(w, "invalid_arguments",
			      "Name the folder of the store by its absolute path, and the session.",
			      "There is no store of checkpoints, or no session.");
		return false;
	}
	s->path = ar_arena_str(&w->arena, path).p;
	s->session = ar_arena_str(&w->arena, session).p;
	s->git_dir = (char *)ar_arena_fmt(&w->arena, "--git-dir=%s/" REPOSITORY, s->path).p;
	return open_store(s);
}

void ar_store_close(struct ar_store *s)
{
	if (s->is_ours && ar_files_failed(s->work))
		remove_all_left(s); /* half a pack can be most of a disk */
	ar_fd_close(&s->lock);
	ar_fd_close(&s->fd);
}

/* ---- what is in it ---- */

bool ar_store_is_id(struct ar_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!memchr("0123456789abcdef", text.p[i], 16))
			return false;
	}
	return text.len == AR_STORE_ID;
}

bool ar_store_has(const struct ar_store *s, const char *id)
{
	char path[sizeof(KEPT) + 1 + SESSION_MAX + 1 + AR_STORE_ID];
	struct stat st;

	snprintf(path, sizeof(path), KEPT "/%s/%s", s->session, id);
	return fstatat(s->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

struct ar_store_use ar_store_use(const struct ar_store *s)
{
	struct ar_store_use use = { 0 };
	struct stat st;

	if (fstatat(s->fd, FORGOTTEN, &st, AT_SYMLINK_NOFOLLOW) == 0)
		use.forgotten = st.st_size;
	int fd = openat(s->fd, PACKS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		ar_workspace_closep(&fd);
		return use;
	}
	while ((d = readdir(dir)) != NULL) {
		if (!ar_str_ends(ar_str_from(d->d_name), AR_STR(".pack")) ||
		    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		use.packs++;
		use.bytes += st.st_size;
	}
	closedir(dir);
	return use;
}

void ar_store_count_forgotten(const struct ar_store *s, size_t ids)
{
	int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (ids > 0 ? O_APPEND : O_TRUNC);
	AR_AUTO(ar_workspace_closep) int fd = openat(s->fd, FORGOTTEN, flags, 0600);

	for (; fd >= 0 && ids > 0; ids--) {
		if (!ar_fd_write_all(fd, AR_STR("x")))
			return; /* it is only packed later */
	}
}

/* ---- what nobody needs ---- */

void ar_store_pack(struct ar_store *s)
{
	static const char *const args[] = { "repack", "-a", "-d", "-q", "--window=4", "--depth=20", NULL };
	struct ar_git_child c;

	if (!ar_store_git_open(s, args, &c)) {
		ar_files_forgive(s->work);
		return;
	}
	if (ar_git_child_close(&c))
		ar_store_count_forgotten(s, 0);
	ar_git_child_fini(&c);
}

void ar_store_pack_if_needed(struct ar_store *s)
{
	struct ar_store_use use = ar_store_use(s);

	if (use.packs > AR_STORE_PACKS_MAX || use.forgotten > AR_STORE_FORGOTTEN_MAX)
		ar_store_pack(s);
}

/* The time of a session's folder of refs is that of its last save. */
static void touch_session(const struct ar_store *s)
{
	char path[sizeof(KEPT) + 1 + SESSION_MAX];

	snprintf(path, sizeof(path), KEPT "/%s", s->session);
	(void)utimensat(s->fd, path, NULL, AT_SYMLINK_NOFOLLOW); /* not there: it has kept nothing yet */
}

static size_t add_refs(int kept, const char *session, struct ar_buf *ret)
{
	int fd = openat(kept, session, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	size_t count = 0;

	if (!dir) {
		ar_workspace_closep(&fd);
		return 0;
	}
	while ((d = readdir(dir)) != NULL) {
		if (!ar_store_is_id(ar_str_from(d->d_name)))
			continue;
		ar_buf_addf(ret, "delete refs/checkpoints/%s/%s\n", session, d->d_name);
		count++;
	}
	closedir(dir);
	return count;
}

/* The state that a folder of its own was made of is needed as long as the folder is there. */
static bool has_folder(const struct ar_store *s, const char *session)
{
	char path[sizeof(BASES) + 1 + SESSION_MAX];
	struct stat st;

	snprintf(path, sizeof(path), BASES "/%s", session);
	return fstatat(s->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_unused(const struct ar_store *s, int kept, const char *name, int64_t days)
{
	struct ar_clock *clock = ar_clock_system();
	struct stat st;

	return is_session(ar_str_from(name)) && strcmp(name, s->session) != 0 && !has_folder(s, name) &&
	       fstatat(kept, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	       clock->wall(clock) / 1000000 - st.st_mtime > (days + 1) * 86400;
}

void ar_store_forget_unused(struct ar_store *s, int64_t days)
{
	static const char *const update[] = { "update-ref", "--stdin", NULL };
	AR_AUTO(ar_buf_fini) struct ar_buf refs = { 0 };
	int fd = openat(s->fd, KEPT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t sessions = 0, ids = 0;
	struct dirent *d;

	touch_session(s);
	if (!dir) {
		ar_workspace_closep(&fd);
		return;
	}
	while (sessions < UNUSED_AT_ONCE && (d = readdir(dir)) != NULL) {
		if (!is_unused(s, dirfd(dir), d->d_name, days))
			continue;
		ids += add_refs(dirfd(dir), d->d_name, &refs);
		sessions++;
	}
	closedir(dir);
	if (ids > 0 && ar_store_git(s, update, ar_buf_str(&refs), NULL))
		ar_store_count_forgotten(s, ids);
	ar_files_forgive(s->work); /* the next save tries again */
}

static void name_index(const struct ar_store *s, char ret[INDEX_NAME_MAX])
{
	snprintf(ret, INDEX_NAME_MAX, "index%s%s", s->label ? "." : "", s->label ? s->label : "");
}

bool ar_store_read_index(const struct ar_store *s, struct ar_buf *ret)
{
	char name[INDEX_NAME_MAX];
	name_index(s, name);
	AR_AUTO(ar_workspace_closep) int fd = openat(s->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size > AR_INDEX_BYTES_MAX)
		return false;
	for (;;) {
		char *room = ar_buf_room(ret, (size_t)st.st_size - ret->len + 1);

		n = read(fd, room, (size_t)st.st_size - ret->len + 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || (ret->len += (size_t)n) > (size_t)st.st_size)
			break;
	}
	return n == 0 && ret->len == (size_t)st.st_size;
}

/* Not durable: one that is lost or torn is made again. */
bool ar_store_write_index(const struct ar_store *s, struct ar_str bytes)
{
	char name[INDEX_NAME_MAX];
	AR_AUTO(ar_workspace_closep)
	int fd = openat(s->fd, "index.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	name_index(s, name);
	return fd >= 0 && ar_fd_write_all(fd, bytes) && renameat(s->fd, "index.new", s->fd, name) == 0;
}
