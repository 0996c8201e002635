/* Rules about a value by itself: type, enum and const, numbers, length, pattern. */
#include "schema_priv.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define NUMBER_TEXT 40

bool ar_check_type(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	return (r->u.allowed & at->types) || ar_fault_type(c, at, r->u.allowed);
}

bool ar_check_literal(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	if (!ar_check_spend(c, r->u.literals.count))
		return false;
	for (size_t i = 0; i < r->u.literals.count; i++) {
		if (ar_equal_literal(c, &r->u.literals.list[i], at->value))
			return true;
	}
	return ar_fault_literals(c, at, r->u.literals.list, r->u.literals.count);
}

static const char *number_text(struct ar_number n, char out[NUMBER_TEXT])
{
	if (n.is_int)
		(void)snprintf(out, NUMBER_TEXT, "%lld", (long long)n.i);
	else
		(void)snprintf(out, NUMBER_TEXT, "%.15g", n.d);
	return out;
}

static bool fault_number(struct ar_check *c, const struct ar_spot *at, const char *must,
			 struct ar_number limit)
{
	char want[NUMBER_TEXT], got[NUMBER_TEXT];

	return ar_fault(c, at, "must be %s %s, not %s", must, number_text(limit, want),
			number_text(ar_number_of(at->value), got));
}

bool ar_check_minimum(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	return ar_number_cmp(ar_number_of(at->value), r->u.number) >= 0 ||
	       fault_number(c, at, "at least", r->u.number);
}

bool ar_check_maximum(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	return ar_number_cmp(ar_number_of(at->value), r->u.number) <= 0 ||
	       fault_number(c, at, "at most", r->u.number);
}

bool ar_check_above(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	return ar_number_cmp(ar_number_of(at->value), r->u.number) > 0 ||
	       fault_number(c, at, "more than", r->u.number);
}

bool ar_check_below(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	return ar_number_cmp(ar_number_of(at->value), r->u.number) < 0 ||
	       fault_number(c, at, "less than", r->u.number);
}

/* Decimal fractions are not exact in binary: 0.0075 / 0.0001 is 75 and a little. That
 * little is forgiven, not more. */
static bool is_multiple(struct ar_number v, struct ar_number of)
{
	double times;

	if (v.is_int && of.is_int)
		return v.i % of.i == 0;
	times = v.d / of.d;
	if (!isfinite(times) || (ar_number_is_integral(v) && ar_number_is_integral(of)))
		return fmod(v.d, of.d) == 0;
	return fabs(times - round(times)) <= 4 * DBL_EPSILON * fabs(times);
}

bool ar_check_multiple(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	return is_multiple(ar_number_of(at->value), r->u.number) ||
	       fault_number(c, at, "a multiple of", r->u.number);
}

static uint64_t code_points(struct ar_str s)
{
	uint64_t count = 0;

	for (size_t i = 0; i < s.len; i++)
		count += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return count;
}

/* Items of a list, members of an object. */
bool ar_check_count(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	const char *what = ar_json_type(at->value) == AR_JSON_ARRAY ? "items" : "members";
	size_t count = ar_json_len(at->value);

	if (count < r->u.size.min)
		return ar_fault(c, at, "must have at least %llu %s, not %zu",
				(unsigned long long)r->u.size.min, what, count);
	if (count > r->u.size.max)
		return ar_fault(c, at, "must have at most %llu %s, not %zu",
				(unsigned long long)r->u.size.max, what, count);
	return true;
}

bool ar_check_length(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	struct ar_str text = AR_STR("");
	uint64_t len;

	(void)ar_json_str(at->value, &text);
	if (!ar_check_spend(c, text.len / 64))
		return false;
	len = code_points(text);
	if (len < r->u.size.min)
		return ar_fault(c, at, "must have at least %llu characters, not %llu",
				(unsigned long long)r->u.size.min, (unsigned long long)len);
	if (len > r->u.size.max)
		return ar_fault(c, at, "must have at most %llu characters, not %llu",
				(unsigned long long)r->u.size.max, (unsigned long long)len);
	return true;
}

bool ar_check_pattern(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	struct ar_str text = AR_STR(""), shown = ar_str_utf8_prefix(r->u.pattern.text, 200);

	(void)ar_json_str(at->value, &text);
	return ar_check_search(c, r->u.pattern.regex, text) ||
	       ar_fault(c, at, "must match the pattern %.*s", AR_STR_ARG(shown));
}
