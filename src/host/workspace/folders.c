/* See folders.h. */
#include "workspace/folders.h"

#include "io/descriptor.h"
#include "mem.h"
#include "path_list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PASSWD_ROOM 4096
#define SESSIONS "sessions" /* folders of sessions that have one for themselves */
#define FILES "files" /* the folder of a workspace inside its own; beside it there is room for what is kept */

/* One request on its way through a thread, which writes only here. */
struct lookup {
	uv_work_t work;
	struct ar_host_folders *folders;
	struct ar_folder_request *request;
	char path[PATH_MAX]; /* NUL at its end */
	char root[PATH_MAX]; /* of a session's folder: that of its workspace */
	char home[AR_SESSION_KEY_LEN + 1], key[AR_SESSION_KEY_LEN + 1], session[AR_SESSION_KEY_LEN + 1];
	bool is_ok;
	int error; /* errno of one that could not be made */
};

/* ---- a folder that a caller names ---- */

/* Of the kernel: no files of anybody. */
static bool is_kernels(struct ar_str path)
{
	return ar_path_is_in(path, AR_STR("/proc")) || ar_path_is_in(path, AR_STR("/sys")) ||
	       ar_path_is_in(path, AR_STR("/dev"));
}

static bool is_guarded(const struct ar_host_folders *f, struct ar_str path)
{
	if (ar_roots_secret_in(&f->guarded, path) || ar_roots_is_system(path) || is_kernels(path))
		return true;
	return !ar_str_absent(f->dir) && (ar_path_is_in(path, f->dir) || ar_path_is_in(f->dir, path));
}

/* Whether the folder is or holds the home of the user. */
static bool is_home_of(struct ar_str path, uid_t uid)
{
	char room[PASSWD_ROOM];
	struct passwd entry, *found = NULL;

	if (getpwuid_r(uid, &entry, room, sizeof room, &found) != 0 || !found || entry.pw_dir[0] != '/')
		return false;
	return ar_path_is_in(ar_str_from(entry.pw_dir), path);
}

/* The server's own user is who the server runs as; root, at a server of root, could write everything. */
static bool may_have(struct ar_str person, uid_t owner)
{
	uint64_t uid;

	if (ar_str_is(person, AR_PERSON_LOCAL))
		return geteuid() == 0 || owner == geteuid();
	return ar_str_starts(person, AR_STR("uid:")) &&
	       ar_str_to_u64(ar_str_sub(person, 4, person.len), &uid) && uid == owner;
}

/* No link on the whole path: what is looked at is what the path names, and nothing is read of it. */
static bool look_at_root(const struct lookup *l)
{
	struct ar_str path = ar_str_from(l->path);
	AR_AUTO(ar_fd_close) int fd = -1;
	struct stat st;

	if (is_guarded(l->folders, path))
		return false;
	fd = ar_fd_open_folder(l->path);
	return fd >= 0 && fstat(fd, &st) == 0 && may_have(l->request->person, st.st_uid) &&
	       !is_home_of(path, st.st_uid);
}

/* ---- one that is made ---- */

/* The folder with that name in the one that is open; made if it is not there. -1: errno says why. */
static int make_below(int parent, const char *name)
{
	int fd;

	if (mkdirat(parent, name, 0700) != 0 && errno != EEXIST)
		return -1;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fsync(parent) != 0) {
		ar_fd_close(&fd);
		return -1;
	}
	return fd;
}

/* A boundary of root does not write into folders of root: the files belong to an id of their own. */
static bool give_away(const struct lookup *l, int files)
{
	char id[3 + AR_SESSION_KEY_LEN + 1];
	struct stat st;
	uint32_t uid;

	if (l->folders->ids.backend != AR_PLAN_ROOT)
		return true;
	if (fstat(files, &st) != 0)
		return false;
	snprintf(id, sizeof id, "ws_%s", l->key);
	uid = ar_sandbox_uid_of(&l->folders->ids, ar_str_from(id));
	return st.st_uid != 0 || fchown(files, uid, uid) == 0;
}

