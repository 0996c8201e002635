/* An answer to a question that waits for a person: which of the offered words is meant, and the request. */
#ifndef AR_CTL_RESPOND_H
#define AR_CTL_RESPOND_H

#include "buf.h"

/* Words that mean the same for different kinds of questions, each list ended by NULL: yes, no, and "here is what you asked for". */
extern const char *const ar_respond_yes[], *const ar_respond_no[], *const ar_respond_here[];

/* The first of the words that is in `offer`, a JSON array; absent when none is. */
struct ar_str ar_respond_pick(struct ar_str offer, const char *const *words);

/* The request of respond_action, in this user's name. `payload` is a JSON object, or absent. */
void ar_respond_body(struct ar_str action, struct ar_str decision, struct ar_str payload, struct ar_buf *ret);

#endif
