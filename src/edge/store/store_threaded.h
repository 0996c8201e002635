/* What every engine with threads of its own shares: two queues, their two threads and one that packs ahead,
 * one list of what is finished.
 *
 * The writer gets everything that waits at once (group commit); the reader gets short reads together and long
 * ones alone, and never waits for a commit. Both put what they finished on one list that poll() empties.
 * `lock` guards the queues, the list and the counters; what an engine keeps per thread (a connection, a
 * batch) is that thread's alone. An engine embeds this as its first member and gives two functions that serve
 * a batch. */
#ifndef AR_EDGE_STORE_THREADED_H
#define AR_EDGE_STORE_THREADED_H

#include "blob_cache.h"
#include "store_ahead.h"

#include <pthread.h>
#include <stdatomic.h>

#define AR_STORE_BATCH 1024 /* appends and chunks handed to the writer at once */

struct ar_store_threaded;

/* Sets the status of every operation in the batch; they are handed over when it returns. */
typedef void ar_store_serve_fn(struct ar_store_threaded *t, struct ar_list *batch);

struct ar_store_thread {
	struct ar_store_threaded *owner;
	ar_store_serve_fn *serve;
	size_t batch_max;
	bool gathers; /* worth waiting a little for a fuller batch */
	ar_usec cost; /* of the last batch */
	struct ar_list queue;
	size_t waiting; /* operations in the queue */
	/* As many as the last batch had: while it gathers, a signal comes at this count only */
	size_t expected;
	pthread_cond_t queued;
	pthread_t thread;
	bool started;
};

struct ar_store_threaded {
	struct ar_store store;
	ar_store_wake_fn *wake;
	void *wake_arg;
	/* the engine's: what is here is not asked of the reader; NULL for none */
	struct ar_blob_cache *contents;
	uint64_t (*cached)(struct ar_store_threaded *t); /* beside `contents`; the loop asks. NULL: nothing */
	void (*dispose)(struct ar_store_threaded *t); /* the engine's own part, at the end of all; frees t */

	pthread_mutex_t lock;
	pthread_cond_t finished_some;
	struct ar_list finished;
	size_t in_flight; /* submitted, done() not called yet */
	bool stopping;
	bool is_polling; /* the loop's: poll() is on the stack and goes on until nothing is finished */
	atomic_bool closing;
	atomic_size_t backlog;
	uint64_t batches[AR_STORE_BATCH_SIZES]; /* of the writer, as in ar_store_counts */
	uint64_t batched;
	struct ar_store_thread writer, reader;
	struct ar_store_ahead ahead; /* packs what waits for the writer */
};

AR_BEGIN_DECLS

/* Makes a zeroed struct ready; no thread runs yet. wake, wake_arg and dispose are the caller's to set. */
void ar_store_threaded_init(struct ar_store_threaded *t, ar_store_serve_fn *write, ar_store_serve_fn *read);

AR_MUST_USE enum ar_status ar_store_threaded_start(struct ar_store_threaded *t, struct ar_error *err);

/* Ends the threads, if they run, and disposes: for an open that failed. close() does it after the rest. */
void ar_store_threaded_free(struct ar_store_threaded *t);

/* Whether close() waits: waiting for the end of an outage is then shorter. Any thread. */
bool ar_store_threaded_closing(const struct ar_store_threaded *t);

/* Writes submitted and not yet served. Any thread. */
size_t ar_store_threaded_backlog(const struct ar_store_threaded *t);

AR_END_DECLS

#endif
