/* Crockford base32 as base32.h describes it. Pure functions. Strict: no upper case and none of the
 * look-alikes that Crockford lets a person type, because an id has one spelling. */
#include "base32.h"

#include <string.h>

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* Both directions go from the last byte up, so that the spare bits end in the first digit. */
void ar_base32_encode(const uint8_t *bytes, size_t len, char *out)
{
	unsigned bits = 0, have = 0;

	for (size_t at = AR_BASE32_LEN(len); at > 0;) {
		if (have < 5 && len > 0) {
			bits |= (unsigned)bytes[--len] << have;
			have += 8;
		}
		out[--at] = digits[bits & 31];
		bits >>= 5;
		have = have > 5 ? have - 5 : 0;
	}
}

static int digit_value(char c)
{
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool ar_base32_decode(struct ar_str text, uint8_t *ret, size_t len)
{
	unsigned bits = 0, have = 0;
	size_t at = len;

	if (text.len != AR_BASE32_LEN(len))
		return false;
	for (size_t i = text.len; i > 0; i--) {
		int value = digit_value(text.p[i - 1]);

		if (value < 0)
			return false;
		bits |= (unsigned)value << have;
		have += 5;
		if (have >= 8 && at > 0) {
			ret[--at] = (uint8_t)bits;
			bits >>= 8;
			have -= 8;
		}
	}
	return bits == 0;
}
