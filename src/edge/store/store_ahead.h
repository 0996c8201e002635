/* Packs appends while they wait: the writer is busy with a commit or gathers the next batch, and what it will
 * need is compressed here meanwhile, on a thread of its own. An append that nobody came to is packed by the
 * writer, so a lone one takes no detour.
 *
 * All fields are under the lock of the store that embeds this; it goes through the writer's queue in order
 * and looks at each operation once. */
#ifndef AR_EDGE_STORE_AHEAD_H
#define AR_EDGE_STORE_AHEAD_H

#include "pack.h"
#include "store.h"

#include <pthread.h>

struct ar_store_ahead {
	/* the engine gives it before the threads start; NULL: nothing is packed ahead */
	struct ar_packer *packer;
	pthread_mutex_t *lock;
	const struct ar_list *queue; /* the writer's */
	struct ar_list *next; /* first operation in it that was not looked at; NULL: none */
	size_t left; /* operations from there on */
	bool is_allowed; /* the writer does something else */
	bool is_packing; /* one operation, outside the lock */
	bool is_asleep;
	bool is_stopping;
	pthread_cond_t wanted, ended;
	pthread_t thread;
	bool is_started;
};

AR_BEGIN_DECLS

void ar_store_ahead_init(struct ar_store_ahead *a, pthread_mutex_t *lock, const struct ar_list *queue);

/* The body of its thread; `arg` is the struct. */
void *ar_store_ahead_main(void *arg);

/* With the lock: `node` was queued last; `node`, the first in the queue, is about to be taken out of it. */
void ar_store_ahead_queued(struct ar_store_ahead *a, struct ar_list *node);
void ar_store_ahead_removed(struct ar_store_ahead *a, const struct ar_list *node);

/* With the lock: from now on nothing is packed, and nothing is being packed when it returns. */
void ar_store_ahead_pause(struct ar_store_ahead *a);
void ar_store_ahead_resume(struct ar_store_ahead *a);

/* Ends the thread, if it runs, and frees the packer. Without the lock. */
void ar_store_ahead_fini(struct ar_store_ahead *a);

AR_END_DECLS

#endif
