/* write_file: a whole file, new or in place of what was there. How it is put in place is changes.c's. */
#include "shown.h"
#include "write/changes.h"

static const struct ar_files_arg args[] = {
	{ "path", "File to write, relative to the workspace, for example src/main.c.", AR_FILES_STR, true,
	  offsetof(struct ar_files_args, path), 1, AR_FILES_PATH_MAX, 0 },
	{ "content", "All that the file is to contain.", AR_FILES_STR, true,
	  offsetof(struct ar_files_args, content), 0, AR_CHANGES_FILE_MAX, 0 },
	{ "createDirs", "Make folders on the way that do not exist.", AR_FILES_BOOL, false,
	  offsetof(struct ar_files_args, create_dirs), 0, 1, 0 },
	{ "expectedHash",
	  "Write only if the file's content now has this SHA-256 (hex, as sha256sum prints it); an empty "
	  "text: "
	  "only if there is no such file.",
	  AR_FILES_STR, false, offsetof(struct ar_files_args, expected_hash), 0, 64, 0 },
};

static bool is_expected(struct ar_files_work *w, const struct ar_change *f)
{
	struct ar_str wanted = w->args.expected_hash;
	struct ar_str now = f->existed ? ar_changes_hash(&w->arena, f->before) : AR_STR("");

	if (ar_str_absent(wanted) || ar_str_eq(wanted, now))
		return true;
	ar_files_fail(w, "conflict", "Read it again, then decide.", "'%s' %s%s.",
		      ar_shown_path(&w->arena, f->path).p,
		      f->existed ? "is not as expected: its content has the SHA-256 " : "does not exist",
		      now.p);
	return false;
}

static size_t count_lines(struct ar_str text)
{
	size_t lines = text.len > 0 && text.p[text.len - 1] != '\n';

	for (size_t i = 0; i < text.len; i++)
		lines += text.p[i] == '\n';
	return lines;
}

static void report_write(struct ar_files_work *w, const struct ar_change *f)
{
	size_t lines = count_lines(f->after);

	if (ar_str_absent(w->changes))
		ar_buf_addz(&w->text, "Nothing to do: ");
	else
		ar_buf_addz(&w->text, f->existed ? "Replaced " : "Created ");
	ar_shown_add_path(&w->text, f->path);
	ar_buf_addf(&w->text, "%s (%zu line%s, %zu bytes, sha256 %s)",
		    ar_str_absent(w->changes) ? " has this content already" : "", lines,
		    lines == 1 ? "" : "s", f->after.len, ar_changes_hash(&w->arena, f->after).p);
}

static void run(struct ar_files_work *w)
{
	AR_AUTO(ar_changes_fini) struct ar_changes c;

	if (!ar_changes_begin(&c, w, w->args.create_dirs))
		return;
	struct ar_change *f = ar_changes_file(&c, w->args.path);

	if (!f || !is_expected(w, f))
		return;
	f->exists = true;
	f->after = w->args.content;
	if (ar_changes_commit(&c))
		report_write(w, f);
}

const struct ar_files_kind ar_files_write_file = {
	.name = "write_file",
	.title = "Write a file",
	.description =
		"Writes a whole text file of the workspace: a new one, or in place of what was there. "
		"Readers see the old or the new file, never a part of one. To change a part of a file use "
		"edit_file, to change several places or files apply_patch.",
	.writes = true,
	.is_idempotent = true,
	.args = args,
	.arg_count = AR_ARRAY_LEN(args),
	.run = run,
};
