/* Begins a process: its boundary is settled, its folder made, agent-shim started on it. Nothing of the
 * command runs by that. Loop thread only. */
#include "proc.h"

#include "io/descriptor.h"
#include "mem.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define START_EXTRA_USEC (10 * 1000000) /* beyond the barrier, before a shim that says nothing is killed */
#define INPUT_MAX ((size_t)16 << 20) /* given at the start */

struct launching {
	struct ar_proc *p;
	const struct ar_process_spec *spec;
	struct ar_arena arena;
	struct ar_launch launch;
	struct ar_prewarmed *prewarmed; /* NULL: everything is begun now */
	const char *step;
	struct ar_error err;
};

/* ---- its files ---- */

static enum ar_status write_options(struct launching *l)
{
	const struct ar_processes *all = l->p->all;
	struct ar_buf text = { 0 };
	enum ar_status rc;

	ar_buf_addf(&text, "init %s\n", all->init);
	ar_buf_addf(&text, "timeout_ms %lld\n",
		    (long long)(l->spec->timeout_ms > 0 ? l->spec->timeout_ms : 0));
	ar_buf_addf(&text, "output_bytes %llu\n", (unsigned long long)all->output_bytes);
	ar_buf_addf(&text, "leftovers %s\n", l->spec->keeps_leftovers ? "keep" : "kill");
	ar_buf_addf(&text, "barrier_ms %lld\n", (long long)all->barrier_ms);
	for (size_t i = 0; i < l->launch.plan->cgroups.count; i++)
		ar_buf_addf(&text, "cgroup %s\n", l->launch.plan->cgroups.at[i]);
	rc = ar_folder_write(l->p->dir, AR_FOLDER_SHIM, ar_buf_str(&text), &l->err);
	ar_buf_fini(&text);
	return rc;
}

/* That of the prewarmed sandbox, or a new one. */
static bool have_folder(struct launching *l)
{
	struct ar_proc *p = l->p;
	struct ar_str path;

	if (l->prewarmed) {
		p->dir = l->prewarmed->dir;
		path = l->prewarmed->folder;
	} else {
		p->dir = ar_folder_make(ar_str_from(p->all->folder), &l->arena, &path, &l->err);
	}
	if (p->dir < 0)
		return false;
	p->folder = ar_str_dup(path);
	return true;
}

static enum ar_status write_files(struct launching *l)
{
	struct ar_proc *p = l->p;

	l->step = "folder";
	if (!have_folder(l))
		return AR_E_IO;
	p->ready.handle = ar_handle_text(&p->kept, &p->all->machine, ar_str_from(p->folder));
	if (ar_folder_write(p->dir, AR_FOLDER_HANDLE, p->ready.handle, &l->err) != AR_OK ||
	    write_options(l) != AR_OK)
		return AR_E_IO;
	l->step = "plan";
	return ar_folder_write_plan(p->dir, AR_FOLDER_PLAN, l->launch.plan, &l->err);
}

/* ---- the shim ---- */

/* What it gets of us: fd 0 to 3 and behind them what is given to the command. */
struct passed {
	int fds[AR_SPAWN_FDS_MAX];
	size_t count;
};

/* What the command is given, in memory and sealed; above the numbers that they get. */
static bool add_given(const struct launching *l, struct passed *to)
{
	for (size_t i = 0; i < l->launch.plan->given; i++) {
		int made = ar_spawn_input(l->launch.given[i]);
		int fd = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, AR_SPAWN_FDS_MAX);

		if (made >= 0)
			close(made);
		if (fd < 0)
			return false;
		to->fds[to->count++] = fd;
	}
	return true;
}

static enum ar_status spawn_shim(struct launching *l, const struct passed *passed)
{
	char given[16];
	char *argv[] = { "agent-shim", l->p->folder, l->launch.plan->given ? given : NULL, NULL };

	snprintf(given, sizeof(given), "%u", l->launch.plan->given);
	l->p->child = ar_shim_child_start(l->p->all, argv, passed->fds, passed->count, &l->err);
	if (!l->p->child)
		return AR_E_IO;
	l->p->child->of = l->p;
	return AR_OK;
}

/* The input, and what is given. */
static enum ar_status launch_prewarmed(struct launching *l, const struct passed *passed, bool has_input)
{
	struct ar_prewarmed *s = l->prewarmed;
	int fds[AR_SPAWN_FDS_MAX];
	size_t count = 0;
	bool is_sent;

	if (has_input)
		fds[count++] = passed->fds[0];
	for (size_t i = AR_SHIM_FD + 1; i < passed->count; i++)
		fds[count++] = passed->fds[i];
	is_sent = ar_prewarmed_launch(s, fds, count);
	if (!is_sent)
		return ar_fail(&l->err, AR_E_IO, "its supervisor is gone: %s; run it again", strerror(errno));
	l->p->child = s->child;
	l->p->child->of = l->p;
	return AR_OK;
}

static enum ar_status begin_shim(struct launching *l, int control, int input, int null)
{
	struct passed passed = { { input >= 0 ? input : null, null, null, control }, AR_SHIM_FD + 1 };
	enum ar_status rc;

