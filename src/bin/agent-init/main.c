/* agent-init: puts one process behind the boundary that a plan describes, waits for the word, runs it and
 * reaps after it. The plan is AR_INIT_PLAN_FD, the connection to the parent AR_INIT_FD. Two processes:
 * this one stays outside the namespaces and waits; the first one inside does all the rest, step by step, and
 * says which step failed. A prewarmed sandbox waits between those that do not depend on the command and the
 * others (prewarm.h). One thread. */
#include "cgroup.h"
#include "filter.h"
#include "identity.h"
#include "init.h"
#include "landlock.h"
#include "rlimits.h"
#include "namespaces.h"
#include "network.h"
#include "orphans.h"
#include "probe/probe.h"
#include "run.h"
#include "message.h"
#include "signals.h"
#include "prewarm.h"
#include "streams.h"
#include "view/guard.h"
#include "view/idmap.h"
#include "view/view.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/* Its own filter refuses the ptrace that the search for leaks needs, and it would look like a refusal of the
 * command. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

struct step {
	const char *name;
	int (*run)(struct ar_init *in);
};

static int read_plan(struct ar_init *in)
{
	return ar_prewarm_read_plan(in, AR_INIT_PLAN_FD);
}

/* Root under another name is still root on the disk. */
static int check_starter(struct ar_init *in)
{
	in->starter_uid = geteuid();
	in->starter_gid = getegid();
	if ((in->plan.backend == AR_PLAN_ROOT) == (in->starter_uid == 0))
		return 0;
	errno = EPERM;
	return ar_init_fail(in,
			    in->starter_uid ? "the root backend needs root" : "root needs the root backend",
			    NULL);
}

static int enter_cwd(struct ar_init *in)
{
	return chdir(in->plan.cwd) < 0 ? ar_init_fail(in, "cwd", in->plan.cwd) : 0;
}

static int adopt_orphans(struct ar_init *in)
{
	if (in->namespaces == 0 && ar_orphans_adopt() < 0)
		return ar_init_fail(in, "subreaper", NULL);
	return 0;
}

static bool run_steps(struct ar_init *in, const struct step *steps, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (steps[i].run(in) < 0) {
			ar_message_send_failed(in, steps[i].name);
			return false;
		}
	}
	return true;
}

static bool prepare_start(struct ar_init *in)
{
	static const struct step steps[] = {
		{ "plan", read_plan },
		{ "starter", check_starter },
		{ "descriptors", ar_streams_clear },
		{ "idmap", ar_idmap_open },
	};

	return run_steps(in, steps, sizeof(steps) / sizeof(steps[0]));
}

/* What needs privilege or the host's view, and is the same for every command of this plan. */
static bool set_up(struct ar_init *in)
{
	static const struct step steps[] = {
		{ "user_namespace", ar_namespaces_map },
		{ "namespaces", ar_namespaces_check },
		{ "orphans", adopt_orphans },
		{ "limits", ar_rlimits_set },
		{ "session", ar_rlimits_mark },
		{ "view", ar_view_build },
		{ "network", ar_network_set },
		{ "cgroup", ar_cgroup_join },
		{ "landlock", ar_landlock_prepare },
	};

	return run_steps(in, steps, sizeof(steps) / sizeof(steps[0]));
}

/* The command's part: protected paths as they are now, then what takes privilege away. */
static bool close_up(struct ar_init *in)
{
	static const struct step steps[] = {
		{ "protect", ar_guard_paths },	 { "view", ar_view_close },
		{ "identity", ar_identity_set }, { "cwd", enter_cwd },
		{ "streams", ar_streams_open },	 { "landlock", ar_landlock_apply },
		{ "filter", ar_filter_install },
	};

	return run_steps(in, steps, sizeof(steps) / sizeof(steps[0]));
}

/* Outside: once the other is in its cgroups nothing to do but to be there, so that the end of one is the end
 * of the other. */
static int wait_outside(struct ar_init *in, pid_t inside)
{
	int status;

	ar_cgroup_add(in, inside);
	close_range(0, ~0u, 0);
	/* Any child: there is also the one that idmap.c left. */
	for (pid_t ended = 0; ended != inside;) {
		ended = waitpid(-1, &status, 0);
		if (ended < 0 && errno != EINTR)
			return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void reset_process(struct ar_init *in)
{
	memset(in, 0, sizeof(*in));
	for (size_t i = 0; i < AR_INIT_FD_COUNT; i++)
		in->fds[i] = -1;
	in->root = -1;
	in->parent = -1;
	in->idmap = -1;
	in->rules = -1;
	in->joined[0] = in->joined[1] = -1;
	ar_signals_reset();
	umask(022);
}

int main(int argc, char **argv)
{
	struct ar_init in;
	pid_t inside;

	if (argc > 1 && strcmp(argv[1], "--probe") == 0)
		return ar_probe_main(argc, argv);
	if (argc > 1) {
		fputs("agent-init is started by agent-shim, with a plan; agent-init --probe says what works "
		      "on this host\n",
		      stderr);
		return 2;
	}
	reset_process(&in);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (!prepare_start(&in))
		return 1;
	ar_namespaces_choose(&in);
	inside = ar_cgroup_prepare(&in) < 0 ? -1 : ar_namespaces_enter(&in);
	if (inside > 0)
		return wait_outside(&in, inside);
	if (inside < 0) {
		ar_message_send_failed(&in, "namespaces");
		return 1;
	}
	if (!set_up(&in) || !ar_prewarm_wait(&in) || !close_up(&in))
		return 1;
	return ar_run(&in);
}
