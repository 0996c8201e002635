/* A file of an export, made piece by piece. What is full leaves as a part, so that memory does not depend on
 * the length of the file. */
#ifndef AR_EXPORT_PACK_FILE_H
#define AR_EXPORT_PACK_FILE_H

#include "buf.h"
#include "crypto/sha256.h"
#include "json.h"

#define AR_PACK_PART ((size_t)1024 * 1024) /* bytes of a part at most: one answer of read_output */

struct ar_pack_part {
	struct ar_hash hash;
	size_t size;
};

struct ar_pack_file {
	const char *name, *media_type;
	struct ar_sha256 sha;
	struct ar_hash hash; /* of all of it, once it is closed */
	uint64_t size;
	struct ar_buf pending; /* in no part yet */
	struct ar_pack_part *parts;
	size_t part_count, part_room;
	bool is_used;
};

void ar_pack_file_add(struct ar_pack_file *f, struct ar_str bytes);
void ar_pack_file_close(struct ar_pack_file *f); /* nothing more is added */

/* The next part that is full, or the rest of a file that is closed; absent: there is none. It is to be
 * stored, then ar_pack_file_drop()ped. */
struct ar_str ar_pack_file_part(const struct ar_pack_file *f, bool is_closed);
void ar_pack_file_drop(struct ar_pack_file *f, struct ar_str part);
void ar_pack_file_fini(struct ar_pack_file *f);

/* {"name","mediaType","size","sha256","parts":[{"ref","size"}]} */
void ar_pack_file_write(const struct ar_pack_file *f, struct ar_str session_key, struct ar_jw *w);

#endif
