/* What a call is about to change: files read whole, their new contents made in memory, then all put in place
 * together. Each file is replaced by a rename in its own folder, so that a reader, or a machine that
 * dies, finds the old or the new one, never a part; when one of several cannot be replaced, those before it
 * are put back. What was there before goes into the answer, so that it can be undone.
 *
 * A link is never written through, and nothing outside the workspace is reached (beneath.c). One call at a
 * time. */
#ifndef AR_FILES_CHANGES_H
#define AR_FILES_CHANGES_H

#include "work.h"

#include <sys/stat.h>

#define AR_CHANGES_MAX 256
#define AR_CHANGES_FILE_MAX ((size_t)8 << 20) /* before and after */
#define AR_CHANGES_BYTES_MAX ((size_t)24 << 20) /* before, of all files */
#define AR_PUT_TEMP_MAX 48

struct ar_change {
	struct ar_str path; /* from the workspace */
	bool existed, exists; /* before and after */
	struct ar_str before, after;
	mode_t mode; /* permission bits: as it had them; of a new file what is set here, 0: the usual */
	/* What follows is changes.c's. */
	struct ar_str name; /* in its folder */
	int folder; /* -1: not there yet */
	struct stat seen;
	char temp[AR_PUT_TEMP_MAX];
	size_t made; /* folders that were made for it */
	bool is_done;
};

struct ar_changes {
	struct ar_files_work *work;
	int root;
	bool creates_folders;
	struct ar_change *at[AR_CHANGES_MAX];
	size_t count;
	size_t bytes;
};

/* False with the failure in the work. */
bool ar_changes_begin(struct ar_changes *c, struct ar_files_work *w, bool creates_folders);

/* The change of the file that a model named so, with what is there now as before and after; the same one when
 * it was asked for already. NULL with the failure in the work: outside, a link, no regular file, too
 * large. */
struct ar_change *ar_changes_file(struct ar_changes *c, struct ar_str named);

/* Puts everything in place and writes work->changes; false: nothing is changed, the failure is in the
 * work. */
bool ar_changes_commit(struct ar_changes *c);

/* Closes what is open; always after begin. */
void ar_changes_fini(struct ar_changes *c);

/* SHA-256 of a file's content in hex, as sha256sum prints it. */
struct ar_str ar_changes_hash(struct ar_arena *a, struct ar_str bytes);

#endif
