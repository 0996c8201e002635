/* Absolute deadlines without a timer each: per kind a list in order of expiry (every kind has one fixed
 * length, so the newest goes to the end), looked through from the front a few times a second. Owner: the loop
 * thread. */
#ifndef AR_TRANSPORT_DEADLINE_H
#define AR_TRANSPORT_DEADLINE_H

#include "list.h"

#include <stdint.h>

enum ar_deadline_kind {
	AR_DEADLINE_HANDSHAKE,
	AR_DEADLINE_HEADER,
	AR_DEADLINE_BODY,
	AR_DEADLINE_WRITE,
	AR_DEADLINE_KEEPALIVE,
	AR_DEADLINE_STRANGER, /* instead of that, while nobody on the connection was let in */
	AR_DEADLINE_HEARTBEAT,
	AR_DEADLINE_LINGER,
	/* Of a WebSocket: when it is asked whether its peer is there, and by when that has to answer */
	AR_DEADLINE_PING,
	AR_DEADLINE_PONG,
	AR_DEADLINE_PEER_CONNECT, /* from here on of links to peers */
	AR_DEADLINE_PEER_REPLY,
	AR_DEADLINE_PEER_SILENCE,
	AR_DEADLINE_PEER_IDLE,
	AR_DEADLINE_COUNT
};

struct ar_deadline;
typedef void ar_expired_fn(struct ar_deadline *d);

struct ar_deadline {
	struct ar_list node;
	uint64_t at; /* milliseconds */
	enum ar_deadline_kind kind;
	ar_expired_fn *expired; /* what a passed deadline means */
};

struct ar_deadlines {
	struct ar_list lists[AR_DEADLINE_COUNT];
	uint64_t length[AR_DEADLINE_COUNT];
};

void ar_deadlines_init(struct ar_deadlines *all); /* lengths are the caller's to fill */

void ar_deadline_init(struct ar_deadline *d, ar_expired_fn *expired);
void ar_deadline_set(struct ar_deadlines *all, struct ar_deadline *d, enum ar_deadline_kind kind,
		     uint64_t now);
void ar_deadline_clear(struct ar_deadline *d);

/* Takes out and returns one that has passed; NULL when there is none. */
struct ar_deadline *ar_deadline_pop(struct ar_deadlines *all, uint64_t now);

#endif
