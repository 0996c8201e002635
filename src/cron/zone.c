/* A zone file in memory. The block of 64-bit times is used, which all files since 2006 have; the older block
 * before it is passed over. Bytes come from a file of the system, and are believed as little as those of a
 * peer: every count has a cap, every read a bound. Pure. */
#include "zone.h"
#include "mem.h"
#include "zone_rule.h"

#include <string.h>

#define HEAD 44 /* bytes of a header */
#define TIMES_MAX 4096
#define TYPES_MAX 256
#define RULE_MAX 128 /* bytes */
#define SLACK 172800 /* seconds around a local time in which its offset must lie: two days */

struct ar_zone {
	size_t count; /* of changes */
	int64_t *times; /* ascending */
	int32_t *offsets; /* from each of them on */
	int32_t first; /* before all of them */
	bool has_rule;
	struct ar_zone_rule rule; /* after the last */
};

struct head {
	char version;
	size_t utc, wall, leaps, times, types, chars;
};

bool ar_zone_is_name(struct ar_str name)
{
	char before = '/';

	if (ar_str_empty(name) || name.len > AR_ZONE_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.len; before = name.p[i++]) {
		char c = name.p[i];

		if (c == '/' && before == '/')
			return false;
		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '+' || c == '-' || c == '/'))
			return false;
	}
	return before != '/';
}

/* ---- reading ---- */

static uint32_t u32(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static int64_t i64(const char *p)
{
	return (int64_t)((uint64_t)u32(p) << 32 | u32(p + 4));
}

static bool read_head(struct ar_str bytes, struct head *ret)
{
	if (bytes.len < HEAD || memcmp(bytes.p, "TZif", 4) != 0)
		return false;
	*ret = (struct head){ .version = bytes.p[4],
			      .utc = u32(bytes.p + 20),
			      .wall = u32(bytes.p + 24),
			      .leaps = u32(bytes.p + 28),
			      .times = u32(bytes.p + 32),
			      .types = u32(bytes.p + 36),
			      .chars = u32(bytes.p + 40) };
	return ret->utc <= TYPES_MAX && ret->wall <= TYPES_MAX && ret->leaps <= TIMES_MAX &&
	       ret->times <= TIMES_MAX && ret->types >= 1 && ret->types <= TYPES_MAX &&
	       ret->chars <= AR_ZONE_FILE_MAX;
}

static size_t body_size(const struct head *h, size_t time_size)
{
	return h->times * (time_size + 1) + h->types * 6 + h->chars + h->leaps * (time_size + 4) + h->wall +
	       h->utc;
}

/* `types`: six bytes each, of which four are the offset. */
static bool read_types(const char *types, size_t count, int32_t *offsets)
{
	for (size_t i = 0; i < count; i++) {
		offsets[i] = (int32_t)u32(types + i * 6);
		if (offsets[i] < -AR_ZONE_OFFSET_MAX || offsets[i] > AR_ZONE_OFFSET_MAX)
			return false;
	}
	return true;
}

static bool read_body(struct ar_zone *z, struct ar_str body, const struct head *h)
{
	const char *indexes = body.p + h->times * 8;
	int32_t offsets[TYPES_MAX];

	if (!read_types(indexes + h->times, h->types, offsets))
		return false;
	z->first = offsets[0];
	z->times = ar_new0((h->times + 1) * sizeof(*z->times));
	z->offsets = ar_new0((h->times + 1) * sizeof(*z->offsets));
	for (z->count = 0; z->count < h->times; z->count++) {
		unsigned char type = (unsigned char)indexes[z->count];

		z->times[z->count] = i64(body.p + z->count * 8);
		if (type >= h->types || (z->count > 0 && z->times[z->count] <= z->times[z->count - 1]))
			return false;
		z->offsets[z->count] = offsets[type];
	}
	return true;
}

/* A line feed before it and one behind it; empty: there is none. */
static bool read_rule(struct ar_zone *z, struct ar_str footer)
{
	struct ar_str text;

	if (footer.len < 2 || footer.p[0] != '\n')
		return false;
	ar_str_split(ar_str_sub(footer, 1, footer.len), '\n', &text);
	if (text.len > RULE_MAX || text.len + 2 > footer.len)
		return false;
	z->has_rule = text.len > 0;
	return !z->has_rule || ar_zone_rule_parse(text, &z->rule);
}

static bool read_all(struct ar_zone *z, struct ar_str bytes)
{
	struct head h;
	size_t size;

	if (!read_head(bytes, &h) || h.version < '2')
		return false;
	size = HEAD + body_size(&h, 4);
	if (bytes.len < size)
		return false;
	bytes = ar_str_sub(bytes, size, bytes.len);
	if (!read_head(bytes, &h))
		return false;
	size = HEAD + body_size(&h, 8);
	return bytes.len >= size && read_body(z, ar_str_sub(bytes, HEAD, bytes.len), &h) &&
	       read_rule(z, ar_str_sub(bytes, size, bytes.len));
}

enum ar_status ar_zone_parse(struct ar_str bytes, struct ar_zone **ret, struct ar_error *err)
{
	struct ar_zone *z = ar_new0(sizeof(*z));

	if (bytes.len <= AR_ZONE_FILE_MAX && read_all(z, bytes)) {
		*ret = z;
		return AR_OK;
	}
	ar_zone_free(z);
	return ar_fail(err, AR_E_INVALID, "not a compiled zone file (TZif, version 2 or later)");
}

void ar_zone_free(struct ar_zone *z)
{
	if (!z)
		return;
	ar_free(z->times);
	ar_free(z->offsets);
	ar_free(z);
}

/* ---- times ---- */

int64_t ar_zone_offset(const struct ar_zone *z, int64_t at)
{
	size_t low = 0, high = z ? z->count : 0; /* the changes at or before `at`: [0, low) */

	if (!z)
		return 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (z->times[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == z->count && z->has_rule)
		return ar_zone_rule_offset(&z->rule, at);
	return low == 0 ? z->first : z->offsets[low - 1];
}

/* The first time after `low`, up to `high`, at which the offset is not that at `low`. */
static int64_t change_between(const struct ar_zone *z, int64_t low, int64_t high)
{
	int64_t offset = ar_zone_offset(z, low);

	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;

		if (ar_zone_offset(z, middle) == offset)
			low = middle;
		else
			high = middle;
	}
	return high;
}

int64_t ar_zone_from_local(const struct ar_zone *z, int64_t local)
{
	int64_t before = ar_zone_offset(z, local - SLACK), after = ar_zone_offset(z, local + SLACK);
	int64_t early = local - before, late = local - after;
	bool is_early = ar_zone_offset(z, early) == before, is_late = ar_zone_offset(z, late) == after;

	if (is_early && is_late)
		return early < late ? early : late;
	if (is_early || is_late)
		return is_early ? early : late;
	return early > late ? change_between(z, late, early) : early;
}
