/* Removes what nobody will ask for again: folders of processes that are over, and that nobody wrote to
 * or asked for in a day. A few at a time. Loop thread only.
 *
 * The end of a process is put on record and its folder is forgotten by the session that has it. What is
 * left is nobody's: the runtime died between the two, or before the process was on record, or the
 * session has moved to another machine. A session that still has the process attaches at the start of
 * its runtime, which makes the folder young again: that is its claim, and it outlives both. */
#include "proc.h"

#include "id.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOKS_MAX 256 /* folders in one call */
#define AGE_USEC ((ar_usec)24 * 3600 * 1000000)

static ar_usec wall_now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->wall(clock);
}

/* When the journal was written or asked for last; before there is one, when the folder was made. */
static ar_usec written_at(int dir)
{
	struct stat st;

	if (fstatat(dir, AR_FOLDER_JOURNAL, &st, AT_SYMLINK_NOFOLLOW) != 0 && fstat(dir, &st) != 0)
		return wall_now();
	return (ar_usec)st.st_mtim.tv_sec * 1000000;
}

/* A reader that stops here misses nothing: it is sealed, or was never begun. Without a seal
 * something of the process may have outlived its shim, and the folder is what it can be found by. */
static bool is_over(int dir)
{
	char tail[sizeof(struct ar_record_head) + sizeof("{}") - 1];
	int fd = openat(dir, AR_FOLDER_JOURNAL, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct ar_record last = { 0 };
	bool is_broken = false, is_sealed;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT;
	is_sealed = fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(tail) &&
		    pread(fd, tail, sizeof(tail), st.st_size - (off_t)sizeof(tail)) == sizeof(tail) &&
		    ar_record_read(tail, sizeof(tail), &last, &is_broken) == sizeof(tail) &&
		    last.head.type == AR_RECORD_SEALED;
	close(fd);
	return is_sealed;
}

static void release(struct ar_processes *all, int dir, struct ar_arena *a)
{
	struct ar_launch l = { .plan = ar_arena_alloc(a, sizeof(*l.plan)) };

	ar_folder_cgroups(dir, a, &l.plan->cgroups);
	if (l.plan->cgroups.count > 0)
		ar_sandbox_release(all->sandbox, &l);
}

static void sweep_one(struct ar_processes *all, const char *name)
{
	struct ar_arena a = { 0 };
	struct ar_str path = ar_arena_fmt(&a, "%s/%s", all->folder, name);
	int dir = ar_folder_open(path);

	if (dir >= 0 && wall_now() - written_at(dir) > AGE_USEC && !ar_folder_is_locked(dir) &&
	    is_over(dir)) {
		release(all, dir, &a);
		ar_folder_remove(path);
	}
	if (dir >= 0)
		close(dir);
	ar_arena_fini(&a);
}

bool ar_processes_sweep(struct ar_process_host *h)
{
	struct ar_processes *all = AR_CONTAINER_OF(h, struct ar_processes, port);
	struct dirent *e = NULL;

	if (!all->swept)
		all->swept = opendir(all->folder);
	for (int i = 0; all->swept && i < LOOKS_MAX; i++) {
		e = readdir(all->swept);
		if (!e)
			break;
		if (strlen(e->d_name) == AR_SESSION_KEY_LEN)
			sweep_one(all, e->d_name);
	}
	if (e)
		return true;
	if (all->swept)
		closedir(all->swept);
	all->swept = NULL;
	return false;
}
