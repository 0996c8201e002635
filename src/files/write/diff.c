/* See diff.h. Myers' greedy algorithm over the lines between the equal beginning and the equal end; when it
 * needs more than EDITS_MAX edits, all of those lines count as replaced. */
#include "write/diff.h"

#include "shown.h"
#include "write/lines.h"

#include <string.h>

#define CONTEXT 3 /* equal lines around a change */
#define LINES_MAX ((size_t)50000) /* of both texts */
#define EDITS_MAX 400
#define WIDTH (2 * EDITS_MAX + 3)

/* One side: its lines, and which of them the other side has not. */
struct side {
	struct ar_lines lines;
	bool *differs;
};

struct diff {
	struct ar_arena arena;
	struct side old, new;
	size_t equal_head, equal_tail; /* lines */
};

static bool is_same(const struct diff *d, size_t i, size_t j)
{
	return ar_str_eq(d->old.lines.at[i], d->new.lines.at[j]);
}

static bool split_side(struct diff *d, struct side *side, struct ar_str text)
{
	if (!ar_lines_split(&d->arena, text, &side->lines) || side->lines.count > LINES_MAX)
		return false;
	side->differs = ar_arena_alloc(&d->arena, side->lines.count + 1);
	memset(side->differs, 0, side->lines.count + 1);
	return true;
}

static void trim_equal_ends(struct diff *d)
{
	size_t n = d->old.lines.count, m = d->new.lines.count;

	while (d->equal_head < n && d->equal_head < m && is_same(d, d->equal_head, d->equal_head))
		d->equal_head++;
	while (d->equal_tail < n - d->equal_head && d->equal_tail < m - d->equal_head &&
	       is_same(d, n - 1 - d->equal_tail, m - 1 - d->equal_tail))
		d->equal_tail++;
}

static void mark_all(struct diff *d)
{
	memset(d->old.differs + d->equal_head, 1, d->old.lines.count - d->equal_head - d->equal_tail);
	memset(d->new.differs + d->equal_head, 1, d->new.lines.count - d->equal_head - d->equal_tail);
}

/* ---- the shortest edit ---- */

/* How far each diagonal came with so many edits; diagonal k is at [k + EDITS_MAX + 1]. */
struct reach {
	int x[WIDTH];
};

static int start_of(const struct reach *before, int k, int edits)
{
	const int *x = before->x + EDITS_MAX + 1;
	bool goes_down = k == -edits || (k != edits && x[k - 1] < x[k + 1]);

	return goes_down ? x[k + 1] : x[k - 1] + 1;
}

/* The number of edits; -1: too many. Fills one reach per number. */
static int search_edits(const struct diff *d, struct reach *reach, int n, int m)
{
	for (int edits = 0; edits <= EDITS_MAX; edits++) {
		if (edits > 0)
			reach[edits] = reach[edits - 1];
		for (int k = -edits; k <= edits; k += 2) {
			int x = edits == 0 ? 0 : start_of(&reach[edits - 1], k, edits), y = x - k;

			while (x < n && y >= 0 && y < m &&
			       is_same(d, d->equal_head + (size_t)x, d->equal_head + (size_t)y)) {
				x++;
				y++;
			}
			reach[edits].x[k + EDITS_MAX + 1] = x;
			if (x >= n && y >= m)
				return edits;
		}
	}
	return -1;
}

static void mark_path(struct diff *d, const struct reach *reach, int edits, int n, int m)
{
	int x = n, y = m;

	for (; edits > 0; edits--) {
		const int *before = reach[edits - 1].x + EDITS_MAX + 1;
		int k = x - y;
		bool goes_down = k == -edits || (k != edits && before[k - 1] < before[k + 1]);

		k += goes_down ? 1 : -1;
		x = before[k];
		y = x - k;
		if (goes_down)
			d->new.differs[d->equal_head + (size_t)y] = true;
		else
			d->old.differs[d->equal_head + (size_t)x] = true;
	}
}

static void compare_lines(struct diff *d)
{
	int n = (int)(d->old.lines.count - d->equal_head - d->equal_tail);
	int m = (int)(d->new.lines.count - d->equal_head - d->equal_tail);
	struct reach *reach;
	int edits;

	if (n == 0 || m == 0) {
		mark_all(d);
		return;
	}
	reach = ar_arena_alloc(&d->arena, (EDITS_MAX + 1) * sizeof(*reach));
	memset(reach, 0, sizeof(*reach));
	edits = search_edits(d, reach, n, m);
	if (edits < 0)
		mark_all(d);
	else
		mark_path(d, reach, edits, n, m);
}

