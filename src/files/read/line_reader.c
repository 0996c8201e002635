/* read(2) into one buffer, lines out of it. No mapping: a file that shrinks under a mapping kills the
 * process. */
#include "read/line_reader.h"

#include "mem.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BINARY_LOOK ((size_t)8192)

/* Puts what is left to the front and reads behind it. False: nothing more came. */
static bool fill(struct ar_line_reader *r)
{
	ssize_t n = -1;

	memmove(r->buf, r->buf + r->from, r->len - r->from);
	r->len -= r->from;
	r->from = 0;
	if (r->is_at_end)
		return false;
	do
		n = read(r->fd, r->buf + r->len, AR_LINE_MAX - r->len);
	while (n < 0 && errno == EINTR);
	r->has_failed = n < 0;
	r->is_at_end = n <= 0;
	if (n <= 0)
		return false;
	r->len += (size_t)n;
	r->bytes += (uint64_t)n;
	return true;
}

void ar_line_reader_init(struct ar_line_reader *r, const struct ar_files_work *w, int fd)
{
	*r = (struct ar_line_reader){ .work = w, .fd = fd, .buf = ar_grow(NULL, AR_LINE_MAX, 1) };
	while (r->len < BINARY_LOOK && fill(r))
		continue;
}

void ar_line_reader_fini(struct ar_line_reader *r)
{
	ar_free(r->buf);
	r->buf = NULL;
}

struct ar_str ar_line_reader_ahead(const struct ar_line_reader *r)
{
	return (struct ar_str){ r->buf + r->from, r->len - r->from };
}

bool ar_line_reader_is_binary(const struct ar_line_reader *r)
{
	struct ar_str ahead = ar_str_sub(ar_line_reader_ahead(r), 0, BINARY_LOOK);

	return memchr(ahead.p, '\0', ahead.len) != NULL;
}

static void return_line(struct ar_line_reader *r, size_t len, struct ar_line *ret)
{
	*ret = (struct ar_line){ .text = { r->buf + r->from, len } };
	if (len > 0 && ret->text.p[len - 1] == '\r') {
		ret->text.len--;
		ret->ends_with_cr = true;
	}
	r->from += len;
}

/* Up to and with the end of the line that was given in part. */
static void pass_rest(struct ar_line_reader *r)
{
	while (r->is_passing) {
		struct ar_str ahead = ar_line_reader_ahead(r);
		const char *end = memchr(ahead.p, '\n', ahead.len);

		r->from = end ? (size_t)(end - r->buf) + 1 : r->len;
		r->is_passing = !end && fill(r);
	}
}

bool ar_line_reader_next(struct ar_line_reader *r, struct ar_line *ret)
{
	size_t seen = 0;

	pass_rest(r);
	for (;;) {
		struct ar_str ahead = ar_line_reader_ahead(r);
		const char *end = memchr(ahead.p + seen, '\n', ahead.len - seen);

		if (end) {
			return_line(r, (size_t)(end - ahead.p), ret);
			r->from++;
			return true;
		}
		seen = ahead.len;
		if (ahead.len == AR_LINE_MAX) {
			return_line(r, ahead.len, ret);
			ret->is_cut = r->is_passing = true;
			return true;
		}
		if (!fill(r))
			break;
	}
	if (r->len == r->from)
		return false;
	return_line(r, r->len - r->from, ret);
	return true;
}
