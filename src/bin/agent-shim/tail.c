/* A ring of bytes and a ring of runs over it. Its memory comes with the first byte: most processes never need
 * it. */
#include "tail.h"

#include <string.h>
#include <sys/mman.h>

static struct ar_tail_run *newest_run(struct ar_tail *t)
{
	return t->run_count ? &t->runs[(t->first_run + t->run_count - 1) % AR_TAIL_RUNS] : NULL;
}

void ar_tail_drop(struct ar_tail *t, size_t len)
{
	while (len > 0 && t->run_count > 0) {
		struct ar_tail_run *run = &t->runs[t->first_run];
		uint32_t part = len < run->len ? (uint32_t)len : run->len;

		run->len -= part;
		t->held[run->stream] -= part;
		t->start = (t->start + part) % AR_TAIL_BYTES;
		t->used -= part;
		len -= part;
		if (run->len > 0)
			return;
		t->first_run = (t->first_run + 1) % AR_TAIL_RUNS;
		t->run_count--;
	}
}

static void add_run(struct ar_tail *t, enum ar_record_stream stream, size_t len)
{
	struct ar_tail_run *run = newest_run(t);

	if (!run || run->stream != (uint32_t)stream) {
		if (t->run_count == AR_TAIL_RUNS)
			ar_tail_drop(t, t->runs[t->first_run].len);
		t->run_count++;
		run = newest_run(t);
		*run = (struct ar_tail_run){ .stream = (uint32_t)stream };
	}
	run->len += (uint32_t)len;
	t->held[stream] += len;
}

bool ar_tail_push(struct ar_tail *t, enum ar_record_stream stream, const char *bytes, size_t len)
{
	size_t end, part;

	if (!t->bytes) {
		void *p =
			mmap(NULL, AR_TAIL_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return false;
		t->bytes = p;
	}
	if (t->used + len > AR_TAIL_BYTES)
		ar_tail_drop(t, t->used + len - AR_TAIL_BYTES);
	add_run(t, stream, len);
	end = (t->start + t->used) % AR_TAIL_BYTES;
	part = len < AR_TAIL_BYTES - end ? len : AR_TAIL_BYTES - end;
	memcpy(t->bytes + end, bytes, part);
	memcpy(t->bytes, bytes + part, len - part);
	t->used += len;
	return true;
}

size_t ar_tail_front(const struct ar_tail *t, size_t most, enum ar_record_stream *ret_stream,
		     const char **ret)
{
	const struct ar_tail_run *run = &t->runs[t->first_run];
	size_t len;

	if (t->run_count == 0)
		return 0;
	len = run->len < AR_TAIL_BYTES - t->start ? run->len : AR_TAIL_BYTES - t->start;
	*ret_stream = (enum ar_record_stream)run->stream;
	*ret = t->bytes + t->start;
	return len < most ? len : most;
}
