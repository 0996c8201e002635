/* Reads a server-sent event stream as it arrives: bytes in, whole events out. Pure: no I/O, no clock, no
 * thread of its own; what an event means is left to the caller.
 *
 * Lines end with LF, CR or CRLF; a byte order mark at the start and lines that open with a colon are dropped;
 * the data lines of one event are joined with LF. Bytes may be split anywhere, also inside a CRLF or a UTF-8
 * sequence. */
#ifndef AR_SSE_READER_H
#define AR_SSE_READER_H

#include "buf.h"
#include "status.h"

struct ar_sse_reader {
	/* One event with at least one data line; both strings are valid during the call only. False stops the
	 * feed. */
	bool (*on_event)(void *owner, struct ar_str name, struct ar_str text);
	void *owner;
	struct ar_buf line; /* the unfinished line */
	struct ar_buf text; /* the data lines of the unfinished event */
	struct ar_buf name;
	/* Of the last event that had one; empty: none. With `retry_ms` it is for who reconnects. */
	struct ar_buf id;
	/* How long the server wants a reconnecting reader to wait; negative: it did not say */
	int64_t retry_ms;
	/* Bytes of the byte order mark matched so far; BOM_OVER once the question is settled */
	uint8_t bom_seen;
	bool has_text;
	bool after_cr; /* a LF that comes next belongs to the line before */
};

AR_BEGIN_DECLS

/* `event_max` caps one event (its lines together) in bytes. */
void ar_sse_init(struct ar_sse_reader *r, size_t event_max,
		 bool (*on_event)(void *owner, struct ar_str name, struct ar_str text), void *owner);
void ar_sse_fini(struct ar_sse_reader *r);

/* AR_E_LIMIT when an event passes the cap, AR_E_CANCELED when on_event said stop; the reader is of no use
 * afterwards. */
AR_MUST_USE enum ar_status ar_sse_feed(struct ar_sse_reader *r, struct ar_str bytes);

/* The stream has ended: an event whose lines are complete is delivered although its blank line is missing
 * (many servers close right behind their last line); a line without its end is dropped. */
AR_MUST_USE enum ar_status ar_sse_end(struct ar_sse_reader *r);

AR_END_DECLS

#endif
