/* The rows that one write transaction puts into each table: collected from many operations, the last one
 * winning where they name the same row, then sent as one statement per table. Rows point into the operations,
 * which are borrowed until the transaction has ended. The writer thread's. */
#ifndef AR_EDGE_STORE_PG_BATCH_H
#define AR_EDGE_STORE_PG_BATCH_H

#include "audit_chain.h"
#include "map.h"
#include "pg_link.h"

/* In the order of sending: what a closed step drops goes before what is put after it, and so does content
 * that leaves. */
enum ar_pg_table {
	AR_PG_LOG,
	AR_PG_SESSION,
	AR_PG_TASK,
	AR_PG_ACTION,
	AR_PG_ITEM,
	AR_PG_RECEIPT,
	AR_PG_REMOVED,
	AR_PG_BLOB,
	AR_PG_PART,
	AR_PG_REF,
	AR_PG_DROP,
	AR_PG_CHUNK,
	AR_PG_SNAPSHOT,
	AR_PG_AUDIT,
	AR_PG_USAGE,
	AR_PG_TABLES
};

struct ar_pg_row {
	struct ar_str name; /* what is unique in the table */
	struct ar_store_key key;
	const void *from; /* what is written, by table; NULL: dropped again */
	struct ar_str bytes; /* of a part; of a blob: packed, when it is in parts */
	const struct ar_packed_ahead *ahead; /* what may be packed already of it */
	struct ar_audit_chain chain; /* of an audit entry: its number and hash */
	/* Of a task: its place in the batch; of a receipt and a blob: when it is put; of a part: which */
	int64_t n;
};

struct ar_pg_rows {
	struct ar_map by_name;
	struct ar_pg_row **list; /* in the order of first mention */
	size_t count;
};

#define AR_PG_COLUMNS 11
#define AR_PG_PART_BYTES (1u << 20) /* content of more, packed, is stored in parts of this */

struct ar_pg_batch {
	struct ar_arena arena;
	struct ar_pg_rows rows[AR_PG_TABLES];
	const struct ar_packed_ahead *ahead; /* of the operation whose rows are collected */
	/* struct ar_str by hash: names of those that are put elsewhere; kept by a reset */
	struct ar_map objects;
	struct ar_map receipts; /* struct ar_store_receipt by name: those found in the database */
	struct ar_audit_chain chain; /* the end of our lane's, with what the batch adds to it */
	struct ar_pg_array columns[AR_PG_COLUMNS];
};

AR_BEGIN_DECLS

void ar_pg_batch_reset(struct ar_pg_batch *b);
void ar_pg_batch_fini(struct ar_pg_batch *b);

/* Collects all rows of an admitted operation. */
void ar_pg_batch_append(struct ar_pg_batch *b, const struct ar_store_append *a,
			const struct ar_store_key *key);
void ar_pg_batch_chunk(struct ar_pg_batch *b, const struct ar_store_chunk *c, const struct ar_store_key *key);

void ar_pg_batch_audit(struct ar_pg_batch *b, const struct ar_store_audit *e);

/* The name of a receipt, in the batch's arena, and the receipt of that name that the batch itself writes. */
struct ar_str ar_pg_receipt_name(struct ar_pg_batch *b, struct ar_str scope, struct ar_str key);
const struct ar_store_receipt *ar_pg_batch_receipt(const struct ar_pg_batch *b, struct ar_str name);

/* Sends the statements of all tables that have rows, as written by an epoch in a lane. */
void ar_pg_batch_send(struct ar_pg_batch *b, struct ar_pg *pg, uint64_t epoch, uint64_t lane);

AR_END_DECLS

#endif
