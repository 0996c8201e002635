/* The front matter of a Markdown file: lines `key: value` between two lines `---`, and the body behind them.
 * A small part of YAML: plain and quoted values, values on indented lines (`|`, `>`, or none), lists in
 * brackets or one item a line. Nothing is expanded: anchors, aliases, tags and repeated keys are refused, so
 * the result is never larger than the text. Texts come from strangers. Pure. */
#ifndef AR_BASE_TEXT_FRONT_MATTER_H
#define AR_BASE_TEXT_FRONT_MATTER_H

#include "arena.h"
#include "status.h"

#define AR_FRONT_MATTER_KEYS_MAX 32
#define AR_FRONT_MATTER_KEY_MAX 64 /* bytes of a key */
#define AR_FRONT_MATTER_BYTES_MAX 16384 /* of all lines before the body */
#define AR_FRONT_MATTER_ITEMS_MAX 64 /* of a list */

struct ar_front_matter {
	struct {
		struct ar_str key;
		struct ar_str value; /* as text; of a list of lines: its lines with their "- " */
	} at[AR_FRONT_MATTER_KEYS_MAX];
	size_t count;
	struct ar_str body; /* the rest of the text; borrowed from it */
};

/* `text` has to be UTF-8. AR_E_INVALID: it has no front matter, or one that is not read; err says which. */
AR_MUST_USE enum ar_status ar_front_matter_read(struct ar_str text, struct ar_arena *a,
						struct ar_front_matter *ret, struct ar_error *err);

/* Absent: it has no such key. */
struct ar_str ar_front_matter_get(const struct ar_front_matter *f, const char *key);

/* The value as a list: `[a, b]`, `a, b`, or a line `- a` for each item. No `at`: it has no such key. */
AR_MUST_USE enum ar_status ar_front_matter_list(const struct ar_front_matter *f, const char *key,
						struct ar_arena *a, struct ar_texts *ret,
						struct ar_error *err);

#endif
