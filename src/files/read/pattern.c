/* See pattern.h. Globs are rewritten as expressions; how much one match may try is limited, so that no
 * expression holds a thread. */
#include "read/pattern.h"

#include "buf.h"
#include "mem.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string.h>

#define MATCH_LIMIT 1000000
#define DEPTH_LIMIT 10000
#define HEAP_LIMIT_KIB 8192
#define JIT_STACK_MAX ((size_t)1 << 20)

struct ar_pattern {
	pcre2_code *code;
	pcre2_match_context *context;
	pcre2_match_data *match;
	pcre2_jit_stack *stack;
};

static struct ar_pattern *compile(struct ar_str text, uint32_t options, struct ar_error *err)
{
	int code = 0;
	PCRE2_SIZE at = 0;
	pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)text.p, text.len, options, &code, &at, NULL);

	if (!compiled) {
		PCRE2_UCHAR why[120];

		pcre2_get_error_message(code, why, sizeof(why));
		ar_fail(err, AR_E_INVALID, "%s at byte %zu", (const char *)why, (size_t)at);
		return NULL;
	}
	struct ar_pattern *p = ar_new0(sizeof(*p));

	p->code = compiled;
	p->context = pcre2_match_context_create(NULL);
	p->match = pcre2_match_data_create_from_pattern(compiled, NULL);
	AR_ASSERT(p->context && p->match);
	pcre2_set_match_limit(p->context, MATCH_LIMIT);
	pcre2_set_depth_limit(p->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(p->context, HEAP_LIMIT_KIB);
	/* Machine code where the system allows it; without it the same, slower. */
	if (pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE) == 0) {
		p->stack = pcre2_jit_stack_create(32768, JIT_STACK_MAX, NULL);
		pcre2_jit_stack_assign(p->context, NULL, p->stack);
	}
	return p;
}

struct ar_pattern *ar_pattern_new(struct ar_str text, unsigned flags, struct ar_error *err)
{
	uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;

	/* A single byte in the middle of a character (\\C) makes no sense in text; a plain text cannot ask
	 * for it. */
	options |= flags & AR_PATTERN_LITERAL ? PCRE2_LITERAL : PCRE2_NEVER_BACKSLASH_C;
	if (flags & AR_PATTERN_IGNORE_CASE)
		options |= PCRE2_CASELESS;
	return compile(text, options, err);
}

/* One character of a name, in bytes: names need not be UTF-8. */
#define ANY_ONE "(?:[^/\\x80-\\xff]|[\\xc0-\\xff][\\x80-\\xbf]*|[\\x80-\\xbf])"

/* A class is copied with its end; returns its length, 0: it has no end and '[' stands for itself. */
static size_t add_class(struct ar_buf *out, struct ar_str s)
{
	bool is_not = s.len > 1 && (s.p[1] == '!' || s.p[1] == '^');
	size_t at = is_not ? 2 : 1;
	const char *end = s.len > at + 1 ? memchr(s.p + at + 1, ']', s.len - at - 1) : NULL;

	if (!end)
		return 0;
	ar_buf_addz(out, is_not ? "(?!/)[^" : "(?!/)[");
	for (; s.p + at < end; at++) {
		if (strchr("\\[]^", s.p[at]))
			ar_buf_addc(out, '\\');
		ar_buf_addc(out, s.p[at]);
	}
	ar_buf_addc(out, ']');
	return (size_t)(end - s.p) + 1;
}

static size_t add_stars(struct ar_buf *out, struct ar_str s)
{
	if (ar_str_starts(s, AR_STR("**/"))) {
		ar_buf_addz(out, "(?:.*/)?");
		return 3;
	}
	bool is_double = ar_str_starts(s, AR_STR("**"));

	ar_buf_addz(out, is_double ? ".*" : "[^/]*");
	return is_double ? 2 : 1;
}

static void add_plain(struct ar_buf *out, char c)
{
	bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		       c == '_' || c == '/';

	if (!is_word)
		ar_buf_addf(out, "\\x%02x", (unsigned char)c);
	else
		ar_buf_addc(out, c);
}

/* Writes what the pattern at s begins with; returns its length in s. */
static size_t add_piece(struct ar_buf *out, struct ar_str s, unsigned *open)
{
	size_t len = 0;

	switch (s.p[0]) {
	case '*':
		return add_stars(out, s);
	case '?':
		ar_buf_addz(out, ANY_ONE);
		return 1;
	case '[':
		len = add_class(out, s);
		break;
	case '{':
		len = memchr(s.p, '}', s.len) != NULL;
		*open += (unsigned)len;
		ar_buf_addz(out, len ? "(?:" : "");
		break;
	case '}':
	case ',':
		len = *open > 0;
		*open -= len && s.p[0] == '}';
		ar_buf_addz(out, !len ? "" : s.p[0] == '}' ? ")" : "|");
		break;
	default:
		break;
	}
	if (len == 0)
		add_plain(out, s.p[0]);
	return len ? len : 1;
}

struct ar_pattern *ar_pattern_new_glob(struct ar_str glob, struct ar_error *err)
{
	AR_AUTO(ar_buf_fini) struct ar_buf out = { 0 };
	unsigned open = 0;

	while (ar_str_starts(glob, AR_STR("./")))
		glob = ar_str_sub(glob, 2, glob.len);
	ar_buf_addz(&out, "\\A");
	ar_buf_addz(&out, memchr(glob.p, '/', glob.len) ? "" : "(?:.*/)?");
	while (glob.len > 0)
		glob = ar_str_sub(glob, add_piece(&out, glob, &open), glob.len);
	for (; open > 0; open--)
		ar_buf_addc(&out, ')');
	ar_buf_addz(&out, "\\z");
	return compile(ar_buf_str(&out), PCRE2_DOTALL, err);
}

void ar_pattern_free(struct ar_pattern *p)
{
	if (!p)
		return;
	pcre2_jit_stack_free(p->stack);
	pcre2_match_data_free(p->match);
	pcre2_match_context_free(p->context);
	pcre2_code_free(p->code);
	ar_free(p);
}

void ar_pattern_freep(struct ar_pattern **p)
{
	ar_pattern_free(*p);
}

enum ar_pattern_found ar_pattern_find(struct ar_pattern *p, struct ar_str text, size_t *ret_from)
{
	int n = pcre2_match(p->code, (PCRE2_SPTR)text.p, text.len, 0, 0, p->match, p->context);

	if (n == PCRE2_ERROR_NOMATCH)
		return AR_PATTERN_NO;
	if (n < 0)
		return AR_PATTERN_GAVE_UP;
	size_t from = pcre2_get_ovector_pointer(p->match)[0];

	*ret_from = from < text.len ? from : text.len;
	return AR_PATTERN_YES;
}
