/* See sse.h. A block without data is no event. One thread, no I/O. */
#include "sse.h"

#define EVENT_MAX ((size_t)16 * 1024 * 1024)

static void set(struct ar_buf *b, struct ar_str value)
{
	b->cap = EVENT_MAX;
	ar_buf_clear(b);
	ar_buf_adds(b, value);
}

/* The end of a block. */
static bool dispatch(struct ar_sse_reader *r)
{
	bool go_on = true;

	if (r->payload.len)
		go_on = r->event(r->arg, ar_buf_str(&r->id), ar_buf_str(&r->payload));
	ar_buf_clear(&r->payload);
	return go_on;
}

static bool take_line(struct ar_sse_reader *r, struct ar_str line)
{
	struct ar_str name, value;

	if (ar_str_ends(line, AR_STR("\r")))
		line.len--;
	if (ar_str_empty(line))
		return dispatch(r);
	value = ar_str_split(line, ':', &name);
	if (ar_str_starts(value, AR_STR(" ")))
		value = ar_str_sub(value, 1, value.len);
	if (ar_str_is(name, "id"))
		set(&r->id, value);
	else if (ar_str_is(name, "data"))
		set(&r->payload, value);
	return true;
}

enum ar_status ar_sse_feed(struct ar_sse_reader *r, struct ar_str bytes)
{
	struct ar_str rest = bytes, part;

	r->line.cap = EVENT_MAX;
	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &part);
		ar_buf_adds(&r->line, part);
		if (r->line.failed)
			return AR_E_LIMIT;
		if (ar_str_absent(rest))
			return AR_OK;
		if (!take_line(r, ar_buf_str(&r->line)))
			return AR_E_CANCELED;
		ar_buf_clear(&r->line);
	}
	return AR_OK;
}

void ar_sse_restart(struct ar_sse_reader *r)
{
	ar_buf_clear(&r->line);
	ar_buf_clear(&r->id);
	ar_buf_clear(&r->payload);
}

void ar_sse_fini(struct ar_sse_reader *r)
{
	ar_buf_fini(&r->line);
	ar_buf_fini(&r->id);
	ar_buf_fini(&r->payload);
}
