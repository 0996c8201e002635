/* Small files, mostly of the kernel: written or read in one call, since that is how the kernel wants them. */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int close_keeping_errno(int fd, int result)
{
	int saved = errno;

	close(fd);
	errno = saved;
	return result;
}

int ar_file_write(int dir, const char *path, const char *text)
{
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	return close_keeping_errno(fd, write(fd, text, strlen(text)) < 0 ? -1 : 0);
}

long ar_file_read(int dir, const char *path, char *out, size_t room)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -1;
	len = read(fd, out, room - 1);
	close_keeping_errno(fd, 0);
	out[len > 0 ? len : 0] = '\0';
	return len;
}
