/* Inside of the SQLite store: a connection per thread, over the queues and threads of store_threaded.h. The
 * writer's transaction is a whole batch; the reader sees one moment of the file per batch. */
#ifndef AR_EDGE_STORE_SQLITE_H
#define AR_EDGE_STORE_SQLITE_H

#include "audit_chain.h"
#include "blob_cache.h"
#include "file_lock.h"
#include "sqlite_stmt.h"
#include "store/usage.h"
#include "store_feed.h"
#include "store_heads.h"
#include "store_open.h"
#include "store_threaded.h"

struct ar_sqlite {
	struct ar_store_threaded base; /* first */
	int lock_fd;
	struct ar_pack_dictionaries *dictionaries;
	struct ar_db write_db, read_db; /* each its thread's */
	struct ar_store_heads heads; /* the writer's */
	int64_t usage_floor; /* the writer's: hours before this one were removed from the sums */
	/* the writer's: the newest that was given to an append, and up to which may be */
	uint64_t position, reserved;
	struct ar_audit_chain chain; /* the writer's: the newest entry of the audit trail */
	bool is_chain_known;
	struct ar_blob_cache blobs; /* both threads' */
	ar_store_doubt_fn *doubt;
	void *doubt_arg;
	bool has_checksums; /* the writer's: every row of the log has its checksum */
	bool is_in_doubt; /* the writer's: nothing is written any more */
};

AR_BEGIN_DECLS

/* sqlite_schema.c: brings a fresh connection to the current schema, reads what is kept in the file and
 * takes the next epoch; fills the store's epoch, runtime_id and the dictionaries. */
AR_MUST_USE enum ar_status ar_sqlite_set_up(struct ar_sqlite *s, const struct ar_store_sqlite_options *o,
					    struct ar_error *err);

/* sqlite_schema.c: opens one connection and sets what a connection forgets; it keeps at most `cache_kib` of
 * pages. */
AR_MUST_USE enum ar_status ar_sqlite_connect(const char *path, int cache_kib, struct ar_db *db,
					     struct ar_error *err);

/* sqlite_writer.c: one transaction for the whole batch. */
void ar_sqlite_write_batch(struct ar_store_threaded *t, struct ar_list *batch);

/* sqlite_append.c: the writes of one operation, inside the writer's transaction. AR_E_IO spoils the
 * transaction; any other failure left nothing behind and is the operation's own. */
enum ar_status ar_sqlite_append(struct ar_sqlite *s, struct ar_store_append *a);
enum ar_status ar_sqlite_put_actions(struct ar_sqlite *s, struct ar_store_append *a,
				     const struct ar_store_key *key); /* sqlite_action.c */
enum ar_status ar_sqlite_chunk(struct ar_sqlite *s, struct ar_store_chunk *c);

/* sqlite_upkeep.c: the same for one step of upkeep. */
enum ar_status ar_sqlite_upkeep(struct ar_sqlite *s, struct ar_store_upkeep *op);

/* sqlite_checksum.c: the part of it that gives checksums to rows of older versions. */
enum ar_status ar_sqlite_add_checksums(struct ar_sqlite *s, struct ar_store_upkeep *op);

/* sqlite_token.c: the table, and a put of one row. */
extern const char ar_sqlite_token_schema[];
enum ar_status ar_sqlite_token_put(struct ar_sqlite *s, struct ar_store_token_put *op);

/* sqlite_feed.c: the columns, later the floors; the next position, inside the writer's
 * transaction; one page. */
extern const char ar_sqlite_feed_schema[], ar_sqlite_floor_schema[];
AR_MUST_USE enum ar_status ar_sqlite_feed_next(struct ar_sqlite *s, uint64_t *ret, struct ar_error *err);
enum ar_status ar_sqlite_feed(struct ar_db *db, struct ar_store_feed *op);

/* sqlite_audit.c: the tables; one entry and one step of forgetting, inside the writer's transaction; a
 * page of the list and of the chain. */
extern const char ar_sqlite_audit_schema[];
enum ar_status ar_sqlite_audit_put(struct ar_sqlite *s, const struct ar_store_audit *e, struct ar_error *err);
enum ar_status ar_sqlite_audit_prune(struct ar_sqlite *s, struct ar_store_upkeep *op, size_t most);
enum ar_status ar_sqlite_audit_list(struct ar_db *db, struct ar_store_audit_list *op);
enum ar_status ar_sqlite_audit_verify(struct ar_db *db, struct ar_store_audit_verify *op);

/* sqlite_read.c: serves every operation of the batch. */
void ar_sqlite_read_batch(struct ar_store_threaded *t, struct ar_list *batch);

/* Looks one receipt up; AR_E_NOT_FOUND without a sentence. Either thread, with its own connection. */
enum ar_status ar_sqlite_receipt_find(struct ar_db *db, struct ar_store_receipt *found, struct ar_arena *a,
				      struct ar_error *err);

/* sqlite_list.c: what READ and LOAD are not. */
enum ar_status ar_sqlite_blobs(struct ar_sqlite *s, struct ar_store_blobs_get *op);
enum ar_status ar_sqlite_sessions(struct ar_db *db, struct ar_store_sessions *op);
enum ar_status ar_sqlite_tasks(struct ar_db *db, struct ar_store_tasks *op);
enum ar_status ar_sqlite_actions(struct ar_db *db, struct ar_store_actions *op); /* sqlite_action.c */

/* sqlite_item.c: the table, its writes and its reads. */
extern const char ar_sqlite_item_schema[];
enum ar_status ar_sqlite_put_items(struct ar_sqlite *s, struct ar_store_append *a,
				   const struct ar_store_key *key);
enum ar_status ar_sqlite_items(struct ar_db *db, struct ar_store_items *op);
enum ar_status ar_sqlite_tokens(struct ar_db *db, struct ar_store_tokens *op); /* sqlite_token.c */
enum ar_status ar_sqlite_index(struct ar_db *db, struct ar_store_index *op);
enum ar_status ar_sqlite_tenant(struct ar_db *db, struct ar_store_tenant *op);

/* sqlite_usage.c: the table; what an append adds, and one step of forgetting, inside the writer's
 * transaction; a page of sums. */
extern const char ar_sqlite_usage_schema[], ar_sqlite_open_schema[];
enum ar_status ar_sqlite_add_usage(struct ar_sqlite *s, struct ar_store_append *a,
				   const struct ar_store_key *key);
enum ar_status ar_sqlite_usage_prune(struct ar_sqlite *s, struct ar_store_upkeep *op, size_t most);
enum ar_status ar_sqlite_usage(struct ar_db *db, struct ar_store_usage *op);

/* sqlite_due.c: a change of the schema, for sqlite_schema.c; sessions by their due times. */
extern const char ar_sqlite_due_schema[];
enum ar_status ar_sqlite_due(struct ar_db *db, struct ar_store_due *op);
enum ar_status ar_sqlite_receipt(struct ar_db *db, struct ar_store_receipt_get *op);

AR_END_DECLS

#endif
