/* A text becomes the bits of its fields. Pure. */
#include "cron.h"
#include "civil.h"

#include <string.h>

/* ---- fields ---- */

struct field {
	const char *name;
	int least, most;
	const char *const *names; /* of the numbers from `least` on; NULL: none */
	int name_count;
};

static const char *const months[] = { "JAN", "FEB", "MAR", "APR", "MAY", "JUN",
				      "JUL", "AUG", "SEP", "OCT", "NOV", "DEC" };
static const char *const weekdays[] = { "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT" };

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field fields[FIELDS] = {
	[MINUTE] = { "minute", 0, 59, NULL, 0 },
	[HOUR] = { "hour", 0, 23, NULL, 0 },
	[DAY] = { "day of the month", 1, 31, NULL, 0 },
	[MONTH] = { "month", 1, 12, months, 12 },
	[WEEKDAY] = { "day of the week", 0, 7, weekdays, 7 },
};

static bool is_name(struct ar_str word, const char *name)
{
	if (word.len != 3)
		return false;
	for (size_t i = 0; i < 3; i++) {
		if ((word.p[i] & ~0x20) != name[i])
			return false;
	}
	return true;
}

static bool read_value(const struct field *f, struct ar_str word, int *ret)
{
	uint64_t n;

	for (int i = 0; i < f->name_count; i++) {
		if (is_name(word, f->names[i])) {
			*ret = f->least + i;
			return true;
		}
	}
	if (!ar_str_to_u64(word, &n) || word.len > 2 || n < (uint64_t)f->least || n > (uint64_t)f->most)
		return false;
	*ret = (int)n;
	return true;
}

static enum ar_status refuse_item(const struct field *f, struct ar_str item, struct ar_error *err)
{
	return ar_fail(err, AR_E_INVALID,
		       "'%.*s' is no %s: use * or %d to %d%s, lists (1,2), ranges (1-5), steps (*/5, 1-9/2)",
		       AR_STR_ARG(ar_str_utf8_prefix(item, 32)), f->name, f->least, f->most,
		       f->names ? " or names of three letters" : "");
}

/* *, 5, 1-5, each with a step: a step of one number has no range to step through. */
static bool read_item(const struct field *f, struct ar_str item, uint64_t *bits)
{
	struct ar_str range, first, step = ar_str_split(item, '/', &range),
				    last = ar_str_split(range, '-', &first);
	int from = f->least, to = f->most;
	uint64_t by = 1;

	if (!ar_str_absent(step) && (!ar_str_to_u64(step, &by) || by < 1 || by > 59))
		return false;
	if (!ar_str_is(range, "*")) {
		if (!read_value(f, first, &from))
			return false;
		to = from;
		if (ar_str_absent(last) ? !ar_str_absent(step) : !read_value(f, last, &to))
			return false;
	} else if (f == &fields[WEEKDAY]) {
		to = 6; /* 7 is Sunday a second time */
	}
	if (to < from)
		return false;
	for (int n = from; n <= to; n += (int)by)
		*bits |= UINT64_C(1) << n;
	return true;
}

static enum ar_status read_field(const struct field *f, struct ar_str text, uint64_t *ret,
				 struct ar_error *err)
{
	struct ar_str item, rest = text;

	*ret = 0;
	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ',', &item);
		if (!read_item(f, item, ret))
			return refuse_item(f, item, err);
	}
	return AR_OK;
}

/* ---- all of them ---- */

static size_t split(struct ar_str text, struct ar_str words[], size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < text.len;) {
		size_t begin = i;

		while (i < text.len && text.p[i] != ' ' && text.p[i] != '\t')
			i++;
		if (i > begin && count < room)
			words[count] = ar_str_sub(text, begin, i - begin);
		count += i > begin;
		while (i < text.len && (text.p[i] == ' ' || text.p[i] == '\t'))
			i++;
	}
	return count;
}

/* The longest month of those that are wanted must have the day; a leap day counts. */
static bool is_ever_due(const struct ar_cron *c)
{
	if (c->is_any_day || !c->is_any_weekday)
		return true;
	for (int month = 1; month <= 12; month++) {
		uint32_t of_month = (uint32_t)((UINT64_C(2) << ar_civil_month_days(2000, month)) - 2);

		if ((c->months >> month & 1) && (c->days & of_month))
			return true;
	}
	return false;
}

static enum ar_status parse_fields(struct ar_str text, struct ar_cron *c, struct ar_error *err)
{
	struct ar_str words[FIELDS];
	uint64_t bits[FIELDS];
	size_t count = split(text, words, FIELDS);

