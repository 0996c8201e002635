/* See files_program.h. Request and answer are files in memory, so that neither side waits
 * for the other. One thread. */
#include "files_program.h"

#include "daemon.h"
#include "io/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_MAX ((size_t)64 << 20)

/* The program beside agentd; absent: there is none. */
static struct ar_str find_program(struct ar_ctl *c)
{
	struct ar_str path = ar_str_from(ar_daemon_program(c));

	while (path.len > 0 && path.p[path.len - 1] != '/')
		path.len--;
	if (path.len == 0)
		return AR_STR_NONE;
	path = ar_arena_fmt(&c->arena, "%.*sagent-files", AR_STR_ARG(path));
	return access(path.p, X_OK) == 0 ? path : AR_STR_NONE;
}

static bool write_input(int fd, struct ar_str bytes)
{
	return ar_fd_write_all(fd, bytes) && lseek(fd, 0, SEEK_SET) == 0;
}

static int run(const char *program, int in, int out, int *ret_status)
{
	char *argv[] = { "agent-files", NULL }, *envp[] = { NULL };
	posix_spawn_file_actions_t files;
	pid_t pid;
	int code;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	code = posix_spawn(&pid, program, &files, NULL, argv, envp);
	posix_spawn_file_actions_destroy(&files);
	while (code == 0 && waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
		continue;
	return code;
}

static bool read_output(struct ar_ctl *c, int fd, struct ar_str *ret)
{
	off_t size = lseek(fd, 0, SEEK_END);

	if (size <= 0 || (size_t)size > ANSWER_MAX)
		return false;
	char *bytes = ar_arena_alloc(&c->arena, (size_t)size + 1);

	*ret = (struct ar_str){ bytes, (size_t)size };
	return pread(fd, bytes, (size_t)size, 0) == size;
}

enum ar_exit ar_files_program(struct ar_ctl *c, struct ar_str request, struct ar_str *ret)
{
	struct ar_str program = find_program(c);
	int in = memfd_create("request", MFD_CLOEXEC), out = memfd_create("answer", MFD_CLOEXEC), status = 0;
	bool is_done;

	if (ar_str_absent(program)) {
		is_done = false;
		errno = ENOENT;
	} else {
		is_done = in >= 0 && out >= 0 && write_input(in, request) &&
			  run(program.p, in, out, &status) == 0 && read_output(c, out, ret);
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	if (is_done)
		return AR_EXIT_OK;
	return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("install it next to agentctl and agentd"),
			       "agent-files could not be run: %s", strerror(errno));
}