	if (!add_given(l, &passed))
		rc = ar_fail(&l->err, AR_E_IO, "no descriptors for its supervisor: %s", strerror(errno));
	else
		rc = l->prewarmed ? launch_prewarmed(l, &passed, input >= 0) : spawn_shim(l, &passed);
	for (size_t i = AR_SHIM_FD + 1; i < passed.count; i++)
		close(passed.fds[i]);
	return rc;
}

/* Our end of the connection and its own; a prewarmed sandbox has its own already. */
static bool connect_shim(const struct launching *l, int pair[2])
{
	pair[0] = l->prewarmed ? l->prewarmed->control : -1;
	pair[1] = -1;
	return l->prewarmed || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0;
}

static enum ar_status start_shim(struct launching *l)
{
	struct ar_str input = l->spec->input;
	int pair[2] = { -1, -1 }, null = open("/dev/null", O_RDWR | O_CLOEXEC), in = -1;
	enum ar_status rc = AR_E_IO;

	l->step = "supervisor";
	if (null < 0 || (!ar_str_absent(input) && (in = ar_spawn_input(input)) < 0) || !connect_shim(l, pair))
		ar_fail(&l->err, AR_E_IO, "no descriptors for its supervisor: %s", strerror(errno));
	else
		rc = begin_shim(l, pair[1], in, null);
	ar_fd_close(&in);
	ar_fd_close(&null);
	ar_fd_close(&pair[1]);
	if (rc != AR_OK) {
		if (!l->prewarmed)
			ar_fd_close(&pair[0]);
		return rc;
	}
	if (l->prewarmed)
		l->prewarmed->control = -1;
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	ar_shim_control_open(&l->p->control, pair[0]);
	return AR_OK;
}

/* ---- the whole ---- */

static enum ar_status check(struct launching *l)
{
	const struct ar_process_spec *s = l->spec;

	l->step = "request";
	if (s->argc == 0)
		return ar_fail(&l->err, AR_E_INVALID, "no command was given; name a program to run");
	if (!ar_str_absent(s->input) && (s->tty || s->has_input))
		return ar_fail(&l->err, AR_E_INVALID,
			       "input at the start and a terminal or an open input exclude each other; write "
			       "to the process once it runs");
	if (s->input.len > INPUT_MAX)
		return ar_fail(&l->err, AR_E_LIMIT,
			       "the input is longer than %zu bytes; put it into a file of the workspace",
			       INPUT_MAX);
	return AR_OK;
}

/* What is kept of its output is ours to say. */
static struct ar_str limits_of(struct ar_proc *p, struct ar_str of_boundary)
{
	return ar_arena_fmt(&p->kept, "%.*s%s\"outputBytes\":%llu}", (int)of_boundary.len - 1, of_boundary.p,
			    ar_str_is(of_boundary, "{}") ? "" : ",",
			    (unsigned long long)p->all->output_bytes);
}

static enum ar_status settle(struct launching *l)
{
	struct ar_proc *p = l->p;
	struct ar_launch *launch = &l->launch;

	l->step = "sandbox";
	l->prewarmed = ar_prewarm_take(p->all, l->spec, &l->arena, launch);
	if (!l->prewarmed && ar_sandbox_plan(p->all->sandbox, l->spec, &l->arena, launch, &l->err) != AR_OK)
		return AR_E_UNAVAILABLE;
	/* How the input comes is between us and the shim. */
	launch->plan->stdin_is_given = !ar_str_absent(l->spec->input);
	launch->plan->keeps_stdin = l->spec->has_input && !l->spec->tty;
	ar_proc_copy_cgroups(p, &launch->plan->cgroups);
	p->ready = (struct ar_process_ready){
		.cwd = ar_arena_str(&p->kept, ar_str_from(launch->plan->cwd)),
		.read_roots = ar_arena_str(&p->kept, launch->read_roots),
		.write_roots = ar_arena_str(&p->kept, launch->write_roots),
		.environment = ar_arena_str(&p->kept, launch->environment),
		.limits = limits_of(p, launch->limits),
	};
	p->guarantees = ar_arena_str(&p->kept, launch->guarantees);
	p->profile = l->spec->profile;
	p->session_id = ar_str_dup(l->spec->session_id);
	p->workspace = ar_str_dup(l->spec->workspace);
	return AR_OK;
}

/* Whatever of the prewarmed sandbox did not become the process's own. A connection that is closed
 * here is the end of its shim. */
static void release_prewarmed(struct launching *l)
{
	if (!l->prewarmed)
		return;
	ar_fd_close(&l->prewarmed->control);
	if (l->p->dir != l->prewarmed->dir)
		ar_fd_close(&l->prewarmed->dir);
	ar_prewarmed_free(l->prewarmed);
}

void ar_proc_launch(struct ar_proc *p, const struct ar_process_spec *spec)
{
	struct launching l = { .p = p, .spec = spec };

	p->is_launched = true;
	if (check(&l) != AR_OK || settle(&l) != AR_OK || write_files(&l) != AR_OK || start_shim(&l) != AR_OK)
		ar_proc_fail(p, AR_PROC_NOT_STARTED, l.step, &l.err);
	else
		p->force_at = ar_proc_now() + p->all->barrier_ms * 1000 + START_EXTRA_USEC;
	ar_proc_arm(p);
	release_prewarmed(&l);
	ar_arena_fini(&l.arena);
}
