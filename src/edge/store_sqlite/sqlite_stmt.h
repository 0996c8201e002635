/* Statements of one SQLite connection: prepared once, bound in order, run, reset. Errors are sticky in the
 * call and come out at its end, so that binding needs no checks:
 *
 *	struct ar_sql q = ar_sql_begin(db, AR_SQL_HEAD);
 *	ar_sql_key(&q, key);
 *	if (ar_sql_row(&q))
 *		head = ar_sql_col_u64(&q, 0);
 *	return ar_sql_end(&q, err);
 *
 * A connection belongs to one thread at a time. */
#ifndef AR_EDGE_STORE_SQLITE_STMT_H
#define AR_EDGE_STORE_SQLITE_STMT_H

#include "row_sum.h"

#include <sqlite3.h>
#include <stdatomic.h>

enum ar_sql_id {
	AR_SQL_BEGIN_WRITE,
	AR_SQL_BEGIN_READ,
	AR_SQL_COMMIT,
	AR_SQL_ROLLBACK,
	AR_SQL_EPOCH,
	AR_SQL_HEAD,
	AR_SQL_KNOWN,
	AR_SQL_LOG_PUT,
	AR_SQL_LOG_AFTER,
	AR_SQL_LOG_FORWARD,
	AR_SQL_LOG_BACKWARD,
	AR_SQL_SNAPSHOT_PUT,
	AR_SQL_SNAPSHOT_GET,
	AR_SQL_SESSION_PUT,
	AR_SQL_SESSION_PUT_SAME,
	AR_SQL_SESSION_TENANT_PUT,
	AR_SQL_SESSION_GET,
	AR_SQL_TENANT_GET,
	AR_SQL_SESSION_LIST,
	AR_SQL_SESSION_LIST_TENANT,
	AR_SQL_SESSION_LIST_ACTIVE,
	AR_SQL_SESSION_LIST_OPEN,
	AR_SQL_SESSION_LIST_OPEN_TENANT,
	AR_SQL_DUE_LIST,
	AR_SQL_TASK_UPDATE,
	AR_SQL_TASK_INSERT,
	AR_SQL_TASK_GET,
	AR_SQL_TASK_LIST,
	AR_SQL_ACTION_PUT,
	AR_SQL_ACTION_LIST,
	AR_SQL_ACTION_LIST_TENANT,
	AR_SQL_ACTION_LIST_ACCOUNT,
	AR_SQL_ACTION_LIST_SESSION,
	AR_SQL_ACTION_PENDING,
	AR_SQL_ACTION_PENDING_TENANT,
	AR_SQL_ACTION_PENDING_ACCOUNT,
	AR_SQL_ACTION_PENDING_SESSION,
	AR_SQL_ITEM_PUT,
	AR_SQL_ITEM_LIST,
	AR_SQL_USAGE_ADD,
	AR_SQL_USAGE_NEW,
	AR_SQL_USAGE_HOUR,
	AR_SQL_USAGE_MODEL,
	AR_SQL_USAGE_WORKSPACE,
	AR_SQL_USAGE_TENANT,
	AR_SQL_USAGE_OLD,
	AR_SQL_TOKEN_VERSION,
	AR_SQL_TOKEN_PUT,
	AR_SQL_TOKEN_DROP,
	AR_SQL_TOKEN_LIST,
	AR_SQL_RECEIPT_PUT,
	AR_SQL_RECEIPT_GET,
	AR_SQL_CHUNK_PUT,
	AR_SQL_CHUNK_LIST,
	AR_SQL_CHUNK_DROP,
	AR_SQL_BLOB_HAS,
	AR_SQL_BLOB_PUT,
	AR_SQL_BLOB_GET,
	AR_SQL_BLOB_GET_OF,
	AR_SQL_REF_PUT,
	AR_SQL_OLD_LIST,
	AR_SQL_OLD_LOG,
	AR_SQL_OLD_SNAPSHOT,
	AR_SQL_OLD_TASK,
	AR_SQL_OLD_ACTION,
	AR_SQL_OLD_ITEM,
	AR_SQL_OLD_CHUNK,
	AR_SQL_OLD_SESSION,
	AR_SQL_OLD_RECEIPT,
	AR_SQL_DOOM,
	AR_SQL_REF_DROP,
	AR_SQL_REF_REMOVE,
	AR_SQL_BLOB_LEAVE,
	AR_SQL_BLOB_DOOM,
	AR_SQL_DOOMED_BLOB,
	AR_SQL_DOOMED_DROP,
	AR_SQL_FEED_LIST,
	AR_SQL_FEED_HEAD,
	AR_SQL_FEED_LIMIT,
	AR_SQL_FEED_RESERVE,
	AR_SQL_FEED_FLOOR,
	AR_SQL_FEED_RAISE,
	AR_SQL_AUDIT_END,
	AR_SQL_AUDIT_PUT,
	AR_SQL_AUDIT_OLD,
	AR_SQL_AUDIT_FLOOR,
	AR_SQL_AUDIT_DROP,
	AR_SQL_AUDIT_FLOOR_GET,
	AR_SQL_AUDIT_AFTER,
	AR_SQL_AUDIT_LIST,
	AR_SQL_AUDIT_LIST_UP,
	AR_SQL_AUDIT_LIST_ALL,
	AR_SQL_AUDIT_LIST_ALL_UP,
	AR_SQL_PROBE,
	AR_SQL_META_GET,
	AR_SQL_META_PUT,
	AR_SQL_CHECKSUM_LIST,
	AR_SQL_CHECKSUM_PUT,
	AR_SQL_COUNT
};

