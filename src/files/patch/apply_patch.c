/* apply_patch: several places of several files changed together, all or nothing. Reading the patch is
 * patch.c's, placing its hunks splice.c's, putting files in place changes.c's. */
#include "patch/splice.h"
#include "shown.h"
#include "write/changes.h"

static const struct ar_files_arg args[] = {
	{ "patch",
	  "The patch: a unified diff ('--- a/FILE', '+++ b/FILE', '@@ -1,3 +1,4 @@', lines with ' ', '-' or "
	  "'+'; "
	  "/dev/null for a file that is new or goes), or '*** Begin Patch', then for each file '*** Add "
	  "File: "
	  "PATH', '*** Update File: PATH' (with '*** Move to: PATH' to rename) or '*** Delete File: PATH', "
	  "hunks "
	  "that begin with '@@' or '@@ LINE BEFORE IT', and '*** End Patch'.",
	  AR_FILES_STR, true, offsetof(struct ar_files_args, patch), 1, AR_PATCH_TEXT_MAX, 0 },
};

struct applying {
	struct ar_files_work *work;
	struct ar_changes changes;
	struct ar_patch patch;
	struct ar_buf told;
};

static const char *shown_path(struct applying *a, struct ar_str path)
{
	return ar_shown_path(&a->work->arena, path).p;
}

static void report_file(struct applying *a, const char *what, const struct ar_patch_file *f, size_t moved)
{
	ar_buf_addf(&a->told, "%s ", what);
	ar_shown_add_path(&a->told, f->path);
	if (!ar_str_absent(f->new_path)) {
		ar_buf_addz(&a->told, " -> ");
		ar_shown_add_path(&a->told, f->new_path);
	}
	if (moved > 0)
		ar_buf_addf(&a->told, " (%zu hunk%s applied at another line than given)", moved,
			    moved == 1 ? "" : "s");
	ar_buf_addc(&a->told, '\n');
}

/* The file's text after its hunks. */
static bool splice(struct applying *a, const struct ar_patch_file *f, struct ar_str text,
		   struct ar_splice *ret)
{
	*ret = (struct ar_splice){ .arena = &a->work->arena, .patch = &a->patch, .text = text };
	enum ar_status status = ar_splice(ret, f);

	if (status == AR_OK)
		return true;
	ar_files_fail(a->work, status == AR_E_LIMIT ? "too_large" : "no_match",
		      "Nothing was changed. Read the file again and correct this hunk.", "'%s': %s.",
		      shown_path(a, f->path), ret->wrong.p);
	return false;
}

static bool must_exist(struct applying *a, const struct ar_patch_file *f, const struct ar_change *c)
{
	if (c && !c->exists)
		ar_files_fail(a->work, "not_found", "Nothing was changed. Look for it with find_files.",
			      "'%s' does not exist in the workspace.", shown_path(a, f->path));
	return c && c->exists;
}

static bool must_not_exist(struct applying *a, struct ar_str path, const struct ar_change *c)
{
	if (c && c->exists)
		ar_files_fail(a->work, "conflict",
			      "Nothing was changed. Update it instead, or delete it first.",
			      "'%s' exists already.", shown_path(a, path));
	return c && !c->exists;
}

static bool create(struct applying *a, const struct ar_patch_file *f)
{
	struct ar_change *c = ar_changes_file(&a->changes, f->path);
	struct ar_splice s;

	if (!must_not_exist(a, f->path, c) || !splice(a, f, AR_STR(""), &s))
		return false;
	c->exists = true;
	c->after = s.result;
	c->mode = f->mode;
	report_file(a, "Created", f, 0);
	return true;
}

static bool delete (struct applying *a, const struct ar_patch_file *f)
{
	struct ar_change *c = ar_changes_file(&a->changes, f->path);
	struct ar_splice s;

	if (!must_exist(a, f, c) || (f->hunks && !splice(a, f, c->after, &s)))
		return false;
	if (f->hunks && s.result.len > 0) {
		ar_files_fail(a->work, "no_match",
			      "Nothing was changed. Read the file again before it is deleted.",
			      "'%s' has more lines than the patch deletes.", shown_path(a, f->path));
		return false;
	}
	c->exists = false;
	c->after = AR_STR("");
	report_file(a, "Deleted", f, 0);
	return true;
}

/* Under its new name it is a new file, with the mode of the old one. */
static bool rename_to(struct applying *a, const struct ar_patch_file *f, struct ar_change *old)
{
	struct ar_change *c = ar_changes_file(&a->changes, f->new_path);

	if (c == old)
		return true;
	if (!must_not_exist(a, f->new_path, c))
		return false;
	c->exists = true;
	c->after = old->after;
	c->mode = old->mode;
	old->exists = false;
	old->after = AR_STR("");
	return true;
}

static bool modify(struct applying *a, const struct ar_patch_file *f)
{
	struct ar_change *c = ar_changes_file(&a->changes, f->path);
	struct ar_splice s;

	if (!must_exist(a, f, c) || !splice(a, f, c->after, &s))
		return false;
	c->after = s.result;
	if (f->mode)
		c->mode = f->mode;
	report_file(a, ar_str_absent(f->new_path) ? "Changed" : "Renamed", f, s.moved);
	return ar_str_absent(f->new_path) || rename_to(a, f, c);
}

static bool (*const ops[])(struct applying *a, const struct ar_patch_file *f) = {
	[AR_PATCH_MODIFY] = modify,
	[AR_PATCH_CREATE] = create,
	[AR_PATCH_DELETE] = delete,
};

static bool apply(struct applying *a)
{
	for (const struct ar_patch_file *f = a->patch.files; f; f = f->next) {
		if (!ops[f->op](a, f))
			return false;
	}
	return ar_changes_commit(&a->changes);
}

static void run(struct ar_files_work *w)
{
	struct applying a = { .work = w };
	struct ar_error err = { 0 };

	if (ar_patch_read(&w->arena, w->args.patch, &a.patch, &err) != AR_OK) {
		ar_files_fail(w, "invalid_patch", "Nothing was changed. Correct the patch.",
			      "The patch cannot be read: %s.", err.msg);
		return;
	}
	if (ar_changes_begin(&a.changes, w, true) && apply(&a)) {
		ar_buf_adds(&w->text, ar_buf_str(&a.told));
		ar_buf_addf(&w->text, "(%zu file%s, %zu hunk%s)", a.patch.file_count,
			    a.patch.file_count == 1 ? "" : "s", a.patch.hunk_count,
			    a.patch.hunk_count == 1 ? "" : "s");
	}
	ar_changes_fini(&a.changes);
	ar_buf_fini(&a.told);
}

const struct ar_files_kind ar_files_apply_patch = {
	.name = "apply_patch",
	.title = "Apply a patch",
	.description =
		"Changes several places and files of the workspace at once: all of the patch is applied, or "
		"nothing. Files can be changed, created, deleted and renamed. Lines around a change have to "
		"be "
		"those of the file; line numbers of a unified diff may be off. When a hunk does not fit, the "
		"answer names it and the nearest line.",
	.writes = true,
	.args = args,
	.arg_count = AR_ARRAY_LEN(args),
	.run = run,
};
