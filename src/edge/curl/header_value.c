/* See header_value.h. */
#include "header_value.h"

#include <curl/curl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VALUE_MAX 64

/* False: it is empty, or longer than any such value. */
static bool to_text(struct ar_str value, char text[VALUE_MAX])
{
	if (value.len == 0 || value.len >= VALUE_MAX)
		return false;
	memcpy(text, value.p, value.len);
	text[value.len] = '\0';
	return true;
}

bool ar_header_decimal(struct ar_str value, double *ret)
{
	char text[VALUE_MAX];

	if (!to_text(value, text) || strspn(text, "0123456789.") != value.len)
		return false;
	*ret = strtod(text, NULL);
	return isfinite(*ret);
}

int64_t ar_header_retry_after_ms(struct ar_str value, ar_usec wall_now, int64_t max_ms)
{
	char text[VALUE_MAX];
	double ms;
	time_t at;

	if (ar_header_decimal(value, &ms)) {
		ms *= 1000;
	} else {
		at = to_text(value, text) ? curl_getdate(text, NULL) : -1;
		ms = at < 0 ? 0 : (double)at * 1000 - (double)wall_now / 1000;
	}
	if (ms <= 0)
		return 0;
	return ms < (double)max_ms ? (int64_t)ms : max_ms;
}
