/* Standard input and output as the pipes of one peer. They are taken out of everybody else's
 * reach, so that nothing but messages gets onto them: what some library prints goes to stderr,
 * and no child inherits them. */
#ifndef AR_BIN_AGENTD_STDIO_PEER_H
#define AR_BIN_AGENTD_STDIO_PEER_H

#include "status.h"

#include <pthread.h>

/* Copies bytes from one descriptor to the other until the end, in a thread of its own: a file
 * cannot be polled, a pipe can. */
struct ar_stdio_pump {
	pthread_t thread;
	int from, to;
	bool is_running;
};

/* Whether reads wait is a matter of the open file, which others may share: it is left as it was found. */
struct ar_stdio_flags {
	int fd; /* a copy; -1: none */
	int flags;
};

struct ar_stdio_peer {
	int in, out; /* can be polled; the runtime's */
	struct ar_stdio_flags in_flags, out_flags;
	struct ar_stdio_pump in_pump, out_pump; /* only where stdin or stdout is a file */
};

AR_BEGIN_DECLS

/* In place: the pumps know where it is. */
AR_MUST_USE enum ar_status ar_stdio_peer_take(struct ar_stdio_peer *s, struct ar_error *err);

/* The runtime is gone: waits until its last words are written. */
void ar_stdio_peer_finish(struct ar_stdio_peer *s);

AR_END_DECLS

#endif
