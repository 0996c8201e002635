/* What a task is between two facts. Every turn has one of its own; others are declared by
 * create_task and have a sheet: all that was said about them. See state.h for who writes here. */
#ifndef AR_SESSION_STATE_TASK_H
#define AR_SESSION_STATE_TASK_H

#include "catalog.h"
#include "str.h"
#include "clock.h"
#include "vec.h"

#define AR_TASKS_MAX 10000 /* declared tasks of a session that have not ended */
#define AR_WINDOW_TASKS 100 /* ended declared tasks kept per session */
#define AR_TASK_OUTPUTS 100 /* newest output refs kept per task */
#define AR_CHECKS_MAX 32 /* criteria of one task that the runtime checks */
#define AR_EDGES_MAX 200 /* edges that start from one task */

/* States of an edge that keeps a task from running: the blocker is open, has completed, has
 * ended otherwise. */
#define AR_EDGE_OPEN "open"
#define AR_EDGE_SATISFIED "satisfied"
#define AR_EDGE_FAILED "failed"
#define AR_EDGE_ACTIVE "active" /* of every other kind */

struct ar_run {
	struct ar_str id, attempt_id, status, trigger, category;
	int64_t count;
	ar_usec started, ended;
	/* of declared tasks only */
	struct ar_str turn; /* that does it; absent: somebody outside does */
	const struct ar_shape_party *worker; /* NULL: of a turn */
	struct ar_texts inputs, outputs; /* refs */
	const struct ar_shape_retry_policy *policy;
	const struct ar_shape_failure *error; /* NULL: none is known */
	struct ar_str summary; /* text of the worker; decides nothing */
	struct ar_shape_remote_task_list
		remote; /* tasks of peers that work on it (peer/peer.h), oldest first */
};

struct ar_edge {
	struct ar_str kind, target, status, reason;
	ar_usec created, updated;
};

/* What was said about a declared task; NULL: nothing. What is JSON is kept as it was given. */
struct ar_sheet {
	struct ar_str thread, turn; /* in which it was made; may be absent */
	struct ar_str kind, family, priority;
	const struct ar_shape_task_scope *scope;
	const struct ar_shape_task_constraints *constraints;
	const struct ar_shape_task_profile *profile;
	struct ar_shape_criterion_list acceptance;
	const struct ar_shape_party *requested_by, *owner, *assignee;
	struct ar_str metadata; /* JSON */
	struct ar_str phase, step, summary, validation; /* of its progress */
	struct ar_opt_num percent;
	struct ar_str counters, coverage; /* JSON */
	struct ar_texts outputs; /* refs */
	const struct ar_shape_delivery_state *delivery;
	struct ar_shape_result_ref_list artifacts, evidence;
	struct ar_shape_criterion_list accepted; /* the criteria as they were met */
	struct ar_shape_criterion_list
		checks; /* that the runtime checked in the newest run; without `satisfied`: it is doing so */
	struct ar_str command; /* that is its work; absent: none is */
	const struct ar_shape_task_delivery *deliver_to; /* NULL: its result goes to nobody in particular */
	const struct ar_shape_failure *error; /* NULL: none is known */
	struct ar_texts people; /* who gave the work (people.h) */
	const struct ar_shape_task_start *start; /* what start_task asked for, until it can begin */
	struct ar_str reason; /* of its status */
	struct ar_str offset_run; /* run whose output reached `offset` */
	struct ar_opt_int offset, offset_at; /* and the sequence of the fact that said so */
	struct ar_opt_int number; /* that stands for an id of the caller's own, which has none */
	ar_usec alive; /* last sign of life of its worker */
	ar_usec retry_at; /* when it is tried again by itself; 0: it is not */
};

struct ar_task {
	struct ar_str id, objective, title, error_category, error_message;
	struct ar_str waiting; /* while it waits: waiting_input, waiting_permission, waiting_resource */
	struct ar_opt_bool stale; /* the worker of its calls is silent */
	struct ar_str parent, root; /* absent: it is a part of nothing */
	int64_t status; /* enum task_status */
	int64_t visibility;
	int64_t attempts; /* over the task's whole life */
	ar_usec created, updated, started, ended;
	struct ar_vec runs; /* struct ar_run */
	struct ar_vec edges; /* struct ar_edge, that start from it */
	struct ar_vec held_by, holds; /* struct ar_block (task/blocks.h): made of the edges, not stored */
	struct ar_sheet *sheet; /* NULL: the task of a turn */
};

#endif
