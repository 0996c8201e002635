/* See process_output.h. */
#include "process/process_output.h"
#include "cursor.h"
#include "engine_priv.h"

#include <string.h>

#define FRAMES_MAX (1024u * 1024u) /* newest bytes of a stream that readers who come late are given */
#define TEXT_MAX (1024u * 1024u) /* of all streams together, for the tool call */

/* ---- the first and the last ---- */

static void keeper_init(struct ar_keeper *k, size_t keep)
{
	k->tail_max = keep / 4;
	k->head_max = keep - k->tail_max;
}

static void keeper_add(struct ar_keeper *k, struct ar_str bytes)
{
	size_t first = k->head_max - k->head.len < bytes.len ? k->head_max - k->head.len : bytes.len;

	k->written += bytes.len;
	ar_buf_adds(&k->head, ar_str_sub(bytes, 0, first));
	bytes = ar_str_sub(bytes, first, SIZE_MAX);
	if (bytes.len > k->tail_max) {
		k->tail.len = 0;
		bytes = ar_str_sub(bytes, bytes.len - k->tail_max, SIZE_MAX);
	}
	ar_buf_adds(&k->tail, bytes);
	if (k->tail.len <= 2 * k->tail_max)
		return;
	memmove(k->tail.p, k->tail.p + k->tail.len - k->tail_max, k->tail_max);
	k->tail.len = k->tail_max;
}

/* What is kept at the end is what follows the gap. */
static void keeper_skip(struct ar_keeper *k, uint64_t len)
{
	k->written += len;
	k->head_max = k->head.len;
	k->tail.len = 0;
}

static bool keeper_is_whole(const struct ar_keeper *k)
{
	return k->written == k->head.len + k->tail.len;
}

/* The tail is as long as it may be. If nothing was left out, it is one piece again. */
static void keeper_end(struct ar_keeper *k)
{
	if (k->tail.len > k->tail_max) {
		memmove(k->tail.p, k->tail.p + k->tail.len - k->tail_max, k->tail_max);
		k->tail.len = k->tail_max;
	}
	if (keeper_is_whole(k)) {
		ar_buf_adds(&k->head, ar_buf_str(&k->tail));
		k->tail.len = 0;
	}
}

static void keeper_fini(struct ar_keeper *k)
{
	ar_buf_fini(&k->head);
	ar_buf_fini(&k->tail);
}

/* ---- life ---- */

void ar_process_output_init(struct ar_process_output *o, const struct ar_engine_options *e, size_t keep)
{
	o->follow = e->follow;
	o->funnel.redactor = e->redactor;
	keeper_init(&o->text, keep < TEXT_MAX ? keep : TEXT_MAX);
	for (int i = AR_PROC_STDOUT; i <= AR_PROC_TTY; i++)
		keeper_init(&o->streams[i].kept, keep);
}

static void open_stream(struct ar_process_output *o, int stream, struct ar_str session_key,
			const struct ar_str *ids, uint64_t head)
{
	struct ar_kept_stream *s = &o->streams[stream];
	uint64_t number = 0;

	ar_id_counter(ids[AR_SCOPE_PROCESS], &number);
	s->frames.session = session_key;
	s->frames.step = ar_cursor_stream(number, stream);
	s->frames.stream = stream;
	memcpy(s->frames.ids, ids, sizeof(s->frames.ids));
	s->is_open = true;
	ar_follow_output_open(o->follow, &s->frames, head);
}

void ar_process_output_open(struct ar_process_output *o, struct ar_str session_key, const struct ar_str *ids,
			    bool tty, uint64_t head)
{
	if (tty) {
		open_stream(o, AR_PROC_TTY, session_key, ids, head);
		return;
	}
	open_stream(o, AR_PROC_STDOUT, session_key, ids, head);
	open_stream(o, AR_PROC_STDERR, session_key, ids, head);
}

void ar_process_output_close(struct ar_process_output *o)
{
	for (int i = AR_PROC_STDOUT; i <= AR_PROC_TTY; i++) {
		if (o->streams[i].is_open)
			ar_follow_output_close(o->follow, &o->streams[i].frames);
		o->streams[i].is_open = false;
	}
}

void ar_process_output_fini(struct ar_process_output *o)
{
	ar_process_output_close(o);
	for (int i = AR_PROC_STDOUT; i <= AR_PROC_TTY; i++) {
		keeper_fini(&o->streams[i].kept);
		ar_output_fini(&o->streams[i].frames);
		ar_buf_fini(&o->streams[i].cut);
	}
	keeper_fini(&o->text);
	ar_funnel_fini(&o->funnel);
}

/* ---- what comes ---- */

static uint64_t count_invalid(struct ar_str bytes)
{
	uint64_t n = 0;

	while (bytes.len > 0) {
		size_t len = ar_str_utf8_len(bytes);

		n += len == 0;
		bytes = ar_str_sub(bytes, len ? len : 1, SIZE_MAX);
	}
	return n;
}

static void add_bytes(struct ar_process_output *o, int stream, struct ar_str bytes)
{
	struct ar_kept_stream *s = &o->streams[stream];
	uint64_t from = s->frames.pos;

	if (bytes.len == 0)
		return;
	o->invalid += count_invalid(bytes);
	o->has_nul |= memchr(bytes.p, 0, bytes.len) != NULL;
	keeper_add(&s->kept, bytes);
	keeper_add(&o->text, bytes);
	ar_output_add(&s->frames, (uint8_t)stream, 0, bytes);
	if (s->is_open)
		ar_follow_output_grew(o->follow, &s->frames, from);
	if (s->frames.bytes.len > 2 * FRAMES_MAX)
		ar_output_forget(&s->frames, FRAMES_MAX);
}

