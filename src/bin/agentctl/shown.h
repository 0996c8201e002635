/* The words of a model on an output, exactly once: a piece that comes again after the stream was joined anew
 * is cut to what is new. */
#ifndef AR_CTL_SHOWN_H
#define AR_CTL_SHOWN_H

#include "api.h"

struct ar_shown {
	struct ar_buf step; /* model step whose output is shown */
	struct ar_buf aside; /* step that is the runtime's own, such as a summary: not shown */
	int64_t text, reasoning; /* bytes of it that were shown */
	bool is_thinking; /* the last thing shown was reasoning */
};

/* A model.requested event: says what the step is for. */
void ar_shown_request(struct ar_shown *s, struct ar_json event);

/* What is new in a model.delta or reasoning.delta event. */
void ar_shown_text(struct ar_shown *s, struct ar_out *o, struct ar_json event);
void ar_shown_reasoning(struct ar_shown *s, struct ar_out *o, struct ar_json event);
/* The same text, for those that show it themselves. */
struct ar_str ar_shown_part(struct ar_shown *s, struct ar_json event, bool is_reasoning);
void ar_shown_fini(struct ar_shown *s);

#endif
