/* The TZ text of POSIX, with the hours beyond a day that RFC 8536 adds. Pure. */
#include "zone_rule.h"
#include "civil.h"

struct reader {
	struct ar_str rest;
	bool has_failed;
};

static char peek(const struct reader *r)
{
	return r->rest.len > 0 ? r->rest.p[0] : '\0';
}

static void skip(struct reader *r)
{
	r->rest = ar_str_sub(r->rest, 1, r->rest.len);
}

static bool accept(struct reader *r, char c)
{
	if (peek(r) != c || r->rest.len == 0)
		return false;
	skip(r);
	return true;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int64_t number(struct reader *r, int64_t least, int64_t most)
{
	int64_t n = 0;

	if (!is_digit(peek(r)))
		r->has_failed = true;
	for (int digits = 0; is_digit(peek(r)) && digits < 4; digits++) {
		n = n * 10 + (peek(r) - '0');
		skip(r);
	}
	if (n < least || n > most)
		r->has_failed = true;
	return n;
}

/* CET, or <+0330> */
static void name(struct reader *r)
{
	size_t before = r->rest.len;
	bool is_quoted = accept(r, '<');

	while (is_letter(peek(r)) || (is_quoted && (is_digit(peek(r)) || peek(r) == '+' || peek(r) == '-')))
		skip(r);
	if (before - r->rest.len < 3 || (is_quoted && !accept(r, '>')))
		r->has_failed = true;
}

/* [+-]hh[:mm[:ss]] */
static int64_t clock_time(struct reader *r, int64_t most_hours)
{
	int64_t sign = accept(r, '-') ? -1 : 1;
	int64_t seconds;

	if (sign > 0)
		accept(r, '+');
	seconds = number(r, 0, most_hours) * 3600;
	if (accept(r, ':'))
		seconds += number(r, 0, 59) * 60;
	if (accept(r, ':'))
		seconds += number(r, 0, 59);
	return sign * seconds;
}

static struct ar_zone_change change(struct reader *r)
{
	struct ar_zone_change c = { .time = 7200 };

	if (accept(r, 'M')) {
		c.kind = 'M';
		c.month = (int)number(r, 1, 12);
		r->has_failed |= !accept(r, '.');
		c.week = (int)number(r, 1, 5);
		r->has_failed |= !accept(r, '.');
		c.day = (int)number(r, 0, 6);
	} else if (accept(r, 'J')) {
		c.kind = 'J';
		c.day = (int)number(r, 1, 365);
	} else {
		c.kind = 'D';
		c.day = (int)number(r, 0, 365);
	}
	if (accept(r, '/'))
		c.time = clock_time(r, 167);
	return c;
}

bool ar_zone_rule_parse(struct ar_str text, struct ar_zone_rule *ret)
{
	struct reader r = { .rest = text };
	struct ar_zone_rule rule = { 0 };

	name(&r);
	rule.standard = rule.summer = -clock_time(&r, 24);
	if (r.rest.len > 0) {
		rule.has_summer = true;
		name(&r);
		rule.summer = peek(&r) == ',' ? rule.standard + 3600 : -clock_time(&r, 24);
		r.has_failed |= !accept(&r, ',');
		rule.begins = change(&r);
		r.has_failed |= !accept(&r, ',');
		rule.ends = change(&r);
	}
	if (r.has_failed || r.rest.len > 0)
		return false;
	*ret = rule;
	return true;
}

/* ---- what it means ---- */

static int64_t day_of(const struct ar_zone_change *c, int64_t year)
{
	int64_t first = ar_civil_days((struct ar_civil){ year, 1, 1 });
	bool is_leap = ar_civil_month_days(year, 2) == 29;
	int64_t day;

	if (c->kind == 'D')
		return first + c->day;
	if (c->kind == 'J')
		return first + c->day - 1 + (is_leap && c->day > 59);
	first = ar_civil_days((struct ar_civil){ year, c->month, 1 });
	day = (c->day - ar_civil_weekday(first) + 7) % 7 + (c->week - 1) * 7;
	if (day >= ar_civil_month_days(year, c->month))
		day -= 7;
	return first + day;
}

/* The changes of the years around it: near New Year the local year is another. */
int64_t ar_zone_rule_offset(const struct ar_zone_rule *r, int64_t at)
{
	int64_t year = ar_civil_date(ar_civil_floor(at)).year;
	int64_t newest = INT64_MIN, offset = r->standard;

	for (int64_t y = year - 1; r->has_summer && y <= year + 1; y++) {
		int64_t begins = day_of(&r->begins, y) * AR_DAY + r->begins.time - r->standard;
		int64_t ends = day_of(&r->ends, y) * AR_DAY + r->ends.time - r->summer;

		if (begins <= at && begins >= newest) {
			newest = begins;
			offset = r->summer;
		}
		if (ends <= at && ends >= newest) {
			newest = ends;
			offset = r->standard;
		}
	}
	return offset;
}
