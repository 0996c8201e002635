/* One page of stored rows becomes frames: facts as they are, and before the end of a step the output
 * frames that its content re-makes. */
#include "follow_priv.h"
#include "codec.h"
#include "describe.h"
#include "provider.h"
#include "identity.h"
#include "mem.h"

#define CONTENT_MAX (16u * 1024u * 1024u) /* a page ends with the line whose content passes it */
#define STEP_CONTENTS_MAX (2 + 64) /* text, reasoning, and arguments of so many calls */

static struct ar_str text_of(struct ar_json object, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &s);
	return s;
}

static int kind_of(struct ar_str word)
{
	static const char *const words[] = {
		[AR_OUT_TEXT] = "text", [AR_OUT_REASONING] = "reasoning", [AR_OUT_TOOL_ARGS] = "tool_args"
	};

	for (int i = 1; i < (int)AR_ARRAY_LEN(words); i++) {
		if (ar_str_is(word, words[i]))
			return i;
	}
	return 0;
}

/* ---- reading ---- */

/* Content is asked for in a fixed order, so that its place tells what it is: text, reasoning, arguments
 * 0, 1, ... A ref that is not there keeps its place with a zero hash, which no content has. */
static void want_content(struct ar_follow_cursor *c, struct ar_str ref)
{
	struct ar_str session_key;
	struct ar_hash hash = { 0 };

	if (!ar_str_absent(ref) && !ar_ref_parse(ref, &session_key, &hash))
		hash = (struct ar_hash){ 0 };
	if (c->page->hash_count == c->page->hash_room) {
		c->page->hash_room = c->page->hash_room ? c->page->hash_room * 2 : 16;
		c->page->hashes = ar_grow(c->page->hashes, c->page->hash_room, sizeof(*c->page->hashes));
	}
	c->page->hashes[c->page->hash_count++] = hash;
}

static void set_ids(struct ar_follow_cursor *c, struct ar_output *o, struct ar_json event)
{
	o->session = (struct ar_str){ c->session_key, AR_SESSION_KEY_LEN };
	for (size_t i = 0; i < AR_SCOPE_COUNT; i++)
		o->ids[i] = ar_arena_str(&c->page->arena, text_of(event, ar_scope_names[i]));
}

static void read_step_end(struct ar_follow_cursor *c, struct ar_page_line *line, struct ar_json event)
{
	struct ar_json payload = ar_json_get(event, "payload");
	struct ar_json calls = ar_json_get(payload, "toolCalls");
	struct ar_output *o = &line->outputs[0];
	size_t n = 0;

	ar_id_counter(text_of(event, "stepId"), &o->step);
	if (!c->deltas || ar_json_len(ar_json_get(payload, "segments")) == 0)
		return;
	set_ids(c, o, event);
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(payload, "segments")); ar_json_next(&it);) {
		struct ar_str word = AR_STR_NONE;
		int64_t index = 0, len = 0;

		ar_json_str(ar_json_at(it.value, 0), &word);
		ar_json_i64(ar_json_at(it.value, 1), &index);
		ar_json_i64(ar_json_at(it.value, 2), &len);
		ar_output_add_stored(o, (uint8_t)kind_of(word), (uint32_t)index, (uint64_t)len, AR_STR_NONE);
	}
	line->first_hash = c->page->hash_count;
	want_content(c, text_of(payload, "outputRef"));
	want_content(c, text_of(payload, "reasoningRef"));
	for (struct ar_json_iter it = ar_json_iter(calls); n++ + 2 < STEP_CONTENTS_MAX && ar_json_next(&it);)
		want_content(c, text_of(it.value, "ref"));
	line->hash_count = c->page->hash_count - line->first_hash;
}

