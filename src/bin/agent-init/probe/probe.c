/* The questions of the self-test in a table, each asked in a process of its own with a deadline, and the
 * answers as one JSON array on stdout. */
#include "probe/probe.h"

#include "message.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS 5 /* for one question */

static const struct question {
	const char *mechanism;
	bool (*run)(struct ar_probe *p);
} questions[] = {
	{ "landlock", ar_probe_landlock },
	{ "mount_view", ar_probe_mount_view },
	{ "pins", ar_probe_pins },
	{ "idmap", ar_probe_idmap },
	{ "pid_namespace", ar_probe_pid_namespace },
	{ "network_namespace", ar_probe_network_namespace },
	{ "ipc_namespace", ar_probe_ipc_namespace },
	{ "user_namespace", ar_probe_user_namespace },
	{ "seccomp", ar_probe_seccomp },
	{ "seccomp_notify", ar_probe_seccomp_notify },
	{ "capabilities", ar_probe_capabilities },
	{ "fd_hygiene", ar_probe_fd_hygiene },
	{ "cgroup_kill", ar_probe_cgroup_kill },
	{ "cgroup_pids", ar_probe_cgroup_pids },
	{ "cgroup_memory", ar_probe_cgroup_memory },
	{ "pty", ar_probe_pty },
};

#define QUESTIONS (sizeof(questions) / sizeof(questions[0]))

struct options {
	bool is_left_out[QUESTIONS];
	const char *path;
};

bool ar_probe_fails(struct ar_probe *p, const char *why)
{
	p->number = errno;
	snprintf(p->detail, sizeof(p->detail), "%s%s%s", why, p->number ? ": " : "",
		 p->number ? strerror(p->number) : "");
	return false;
}

bool ar_probe_refused(struct ar_probe *p, long result, int wanted, const char *attack)
{
	char why[200];

	if (result < 0 && errno == wanted)
		return true;
	if (result >= 0)
		errno = 0;
	snprintf(why, sizeof(why), "%s %s", attack,
		 result >= 0 ? "was possible" : "failed in another way than it must");
	return ar_probe_fails(p, why);
}

/* The kernel kills it when it takes too long; so are its children, by the parent's death. */
static void run_in_child(struct ar_probe *p, const struct question *q)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	alarm(SECONDS);
	errno = 0;
	p->is_working = q->run(p);
	_exit(0);
}

static void run_probe(struct ar_probe *p, const struct question *q)
{
	int status = 0;
	pid_t child;

	p->is_working = false;
	p->number = 0;
	p->detail[0] = '\0';
	child = fork();
	if (child == 0)
		run_in_child(p, q);
	if (child < 0) {
		ar_probe_fails(p, "fork");
		return;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status)) {
		p->is_working = false;
		snprintf(p->detail, sizeof(p->detail), "the attempt ended by %s",
			 ar_signal_name(WTERMSIG(status)));
	}
}

static bool make_file(const char *folder, const char *name)
{
	char path[PATH_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static bool make_folder(const char *folder, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return mkdir(path, 0755) == 0;
}

/* Without a folder the questions that need one say so. */
static void make_scratch(struct ar_probe *p, const char *where)
{
	char real[PATH_MAX];
	int len;

	if (!realpath(where, real))
		return;
	len = snprintf(p->scratch, sizeof(p->scratch), "%s/agent-init-XXXXXX", real);
	if (len < 0 || (size_t)len >= sizeof(p->scratch) || !mkdtemp(p->scratch)) {
		p->scratch[0] = '\0';
		return;
	}
	chmod(p->scratch, 0755);
	if (!make_file(p->scratch, "secret") || !make_folder(p->scratch, "ws") ||
	    !make_folder(p->scratch, "ws/a") || !make_folder(p->scratch, "ws/a/b") ||
	    !make_file(p->scratch, "ws/a/b/guarded"))
		p->scratch[0] = '\0';
}

static void remove_scratch(const struct ar_probe *p)
{
	static const char *const names[] = { "secret", "ws/made", "ws/mapped", "ws/a/made", "ws/a/b/guarded",
					     "ws/a/b", "ws/a",	  "ws",	       "" };
	char path[PATH_MAX + 32];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && p->scratch[0]; i++) {
		snprintf(path, sizeof(path), "%s/%s", p->scratch, names[i]);
		if (unlink(path) < 0)
			rmdir(path);
	}
}

static void print_answer(const struct ar_probe *p, const char *mechanism, bool is_first)
{
	struct ar_message t;

	t.len = 0;
	t.is_cut = false;
	ar_message_add(&t, is_first ? "[{\"mechanism\":" : ",\n{\"mechanism\":");
	ar_message_add_string(&t, mechanism);
	ar_message_add(&t, p->is_working ? ",\"isWorking\":true,\"detail\":"
					 : ",\"isWorking\":false,\"detail\":");
	ar_message_add_string(&t, p->detail);
	ar_message_add(&t, ",\"errno\":");
	ar_message_add_number(&t, (uint64_t)p->number);
	ar_message_add(&t, "}");
	fwrite(t.bytes, 1, t.len, stdout);
	fflush(stdout);
}

static bool mark_absent(struct options *o, const char *name)
{
	for (size_t i = 0; name && i < QUESTIONS; i++) {
		if (strcmp(questions[i].mechanism, name) == 0) {
			o->is_left_out[i] = true;
			return true;
		}
	}
	fprintf(stderr, "agent-init: no mechanism is called '%s'\n", name ? name : "");
	return false;
}

static bool read_options(int argc, char **argv, struct options *ret)
{
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--without") == 0) {
			if (!mark_absent(ret, argv[++i]))
				return false;
		} else if (argv[i][0] == '-' || ret->path) {
			fputs("usage: agent-init --probe [--without MECHANISM]... [FOLDER]\n"
			      "  FOLDER  on whose file system id maps are tried (default /tmp)\n",
			      stderr);
			return false;
		} else {
			ret->path = argv[i];
		}
	}
	return true;
}

static void run_probes(struct ar_probe *p, const struct options *o)
{
	for (size_t i = 0; i < QUESTIONS; i++) {
		if (o->is_left_out[i]) {
			p->is_working = false;
			p->number = 0;
			snprintf(p->detail, sizeof(p->detail), "left out on request");
		} else {
			run_probe(p, &questions[i]);
		}
		print_answer(p, questions[i].mechanism, i == 0);
	}
	fputs("]\n", stdout);
}

int ar_probe_main(int argc, char **argv)
{
	struct options o = { 0 };
	struct ar_probe *p;

	if (!read_options(argc, argv, &o))
		return 2;
	p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return 1;
	ar_signals_reset();
	umask(022);
	make_scratch(p, o.path ? o.path : "/tmp");
	run_probes(p, &o);
	remove_scratch(p);
	return 0;
}
