/* What the targets of stream parsers share: bytes arrive in portions, and what comes out must not depend on
 * them. So each input is read twice, whole and in pieces, and the digests of both are compared. The first
 * byte of an input seeds the pieces. */
#ifndef FUZZ_PORTIONS_H
#define FUZZ_PORTIONS_H

#include "str.h"

#include <stdlib.h>

/* One reading of an input. */
struct portions {
	uint64_t hash; /* of everything that came out */
	uint32_t seed; /* 0: one portion, no pause */
	uint8_t choice; /* the first byte, for what else a target lets inputs choose */
	bool is_paused; /* the target's: its parser was told to stop */
};

static inline void portions_mix(struct portions *p, const void *bytes, size_t len)
{
	const unsigned char *b = bytes;

	for (size_t i = 0; i < len; i++)
		p->hash = (p->hash ^ b[i]) * UINT64_C(1099511628211);
}

static inline void portions_mix_str(struct portions *p, struct ar_str s)
{
	portions_mix(p, &s.len, sizeof s.len);
	portions_mix(p, s.p, s.len);
}

static inline uint32_t portions_draw(struct portions *p)
{
	p->seed = p->seed * 1664525u + 1013904223u;
	return p->seed >> 24;
}

/* Now and then, when the input comes in pieces. */
static inline void portions_maybe_pause(struct portions *p)
{
	p->is_paused = p->seed && portions_draw(p) < 64;
}

/* How much of what is left comes next: all, or `least` to `least` + 15 bytes. */
static inline size_t portions_next(struct portions *p, size_t least, size_t left)
{
	size_t want = p->seed ? least + portions_draw(p) % 16 : left;

	return want < left ? want : left;
}

typedef uint64_t portions_reader(struct portions how, struct ar_str bytes);

static inline int portions_compare(const uint8_t *p, size_t len, portions_reader *read)
{
	struct ar_str bytes;

	if (len < 2)
		return 0;
	bytes = (struct ar_str){ (const char *)p + 1, len - 1 };
	if (read((struct portions){ .hash = 1, .choice = p[0] }, bytes) !=
	    read((struct portions){ .hash = 1, .choice = p[0], .seed = p[0] + 1u }, bytes))
		abort();
	return 0;
}

#endif
