/* What several callers do with a descriptor and the kernel does in pieces: write all of a text, take a packet with the descriptors that come along. No state. */
#ifndef AR_BASE_IO_DESCRIPTOR_H
#define AR_BASE_IO_DESCRIPTOR_H

#include "str.h"

#include <sys/types.h>

#define AR_PACKET_FDS_MAX 16

AR_BEGIN_DECLS

/* False: errno says why; some of it may be written. */
AR_MUST_USE bool ar_fd_write_all(int fd, struct ar_str bytes);

/* As recv() without waiting. `fds` gets those that came, at most `max` (AR_PACKET_FDS_MAX), close-on-exec and the caller's; -1 behind them. What is
 * more is closed. */
ssize_t ar_fd_receive(int from, void *out, size_t room, int *fds, size_t max);

AR_END_DECLS

#endif
