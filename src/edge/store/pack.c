/* zstd around stored values. Level -3: the writer thread compresses between two fsyncs and must not become
 * the slower part. Literals then stay as they are, which costs a seventh in size and saves the building of a
 * Huffman table per value. The dictionary gives small bodies more than a higher level would, and its tables
 * spare them those of their own: together half of the time of a small value. Threading is in the header. */
#include "pack.h"

#include "journal.h"
#include "mem.h"
#include "store_op.h"

#include <stdatomic.h>
#include <string.h>
#include <zstd.h>

#define LEVEL (-3)
#define WORTH_IT 200 /* shorter values stay raw */

enum {
	HOW_RAW = 0,
	HOW_ZSTD = 1, /* + the dictionary's number */
};

struct ar_pack_dictionaries {
	_Atomic(ZSTD_DDict *) ddict[AR_PACK_DICTIONARIES + 1];
	ZSTD_CDict *cdict; /* what packs; NULL = none */
	unsigned in_use; /* its number; 0 = none */
};

struct ar_packer {
	const struct ar_pack_dictionaries *dictionaries;
	ZSTD_CCtx *cctx;
	ZSTD_DCtx *dctx;
	struct ar_buf out;
	const struct ar_packed_ahead *ahead;
	unsigned lacked;
};

struct ar_pack_dictionaries *ar_pack_dictionaries_new(void)
{
	return ar_new0(sizeof(struct ar_pack_dictionaries));
}

void ar_pack_dictionaries_free(struct ar_pack_dictionaries *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < AR_ARRAY_LEN(d->ddict); i++)
		ZSTD_freeDDict(d->ddict[i]);
	ZSTD_freeCDict(d->cdict);
	ar_free(d);
}

bool ar_pack_dictionaries_has(const struct ar_pack_dictionaries *d, uint64_t number)
{
	return number >= 1 && number <= AR_PACK_DICTIONARIES && d->ddict[number];
}

unsigned ar_packer_lacked(struct ar_packer *p)
{
	unsigned lacked = p->lacked;

	p->lacked = 0;
	return lacked;
}

static enum ar_status fail_dictionary(struct ar_error *err, uint64_t number)
{
	return ar_fail(err, AR_E_INVALID, "compression dictionary %llu is not usable",
		       (unsigned long long)number);
}

enum ar_status ar_pack_dictionaries_add(struct ar_pack_dictionaries *d, uint64_t number,
					struct ar_str content, struct ar_error *err)
{
	if (number < 1 || number > AR_PACK_DICTIONARIES || d->ddict[number])
		return fail_dictionary(err, number);
	d->ddict[number] = ZSTD_createDDict(content.p, content.len);
	return d->ddict[number] ? AR_OK : fail_dictionary(err, number);
}

enum ar_status ar_pack_dictionaries_use(struct ar_pack_dictionaries *d, uint64_t number,
					struct ar_str content, struct ar_error *err)
{
	AR_ASSERT(number <= AR_PACK_DICTIONARIES && d->ddict[number] && !d->cdict);
	d->cdict = ZSTD_createCDict(content.p, content.len, LEVEL);
	d->in_use = (unsigned)number;
	return d->cdict ? AR_OK : fail_dictionary(err, number);
}

struct ar_packer *ar_packer_new(const struct ar_pack_dictionaries *d)
{
	struct ar_packer *p = ar_new0(sizeof *p);

	p->dictionaries = d;
	p->cctx = ZSTD_createCCtx();
	p->dctx = ZSTD_createDCtx();
	AR_ASSERT(p->cctx && p->dctx);
	return p;
}

void ar_packer_free(struct ar_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->cctx);
	ZSTD_freeDCtx(p->dctx);
	ar_buf_fini(&p->out);
	ar_free(p);
}

/* The compressed length, or 0 when compressing failed or does not shorten. */
static size_t compress(struct ar_packer *p, struct ar_str value)
{
	const struct ar_pack_dictionaries *d = p->dictionaries;
	size_t room = ZSTD_compressBound(value.len), n;
	char *to = ar_buf_room(&p->out, room);

	if (!to)
		return 0;
	if (d->cdict)
		n = ZSTD_compress_usingCDict(p->cctx, to, room, value.p, value.len, d->cdict);
	else
		n = ZSTD_compressCCtx(p->cctx, to, room, value.p, value.len, LEVEL);
	return ZSTD_isError(n) || n >= value.len ? 0 : n;
}

struct ar_str ar_pack_raw(struct ar_packer *p, struct ar_str value)
{
	if (ar_str_absent(value))
		return value;
	ar_buf_clear(&p->out);
	ar_buf_addc(&p->out, HOW_RAW);
	ar_buf_adds(&p->out, value);
	return ar_buf_str(&p->out);
}

