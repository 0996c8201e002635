/* One clone3 makes every namespace at once and starts inside the v2 cgroup: moving a running process costs
 * milliseconds, being born there nothing. Danger as root keeps a pid namespace, for then the death of its
 * first process is the death of all; danger as anybody has none, the reaper collects. */
#include "namespaces.h"

#include "cgroup.h"
#include "file.h"
#include "message.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

void ar_namespaces_choose(struct ar_init *in)
{
	const struct ar_plan *p = &in->plan;

	in->namespaces = 0;
	if (p->backend == AR_PLAN_USERNS && p->mode == AR_PLAN_DANGER)
		return;
	in->namespaces = CLONE_NEWNS | CLONE_NEWPID;
	if (p->mode == AR_PLAN_DANGER)
		return;
	in->namespaces |= CLONE_NEWIPC | CLONE_NEWUTS;
	if (p->network != AR_PLAN_NET_HOST)
		in->namespaces |= CLONE_NEWNET;
	if (p->backend == AR_PLAN_USERNS)
		in->namespaces |= CLONE_NEWUSER;
}

pid_t ar_namespaces_enter(struct ar_init *in)
{
	struct clone_args args = { .flags = in->namespaces, .exit_signal = SIGCHLD };
	int cgroup;
	pid_t pid;

	if (in->namespaces == 0)
		return 0;
	cgroup = ar_cgroup_open_unified(in);
	if (cgroup == -1)
		return -1;
	if (cgroup >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)cgroup;
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return ar_init_fail(in, "clone3", NULL);
	if (cgroup >= 0)
		close(cgroup);
	return pid;
}

/* The starter's own id must be somebody's: under its other name it would otherwise still be root on the
 * disk. */
int ar_namespaces_map(struct ar_init *in)
{
	char uids[64], gids[64];

	if (!(in->namespaces & CLONE_NEWUSER))
		return 0;
	snprintf(uids, sizeof(uids), "%u %u 1", in->plan.uid, in->starter_uid);
	snprintf(gids, sizeof(gids), "%u %u 1", in->plan.gid, in->starter_gid);
	if (ar_file_write(AT_FDCWD, "/proc/self/setgroups", "deny") < 0)
		return ar_init_fail(in, "setgroups", NULL);
	if (ar_file_write(AT_FDCWD, "/proc/self/uid_map", uids) < 0)
		return ar_init_fail(in, "uid_map", uids);
	if (ar_file_write(AT_FDCWD, "/proc/self/gid_map", gids) < 0)
		return ar_init_fail(in, "gid_map", gids);
	return 0;
}

int ar_namespaces_check(struct ar_init *in)
{
	char name[16];
	ssize_t len = readlink("/proc/self", name, sizeof(name) - 1);

	if (len < 0)
		return ar_init_fail(in, "/proc/self", NULL);
	name[len] = '\0';
	in->outside = (pid_t)strtol(name, NULL, 10);
	return 0;
}
