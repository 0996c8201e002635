/* What a session is between two facts: the fold of its log, bounded. Ended turns leave after a
 * window, so the size depends on what is open and recent, never on history. Only apply.c and
 * snapshot.c write here; everyone else reads. All memory is the session's arena; it is renewed
 * when a snapshot is taken (see snapshot.c). */
#ifndef AR_SESSION_STATE_H
#define AR_SESSION_STATE_H

#include "arena.h"
#include "catalog.h"
#include "id.h"
#include "json.h"
#include "map.h"
#include "state_process.h"
#include "state_turn.h"

#define AR_WINDOW_TURNS 20 /* ended turns kept per thread */
#define AR_WINDOW_STEPS 50 /* newest steps kept per turn */
#define AR_STEERS_MAX 32 /* inputs that wait for the next request of one turn */
#define AR_WINDOW_CALLS 50 /* newest answered tool calls kept per turn */
#define AR_WINDOW_RUNS 10 /* newest attempts kept per task */
#define AR_WINDOW_INCIDENTS 10 /* newest incidents kept per thread */
#define AR_WINDOW_BOUNDARIES 10 /* newest compactions kept per thread, for rollback and branches */
#define AR_WINDOW_ROUTES 3 /* newest turns per thread whose routing facts are kept whole */
#define AR_THROTTLES_MAX 32 /* models that are passed over for now */
#define AR_WINDOW_ENVIRONMENTS 8 /* newest kept per session, of all that turns started in */
#define AR_WINDOW_HOOK_RUNS 20 /* newest kept per turn */
#define AR_WINDOW_VIOLATIONS 10 /* newest kept per thread */
#define AR_WINDOW_ARTIFACTS 512 /* newest kept per session */
#define AR_WINDOW_VERSIONS 256 /* newest replaced versions of artifacts kept per session */
#define AR_WINDOW_CHECKPOINTS 1024 /* newest kept per session, whatever facts said of others */
#define AR_WINDOW_CONTEXT 400 /* newest messages kept per thread for the next request */

/* Reasons of thread.updated that mean something to the fold. */
#define AR_REASON_INTERRUPT "interrupt_requested"
#define AR_REASON_LOST "worker_lost"
#define AR_REASON_CRASH_LOOP "crash_loop"
#define AR_CANCELLED_BY_POLICY "policy"
#define AR_REASON_NO_CANDIDATE "no_candidate"
#define AR_REASON_RESUMED "resumed"
#define AR_REASON_WORKER_WAIT "worker_unavailable" /* a call waits for the worker of the session */
#define AR_REASON_WORKER_STALE "worker_stale" /* it is silent while it has calls */
#define AR_REASON_WORKER_BACK "worker_connected"
#define AR_WORKER_KIND "worker" /* of a party: one that has an id of ours */

/* Category of tool.failed: the call began and nobody knows how it ended. What follows decides. */
#define AR_CATEGORY_UNKNOWN_OUTCOME "unknown_outcome"
/* The same for one that had not begun: it is tried again. */
#define AR_CATEGORY_NOT_BEGUN "not_begun"
/* It was refused for want of a credential, and a person is asked for one. */
#define AR_CATEGORY_CREDENTIAL "credential_needed"
#define AR_CONFIRMED_BYTES 256 /* that what a person says of a lost call is taken for */
#define AR_CALL_PREVIEW 200 /* bytes of a result that state keeps to show */

/* Kind of a limit in the metadata of run.status: the other one is the time of the turn. */
#define AR_LIMIT_SILENCE "turn_inactivity_ms"

/* Phases of run.status that do. */
#define AR_PHASE_INTERRUPTING "interrupting"
#define AR_PHASE_STEERED "steered"
#define AR_PHASE_TOOLS_REQUESTED "tools_requested" /* by the runtime: a step without a model */

/* Category of work that was cut by the end of its process: nothing is wrong with the work. */
#define AR_CATEGORY_INTERRUPTED "interrupted"

/* Code of the warning about a write that may have happened and about which nobody is asked. */
#define AR_WARNING_LOST_WRITE "lost_write_not_asked"