struct ar_db {
	sqlite3 *handle;
	sqlite3_stmt *stmts[AR_SQL_COUNT]; /* prepared at first use */
	struct ar_packer *packer;
	atomic_size_t cached; /* bytes of its pages in memory; the thread that has the connection writes it */
};

/* One run of one statement. */
struct ar_sql {
	struct ar_db *db;
	sqlite3_stmt *stmt;
	int bound;
	int rc; /* SQLITE_OK, _ROW, _DONE or the first error */
};

AR_BEGIN_DECLS

void ar_db_fini(struct ar_db *db);

/* Notes what its caches have now, and `more` beside them. */
void ar_db_note_cached(struct ar_db *db, size_t more);

/* AR_E_IO with SQLite's own sentence. */
enum ar_status ar_db_fail(struct ar_db *db, struct ar_error *err);

/* A statement without parameters or results. */
enum ar_status ar_db_run(struct ar_db *db, enum ar_sql_id id, struct ar_error *err);

struct ar_sql ar_sql_begin(struct ar_db *db, enum ar_sql_id id);
bool ar_sql_row(struct ar_sql *q); /* the next row; false at the end or on error */

/* The same for a page of at most `limit` rows, of which the caller has `count`: a row
 * beyond it only sets *ret_more. */
bool ar_sql_page_row(struct ar_sql *q, size_t count, size_t limit, bool *ret_more);

enum ar_status ar_sql_end(struct ar_sql *q, struct ar_error *err); /* resets; the first error of the run */
enum ar_status ar_sql_run(struct ar_sql *q, struct ar_error *err); /* to its end, then ar_sql_end */

/* Parameters, in order. Text and bytes are borrowed until ar_sql_end(); absent binds NULL. At most one
 * packed value per statement: it lives in the packer. */
void ar_sql_u64(struct ar_sql *q,
		uint64_t v); /* above INT64_MAX binds INT64_MAX: only bounds of ranges are */
void ar_sql_i64(struct ar_sql *q, int64_t v);
void ar_sql_text(struct ar_sql *q, struct ar_str v);
void ar_sql_bytes(struct ar_sql *q, struct ar_str v);
void ar_sql_key(struct ar_sql *q, const struct ar_store_key *key);
void ar_sql_hash(struct ar_sql *q, const struct ar_hash *hash);
void ar_sql_packed(struct ar_sql *q, struct ar_str v);
void ar_sql_checksummed(struct ar_sql *q, struct ar_str v, struct ar_row_sum at);

/* Columns of the current row; col_raw is SQLite's until the next row, the others are copies in the arena. */
uint64_t ar_sql_col_u64(struct ar_sql *q, int col);
int64_t ar_sql_col_i64(struct ar_sql *q, int col);
struct ar_str ar_sql_col_raw(struct ar_sql *q, int col);
struct ar_str ar_sql_col_str(struct ar_sql *q, int col, struct ar_arena *a);
AR_MUST_USE enum ar_status ar_sql_col_packed(struct ar_sql *q, int col, struct ar_arena *a,
					     struct ar_str *ret, struct ar_error *err);
AR_MUST_USE enum ar_status ar_sql_col_checksummed(struct ar_sql *q, int col, struct ar_row_sum at,
						  struct ar_arena *a, struct ar_str *ret,
						  struct ar_error *err);

AR_END_DECLS

#endif
