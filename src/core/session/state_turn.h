/* What a turn is between two facts: its steps, calls, hooks, route and cost, and the messages it
 * adds. See state.h for who writes here. */
#ifndef AR_SESSION_STATE_TURN_H
#define AR_SESSION_STATE_TURN_H

#include "catalog.h"
#include "id.h"
#include "state_task.h"
#include "vec.h"

/* Roles of context entries; the values of enum ar_role in port/provider.h, and the runtime's own. */
enum ar_context_role {
	AR_CONTEXT_SYSTEM = 1,
	AR_CONTEXT_USER,
	AR_CONTEXT_ASSISTANT,
	AR_CONTEXT_TOOL,
	AR_CONTEXT_SUMMARY, /* stands for older messages; told to the model as said by the user */
};

/* One message of the conversation as the model will see it again; the text is content by ref. */
struct ar_context_entry {
	int64_t role; /* enum ar_context_role */
	struct ar_str ref;
	int64_t bytes;
	struct ar_str tool_call_id; /* role tool: the provider's id of the call it answers */
	struct ar_texts images; /* role tool: refs of images that came with it */
	struct ar_shape_requested_call_list uses; /* role assistant: the calls it made */
	struct ar_str echo,
		echo_by; /* role assistant: what the provider of that kind wants back; absent: nothing */
	struct ar_opt_int turn; /* `start` of the turn that brought it */
};

#define AR_IMAGE_WEIGHT 6000 /* bytes of text that an image is counted as: about 1500 tokens */

/* Where the conversation was shortened: in requests the summary stands for the messages before
 * it. These stay in the window, hidden, so that a rollback or a branch from before the boundary
 * finds them. */
struct ar_boundary {
	struct ar_str turn, trigger, summary_ref, preview, history_ref;
	const struct ar_shape_preserved *preserved; /* NULL: the fact does not say */
	int64_t covered; /* messages that the summary stands for, counted from the first of the thread */
	int64_t bytes; /* of the summary */
	int64_t tokens_before, tokens_after;
	int64_t start; /* of the turn in which it was made */
	ar_usec at;
};

/* The compactions of one turn. */
struct ar_compaction {
	struct ar_opt_int trigger; /* enum compaction_trigger of the one under way */
	struct ar_opt_int covered, tokens; /* of the one under way, as in its boundary */
	struct ar_opt_int started, failed; /* how many that nobody asked for */
	struct ar_opt_int budgets; /* how many to save tokens of a budget */
	struct ar_opt_int overflows; /* requests refused as too long since the last answer */
};

/* What may be used up, by a turn or by a session. */
enum ar_quota {
	AR_QUOTA_TOKENS,
	AR_QUOTA_CALLS,
	AR_QUOTA_COST,
	AR_QUOTA_COUNT,
};

/* What facts said about one of them: the limit that people raised, and the limits at which a
 * warning was given and work stopped. */
struct ar_quota_mark {
	struct ar_opt_int limit, warned, blocked;
};

struct ar_budget {
	struct ar_quota_mark marks[AR_QUOTA_COUNT];
};

/* The newest answered call of a turn, and how often it came in a row. */
struct ar_repeat {
	struct ar_str name, args_ref, answer_ref;
	struct ar_opt_int count;
};

struct ar_step {
	struct ar_str id;
	struct ar_str
		model_request; /* absent: what a person said while the turn ran; output_ref is that input */
	struct ar_str status; /* open, completed, failed */
	struct ar_str purpose; /* of the model call: turn, compaction */
	struct ar_str provider, model, output_ref, preview, category;
	struct ar_str
		summary; /* ref of its reasoning, of which the provider showed a summary; absent: none */
	int64_t attempt;
	struct ar_opt_int
		reserved; /* money that it may cost at most; absent: its cost is known, or needs no limit */
	ar_usec started, ended;
};

/* How far a tool call is. Only facts move it. */
enum ar_call_stage {
	AR_CALL_PLANNED = 1, /* the model asked for it */
	AR_CALL_WAITING, /* a person has to decide */
	AR_CALL_ALLOWED, /* may run, and waits for its place */
	AR_CALL_RUNNING,
	AR_CALL_UNKNOWN, /* began, and nobody knows how it ended: a person has to decide */
	AR_CALL_ENDED,
};

