/* Crockford base32 as base32.h describes it. Pure functions. Strict: no upper case and none of the
 * look-alikes that Crockford lets a person type, because an id has one spelling. */
#include "base32.h"

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

/* Value + 1 of each digit; 0 = not a digit. */
static const uint8_t values[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,	['6'] = 7,  ['7'] = 8,
	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['g'] = 17, ['h'] = 18, ['j'] = 19, ['k'] = 20, ['m'] = 21, ['n'] = 22, ['p'] = 23, ['q'] = 24,
	['r'] = 25, ['s'] = 26, ['t'] = 27, ['v'] = 28, ['w'] = 29, ['x'] = 30, ['y'] = 31, ['z'] = 32,
};

/* Both directions go from the last byte up, so that the spare bits end in the first digit: eight digits are five bytes. */
void ar_base32_encode(const uint8_t *bytes, size_t len, char *out)
{
	for (size_t at = AR_BASE32_LEN(len); at > 0;) {
		uint64_t bits = 0;

		for (unsigned have = 0; have < 40 && len > 0; have += 8)
			bits |= (uint64_t)bytes[--len] << have;
		for (unsigned n = 0; n < 8 && at > 0; n++, bits >>= 5)
			out[--at] = digits[bits & 31];
	}
}

bool ar_base32_decode(struct ar_str text, uint8_t *ret, size_t len)
{
	uint64_t bits = 0;

	if (text.len != AR_BASE32_LEN(len))
		return false;
	for (size_t at = text.len; at > 0 && bits == 0;) {
		for (unsigned have = 0; have < 40 && at > 0; have += 5) {
			unsigned value = values[(unsigned char)text.p[--at]];

			if (!value)
				return false;
			bits |= (uint64_t)(value - 1) << have;
		}
		for (unsigned n = 0; n < 5 && len > 0; n++, bits >>= 8)
			ret[--len] = (uint8_t)bits;
	}
	return bits == 0;
}
