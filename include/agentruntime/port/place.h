/* Where a session is worked on: here, at another node, or not settled yet. Code that is about to do
 * something for a session asks first. */
#ifndef AR_PORT_PLACE_H
#define AR_PORT_PLACE_H

#include "str.h"

enum ar_place {
	AR_PLACE_HERE = 0,
	AR_PLACE_PEER, /* another node owns it */
	AR_PLACE_UNSETTLED, /* nobody does, or we cannot be sure that it is still us: ask again in a moment */
};

struct ar_placement {
	/* `session_key` absent: where may a new session be made? PEER: the address, valid until
	 * control returns to the loop. */
	enum ar_place (*find)(void *arg, struct ar_str session_key, struct ar_str *ret_address);
	void *arg;
};

#endif
