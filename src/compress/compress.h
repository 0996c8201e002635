/* Bytes made smaller, and back (zstd). Thread-safe; keeps nothing between calls. */
#ifndef AR_COMPRESS_H
#define AR_COMPRESS_H

#include "arena.h"

AR_BEGIN_DECLS

struct ar_str ar_compress(struct ar_arena *a, struct ar_str bytes);

/* False, and nothing written, when they are not what ar_compress() made, or of more than `most` bytes. */
bool ar_decompress(struct ar_arena *a, struct ar_str compressed, size_t most, struct ar_str *ret);

AR_END_DECLS

#endif
