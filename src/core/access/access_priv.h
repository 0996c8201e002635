/* Inside access: what authentication and administration share. */
#ifndef AR_ACCESS_PRIV_H
#define AR_ACCESS_PRIV_H

#include "access.h"
#include "catalog.h"
#include "list.h"
#include "token_book.h"

struct ar_access {
	struct ar_auth auth;
	struct ar_access_options o;
	struct ar_token_book book;
	struct ar_gauges by_token, by_tenant;
	struct ar_refusals refusals;
	struct ar_list asking; /* requests (struct ar_asking) that wait for a look at the store */
	struct ar_list changing; /* changes that do */
	ar_usec next_sweep; /* monotonic: of the gauges, and of tokens that ended long ago */
	ar_usec next_look; /* monotonic: not before this is a look made for an unknown token */
};

/* A request that waits, in its arena. */
struct ar_asking {
	struct ar_list node;
	struct ar_auth_request *request;
};

/* auth.c */
extern const struct ar_auth_vtable ar_access_auth_vtable;
void ar_access_ask_again(struct ar_access *a); /* those that wait are decided */

/* admin.c */
void ar_access_change_again(struct ar_access *a); /* likewise */

static inline ar_usec ar_access_wall(const struct ar_access *a)
{
	return a->o.clock->wall(a->o.clock);
}

static inline ar_usec ar_access_mono(const struct ar_access *a)
{
	return a->o.clock->mono(a->o.clock);
}

#endif
