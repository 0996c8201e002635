/* The strict reading: a text is literal when every byte of it means the same to every shell, namely
 * itself. Words of plain bytes and of quotes without expansions; `;`, `&&`, `||`, `|` and newlines
 * between commands; nothing else. What makes later words mean something else (assignments, reserved
 * words, builtins that evaluate or define) is refused where a command begins. Checked against bash and
 * dash by test/unit/command. Pure. */
#include "command.h"

#include <string.h>

enum token {
	TOKEN_BAD,
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_NEWLINE,
	TOKEN_SEQUENCE,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_PIPE,
};

struct reader {
	struct ar_str text;
	size_t at;
	struct ar_str *words; /* of all commands, one after the other */
	size_t word_count, first; /* `first`: of the command that is being read */
	char *bytes; /* of the words; as long as the text with room for their ends */
	size_t used;
	struct ar_command_line *out;
	enum ar_command_join join;
	bool must_follow; /* after && || | */
	const char *why;
};

/* ---- bytes ---- */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != 0 && strchr("_./:@%+,=-", c)) || (unsigned char)c >= 0x80;
}

/* Control bytes are kept out: shells use some of them for themselves. */
static bool is_quotable(char c)
{
	return ((unsigned char)c >= 0x20 && c != 0x7f) || c == '\t' || c == '\n';
}

static bool ends_word(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|';
}

static bool fail(struct reader *r, const char *why)
{
	r->why = why;
	return false;
}

static char peek(const struct reader *r, size_t ahead)
{
	return r->at + ahead < r->text.len ? r->text.p[r->at + ahead] : 0;
}

/* ---- words ---- */

static bool read_quoted(struct reader *r, char quote)
{
	const char *forbidden = quote == '"' ? "$`\\!" : "";

	for (r->at++; r->at < r->text.len; r->at++) {
		char c = r->text.p[r->at];

		if (c == quote) {
			r->at++;
			return true;
		}
		if (!is_quotable(c))
			return fail(r, "a control byte");
		if (strchr(forbidden, c))
			return fail(r, "an expansion inside quotes");
		r->bytes[r->used++] = c;
	}
	return fail(r, "a quote that does not end");
}

static const char *what_it_is(char c)
{
	static const struct {
		const char *bytes, *what;
	} kinds[] = {
		{ "$`", "an expansion" },  { "*?[]", "a glob" },   { "{}", "a brace" },
		{ "<>", "a redirection" }, { "()", "a subshell" }, { "\\", "a backslash" },
		{ "~", "a tilde" },	   { "#", "a comment" },   { "!^", "a history mark" },
	};

	for (size_t i = 0; c && i < AR_ARRAY_LEN(kinds); i++) {
		if (strchr(kinds[i].bytes, c))
			return kinds[i].what;
	}
	return "a control byte";
}

static enum token read_word(struct reader *r)
{
	size_t start = r->used;

	while (r->at < r->text.len && !ends_word(r->text.p[r->at])) {
		char c = r->text.p[r->at];

		if (c == '\'' || c == '"') {
			if (!read_quoted(r, c))
				return TOKEN_BAD;
		} else if (is_plain(c)) {
			r->bytes[r->used++] = c;
			r->at++;
		} else {
			fail(r, what_it_is(c));
			return TOKEN_BAD;
		}
	}
	if (r->word_count == AR_COMMAND_WORDS_MAX) {
		fail(r, "too many words");
		return TOKEN_BAD;
	}
	r->words[r->word_count++] = (struct ar_str){ r->bytes + start, r->used - start };
	r->bytes[r->used++] = 0;
	return TOKEN_WORD;
}

static enum token skip_token(struct reader *r, size_t len, enum token token)
{
	r->at += len;
	return token;
}

static enum token next_token(struct reader *r)
{
	char c, after;

	while (peek(r, 0) == ' ' || peek(r, 0) == '\t')
		r->at++;
	if (r->at == r->text.len)
		return TOKEN_END;
	c = peek(r, 0);
	after = peek(r, 1);
	if (c == '\n')
		return skip_token(r, 1, TOKEN_NEWLINE);
	if (c == ';' && after != ';' && after != '&')
		return skip_token(r, 1, TOKEN_SEQUENCE);
	if (c == '&' && after == '&')
		return skip_token(r, 2, TOKEN_AND);
	if (c == '|' && after == '|')
		return skip_token(r, 2, TOKEN_OR);
	if (c == '|' && after != '&')
		return skip_token(r, 1, TOKEN_PIPE);
	if (!ends_word(c))
		return read_word(r);
	fail(r, "an operator that is none of ; && || |");
	return TOKEN_BAD;
}

/* ---- commands ---- */

