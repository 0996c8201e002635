/* See price.h. */
#include "limits/price.h"

#define MILLION 1000000

struct item {
	int64_t tokens, price;
};

static int64_t not_negative(int64_t n)
{
	return n > 0 ? n : 0;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t ar_price_cost(const struct ar_price *price, const struct ar_token_count *tokens)
{
	int64_t input = not_negative(tokens->input);
	int64_t cached = least(not_negative(tokens->cached), input);
	int64_t written = least(not_negative(tokens->cache_write), input - cached);
	const struct item items[] = {
		{ input - cached - written, price->input },
		{ cached, price->cached == AR_MONEY_UNKNOWN ? price->input : price->cached },
		{ written, price->cache_write == AR_MONEY_UNKNOWN ? price->input : price->cache_write },
		{ not_negative(tokens->output), price->output },
	};
	unsigned __int128 sum = 0;

	if (price->input == AR_MONEY_UNKNOWN || price->output == AR_MONEY_UNKNOWN)
		return AR_MONEY_UNKNOWN;
	for (size_t i = 0; i < AR_ARRAY_LEN(items); i++)
		sum += (unsigned __int128)items[i].tokens * (unsigned __int128)items[i].price;
	sum = (sum + MILLION - 1) / MILLION;
	return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}
