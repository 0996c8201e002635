/* Shared by the apply*.c files: what a fact names, and how state takes it up. */
#ifndef AR_SESSION_APPLY_H
#define AR_SESSION_APPLY_H

#include "machine.h"
#include "session.h"

#define PAYLOAD(e, name) ((const struct ar_ev_##name *)(e)->payload)
#define KEPT(s, e, name) ((const struct ar_ev_##name *)ar_apply_kept(s, e))

typedef enum ar_status ar_apply_fn(struct ar_session *s, const struct ar_event *e, struct ar_error *err);

/* A copy in the session's memory: of a text, and of the whole payload. */
struct ar_str ar_apply_keep(struct ar_session *s, struct ar_str text);
const void *ar_apply_kept(struct ar_session *s, const struct ar_event *e);

/* Ids of ours carry their number: the counter follows the highest that was used. */
void ar_apply_count(int64_t *counter, struct ar_str id);

/* A member object of a payload; absent when there is none. */
struct ar_json ar_apply_parse(struct ar_session *s, struct ar_str raw);

/* The word behind an enum member of the payload. */
struct ar_str ar_apply_word(const struct ar_event *e, const char *field, int value);

/* What the fact is about; NULL when this session has no such thing. */
struct ar_thread *ar_apply_thread(struct ar_session *s, const struct ar_event *e);
struct ar_turn *ar_apply_turn(struct ar_session *s, const struct ar_event *e, struct ar_thread **ret_thread);

enum ar_status ar_apply_unknown(struct ar_error *err, const struct ar_event *e, const char *what);

/* Whether the turn started since environments are kept. Of turns before that, and of their calls and
 * processes, nothing more is kept for readers than was then: the fold of an old log equals its snapshot. */
static inline bool ar_apply_is_shown(const struct ar_turn *turn)
{
	return turn && !ar_str_absent(turn->origin.environment);
}

/* Moves a state as its machine allows; AR_E_CORRUPT otherwise. */
enum ar_status ar_apply_move(int64_t *state, enum ar_machine machine, const struct ar_event *e,
			     struct ar_error *err);

/* One more message of the conversation; the oldest leaves when the window is full. */
void ar_apply_context(struct ar_session *s, struct ar_thread *t, struct ar_context_entry entry);

/* Something that went wrong and deserves notice; the oldest leaves when the window is full. */
void ar_apply_incident(struct ar_session *s, const struct ar_event *e, struct ar_thread *t,
		       const struct ar_shape_failure *error);

/* The error of a fact; empty when the fact is older than the rule that it has one. */
struct ar_shape_failure ar_apply_failure(const struct ar_shape_failure *error);

/* One more step of a turn; the oldest leaves when the window is full. */
void ar_apply_step(struct ar_session *s, struct ar_turn *turn, struct ar_step *step);

/* What was said while the turn ran joins the conversation. */
void ar_apply_steers(struct ar_session *s, struct ar_thread *t, struct ar_turn *turn);

ar_apply_fn ar_apply_task_created, ar_apply_attempt_started, ar_apply_attempt_ended, ar_apply_task_moved,
	ar_apply_task_ended, ar_apply_model_requested, ar_apply_model_completed, ar_apply_model_failed,
	ar_apply_tool_started, ar_apply_tool_result, ar_apply_tool_failed, ar_apply_permission_evaluated,
	ar_apply_hook_started, ar_apply_hook_completed, ar_apply_hook_failed, ar_apply_rolled_back,
	ar_apply_context_resolved, ar_apply_compaction_started, ar_apply_compaction_completed,
	ar_apply_compaction_failed, ar_apply_quota_low, ar_apply_quota_blocked, ar_apply_limit_changed,
	ar_apply_profile, ar_apply_routing, ar_apply_cost_recorded, ar_apply_rate_limit,
	ar_apply_task_waiting, ar_apply_action_required, ar_apply_action_resolved,
	ar_apply_permission_resolved, ar_apply_policy_changed, ar_apply_runtime_warning,
	ar_apply_process_started, ar_apply_process_input, ar_apply_process_completed, ar_apply_process_failed,
	ar_apply_process_terminated, ar_apply_violation, ar_apply_repaired, ar_apply_boundary,
	ar_apply_window_loaded, ar_apply_channel_connected, ar_apply_channel, ar_apply_channel_message,
	ar_apply_output_spilled, ar_apply_artifact_changed, ar_apply_session_updated,
	ar_apply_catalog_resolved, ar_apply_reasoning_summary, ar_apply_evidence_changed,
	ar_apply_output_expired, ar_apply_output_redacted, ar_apply_runtime_error;
