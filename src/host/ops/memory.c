/* See memory.h. Three limits count: pages of our own against the mark, and, where somebody
 * set them, the data segment and the address space against three quarters of their limits,
 * which allocations fail at. */
#include "ops/memory.h"
#include "log.h"
#include "mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SHARE_OF(limit) ((limit) / 4 * 3)
#define LIMIT_OF(share) ((share) / 3 * 4)
#define SHORT_FROM 1000 /* thousandths of the mark */
#define SHORT_UNTIL 900
#define COPIES 8 /* of what a command brings, on its way through decision, store and model request */
#define LOOK_MS 5
#define LOOK_BYTES (1u << 20)
#define RELIEF_MS 500 /* between two times that idle sessions and free pages are given up */
#define RELIEF_SOON_MS \
	50 /* when the last time brought something: a client that creates sessions fast fills it again soon */
#define SHED_MANY 100
#define TICK_MS 100
#define GROUP_MAX 4096

/* ---- what there is ---- */

static uint64_t read_number(const char *path)
{
	char text[32];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	struct ar_str line;
	uint64_t value = 0;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return UINT64_MAX;
	ar_str_split((struct ar_str){ text, (size_t)n }, '\n', &line);
	return ar_str_to_u64(line, &value) ? value : UINT64_MAX; /* "max" */
}

/* The least that this group and those around it have. */
static uint64_t limit_along(const char *root, struct ar_str group, const char *name)
{
	char path[GROUP_MAX + 64];
	uint64_t least = UINT64_MAX, here;

	for (;;) {
		snprintf(path, sizeof path, "%s%.*s/%s", root, AR_STR_ARG(group), name);
		here = read_number(path);
		least = here < least ? here : least;
		if (!group.len)
			return least;
		while (group.len && group.p[group.len - 1] != '/')
			group.len--;
		group.len -= group.len > 0;
	}
}

/* A line of /proc/self/cgroup: number:controllers:/path. */
static uint64_t limit_of_line(struct ar_str line)
{
	struct ar_str number, controllers,
		group = ar_str_split(ar_str_split(line, ':', &number), ':', &controllers);

	if (ar_str_is(group, "/"))
		group.len = 0;
	if (ar_str_is(controllers, "memory"))
		return limit_along("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
	return ar_str_empty(controllers) ? limit_along("/sys/fs/cgroup", group, "memory.max") : UINT64_MAX;
}

static uint64_t limit_of_group(void)
{
	char text[GROUP_MAX];
	int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	struct ar_str rest = { text, n > 0 ? (size_t)n : 0 }, line;
	uint64_t least = UINT64_MAX, here;

	if (fd >= 0)
		close(fd);
	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		here = limit_of_line(line);
		least = here < least ? here : least;
	}
	return least;
}

static uint64_t limit_of_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

static uint64_t usual_mark(void)
{
	uint64_t group = limit_of_group(), machine = limit_of_machine();

	return SHARE_OF(group < machine ? group : machine);
}

/* ---- what we have ---- */

struct reading {
	uint64_t at; /* thousandths of its mark that the worst of the three is at */
	uint64_t left; /* bytes that the worst of them leaves */
};

static void worsen(struct reading *r, uint64_t used, uint64_t mark)
{
	uint64_t most = LIMIT_OF(mark), left = used < most ? most - used : 0;
	uint64_t at = used / (mark / SHORT_FROM + 1);

	r->at = at > r->at ? at : r->at;
	r->left = left < r->left ? left : r->left;
}

/* Fields of /proc/self/statm, in pages. */
enum { SIZE, RESIDENT, SHARED, DATA = 5, FIELDS };

/* Limits that allocations fail at, and how much a process that has just begun takes beside that when it
 * works: stacks of threads, the first sessions. */
static const struct {
	int resource, field;
	const char *name;
	uint64_t room;
} hard[] = {
	{ RLIMIT_AS, SIZE, "address space of the process (ulimit -v, LimitAS=)", 48 << 20 },
	{ RLIMIT_DATA, DATA, "data segment of the process (ulimit -d, LimitDATA=)", 16 << 20 },
};

static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* UINT64_MAX: there is none. */
static uint64_t hard_limit(size_t i)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)hard[i].resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return (uint64_t)limit.rlim_cur;
}

static struct reading read_all(const struct ar_memory *m, const uint64_t pages[])
{
	uint64_t page = page_size();
	struct reading r = { .left = UINT64_MAX };

