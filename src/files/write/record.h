/* What a call changed, as it goes on record: per file {path, kind, before, encoding, beforeHash, afterHash,
 * mode}. For changes.c. */
#ifndef AR_FILES_RECORD_H
#define AR_FILES_RECORD_H

#include "write/changes.h"

/* A JSON array in the arena of the call; absent: nothing was changed. `before` is text when it is UTF-8 (so
 * that secrets in it are masked like those of every other text), base64 otherwise, null when there was no
 * file. */
struct ar_str ar_record_write(const struct ar_changes *c);

const char *ar_record_kind(const struct ar_change *f); /* created, modified, deleted */

#endif