ar_apply_fn ar_apply_workspace_created, ar_apply_workspace_updated, ar_apply_workspace_archived,
	ar_apply_workspace_bound, ar_apply_workspace_inspected, ar_apply_workspace_servers_starting,
	ar_apply_workspace_servers_started;
ar_apply_fn ar_apply_worker_created, ar_apply_worker_enrolled, ar_apply_worker_updated,
	ar_apply_worker_removed, ar_apply_worker_changed, ar_apply_turn_reported, ar_apply_job_reported,
	ar_apply_job_delivery;
ar_apply_fn ar_apply_schedule_created, ar_apply_schedule_updated, ar_apply_schedule_fired,
	ar_apply_schedule_missed, ar_apply_schedule_run_changed, ar_apply_schedule_ended;
ar_apply_fn ar_apply_workspace_preparing, ar_apply_workspace_prepared, ar_apply_workspace_applying,
	ar_apply_workspace_applied, ar_apply_workspace_conflicted, ar_apply_workspace_failed,
	ar_apply_workspace_removed;
ar_apply_fn ar_apply_webhook_progressed, ar_apply_webhook_failed, ar_apply_webhook_redelivering,
	ar_apply_webhook_redelivered, ar_apply_webhook_added, ar_apply_webhook_removed;
ar_apply_fn ar_apply_checkpoint_started, ar_apply_checkpoint_created, ar_apply_checkpoint_failed,
	ar_apply_checkpoint_restoring, ar_apply_checkpoint_restored, ar_apply_checkpoint_expired;
ar_apply_fn ar_apply_subagent_spawned, ar_apply_subagent;
/* What a turn of the thread used, if it is one of a child. */
struct ar_subagent_use {
	int64_t tokens, calls, cost, reserved;
};
/* limits/apply_limits.c: a step reserves money, or (0) what it reserved is not needed any more. */
void ar_apply_reserve(struct ar_session *s, struct ar_turn *turn, struct ar_step *step, int64_t amount);
void ar_apply_subagent_spent(struct ar_session *s, struct ar_str thread, struct ar_subagent_use use);
/* The folder that a child has for itself, and how it stands; workspace/ only. */
void ar_apply_subagent_folder(struct ar_session *s, struct ar_str id,
			      const struct ar_shape_workspace_binding *folder);
void ar_apply_subagent_files(struct ar_session *s, struct ar_str id, const struct ar_shape_session_files *f);

ar_apply_fn ar_apply_job_created, ar_apply_job_started, ar_apply_job_progress, ar_apply_job_item_started,
	ar_apply_job_item_completed, ar_apply_job_item_failed, ar_apply_job_completed, ar_apply_job_failed,
	ar_apply_job_cancelled;
ar_apply_fn ar_apply_task_updated, ar_apply_task_progress, ar_apply_dependency, ar_apply_task_archived;

void ar_apply_process_status(struct ar_session *s, const struct ar_event *e); /* a run.status about one */
void ar_apply_call_over(struct ar_session *s,
			const struct ar_invocation *call); /* its process, if any, lives on without it */

void ar_apply_action_noticed(
	struct ar_session *s,
	const struct ar_event *e); /* a run.status about a question: seen, or escalated */

struct ar_action;
void ar_apply_lost_decided(struct ar_session *s, const struct ar_event *e, const struct ar_action *a);

/* The calls that a model's answer asks for. */
void ar_apply_calls(struct ar_session *s, struct ar_turn *turn, const struct ar_step *step,
		    const struct ar_shape_requested_call_list *calls);

/* What hooks said about steps and calls that are over. */
void ar_apply_forget_hooks(struct ar_turn *turn);

#endif
