/* A text before its words are read: bytes that show one thing and mean another, and brace expansion,
 * which a shell does before all others. Only text: quotes stay as they are. Pure. */
#include "danger.h"

#include <string.h>

#define WORDS_MAX 64 /* that the braces of one word may make */
#define RANGE_MAX 32
#define OUT_MAX 16384 /* bytes that braces may add to a text */
#define BRACES_MAX 16 /* of one word */

/* ---- bytes ---- */

/* The first two or three bytes of characters that look like a blank or like nothing. */
static const char *const hidden[] = {
	"\xc2\xa0",	"\xc2\xad",	"\xe1\x9a\x80", "\xe1\xa0\x8e", "\xe2\x80\x80", "\xe2\x80\x81",
	"\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87",
	"\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\x8b", "\xe2\x80\xa8", "\xe2\x80\xa9",
	"\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80", "\xef\xbb\xbf",
};

/* Marks that turn the direction of what follows: what is shown is not the order of the bytes. */
static const char *const turning[] = {
	"\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xab", "\xe2\x80\xac", "\xe2\x80\xad",
	"\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa7", "\xe2\x81\xa8", "\xe2\x81\xa9",
};

static bool is_one(struct ar_str rest, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ar_str_starts(rest, ar_str_from(list[i])))
			return true;
	}
	return false;
}

