/* Time as RFC 3339 text, in and out, over the proleptic Gregorian calendar of the years 0000 to 9999. Own
 * arithmetic: the C library's would bring the time zone and the locale. Pure functions. */
#include "clock.h"

#include <string.h>

#define SECOND ((ar_usec)1000000)
#define DAY (86400 * SECOND)
#define DAYS_TO_1970 719528 /* from 0000-01-01 */
#define DAYS_OF_400_YEARS 146097
#define DAYS_TO_MARCH 60 /* in the year 0000 */

static const char shape[AR_TIME_TEXT] = "0000-00-00T00:00:00.000000Z";

/* Days before each month in a year that is no leap year. */
static const int days_before[12] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };

static bool is_leap(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* From 0000-01-01, itself in a leap year, to the first of January. */
static int days_before_year(int year)
{
	int past = year - 1;

	return year == 0 ? 0 : year * 365 + past / 4 - past / 100 + past / 400 + 1;
}

/* Days from the first of January to the first of the month (0..11; 12 is the whole year). */
static int days_before_month(int year, int month)
{
	int days = month == 12 ? 365 : days_before[month];

	return days + (month > 1 && is_leap(year));
}

/* ---- out ---- */

static void put_two(char *out, unsigned v)
{
	out[0] = (char)('0' + v / 10);
	out[1] = (char)('0' + v % 10);
}

/* Years are counted from the first of March, so that the day of a leap year is their last; 400 of them are
 * always as long. The first year here lies 400 years before 0000, for no day is to be negative. */
static void put_date(char *out, int day)
{
	int since = day + DAYS_OF_400_YEARS - DAYS_TO_MARCH;
	int era = since / DAYS_OF_400_YEARS, of_era = since % DAYS_OF_400_YEARS;
	int year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int of_year = of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100);
	int month = (5 * of_year + 2) / 153; /* 0 is March */
	int year = (era - 1) * 400 + year_of_era + (month >= 10);

	put_two(out, (unsigned)year / 100);
	put_two(out + 2, (unsigned)year % 100);
	put_two(out + 5, (unsigned)(month < 10 ? month + 3 : month - 9));
	put_two(out + 8, (unsigned)(of_year - (153 * month + 2) / 5 + 1));
}

struct ar_str ar_time_format(ar_usec t, char out[AR_TIME_TEXT])
{
	const ar_usec min = -DAYS_TO_1970 * DAY, max = (days_before_year(10000) - DAYS_TO_1970) * DAY - 1;
	ar_usec since_0000 = (t < min ? min : t > max ? max : t) - min;
	ar_usec of_day = since_0000 % DAY;
	unsigned seconds = (unsigned)(of_day / SECOND), fraction = (unsigned)(of_day % SECOND);

	memcpy(out, shape, sizeof shape);
	put_date(out, (int)(since_0000 / DAY));
	put_two(out + 11, seconds / 3600);
	put_two(out + 14, seconds / 60 % 60);
	put_two(out + 17, seconds % 60);
	put_two(out + 20, fraction / 10000);
	put_two(out + 22, fraction / 100 % 100);
	put_two(out + 24, fraction % 100);
	return (struct ar_str){ out, AR_TIME_TEXT - 1 };
}

/* ---- in ---- */

/* Each takes bytes off the front of *s; false leaves the whole parse refused. */
static bool parse_digits(struct ar_str *s, size_t count, int max, int *ret)
{
	uint64_t v;

	if (s->len < count || !ar_str_to_u64(ar_str_sub(*s, 0, count), &v) || v > (uint64_t)max)
		return false;
	*s = ar_str_sub(*s, count, s->len);
	*ret = (int)v;
	return true;
}

static bool parse_one_of(struct ar_str *s, const char *set, char *ret)
{
	if (s->len == 0)
		return false;
	for (; *set; set++) {
		if (*set != s->p[0])
			continue;
		*ret = *set;
		*s = ar_str_sub(*s, 1, s->len);
		return true;
	}
	return false;
}

