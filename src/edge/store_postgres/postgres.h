/* Inside of the PostgreSQL store: a connection per thread, over the queues and threads of store_threaded.h;
 * membership has a third of its own (pg_member.h). The writer's transaction is a whole batch, sent as one
 * pipeline; the reader sees one moment of the database per operation.
 *
 * Who may write is a row: node(id, epoch, connection). Open takes the next epoch; each connection of the
 * writer takes the next connection number; every write transaction checks both under a lock that lasts until
 * its end. So a takeover waits for a commit under way, and after the writer reconnected nothing that it had
 * sent before can still commit: what the log says then is final. */
#ifndef AR_EDGE_STORE_POSTGRES_H
#define AR_EDGE_STORE_POSTGRES_H

#include "audit_chain.h"
#include "blob_cache.h"
#include "member.h"
#include "objects.h"
#include "pg_batch.h"
#include "pg_link.h"
#include "store/usage.h"
#include "store_feed.h"
#include "store_heads.h"
#include "store_open.h"
#include "store_threaded.h"

#define AR_POSTGRES_APPEND_MAX (512u << 20) /* bytes of one append: an array must stay below 1 GiB */
#define AR_POSTGRES_BATCH_BYTES (32u << 20) /* of one transaction, unless a single append has more */

struct ar_postgres {
	struct ar_store_threaded base; /* first */
	char *conninfo, *node;
	char application[AR_PG_APPLICATION + 1]; /* the name of our connections */
	char cluster_key[AR_MEMBER_KEY + 1];
	bool is_in_clear; /* the first connection left this machine unencrypted */
	struct ar_pg_target target;
	ar_usec patience; /* with a server that is away */
	struct ar_pack_dictionaries *dictionaries;
	struct ar_pg writer, reader; /* each its thread's */
	struct ar_blob_cache blobs; /* both threads'; only what is stored */

	/* the writer's */
	struct ar_store_heads heads;
	struct ar_pg_batch batch;
	struct ar_objects *objects; /* where large content goes; NULL: nowhere else */
	size_t object_min; /* bytes from which on it does */
	struct ar_arena object_arena; /* names of the batch */
	uint64_t connection; /* the number this connection claimed */
	uint64_t lane; /* of the feeds: ours until our epoch ends */
	struct ar_audit_chain chain; /* of the lane: its newest audit entry */
	bool is_chain_known;
	unsigned rounds; /* of upkeep: whose turn it is to be dropped */
	bool has_checksums; /* every row of the log has its checksum */
	bool is_commit_sent; /* of the batch: its end is unknown until the server says it */
};

AR_BEGIN_DECLS

/* pg_migration_retention.c: a change of the schema, for pg_schema.c. */
extern const char ar_pg_migration_retention[];

/* token/pg_token.c: a change of the schema, for pg_schema.c; one put, in a transaction of its own; the
 * list. */
extern const char ar_pg_migration_token[];
enum ar_status ar_postgres_token_put(struct ar_postgres *s, struct ar_store_token_put *op);
enum ar_status ar_postgres_tokens(struct ar_pg *pg, struct ar_store_tokens *op);

/* feed/pg_feed.c: two changes of the schema, for pg_schema.c; a lane for our epoch, inside the transaction
 * that took it; the lane given back, which is the last thing that a writer does; a page. */
extern const char ar_pg_migration_feed[], ar_pg_migration_floor[];
AR_MUST_USE enum ar_status ar_postgres_acquire_lane(struct ar_postgres *s, struct ar_error *err);
void ar_postgres_leave_lane(struct ar_postgres *s);
enum ar_status ar_postgres_feed(struct ar_pg *pg, struct ar_store_feed *op);

/* pg_list.c: the numbers of partitions, for a statement. */
void ar_postgres_list_partitions(const uint64_t *bits, struct ar_pg_array *ret);

/* due/pg_due.c: a change of the schema, for pg_schema.c; sessions by their due times. */
extern const char ar_pg_migration_due[];
enum ar_status ar_postgres_due(struct ar_pg *pg, struct ar_store_due *op);

/* audit/pg_audit.c: a change of the schema, for pg_schema.c; the end of our chain, before a transaction that
 * adds to it (false: the call failed, ar_pg_end() says how), and what became of it; a page of the list and of
 * the chains. */
extern const char ar_pg_migration_audit[];
bool ar_postgres_audit_begin(struct ar_postgres *s);
void ar_postgres_audit_end(struct ar_postgres *s, bool is_written);
enum ar_status ar_postgres_audit_list(struct ar_pg *pg, struct ar_store_audit_list *op);
enum ar_status ar_postgres_audit_verify(struct ar_pg *pg, struct ar_store_audit_verify *op);

/* usage/pg_usage.c: a change of the schema, for pg_schema.c; a page of sums. */
extern const char ar_pg_migration_usage[];
enum ar_status ar_postgres_usage(struct ar_pg *pg, struct ar_store_usage *op);

/* item/pg_item.c: a change of the schema, for pg_schema.c; a page. */
extern const char ar_pg_migration_item[];
enum ar_status ar_postgres_items(struct ar_pg *pg, struct ar_store_items *op);

/* pg_schema.c: an empty database gets the current schema, inside the caller's transaction. AR_E_UNAVAILABLE
 * with what to do when it has another version. */
