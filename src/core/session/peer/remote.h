/* Work that a peer does: a remote agent of the settings, over A2A. The message to it is a call of the tool
 * delegate_to_peer, so it is permitted, limited, ended and found again after a crash as every call; what the
 * peer says on the way comes as reports of the host (report_peer_task) and is kept with the run of the local
 * task. The peer's states are words of ours here, and its own word stays beside them. Pure. */
#ifndef AR_SESSION_PEER_H
#define AR_SESSION_PEER_H

#include "decide.h"

#define AR_WORKER_PEER "peer" /* kind of the worker that is a remote agent; its id is the name */
#define AR_PEER_TOOL "delegate_to_peer"
#define AR_PEER_EDGE "peer_task" /* kind of the edge to a task of a peer */
#define AR_PEER_NATIVE_PROTOCOL "a2a"
#define AR_PEER_CHANNEL_PREFIX "peer:" /* of the channel of a peer, before its name */
#define AR_REMOTE_TASKS_MAX 16 /* newest that are kept per run; those of open calls stay */

/* Categories of calls that ended otherwise than well. */
#define AR_CATEGORY_PEER_FAILED "peer_failed"
#define AR_CATEGORY_PEER_REJECTED "rejected"
#define AR_CATEGORY_PEER_CANCELLED "peer_cancelled"
#define AR_CATEGORY_NETWORK "network" /* it was not reached, and nothing was handed on */
#define AR_CATEGORY_PEER_LOST "peer_lost" /* it cannot be reached, or does not know the task any more */

/* ---- state.c ---- */

/* What a status of A2A, in the spelling of either version, is for a task of ours. */
struct ar_peer_meaning {
	int status; /* enum task_status */
	int recovery; /* enum of remote_task.recoveryState */
	bool is_end;
	const char *category; /* of an end without success; NULL: none */
};
struct ar_peer_meaning ar_peer_meaning(struct ar_str native_status);

/* The newest of a run; NULL: none. */
const struct ar_shape_remote_task *ar_run_remote(const struct ar_run *run);
const struct ar_shape_remote_task *ar_task_remote(const struct ar_task *task);

/* That of an operation, in any run of the task; NULL: none. */
const struct ar_shape_remote_task *ar_task_remote_of(const struct ar_task *task, struct ar_str operation);

/* The local task of a peer's task, and the other way round by ar_task_remote(); NULL: none. */
const struct ar_task *ar_session_remote(const struct ar_session *s, struct ar_str channel,
					struct ar_str remote_task);

/* A fact has the record of a peer's task: it replaces that of the same operation. */
void ar_peer_keep(struct ar_session *s, struct ar_run *run, const struct ar_shape_remote_task *r);

/* The status of a task that a peer works on, where its machine has another; absent: it has the same. */
struct ar_str ar_peer_status_word(const struct ar_task *task);

/* ---- run.c: a run of a declared task by a peer ---- */

struct ar_task_plan;

AR_MUST_USE enum ar_status ar_peer_plan(struct ar_decision *d, const struct ar_task *task,
					struct ar_task_plan *ret, struct ar_error *err);
void ar_peer_go_on(struct ar_decision *d, struct ar_turn *turn, const struct ar_task *task);

/* Why a task whose run a peer has ended is not complete; absent: nothing is open. */
struct ar_str ar_peer_open_end(const struct ar_task *task);

/* ---- report.c ---- */

/* The peer asks for authorization: the question as facts of the peer's channel, too. */
void ar_peer_forward(struct ar_decision *d, const struct ar_turn *turn, const struct ar_invocation *call,
		     struct ar_str action);
bool ar_peer_asks_authorization(const struct ar_session *s, const struct ar_turn *turn,
				const struct ar_invocation *call);

/* The task of ours that a call of the turn hands on: the declared one, or the turn's own. */
const struct ar_task *ar_peer_task_of(const struct ar_session *s, const struct ar_turn *turn);

#endif
