/* An input that has to reach its session: it goes to the inbox, and again while the store cannot take what is decided. Owner: the loop thread. */
#ifndef AR_ENGINE_DELIVERY_H
#define AR_ENGINE_DELIVERY_H

#include "engine_priv.h"

struct ar_delivery {
	struct ar_engine_request request; /* its input is the owner's to fill */
	struct ar_timer again;
	/* Once: it is decided, or will not be, because the engine ends or the session moves away. The owner may free itself. */
	void (*over)(struct ar_delivery *d);
};

void ar_delivery_send(struct ar_live *l, struct ar_delivery *d);

#endif
