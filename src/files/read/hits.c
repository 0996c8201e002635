/* See hits.h. Every line is seen once, so lines before a match are kept until it is known whether they are
 * wanted. */
#include "read/hits.h"

#include "shown.h"

#define LINE_SHOWN ((size_t)400)
#define BEFORE_MATCH ((size_t)120) /* bytes shown before a match that is far to the right */

void ar_hits_file(struct ar_hits *h, struct ar_str path)
{
	h->path = path;
	h->number = h->shown = h->after = 0;
}

static struct ar_str window(struct ar_str line, size_t from)
{
	size_t skip = from > LINE_SHOWN - BEFORE_MATCH && line.len > LINE_SHOWN ? from - BEFORE_MATCH : 0;

	while (skip > 0 && skip < line.len && ((unsigned char)line.p[skip] & 0xc0) == 0x80)
		skip--;
	return ar_str_utf8_prefix(ar_str_sub(line, skip, line.len), LINE_SHOWN);
}

static void write_line(struct ar_buf *out, struct ar_str line, size_t from)
{
	struct ar_str part = window(line, from);

	ar_buf_addz(out, part.p > line.p ? "[...]" : "");
	ar_shown_add_text(out, part);
	ar_buf_addz(out, part.p + part.len < line.p + line.len ? "[...]" : "");
	ar_buf_addc(out, '\n');
}

/* Heading, or a mark where lines were left out. */
static void begin(struct ar_hits *h, int64_t number)
{
	struct ar_buf *out = &h->work->text;

	if (h->shown == 0) {
		h->files++;
		ar_buf_addz(out, h->files > 1 ? "\n" : "");
		ar_shown_add_path(out, h->path);
		ar_buf_addc(out, '\n');
	} else if (number > h->shown + 1 && h->work->args.context > 0) {
		ar_buf_addz(out, "--\n");
	}
}

static void write_before(struct ar_hits *h)
{
	int64_t first = h->number - h->work->args.context;

	first = first > h->shown + 1 ? first : h->shown + 1;
	begin(h, first);
	for (int64_t n = first; n < h->number; n++) {
		ar_buf_addf(&h->work->text, "%lld-", (long long)n);
		ar_buf_adds(&h->work->text, ar_buf_str(&h->before[n % AR_HITS_CONTEXT_MAX]));
	}
}

void ar_hits_line(struct ar_hits *h, struct ar_str line, bool is_match, size_t from)
{
	struct ar_buf *out = &h->work->text;

	h->number++;
	if (is_match) {
		write_before(h);
		h->count++;
		h->after = h->work->args.context + 1;
	}
	if (h->after > 0) {
		ar_buf_addf(out, "%lld%c", (long long)h->number, is_match ? ':' : '-');
		write_line(out, line, from);
		h->shown = h->number;
		h->after--;
	} else if (h->work->args.context > 0) {
		struct ar_buf *kept = &h->before[h->number % AR_HITS_CONTEXT_MAX];

		ar_buf_clear(kept);
		write_line(kept, line, 0);
	}
}

bool ar_hits_fit(const struct ar_hits *h)
{
	size_t lines = (size_t)h->work->args.context * 2 + 1;

	return ar_files_fits(h->work, lines * (LINE_SHOWN * 3 + 64) + 4 * h->path.len);
}

void ar_hits_fini(struct ar_hits *h)
{
	for (size_t i = 0; i < AR_HITS_CONTEXT_MAX; i++)
		ar_buf_fini(&h->before[i]);
}
