/* See descriptor.h. */
#include "io/descriptor.h"

#include "status.h"

#include <errno.h>
#include <unistd.h>

bool ar_fd_write_all(int fd, struct ar_str bytes)
{
	while (bytes.len > 0) {
		ssize_t n = write(fd, bytes.p, bytes.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes = ar_str_sub(bytes, (size_t)n, bytes.len);
	}
	return true;
}

void ar_fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}
