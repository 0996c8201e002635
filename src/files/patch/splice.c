/* See splice.h. A hunk with a line number is looked for there first and then ever further away; one without
 * from where the last one ended. Lines have to be the same but for CR at their ends; where no place is found,
 * but for blanks at their ends. New lines end as those of the file do. */
#include "patch/splice.h"

#include "buf.h"
#include "write/nearest.h"

#define NOWHERE SIZE_MAX

struct work {
	struct ar_splice *s;
	const struct ar_patch_file *file;
	struct ar_lines lines; /* of the text */
	struct ar_str end; /* of lines that are new */
	size_t done; /* lines that are in `out`, or gone */
	int64_t shift; /* how far the last hunk stood from where it said */
	size_t steps;
	struct ar_buf out;
};

struct wanted {
	struct ar_str *lines; /* that stand before, without their ends */
	size_t count;
	bool ignores_blanks;
};

static struct ar_str bare_text(struct ar_str raw)
{
	struct ar_str bare = ar_line_bare(raw);

	return ar_str_sub(bare, 1, bare.len);
}

static void gather(struct work *w, const struct ar_patch_hunk *h, struct wanted *ret)
{
	ret->lines = ar_arena_alloc(w->s->arena, (h->count + 1) * sizeof(*ret->lines));
	for (size_t i = 0; i < h->count; i++) {
		char kind = ar_patch_kind(h->lines[i]);

		if (kind == ' ' || kind == '-')
			ret->lines[ret->count++] = bare_text(h->lines[i]);
	}
}

/* ---- where ---- */

static struct ar_str without_blanks(struct ar_str line)
{
	while (line.len > 0 && (line.p[line.len - 1] == ' ' || line.p[line.len - 1] == '\t'))
		line.len--;
	return line;
}

static bool is_same(struct ar_str a, struct ar_str b, bool ignores_blanks)
{
	return ignores_blanks ? ar_str_eq(without_blanks(a), without_blanks(b)) : ar_str_eq(a, b);
}

static bool matches_at(struct work *w, const struct wanted *x, size_t at)
{
	if (at < w->done || at + x->count > w->lines.count)
		return false;
	for (size_t i = 0; i < x->count; i++) {
		w->steps++;
		if (!is_same(ar_line_bare(w->lines.at[at + i]), x->lines[i], x->ignores_blanks))
			return false;
	}
	return true;
}

static bool is_costly(const struct work *w)
{
	return w->steps > AR_SPLICE_STEPS_MAX;
}

static size_t find_forward(struct work *w, const struct wanted *x, size_t from)
{
	for (size_t at = from; at + x->count <= w->lines.count && !is_costly(w); at++) {
		w->steps++;
		if (matches_at(w, x, at))
			return at;
	}
	return NOWHERE;
}

/* Ever further away from where it should stand, up and down. */
static size_t find_around(struct work *w, const struct wanted *x, size_t hint)
{
	for (size_t d = 0; (d <= hint || hint + d <= w->lines.count) && !is_costly(w); d++) {
		w->steps++;
		if (d <= hint && matches_at(w, x, hint - d))
			return hint - d;
		if (d > 0 && matches_at(w, x, hint + d))
			return hint + d;
	}
	return NOWHERE;
}

static size_t clamp(const struct work *w, int64_t line)
{
	if (line < (int64_t)w->done)
		return w->done;
	return line > (int64_t)w->lines.count ? w->lines.count : (size_t)line;
}

static size_t find_numbered(struct work *w, const struct ar_patch_hunk *h, const struct wanted *x)
{
	int64_t told = (int64_t)h->old_start - (x->count > 0 && h->old_start > 0);
	size_t at = clamp(w, told + w->shift);

	if (x->count > 0)
		at = find_around(w, x, at);
	if (at == NOWHERE)
		return at;
	w->s->moved += (int64_t)at != told;
	w->shift = (int64_t)at - told;
	return at;
}

static size_t find_anchor(struct work *w, struct ar_str anchor)
{
	for (size_t i = w->done; i < w->lines.count; i++) {
		w->steps++;
		if (ar_str_eq(ar_line_trimmed(w->lines.at[i]), anchor))
			return i;
	}
	return NOWHERE;
}

static size_t find_unnumbered(struct work *w, const struct ar_patch_hunk *h, const struct wanted *x)
{
	size_t from = w->done, anchor = NOWHERE, at;

	if (!ar_str_absent(h->anchor)) {
		anchor = find_anchor(w, h->anchor);
		if (anchor == NOWHERE)
			return NOWHERE;
		from = anchor + 1;
	}
	if (h->is_at_end)
		return x->count <= w->lines.count && matches_at(w, x, w->lines.count - x->count)
			       ? w->lines.count - x->count
			       : NOWHERE;
	if (x->count == 0)
		return anchor == NOWHERE ? w->lines.count : from;
	at = find_forward(w, x, from);
	return at == NOWHERE && anchor != NOWHERE && matches_at(w, x, anchor) ? anchor : at;
}

