/* The price list. A reset costs most: it throws work of ours away (rapid reset). Pure functions, any
 * thread. */
#include "h2/h2_budget.h"

#include "compiler.h"

#include <nghttp2/nghttp2.h>

#define ALLOWANCE 10000
#define PER_SECOND 5000
#define BYTES_PER_UNIT 1024
#define UNKNOWN_PRICE 10
#define EMPTY_DATA_PRICE 10

static const uint16_t prices[] = {
	[NGHTTP2_DATA] = 0,	    [NGHTTP2_HEADERS] = 0,    [NGHTTP2_PRIORITY] = 10,
	[NGHTTP2_RST_STREAM] = 50,  [NGHTTP2_SETTINGS] = 100, [NGHTTP2_PUSH_PROMISE] = 100,
	[NGHTTP2_PING] = 20,	    [NGHTTP2_GOAWAY] = 100,   [NGHTTP2_WINDOW_UPDATE] = 1,
	[NGHTTP2_CONTINUATION] = 0,
};

bool ar_h2_budget_pay(struct ar_h2_budget *b, uint8_t type, size_t bytes, bool is_final, uint64_t now)
{
	uint64_t given = (now - b->at) * PER_SECOND / 1000;
	uint64_t price = type < AR_ARRAY_LEN(prices) ? prices[type] : UNKNOWN_PRICE;

	if (type == NGHTTP2_DATA && !bytes && !is_final)
		price = EMPTY_DATA_PRICE;
	if (given) {
		b->spent = given < b->spent ? b->spent - given : 0;
		b->at = now;
	}
	b->spent += price;
	return b->spent <= ALLOWANCE;
}

void ar_h2_budget_earn(struct ar_h2_budget *b, size_t bytes)
{
	uint64_t given = bytes / BYTES_PER_UNIT;

	b->spent = given < b->spent ? b->spent - given : 0;
}