/* ---- writing ---- */

static void write_line(struct ar_buf *out, char mark, struct ar_str line)
{
	ar_buf_addc(out, mark);
	ar_buf_adds(out, line);
	if (line.len == 0 || line.p[line.len - 1] != '\n')
		ar_buf_addz(out, "\n\\ No newline at end of file\n");
}

static void write_name(struct ar_buf *out, const char *mark, const char *side, struct ar_str path)
{
	AR_AUTO(ar_buf_fini) struct ar_buf name = { 0 };

	ar_buf_addz(out, mark);
	if (side) {
		ar_buf_addz(&name, side);
		ar_buf_adds(&name, path);
		ar_shown_add_path(out, ar_buf_str(&name));
	} else {
		ar_buf_addz(out, "/dev/null");
	}
	ar_buf_addc(out, '\n');
}

struct place {
	size_t i, j; /* lines of old and new */
};

static bool is_end(const struct diff *d, struct place p)
{
	return p.i >= d->old.lines.count && p.j >= d->new.lines.count;
}

static bool is_change(const struct diff *d, struct place p)
{
	return d->old.differs[p.i] || d->new.differs[p.j];
}

/* Behind the last change that is near enough to belong to one hunk; then the equal lines after it. */
static struct place end_of_hunk(const struct diff *d, struct place p)
{
	size_t equal = 0;

	while (!is_end(d, p) && equal <= 2 * CONTEXT) {
		equal = is_change(d, p) ? 0 : equal + 1;
		if (d->old.differs[p.i])
			p.i++;
		else if (d->new.differs[p.j])
			p.j++;
		else
			p = (struct place){ p.i + 1, p.j + 1 };
	}
	size_t extra = equal > CONTEXT ? equal - CONTEXT : 0;

	return (struct place){ p.i - extra, p.j - extra };
}

static void write_range(struct ar_buf *out, char mark, size_t from, size_t count)
{
	ar_buf_addf(out, "%c%zu,%zu ", mark, count > 0 ? from + 1 : from, count);
}

static void write_hunk(const struct diff *d, struct place from, struct place to, struct ar_buf *out)
{
	ar_buf_addz(out, "@@ ");
	write_range(out, '-', from.i, to.i - from.i);
	write_range(out, '+', from.j, to.j - from.j);
	ar_buf_addz(out, "@@\n");
	while (from.i < to.i || from.j < to.j) {
		if (from.i < to.i && d->old.differs[from.i]) {
			write_line(out, '-', d->old.lines.at[from.i++]);
		} else if (from.j < to.j && d->new.differs[from.j]) {
			write_line(out, '+', d->new.lines.at[from.j++]);
		} else {
			write_line(out, ' ', d->old.lines.at[from.i]);
			from = (struct place){ from.i + 1, from.j + 1 };
		}
	}
}

static void write_hunks(const struct diff *d, struct ar_buf *out)
{
	struct place at = { 0 };

	while (!is_end(d, at)) {
		size_t lead = at.i < at.j ? at.i : at.j;

		if (!is_change(d, at)) {
			at = (struct place){ at.i + 1, at.j + 1 };
			continue;
		}
		lead = lead < CONTEXT ? lead : CONTEXT;

		struct place end = end_of_hunk(d, at);

		write_hunk(d, (struct place){ at.i - lead, at.j - lead }, end, out);
		at = end;
	}
}

bool ar_diff_write(const struct ar_diff *in, struct ar_buf *out)
{
	struct diff d = { 0 };
	bool is_done = split_side(&d, &d.old, in->before) && split_side(&d, &d.new, in->after);

	if (is_done)
		trim_equal_ends(&d);
	is_done = is_done && d.equal_head + d.equal_tail <
				     (d.old.lines.count > d.new.lines.count ? d.old : d.new).lines.count;
	if (is_done) {
		compare_lines(&d);
		write_name(out, "--- ", in->existed ? "a/" : NULL, in->path);
		write_name(out, "+++ ", in->exists ? "b/" : NULL, in->path);
		write_hunks(&d, out);
	}
	ar_arena_fini(&d.arena);
	return is_done;
}