/* Where turns of the runtime's own come from, and what they are for (member `purpose` of their
 * options). Nothing of them joins the conversation. */
#define AR_SOURCE_SYSTEM "system"
#define AR_PURPOSE_COMPACTION "compaction"
#define AR_PURPOSE_COMMAND "command" /* of a step in which the runtime itself requests a call */

struct ar_incident {
	struct ar_str id; /* eventId of the fact that told it */
	struct ar_str code, message, turn;
	ar_usec at;
};

#define AR_WINDOW_OUTPUTS 10 /* newest kept per thread */

/* Output that was too long to be shown, as readers see it later. */
struct ar_stored_output {
	struct ar_str ref, owner, media_type, encoding, truncation, preview;
	const struct ar_shape_redaction *redaction; /* NULL: a fact that does not say */
	struct ar_str call, process; /* whose it is; absent: a model's */
	int64_t size;
	ar_usec at;
	ar_usec expires; /* 0: with its session */
};

struct ar_thread {
	struct ar_str id, detail, reason, active_turn;
	struct ar_str parent_thread,
		parent_turn; /* a branch: whose conversation it continues, after which turn */
	struct ar_str request_ref; /* manifest of the newest model request, or of what a rollback left */
	struct ar_str last_turn, last_outcome, last_category, last_message;
	int64_t status; /* enum thread_status */
	int64_t sent; /* context entries that request_ref already covers */
	int64_t omitted; /* older entries that no request carries any more */
	struct ar_opt_int anchor; /* tokens of the newest request, as the provider counted them */
	struct ar_opt_int anchor_at; /* messages it carried, counted from the first of the thread */
	struct ar_opt_int forgotten; /* `start` of the newest turn that left the window */
	struct ar_opt_int compact_failures; /* turns in a row in which automatic compaction failed */
	struct ar_opt_int compact_rested; /* turns that began since the last of them */
	ar_usec created, updated, last_ended;
	struct ar_vec turns; /* struct ar_turn: open ones and the newest ended, in order of submission */
	struct ar_vec queue; /* struct ar_turn, next first; all are in turns too */
	struct ar_vec context; /* struct ar_context_entry */
	struct ar_vec boundaries; /* struct ar_boundary, oldest first */
	struct ar_vec incidents; /* struct ar_incident */
	struct ar_vec judged; /* struct ar_judged (permission/), newest last */
	struct ar_vec outputs; /* struct ar_stored_output, newest last */
	struct ar_closed_group *pack; /* that its content is in (closed/): this is a stub; NULL: it is none */
	struct ar_opt_int queue_limit; /* most turns that may wait, as its queue was told last */
	struct ar_opt_int violations; /* of its sandboxes, in all; absent: none */
	struct ar_texts violation_refs; /* of the newest */
	const struct ar_shape_context_selection *selected; /* by its newest request; NULL: none yet */
	struct ar_str catalog_ref; /* tools of its newest turn that had any; content by ref */
};

/* An environment that turns started in. */
struct ar_kept_environment {
	struct ar_str ref;
	const struct ar_shape_turn_environment *of;
};

/* Last number handed out per kind of id. */
struct ar_counters {
	int64_t thread, turn, task, run, step, request, action;
	struct ar_opt_int process, channel, checkpoint, subagent, job, evidence;
};

struct ar_totals {
	int64_t completed, failed, cancelled;
	struct ar_opt_int timed_out; /* counted since there is a count */
	int64_t lost; /* kept for versions that read it; how many are lost now is counted from their status */
};

/* What model calls of one day (UTC) used, for the quotas of the tenant; of the newest day that has any. */
struct ar_day_spent {
	struct ar_opt_int number; /* days since 1970-01-01; not set: none was counted */
	struct ar_opt_int tokens, cost; /* sent and received; billionths */
};

/* Space that the files of its workspace take, as it was last measured. */
struct ar_disk_used {
	struct ar_opt_int used; /* bytes; not set: never */
	struct ar_opt_bool partly; /* it is at least that */
};

