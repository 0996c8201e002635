/* See descriptor.h. */
#include "io/descriptor.h"

#include "status.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
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

static void take_rights(const struct cmsghdr *c, int *fds, size_t max)
{
	size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (i < max)
			fds[i] = fd;
		else
			close(fd);
	}
}

ssize_t ar_fd_receive(int from, void *out, size_t room, int *fds, size_t max)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * AR_PACKET_FDS_MAX)];
	} control;
	struct iovec part = { out, room };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	ssize_t n;

	for (size_t i = 0; i < max; i++)
		fds[i] = -1;
	do {
		n = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			take_rights(c, fds, max);
	}
	return n;
}
