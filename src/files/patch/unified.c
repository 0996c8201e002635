/* Unified diffs, as diff -u and git write them. Text between the files is passed over; inside a hunk the
 * counts of its header decide, so that a removed line that looks like a header is none. */
#include "patch/patch.h"

#include <string.h>

#define NUMBER_MAX ((uint64_t)1000000000)

static const struct {
	const char *start;
	bool is_mode;
	enum ar_patch_op op; /* that it means; 0: none */
} headers[] = {
	{ "new file mode ", true, AR_PATCH_CREATE },
	{ "deleted file mode ", false, AR_PATCH_DELETE },
	{ "new mode ", true, (enum ar_patch_op)0 },
};

static struct ar_str text_after(struct ar_str line, const char *start)
{
	struct ar_str s = ar_str_from(start);

	return ar_str_starts(line, s) ? ar_str_sub(line, s.len, line.len) : AR_STR_NONE;
}

/* ---- names ---- */

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* One escape behind a backslash: its length, 0: it is none. */
static size_t unescape(struct ar_str s, char *ret)
{
	static const char letters[] = "abfnrtv\\\"", bytes[] = "\a\b\f\n\r\t\v\\\"";
	const char *at = s.len > 0 && s.p[0] ? strchr(letters, s.p[0]) : NULL;

	if (at) {
		*ret = bytes[at - letters];
		return 1;
	}
	if (s.len < 3 || !is_octal(s.p[0]) || !is_octal(s.p[1]) || !is_octal(s.p[2]))
		return 0;
	*ret = (char)((s.p[0] - '0') * 64 + (s.p[1] - '0') * 8 + (s.p[2] - '0'));
	return *ret ? 3 : 0;
}

/* A name in quotes is written as C writes it; without quotes it ends at a tab, behind which a time may
 * stand. */
static struct ar_str read_name(struct ar_arena *a, struct ar_str s)
{
	char *out = ar_arena_alloc(a, s.len + 1);
	size_t len = 0, i = 1;

	if (s.len == 0 || s.p[0] != '"') {
		struct ar_str head;

		ar_str_split(s, '\t', &head);
		return ar_arena_str(a, head);
	}
	while (i < s.len && s.p[i] != '"') {
		size_t n = s.p[i] == '\\' ? unescape(ar_str_sub(s, i + 1, 3), &out[len]) : 0;

		if (n == 0)
			out[len] = s.p[i];
		len++;
		i += 1 + n;
	}
	return (struct ar_str){ out, len };
}

static bool is_null(struct ar_str name)
{
	return ar_str_is(name, "/dev/null");
}

/* git's a/ and b/ go, where both have them. */
static void strip(struct ar_str *old, struct ar_str *new)
{
	bool has_a = ar_str_starts(*old, AR_STR("a/")) || is_null(*old);
	bool has_b = ar_str_starts(*new, AR_STR("b/")) || is_null(*new);

	if (!has_a || !has_b)
		return;
	if (!is_null(*old))
		*old = ar_str_sub(*old, 2, old->len);
	if (!is_null(*new))
		*new = ar_str_sub(*new, 2, new->len);
}

/* `diff --git a/x b/x`: the one name, when both are the same. */
static struct ar_str git_name(struct ar_arena *a, struct ar_str rest)
{
	size_t half = rest.len / 2;
	struct ar_str old = ar_str_sub(rest, 0, half), new = ar_str_sub(rest, half + 1, rest.len);

	if (rest.len % 2 == 0 || rest.len < 3 || rest.p[half] != ' ')
		return AR_STR_NONE;
	if (rest.p[0] == '"') {
		old = read_name(a, old);
		new = read_name(a, new);
	}
	strip(&old, &new);
	return ar_str_eq(old, new) ? ar_arena_str(a, old) : AR_STR_NONE;
}

/* ---- hunks ---- */

static enum ar_status fail_hunk(struct ar_patch_reader *r, const struct ar_patch_file *f, size_t hunk,
				const char *what)
{
	return ar_fail(r->err, AR_E_INVALID, "hunk %zu of '%.80s' (line %zu of the patch): %s", hunk,
		       f->path.p ? f->path.p : "", r->at + 1, what);
}

