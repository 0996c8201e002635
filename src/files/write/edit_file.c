/* edit_file: a text in a file replaced by another, where it stands exactly once unless told otherwise. What
 * to say when it does not stand there is nearest.c's, how the file is put in place changes.c's. */
#include "mem.h"
#include "shown.h"
#include "write/changes.h"
#include "write/lines.h"
#include "write/nearest.h"

#include <string.h>

#define PLACES_SHOWN 20

static const struct ar_files_arg args[] = {
	{ "path", "File to change, relative to the workspace.", AR_FILES_STR, true,
	  offsetof(struct ar_files_args, path), 1, AR_FILES_PATH_MAX, 0 },
	{ "oldText",
	  "The text to replace, exactly as it stands in the file (without the line numbers that read_file "
	  "shows), "
	  "with enough lines around it to stand there only once.",
	  AR_FILES_STR, true, offsetof(struct ar_files_args, old_text), 1, AR_CHANGES_FILE_MAX, 0 },
	{ "newText", "What comes in its place; empty to remove it.", AR_FILES_STR, true,
	  offsetof(struct ar_files_args, new_text), 0, AR_CHANGES_FILE_MAX, 0 },
	{ "replaceAll", "Replace every occurrence.", AR_FILES_BOOL, false,
	  offsetof(struct ar_files_args, replace_all), 0, 1, 0 },
};

struct edit {
	struct ar_files_work *work;
	struct ar_change *file;
	struct ar_str old, new;
	size_t places[PLACES_SHOWN]; /* offsets of the first ones */
	size_t count;
	bool has_crlf; /* the ends of lines were made those of the file */
};

/* Offset of the next place at or behind `from`; the length of the text: there is none. */
static size_t find_text(struct ar_str text, struct ar_str what, size_t from)
{
	const char *at = memmem(text.p + from, text.len - from, what.p, what.len);

	return at ? (size_t)(at - text.p) : text.len;
}

static void find_matches(struct edit *e)
{
	struct ar_str text = e->file->before;

	e->count = 0;
	for (size_t at = find_text(text, e->old, 0); at < text.len;
	     at = find_text(text, e->old, at + e->old.len)) {
		if (e->count < PLACES_SHOWN)
			e->places[e->count] = at;
		e->count++;
	}
}

/* The text with CR before every LF that has none. */
static struct ar_str with_cr(struct ar_arena *a, struct ar_str text)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };

	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '\n' && (i == 0 || text.p[i - 1] != '\r'))
			ar_buf_addc(&out, '\r');
		ar_buf_addc(&out, text.p[i]);
	}
	return ar_arena_str(a, ar_buf_str(&out));
}

/* Models see and write LF; a file with CRLF keeps its own ends of lines. */
static void find_with_crlf(struct edit *e)
{
	if (e->count > 0 || find_text(e->file->before, AR_STR("\r\n"), 0) == e->file->before.len)
		return;
	e->old = with_cr(&e->work->arena, e->old);
	e->new = with_cr(&e->work->arena, e->new);
	e->has_crlf = true;
	find_matches(e);
}

static void add_lines(struct edit *e, struct ar_buf *out)
{
	for (size_t i = 0; i < e->count && i < PLACES_SHOWN; i++)
		ar_buf_addf(out, "%s%zu", i ? ", " : "", ar_line_number(e->file->before, e->places[i]));
	if (e->count > PLACES_SHOWN)
		ar_buf_addz(out, ", ...");
	ar_buf_addc(out, '\0');
}

static bool is_clear(struct edit *e)
{
	struct ar_files_work *w = e->work;
	const char *path = ar_shown_path(&w->arena, e->file->path).p;
	AR_AUTO(ar_buf_fini) struct ar_buf lines = { 0 };

	if (e->count == 1 || (e->count > 1 && w->args.replace_all))
		return true;
	if (e->count == 0) {
		ar_files_fail(w, "no_match", "Read that part of the file again and take oldText from it.",
			      "oldText does not occur in '%s'. %s", path,
			      ar_nearest(&w->arena, e->file->before, w->args.old_text).p);
		return false;
	}
	add_lines(e, &lines);
	ar_files_fail(w, "ambiguous", "Give more lines around it in oldText, or use replaceAll=true.",
		      "oldText occurs %zu times in '%s', at lines %s.", e->count, path, lines.p);
	return false;
}

static bool replace(struct edit *e)
{
	struct ar_str text = e->file->before;
	AR_AUTO(ar_buf_fini) struct ar_buf out = { .cap = AR_CHANGES_FILE_MAX };
	size_t from = 0;

	for (size_t at = find_text(text, e->old, 0); at < text.len; at = find_text(text, e->old, from)) {
		ar_buf_add(&out, text.p + from, at - from);
		ar_buf_adds(&out, e->new);
		from = at + e->old.len;
	}
	ar_buf_add(&out, text.p + from, text.len - from);
	if (out.failed) {
		ar_files_fail(e->work, "too_large", "Replace less.", "The file would have more than 8 MiB.");
		return false;
	}
	e->file->after = ar_arena_str(&e->work->arena, ar_buf_str(&out));
	return true;
}

static void report_edit(struct edit *e)
{
	struct ar_files_work *w = e->work;
	AR_AUTO(ar_buf_fini) struct ar_buf lines = { 0 };

	add_lines(e, &lines);
	ar_buf_addz(&w->text, "Changed ");
	ar_shown_add_path(&w->text, e->file->path);
	ar_buf_addf(&w->text, " at line%s %s (sha256 %s)", e->count == 1 ? "" : "s", lines.p,
		    ar_changes_hash(&w->arena, e->file->after).p);
	if (e->has_crlf)
		ar_buf_addz(&w->text, " (lines end with CR LF, also the new ones)");
}

static bool check(struct edit *e)
{
	struct ar_files_work *w = e->work;

	if (!e->file->existed)
		ar_files_fail(w, "not_found", "Use write_file to make a new file, or find_files to find it.",
			      "'%s' does not exist in the workspace.",
			      ar_shown_path(&w->arena, e->file->path).p);
	else if (ar_str_eq(e->old, e->new))
		ar_files_fail(w, "invalid_arguments", "Give the text as it is to become in newText.",
			      "oldText and newText are the same.");
	return !ar_files_failed(w);
}

static void run(struct ar_files_work *w)
{
	AR_AUTO(ar_changes_fini) struct ar_changes c;
	struct edit e = { .work = w, .old = w->args.old_text, .new = w->args.new_text };

	if (!ar_changes_begin(&c, w, false))
		return;
	e.file = ar_changes_file(&c, w->args.path);
	if (!e.file || !check(&e))
		return;
	find_matches(&e);
	find_with_crlf(&e);
	if (is_clear(&e) && replace(&e) && ar_changes_commit(&c))
		report_edit(&e);
}

const struct ar_files_kind ar_files_edit_file = {
	.name = "edit_file",
	.title = "Change a file",
	.description =
		"Replaces a text in a file of the workspace by another. oldText has to stand in the file "
		"exactly once, blanks and ends of lines included; give lines around it when it stands there "
		"more often, or replaceAll=true. The answer tells the lines that were changed.",
	.writes = true,
	.args = args,
	.arg_count = AR_ARRAY_LEN(args),
	.run = run,
};
