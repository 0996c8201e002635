/* zstd around stored values. Level -3: the writer thread compresses between two fsyncs and must not become
 * the slower part. Literals then stay as they are, which costs a seventh in size and saves the building of a Huffman table per
 * value. The dictionary gives small bodies more than a higher level would, and its tables spare them those of their own: together half of
 * the time of a small value.
 * Threading is in the header. */
#include "pack.h"

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
		return fail_corrupt(err, "it does not say its length");
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
