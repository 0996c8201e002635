/* What agent-shim writes about its one process and the daemon reads: one file of records, one writer,
 * in the order things happened, output among them. The daemon may die at any byte; a reader that starts
 * again from the start sees the same records with the same numbers. A record that is not whole (its
 * length, its checksum) is the end of what is known.
 *
 * Depends on libc alone, so that a static helper can carry it. Little endian, as the machines are that this
 * runs on. */
#ifndef AR_JOURNAL_H
#define AR_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AR_JOURNAL_MAGIC 0x314a5241u /* "ARJ1" */
#define AR_JOURNAL_PAYLOAD_MAX 65536

enum ar_record_type {
	AR_RECORD_SPAWNED = 1, /* {"shimPid","bootId","protocol"} */
	AR_RECORD_APPLIED, /* agent-init's READY: everything is in force, nothing has run */
	AR_RECORD_RELEASED, /* the daemon let it go; from here on it may have run */
	AR_RECORD_STARTED, /* {"pid"} */
	AR_RECORD_OUTPUT, /* raw bytes of `stream` */
	AR_RECORD_INPUT_ACCEPTED, /* {"number","bytes","eof"}; numbers count from 1, each is taken once */
	AR_RECORD_INPUT_WRITTEN, /* {"number"} */
	AR_RECORD_RESIZED, /* {"rows","columns"} */
	/* {"signal","by","reason"}; by: user policy parent_cancellation shutdown timeout limit */
	AR_RECORD_SIGNALLED,
	/* {"boundary","attempted","effect","evidence","errno","count","isLast"}: the first of a kind, and the
	 * last with the count of all when there were more */
	AR_RECORD_VIOLATION,
	/* {"kind","count","evidence"?}: timeout output memory processes file_size; the newest is what ended
	 * it by "limit" */
	AR_RECORD_LIMIT,
	AR_RECORD_TRUNCATED, /* {"stream","from","to"}: bytes of the stream that were counted and not kept */
	AR_RECORD_SPAWN_FAILED, /* {"step","errno","message"}: nothing of the command ran */
	/* {"code"|"signal","by","limit","durationMs","userMs","systemMs","maxRssKb"}; by as in SIGNALLED, or
	 * "itself"; limit: kind or null */
	AR_RECORD_EXIT,
	/* {"count","alive"}: descendants that were killed with it or after its own end; those that could not
	 * be */
	AR_RECORD_LEFTOVERS,
	AR_RECORD_OUTPUT_END, /* {"stdout","stderr","tty"}: bytes of each in all */
	/* Nothing follows. After it ran: EXIT is there; without one nobody knows its end, and nothing is
	 * sealed */
	AR_RECORD_SEALED,
	AR_RECORD_TYPE_COUNT,
};

enum ar_record_stream {
	AR_STREAM_NONE,
	AR_STREAM_STDOUT,
	AR_STREAM_STDERR,
	AR_STREAM_TTY,
};

struct ar_record_head {
	uint32_t magic;
	uint32_t crc; /* CRC-32C of the head with this member 0, then of the payload */
	uint32_t len; /* of the payload */
	uint16_t type; /* enum ar_record_type */
	uint16_t stream; /* enum ar_record_stream */
	uint64_t seq; /* from 1, without gaps */
	uint64_t at; /* microseconds since 1970 */
};

struct ar_record {
	struct ar_record_head head;
	const char *payload;
};

uint32_t ar_crc32c(uint32_t before, const void *bytes, size_t len); /* `before` of the first piece is 0 */

/* Fills magic and crc of a head whose other members are set. */
void ar_record_close(struct ar_record_head *head, const void *payload);

/* The record at the beginning of `bytes`. Returns its whole size; 0: not whole yet, or (*ret_is_broken) never
 * will be. */
size_t ar_record_read(const char *bytes, size_t len, struct ar_record *ret, bool *ret_is_broken);

#endif
