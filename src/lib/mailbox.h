/* What other threads give to the thread that drives a runtime: letters in order, and a wake-up of its
 * loop. It outlives the runtime for as long as somebody may still post. */
#ifndef AR_LIB_MAILBOX_H
#define AR_LIB_MAILBOX_H

#include "list.h"

#include <stdbool.h>
#include <uv.h>

struct ar_mailbox; /* owner: shared, by reference */

/* Embedded in what is posted. */
struct ar_letter {
	struct ar_list node;
	void (*open)(struct ar_letter *l,
		     void *owner); /* on the driving thread; owner NULL: the runtime is gone */
};

/* on_wake(handle), with handle->data as `owner`, whenever something was posted or ar_mailbox_wake() was
 * called. */
struct ar_mailbox *ar_mailbox_new(uv_loop_t *loop, uv_async_cb on_wake, void *owner);
struct ar_mailbox *ar_mailbox_ref(struct ar_mailbox *m);
void ar_mailbox_unref(struct ar_mailbox *m);

/* Any thread. A letter after the close is opened at once, without an owner. */
void ar_mailbox_post(struct ar_mailbox *m, struct ar_letter *l);

/* Any thread, and signal handlers, until the close. */
void ar_mailbox_wake(struct ar_mailbox *m);

/* Driving thread: takes all letters. */
void ar_mailbox_take(struct ar_mailbox *m, struct ar_list *ret);

/* Driving thread: the loop has to run once more. */
void ar_mailbox_close(struct ar_mailbox *m);

#endif
