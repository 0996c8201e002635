/* Regular expressions, plain texts and name patterns (globs), all as PCRE2 with limits on what one match may
 * cost.
 *
 * A pattern is used by one thread at a time. */
#ifndef AR_FILES_PATTERN_H
#define AR_FILES_PATTERN_H

#include "status.h"
#include "str.h"

#define AR_PATTERN_TEXT_MAX 1000

enum ar_pattern_flag {
	AR_PATTERN_LITERAL = 1 << 0,
	AR_PATTERN_IGNORE_CASE = 1 << 1,
};

enum ar_pattern_found {
	AR_PATTERN_NO = 1,
	AR_PATTERN_YES,
	AR_PATTERN_GAVE_UP, /* it would have cost too much */
};

struct ar_pattern;

/* NULL with a sentence when the text is no such pattern. */
struct ar_pattern *ar_pattern_new(struct ar_str text, unsigned flags, struct ar_error *err);

/* Whole paths: '*' and '?' stay within a name, '**' does not, [a-z], {one,two}. Without a slash it is about
 * the last name alone. */
struct ar_pattern *ar_pattern_new_glob(struct ar_str glob, struct ar_error *err);
void ar_pattern_free(struct ar_pattern *p);

/* For AR_AUTO; NULL is fine. */
void ar_pattern_freep(struct ar_pattern **p);

/* ret_from: where the first match begins. */
enum ar_pattern_found ar_pattern_find(struct ar_pattern *p, struct ar_str text, size_t *ret_from);

#endif