void ar_packer_look(struct ar_packer *p, const struct ar_packed_ahead *list)
{
	p->ahead = list;
}

static bool is_worth_it(struct ar_str value)
{
	return !ar_str_absent(value) && value.len >= WORTH_IT;
}

static const struct ar_packed_ahead *find_ahead(const struct ar_packer *p, struct ar_str value)
{
	const struct ar_packed_ahead *it = p->ahead;

	while (it && (it->value.p != value.p || it->value.len != value.len))
		it = it->next;
	return it;
}

bool ar_pack_is_ready(const struct ar_packer *p, struct ar_str value)
{
	return !is_worth_it(value) || find_ahead(p, value);
}

void ar_pack_ahead(struct ar_packer *p, struct ar_str value, struct ar_arena *a,
		   const struct ar_packed_ahead **list)
{
	struct ar_packed_ahead *entry;

	if (!is_worth_it(value))
		return;
	entry = ar_arena_alloc(a, sizeof *entry);
	*entry = (struct ar_packed_ahead){ *list, value, ar_arena_str(a, ar_pack(p, value)) };
	*list = entry;
}

struct ar_str ar_pack(struct ar_packer *p, struct ar_str value)
{
	const struct ar_packed_ahead *ahead;
	size_t n;

	if (!is_worth_it(value))
		return ar_pack_raw(p, value);
	ahead = find_ahead(p, value);
	if (ahead)
		return ahead->packed;
	ar_buf_clear(&p->out);
	ar_buf_addc(&p->out, (char)(HOW_ZSTD + p->dictionaries->in_use));
	n = compress(p, value);
	p->out.len += n;
	return n ? ar_buf_str(&p->out) : ar_pack_raw(p, value);
}

static enum ar_status fail_corrupt(struct ar_error *err, const char *why)
{
	return ar_fail(err, AR_E_CORRUPT, "a stored value cannot be unpacked: %s", why);
}

enum ar_status ar_pack_length(struct ar_str packed, size_t *ret, struct ar_error *err)
{
	unsigned long long n;

	if (ar_str_empty(packed))
		return fail_corrupt(err, "it is empty");
	if (packed.p[0] == HOW_RAW) {
		*ret = packed.len - 1;
		return AR_OK;
	}
	n = ZSTD_getFrameContentSize(packed.p + 1, packed.len - 1);
	if (n > AR_STORE_VALUE_MAX) /* also the two error values */
		return fail_corrupt(err, "its length is missing");
	*ret = (size_t)n;
	return AR_OK;
}

enum ar_status ar_unpack(struct ar_packer *p, struct ar_str packed, struct ar_arena *a, struct ar_str *ret,
			 struct ar_error *err)
{
	size_t len = 0, n;
	unsigned number;
	char *to;

	if (ar_pack_length(packed, &len, err))
		return AR_E_CORRUPT;
	if (packed.p[0] == HOW_RAW) {
		*ret = ar_arena_str(a, ar_str_sub(packed, 1, packed.len));
		return AR_OK;
	}
	number = (unsigned char)packed.p[0] - HOW_ZSTD;
	if (number && !ar_pack_dictionaries_has(p->dictionaries, number)) {
		p->lacked = number;
		return fail_corrupt(err, "its dictionary is missing");
	}
	to = ar_arena_alloc(a, len + 1);
	n = number ? ZSTD_decompress_usingDDict(p->dctx, to, len, packed.p + 1, packed.len - 1,
						p->dictionaries->ddict[number])
		   : ZSTD_decompressDCtx(p->dctx, to, len, packed.p + 1, packed.len - 1);
	if (ZSTD_isError(n) || n != len)
		return fail_corrupt(err, ZSTD_isError(n) ? ZSTD_getErrorName(n) : "its length is wrong");
	*ret = (struct ar_str){ to, len };
	return AR_OK;
}

/* ---- checksums ---- */

/* A skippable frame of four bytes. */
static const char checksum_head[] = "\x5a\x2a\x4d\x18\x04\0\0\0";
static const char frame_magic[] = "\x28\xb5\x2f\xfd";

#define CHECKSUM_HEAD (sizeof checksum_head - 1)
#define CHECKSUM_LEN (CHECKSUM_HEAD + 4)
#define BLOCK_MAX (128u << 10) /* of a zstd frame */

static void add_bytes(struct ar_row_sum *p, const void *v, size_t len)
{
	p->sum = ar_crc32c(p->sum, v, len);
}

