/* Tool calls as people follow them: the name of each, and what the model reads of one that failed. */
#ifndef AR_CTL_CALLS_H
#define AR_CTL_CALLS_H

#include "api.h"

#define AR_CALLS_KEPT 16 /* whose names are remembered */

struct ar_calls {
	struct {
		struct ar_str id, name;
	} at[AR_CALLS_KEPT]; /* a ring */
	size_t count;
};

/* A tool.started event. Returns the name of its tool. */
struct ar_str ar_calls_begin(struct ar_calls *calls, struct ar_ctl *c, struct ar_json event);

/* The tool of the call that an event is about. */
struct ar_str ar_calls_name(const struct ar_calls *calls, struct ar_json event);

/* The sentence that the model got, from the payload of tool.failed, cut to one that people can read; absent
 * when it cannot be read. */
struct ar_str ar_calls_error(struct ar_ctl *c, struct ar_json payload);

#endif
