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

static const struct {
	const char *word;
	enum ar_words_step step;
} states[] = {
	{ "pending", AR_WORDS_OPEN },	  { "todo", AR_WORDS_OPEN },	   { "open", AR_WORDS_OPEN },
	{ "not_started", AR_WORDS_OPEN }, { "in_progress", AR_WORDS_NOW }, { "in-progress", AR_WORDS_NOW },
	{ "active", AR_WORDS_NOW },	  { "completed", AR_WORDS_DONE },  { "complete", AR_WORDS_DONE },
	{ "done", AR_WORDS_DONE },	  { "cancelled", AR_WORDS_LEFT },  { "canceled", AR_WORDS_LEFT },
	{ "skipped", AR_WORDS_LEFT },
};

static bool read_state(struct ar_json item, enum ar_words_step *ret)
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
	enum ar_words_step step;

	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		if (ar_str_empty(step_name(it.value)) || !read_state(it.value, &step))
			return false;
	}
	return ar_json_type(list) == AR_JSON_ARRAY && ar_json_len(list);
}

bool ar_words_each_step(struct ar_str args, ar_words_step_fn *step, void *arg)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	enum ar_words_step state = AR_WORDS_OPEN;
	struct ar_json doc;
	bool has_steps = false;

	if (ar_json_parse(parser, args, &doc, NULL) != AR_OK)
		doc = (struct ar_json){ 0 };
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it) && !has_steps;) {
		has_steps = is_steps(it.value);
		for (struct ar_json_iter item = ar_json_iter(it.value); has_steps && ar_json_next(&item);) {
			(void)read_state(item.value, &state);
			step(arg, step_name(item.value), state);
		}
	}
	ar_json_parser_free(parser);
	return has_steps;
}

static void add_step(void *arg, struct ar_str name, enum ar_words_step step)
{
	static const struct {
		const char *mark;
		enum ar_style style;
	} looks[] = { [AR_WORDS_OPEN] = { "  ○ ", AR_STYLE_PLAIN },
		      [AR_WORDS_NOW] = { "  ▸ ", AR_STYLE_BOLD },
		      [AR_WORDS_DONE] = { "  ✓ ", AR_STYLE_DIM },
		      [AR_WORDS_LEFT] = { "  – ", AR_STYLE_DIM } };
	struct ar_words_steps *s = arg;

	s->count++;
	s->done += step == AR_WORDS_DONE || step == AR_WORDS_LEFT;
	if (step == AR_WORDS_NOW && !s->now.len)
		ar_buf_adds(&s->now, name);
	ar_text_style(&s->rows, looks[step].style);
	ar_buf_addz(&s->rows, looks[step].mark);
	ar_text_add(&s->rows, name);
	ar_text_style(&s->rows, AR_STYLE_PLAIN);
	ar_buf_addc(&s->rows, '\n');
}

bool ar_words_steps(struct ar_str args, struct ar_words_steps *ret)
{
	*ret = (struct ar_words_steps){ 0 };
	return ar_words_each_step(args, add_step, ret);
}
