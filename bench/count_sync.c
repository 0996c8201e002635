/* Preloaded into a program: counts its calls of fdatasync and fsync and writes the number to the file that
 * BENCH_SYNC_COUNT names when the program exits. Any thread. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_ulong calls;

int fdatasync(int fd)
{
	atomic_fetch_add(&calls, 1);
	return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	atomic_fetch_add(&calls, 1);
	return (int)syscall(SYS_fsync, fd);
}

__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("BENCH_SYNC_COUNT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%lu\n", atomic_load(&calls));
	fclose(f);
}