static bool make_folder(const struct lookup *l)
{
	AR_AUTO(ar_fd_close) int home = make_below(l->folders->dir_fd, l->home);
	AR_AUTO(ar_fd_close) int own = home < 0 ? -1 : make_below(home, l->key);
	AR_AUTO(ar_fd_close) int files = own < 0 ? -1 : make_below(own, FILES);

	return files >= 0 && give_away(l, files);
}

/* ---- one of a session ---- */

/* It belongs to whom the workspace does: one map of ids in the sandbox serves both. */
static bool give_like(const struct lookup *l, int files)
{
	AR_AUTO(ar_fd_close) int origin = ar_fd_open_folder(l->root);
	struct stat owner, st;

	if (origin < 0 || fstat(origin, &owner) != 0 || fstat(files, &st) != 0)
		return false;
	if (st.st_uid == owner.st_uid && st.st_gid == owner.st_gid)
		return true;
	errno = EPERM;
	return l->folders->ids.backend == AR_PLAN_ROOT && st.st_uid == 0 &&
	       fchown(files, owner.st_uid, owner.st_gid) == 0;
}

static bool make_own_folder(const struct lookup *l)
{
	AR_AUTO(ar_fd_close) int home = make_below(l->folders->dir_fd, l->home);
	AR_AUTO(ar_fd_close) int workspace = home < 0 ? -1 : make_below(home, l->key);
	AR_AUTO(ar_fd_close) int sessions = workspace < 0 ? -1 : make_below(workspace, SESSIONS);
	AR_AUTO(ar_fd_close) int own = sessions < 0 ? -1 : make_below(sessions, l->session);
	AR_AUTO(ar_fd_close) int files = own < 0 ? -1 : make_below(own, FILES);

	return files >= 0 && give_like(l, files);
}

/* ---- requests ---- */

static bool is_own(const struct lookup *l)
{
	return !ar_str_absent(l->request->session);
}

static void work(uv_work_t *w)
{
	struct lookup *l = AR_CONTAINER_OF(w, struct lookup, work);

	if (is_own(l))
		l->is_ok = make_own_folder(l);
	else
		l->is_ok = ar_str_absent(l->request->root) ? make_folder(l) : look_at_root(l);
	l->error = errno;
}

static enum ar_status refuse(const struct lookup *l, struct ar_error *err)
{
	if (ar_str_absent(l->request->root) || is_own(l))
		return ar_refuse(err, AR_ERR_UNAVAILABLE, "a folder below workspaces.dir cannot be made: %s",
				 strerror(l->error));
	return ar_refuse(
		err, AR_ERR_POLICY_DENIED,
		"this root cannot be a workspace: it is an existing folder of the caller, named without "
		"links on its path; folders of the system and of the runtime and whole homes are not");
}

static void finish(struct lookup *l)
{
	struct ar_folder_request *r = l->request;

	r->status = l->is_ok ? AR_OK : refuse(l, &r->err);
	if (l->is_ok)
		r->folder = ar_arena_str(r->arena, ar_str_from(l->path));
	ar_free(l);
	r->done(r);
}

static void on_worked(uv_work_t *w, int status AR_UNUSED)
{
	struct lookup *l = AR_CONTAINER_OF(w, struct lookup, work);

	l->folders->pending--;
	finish(l);
}

/* False: the path is longer than any that could be opened. */
static bool set_path(struct lookup *l)
{
	const struct ar_folder_request *r = l->request;
	int len;

	snprintf(l->home, sizeof l->home, "%.*s", AR_STR_ARG(r->home));
	snprintf(l->key, sizeof l->key, "%.*s", AR_STR_ARG(r->key));
	snprintf(l->session, sizeof l->session, "%.*s", AR_STR_ARG(r->session));
	if (is_own(l)) {
		if (r->root.len >= sizeof l->root)
			return false;
		snprintf(l->root, sizeof l->root, "%.*s", AR_STR_ARG(r->root));
		len = snprintf(l->path, sizeof l->path, "%.*s/%s/%s/" SESSIONS "/%s/" FILES,
			       AR_STR_ARG(l->folders->dir), l->home, l->key, l->session);
	} else if (!ar_str_absent(r->root))
		len = snprintf(l->path, sizeof l->path, "%.*s", AR_STR_ARG(r->root));
	else
		len = snprintf(l->path, sizeof l->path, "%.*s/%s/%s/" FILES, AR_STR_ARG(l->folders->dir),
			       l->home, l->key);
	l->error = ENAMETOOLONG;
	return len > 0 && (size_t)len < sizeof l->path;
}

