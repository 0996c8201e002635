/* The log's line about writes that may have happened and about which nobody is asked. A
 * restart can lose many at once: one line a minute at most, the next says how many had
 * none. Owner: the loop thread. */
#ifndef AR_HOST_OPS_LOST_WRITES_H
#define AR_HOST_OPS_LOST_WRITES_H

#include "clock.h"
#include "log.h"
#include "str.h"

struct ar_lost_writes {
	const struct ar_log *log;
	ar_usec said; /* monotonic; 0: never */
	uint64_t unsaid; /* since then */
};

void ar_lost_writes_say(struct ar_lost_writes *l, struct ar_str session, struct ar_str what, ar_usec now);

#endif