/* N or N,M; moves *s behind it. */
static bool read_range(struct ar_str *s, char sign, size_t *ret_start, size_t *ret_count)
{
	uint64_t numbers[2] = { 0, 1 };
	size_t digits = 0, which = 0, i = 1;

	if (s->len == 0 || s->p[0] != sign)
		return false;
	for (; i < s->len && s->p[i] != ' '; i++) {
		if (s->p[i] == ',' && which == 0 && digits > 0) {
			numbers[++which] = 0;
			digits = 0;
			continue;
		}
		if (s->p[i] < '0' || s->p[i] > '9' || numbers[which] > NUMBER_MAX)
			return false;
		numbers[which] = numbers[which] * 10 + (uint64_t)(s->p[i] - '0');
		digits++;
	}
	*s = ar_str_sub(*s, i < s->len ? i + 1 : i, s->len);
	*ret_start = numbers[0];
	*ret_count = numbers[1];
	return digits > 0;
}

static bool read_header(struct ar_str line, struct ar_patch_hunk *h)
{
	struct ar_str s = text_after(line, "@@ ");
	size_t new_start;

	return !ar_str_absent(s) && read_range(&s, '-', &h->old_start, &h->old_count) &&
	       read_range(&s, '+', &new_start, &h->new_count) && ar_str_starts(s, AR_STR("@@"));
}

/* Takes the lines that the header counts; false: others are there. */
static bool read_lines(struct ar_patch_reader *r, struct ar_patch_hunk *h)
{
	size_t old = h->old_count, new = h->new_count;

	for (; old > 0 || new > 0; r->at++) {
		char kind = r->at < r->lines.count ? ar_patch_kind(r->lines.at[r->at]) : 0;

		if (kind == 0 || (kind != '+' && kind != '\\' && old == 0) ||
		    (kind != '-' && kind != '\\' && new == 0))
			return false;
		old -= kind == ' ' || kind == '-';
		new -= kind == ' ' || kind == '+';
	}
	r->at += ar_patch_peek(r).len > 0 && ar_patch_peek(r).p[0] == '\\';
	return true;
}

/* A line too many would otherwise be lost in silence. */
static bool has_more(struct ar_patch_reader *r)
{
	struct ar_str line = ar_patch_peek(r);

	if (ar_str_empty(line) || ar_str_starts(line, AR_STR("--- ")) || ar_str_is(line, "-- ") ||
	    ar_str_is(line, "--"))
		return false;
	return line.p[0] == ' ' || line.p[0] == '+' || line.p[0] == '-';
}

static enum ar_status read_hunk(struct ar_patch_reader *r, struct ar_patch_file *f)
{
	struct ar_patch_hunk *h = ar_patch_add_hunk(r, f);

	if (!h)
		return r->err->status;
	if (!read_header(ar_patch_peek(r), h))
		return fail_hunk(r, f, h->number,
				 "its header is not of the form '@@ -LINE,COUNT +LINE,COUNT @@'");
	h->has_start = true;
	h->lines = r->lines.at + ++r->at;
	if (!read_lines(r, h))
		return fail_hunk(
			r, f, h->number,
			"its lines do not add up to the counts of its header; correct them, or use the "
			"form '*** Begin Patch', which has no counts");
	h->count = (size_t)(r->lines.at + r->at - h->lines);
	if (has_more(r))
		return fail_hunk(
			r, f, h->number,
			"it has more lines than its header counts; correct them, or use the form '*** "
			"Begin Patch', which has no counts");
	return AR_OK;
}

static enum ar_status read_hunks(struct ar_patch_reader *r, struct ar_patch_file *f)
{
	enum ar_status status = AR_OK;

	while (status == AR_OK && ar_str_starts(ar_patch_peek(r), AR_STR("@@")))
		status = read_hunk(r, f);
	return status;
}

/* ---- files ---- */

static bool is_pair(const struct ar_patch_reader *r)
{
	return r->at + 1 < r->lines.count && ar_str_starts(ar_patch_peek(r), AR_STR("--- ")) &&
	       ar_str_starts(r->lines.at[r->at + 1], AR_STR("+++ "));
}

