/* A link: messages between two processes, in order, each whole or not at all. Who is at the other end was
 * checked before the link was made.
 *
 * Contract: loop thread only. send() copies the message; it is not called before it returns. on_close comes
 * exactly once, when the other end or the network ends the link, and never after close(); nothing is called
 * after it. After on_close or close() the link is gone. */
#ifndef AR_PORT_LINK_H
#define AR_PORT_LINK_H

#include "status.h"
#include "str.h"

#define AR_LINK_MESSAGE_MAX ((size_t)1024 * 1024) /* bytes of one message: longer ones end the link */
#define AR_LINK_QUEUE_MAX ((size_t)8 * 1024 * 1024) /* bytes that wait to be sent: more end the link */

struct ar_link;

struct ar_link_vtable {
	/* AR_E_LIMIT: too long, or too much is waiting; AR_E_UNAVAILABLE: it is ending */
	enum ar_status (*send)(struct ar_link *l, struct ar_str message);
	size_t (*waiting)(const struct ar_link *l); /* bytes not yet sent */
	void (*close)(struct ar_link *l, struct ar_str why); /* after what is waiting, or a short while */
};

struct ar_link {
	const struct ar_link_vtable *v;
	/* Set by the owner before the first turn of the loop. */
	void (*on_message)(void *arg, struct ar_str message);
	void (*on_drained)(void *arg); /* nothing is waiting any more; may be NULL */
	void (*on_close)(void *arg, struct ar_str why);
	void *arg;
};

#endif
