/* Dates of the Gregorian calendar and days since 1970. */
#ifndef AR_CRON_CIVIL_H
#define AR_CRON_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define AR_DAY 86400 /* seconds */

struct ar_civil {
	int64_t year;
	int month, day; /* from 1 on */
};

int64_t ar_civil_days(struct ar_civil date); /* since 1970 */
struct ar_civil ar_civil_date(int64_t days);
int ar_civil_month_days(int64_t year, int month);
int ar_civil_weekday(int64_t days); /* 0: Sunday */

/* Whole days in a number of seconds, also of one below 0. */
static inline int64_t ar_civil_floor(int64_t seconds)
{
	return seconds >= 0 ? seconds / AR_DAY : -((-seconds + AR_DAY - 1) / AR_DAY);
}

#endif
