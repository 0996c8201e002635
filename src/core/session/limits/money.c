/* See money.h. */
#include "limits/money.h"

#define PLACES 9
#define MAX_WHOLE ((uint64_t)9000000000)

bool ar_money_parse(struct ar_str text, int64_t *ret_nano)
{
	struct ar_str whole;
	struct ar_str places = ar_str_split(text, '.', &whole);
	uint64_t units, rest = 0;

	if (!ar_str_to_u64(whole, &units) || units > MAX_WHOLE)
		return false;
	if (!ar_str_absent(places) && (places.len > PLACES || !ar_str_to_u64(places, &rest)))
		return false;
	for (size_t i = ar_str_absent(places) ? PLACES : places.len; i < PLACES; i++)
		rest *= 10;
	*ret_nano = (int64_t)units * AR_MONEY_UNIT + (int64_t)rest;
	return true;
}

struct ar_str ar_money_text(struct ar_arena *a, int64_t nano)
{
	struct ar_str text = ar_arena_fmt(a, "%lld.%09lld", (long long)(nano / AR_MONEY_UNIT),
					  (long long)(nano % AR_MONEY_UNIT));

	while (text.p[text.len - 1] == '0')
		text.len--;
	if (text.p[text.len - 1] == '.')
		text.len--;
	return text;
}
