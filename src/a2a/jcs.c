/* See jcs.h. Depth is bounded by the JSON reader. */
#include "jcs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT ((int64_t)1 << 53) /* up to here a double has every integer */

/* ---- numbers ---- */

/* The shortest digits of a positive double: 0.d1d2d3... times ten to the power of *ret_point. */
static size_t digits_of(double v, char digits[AR_JSON_NUM_TEXT], int *ret_point)
{
	char text[AR_JSON_NUM_TEXT];
	size_t len = ar_json_num_text(v, text), n = 0, at = 0;
	bool is_behind = false, is_plus = memchr(text, '+', len);
	int64_t exponent;
	int point = 0;

	for (; at < len && text[at] != 'e' && text[at] != 'E'; at++) {
		if (text[at] == '.') {
			is_behind = true;
			continue;
		}
		if (n == 0 && text[at] == '0') { /* leading: it only moves the point */
			point -= is_behind;
			continue;
		}
		digits[n++] = text[at];
		point += !is_behind;
	}
	if (at < len &&
	    ar_str_to_i64((struct ar_str){ text + at + 1 + is_plus, len - at - 1 - is_plus }, &exponent))
		point += (int)exponent;
	while (n && digits[n - 1] == '0')
		n--;
	*ret_point = point;
	return n;
}

static size_t put_exponent(char *out, const char *digits, size_t n, int exponent)
{
	size_t len = 0;

	out[len++] = digits[0];
	if (n > 1) {
		out[len++] = '.';
		memcpy(out + len, digits + 1, n - 1);
		len += n - 1;
	}
	return len + (size_t)snprintf(out + len, AR_JCS_NUM_TEXT - 1 - len, "e%c%d", exponent < 0 ? '-' : '+',
				      abs(exponent));
}

/* ECMA-262, Number::toString; n digits, the point behind the first `point` of them. */
static size_t put_number(char *out, const char *digits, size_t n, int point)
{
	size_t len = 0, whole = point > 0 ? (size_t)point : 0;

	if (point > 21 || point < -5)
		return put_exponent(out, digits, n, point - 1);
	if (point <= 0) {
		out[len++] = '0';
		out[len++] = '.';
		memset(out + len, '0', (size_t)-point);
		memcpy(out + len + (size_t)-point, digits, n);
		return len + (size_t)-point + n;
	}
	if (whole >= n) {
		memcpy(out, digits, n);
		memset(out + n, '0', whole - n);
		return whole;
	}
	memcpy(out, digits, whole);
	out[whole] = '.';
	memcpy(out + whole + 1, digits + whole, n - whole);
	return n + 1;
}

size_t ar_jcs_num_text(double v, char out[AR_JCS_NUM_TEXT])
{
	char digits[AR_JSON_NUM_TEXT];
	size_t len = 0, n;
	int point = 0;

	if (v < 0)
		out[len++] = '-';
	n = v == 0 ? 0 : digits_of(v < 0 ? -v : v, digits, &point);
	if (n == 0) { /* also for minus zero */
		out[0] = '0';
		return 1;
	}
	return len + put_number(out + len, digits, n, point);
}

static void put_int(int64_t v, struct ar_buf *out)
{
	char text[AR_JCS_NUM_TEXT];

	if (v >= -EXACT && v <= EXACT)
		ar_buf_addf(out, "%lld", (long long)v);
	else
		ar_buf_add(out, text, ar_jcs_num_text((double)v, text));
}

/* ---- strings ---- */

static void put_string(struct ar_str s, struct ar_buf *out)
{
	static const char names[32] = {
		['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'
	};

	ar_buf_addc(out, '"');
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '"' || c == '\\')
			ar_buf_addf(out, "\\%c", c);
		else if (c < 32 && names[c])
			ar_buf_addf(out, "\\%c", names[c]);
		else if (c < 32)
			ar_buf_addf(out, "\\u%04x", c);
		else
			ar_buf_addc(out, (char)c);
	}
	ar_buf_addc(out, '"');
}

/* ---- members in their order ---- */

struct member {
	struct ar_str name;
	struct ar_json value;
};

/* Order of UTF-16 in the bytes of UTF-8: code points beyond U+FFFF are pairs that begin with D800 to DBFF,
 * so they come before U+E000 to U+FFFF, whose first byte is EE or EF. */
static int rank(unsigned char lead)
{
	if (lead >= 0xf0)
		return lead - 2;
	return lead >= 0xee ? lead + 0x10 : lead;
}

static int compare(const void *left, const void *right)
{
	const struct ar_str x = ((const struct member *)left)->name, y = ((const struct member *)right)->name;
	size_t same = 0;

	while (same < x.len && same < y.len && x.p[same] == y.p[same])
		same++;
	if (same == x.len || same == y.len)
		return (x.len > y.len) - (x.len < y.len);
	return rank((unsigned char)x.p[same]) - rank((unsigned char)y.p[same]);
}

static void put_object(struct ar_json v, struct ar_arena *a, struct ar_buf *out)
{
	struct member *all = ar_arena_alloc(a, (ar_json_len(v) + 1) * sizeof(*all));
	size_t count = 0;

	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);)
		all[count++] = (struct member){ it.name, it.value };
	qsort(all, count, sizeof(*all), compare);
	ar_buf_addc(out, '{');
	for (size_t i = 0; i < count; i++) {
		if (i)
			ar_buf_addc(out, ',');
		put_string(all[i].name, out);
		ar_buf_addc(out, ':');
		ar_jcs(all[i].value, a, out);
	}
	ar_buf_addc(out, '}');
}

static void put_array(struct ar_json v, struct ar_arena *a, struct ar_buf *out)
{
	bool is_first = true;

	ar_buf_addc(out, '[');
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it); is_first = false) {
		if (!is_first)
			ar_buf_addc(out, ',');
		ar_jcs(it.value, a, out);
	}
	ar_buf_addc(out, ']');
}

void ar_jcs(struct ar_json v, struct ar_arena *a, struct ar_buf *out)
{
	char text[AR_JCS_NUM_TEXT];
	struct ar_str s = { 0 };
	double num = 0;
	int64_t i = 0;
	bool b = false;

	if (ar_json_type(v) == AR_JSON_OBJECT)
		put_object(v, a, out);
	else if (ar_json_type(v) == AR_JSON_ARRAY)
		put_array(v, a, out);
	else if (ar_json_str(v, &s))
		put_string(s, out);
	else if (ar_json_i64(v, &i))
		put_int(i, out);
	else if (ar_json_num(v, &num))
		ar_buf_add(out, text, ar_jcs_num_text(num, text));
	else if (ar_json_bool(v, &b))
		ar_buf_addz(out, b ? "true" : "false");
	else
		ar_buf_addz(out, "null");
}
