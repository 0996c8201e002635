/* The only file of the shim that asks the kernel for the time: it carries libc alone, not base with its clock
 * port. */
#include "clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t ar_shim_wall_time(void)
{
	return read_clock(CLOCK_REALTIME);
}

uint64_t ar_shim_file_time(void)
{
	return read_clock(CLOCK_REALTIME_COARSE);
}

uint64_t ar_shim_mono(void)
{
	return read_clock(CLOCK_MONOTONIC) + 1;
}
