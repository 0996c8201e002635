/* See line_file.h. */
#include "ops/line_file.h"
#include "compiler.h"
#include "io/descriptor.h"
#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* -1 with errno: what is there under the name is not a file of its own. */
static int open_file(const struct ar_line_file *f)
{
	int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	int fd = openat(f->folder, f->name, flags, 0600);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

enum ar_status ar_line_file_open(struct ar_line_file *f, const char *path, int64_t limit,
				 struct ar_error *err)
{
	const char *slash = strrchr(path, '/');
	char *folder;

	if (path[0] != '/' || !slash[1])
		return ar_fail(err, AR_E_INVALID, "'%.200s' is not the absolute path of a file", path);
	folder = ar_str_dup((struct ar_str){ path, (size_t)(slash - path) + (slash == path) });
	*f = (struct ar_line_file){ .folder = ar_fd_open_folder(folder), .fd = -1, .limit = limit };
	ar_free(folder);
	f->is_open = true;
	f->name = ar_str_dup(ar_str_from(slash + 1));
	f->old_name = ar_new0(strlen(f->name) + sizeof(".1"));
	snprintf(f->old_name, strlen(f->name) + sizeof(".1"), "%s.1", f->name);
	f->fd = f->folder < 0 ? -1 : open_file(f);
	if (f->fd >= 0)
		return AR_OK;
	ar_fail(err, AR_E_IO, "'%.200s' cannot be written: %s; its folder must be there and without links",
		path, strerror(errno));
	ar_line_file_close(f);
	return AR_E_IO;
}

/* Others may cut or move the file meanwhile, so its size is asked for. */
static void make_room(struct ar_line_file *f, size_t len)
{
	struct stat st;

	if (f->fd < 0 || fstat(f->fd, &st) != 0 || st.st_size == 0 || st.st_size + (int64_t)len <= f->limit)
		return;
	(void)renameat(f->folder, f->name, f->folder, f->old_name);
	ar_fd_close(&f->fd);
	f->is_torn = false;
}

bool ar_line_file_write(struct ar_line_file *f, struct ar_str line)
{
	struct iovec parts[] = { { .iov_base = "\n", .iov_len = f->is_torn ? 1 : 0 },
				 { .iov_base = (void *)(uintptr_t)line.p, .iov_len = line.len },
				 { .iov_base = "\n", .iov_len = 1 } };
	ssize_t all = (ssize_t)(parts[0].iov_len + line.len + 1), written;

	make_room(f, (size_t)all);
	if (f->fd < 0)
		f->fd = open_file(f);
	if (f->fd < 0)
		return false;
	written = writev(f->fd, parts, AR_ARRAY_LEN(parts));
	f->is_torn = written > 0 ? written != all : f->is_torn;
	return written == all;
}

void ar_line_file_close(struct ar_line_file *f)
{
	if (!f->is_open)
		return;
	ar_fd_close(&f->fd);
	ar_fd_close(&f->folder);
	ar_free(f->name);
	ar_free(f->old_name);
	*f = (struct ar_line_file){ 0 };
}
