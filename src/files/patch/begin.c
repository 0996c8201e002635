/* The form `*** Begin Patch`: files by name, hunks by the lines around them instead of numbers. */
#include "patch/patch.h"

static enum ar_status fail_syntax(struct ar_patch_reader *r, const char *what)
{
	return ar_fail(r->err, AR_E_INVALID, "line %zu of the patch: %s", r->at + 1, what);
}

/* What stands behind a header like `*** Add File: `; absent: the line is another. */
static struct ar_str text_after(struct ar_patch_reader *r, struct ar_str start)
{
	struct ar_str line = ar_patch_peek(r);

	if (!ar_str_starts(line, start))
		return AR_STR_NONE;
	return ar_arena_str(r->arena, ar_line_trimmed(ar_str_sub(line, start.len, line.len)));
}

static bool is_header(const struct ar_patch_reader *r)
{
	return ar_str_starts(ar_patch_peek(r), AR_STR("*** "));
}

static bool is_end_of_file(const struct ar_patch_reader *r)
{
	return ar_str_is(ar_line_trimmed(ar_patch_peek(r)), "*** End of File");
}

/* Lines until the next @@ or ***. */
static enum ar_status read_lines(struct ar_patch_reader *r, struct ar_patch_hunk *h)
{
	h->lines = r->lines.at + r->at;
	while (r->at < r->lines.count && !is_header(r) && !ar_str_starts(ar_patch_peek(r), AR_STR("@@"))) {
		char kind = ar_patch_kind(r->lines.at[r->at]);

		if (kind == 0 || kind == '\\')
			return fail_syntax(r, "a line of a hunk begins with a blank, '+' or '-'");
		h->old_count += kind != '+';
		h->new_count += kind != '-';
		r->at++;
	}
	h->count = (size_t)(r->lines.at + r->at - h->lines);
	if (is_end_of_file(r)) {
		h->is_at_end = true;
		r->at++;
	}
	if (h->count == 0)
		return fail_syntax(r, "a hunk without lines");
	return AR_OK;
}

static enum ar_status read_hunk(struct ar_patch_reader *r, struct ar_patch_file *f)
{
	struct ar_patch_hunk *h = ar_patch_add_hunk(r, f);
	struct ar_str anchor = text_after(r, AR_STR("@@"));

	if (!h)
		return r->err->status;
	if (ar_str_absent(anchor) && h->number > 1)
		return fail_syntax(r, "a hunk begins with '@@'");
	r->at += !ar_str_absent(anchor);
	h->anchor = ar_str_empty(anchor) ? AR_STR_NONE : anchor;
	return read_lines(r, h);
}

static enum ar_status read_update(struct ar_patch_reader *r, struct ar_patch_file *f)
{
	struct ar_str to = text_after(r, AR_STR("*** Move to: "));
	enum ar_status status = AR_OK;

	if (!ar_str_absent(to)) {
		f->new_path = to;
		r->at++;
	}
	while (status == AR_OK && r->at < r->lines.count && !is_header(r))
		status = read_hunk(r, f);
	if (status == AR_OK && f->hunk_count == 0 && ar_str_absent(f->new_path))
		return fail_syntax(r, "an update without a hunk");
	return status;
}

static enum ar_status read_add(struct ar_patch_reader *r, struct ar_patch_file *f)
{
	struct ar_patch_hunk *h = ar_patch_add_hunk(r, f);

	if (!h)
		return r->err->status;
	h->lines = r->lines.at + r->at;
	while (r->at < r->lines.count && !is_header(r)) {
		if (!ar_str_starts(r->lines.at[r->at], AR_STR("+")))
			return fail_syntax(r, "every line of a new file begins with '+'");
		r->at++;
	}
	h->count = h->new_count = (size_t)(r->lines.at + r->at - h->lines);
	return AR_OK;
}

static enum ar_status read_delete(struct ar_patch_reader *r, struct ar_patch_file *f)
{
	(void)r;
	(void)f;
	return AR_OK;
}

static const struct {
	struct ar_str start;
	enum ar_patch_op op;
	enum ar_status (*read)(struct ar_patch_reader *r, struct ar_patch_file *f);
} sections[] = {
	{ { "*** Add File: ", 14 }, AR_PATCH_CREATE, read_add },
	{ { "*** Update File: ", 17 }, AR_PATCH_MODIFY, read_update },
	{ { "*** Delete File: ", 17 }, AR_PATCH_DELETE, read_delete },
};

static enum ar_status read_section(struct ar_patch_reader *r)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(sections); i++) {
		struct ar_str path = text_after(r, sections[i].start);

		if (ar_str_absent(path))
			continue;
		if (ar_str_empty(path))
			return fail_syntax(r, "it names no file");
		struct ar_patch_file *f = ar_patch_add_file(r, sections[i].op);

		if (!f)
			return r->err->status;
		f->path = path;
		r->at++;
		return sections[i].read(r, f);
	}
	return fail_syntax(r, "'*** Add File: ', '*** Update File: ', '*** Delete File: ' or '*** End Patch' "
			      "is expected here");
}

enum ar_status ar_patch_read_begin(struct ar_patch_reader *r)
{
	enum ar_status status = AR_OK;

	r->at++;
	while (status == AR_OK && r->at < r->lines.count) {
		if (ar_str_is(ar_line_trimmed(ar_patch_peek(r)), "*** End Patch"))
			return AR_OK;
		status = read_section(r);
	}
	return status == AR_OK ? fail_syntax(r, "'*** End Patch' is missing: the patch may have been cut off")
			       : status;
}
