/* See program.h: what a program is given to read. */
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int ar_spawn_input(struct ar_str bytes)
{
	int fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	for (size_t done = 0; fd >= 0 && done < bytes.len;) {
		ssize_t n = pwrite(fd, bytes.p + done, bytes.len - done, (off_t)done);

		if (n < 0 && errno != EINTR) {
			close(fd);
			return -1;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return fd;
}