/* One range of one stream; what was left out before it is a segment without bytes. */
static void read_kept(struct ar_follow_cursor *c, struct ar_page_line *line, struct ar_json kept, uint32_t n)
{
	struct ar_str word = text_of(kept, "stream");
	int stream = ar_str_is(word, "stdout")	 ? AR_PROC_STDOUT
		     : ar_str_is(word, "stderr") ? AR_PROC_STDERR
						 : AR_PROC_TTY;
	struct ar_output *o = &line->outputs[stream - 1];
	int64_t offset = 0, length = 0;

	ar_json_i64(ar_json_get(kept, "offset"), &offset);
	ar_json_i64(ar_json_get(kept, "length"), &length);
	want_content(c, text_of(kept, "ref"));
	if ((uint64_t)offset > o->pos)
		ar_output_add_stored(o, (uint8_t)stream, UINT32_MAX, (uint64_t)offset - o->pos, AR_STR_NONE);
	ar_output_add_stored(o, (uint8_t)stream, n, (uint64_t)length, AR_STR_NONE);
	c->page->content += (uint64_t)length;
}

static void read_process_end(struct ar_follow_cursor *c, struct ar_page_line *line, struct ar_json event)
{
	struct ar_json outputs = ar_json_get(ar_json_get(event, "payload"), "outputs");
	uint32_t n = 0;

	ar_id_counter(text_of(event, "processId"), &line->process);
	for (int i = 0; i < AR_PROC_TTY; i++) {
		line->outputs[i].step = ar_cursor_stream(line->process, i + 1);
		line->outputs[i].stream = i + 1;
		if (c->deltas)
			set_ids(c, &line->outputs[i], event);
	}
	line->first_hash = c->page->hash_count;
	if (!c->deltas)
		return;
	for (struct ar_json_iter it = ar_json_iter(outputs); ar_json_next(&it);)
		read_kept(c, line, it.value, n++);
	line->hash_count = c->page->hash_count - line->first_hash;
}

/* One of these without a process is about something else. */
static bool is_process_end(enum ar_event_type type, struct ar_json event)
{
	return (type == AR_EV_PROCESS_COMPLETED || type == AR_EV_PROCESS_FAILED ||
		type == AR_EV_PROCESS_TERMINATED || type == AR_EV_SNAPSHOT_REPAIRED) &&
	       !ar_str_absent(text_of(event, "processId"));
}

static bool is_step_end(enum ar_event_type type)
{
	return type == AR_EV_MODEL_COMPLETED || type == AR_EV_MODEL_FAILED;
}

/* The store may show a commit a moment before it is published. While a step is open its end would then
 * come twice, once from the store and once live: such facts are left to the ring. */
static bool is_ahead(const struct ar_hub *h, uint64_t sequence)
{
	return sequence > h->head && !ar_list_empty(&h->outputs);
}

static enum ar_status read_line(struct ar_follow_cursor *c, struct ar_str json, struct ar_error *err)
{
	struct ar_page_line *line = &c->page->lines[c->page->line_count];
	const struct ar_event_desc *desc;
	struct ar_json event;
	int64_t sequence = 0;

	if (ar_json_parse(c->hub->follow->json, json, &event, err) != AR_OK)
		return ar_fail_wrap(err, "stored fact");
	desc = ar_event_find(text_of(event, "type"));
	ar_json_i64(ar_json_get(event, "sequence"), &sequence);
	if (!desc)
		return ar_fail(err, AR_E_CORRUPT, "stored fact %lld has an unknown type",
			       (long long)sequence);
	if ((uint64_t)sequence > c->page->next)
		return ar_fail(err, AR_E_CORRUPT, "fact %lld is stored where %llu should be",
			       (long long)sequence, (unsigned long long)c->page->next);
	c->page->next = (uint64_t)sequence + 1;
	if (c->page->is_cut || (uint64_t)sequence <= c->at.sequence || is_ahead(c->hub, (uint64_t)sequence))
		return AR_OK;
	*line = (struct ar_page_line){ .type = desc->type, .sequence = (uint64_t)sequence, .json = json };
	ar_time_parse(text_of(event, "timestamp"), &line->time);
	if (is_step_end(line->type))
		read_step_end(c, line, event);
	else if (is_process_end(line->type, event))
		read_process_end(c, line, event);
	c->page->line_count++;
	c->page->is_cut = c->page->content > CONTENT_MAX;
	return AR_OK;
}

static size_t count_lines(const struct ar_store_read *read)
{
	size_t n = 0;

	for (size_t i = 0; i < read->row_count; i++)
		n += (size_t)(read->rows[i].last_seq - read->rows[i].first_seq + 1);
	return n;
}