void ar_prepare_check_bytes(struct ar_str text, struct ar_command_line *c)
{
	char quote = 0;

	for (size_t i = 0; i < text.len; i++) {
		unsigned char byte = (unsigned char)text.p[i];

		if ((byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7f)
			ar_danger_raise(c, AR_DANGER_UNREADABLE, AR_STR("a control byte"));
		else if (byte >= 0x80 &&
			 (is_one(ar_str_sub(text, i, 4), turning, AR_ARRAY_LEN(turning)) ||
			  (!quote && is_one(ar_str_sub(text, i, 4), hidden, AR_ARRAY_LEN(hidden)))))
			ar_danger_raise(c, AR_DANGER_UNREADABLE, AR_STR("a character that is not seen"));
		else if (byte == '\\' && quote != '\'')
			i++;
		else if (quote ? byte == (unsigned char)quote : byte == '\'' || byte == '"')
			quote = quote ? 0 : (char)byte;
	}
}

/* ---- where a word ends ---- */

/* One unit of a word from `at` on: a quoted part, an expansion, an escaped byte, or a byte. */
static size_t unit_len(struct ar_str t, size_t at)
{
	char c = t.p[at], open = 0, close = 0;
	size_t end = at + 1, depth = 0;

	if (c == '\\')
		return at + 1 < t.len ? 2 : 1;
	if (c == '\'' || c == '"' || c == '`') {
		while (end < t.len && t.p[end] != c)
			end += t.p[end] == '\\' && c != '\'' ? 2 : 1;
		return (end < t.len ? end + 1 : t.len) - at;
	}
	if (c != '$' || end == t.len || (t.p[end] != '(' && t.p[end] != '{'))
		return 1;
	open = t.p[end];
	close = open == '(' ? ')' : '}';
	while (end < t.len) {
		if (t.p[end] == open)
			depth++;
		if (t.p[end] == close && --depth == 0)
			return end + 1 - at;
		end += t.p[end] == open || t.p[end] == close || t.p[end] == '$' ? 1 : unit_len(t, end);
	}
	return t.len - at;
}

static bool ends_word(char c)
{
	return !c || strchr(" \t\n\r;&|()<>", c);
}

/* ---- braces ---- */

struct piece {
	struct ar_str before, inside, after; /* of the first brace that expands */
};

/* Where the brace that opens at `from` closes; the length when it does not. `*ret_comma`:
 * there is a comma of its own. */
static size_t closing_brace(struct ar_str word, size_t from, bool *ret_comma)
{
	size_t depth = 0;

	*ret_comma = false;
	for (size_t i = from; i < word.len; i += unit_len(word, i)) {
		if (word.p[i] == '{')
			depth++;
		else if (word.p[i] == ',' && depth == 1)
			*ret_comma = true;
		else if (word.p[i] == '}' && --depth == 0)
			return i;
	}
	return word.len;
}

static bool has_dots(struct ar_str inside)
{
	for (size_t i = 0; i + 1 < inside.len; i++) {
		if (inside.p[i] == '.' && inside.p[i + 1] == '.')
			return true;
	}
	return false;
}

static bool find_brace(struct ar_str word, struct piece *ret)
{
	size_t tried = 0;

	for (size_t i = 0; i < word.len && tried < BRACES_MAX; i += unit_len(word, i)) {
		bool has_comma;
		size_t end;

		if (word.p[i] != '{')
			continue;
		tried++;
		end = closing_brace(word, i, &has_comma);
		if (end == word.len)
			continue;
		*ret = (struct piece){ ar_str_sub(word, 0, i), ar_str_sub(word, i + 1, end - i - 1),
				       ar_str_sub(word, end + 1, word.len) };
		if (has_comma || has_dots(ret->inside))
			return true;
	}
	return false;
}

/* More braces than are looked at. */
static bool has_many(struct ar_str word)
{
	size_t count = 0;

	for (size_t i = 0; i < word.len && count <= BRACES_MAX; i += unit_len(word, i))
		count += word.p[i] == '{';
	return count > BRACES_MAX;
}

struct braces {
	struct ar_arena *a;
	struct ar_buf out;
	size_t words, added;
	bool is_too_much;
};

static void expand(struct braces *b, struct ar_str word, int depth);

static void add_word(struct braces *b, struct ar_str word)
{
	b->added += word.len + 1;
	b->is_too_much = b->is_too_much || b->words++ == WORDS_MAX || b->added > OUT_MAX;
	if (b->is_too_much)
		return;
	ar_buf_adds(&b->out, word);
	ar_buf_addc(&b->out, ' ');
}

static void expand_with(struct braces *b, const struct piece *p, struct ar_str middle, int depth)
{
	if (b->is_too_much)
		return;
	expand(b,
	       ar_arena_fmt(b->a, "%.*s%.*s%.*s", AR_STR_ARG(p->before), AR_STR_ARG(middle),
			    AR_STR_ARG(p->after)),
	       depth + 1);
}

/* a..e and 1..9; a long one, or one with a step, is anything. */
static void expand_range(struct braces *b, const struct piece *p, int depth)
{
	struct ar_str in = p->inside;
	char one[2] = { AR_ANY_PART, 0 };

	if (in.len == 4 && in.p[1] == '.' && in.p[2] == '.' && in.p[0] <= in.p[3] &&
	    in.p[3] - in.p[0] < RANGE_MAX) {
		for (one[0] = in.p[0]; one[0] <= in.p[3]; one[0]++)
			expand_with(b, p, (struct ar_str){ one, 1 }, depth);
		return;
	}
	expand_with(b, p, (struct ar_str){ one, 1 }, depth);
}

static void expand_list(struct braces *b, const struct piece *p, int depth)
{
	size_t from = 0, nested = 0;

	for (size_t i = 0; i <= p->inside.len && !b->is_too_much;
	     i += i < p->inside.len ? unit_len(p->inside, i) : 1) {
		char c = i < p->inside.len ? p->inside.p[i] : ',';

		if (c == '{') {
			nested++;
		} else if (c == '}' && nested > 0) {
			nested--;
		} else if (c == ',' && (nested == 0 || i == p->inside.len)) {
			expand_with(b, p, ar_str_sub(p->inside, from, i - from), depth);
			from = i + 1;
		}
	}
}

static void expand(struct braces *b, struct ar_str word, int depth)
{
	struct piece p;
	bool has_comma;

	b->is_too_much = b->is_too_much || depth > AR_COMMAND_DEPTH_MAX || has_many(word);
	if (b->is_too_much)
		return;
	if (!find_brace(word, &p)) {
		add_word(b, word);
		return;
	}
	closing_brace(word, p.before.len, &has_comma);
	if (has_comma)
		expand_list(b, &p, depth);
	else
		expand_range(b, &p, depth);
}

/* One word of the text, as it is or as what its braces make of it. */
static void take_word(struct braces *b, struct ar_str word)
{
	size_t start = b->out.len;
	struct piece p;

	b->words = 0;
	if (!memchr(word.p, '{', word.len) || (!has_many(word) && !find_brace(word, &p))) {
		ar_buf_adds(&b->out, word);
		return;
	}
	expand(b, word, 0);
	if (b->is_too_much) {
		b->out.len = start;
		ar_buf_addc(&b->out, AR_ANY_WORDS);
	}
	b->is_too_much = false;
}

/* << and <<< : what follows is not expanded. */
static bool is_after_document(struct ar_str text, size_t at)
{
	while (at > 0 && (text.p[at - 1] == ' ' || text.p[at - 1] == '\t'))
		at--;
	return at > 1 && text.p[at - 1] == '<' && text.p[at - 2] == '<';
}

struct ar_str ar_prepare_braces(struct ar_str text, struct ar_arena *a)
{
	struct braces b = { .a = a };
	struct ar_str out;

	if (ar_str_empty(text) || !memchr(text.p, '{', text.len))
		return text;
	for (size_t at = 0; at < text.len;) {
		size_t end = at;

		while (end < text.len && !ends_word(text.p[end]))
			end += unit_len(text, end);
		if (end > at && is_after_document(text, at))
			ar_buf_adds(&b.out, ar_str_sub(text, at, end - at));
		else if (end > at)
			take_word(&b, ar_str_sub(text, at, end - at));
		if (end < text.len)
			ar_buf_addc(&b.out, text.p[end++]);
		at = end;
	}
	out = ar_arena_str(a, ar_buf_str(&b.out));
	ar_buf_fini(&b.out);
	return out;
}
