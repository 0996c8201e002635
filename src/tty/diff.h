/* What differs between two short texts, line by line, for people. Stateless. */
#ifndef AR_TTY_DIFF_H
#define AR_TTY_DIFF_H

#include "buf.h"

enum ar_diff_kind { AR_DIFF_SAME, AR_DIFF_GONE, AR_DIFF_NEW };

struct ar_diff_line {
	enum ar_diff_kind kind;
	size_t number; /* in the old text, or in the new one if it is new; from 0 */
	struct ar_str text;
};

struct ar_diff {
	struct ar_diff_line *lines;
	size_t count, added, removed;
};

/* Lines longest in common stay; texts of very many lines are shown as gone and new as a whole. `ret` wants
 * fini; its lines point into the texts. */
void ar_diff(struct ar_str before, struct ar_str after, struct ar_diff *ret);
void ar_diff_fini(struct ar_diff *d);

#endif
