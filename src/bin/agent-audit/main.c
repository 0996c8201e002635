/* agent-audit: switches the kernel's audit on for the processes of sandboxes, and back as it was when the
 * last daemon that wanted it is gone, however that one went. A process of its own for that reason: a daemon
 * that is killed restores nothing.
 *
 *   agent-audit FIRST LAST    login ids whose refusals are wanted. One line to stdout, then it waits until
 *                             stdin is closed:
 *     own                     switched on, with our rules
 *     shared: ...             somebody else uses audit and has it on: nothing was changed, Landlock's records
 *                             come all the same
 *     unavailable: ...        off, and not ours to switch on
 *
 * Daemons share it by a lock on a file; what was found before the first of them is written in that file. One
 * thread. */
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_PATH "/run/agentruntime-audit.lock"
#define BACKLOG 8192

/* Two locks on the file: an exclusive one while something is changed; a shared one for
 * as long as audit is used. */
enum { CHANGING, USING };

static bool set_lock(int fd, off_t which, short type, bool waits)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = which, .l_len = 1 };

	while (fcntl(fd, waits ? F_OFD_SETLKW : F_OFD_SETLK, &l) < 0) {
		if (errno != EINTR)
			return false;
	}
	return true;
}

/* Opens the file with both locks; one that the last user has just taken away is opened anew. */
static int open_lock(void)
{
	for (;;) {
		int fd = open(LOCK_PATH, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		struct stat held, there;

		if (fd < 0 || !set_lock(fd, CHANGING, F_WRLCK, true))
			return -1;
		if (fstat(fd, &held) == 0 && stat(LOCK_PATH, &there) == 0 && held.st_ino == there.st_ino)
			return set_lock(fd, USING, F_RDLCK, true) ? fd : -1;
		close(fd);
	}
}

/* What stood before any of us: by the file when an earlier one wrote it, else as it is now. */
static void read_former_state(int lock, const struct ar_audit_state *now, struct ar_audit_state *ret)
{
	char text[64] = "";
	unsigned enabled, backlog;

	*ret = *now;
	if (pread(lock, text, sizeof(text) - 1, 0) > 0 && sscanf(text, "%u %u", &enabled, &backlog) == 2) {
		ret->enabled = enabled;
		ret->backlog = backlog;
		return;
	}
	snprintf(text, sizeof(text), "%u %u\n", now->enabled, now->backlog);
	if (pwrite(lock, text, strlen(text), 0) != (ssize_t)strlen(text))
		ret->enabled = now->enabled;
}

/* Only the last one does it; the others leave it on. */
static void restore_if_last(int fd, int lock, const struct ar_audit_state *before)
{
	set_lock(lock, CHANGING, F_WRLCK, true);
	if (!set_lock(lock, USING, F_WRLCK, false))
		return;
	ar_kernel_remove(fd);
	ar_kernel_set(fd, before->enabled, before->backlog);
	unlink(LOCK_PATH);
}

static void wait_for_eof(void)
{
	char byte;
	ssize_t n;

	do {
		n = read(STDIN_FILENO, &byte, 1);
	} while (n > 0 || (n < 0 && errno == EINTR));
}

static void print_line(const char *text)
{
	printf("%s\n", text);
	fflush(stdout);
}

static int print_unavailable(const char *what)
{
	printf("unavailable: %s: %s\n", what, strerror(errno));
	return 1;
}

/* Why audit is not ours to change; NULL: it is. */
static const char *reason_not_ours(const struct ar_audit_state *now, const struct ar_audit_rules *rules)
{
	if (now->enabled == 2)
		return "audit is locked until the next boot";
	if (now->daemon != 0)
		return "auditd runs here";
	if (rules->others > 0)
		return "another program has audit rules here";
	return NULL;
}

static int hold_audit(int fd, int lock, const struct ar_audit_state *now, uint32_t first, uint32_t last)
{
	struct ar_audit_state before;

	read_former_state(lock, now, &before);
	if (ar_kernel_set(fd, 1, now->backlog > BACKLOG ? now->backlog : BACKLOG) < 0 ||
	    ar_kernel_add(fd, first, last) < 0) {
		int status = print_unavailable("audit cannot be switched on");

		restore_if_last(fd, lock, &before);
		return status;
	}
	set_lock(lock, CHANGING, F_UNLCK, false);
	print_line("own");
	wait_for_eof();
	restore_if_last(fd, lock, &before);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t first = argc == 3 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	uint32_t last = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
	struct ar_audit_state now;
	struct ar_audit_rules rules;
	const char *owner;
	int fd, lock;

	if (first == 0 || last < first) {
		fprintf(stderr, "usage: agent-audit FIRST-LOGIN-ID LAST-LOGIN-ID\nStarted by agentd; ends "
				"with its stdin.\n");
		return 2;
	}
	/* Signals of a terminal are meant for the daemon; when it goes, our stdin says so. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	fd = ar_kernel_open();
	if (fd < 0 || ar_kernel_state(fd, &now) < 0 || ar_kernel_count(fd, &rules) < 0)
		return print_unavailable("audit cannot be queried");
	lock = open_lock();
	if (lock < 0 || ar_kernel_state(fd, &now) < 0)
		return print_unavailable(LOCK_PATH);
	owner = reason_not_ours(&now, &rules);
	if (!owner)
		return hold_audit(fd, lock, &now, first, last);
	if (set_lock(lock, USING, F_WRLCK, false))
		unlink(LOCK_PATH);
	close(lock);
	printf("%s: %s\n", now.enabled ? "shared" : "unavailable", owner);
	fflush(stdout);
	if (now.enabled)
		wait_for_eof();
	return !now.enabled;
}