struct ar_str ar_process_output_from(const struct ar_process_output *o, enum ar_process_stream stream,
				     uint64_t from, uint64_t *ret_offset)
{
	const struct ar_keeper *k = &o->streams[stream].kept;
	uint64_t tail = k->written - k->tail.len;

	if (from < k->head.len) {
		*ret_offset = from;
		return ar_str_sub(ar_buf_str(&k->head), (size_t)from, SIZE_MAX);
	}
	*ret_offset = from > tail ? from : tail;
	if (*ret_offset > k->written)
		*ret_offset = k->written;
	return ar_str_sub(ar_buf_str(&k->tail), (size_t)(*ret_offset - tail), SIZE_MAX);
}

/* How many bytes at the end begin a character that is not whole. */
static size_t cut_length(struct ar_str bytes)
{
	for (size_t back = 1; back <= 3 && back <= bytes.len; back++) {
		unsigned char c = (unsigned char)bytes.p[bytes.len - back];
		size_t needs = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 1;

		if ((c & 0xC0) != 0x80)
			return needs > back ? back : 0;
	}
	return 0;
}

/* A character that comes in two pieces is shown as one. */
static void add_characters(struct ar_process_output *o, int stream, struct ar_str bytes)
{
	struct ar_kept_stream *s = &o->streams[stream];
	AR_AUTO(ar_buf_fini) struct ar_buf joined = { 0 };
	size_t cut;

	if (s->cut.len > 0) {
		ar_buf_adds(&joined, ar_buf_str(&s->cut));
		ar_buf_adds(&joined, bytes);
		bytes = ar_buf_str(&joined);
	}
	cut = cut_length(bytes);
	ar_buf_clear(&s->cut);
	ar_buf_adds(&s->cut, ar_str_sub(bytes, bytes.len - cut, cut));
	add_bytes(o, stream, ar_str_sub(bytes, 0, bytes.len - cut));
}

void ar_process_output_add(struct ar_process_output *o, enum ar_process_stream stream, struct ar_str bytes)
{
	bytes = ar_funnel_feed(&o->funnel, (uint8_t)stream, 0, bytes);
	if (bytes.len > 0)
		add_characters(o, (int)stream, bytes);
}

void ar_process_output_skip(struct ar_process_output *o, enum ar_process_stream stream, uint64_t len)
{
	struct ar_kept_stream *s = &o->streams[stream];
	uint64_t from = s->frames.pos;

	keeper_skip(&s->kept, len);
	keeper_skip(&o->text, len);
	ar_output_skip(&s->frames, (uint8_t)stream, len);
	if (s->is_open)
		ar_follow_output_grew(o->follow, &s->frames, from);
}

void ar_process_output_end(struct ar_process_output *o)
{
	struct ar_funnel_piece held;

	while (ar_funnel_next_held(&o->funnel, &held))
		add_characters(o, held.kind, held.bytes);
	for (int i = AR_PROC_STDOUT; i <= AR_PROC_TTY; i++) {
		add_bytes(o, i, ar_buf_str(&o->streams[i].cut));
		ar_buf_clear(&o->streams[i].cut);
		keeper_end(&o->streams[i].kept);
	}
	keeper_end(&o->text);
}

/* ---- what is kept of it ---- */

static struct ar_str text_of(struct ar_keeper *k, struct ar_arena *a)
{
	uint64_t left_out = k->written - k->head.len - k->tail.len;

	if (left_out == 0)
		return ar_buf_str(&k->head);
	return ar_arena_join(a,
			     (const struct ar_str[]){
				     ar_buf_str(&k->head),
				     ar_arena_fmt(a, "\n[... %llu of %llu bytes left out ...]\n",
						  (unsigned long long)left_out,
						  (unsigned long long)k->written),
				     ar_buf_str(&k->tail) },
			     3);
}

void ar_process_output_fill(struct ar_process_output *o, struct ar_arena *a, struct ar_process_over *ret)
{
	struct ar_process_kept *kept = ar_arena_alloc(a, 2 * (AR_PROC_TTY + 1) * sizeof(*kept));
	size_t n = 0;

	for (int i = AR_PROC_STDOUT; i <= AR_PROC_TTY; i++) {
		const struct ar_keeper *k = &o->streams[i].kept;

		ret->written[i] = k->written;
		if (k->head.len > 0)
			kept[n++] = (struct ar_process_kept){ (enum ar_process_stream)i, 0,
							      ar_buf_str(&k->head) };
		if (k->tail.len > 0)
			kept[n++] =
				(struct ar_process_kept){ (enum ar_process_stream)i, k->written - k->tail.len,
							  ar_buf_str(&k->tail) };
	}
	ret->kept = kept;
	ret->kept_count = n;
	ret->text = text_of(&o->text, a);
	ret->is_truncated = !keeper_is_whole(&o->text);
	ret->is_binary = o->has_nul || o->invalid * 10 > o->text.written;
	ret->masked = ar_funnel_masked(&o->funnel.counts, a);
}
