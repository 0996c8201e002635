/* The next time that fits. Days are looked at one by one, months that do not fit are passed over as a whole:
 * usually a few steps, and at most those of 41 years (29 February, if it is a Sunday). Pure. */
#include "cron.h"
#include "civil.h"

#define SECOND ((ar_usec)1000000)
#define LOOK_AHEAD (41 * 366) /* days */

static int64_t floor_seconds(ar_usec t)
{
	return t >= 0 ? t / SECOND : -((-t + SECOND - 1) / SECOND);
}

/* ---- fields ---- */

static bool is_day_due(const struct ar_cron *c, struct ar_civil date, int64_t days)
{
	bool is_day = c->days >> date.day & 1, is_weekday = c->weekdays >> ar_civil_weekday(days) & 1;

	if (!(c->months >> date.month & 1))
		return false;
	return c->is_any_day || c->is_any_weekday ? is_day && is_weekday : is_day || is_weekday;
}

/* The first minute of a day, from `from` on, that fits; -1: none. */
static int next_minute(const struct ar_cron *c, int from)
{
	for (int hour = from / 60; hour < 24; hour++) {
		int first = hour == from / 60 ? from % 60 : 0;
		uint64_t left = c->minutes >> first;

		if ((c->hours >> hour & 1) && left)
			return hour * 60 + first + __builtin_ctzll(left);
	}
	return -1;
}

/* The first day from `days` on that fits; INT64_MAX: none in sight. */
static int64_t next_day(const struct ar_cron *c, int64_t days)
{
	for (int looked = 0; looked < LOOK_AHEAD; looked++, days++) {
		struct ar_civil date = ar_civil_date(days);

		if (is_day_due(c, date, days))
			return days;
		if (!(c->months >> date.month & 1)) {
			int rest = ar_civil_month_days(date.year, date.month) - date.day;

			days += rest;
			looked += rest;
		}
	}
	return INT64_MAX;
}

/* Local times that fit, from the minute after `after` on, until one is a time after it: of one that occurs
 * twice the first may be over. */
static ar_usec next_by_fields(const struct ar_cron *c, const struct ar_zone *z, int64_t after)
{
	int64_t local = after + ar_zone_offset(z, after);
	int64_t days = ar_civil_floor(local);
	int minute = (int)((local - days * AR_DAY) / 60) + 1;
	int64_t found = after;

	while (found <= after) {
		minute = minute < 24 * 60 && is_day_due(c, ar_civil_date(days), days) ? next_minute(c, minute)
										      : -1;
		if (minute < 0) {
			days = next_day(c, days + 1);
			if (days == INT64_MAX)
				return INT64_MAX;
			minute = next_minute(c, 0);
		}
		found = ar_zone_from_local(z, days * AR_DAY + minute * 60);
		minute++;
	}
	return found * SECOND;
}

/* ---- both kinds ---- */

static ar_usec next_by_interval(ar_usec every, ar_usec anchor, ar_usec after)
{
	return after < anchor ? anchor + every : anchor + ((after - anchor) / every + 1) * every;
}

ar_usec ar_cron_next(const struct ar_cron_clock *c, ar_usec after)
{
	if (c->cron.every)
		return next_by_interval(c->cron.every * SECOND, c->anchor, after);
	return next_by_fields(&c->cron, c->zone, floor_seconds(after));
}

uint64_t ar_cron_count(const struct ar_cron_clock *c, ar_usec after, ar_usec until, uint64_t most,
		       ar_usec *ret_last)
{
	ar_usec at = ar_cron_next(c, after);
	uint64_t count = 0;

	if (c->cron.every && at <= until) {
		count = (uint64_t)((until - at) / (c->cron.every * SECOND));
		*ret_last = at + (ar_usec)count * c->cron.every * SECOND;
		return count + 1 < most ? count + 1 : most;
	}
	for (; at <= until && count < most; at = ar_cron_next(c, at)) {
		*ret_last = at;
		count++;
	}
	return count;
}
