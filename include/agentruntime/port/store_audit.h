/* The audit trail, part of the store port (store.h): who did what. An entry is written in the transaction of
 * what it records, so it is durable when that is; what nothing else is written for has an operation of its
 * own.
 *
 * Entries are numbered by the writer that wrote them, its lane (store_feed.h): 1, 2, 3 without a gap. Each
 * has a hash over the hash of the one before it in its lane and over all it says, so that an entry that was
 * changed or taken out later is found. */
#ifndef AR_PORT_STORE_AUDIT_H
#define AR_PORT_STORE_AUDIT_H

#include "store.h"

/* The place of an entry: the list is in this order. */
struct ar_store_audit_place {
	ar_usec at;
	uint64_t lane, n;
};

struct ar_store_audit_row {
	struct ar_store_audit_place place;
	struct ar_store_audit entry;
	struct ar_hash hash;
};

/* One entry for which nothing else is written. A write: AR_E_FENCED as for an append; AR_E_IO: an outage. */
struct ar_store_audit_put {
	struct ar_store_op op;
	const struct ar_store_audit *entry;
};

/* Entries of a tenant by their place, newest first or oldest first. A page costs what it holds. */
struct ar_store_audit_list {
	struct ar_store_op op;
	struct ar_str tenant; /* absent: of all */
	ar_usec since, until; /* at or after, before; 0: no bound */
	bool is_oldest_first;
	bool has_after;
	/* with has_after: strictly behind this one, in the order of the list */
	struct ar_store_audit_place after;
	size_t limit;
	struct ar_store_audit_row *rows;
	size_t count;
	bool more;
};

/* Why the chain of a lane does not hold. */
enum ar_store_audit_break {
	AR_STORE_AUDIT_CHANGED = 1, /* the entry is not what its hash was made of */
	AR_STORE_AUDIT_MISSING, /* entries before it are gone, and upkeep did not remove them */
};

struct ar_store_audit_fault {
	uint64_t lane, n; /* where it was seen */
	enum ar_store_audit_break what;
};

#define AR_STORE_AUDIT_FAULTS 64 /* reported of one page; the rest is counted */

/* Checks the chains of all lanes, a page at a time. `lane`, `n` and `last` say where the page before ended
 * and are set to where this one did; zeroed they begin. */
struct ar_store_audit_verify {
	struct ar_store_op op;
	uint64_t lane, n;
	struct ar_hash last;
	size_t limit;
	uint64_t checked;
	struct ar_store_audit_fault faults[AR_STORE_AUDIT_FAULTS];
	size_t fault_count; /* may be above what `faults` holds */
	bool more;
};

#endif
