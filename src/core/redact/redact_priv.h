/* Inside redact: what is found at one place of a text. */
#ifndef AR_REDACT_PRIV_H
#define AR_REDACT_PRIV_H

#include "redact.h"

enum ar_found_kind {
	AR_FOUND_NOTHING,
	AR_FOUND_SECRET,
	AR_FOUND_MAYBE, /* the bytes to come decide */
};

struct ar_found {
	enum ar_found_kind kind;
	enum ar_redact_rule rule;
	size_t skip; /* bytes before the secret that stay */
	size_t len;
	uint8_t swallow; /* class of the bytes after it that belong to it as well; 0 = none */
};

/* The rest of a text: what precedes it (newest first, 0 at the beginning), and whether more may come. */
struct ar_rest {
	struct ar_str text;
	const unsigned char *before;
	bool is_last;
};

/* A byte string that a known value may appear as. */
struct ar_form {
	char *p;
	size_t len;
	struct ar_form *next; /* same slot of the table, longest first */
};

#define AR_FORM_SLOTS 4096
#define AR_STARTS_FORM 1
#define AR_STARTS_SHAPE 2

struct ar_redactor {
	bool with_shapes;
	uint8_t starts[256]; /* what begins with this byte: AR_STARTS_FORM, AR_STARTS_SHAPE */
	struct ar_form *slots[AR_FORM_SLOTS]; /* by the first AR_REDACT_MIN bytes */
	struct ar_form **forms; /* all of them */
	size_t form_count;
};

/* forms.c */
struct ar_found ar_forms_find(const struct ar_redactor *r, const struct ar_rest *rest);
void ar_forms_free(struct ar_redactor *r);

/* shapes.c */
void ar_shapes_start(struct ar_redactor *r); /* marks the bytes they begin with */
struct ar_found ar_shapes_find(const struct ar_rest *rest);

/* How many bytes at the beginning of `rest` a token of this class goes on for: at most one, except for
 * the end mark of a key, which is the last (*ret_is_over). */
struct ar_found ar_shapes_swallow(uint8_t swallow, const struct ar_rest *rest, bool *ret_is_over);

#endif
