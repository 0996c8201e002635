/* Inside of the SQLite store: two threads, each with a queue and a connection of its own.
 *
 * The writer drains its whole queue into one transaction (group commit); the reader serves short reads
 * together and long ones alone, and never waits for an fsync. Both put what they finished on one list that poll() empties. `lock`
 * guards the queues, the list and the counters; a connection, the heads and the operations of a batch
 * belong to their thread. */
#ifndef AR_EDGE_STORE_SQLITE_H
#define AR_EDGE_STORE_SQLITE_H

#include "blob_cache.h"
#include "file_lock.h"
#include "map.h"
#include "sqlite_stmt.h"
#include "store_open.h"

#include <pthread.h>
#include <stdatomic.h>

#define AR_SQLITE_BATCH 1024 /* appends and chunks in one transaction */

/* Newest sequence per session, so that an append needs no lookup. Bounded: it forgets everything when it
 * is full. */
struct ar_sqlite_heads {
	struct ar_map map;
	struct ar_arena arena;
};

struct ar_sqlite;

struct ar_sqlite_worker {
	struct ar_sqlite *store;
	struct ar_db db;
	struct ar_list queue;
	size_t waiting; /* operations in the queue */
	size_t expected; /* as many as the last batch had: while it gathers, a signal comes at this count only */
	pthread_cond_t queued;
	pthread_t thread;
	bool started;
	bool gathers; /* worth waiting a little for a fuller batch */
	ar_usec cost; /* of the last batch */
	void (*serve)(struct ar_sqlite_worker *w, struct ar_list *batch);
	size_t batch_max;
};

struct ar_sqlite {
	struct ar_store store;
	ar_store_wake_fn *wake;
	void *wake_arg;
	int lock_fd;
	struct ar_pack_dictionaries *dictionaries;

	pthread_mutex_t lock;
	pthread_cond_t finished_some;
	struct ar_list finished;
	size_t in_flight; /* submitted, done() not called yet */
	bool stopping;
	atomic_size_t backlog;

	struct ar_sqlite_worker writer, reader;
	struct ar_sqlite_heads heads; /* the writer's */
	struct ar_blob_cache blobs; /* both threads' */
};

AR_BEGIN_DECLS

/* sqlite_schema.c: brings a fresh connection to the current schema, reads what is kept in the file and
 * takes the next epoch; fills store->epoch, runtime_id and the dictionaries. */
AR_MUST_USE enum ar_status ar_sqlite_set_up(struct ar_sqlite *s, const struct ar_store_sqlite_options *o,
					    struct ar_error *err);

/* sqlite_schema.c: opens one connection and sets what a connection forgets. */
AR_MUST_USE enum ar_status ar_sqlite_connect(const char *path, struct ar_db *db, struct ar_error *err);

/* sqlite_writer.c: one transaction for the whole batch; sets the status of every operation in it. */
void ar_sqlite_write_batch(struct ar_sqlite_worker *w, struct ar_list *batch);
void ar_sqlite_heads_clear(struct ar_sqlite_heads *h);

/* sqlite_append.c: the writes of one operation, inside the writer's transaction. AR_E_IO spoils the
 * transaction; any other failure left nothing behind and is the operation's own. */
enum ar_status ar_sqlite_append(struct ar_sqlite *s, struct ar_store_append *a);
enum ar_status ar_sqlite_chunk(struct ar_sqlite *s, struct ar_store_chunk *c);

/* sqlite_read.c: serves every operation of the batch. */
void ar_sqlite_read_batch(struct ar_sqlite_worker *w, struct ar_list *batch);

/* Looks one receipt up; AR_E_NOT_FOUND without a sentence. Either thread, with its own connection. */
enum ar_status ar_sqlite_receipt_find(struct ar_db *db, struct ar_store_receipt *found, struct ar_arena *a,
				      struct ar_error *err);

/* sqlite_list.c: what READ and LOAD are not. */
enum ar_status ar_sqlite_blobs(struct ar_sqlite *s, struct ar_store_blobs_get *op);
enum ar_status ar_sqlite_sessions(struct ar_db *db, struct ar_store_sessions *op);
enum ar_status ar_sqlite_tasks(struct ar_db *db, struct ar_store_tasks *op);
enum ar_status ar_sqlite_receipt(struct ar_db *db, struct ar_store_receipt_get *op);

AR_END_DECLS

#endif