	worsen(&r, (pages[RESIDENT] - pages[SHARED]) * page, m->mark);
	for (size_t i = 0; i < AR_ARRAY_LEN(hard); i++) {
		uint64_t used = pages[hard[i].field] * page, limit = hard_limit(i), mark;

		if (limit == UINT64_MAX)
			continue;
		mark = SHARE_OF(limit);
		if (used > mark / 2) /* part of that is the allocator's, which need not ask for it again */
			used -= ar_heap_look().spare / 2;
		worsen(&r, used, mark);
	}
	return r;
}

static bool read_pages(const struct ar_memory *m, uint64_t pages[FIELDS])
{
	char text[128];
	ssize_t n = pread(m->statm, text, sizeof text, 0);
	struct ar_str rest = { text, n > 0 ? (size_t)n : 0 }, word;

	for (size_t i = 0; i < FIELDS; i++) {
		rest = ar_str_split(rest, ' ', &word);
		if (!ar_str_to_u64(word, &pages[i]))
			return false;
	}
	return true;
}

enum ar_status ar_memory_check(const struct ar_memory *m, struct ar_error *err)
{
	uint64_t pages[FIELDS];

	if (!read_pages(m, pages))
		return AR_OK;
	for (size_t i = 0; i < AR_ARRAY_LEN(hard); i++) {
		uint64_t need = pages[hard[i].field] * page_size() + hard[i].room, limit = hard_limit(i);

		if (limit != UINT64_MAX && need > SHARE_OF(limit))
			return ar_fail(err, AR_E_LIMIT,
				       "the %s is limited to %llu MiB, and agentd needs at least %llu MiB",
				       hard[i].name, (unsigned long long)(limit >> 20),
				       (unsigned long long)((LIMIT_OF(need) >> 20) + 1));
	}
	return AR_OK;
}

static uint64_t measure_pages(struct ar_memory *m)
{
	uint64_t pages[FIELDS];
	struct reading r;

	m->looked = uv_now(m->timer.loop);
	m->since = 0;
	if (!read_pages(m, pages))
		return 0;
	r = read_all(m, pages);
	m->left = r.left;
	return r.at;
}

/* ---- what is done about it ---- */

static void relieve(struct ar_memory *m)
{
	bool is_much = ar_engine_shed(m->engine, m->is_short) >= SHED_MANY;

	m->relief_at = uv_now(m->timer.loop) + (is_much ? RELIEF_SOON_MS : RELIEF_MS);
	ar_heap_trim();
}

static void on_tick(uv_timer_t *timer);

static void set_short(struct ar_memory *m, bool is_short)
{
	m->is_short = is_short;
	if (!is_short) {
		uv_timer_stop(&m->timer);
		ar_log_line(m->log, "info", "memory is available again: new work is accepted", NULL);
		return;
	}
	uv_timer_start(&m->timer, on_tick, TICK_MS, TICK_MS);
	ar_log_line(m->log, "warning", "memory is short: new work is refused until there is more",
		    "raise limits.memory_bytes or the limit of the process, or lower limits.*");
}

static void judge(struct ar_memory *m)
{
	uint64_t at = measure_pages(m);

	if (at >= (m->is_short ? SHORT_UNTIL : SHORT_FROM) && uv_now(m->timer.loop) >= m->relief_at) {
		relieve(m);
		at = measure_pages(m);
	}
	if (m->is_short ? at < SHORT_UNTIL : at >= SHORT_FROM)
		set_short(m, !m->is_short);
}

static void on_tick(uv_timer_t *timer)
{
	judge(timer->data);
}

/* Takes as given what was found a moment ago. */
static void look_if_due(struct ar_memory *m)
{
	if (m->statm >= 0 && (m->since >= LOOK_BYTES || uv_now(m->timer.loop) >= m->looked + LOOK_MS))
		judge(m);
}

bool ar_memory_is_short(void *memory, size_t bytes)
{
	struct ar_memory *m = memory;

	m->since += bytes;
	look_if_due(m);
	return m->is_short;
}

bool ar_memory_has_room(void *memory, size_t bytes)
{
	struct ar_memory *m = memory;

	look_if_due(m);
	return !m->is_short && (bytes + ar_engine_expected(m->engine)) * COPIES + m->since < m->left;
}

void ar_memory_init(struct ar_memory *m, uv_loop_t *loop, uint64_t mark)
{
	uv_timer_init(loop, &m->timer);
	m->timer.data = m;
	m->mark = mark ? mark : usual_mark();
	m->statm = -1;
	m->left = UINT64_MAX;
}

void ar_memory_watch(struct ar_memory *m, struct ar_engine *engine)
{
	m->engine = engine;
	m->statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
}

void ar_memory_fini(struct ar_memory *m)
{
	if (m->statm >= 0)
		close(m->statm);
	m->statm = -1;
	uv_timer_stop(&m->timer);
}
