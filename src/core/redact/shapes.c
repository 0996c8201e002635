/* Tokens that are known by their look: a prefix and enough of the right characters after it. Each is
 * decided by a bounded number of bytes; how long the token really is does not matter, its further
 * characters are swallowed as they come. */
#include "redact_priv.h"

#include <string.h>

enum byte_class {
	CLASS_NONE,
	CLASS_WORD, /* A-Z a-z 0-9 _ */
	CLASS_DASHED, /* and - */
	CLASS_CAPITAL, /* A-Z 0-9 */
	CLASS_DOTTED, /* DASHED and . : the parts of a JWT */
	CLASS_PEM, /* the body of a key block, also in JSON text; up to its end mark */
	CLASS_USER, /* user in a URL */
	CLASS_PASSWORD, /* and password */
};

static bool is_word(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_in(enum byte_class class, unsigned char c)
{
	static const char *const more[] = { [CLASS_WORD] = "",
					    [CLASS_DASHED] = "-",
					    [CLASS_DOTTED] = "-.",
					    [CLASS_PEM] = "+/= \t\r\n\\-:," };

	switch (class) {
	case CLASS_NONE:
		return false;
	case CLASS_CAPITAL:
		return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
	case CLASS_USER:
	case CLASS_PASSWORD:
		return c > ' ' && c != 0x7F && !strchr(class == CLASS_USER ? "/:@\"'<>\\" : "/@\"'<>\\", c);
	default:
		return is_word(c) || (c != 0 && strchr(more[class], c));
	}
}

/* ---- plain ones ---- */

struct shape {
	struct ar_str prefix;
	enum ar_redact_rule rule;
	enum byte_class class;
	size_t least; /* characters after the prefix; one of them is a digit or a capital */
};

/* A longer prefix goes before its own beginning. */
static const struct shape shapes[] = {
	{ { "sk-ant-", 7 }, AR_REDACT_ANTHROPIC_KEY, CLASS_DASHED, 20 },
	{ { "sk-", 3 }, AR_REDACT_OPENAI_KEY, CLASS_DASHED, 20 },
	{ { "ghp_", 4 }, AR_REDACT_GITHUB_TOKEN, CLASS_WORD, 30 },
	{ { "gho_", 4 }, AR_REDACT_GITHUB_TOKEN, CLASS_WORD, 30 },
	{ { "ghu_", 4 }, AR_REDACT_GITHUB_TOKEN, CLASS_WORD, 30 },
	{ { "ghs_", 4 }, AR_REDACT_GITHUB_TOKEN, CLASS_WORD, 30 },
	{ { "ghr_", 4 }, AR_REDACT_GITHUB_TOKEN, CLASS_WORD, 30 },
	{ { "github_pat_", 11 }, AR_REDACT_GITHUB_TOKEN, CLASS_WORD, 30 },
	{ { "glpat-", 6 }, AR_REDACT_GITLAB_TOKEN, CLASS_DASHED, 20 },
	{ { "xoxa-", 5 }, AR_REDACT_SLACK_TOKEN, CLASS_DASHED, 20 },
	{ { "xoxb-", 5 }, AR_REDACT_SLACK_TOKEN, CLASS_DASHED, 20 },
	{ { "xoxp-", 5 }, AR_REDACT_SLACK_TOKEN, CLASS_DASHED, 20 },
	{ { "xoxr-", 5 }, AR_REDACT_SLACK_TOKEN, CLASS_DASHED, 20 },
	{ { "xoxs-", 5 }, AR_REDACT_SLACK_TOKEN, CLASS_DASHED, 20 },
	{ { "AKIA", 4 }, AR_REDACT_AWS_KEY, CLASS_CAPITAL, 16 },
	{ { "ASIA", 4 }, AR_REDACT_AWS_KEY, CLASS_CAPITAL, 16 },
	{ { "AIza", 4 }, AR_REDACT_GOOGLE_KEY, CLASS_DASHED, 35 },
	{ { "art_", 4 }, AR_REDACT_RUNTIME_TOKEN, CLASS_WORD, 60 },
};

static const struct ar_found nothing;

static struct ar_found maybe(const struct ar_rest *rest)
{
	return (struct ar_found){ .kind = rest->is_last ? AR_FOUND_NOTHING : AR_FOUND_MAYBE };
}

/* How many of the bytes at `from` are of the class, at most `most`. */
static size_t run_of(struct ar_str text, size_t from, enum byte_class class, size_t most)
{
	size_t n = 0;

	while (n < most && from + n < text.len && is_in(class, (unsigned char)text.p[from + n]))
		n++;
	return n;
}

static bool has_digit_or_capital(struct ar_str text, size_t from, size_t len)
{
	for (size_t i = from; i < from + len; i++) {
		if (is_in(CLASS_CAPITAL, (unsigned char)text.p[i]))
			return true;
	}
	return false;
}

/* Whether the text has the prefix; MAYBE when it is too short to tell. SECRET stands for yes. */
static struct ar_found starts(const struct ar_rest *rest, size_t from, struct ar_str prefix)
{
	size_t left = rest->text.len - from;
	size_t len = left < prefix.len ? left : prefix.len;

	if (memcmp(rest->text.p + from, prefix.p, len) != 0)
		return nothing;
	if (len < prefix.len)
		return maybe(rest);
	return (struct ar_found){ .kind = AR_FOUND_SECRET };
}

/* A token does not begin inside a word of its own characters; behind a line end written
 * as JSON does (`\n`) it may. */
static bool is_boundary(const unsigned char *before, enum byte_class class)
{
	bool is_escape = before[1] == '\\' && before[0] != 0 && strchr("nrtbf", before[0]);

	return !is_in(class, before[0]) || is_escape;
}

static struct ar_found find_plain(const struct shape *s, const struct ar_rest *rest)
{
	struct ar_found found = starts(rest, 0, s->prefix);
	size_t n;

	if (found.kind != AR_FOUND_SECRET)
		return found;
	n = run_of(rest->text, s->prefix.len, s->class, s->least);
	if (n < s->least)
		return s->prefix.len + n < rest->text.len ? nothing : maybe(rest);
	if (!has_digit_or_capital(rest->text, s->prefix.len, n))
		return nothing;
	return (struct ar_found){ AR_FOUND_SECRET, s->rule, 0, s->prefix.len + n, (uint8_t)s->class };
}

/* ---- the others ---- */

#define JWT_HEAD_MAX 1024
#define JWT_LEAST 4
#define LABEL_MAX 40 /* "ENCRYPTED PRIVATE KEY" and the like */
#define USER_MAX 64
#define PASSWORD_MAX 256

/* Two parts that are JSON objects in base64 make it one; the signature is swallowed. */
static struct ar_found find_jwt(const struct ar_rest *rest)
{
	static const struct ar_str mark = { "eyJ", 3 }, next = { ".eyJ", 4 };
	struct ar_found found = starts(rest, 0, mark);
	size_t head, body;

	if (found.kind != AR_FOUND_SECRET)
		return found;
	head = run_of(rest->text, 0, CLASS_DASHED, JWT_HEAD_MAX);
	found = starts(rest, head, next);
	if (found.kind != AR_FOUND_SECRET)
		return found;
	body = head + next.len;
	if (run_of(rest->text, body, CLASS_DASHED, JWT_LEAST) < JWT_LEAST)
		return body + JWT_LEAST <= rest->text.len ? nothing : maybe(rest);
	return (struct ar_found){ AR_FOUND_SECRET, AR_REDACT_JWT, 0, body + JWT_LEAST, CLASS_DOTTED };
}

static struct ar_found find_private_key(const struct ar_rest *rest)
{
	static const struct ar_str begin = { "-----BEGIN ", 11 }, end = { "-----", 5 };
	struct ar_found found = starts(rest, 0, begin);
	size_t label = begin.len;

	if (found.kind != AR_FOUND_SECRET)
		return found;
	while (label < rest->text.len && label < begin.len + LABEL_MAX &&
	       (rest->text.p[label] == ' ' || is_in(CLASS_CAPITAL, (unsigned char)rest->text.p[label])))
		label++;
	found = starts(rest, label, end);
	if (found.kind != AR_FOUND_SECRET)
		return found;
	if (!ar_str_ends(ar_str_sub(rest->text, 0, label), AR_STR("PRIVATE KEY")))
		return nothing;
	return (struct ar_found){ AR_FOUND_SECRET, AR_REDACT_PRIVATE_KEY, 0, label + end.len, CLASS_PEM };
}

static struct ar_found find_url_password(const struct ar_rest *rest)
{
	static const struct ar_str mark = { "://", 3 }, mask = { "[redacted:", 10 };
	struct ar_found found = starts(rest, 0, mark);
	size_t password = mark.len, len;

	if (found.kind != AR_FOUND_SECRET)
		return found;
	password += run_of(rest->text, password, CLASS_USER, USER_MAX);
	if (password == rest->text.len)
		return maybe(rest);
	if (rest->text.p[password++] != ':')
		return nothing;
	len = run_of(rest->text, password, CLASS_PASSWORD, PASSWORD_MAX);
	if (password + len == rest->text.len)
		return maybe(rest);
	if (len == 0 || rest->text.p[password + len] != '@' ||
	    ar_str_starts(ar_str_sub(rest->text, password, len), mask))
		return nothing;
	return (struct ar_found){ AR_FOUND_SECRET, AR_REDACT_URL_PASSWORD, password, len, 0 };
}

struct ar_found ar_shapes_find(const struct ar_rest *rest)
{
	struct ar_found found;

	switch (*rest->text.p) {
	case ':':
		return find_url_password(rest);
	case '-':
		return find_private_key(rest);
	case 'e':
		return is_boundary(rest->before, CLASS_DASHED) ? find_jwt(rest) : nothing;
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(shapes); i++) {
		if (*shapes[i].prefix.p != *rest->text.p || !is_boundary(rest->before, shapes[i].class))
			continue;
		found = find_plain(&shapes[i], rest);
		if (found.kind != AR_FOUND_NOTHING)
			return found;
	}
	return nothing;
}

void ar_shapes_start(struct ar_redactor *r)
{
	for (const char *p = ":-e"; *p; p++)
		r->starts[(unsigned char)*p] |= AR_STARTS_SHAPE;
	for (size_t i = 0; i < AR_ARRAY_LEN(shapes); i++)
		r->starts[(unsigned char)*shapes[i].prefix.p] |= AR_STARTS_SHAPE;
}

/* ---- the rest of a token ---- */

static struct ar_found find_end_mark(const struct ar_rest *rest)
{
	static const struct ar_str begin = { "-----END ", 9 }, end = { "-----", 5 };
	struct ar_found found = starts(rest, 0, begin);
	size_t label = begin.len;

	if (found.kind != AR_FOUND_SECRET)
		return found;
	while (label < rest->text.len && label < begin.len + LABEL_MAX && rest->text.p[label] != '-')
		label++;
	found = starts(rest, label, end);
	found.len = label + end.len;
	return found;
}

struct ar_found ar_shapes_swallow(uint8_t swallow, const struct ar_rest *rest, bool *ret_is_over)
{
	struct ar_found found = nothing;

	*ret_is_over = false;
	if (swallow == CLASS_PEM && *rest->text.p == '-') {
		found = find_end_mark(rest);
		*ret_is_over = found.kind == AR_FOUND_SECRET;
	}
	if (found.kind == AR_FOUND_NOTHING && is_in(swallow, (unsigned char)*rest->text.p))
		found = (struct ar_found){ .kind = AR_FOUND_SECRET, .len = 1 };
	return found;
}
