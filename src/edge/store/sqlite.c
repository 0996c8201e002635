/* The SQLite store as seen from outside: open, submit, poll, close, and the loop that both threads run.
 * What a batch does is in sqlite_writer.c and sqlite_read.c; threads and locks are explained in sqlite.h. */
#include "sqlite.h"

#include "clock.h"
#include "mem.h"

#include <signal.h>

#define READ_BATCH 16 /* short reads in one transaction: the first answer waits for the last of them */
#define GATHER_SHARE 4 /* the wait for a fuller batch is this part of what the last commit took, */
#define GATHER_MAX 1000 /* and never longer than these microseconds */

static struct ar_sqlite *sqlite_of(const struct ar_store *s)
{
	return AR_CONTAINER_OF(s, struct ar_sqlite, store);
}

static struct ar_store_op *op_of(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_store_op, node);
}

/* Reads whose size the caller bounds by pages or more: each is served alone, so that none waits behind it. */
static bool is_long(const struct ar_store_op *op)
{
	return op->kind == AR_STORE_LOAD || op->kind == AR_STORE_READ || op->kind == AR_STORE_BLOBS;
}

/* The sessions that the last commit answered are about to write again. A commit that starts with the first of them makes
 * all others wait for a whole one more, so a writer whose last batch had several waits for as many, a fraction of what a
 * commit costs. One session alone never waits. */
static void gather(struct ar_sqlite_worker *w)
{
	ar_usec wait = w->cost / GATHER_SHARE < GATHER_MAX ? w->cost / GATHER_SHARE : GATHER_MAX;
	ar_usec until = ar_clock_system()->mono(ar_clock_system()) + wait;
	struct timespec deadline = { .tv_sec = until / 1000000, .tv_nsec = until % 1000000 * 1000 };

	while (w->waiting < w->expected && !w->store->stopping) {
		if (pthread_cond_clockwait(&w->queued, &w->store->lock, CLOCK_MONOTONIC, &deadline) != 0)
			return;
	}
}

static void take_queued(struct ar_sqlite_worker *w, struct ar_list *batch)
{
	bool is_last = false;

	for (w->expected = 0; w->expected < w->batch_max && w->waiting > 0 && !is_last; w->expected++) {
		struct ar_list *node = ar_list_pop(&w->queue);

		w->waiting--;
		ar_list_push(batch, node);
		is_last = is_long(op_of(node)) || (w->waiting > 0 && is_long(op_of(w->queue.next)));
	}
}

/* Waits for work; false when there will be none any more. */
static bool take_batch(struct ar_sqlite_worker *w, struct ar_list *batch)
{
	struct ar_sqlite *s = w->store;

	pthread_mutex_lock(&s->lock);
	while (!w->waiting && !s->stopping)
		pthread_cond_wait(&w->queued, &s->lock);
	if (w->gathers && w->expected > 1)
		gather(w);
	take_queued(w, batch);
	pthread_mutex_unlock(&s->lock);
	return !ar_list_empty(batch);
}

/* One wake per burst: poll() takes the whole list, so only the first on an empty list has to call. */
static void hand_over(struct ar_sqlite *s, struct ar_list *batch)
{
	bool first;

	pthread_mutex_lock(&s->lock);
	first = ar_list_empty(&s->finished);
	ar_list_splice(&s->finished, batch);
	pthread_cond_signal(&s->finished_some);
	pthread_mutex_unlock(&s->lock);
	if (first && s->wake)
		s->wake(s->wake_arg);
}

static void *worker_main(void *arg)
{
	struct ar_sqlite_worker *w = arg;
	struct ar_clock *clock = ar_clock_system();
	struct ar_list batch;

	ar_list_init(&batch);
	while (take_batch(w, &batch)) {
		ar_usec start = clock->mono(clock);

		w->serve(w, &batch);
		w->cost = clock->mono(clock) - start;
		hand_over(w->store, &batch);
	}
	return NULL;
}

static void sqlite_submit(struct ar_store *store, struct ar_store_op *op)
{
	struct ar_sqlite *s = sqlite_of(store);
	bool is_write = ar_store_op_is_write(op);
	struct ar_sqlite_worker *w = is_write ? &s->writer : &s->reader;
	bool is_awaited;

	AR_ASSERT(op->kind > 0 && op->kind < AR_STORE_OP_COUNT);
	op->status = AR_OK;
	op->err = (struct ar_error){ 0 };
	if (is_write)
		atomic_fetch_add(&s->backlog, 1);
	pthread_mutex_lock(&s->lock);
	s->in_flight++;
	ar_list_push(&w->queue, &op->node);
	w->waiting++;
	is_awaited = w->waiting == 1 || w->waiting == w->expected;
	pthread_mutex_unlock(&s->lock);
	if (is_awaited) /* after the unlock: the worker needs that lock first of all */
		pthread_cond_signal(&w->queued);
}

