/* A mount takes its map of ids from a user namespace. One is made by a child that does nothing else, mapped
 * from outside, and kept by descriptor. The child shares our memory, since a copy would only be thrown away,
 * and nobody waits for its end: it is waited for with us. */
#include "view/idmap.h"

#include "file.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static int map_ids(struct ar_init *in, pid_t child)
{
	const struct ar_plan *p = &in->plan;
	char path[64], map[64];

	snprintf(path, sizeof(path), "/proc/%d/uid_map", child);
	snprintf(map, sizeof(map), "%u %u 1", p->workspace_uid, p->uid);
	if (ar_file_write(AT_FDCWD, path, map) < 0)
		return ar_init_fail(in, "uid_map", map);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", child);
	snprintf(map, sizeof(map), "%u %u 1", p->workspace_gid, p->gid);
	if (ar_file_write(AT_FDCWD, path, map) < 0)
		return ar_init_fail(in, "gid_map", map);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", child);
	in->idmap = open(path, O_RDONLY | O_CLOEXEC);
	return in->idmap < 0 ? ar_init_fail(in, "user namespace", path) : 0;
}

/* Files of root are shown as one's own only where nothing can be written: no bit on them can change. */
static bool is_wanted(const struct ar_init *in)
{
	const struct ar_plan *p = &in->plan;
	bool is_roots = p->workspace_uid == 0 || p->workspace_gid == 0;

	return p->workspace && p->backend == AR_PLAN_ROOT && ar_init_is_bounded(in) &&
	       (!is_roots || p->mode == AR_PLAN_READ_ONLY) &&
	       (p->workspace_uid != p->uid || p->workspace_gid != p->gid);
}

static int wait_to_be_killed(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause();
	return 0;
}

int ar_idmap_open(struct ar_init *in)
{
	static char stack[4096] __attribute__((aligned(16)));
	pid_t child;
	int failed, saved;

	if (!is_wanted(in))
		return 0;
	child = clone(wait_to_be_killed, stack + sizeof(stack), CLONE_VM | CLONE_NEWUSER | SIGCHLD, NULL);
	if (child < 0)
		return ar_init_fail(in, "user namespace for the workspace", NULL);
	failed = map_ids(in, child);
	saved = errno;
	kill(child, SIGKILL);
	errno = saved;
	return failed;
}
