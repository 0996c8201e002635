/* Preloaded into a program: the disk fails below files whose path has the text that AR_DISK_FILE names. The
 * file that AR_DISK_FAULT names is mapped; its first byte says how from the next call on: 's' syncs fail with
 * EIO, 'w' writes with EIO, 'f' writes with ENOSPC, 'r' reads with EIO, anything else nothing. Any thread. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const _Atomic char *fault;
static const char *file;

__attribute__((constructor)) static void map_fault(void)
{
	const char *path = getenv("AR_DISK_FAULT");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map;

	file = getenv("AR_DISK_FILE");
	if (fd < 0)
		return;
	map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		fault = map;
}

static bool is_ours(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	return strstr(path, file) != NULL;
}

/* Whether a call of that kind fails now; errno is set then. */
static bool fails(char kind, int fd, int error)
{
	if (!fault || !file || atomic_load(fault) != kind || !is_ours(fd))
		return false;
	errno = error;
	return true;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int fd)
{
	return fails('s', fd, EIO) ? -1 : NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
	return fails('s', fd, EIO) ? -1 : NEXT(fdatasync)(fd);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
	return fails('w', fd, EIO) || fails('f', fd, ENOSPC) ? -1 : NEXT(pwrite64)(fd, bytes, len, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	return pwrite64(fd, bytes, len, at);
}

ssize_t pread64(int fd, void *bytes, size_t len, off64_t at)
{
	return fails('r', fd, EIO) ? -1 : NEXT(pread64)(fd, bytes, len, at);
}

ssize_t pread(int fd, void *bytes, size_t len, off_t at)
{
	return pread64(fd, bytes, len, at);
}
