/* `agentctl inbox` on a terminal: the questions that wait as a list, the chosen one whole below it, answered
 * by keys. The parts: keys.c waits and answers, page.c composes what is shown. One thread. */
#ifndef AR_CTL_INBOX_H
#define AR_CTL_INBOX_H

#include "edit.h"
#include "pane/pane.h"
#include "question.h"

struct ar_inbox_options {
	struct ar_str session; /* only its questions; absent: of all */
	int64_t limit;
};

struct ar_inbox {
	struct ar_pane pane;
	struct ar_ctl *ctl;
	const struct ar_inbox_options *options;
	struct ar_api_reply list; /* as it was read last */
	struct ar_buf chosen; /* id of an action; empty: there is none */
	size_t at; /* its place in the list */
	struct ar_buf shown; /* the question that stands on the page, and its text */
	ar_usec shown_at; /* since then, monotonic */
	ar_usec look_at; /* the list is read again, monotonic */
	bool is_whole; /* all of it is on the page */
	bool is_refusing; /* a reason is typed */
	struct ar_edit reason;
	bool is_over;
};

/* ---- keys.c ---- */

/* To its end by q, Ctrl-C or Ctrl-D. */
AR_MUST_USE enum ar_exit ar_inbox_run(struct ar_ctl *c, const struct ar_inbox_options *o);

/* The action at that place of the list. */
struct ar_json ar_inbox_action(const struct ar_inbox *b, size_t i);
size_t ar_inbox_count(const struct ar_inbox *b);

/* The n-th decision, from 0, that has no letter; absent: there are not so many. */
struct ar_str ar_inbox_decision(const struct ar_inbox *b, size_t n);

/* ---- page.c ---- */

/* Draws all of it. True: the whole question is there. */
bool ar_inbox_draw(struct ar_inbox *b);

#endif
