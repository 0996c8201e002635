/* Giving up privilege, in the only order that works: the bounding set while we may still change it, groups
 * before the user, the rest of the capabilities last. The reaper keeps the same identity as the command; that
 * it is not dumpable keeps the command out of it. */
#include "identity.h"

#include "message.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* EINVAL: beyond the last one that this kernel has. */
static int drop_bounding(struct ar_init *in)
{
	unsigned long cap = 0;

	while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
		cap++;
	if (cap == 0 || errno != EINVAL)
		return ar_init_fail(in, "bounding set", NULL);
	return 0;
}

static int set_ids(struct ar_init *in)
{
	const struct ar_plan *p = &in->plan;

	if (setgroups(0, NULL) < 0)
		return ar_init_fail(in, "setgroups", NULL);
	if (setresgid(p->gid, p->gid, p->gid) < 0)
		return ar_init_fail(in, "setresgid", NULL);
	if (setresuid(p->uid, p->uid, p->uid) < 0)
		return ar_init_fail(in, "setresuid", NULL);
	return 0;
}

static int drop_capabilities(struct ar_init *in)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return ar_init_fail(in, "ambient capabilities", NULL);
	if (syscall(SYS_capset, &head, none) < 0)
		return ar_init_fail(in, "capset", NULL);
	return 0;
}

int ar_identity_set(struct ar_init *in)
{
	bool may_drop = in->plan.backend == AR_PLAN_ROOT || in->namespaces != 0;

	if (may_drop && drop_bounding(in) < 0)
		return -1;
	if (in->plan.backend == AR_PLAN_ROOT && set_ids(in) < 0)
		return -1;
	if (drop_capabilities(in) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return ar_init_fail(in, "no_new_privs", NULL);
	/* A change of ids forgets the signal of the parent's death: not before this line. */
	if (in->namespaces != 0 && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return ar_init_fail(in, "parent's death", NULL);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return ar_init_fail(in, "dumpable", NULL);
	return 0;
}
