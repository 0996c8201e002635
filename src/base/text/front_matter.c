/* See front_matter.h. */
#include "text/front_matter.h"

#include "buf.h"

#define BLANKS " \t\r"

/* Lines of a text, one after the other. */
struct lines {
	struct ar_str rest; /* absent: there are no more */
};

static bool next_line(struct lines *l, struct ar_str *ret)
{
	if (ar_str_absent(l->rest))
		return false;
	l->rest = ar_str_split(l->rest, '\n', ret);
	if (ret->len > 0 && ret->p[ret->len - 1] == '\r')
		ret->len--;
	return true;
}

static bool is_fence(struct ar_str line)
{
	return ar_str_is(ar_str_trim(line, BLANKS), "---") && line.p[0] == '-';
}

static bool is_indented(struct ar_str line)
{
	return line.len > 0 && (line.p[0] == ' ' || line.p[0] == '\t');
}

/* ---- values ---- */

/* A comment begins with a # at the beginning or behind a blank. */
static struct ar_str without_comment(struct ar_str value)
{
	for (size_t i = 0; i < value.len; i++) {
		if (value.p[i] == '#' && (i == 0 || value.p[i - 1] == ' ' || value.p[i - 1] == '\t'))
			return ar_str_trim(ar_str_sub(value, 0, i), BLANKS);
	}
	return value;
}

/* What stands for the character behind a backslash; 0: nothing does. */
static char unescaped(char c)
{
	static const char from[] = "\"\\/nt", to[] = "\"\\/\n\t";

	for (size_t i = 0; i < sizeof(from) - 1; i++) {
		if (from[i] == c)
			return to[i];
	}
	return 0;
}

static enum ar_status read_quoted(struct ar_str value, struct ar_arena *a, struct ar_str *ret,
				  struct ar_error *err)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	char quote = value.p[0];
	size_t i = 1;

	for (; i < value.len &&
	       (value.p[i] != quote || (quote == '\'' && i + 1 < value.len && value.p[i + 1] == quote));
	     i++) {
		char c = value.p[i];

		if (quote == '\'' && c == quote)
			i++; /* two of them are one */
		if (quote == '"' && c == '\\' && (++i == value.len || !(c = unescaped(value.p[i]))))
			return ar_fail(err, AR_E_INVALID, "a quoted value has an escape that is not read");
		ar_buf_addc(&text, c);
	}
	if (i >= value.len)
		return ar_fail(err, AR_E_INVALID, "a quoted value has no end on its line");
	if (!ar_str_empty(without_comment(ar_str_trim(ar_str_sub(value, i + 1, SIZE_MAX), BLANKS))))
		return ar_fail(err, AR_E_INVALID, "something follows a quoted value");
	*ret = ar_arena_str(a, text.len ? ar_buf_str(&text) : AR_STR(""));
	return AR_OK;
}

static enum ar_status read_scalar(struct ar_str value, struct ar_arena *a, struct ar_str *ret,
				  struct ar_error *err)
{
	value = ar_str_trim(value, BLANKS);
	if (value.len == 0) {
		*ret = AR_STR("");
		return AR_OK;
	}
	switch (value.p[0]) {
	case '"':
	case '\'':
		return read_quoted(value, a, ret, err);
	case '&':
	case '*':
	case '!':
		return ar_fail(err, AR_E_INVALID, "anchors, aliases and tags are not read; write the value");
	default:
		*ret = ar_arena_str(a, without_comment(value));
		return AR_OK;
	}
}

/* ---- values on lines of their own ---- */

static bool is_block(struct ar_str value)
{
	static const char *const marks[] = { "|", "|-", "|+", ">", ">-", ">+" };

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		if (ar_str_is(value, marks[i]))
			return true;
	}
	return false;
}

static bool is_item(struct ar_str line)
{
	return ar_str_starts(ar_str_trim(line, BLANKS), AR_STR("- "));
}

/* The lines that belong to the value before them. */
static struct lines indented_lines(struct lines *l)
{
	struct ar_str from = l->rest, line;
	struct lines ahead = *l;

	while (next_line(&ahead, &line) &&
	       (is_indented(line) || is_item(line) || ar_str_empty(ar_str_trim(line, BLANKS))))
		l->rest = ahead.rest;
	if (ar_str_absent(from))
		return (struct lines){ AR_STR_NONE };
	return (struct lines){ ar_str_absent(l->rest)
				       ? from
				       : (struct ar_str){ from.p, (size_t)(l->rest.p - from.p) } };
}

/* Without their indentation; folded ones are one line. */
static struct ar_str join_lines(struct lines block, struct ar_str first, bool is_folded, struct ar_arena *a)
{
	AR_AUTO(ar_buf_fini) struct ar_buf text = { 0 };
	struct ar_str line;

	ar_buf_adds(&text, first);
	while (next_line(&block, &line)) {
		line = ar_str_trim(line, BLANKS);
		if (text.len > 0 && !ar_str_empty(line))
			ar_buf_addc(&text, is_folded ? ' ' : '\n');
		ar_buf_adds(&text, line);
	}
	return ar_arena_str(a, text.len ? ar_buf_str(&text) : AR_STR(""));
}

static enum ar_status read_value(struct ar_str value, struct lines *l, struct ar_arena *a, struct ar_str *ret,
				 struct ar_error *err)
{
	struct ar_str plain = without_comment(ar_str_trim(value, BLANKS));
	struct lines block = indented_lines(l);

	if (is_block(plain))
		*ret = join_lines(block, AR_STR(""), plain.p[0] == '>', a);
	else if (ar_str_empty(plain))
		*ret = join_lines(block, AR_STR(""), false, a);
	else if (read_scalar(value, a, ret, err) != AR_OK)
		return AR_E_INVALID;
	else
		*ret = join_lines(block, *ret, true, a);
	return AR_OK;
}

