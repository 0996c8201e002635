/* See cgroups.h. The name of a launch's folder is random: nothing of it is found by name but
 * by the plan that carries it. */
#include "cgroups.h"

#include "clock.h"
#include "compiler.h"
#include "mem.h"
#include "path_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_LEN 16
#define CPU_PERIOD 100000 /* microseconds */
#define TEXT_MAX ((size_t)1 << 20)
#define STALE ((ar_usec)600 * 1000000) /* a younger one may be of a launch that has not joined it yet */

static struct ar_str read_text(const char *path, struct ar_arena *a)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct ar_buf text = { .cap = TEXT_MAX };
	struct ar_str got;
	ssize_t n = 1;

	while (fd >= 0 && n > 0) {
		char *room = ar_buf_room(&text, 4096);

		n = room ? read(fd, room, 4096) : 0;
		text.len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	got = ar_arena_str(a, ar_buf_str(&text));
	ar_buf_fini(&text);
	return got;
}

/* A file of a folder; what is not there or refuses is errno. */
static bool write_file(const char *folder, const char *name, const char *value)
{
	int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = dir < 0 ? -1 : openat(dir, name, O_WRONLY | O_CLOEXEC);
	bool is_written = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	int why = errno;

	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	errno = why;
	return is_written;
}

static bool has_file(const char *folder, const char *name)
{
	int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool is_there = dir >= 0 && faccessat(dir, name, F_OK, 0) == 0;

	if (dir >= 0)
		close(dir);
	return is_there;
}

/* A group of version 2 that has processes may not give controllers to those below it, unless it is the
 * topmost. A group that was given to us holds us alone: then we step aside into one of our own. */
static void enable_controllers(const struct ar_cgroup_hierarchy *p, struct ar_arena *a)
{
	struct ar_str above = ar_str_sub(p->folder, 0, p->folder.len - sizeof("/agentruntime") + 1);
	struct ar_str ours = ar_arena_fmt(a, "%.*s/agentd", AR_STR_ARG(above));

	above = ar_arena_str(a, above);
	if (!write_file(above.p, "cgroup.subtree_control", "+pids +memory") && errno == EBUSY &&
	    (mkdir(ours.p, 0755) == 0 || errno == EEXIST) && write_file(ours.p, "cgroup.procs", "0") &&
	    !write_file(above.p, "cgroup.subtree_control", "+pids +memory")) {
		write_file(above.p, "cgroup.procs", "0");
		rmdir(ours.p);
	}
	write_file(p->folder.p, "cgroup.subtree_control", "+pids");
	write_file(p->folder.p, "cgroup.subtree_control", "+memory");
}

/* Beside the others: a kernel that refuses this one has the others all the same. */
static void enable_cpu(const struct ar_cgroup_hierarchy *p, struct ar_arena *a)
{
	struct ar_str above = ar_str_sub(p->folder, 0, p->folder.len - sizeof("/agentruntime") + 1);

	write_file(ar_arena_str(a, above).p, "cgroup.subtree_control", "+cpu");
	write_file(p->folder.p, "cgroup.subtree_control", "+cpu");
}

/* Percent of one CPU in each tenth of a second; true when the kernel has taken it as it was meant. */
static bool set_cpu(const struct ar_cgroup_hierarchy *p, const char *folder, uint64_t percent,
		    struct ar_arena *a)
{
	struct ar_str quota = ar_arena_fmt(a, "%llu", (unsigned long long)(percent * (CPU_PERIOD / 100)));
	struct ar_str both = ar_arena_fmt(a, "%s %d", quota.p, CPU_PERIOD);
	const char *file = p->is_v2 ? "cpu.max" : "cpu.cfs_quota_us";
	struct ar_str wanted = p->is_v2 ? both : quota, got;

	if (!p->is_v2 && !write_file(folder, "cpu.cfs_period_us", ar_arena_fmt(a, "%d", CPU_PERIOD).p))
		return false;
	if (!write_file(folder, file, wanted.p))
		return false;
	got = ar_str_trim(read_text(ar_arena_fmt(a, "%s/%s", folder, file).p, a), "\n");
	errno = EINVAL;
	return ar_str_eq(got, wanted);
}

static bool is_ours(const char *name)
{
	return strlen(name) == NAME_LEN && strspn(name, "0123456789abcdef") == NAME_LEN;
}

