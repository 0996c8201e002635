/* See the header. What is packed stands in the operation's arena and is found by where the value stands
 * (pack.h). */
#include "store_ahead.h"

#define WAKE_AT \
	4 /* operations: waking a thread costs the loop about as much as packing one costs the writer */

static void pack_append(struct ar_packer *p, struct ar_store_append *a)
{
	struct ar_arena *arena = &a->op.arena;

	ar_pack_ahead(p, a->body, arena, &a->ahead);
	for (size_t i = 0; i < a->task_count; i++)
		ar_pack_ahead(p, a->tasks[i].record, arena, &a->ahead);
	for (size_t i = 0; i < a->action_count; i++)
		ar_pack_ahead(p, a->actions[i].record, arena, &a->ahead);
	if (a->receipt)
		ar_pack_ahead(p, a->receipt->reply, arena, &a->ahead);
	for (size_t i = 0; i < a->blob_count; i++)
		ar_pack_ahead(p, a->blobs[i].bytes, arena, &a->ahead);
	ar_pack_ahead(p, a->snapshot, arena, &a->ahead);
}

static struct ar_store_op *op_of(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_store_op, node);
}

void ar_store_ahead_init(struct ar_store_ahead *a, pthread_mutex_t *lock, const struct ar_list *queue)
{
	a->lock = lock;
	a->queue = queue;
	pthread_cond_init(&a->wanted, NULL);
	pthread_cond_init(&a->ended, NULL);
}

/* The next operation, which is then behind us. */
static struct ar_list *advance(struct ar_store_ahead *a)
{
	struct ar_list *node = a->next;

	a->next = node->next == a->queue ? NULL : node->next;
	a->left--;
	return node;
}

void ar_store_ahead_queued(struct ar_store_ahead *a, struct ar_list *node)
{
	if (!a->next)
		a->next = node;
	a->left++;
	if (a->is_asleep && a->is_allowed && a->left >= WAKE_AT)
		pthread_cond_signal(&a->wanted);
}

void ar_store_ahead_removed(struct ar_store_ahead *a, const struct ar_list *node)
{
	if (a->next == node)
		advance(a);
}

void ar_store_ahead_pause(struct ar_store_ahead *a)
{
	a->is_allowed = false;
	while (a->is_packing)
		pthread_cond_wait(&a->ended, a->lock);
}

void ar_store_ahead_resume(struct ar_store_ahead *a)
{
	a->is_allowed = true;
}

/* With the lock; gives it up for the work itself. The writer does not take an operation that is in work: it
 * pauses us first. */
static void pack_one(struct ar_store_ahead *a)
{
	struct ar_store_op *op = op_of(advance(a));

	if (op->kind != AR_STORE_APPEND)
		return;
	a->is_packing = true;
	pthread_mutex_unlock(a->lock);
	pack_append(a->packer, AR_CONTAINER_OF(op, struct ar_store_append, op));
	pthread_mutex_lock(a->lock);
	a->is_packing = false;
	if (!a->is_allowed)
		pthread_cond_signal(&a->ended);
}

void *ar_store_ahead_main(void *arg)
{
	struct ar_store_ahead *a = arg;

	pthread_mutex_lock(a->lock);
	while (!a->is_stopping) {
		if (a->next && a->is_allowed) {
			pack_one(a);
			continue;
		}
		a->is_asleep = true;
		pthread_cond_wait(&a->wanted, a->lock);
		a->is_asleep = false;
	}
	pthread_mutex_unlock(a->lock);
	return NULL;
}

void ar_store_ahead_fini(struct ar_store_ahead *a)
{
	pthread_mutex_lock(a->lock);
	a->is_stopping = true;
	pthread_cond_signal(&a->wanted);
	pthread_mutex_unlock(a->lock);
	if (a->is_started)
		pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->wanted);
	pthread_cond_destroy(&a->ended);
	ar_packer_free(a->packer);
}
