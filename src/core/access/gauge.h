/* How much is let in: a token bucket of requests and counts of what is open, per token and per tenant.
 * Each node counts for itself. Owner: the loop thread. */
#ifndef AR_ACCESS_GAUGE_H
#define AR_ACCESS_GAUGE_H

#include "auth.h"
#include "map.h"

/* Of one token, or of one tenant; 0 sets no limit. */
struct ar_access_limit {
	uint32_t rate; /* requests a second */
	uint32_t burst; /* at once, after a pause; 0: as many as `rate` */
	uint32_t open[2]; /* commands and streams at once, by enum ar_auth_slot */
};

struct ar_gauges {
	struct ar_access_limit limit;
	struct ar_map map; /* struct gauge by name */
	const char *whose; /* "token" or "tenant", for sentences */
};

void ar_gauges_init(struct ar_gauges *g, const char *whose, const struct ar_access_limit *limit);
void ar_gauges_fini(struct ar_gauges *g);

/* Whether one more fits now (monotonic time); nothing is taken yet. Refuses with
 * rate_limited and the time to wait. */
AR_MUST_USE enum ar_status ar_gauges_check(struct ar_gauges *g, struct ar_str name, enum ar_auth_slot slot,
					   ar_usec now, uint32_t *ret_retry_ms, struct ar_error *err);

/* Takes what was checked just now; gives it back. */
void ar_gauges_acquire(struct ar_gauges *g, struct ar_str name, enum ar_auth_slot slot);
void ar_gauges_release(struct ar_gauges *g, struct ar_str name, enum ar_auth_slot slot);

/* Forgets those that are at rest. */
void ar_gauges_sweep(struct ar_gauges *g, ar_usec now);

#endif
