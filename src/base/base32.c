/* Crockford base32 as base32.h describes it. Pure functions. Strict: no upper case and none of the
 * look-alikes that Crockford lets a person type, because an id has one spelling. */
#include "base32.h"

#include <endian.h>
#include <string.h>

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

#define DIGIT \
	32 /* set in every digit's entry, so that one AND over all entries shows whether all were digits */

static const uint8_t values[256] = {
	['0'] = 32, ['1'] = 33, ['2'] = 34, ['3'] = 35, ['4'] = 36, ['5'] = 37, ['6'] = 38, ['7'] = 39,
	['8'] = 40, ['9'] = 41, ['a'] = 42, ['b'] = 43, ['c'] = 44, ['d'] = 45, ['e'] = 46, ['f'] = 47,
	['g'] = 48, ['h'] = 49, ['j'] = 50, ['k'] = 51, ['m'] = 52, ['n'] = 53, ['p'] = 54, ['q'] = 55,
	['r'] = 56, ['s'] = 57, ['t'] = 58, ['v'] = 59, ['w'] = 60, ['x'] = 61, ['y'] = 62, ['z'] = 63,
};

/* Both directions go from the last byte up, so that the spare bits end in the first digit: eight digits are
 * five bytes. */
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

/* Eight digits, the last the lowest. Every flag is added with its digit and taken off again in one. */
static uint64_t eight(const char *p, unsigned *all)
{
	const uint64_t flags = DIGIT * (uint64_t)0x0842108421;
	uint64_t a = values[(unsigned char)p[0]], b = values[(unsigned char)p[1]],
		 c = values[(unsigned char)p[2]], d = values[(unsigned char)p[3]],
		 e = values[(unsigned char)p[4]], f = values[(unsigned char)p[5]],
		 g = values[(unsigned char)p[6]], h = values[(unsigned char)p[7]];

	*all &= (unsigned)(a & b & c & d & e & f & g & h);
	return (((((((a * 32 + b) * 32 + c) * 32 + d) * 32 + e) * 32 + f) * 32 + g) * 32 + h) - flags;
}

static unsigned all_of_eight(const unsigned char *p)
{
	return values[p[0]] & values[p[1]] & values[p[2]] & values[p[3]] & values[p[4]] & values[p[5]] &
	       values[p[6]] & values[p[7]];
}

static void put_five(uint8_t *ret, uint64_t bits)
{
	uint64_t ordered = htobe64(bits << 24);

	memcpy(ret, &ordered, 5);
}

bool ar_base32_decode(struct ar_str text, uint8_t *ret, size_t len)
{
	unsigned all = DIGIT;
	uint64_t bits = 0;
	size_t at = text.len;

	if (text.len != AR_BASE32_LEN(len))
		return false;
	for (; at >= 8; at -= 8, len -= 5)
		put_five(ret + len - 5, eight(text.p + at - 8, &all));
	for (size_t i = 0; i < at; i++) {
		all &= values[(unsigned char)text.p[i]];
		bits = bits << 5 | (values[(unsigned char)text.p[i]] & 31);
	}
	for (; len > 0; bits >>= 8)
		ret[--len] = (uint8_t)bits;
	return all == DIGIT && bits == 0;
}

/* The digits in front carry bits that no byte has: those are zero. */
bool ar_base32_fits(struct ar_str text, size_t len)
{
	size_t spare = AR_BASE32_LEN(len) * 5 - len * 8, at = text.len;
	unsigned all = DIGIT;

	if (text.len != AR_BASE32_LEN(len))
		return false;
	for (; at >= 8; at -= 8)
		all &= all_of_eight((const unsigned char *)text.p + at - 8);
	for (size_t i = 0; i < at; i++)
		all &= values[(unsigned char)text.p[i]];
	return all == DIGIT && (!text.len || (values[(unsigned char)text.p[0]] & 31u) < 32u >> spare);
}
