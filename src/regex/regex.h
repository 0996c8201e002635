/* Regular expressions that others wrote (JSON Schemas, rules), searched in text that others wrote: the
 * dialect of ECMA-262 as far as PCRE2 speaks it, over UTF-8, and never longer than the steps that the caller
 * gives. A step is about 50 ns of work. A compiled pattern has scratch memory of its own, so it belongs to
 * one thread at a time. */
#ifndef AR_REGEX_REGEX_H
#define AR_REGEX_REGEX_H

#include "status.h"
#include "str.h"

#define AR_REGEX_PATTERN_MAX 16384 /* bytes */

enum ar_regex_found {
	AR_REGEX_NO,
	AR_REGEX_YES,
	AR_REGEX_GAVE_UP, /* the steps or the memory of a search were used up: neither yes nor no */
};

struct ar_regex;

/* Refuses with AR_E_INVALID and where the pattern is wrong, with AR_E_LIMIT one that is too long or too
 * large. */
AR_MUST_USE enum ar_status ar_regex_compile(struct ar_str pattern, struct ar_regex **ret,
					    struct ar_error *err);
void ar_regex_free(struct ar_regex *r);

size_t ar_regex_size(const struct ar_regex *r); /* bytes that it takes: a short pattern can become long */

/* Whether it matches anywhere in the text, which must be UTF-8. Takes the work from *steps; with too few of
 * them it gives up and leaves 0. */
enum ar_regex_found ar_regex_search(const struct ar_regex *r, struct ar_str text, uint64_t *steps);

#endif
