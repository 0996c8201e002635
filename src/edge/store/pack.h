/* Stored values: one byte that says how, then the bytes: raw (0), zstd (1), or zstd with dictionary n (1 +
 * n). Any dictionary that ever packed a value must be given again to unpack it, under the same number.
 *
 * A value with a checksum is always a zstd frame, and a CRC-32C follows it in a skippable frame, which zstd
 * passes over: programs that know nothing of it read such a value as any other. The sum is also over the
 * place where the value stands, so that one that stands in another's place is noticed. Older values have none
 * and are read as they are. */
#ifndef AR_EDGE_STORE_PACK_H
#define AR_EDGE_STORE_PACK_H

#include "arena.h"
#include "buf.h"
#include "status.h"

#define AR_PACK_DICTIONARIES 64

/* Where a value stands: the sum of its table and of what it is found by. */
struct ar_row_sum {
	uint32_t sum;
};

/* Dictionaries, shared by all threads. Which one packs is settled at open; one thread may add further ones
 * later. */
struct ar_pack_dictionaries;

/* The working memory of one thread. */
struct ar_packer;

/* A value that another thread packed, in a list of such; its position identifies the value. */
struct ar_packed_ahead {
	const struct ar_packed_ahead *next;
	struct ar_str value, packed;
};

AR_BEGIN_DECLS

struct ar_pack_dictionaries *ar_pack_dictionaries_new(void);
void ar_pack_dictionaries_free(struct ar_pack_dictionaries *d);

bool ar_pack_dictionaries_has(const struct ar_pack_dictionaries *d, uint64_t number);

/* Knows dictionary `number` (1..AR_PACK_DICTIONARIES) for unpacking. */
AR_MUST_USE enum ar_status ar_pack_dictionaries_add(struct ar_pack_dictionaries *d, uint64_t number,
						    struct ar_str content, struct ar_error *err);

/* What is packed from now on uses dictionary `number`, which was added with the same content. */
AR_MUST_USE enum ar_status ar_pack_dictionaries_use(struct ar_pack_dictionaries *d, uint64_t number,
						    struct ar_str content, struct ar_error *err);

struct ar_packer *ar_packer_new(const struct ar_pack_dictionaries *d);
void ar_packer_free(struct ar_packer *p);

/* Packs `value`; the result is the packer's until the next call. Absent stays absent. */
struct ar_str ar_pack(struct ar_packer *p, struct ar_str value);

/* Whether ar_pack() has nothing to compress: the value is short, or was packed ahead. */
bool ar_pack_is_ready(const struct ar_packer *p, struct ar_str value);

/* Packs `value`, when that is worth it, into the arena and puts it at the front of the list. */
void ar_pack_ahead(struct ar_packer *p, struct ar_str value, struct ar_arena *a,
		   const struct ar_packed_ahead **list);

/* From now on ar_pack() gives what it finds in this list. The values in it must stand where they stood. */
void ar_packer_look(struct ar_packer *p, const struct ar_packed_ahead *list);

/* Like ar_pack() without compressing: for short values that are written again and again and kept once. */
struct ar_str ar_pack_raw(struct ar_packer *p, struct ar_str value);

/* How long the value is, without unpacking it; AR_E_CORRUPT when that cannot be. */
AR_MUST_USE enum ar_status ar_pack_length(struct ar_str packed, size_t *ret, struct ar_error *err);

/* The dictionary that an unpack lacked since the last call, 0 for none: its value may be fine, and written by
 * who knows more. */
unsigned ar_packer_lacked(struct ar_packer *p);

/* A place is begun with its table, and gets its columns one by one. */
struct ar_row_sum ar_row_sum(const char *table, struct ar_str name);
void ar_row_sum_text(struct ar_row_sum *p, struct ar_str v); /* absent is not empty */
void ar_row_sum_number(struct ar_row_sum *p, uint64_t v);

/* Like ar_pack(), with a checksum. */
struct ar_str ar_pack_checksummed(struct ar_packer *p, struct ar_str value, struct ar_row_sum at);

bool ar_pack_has_checksum(struct ar_str packed);

/* Unpacks a value with a checksum, or an older one without. AR_E_CORRUPT: it is not the one that was stored
 * there. */
AR_MUST_USE enum ar_status ar_unpack_checksummed(struct ar_packer *p, struct ar_str packed,
						 struct ar_row_sum at, struct ar_arena *a, struct ar_str *ret,
						 struct ar_error *err);

AR_MUST_USE enum ar_status ar_unpack(struct ar_packer *p, struct ar_str packed, struct ar_arena *a,
				     struct ar_str *ret, struct ar_error *err);

AR_END_DECLS

#endif
