/* See nearest.h. The first line that says something is compared with every line of the text by what both
 * begin and end with; from the best one on the lines are compared one by one. */
#include "write/nearest.h"

#include "buf.h"
#include "shown.h"
#include "write/lines.h"

#define SHOWN 160 /* bytes of a line */
#define LINES_LOOKED_AT ((size_t)200000)

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How much two lines have in common: 0 to 100. */
static size_t likeness(struct ar_str a, struct ar_str b)
{
	size_t max = a.len > b.len ? a.len : b.len, min = least(a.len, b.len), head = 0, tail = 0;

	if (max == 0)
		return 0;
	while (head < min && a.p[head] == b.p[head])
		head++;
	while (tail < min - head && a.p[a.len - 1 - tail] == b.p[b.len - 1 - tail])
		tail++;
	return (head + tail) * 100 / max;
}

/* The first line of `wanted` that is not blank. */
static size_t first_line(const struct ar_lines *wanted)
{
	size_t i = 0;

	while (i < wanted->count && ar_line_trimmed(wanted->at[i]).len == 0)
		i++;
	return i;
}

static size_t best_line(const struct ar_lines *text, struct ar_str line, size_t *ret_likeness)
{
	struct ar_str wanted = ar_str_sub(ar_line_trimmed(line), 0, 1000);
	size_t best = 0;

	*ret_likeness = 0;
	for (size_t i = 0; i < text->count && i < LINES_LOOKED_AT; i++) {
		size_t found = likeness(ar_str_sub(ar_line_trimmed(text->at[i]), 0, 1000), wanted);

		if (found > *ret_likeness) {
			*ret_likeness = found;
			best = i;
		}
	}
	return best;
}

static void add_line(struct ar_buf *out, struct ar_str line)
{
	struct ar_str bare = ar_line_bare(line), shown = ar_str_utf8_prefix(bare, SHOWN);

	ar_buf_addc(out, '\'');
	ar_shown_add_text(out, shown);
	ar_buf_addz(out, shown.len < bare.len ? "...'" : "'");
}

/* The first of the lines that differs, from line `at` of the text on. */
static void add_difference(struct ar_buf *out, const struct ar_lines *text, size_t at,
			   const struct ar_lines *wanted, size_t from)
{
	size_t i = from;

	while (i < wanted->count && at < text->count &&
	       ar_str_eq(ar_line_bare(text->at[at]), ar_line_bare(wanted->at[i]))) {
		i++;
		at++;
	}
	if (i == wanted->count) {
		ar_buf_addf(out, "It differs only in blank lines or at its ends around line %zu.", at);
		return;
	}
	if (at == text->count) {
		ar_buf_addf(out, "The file ends after line %zu, where ", at);
	} else {
		ar_buf_addf(out, "The most similar line is line %zu, which is ", at + 1);
		add_line(out, text->at[at]);
		ar_buf_addz(out, " where ");
	}
	add_line(out, wanted->at[i]);
	ar_buf_addz(out, " was given.");
}

struct ar_str ar_nearest(struct ar_arena *a, struct ar_str text, struct ar_str wanted)
{
	struct ar_lines lines, wants;
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	size_t found = 0;

	if (!ar_lines_split(a, text, &lines) || !ar_lines_split(a, wanted, &wants) || lines.count == 0)
		return ar_str_empty(text) ? AR_STR("The file is empty.") : AR_STR("It has no similar line.");
	size_t from = first_line(&wants);

	if (from == wants.count)
		return AR_STR("It consists of blanks alone.");
	size_t at = best_line(&lines, wants.at[from], &found);

	if (found < 50)
		return AR_STR("No line of the file is like its first line.");
	add_difference(&out, &lines, at, &wants, from);
	return ar_arena_str(a, ar_buf_str(&out));
}
