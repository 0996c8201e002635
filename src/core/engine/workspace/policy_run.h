/* The policy of a session's workspace; see policy_run.c. Owner: the loop thread. */
#ifndef AR_ENGINE_WORKSPACE_POLICY_RUN_H
#define AR_ENGINE_WORKSPACE_POLICY_RUN_H

#include "engine_priv.h"

struct ar_live_policy {
	struct ar_live *live;
	bool is_known; /* what the workspace said last is recorded, or on its way to be */
	bool is_reading, is_deciding;
	bool is_fresh; /* the reading began for the first input of the inbox */
	bool was_elsewhere; /* another node could write it when it was read */
	ar_usec read_at; /* monotonic */
	struct ar_store_index read;
	struct ar_arena arena; /* of the record; empty unless it is read or decided about */
	struct ar_shape_workspace_record record;
	struct ar_engine_request request;
};

/* Whether the next input waits until the policy was read. */
bool ar_policy_hold(struct ar_live *l);

/* The log of a workspace says that its policy is another one: its sessions in memory hear of it. */
void ar_policy_changed(const struct ar_live *workspace);

/* Recovery was decided, or refused: it needs the record no longer. */
void ar_policy_recovered(struct ar_live *l);

void ar_policy_forget(struct ar_live *l); /* the state was dropped: it is read again */
void ar_policy_drop(struct ar_live *l); /* the session leaves memory */

#endif
