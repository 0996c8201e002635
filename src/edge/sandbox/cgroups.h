/* Control groups of launches: one folder per launch in each hierarchy that counts, below our own group, so
 * that what bounds the daemon bounds them too. Version 2, version 1, and both side by side. A host without
 * them is no error: `kills`, `counts`, `weighs` and `paces` say what is there. Loop thread; files of the
 * kernel only. */
#ifndef AR_SANDBOX_CGROUPS_H
#define AR_SANDBOX_CGROUPS_H

#include "arena.h"
#include "plan.h"
#include "status.h"

#define AR_CGROUPS_MAX 4
#define AR_CGROUPS_PENDING 64

struct ar_cgroup_hierarchy {
	struct ar_str mount, folder; /* folder: <mount><our group>/agentruntime */
	bool is_v2;
	bool kills, counts, weighs, paces; /* cgroup.kill, pids, memory, cpu */
};

struct ar_cgroups {
	struct ar_cgroup_hierarchy at[AR_CGROUPS_MAX];
	size_t count;
	bool kills, counts, weighs, paces; /* some place does */
	char *pending[AR_CGROUPS_PENDING]; /* folders that could not be removed yet */
	size_t pending_count;
};

AR_BEGIN_DECLS

/* Where groups would be, by the texts of /proc/self/mountinfo and /proc/self/cgroup. Pure. */
void ar_cgroups_parse(struct ar_str mounts, struct ar_str groups, struct ar_arena *a, struct ar_cgroups *ret);

/* The same for this process, and what of it really works: folders are made for it. Sweeps what earlier lives
 * left. One that limits CPU time alone is left out unless that is wanted, for joining it takes time. */
void ar_cgroups_open(struct ar_cgroups *ret, bool wants_cpu, struct ar_arena *a);

/* Makes the folders of one launch with its limits and adds them to `ret`. AR_E_IO: nothing is left. */
AR_MUST_USE enum ar_status ar_cgroups_make(struct ar_cgroups *c, const struct ar_plan_limits *limits,
					   struct ar_arena *a, struct ar_plan_paths *ret,
					   struct ar_error *err);

/* Removes folders that make() gave, in this life or an earlier one. One that is still in use is tried again
 * with later ones. */
void ar_cgroups_remove(struct ar_cgroups *c, const struct ar_plan_paths *folders);

void ar_cgroups_close(struct ar_cgroups *c);

AR_END_DECLS

#endif
