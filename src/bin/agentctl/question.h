/* One question as the daemon lists it, and the whole of one that is too long for a list. */
#ifndef AR_CTL_QUESTION_H
#define AR_CTL_QUESTION_H

#include "api.h"

struct ar_question {
	struct ar_str id;
	/* as listed; decisions is a JSON array; absent: it does not wait (any more) */
	struct ar_str title, decisions;
	/* How many approved, and who, where several people have to; absent: one answer is enough */
	struct ar_str approvals;
	struct ar_str ref; /* of the whole question, when title leaves out a part; absent: it does not */
};

/* The question that `word` means: a whole id, or part of one. Failure has been said on standard error. */
AR_MUST_USE enum ar_exit ar_question_find(struct ar_ctl *c, const char *word, struct ar_question *ret);

/* "1 of 2 approvals (person:bob)" of a listed question; absent: one answer is enough. */
struct ar_str ar_question_approvals(struct ar_ctl *c, struct ar_json action);

/* Everything that it asks, as text of the daemon, with the proof that it was read. */
AR_MUST_USE enum ar_exit ar_question_read(struct ar_ctl *c, const struct ar_question *q,
					  struct ar_str *ret_text, struct ar_str *ret_digest);

/* A text on standard error, page by page where that is a terminal that somebody types at. */
void ar_question_print(struct ar_ctl *c, struct ar_str text);

/* A listed question, as far as the list has it. */
void ar_question_of(struct ar_ctl *c, struct ar_json action, struct ar_question *ret);

/* Shows all of it on standard error; on a terminal page by page, and somebody has to confirm. Not OK: they
 * did not. */
AR_MUST_USE enum ar_exit ar_question_confirm(struct ar_ctl *c, const struct ar_question *q,
					     struct ar_str *ret_digest);

/* Whether a question that nobody here can answer ends the command: the value of --on-question, or NULL for
 * the usual. */
AR_MUST_USE enum ar_exit ar_question_policy(struct ar_ctl *c, const char *word, bool *ret_fails);

#endif
