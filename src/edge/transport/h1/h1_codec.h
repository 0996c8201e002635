/* HTTP/1 bytes in, requests out; no sockets, no time. One codec reads one request; bytes behind it stay with
 * the caller. Single-owner. */
#ifndef AR_TRANSPORT_H1_CODEC_H
#define AR_TRANSPORT_H1_CODEC_H

#include "buf.h"
#include "h1/h1_head.h"

#include <llhttp.h>

struct ar_h1_limits {
	size_t head_bytes;
	size_t body_bytes;
};

enum ar_h1_outcome {
	AR_H1_MORE, /* all bytes taken, the request goes on */
	AR_H1_HEAD, /* once: the head is complete, `head` may be looked at; feed again, even nothing */
	AR_H1_DONE, /* the request is complete */
	AR_H1_BAD, /* see `fault`; the connection is of no further use */
};

struct ar_h1 {
	struct ar_h1_head head;
	struct ar_buf body;
	struct ar_fault fault;
	bool is_keepalive;

	struct ar_h1_limits limits; /* private from here on */
	struct ar_h1_scan scan;
	struct ar_buf raw;
	llhttp_t parser;
	size_t extension_bytes;
	char tail[4]; /* newest bytes of a chunked body */
	bool has_head;
	bool is_done;
};

void ar_h1_init(struct ar_h1 *h, const struct ar_h1_limits *limits);
void ar_h1_fini(struct ar_h1 *h);

/* Ready for another request, under the same limits; memory of usual size is kept. */
void ar_h1_restart(struct ar_h1 *h);

/* Takes bytes in any portion; *ret_used says how many. Not to be called again after DONE or BAD. */
enum ar_h1_outcome ar_h1_feed(struct ar_h1 *h, struct ar_str bytes, size_t *ret_used);

/* Instead of feeding: a request whose head is known, with all of its body. */
void ar_h1_take(struct ar_h1 *h, struct ar_str body);

/* Whether the request has a body of which nothing has arrived yet (then an Expect: 100-continue wants its
 * answer). */
bool ar_h1_awaits_body(const struct ar_h1 *h);

#endif
