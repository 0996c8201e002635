/* What other threads give to the thread that drives a runtime: messages in order, and a wake-up of its
 * loop. It outlives the runtime for as long as somebody may still post. */
#ifndef AR_LIB_MAILBOX_H
#define AR_LIB_MAILBOX_H

#include "list.h"

#include <stdbool.h>
#include <uv.h>

struct ar_mailbox; /* owner: shared, by reference */

/* Embedded in what is posted. */
struct ar_mailbox_message {
	struct ar_list node;
	void (*deliver)(struct ar_mailbox_message *message,
			void *owner); /* on the driving thread; owner NULL: the runtime is gone, any thread */
};

/* on_wake(handle), with handle->data as `owner`, whenever something was posted or ar_mailbox_wake() was
 * called. */
struct ar_mailbox *ar_mailbox_new(uv_loop_t *loop, uv_async_cb on_wake, void *owner);
struct ar_mailbox *ar_mailbox_ref(struct ar_mailbox *m);
void ar_mailbox_unref(struct ar_mailbox *m);

/* Any thread. After the close a message is delivered at once, by the thread that posts it. */
void ar_mailbox_post(struct ar_mailbox *m, struct ar_mailbox_message *message);

/* Any thread, and signal handlers, until the close. */
void ar_mailbox_wake(struct ar_mailbox *m);

/* Driving thread: takes all messages. */
void ar_mailbox_take(struct ar_mailbox *m, struct ar_list *ret);

/* Driving thread: the loop has to run once more. */
void ar_mailbox_close(struct ar_mailbox *m);

#endif
