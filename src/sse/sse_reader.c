/* The line splitter and field table of server-sent events. Pure; runs on whichever thread feeds it. */
#include "sse_reader.h"

#include <string.h>

#define NAME_MAX_BYTES 256
#define ID_MAX_BYTES 1024
#define BOM_OVER 3

static const char bom[BOM_OVER] = { '\xef', '\xbb', '\xbf' };

void ar_sse_init(struct ar_sse_reader *r, size_t event_max,
		 bool (*on_event)(void *owner, struct ar_str name, struct ar_str text), void *owner)
{
	*r = (struct ar_sse_reader){ .on_event = on_event, .owner = owner, .retry_ms = -1 };
	r->line.cap = event_max;
	r->text.cap = event_max;
	r->name.cap = NAME_MAX_BYTES;
}

void ar_sse_fini(struct ar_sse_reader *r)
{
	ar_buf_fini(&r->line);
	ar_buf_fini(&r->text);
	ar_buf_fini(&r->name);
	ar_buf_fini(&r->id);
}

static enum ar_status dispatch(struct ar_sse_reader *r)
{
	bool go_on = true;

	if (r->has_text)
		go_on = r->on_event(r->owner, ar_buf_str(&r->name), ar_buf_str(&r->text));
	ar_buf_clear(&r->text);
	ar_buf_clear(&r->name);
	r->has_text = false;
	return go_on ? AR_OK : AR_E_CANCELED;
}

/* What a reconnecting reader needs. A value that is no id or no number is ignored, as the format asks. */
static void store_id_or_retry(struct ar_sse_reader *r, struct ar_str name, struct ar_str value)
{
	uint64_t ms;

	if (ar_str_is(name, "id") && value.len <= ID_MAX_BYTES &&
	    (value.len == 0 || !memchr(value.p, 0, value.len))) {
		ar_buf_clear(&r->id);
		ar_buf_adds(&r->id, value);
	}
	if (ar_str_is(name, "retry") && ar_str_to_u64(value, &ms) && ms <= INT32_MAX)
		r->retry_ms = (int64_t)ms;
}

static enum ar_status read_field(struct ar_sse_reader *r, struct ar_str name, struct ar_str value)
{
	if (ar_str_is(name, "event")) {
		ar_buf_clear(&r->name);
		ar_buf_adds(&r->name, value);
		return r->name.failed ? AR_E_LIMIT : AR_OK;
	}
	if (!ar_str_is(name, "data")) {
		store_id_or_retry(r, name, value);
		return AR_OK;
	}
	if (r->has_text)
		ar_buf_addc(&r->text, '\n');
	ar_buf_adds(&r->text, value);
	r->has_text = true;
	return r->text.failed ? AR_E_LIMIT : AR_OK;
}

static enum ar_status read_line(struct ar_sse_reader *r, struct ar_str line)
{
	struct ar_str name, value;

	if (line.len == 0)
		return dispatch(r);
	if (line.p[0] == ':')
		return AR_OK;
	value = ar_str_split(line, ':', &name);
	if (ar_str_absent(value))
		value = AR_STR("");
	if (value.len > 0 && value.p[0] == ' ')
		value = ar_str_sub(value, 1, value.len);
	return read_field(r, name, value);
}

/* A line that came whole in one feed is read in place; only a split one is copied. */
static enum ar_status end_line(struct ar_sse_reader *r, struct ar_str tail)
{
	enum ar_status st;

	if (r->line.len == 0)
		return read_line(r, tail);
	ar_buf_adds(&r->line, tail);
	if (r->line.failed)
		return AR_E_LIMIT;
	st = read_line(r, ar_buf_str(&r->line));
	ar_buf_clear(&r->line);
	return st;
}

/* Drops the byte order mark, also when it comes byte by byte; a prefix of it that turns out to be text is
 * given back. */
static struct ar_str skip_bom(struct ar_sse_reader *r, struct ar_str bytes)
{
	while (r->bom_seen < BOM_OVER && bytes.len > 0) {
		if (bytes.p[0] != bom[r->bom_seen]) {
			ar_buf_add(&r->line, bom, r->bom_seen);
			r->bom_seen = BOM_OVER;
			break;
		}
		r->bom_seen++;
		bytes = ar_str_sub(bytes, 1, bytes.len);
	}
	return bytes;
}

static size_t line_len(struct ar_str s)
{
	size_t n = 0;

	while (n < s.len && s.p[n] != '\n' && s.p[n] != '\r')
		n++;
	return n;
}

enum ar_status ar_sse_feed(struct ar_sse_reader *r, struct ar_str bytes)
{
	struct ar_str rest = skip_bom(r, bytes);

	while (rest.len > 0) {
		size_t n;
		enum ar_status st;

		if (r->after_cr && rest.p[0] == '\n') {
			r->after_cr = false;
			rest = ar_str_sub(rest, 1, rest.len);
			continue;
		}
		n = line_len(rest);
		r->after_cr = n < rest.len && rest.p[n] == '\r';
		if (n == rest.len) {
			ar_buf_adds(&r->line, rest);
			return r->line.failed ? AR_E_LIMIT : AR_OK;
		}
		st = end_line(r, ar_str_sub(rest, 0, n));
		if (st != AR_OK)
			return st;
		rest = ar_str_sub(rest, n + 1, rest.len);
	}
	return AR_OK;
}

enum ar_status ar_sse_end(struct ar_sse_reader *r)
{
	return dispatch(r);
}
