/* Amounts of money as whole billionths of a unit of currency ("nano"), so that sums are exact;
 * as text they are plain decimals without exponent. Pure; no thread of its own. */
#ifndef AR_SESSION_LIMITS_MONEY_H
#define AR_SESSION_LIMITS_MONEY_H

#include "arena.h"
#include "str.h"

#define AR_MONEY_UNKNOWN (-1)
#define AR_MONEY_UNIT ((int64_t)1000000000)

/* "3", "0.25", "12.000000001": digits with at most nine places. False on anything else and above
 * 9,000,000,000. */
bool ar_money_parse(struct ar_str text, int64_t *ret_nano);

/* The shortest text of an amount that is not negative: "0", "0.25", "12.000000001". */
struct ar_str ar_money_text(struct ar_arena *a, int64_t nano);

#endif
