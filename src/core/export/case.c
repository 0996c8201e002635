/* See case.h. Owner: the loop thread. */
#include "case.h"
#include "identity.h"
#include "mem.h"
#include "session_export.h"

struct waiting {
	struct waiting *next;
	char *line;
};

struct ar_case_writer {
	struct ar_str session_key; /* borrowed */
	struct ar_export *writer;
	struct ar_json_parser *json; /* of the fact at hand */
	struct ar_json fact;
	struct waiting *first, **end;
	struct ar_export_part *parts; /* that the first one names */
	size_t part_count, brought;
	bool is_open; /* the first one was parsed */
	struct ar_arena arena; /* of it */
	struct ar_arena kept;
	struct ar_texts turns;
	struct ar_buf head, body; /* what the writer gave for the output, and for later */
	size_t bytes; /* that went in */
};

/* ---- where the bytes go ---- */

static void on_write(void *arg, size_t stream, struct ar_str bytes)
{
	struct ar_case_writer *c = arg;

	ar_buf_adds(stream ? &c->body : &c->head, bytes);
}

static void on_copy(void *arg, size_t stream AR_UNUSED)
{
	struct ar_case_writer *c = arg;

	ar_buf_adds(&c->head, ar_buf_str(&c->body));
}

struct ar_case_writer *ar_case_new(struct ar_str session_key)
{
	struct ar_case_writer *c = ar_new0(sizeof(*c));
	const struct ar_export_sink sink = { on_write, on_copy, c };

	c->session_key = session_key;
	c->writer = ar_export_new(AR_STR("replay"), &sink);
	c->json = ar_json_parser_new();
	c->end = &c->first;
	return c;
}

static void drop_first(struct ar_case_writer *c)
{
	struct waiting *w = c->first;

	c->first = w->next;
	if (!c->first)
		c->end = &c->first;
	ar_free(w->line);
	ar_free(w);
	ar_arena_fini(&c->arena);
	c->arena = (struct ar_arena){ 0 };
	c->part_count = c->brought = 0;
	c->is_open = false;
}

void ar_case_free(struct ar_case_writer *c)
{
	if (!c)
		return;
	while (c->first)
		drop_first(c);
	ar_export_free(c->writer);
	ar_json_parser_free(c->json);
	ar_arena_fini(&c->kept);
	ar_buf_fini(&c->head);
	ar_buf_fini(&c->body);
	ar_free(c);
}

/* ---- facts ---- */

bool ar_case_admit(struct ar_case_writer *c, struct ar_str turn)
{
	if (c->turns.count >= AR_CASE_TURNS || c->bytes > AR_CASE_FULL)
		return false;
	c->turns = ar_arena_texts_add(&c->kept, c->turns, ar_arena_str(&c->kept, turn));
	return true;
}

void ar_case_fact(struct ar_case_writer *c, struct ar_str turn, struct ar_str line)
{
	struct waiting *w;

	if (!ar_str_absent(turn) && !ar_texts_have(c->turns, turn))
		return;
	w = ar_new0(sizeof(*w));
	w->line = ar_str_dup(line);
	*c->end = w;
	c->end = &w->next;
}

/* What the read of a client would have given: text up to the limit, or a word for why there is none. */
static void fill_part(struct ar_export_part *part, struct ar_str bytes, struct ar_arena *a)
{
	struct ar_str text = bytes.len > part->max ? ar_str_utf8_prefix(bytes, part->max) : bytes;

	if (ar_str_absent(bytes)) {
		part->why = AR_STR("unavailable");
		return;
	}
	part->size = (int64_t)bytes.len;
	if (ar_str_is_utf8(text))
		part->text = ar_arena_str(a, text);
	else
		part->why = AR_STR("binary");
}

/* A ref that is not one of the session is unavailable; it is not asked for. */
static bool hash_of(const struct ar_case_writer *c, struct ar_str ref, struct ar_hash *ret)
{
	struct ar_str key;

	return ar_ref_parse(ref, &key, ret) && ar_str_eq(key, c->session_key);
}

/* The first one is read, and its parts are known. */
static void open_first(struct ar_case_writer *c)
{
	struct ar_str line = ar_str_from(c->first->line);

	c->is_open = true;
	c->bytes += line.len;
	if (c->bytes > AR_CASE_MAX || ar_json_parse(c->json, line, &c->fact, NULL) != AR_OK)
		c->fact = (struct ar_json){ 0 };
	else
		c->part_count = ar_export_parts(c->writer, c->fact, &c->arena, &c->parts);
}

/* The first one has all of its parts. */
static void write_first(struct ar_case_writer *c)
{
	for (size_t i = 0; i < c->part_count; i++)
		c->bytes += c->parts[i].text.len;
	if (c->bytes <= AR_CASE_MAX && ar_json_type(c->fact) == AR_JSON_OBJECT)
		ar_export_fact(c->writer, c->fact, c->parts, c->part_count);
	ar_json_parser_trim(c->json);
	drop_first(c);
}

size_t ar_case_wanted(struct ar_case_writer *c, struct ar_hash *hashes, size_t max)
{
	while (c->first) {
		size_t count = 0;

		if (!c->is_open)
			open_first(c);
		while (c->brought < c->part_count &&
		       !hash_of(c, c->parts[c->brought].ref, &hashes[0])) /* nobody's: it has no text */
			fill_part(&c->parts[c->brought++], AR_STR_NONE, &c->arena);
		while (count < max && c->brought + count < c->part_count &&
		       hash_of(c, c->parts[c->brought + count].ref, &hashes[count]))
			count++;
		if (count > 0)
			return count;
		write_first(c);
	}
	return 0;
}

void ar_case_bring(struct ar_case_writer *c, const struct ar_str *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fill_part(&c->parts[c->brought++], bytes[i], &c->arena);
}

/* ---- the document ---- */

bool ar_case_is_empty(const struct ar_case_writer *c)
{
	return c->body.len == 0;
}

bool ar_case_is_too_long(const struct ar_case_writer *c)
{
	return c->bytes > AR_CASE_MAX;
}

void ar_case_write(struct ar_case_writer *c, struct ar_str members, struct ar_buf *out)
{
	ar_export_add_members(c->writer, members);
	ar_export_end(c->writer);
	ar_buf_adds(out, ar_buf_str(&c->head));
}
