/* Kinds of operations of a store (port/store.h), and how many of each were done. */
#ifndef AR_PORT_STORE_COUNTS_H
#define AR_PORT_STORE_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

enum ar_store_op_kind {
	AR_STORE_APPEND = 1,
	AR_STORE_CHUNK,
	AR_STORE_UPKEEP,
	AR_STORE_LOAD,
	AR_STORE_READ,
	AR_STORE_RECEIPT,
	AR_STORE_BLOBS,
	AR_STORE_SESSIONS,
	AR_STORE_TASKS,
	AR_STORE_ACTIONS,
	AR_STORE_INDEX,
	AR_STORE_TENANT,
	AR_STORE_TOKEN_PUT,
	AR_STORE_TOKENS,
	AR_STORE_FEED,
	AR_STORE_AUDIT_PUT,
	AR_STORE_AUDIT_LIST,
	AR_STORE_AUDIT_VERIFY,
	AR_STORE_ITEMS,
	AR_STORE_DUE,
	AR_STORE_USAGE,
	AR_STORE_OP_COUNT
};

#define AR_STORE_WHY 256
#define AR_STORE_BATCH_SIZES 12 /* 1, 2, 4 ... 1024 writes that shared a commit, and more */

/* What was done so far, for metrics; written by poll() and submit() on their thread. */
struct ar_store_counts {
	uint64_t done[AR_STORE_OP_COUNT]; /* by kind */
	uint64_t failed[AR_STORE_OP_COUNT]; /* of those: because of an outage, not of the request */
	uint64_t waiting; /* submitted, and not done */
	uint64_t batches[AR_STORE_BATCH_SIZES]; /* commits by their size */
	uint64_t batched; /* writes in all of them */
	uint64_t outages; /* operations that failed in an outage: disk, network, server */
	bool is_unwritable, is_unreadable; /* the newest write or read failed so */
	char why[AR_STORE_WHY]; /* the newest of them, in words */
};

#endif
