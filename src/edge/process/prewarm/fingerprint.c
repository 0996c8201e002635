/* See fingerprint.h. */
#include "prewarm/fingerprint.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#define PRIME 0x100000001b3ull

static uint64_t mix_bytes(uint64_t sum, uint64_t n)
{
	return (sum ^ n) * PRIME;
}

static uint64_t mix_path(uint64_t sum, const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return mix_bytes(sum, 1);
	return mix_bytes(mix_bytes(sum, st.st_dev), st.st_ino);
}

uint64_t ar_fingerprint_of(const struct ar_plan *p)
{
	const struct ar_plan_paths *const lists[] = { &p->read_roots, &p->write_roots };
	uint64_t sum = p->workspace ? mix_path(0, p->workspace) : 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (size_t k = 0; k < lists[i]->count; k++)
			sum = mix_path(sum, lists[i]->at[k]);
	}
	return sum;
}

int ar_mounts_watch(void)
{
	return open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
}

bool ar_mounts_changed(int watch)
{
	struct pollfd change = { .fd = watch, .events = POLLPRI };

	return watch < 0 || poll(&change, 1, 0) != 0;
}
