/* See self.h. Everything comes from /proc/self; a system without it has these metrics at 0. */
#include "ops/self.h"
#include "clock.h"
#include "metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define STAT_MAX 2048
#define USEC 1000000

static void set(struct ar_metrics *m, enum ar_metric_id metric, int64_t value)
{
	ar_metric_set(m, metric, AR_STR_NONE, AR_STR_NONE, value);
}

static struct ar_str read_file(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, room);

	if (fd >= 0)
		close(fd);
	return (struct ar_str){ out, n > 0 ? (size_t)n : 0 };
}

/* Words of a line by their place; those that are no number stay 0. */
static void read_words(struct ar_str text, uint64_t *ret, size_t count)
{
	struct ar_str word;

	for (size_t i = 0; i < count; i++) {
		text = ar_str_split(text, ' ', &word);
		if (!ar_str_to_u64(word, &ret[i]))
			ret[i] = 0;
	}
}

/* When the system was started, since 1970. */
static int64_t boot_usec(void)
{
	char text[STAT_MAX];
	struct ar_str rest = read_file("/proc/uptime", text, sizeof(text)), word;
	uint64_t seconds = 0, hundredths = 0;

	rest = ar_str_split(rest, '.', &word);
	ar_str_to_u64(word, &seconds);
	ar_str_split(rest, ' ', &word);
	ar_str_to_u64(word, &hundredths);
	return ar_clock_system()->wall(ar_clock_system()) -
	       (int64_t)(seconds * USEC + hundredths * (USEC / 100));
}

/* The fields behind the name in brackets, which may hold anything. Numbers as in proc(5), less 3. */
static void measure_stat(struct ar_metrics *m)
{
	enum { UTIME = 11, STIME = 12, THREADS = 17, START = 19, VSIZE = 20, RSS = 21, COUNT };
	char text[STAT_MAX];
	struct ar_str stat = read_file("/proc/self/stat", text, sizeof(text));
	const char *behind = memrchr(stat.p, ')', stat.len);
	int64_t tick = sysconf(_SC_CLK_TCK);
	uint64_t at[COUNT];

	if (!behind || tick <= 0)
		return;
	read_words((struct ar_str){ behind + 2, (size_t)(stat.p + stat.len - behind - 2) }, at, COUNT);
	set(m, AR_METRIC_PROCESS_CPU, (int64_t)(at[UTIME] + at[STIME]) * (USEC / tick));
	set(m, AR_METRIC_PROCESS_THREADS, (int64_t)at[THREADS]);
	set(m, AR_METRIC_PROCESS_START_TIME, boot_usec() + (int64_t)at[START] * (USEC / tick));
	set(m, AR_METRIC_PROCESS_VIRTUAL_MEMORY, (int64_t)at[VSIZE]);
	set(m, AR_METRIC_PROCESS_RESIDENT_MEMORY, (int64_t)at[RSS] * sysconf(_SC_PAGESIZE));
}

static void measure_descriptors(struct ar_metrics *m)
{
	DIR *dir = opendir("/proc/self/fd");
	struct rlimit limit;
	int64_t count = -3; /* this and the parent folder, and the descriptor that reads them */

	while (dir && readdir(dir))
		count++;
	if (dir) {
		closedir(dir);
		set(m, AR_METRIC_PROCESS_OPEN_FDS, count);
	}
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		set(m, AR_METRIC_PROCESS_MAX_FDS, (int64_t)limit.rlim_cur);
}

void ar_self_measure(struct ar_metrics *m)
{
	measure_stat(m);
	measure_descriptors(m);
}
