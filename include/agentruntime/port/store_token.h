/* The part of the store port that is about API tokens: two operations, under the same rules as those of
 * store.h. */
#ifndef AR_PORT_STORE_TOKEN_H
#define AR_PORT_STORE_TOKEN_H

#include "store.h"

/* One row per API token: what its secret is held against and what it may do, as core/access wrote it. The
 * store does not look into it. Every put gives the row a new version, above those of all rows that can be
 * read already: who has read up to a version finds whatever changed since above it. */
struct ar_store_token_row {
	struct ar_str token; /* its public id */
	uint64_t version;
	struct ar_str record;
};

/* A write. AR_E_EXISTS: the stored version is not the expected one, nothing was written. AR_E_FENCED as for
 * an append; AR_E_IO: an outage, and the row may be stored nevertheless. */
struct ar_store_token_put {
	struct ar_store_op op;
	struct ar_str token; /* not empty */
	/* Absent: the row of that version is removed. Not the newest of all: versions go on from it. */
	struct ar_str record;
	uint64_t expected; /* 0: there is none yet */
	/* who did it, in the same transaction; NULL: nothing is recorded */
	const struct ar_store_audit *audit;
	uint64_t version; /* result of what was not removed */
};

/* Tokens whose version is above `after`, in the order of versions. */
struct ar_store_tokens {
	struct ar_store_op op;
	uint64_t after;
	size_t limit;
	struct ar_store_token_row *rows;
	size_t count;
	bool more;
};

#endif