static size_t find_hunk(struct work *w, const struct ar_patch_hunk *h, struct wanted *x)
{
	size_t at = NOWHERE;

	for (int i = 0; i < 2 && at == NOWHERE; i++) {
		x->ignores_blanks = i == 1;
		at = h->has_start ? find_numbered(w, h, x) : find_unnumbered(w, h, x);
	}
	return at;
}

/* ---- putting in ---- */

static void add_line(struct work *w, struct ar_str line)
{
	if (w->out.len > 0 && w->out.p[w->out.len - 1] != '\n')
		ar_buf_adds(&w->out, w->end);
	ar_buf_adds(&w->out, line);
}

/* A line of the patch: its own CR counts unless the whole patch was written with CRLF. */
static void add_new_line(struct work *w, const struct ar_patch_hunk *h, size_t i)
{
	bool has_end = i + 1 == h->count || ar_patch_kind(h->lines[i + 1]) != '\\';
	bool has_cr = !w->s->patch->has_crlf && ar_str_ends(h->lines[i], AR_STR("\r\n"));

	add_line(w, bare_text(h->lines[i]));
	if (has_end)
		ar_buf_adds(&w->out, has_cr ? AR_STR("\r\n") : w->end);
}

static void put_hunk(struct work *w, const struct ar_patch_hunk *h, size_t at)
{
	while (w->done < at)
		add_line(w, w->lines.at[w->done++]);
	for (size_t i = 0; i < h->count; i++) {
		char kind = ar_patch_kind(h->lines[i]);

		if (kind == '+')
			add_new_line(w, h, i);
		if (kind == ' ')
			add_line(w, w->lines.at[w->done]);
		w->done += kind == ' ' || kind == '-';
	}
}

/* ---- what is said when it does not fit ---- */

static struct ar_str joined(struct work *w, const struct wanted *x)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };

	for (size_t i = 0; i < x->count && out.len < 65536; i++) {
		ar_buf_adds(&out, x->lines[i]);
		ar_buf_addc(&out, '\n');
	}
	return ar_arena_str(w->s->arena, ar_buf_str(&out));
}

static enum ar_status refuse(struct work *w, const struct ar_patch_hunk *h, const struct wanted *x)
{
	struct ar_splice *s = w->s;
	const char *why;

	if (is_costly(w)) {
		s->wrong = ar_arena_fmt(s->arena,
					"hunk %zu (line %zu of the patch) would take too long to place",
					h->number, h->line);
		return AR_E_LIMIT;
	}
	if (!ar_str_absent(h->anchor) && find_anchor(w, h->anchor) == NOWHERE)
		why = ar_arena_fmt(s->arena, "the line '%.*s' does not occur after line %zu of the file",
				   AR_STR_ARG(ar_str_utf8_prefix(h->anchor, 160)), w->done)
			      .p;
	else
		why = ar_nearest(s->arena, s->text, joined(w, x)).p;
	s->wrong = ar_arena_fmt(s->arena, "hunk %zu (line %zu of the patch) does not fit: %s", h->number,
				h->line, why);
	return AR_E_NOT_FOUND;
}

static struct ar_str end_of(const struct ar_lines *lines)
{
	return lines->count > 0 && ar_str_ends(lines->at[0], AR_STR("\r\n")) ? AR_STR("\r\n") : AR_STR("\n");
}

static enum ar_status put_hunks(struct work *w)
{
	for (const struct ar_patch_hunk *h = w->file->hunks; h; h = h->next) {
		struct wanted x = { 0 };

		gather(w, h, &x);
		size_t at = find_hunk(w, h, &x);

		if (at == NOWHERE)
			return refuse(w, h, &x);
		put_hunk(w, h, at);
	}
	while (w->done < w->lines.count)
		add_line(w, w->lines.at[w->done++]);
	return AR_OK;
}

enum ar_status ar_splice(struct ar_splice *s, const struct ar_patch_file *f)
{
	struct work w = { .s = s, .file = f, .out = { .cap = AR_SPLICE_BYTES_MAX } };
	enum ar_status status = AR_E_LIMIT;

	s->wrong = AR_STR("the file has more than 8 MiB or a million lines, before or after");
	if (ar_lines_split(s->arena, s->text, &w.lines)) {
		w.end = end_of(&w.lines);
		status = put_hunks(&w);
	}
	if (status == AR_OK && w.out.failed)
		status = AR_E_LIMIT;
	s->result = ar_arena_str(s->arena, ar_buf_str(&w.out));
	ar_buf_fini(&w.out);
	return status;
}
