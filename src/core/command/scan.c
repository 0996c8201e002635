/* The lenient reading: every word that a shell could come to see, without its quotes. What is nested (substitutions, quoted texts, defaults of
 * variables) is read as a text of its own, and its words count for the command around it too, so that `$(echo rm) -rf /` has rm and -rf in
 * one list. Comments and here-documents are read like commands. It may see commands where there are none; it only ever raises. Pure. */
#include "danger.h"

#include <string.h>

#define VARIABLES_MAX 32
#define WORD_SPARE 256 /* bytes of a word that variables may bring */
#define WORK_MAX (1u << 20) /* bytes that are read in all, again and again */

struct variable {
	struct ar_str name, value;
};

/* One text with all that is nested in it. */
struct scan {
	struct ar_arena *a;
	struct ar_command_line *out;
	struct variable variables[VARIABLES_MAX];
	size_t variable_count;
	size_t seen_room, redirect_room;
	size_t work;
	int depth;
};

struct reading {
	struct scan *s;
	struct ar_str text;
	size_t at;
	char *word; /* the one being read; room for all of the text and of what variables bring */
	size_t len, room;
	bool has_word; /* also an empty one, when it was quoted */
	bool is_nested; /* it has bytes that mean something to a shell which reads it again */
	bool in_quotes;
	int braces;
	char redirect; /* the next word is where < or > leads; 0: it is not */
	struct ar_words words;
	struct ar_words *outer; /* gets all words too */
	bool is_piped, is_next_piped;
};

static void scan_text(struct scan *s, struct ar_str text, struct ar_words *outer);

/* ---- lists ---- */

static void keep_seen(struct scan *s, const struct reading *r)
{
	struct ar_command_line *c = s->out;

	if (c->seen_count == s->seen_room) {
		struct ar_command_argv *more;

		s->seen_room = s->seen_room ? 2 * s->seen_room : 8;
		more = ar_arena_alloc(s->a, s->seen_room * sizeof(*more));
		if (c->seen_count)
			memcpy(more, c->seen, c->seen_count * sizeof(*more));
		c->seen = more;
	}
	c->seen[c->seen_count++] = (struct ar_command_argv){ r->words.at, r->words.count,
							     r->is_piped ? AR_JOIN_PIPE : AR_JOIN_SEQUENCE };
}

static void keep_redirect(struct scan *s, struct ar_str target, bool is_write)
{
	struct ar_command_line *c = s->out;

	if (c->redirect_count == AR_COMMAND_WORDS_MAX)
		return;
	if (c->redirect_count == s->redirect_room) {
		struct ar_command_redirect *more;

		s->redirect_room = s->redirect_room ? 2 * s->redirect_room : 4;
		more = ar_arena_alloc(s->a, s->redirect_room * sizeof(*more));
		if (c->redirect_count)
			memcpy(more, c->redirects, c->redirect_count * sizeof(*more));
		c->redirects = more;
	}
	c->redirects[c->redirect_count++] = (struct ar_command_redirect){ target, is_write };
	if (is_write)
		ar_danger_check_target(target, c);
}

/* ---- variables ---- */

static bool is_name_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void learn(struct scan *s, struct ar_str word)
{
	struct ar_str name, value = ar_str_split(word, '=', &name);

	if (ar_str_absent(value) || name.len == 0 || s->variable_count == VARIABLES_MAX)
		return;
	for (size_t i = 0; i < name.len; i++) {
		if (!is_name_byte(name.p[i]))
			return;
	}
	s->variables[s->variable_count++] = (struct variable){ name, value };
}

/* ---- words ---- */

static void put(struct reading *r, char c)
{
	static const char meant[] = " \t\n;&|()<>`$'\"\\{}";

	r->has_word = true;
	if (r->len == r->room) {
		ar_danger_raise(r->s->out, AR_DANGER_UNREADABLE, AR_STR("a word that grows"));
		return;
	}
	r->is_nested = r->is_nested || (c && strchr(meant, c));
	r->word[r->len++] = c;
}

static void put_all(struct reading *r, struct ar_str text)
{
	for (size_t i = 0; i < text.len; i++)
		put(r, text.p[i]);
}

/* Newest first: what was assigned last. */
static void put_variable(struct reading *r, struct ar_str name)
{
	r->has_word = true;
	for (size_t i = r->s->variable_count; i-- > 0;) {
		if (!ar_str_eq(r->s->variables[i].name, name))
			continue;
		put_all(r, r->s->variables[i].value);
		return;
	}
}

