/* Borrowed strings: comparing, cutting, numbers, UTF-8. Pure functions over their arguments; nothing is
 * copied. */
#include "str.h"

#include <string.h>

static const struct ar_str nothing;
const struct ar_texts ar_texts_empty = { &nothing, 0 };

int ar_str_cmp(struct ar_str a, struct ar_str b)
{
	size_t both = a.len < b.len ? a.len : b.len;
	int order = both ? memcmp(a.p, b.p, both) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

bool ar_str_starts(struct ar_str s, struct ar_str prefix)
{
	return s.p && s.len >= prefix.len && ar_str_cmp(ar_str_sub(s, 0, prefix.len), prefix) == 0;
}

bool ar_str_ends(struct ar_str s, struct ar_str suffix)
{
	return s.p && s.len >= suffix.len &&
	       ar_str_cmp(ar_str_sub(s, s.len - suffix.len, suffix.len), suffix) == 0;
}

struct ar_str ar_str_sub(struct ar_str s, size_t from, size_t len)
{
	if (!s.p)
		return AR_STR_NONE;
	if (from > s.len)
		from = s.len;
	if (len > s.len - from)
		len = s.len - from;
	return (struct ar_str){ s.p + from, len };
}

struct ar_str ar_str_trim(struct ar_str s, const char *chars)
{
	size_t count = strlen(chars);

	while (s.len > 0 && memchr(chars, s.p[0], count))
		s = ar_str_sub(s, 1, s.len);
	while (s.len > 0 && memchr(chars, s.p[s.len - 1], count))
		s.len--;
	return s;
}

bool ar_texts_have(struct ar_texts texts, struct ar_str text)
{
	for (size_t i = 0; i < texts.count; i++) {
		if (ar_str_eq(texts.at[i], text))
			return true;
	}
	return false;
}

bool ar_texts_eq(struct ar_texts a, struct ar_texts b)
{
	if (a.count != b.count)
		return false;
	for (size_t i = 0; i < a.count; i++) {
		if (!ar_str_eq(a.at[i], b.at[i]))
			return false;
	}
	return true;
}

struct ar_str ar_texts_first(struct ar_texts texts)
{
	for (size_t i = 0; i < texts.count; i++) {
		if (!ar_str_absent(texts.at[i]))
			return texts.at[i];
	}
	return AR_STR_NONE;
}

struct ar_str ar_str_split(struct ar_str s, char sep, struct ar_str *ret_head)
{
	const char *at = s.len ? memchr(s.p, sep, s.len) : NULL;

	if (!at) {
		*ret_head = s;
		return AR_STR_NONE;
	}
	*ret_head = ar_str_sub(s, 0, (size_t)(at - s.p));
	return ar_str_sub(s, ret_head->len + 1, s.len);
}

bool ar_str_to_u64(struct ar_str s, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
			return false;
	}
	if (s.len == 0)
		return false;
	*ret = v;
	return true;
}

bool ar_str_to_i64(struct ar_str s, int64_t *ret)
{
	bool minus = s.len > 0 && s.p[0] == '-';
	uint64_t v;

	if (!ar_str_to_u64(ar_str_sub(s, minus, s.len), &v) || v > (uint64_t)INT64_MAX + minus)
		return false;
	*ret = (int64_t)(minus ? -v : v);
	return true;
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xC0) == 0x80;
}

/* First bytes of multi-byte sequences, and the range of the second byte that excludes overlong forms,
 * surrogates and what is above U+10FFFF (Unicode, table 3-7). */
static const struct {
	unsigned char first_min, first_max, second_min, second_max;
	size_t len;
} sequences[] = {
	{ 0xC2, 0xDF, 0x80, 0xBF, 2 }, { 0xE0, 0xE0, 0xA0, 0xBF, 3 }, { 0xE1, 0xEC, 0x80, 0xBF, 3 },
	{ 0xED, 0xED, 0x80, 0x9F, 3 }, { 0xEE, 0xEF, 0x80, 0xBF, 3 }, { 0xF0, 0xF0, 0x90, 0xBF, 4 },
	{ 0xF1, 0xF3, 0x80, 0xBF, 4 }, { 0xF4, 0xF4, 0x80, 0x8F, 4 },
};

