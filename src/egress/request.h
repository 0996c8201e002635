/* The head of what a client says to the proxy: CONNECT host:port, or a request with the whole address in its
 * line. Strict: whatever two readers could take for two things is refused. Pure. */
#ifndef AR_EGRESS_REQUEST_H
#define AR_EGRESS_REQUEST_H

#include "buf.h"
#include "rule.h"

#define AR_EGRESS_HEAD_MAX 32768

struct ar_egress_request {
	bool is_connect;
	char host[AR_EGRESS_HOST_MAX]; /* canonical */
	uint16_t port;
	struct ar_str method;
	struct ar_buf head; /* not CONNECT: the head as the origin is to read it, one request and no more */
	uint64_t body; /* not CONNECT: bytes that follow the head */
	size_t size; /* of the head that was read */
	int status; /* refused: of the answer */
	const char *why; /* refused: for people */
};

enum ar_egress_read {
	AR_EGRESS_MORE, /* not whole yet */
	AR_EGRESS_WHOLE,
	AR_EGRESS_REFUSED,
};

/* `ret` wants fini whatever the answer. */
enum ar_egress_read ar_egress_request_read(struct ar_str bytes, struct ar_egress_request *ret);
void ar_egress_request_fini(struct ar_egress_request *r);

#endif