struct ar_invocation {
	struct ar_str id; /* toolCallId of the newest attempt */
	struct ar_str step, name;
	struct ar_str provider_id; /* the model's own id of the call */
	struct ar_str args_ref;
	struct ar_str permission; /* eventId of the fact that lets it run */
	struct ar_str status; /* ok, or the word of tool.failed */
	struct ar_str answer_ref; /* what the model reads */
	struct ar_texts images; /* refs of those that the model sees with it */
	struct ar_str output_ref, preview, category;
	int64_t stage, attempt, answer_bytes;
	bool is_read_only, is_parallel, is_destructive, is_idempotent;
	bool is_client; /* the client that submitted the turn runs it */
	bool blocks; /* an interruption waits for its end */
	bool is_joined; /* its answer is part of the conversation */
	struct ar_opt_bool delegates; /* it is about children: the core itself answers it */
	struct ar_texts waits; /* of such a call: ids of children whose ends it waits for */
	struct ar_opt_bool waits_any; /* the first of these ends is enough */
	struct ar_opt_bool runs_process; /* all it does is done by the process it asks for */
	struct ar_opt_int profile; /* enum ar_sandbox_profile that was settled; absent: none */
	struct ar_str command_digest; /* which command it is; absent: no shell, or its mode does not ask */
	struct ar_opt_int approvals; /* people who had to let it run; absent: one answer was enough */
	ar_usec started, ended, expires;
};

/* The answer of a call as a message. */
static inline struct ar_context_entry ar_call_message(const struct ar_invocation *call)
{
	return (struct ar_context_entry){ .role = AR_CONTEXT_TOOL,
					  .ref = call->answer_ref,
					  .bytes = call->answer_bytes +
						   (int64_t)call->images.count * AR_IMAGE_WEIGHT,
					  .tool_call_id = call->provider_id,
					  .images = call->images };
}

/* What model calls used, failed ones too. */
struct ar_spent {
	int64_t requests, input_tokens, output_tokens, cached_tokens;
	int64_t cost; /* billionths of the session's currency */
	int64_t unpriced; /* requests whose cost nobody knows */
	struct ar_opt_int
		reserved; /* the most that requests under way, and those without a known cost, cost */
	struct ar_opt_int below[AR_QUOTA_COUNT]; /* of a turn: what its closed children used, with theirs */
};

/* Which model answers a turn, as its routing facts say. */
struct ar_route {
	struct ar_str mode; /* single_candidate, multi_candidate, no_candidate; absent until it is decided */
	struct ar_str provider, model; /* in use now */
	struct ar_texts chain; /* names that may follow */
	struct ar_str source, reason, gap; /* of the decision */
	struct ar_str estimate; /* JSON: the amount before the first call, or "unknown" */
	struct ar_str profile, candidates, decision; /* the payloads themselves, of the newest turns only */
	int64_t count; /* candidates */
	int64_t fallbacks;
};

/* That the facts of a turn name its trace. */
struct ar_turn_trace {
	struct ar_str parent; /* traceparent of the request that submitted it; absent: it had none */
};

/* A model that its server wants left alone for a while. */
struct ar_throttle {
	struct ar_str model;
	ar_usec until;
};

/* The handlers of one hook point, asked one after another about one thing, and what they came to so far. */
struct ar_hook_chain {
	int64_t point; /* enum ar_hook_point */
	struct ar_str subject; /* the call or the step that it is about; absent: the turn */
	struct ar_str run; /* eventId of the hook.started that has no end yet; absent: none */
	struct ar_str handler; /* of the newest run */
	struct ar_texts done, runs; /* handlers that have ended, and their runs */
	struct ar_str by, by_handler, reason; /* the run that decided, and why */
	struct ar_str input_ref; /* what they put in the place of the input; absent: nothing */
	int64_t decision; /* enum ar_hook_completed_decision; 0: none yet */
	int64_t tries; /* of the handler that runs, or is to be run again */
	struct ar_opt_bool has_failed; /* what decided is that a handler failed */
	ar_usec started;
};

/* One run of a handler, as readers see it later. */
struct ar_hook_record {
	struct ar_str id; /* eventId of its hook.started */
	struct ar_str handler, subject; /* the call or the step that it was about; absent: the turn */
	struct ar_str status; /* running, completed, failed */
	struct ar_str decision, category; /* of its end */
	int64_t point; /* enum ar_hook_point */
	ar_usec started, ended;
};

