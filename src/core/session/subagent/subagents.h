/* Child agents of a session. A child is a thread with a record: who spawned it, what it shares with its
 * parent, what it may use, and its status, which follows from its turns. All children of a session are in its
 * one log, so parent and child never disagree after a crash. Pure; facts only, see apply_subagent.c for what
 * they mean. */
#ifndef AR_SESSION_SUBAGENTS_H
#define AR_SESSION_SUBAGENTS_H

#include "decide.h"

#define AR_SUBAGENT_CLOSING "closing" /* statusDetail: it ends, and what it began ends first */
#define AR_SUBAGENT_LOST "lost" /* reason and statusDetail: its process is gone, its end is not known */
#define AR_SUBAGENT_SUMMARY 4096 /* bytes of a result that its parent's model reads */
#define AR_SPAWN_AGENT "spawn_agent" /* the tool of a model */
#define AR_SOURCE_SUBAGENT "subagent" /* of the turns of a child */
#define AR_PHASE_WAITING_SUBAGENTS "waiting_subagents" /* of run.status: a call waits for children */

struct ar_subagent {
	const struct ar_shape_subagent_record *record;
	struct ar_opt_bool is_settled; /* closed, and what it used is counted with its parents */
	struct ar_closed_group
		*pack; /* that it is in (closed/): all that is known is that it is closed; NULL: in none */
};

static inline const struct ar_shape_subagent_record *ar_subagent_at(const struct ar_session *s, size_t i)
{
	return ((const struct ar_subagent *)s->subagents.at[i])->record;
}

/* ---- state.c: reading ---- */

/* The same, also of one that is in a pack. */
const struct ar_shape_subagent_record *ar_subagent_whole(const struct ar_session *s, size_t i);

/* NULL: there is none, or it is not kept any more. */
const struct ar_shape_subagent_record *ar_session_subagent(const struct ar_session *s, struct ar_str id);
/* The child that works in the thread; NULL: it is no child's. */
const struct ar_shape_subagent_record *ar_session_subagent_in(const struct ar_session *s,
							      struct ar_str thread);
bool ar_subagent_is_closed(const struct ar_shape_subagent_record *r);
bool ar_subagent_is_closing(const struct ar_shape_subagent_record *r);
bool ar_subagent_is_over(const struct ar_shape_subagent_record *r); /* nothing of it runs or waits */
bool ar_subagent_keeps_files(const struct ar_shape_subagent_record *r); /* it has a folder, closed or not */
bool ar_subagent_is_under(const struct ar_session *s, const struct ar_shape_subagent_record *r,
			  struct ar_str ancestor); /* however deep */
bool ar_subagents_open_of_turn(const struct ar_session *s, const struct ar_turn *turn); /* one not closed */
size_t ar_session_open_subagents(const struct ar_session *s,
				 struct ar_str task); /* not closed, of the task */

/* Ids of a fact about it: its own, and thread and turn of its parent. */
struct ar_ids ar_ids_subagent(const struct ar_shape_subagent_record *r);

/* Refuses an id that names none with subagent_not_found. */
AR_MUST_USE enum ar_status ar_subagent_need(const struct ar_decision *d, struct ar_str id,
					    const struct ar_shape_subagent_record **ret,
					    struct ar_error *err);

/* ---- spawn.c ---- */

/* A child that is asked for, by a command or by a model. */
struct ar_spawn {
	struct ar_thread *thread; /* of the parent */
	struct ar_turn *turn;
	struct ar_str id; /* absent: minted */
	struct ar_str call; /* that asks for it; absent: a command does */
	struct ar_str objective, input; /* one of both; input is JSON */
	struct ar_str role, nickname, task;
	struct ar_str definition; /* name of an agent definition; absent: none */
	const struct ar_shape_isolation *isolation; /* NULL: the default */
	const struct ar_shape_model_policy *model;
	const struct ar_shape_turn_budget *budget; /* NULL: what its parent has left */
};

/* The same, found possible. */
struct ar_spawn_plan {
	const struct ar_spawn *asked;
	struct ar_shape_isolation isolation; /* that it gets */
	struct ar_shape_model_policy model;
	struct ar_shape_turn_options options;
	bool has_folder; /* of its own; otherwise it works where its parent does */
	struct ar_str instructions,
		instructions_ref; /* of its definition; the text only where it is to be stored */
	int64_t instructions_bytes;
	const struct ar_task *task; /* whose graph gets the edge; NULL: none */
	struct ar_new_turn turn;
};

/* Refuses, and emits nothing; then the facts, the turn and its start. Returns the child. */
AR_MUST_USE enum ar_status ar_subagent_plan(struct ar_decision *d, const struct ar_spawn *asked,
					    struct ar_spawn_plan *ret, struct ar_error *err);
struct ar_str ar_subagent_begin(struct ar_decision *d, struct ar_spawn_plan *plan);

/* isolate.c: what of its parent it shares and may do; refuses with isolation_unsupported, and another
 * model than it may have with policy_denied. */
