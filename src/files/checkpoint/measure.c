/* See measure.h. A descriptor is open for each level, so the depth has a limit. */
#include "checkpoint/measure.h"

#include "clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 256
#define NAMES_MAX 2000000
#define LATE_EVERY 256
#define BLOCK 512 /* of st_blocks, whatever the file system has */

struct measuring {
	struct ar_measured sum;
	ar_usec until; /* monotonic */
	size_t seen;
	bool is_over; /* nothing further is looked at */
};

static bool goes_on(struct measuring *m)
{
	struct ar_clock *clock = ar_clock_system();

	if (++m->seen > NAMES_MAX || (m->seen % LATE_EVERY == 0 && clock->mono(clock) > m->until))
		m->is_over = m->sum.is_partial = true;
	return !m->is_over;
}

static void measure_folder(struct measuring *m, int folder, unsigned depth);

static void enter(struct measuring *m, int folder, const char *name, unsigned depth)
{
	int fd = depth < DEPTH_MAX
			 ? openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
			 : -1;

	if (fd < 0)
		m->sum.is_partial = true;
	else
		measure_folder(m, fd, depth);
}

static void measure_name(struct measuring *m, int folder, const char *name, unsigned depth)
{
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return; /* gone since it was listed */
	m->sum.bytes +=
		st.st_blocks * BLOCK / (S_ISREG(st.st_mode) && st.st_nlink > 1 ? (int64_t)st.st_nlink : 1);
	if (S_ISDIR(st.st_mode))
		enter(m, folder, name, depth + 1);
}

/* Closes the folder. */
static void measure_folder(struct measuring *m, int folder, unsigned depth)
{
	DIR *dir = fdopendir(folder);
	struct dirent *d;

	if (!dir) {
		close(folder);
		m->sum.is_partial = true;
		return;
	}
	while (!m->is_over && (d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && goes_on(m))
			measure_name(m, dirfd(dir), d->d_name, depth);
	}
	closedir(dir);
}

struct ar_measured ar_measure(const struct ar_files_work *w, int root)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec now = clock->mono(clock);
	struct measuring m = { .until = now + (w->until - now) / 2 };

	enter(&m, root, ".", 0);
	return m.sum;
}
