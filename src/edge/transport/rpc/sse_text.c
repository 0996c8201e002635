/* See sse_text.h. An event is `id:` and `data:`, each one line, ended by an empty line; comments and `retry:`
 * mean nothing here. */
#include "rpc/sse_text.h"

#include <string.h>

static struct ar_str field_of(struct ar_str line, struct ar_str name)
{
	return ar_str_starts(line, name) ? ar_str_sub(line, name.len, line.len) : AR_STR_NONE;
}

static void take_event(struct ar_str text, ar_sse_text_fn *event, void *arg)
{
	struct ar_str cursor = AR_STR_NONE, json = AR_STR_NONE, line;

	while (text.len) {
		text = ar_str_split(text, '\n', &line);
		if (ar_str_absent(cursor))
			cursor = field_of(line, AR_STR("id: "));
		if (ar_str_absent(json))
			json = field_of(line, AR_STR("data: "));
	}
	if (!ar_str_absent(cursor) && !ar_str_absent(json))
		event(arg, cursor, json);
}

/* Takes all whole events from the front; returns how many bytes they were. */
static size_t take_events(struct ar_str bytes, ar_sse_text_fn *event, void *arg)
{
	size_t used = 0;
	const char *end;

	while ((end = memmem(bytes.p + used, bytes.len - used, "\n\n", 2))) {
		size_t until = (size_t)(end - bytes.p);

		take_event(ar_str_sub(bytes, used, until - used), event, arg);
		used = until + 2;
	}
	return used;
}

bool ar_sse_text_feed(struct ar_sse_text *t, struct ar_str bytes, size_t cap, ar_sse_text_fn *event,
		      void *arg)
{
	size_t used;

	if (!t->rest.len) {
		used = take_events(bytes, event, arg);
		ar_buf_adds(&t->rest, ar_str_sub(bytes, used, bytes.len));
		return t->rest.len <= cap;
	}
	ar_buf_adds(&t->rest, bytes);
	ar_buf_eat(&t->rest, take_events(ar_buf_str(&t->rest), event, arg));
	if (!t->rest.len)
		ar_buf_fini(&t->rest);
	return t->rest.len <= cap;
}

void ar_sse_text_fini(struct ar_sse_text *t)
{
	ar_buf_fini(&t->rest);
}
