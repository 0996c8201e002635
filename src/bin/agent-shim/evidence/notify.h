/* The seccomp listener (launch/refused.h), in the journal: the first of a kind at once, the exact count of
 * those that came more than once at the end. */
#ifndef AR_SHIM_NOTIFY_H
#define AR_SHIM_NOTIFY_H

#include "refused.h"

struct ar_loop;
struct ar_shim;

struct ar_notify {
	int fd; /* -1: none */
	struct ar_refused refused;
};

void ar_notify_watch(struct ar_shim *s, struct ar_loop *l);
bool ar_notify_finish(struct ar_shim *s); /* the closing records. False: the disk is full, call it again */

#endif
