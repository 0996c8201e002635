/* See work_mark.h. */
#include "ops/work_mark.h"

#include "mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The room is taken now: a page without any would end the process when it is written. */
static struct ar_engine_mark *map(int fd, struct ar_engine_mark *ret_died)
{
	void *at;

	if (pread(fd, ret_died, sizeof(*ret_died), 0) != (ssize_t)sizeof(*ret_died))
		*ret_died = (struct ar_engine_mark){ 0 };
	if (posix_fallocate(fd, 0, sizeof(*ret_died)) != 0)
		return NULL;
	at = mmap(NULL, sizeof(*ret_died), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	memset(at, 0, sizeof(*ret_died));
	return at;
}

struct ar_engine_mark *ar_work_mark_open(const char *data_dir, struct ar_engine_mark *ret_died)
{
	char path[4096];
	struct ar_engine_mark *mark;
	int fd;

	if ((size_t)snprintf(path, sizeof path, "%s/agentd.working", data_dir) >= sizeof path)
		return NULL;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return NULL;
	mark = map(fd, ret_died);
	close(fd);
	return mark;
}

void ar_work_mark_close(struct ar_engine_mark *mark)
{
	if (!mark)
		return;
	memset(mark, 0, sizeof(*mark));
	munmap(mark, sizeof(*mark));
}
