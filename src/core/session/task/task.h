/* Declared tasks: work with an objective that somebody asked for by name. A task is worked on in
 * runs: by somebody outside, who reports with commands, or by a turn of this session (a worker
 * of kind "agent"). Turns that work for a task are its children, and so are tasks declared under
 * it. Pure; facts only, see apply_task.c for what they mean. */
#ifndef AR_SESSION_TASK_H
#define AR_SESSION_TASK_H

#include "decide.h"
#include "people.h"
#include "task/words.h"

/* ---- finding and naming ---- */

/* The declared task that a command names; refuses with task_not_found, and says so of one that
 * is the task of a turn. */
AR_MUST_USE enum ar_status ar_task_need(const struct ar_decision *d, struct ar_str id, struct ar_task **ret,
					struct ar_error *err);

/* Refuses one that is over with already_terminal. */
AR_MUST_USE enum ar_status ar_task_check_open(const struct ar_task *task, struct ar_error *err);

/* Ids of a fact about it: task, parent, root, thread; with `run` those of that run too. */
struct ar_ids ar_task_ids(const struct ar_task *task, const struct ar_run *run);

/* A fact about it and its newest run. */
void ar_task_emit(struct ar_decision *d, const struct ar_task *task, enum ar_event_type type,
		  const void *payload);

/* The word of its status, as readers see it. */
struct ar_str ar_task_status_word(const struct ar_task *task);

/* Who asks; `said` is what the command says of it, or NULL. The channel that does; NULL: none. */
const struct ar_shape_party *ar_task_caller(struct ar_decision *d, const struct ar_shape_party *said);
const struct ar_shape_party *ar_task_channel(struct ar_decision *d, struct ar_str channel);

/* task.accepted; `owner` NULL: the runtime. */
void ar_task_say_accepted(struct ar_decision *d, const struct ar_task *task,
			  const struct ar_shape_party *owner);

/* ---- the graph ---- */

/* Whether something keeps the task from running: a blocker that is not completed. */
bool ar_task_is_blocked(const struct ar_task *task);

/* The task `id` as a blocker: with the question that it waits for, if there is one. */
struct ar_shape_blocker ar_task_blocker(const struct ar_session *s, struct ar_str id);

/* The first of its blockers that is open; absent: none is. */
struct ar_str ar_task_blocked_by(const struct ar_task *task);

/* Parts of it that have not ended: declared tasks, turns, how many both are. The lists are copies. */
struct ar_vec ar_task_children(const struct ar_decision *d, const struct ar_task *task);
struct ar_vec ar_task_turns(const struct ar_decision *d, const struct ar_task *task);
size_t ar_task_open_children(const struct ar_decision *d, const struct ar_task *task);

/* A fact about an edge that starts from the task. */
void ar_task_say_edge(struct ar_decision *d, const struct ar_task *task, const struct ar_edge *edge,
		      int change);

/* ---- depend.c: tasks that wait for tasks ---- */

/* The task cannot run because of that blocker; of one that has ended, or NULL, nothing is said. */
void ar_task_say_blocked(struct ar_decision *d, const struct ar_task *task, struct ar_str blocker);

/* A blocker of the task is gone: it goes on, or begins by itself, if that was the last. May be NULL. */
void ar_task_unblock(struct ar_decision *d, const struct ar_task *task);

/* The task has ended so: edges to it are told, and what only waited for it goes on. Without the
 * first's parent: `_held`, for the task of a turn. */
void ar_task_release(struct ar_decision *d, const struct ar_task *task, bool is_completed);
void ar_task_release_held(struct ar_decision *d, const struct ar_task *task, bool is_completed);

/* One that did not end well is tried again: what it holds waits for it as before. */
void ar_task_hold_again(struct ar_decision *d, const struct ar_task *task);

/* ---- completed.c: what is said of a good end ---- */

/* task.completed of the task that `ids` names, with what is said of its end; lists that are
 * absent are empty. Where its result is, and whether all that it began has ended, is worked out
 * here. */
void ar_task_say_completed(struct ar_decision *d, const struct ar_ids *ids,
			   const struct ar_ev_task_completed *said);

/* The refs alone, each as a text. */
struct ar_shape_result_ref_list ar_task_plain_refs(struct ar_decision *d,
						   struct ar_shape_result_ref_list refs);

/* artifact.changed for each ref with a version, and evidence.changed for each with a kind. A mere ref says
 * neither, and none is made up: it stands in task.completed alone. */
void ar_task_say_artifacts(struct ar_decision *d, const struct ar_task *task,
			   struct ar_shape_result_ref_list refs);
void ar_task_say_evidence(struct ar_decision *d, const struct ar_task *task,
			  struct ar_shape_result_ref_list refs);

/* ---- runs ---- */

/* How a run is to begin. */
struct ar_task_start {
	struct ar_shape_task_start
		how; /* without a run one is minted, without a worker it is the assignee or the
					 * caller, without a thread an agent gets a new one */
	struct ar_str model; /* of a run by an agent; absent: as its constraints say */
	int trigger;
};

