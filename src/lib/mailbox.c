/* See mailbox.h. The lock is held for pointers alone, never while something is called. */
#include "mailbox.h"
#include "mem.h"
#include "status.h"

#include <pthread.h>

struct ar_mailbox {
	pthread_mutex_t lock;
	struct ar_list messages;
	uv_async_t wake;
	unsigned refs;
	bool is_closed; /* nobody takes messages any more */
};

struct ar_mailbox *ar_mailbox_new(uv_loop_t *loop, uv_async_cb on_wake, void *owner)
{
	struct ar_mailbox *m = ar_new0(sizeof(*m));

	AR_ASSERT(pthread_mutex_init(&m->lock, NULL) == 0);
	AR_ASSERT(uv_async_init(loop, &m->wake, on_wake) == 0);
	uv_unref((uv_handle_t *)&m->wake); /* what runs on the loop decides how long that runs */
	m->wake.data = owner;
	ar_list_init(&m->messages);
	m->refs = 1;
	return m;
}

struct ar_mailbox *ar_mailbox_ref(struct ar_mailbox *m)
{
	pthread_mutex_lock(&m->lock);
	m->refs++;
	pthread_mutex_unlock(&m->lock);
	return m;
}

void ar_mailbox_unref(struct ar_mailbox *m)
{
	bool is_last;

	pthread_mutex_lock(&m->lock);
	is_last = --m->refs == 0;
	pthread_mutex_unlock(&m->lock);
	if (!is_last)
		return;
	pthread_mutex_destroy(&m->lock);
	ar_free(m);
}

void ar_mailbox_post(struct ar_mailbox *m, struct ar_mailbox_message *message)
{
	bool is_closed;

	pthread_mutex_lock(&m->lock);
	is_closed = m->is_closed;
	if (!is_closed) {
		ar_list_push(&m->messages, &message->node);
		uv_async_send(&m->wake); /* under the lock: after the close there is no handle */
	}
	pthread_mutex_unlock(&m->lock);
	if (is_closed)
		message->deliver(message, NULL);
}

void ar_mailbox_wake(struct ar_mailbox *m)
{
	uv_async_send(&m->wake);
}

void ar_mailbox_take(struct ar_mailbox *m, struct ar_list *ret)
{
	ar_list_init(ret);
	pthread_mutex_lock(&m->lock);
	ar_list_splice(ret, &m->messages);
	pthread_mutex_unlock(&m->lock);
}

static void on_gone(uv_handle_t *handle)
{
	ar_mailbox_unref(AR_CONTAINER_OF((uv_async_t *)handle, struct ar_mailbox, wake));
}

void ar_mailbox_close(struct ar_mailbox *m)
{
	pthread_mutex_lock(&m->lock);
	m->is_closed = true;
	m->refs++; /* the handle's */
	pthread_mutex_unlock(&m->lock);
	uv_close((uv_handle_t *)&m->wake, on_gone);
}
