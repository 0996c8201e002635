/* See packet.h. */
#include "packet.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union room {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int) * AR_PACKET_FDS_MAX)];
};

static struct msghdr message_of(struct iovec parts[2])
{
	return (struct msghdr){ .msg_iov = parts, .msg_iovlen = parts[1].iov_len > 0 ? 2 : 1 };
}

ssize_t ar_packet_send(int to, const struct ar_packet *p, int flags)
{
	size_t size = sizeof(int) * p->fd_count;
	struct iovec parts[2] = { p->parts[0], p->parts[1] };
	struct msghdr m = message_of(parts);
	union room room = { .bytes = { 0 } };
	ssize_t n;

	if (p->fd_count > AR_PACKET_FDS_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (size > 0) {
		room.head = (struct cmsghdr){ CMSG_LEN(size), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(&room.head), p->fds, size);
		m.msg_control = &room;
		m.msg_controllen = CMSG_SPACE(size);
	}
	do {
		n = sendmsg(to, &m, flags | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n;
}

/* Keeps what is wanted and closes the rest; returns how many are kept. */
static size_t keep_fds(struct ar_packet *p, const struct cmsghdr *c, size_t kept)
{
	size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (kept < p->fd_count) {
			p->fds[kept++] = fd;
		} else {
			close(fd);
			p->is_cut = true;
		}
	}
	return kept;
}

ssize_t ar_packet_receive(int from, struct ar_packet *p, int flags)
{
	struct msghdr m = message_of(p->parts);
	union room room;
	size_t kept = 0;
	ssize_t n;

	m.msg_control = &room;
	m.msg_controllen = sizeof(room);
	for (size_t i = 0; i < p->fd_count; i++)
		p->fds[i] = -1;
	do {
		n = recvmsg(from, &m, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	p->is_cut = n >= 0 && (m.msg_flags & MSG_CTRUNC);
	for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			kept = keep_fds(p, c, kept);
	}
	p->fd_count = kept;
	return n;
}
