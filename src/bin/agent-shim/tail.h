/* The newest bytes of output beyond what is kept from the start: one ring for all streams, with the order in
 * which they came. */
#ifndef AR_SHIM_TAIL_H
#define AR_SHIM_TAIL_H

#include "journal.h"

#define AR_TAIL_BYTES 262144
#define AR_TAIL_RUNS \
	1024 /* changes of the stream that are remembered; the oldest bytes go when there are more */

struct ar_tail_run {
	uint32_t stream;
	uint32_t len;
};

struct ar_tail {
	char *bytes; /* NULL until the first byte */
	size_t start, used;
	struct ar_tail_run runs[AR_TAIL_RUNS];
	size_t first_run, run_count;
	uint64_t held[AR_STREAM_TTY + 1]; /* bytes of each stream that are in it */
};

/* Takes bytes; the oldest ones leave. At most AR_TAIL_BYTES at once. False: there is no memory for it. */
bool ar_tail_push(struct ar_tail *t, enum ar_record_stream stream, const char *bytes, size_t len);

/* The oldest bytes that lie together: of which stream, where, how many; at most `most`. 0: empty. */
size_t ar_tail_front(const struct ar_tail *t, size_t most, enum ar_record_stream *ret_stream,
		     const char **ret);

void ar_tail_drop(struct ar_tail *t, size_t len); /* the oldest `len` bytes */

#endif