AR_MUST_USE enum ar_status ar_subagent_isolate(struct ar_decision *d, const struct ar_spawn *asked,
					       struct ar_spawn_plan *ret, struct ar_error *err);

/* Whether the tool is one that a child may not use; why, for its model. Absent: it is none of these. */
struct ar_str ar_subagent_denies(struct ar_decision *d, const struct ar_turn *turn, struct ar_str tool);

/* define.c: what an agent definition asks for, as far as the parent could ask for it, too. */
struct ar_agent_definition;
AR_MUST_USE enum ar_status ar_subagent_find_definition(struct ar_decision *d, struct ar_str name,
						       struct ar_agent_definition *ret, struct ar_error *err);
/* The tool that spawns agents as the session has it: with its definitions. Any other tool as it is. */
const struct ar_tool *ar_subagent_describe(struct ar_decision *d, const struct ar_tool *tool);

/* ---- input.c ---- */

struct ar_subagent_input {
	struct ar_str text, input; /* one of both; input is JSON */
	struct ar_str turn; /* id for its turn; absent: minted */
	bool is_structured;
};

/* One more turn of the child; the first refuses, the second emits. Returns the turn. */
AR_MUST_USE enum ar_status ar_subagent_check_input(struct ar_decision *d,
						   const struct ar_shape_subagent_record *r,
						   const struct ar_subagent_input *in,
						   struct ar_new_turn *ret, struct ar_error *err);
struct ar_turn *ar_subagent_send(struct ar_decision *d, const struct ar_shape_subagent_record *r,
				 const struct ar_new_turn *n, bool is_structured);

/* Children that wait for a place begin, as many as there are places. */
void ar_subagents_start_waiting(struct ar_decision *d);

/* ---- follow.c: what happens in a thread, as the status of the child that works in it ---- */

void ar_subagent_follow(struct ar_decision *d, const struct ar_thread *t); /* after thread.updated */
void ar_subagent_lost(struct ar_decision *d, const struct ar_turn *turn); /* its process is gone */
void ar_subagent_turn_ended(struct ar_decision *d, const struct ar_turn *turn, const struct ar_ending *end);

/* What waits for the ends of children goes on; last in a decision about a turn or a process. */
void ar_subagents_settle(struct ar_decision *d);

/* ---- close.c ---- */

/* The intent, then the ends of what it began; subagent.closed follows the last of them. */
void ar_subagent_close(struct ar_decision *d, struct ar_str id, struct ar_str reason, bool is_forced);
void ar_subagents_interrupt(struct ar_decision *d, const struct ar_turn *turn,
			    struct ar_str reason); /* those that the turn spawned, which stay open */
struct ar_texts ar_subagents_of_turns(struct ar_decision *d, const struct ar_vec *turns,
				      bool is_at_work); /* ids; only those at work */
void ar_subagents_close_ended(struct ar_decision *d); /* closing ones of which nothing runs any more */
void ar_subagents_close_task(struct ar_decision *d, const struct ar_task *task, struct ar_str reason);

/* ---- allowance.c: budgets ---- */

/* What a turn has used of its budget with all that its children used or may still use of it. */
int64_t ar_subagents_held(const struct ar_session *s, const struct ar_turn *turn, enum ar_quota quota);
int64_t ar_subagents_reserved(const struct ar_session *s, const struct ar_turn *turn,
			      enum ar_quota quota); /* of the session's, by others than this turn */

/* What the budget that the turn uses (its own, or that of a child or turn above it) has left; INT64_MAX:
 * there is no limit. And whether two turns use the same one. */
int64_t ar_subagents_available(const struct ar_decision *d, const struct ar_turn *turn, enum ar_quota quota);
bool ar_subagents_share(const struct ar_session *s, const struct ar_turn *a, const struct ar_turn *b,
			enum ar_quota quota);

/* Whether `next` more is too much for a child, by its budget or by that of its parents; the words for it.
 * Absent: it is not. */
struct ar_str ar_subagent_over_budget(struct ar_decision *d, const struct ar_turn *turn, enum ar_quota quota,
				      int64_t next);
AR_MUST_USE enum ar_status ar_subagent_check_budget(struct ar_decision *d, const struct ar_turn *parent,
						    const struct ar_shape_turn_budget *budget,
						    struct ar_error *err);
/* The same when it is to work again: what it has not used yet is set aside again. */
AR_MUST_USE enum ar_status ar_subagent_check_again(struct ar_decision *d,
						   const struct ar_shape_subagent_record *r,
						   struct ar_error *err);

/* ---- tools.c: children of a model ---- */

/* The arguments of a call to one of the tools are here: it is done, or waits for children. */
void ar_subagent_called(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			struct ar_str args);
bool ar_call_is_delegated(const struct ar_invocation *call); /* the core itself answers it */
/* Whether the children that it waits for have ended as it wants; false for any other call. */
bool ar_subagent_has_ended(const struct ar_session *s, const struct ar_invocation *call);
void ar_subagent_answer(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
			bool is_late); /* the end of such a call: how its children stand */
void ar_subagent_wait_due(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call);

#endif
