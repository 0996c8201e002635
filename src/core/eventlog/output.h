/* The output of one open model step: bytes in the order they came, cut into segments by kind. Positions
 * count over all segments, so one number says how much of a step a reader has. Or one stream of a
 * process: a single segment, whose oldest bytes may be forgotten. Owner: the loop thread. */
#ifndef AR_EVENTLOG_OUTPUT_H
#define AR_EVENTLOG_OUTPUT_H

#include "buf.h"
#include "catalog.h"
#include "list.h"

struct ar_output_segment {
	uint8_t kind; /* enum ar_output_kind */
	uint32_t index;
	uint64_t pos; /* where it begins in the step */
	uint64_t len;
	uint64_t offset; /* where it begins in the content of its kind and index */
	/* set when the bytes are not the output's own (stored content); absent = unavailable */
	struct ar_str bytes;
};

struct ar_output {
	struct ar_list node; /* follow's */
	struct ar_str session; /* the 26 characters */
	struct ar_str ids[AR_SCOPE_COUNT]; /* of the step's events; step id included */
	uint64_t step; /* number of the step, or ar_cursor_stream() */
	int stream; /* enum ar_process_stream; 0: it is a step's */
	uint64_t dropped; /* bytes at the beginning that are no longer here */
	struct ar_buf bytes;
	struct ar_output_segment *segments;
	size_t count, room;
	uint64_t pos; /* total length */
};

/* Adds bytes of a kind; a new segment begins when kind or index change. */
void ar_output_add(struct ar_output *o, uint8_t kind, uint32_t index, struct ar_str bytes);

/* Adds a segment whose bytes live elsewhere (absent: they are not to be had). */
void ar_output_add_stored(struct ar_output *o, uint8_t kind, uint32_t index, uint64_t len,
			  struct ar_str bytes);

/* The piece at `pos`: within one segment, at most `max` bytes, whole UTF-8 characters. False at the end. */
struct ar_output_piece {
	const struct ar_output_segment *segment;
	uint64_t pos, offset, len;
	struct ar_str bytes;
};
bool ar_output_piece_at(const struct ar_output *o, uint64_t pos, size_t max, struct ar_output_piece *ret);

/* Keeps about the newest `keep` bytes of a stream, in whole characters; readers are told
 * of the others without them. */
void ar_output_forget(struct ar_output *o, size_t keep);

/* Bytes of a stream that nobody has: only their number is sent. What was here before them goes too. */
void ar_output_skip(struct ar_output *o, uint8_t kind, uint64_t len);

/* All bytes of one kind and index, appended to `out`. */
void ar_output_collect(const struct ar_output *o, uint8_t kind, uint32_t index, struct ar_buf *out);

void ar_output_fini(struct ar_output *o);

#endif
