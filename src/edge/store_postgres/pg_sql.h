/* The SQL that runs while the store is open, by name. Plain statements that PostgreSQL and those that speak its
 * protocol (Aurora, AlloyDB, Citus, CockroachDB, YugabyteDB) take alike: no LISTEN, no advisory locks, no
 * server-side code. Tables are in pg_schema.c. */
#ifndef AR_EDGE_STORE_PG_SQL_H
#define AR_EDGE_STORE_PG_SQL_H

#include "compiler.h"

enum ar_pg_id {
	AR_PG_BEGIN_WRITE,
	AR_PG_BEGIN_READ,
	AR_PG_NO_TIMEOUT,
	AR_PG_COMMIT,
	AR_PG_ROLLBACK,
	AR_PG_FENCE,
	AR_PG_CLAIM,
	AR_PG_HEADS,
	AR_PG_RECEIPTS,
	AR_PG_LOG_PUT,
	AR_PG_SESSION_PUT,
	AR_PG_TASK_PUT,
	AR_PG_RECEIPT_PUT,
	AR_PG_BLOB_PUT,
	AR_PG_CHUNK_DROP,
	AR_PG_CHUNK_PUT,
	AR_PG_SNAPSHOT_PUT,
	AR_PG_LOG_HAS,
	AR_PG_RECEIPT_HAS,
	AR_PG_SPAN,
	AR_PG_LOG_AFTER,
	AR_PG_LOG_FORWARD,
	AR_PG_LOG_BACKWARD,
	AR_PG_SNAPSHOT_GET,
	AR_PG_CHUNK_LIST,
	AR_PG_RECEIPT_GET,
	AR_PG_BLOB_GET,
	AR_PG_SESSION_GET,
	AR_PG_SESSION_LIST,
	AR_PG_SESSION_LIST_ACTIVE,
	AR_PG_SESSION_LIST_OWNED,
	AR_PG_SESSION_LIST_OWNED_ACTIVE,
	AR_PG_TASK_GET,
	AR_PG_TASK_LIST,
	AR_PG_SQL_COUNT
};

#define AR_PG_WINDOW 512 /* rows that one window statement looks at */

AR_BEGIN_DECLS

extern const char *const ar_pg_sql_text[AR_PG_SQL_COUNT];

AR_END_DECLS

#endif
