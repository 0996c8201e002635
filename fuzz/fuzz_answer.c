/* Bytes of a peer in arbitrary portions through the reader of its answer. The first byte seeds the portions, its low bit asks
 * for a stream; what comes out must not depend on the portions, so each input is read twice: whole and in pieces. */
#include "h1_answer.h"

#include <stdlib.h>

/* A running digest of everything that came out. */
struct reader {
	struct ar_h1_answer answer;
	uint64_t hash;
	bool is_open;
};

static void mix(uint64_t *hash, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i++)
		*hash = (*hash ^ p[i]) * UINT64_C(1099511628211);
}

static void on_opened(struct ar_h1_answer *a)
{
	struct reader *r = AR_CONTAINER_OF(a, struct reader, answer);

	if (r->is_open || !a->is_stream)
		abort();
	r->is_open = true;
}

static void on_bytes(struct ar_h1_answer *a, struct ar_str bytes)
{
	struct reader *r = AR_CONTAINER_OF(a, struct reader, answer);

	if (!r->is_open)
		abort();
	mix(&r->hash, bytes.p, bytes.len);
}

static const struct ar_h1_answer_vtable callbacks = { on_opened, on_bytes };

static size_t portion_of(uint32_t *seed, size_t left)
{
	size_t want;

	if (!*seed)
		return left;
	*seed = *seed * 1664525u + 1013904223u;
	want = *seed >> 28;
	return want < left ? want : left;
}

static uint64_t read_all(struct ar_str bytes, uint32_t seed, bool wants_stream)
{
	struct reader r = { .hash = 1 };
	enum ar_h1_answer_outcome outcome = AR_H1_ANSWER_MORE;
	size_t at = 0, used;

	ar_h1_answer_init(&r.answer, wants_stream ? &callbacks : NULL);
	while (outcome == AR_H1_ANSWER_MORE && at < bytes.len) {
		size_t len = portion_of(&seed, bytes.len - at);

		outcome = ar_h1_answer_feed(&r.answer, ar_str_sub(bytes, at, len), &used);
		if (used > len || (outcome == AR_H1_ANSWER_MORE && used != len))
			abort();
		at += used;
	}
	if (outcome == AR_H1_ANSWER_MORE)
		outcome = ar_h1_answer_finish(&r.answer);
	if ((outcome == AR_H1_ANSWER_BAD) != (r.answer.fault != NULL))
		abort();
	mix(&r.hash, &outcome, sizeof outcome);
	if (outcome == AR_H1_ANSWER_DONE) {
		mix(&r.hash, &at, sizeof at);
		mix(&r.hash, &r.answer.status, sizeof r.answer.status);
		mix(&r.hash, &r.answer.is_keepalive, sizeof r.answer.is_keepalive);
		mix(&r.hash, r.answer.body.p, r.answer.body.len);
	}
	ar_h1_answer_fini(&r.answer);
	return r.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct ar_str bytes;
	bool wants_stream;

	if (len < 2)
		return 0;
	wants_stream = p[0] & 1;
	bytes = (struct ar_str){ (const char *)p + 1, len - 1 };
	if (read_all(bytes, 0, wants_stream) != read_all(bytes, p[0] + 1u, wants_stream))
		abort();
	return 0;
}
