/* The escapes of $'...': by letter, octal, hexadecimal, code point, control. Unknown ones
 * stand for their letter. Pure. */
#include "danger.h"

#include <string.h>

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Up to `max` digits of this base from *at on. */
static uint32_t number(struct ar_str in, size_t *at, int base, size_t max)
{
	uint32_t n = 0;

	for (size_t i = 0; i < max && *at < in.len && digit(in.p[*at]) < base; i++)
		n = n * (uint32_t)base + (uint32_t)digit(in.p[(*at)++]);
	return n;
}

static size_t put_code_point(uint32_t n, char *out)
{
	if (n < 0x80) {
		out[0] = (char)n;
		return 1;
	}
	/* Only what is ASCII can be a word of the tables: the rest only has to be something else. */
	out[0] = '?';
	return 1;
}

static size_t put_escape(struct ar_str in, size_t *at, char *out)
{
	static const char letters[] = "abefnrtv", bytes[] = "\a\b\033\f\n\r\t\v";
	char c = in.p[(*at)++];
	const char *known = strchr(letters, c);

	if (c == 'x')
		return put_code_point(number(in, at, 16, 2), out);
	if (c == 'u' || c == 'U')
		return put_code_point(number(in, at, 16, c == 'u' ? 4 : 8), out);
	if (c == 'c' && *at < in.len)
		return put_code_point((uint32_t)in.p[(*at)++] & 0x1f, out);
	if (c >= '0' && c <= '7') {
		(*at)--;
		return put_code_point(number(in, at, 8, 3) & 0xff, out);
	}
	out[0] = c && known ? bytes[known - letters] : c;
	return 1;
}

size_t ar_unquote_ansi(struct ar_str in, char *out)
{
	size_t len = 0, at = 0;

	while (at < in.len) {
		if (in.p[at] != '\\' || at + 1 == in.len) {
			out[len++] = in.p[at++];
			continue;
		}
		at++;
		len += put_escape(in, &at, out + len);
	}
	return len;
}