static bool parse_date(struct ar_str *s, int *ret_day)
{
	int year, month, day;
	char c;

	if (!parse_digits(s, 4, 9999, &year) || !parse_one_of(s, "-", &c) ||
	    !parse_digits(s, 2, 12, &month) || !parse_one_of(s, "-", &c) || !parse_digits(s, 2, 31, &day))
		return false;
	if (month < 1 || day < 1 || day > days_before_month(year, month) - days_before_month(year, month - 1))
		return false;
	*ret_day = days_before_year(year) - DAYS_TO_1970 + days_before_month(year, month - 1) + day - 1;
	return true;
}

/* ".123456789": at least one digit; what is finer than a microsecond is cut off. */
static bool parse_fraction(struct ar_str *s, ar_usec *ret)
{
	ar_usec unit = SECOND / 10;
	char c;
	int digit;

	*ret = 0;
	if (!parse_one_of(s, ".", &c))
		return true;
	if (!parse_digits(s, 1, 9, &digit))
		return false;
	do {
		*ret += digit * unit;
		unit /= 10;
	} while (parse_digits(s, 1, 9, &digit));
	return true;
}

static bool parse_clock(struct ar_str *s, ar_usec *ret, bool *ret_leap)
{
	int hour, minute, second;
	ar_usec fraction;
	char c;

	if (!parse_digits(s, 2, 23, &hour) || !parse_one_of(s, ":", &c) || !parse_digits(s, 2, 59, &minute) ||
	    !parse_one_of(s, ":", &c) || !parse_digits(s, 2, 60, &second) || !parse_fraction(s, &fraction))
		return false;
	*ret_leap = second == 60;
	*ret = (ar_usec)(hour * 3600 + minute * 60 + second) * SECOND + fraction;
	return true;
}

static bool parse_zone(struct ar_str *s, ar_usec *ret)
{
	int hour, minute;
	char sign, c;

	*ret = 0;
	if (!parse_one_of(s, "Zz+-", &sign))
		return false;
	if (sign == 'Z' || sign == 'z')
		return true;
	if (!parse_digits(s, 2, 23, &hour) || !parse_one_of(s, ":", &c) || !parse_digits(s, 2, 59, &minute))
		return false;
	*ret = (ar_usec)(hour * 60 + minute) * 60 * SECOND * (sign == '-' ? -1 : 1);
	return true;
}

/* The one form that we write, which is what nearly all text is: a digit wherever the shape has one. */
static bool is_own_form(const char *p)
{
	for (size_t i = 0; i < AR_TIME_TEXT - 1; i++) {
		bool is_digit = p[i] >= '0' && p[i] <= '9';

		if (shape[i] == '0' ? !is_digit : p[i] != shape[i])
			return false;
	}
	return true;
}

static int two_digits(const char *p)
{
	return (p[0] - '0') * 10 + p[1] - '0';
}

/* False also for what the long way has to judge: a date that may not exist, a leap second. */
static bool read_own_form(struct ar_str s, ar_usec *ret)
{
	const char *p = s.p;
	int year, month, day, hour, minute, second, fraction;

	if (s.len != AR_TIME_TEXT - 1 || !is_own_form(p))
		return false;
	year = two_digits(p) * 100 + two_digits(p + 2);
	month = two_digits(p + 5);
	day = two_digits(p + 8);
	hour = two_digits(p + 11);
	minute = two_digits(p + 14);
	second = two_digits(p + 17);
	fraction = (two_digits(p + 20) * 100 + two_digits(p + 22)) * 100 + two_digits(p + 24);
	if (month < 1 || month > 12 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59)
		return false;
	day += days_before_year(year) - DAYS_TO_1970 + days_before_month(year, month - 1) - 1;
	*ret = day * DAY + (hour * 3600 + minute * 60 + second) * SECOND + fraction;
	return true;
}

/* A leap second is the first second of the next UTC day, and exists nowhere else. */
bool ar_time_parse(struct ar_str s, ar_usec *ret)
{
	ar_usec clock, zone, t;
	bool leap;
	int day;
	char c;

	if (read_own_form(s, ret))
		return true;
	if (!parse_date(&s, &day) || !parse_one_of(&s, "Tt ", &c) || !parse_clock(&s, &clock, &leap) ||
	    !parse_zone(&s, &zone) || s.len > 0)
		return false;
	t = day * DAY + clock - zone;
	if (leap && (t % DAY + DAY) % DAY >= SECOND)
		return false;
	*ret = t;
	return true;
}
