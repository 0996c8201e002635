/* See lexer.h. Words are looked up in one text with blanks around each: the tables stay readable, and
 * lines of code are short. */
#include "lexer.h"

#include <ctype.h>
#include <string.h>

struct ar_language {
	const char *names; /* with a blank around each */
	const char *keywords; /* likewise */
	const char *comment; /* to the end of the line; NULL = none */
	const char *comment_open, *comment_close; /* over several lines; NULL = none */
	const char *quotes; /* characters that begin and end a text */
	bool is_caseless; /* keywords */
	bool is_diff; /* the first character of a line says what it is */
};

#define C_WORDS \
	" auto break case char const continue default do double else enum extern float for goto if inline " \
	"int " \
	"long return short signed sizeof static struct switch typedef union unsigned void volatile while " \
	"bool " \
	"true false NULL "

static const struct ar_language languages[] = {
	{ " c h ", C_WORDS, "//", "/*", "*/", "\"'", false, false },
	{ " cpp c++ cc cxx hpp ",
	  C_WORDS
	  "class namespace template typename public private protected virtual override new delete this "
	  "using try catch throw nullptr constexpr explicit friend operator ",
	  "//", "/*", "*/", "\"'", false, false },
	{ " js javascript jsx ts typescript tsx mjs ",
	  " async await break case catch class const continue default delete do else export extends false "
	  "finally for from function if import in instanceof interface let new null of return static super "
	  "switch this throw true try type typeof undefined var void while yield ",
	  "//", "/*", "*/", "\"'`", false, false },
	{ " py python ",
	  " and as assert async await break class continue def del elif else except False finally for from "
	  "global if import in is lambda None nonlocal not or pass raise return self True try while with "
	  "yield ",
	  "#", NULL, NULL, "\"'", false, false },
	{ " go golang ",
	  " break case chan const continue default defer else fallthrough false for func go goto if import "
	  "interface map nil package range return select struct switch true type var ",
	  "//", "/*", "*/", "\"'`", false, false },
	{ " rs rust ",
	  " as async await break const continue crate dyn else enum extern false fn for if impl in let loop "
	  "match mod move mut pub ref return self Self static struct super trait true type unsafe use where "
	  "while ",
	  "//", "/*", "*/", "\"", false, false },
	{ " java kotlin kt scala cs csharp swift ",
	  " abstract boolean break case catch class const continue default do else enum extends final "
	  "finally "
	  "for fun func guard if implements import int interface let long namespace new null object override "
	  "package private protected public return static super switch this throw throws try using val var "
	  "void when while ",
	  "//", "/*", "*/", "\"'", false, false },
	{ " sh bash shell zsh console ",
	  " if then else elif fi for while until do done case esac in function return exit local export set "
	  "unset cd echo test ",
	  "#", NULL, NULL, "\"'", false, false },
	{ " json jsonc ", " true false null ", "//", NULL, NULL, "\"", false, false },
	{ " yaml yml toml ini conf ", " true false null yes no ", "#", NULL, NULL, "\"'", false, false },
	{ " sql ",
	  " select from where and or not insert into values update set delete create table index view drop "
	  "alter add primary key foreign references join left right inner outer on group by order having "
	  "limit offset as distinct union all null is in exists case when then else end begin commit ",
	  "--", "/*", "*/", "'\"", true, false },
	{ " rb ruby ",
	  " begin break case class def do else elsif end ensure false for if in module next nil not or redo "
	  "rescue retry return self super then true undef unless until when while yield ",
	  "#", NULL, NULL, "\"'", false, false },
	{ " php ", C_WORDS "function echo foreach as class public private protected new use namespace null ",
	  "//", "/*", "*/", "\"'", false, false },
	{ " css scss ", " ", NULL, "/*", "*/", "\"'", false, false },
	{ " html xml svg ", " ", NULL, "<!--", "-->", "\"", false, false },
	{ " make makefile dockerfile cmake ", " ifeq ifneq else endif include FROM RUN COPY ENV CMD ", "#",
	  NULL, NULL, "\"'", false, false },
	{ " diff patch ", " ", NULL, NULL, NULL, "", false, true },
};

