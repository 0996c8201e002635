/* Between the files of compaction: compact_plan.c (what is shortened) and decide_compact.c
 * (doing it). Pure. */
#ifndef AR_SESSION_COMPACT_H
#define AR_SESSION_COMPACT_H

#include "context/context.h"

#define AR_SHRINK_PERCENT 80 /* of its size a conversation must get below */
#define AR_TOLD_BYTES 8192 /* of one message that a summary is made of */
#define AR_BUDGET_SUMMARY 512 /* tokens that a summary may have which is made to save some */
#define AR_KEPT_SHARE 4 /* a quarter of the window stays as it was said */

/* What is shortened. Indexes into the conversation. */
struct ar_compact_plan {
	size_t first; /* message that is visible now */
	size_t stays; /* message that stays as it is; those before it become the summary */
	int64_t before; /* tokens of the whole */
	int64_t gone; /* tokens of what the summary replaces, an older summary included */
};

static inline int64_t ar_compact_smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* False when no summary could be worth it: then no call is spent on one. A turn that is running
 * keeps what it is about to answer. */
bool ar_compact_plan(struct ar_conversation *c, bool is_running, struct ar_compact_plan *ret);

/* Index of the first message that stays, of the compaction under way. */
size_t ar_compact_stays(const struct ar_conversation *c, const struct ar_turn *turn);

/* A message's place counted from the first of the thread, for an index into the conversation. */
int64_t ar_compact_count(const struct ar_conversation *c, size_t index);

/* Turns with messages among these, as ids. Those that left the window are not known by id any more. */
struct ar_texts ar_compact_turns(struct ar_conversation *c, size_t first, size_t end);

/* Tokens of these messages and of an older summary, by our own estimate. */
int64_t ar_compact_gone(const struct ar_conversation *c, size_t first, size_t end);

/* From our own estimate to tokens as the provider counts them. Where ours is larger it shrinks
 * to that measure; what the provider counts more is taken for what every request has, such as
 * tools. */
double ar_compact_measure(const struct ar_conversation *c, int64_t before);

/* Tokens that are left. `gone` and `summary` are our own estimates, `before` is as the provider counts. */
int64_t ar_compact_after(const struct ar_conversation *c, int64_t before, int64_t gone, int64_t summary);

/* Whether this turn may begin one that nobody asked for; and beginning one: its fact, and the
 * request for the summary. */
bool ar_compact_may_start(const struct ar_decision *d, const struct ar_turn *turn);
void ar_compact_begin(struct ar_conversation *c, struct ar_turn *turn, int trigger,
		      const struct ar_compact_plan *p);

/* Turns that automatic compaction of a thread stays away after it failed in so many turns in a
 * row: 1, 2, 4 and so on, 64 at most. */
int64_t ar_compact_rest(int64_t failures);

/* The must-shrink rule. */
bool ar_compact_is_smaller(int64_t after, int64_t before);

#endif
