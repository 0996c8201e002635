/* A zone of the IANA database, from its compiled file (TZif, RFC 8536): how far its local time is from UTC
 * at a time, and back. All times in seconds since 1970; local ones are counted as if the zone were UTC. */
#ifndef AR_CRON_ZONE_H
#define AR_CRON_ZONE_H

#include "status.h"
#include "str.h"

#define AR_ZONE_NAME_MAX 64 /* bytes */
#define AR_ZONE_FILE_MAX 65536 /* bytes; the largest today has 3.5 KB */

struct ar_zone;

/* Whether it may name a zone: letters, digits, _ + - in parts between single slashes. Never a path that
 * leaves the folder of zones. */
bool ar_zone_is_name(struct ar_str name);

/* Reads the bytes of a zone file. AR_E_INVALID: they are none. */
AR_MUST_USE enum ar_status ar_zone_parse(struct ar_str bytes, struct ar_zone **ret, struct ar_error *err);
void ar_zone_free(struct ar_zone *z); /* NULL is fine */

/* Seconds that local time is ahead of UTC at that time. NULL is UTC. */
int64_t ar_zone_offset(const struct ar_zone *z, int64_t at);

/* The time that is this local time. One that occurs twice: the first. One that does not occur: the moment
 * after the gap that it is in. */
int64_t ar_zone_from_local(const struct ar_zone *z, int64_t local);

#endif