/* A run that is to begin, and the turn of an agent that is to carry it. Zeroed by its owner. */
struct ar_task_plan {
	struct ar_run run;
	struct ar_new_turn turn; /* without `in`: there is none */
};

/* The attempt that a run is. */
struct ar_str ar_task_attempt_id(struct ar_decision *d, struct ar_str run);

/* Refuses when no turn can be had; the run stands in the plan then, without a turn. Emits nothing. */
AR_MUST_USE enum ar_status ar_task_plan(struct ar_decision *d, const struct ar_task *task,
					const struct ar_task_start *start, struct ar_task_plan *ret,
					struct ar_error *err);

/* start_task with that worker, without its reply. */
AR_MUST_USE enum ar_status ar_task_start_by(struct ar_decision *d, struct ar_str id,
					    const struct ar_shape_party *worker,
					    struct ar_cmd_start_task_out *ret, struct ar_error *err);

/* Begins it: the facts, the turn, the clocks. */
void ar_task_begin(struct ar_decision *d, const struct ar_task *task, const struct ar_task_start *start,
		   const struct ar_task_plan *plan);

/* How a run or a task ended otherwise than well. */
struct ar_task_failure {
	int status; /* of task.attempt.failed */
	struct ar_str category, message;
	const struct ar_shape_failure *error; /* NULL: made of the others */
	struct ar_shape_result_ref_list artifacts, evidence; /* may be absent */
	bool retryable;
};

/* The open run, if any, has failed. True: it is tried again by itself, and the task goes on. */
bool ar_task_run_failed(struct ar_decision *d, const struct ar_task *task, const struct ar_task_failure *f);

/* The task has failed, after its run. */
void ar_task_fail(struct ar_decision *d, const struct ar_task *task, const struct ar_task_failure *f);

/* The clock of whatever is due next of it is set; cleared when nothing is. */
void ar_task_set_clock(struct ar_decision *d, const struct ar_task *task, const struct ar_run *run);

/* ---- constraint.c: constraints in the turn that executes a run ---- */

/* The task whose open run the turn executes; NULL: it executes none. */
const struct ar_task *ar_task_executed_by(const struct ar_decision *d, const struct ar_turn *turn);

/* What a decision cites that applies a constraint of that task: `<taskId>/constraints.<member>`, absent for
 * any other turn; and the same as the end of a sentence, empty for any other. */
struct ar_str ar_task_constraint_ref(const struct ar_decision *d, const struct ar_turn *turn,
				     const char *member);
struct ar_str ar_task_cite(const struct ar_decision *d, const struct ar_turn *turn, const char *member);

/* Constraints and profile as the options of a turn; `model` replaces theirs and may be absent. Refuses
 * words that mean nothing. */
AR_MUST_USE enum ar_status ar_task_options(struct ar_decision *d, const struct ar_task *task,
					   struct ar_str model, const struct ar_shape_turn_options **ret,
					   struct ar_error *err);

/* True: the answer does not fit the task's schema, and the turn has failed. */
bool ar_task_refuses_answer(struct ar_decision *d, struct ar_turn *turn, struct ar_str answer);

/* A step of the turn, a model's or a tool's, has ended: progress of the task whose run it executes, unless
 * that was recorded a short time ago. */
void ar_task_note_progress(struct ar_decision *d, const struct ar_turn *turn, struct ar_str step,
			   struct ar_str output_ref);

/* ---- command.c: turns in which the runtime itself requests the calls ---- */

#define AR_WORKER_COMMAND "command" /* kind of the worker that runs the task's own command */

/* Who executes a run: who was named, the task's command, its assignee, or the caller. */
const struct ar_shape_party *ar_task_worker(struct ar_decision *d, const struct ar_task *task,
					    const struct ar_shape_party *named);

/* The turn of a run that is the task's command. */
AR_MUST_USE enum ar_status ar_task_plan_command(struct ar_decision *d, const struct ar_task *task,
						struct ar_task_plan *ret, struct ar_error *err);

/* A turn of the runtime's own for the task, in a thread of its own. `purpose`: of its options. */
AR_MUST_USE enum ar_status ar_task_own_turn(struct ar_decision *d, const struct ar_task *task, int purpose,
					    struct ar_new_turn *ret, struct ar_error *err);

/* Requests a call of the shell; it is judged and confined as one that a model requests. `ms` 0: as the host
 * says. */
void ar_task_run_command(struct ar_decision *d, struct ar_turn *turn, struct ar_str command, int64_t ms);

/* Requests a call of any tool with those arguments, which are JSON; `detail` is for people. */
struct ar_own_call {
	const char *tool, *title;
	struct ar_str args, detail;
};
void ar_task_run_call(struct ar_decision *d, struct ar_turn *turn, const struct ar_own_call *own);
#define AR_CATEGORY_END_UNKNOWN "end_unknown" /* of a run that nobody can ask how it ended */

/* How the newest call of the turn ended; its process when it had one. */
struct ar_command_end {
	const struct ar_invocation *call;
	struct ar_opt_int exit_code; /* of one that exited by itself */
	bool is_good;
	bool is_unknown; /* nobody knows how it ended */
	struct ar_str why; /* one sentence, with the end of its output; for people and models */
};
bool ar_task_command_ended(struct ar_decision *d, const struct ar_turn *turn, struct ar_command_end *ret);

