/* sandbox-launch PROFILE WORKSPACE [word=value...] -- COMMAND...: one command under a profile, settled
 * and started as the daemon does it, but without the daemon: ar_sandbox_plan says what, agent-init does
 * it. Shows what watch.h says; U reason | remedy when the profile cannot be had here.
 *   helpers=DIR     agent-init is there (default: beside this program)
 *   state=DIR       the runtime's own folder          home=DIR      toolchains are looked for there
 *   read=DIRS write=DIRS                              env=K=V       one more variable, repeated
 *   without=WORDS   mechanisms the sandbox is told to take for absent
 *   forbid=WORD     a mechanism the kernel is made to refuse, repeated (forbid.h)
 *   leak=PATH       opened and left open for the command, as descriptors 9 (the root), 20 and 900 (that path)
 *   uid=N           what a command of root becomes     protected=NAMES   cwd=DIR
 *   tty=1           on a terminal of its own
 *   proxy=1         allowlisted_network is available; nothing accepts its connections
 *   prewarmed=1     by a boundary that was made before the command was known (launch/init_wire.h)
 *   limits=P,M,F,O,T  processes, MiB of memory, MiB of a file, descriptors, MiB of /tmp
 * Exit status: the command's, or 125 when it never ran. */
#include "boundary.h"
#include "forbid.h"
#include "init_wire.h"
#include "mem.h"
#include "packet.h"
#include "watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEVER_RAN 125
#define USAGE 2
#define ENV_ROOM 64

struct wish {
	struct ar_sandbox_options options;
	struct ar_process_spec spec;
	struct ar_str env[ENV_ROOM];
	const char *leak;
	bool is_prewarmed;
};

static void set_limits(struct wish *w, const char *value)
{
	uint64_t n[5] = { 0 };
	char *at = (char *)value;

	for (int i = 0; i < 5 && *at; i++) {
		n[i] = strtoull(at, &at, 10);
		at += *at == ',';
	}
	w->options.limits = (struct ar_plan_limits){ .processes = n[0],
						     .memory_bytes = n[1] << 20,
						     .file_bytes = n[2] << 20,
						     .open_files = n[3],
						     .tmp_bytes = n[4] << 20 };
}

static bool set_text(struct wish *w, struct ar_str name, const char *value)
{
	const struct {
		const char *name;
		struct ar_str *at;
	} texts[] = {
		{ "helpers", &w->options.helpers },
		{ "state", &w->options.state_dir },
		{ "home", &w->options.home },
		{ "read", &w->options.read_roots },
		{ "write", &w->options.write_roots },
		{ "without", &w->options.without },
		{ "protected", &w->options.protected_paths },
		{ "cwd", &w->spec.cwd },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (ar_str_is(name, texts[i].name)) {
			*texts[i].at = ar_str_from(value);
			return true;
		}
	}
	return false;
}

static bool set_wish(struct wish *w, const char *word)
{
	const char *equals = strchr(word, '=');

	if (!equals)
		return false;
	struct ar_str name = { word, (size_t)(equals - word) };
	const char *value = equals + 1;
	if (set_text(w, name, value))
		return true;
	if (ar_str_is(name, "forbid"))
		return forbid(value);
	if (ar_str_is(name, "limits")) {
		set_limits(w, value);
		return true;
	}
	if (ar_str_is(name, "leak")) {
		w->leak = value;
		return true;
	}
	if (ar_str_is(name, "tty") || ar_str_is(name, "proxy")) {
		*(name.len == 3 ? &w->spec.tty : &w->options.has_proxy) = true;
		return true;
	}
	if (ar_str_is(name, "prewarmed")) {
		w->is_prewarmed = true;
		return true;
	}
	if (ar_str_is(name, "uid")) {
		w->options.uid_first = w->options.uid_last = (uint32_t)strtoul(value, NULL, 10);
		return true;
	}
	if (!ar_str_is(name, "env") || w->spec.env_count == ENV_ROOM)
		return false;
	w->env[w->spec.env_count++] = ar_str_from(value);
	return true;
}

static bool read_words(int argc, char **argv, struct ar_str *args, struct wish *w)
{
	int i = 3;

	if (argc < 5)
		return false;
	w->spec.profile = ar_sandbox_find(ar_str_from(argv[1]));
	w->spec.workspace = ar_str_from(argv[2]);
	for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (!set_wish(w, argv[i])) {
			fprintf(stderr, "sandbox-launch: '%s' means nothing, or cannot be done\n", argv[i]);
			return false;
		}
	}
	for (i++; i < argc; i++)
		args[w->spec.argc++] = ar_str_from(argv[i]);
	return w->spec.profile && w->spec.argc > 0;
}

