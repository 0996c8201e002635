/* The lenient reading: every word that a shell could come to see, without its quotes. What is
 * nested (substitutions, quoted texts, defaults of variables) is read as a text of its own, and its
 * words count for the command around it too, so that `$(echo rm) -rf /` has rm and -rf in one list.
 * Beside that each command that certainly runs is kept as its own shell has it, with AR_ANY_* for
 * what is not known, and looked through to its program. It may see commands where there are none;
 * it only ever raises. Pure. */
#include "scan.h"

#include <string.h>

#define GLOB_MAX 256 /* bytes between [ and ]; a longer one counts as closed */
#define WORK_MAX (1u << 20) /* bytes that are read in all, again and again */

/* ---- here-documents ---- */

/* The next line of the text, from r->at on, which it moves. */
static struct ar_str next_line(struct ar_reading *r)
{
	size_t from = r->at;
	const char *end = from < r->text.len ? memchr(r->text.p + from, '\n', r->text.len - from) : NULL;

	r->at = end ? (size_t)(end - r->text.p) + 1 : r->text.len;
	return ar_str_sub(r->text, from, r->at - from - (end ? 1 : 0));
}

/* `r->at` is after a newline: the texts that the line before asked for. */
static void read_heredocs(struct ar_reading *r)
{
	for (size_t i = 0; i < r->heredoc_count; i++) {
		const struct ar_heredoc *h = &r->heredocs[i];
		size_t from = r->at, end = from;
		bool is_over = false;
		struct ar_str body;

		while (r->at < r->text.len && !is_over) {
			end = r->at;
			is_over = ar_str_eq(ar_str_trim(next_line(r), "\t"), h->end);
		}
		if (!is_over && r->mode != AR_SCAN_MAYBE)
			ar_scan_unreadable(r->s, AR_STR("a here-document that does not end"));
		end = is_over ? end : r->text.len;
		body = ar_str_sub(r->text, from, end - from);
		if (h->reads != AR_READS_COMMANDS)
			ar_scan_text(r->s, body, NULL,
				     h->is_quoted || r->mode == AR_SCAN_MAYBE ? AR_SCAN_MAYBE
									      : AR_SCAN_SUBSTITUTIONS);
		if (h->reads == AR_READS_CODE)
			ar_code_check(body, r->s->out, r->s->a);
		if (h->reads == AR_READS_COMMANDS)
			ar_scan_text(r->s, body, NULL, AR_SCAN_COMMANDS);
	}
	r->heredoc_count = r->heredoc_done = 0;
}

/* ---- what is nested ---- */

static enum ar_scan_mode mode_inside(const struct ar_reading *r)
{
	return r->mode == AR_SCAN_MAYBE ? AR_SCAN_MAYBE : AR_SCAN_COMMANDS;
}

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
static void read_bracket(struct ar_reading *r, char open, char close, enum ar_scan_mode mode)
{
	size_t end = closing(r->text, r->at, open, close);

	r->has_word = true;
	ar_scan_text(r->s, ar_str_sub(r->text, r->at + 1, end - r->at - 1), &r->words, mode);
	r->at = end;
}

/* $(...), or $((...)), which is a number. */
static void read_substitution(struct ar_reading *r)
{
	size_t end = closing(r->text, r->at, '(', ')');
	bool is_number = end > r->at + 2 && end < r->text.len && r->text.p[r->at + 1] == '(' &&
			 r->text.p[end - 1] == ')';

	if (is_number)
		ar_scan_put_shape(r, '1');
	else
		ar_scan_put_unknown(r);
	read_bracket(r, '(', ')',
		     is_number && r->mode != AR_SCAN_MAYBE ? AR_SCAN_SUBSTITUTIONS : mode_inside(r));
}

/* Its inside has one level of backslashes more. */
static void read_backticks(struct ar_reading *r)
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
	ar_scan_put_unknown(r);
	ar_scan_text(r->s, (struct ar_str){ inside, len }, &r->words, mode_inside(r));
	r->at = end;
}

static void read_ansi(struct ar_reading *r)
{
	size_t from = r->at + 1, end = from;
	char *bytes;

	while (end < r->text.len && r->text.p[end] != '\'')
		end += r->text.p[end] == '\\' ? 2 : 1;
	end = end < r->text.len ? end : r->text.len;
	bytes = ar_arena_alloc(r->s->a, end - from + 1);
	ar_scan_put_all(r, (struct ar_str){ bytes,
					    ar_unquote_ansi(ar_str_sub(r->text, from, end - from), bytes) });
	r->has_word = r->has_quotes = true;
	r->at = end;
}

