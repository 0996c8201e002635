/* What is due when, part of the store port (store.h): a session row may have a time at which its session
 * is to be woken. Those are found by an index of their own, so that a session need not be in memory to be
 * woken. */
#ifndef AR_PORT_STORE_DUE_H
#define AR_PORT_STORE_DUE_H

#include "store.h"

/* Sessions with a due time, earliest first (by time, then by id): the first `limit` after a place. A page
 * costs what it holds, however many sessions have none. */
struct ar_store_due {
	struct ar_store_op op;
	const uint64_t *partitions; /* as in struct ar_store_sessions */
	ar_usec after_due; /* with `after`: strictly behind this place; above 0 */
	struct ar_str after; /* 26 characters; absent = from the earliest */
	size_t limit;
	struct ar_str *ids; /* results: the 26 characters, and the times */
	ar_usec *times;
	size_t count;
	bool more;
};

#endif
