/* Regular expressions over PCRE2. No JIT: the patterns come from outside, and memory that is writable and
 * executable is not worth their speed. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "regex.h"

#include "buf.h"
#include "mem.h"

#include <pcre2.h>
#include <string.h>

enum {
	HEAP_LIMIT = 4096, /* KiB of one search */
	SEARCH_STEPS = 2, /* of each search */
	BYTES_PER_STEP = 16, /* that are passed over within one item of a pattern */
	GROUPS_PER_STEP = 16, /* that are copied for each item */
	CLASS_PER_STEP = 16, /* bytes of a [class], which one character is compared with */
	NEST_LIMIT = 100, /* parentheses within parentheses */
};

struct ar_regex {
	pcre2_code *code;
	pcre2_match_data *found;
	pcre2_match_context *limits;
	size_t blind; /* bytes that one item may look at and then fail, so that nobody sees it move */
	uint64_t base; /* steps of each item */
	uint64_t weight; /* of a byte */
};

/* What a search has left, and where it was last. */
struct meter {
	const struct ar_regex *regex;
	uint64_t left;
	size_t at;
};

/* $ is the end and nothing else, \u0041 is a character, [] is empty: what ECMA-262 says and Perl does not. */
static const uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |
				PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF |
				PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;

static pcre2_code *compile(struct ar_str pattern, int *ret_code, size_t *ret_at)
{
	pcre2_compile_context *how = pcre2_compile_context_create(NULL);
	pcre2_code *code;

	pcre2_set_compile_extra_options(how, PCRE2_EXTRA_ALT_BSUX);
	pcre2_set_parens_nest_limit(how, NEST_LIMIT);
	code = pcre2_compile((PCRE2_SPTR)pattern.p, pattern.len, options, ret_code, ret_at, how);
	pcre2_compile_context_free(how);
	return code;
}

/* ECMA-262 also has the long names of the general categories, and Script= before a script. */
static struct ar_str property_name(struct ar_str name)
{
	static const char *const longs[][2] = {
		{ "Letter", "L" },
		{ "Uppercase_Letter", "Lu" },
		{ "Lowercase_Letter", "Ll" },
		{ "Titlecase_Letter", "Lt" },
		{ "Modifier_Letter", "Lm" },
		{ "Other_Letter", "Lo" },
		{ "Mark", "M" },
		{ "Nonspacing_Mark", "Mn" },
		{ "Number", "N" },
		{ "Decimal_Number", "Nd" },
		{ "digit", "Nd" },
		{ "Letter_Number", "Nl" },
		{ "Other_Number", "No" },
		{ "Punctuation", "P" },
		{ "punct", "P" },
		{ "Symbol", "S" },
		{ "Math_Symbol", "Sm" },
		{ "Currency_Symbol", "Sc" },
		{ "Separator", "Z" },
		{ "Space_Separator", "Zs" },
		{ "Other", "C" },
		{ "Control", "Cc" },
	};
	static const char *const prefixes[] = { "Script=", "sc=", "General_Category=", "gc=" };

	for (size_t i = 0; i < AR_ARRAY_LEN(prefixes); i++) {
		if (ar_str_starts(name, ar_str_from(prefixes[i])))
			name = ar_str_sub(name, strlen(prefixes[i]), name.len);
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(longs); i++) {
		if (ar_str_is(name, longs[i][0]))
			return ar_str_from(longs[i][1]);
	}
	return name;
}

/* The pattern with names of properties that PCRE2 knows. */
static void translate(struct ar_str pattern, struct ar_buf *out)
{
	for (size_t i = 0; i < pattern.len; i++) {
		struct ar_str rest = ar_str_sub(pattern, i, pattern.len), name;
		bool is_property = ar_str_starts(rest, AR_STR("\\p{")) || ar_str_starts(rest, AR_STR("\\P{"));
		const char *end = is_property ? memchr(rest.p, '}', rest.len) : NULL;

		if (end) {
			name = (struct ar_str){ rest.p + 3, (size_t)(end - rest.p) - 3 };
			ar_buf_add(out, rest.p, 3);
			ar_buf_adds(out, property_name(name));
			i += name.len + 2;
			continue;
		}
		ar_buf_addc(out, pattern.p[i]);
		if (pattern.p[i] == '\\' && i + 1 < pattern.len)
			ar_buf_addc(out, pattern.p[++i]);
	}
}

/* The largest N of "{N": so many characters an item has to find before it succeeds. */
static size_t longest_repeat(struct ar_str pattern)
{
	size_t longest = 0;

	for (size_t i = 0; i < pattern.len; i++) {
		size_t n = 0;

		if (pattern.p[i] != '{')
			continue;
		while (++i < pattern.len && pattern.p[i] >= '0' && pattern.p[i] <= '9' && n < UINT16_MAX)
			n = n * 10 + (size_t)(pattern.p[i] - '0');
		longest = n > longest ? n : longest;
		i--;
	}
	return longest * 4; /* bytes of a character */
}

