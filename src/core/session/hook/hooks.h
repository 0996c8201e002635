/* Hook points: where handlers that the operator declared are asked, and what their answers come
 * to. Handlers of one point are asked one after another, in the order declared; each sees what
 * the one before made of the input. Pure: the asking itself is an effect.
 *
 * Every run has two facts, hook.started and its end. What they came to so far is a chain (state_turn.h). */
#ifndef AR_SESSION_HOOKS_H
#define AR_SESSION_HOOKS_H

#include "decide.h"

enum ar_hook_point {
	AR_AT_SESSION_START = AR_HOOK_STARTED_HOOK_POINT_SESSION_START,
	AR_AT_USER_PROMPT_SUBMIT = AR_HOOK_STARTED_HOOK_POINT_USER_PROMPT_SUBMIT,
	AR_AT_PRE_TOOL_USE = AR_HOOK_STARTED_HOOK_POINT_PRE_TOOL_USE,
	AR_AT_PERMISSION_REQUEST = AR_HOOK_STARTED_HOOK_POINT_PERMISSION_REQUEST,
	AR_AT_POST_TOOL_USE = AR_HOOK_STARTED_HOOK_POINT_POST_TOOL_USE,
	AR_AT_POST_TOOL_FAILURE = AR_HOOK_STARTED_HOOK_POINT_POST_TOOL_FAILURE,
	AR_AT_POST_SAMPLING = AR_HOOK_STARTED_HOOK_POINT_POST_SAMPLING,
	AR_AT_STOP = AR_HOOK_STARTED_HOOK_POINT_STOP,
};

#define AR_STOP_BLOCKS_MAX 3 /* times that stop handlers may keep one turn from ending */

/* ---- decide_hook.c: asking ---- */

/* Starts the next handler of the point; `call` is NULL at points of the turn. Held: one runs,
 * the turn goes on when it has ended. Otherwise all have been asked, or there is none; what they
 * came to is ar_hook_said. */
enum ar_hold ar_hook_ask(struct ar_decision *d, struct ar_turn *turn, const struct ar_invocation *call,
			 enum ar_hook_point point);

/* Open runs end here: nobody carries them any more (interrupted: they are run again), or nobody
 * wants them (cancelled). */
void ar_hook_end_runs(struct ar_decision *d, struct ar_turn *turn, bool is_lost);

struct ar_ids ar_hook_ids(struct ar_decision *d, const struct ar_turn *turn,
			  const struct ar_hook_chain *chain);
void ar_hook_warn(struct ar_decision *d, const struct ar_ids *ids, const char *code, struct ar_str message);

/* ---- chain.c: what was said ---- */

/* What a point is about: the call, the step, or (absent) the turn. */
struct ar_str ar_hook_subject(const struct ar_turn *turn, const struct ar_invocation *call,
			      enum ar_hook_point point);

/* NULL: nobody was asked. */
struct ar_hook_chain *ar_hook_chain(const struct ar_turn *turn, int64_t point, struct ar_str subject);
struct ar_hook_chain *ar_hook_said(const struct ar_turn *turn, const struct ar_invocation *call,
				   enum ar_hook_point point);
bool ar_hook_is_open(const struct ar_turn *turn, const struct ar_invocation *call, enum ar_hook_point point);
bool ar_hook_objects(int64_t decision); /* enum ar_hook_completed_decision */
bool ar_hook_blocks(const struct ar_hook_chain *chain); /* NULL does not */
bool ar_hook_is_policy(const struct ar_policy *policy,
		       struct ar_str name); /* a handler that decides for the host */
struct ar_hook_chain *ar_turn_hook_run(const struct ar_turn *turn, struct ar_str run); /* an open one */

/* The ref of what the turn was asked, as handlers left it so far. */
struct ar_str ar_hook_prompt(const struct ar_turn *turn);

/* A call that is tried again has another id: what was said about it stays said. `now` lives as
 * long as the state. */
void ar_hook_follow(struct ar_turn *turn, struct ar_str before, struct ar_str now);

/* Refs of all that ran for the call. */
struct ar_texts ar_hook_refs(struct ar_decision *d, const struct ar_turn *turn,
			     const struct ar_invocation *call);

/* ---- answer.c: what a handler said, in the runtime's words ---- */

struct ar_hook_answer {
	int decision; /* enum ar_hook_completed_decision */
	struct ar_str reason;
	struct ar_str long_reason; /* all of it, where it is longer than facts have it; else absent */
	struct ar_str input; /* a prompt: JSON array of parts; arguments: JSON object; absent: it stays */
	struct ar_str output; /* text; absent: it stays */
	struct ar_str contexts[16];
	size_t context_count;
	struct ar_texts audit_refs; /* absent: none */
	bool suppress_output;
};

/* Nothing at all means continue. AR_E_INVALID: what it said has no meaning at this point; err says why. */
AR_MUST_USE enum ar_status ar_hook_answer_read(struct ar_decision *d, enum ar_hook_point point,
					       struct ar_str said, struct ar_hook_answer *ret,
					       struct ar_error *err);

/* Why, as far as a fact has room for it. */
void ar_hook_reason(struct ar_decision *d, struct ar_str text, struct ar_hook_answer *ret);

/* ---- document.c: what a handler is given ---- */

void ar_hook_document(struct ar_decision *d, const struct ar_turn *turn, const struct ar_invocation *call,
		      struct ar_hook_chain *chain, struct ar_effect_hook_run *effect);
struct ar_str ar_hook_scope_ids(struct ar_decision *d, const struct ar_ids *ids); /* JSON object */

/* ---- turn_points.c: points of a turn, and where a turn goes on after any of them ---- */

void ar_decide_begin(struct ar_decision *d, struct ar_turn *turn); /* before its first request */
void ar_decide_sampled(struct ar_decision *d, struct ar_turn *turn); /* an answer without calls */
enum ar_hold ar_hook_after_sample(struct ar_decision *d, struct ar_turn *turn); /* post_sampling */
enum ar_hold ar_hook_after_calls(struct ar_decision *d,
				 struct ar_turn *turn); /* post_tool_use and its failure */
void ar_decide_resume(struct ar_decision *d, struct ar_turn *turn); /* wherever it stood */

#endif