enum ar_status ar_page_read(struct ar_follow_cursor *c, struct ar_error *err)
{
	size_t most = count_lines(&c->page->read);

	c->page->next = c->at.sequence + 1;
	c->page->lines = ar_arena_alloc(&c->page->arena, (most + 1) * sizeof(*c->page->lines));
	for (size_t i = 0; i < c->page->read.row_count; i++) {
		struct ar_str rest = c->page->read.rows[i].body, line;

		while (!ar_str_empty(rest)) {
			rest = ar_str_split(rest, '\n', &line);
			if (!ar_str_empty(line) && read_line(c, line, err) != AR_OK)
				return AR_E_CORRUPT;
		}
	}
	return AR_OK;
}

/* ---- frames ---- */

/* Fills the segments of a step from its contents, in the order read_step_end asked for them. */
static void fill(const struct ar_follow_cursor *c, struct ar_page_line *line)
{
	for (size_t i = 0; i < line->outputs[0].count; i++) {
		struct ar_output_segment *s = &line->outputs[0].segments[i];
		size_t place = s->kind == AR_OUT_TEXT ? 0 : s->kind == AR_OUT_REASONING ? 1 : 2 + s->index;
		struct ar_str content;

		if (place >= line->hash_count)
			continue; /* nothing of that kind was stored */
		content = c->page->blobs.bytes[line->first_hash + place];
		if (!ar_str_absent(content) && s->offset + s->len <= content.len)
			s->bytes = ar_str_sub(content, s->offset, s->len);
	}
}

/* The same for the streams of a process: each segment knows which of the contents it is. */
static void fill_streams(const struct ar_follow_cursor *c, struct ar_page_line *line)
{
	for (size_t k = 0; k < AR_ARRAY_LEN(line->outputs); k++) {
		for (size_t i = 0; i < line->outputs[k].count; i++) {
			struct ar_output_segment *s = &line->outputs[k].segments[i];

			if (s->index >= line->hash_count)
				continue;
			s->bytes = c->page->blobs.bytes[line->first_hash + s->index];
			if (s->bytes.len != s->len)
				s->bytes = AR_STR_NONE;
		}
	}
}

static void push_output(struct ar_follow_cursor *c, const struct ar_output *o, ar_usec time)
{
	struct ar_str runtime_id = c->hub->follow->runtime_id;
	uint64_t pos = ar_cursor_pos(&c->at, o->step);
	struct ar_output_piece piece;

	while (ar_output_piece_at(o, pos, AR_DELTA_MAX, &piece)) {
		pos = piece.pos + piece.len;
		ar_cursor_set(&c->at, o->step, pos);
		ar_reader_push(c, ar_frame_delta(o, &piece, &c->at, runtime_id, time));
	}
}

static void push_streams(struct ar_follow_cursor *c, struct ar_page_line *line)
{
	fill_streams(c, line);
	for (size_t i = 0; i < AR_ARRAY_LEN(line->outputs); i++)
		push_output(c, &line->outputs[i], line->time);
	ar_cursor_drop_process(&c->at, line->process);
}

void ar_page_line_fini(struct ar_page_line *line)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(line->outputs); i++)
		ar_output_fini(&line->outputs[i]);
}

static void derive_line(struct ar_follow_cursor *c, const struct ar_page_line *line)
{
	const struct ar_frame fact = { .type = line->type, .sequence = line->sequence, .json = line->json };
	struct ar_cursor after = c->at; /* shares its steps */

	after.sequence = line->sequence;
	ar_reader_derive(c, &fact, &after);
}

void ar_page_frames(struct ar_follow_cursor *c)
{
	for (size_t i = 0; i < c->page->line_count; i++) {
		struct ar_page_line *line = &c->page->lines[i];

		if (is_step_end(line->type)) {
			fill(c, line);
			push_output(c, &line->outputs[0], line->time);
			ar_cursor_drop(&c->at, line->outputs[0].step);
		}
		if (line->process)
			push_streams(c, line);
		if (c->derives)
			derive_line(c, line);
		c->at.sequence = line->sequence;
		ar_reader_push(c, ar_frame_fact(line->type, line->sequence, &c->at, line->json));
		ar_page_line_fini(line);
	}
	c->page->line_count = 0;
}