AR_MUST_USE enum ar_status ar_postgres_ensure_schema(struct ar_pg *pg, struct ar_error *err);

/* pg_set_up.c: ensures the schema, reads what is kept in the database and takes the next epoch; fills the
 * store's epoch, runtime_id, the cluster's key, the connection number and the dictionaries. Uses the writer's
 * link before it is prepared. AR_E_EXISTS: another process runs as this node. */
AR_MUST_USE enum ar_status ar_postgres_set_up(struct ar_postgres *s,
					      const struct ar_store_postgres_options *o,
					      struct ar_error *err);

/* pg_writer.c: one transaction per batch, more when its bytes are too many for one. */
void ar_postgres_write_batch(struct ar_store_threaded *t, struct ar_list *batch);

/* pg_writer.c: sends the begin of a write transaction, with the fence: the first result is the fence's. */
void ar_postgres_begin(struct ar_postgres *s);

/* pg_upkeep.c: one step, in transactions of its own. */
enum ar_status ar_postgres_upkeep(struct ar_postgres *s, struct ar_store_upkeep *op);

/* pg_upkeep.c: ends a transaction of upkeep. */
enum ar_pg_fault ar_postgres_commit(struct ar_postgres *s);

/* checksum/pg_checksum.c: the part of a step that gives checksums to rows of older versions, in a transaction
 * of its own. */
enum ar_pg_fault ar_postgres_add_checksums(struct ar_postgres *s, struct ar_store_upkeep *op);

/* pg_object.c: puts what of the operations is to become an object, before their transaction; those that it
 * failed for are ended and moved to `failed`. Names are kept for the batch until they are forgotten. */
void ar_postgres_put_objects(struct ar_postgres *s, struct ar_list *ops, struct ar_list *failed);
void ar_postgres_forget_objects(struct ar_postgres *s);

/* pg_object.c: fetches and unpacks one, and holds it against its hash: AR_E_CORRUPT when it is not the
 * content. */
enum ar_status ar_postgres_object_get(struct ar_postgres *s, struct ar_str name, const struct ar_hash *hash,
				      struct ar_store_blobs_get *op, struct ar_str *ret);

/* pg_object.c: removes some of the objects that nothing names any more. */
void ar_postgres_remove_objects(struct ar_postgres *s, struct ar_store_upkeep *op);

/* pg_partition.c: makes the log's partitions of this month and the next, and drops one that ended before
 * `before` and is empty. Whatever is busy is left for another time. */
void ar_postgres_partition_log(struct ar_postgres *s, ar_usec before);

/* pg_admit.c: reads heads and receipts of the batch from the database into the store's memory, inside the
 * open transaction; then the batch can be admitted with `looked`. */
void ar_postgres_look(struct ar_postgres *s, struct ar_list *ops);

/* pg_admit.c: sets the status of every operation and collects the rows of those admitted. False when that
 * needs a look first (never with `looked`). */
bool ar_postgres_admit(struct ar_postgres *s, struct ar_list *ops, bool looked);

/* pg_admit.c: bytes that an operation writes, before packing. */
size_t ar_postgres_weight(const struct ar_store_op *op);

/* pg_recover.c: a connection again, waited for as long as the patience lasts, or without end (but for a
 * close) when a commit's outcome hangs on it. AR_E_FENCED: connected, but another owns the store. */
AR_MUST_USE enum ar_status ar_postgres_reconnect(struct ar_postgres *s, struct ar_error *err);

/* pg_recover.c: whether the batch whose commit was sent is stored. AR_E_UNAVAILABLE: the connection was lost
 * again. A batch that cannot be recognised is one that may be written twice: it counts as not stored. */
AR_MUST_USE enum ar_status ar_postgres_was_written(struct ar_postgres *s, bool *ret, struct ar_error *err);

/* pg_recover.c: waits before the next try to connect; false when the patience is over. */
bool ar_postgres_wait(unsigned tries, ar_usec deadline);

/* pg_read.c: serves every operation of the batch. */
void ar_postgres_read_batch(struct ar_store_threaded *t, struct ar_list *batch);

/* pg_list.c: sends one statement and gives its rows to `take`. */
typedef enum ar_status ar_postgres_read_fn(struct ar_pg *pg, const PGresult *r, struct ar_store_op *op);
enum ar_status ar_postgres_query(struct ar_pg *pg, enum ar_pg_id id, const struct ar_pg_args *args,
				 struct ar_store_op *op, ar_postgres_read_fn *take);

/* pg_list.c: what READ and LOAD are not. */
enum ar_status ar_postgres_receipt(struct ar_pg *pg, struct ar_store_receipt_get *op);
enum ar_status ar_postgres_blobs(struct ar_postgres *s, struct ar_store_blobs_get *op);
enum ar_status ar_postgres_sessions(struct ar_pg *pg, struct ar_store_sessions *op);
enum ar_status ar_postgres_tasks(struct ar_pg *pg, struct ar_store_tasks *op);
enum ar_status ar_postgres_actions(struct ar_pg *pg, struct ar_store_actions *op); /* pg_action.c */
enum ar_status ar_postgres_index(struct ar_pg *pg, struct ar_store_index *op);
enum ar_status ar_postgres_tenant(struct ar_pg *pg, struct ar_store_tenant *op);

AR_END_DECLS

#endif
