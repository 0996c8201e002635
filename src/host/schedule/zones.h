/* Zones of the IANA database on this machine, read when they are first asked for and kept. Owner: the loop
 * thread. */
#ifndef AR_HOST_SCHEDULE_ZONES_H
#define AR_HOST_SCHEDULE_ZONES_H

#include "map.h"
#include "zone.h"

struct ar_zones {
	struct ar_map known; /* name -> struct zone_entry (zones.c) */
};

/* The zone of that name; NULL: there is none. `arg` is the struct ar_zones. */
const struct ar_zone *ar_zones_find(void *arg, struct ar_str name);
void ar_zones_fini(struct ar_zones *z);

#endif
