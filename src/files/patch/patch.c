/* See patch.h: which form it is, and what both readers use. */
#include "patch/patch.h"

#include <string.h>

struct ar_str ar_patch_peek(const struct ar_patch_reader *r)
{
	return r->at < r->lines.count ? ar_line_bare(r->lines.at[r->at]) : AR_STR_NONE;
}

char ar_patch_kind(struct ar_str line)
{
	struct ar_str bare = ar_line_bare(line);

	if (bare.len == 0)
		return ' ';
	return strchr(" +-\\", bare.p[0]) ? bare.p[0] : 0;
}

struct ar_patch_file *ar_patch_add_file(struct ar_patch_reader *r, enum ar_patch_op op)
{
	struct ar_patch *p = r->patch;
	struct ar_patch_file *f = ar_arena_alloc(r->arena, sizeof(*f));

	if (p->file_count == AR_PATCH_FILES_MAX) {
		(void)ar_fail(r->err, AR_E_LIMIT, "the patch changes more than %d files", AR_PATCH_FILES_MAX);
		return NULL;
	}
	f->op = op;
	if (p->last)
		p->last->next = f;
	else
		p->files = f;
	p->last = f;
	p->file_count++;
	return f;
}

struct ar_patch_hunk *ar_patch_add_hunk(struct ar_patch_reader *r, struct ar_patch_file *f)
{
	struct ar_patch_hunk *h = ar_arena_alloc(r->arena, sizeof(*h));

	if (r->patch->hunk_count++ == AR_PATCH_HUNKS_MAX) {
		(void)ar_fail(r->err, AR_E_LIMIT, "the patch has more than %d hunks", AR_PATCH_HUNKS_MAX);
		return NULL;
	}
	h->number = ++f->hunk_count;
	h->line = r->at + 1;
	if (f->last)
		f->last->next = h;
	else
		f->hunks = h;
	f->last = h;
	return h;
}

static void skip_blank(struct ar_patch_reader *r)
{
	while (r->at < r->lines.count && ar_line_trimmed(r->lines.at[r->at]).len == 0)
		r->at++;
}

enum ar_status ar_patch_read(struct ar_arena *a, struct ar_str text, struct ar_patch *ret,
			     struct ar_error *err)
{
	struct ar_patch_reader r = { .arena = a, .patch = ret, .err = err };

	*ret = (struct ar_patch){ 0 };
	if (text.len > AR_PATCH_TEXT_MAX || !ar_lines_split(a, text, &r.lines))
		return ar_fail(err, AR_E_LIMIT, "the patch is longer than 4 MiB or a million lines");
	ret->has_crlf = r.lines.count > 0 && ar_str_ends(r.lines.at[0], AR_STR("\r\n"));
	skip_blank(&r);
	enum ar_status status = ar_str_is(ar_line_trimmed(ar_patch_peek(&r)), "*** Begin Patch")
					? ar_patch_read_begin(&r)
					: ar_patch_read_unified(&r);

	if (status == AR_OK && ret->file_count == 0)
		return ar_fail(err, AR_E_INVALID,
			       "no file is named in it: a unified diff has lines '--- a/FILE', '+++ b/FILE', "
			       "'@@ -1,3 +1,3 @@'; the other form begins with '*** Begin Patch'");
	return status;
}
