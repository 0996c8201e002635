/* The head of an HTTP/1 request, read strictly: what our own eyes see in the raw bytes before the parser
 * library does. Two readers have to agree on where a request ends; this one refuses everything on which
 * readers are known to differ. */
#ifndef AR_TRANSPORT_H1_HEAD_H
#define AR_TRANSPORT_H1_HEAD_H

#include "message.h"

/* Borrowed from the raw bytes, as the request itself. */
struct ar_h1_head {
	struct ar_http_head request;
	struct ar_str content_length;
	struct ar_str transfer_encoding;
	struct ar_str expect;
	uint64_t length; /* declared length of the body; 0 when chunked or none */
	bool is_chunked;
	bool is_1_0;
};

/* Watches the bytes of a head arrive. Zero it for each request. */
struct ar_h1_scan {
	char last; /* previous byte */
	bool has_line; /* the current line has bytes */
	bool is_over; /* the empty line was seen */
	bool has_lines; /* at least the request line is complete */
};

/* Takes bytes until the empty line that ends the head: returns how many belong to it (all, when it goes on).
 * A byte that no head may hold (control characters, bare CR, bare LF) is a fault at once, so that nobody
 * waits for more. */
size_t ar_h1_scan(struct ar_h1_scan *s, struct ar_str bytes, struct ar_fault *ret_fault);

/* Reads a whole head that the scan let pass; false with *ret_fault set when a rule is broken. */
bool ar_h1_head_read(struct ar_str raw, struct ar_h1_head *ret, struct ar_fault *ret_fault);

#endif
