/* How a question gets inside: an agent-init without a plan's text, in the namespaces that the question is
 * about. */
#include "namespaces.h"
#include "probe/probe.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void prepare_plan(struct ar_plan *plan)
{
	bool is_root = geteuid() == 0;

	plan->mode = AR_PLAN_WORKSPACE_WRITE;
	plan->network = AR_PLAN_NET_NONE;
	plan->backend = is_root ? AR_PLAN_ROOT : AR_PLAN_USERNS;
	plan->uid = AR_PROBE_UID;
	plan->gid = AR_PROBE_UID;
	plan->workspace_uid = plan->uid;
	plan->workspace_gid = plan->gid;
	plan->limits.tmp_bytes = 1 << 20;
	plan->read_roots.at[plan->read_roots.count++] = "/usr";
	plan->protected_paths.at[plan->protected_paths.count++] = "a/b";
}

void ar_probe_prepare(struct ar_init *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < AR_INIT_FD_COUNT; i++)
		ret->fds[i] = -1;
	ret->root = -1;
	ret->parent = -1;
	ret->idmap = -1;
	ret->starter_uid = geteuid();
	ret->starter_gid = getegid();
	prepare_plan(&ret->plan);
}

bool ar_probe_inside(struct ar_probe *p, struct ar_init *in, uint64_t namespaces,
		     bool (*attack)(struct ar_probe *p, struct ar_init *in))
{
	int status = 0;
	pid_t child;

	in->namespaces = namespaces | (in->plan.backend == AR_PLAN_USERNS ? CLONE_NEWUSER : 0);
	child = ar_namespaces_enter(in);
	if (child < 0)
		return ar_probe_fails(p, "clone3");
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (ar_namespaces_map(in) < 0)
			_exit(ar_probe_fails(p, in->about));
		_exit(attack(p, in) ? 0 : 1);
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) {
		errno = 0;
		return ar_probe_fails(p, "what was inside was killed");
	}
	return WEXITSTATUS(status) == 0;
}
