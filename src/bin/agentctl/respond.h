/* An answer to a question that waits for a person: which of the offered words is meant, and the request. */
#ifndef AR_CTL_RESPOND_H
#define AR_CTL_RESPOND_H

#include "api.h"

/* Words that mean the same for different kinds of questions, each list ended by NULL: yes, no, and "here is
 * what you asked for". */
extern const char *const ar_respond_yes[], *const ar_respond_no[], *const ar_respond_here[];

/* The first of the words that is in `offer`, a JSON array; absent when none is. */
struct ar_str ar_respond_pick(struct ar_str offer, const char *const *words);

/* Whether the word refuses: only that can be said of a question that was not read whole. */
bool ar_respond_is_no(struct ar_str decision);

/* A question of which the daemon sends only a part, and the proof that all of it was read. Kept for the
 * invocation. */
struct ar_respond_whole {
	struct ar_str text, digest;
};
AR_MUST_USE enum ar_exit ar_respond_read(struct ar_ctl *c, struct ar_str action, struct ar_str ref,
					 struct ar_respond_whole *ret);

/* The request of respond_action, in this user's name. */
struct ar_respond {
	struct ar_str action, decision;
	struct ar_str payload; /* JSON object; absent: none */
	struct ar_str digest; /* of the whole question; absent: it was not read */
};
void ar_respond_body(const struct ar_respond *r, struct ar_buf *ret);

#endif