void ar_row_sum_number(struct ar_row_sum *p, uint64_t v)
{
	unsigned char b[8];

	for (size_t i = 0; i < sizeof b; i++)
		b[i] = (unsigned char)(v >> 8 * i);
	add_bytes(p, b, sizeof b);
}

void ar_row_sum_text(struct ar_row_sum *p, struct ar_str v)
{
	ar_row_sum_number(p, ar_str_absent(v) ? UINT64_MAX : v.len);
	if (v.len)
		add_bytes(p, v.p, v.len);
}

struct ar_row_sum ar_row_sum(const char *table, struct ar_str name)
{
	struct ar_row_sum p = { 0 };

	ar_row_sum_text(&p, ar_str_from(table));
	ar_row_sum_text(&p, name);
	return p;
}

static void add_number(struct ar_buf *b, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		ar_buf_addc(b, (char)(v >> 8 * i));
}

/* Header of a frame in one segment, with the length of its content in one, two or four bytes. */
static void add_frame_head(struct ar_buf *b, size_t len)
{
	unsigned flag = len < 256 ? 0 : len < 256 + 65536 ? 1 : 2;

	ar_buf_adds(b, (struct ar_str){ frame_magic, sizeof frame_magic - 1 });
	ar_buf_addc(b, (char)(flag << 6 | 1 << 5));
	add_number(b, flag == 1 ? len - 256 : len, (size_t)1 << flag);
}

/* The value as it is, in a frame. */
static void frame_raw(struct ar_packer *p, struct ar_str value)
{
	struct ar_buf *b = &p->out;

	ar_buf_clear(b);
	ar_buf_addc(b, HOW_ZSTD);
	add_frame_head(b, value.len);
	do {
		struct ar_str block = ar_str_sub(value, 0, BLOCK_MAX);

		value = ar_str_sub(value, block.len, value.len);
		add_number(b, (uint64_t)block.len << 3 | (value.len == 0), 3);
		ar_buf_adds(b, block);
	} while (value.len > 0);
}

struct ar_str ar_pack_checksummed(struct ar_packer *p, struct ar_str value, struct ar_row_sum at)
{
	struct ar_str packed;

	if (ar_str_absent(value))
		return value;
	packed = is_worth_it(value) ? ar_pack(p, value) : AR_STR_NONE;
	if (ar_str_absent(packed) || packed.p[0] == HOW_RAW) {
		frame_raw(p, value);
	} else if (packed.p != p->out.p) {
		ar_buf_clear(&p->out);
		ar_buf_adds(&p->out, packed);
	}
	add_bytes(&at, p->out.p, p->out.len);
	ar_buf_adds(&p->out, (struct ar_str){ checksum_head, CHECKSUM_HEAD });
	add_number(&p->out, at.sum, 4);
	return ar_buf_str(&p->out);
}

bool ar_pack_has_checksum(struct ar_str packed)
{
	return packed.len > CHECKSUM_LEN && packed.p[0] != HOW_RAW &&
	       memcmp(packed.p + packed.len - CHECKSUM_LEN, checksum_head, CHECKSUM_HEAD) == 0;
}

/* Of a value without a checksum: that it never had one. One whose checksum or first byte was damaged is no
 * such value. */
static enum ar_status check_bare(struct ar_str packed, struct ar_error *err)
{
	if (packed.len == 0)
		return AR_OK; /* said by who unpacks it */
	if (packed.p[0] == HOW_RAW)
		return packed.len > 4 && memcmp(packed.p + 1, frame_magic, 4) == 0
			       ? fail_corrupt(err, "it is compressed, but marked as not compressed")
			       : AR_OK;
	return ZSTD_findFrameCompressedSize(packed.p + 1, packed.len - 1) == packed.len - 1
		       ? AR_OK
		       : fail_corrupt(err, "its checksum is damaged");
}

static uint32_t stored_sum(struct ar_str packed)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < 4; i++)
		sum |= (uint32_t)(unsigned char)packed.p[packed.len - 4 + i] << 8 * i;
	return sum;
}

enum ar_status ar_unpack_checksummed(struct ar_packer *p, struct ar_str packed, struct ar_row_sum at,
				     struct ar_arena *a, struct ar_str *ret, struct ar_error *err)
{
	struct ar_str bare = packed;

	if (!ar_pack_has_checksum(packed)) {
		if (check_bare(packed, err))
			return AR_E_CORRUPT;
	} else {
		bare.len -= CHECKSUM_LEN;
		add_bytes(&at, bare.p, bare.len);
		if (at.sum != stored_sum(packed))
			return fail_corrupt(err, "it does not match its checksum");
	}
	return ar_unpack(p, bare, a, ret, err);
}