/* The lines --- and +++, and the hunks behind them. */
static enum ar_status read_pair(struct ar_patch_reader *r, struct ar_patch_file *f)
{
	struct ar_str old = read_name(r->arena, ar_str_sub(ar_patch_peek(r), 4, (size_t)-1)), new;

	r->at++;
	new = read_name(r->arena, ar_str_sub(ar_patch_peek(r), 4, (size_t)-1));
	r->at++;
	strip(&old, &new);
	if (ar_str_empty(old) || ar_str_empty(new) || (is_null(old) && is_null(new)))
		return ar_fail(r->err, AR_E_INVALID, "line %zu of the patch: it names no file", r->at);
	if (is_null(old))
		f->op = AR_PATCH_CREATE;
	if (is_null(new))
		f->op = AR_PATCH_DELETE;
	f->path = ar_arena_str(r->arena, is_null(old) ? new : old);
	if (f->op == AR_PATCH_MODIFY && !ar_str_eq(old, new))
		f->new_path = ar_arena_str(r->arena, new);
	return read_hunks(r, f);
}

static mode_t read_mode(struct ar_str text)
{
	return ar_str_ends(text, AR_STR("755")) ? 0755 : 0644;
}

static void read_git_header(struct ar_patch_reader *r, struct ar_patch_file *f, struct ar_str line)
{
	struct ar_str from = text_after(line, "rename from "), to = text_after(line, "rename to ");

	if (!ar_str_absent(from))
		f->path = read_name(r->arena, from);
	if (!ar_str_absent(to))
		f->new_path = read_name(r->arena, to);
	for (size_t i = 0; i < AR_ARRAY_LEN(headers); i++) {
		struct ar_str mode = text_after(line, headers[i].start);

		if (ar_str_absent(mode))
			continue;
		f->op = headers[i].op ? headers[i].op : f->op;
		f->mode = headers[i].is_mode ? read_mode(mode) : f->mode;
	}
}

static bool is_unreadable(struct ar_str line)
{
	return ar_str_starts(line, AR_STR("Binary files ")) ||
	       ar_str_starts(line, AR_STR("GIT binary patch")) || ar_str_starts(line, AR_STR("copy from ")) ||
	       ar_str_starts(line, AR_STR("copy to ")) || ar_str_starts(line, AR_STR("new file mode 120000"));
}

/* From `diff --git` on: git's own lines until the pair, or the next file. */
static enum ar_status read_git(struct ar_patch_reader *r)
{
	struct ar_patch_file *f = ar_patch_add_file(r, AR_PATCH_MODIFY);

	if (!f)
		return r->err->status;
	f->path = git_name(r->arena, text_after(ar_patch_peek(r), "diff --git "));
	for (r->at++; r->at < r->lines.count && !is_pair(r); r->at++) {
		struct ar_str line = ar_patch_peek(r);

		if (ar_str_starts(line, AR_STR("diff --git ")))
			break;
		if (is_unreadable(line))
			return ar_fail(
				r->err, AR_E_INVALID,
				"line %zu of the patch: binary contents, copies and links cannot be patched",
				r->at + 1);
		read_git_header(r, f, line);
	}
	if (is_pair(r))
		return read_pair(r, f);
	if (ar_str_empty(f->path))
		return ar_fail(r->err, AR_E_INVALID, "line %zu of the patch: it names no file", r->at);
	return AR_OK;
}

static enum ar_status read_plain(struct ar_patch_reader *r)
{
	struct ar_patch_file *f = ar_patch_add_file(r, AR_PATCH_MODIFY);

	return f ? read_pair(r, f) : r->err->status;
}

enum ar_status ar_patch_read_unified(struct ar_patch_reader *r)
{
	enum ar_status status = AR_OK;

	while (status == AR_OK && r->at < r->lines.count) {
		if (ar_str_starts(ar_patch_peek(r), AR_STR("diff --git ")))
			status = read_git(r);
		else if (is_pair(r))
			status = read_plain(r);
		else if (ar_str_starts(ar_patch_peek(r), AR_STR("@@ -")))
			return ar_fail(
				r->err, AR_E_INVALID,
				"line %zu of the patch: a hunk without the lines '--- a/FILE' and '+++ "
				"b/FILE' before it",
				r->at + 1);
		else
			r->at++;
	}
	return status;
}
