/* See pack_file.h. A part ends with a line where there is one, so that it can be read alone. */
#include "pack_file.h"
#include "identity.h"
#include "mem.h"

#include <string.h>

void ar_pack_file_add(struct ar_pack_file *f, struct ar_str bytes)
{
	f->is_used = true;
	f->size += bytes.len;
	ar_sha256_add(&f->sha, bytes);
	ar_buf_adds(&f->pending, bytes);
}

void ar_pack_file_close(struct ar_pack_file *f)
{
	f->hash = ar_sha256_end(&f->sha);
}

struct ar_str ar_pack_file_part(const struct ar_pack_file *f, bool is_closed)
{
	struct ar_str all = ar_buf_str(&f->pending);
	const char *line;

	if (all.len < AR_PACK_PART)
		return is_closed && all.len > 0 ? all : AR_STR_NONE;
	line = memrchr(all.p, '\n', AR_PACK_PART);
	return ar_str_sub(all, 0, line ? (size_t)(line + 1 - all.p) : AR_PACK_PART);
}

void ar_pack_file_drop(struct ar_pack_file *f, struct ar_str part)
{
	if (f->part_count == f->part_room) {
		f->part_room = f->part_room ? f->part_room * 2 : 4;
		f->parts = ar_grow(f->parts, f->part_room, sizeof(*f->parts));
	}
	f->parts[f->part_count++] = (struct ar_pack_part){ ar_hash_of(part), part.len };
	ar_buf_eat(&f->pending, part.len);
}

void ar_pack_file_fini(struct ar_pack_file *f)
{
	ar_sha256_fini(&f->sha);
	ar_buf_fini(&f->pending);
	ar_free(f->parts);
	f->parts = NULL;
}

void ar_pack_file_write(const struct ar_pack_file *f, struct ar_str session_key, struct ar_jw *w)
{
	struct ar_arena a = { 0 };
	char hex[AR_HASH_HEX];

	ar_hash_hex(&f->hash, hex);
	ar_jw_open(w);
	ar_jw_mstr(w, "name", ar_str_from(f->name));
	ar_jw_mstr(w, "mediaType", ar_str_from(f->media_type));
	ar_jw_mint(w, "size", (int64_t)f->size);
	ar_jw_mstr(w, "sha256", (struct ar_str){ hex, sizeof(hex) });
	ar_jw_key(w, "parts");
	ar_jw_open_array(w);
	for (size_t i = 0; i < f->part_count; i++) {
		ar_jw_open(w);
		ar_jw_mstr(w, "ref", ar_ref_make(&a, session_key, &f->parts[i].hash));
		ar_jw_mint(w, "size", (int64_t)f->parts[i].size);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
	ar_jw_close(w);
	ar_arena_fini(&a);
}
