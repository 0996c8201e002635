/* Bytes of a peer in arbitrary portions through the reader of its answer. The low bit of the first byte asks
 * for a stream. */
#include "peer/h1_answer.h"
#include "portions.h"

struct reader {
	struct portions how;
	struct ar_h1_answer answer;
	bool is_open;
};

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
	portions_mix(&r->how, bytes.p, bytes.len);
}

static const struct ar_h1_answer_vtable callbacks = { on_opened, on_bytes };

static uint64_t read_all(struct portions how, struct ar_str bytes)
{
	struct reader r = { .how = how };
	enum ar_h1_answer_outcome outcome = AR_H1_ANSWER_MORE;
	size_t at = 0, used;

	ar_h1_answer_init(&r.answer, how.choice & 1 ? &callbacks : NULL);
	while (outcome == AR_H1_ANSWER_MORE && at < bytes.len) {
		size_t len = portions_next(&r.how, 0, bytes.len - at);

		outcome = ar_h1_answer_feed(&r.answer, ar_str_sub(bytes, at, len), &used);
		if (used > len || (outcome == AR_H1_ANSWER_MORE && used != len))
			abort();
		at += used;
	}
	if (outcome == AR_H1_ANSWER_MORE)
		outcome = ar_h1_answer_finish(&r.answer);
	if ((outcome == AR_H1_ANSWER_BAD) != (r.answer.fault != NULL))
		abort();
	portions_mix(&r.how, &outcome, sizeof outcome);
	if (outcome == AR_H1_ANSWER_DONE) {
		portions_mix(&r.how, &at, sizeof at);
		portions_mix(&r.how, &r.answer.status, sizeof r.answer.status);
		portions_mix(&r.how, &r.answer.is_keepalive, sizeof r.answer.is_keepalive);
		portions_mix(&r.how, &r.answer.as_of, sizeof r.answer.as_of);
		portions_mix(&r.how, r.answer.body.p, r.answer.body.len);
	}
	ar_h1_answer_fini(&r.answer);
	return r.how.hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	return portions_compare(p, len, read_all);
}
