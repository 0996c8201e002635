/* The queues and threads that the store engines share: submit, poll, close, and the loop of both threads.
 * See the header for the parts; what a batch does is the engine's.
 *
 * Group commit. An fsync takes as long for one session as for a hundred. The writer therefore takes
 * everything that waits and commits it together. After a commit that served several sessions it waits a
 * little for their next appends; a lone session never waits for others.
 *
 * Reads have a thread of their own and never wait for a commit. Short reads share a transaction; long ones
 * run alone, so that a list over all sessions does not hold up a turn that needs its messages.
 *
 * Compression would cost the writer its time, so a third thread packs appends while they wait
 * (store_ahead.c). Contents that were read lately are kept unpacked, because each model call reads its
 * conversation again.
 *
 * The loop thread never blocks here. It submits operations and polls for finished ones; `wake` tells it
 * when there are some. `lock` guards the queues, the list of finished operations and the counters.
 * Connections and batches belong to one thread and need no lock. */
#include "store_threaded.h"

#include "clock.h"
#include "store_op.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define READ_BATCH 16 /* short reads in one transaction: the first answer waits for the last of them */
#define AT_HAND_MAX 512 /* contents that one operation copies on the loop's thread */
#define POLL_ROUNDS 4
#define GATHER_SHARE 4 /* the wait for a fuller batch is this part of what the last commit took, */
#define GATHER_MAX 1000 /* and never longer than these microseconds */

static struct ar_store_threaded *threaded_of(const struct ar_store *s)
{
	return AR_CONTAINER_OF(s, struct ar_store_threaded, store);
}

static struct ar_store_op *op_of(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_store_op, node);
}

/* Reads whose size the caller bounds by pages or more: each is served alone, so that none waits behind it.
 * Upkeep and tokens are no part of anyone's transaction. */
static bool is_alone(const struct ar_store_op *op)
{
	return op->kind == AR_STORE_LOAD || op->kind == AR_STORE_READ || op->kind == AR_STORE_BLOBS ||
	       op->kind == AR_STORE_UPKEEP || op->kind == AR_STORE_TOKEN_PUT;
}

/* The sessions that the last commit answered are about to write again. A commit that starts with the first of
 * them makes all others wait for a whole one more, so a writer whose last batch had several waits for as
 * many, a fraction of what a commit costs. One session alone never waits. */
static void gather(struct ar_store_thread *w)
{
	ar_usec wait = w->cost / GATHER_SHARE < GATHER_MAX ? w->cost / GATHER_SHARE : GATHER_MAX;
	ar_usec until = ar_clock_system()->mono(ar_clock_system()) + wait;
	struct timespec deadline = { .tv_sec = until / 1000000, .tv_nsec = until % 1000000 * 1000 };

	while (w->waiting < w->expected && !w->owner->stopping) {
		if (pthread_cond_clockwait(&w->queued, &w->owner->lock, CLOCK_MONOTONIC, &deadline) != 0)
			return;
	}
}

static void pop_queued(struct ar_store_thread *w, struct ar_list *batch)
{
	bool is_last = false;

	for (w->expected = 0; w->expected < w->batch_max && w->waiting > 0 && !is_last; w->expected++) {
		struct ar_list *node = w->queue.next;

		if (w->gathers)
			ar_store_ahead_removed(&w->owner->ahead, node);
		ar_list_del(node);
		ar_list_push(batch, node);
		w->waiting--;
		is_last = is_alone(op_of(node)) || (w->waiting > 0 && is_alone(op_of(w->queue.next)));
	}
}

/* What waits is packed ahead while the writer gathers or serves, never while it could begin with it at
 * once. */
static void pop_for_writer(struct ar_store_thread *w, struct ar_list *batch)
{
	struct ar_store_ahead *ahead = &w->owner->ahead;

	if (w->expected > 1) {
		ar_store_ahead_resume(ahead);
		gather(w);
		ar_store_ahead_pause(ahead);
	}
	pop_queued(w, batch);
	ar_store_ahead_resume(ahead);
}

/* Waits for work; false when there will be none any more. */
static bool pop_batch(struct ar_store_thread *w, struct ar_list *batch)
{
	struct ar_store_threaded *t = w->owner;

	pthread_mutex_lock(&t->lock);
	if (w->gathers)
		ar_store_ahead_pause(&t->ahead);
	while (!w->waiting && !t->stopping)
		pthread_cond_wait(&w->queued, &t->lock);
	if (w->gathers)
		pop_for_writer(w, batch);
	else
		pop_queued(w, batch);
	pthread_mutex_unlock(&t->lock);
	return !ar_list_empty(batch);
}

/* One wake per burst: poll() takes the whole list, so only the first on an empty list has to call. */
static void count_batch(struct ar_store_threaded *t, size_t size)
{
	size_t i = 0;

	while (i < AR_STORE_BATCH_SIZES - 1 && size > (size_t)1 << i)
		i++;
	t->batches[i]++;
	t->batched += size;
}

