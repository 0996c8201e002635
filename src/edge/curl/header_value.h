/* Values of HTTP headers that more than one client reads. Pure functions, any thread. */
#ifndef AR_CURL_HEADER_VALUE_H
#define AR_CURL_HEADER_VALUE_H

#include "clock.h"
#include "str.h"

AR_BEGIN_DECLS

/* Digits and points alone: no sign, no exponent, nothing behind them. */
bool ar_header_decimal(struct ar_str value, double *ret);

/* Milliseconds that a Retry-After (seconds or an HTTP date) asks to wait, from 0 to max_ms. 0 also for a
 * value that cannot be read, and for none. */
int64_t ar_header_retry_after_ms(struct ar_str value, ar_usec wall_now, int64_t max_ms);

AR_END_DECLS

#endif