/* Names by which a person says which tool to use; nothing but the environment sets them. */
static bool is_tool_name(struct ar_reading *r, struct ar_str name)
{
	return !ar_variables_find(&r->s->variables, name) &&
	       ar_danger_fits(name, "CC CXX CPP LD AR MAKE PYTHON PYTHON3 NODE NPM GO CARGO JAVA");
}

static bool is_plain(struct ar_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!ar_scan_is_name_byte(text.p[i]) && !strchr("./-+", text.p[i]))
			return false;
	}
	return text.len > 0;
}

/* ${name}, ${name:-words}: the variable, and the words as a text. */
static void read_parameter(struct ar_reading *r)
{
	size_t end = closing(r->text, r->at, '{', '}');
	struct ar_str inside = ar_str_sub(r->text, r->at + 1, end - r->at - 1), words;
	size_t name = 0;

	while (name < inside.len && ar_scan_is_name_byte(inside.p[name]))
		name++;
	if (name == 0 && inside.len == 1)
		name = 1; /* ${@} */
	if (name == inside.len) {
		ar_scan_put_variable(r, inside);
	} else if (name == 0 && inside.p[0] == '#') {
		ar_scan_put(r, '1');
	} else {
		const struct ar_variable *v =
			ar_variables_find(&r->s->variables, ar_str_sub(inside, 0, name));

		words = ar_str_sub(inside, name + (inside.p[name] == ':') + 1, inside.len);
		if (ar_str_starts(ar_str_sub(inside, name, 2), AR_STR(":-")) && is_plain(words) &&
		    is_tool_name(r, ar_str_sub(inside, 0, name))) {
			ar_scan_put_all(r, words);
		} else {
			for (size_t i = 0; v && i < v->text.len; i++)
				ar_scan_put_byte(r, v->text.p[i]);
			ar_scan_put_unknown(r);
		}
		ar_scan_text(r->s, words, &r->words,
			     r->mode == AR_SCAN_MAYBE ? AR_SCAN_MAYBE : AR_SCAN_SUBSTITUTIONS);
	}
	r->at = end;
}

static void read_dollar(struct ar_reading *r)
{
	char after = r->at + 1 < r->text.len ? r->text.p[r->at + 1] : 0;
	size_t from = ++r->at, end = from;

	if (after == '(') {
		read_substitution(r);
	} else if (after == '{') {
		read_parameter(r);
	} else if (after == '\'' && !r->in_quotes) {
		read_ansi(r);
	} else if (after == '"' && !r->in_quotes) {
		r->at--; /* $"..." is "..." */
	} else if (after && strchr("?#$!@*-", after)) {
		ar_scan_put_variable(r, ar_str_sub(r->text, from, 1));
	} else if (!ar_scan_is_name_byte(after)) {
		ar_scan_put_shape(r, '$');
		if (after == '[')
			ar_scan_put_unknown(r);
		r->at--;
	} else {
		while (end < r->text.len && ar_scan_is_name_byte(r->text.p[end]))
			end++;
		if (after >= '0' && after <= '9')
			end = from + 1;
		ar_scan_put_variable(r, ar_str_sub(r->text, from, end - from));
		r->at = end - 1;
	}
}

/* The number of a stream before < or > is no word of the command. */
static void end_word_before_redirect(struct ar_reading *r)
{
	bool is_number = r->has_word && r->len > 0 && !r->has_quotes;

	for (size_t i = 0; i < r->len; i++)
		is_number = is_number && r->word[i] >= '0' && r->word[i] <= '9';
	ar_scan_end_word(r);
	r->own.count -= is_number && r->own.count > 0;
}

/* The word that ends a here-document is not expanded; one that looks as if it were is not followed. */
static void check_end_word(struct ar_reading *r)
{
	size_t at = r->at + 1;

	while (at < r->text.len && (r->text.p[at] == ' ' || r->text.p[at] == '\t'))
		at++;
	for (; at < r->text.len && !strchr(" \t\n;&|<>)", r->text.p[at]); at++) {
		if (!ar_scan_is_name_byte(r->text.p[at]) && !strchr("'\"\\-.", r->text.p[at]))
			ar_scan_unreadable(r->s, AR_STR("a here-document"));
	}
}

