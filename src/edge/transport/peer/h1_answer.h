/* HTTP/1 bytes of a peer in, its answer out; no sockets, no time. An event stream is handed on as it comes,
 * every other body is gathered under a cap. One reader reads one answer. Single-owner. */
#ifndef AR_TRANSPORT_H1_ANSWER_H
#define AR_TRANSPORT_H1_ANSWER_H

#include "buf.h"

#include <llhttp.h>

#define AR_ANSWER_HEAD_MAX ((size_t)16 * 1024)
#define AR_ANSWER_BODY_MAX ((size_t)64 * 1024 * 1024)

struct ar_h1_answer;

/* Called while bytes are fed; only for an answer that is an event stream and was asked for as one. */
struct ar_h1_answer_vtable {
	void (*opened)(struct ar_h1_answer *a);
	void (*bytes)(struct ar_h1_answer *a, struct ar_str bytes);
};

enum ar_h1_answer_outcome {
	AR_H1_ANSWER_MORE,
	AR_H1_ANSWER_DONE, /* complete */
	AR_H1_ANSWER_BAD, /* see `fault`; the connection is of no further use */
};

struct ar_h1_answer {
	int status;
	bool is_stream;
	uint64_t as_of; /* of AR_AS_OF_HEADER; 0: it is not there, or no sequence */
	bool is_keepalive; /* after DONE: the connection may carry another request */
	struct ar_buf body; /* not of a stream */
	const char *fault;

	const struct ar_h1_answer_vtable *v; /* private from here on */
	llhttp_t parser;
	size_t head_bytes;
	size_t extension_bytes;
	char name[32], value[32]; /* of the header that is read; none that we look for is longer */
	size_t name_len, value_len;
	bool wants_stream;
	bool has_stream_type;
	bool has_head;
	bool is_done;
};

/* v: NULL when no event stream is asked for. */
void ar_h1_answer_init(struct ar_h1_answer *a, const struct ar_h1_answer_vtable *v);
void ar_h1_answer_fini(struct ar_h1_answer *a);

/* Takes bytes in any portion; *ret_used is less than all only after DONE. Not to be called again after DONE
 * or BAD. */
enum ar_h1_answer_outcome ar_h1_answer_feed(struct ar_h1_answer *a, struct ar_str bytes, size_t *ret_used);

/* The peer has sent its last byte: DONE when the answer may end so, else BAD. */
enum ar_h1_answer_outcome ar_h1_answer_finish(struct ar_h1_answer *a);

#endif
