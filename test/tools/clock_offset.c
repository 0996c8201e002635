/* Preloaded into a program: its wall clock shows the true time plus the seconds in the file that
 * AR_CLOCK_OFFSET names, a signed 64-bit number in the machine's own byte order. The file is mapped, so a new
 * number holds from the next look at the clock on, costs nothing to read, and leaves nothing behind in a
 * process that is killed. Monotonic clocks stay true, as when somebody sets the clock of a real machine,
 * unless AR_CLOCK_OFFSET_ALL is set: then time itself passes as the file says. Any thread. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const _Atomic int64_t *offset;
static bool moves_all;

__attribute__((constructor)) static void map_offset(void)
{
	const char *path = getenv("AR_CLOCK_OFFSET");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *map;

	moves_all = getenv("AR_CLOCK_OFFSET_ALL");
	if (fd < 0)
		return;
	map = mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		offset = map;
}

static int64_t seconds_off(void)
{
	return offset ? atomic_load_explicit(offset, memory_order_relaxed) : 0;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
	int r = (int)syscall(SYS_clock_gettime, id, ret);

	if (r == 0 && (moves_all || id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ret->tv_sec += seconds_off();
	return r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	int r = (int)syscall(SYS_gettimeofday, ret, zone);

	if (r == 0)
		ret->tv_sec += seconds_off();
	return r;
}

time_t time(time_t *ret)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