size_t ar_str_utf8_len(struct ar_str s)
{
	const unsigned char *b = (const unsigned char *)s.p;
	size_t row = 0;

	if (s.len == 0)
		return 0;
	if (b[0] < 0x80)
		return 1;
	while (row < AR_ARRAY_LEN(sequences) && b[0] > sequences[row].first_max)
		row++;
	if (row == AR_ARRAY_LEN(sequences) || b[0] < sequences[row].first_min || s.len < sequences[row].len)
		return 0;
	if (b[1] < sequences[row].second_min || b[1] > sequences[row].second_max)
		return 0;
	for (size_t i = 2; i < sequences[row].len; i++) {
		if (!is_continuation(s.p[i]))
			return 0;
	}
	return sequences[row].len;
}

bool ar_str_is_utf8(struct ar_str s)
{
	for (size_t i = 0, seq; i < s.len; i += seq) {
		seq = ar_str_utf8_len(ar_str_sub(s, i, 4));
		if (seq == 0)
			return false;
	}
	return true;
}

bool ar_str_is_text(struct ar_str s)
{
	return s.len == 0 || (ar_str_is_utf8(s) && !memchr(s.p, '\0', s.len));
}

bool ar_str_is_line(struct ar_str s, size_t max)
{
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return false;
	}
	return s.len > 0 && s.len <= max && ar_str_is_utf8(s);
}

bool ar_str_is_plain_path(struct ar_str s)
{
	struct ar_str name, rest;

	if (s.len < 2 || s.p[0] != '/' || memchr(s.p, '\0', s.len))
		return false;
	rest = ar_str_sub(s, 1, s.len);
	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, '/', &name);
		if (name.len == 0 || ar_str_is(name, ".") || ar_str_is(name, ".."))
			return false;
	}
	return true;
}

/* Only the last three bytes can belong to a cut sequence; bytes that are no UTF-8 at all are left alone. */
struct ar_str ar_str_utf8_prefix(struct ar_str s, size_t max)
{
	struct ar_str cut = ar_str_sub(s, 0, max);

	for (size_t back = 1; back <= 3 && back <= cut.len; back++) {
		size_t start = cut.len - back;
		size_t seq = ar_str_utf8_len(ar_str_sub(s, start, 4));

		if (seq > back)
			return ar_str_sub(s, 0, start);
		if (!is_continuation(s.p[start]))
			break;
	}
	return cut;
}

/* ---- what was meant ---- */

#define WORD_MAX 48

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Levenshtein over one row. */
static size_t distance(struct ar_str a, struct ar_str b)
{
	size_t row[WORD_MAX + 1];

	if (a.len > WORD_MAX || b.len > WORD_MAX)
		return SIZE_MAX;
	for (size_t k = 0; k <= b.len; k++)
		row[k] = k;
	for (size_t i = 1; i <= a.len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t k = 1; k <= b.len; k++) {
			size_t above = row[k];

			row[k] = least(above + 1, row[k - 1] + 1, diagonal + (a.p[i - 1] != b.p[k - 1]));
			diagonal = above;
		}
	}
	return row[b.len];
}

struct ar_meant ar_meant(struct ar_str word)
{
	return (struct ar_meant){ .word = word,
				  .distance = word.len / 3 + 2 }; /* farther is no typing mistake */
}

void ar_meant_try(struct ar_meant *n, struct ar_str name)
{
	size_t d = n->word.len > 1 && ar_str_starts(name, n->word) ? 0 : distance(n->word, name);

	if (d < n->distance || (d == n->distance && !ar_str_absent(n->found) && name.len < n->found.len)) {
		n->distance = d;
		n->found = name;
	}
}
