/* Durable questions to people. A question is a fact, and so is its one answer: given by
 * somebody, by its deadline, or by the end of the turn that asked. Until then nothing that
 * depends on it goes on, also over a restart. What an answer means is the asker's business
 * (continue.c). Pure. */
#ifndef AR_SESSION_ACTION_H
#define AR_SESSION_ACTION_H

#include "decide.h"
#include "permission/permission.h"

#define AR_WINDOW_ACTIONS 20 /* newest settled ones kept per session */

#define AR_REASON_ASKED "action_required"
#define AR_REASON_ANSWERED "action_resolved"

enum ar_action_type {
	AR_ACTION_TOOL_PERMISSION = 1,
	AR_ACTION_PLAN_APPROVAL,
	AR_ACTION_CREDENTIAL,
	AR_ACTION_STRUCTURED_INPUT,
	AR_ACTION_SANDBOX_ESCALATION,
	AR_ACTION_NETWORK_ACCESS,
	AR_ACTION_BUDGET_OVERRIDE,
	AR_ACTION_MODEL_OVERRIDE,
	AR_ACTION_PEER_AUTHORIZATION,
	AR_ACTION_COMPLETION_OVERRIDE, /* of a tool call whose outcome nobody knows: retry, skip, mark_done */
	AR_ACTION_RECOVERY, /* of a turn that was lost too often: resume, interrupt */
	AR_ACTION_MERGE_CONFLICT, /* of the files of a session and of its workspace; its turn has ended */
	AR_ACTION_ACCEPTANCE, /* of a criterion of a task: whether it holds */
	AR_ACTION_TYPE_COUNT,
};

/* What a kind of question offers, and what becomes of it without an answer. */
struct ar_action_kind {
	const char *name;
	const char *decisions[4]; /* what may be answered */
	const char *decision_kind;
	const char *accepting; /* the decision that brings the payload its schema asks for; NULL: none */
	const char *unanswered; /* what stands when its time runs out; never one that allows */
	int on_timeout; /* the same as a word of action.required */
};

const struct ar_action_kind *ar_action_kind(enum ar_action_type type);
enum ar_action_type ar_action_type_find(struct ar_str name); /* 0: unknown */

/* One question, pending or settled. */
struct ar_action {
	struct ar_str id, thread, turn;
	struct ar_str call, tool; /* tool call that it is about; absent: none */
	struct ar_str prompt;
	struct ar_str schema; /* JSON */
	struct ar_texts decisions;
	const struct ar_shape_action_scope *scope;
	struct ar_str
		prompt_ref; /* whole question, when prompt leaves out a part; absent: prompt is the whole */
	struct ar_str check; /* what the digest of the whole question hashes to */
	struct ar_str question; /* id that a tool gave its question; absent: the runtime asks */
	struct ar_str rule, mode; /* tool_permission: the rule that asked, the mode in force */
	struct ar_str rule_source; /* where that rule stood; absent: no rule, or not recorded */
	struct ar_str covers; /* of a shell: digest of the command that is asked about */
	struct ar_str decision, source, response_ref;
	const struct ar_shape_actor *actor; /* who answered; NULL: nobody */
	int64_t type; /* enum ar_action_type */
	int64_t status; /* of the action machine */
	int64_t on_timeout;
	bool is_destructive;
	struct ar_opt_int
		/* people who have to approve, none of whom gave the work; absent or 0: one
		 * answer, of anybody */
		needed;
	struct ar_shape_approval_list approved; /* who did */
	struct ar_shape_sight_list seen; /* who has seen it */
	struct ar_str audience; /* that it is put to when nobody answers; absent: to nobody else */
	ar_usec created, expires, resolved; /* expires 0: never */
	ar_usec escalates, escalated; /* when it is, and was; 0: never, not yet */
};

struct ar_action *ar_session_action(const struct ar_session *s, struct ar_str id);
bool ar_turn_is_waiting(const struct ar_session *s,
			const struct ar_turn *turn); /* a question of it is open */

/* Those that are open, oldest first. A copy: an answer moves a question to the end of the session's. */
struct ar_vec ar_turn_open_actions(struct ar_decision *d, const struct ar_turn *turn);

/* Whether something is done for it: it is not blocked, and waits for no answer. */
bool ar_turn_is_worked_on(const struct ar_session *s, const struct ar_turn *turn);

/* ---- noticing (notice.c): who has seen it, and whether others are told of it; run.status facts ---- */

#define AR_PHASE_SEEN "action_seen"
#define AR_PHASE_ESCALATED "action_escalated"
#define AR_SEEN_MAX 32 /* actors that are remembered per question */

/* Puts it to its other audience, if the time for that has come. */
bool ar_decide_escalate(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a);

/* ---- several people (approve.c) ---- */

#define AR_PHASE_APPROVED "action_approved"

/* Whether the answer counts only together with those of others. */
bool ar_action_needs_people(const struct ar_action *a, struct ar_str decision);

struct ar_settlement;

/* One more approval becomes a fact; `*ret_is_enough`: it was the last that was missing, and `s`
 * says who they were. Refuses who gave the work, who is not known, and who approved before. */
