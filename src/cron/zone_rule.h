/* The rule at the end of a zone file, for times after its last entry: the TZ text of POSIX, such as
 * CET-1CEST,M3.5.0,M10.5.0/3. */
#ifndef AR_CRON_ZONE_RULE_H
#define AR_CRON_ZONE_RULE_H

#include "str.h"

#define AR_ZONE_OFFSET_MAX 93600 /* seconds: 26 hours, as RFC 8536 allows */

/* When in a year the clock changes. */
struct ar_zone_change {
	char kind; /* 'M': week of a month; 'J': day 1 to 365 without 29 February; 'D': day 0 to 365 */
	int month, week, day;
	int64_t time; /* seconds after midnight, local before the change; may be negative */
};

struct ar_zone_rule {
	int64_t standard, summer; /* offsets; the same, if the clock does not change */
	bool has_summer;
	struct ar_zone_change begins, ends; /* of summer time */
};

bool ar_zone_rule_parse(struct ar_str text, struct ar_zone_rule *ret); /* false: it is none */
int64_t ar_zone_rule_offset(const struct ar_zone_rule *r, int64_t at);

#endif