static void end_word(struct reading *r)
{
	struct ar_str word = ar_arena_str(r->s->a, (struct ar_str){ r->word, r->len });
	bool is_nested = r->is_nested;

	if (!r->has_word)
		return;
	r->has_word = r->is_nested = false;
	r->len = 0;
	ar_words_add(&r->words, word, r->s->a);
	learn(r->s, word);
	if (r->redirect)
		keep_redirect(r->s, word, r->redirect == '>');
	r->redirect = 0;
	if (is_nested)
		scan_text(r->s, word, &r->words);
}

static void end_command(struct reading *r)
{
	end_word(r);
	r->redirect = 0;
	if (r->s->out->seen_count == AR_COMMAND_WORDS_MAX) {
		ar_danger_raise(r->s->out, AR_DANGER_UNREADABLE, AR_STR("more commands than are read"));
	} else if (r->words.count > 0) {
		keep_seen(r->s, r);
		ar_danger_check(&r->words, r->is_piped, r->s->a, r->s->out);
	}
	for (size_t i = 0; r->outer && i < r->words.count; i++)
		ar_words_add(r->outer, r->words.at[i], r->s->a);
	r->words = (struct ar_words){ 0 };
	r->is_piped = r->is_next_piped;
	r->is_next_piped = false;
}

/* ---- what is nested ---- */

/* Where the bracket that opens at `from` closes; the end of the text when it does not. */
static size_t closing(struct ar_str text, size_t from, char open, char close)
{
	int depth = 0;
	char quote = 0;

	for (size_t i = from; i < text.len; i++) {
		char c = text.p[i];

		if (c == '\\' && quote != '\'') {
			i++;
		} else if (quote) {
			quote = c == quote ? 0 : quote;
		} else if (c == '\'' || c == '"') {
			quote = c;
		} else if (c == open) {
			depth++;
		} else if (c == close && --depth == 0) {
			return i;
		}
	}
	return text.len;
}

/* `at` is on the opening bracket. */
static void read_bracket(struct reading *r, char open, char close)
{
	size_t end = closing(r->text, r->at, open, close);

	r->has_word = true;
	scan_text(r->s, ar_str_sub(r->text, r->at + 1, end - r->at - 1), &r->words);
	r->at = end;
}

/* Its inside has one level of backslashes more. */
static void read_backticks(struct reading *r)
{
	size_t from = r->at + 1, end = from, len = 0;
	char *inside;

	while (end < r->text.len && r->text.p[end] != '`')
		end += r->text.p[end] == '\\' ? 2 : 1;
	end = end < r->text.len ? end : r->text.len;
	inside = ar_arena_alloc(r->s->a, end - from + 1);
	for (size_t i = from; i < end; i++) {
		i += r->text.p[i] == '\\' && i + 1 < end;
		inside[len++] = r->text.p[i];
	}
	r->has_word = true;
	scan_text(r->s, (struct ar_str){ inside, len }, &r->words);
	r->at = end;
}

static void read_ansi(struct reading *r)
{
	size_t from = r->at + 1, end = from;
	char *bytes;

	while (end < r->text.len && r->text.p[end] != '\'')
		end += r->text.p[end] == '\\' ? 2 : 1;
	end = end < r->text.len ? end : r->text.len;
	bytes = ar_arena_alloc(r->s->a, end - from + 1);
	put_all(r, (struct ar_str){ bytes, ar_unquote_ansi(ar_str_sub(r->text, from, end - from), bytes) });
	r->has_word = true;
	r->at = end;
}

/* ${name}, ${name:-words}: the variable, and the words as a text. */
static void read_parameter(struct reading *r)
{
	size_t end = closing(r->text, r->at, '{', '}');
	struct ar_str inside = ar_str_sub(r->text, r->at + 1, end - r->at - 1);
	size_t name = 0;

	while (name < inside.len && is_name_byte(inside.p[name]))
		name++;
	put_variable(r, ar_str_sub(inside, 0, name));
	if (name < inside.len)
		scan_text(r->s, ar_str_sub(inside, name + (inside.p[name] == ':') + 1, inside.len),
			  &r->words);
	r->at = end;
}

