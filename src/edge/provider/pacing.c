/* Header names and time formats of pace. Pure. */
#include "pacing.h"

#include "clock.h"
#include "header_value.h"

#include <stdio.h>
#include <string.h>

#define DAY_MS (24 * 3600 * 1000)

static int64_t clamp_ms(double ms)
{
	if (ms <= 0)
		return 0;
	return (int64_t)(ms < DAY_MS ? ms : DAY_MS);
}

int64_t ar_pacing_retry_after(const struct ar_header_source *headers, ar_usec wall_now)
{
	double n;

	if (ar_header_decimal(headers->get(headers->owner, "retry-after-ms"), &n))
		return clamp_ms(n);
	return ar_header_retry_after_ms(headers->get(headers->owner, "retry-after"), wall_now, DAY_MS);
}

/* ---- durations ---- */

static const struct {
	const char *unit;
	double ms;
} units[] = {
	{ "h", 3600e3 }, { "ms", 1 }, { "us", 1e-3 }, { "ns", 1e-6 }, { "m", 60e3 }, { "s", 1e3 },
};

static size_t digits(struct ar_str s)
{
	size_t n = 0;

	while (n < s.len && ((s.p[n] >= '0' && s.p[n] <= '9') || s.p[n] == '.'))
		n++;
	return n;
}

/* Takes one number with its unit off the front; false when there is none. */
static bool read_term(struct ar_str *s, double *sum_ms)
{
	size_t n = digits(*s);
	double value;

	if (!ar_header_decimal(ar_str_sub(*s, 0, n), &value))
		return false;
	*s = ar_str_sub(*s, n, s->len);
	for (size_t i = 0; i < AR_ARRAY_LEN(units); i++) {
		if (!ar_str_starts(*s, ar_str_from(units[i].unit)))
			continue;
		*s = ar_str_sub(*s, strlen(units[i].unit), s->len);
		*sum_ms += value * units[i].ms;
		return true;
	}
	return false;
}

int64_t ar_pacing_duration(struct ar_str text)
{
	double ms = 0;

	while (text.len > 0) {
		if (!read_term(&text, &ms))
			return 0;
	}
	return clamp_ms(ms);
}

/* ---- limits ---- */

static const char *const kinds[] = {
	[AR_RATE_REQUESTS] = "requests",
	[AR_RATE_TOKENS] = "tokens",
	[AR_RATE_INPUT_TOKENS] = "input-tokens",
	[AR_RATE_OUTPUT_TOKENS] = "output-tokens",
};

/* Two vendors, two orders of the same words. */
static struct ar_str find_header(const struct ar_header_source *h, const char *what, const char *kind)
{
	char name[64];
	struct ar_str value;

	snprintf(name, sizeof(name), "x-ratelimit-%s-%s", what, kind);
	value = h->get(h->owner, name);
	if (!ar_str_absent(value))
		return value;
	snprintf(name, sizeof(name), "anthropic-ratelimit-%s-%s", kind, what);
	return h->get(h->owner, name);
}

static struct ar_opt_int count_of(struct ar_str text)
{
	int64_t n;

	if (!ar_str_to_i64(text, &n) || n < 0)
		return (struct ar_opt_int){ 0 };
	return AR_OPT_INT(n);
}

/* A duration, or a time as RFC 3339 writes it. */
static struct ar_opt_int reset_of(struct ar_str text, ar_usec wall_now)
{
	ar_usec at;

	if (text.len == 0)
		return (struct ar_opt_int){ 0 };
	if (ar_time_parse(text, &at))
		return AR_OPT_INT(clamp_ms((double)(at - wall_now) / 1000));
	return AR_OPT_INT(ar_pacing_duration(text));
}

void ar_pacing_limits(const struct ar_header_source *headers, ar_usec wall_now,
		      struct ar_rate_limit limits[AR_RATE_KINDS])
{
	for (size_t i = 0; i < AR_RATE_KINDS; i++) {
		limits[i].limit = count_of(find_header(headers, "limit", kinds[i]));
		limits[i].remaining = count_of(find_header(headers, "remaining", kinds[i]));
		limits[i].reset_ms = reset_of(find_header(headers, "reset", kinds[i]), wall_now);
	}
}

int64_t ar_pacing_reset(const struct ar_rate_limit limits[AR_RATE_KINDS])
{
	int64_t latest = 0;

	for (size_t i = 0; i < AR_RATE_KINDS; i++) {
		bool exhausted = limits[i].remaining.set && limits[i].remaining.v == 0;

		if (exhausted && limits[i].reset_ms.set && limits[i].reset_ms.v > latest)
			latest = limits[i].reset_ms.v;
	}
	return latest;
}
