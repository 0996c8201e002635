/* A recorded case, run again in a daemon and a workspace of its own. */
#ifndef AR_CTL_REPLAY_H
#define AR_CTL_REPLAY_H

#include "export/export.h"
#include "first/throwaway.h"

struct ar_case {
	struct ar_json doc, turns;
	size_t next_answer; /* of the turn at hand, at the model */
	size_t answered; /* turn at hand, at the model */
	struct ar_recorded_call *calls; /* of the answer that is being given */
	size_t room;
};

/* The turn of that number, as the daemon knows it. */
struct ar_str ar_case_turn_id(struct ar_arena *a, size_t number);

/* The recorded answers, in the order in which a turn asks for them; after the last one a refusal. */
ar_recorded_fn ar_case_answer;

/* Gives the inputs to the session, one after the other, and answers its questions as they were. */
AR_MUST_USE enum ar_exit ar_case_run(struct ar_ctl *c, const struct ar_case *k, struct ar_str session);

/* Names each member of the recorded facts that is another one now. Returns how many differ. */
size_t ar_case_compare(struct ar_ctl *c, struct ar_json recorded, struct ar_json now);

#endif