static void sqlite_poll(struct ar_store *store)
{
	struct ar_sqlite *s = sqlite_of(store);
	struct ar_list finished, *node;

	ar_list_init(&finished);
	pthread_mutex_lock(&s->lock);
	ar_list_splice(&finished, &s->finished);
	AR_LIST_FOR (it, &finished)
		s->in_flight--;
	pthread_mutex_unlock(&s->lock);
	while ((node = ar_list_pop(&finished)))
		op_of(node)->done(op_of(node));
}

/* done() may submit again, so this goes on until nothing is left. */
static void finish_submitted(struct ar_sqlite *s)
{
	bool idle = false;

	while (!idle) {
		pthread_mutex_lock(&s->lock);
		while (s->in_flight && ar_list_empty(&s->finished))
			pthread_cond_wait(&s->finished_some, &s->lock);
		idle = !s->in_flight;
		pthread_mutex_unlock(&s->lock);
		sqlite_poll(&s->store);
	}
}

static void worker_fini(struct ar_sqlite_worker *w)
{
	if (w->started)
		pthread_join(w->thread, NULL);
	ar_db_fini(&w->db);
	pthread_cond_destroy(&w->queued);
}

static void sqlite_free(struct ar_sqlite *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopping = true;
	pthread_cond_broadcast(&s->writer.queued);
	pthread_cond_broadcast(&s->reader.queued);
	pthread_mutex_unlock(&s->lock);
	worker_fini(&s->reader);
	worker_fini(&s->writer); /* last: the last connection to close folds the WAL in */
	ar_sqlite_heads_clear(&s->heads);
	ar_arena_fini(&s->heads.arena);
	ar_blob_cache_fini(&s->blobs);
	ar_pack_dictionaries_free(s->dictionaries);
	ar_file_lock_drop(s->lock_fd);
	pthread_cond_destroy(&s->finished_some);
	pthread_mutex_destroy(&s->lock);
	ar_free(s);
}

static void sqlite_close(struct ar_store *store)
{
	struct ar_sqlite *s = sqlite_of(store);

	finish_submitted(s);
	sqlite_free(s);
}

static const struct ar_store_vtable sqlite_vtable = {
	.submit = sqlite_submit,
	.poll = sqlite_poll,
	.close = sqlite_close,
};

static void worker_init(struct ar_sqlite *s, struct ar_sqlite_worker *w)
{
	w->store = s;
	ar_list_init(&w->queue);
	pthread_cond_init(&w->queued, NULL);
}

static struct ar_sqlite *sqlite_new(const struct ar_store_sqlite_options *o)
{
	struct ar_sqlite *s = ar_new0(sizeof *s);

	s->store.v = &sqlite_vtable;
	s->wake = o->wake;
	s->wake_arg = o->wake_arg;
	s->lock_fd = -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->finished_some, NULL);
	ar_list_init(&s->finished);
	ar_blob_cache_init(&s->blobs);
	worker_init(s, &s->writer);
	worker_init(s, &s->reader);
	s->writer.serve = ar_sqlite_write_batch;
	s->writer.batch_max = AR_SQLITE_BATCH;
	s->writer.gathers = true;
	s->reader.serve = ar_sqlite_read_batch;
	s->reader.batch_max = READ_BATCH;
	s->dictionaries = ar_pack_dictionaries_new();
	return s;
}

/* Signals are the process's business: these threads take none. */
static enum ar_status worker_start(struct ar_sqlite_worker *w, const char *name, struct ar_error *err)
{
	sigset_t all, old;
	int rc;

	w->db.packer = ar_packer_new(w->store->dictionaries);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&w->thread, NULL, worker_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return ar_fail(err, AR_E_IO, "store thread '%s' cannot be started (error %d)", name, rc);
	w->started = true;
	pthread_setname_np(w->thread, name);
	return AR_OK;
}

static enum ar_status sqlite_start(struct ar_sqlite *s, const struct ar_store_sqlite_options *o,
				   struct ar_error *err)
{
	enum ar_status st = ar_file_lock_take(o->path, &s->lock_fd, err);

	if (!st)
		st = ar_sqlite_connect(o->path, &s->writer.db, err);
	if (!st)
		st = ar_sqlite_set_up(s, o, err);
	if (!st)
		st = ar_sqlite_connect(o->path, &s->reader.db, err);
	if (!st)
		st = worker_start(&s->writer, "store-write", err);
	if (!st)
		st = worker_start(&s->reader, "store-read", err);
	return st;
}

enum ar_status ar_store_sqlite_open(const struct ar_store_sqlite_options *o, struct ar_store **ret,
				    struct ar_error *err)
{
	struct ar_sqlite *s;
	enum ar_status st;

	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* its counters are a lock that both threads meet at */
	s = sqlite_new(o);
	st = sqlite_start(s, o, err);

	if (st) {
		sqlite_free(s);
		return st;
	}
	*ret = &s->store;
	return AR_OK;
}

size_t ar_store_sqlite_backlog(const struct ar_store *s)
{
	return atomic_load(&sqlite_of(s)->backlog);
}
