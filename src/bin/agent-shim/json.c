/* Looks through the text of one JSON object without building anything. Texts come from the daemon and from
 * agent-init, which are ours; what is malformed is simply not found. */
#include "json.h"

#include <string.h>

static size_t skip_space(struct ar_piece t, size_t at)
{
	while (at < t.len && (t.p[at] == ' ' || t.p[at] == '\n' || t.p[at] == '\t' || t.p[at] == '\r'))
		at++;
	return at;
}

/* Behind the closing quote of the string that begins at `at`; t.len when it has none. */
static size_t skip_string(struct ar_piece t, size_t at)
{
	for (at++; at < t.len; at++) {
		if (t.p[at] == '"')
			return at + 1;
		if (t.p[at] == '\\')
			at++;
	}
	return t.len;
}

static size_t skip_value(struct ar_piece t, size_t at)
{
	size_t depth = 0;

	while (at < t.len) {
		char c = t.p[at];

		if (depth == 0 && (c == ',' || c == '}' || c == ']'))
			return at;
		if (c == '{' || c == '[')
			depth++;
		if (c == '}' || c == ']')
			depth--;
		at = c == '"' ? skip_string(t, at) : at + 1;
	}
	return at;
}

/* Without the quotes, or without the space behind it. */
static struct ar_piece trim_piece(struct ar_piece t, size_t from, size_t to)
{
	while (to > from && (t.p[to - 1] == ' ' || t.p[to - 1] == '\n' || t.p[to - 1] == '\t'))
		to--;
	if (to - from >= 2 && t.p[from] == '"')
		return (struct ar_piece){ t.p + from + 1, to - from - 2 };
	return (struct ar_piece){ t.p + from, to - from };
}

bool ar_json_member(struct ar_piece t, const char *name, struct ar_piece *ret)
{
	size_t at = skip_space(t, 0);

	if (at >= t.len || t.p[at] != '{')
		return false;
	at = skip_space(t, at + 1);
	while (at < t.len && t.p[at] == '"') {
		size_t key_end = skip_string(t, at), value, end;
		struct ar_piece key = trim_piece(t, at, key_end);

		value = skip_space(t, key_end);
		if (value >= t.len || t.p[value] != ':')
			return false;
		value = skip_space(t, value + 1);
		end = skip_value(t, value);
		if (ar_piece_is(key, name)) {
			*ret = trim_piece(t, value, end);
			return true;
		}
		at = end < t.len && t.p[end] == ',' ? skip_space(t, end + 1) : t.len;
	}
	return false;
}

bool ar_json_next_string(struct ar_piece array, size_t *at, struct ar_piece *ret)
{
	size_t from = *at;

	while (from < array.len && array.p[from] != '"')
		from++;
	if (from >= array.len)
		return false;
	*at = skip_string(array, from);
	*ret = trim_piece(array, from, *at);
	return true;
}

uint64_t ar_json_number(struct ar_piece text, const char *name, uint64_t otherwise)
{
	struct ar_piece value;
	uint64_t n = 0;

	if (!ar_json_member(text, name, &value) || value.len == 0 || value.len > 18)
		return otherwise;
	for (size_t i = 0; i < value.len; i++) {
		if (value.p[i] < '0' || value.p[i] > '9')
			return otherwise;
		n = n * 10 + (uint64_t)(value.p[i] - '0');
	}
	return n;
}

bool ar_piece_is(struct ar_piece piece, const char *word)
{
	return strlen(word) == piece.len && memcmp(piece.p, word, piece.len) == 0;
}