/* How far the checkpoints of a turn are: that at its start, then that at its end. Before the first call that
 * may change files there is none. */
enum ar_turn_checkpoint {
	AR_TURN_CHECKPOINT_PENDING = 1, /* calls wait for its end */
	AR_TURN_CHECKPOINT_CREATED,
	AR_TURN_CHECKPOINT_FAILED, /* calls begin without one */
	AR_TURN_CHECKPOINT_LOST, /* with its process: made again before calls begin */
	AR_TURN_CHECKPOINT_ENDING, /* the turn waits for that at its end, or has ended without */
	AR_TURN_CHECKPOINT_ENDED, /* that at its end was made, or could not be */
	AR_TURN_CHECKPOINT_END_LOST, /* with its process: made again before the turn completes */
};

/* What a turn comes with, and what becomes of it: members for which a turn itself has no room. */
struct ar_turn_origin {
	struct ar_str environment; /* ref of what it started in; see ar_session_turn_environment() */
	struct ar_str metadata; /* JSON of its caller, until it starts */
	struct ar_opt_bool stopped_by_policy; /* a rule interrupted it, nobody else did */
	struct ar_opt_bool plan_approved; /* the mode plan of its options ended */
};

struct ar_turn {
	struct ar_str id, thread, run, open_step;
	struct ar_str source, input_ref, input_preview;
	const struct ar_shape_turn_options *options; /* read it with ar_turn_options() */
	struct ar_texts people; /* who gave the work (people.h) */
	struct ar_str updated_input_ref; /* what a hook put in the place of the input */
	struct ar_str outcome; /* completed, failed, cancelled, timed_out, lost; absent while open */
	struct ar_str interrupt_reason, stop_reason, output_ref, error_category, error_message;
	int64_t status; /* of the turn machine */
	/* attempts begun because the one before was lost with its process, which worked on
	 * nothing else */
	int64_t restarts;
	int64_t attempt; /* model calls of the step now tried */
	int64_t rounds; /* model answers so far */
	int64_t input_bytes;
	int64_t input_tokens, output_tokens, cached_tokens;
	struct ar_opt_int start; /* sequence of its turn.started: the order in which turns ran */
	struct ar_opt_bool has_images; /* what was said holds some */
	struct ar_opt_bool unwanted; /* when its interruption settles, it is removed too */
	struct ar_opt_int stop_blocks; /* times that a hook kept it from ending */
	struct ar_opt_bool removed; /* a rollback took it out of the conversation; it stays known */
	struct ar_str resolved; /* what the newest context.resolved said, as a digest */
	struct ar_compaction compaction;
	struct ar_budget budget;
	struct ar_opt_int checkpoint; /* enum ar_turn_checkpoint; absent: none was needed */
	struct ar_opt_int calls_started; /* tool calls that began */
	struct ar_opt_bool overdue; /* its time is over; settles as timed_out */
	struct ar_opt_bool silent; /* overdue: because nothing happened */
	struct ar_opt_bool crowded; /* it was said that calls wait for others to end */
	struct ar_opt_bool waits_worker; /* a call waits for the worker of the session */
	struct ar_opt_bool lost_worker; /* is_lost: with the worker, not with a process of ours */
	struct ar_repeat repeat;
	struct ar_str
		report_to; /* in another session, that is told how it ended; absent: nobody is, or was */
	struct ar_opt_bool retryable; /* why it failed may be gone when it is tried again */
	bool is_interrupted; /* asked for; settles as cancelled */
	bool is_lost; /* its process is gone and nothing was decided yet */
	ar_usec submitted, started, ended;
	struct ar_task *task;
	struct ar_route *route; /* NULL: not asked for yet */
	struct ar_turn_trace *trace; /* NULL: its facts name no trace */
	struct ar_spent spent;
	struct ar_vec steps; /* struct ar_step */
	struct ar_vec steers; /* struct ar_context_entry: said while it ran, for the next request */
	struct ar_vec
		calls; /* struct ar_invocation: those of the newest answer, and the newest before them */
	struct ar_vec hooks; /* struct ar_hook_chain: about the turn, and about its newest step */
	struct ar_vec hook_runs; /* struct ar_hook_record: the newest, oldest first */
	struct ar_turn_origin origin;
};

#endif
