/* See record.h. */
#include "record.h"

#include <string.h>

static struct ar_str body_of(struct ar_str text)
{
	struct ar_str head;

	return ar_str_split(text, ' ', &head);
}

bool ar_record_serial(struct ar_str text, uint64_t *ret)
{
	struct ar_str stamp, rest;

	if (!ar_str_starts(text, AR_STR("audit(")))
		return false;
	rest = ar_str_split(text, ':', &stamp);
	ar_str_split(rest, ')', &stamp);
	return !ar_str_absent(rest) && ar_str_to_u64(stamp, ret);
}

/* What stands after `name=`; with its quotes. */
static struct ar_str raw_field(struct ar_str text, const char *name)
{
	struct ar_str rest = body_of(text), word;
	size_t len = strlen(name);

	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ' ', &word);
		if (word.len > len && memcmp(word.p, name, len) == 0 && word.p[len] == '=')
			return ar_str_sub(word, len + 1, word.len);
	}
	return AR_STR_NONE;
}

static bool is_quoted(struct ar_str value)
{
	return value.len >= 2 && value.p[0] == '"' && value.p[value.len - 1] == '"';
}

struct ar_str ar_record_field(struct ar_str text, const char *name)
{
	struct ar_str value = raw_field(text, name);

	return is_quoted(value) ? ar_str_sub(value, 1, value.len - 2) : value;
}

bool ar_record_number(struct ar_str text, const char *name, int64_t *ret)
{
	struct ar_str value = raw_field(text, name);

	return !ar_str_absent(value) && ar_str_to_i64(value, ret);
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

struct ar_str ar_record_text(struct ar_str text, const char *name, struct ar_arena *a)
{
	struct ar_str value = raw_field(text, name);
	char *out;

	if (ar_str_absent(value) || is_quoted(value))
		return ar_record_field(text, name);
	if (value.len % 2 != 0 || value.len == 0)
		return AR_STR_NONE;
	out = ar_arena_alloc(a, value.len / 2 + 1);
	for (size_t i = 0; i < value.len / 2; i++) {
		int high = digit(value.p[2 * i]), low = digit(value.p[2 * i + 1]);

		if (high < 0 || low < 0)
			return AR_STR_NONE; /* (null) and the like */
		out[i] = (char)(high << 4 | low);
	}
	return (struct ar_str){ out, value.len / 2 };
}
