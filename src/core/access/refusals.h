/* Refusals on their way to becoming facts. The first of its kind (tenant, actor, code) is recorded
 * at once; those alike that follow within a minute are counted and recorded as one. So a flood costs
 * two facts a minute, and so many kinds at most; what does not fit is counted under one line for
 * all. Owner: the loop thread. */
#ifndef AR_ACCESS_REFUSALS_H
#define AR_ACCESS_REFUSALS_H

#include "auth.h"
#include "map.h"

typedef void ar_audit_fn(void *arg, const struct ar_audit *a);

#define AR_REFUSALS_WINDOW ((ar_usec)60 * 1000000)
#define AR_REFUSALS_KINDS 64

struct ar_refusals {
	ar_audit_fn *tell; /* NULL: nobody listens */
	void *arg;
	struct ar_map lines; /* struct line by its kind */
	ar_usec next; /* monotonic: when a window ends; 0: none is open */
};

void ar_refusals_init(struct ar_refusals *l, ar_audit_fn *tell, void *arg);
void ar_refusals_fini(struct ar_refusals *l); /* records what was only counted */

void ar_refusals_add(struct ar_refusals *l, const struct ar_audit *a, ar_usec now);

/* Records the counts of windows that are over. */
void ar_refusals_tick(struct ar_refusals *l, ar_usec now);

#endif
