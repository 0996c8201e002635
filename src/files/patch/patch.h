/* A patch as somebody wrote it, taken apart: files, hunks, lines. Two forms are read: unified diffs (with
 * git's headers), and the form that begins with `*** Begin Patch`. Nothing is looked up in a file system
 * here; paths are as written. Everything points into the text and the arena. */
#ifndef AR_FILES_PATCH_H
#define AR_FILES_PATCH_H

#include "status.h"
#include "write/lines.h"

#include <sys/types.h>

#define AR_PATCH_TEXT_MAX ((size_t)4 << 20)
#define AR_PATCH_FILES_MAX 128 /* a rename changes two */
#define AR_PATCH_HUNKS_MAX 10000

enum ar_patch_op {
	AR_PATCH_MODIFY = 1,
	AR_PATCH_CREATE,
	AR_PATCH_DELETE,
};

struct ar_patch_hunk {
	struct ar_patch_hunk *next;
	size_t number; /* in its file, from 1 */
	size_t line; /* of the patch, from 1 */
	bool has_start; /* the patch gives old_start */
	size_t old_start, old_count, new_count;
	struct ar_str anchor; /* a line of the file that stands before it; absent: none */
	bool is_at_end; /* of the file */
	/* As written: the first character says what each is, none at all: an empty line that stays */
	const struct ar_str *lines;
	size_t count;
};

struct ar_patch_file {
	struct ar_patch_file *next;
	enum ar_patch_op op;
	struct ar_str path;
	struct ar_str new_path; /* absent: it keeps its name */
	mode_t mode; /* permission bits; 0: as they are */
	struct ar_patch_hunk *hunks, *last;
	size_t hunk_count;
};

struct ar_patch {
	struct ar_patch_file *files, *last;
	size_t file_count, hunk_count;
	bool has_crlf; /* the patch itself was written with CRLF: the CR says nothing about the files */
};

/* While a patch is read. */
struct ar_patch_reader {
	struct ar_arena *arena;
	struct ar_lines lines;
	size_t at; /* the next line */
	struct ar_patch *patch;
	struct ar_error *err;
};

/* Refuses with AR_E_INVALID and a sentence that names the line, or AR_E_LIMIT. */
AR_MUST_USE enum ar_status ar_patch_read(struct ar_arena *a, struct ar_str text, struct ar_patch *ret,
					 struct ar_error *err);

/* What a line of a hunk is: ' ', '+', '-', '\\', or 0 for none of them. */
char ar_patch_kind(struct ar_str line);

/* ---- for the readers of the two forms ---- */

AR_MUST_USE enum ar_status ar_patch_read_unified(struct ar_patch_reader *r);
AR_MUST_USE enum ar_status ar_patch_read_begin(struct ar_patch_reader *r);

/* The next line without its end; absent at the end. */
struct ar_str ar_patch_peek(const struct ar_patch_reader *r);

/* Add one at the end; NULL with the error when there are too many. */
struct ar_patch_file *ar_patch_add_file(struct ar_patch_reader *r, enum ar_patch_op op);
struct ar_patch_hunk *ar_patch_add_hunk(struct ar_patch_reader *r, struct ar_patch_file *f);

#endif