/* Such a turn goes on: it begins, its call has ended, or a question of it is answered. */
void ar_task_go_on(struct ar_decision *d, struct ar_turn *turn);

/* Its process runs: where its output can be read is progress of the task. */
void ar_task_note_process(struct ar_decision *d, const struct ar_turn *turn, struct ar_str process);

/* ---- acceptance.c: criteria that the runtime checks ---- */

#define AR_CATEGORY_UNMET "acceptance_unmet" /* of a run whose result was checked and found wanting */

/* How a criterion is called; absent: it has no name. */
struct ar_str ar_criterion_name(const struct ar_shape_criterion *c);
bool ar_criterion_is_checked(const struct ar_shape_criterion *c);

/* Whether they can be checked; refuses with `code`. */
AR_MUST_USE enum ar_status ar_criteria_check(struct ar_shape_criterion_list criteria, enum ar_error_code code,
					     struct ar_error *err);

bool ar_acceptance_holds(const struct ar_task *task, const struct ar_shape_criterion *c);
bool ar_acceptance_is_due(const struct ar_task *task); /* something is yet to be checked */
/* Nothing is left that a caller confirms. */
bool ar_acceptance_is_confirmed(const struct ar_session *s, const struct ar_task *task);

/* What is recorded of the criteria: the checks, and the word of the caller for the others. */
struct ar_shape_criterion_list ar_acceptance_joined(struct ar_decision *d, const struct ar_task *task,
						    struct ar_shape_criterion_list given);

void ar_acceptance_note_result(struct ar_decision *d, const struct ar_task *task, struct ar_texts outputs);
void ar_acceptance_begin(struct ar_decision *d, const struct ar_task *task);
void ar_acceptance_go_on(struct ar_decision *d, struct ar_turn *turn, const struct ar_task *task);
void ar_acceptance_answered(struct ar_decision *d, struct ar_turn *turn,
			    const struct ar_shape_criterion *answer); /* without its name */
bool ar_acceptance_checks(const struct ar_turn *turn, const struct ar_run *run);
bool ar_acceptance_is_unmet(struct ar_decision *d, const struct ar_task *task, struct ar_ending *ret);

/* ---- required.c: what facts have to show before a task is completed ---- */

struct ar_process_record;

bool ar_criterion_is_shown(const struct ar_shape_criterion *c); /* by an artifact or by evidence */

/* The id of the artifact or the evidence that meets such a criterion; absent: it is not met. */
struct ar_str ar_required_ref(const struct ar_session *s, const struct ar_task *task,
			      const struct ar_shape_criterion *c);

/* True: an artifact that the task of this run has to leave is missing, and the turn has failed. */
bool ar_task_lacks_artifact(struct ar_decision *d, struct ar_turn *turn);

/* A command that runs, which a turn of the task started, or one that worked for it; NULL: none does. */
const struct ar_process_record *ar_task_process(const struct ar_session *s, struct ar_str task);

/* What of a task is open whose run has ended well, in words: a command, evidence. Absent: nothing is. */
struct ar_str ar_task_open_end(struct ar_decision *d, const struct ar_task *task);

/* Sends the result where it is to go, once per run. True: it is not acknowledged yet. */
bool ar_task_sends_result(struct ar_decision *d, const struct ar_task *task, struct ar_str summary);
struct ar_str ar_task_undelivered(struct ar_decision *d, const struct ar_task *task); /* in words */
void ar_task_delivered(struct ar_decision *d,
		       const struct ar_task *task); /* or not: its delivery has ended */

/* Something that the task, or the task of that turn, may have waited for is there: it is completed if that
 * was the last. Ids may be absent. */
void ar_task_look_again(struct ar_decision *d, struct ar_str id);
void ar_task_look_again_for(struct ar_decision *d, struct ar_str turn_id);

/* ---- ends that come from elsewhere ---- */

/* A turn that may work for a task has ended, with status 0 well: called before its thread goes on. */
void ar_task_turn_ended(struct ar_decision *d, const struct ar_turn *turn, const struct ar_ending *end);

/* Its newest run has ended and nothing holds the task: it is complete, waits for criteria or parts, or
 * ends as the run did. */
void ar_task_settle(struct ar_decision *d, const struct ar_task *task);

/* A part of it has ended: a cancellation that waited for it is finished. */
void ar_task_child_ended(struct ar_decision *d, struct ar_str parent);

/* After a restart: the clocks of all tasks are set again, and what could not begin begins. */
void ar_task_recover(struct ar_decision *d);

/* ---- turns that work for tasks ---- */

/* The task that submit_turn names, when it takes turns now. */
AR_MUST_USE enum ar_status ar_task_for_turn(const struct ar_decision *d, struct ar_str id,
					    const struct ar_task **ret, struct ar_error *err);

/* Says that `turn` is a part of the task. */
void ar_task_delegated(struct ar_decision *d, const struct ar_task *task, const struct ar_str child,
		       const char *reason);

#endif
