/* Words of which a part is not known before they run: a shape has the bytes AR_ANY_PART and
 * AR_ANY_WORDS where anything may come. Pure. */
#include "danger.h"

#include <string.h>

static bool is_any(char c)
{
	return c == AR_ANY_PART || c == AR_ANY_WORDS;
}

bool ar_shape_is_unknown(struct ar_str shape)
{
	return shape.len > 0 &&
	       (memchr(shape.p, AR_ANY_PART, shape.len) || memchr(shape.p, AR_ANY_WORDS, shape.len));
}

bool ar_shape_splits(struct ar_str shape)
{
	return shape.len > 0 && memchr(shape.p, AR_ANY_WORDS, shape.len);
}

bool ar_shape_is_open(struct ar_str shape)
{
	for (size_t i = 0; i < shape.len; i++) {
		if (!is_any(shape.p[i]))
			return false;
	}
	return shape.len > 0;
}

/* Each AR_ANY_* fits any run of bytes. */
bool ar_shape_may_be(struct ar_str shape, struct ar_str text)
{
	size_t p = 0, t = 0, star = shape.len, from = 0;

	while (t < text.len) {
		if (p < shape.len && is_any(shape.p[p])) {
			star = p++;
			from = t;
		} else if (p < shape.len && shape.p[p] == text.p[t]) {
			p++;
			t++;
		} else if (star < shape.len) {
			p = star + 1;
			t = ++from;
		} else {
			return false;
		}
	}
	while (p < shape.len && is_any(shape.p[p]))
		p++;
	return p == shape.len;
}

struct ar_str ar_shape_merge(struct ar_str a, struct ar_str b, struct ar_arena *arena)
{
	size_t shorter = a.len < b.len ? a.len : b.len, head = 0, tail = 0;
	bool splits = ar_shape_splits(a) || ar_shape_splits(b);
	char *out = ar_arena_alloc(arena, shorter + 2);

	if (ar_str_eq(a, b))
		return a;
	while (head < shorter && a.p[head] == b.p[head])
		head++;
	while (tail < shorter - head && a.p[a.len - 1 - tail] == b.p[b.len - 1 - tail])
		tail++;
	if (head > 0)
		memcpy(out, a.p, head);
	out[head] = splits ? AR_ANY_WORDS : AR_ANY_PART;
	if (tail > 0)
		memcpy(out + head + 1, a.p + a.len - tail, tail);
	return (struct ar_str){ out, head + 1 + tail };
}

struct ar_str ar_shape_shown(struct ar_str shape, struct ar_arena *a)
{
	char *out = ar_arena_alloc(a, 3 * shape.len + 1);
	size_t len = 0;

	for (size_t i = 0; i < shape.len; i++) {
		if (is_any(shape.p[i])) {
			memcpy(out + len, "...", 3);
			len += 3;
		} else {
			out[len++] = shape.p[i];
		}
	}
	return (struct ar_str){ out, len };
}

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* name=value, name+=value, name[...]=value. */
bool ar_shape_assigns(struct ar_str shape, struct ar_str *ret_name, struct ar_str *ret_value)
{
	size_t at = 0, end;

	while (at < shape.len && is_name_byte(shape.p[at]))
		at++;
	end = at;
	if (end == 0 || (shape.p[0] >= '0' && shape.p[0] <= '9'))
		return false;
	/* the index of an array, whatever is in it */
	if (at < shape.len && (shape.p[at] == '[' || is_any(shape.p[at]))) {
		while (at < shape.len && shape.p[at] != '=')
			at++;
	}
	if (at < shape.len && shape.p[at] == '+')
		at++;
	if (at == shape.len || shape.p[at] != '=')
		return false;
	*ret_name = ar_str_sub(shape, 0, end);
	*ret_value = ar_str_sub(shape, at + 1, shape.len);
	return true;
}

/* ---- alternatives ---- */

static bool are_literals(struct ar_str shape, size_t from, const char *more)
{
	for (size_t i = from; i < shape.len; i++) {
		if (!is_any(shape.p[i]) && !is_name_byte(shape.p[i]) && !strchr(more, shape.p[i]))
			return false;
	}
	return true;
}

/* What is known at its beginning agrees with `want`, as far as both go. */
static bool may_begin(struct ar_str shape, struct ar_str want)
{
	for (size_t i = 0; i < want.len; i++) {
		if (i == shape.len)
			return false;
		if (is_any(shape.p[i]))
			return true;
		if (shape.p[i] != want.p[i])
			return false;
	}
	return true;
}

static bool may_fit_one(struct ar_str shape, struct ar_str want)
{
	if (want.len > 1 && want.p[want.len - 1] == '*')
		return may_begin(shape, ar_str_sub(want, 0, want.len - 1));
	if (want.len == 2 && want.p[0] == '-')
		return may_begin(shape, AR_STR("-")) && are_literals(shape, shape.p[0] == '-', "");
	if (ar_str_starts(want, AR_STR("--")))
		return may_begin(shape, want) && are_literals(shape, 0, "-=");
	return ar_shape_may_be(shape, want);
}

bool ar_danger_may_fit(struct ar_str shape, const char *alternatives)
{
	struct ar_str rest = ar_str_from(alternatives), want;

	if (!ar_shape_is_unknown(shape))
		return false;
	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ' ', &want);
		if (may_fit_one(shape, want))
			return true;
	}
	return false;
}