static void hand_over(struct ar_store_thread *w, struct ar_list *batch)
{
	struct ar_store_threaded *t = w->owner;
	bool first;

	pthread_mutex_lock(&t->lock);
	if (w->gathers)
		count_batch(t, w->expected);
	first = ar_list_empty(&t->finished);
	ar_list_splice(&t->finished, batch);
	pthread_cond_signal(&t->finished_some);
	pthread_mutex_unlock(&t->lock);
	if (first && t->wake)
		t->wake(t->wake_arg);
}

static void count_served(struct ar_store_threaded *t, struct ar_list *batch)
{
	size_t writes = 0;

	AR_LIST_FOR (it, batch)
		writes += ar_store_op_is_write(op_of(it));
	atomic_fetch_sub(&t->backlog, writes);
}

static void *thread_main(void *arg)
{
	struct ar_store_thread *w = arg;
	struct ar_clock *clock = ar_clock_system();
	struct ar_list batch;

	ar_list_init(&batch);
	while (pop_batch(w, &batch)) {
		ar_usec start = clock->mono(clock);

		w->serve(w->owner, &batch);
		w->cost = clock->mono(clock) - start;
		count_served(w->owner, &batch);
		hand_over(w, &batch);
	}
	return NULL;
}

/* A model call's conversation is nearly always in memory: two thread switches for a copy would cost more than
 * the copy. */
static bool is_cached(struct ar_store_threaded *t, struct ar_store_op *op)
{
	struct ar_store_blobs_get *get = AR_CONTAINER_OF(op, struct ar_store_blobs_get, op);

	if (op->kind != AR_STORE_BLOBS || !t->contents || get->is_check || get->count > AT_HAND_MAX ||
	    !ar_str_absent(get->session)) /* who may see it is not known here */
		return false;
	get->bytes = ar_arena_alloc(&op->arena, (get->count + 1) * sizeof *get->bytes);
	if (ar_blob_cache_get_all(t->contents, get->hashes, get->count, &op->arena, get->bytes))
		return true;
	ar_arena_reset(&op->arena);
	return false;
}

static void finish_at_once(struct ar_store_threaded *t, struct ar_store_op *op)
{
	pthread_mutex_lock(&t->lock);
	t->in_flight++;
	ar_list_push(&t->finished, &op->node);
	pthread_mutex_unlock(&t->lock);
	if (!t->is_polling && t->wake)
		t->wake(t->wake_arg);
}

static void threaded_submit(struct ar_store *store, struct ar_store_op *op)
{
	struct ar_store_threaded *t = threaded_of(store);
	bool is_write = ar_store_op_is_write(op);
	struct ar_store_thread *w = is_write ? &t->writer : &t->reader;
	bool is_awaited;

	AR_ASSERT(op->kind > 0 && op->kind < AR_STORE_OP_COUNT);
	op->status = AR_OK;
	op->err = (struct ar_error){ 0 };
	store->counts.waiting++;
	if (is_cached(t, op)) {
		finish_at_once(t, op);
		return;
	}
	if (op->kind == AR_STORE_APPEND)
		AR_CONTAINER_OF(op, struct ar_store_append, op)->ahead = NULL;
	if (is_write)
		atomic_fetch_add(&t->backlog, 1);
	pthread_mutex_lock(&t->lock);
	t->in_flight++;
	ar_list_push(&w->queue, &op->node);
	w->waiting++;
	if (is_write)
		ar_store_ahead_queued(&t->ahead, &op->node);
	is_awaited = w->waiting == 1 || w->waiting == w->expected;
	pthread_mutex_unlock(&t->lock);
	if (is_awaited) /* after the unlock: the worker needs that lock first of all */
		pthread_cond_signal(&w->queued);
}

static void count_done(struct ar_store_counts *c, const struct ar_store_op *op)
{
	c->waiting--;
	c->done[op->kind]++;
	c->failed[op->kind] +=
		op->status != AR_OK && op->status != AR_E_NOT_FOUND && op->status != AR_E_EXISTS;
}

/* Contents may come from memory: that they are there says nothing of the store. */
static void note_outage(struct ar_store_counts *c, const struct ar_store_op *op)
{
	bool *is_out = ar_store_op_is_write(op) ? &c->is_unwritable : &c->is_unreadable;

	if (op->status == AR_E_IO) {
		c->outages++;
		snprintf(c->why, sizeof(c->why), "%.*s", (int)sizeof(c->why) - 1, op->err.msg);
		*is_out = true;
	} else if (op->kind != AR_STORE_BLOBS) {
		*is_out = false;
	}
}

/* Whether there was something finished. */
static bool finish_some(struct ar_store_threaded *t)
{
	struct ar_list finished, *node;
	bool found;

	ar_list_init(&finished);
	pthread_mutex_lock(&t->lock);
	ar_list_splice(&finished, &t->finished);
	AR_LIST_FOR (it, &finished)
		t->in_flight--;
	memcpy(t->store.counts.batches, t->batches, sizeof(t->batches));
	t->store.counts.batched = t->batched;
	pthread_mutex_unlock(&t->lock);
	found = !ar_list_empty(&finished);
	while ((node = ar_list_pop(&finished))) {
		count_done(&t->store.counts, op_of(node));
		note_outage(&t->store.counts, op_of(node));
		op_of(node)->done(op_of(node));
	}
	return found;
}