static void read_dollar(struct reading *r)
{
	char after = r->at + 1 < r->text.len ? r->text.p[r->at + 1] : 0;
	size_t from = ++r->at, end = from;

	if (after == '(') {
		read_bracket(r, '(', ')');
	} else if (after == '{') {
		read_parameter(r);
	} else if (after == '\'' && !r->in_quotes) {
		read_ansi(r);
	} else {
		while (end < r->text.len && is_name_byte(r->text.p[end]))
			end++;
		put_variable(r, ar_str_sub(r->text, from, end - from));
		r->at = end - 1;
	}
}

/* <(...), >(...), and what leads somewhere. */
static void read_redirect(struct reading *r)
{
	char first = r->text.p[r->at];
	size_t from = r->at;

	if (r->at + 1 < r->text.len && r->text.p[r->at + 1] == '(') {
		r->at++;
		read_bracket(r, '(', ')');
		return;
	}
	end_word(r);
	while (r->at + 1 < r->text.len && strchr("<>&|-", r->text.p[r->at + 1]) && r->text.p[r->at + 1])
		r->at++;
	if (r->text.p[r->at] == '&' && r->at + 1 < r->text.len && is_name_byte(r->text.p[r->at + 1]))
		return; /* 2>&1 */
	/* << and <<< bring a text, not a file */
	r->redirect = first == '<' && r->at > from && r->text.p[from + 1] == '<' ? 0 : first;
	if (r->at > from && r->text.p[from + 1] == '>')
		r->redirect = '>';
}

static void read_single_quotes(struct reading *r)
{
	r->has_word = true;
	for (r->at++; r->at < r->text.len && r->text.p[r->at] != '\''; r->at++)
		put(r, r->text.p[r->at]);
}

static void read_backslash(struct reading *r)
{
	if (++r->at < r->text.len && r->text.p[r->at] != '\n')
		put(r, r->text.p[r->at]);
}

/* Outside of quotes: between words and between commands. */
static bool read_separator(struct reading *r, char c)
{
	bool is_double = r->at + 1 < r->text.len && r->text.p[r->at + 1] == c;

	if (c == '{' || c == '}')
		r->braces += c == '{' ? 1 : -1;
	if (c == ' ' || c == '\t' || c == '\r' || c == '{' || c == '}' || (c == ',' && r->braces > 0)) {
		end_word(r);
		return true;
	}
	if (!c || !strchr("\n;&|()", c))
		return false;
	r->is_next_piped = c == '|' && !is_double && !(r->at > 0 && r->text.p[r->at - 1] == '|');
	end_command(r);
	return true;
}

static void turn_quotes(struct reading *r)
{
	r->in_quotes = !r->in_quotes;
	r->has_word = true;
}

static void read_byte(struct reading *r)
{
	char c = r->text.p[r->at];

	if (c == '\\')
		read_backslash(r);
	else if (c == '$')
		read_dollar(r);
	else if (c == '`')
		read_backticks(r);
	else if (c == '"')
		turn_quotes(r);
	else if (r->in_quotes)
		put(r, c);
	else if (c == '\'')
		read_single_quotes(r);
	else if (c == '<' || c == '>')
		read_redirect(r);
	else if (!read_separator(r, c))
		put(r, c);
}

static void scan_text(struct scan *s, struct ar_str text, struct ar_words *outer)
{
	struct reading r = { .s = s, .text = text, .outer = outer };

	s->work += text.len + WORD_SPARE;
	if (s->depth == AR_COMMAND_DEPTH_MAX || text.len > AR_COMMAND_TEXT_MAX || s->work > WORK_MAX) {
		ar_danger_raise(s->out, AR_DANGER_UNREADABLE, ar_str_utf8_prefix(text, 32));
		return;
	}
	s->depth++;
	r.room = text.len + WORD_SPARE;
	r.word = ar_arena_alloc(s->a, r.room);
	for (; r.at < text.len; r.at++)
		read_byte(&r);
	end_command(&r);
	s->depth--;
}

void ar_command_scan(struct ar_str text, struct ar_arena *a, struct ar_command_line *ret)
{
	struct scan s = { .a = a, .out = ret };

	scan_text(&s, text, NULL);
	if (text.len <= AR_COMMAND_TEXT_MAX)
		ar_danger_check_bomb(text, a, ret);
}

void ar_danger_scan_argv(const struct ar_str *argv, size_t argc, struct ar_arena *a,
			 struct ar_command_line *c)
{
	struct scan s = { .a = a, .out = c };
	struct reading r = { .s = &s };

	for (size_t i = 0; i < argc; i++) {
		ar_words_add(&r.words, argv[i], a);
		scan_text(&s, argv[i], &r.words);
	}
	end_command(&r);
}
