/* When something is due: five fields of cron with names, lists, ranges and steps; @hourly, @daily
 * (@midnight), @weekly, @monthly, @yearly (@annually); or an interval, "every 15m". Pure: the time comes in.
 *
 * A day is due as in Vixie cron: if both day fields are restricted (neither begins with *), either will
 * do; otherwise both must hold. */
#ifndef AR_CRON_CRON_H
#define AR_CRON_CRON_H

#include "arena.h"
#include "status.h"
#include "zone.h"

#define AR_CRON_TEXT_MAX 256 /* bytes */
#define AR_CRON_EVERY_MIN 1 /* seconds */
#define AR_CRON_EVERY_MAX (366 * 86400)

struct ar_cron {
	int64_t every; /* seconds; 0: by the fields */
	uint64_t minutes; /* a bit each, of which bit 0 is minute 0 */
	uint32_t hours, days, months, weekdays; /* the same; days and months begin with bit 1, Sunday is 0 */
	bool is_any_day, is_any_weekday; /* the field begins with * */
};

/* AR_E_INVALID says what is wrong. One that is never due (30 February) is wrong, too. */
AR_MUST_USE enum ar_status ar_cron_parse(struct ar_str text, struct ar_cron *ret, struct ar_error *err);

/* A cron in its zone (NULL: UTC); its intervals are counted from `anchor`. */
struct ar_cron_clock {
	struct ar_cron cron;
	const struct ar_zone *zone;
	ar_usec anchor;
};

/* The first time strictly after `after` at which it is due. Its cost does not depend on how far apart both
 * are. */
ar_usec ar_cron_next(const struct ar_cron_clock *c, ar_usec after);

/* How many times lie in (after, until], counted up to `most`; the newest that was counted in *ret_last,
 * which is left alone if there is none. An interval costs the same however many there are: then *ret_last is
 * the newest of all. */
uint64_t ar_cron_count(const struct ar_cron_clock *c, ar_usec after, ar_usec until, uint64_t most,
		       ar_usec *ret_last);

/* sentence.c: "every weekday at 09:00 Europe/Berlin". An absent zone is not named. */
struct ar_str ar_cron_sentence(const struct ar_cron *c, struct ar_str zone, struct ar_arena *a);

#endif