/* <(...), >(...), and what leads somewhere. */
static void read_redirect(struct ar_reading *r)
{
	char first = r->text.p[r->at];
	size_t from = r->at, len;

	if (r->at + 1 < r->text.len && r->text.p[r->at + 1] == '(') {
		r->at++;
		ar_scan_put_all(r, AR_STR("/dev/fd/63"));
		r->s->is_fed = first == '>';
		read_bracket(r, '(', ')', mode_inside(r));
		return;
	}
	end_word_before_redirect(r);
	while (r->at + 1 < r->text.len && strchr("<>&|-", r->text.p[r->at + 1]) && r->text.p[r->at + 1])
		r->at++;
	if (r->text.p[r->at] == '&' && r->at + 1 < r->text.len && r->text.p[r->at + 1] >= '0' &&
	    r->text.p[r->at + 1] <= '9') {
		r->at++; /* 2>&1 */
		return;
	}
	len = r->at + 1 - from;
	r->redirect = first;
	if (len > 1 && r->text.p[from + 1] == '>')
		r->redirect = '>';
	else if (first == '<' && len > 1 && r->text.p[from + 1] == '<')
		r->redirect = len > 2 && r->text.p[from + 2] == '<' ? 's' : 'h';
	if (r->redirect == 'h' && r->mode != AR_SCAN_MAYBE)
		check_end_word(r);
}

static void read_single_quotes(struct ar_reading *r)
{
	r->has_word = r->has_quotes = true;
	for (r->at++; r->at < r->text.len && r->text.p[r->at] != '\''; r->at++)
		ar_scan_put(r, r->text.p[r->at]);
}

static void read_backslash(struct ar_reading *r)
{
	if (++r->at < r->text.len && r->text.p[r->at] != '\n')
		ar_scan_put(r, r->text.p[r->at]);
	r->has_quotes = true;
}

/* x=(a b): the words of a list. What it holds is not known as one value. */
static bool read_array(struct ar_reading *r, char c)
{
	if (c != '(' || r->len == 0 || r->word[r->len - 1] != '=' || r->text.p[r->at - 1] != '=')
		return false;
	ar_scan_put_shape(r, AR_ANY_WORDS);
	read_bracket(r, '(', ')', r->mode == AR_SCAN_MAYBE ? AR_SCAN_MAYBE : AR_SCAN_SUBSTITUTIONS);
	return true;
}

/* ( ) */
static bool is_empty_list(const struct ar_reading *r)
{
	size_t at = r->at + 1;

	while (at < r->text.len && (r->text.p[at] == ' ' || r->text.p[at] == '\t'))
		at++;
	return at < r->text.len && r->text.p[at] == ')';
}

/* A brace that stands alone begins a group of commands: function f { ...; } */
static bool begins_group(const struct ar_reading *r, char c)
{
	return c == '{' && !r->has_word && r->own.count > 0 && r->at + 1 < r->text.len &&
	       strchr(" \t\n", r->text.p[r->at + 1]);
}

static void count_parens(struct ar_reading *r, char c)
{
	if (r->expects_pattern && c == '(')
		return;
	if (c == '(') {
		r->parens++;
		if (is_empty_list(r))
			r->s->has_arguments = true; /* a function */
	} else if (c == ')') {
		r->is_pattern = r->parens == 0 || r->expects_pattern; /* of a case */
		r->parens -= r->parens > 0 && !r->expects_pattern;
	}
}

/* Outside of quotes: between words and between commands. */
static bool read_separator(struct ar_reading *r, char c)
{
	bool is_double = r->at + 1 < r->text.len && r->text.p[r->at + 1] == c;

	if (c == '{' && r->at + 1 < r->text.len && r->text.p[r->at + 1] == '}') {
		ar_scan_put_shape(r, '{'); /* find and xargs put something in its place */
		ar_scan_put_shape(r, '}');
		r->at++;
		return true;
	}
	if (c == '{' || c == '}')
		r->braces += c == '{' ? 1 : -1;
	if (begins_group(r, c)) {
		ar_scan_end_command(r);
		return true;
	}
	if (c == ' ' || c == '\t' || c == '\r' || c == '{' || c == '}' || (c == ',' && r->braces > 0)) {
		ar_scan_end_word(r);
		return true;
	}
	if (!c || !strchr("\n;&|()", c))
		return false;
	if (read_array(r, c))
		return true;
	count_parens(r, c);
	r->is_next_piped = c == '|' && !is_double && !(r->at > 0 && r->text.p[r->at - 1] == '|');
	ar_scan_end_command(r);
	if (c == ')')
		r->expects_pattern = false;
	else if (r->cases > 0 && r->at > 0 && r->text.p[r->at - 1] == ';' && (c == ';' || c == '&'))
		r->expects_pattern = true;
	if (c == '\n' && r->heredoc_count > 0) {
		r->at++;
		read_heredocs(r);
		r->at--;
	}
	return true;
}

