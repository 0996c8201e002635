/* How many model calls may be under way at once, and who is next when all places are taken: tenants
 * take turns, within a tenant its sessions, within a session the call that asked first. Knows nothing
 * of calls. Owner: the loop thread. */
#ifndef AR_ENGINE_TURNSTILE_H
#define AR_ENGINE_TURNSTILE_H

#include "list.h"
#include "map.h"

enum ar_ticket_place {
	AR_TICKET_NONE, /* asks for nothing */
	AR_TICKET_WAITS,
	AR_TICKET_IN,
};

/* Embedded by the caller; must have left before its memory goes. */
struct ar_ticket {
	void (*go)(struct ar_ticket *t); /* it has a place now */
	enum ar_ticket_place place; /* the rest is private */
	struct ar_list node;
	struct ar_ticket_lane *lane;
};

struct ar_turnstile {
	size_t places; /* 0: as many as ask */
	size_t taken, waiting;
	bool is_shut; /* nobody is let in any more */
	struct ar_list tenants; /* lanes with waiting tickets, the next one first */
	struct ar_map lanes; /* the same by name, and those of sessions */
};

void ar_turnstile_init(struct ar_turnstile *t, size_t places);

/* All tickets must have left. */
void ar_turnstile_fini(struct ar_turnstile *t);

/* Calls go() at once when there is a place, and later otherwise. */
void ar_turnstile_ask(struct ar_turnstile *t, struct ar_ticket *ticket, struct ar_str tenant,
		      struct ar_str session);

/* Gives its place to the next one, or waits no longer. A ticket that asks for nothing may leave too. */
void ar_turnstile_leave(struct ar_turnstile *t, struct ar_ticket *ticket);

/* Those who wait stay where they are. */
void ar_turnstile_shut(struct ar_turnstile *t);

#endif
