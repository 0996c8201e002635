/* What agent-init knows of its one process, handed from step to step. The steps run in the order of the table
 * in main.c, in the process that becomes the reaper; each returns 0, or -1 with errno and (ar_init_fail) what
 * it was about. */
#ifndef AR_INIT_H
#define AR_INIT_H

#include "init_wire.h"
#include "plan.h"

#include <stdbool.h>
#include <sys/types.h>

#define AR_INIT_HOME "/home/agent" /* inside, private, in memory */
#define AR_INIT_PROXY_PORT 3128

enum ar_guarded {
	AR_GUARDED_NOT, /* does not exist */
	AR_GUARDED_ITSELF,
	AR_GUARDED_TARGET, /* a link: what it leads to is read-only; the link itself can be replaced */
};

struct ar_init {
	struct ar_plan plan;
	uint64_t namespaces; /* CLONE_NEW* that are made */
	int fds[AR_INIT_FD_COUNT]; /* to be handed out; -1: none */
	int stdio[3]; /* the command's ends */
	int root; /* of the view while it is built: its mount; -1: none */
	int parent; /* folder of the view where something was hung in last; -1: none */
	const char *parent_path; /* begins with its path, parent_len bytes */
	size_t parent_len;
	/* Pipe by which the process outside says that we are in our cgroups; -1: none is needed */
	int joined[2];
	int idmap; /* user namespace that maps the workspace's owner; -1: none is needed */
	int rules; /* of Landlock, until they are in force; -1: none */
	uint32_t session; /* of the kernel's audit; UINT32_MAX: none */
	uid_t starter_uid;
	gid_t starter_gid;
	pid_t outside; /* our pid, as the parent sees it */
	int landlock_abi;
	bool is_landlocked;
	bool is_missing[AR_PLAN_PATHS_MAX]; /* read roots that are not there */
	enum ar_guarded guarded[AR_PLAN_PATHS_MAX]; /* protected paths */
	char about[256]; /* what the failing step was about */
};

static inline bool ar_init_is_bounded(const struct ar_init *in)
{
	return in->plan.mode != AR_PLAN_DANGER;
}

#endif
