/* See diff.h. The table of the longest common lines has one cell per pair of lines, so both sides are
 * limited. */
#include "diff.h"
#include "mem.h"

#define LINES_MAX 400 /* of each side, without what is common at both ends */

struct side {
	struct ar_str *lines;
	size_t count;
};

static struct side split(struct ar_str text)
{
	struct side s = { 0 };
	size_t most = 1;

	for (size_t i = 0; i < text.len; i++)
		most += text.p[i] == '\n';
	s.lines = ar_new0(most * sizeof(*s.lines));
	while (text.len)
		text = ar_str_split(text, '\n', &s.lines[s.count++]);
	return s;
}

static void add(struct ar_diff *d, enum ar_diff_kind kind, size_t number, struct ar_str text)
{
	d->lines[d->count++] = (struct ar_diff_line){ kind, number, text };
	d->added += kind == AR_DIFF_NEW;
	d->removed += kind == AR_DIFF_GONE;
}

/* Lengths of the longest common rest from each pair of lines on. */
static uint16_t *measure(const struct side *a, const struct side *b)
{
	size_t width = b->count + 1;
	uint16_t *len = ar_new0((a->count + 1) * width * sizeof(*len));

	for (size_t i = 0; i <= a->count; i++)
		len[i * width + b->count] = 0;
	for (size_t k = 0; k <= b->count; k++)
		len[a->count * width + k] = 0;
	for (size_t i = a->count; i-- > 0;) {
		for (size_t k = b->count; k-- > 0;) {
			uint16_t down = len[(i + 1) * width + k], right = len[i * width + k + 1];

			if (ar_str_eq(a->lines[i], b->lines[k]))
				len[i * width + k] = (uint16_t)(len[(i + 1) * width + k + 1] + 1);
			else
				len[i * width + k] = down > right ? down : right;
		}
	}
	return len;
}

/* The lines between what is common at both ends; `from` is the number of the first. */
static void compare(struct ar_diff *d, const struct side *a, const struct side *b, size_t from)
{
	bool is_long = a->count > LINES_MAX || b->count > LINES_MAX;
	uint16_t *len = is_long ? NULL : measure(a, b);
	size_t i = 0, k = 0, width = b->count + 1;

	while (i < a->count || k < b->count) {
		bool is_same =
			!is_long && i < a->count && k < b->count && ar_str_eq(a->lines[i], b->lines[k]);
		bool is_gone = i < a->count && (k == b->count || is_long ||
						len[(i + 1) * width + k] >= len[i * width + k + 1]);

		if (is_same) {
			add(d, AR_DIFF_SAME, from + k, b->lines[k]);
			i++;
			k++;
		} else if (is_gone) {
			add(d, AR_DIFF_GONE, from + i, a->lines[i]);
			i++;
		} else {
			add(d, AR_DIFF_NEW, from + k, b->lines[k]);
			k++;
		}
	}
	ar_free(len);
}

void ar_diff(struct ar_str before, struct ar_str after, struct ar_diff *ret)
{
	struct side a = split(before), b = split(after), x, y;
	size_t head = 0, tail = 0;

	*ret = (struct ar_diff){ .lines = ar_new0((a.count + b.count + 1) * sizeof(*ret->lines)) };
	while (head < a.count && head < b.count && ar_str_eq(a.lines[head], b.lines[head]))
		head++;
	while (tail < a.count - head && tail < b.count - head &&
	       ar_str_eq(a.lines[a.count - 1 - tail], b.lines[b.count - 1 - tail]))
		tail++;
	for (size_t i = 0; i < head; i++)
		add(ret, AR_DIFF_SAME, i, b.lines[i]);
	x = (struct side){ a.lines + head, a.count - head - tail };
	y = (struct side){ b.lines + head, b.count - head - tail };
	compare(ret, &x, &y, head);
	for (size_t i = b.count - tail; i < b.count; i++)
		add(ret, AR_DIFF_SAME, i, b.lines[i]);
	ar_free(a.lines);
	ar_free(b.lines);
}

void ar_diff_fini(struct ar_diff *d)
{
	ar_free(d->lines);
	*d = (struct ar_diff){ 0 };
}
