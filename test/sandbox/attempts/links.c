/* Attempts by links and renames: what stands inside and means something outside, and what is carried over the
 * border. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

#define READ_ONLY "EROFS EACCES"
#define UNSEEN "ENOENT"
#define OVER "ENOENT EXDEV EROFS EACCES EPERM"
#define SWAPS 300

/* A link in the workspace to a->path, or in /tmp when the workspace takes none; written through to `leaf`. */
static int write_through(const char *from, const char *to, const char *leaf)
{
	char path[4096];

	unlink(from);
	if (symlink(to, from) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s%s", from, leaf);
	int r = write_at(path);
	int error = errno;
	unlink(from);
	return r == 0 ? 0 : fail_with(error);
}

static int workspace_link(const struct attempt *a)
{
	return write_through(expand("$WS/ln"), expand(a->path), "/through-link");
}

static int tmp_link(const struct attempt *a)
{
	return write_through("/tmp/ln-of-escape", expand(a->path), "/through-tmp");
}

static int link_chain(const struct attempt *a)
{
	unlink(expand("$WS/chain"));
	if (symlink(expand(a->path), expand("$WS/chain")) != 0)
		return -1;
	return write_through(expand("$WS/ln"), "chain", "/through-chain");
}

static int read_link(const struct attempt *a)
{
	struct attempt read = { .path = "$WS/rln" };

	unlink(expand("$WS/rln"));
	return symlink(expand(a->path), expand("$WS/rln")) != 0 ? -1 : try_read(&read);
}

static int hard_link(const struct attempt *a)
{
	unlink(expand("$WS/hard"));
	return link(expand(a->path), expand("$WS/hard")) != 0 ? -1 : write_at(expand("$WS/hard"));
}

/* By a descriptor, for which the name does not count. */
static int hard_link_fd(const struct attempt *a)
{
	char magic[64];
	int fd = open(expand(a->path), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	snprintf(magic, sizeof(magic), "/proc/self/fd/%d", fd);
	unlink(expand("$WS/hard2"));
	return linkat(AT_FDCWD, magic, AT_FDCWD, expand("$WS/hard2"), AT_SYMLINK_FOLLOW);
}

static int rename_out(const struct attempt *a)
{
	write_at(expand("$WS/leaver"));
	return rename(expand("$WS/leaver"), expand(a->path));
}

static int rename_in(const struct attempt *a)
{
	return rename(expand(a->path), expand("$WS/comer"));
}

static int exchange(const struct attempt *a)
{
	write_at(expand("$WS/changer"));
	return renameat2(AT_FDCWD, expand("$WS/changer"), AT_FDCWD, expand(a->path), RENAME_EXCHANGE);
}

static _Noreturn void swap_for_ever(void)
{
	const char *here = expand("$WS/race"), *there = expand("$WS/race-other");

	for (;;)
		renameat2(AT_FDCWD, here, AT_FDCWD, there, RENAME_EXCHANGE);
}

/* A folder and a link to the outside change places while files are made in it: none may appear outside. */
static int race(const struct attempt *a)
{
	if (mkdir(expand("$WS/race"), 0755) != 0 && errno != EEXIST)
		return -1;
	unlink(expand("$WS/race-other"));
	if (symlink(expand(a->path), expand("$WS/race-other")) != 0)
		return -1;
	pid_t swapper = fork();
	if (swapper == 0)
		swap_for_ever();
	if (swapper < 0)
		return -1;
	for (int i = 0; i < SWAPS; i++)
		write_at(expand("$WS/race/raced"));
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	return access(expand("$OUT/raced"), F_OK);
}

static const struct attempt rows[] = {
	{ "link_write", workspace_link, "$OUT", READ_ONLY, UNSEEN, "ok" },
	{ "link_tmp_write", tmp_link, "$OUT", UNSEEN, UNSEEN, "-" },
	{ "link_chain_write", link_chain, "$OUT", READ_ONLY, UNSEEN, "ok" },
	{ "link_proc_root_write", workspace_link, "/proc/1/root$OUT", READ_ONLY, "ENOENT EACCES", "?" },
	{ "link_dotdot_write", workspace_link, "../outside", READ_ONLY, UNSEEN, "ok" },
	{ "link_etc_write", workspace_link, "/etc", READ_ONLY, READ_ONLY, "EACCES EROFS" },
	{ "link_secret_read", read_link, "$OUT/secret", READ_ONLY, UNSEEN, "ok" },
	{ "hard_link_outside", hard_link, "$OUT/target", OVER, OVER, "?" },
	{ "hard_link_system", hard_link, "/usr/bin/env", OVER, OVER, "EPERM EXDEV EACCES" },
	{ "hard_link_fd", hard_link_fd, "/etc/passwd", OVER, OVER, "EPERM EXDEV EACCES" },
	{ "rename_out", rename_out, "$OUT/moved", OVER, OVER, "ok" },
	{ "rename_out_etc", rename_out, "/etc/ar-escape", OVER, OVER, "EACCES EXDEV EROFS" },
	{ "rename_in", rename_in, "$OUT/movable", OVER, OVER, "ok" },
	{ "rename_in_system", rename_in, "/usr/bin/env", OVER, OVER, "EACCES EXDEV EROFS" },
	{ "rename_exchange", exchange, "$OUT/target", OVER, OVER, "?" },
	{ "rename_over_passwd", rename_out, "/etc/passwd", OVER " EBUSY", OVER " EBUSY",
	  "EACCES EXDEV EROFS" },
	{ "link_race", race, "$OUT", READ_ONLY, UNSEEN, "?" },
};

const struct attempt_list links_attempts = ATTEMPT_LIST(rows);
