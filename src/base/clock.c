/* The system's clocks behind the clock port. The only file that asks the kernel for the time; text is
 * time_text.c. */
#include "clock.h"

#include <time.h>

static ar_usec read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (ar_usec)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static ar_usec wall(struct ar_clock *c AR_UNUSED)
{
	return read_clock(CLOCK_REALTIME);
}

static ar_usec mono(struct ar_clock *c AR_UNUSED)
{
	return read_clock(CLOCK_MONOTONIC);
}

struct ar_clock *ar_clock_system(void)
{
	static struct ar_clock system_clock = { wall, mono };

	return &system_clock;
}

static ar_usec boot(struct ar_clock *c AR_UNUSED)
{
	return read_clock(CLOCK_BOOTTIME);
}

struct ar_clock *ar_clock_boot(void)
{
	static struct ar_clock boot_clock = { wall, boot };

	return &boot_clock;
}

ar_usec ar_clock_thread_cpu(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