/* Empty folders of earlier lives; the kernel refuses those that are not. */
static void sweep(const char *folder)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec oldest = clock->wall(clock) - STALE;
	DIR *d = opendir(folder);
	struct dirent *e;
	struct stat st;

	if (!d)
		return;
	while ((e = readdir(d))) {
		if (is_ours(e->d_name) && fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtim.tv_sec < oldest / 1000000)
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

/* Makes the folder and a trial below it: what that one offers is what a launch will have. */
static bool try_folder(struct ar_cgroup_hierarchy *p, bool wants_cpu, struct ar_arena *a)
{
	struct ar_str trial = ar_arena_fmt(a, "%s/trial-%d", p->folder.p, (int)getpid());

	if (mkdir(p->folder.p, 0755) != 0 && errno != EEXIST)
		return false;
	if (p->is_v2)
		enable_controllers(p, a);
	if (p->is_v2 && wants_cpu)
		enable_cpu(p, a);
	if (mkdir(trial.p, 0755) != 0 && errno != EEXIST)
		return false;
	p->kills = has_file(trial.p, "cgroup.kill");
	p->counts = has_file(trial.p, "pids.max");
	p->weighs = has_file(trial.p, p->is_v2 ? "memory.max" : "memory.limit_in_bytes");
	p->paces = wants_cpu && set_cpu(p, trial.p, 100, a);
	rmdir(trial.p);
	return p->kills || p->counts || p->weighs || p->paces;
}

void ar_cgroups_open(struct ar_cgroups *ret, bool wants_cpu, struct ar_arena *a)
{
	struct ar_cgroups found = { 0 };

	*ret = (struct ar_cgroups){ 0 };
	ar_cgroups_parse(read_text("/proc/self/mountinfo", a), read_text("/proc/self/cgroup", a), a, &found);
	for (size_t i = 0; i < found.count; i++) {
		struct ar_cgroup_hierarchy *p = &found.at[i];

		if (!p->is_v2 && !p->counts && !p->weighs && !wants_cpu)
			continue;
		if (!try_folder(p, wants_cpu, a))
			continue;
		sweep(p->folder.p);
		ret->at[ret->count++] = *p;
		ret->kills |= p->kills;
		ret->counts |= p->counts;
		ret->weighs |= p->weighs;
		ret->paces |= p->paces;
	}
}

/* Swap is memory too: where it is counted it gets no more. */
static bool set_limits(const struct ar_cgroup_hierarchy *p, const char *folder,
		       const struct ar_plan_limits *l, struct ar_arena *a)
{
	const char *memory = ar_arena_fmt(a, "%llu", (unsigned long long)l->memory_bytes).p;
	const char *processes = ar_arena_fmt(a, "%llu", (unsigned long long)l->processes).p;

	if (p->counts && l->processes && !write_file(folder, "pids.max", processes))
		return false;
	if (p->paces && l->cpu_percent && !set_cpu(p, folder, l->cpu_percent, a))
		return false;
	if (!p->weighs || !l->memory_bytes)
		return true;
	if (p->is_v2) {
		write_file(folder, "memory.swap.max", "0");
		return write_file(folder, "memory.max", memory);
	}
	if (!write_file(folder, "memory.limit_in_bytes", memory))
		return false;
	write_file(folder, "memory.memsw.limit_in_bytes", memory);
	return true;
}

/* Another daemon that ended may just have taken away the folder that all share. */
static bool make_folder(struct ar_cgroup_hierarchy *p, const char *folder, struct ar_arena *a)
{
	struct ar_cgroup_hierarchy again = *p;

	if (mkdir(folder, 0755) == 0)
		return true;
	return errno == ENOENT && try_folder(&again, p->paces, a) && mkdir(folder, 0755) == 0;
}

static void random_name(char out[NAME_LEN + 1])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[NAME_LEN / 2];

	AR_ASSERT(getrandom(bytes, sizeof(bytes), 0) == (ssize_t)sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[NAME_LEN] = '\0';
}

static void retry_pending(struct ar_cgroups *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->pending_count; i++) {
		if (rmdir(c->pending[i]) != 0 && errno == EBUSY) {
			c->pending[kept++] = c->pending[i];
			continue;
		}
		ar_free(c->pending[i]);
	}
	c->pending_count = kept;
}

enum ar_status ar_cgroups_make(struct ar_cgroups *c, const struct ar_plan_limits *limits, struct ar_arena *a,
			       struct ar_plan_paths *ret, struct ar_error *err)
{
	struct ar_plan_paths made = { 0 };
	char name[NAME_LEN + 1];

	retry_pending(c);
	random_name(name);
	for (size_t i = 0; i < c->count; i++) {
		struct ar_str folder = ar_arena_fmt(a, "%s/%s", c->at[i].folder.p, name);
		int why;

		if (make_folder(&c->at[i], folder.p, a)) {
			ar_path_add(&made, folder, a);
			if (set_limits(&c->at[i], folder.p, limits, a))
				continue;
		}
		why = errno;
		ar_cgroups_remove(c, &made);
		return ar_fail(err, AR_E_IO, "the control group %s could not be created: %s", folder.p,
			       strerror(why));
	}
	for (size_t i = 0; i < made.count; i++)
		ar_path_add(ret, ar_str_from(made.at[i]), a);
	return AR_OK;
}

/* <mount>/.../agentruntime/<name>, as make() names them; the group above may be that of an earlier life. */
static bool is_removable(const struct ar_cgroups *c, const char *path)
{
	struct ar_str folder = ar_str_from(path);

	if (folder.len <= NAME_LEN + 1 || !is_ours(path + folder.len - NAME_LEN) || strstr(path, "/../"))
		return false;
	folder.len -= NAME_LEN + 1;
	for (size_t i = 0; i < c->count; i++) {
		if (ar_path_is_in(folder, c->at[i].mount) && ar_str_ends(folder, AR_STR("/agentruntime")) &&
		    path[folder.len] == '/')
			return true;
	}
	return false;
}

void ar_cgroups_remove(struct ar_cgroups *c, const struct ar_plan_paths *folders)
{
	retry_pending(c);
	for (size_t i = 0; i < folders->count; i++) {
		const char *path = folders->at[i];

		if (!is_removable(c, path) || rmdir(path) == 0 || errno != EBUSY)
			continue;
		/* One too many is left to the sweep of the next life. */
		if (c->pending_count < AR_CGROUPS_PENDING)
			c->pending[c->pending_count++] = ar_str_dup(ar_str_from(path));
	}
}

void ar_cgroups_close(struct ar_cgroups *c)
{
	retry_pending(c);
	for (size_t i = 0; i < c->pending_count; i++)
		ar_free(c->pending[i]);
	for (size_t i = 0; i < c->count; i++)
		rmdir(c->at[i].folder.p); /* refused while another life uses it */
	c->pending_count = c->count = 0;
}