void ar_host_folders_find(void *folders, struct ar_folder_request *r)
{
	struct ar_host_folders *f = folders;
	struct lookup *l;

	if (!ar_str_absent(r->worker)) { /* never a folder of this machine in its place */
		r->status = ar_refuse(&r->err, AR_ERR_UNAVAILABLE, "worker %.*s is not connected",
				      AR_STR_ARG(r->worker));
		r->done(r);
		return;
	}
	if (ar_str_absent(f->dir)) {
		r->status = ar_refuse(&r->err, AR_ERR_UNAVAILABLE,
				      "this server has no workspaces; set workspaces.dir and start it again");
		r->done(r);
		return;
	}
	l = ar_new0(sizeof(*l));
	l->folders = f;
	l->request = r;
	if (!set_path(l)) {
		finish(l);
		return;
	}
	f->pending++;
	AR_ASSERT(uv_queue_work(f->loop, &l->work, work, on_worked) == 0);
}

/* ---- life ---- */

static enum ar_status check_dir(const struct ar_host_folders *f, const char *path, struct ar_error *err)
{
	const char *wrong = ar_roots_secret_in(&f->guarded, f->dir);
	struct stat st;

	if (fstat(f->dir_fd, &st) != 0)
		return ar_fail(err, AR_E_INVALID, "workspaces.dir '%.100s' cannot be opened: %s", path,
			       strerror(errno));
	if (!wrong && ar_roots_is_system(f->dir))
		wrong = "folders of the system";
	if (wrong)
		return ar_fail(err, AR_E_INVALID,
			       "workspaces.dir '%.100s' is in or contains %s; use a directory of its own",
			       path, wrong);
	if (st.st_uid == geteuid() && (st.st_mode & 022) == 0)
		return AR_OK;
	return ar_fail(
		err, AR_E_INVALID,
		"workspaces.dir '%.100s' can be changed by others; give it to the server's user, mode 0700",
		path);
}

static enum ar_status open_dir(struct ar_host_folders *f, const char *path, struct ar_arena *a,
			       struct ar_error *err)
{
	if (*path != '/')
		return ar_fail(err, AR_E_INVALID, "workspaces.dir '%.100s' is not an absolute path", path);
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return ar_fail(err, AR_E_INVALID, "workspaces.dir '%.100s' cannot be made: %s", path,
			       strerror(errno));
	f->dir = ar_path_real(ar_str_from(path), a);
	f->dir_fd = ar_str_absent(f->dir) ? -1 : open(f->dir.p, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return check_dir(f, path, err);
}

enum ar_status ar_host_folders_open(uv_loop_t *loop, const struct ar_config *c, struct ar_arena *a,
				    struct ar_host_folders *ret, struct ar_error *err)
{
	ret->guarded.state_dir = ar_path_future(ar_str_from(c->data_dir), a);
	ret->guarded.home = ar_path_future(ar_str_from(getenv("HOME")), a);
	ret->dir_fd = -1;
	ret->loop = loop;
	if (!*c->workspaces.dir)
		return AR_OK;
	if (ar_sandbox_ids_init(&ret->ids, (uint32_t)c->sandbox.uid_first, (uint32_t)c->sandbox.uid_last,
				err) != AR_OK)
		return err->status;
	return open_dir(ret, c->workspaces.dir, a, err);
}

void ar_host_folders_close(struct ar_host_folders *f)
{
	while (f->pending > 0)
		uv_run(f->loop, UV_RUN_ONCE);
	if (f->loop && f->dir_fd >= 0)
		close(f->dir_fd);
	f->loop = NULL;
}
