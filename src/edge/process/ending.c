/* How a process ended, as far as it is known: by its journal, or by the absence of its writer.
 * Nothing is invented: no exit code without somebody who saw it, "not started" only where the journal
 * proves that it was never let go. Loop thread only. */
#include "proc.h"
#include "tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOST_USEC (2 * 1000000) /* that the kernel gets to end what lost its supervisor */
#define LOST_STEP_USEC 20000
#define FORCE_USEC (2 * 1000000)
#define MESSAGE_MAX 1600

/* ---- it could not be started ---- */

static const struct {
	const char *step;
	int64_t error; /* 0: any */
	const char *says, *remedy;
} reasons[] = {
	{ "exec", ENOENT, "the command was not found inside its sandbox",
	  "check its name; a program outside the usual folders needs its folder in sandbox.read_roots" },
	{ "exec", EACCES, "the command is not a program that may be run there",
	  "check that the file is executable, and that its folder is in sandbox.read_roots" },
	{ "exec", 0, "the command could not be run", "check that it is a program for this machine" },
	{ "barrier", 0, "it was not started in time, nothing of it ran", "run it again" },
	{ "cwd", 0, "its working folder cannot be entered", "name a folder inside the workspace" },
	{ "", 0, "its sandbox could not be set up",
	  "`agentctl sandbox check` says what this host can enforce" },
};

static void write_reason(const struct ar_journal_state *t, char *out, size_t room)
{
	char detail[AR_JOURNAL_STATE_TEXT_MAX + 64] = "";
	size_t i = 0;

	while (reasons[i].step[0] && !(ar_str_is(ar_str_from(t->step), reasons[i].step) &&
				       (reasons[i].error == 0 || reasons[i].error == t->error)))
		i++;
	if (t->message[0])
		snprintf(detail, sizeof(detail), ": %s%s%s", t->message, t->error > 0 ? ", " : "",
			 t->error > 0 ? strerror((int)t->error) : "");
	snprintf(out, room, "%s (step %s)%s; %s", reasons[i].says, t->step[0] ? t->step : "unknown", detail,
		 reasons[i].remedy);
}

/* ---- nobody is left who could tell ---- */

static void kill_rest(struct ar_proc *p)
{
	for (size_t i = 0; i < p->cgroup_count; i++)
		ar_tree_kill_cgroup(p->cgroups[i]);
	ar_tree_kill(p->first);
	ar_tree_kill(p->command);
}

/* Its boundary dies with its supervisor, but not in the same moment, and only then can the kernel
 * say how the command ended. */
static bool is_gone_for_good(struct ar_proc *p)
{
	int status;

	kill_rest(p);
	if (p->lost_since == 0)
		p->lost_since = ar_proc_now();
	if (p->first < 0 || ar_proc_now() - p->lost_since > LOST_USEC)
		return true;
	return ar_tree_has_ended(p->first) && (p->command < 0 || ar_tree_exit_of(p->command, &status));
}

static void add_exit(struct ar_proc *p, struct ar_process_end *e, char *signal_text, size_t room)
{
	int status;

	if (!ar_tree_exit_of(p->command, &status))
		return;
	e->exit_is_known = true;
	if (!WIFSIGNALED(status)) {
		e->exit_code = WEXITSTATUS(status);
		return;
	}
	e->exit_code = 128 + WTERMSIG(status);
	if (sigabbrev_np(WTERMSIG(status))) {
		snprintf(signal_text, room, "SIG%s", sigabbrev_np(WTERMSIG(status)));
		e->signal = ar_str_from(signal_text);
	}
}

static void finish_lost(struct ar_proc *p)
{
	const struct ar_journal_state *t = &p->state;
	struct ar_process_end e;
	char signal_text[16];

	ar_journal_state_end(t, &e);
	e.outcome = AR_PROC_SUPERVISOR_LOST;
	e.duration_ms =
		t->released_at && t->at > t->released_at ? (int64_t)((t->at - t->released_at) / 1000) : 0;
	e.message = !p->is_same_boot ? AR_STR("the machine was started again while it ran")
		    : t->is_broken   ? AR_STR("its journal is damaged, what came after that is not known")
				     : AR_STR("its supervisor, agent-shim, was killed");
	if (p->is_same_boot)
		add_exit(p, &e, signal_text, sizeof(signal_text));
	ar_proc_finish(p, &e);
}

/* The shim writes that it lets go before it does: what is not on record did not happen,
 * unless records may be missing. */
static bool never_ran(const struct ar_proc *p)
{
	return !p->state.is_released && !p->state.is_broken && p->is_same_boot;
}

static void finish_unreleased(struct ar_proc *p)
{
	struct ar_process_end e;

	ar_journal_state_end(&p->state, &e);
	e.outcome = AR_PROC_NOT_STARTED;
	e.step = p->state.is_applied ? AR_STR("barrier") : AR_STR("supervisor");
	e.message = AR_STR(
		"its supervisor, agent-shim, ended before it was started, nothing of it ran; run it again");
	ar_proc_finish(p, &e);
}

/* ---- all ways ---- */

static void finish_recorded(struct ar_proc *p)
{
	struct ar_process_end e;
	char message[MESSAGE_MAX];

	ar_journal_state_end(&p->state, &e);
	if (p->state.has_failed) {
		write_reason(&p->state, message, sizeof(message));
		e.message = ar_str_from(message);
	}
	ar_proc_finish(p, &e);
}

static void finish_trouble(struct ar_proc *p)
{
	struct ar_process_end e = { .outcome = p->trouble, .message = ar_str_from(p->why.msg) };

	if (p->step[0])
		e.step = ar_str_from(p->step);
	ar_proc_finish(p, &e);
}

void ar_proc_conclude(struct ar_proc *p)
{
	if (!ar_proc_is_settled(p))
		return;
	if (p->state.has_failed || p->state.has_exited)
		finish_recorded(p);
	else if (p->trouble)
		finish_trouble(p);
	else if (!is_gone_for_good(p)) {
		p->conclude_at = ar_proc_now() + LOST_STEP_USEC;
		ar_proc_arm(p);
	} else if (never_ran(p))
		finish_unreleased(p);
	else
		finish_lost(p);
}

static void kill_shim(struct ar_proc *p)
{
	int pid = ar_shim_control_peer(&p->control), fd;

	if (p->child) {
		ar_tree_kill(p->child->fd);
		return;
	}
	fd = pid > 1 ? pidfd_open(pid, 0) : -1;
	/* Held before it is asked again: still the one at the other end. */
	if (fd >= 0 && ar_folder_is_locked(p->dir))
		ar_tree_kill(fd);
	if (fd >= 0)
		close(fd);
}

void ar_proc_force(struct ar_proc *p)
{
	if (p->forced++ > 0) {
		ar_fail(&p->why, AR_E_IO,
			"it does not end and cannot be killed; look for the agent-shim of directory '%s'",
			p->folder);
		p->trouble = AR_PROC_UNAVAILABLE;
		ar_proc_conclude(p);
		return;
	}
	kill_rest(p);
	kill_shim(p);
	p->force_at = ar_proc_now() + FORCE_USEC;
	ar_proc_arm(p);
}
