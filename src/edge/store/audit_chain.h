/* The chain of audit entries of one lane, the same for every engine: what the next one is hashed with, and
 * whether stored ones still hold together. Pure functions over the caller's memory; any thread. */
#ifndef AR_EDGE_AUDIT_CHAIN_H
#define AR_EDGE_AUDIT_CHAIN_H

#include "store_audit.h"

/* Where a chain ends; zeroed it has not begun. */
struct ar_audit_chain {
	uint64_t n;
	struct ar_hash hash;
};

AR_BEGIN_DECLS

/* One entry further. */
void ar_audit_chain_add(struct ar_audit_chain *c, const struct ar_store_audit *e);

/* Of the next stored row: whether it continues what the page has seen. `floor` is where its lane begins: the
 * last entry that upkeep removed. */
void ar_audit_verify_row(struct ar_store_audit_verify *op, const struct ar_store_audit_row *row,
			 const struct ar_audit_chain *floor);

/* Where a list begins in its order: behind `after`, or before the first of all. */
struct ar_store_audit_place ar_audit_list_from(const struct ar_store_audit_list *op);

/* A hash as stored; anything else is one that nothing has. */
struct ar_hash ar_audit_hash_from(struct ar_str bytes);

AR_END_DECLS

#endif