/* A done() may submit what is at hand: it is finished in the same call. Others of the loop get their turn
 * after a few rounds. */
static void threaded_poll(struct ar_store *store)
{
	struct ar_store_threaded *t = threaded_of(store);
	unsigned rounds = 0;

	t->is_polling = true;
	while (rounds < POLL_ROUNDS && finish_some(t))
		rounds++;
	t->is_polling = false;
	if (rounds == POLL_ROUNDS && t->wake)
		t->wake(t->wake_arg);
}

/* done() may submit again, so this goes on until nothing is left. */
static void finish_submitted(struct ar_store_threaded *t)
{
	bool idle = false;

	while (!idle) {
		pthread_mutex_lock(&t->lock);
		while (t->in_flight && ar_list_empty(&t->finished))
			pthread_cond_wait(&t->finished_some, &t->lock);
		idle = !t->in_flight;
		pthread_mutex_unlock(&t->lock);
		threaded_poll(&t->store);
	}
}

static void end_thread(struct ar_store_thread *w)
{
	if (w->started)
		pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->queued);
}

void ar_store_threaded_free(struct ar_store_threaded *t)
{
	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	pthread_cond_broadcast(&t->writer.queued);
	pthread_cond_broadcast(&t->reader.queued);
	pthread_mutex_unlock(&t->lock);
	end_thread(&t->reader);
	end_thread(&t->writer);
	ar_store_ahead_fini(&t->ahead);
	pthread_cond_destroy(&t->finished_some);
	pthread_mutex_destroy(&t->lock);
	t->dispose(t);
}

static void threaded_close(struct ar_store *store)
{
	struct ar_store_threaded *t = threaded_of(store);

	atomic_store(&t->closing, true);
	finish_submitted(t);
	ar_store_threaded_free(t);
}

static void threaded_give_up(struct ar_store *store)
{
	atomic_store(&threaded_of(store)->closing, true);
}

static uint64_t threaded_cached(struct ar_store *store)
{
	struct ar_store_threaded *t = threaded_of(store);

	return (t->contents ? ar_blob_cache_bytes(t->contents) : 0) + (t->cached ? t->cached(t) : 0);
}

static const struct ar_store_vtable threaded_vtable = {
	.submit = threaded_submit,
	.poll = threaded_poll,
	.close = threaded_close,
	.give_up = threaded_give_up,
	.cached = threaded_cached,
};

static void init_thread(struct ar_store_threaded *t, struct ar_store_thread *w, ar_store_serve_fn *serve,
			size_t batch_max)
{
	w->owner = t;
	w->serve = serve;
	w->batch_max = batch_max;
	ar_list_init(&w->queue);
	pthread_cond_init(&w->queued, NULL);
}

void ar_store_threaded_init(struct ar_store_threaded *t, ar_store_serve_fn *write, ar_store_serve_fn *read)
{
	t->store.v = &threaded_vtable;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->finished_some, NULL);
	ar_list_init(&t->finished);
	init_thread(t, &t->writer, write, AR_STORE_BATCH);
	t->writer.gathers = true;
	ar_store_ahead_init(&t->ahead, &t->lock, &t->writer.queue);
	init_thread(t, &t->reader, read, READ_BATCH);
}

typedef void *thread_fn(void *arg);

/* Signals are the process's business: these threads take none. */
static enum ar_status start_thread(pthread_t *ret, const char *name, thread_fn *body, void *arg,
				   struct ar_error *err)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(ret, NULL, body, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return ar_fail(err, AR_E_IO, "store thread '%s' cannot be started (error %d)", name, rc);
	pthread_setname_np(*ret, name);
	return AR_OK;
}

static enum ar_status start_worker(struct ar_store_thread *w, const char *name, struct ar_error *err)
{
	enum ar_status st = start_thread(&w->thread, name, thread_main, w, err);

	w->started = !st;
	return st;
}

enum ar_status ar_store_threaded_start(struct ar_store_threaded *t, struct ar_error *err)
{
	struct ar_store_ahead *a = &t->ahead;
	enum ar_status st = AR_OK;

	if (a->packer)
		st = start_thread(&a->thread, "store-pack", ar_store_ahead_main, a, err);
	a->is_started = a->packer && !st;
	if (!st)
		st = start_worker(&t->writer, "store-write", err);
	return st ? st : start_worker(&t->reader, "store-read", err);
}

bool ar_store_threaded_closing(const struct ar_store_threaded *t)
{
	return atomic_load(&t->closing);
}

size_t ar_store_threaded_backlog(const struct ar_store_threaded *t)
{
	return atomic_load(&t->backlog);
}
