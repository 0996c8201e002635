/* See lines.h. A line that comes whole is not copied. */
#include "rpc/lines.h"

#include <string.h>

static void emit_line(struct ar_lines *l, struct ar_str line)
{
	if (line.len && line.p[line.len - 1] == '\r')
		line.len--;
	if (line.len > l->cap)
		l->v->too_long(l);
	else if (line.len)
		l->v->line(l, line);
}

static void end_line(struct ar_lines *l, struct ar_str last)
{
	struct ar_buf line = l->rest;

	if (l->is_skipping) {
		l->is_skipping = false;
		l->v->too_long(l);
		return;
	}
	if (!line.len) {
		emit_line(l, last);
		return;
	}
	/* What is called may come back here: the line is not ours any more. */
	l->rest = (struct ar_buf){ 0 };
	ar_buf_adds(&line, last);
	emit_line(l, ar_buf_str(&line));
	ar_buf_fini(&line);
}

/* One byte more than the cap may be the `\r` of the end. */
static void keep_part(struct ar_lines *l, struct ar_str part)
{
	if (l->is_skipping)
		return;
	if (l->rest.len + part.len > l->cap + 1) {
		l->is_skipping = true;
		ar_buf_fini(&l->rest);
		return;
	}
	ar_buf_adds(&l->rest, part);
}

size_t ar_lines_feed(struct ar_lines *l, struct ar_str bytes)
{
	size_t at = 0;

	while (at < bytes.len) {
		const char *end = memchr(bytes.p + at, '\n', bytes.len - at);

		if (!end) {
			keep_part(l, ar_str_sub(bytes, at, bytes.len));
			return bytes.len;
		}
		if (!l->v->takes_more(l))
			return at;
		end_line(l, (struct ar_str){ bytes.p + at, (size_t)(end - bytes.p) - at });
		at = (size_t)(end - bytes.p) + 1;
	}
	return at;
}

void ar_lines_finish(struct ar_lines *l)
{
	if (l->rest.len || l->is_skipping)
		end_line(l, AR_STR(""));
}

void ar_lines_fini(struct ar_lines *l)
{
	ar_buf_fini(&l->rest);
}
