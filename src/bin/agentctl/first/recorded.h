/* A model whose answers are known before: a server of this machine in the format of OpenAI, for `agentctl
 * demo` and `agentctl replay`. A process of its own, one connection at a time. */
#ifndef AR_CTL_RECORDED_H
#define AR_CTL_RECORDED_H

#include "json.h"

struct ar_recorded_call {
	struct ar_str tool, args; /* the latter is JSON */
};

struct ar_recorded_answer {
	struct ar_str text;
	const struct ar_recorded_call *calls;
	size_t count;
	int word_ms; /* pause after each word: an answer is seen to come */
	int64_t status; /* HTTP status of a refusal; 0: an answer */
};

/* The answer to a request of this turn. Borrowed until the next call. */
typedef struct ar_recorded_answer ar_recorded_fn(void *arg, struct ar_str turn, struct ar_json request);

/* Serves the listening socket until `until` can be read or is closed. */
void ar_recorded_serve(int listener, int until, ar_recorded_fn *answer, void *arg);

#endif
