/* Regular expressions over PCRE2. No JIT: the patterns come from outside, and memory that is writable and
 * executable is not worth their speed. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "regex.h"

#include "buf.h"
#include "mem.h"

#include <pcre2.h>
#include <string.h>

enum {
	MATCH_LIMIT = 100000, /* steps of one search: some milliseconds */
	HEAP_LIMIT = 4096, /* KiB of one search */
	NEST_LIMIT = 100, /* parentheses within parentheses */
};

struct ar_regex {
	pcre2_code *code;
	pcre2_match_data *found;
	pcre2_match_context *limits;
};

/* $ is the end and nothing else, \u0041 is a character, [] is empty: what ECMA-262 says and Perl does not. */
static const uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX |
				PCRE2_ALLOW_EMPTY_CLASS | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C;

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
		return ar_fail(err, AR_E_LIMIT, "a pattern of %zu bytes; at most %d are read", pattern.len,
			       AR_REGEX_PATTERN_MAX);
	if (!ar_str_is_utf8(pattern))
		return ar_fail(err, AR_E_INVALID, "a pattern that is not UTF-8");
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
	pcre2_set_match_limit(r->limits, MATCH_LIMIT);
	pcre2_set_heap_limit(r->limits, HEAP_LIMIT);
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

enum ar_regex_found ar_regex_search(const struct ar_regex *r, struct ar_str text)
{
	int n = pcre2_match(r->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.len, 0, PCRE2_NO_UTF_CHECK,
			    r->found, r->limits);

	if (n >= 0)
		return AR_REGEX_YES;
	return n == PCRE2_ERROR_NOMATCH ? AR_REGEX_NO : AR_REGEX_GAVE_UP;
}
