/* Joining cgroups: the unified one at birth (namespaces.c). Into those of version 1 the process outside puts
 * the one inside, for the kernel takes milliseconds to move anybody: meanwhile the one inside builds its
 * view, and waits before it gives up privilege. */
#include "cgroup.h"

#include "file.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Open folder of the n-th cgroup, and whether it is of the unified hierarchy. */
static int open_folder(struct ar_init *in, size_t n, bool *ret_is_unified)
{
	const char *path = in->plan.cgroups.at[n];
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0)
		return ar_init_fail(in, "cgroup", path);
	if (fstatfs(fd, &fs) < 0 || (fs.f_type != CGROUP2_SUPER_MAGIC && fs.f_type != CGROUP_SUPER_MAGIC)) {
		close(fd);
		errno = EINVAL;
		return ar_init_fail(in, "no cgroup is", path);
	}
	*ret_is_unified = fs.f_type == CGROUP2_SUPER_MAGIC;
	return fd;
}

int ar_cgroup_open_unified(struct ar_init *in)
{
	for (size_t i = 0; i < in->plan.cgroups.count; i++) {
		bool is_unified;
		int fd = open_folder(in, i, &is_unified);

		if (fd < 0 || is_unified)
			return fd;
		close(fd);
	}
	return -2;
}

static int join_one(struct ar_init *in, size_t n, const char *pid)
{
	bool is_unified;
	int fd = open_folder(in, n, &is_unified), failed = 0;

	if (fd < 0)
		return -1;
	if (!is_unified || in->namespaces == 0)
		failed = ar_file_write(fd, "cgroup.procs", pid);
	if (failed)
		ar_init_fail(in, "joining cgroup", in->plan.cgroups.at[n]);
	close(fd);
	return failed;
}

static int join_all(struct ar_init *in, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	for (size_t i = 0; i < in->plan.cgroups.count; i++) {
		if (join_one(in, i, text) < 0)
			return -1;
	}
	return 0;
}

/* What the process outside says when it is done. */
struct joined {
	int error; /* 0: joined */
	char about[sizeof(((struct ar_init *)0)->about)];
};

int ar_cgroup_prepare(struct ar_init *in)
{
	if (in->plan.cgroups.count == 0 || in->namespaces == 0)
		return 0;
	return pipe2(in->joined, O_CLOEXEC) < 0 ? ar_init_fail(in, "pipe", NULL) : 0;
}

void ar_cgroup_add(struct ar_init *in, pid_t inside)
{
	struct joined said = { 0 };

	if (in->joined[1] < 0)
		return;
	if (join_all(in, inside) < 0) {
		said.error = errno;
		memcpy(said.about, in->about, sizeof(said.about));
	}
	if (write(in->joined[1], &said, sizeof(said)) < 0)
		return; /* it ends without a word from us */
}

static int wait_until_joined(struct ar_init *in)
{
	struct joined said = { .error = EPIPE };
	ssize_t n;

	close(in->joined[1]);
	do {
		n = read(in->joined[0], &said, sizeof(said));
	} while (n < 0 && errno == EINTR);
	close(in->joined[0]);
	in->joined[0] = in->joined[1] = -1;
	if (n != sizeof(said))
		return ar_init_fail(in, "joining cgroups", NULL);
	memcpy(in->about, said.about, sizeof(said.about));
	errno = said.error;
	return said.error ? -1 : 0;
}

int ar_cgroup_join(struct ar_init *in)
{
	int failed = in->joined[0] >= 0 ? wait_until_joined(in) : join_all(in, 0);

	if (failed)
		return -1;
	if (ar_init_is_bounded(in) && unshare(CLONE_NEWCGROUP) < 0)
		return ar_init_fail(in, "cgroup namespace", NULL);
	return 0;
}
