/* undo: files put back as they were before calls changed them. No tool of a model: the owner of the workspace
 * asks for it, with the record of the changes (record.c). A file that is no longer as the call left it is
 * kept as it is, and said so. */
#include "base64.h"
#include "shown.h"
#include "write/changes.h"
#include "write/undo.h"

struct undoing {
	struct ar_files_work *work;
	size_t kept; /* files that could not be put back */
};

static struct ar_str member(struct ar_json v, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	ar_json_str(ar_json_get(v, name), &s);
	return s;
}

static void report_path(struct undoing *u, const char *what, struct ar_str path, const char *why)
{
	ar_buf_addf(&u->work->text, "%s ", what);
	ar_shown_add_path(&u->work->text, path);
	if (why)
		ar_buf_addf(&u->work->text, ": %s", why);
	ar_buf_addc(&u->work->text, '\n');
}

static bool keep_file(struct undoing *u, struct ar_str path, const char *why)
{
	report_path(u, "kept", path, why);
	u->kept++;
	return false;
}

/* What was in it; false: that is not on record as it was. */
static bool read_before(struct ar_files_work *w, struct ar_json change, struct ar_str *ret)
{
	struct ar_str before = member(change, "before");

	if (ar_str_absent(before))
		return false;
	if (ar_str_is(member(change, "encoding"), "base64") && !ar_base64_decode(&w->arena, before, &before))
		return false;
	*ret = ar_arena_str(&w->arena, before);
	return ar_str_eq(ar_changes_hash(&w->arena, *ret), member(change, "beforeHash"));
}

static bool is_as_left(struct ar_files_work *w, const struct ar_change *f, struct ar_json change)
{
	struct ar_str after = member(change, "afterHash");

	if (!f->existed || ar_str_absent(after))
		return !f->existed && ar_str_absent(after);
	return ar_str_eq(ar_changes_hash(&w->arena, f->before), after);
}

static bool settle(struct undoing *u, struct ar_change *f, struct ar_json change)
{
	int64_t mode = 0;

	if (!is_as_left(u->work, f, change))
		return keep_file(u, f->path, "it was changed since");
	f->exists = !ar_str_is(member(change, "kind"), "created");
	if (!f->exists)
		return true;
	if (!read_before(u->work, change, &f->after))
		return keep_file(u, f->path,
				 "its earlier content is not stored exactly (a secret may be redacted)");
	if (ar_json_i64(ar_json_get(change, "mode"), &mode))
		f->mode = (mode_t)mode & 0777;
	return true;
}

static void undo_one(struct undoing *u, struct ar_json change)
{
	struct ar_files_work *w = u->work;
	struct ar_str path = member(change, "path");
	AR_AUTO(ar_changes_fini) struct ar_changes c;
	struct ar_change *f = ar_changes_begin(&c, w, true) ? ar_changes_file(&c, path) : NULL;

	if (f && settle(u, f, change) && ar_changes_commit(&c))
		report_path(u, f->exists ? "restored" : "removed", f->path, NULL);
	if (!ar_files_failed(w))
		return;
	keep_file(u, path, w->message.p);
	w->outcome = (enum ar_tool_outcome)0; /* the others are tried all the same */
	w->changes = AR_STR_NONE;
}

void ar_files_undo(struct ar_files_work *w, struct ar_json args)
{
	struct ar_json changes = ar_json_get(args, "changes");
	struct undoing u = { .work = w };

	for (size_t i = ar_json_len(changes); i > 0; i--)
		undo_one(&u, ar_json_at(changes, i - 1));
	w->changes = AR_STR_NONE;
	if (u.kept > 0)
		ar_files_fail(w, "conflict", "Look at the files that were kept.", "%.*s",
			      AR_STR_ARG(ar_buf_str(&w->text)));
}