	if (count != FIELDS)
		return ar_fail(
			err, AR_E_INVALID,
			"a cron expression has five fields (minute, hour, day of the month, month, day "
			"of the week), this one has %zu; or use @daily or 'every 15m'",
			count);
	for (size_t i = 0; i < FIELDS; i++) {
		if (read_field(&fields[i], words[i], &bits[i], err) != AR_OK)
			return AR_E_INVALID;
	}
	*c = (struct ar_cron){ .minutes = bits[MINUTE],
			       .hours = (uint32_t)bits[HOUR],
			       .days = (uint32_t)bits[DAY],
			       .months = (uint32_t)bits[MONTH],
			       .weekdays = (uint32_t)((bits[WEEKDAY] | bits[WEEKDAY] >> 7) & 0x7F),
			       .is_any_day = words[DAY].p[0] == '*',
			       .is_any_weekday = words[WEEKDAY].p[0] == '*' };
	if (is_ever_due(c))
		return AR_OK;
	return ar_fail(err, AR_E_INVALID, "no month that is named has that day: it would never be due");
}

/* ---- intervals ---- */

static int64_t unit_of(struct ar_str word)
{
	static const struct {
		const char *name;
		int64_t seconds;
	} units[] = { { "s", 1 },
		      { "m", 60 },
		      { "h", 3600 },
		      { "d", AR_DAY },
		      { "w", 7 * AR_DAY },
		      { "second", 1 },
		      { "seconds", 1 },
		      { "minute", 60 },
		      { "minutes", 60 },
		      { "hour", 3600 },
		      { "hours", 3600 },
		      { "day", AR_DAY },
		      { "days", AR_DAY },
		      { "week", 7 * AR_DAY },
		      { "weeks", 7 * AR_DAY } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (ar_str_is(word, units[i].name))
			return units[i].seconds;
	}
	return 0;
}

/* every 15m, every 15 minutes, every hour */
static enum ar_status parse_every(struct ar_str text, struct ar_cron *c, struct ar_error *err)
{
	size_t digits = 0;
	uint64_t n = 1;
	int64_t unit;

	text = ar_str_trim(text, " \t");
	while (digits < text.len && text.p[digits] >= '0' && text.p[digits] <= '9')
		digits++;
	unit = unit_of(ar_str_trim(ar_str_sub(text, digits, text.len), " \t"));
	if (unit == 0 || digits > 9 || (digits > 0 && !ar_str_to_u64(ar_str_sub(text, 0, digits), &n)))
		return ar_fail(err, AR_E_INVALID,
			       "an interval is 'every' with a number and s, m, h, d or w: every 15m");
	if ((int64_t)n * unit < AR_CRON_EVERY_MIN || (int64_t)n * unit > AR_CRON_EVERY_MAX)
		return ar_fail(err, AR_E_INVALID, "an interval is between 1 second and 366 days");
	*c = (struct ar_cron){ .every = (int64_t)n * unit };
	return AR_OK;
}

static const char *meaning_of(struct ar_str word)
{
	static const char *const words[][2] = { { "@hourly", "0 * * * *" },   { "@daily", "0 0 * * *" },
						{ "@midnight", "0 0 * * *" }, { "@weekly", "0 0 * * 0" },
						{ "@monthly", "0 0 1 * *" },  { "@yearly", "0 0 1 1 *" },
						{ "@annually", "0 0 1 1 *" } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (ar_str_is(word, words[i][0]))
			return words[i][1];
	}
	return NULL;
}

enum ar_status ar_cron_parse(struct ar_str text, struct ar_cron *ret, struct ar_error *err)
{
	const char *meaning;

	text = ar_str_trim(text, " \t");
	if (ar_str_empty(text) || text.len > AR_CRON_TEXT_MAX)
		return ar_fail(err, AR_E_INVALID,
			       "a cron expression, @daily or 'every 15m' of at most %d bytes is needed",
			       AR_CRON_TEXT_MAX);
	if (ar_str_starts(text, AR_STR("every ")))
		return parse_every(ar_str_sub(text, 6, text.len), ret, err);
	if (text.p[0] != '@')
		return parse_fields(text, ret, err);
	meaning = meaning_of(text);
	if (!meaning)
		return ar_fail(err, AR_E_INVALID,
			       "'%.*s' is not known: use @hourly, @daily, @weekly, @monthly or @yearly",
			       AR_STR_ARG(ar_str_utf8_prefix(text, 32)));
	return parse_fields(ar_str_from(meaning), ret, err);
}
