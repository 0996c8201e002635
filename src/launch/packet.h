/* One packet over a unix socket, with the descriptors that go along. The only place that puts
 * SCM_RIGHTS together and takes it apart. No state; libc alone, so that static helpers can carry it. */
#ifndef AR_LAUNCH_PACKET_H
#define AR_LAUNCH_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#define AR_PACKET_FDS_MAX 18 /* the most that any packet of ours carries (init_wire.h) */

struct ar_packet {
	struct iovec parts[2]; /* the bytes; the second may be empty */
	int *fds; /* the caller's; NULL with fd_count 0 */
	/* sent: how many, AR_PACKET_FDS_MAX at most. Received: how many are wanted, then how many came. */
	size_t fd_count;
	bool is_cut; /* received: more descriptors came than were wanted; those are closed */
};

/* As sendmsg() with MSG_NOSIGNAL and `flags`; EINTR is not an end. */
ssize_t ar_packet_send(int to, const struct ar_packet *p, int flags);

/* As recvmsg() with `flags`; EINTR is not an end. The descriptors are close-on-exec and
 * the caller's, -1 behind them. */
ssize_t ar_packet_receive(int from, struct ar_packet *p, int flags);

#endif
