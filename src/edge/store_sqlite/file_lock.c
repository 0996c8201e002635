/* See the header. The lock file stays behind on purpose: removing it would let a third process lock a new
 * file of the same name while a second still waits on the old one. */
#include "file_lock.h"

#include "buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static enum ar_status fail_held(int fd, const char *path, struct ar_error *err)
{
	char pid[24] = "";
	ssize_t n = pread(fd, pid, sizeof pid - 1, 0);

	if (n < 2)
		return ar_fail(
			err, AR_E_EXISTS,
			"store '%s' is in use by another process; stop it, or use another data directory",
			path);
	return ar_fail(err, AR_E_EXISTS,
		       "store '%s' is in use by process %.*s; stop it, or use another data directory", path,
		       (int)n - 1, pid);
}

static void write_pid(int fd)
{
	char pid[24];
	int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());

	/* The pid is a courtesy: better none than half of one. */
	if (ftruncate(fd, 0) == 0 && pwrite(fd, pid, (size_t)n, 0) != n && ftruncate(fd, 0) != 0)
		return;
}

static enum ar_status lock_file(const char *path, const char *lock_path, int *ret_fd, struct ar_error *err)
{
	int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	enum ar_status st;

	if (fd < 0)
		return ar_fail(err, AR_E_IO, "lock file '%s' cannot be opened: %s", lock_path,
			       strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		write_pid(fd);
		*ret_fd = fd;
		return AR_OK;
	}
	st = errno == EWOULDBLOCK ? fail_held(fd, path, err)
				  : ar_fail(err, AR_E_IO, "lock file '%s' cannot be locked: %s", lock_path,
					    strerror(errno));
	close(fd);
	return st;
}

enum ar_status ar_file_lock_acquire(const char *path, int *ret_fd, struct ar_error *err)
{
	struct ar_buf lock_path = { 0 };
	enum ar_status st;

	ar_buf_addz(&lock_path, path);
	ar_buf_addz(&lock_path, ".lock");
	ar_buf_addc(&lock_path, '\0');
	st = lock_file(path, lock_path.p, ret_fd, err);
	ar_buf_fini(&lock_path);
	return st;
}

void ar_file_lock_drop(int fd)
{
	if (fd >= 0)
		close(fd);
}