/* Reserved words; builtins that define, evaluate, or change how later words are read. */
static const char *const unplain[] = {
	".",	   ":",	      "alias",	   "bg",       "bind",	   "break",  "builtin",	 "case",
	"command", "compgen", "complete",  "compopt",  "continue", "coproc", "declare",	 "disown",
	"do",	   "done",    "elif",	   "else",     "enable",   "esac",   "eval",	 "exec",
	"exit",	   "export",  "fc",	   "fg",       "fi",	   "for",    "function", "getopts",
	"hash",	   "history", "if",	   "in",       "jobs",	   "let",    "local",	 "logout",
	"mapfile", "read",    "readarray", "readonly", "return",   "select", "set",	 "shift",
	"shopt",   "source",  "suspend",   "then",     "time",	   "times",  "trap",	 "typeset",
	"ulimit",  "umask",   "unalias",   "unset",    "until",	   "wait",   "while",
};

/* Builtins that evaluate the name after -v. */
static bool evaluates_name(const struct ar_str *words, size_t count)
{
	if (!ar_str_is(words[0], "printf") && !ar_str_is(words[0], "test"))
		return false;
	for (size_t i = 1; i < count; i++) {
		if (ar_str_starts(words[i], AR_STR("-v")) || ar_str_is(words[i], "-R"))
			return true;
	}
	return false;
}

static bool is_plain_command(struct reader *r, const struct ar_str *words, size_t count)
{
	struct ar_str name = words[0];

	if (ar_str_empty(name))
		return fail(r, "a command without a name");
	if (memchr(name.p, '=', name.len))
		return fail(r, "an assignment");
	if (name.p[0] == '%')
		return fail(r, "a job");
	for (size_t i = 0; i < AR_ARRAY_LEN(unplain); i++) {
		if (ar_str_is(name, unplain[i]))
			return fail(r, "a word of the shell itself");
	}
	return !evaluates_name(words, count) || fail(r, "a builtin that evaluates its argument");
}

static bool finish_command(struct reader *r)
{
	struct ar_str *words = r->words + r->first;
	size_t count = r->word_count - r->first;

	if (count == 0)
		return fail(r, "an empty command");
	if (!is_plain_command(r, words, count))
		return false;
	r->out->commands[r->out->count++] = (struct ar_command_argv){ words, count, r->join };
	r->first = r->word_count;
	r->join = AR_JOIN_SEQUENCE;
	r->must_follow = false;
	return true;
}

/* A newline ends a command, or stands where one may begin. */
static bool on_newline(struct reader *r)
{
	return r->word_count == r->first || finish_command(r);
}

static bool on_operator(struct reader *r, enum token token)
{
	static const enum ar_command_join joins[] = { [TOKEN_SEQUENCE] = AR_JOIN_SEQUENCE,
						      [TOKEN_AND] = AR_JOIN_AND,
						      [TOKEN_OR] = AR_JOIN_OR,
						      [TOKEN_PIPE] = AR_JOIN_PIPE };

	if (!finish_command(r))
		return false;
	r->join = joins[token];
	r->must_follow = token != TOKEN_SEQUENCE;
	return true;
}

static bool on_end(struct reader *r)
{
	if (r->word_count == r->first)
		return !r->must_follow || fail(r, "an operator without a command after it");
	return finish_command(r);
}

static bool read_all(struct reader *r)
{
	for (;;) {
		enum token token = next_token(r);

		if (token == TOKEN_BAD)
			return false;
		if (token == TOKEN_END)
			return on_end(r);
		if (token == TOKEN_WORD)
			continue;
		if (!(token == TOKEN_NEWLINE ? on_newline(r) : on_operator(r, token)))
			return false;
	}
}

void ar_command_read_literal(struct ar_str text, struct ar_arena *a, struct ar_command_line *ret)
{
	struct reader r = { .text = text, .out = ret, .join = AR_JOIN_SEQUENCE };
	size_t words;

	ret->is_opaque = true;
	ret->why = "it is too long";
	if (text.len > AR_COMMAND_TEXT_MAX)
		return;
	ret->why = "it is not UTF-8";
	if (!ar_str_is_utf8(text))
		return;
	words = text.len / 2 + 1; /* there is a byte between two */
	words = words < AR_COMMAND_WORDS_MAX ? words : AR_COMMAND_WORDS_MAX;
	r.words = ar_arena_alloc(a, words * sizeof(*r.words));
	r.bytes = ar_arena_alloc(a, 2 * text.len + 1);
	ret->commands = ar_arena_alloc(a, words * sizeof(*ret->commands));
	ret->is_opaque = !read_all(&r);
	ret->why = ret->is_opaque ? r.why : NULL;
	if (ret->is_opaque)
		ret->count = 0;
}