/* As the session recorded it; its rules are among those of the session. */
struct ar_workspace_policy {
	struct ar_str ref;
	const struct ar_shape_session_policy *preset; /* mode and budget */
};

struct ar_session {
	struct ar_arena arena;
	struct ar_json_parser *json; /* borrowed, for member objects of payloads */
	struct ar_str session_key; /* the 26 characters */
	struct ar_str id, title, workspace, account, source;
	struct ar_str tenant; /* absent: AR_TENANT_LOCAL; see ar_session_tenant() */
	ar_usec created, updated;
	uint64_t head; /* sequence of the newest fact; 0 = does not exist yet */
	uint64_t snapshot_head; /* sequence that the stored snapshot covers */
	struct ar_counters counters;
	struct ar_totals tasks;
	struct ar_budget budget;
	struct ar_spent spent;
	struct ar_str currency; /* of what was spent */
	struct ar_day_spent day;
	struct ar_disk_used disk;
	struct ar_vec throttles; /* struct ar_throttle, one per model */
	struct ar_vec threads; /* struct ar_thread */
	struct ar_vec actions; /* struct ar_action (action/): all pending, the newest settled */
	struct ar_str mode, policy_ref; /* what set_policy gave it; absent: the host's counts */
	struct ar_vec rules; /* struct ar_permission_rule (permission/): of its workspace, then of the same */
	const struct ar_shape_session_policy *preset; /* budget and model of the same; NULL: neither */
	const struct ar_workspace_policy
		*workspace_policy; /* what set_policy gave its workspace; NULL: nothing ever */
	struct ar_vec grants; /* struct ar_grant (permission/) */
	struct ar_vec channels; /* struct ar_channel (channel/): peers that follow it */
	struct ar_vec webhooks; /* struct ar_webhook (webhook/), of a home */
	struct ar_vec processes; /* struct ar_process_record: all that run, the newest ended */
	struct ar_vec artifacts; /* struct ar_artifact (artifact/), newest change last */
	struct ar_vec versions; /* struct ar_artifact: those that newer ones replaced, newest last */
	struct ar_vec checkpoints; /* struct ar_checkpoint (checkpoint/), newest last */
	struct ar_vec subagents; /* struct ar_subagent (subagent/): all that are open, the newest closed */
	struct ar_opt_int artifacts_left; /* how many artifacts left the window */
	struct ar_vec declared; /* struct ar_task with a sheet: all that are open, the newest ended */
	struct ar_map declared_ids; /* the same by id; not stored */
	struct ar_vec deliveries; /* struct ar_deliverable (delivery/delivery.h) that are open; not stored */
	struct ar_opt_int declared_count; /* ids of tasks that went to declared ones */
	struct ar_str environment_ref, limits; /* of the newest boundary: content by ref, JSON object */
	const struct ar_shape_workspace_binding
		*bound; /* what it has of its workspace; NULL: none is its own */
	const struct ar_shape_session_files *files; /* of a folder of its own; NULL: not needed so far */
	const struct ar_shape_workspace_instructions
		*instructions; /* of its workspace; NULL: none was looked at */
	struct ar_shape_workspace_skill_list skills; /* of its workspace, as it was looked at last */
	struct ar_shape_workspace_agent_list agents; /* the same */
	struct ar_shape_workspace_server_list servers; /* of its workspace, as they were started last */
	struct ar_str servers_digest; /* of the file that names them; absent: none */
	const struct ar_shape_workspace_record *own; /* of the log of a workspace; NULL: a session */
	const struct ar_shape_worker_record *own_worker; /* of the log of a worker; NULL: a session */
	const struct ar_shape_schedule_record *own_schedule; /* of the log of a schedule; NULL: a session */
	struct ar_shape_schedule_run_list schedule_runs; /* that have not ended, and the newest that have */
	const struct ar_shape_worker_observed
		*worker; /* how it last found its worker; NULL: nothing waited */
	struct ar_vec jobs; /* struct ar_job (job/), oldest first */
	struct ar_texts pinned; /* ids of threads, in the order of update_session */
	struct ar_opt_bool archived; /* lists leave it out */
	struct ar_vec packs; /* struct ar_closed_group (closed/): closed children that nobody looked at */
	struct ar_vec environments; /* struct ar_kept_environment, newest last */
	struct ar_vec evidence; /* struct ar_evidence (evidence/), newest last */
	struct ar_vec expiring; /* struct ar_expiring_output (output/), earliest first */
	struct ar_vec removed; /* struct ar_removed_output (output/), newest last */
	struct ar_trace_memo *trace_memo; /* of trace/trace.c; NULL: no fact had a trace; not stored */
};