/* From the '[' at `at` to its end or further: [:alpha:] does not end it. */
static size_t class_len(struct ar_str pattern, size_t at)
{
	size_t i = at + 1;

	for (; i < pattern.len; i++) {
		if (pattern.p[i] == '\\')
			i++;
		else if (pattern.p[i] == ']' && pattern.p[i - 1] != ':')
			break;
	}
	return i - at;
}

/* The bytes of the longest [class], or more than that. Text quoted by \Q is not treated differently. */
static size_t longest_class(struct ar_str pattern)
{
	size_t longest = 0;

	if (pattern.len && memmem(pattern.p, pattern.len, "\\Q", 2))
		return pattern.len;
	for (size_t i = 0; i < pattern.len; i++) {
		size_t len = pattern.p[i] == '[' ? class_len(pattern, i) : 0;

		longest = len > longest ? len : longest;
		i += len ? len : pattern.p[i] == '\\';
	}
	return longest;
}

/* PCRE2 counts its own steps anew at each place of the text where a match may begin, so a
 * search of a long text has no limit by them. Here each item of the pattern that is tried is
 * counted, over the whole search. */
static int on_item(pcre2_callout_block *b, void *arg)
{
	struct meter *m = arg;
	size_t now = b->current_position, rest = b->subject_length - now;
	size_t seen = now > m->at ? now - m->at : m->at - now;
	uint64_t cost;

	seen += rest < m->regex->blind ? rest : m->regex->blind;
	cost = m->regex->base + seen * m->regex->weight / BYTES_PER_STEP;
	m->at = now;
	if (cost > m->left)
		return PCRE2_ERROR_MATCHLIMIT;
	m->left -= cost;
	return 0;
}

static void measure(struct ar_regex *r, struct ar_str pattern)
{
	uint32_t groups = 0, references = 0, behind = 0;
	size_t class = longest_class(pattern);

	(void)pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &groups);
	(void)pcre2_pattern_info(r->code, PCRE2_INFO_BACKREFMAX, &references);
	(void)pcre2_pattern_info(r->code, PCRE2_INFO_MAXLOOKBEHIND, &behind);
	r->base = 1 + groups / GROUPS_PER_STEP + class / CLASS_PER_STEP;
	r->weight = 1 + 2 * class / CLASS_PER_STEP;
	r->blind = references ? UINT32_MAX : longest_repeat(pattern) + behind;
}

enum ar_status ar_regex_compile(struct ar_str pattern, struct ar_regex **ret, struct ar_error *err)
{
	struct ar_str shown = ar_str_utf8_prefix(pattern, 80);
	struct ar_buf spelled = { 0 };
	unsigned char why[128];
	pcre2_code *code;
	struct ar_regex *r;
	size_t at = 0;
	int bad = 0;

	if (pattern.len > AR_REGEX_PATTERN_MAX)
		return ar_fail(err, AR_E_LIMIT, "the pattern has %zu bytes; at most %d are allowed",
			       pattern.len, AR_REGEX_PATTERN_MAX);
	if (!ar_str_is_utf8(pattern))
		return ar_fail(err, AR_E_INVALID, "the pattern is not UTF-8");
	translate(pattern, &spelled);
	code = compile(ar_buf_str(&spelled), &bad, &at);
	ar_buf_fini(&spelled);
	if (!code) {
		pcre2_get_error_message(bad, why, sizeof(why));
		return ar_fail(err, AR_E_INVALID, "the pattern '%.*s' is wrong at byte %zu: %s",
			       AR_STR_ARG(shown), at, (const char *)why);
	}
	r = ar_new0(sizeof(*r));
	r->code = code;
	r->found = pcre2_match_data_create(1, NULL);
	r->limits = pcre2_match_context_create(NULL);
	pcre2_set_match_limit(r->limits, UINT32_MAX);
	pcre2_set_heap_limit(r->limits, HEAP_LIMIT);
	measure(r, pattern);
	*ret = r;
	return AR_OK;
}

void ar_regex_free(struct ar_regex *r)
{
	if (!r)
		return;
	pcre2_match_context_free(r->limits);
	pcre2_match_data_free(r->found);
	pcre2_code_free(r->code);
	ar_free(r);
}

size_t ar_regex_size(const struct ar_regex *r)
{
	size_t size = 0;

	(void)pcre2_pattern_info(r->code, PCRE2_INFO_SIZE, &size);
	return size;
}

enum ar_regex_found ar_regex_search(const struct ar_regex *r, struct ar_str text, uint64_t *steps)
{
	uint64_t once =
		SEARCH_STEPS + text.len * r->weight / BYTES_PER_STEP / 4; /* looking for a place to begin */
	struct meter m = { .regex = r, .left = *steps > once ? *steps - once : 0 };
	int n;

	pcre2_set_callout(r->limits, on_item, &m);
	n = pcre2_match(r->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.len, 0, PCRE2_NO_UTF_CHECK,
			r->found, r->limits);
	if (n >= 0 || n == PCRE2_ERROR_NOMATCH) {
		*steps = m.left;
		return n >= 0 ? AR_REGEX_YES : AR_REGEX_NO;
	}
	*steps = 0;
	return AR_REGEX_GAVE_UP;
}