/* What a careless parent would leave open. */
static void leave_open(const char *path)
{
	int root = open("/", O_RDONLY | O_DIRECTORY), file = open(path, O_RDWR | O_CREAT, 0666);

	dup2(root, 9);
	dup2(file, 20);
	dup2(root, 900);
}

static int memory_file(const struct ar_plan *plan)
{
	size_t size = ar_plan_write(plan, NULL, 0);
	int fd = memfd_create("plan", MFD_CLOEXEC);

	if (size == 0 || fd < 0 || ftruncate(fd, (off_t)size) != 0)
		return -1;
	char *text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	bool is_good = text != MAP_FAILED && ar_plan_write(plan, text, size) == size;
	munmap(text, size);
	return is_good ? fd : -1;
}

static _Noreturn void become_init(const char *path, int socket, int plan)
{
	/* Out of the way first: they may stand where the other has to go. */
	int far_socket = fcntl(socket, F_DUPFD, 100), far_plan = fcntl(plan, F_DUPFD, 100);

	dup2(far_socket, AR_INIT_FD);
	dup2(far_plan, AR_INIT_PLAN_FD);
	close(far_socket);
	close(far_plan);
	execl(path, "agent-init", (char *)NULL);
	_exit(NEVER_RAN);
}

static void send_plan(int socket, int text)
{
	char kind = AR_INIT_PLAN;
	struct ar_packet p = { .parts = { { &kind, 1 } }, .fds = &text, .fd_count = 1 };

	if (ar_packet_send(socket, &p, 0) != 1)
		perror("sandbox-launch: PLAN");
}

/* `first` is what it is started with; another plan is sent after it. */
static int run_plan(const char *init, const struct ar_plan *first, const struct ar_plan *plan)
{
	int ends[2], text = memory_file(plan), first_text = memory_file(first), status = 0;

	if (text < 0 || first_text < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		return NEVER_RAN;
	pid_t child = fork();
	if (child == 0)
		become_init(init, ends[1], first_text);
	close(ends[1]);
	if (first != plan)
		send_plan(ends[0], text);
	int code = watch_init(ends[0]);
	close(ends[0]);
	waitpid(child, &status, 0);
	return code;
}

static int launch(struct ar_sandbox *s, const struct wish *w)
{
	const struct ar_sandbox_standing *standing = &ar_sandbox_host_of(s)->profiles[w->spec.profile];
	struct ar_arena arena = { 0 };
	struct ar_launch launch = { 0 };
	struct ar_error err = { 0 };
	struct ar_plan *first;
	int code = NEVER_RAN;

	if (!standing->is_available) {
		printf("U %.*s | %.*s\n", AR_STR_ARG(standing->reason), AR_STR_ARG(standing->remedy));
		return NEVER_RAN;
	}
	if (ar_sandbox_plan(s, &w->spec, &arena, &launch, &err)) {
		printf("U %s |\n", err.msg);
		ar_arena_fini(&arena);
		return NEVER_RAN;
	}
	printf("G %.*s\n", AR_STR_ARG(launch.guarantees));
	if (w->leak)
		leave_open(w->leak);
	first = launch.plan;
	if (w->is_prewarmed) {
		first = ar_arena_alloc(&arena, sizeof(*first));
		ar_plan_strip(launch.plan, first);
	}
	code = run_plan(ar_sandbox_helper(s, "agent-init", &arena).p, first, launch.plan);
	ar_sandbox_release(s, &launch);
	ar_arena_fini(&arena);
	return code;
}

int main(int argc, char **argv)
{
	struct ar_str args[AR_PLAN_ARGS_MAX];
	struct wish w = { .options = { .allows_danger = true },
			  .spec = { .session_id = AR_STR("ses_escape"), .call_id = AR_STR("call_escape") } };
	struct ar_sandbox *s = NULL;
	struct ar_error err = { 0 };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > AR_PLAN_ARGS_MAX || !read_words(argc, argv, args, &w)) {
		fprintf(stderr, "usage: sandbox-launch PROFILE WORKSPACE [word=value...] -- COMMAND...\n");
		return USAGE;
	}
	w.spec.argv = args;
	w.spec.env = w.env;
	if (ar_sandbox_open(&w.options, &s, &err)) {
		fprintf(stderr, "sandbox-launch: %s\n", err.msg);
		return NEVER_RAN;
	}
	int code = launch(s, &w);
	ar_sandbox_close(s);
	return code;
}
