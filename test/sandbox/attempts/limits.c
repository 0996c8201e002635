/* Attempts to take more than one's share: processes, memory, the size of a file, descriptors, temporary
 * space, core dumps. Each stops far below what would hurt the machine when no limit answers. The test's
 * limits: 64 processes, 128 MiB, files of 4 MiB, 256 descriptors, 16 MiB in /tmp. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

#define MANY 400
#define MEBI ((size_t)1 << 20)
#define MEMORY (300 * MEBI)

static int fork_many(const struct attempt *a)
{
	pid_t children[MANY];
	int n = 0, error = 0;

	(void)a;
	for (; n < MANY; n++) {
		children[n] = fork();
		if (children[n] == 0) {
			pause();
			_exit(0);
		}
		if (children[n] < 0) {
			error = errno;
			break;
		}
	}
	for (int i = 0; i < n; i++)
		kill(children[i], SIGKILL);
	for (int i = 0; i < n; i++)
		waitpid(children[i], NULL, 0);
	return error ? fail_with(error) : 0;
}

static int fill_memory(const struct attempt *a)
{
	(void)a;
	char *at = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < MEMORY; i += 4096)
		at[i] = 1;
	return 0;
}

/* Writes `size` bytes to a new file; SIGXFSZ ends the attempt unless it is ignored. */
static int fill_file(const char *path, size_t size)
{
	static char block[MEBI];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), r = 0;

	if (fd < 0)
		return -1;
	for (size_t i = 0; i < size && r == 0; i += sizeof(block))
		r = write(fd, block, sizeof(block)) < (ssize_t)sizeof(block) ? -1 : 0;
	int error = errno ? errno : ENOSPC;
	close(fd);
	return r == 0 ? 0 : fail_with(error);
}

static int large_file(const struct attempt *a)
{
	return fill_file(expand(a->path), 12 * MEBI);
}

static int fill_folder(const struct attempt *a)
{
	char path[64];
	int r = 0, error = 0;

	for (int i = 0; i < 20 && r == 0; i++) {
		snprintf(path, sizeof(path), "%s/fill-%d", a->path, i);
		r = fill_file(path, 3 * MEBI);
		error = errno;
	}
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "%s/fill-%d", a->path, i);
		unlink(path);
	}
	return r == 0 ? 0 : fail_with(error);
}

static int open_many(const struct attempt *a)
{
	(void)a;
	for (int i = 0; i < 4096; i++) {
		if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
			return -1;
	}
	return 0;
}

static int dump_core(const struct attempt *a)
{
	struct rlimit limit;

	(void)a;
	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return -1;
	return limit.rlim_cur == 0 ? fail_with(EPERM) : 0;
}

#define BIG "EFBIG SIGXFSZ ENOSPC"

static const struct attempt rows[] = {
	{ "limit_file", large_file, "/tmp/large-of-escape", BIG, BIG, BIG },
	{ "limit_file_workspace", large_file, "$WS/large", "EROFS EACCES", BIG, BIG },
	{ "limit_tmp", fill_folder, "/tmp", "ENOSPC", "ENOSPC", "-" },
	{ "limit_descriptors", open_many, NULL, "EMFILE", "EMFILE", "EMFILE" },
	{ "limit_core", dump_core, NULL, "EPERM", "EPERM", "EPERM" },
	{ "limit_memory", fill_memory, NULL, "SIGKILL ENOMEM", "SIGKILL ENOMEM", "SIGKILL ENOMEM" },
	{ "limit_processes", fork_many, NULL, "EAGAIN", "EAGAIN", "EAGAIN" },
};

const struct attempt_list limits_attempts = ATTEMPT_LIST(rows);
