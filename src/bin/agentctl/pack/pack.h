/* Evidence packs on disk: written by `agentctl pack`, checked by `agentctl verify-pack`, with files opened
 * under a folder and never through a link. */
#ifndef AR_CTL_PACK_H
#define AR_CTL_PACK_H

#include "api.h"
#include "hash.h"

#define AR_PACK_TEXT_MAX ((size_t)16 * 1024 * 1024) /* of a file that is read as a whole */

/* Downloads the pack behind the ref into the folder; what is there already stays if it is right. */
AR_MUST_USE enum ar_exit ar_pack_download(struct ar_ctl *c, struct ar_str ref, const char *folder);

/* The whole of a small file, kept for the invocation; false: it cannot be read, or is longer than that. */
bool ar_pack_read(struct ar_ctl *c, int folder, const char *name, struct ar_str *ret);

/* SHA-256 of a file in hex; false: it cannot be read. */
bool ar_pack_digest(int folder, const char *name, char ret[AR_HASH_HEX]);

bool ar_pack_is_digest(struct ar_str text); /* 64 hex digits */

#endif
