/* The files of a call as they are afterwards, for readers: per file {path, kind, hash, size, content,
 * encoding, diff}. For changes.c. */
#ifndef AR_FILES_VERSIONS_H
#define AR_FILES_VERSIONS_H

#include "write/changes.h"

#define AR_VERSIONS_FILE_MAX ((size_t)1 << 20) /* a larger file has no content and no diff here */
#define AR_VERSIONS_BYTES_MAX ((size_t)6 << 20) /* of the array; then contents and diffs are left out */

/* A JSON array in the arena of the call; absent: nothing was changed. `content` is text when it is UTF-8,
 * base64 otherwise, and absent when it is not kept; hash, size and content are absent for a deleted file. */
struct ar_str ar_versions_write(const struct ar_changes *c);

/* One file of such an array: with its bytes, unless they are too many. Of a side that is larger than
 * AR_VERSIONS_FILE_MAX and whose hash is not written (before) only the length is looked at. */
void ar_versions_add(struct ar_jw *j, struct ar_arena *a, const struct ar_change *f);

#endif
