/* Bytes of a connection in arbitrary portions through the HTTP/1 codec. The first byte seeds the portions;
 * what the codec says must not depend on them, so each input is read twice: whole and in pieces. */
#include "h1_codec.h"

#include <stdlib.h>
#include <string.h>

#define MAX_REQUESTS 64

static const struct ar_h1_limits limits = { 512, 256 };

/* A running digest of everything that came out. */
struct trace {
	uint64_t hash;
	unsigned requests;
	int status; /* of the fault that ended it */
};

static void mix(struct trace *t, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i++)
		t->hash = (t->hash ^ p[i]) * UINT64_C(1099511628211);
}

static void mix_request(struct trace *t, const struct ar_h1 *h)
{
	const struct ar_str parts[] = { h->head.method,	       h->head.target,	     h->head.host,
					h->head.origin,	       h->head.content_type, h->head.expect,
					h->head.last_event_id, ar_buf_str(&h->body) };

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		mix(t, &parts[i].len, sizeof parts[i].len);
		mix(t, parts[i].p, parts[i].len);
	}
	mix(t, &h->is_keepalive, sizeof h->is_keepalive);
	if (!h->head.is_chunked && h->body.len != h->head.length)
		abort();
	t->requests++;
}

static size_t portion_of(uint32_t *seed, size_t left)
{
	size_t want;

	if (!*seed)
		return left;
	*seed = *seed * 1664525u + 1013904223u;
	want = *seed >> 28;
	return want < left ? want : left;
}

static struct trace read_all(struct ar_str bytes, uint32_t seed)
{
	struct trace t = { .hash = 1 };
	struct ar_h1 h;
	size_t at = 0;

	ar_h1_init(&h, &limits);
	while (t.requests < MAX_REQUESTS) {
		size_t len = portion_of(&seed, bytes.len - at), used;
		enum ar_h1_outcome outcome = ar_h1_feed(&h, ar_str_sub(bytes, at, len), &used);

		if (used > len || (outcome == AR_H1_MORE && used != len))
			abort();
		at += used;
		if (outcome == AR_H1_BAD) {
			t.status = h.fault.status;
			break;
		}
		if (outcome == AR_H1_DONE) {
			mix_request(&t, &h);
			ar_h1_fini(&h);
			ar_h1_init(&h, &limits);
		}
		if (outcome == AR_H1_MORE && at == bytes.len)
			break;
	}
	ar_h1_fini(&h);
	return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct trace whole, pieces;
	struct ar_str bytes;

	if (len < 2)
		return 0;
	bytes = (struct ar_str){ (const char *)p + 1, len - 1 };
	whole = read_all(bytes, 0);
	pieces = read_all(bytes, p[0] + 1u);
	if (whole.hash != pieces.hash || whole.requests != pieces.requests || whole.status != pieces.status)
		abort();
	return 0;
}