enum ar_status ar_action_approve(struct ar_decision *d, const struct ar_turn *turn, const struct ar_action *a,
				 struct ar_settlement *s, bool *ret_is_enough, struct ar_error *err);

/* ---- asking ---- */

struct ar_ask {
	struct ar_str id; /* minted already, for a fact before; absent: minted here */
	enum ar_action_type type;
	struct ar_str call, step, tool; /* what it is about; may be absent */
	struct ar_str prompt, schema; /* at least one; the prompt is the whole question */
	struct ar_texts decisions; /* absent: those of the type */
	struct ar_str question; /* a tool's own id for it */
	struct ar_str input_ref; /* arguments of the call, for the one who decides */
	ar_usec expires; /* 0: by the policy */
	int64_t approvals; /* people who have to approve; 0: as the judgement says */
	const struct ar_judgement *judgement; /* tool_permission: why it is asked */
};

struct ar_str ar_action_mint(struct ar_decision *d);

/* A fact about the turn that names the question, too. */
void ar_action_emit(struct ar_decision *d, const struct ar_turn *turn, struct ar_str action,
		    enum ar_event_type type, const void *payload);

/* action.required (and permission.requested), the thread blocked, the task waiting, and a wake-
 * up at the deadline. Returns its id. */
struct ar_str ar_decide_ask(struct ar_decision *d, const struct ar_turn *turn, const struct ar_ask *ask);

/* The question whether a judged call may run; `ask` names the call. */
struct ar_str ar_decide_ask_permission(struct ar_decision *d, const struct ar_turn *turn,
				       const struct ar_act *act, struct ar_ask ask);

/* ---- settling ---- */

struct ar_settlement {
	struct ar_str decision;
	int source; /* enum of action.resolved and permission.resolved */
	struct ar_str reason; /* one sentence */
	const struct ar_shape_actor *actor; /* may be NULL */
	struct ar_str response, channel; /* response: the whole answer as JSON; may be absent */
	struct ar_str payload; /* what the schema asked for: JSON object; absent: none */
	struct ar_str comment; /* absent: none */
	struct ar_str digest; /* proof that the whole question was read; absent: none */
	struct ar_shape_approval_list approvals; /* who approved, where several had to */
	ar_usec grant_expires; /* of a grant for the session; 0: with it */
};

/* The one end of a question: facts, the thread goes on, and the asker gets the answer. */
void ar_decide_settle(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
		      const struct ar_settlement *s);

/* What the policy denies by now nobody can allow any more: open questions whether such calls may
 * run are settled by it. */
void ar_decide_overrule(struct ar_decision *d, struct ar_turn *turn);

/* The turn ends or is interrupted: its open questions are settled as cancelled, and nobody is told. */
void ar_decide_cancel_actions(struct ar_decision *d, const struct ar_turn *turn, struct ar_str reason);

/* The turn goes on without an answer to the question whether it may. */
void ar_decide_close_recovery(struct ar_decision *d, const struct ar_turn *turn);

/* The call has ended: what its tool asked is of no use any more. */
void ar_decide_cancel_questions(struct ar_decision *d, const struct ar_turn *turn, struct ar_str call);

/* Comes back with AR_IN_ACTION_DUE when something is due of it next: its escalation, then its deadline. */
void ar_decide_wake_for(struct ar_decision *d, const struct ar_action *a);

/* After a restart, of a turn that only waits: what is overdue is settled, what is not is waited
 * for with its original deadline. */
void ar_decide_wait_again(struct ar_decision *d, struct ar_turn *turn);

/* Of a turn that lost more than its timers: they are set again, those that are overdue fire at once. */
void ar_decide_wait_on(struct ar_decision *d, const struct ar_turn *turn);

/* Another attempt of a turn whose questions are open: it is told again that it waits. */
void ar_decide_still_waits(struct ar_decision *d, const struct ar_turn *turn);
void ar_decide_say_waiting(struct ar_decision *d, const struct ar_turn *turn, enum ar_action_type type,
			   struct ar_str action);

/* continue.c: what an answer means for the asker. */
void ar_action_continue(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
			const struct ar_settlement *s);

/* What an answer brings to prove that the whole question was read, and what is kept of it to
 * check that: both SHA-256 in hex. */
struct ar_str ar_action_digest(struct ar_arena *a, struct ar_str action, struct ar_str whole);
struct ar_str ar_action_check(struct ar_arena *a, struct ar_str digest);

/* Whether it asks for no more than a word: the thread is waiting_permission meanwhile, and otherwise
 * waiting_input. */
bool ar_action_is_permission(int64_t type);

/* Whether its turn waits for the answer; otherwise it is blocked already, or has ended. */
bool ar_action_holds_turn(int64_t type);

/* Whether it asks if a tool call may run. */
bool ar_action_is_about_call(int64_t type);

/* Inputs may use the words of an outcome (allowed) for those of a decision (allow). */
struct ar_str ar_action_decision_word(struct ar_str said);

/* Whether the answer lets the act run. */
bool ar_action_allows(struct ar_str decision);

#endif
