/* Dates of the Gregorian calendar and days since 1970, by eras of 400 years. Pure. */
#include "civil.h"

#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* from 0000-03-01 to 1970-01-01 */

int64_t ar_civil_days(struct ar_civil date)
{
	int64_t year = date.year - (date.month <= 2);
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	int64_t of_era = year - era * 400;
	int64_t of_year = (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;

	return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS;
}

struct ar_civil ar_civil_date(int64_t days)
{
	int64_t shifted = days + EPOCH_DAYS;
	int64_t era = (shifted >= 0 ? shifted : shifted - ERA_DAYS + 1) / ERA_DAYS;
	int64_t of_era = shifted - era * ERA_DAYS;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / (ERA_DAYS - 1)) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153;
	struct ar_civil date = { .year = year + era * 400,
				 .month = (int)(month < 10 ? month + 3 : month - 9),
				 .day = (int)(of_year - (153 * month + 2) / 5 + 1) };

	date.year += date.month <= 2;
	return date;
}

int ar_civil_month_days(int64_t year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && is_leap);
}

int ar_civil_weekday(int64_t days)
{
	return (int)(((days + 4) % 7 + 7) % 7);
}
