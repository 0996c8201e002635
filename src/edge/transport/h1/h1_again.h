/* A head that comes again: who keeps a connection mostly says the same over and over, with another body
 * behind it. The bytes of one head are kept with what they mean; a request on the same connection that
 * begins with the very same bytes means the same, and is not read a second time. Never shared between
 * connections. Owner: the loop thread. */
#ifndef AR_TRANSPORT_H1_AGAIN_H
#define AR_TRANSPORT_H1_AGAIN_H

#include "h1/h1_codec.h"
#include "router.h"

struct ar_h1_again {
	struct ar_h1_head head; /* borrows from `raw` */
	struct ar_target target;
	struct ar_http_route route;
	unsigned misses; /* requests with other heads since the last one with this */
	size_t len;
	char raw[];
};

/* Of a request that was read, done and let pass. NULL: it is of a kind that is always read anew. */
struct ar_h1_again *ar_h1_again_new(const struct ar_h1 *h, bool is_peer);

/* How many bytes the request at the start of `bytes` has, if it has this head and all of
 * its body is there; else 0. */
size_t ar_h1_again_length(const struct ar_h1_again *a, struct ar_str bytes);

#endif
