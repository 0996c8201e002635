/* Bytes of a connection in arbitrary portions through the HTTP/1 codec: requests, one after the other, and
 * the fault that ends them. */
#include "h1/h1_codec.h"
#include "portions.h"

#define MAX_REQUESTS 64

static const struct ar_h1_limits limits = { 512, 256 };

static void mix_request(struct portions *how, const struct ar_h1 *h)
{
	const struct ar_str parts[] = { h->head.request.method,	       h->head.request.target,
					h->head.request.host,	       h->head.request.origin,
					h->head.request.content_type,  h->head.expect,
					h->head.request.last_event_id, ar_buf_str(&h->body) };

	for (size_t i = 0; i < AR_ARRAY_LEN(parts); i++)
		portions_mix_str(how, parts[i]);
	portions_mix(how, &h->is_keepalive, sizeof h->is_keepalive);
	if (!h->head.is_chunked && h->body.len != h->head.length)
		abort();
}

static uint64_t read_all(struct portions how, struct ar_str bytes)
{
	struct ar_h1 h;
	unsigned requests = 0;
	size_t at = 0;

	ar_h1_init(&h, &limits);
	while (requests < MAX_REQUESTS) {
		size_t len = portions_next(&how, 0, bytes.len - at), used;
		enum ar_h1_outcome outcome = ar_h1_feed(&h, ar_str_sub(bytes, at, len), &used);

		if (used > len || (outcome == AR_H1_MORE && used != len))
			abort();
		at += used;
		if (outcome == AR_H1_BAD) {
			portions_mix(&how, &h.fault.status, sizeof h.fault.status);
			break;
		}
		if (outcome == AR_H1_DONE) {
			mix_request(&how, &h);
			requests++;
			ar_h1_fini(&h);
			ar_h1_init(&h, &limits);
		}
		if (outcome == AR_H1_MORE && at == bytes.len)
			break;
	}
	ar_h1_fini(&h);
	return how.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	return portions_compare(p, len, read_all);
}
