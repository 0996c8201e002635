/* What a schedule means, in a sentence for people. The usual forms are said as a person would; others by
 * their fields. Pure. */
#include "cron.h"
#include "buf.h"
#include "civil.h"

#define ALL_MINUTES ((UINT64_C(1) << 60) - 1)
#define ALL_HOURS 0xFFFFFFu
#define ALL_DAYS 0xFFFFFFFEu
#define ALL_MONTHS 0x1FFEu
#define ALL_WEEKDAYS 0x7Fu
#define TIMES_MAX 6 /* times of a day that are listed one by one */

static const char *const month_names[] = { "",	      "January",  "February", "March",	"April",
					   "May",     "June",	  "July",     "August", "September",
					   "October", "November", "December" };
static const char *const weekday_names[] = { "Sunday",	 "Monday", "Tuesday", "Wednesday",
					     "Thursday", "Friday", "Saturday" };

/* ", " and " and " between the parts of a list. */
static void add_separator(struct ar_buf *out, uint64_t left, bool is_first)
{
	if (!is_first)
		ar_buf_adds(out, left ? AR_STR(", ") : AR_STR(" and "));
}

static void add_numbers(struct ar_buf *out, uint64_t bits, const char *const *names)
{
	bool is_first = true;

	while (bits) {
		int n = __builtin_ctzll(bits);

		bits &= bits - 1;
		add_separator(out, bits, is_first);
		is_first = false;
		if (names)
			ar_buf_adds(out, ar_str_from(names[n]));
		else
			ar_buf_addf(out, "%d", n);
	}
}

/* The distance of all bits from the first on, if it is one; 0: it is not. */
static int step_of(uint64_t bits, int size)
{
	int first = __builtin_ctzll(bits), step;
	uint64_t expected = 0;

	if (first != 0 || __builtin_popcountll(bits) < 2)
		return 0;
	step = __builtin_ctzll(bits & (bits - 1));
	for (int n = 0; n < size; n += step)
		expected |= UINT64_C(1) << n;
	return expected == bits && size % step == 0 ? step : 0;
}

static void add_days(struct ar_buf *out, const struct ar_cron *c)
{
	bool has_days = c->days != ALL_DAYS, has_weekdays = c->weekdays != ALL_WEEKDAYS;

	if (has_weekdays && !has_days && c->weekdays == 0x3E) {
		ar_buf_adds(out, AR_STR("every weekday"));
	} else if (has_weekdays && !has_days) {
		ar_buf_adds(out, AR_STR("every "));
		add_numbers(out, c->weekdays, weekday_names);
	} else if (has_days) {
		ar_buf_adds(out, AR_STR("on day "));
		add_numbers(out, c->days, NULL);
		ar_buf_adds(out, AR_STR(" of the month"));
		if (has_weekdays) {
			ar_buf_adds(out, c->is_any_day || c->is_any_weekday ? AR_STR(" if it is a ")
									    : AR_STR(" and every "));
			add_numbers(out, c->weekdays, weekday_names);
		}
	} else {
		ar_buf_adds(out, AR_STR("every day"));
	}
	if (c->months != ALL_MONTHS) {
		ar_buf_adds(out, AR_STR(" in "));
		add_numbers(out, c->months, month_names);
	}
}

static bool add_listed_times(struct ar_buf *out, const struct ar_cron *c)
{
	int count = __builtin_popcountll(c->minutes) * __builtin_popcount(c->hours);

	if (count > TIMES_MAX)
		return false;
	ar_buf_adds(out, AR_STR(" at "));
	for (int n = 0, seen = 0; n < 24 * 60; n++) {
		if (!(c->hours >> (n / 60) & 1) || !(c->minutes >> (n % 60) & 1))
			continue;
		seen++;
		add_separator(out, (uint64_t)(count - seen), seen == 1);
		ar_buf_addf(out, "%02d:%02d", n / 60, n % 60);
	}
	return true;
}

static void add_hours(struct ar_buf *out, const struct ar_cron *c)
{
	int step = step_of(c->hours, 24);

	if (c->hours == ALL_HOURS) {
		ar_buf_adds(out, AR_STR("of every hour"));
	} else if (step > 1) {
		ar_buf_addf(out, "of every %d hours", step);
	} else {
		ar_buf_adds(out,
			    __builtin_popcount(c->hours) == 1 ? AR_STR("of hour ") : AR_STR("of hours "));
		add_numbers(out, c->hours, NULL);
	}
}

static void add_minutes(struct ar_buf *out, const struct ar_cron *c)
{
	int step = step_of(c->minutes, 60);

	if (c->minutes == ALL_MINUTES) {
		ar_buf_adds(out, AR_STR(" every minute"));
	} else if (step > 1) {
		ar_buf_addf(out, " every %d minutes", step);
	} else {
		ar_buf_adds(out, AR_STR(" at minute "));
		add_numbers(out, c->minutes, NULL);
	}
	if (c->hours == ALL_HOURS && (step > 1 || c->minutes == ALL_MINUTES))
		return;
	ar_buf_addc(out, ' ');
	add_hours(out, c);
}

static void add_interval(struct ar_buf *out, int64_t seconds)
{
	static const struct {
		int64_t seconds;
		const char *name;
	} units[] = {
		{ 7 * AR_DAY, "week" }, { AR_DAY, "day" }, { 3600, "hour" }, { 60, "minute" }, { 1, "second" }
	};
	size_t i = 0;

	while (seconds % units[i].seconds != 0)
		i++;
	seconds /= units[i].seconds;
	if (seconds == 1)
		ar_buf_addf(out, "every %s", units[i].name);
	else
		ar_buf_addf(out, "every %lld %ss", (long long)seconds, units[i].name);
}

struct ar_str ar_cron_sentence(const struct ar_cron *c, struct ar_str zone, struct ar_arena *a)
{
	struct ar_buf out = { 0 };
	struct ar_str text;

	if (c->every) {
		add_interval(&out, c->every);
	} else {
		add_days(&out, c);
		if (!add_listed_times(&out, c))
			add_minutes(&out, c);
		if (!ar_str_absent(zone))
			ar_buf_addf(&out, " %.*s", AR_STR_ARG(zone));
	}
	text = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return text;
}
