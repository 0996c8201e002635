/* See compress.h. */
#include "compress.h"
#include "status.h"

#include <zstd.h>

#define LEVEL 3

struct ar_str ar_compress(struct ar_arena *a, struct ar_str bytes)
{
	size_t room = ZSTD_compressBound(bytes.len);
	char *out = ar_arena_room(a, room);
	size_t len = ZSTD_compress(out, room, bytes.p, bytes.len, LEVEL);

	AR_ASSERT(!ZSTD_isError(len)); /* only too little room, or no memory */
	return (struct ar_str){ out, len };
}

bool ar_decompress(struct ar_arena *a, struct ar_str compressed, size_t most, struct ar_str *ret)
{
	unsigned long long size = ZSTD_getFrameContentSize(compressed.p, compressed.len);
	char *out;

	if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > most)
		return false;
	out = ar_arena_room(a, (size_t)size + 1);
	if (ZSTD_decompress(out, (size_t)size, compressed.p, compressed.len) != size)
		return false;
	out[size] = 0;
	*ret = (struct ar_str){ out, (size_t)size };
	return true;
}