static void turn_quotes(struct ar_reading *r)
{
	r->in_quotes = !r->in_quotes;
	r->has_word = r->has_quotes = true;
}

/* [ is a glob when it closes within the word. */
static bool is_glob(const struct ar_reading *r, char c)
{
	if (c != '[')
		return c == '*' || c == '?';
	for (size_t i = r->at + 1; i < r->text.len && !strchr(" \t\n;&|()<>", r->text.p[i]); i++) {
		if (r->text.p[i] == ']' || i == r->at + GLOB_MAX)
			return i > r->at + 1;
	}
	return false;
}

static void read_plain(struct ar_reading *r, char c)
{
	bool is_first = r->shape_len == 0; /* such a glob may be options */

	ar_scan_put_byte(r, c);
	ar_scan_put_shape(r, !is_glob(r, c) ? c : is_first ? AR_ANY_WORDS : AR_ANY_PART);
}

/* From a # at the beginning of a word to the end of the line nothing runs: read, but not looked through. */
static bool read_comment(struct ar_reading *r, char c)
{
	size_t end;

	if (c != '#' || r->has_word || r->mode == AR_SCAN_MAYBE)
		return false;
	for (end = r->at; end < r->text.len && r->text.p[end] != '\n';)
		end++;
	ar_scan_text(r->s, ar_str_sub(r->text, r->at + 1, end - r->at - 1), NULL, AR_SCAN_MAYBE);
	r->at = end - 1;
	return true;
}

static void read_byte(struct ar_reading *r)
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
		ar_scan_put(r, c);
	else if (c == '\'')
		read_single_quotes(r);
	else if (c == '<' || c == '>')
		read_redirect(r);
	else if (!read_comment(r, c) && !read_separator(r, c))
		read_plain(r, c);
}

bool ar_scan_afford(struct ar_scan *s, size_t bytes)
{
	s->work += bytes;
	return s->work <= WORK_MAX;
}

void ar_scan_text(struct ar_scan *s, struct ar_str text, struct ar_words *outer, enum ar_scan_mode mode)
{
	struct ar_reading r = { .s = s, .outer = outer, .mode = mode, .is_piped = s->is_fed };
	struct ar_variables before = s->variables; /* what perhaps does not run assigns nothing */
	bool was_maybe = s->is_maybe;

	s->is_fed = false;
	if (!ar_scan_afford(s, text.len + AR_SCAN_WORD_SPARE) || s->depth == AR_COMMAND_DEPTH_MAX ||
	    text.len > AR_COMMAND_TEXT_MAX) {
		ar_scan_unreadable(s, ar_str_utf8_prefix(text, 32));
		return;
	}
	s->depth++;
	s->is_maybe = mode == AR_SCAN_MAYBE;
	r.text = ar_prepare_braces(text, s->a);
	r.room = r.text.len + AR_SCAN_WORD_SPARE;
	r.word = ar_arena_alloc(s->a, r.room);
	r.shape = ar_arena_alloc(s->a, r.room);
	for (; r.at < r.text.len; r.at++)
		read_byte(&r);
	ar_scan_end_command(&r);
	s->depth--;
	s->is_maybe = was_maybe;
	if (mode == AR_SCAN_MAYBE)
		s->variables = before;
}

void ar_command_scan(struct ar_str text, struct ar_arena *a, struct ar_command_line *ret)
{
	struct ar_scan s = { .a = a, .out = ret };

	ar_scan_text(&s, text, NULL, AR_SCAN_COMMANDS);
	if (text.len > AR_COMMAND_TEXT_MAX)
		return;
	ar_prepare_check_bytes(text, ret);
	ar_danger_check_bomb(text, a, ret);
}

void ar_danger_scan_argv(const struct ar_str *argv, size_t argc, struct ar_arena *a,
			 struct ar_command_line *c)
{
	struct ar_scan s = { .a = a, .out = c };
	struct ar_reading r = { .s = &s, .mode = AR_SCAN_COMMANDS };

	for (size_t i = 0; i < argc; i++) {
		ar_words_add(&r.words, argv[i], a);
		ar_words_add(&r.own, argv[i], a);
		ar_scan_text(&s, argv[i], &r.words, AR_SCAN_MAYBE);
	}
	ar_scan_end_command(&r);
}
