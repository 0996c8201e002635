/* Without a pid namespace descendants are found by asking the kernel for our children until there are none:
 * killing one brings its own children to us, since we adopt. One that keeps forking can run ahead of this;
 * the cgroup of the process, where there is one, cannot be outrun. */
#include "orphans.h"

#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int ar_orphans_adopt(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

static void kill_children(void)
{
	char path[64], pids[4096];
	char *at = pids;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	if (ar_file_read(AT_FDCWD, path, pids, sizeof(pids)) <= 0)
		return;
	for (;;) {
		char *stop;
		long pid = strtol(at, &stop, 10);

		if (stop == at || *stop == '\0') /* the last one may be cut; it comes again */
			return;
		if (pid > 1)
			kill((pid_t)pid, SIGKILL);
		at = stop;
	}
}

void ar_orphans_kill(void)
{
	do
		kill_children();
	while (waitpid(-1, NULL, 0) >= 0 || errno == EINTR);
}
