/* What a message wire has to say, gathered over a turn of the loop and written at its end: many answers and
 * events become one write. What the kernel does not take is written as the peer reads, and meanwhile the
 * outbox is full. Idle it holds nothing. Owner: the loop thread. */
#ifndef AR_TRANSPORT_RPC_OUTBOX_H
#define AR_TRANSPORT_RPC_OUTBOX_H

#include "buf.h"
#include "link/link.h"

struct ar_outbox;

struct ar_outbox_vtable {
	void (*stalled)(struct ar_outbox *o); /* the peer does not read: a write waits for it */
	void (*drained)(
		struct ar_outbox *o); /* at the end of a turn in which it was opened, when all is out */
	void (*broken)(struct ar_outbox *o); /* the link cannot be written to any more: close it */
};

/* Embedded in its wire. */
struct ar_outbox {
	const struct ar_outbox_vtable *v;
	struct ar_byte_link *link;
	struct ar_list node; /* in server->outboxes until the turn ends */
	struct ar_buf next;
	struct ar_buf writing;
	bool is_writing;
	bool is_broken;
	bool is_due; /* drained() is wanted at the end of this turn */
};

void ar_outbox_init(struct ar_outbox *o, const struct ar_outbox_vtable *v, struct ar_byte_link *l);
void ar_outbox_fini(struct ar_outbox *o);

/* Where to write the next bytes: they go out at the end of this turn. */
struct ar_buf *ar_outbox_open(struct ar_outbox *o);

/* drained() comes at the end of this turn, also when there is nothing to write. */
void ar_outbox_wake(struct ar_outbox *o);

/* Writes now what can be written, for there will be no more in this turn: who is read once is in the cache
 * once. Calls nobody; unless it is wanted, drained() does not come for it. */
void ar_outbox_push(struct ar_outbox *o);

bool ar_outbox_takes_more(const struct ar_outbox *o);
bool ar_outbox_is_empty(const struct ar_outbox *o);

/* Writes what all of them have; once per turn of the loop. */
void ar_outbox_flush(struct ar_http_server *s);

#endif
