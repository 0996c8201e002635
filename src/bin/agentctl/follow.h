/* Following the events of a session, or the facts of all: reads the stream, and when it is cut comes back by
 * the cursor of the last event, a bounded number of times. It starts no daemon: one that was cut off may be
 * about to come back by its supervisor. Facts that arrive twice are dropped here. */
#ifndef AR_CTL_FOLLOW_H
#define AR_CTL_FOLLOW_H

#include "api.h"
#include "sse_reader.h"

struct ar_ctl_event {
	struct ar_str cursor; /* after this event */
	struct ar_str json; /* as it came */
	struct ar_json doc;
	struct ar_str type;
	int64_t sequence;
	bool is_frame; /* a piece of output, not a fact */
};

/* Zeroed; set the first part and add the start to `cursor` (empty = from the beginning). */
struct ar_ctl_follow {
	struct ar_ctl *ctl;
	struct ar_str session; /* absent: all of them */
	struct ar_buf cursor; /* where the reader is */
	bool is_extended; /* of a session: with facts of our own, which the standard does not have */
	bool (*event)(void *arg, const struct ar_ctl_event *e); /* false: enough */
	bool (*interrupted)(void *arg); /* Ctrl-C; false: leave */
	/* For those that read something else meanwhile, as in http.h; NULL: none. False: leave. */
	bool (*rest)(void *arg, int *ret_fd);
	bool (*readable)(void *arg);
	void *arg;

	struct ar_sse_reader sse; /* private from here on */
	struct ar_json_parser *parser;
	int64_t last_fact;
	int failures; /* in a row */
	bool is_over, has_left, is_broken, is_heard;
};

/* AR_EXIT_OK when event() had enough, AR_EXIT_INTERRUPTED when another callback left; else what was said on
 * standard error. */
AR_MUST_USE enum ar_exit ar_ctl_follow_run(struct ar_ctl_follow *f);
void ar_ctl_follow_fini(struct ar_ctl_follow *f);

#endif
