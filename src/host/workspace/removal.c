/* See removal.h. Looking for the folder is another thread's; the rest is the loop thread's. */
#include "workspace/removal.h"

#include "clock.h"
#include "io/descriptor.h"
#include "mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TIME_MAX ((ar_usec)600 * 1000000)

/* One session on its way: a thread writes `path` and `workspace`. */
struct removal {
	uv_work_t work;
	struct ar_host_removal *owner;
	struct ar_checkpoint_run run;
	char session[AR_SESSION_KEY_LEN + 1];
	char workspace[3 + AR_SESSION_KEY_LEN + 1]; /* "ws_..."; empty: it had no folder */
	char path[PATH_MAX]; /* of its files */
};

/* ---- where it is ---- */

typedef bool visit_fn(struct removal *m, int folder, const char *name, void *arg);

/* True: visit() said so for one of the names. Names that begin with a dot are nobody's. */
static bool each_name(struct removal *m, int folder, visit_fn *visit, void *arg)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool is_found = false;
	struct dirent *d;

	if (!dir) {
		ar_fd_close(&fd);
		return false;
	}
	while (!is_found && (d = readdir(dir)) != NULL)
		is_found = d->d_name[0] != '.' && visit(m, folder, d->d_name, arg);
	closedir(dir);
	return is_found;
}

static bool is_folder(int folder, const char *path)
{
	struct stat st;

	return fstatat(folder, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* "files" is the session's own, "agent-N/files" that of a child agent. The first one that is there. */
static bool look_in_session(struct removal *m, int own, const char *name, void *arg AR_UNUSED)
{
	char below[NAME_MAX + sizeof("/files")];
	size_t used = strlen(m->path);

	snprintf(below, sizeof below, "%s%s", name, strcmp(name, "files") == 0 ? "" : "/files");
	if (!is_folder(own, below))
		return false;
	return snprintf(m->path + used, sizeof m->path - used, "/%s", below) < (int)(sizeof m->path - used);
}

static bool look_in_workspace(struct removal *m, int home, const char *name, void *arg)
{
	const char *tenant = arg;
	char below[NAME_MAX + 1 + sizeof("sessions/") + AR_SESSION_KEY_LEN];
	AR_AUTO(ar_fd_close) int own = -1;

	if (strlen(name) != AR_SESSION_KEY_LEN)
		return false;
	snprintf(below, sizeof below, "%s/sessions/%s", name, m->session);
	own = openat(home, below, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (own < 0)
		return false;
	snprintf(m->workspace, sizeof m->workspace, "ws_%s", name);
	snprintf(m->path, sizeof m->path, "%.*s/%s/%s", AR_STR_ARG(m->owner->folders->dir), tenant, below);
	return each_name(m, own, look_in_session, NULL);
}

static bool look_in_tenant(struct removal *m, int dir, const char *name, void *arg AR_UNUSED)
{
	AR_AUTO(ar_fd_close) int home = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return home >= 0 && each_name(m, home, look_in_workspace, (void *)(uintptr_t)name);
}

static void work(uv_work_t *w)
{
	struct removal *m = AR_CONTAINER_OF(w, struct removal, work);

	if (!each_name(m, m->owner->folders->dir_fd, look_in_tenant, NULL))
		*m->workspace = '\0';
}

/* ---- its end ---- */

static void look_for_folder(struct removal *m);

/* A session may have several: that of each child agent. What cannot be removed stays, with all others. */
static void on_cleared(struct ar_checkpoint_run *run, const struct ar_checkpoint_result *result)
{
	struct removal *m = AR_CONTAINER_OF(run, struct removal, run);

	if (result->status == AR_OK && m->owner->port)
		look_for_folder(m);
	else
		ar_free(m);
}

static void on_found(uv_work_t *w, int status AR_UNUSED)
{
	struct removal *m = AR_CONTAINER_OF(w, struct removal, work);
	struct ar_clock *clock = ar_clock_system();

	m->owner->folders->pending--;
	if (!*m->workspace || !m->owner->port) {
		ar_free(m);
		return;
	}
	m->run = (struct ar_checkpoint_run){ .kind = AR_CHECKPOINT_CLEAR,
					     .workspace_id = ar_str_from(m->workspace),
					     .folder = ar_str_from(m->path),
					     .session_id = ar_str_from(m->session),
					     .deadline = clock->mono(clock) + TIME_MAX,
					     .on_done = on_cleared };
	m->owner->port->v->start(m->owner->port, &m->run);
}

static void look_for_folder(struct removal *m)
{
	m->owner->folders->pending++;
	AR_ASSERT(uv_queue_work(m->owner->folders->loop, &m->work, work, on_found) == 0);
}

void ar_host_removal_begin(struct ar_host_removal *r, struct ar_str session_key)
{
	struct removal *m;

	if (!r->port || session_key.len != AR_SESSION_KEY_LEN)
		return;
	m = ar_new0(sizeof(*m));
	m->owner = r;
	snprintf(m->session, sizeof m->session, "%.*s", AR_STR_ARG(session_key));
	look_for_folder(m);
}
