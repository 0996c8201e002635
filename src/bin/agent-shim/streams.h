/* What the process writes: drained as it comes, never waited for. The first output_bytes of all streams
 * together go into the journal, later ones are counted, and the newest of them written at the end behind the
 * ranges that are missing. */
#ifndef AR_SHIM_STREAMS_H
#define AR_SHIM_STREAMS_H

#include "journal_file.h"
#include "tail.h"

struct ar_loop;
struct ar_shim;

struct ar_stream {
	int fd; /* -1: none, or at its end */
	uint64_t total; /* bytes that came */
	/* Of them in the journal, or recorded as missing: where the next record of this stream begins */
	uint64_t kept;
	uint64_t quiet_until; /* a terminal that nobody has open: it may be opened again */
};

struct ar_streams {
	struct ar_stream at[AR_STREAM_TTY + 1];
	uint64_t room; /* what may still be kept */
	bool is_over; /* something was not kept from the start */
	struct ar_tail tail;
	/* Read and not yet in the journal: more than nothing only while the disk is full. */
	enum ar_record_stream waiting;
	size_t waiting_from, waiting_to;
	char bytes[AR_JOURNAL_PAYLOAD_MAX];
};

void ar_streams_init(struct ar_streams *st, uint64_t room);
void ar_streams_add_fd(struct ar_streams *st, enum ar_record_stream stream, int fd);
void ar_streams_watch(struct ar_shim *s, struct ar_loop *l);

/* The process and all its descendants are gone: reads what is left. True: every stream is at its end. */
bool ar_streams_drain(struct ar_shim *s);

void ar_streams_close(struct ar_streams *st); /* even if others hold the other ends */

/* Nothing more is kept from the start: what waits and what comes is counted, the newest of it held in
 * memory. */
void ar_streams_stop_keeping(struct ar_shim *s);

/* The missing ranges, then the newest bytes. False: the disk is full, call it again; or, with gives_up, the
 * newest bytes are recorded as missing too. */
bool ar_streams_write_tail(struct ar_shim *s, bool gives_up);

#endif
