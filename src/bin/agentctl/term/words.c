/* See term.h: JSON as people read it. A text inside of a value that could be taken for its punctuation is
 * quoted, so that nobody writes a member that is not there. */
#include "term/term.h"

#include <string.h>

/* ---- values ---- */

static bool has_any(struct ar_str text, const char *chars)
{
	for (size_t i = 0; i < text.len; i++) {
		if (strchr(chars, text.p[i]))
			return true;
	}
	return !text.len;
}

static void add_quoted(struct ar_buf *to, struct ar_str text)
{
	ar_buf_addc(to, '"');
	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] == '"' || text.p[i] == '\\')
			ar_buf_addc(to, '\\');
		ar_buf_addc(to, text.p[i] == '\n' ? ' ' : text.p[i]);
	}
	ar_buf_addc(to, '"');
}

static void add_inner(struct ar_buf *to, struct ar_json v);

static void add_members(struct ar_buf *to, struct ar_json v)
{
	const char *before = "";

	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it); before = ", ") {
		ar_buf_addz(to, before);
		if (ar_json_type(v) == AR_JSON_OBJECT) {
			ar_buf_adds(to, it.name);
			ar_buf_addz(to, ": ");
		}
		add_inner(to, it.value);
	}
}

static void add_inner(struct ar_buf *to, struct ar_json v)
{
	struct ar_str text;

	if (ar_json_str(v, &text)) {
		if (has_any(text, ",:()[]\"\n"))
			add_quoted(to, text);
		else
			ar_buf_adds(to, text);
	} else if (ar_json_type(v) == AR_JSON_OBJECT || ar_json_type(v) == AR_JSON_ARRAY) {
		ar_buf_addc(to, '(');
		add_members(to, v);
		ar_buf_addc(to, ')');
	} else if (ar_json_type(v) == AR_JSON_NULL) {
		ar_buf_addz(to, "none");
	} else {
		ar_json_print(v, to);
	}
}

static bool is_all_text(struct ar_json list)
{
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		if (ar_json_type(it.value) != AR_JSON_STR)
			return false;
	}
	return ar_json_type(list) == AR_JSON_ARRAY;
}

/* Words of a command, as a shell would take them apart again. */
static void add_list(struct ar_buf *to, struct ar_json list)
{
	const char *before = "";
	struct ar_str text;

	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it); before = " ") {
		ar_buf_addz(to, before);
		if (ar_json_str(it.value, &text) && has_any(text, " \t\n\"'\\"))
			add_quoted(to, text);
		else
			ar_buf_adds(to, text);
	}
}

void ar_words_value(struct ar_buf *to, struct ar_json v)
{
	struct ar_str text;

	if (ar_json_str(v, &text))
		ar_buf_adds(to, text);
	else if (is_all_text(v))
		add_list(to, v);
	else if (ar_json_type(v) == AR_JSON_ARRAY)
		add_members(to, v);
	else if (ar_json_type(v) != AR_JSON_NONE)
		add_inner(to, v);
}

void ar_words_args(struct ar_buf *to, struct ar_str text)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc;

	if (ar_json_parse(parser, text, &doc, NULL) == AR_OK && ar_json_type(doc) == AR_JSON_OBJECT)
		add_members(to, doc);
	else
		ar_buf_adds(to, text);
	ar_json_parser_free(parser);
}

bool ar_words_result(struct ar_buf *to, struct ar_str text)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc;
	bool is_json = ar_json_parse(parser, text, &doc, NULL) == AR_OK &&
		       (ar_json_type(doc) == AR_JSON_OBJECT || ar_json_type(doc) == AR_JSON_ARRAY);

	for (struct ar_json_iter it = ar_json_iter(is_json ? doc : (struct ar_json){ 0 });
	     ar_json_next(&it);) {
		ar_buf_adds(to, ar_json_type(doc) == AR_JSON_OBJECT ? it.name : AR_STR("-"));
		ar_buf_addz(to, ar_json_type(doc) == AR_JSON_OBJECT ? ": " : " ");
		ar_words_value(to, it.value);
		ar_buf_addc(to, '\n');
	}
	ar_json_parser_free(parser);
	return is_json;
}

/* ---- steps ---- */

enum step { STEP_OPEN, STEP_NOW, STEP_DONE, STEP_LEFT };

static const struct {
	const char *word;
	enum step step;
} states[] = {
	{ "pending", STEP_OPEN },     { "todo", STEP_OPEN },	   { "open", STEP_OPEN },
	{ "not_started", STEP_OPEN }, { "in_progress", STEP_NOW }, { "in-progress", STEP_NOW },
	{ "active", STEP_NOW },	      { "completed", STEP_DONE },  { "complete", STEP_DONE },
	{ "done", STEP_DONE },	      { "cancelled", STEP_LEFT },  { "canceled", STEP_LEFT },
	{ "skipped", STEP_LEFT },
};

static bool read_state(struct ar_json item, enum step *ret)
{
	struct ar_str word = ar_api_str(item, "status");
	size_t i = 0;

	while (i < AR_ARRAY_LEN(states) && !ar_str_is(word, states[i].word))
		i++;
	if (i == AR_ARRAY_LEN(states))
		return false;
	*ret = states[i].step;
	return true;
}

static struct ar_str step_name(struct ar_json item)
{
	static const char *const names[] = { "step", "content", "text", "title", "task", "description" };
	struct ar_str text = AR_STR_NONE;

	for (size_t i = 0; i < AR_ARRAY_LEN(names) && ar_str_empty(text); i++)
		text = ar_api_str(item, names[i]);
	return text;
}

static bool is_steps(struct ar_json list)
{
	enum step step;

	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		if (ar_str_empty(step_name(it.value)) || !read_state(it.value, &step))
			return false;
	}
	return ar_json_type(list) == AR_JSON_ARRAY && ar_json_len(list);
}

static void add_step(struct ar_words_steps *s, struct ar_json item)
{
	static const struct {
		const char *mark;
		enum ar_style style;
	} looks[] = { [STEP_OPEN] = { "  ○ ", AR_STYLE_PLAIN },
		      [STEP_NOW] = { "  ▸ ", AR_STYLE_BOLD },
		      [STEP_DONE] = { "  ✓ ", AR_STYLE_DIM },
		      [STEP_LEFT] = { "  – ", AR_STYLE_DIM } };
	struct ar_str name = step_name(item);
	enum step step = STEP_OPEN;

	(void)read_state(item, &step);
	s->count++;
	s->done += step == STEP_DONE || step == STEP_LEFT;
	if (step == STEP_NOW && !s->now.len)
		ar_buf_adds(&s->now, name);
	ar_text_style(&s->rows, looks[step].style);
	ar_buf_addz(&s->rows, looks[step].mark);
	ar_text_add(&s->rows, name);
	ar_text_style(&s->rows, AR_STYLE_PLAIN);
	ar_buf_addc(&s->rows, '\n');
}

bool ar_words_steps(struct ar_str args, struct ar_words_steps *ret)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc;

	*ret = (struct ar_words_steps){ 0 };
	if (ar_json_parse(parser, args, &doc, NULL) != AR_OK)
		doc = (struct ar_json){ 0 };
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it) && !ret->count;) {
		if (!is_steps(it.value))
			continue;
		for (struct ar_json_iter item = ar_json_iter(it.value); ar_json_next(&item);)
			add_step(ret, item.value);
	}
	ar_json_parser_free(parser);
	return ret->count;
}
