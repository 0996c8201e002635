/* What tokens cost, in whole billionths (money.h): products are made in 128 bits and rounded up
 * once per request, never in floating point. Pure; no thread of its own. */
#ifndef AR_SESSION_LIMITS_PRICE_H
#define AR_SESSION_LIMITS_PRICE_H

#include "limits/money.h"

/* Of a million tokens each; AR_MONEY_UNKNOWN where nobody said. */
struct ar_price {
	int64_t input, output;
	int64_t cached, cache_write; /* unknown: as input */
};

/* As a provider counts them: input includes what came from a cache and what went into one. */
struct ar_token_count {
	int64_t input, output, cached, cache_write;
};

/* AR_MONEY_UNKNOWN when a price that is needed is; INT64_MAX when it is more than that. Counts
 * below zero, which no honest server sends, are taken for none. */
int64_t ar_price_cost(const struct ar_price *price, const struct ar_token_count *tokens);

#endif