/* ---- reading ---- */

struct ar_thread *ar_session_thread(const struct ar_session *s, struct ar_str id);
struct ar_turn *ar_thread_turn(const struct ar_thread *t, struct ar_str id);
struct ar_turn *ar_session_turn(const struct ar_session *s, struct ar_str id, struct ar_thread **ret_thread);
struct ar_turn *ar_session_task(const struct ar_session *s,
				struct ar_str task); /* the turn whose task it is */
struct ar_task *ar_session_declared(const struct ar_session *s,
				    struct ar_str task); /* one that create_task made; NULL: none */
struct ar_task *ar_session_any_task(const struct ar_session *s, struct ar_str task); /* of either kind */
bool ar_task_is_over(const struct ar_task *task); /* ended; lost is not */
struct ar_run *ar_task_run(const struct ar_task *task); /* the newest; NULL: none began */
struct ar_run *ar_task_open_run(const struct ar_task *task); /* the newest, while it has no end */
struct ar_turn *ar_thread_active(const struct ar_thread *t); /* NULL when none runs */
/* A turn, a process or a question of it is open. */
bool ar_thread_is_at_work(const struct ar_session *s, const struct ar_thread *t);
/* What turns with this ref started in; NULL: it is not kept any more, or from before it was. */
const struct ar_shape_turn_environment *ar_session_turn_environment(const struct ar_session *s,
								    struct ar_str ref);
struct ar_step *ar_turn_step(const struct ar_turn *t, struct ar_str id);
struct ar_step *ar_turn_last_step(const struct ar_turn *t); /* the newest model step; NULL: none was asked */
struct ar_invocation *ar_turn_call(const struct ar_turn *t, struct ar_str id);
bool ar_turn_has_open_hooks(const struct ar_turn *t); /* a handler runs */
bool ar_turn_has_open_calls(const struct ar_turn *t); /* asked for, and not answered yet */
struct ar_turn *ar_session_call(const struct ar_session *s, struct ar_str call, struct ar_invocation **ret,
				struct ar_thread **ret_thread); /* the running turn that has it */
/* Whether the runtime itself requests its calls (task/command.c): no model is asked in it. */
bool ar_turn_is_modelless(const struct ar_turn *t);
bool ar_turn_is_system(const struct ar_turn *t); /* the runtime's own: nothing of it joins the conversation */
const struct ar_shape_turn_options *ar_turn_options(
	const struct ar_turn *t); /* never NULL; of no turn: none */

/* The newest boundary made in a turn that started before `start`; NULL when there is none. */
const struct ar_boundary *ar_thread_boundary(const struct ar_thread *t, int64_t start);

/* Index of the first message that this boundary does not hide; 0 without one. */
size_t ar_thread_visible(const struct ar_thread *t, const struct ar_boundary *b);

/* Whose it is; never absent. */
struct ar_str ar_session_tenant(const struct ar_session *s);

/* When its log is to be woken (schedule/due.c); 0: never. */
ar_usec ar_session_due(const struct ar_session *s);

/* Whether a run of a schedule waits for an answer of another session (schedule/runs.c). */
bool ar_session_sends_runs(const struct ar_session *s);

/* Whether it is the home of a tenant from a version that made homes without a thread (decide_access.c):
 * recovery starts one. */
bool ar_session_is_old_home(const struct ar_session *s);

/* Whether anything here runs or waits: such a session is looked at after a crash. */
bool ar_session_is_active(const struct ar_session *s);

#endif