/* ---- the whole ---- */

static bool is_key(struct ar_str key)
{
	for (size_t i = 0; i < key.len; i++) {
		char c = key.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '-'))
			return false;
	}
	return key.len > 0 && key.len <= AR_FRONT_MATTER_KEY_MAX;
}

static enum ar_status read_entry(struct ar_str line, struct lines *l, struct ar_arena *a,
				 struct ar_front_matter *ret, struct ar_error *err)
{
	struct ar_str key, value = ar_str_split(line, ':', &key);

	key = ar_str_trim(key, BLANKS);
	if (ar_str_absent(value) || is_indented(line) || !is_key(key))
		return ar_fail(err, AR_E_INVALID, "a line of the front matter is not `key: value`");
	if (value.len > 0 && value.p[0] != ' ' && value.p[0] != '\t')
		return ar_fail(err, AR_E_INVALID, "a blank is missing after the colon of '%.*s'",
			       AR_STR_ARG(key));
	if (ret->count == AR_FRONT_MATTER_KEYS_MAX)
		return ar_fail(err, AR_E_INVALID, "the front matter has more than %d keys",
			       AR_FRONT_MATTER_KEYS_MAX);
	for (size_t i = 0; i < ret->count; i++) {
		if (ar_str_eq(ret->at[i].key, key))
			return ar_fail(err, AR_E_INVALID, "the key '%.*s' is there twice", AR_STR_ARG(key));
	}
	ret->at[ret->count].key = ar_arena_str(a, key);
	return read_value(value, l, a, &ret->at[ret->count++].value, err);
}

/* Between its two fences, and what follows. */
static enum ar_status cut_out(struct ar_str text, struct ar_str *ret, struct ar_str *ret_body,
			      struct ar_error *err)
{
	struct lines l = { text };
	struct ar_str line, from;

	if (!next_line(&l, &line) || !is_fence(line))
		return ar_fail(err, AR_E_INVALID,
			       "it has no front matter: it does not begin with a line ---");
	from = l.rest;
	while (next_line(&l, &line)) {
		size_t len = (size_t)(line.p - from.p);

		if (len > AR_FRONT_MATTER_BYTES_MAX)
			return ar_fail(err, AR_E_INVALID, "the front matter has more than %d bytes",
				       AR_FRONT_MATTER_BYTES_MAX);
		if (!is_fence(line))
			continue;
		*ret = ar_str_sub(from, 0, len);
		*ret_body = ar_str_absent(l.rest) ? AR_STR("") : l.rest;
		return AR_OK;
	}
	return ar_fail(err, AR_E_INVALID, "the front matter has no end: no second line ---");
}

enum ar_status ar_front_matter_read(struct ar_str text, struct ar_arena *a, struct ar_front_matter *ret,
				    struct ar_error *err)
{
	struct ar_front_matter f = { 0 };
	struct ar_str head, line;
	struct lines l;

	if (cut_out(text, &head, &f.body, err) != AR_OK)
		return AR_E_INVALID;
	l.rest = head;
	while (next_line(&l, &line)) {
		struct ar_str said = ar_str_trim(line, BLANKS);

		if (!ar_str_empty(said) && said.p[0] != '#' && read_entry(line, &l, a, &f, err) != AR_OK)
			return AR_E_INVALID;
	}
	*ret = f;
	return AR_OK;
}

struct ar_str ar_front_matter_get(const struct ar_front_matter *f, const char *key)
{
	for (size_t i = 0; i < f->count; i++) {
		if (ar_str_is(f->at[i].key, key))
			return f->at[i].value;
	}
	return AR_STR_NONE;
}

/* ---- lists ---- */

struct list {
	struct ar_str *at;
	size_t count;
};

static enum ar_status add_item(struct list *list, struct ar_str item, struct ar_arena *a,
			       struct ar_error *err)
{
	item = ar_str_trim(item, BLANKS);
	if (ar_str_empty(item))
		return AR_OK;
	if (list->count == AR_FRONT_MATTER_ITEMS_MAX)
		return ar_fail(err, AR_E_INVALID, "a list has more than %d items", AR_FRONT_MATTER_ITEMS_MAX);
	return read_scalar(item, a, &list->at[list->count++], err);
}

static enum ar_status add_items(struct list *list, struct ar_str value, struct ar_arena *a,
				struct ar_error *err)
{
	bool is_in_lines = ar_str_is(ar_str_sub(value, 0, 2), "- ");
	enum ar_status status = AR_OK;

	if (value.len >= 2 && value.p[0] == '[' && value.p[value.len - 1] == ']')
		value = ar_str_sub(value, 1, value.len - 2);
	while (status == AR_OK && !ar_str_absent(value)) {
		struct ar_str item;

		value = ar_str_split(value, is_in_lines ? '\n' : ',', &item);
		if (is_in_lines && ar_str_starts(item, AR_STR("- ")))
			item = ar_str_sub(item, 2, SIZE_MAX);
		status = add_item(list, item, a, err);
	}
	return status;
}

enum ar_status ar_front_matter_list(const struct ar_front_matter *f, const char *key, struct ar_arena *a,
				    struct ar_texts *ret, struct ar_error *err)
{
	struct ar_str value = ar_front_matter_get(f, key);
	struct list list = { 0 };

	*ret = (struct ar_texts){ 0 };
	if (ar_str_absent(value))
		return AR_OK;
	list.at = ar_arena_alloc(a, AR_FRONT_MATTER_ITEMS_MAX * sizeof(*list.at));
	if (add_items(&list, value, a, err) != AR_OK)
		return AR_E_INVALID;
	*ret = (struct ar_texts){ list.at, list.count };
	return AR_OK;
}
