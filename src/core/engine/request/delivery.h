/* An input that has to reach its session: it goes to the inbox, and again while the store cannot take
 * what is decided. Owner: the loop thread. */
#ifndef AR_ENGINE_DELIVERY_H
#define AR_ENGINE_DELIVERY_H

#include "engine_priv.h"

struct ar_delivery {
	struct ar_engine_request request; /* its input is the owner's to fill */
	struct ar_timer again;
	bool is_open; /* sent, and not over yet */
	bool is_dropped; /* over without a decision: the engine ends, or the session moves away */
	/* Once for each send. The owner may free itself, or send again. */
	void (*over)(struct ar_delivery *d);
};

void ar_delivery_send(struct ar_live *l, struct ar_delivery *d);

/* One that waits for the store is not sent again, and over() is not called. One that is
 * in the inbox stays open. */
void ar_delivery_stop(struct ar_delivery *d);

#endif
