/* Workers: the log of each is one of its own, under a reserved key (tenant.h), as that of a workspace is. A
 * session of a workspace that a worker has sees the worker through its input; what it saw is a fact, and
 * calls wait while it is not connected. Pure. */
#ifndef AR_SESSION_WORKER_WORKER_H
#define AR_SESSION_WORKER_WORKER_H

#include "decide.h"

#define AR_WORKER_LABELS_MAX 32
#define AR_WORKER_LABEL_NAME_MAX 63 /* bytes */
#define AR_WORKER_LABEL_MAX 256 /* bytes of its value */

/* Also of one of another tenant: both answers are the same. */
#define AR_NO_WORKER "there is no such worker"

/* wait.c */
/* Whether calls of the turn that run are the worker's to end. */
bool ar_worker_has_calls(const struct ar_session *s, const struct ar_turn *turn);

/* Whether a call of that tool may begin: one that works in the folder of a worker waits while that is not
 * connected, or begins no calls; the facts say so. */
enum ar_hold ar_worker_before_call(struct ar_decision *d, struct ar_turn *turn, const struct ar_tool *tool);

/* The turn as the worker leaves it now: it waits, goes on, is stale or lost. */
void ar_worker_look(struct ar_decision *d, struct ar_turn *turn);

/* Whether the worker is otherwise than the session knew: then that is a fact from here on. */
bool ar_worker_observe(struct ar_decision *d);

/* Whether the worker can begin calls now; true where there is none. */
bool ar_worker_is_ready(const struct ar_decision *d);

/* lost.c */
/* Whether the turn is lost with its worker, which is a fact from here on: false, if that is not gone. */
bool ar_worker_lose(struct ar_decision *d, struct ar_turn *turn);
void ar_worker_back(struct ar_decision *d, struct ar_turn *turn); /* a turn that was lost so goes on */
void ar_worker_recover(struct ar_decision *d, struct ar_turn *turn); /* the same, and we were gone, too */

/* standing.c: what can be enforced where the calls of the session run. A worker that was not heard of yet
 * has no answer: then the profile counts as available, and the worker, which enforces it or refuses the
 * call, has the last word. */
struct ar_sandbox_standing ar_worker_standing(const struct ar_decision *d, enum ar_sandbox_profile profile,
					      bool *ret_is_known);

#endif