/* Whether `list` has the word, as the language reads case. */
static bool has_word(const char *list, struct ar_str word, bool is_caseless)
{
	char key[40];

	if (!word.len || word.len + 3 > sizeof(key) || memchr(word.p, ' ', word.len))
		return false;
	key[0] = key[word.len + 1] = ' ';
	key[word.len + 2] = '\0';
	for (size_t i = 0; i < word.len; i++)
		key[i + 1] = is_caseless ? (char)tolower((unsigned char)word.p[i]) : word.p[i];
	return strstr(list, key) != NULL;
}

struct ar_lexer ar_lexer(struct ar_str name)
{
	struct ar_str word = ar_str_trim(name, " \t\r{"), first;

	ar_str_split(word, ' ', &first);
	for (size_t i = 0; i < AR_ARRAY_LEN(languages); i++) {
		if (has_word(languages[i].names, first, true))
			return (struct ar_lexer){ .language = &languages[i] };
	}
	return (struct ar_lexer){ 0 };
}

/* ---- pieces of a line ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t word_len(struct ar_str s)
{
	size_t len = 0;

	while (len < s.len && is_word(s.p[len]))
		len++;
	return len;
}

/* To the closing quote, or to the end of the line. */
static size_t quoted_len(struct ar_str s)
{
	size_t len = 1;

	while (len < s.len && s.p[len] != s.p[0])
		len += s.p[len] == '\\' && len + 1 < s.len ? 2 : 1;
	return len < s.len ? len + 1 : s.len;
}

/* To the end of the comment; whether it is open at the end of the line. */
static size_t comment_len(struct ar_lexer *l, struct ar_str s, size_t from)
{
	const char *close = l->language->comment_close;
	const char *at = s.len > from ? memmem(s.p + from, s.len - from, close, strlen(close)) : NULL;

	l->is_in_comment = !at;
	return at ? (size_t)(at - s.p) + strlen(close) : s.len;
}

/* The piece that the text begins with: its length and its style. */
static size_t next_piece(struct ar_lexer *l, struct ar_str s, enum ar_style *ret)
{
	const struct ar_language *g = l->language;
	size_t len;

	*ret = AR_STYLE_DIM;
	if (l->is_in_comment)
		return comment_len(l, s, 0);
	if (g->comment && ar_str_starts(s, ar_str_from(g->comment)))
		return s.len;
	if (g->comment_open && ar_str_starts(s, ar_str_from(g->comment_open)))
		return comment_len(l, s, strlen(g->comment_open));
	*ret = AR_STYLE_GREEN;
	if (strchr(g->quotes, s.p[0]) && s.p[0])
		return quoted_len(s);
	len = word_len(s);
	*ret = AR_STYLE_PLAIN;
	if (!len)
		return 1;
	if (isdigit((unsigned char)s.p[0]))
		*ret = AR_STYLE_CYAN;
	else if (has_word(g->keywords, ar_str_sub(s, 0, len), g->is_caseless))
		*ret = AR_STYLE_MAGENTA;
	return len;
}

static enum ar_style diff_style(struct ar_str line)
{
	char first = line.len ? line.p[0] : ' ';

	return first == '+'   ? AR_STYLE_GREEN
	       : first == '-' ? AR_STYLE_RED
	       : first == '@' ? AR_STYLE_CYAN
			      : AR_STYLE_PLAIN;
}

static void add_piece(struct ar_buf *to, enum ar_style style, struct ar_str text)
{
	if (style == AR_STYLE_PLAIN)
		ar_text_add(to, text);
	else
		ar_text_add_styled(to, style, text);
}

/* Pieces without a style are joined: one byte of a character of several is no text. */
void ar_lexer_line(struct ar_lexer *l, struct ar_str line, struct ar_buf *to)
{
	struct ar_buf code = { 0 };
	struct ar_str s;
	size_t begin = 0, at = 0;

	ar_text_add_code(&code, line);
	s = ar_buf_str(&code);
	if (!l->language || l->language->is_diff) {
		add_piece(to, l->language ? diff_style(s) : AR_STYLE_PLAIN, s);
		at = begin = s.len;
	}
	while (at < s.len) {
		enum ar_style style;
		size_t len = next_piece(l, ar_str_sub(s, at, s.len), &style);

		if (style != AR_STYLE_PLAIN) {
			add_piece(to, AR_STYLE_PLAIN, ar_str_sub(s, begin, at - begin));
			add_piece(to, style, ar_str_sub(s, at, len));
			begin = at + len;
		}
		at += len;
	}
	add_piece(to, AR_STYLE_PLAIN, ar_str_sub(s, begin, s.len));
	ar_buf_fini(&code);
}
