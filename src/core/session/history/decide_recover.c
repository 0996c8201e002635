/* Coming back: what is said and done about open work that no process carries any more, and
 * resume_thread. Every step of it is a fact. Pure. */
#include "action/action.h"
#include "channel/channel.h"
#include "delivery/delivery.h"
#include "describe.h"
#include "machine.h"
#include "checkpoint/checkpoints.h"
#include "workspace/isolation.h"
#include "context/context.h"
#include "limits/budget.h"
#include "hook/hooks.h"
#include "job/job.h"
#include "permission/permission.h"
#include "process/record.h"
#include "report/report.h"
#include "subagent/subagents.h"
#include "schedule/schedule.h"
#include "task/task.h"
#include "worker/worker.h"

/* In a cluster the process that left the work open was another node, or an epoch of this one
 * that is over: readers are told who has it now. */
static void taken_over(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_policy *policy = d->input->policy;
	struct ar_jw j = ar_decide_json(d);

	if (ar_str_absent(policy->node))
		return;
	ar_jw_open(&j);
	ar_jw_mstr(&j, "nodeId", policy->node);
	ar_jw_mint(&j, "epoch", (int64_t)policy->epoch);
	ar_jw_close(&j);
	ar_turn_emit(d, turn, AR_EV_RUNTIME_WARNING,
		     &(struct ar_ev_runtime_warning){
			     .code = AR_STR("taken_over"),
			     .message =
				     ar_arena_fmt(d->arena,
						  "node %.*s works on this session now; what its last owner "
						  "left open is taken up again",
						  AR_STR_ARG(policy->node)),
			     .scope = ar_decide_json_end(d) });
}

/* The slice begins with the oldest turn that is in memory. Its cursors are those of get_session: with the
 * first, what is before the slice is read. */
static void window_loaded(struct ar_decision *d, const struct ar_thread *t)
{
	struct ar_ids ids = ar_ids_thread(t);
	const struct ar_turn *first = t->turns.count >= AR_WINDOW_TURNS ? t->turns.at[0] : NULL;
	int64_t start = first && first->start.set ? first->start.v : 1;

	ar_decide_emit(d, AR_EV_HISTORY_WINDOW_LOADED, &ids,
		       &(struct ar_ev_history_window_loaded){
			       .start_cursor = ar_arena_fmt(d->arena, "%lld", (long long)start),
			       .end_cursor = ar_arena_fmt(d->arena, "%llu", (unsigned long long)d->head),
			       .count = (int64_t)d->head - start + 1,
			       .truncated = start > 1,
			       .actor = d->input->account });
}

/* ---- what a reader gets back ---- */

/* The session itself is the fold of its log: that it is here at all shows that the log was read. The texts
 * of a conversation lie beside the log, and may be gone: those that were looked for and not found. */
static struct ar_texts missing_of(struct ar_decision *d, const struct ar_thread *t)
{
	struct ar_texts gone = { d->input->missing.refs, d->input->missing.count };
	struct ar_str *refs = ar_arena_alloc(d->arena, (t->context.count + 1) * sizeof(*refs));
	size_t n = 0;

	for (size_t i = 0; i < t->context.count; i++) {
		struct ar_str ref = ((const struct ar_context_entry *)t->context.at[i])->ref;

		if (ar_texts_have(gone, ref))
			refs[n++] = ref;
	}
	return (struct ar_texts){ refs, n };
}

/* `texts`: the word for what needs the texts too. */
static struct ar_str layers_of(struct ar_decision *d, struct ar_str texts)
{
	const struct {
		const char *name;
		struct ar_str state;
	} layers[] = { { "sessionShell", AR_STR("restored") },
		       { "threadSummaries", AR_STR("restored") },
		       { "queuedTurns", AR_STR("restored") },
		       { "pendingActions", AR_STR("restored") },
		       { "recentWindow", texts },
		       { "activeThreadRead", texts },
		       { "subagents",
			 d->session->subagents.count ? AR_STR("restored") : AR_STR("not_applicable") },
		       { "jobs", d->session->jobs.count ? AR_STR("restored") : AR_STR("not_applicable") } };
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open(&j);
	for (size_t i = 0; i < AR_ARRAY_LEN(layers); i++)
		ar_jw_mstr(&j, layers[i].name, layers[i].state);
	ar_jw_close(&j);
	return ar_decide_json_end(d);
}

static void say_reconstructed(struct ar_decision *d, const struct ar_thread *t)
{
	struct ar_ids ids = ar_ids_thread(t);
	struct ar_texts missing = missing_of(d, t);
	struct ar_str texts = missing.count		   ? AR_STR("degraded")
			      : d->input->missing.is_known ? AR_STR("restored")
							   : AR_STR("unknown");

	ar_decide_emit(d, AR_EV_HISTORY_RECONSTRUCTED, &ids,
		       &(struct ar_ev_history_reconstructed){ .layers = layers_of(d, texts),
							      .degraded = missing.count > 0,
							      .missing = missing,
							      .as_of_sequence = AR_OPT_INT((int64_t)d->head),
							      .actor = d->input->account });
}

/* ---- open work ---- */

static const struct ar_step_output *saved_output(const struct ar_input *in, struct ar_str step)
{
	static const struct ar_step_output nothing;

	for (size_t i = 0; i < in->recover.output_count; i++) {
		if (ar_str_eq(in->recover.outputs[i].step, step))
			return &in->recover.outputs[i];
	}
	return &nothing;
}

static void close_lost_step(struct ar_decision *d, const struct ar_turn *turn)
{
	static const struct ar_model_result lost = {
		.category = { "interrupted", 11 },
		.message = { "the runtime stopped while the model was answering", 49 },
		.retryable = true,
	};

	if (!ar_str_absent(turn->open_step))
		ar_decide_model_failed(d, turn, saved_output(d->input, turn->open_step), &lost);
}

static void attempt_lost(struct ar_decision *d, const struct ar_turn *turn, const char *next)
{
	ar_turn_emit(d, turn, AR_EV_TASK_ATTEMPT_FAILED,
		     &(struct ar_ev_task_attempt_failed){
			     .status = AR_TASK_ATTEMPT_FAILED_STATUS_LOST,
			     .retryable = true,
			     .failure_category = AR_STR("worker_lost"),
			     .last_error =
				     &(struct ar_shape_failure){
					     .category = AR_STR("worker_lost"),
					     .message = AR_STR("the process that ran this attempt is gone"),
					     .retryable = AR_OPT_BOOL(true) },
			     .next_attempt_policy = ar_str_from(next),
			     .ended_at = d->input->now });
}

/* A new attempt of the same task; what the model had said before is kept with the step that was cut. */
static void try_again(struct ar_decision *d, struct ar_turn *turn, const char *reason)
{
	struct ar_str next =
		ar_id_inner(d->arena, "run", d->session->session_key, (uint64_t)d->counters.run + 1);

	ar_turn_emit(d, turn, AR_EV_TASK_RETRYING,
		     &(struct ar_ev_task_retrying){ .retry_reason = ar_str_from(reason),
						    .previous_run_id = turn->run,
						    .new_run_id = next,
						    .attempt_count = turn->task->attempts + 1,
						    .actor = d->input->account });
	ar_decide_attempt(d, turn, AR_TASK_ATTEMPT_STARTED_TRIGGER_RESUME_AFTER_CRASH);
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_RUNNING, reason, "retrying", turn);
	ar_decide_still_waits(d, turn);
	if (ar_turn_has_open_calls(turn))
		ar_decide_recover_calls(d, turn);
	else
		ar_decide_resume(d, turn);
}

static struct ar_str ask_what_now(struct ar_decision *d, const struct ar_turn *turn)
{
	return ar_decide_ask(
		d, turn,
		&(struct ar_ask){ .type = AR_ACTION_RECOVERY,
				  .prompt = ar_arena_fmt(d->arena,
							 "The runtime died %lld times while it worked on "
							 "this turn, and does not go on by "
							 "itself. Find out what kills it (memory, a tool), "
							 "then: resume it, or interrupt "
							 "it.",
							 (long long)turn->restarts + 1) });
}

static void give_up(struct ar_decision *d, const struct ar_turn *turn)
{
	struct ar_str action = ask_what_now(d, turn);

	ar_turn_emit(
		d, turn, AR_EV_TASK_BLOCKED,
		&(struct ar_ev_task_blocked){
			.blockers = { &(struct ar_shape_blocker){ .kind = AR_STR("action"), .id = action },
				      1 },
			.status_reason = AR_STR("the runtime was lost too often during this turn; "
						"respond_action or resume_thread tries again, interrupt_turn "
						"ends it") });
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_BLOCKED, AR_REASON_CRASH_LOOP,
			 "blocked", turn);
}

static void wait_for_resume(struct ar_decision *d, const struct ar_turn *turn)
{
	ar_turn_emit(d, turn, AR_EV_TASK_LOST,
		     &(struct ar_ev_task_lost){
			     .run_id = turn->run,
			     .worker = &(struct ar_shape_party){ .kind = AR_STR("runtime") },
			     .last_seen_at = d->updated,
			     .reason = AR_STR("the process that ran this attempt is gone") });
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_STALE, AR_REASON_LOST, "lost", turn);
}

static void recover_turn(struct ar_decision *d, struct ar_turn *turn)
{
	const struct ar_policy *policy = d->input->policy;

	taken_over(d, turn);
	say_reconstructed(d, ar_decide_thread(d, turn));
	close_lost_step(d, turn);
	ar_hook_end_runs(d, turn, true);
	ar_decide_compaction_dropped(d, turn, AR_STR(AR_CATEGORY_INTERRUPTED),
				     AR_STR("the runtime stopped while the summary was written"));
	if (turn->is_interrupted) {
		if (!ar_decide_stop_cut_calls(d, turn))
			ar_decide_cancel(d, turn, turn->interrupt_reason, AR_STR_NONE);
		return;
	}
	ar_subagent_lost(d, turn);
	if (turn->restarts >= policy->max_restarts && !d->input->recover.is_bystander) {
		attempt_lost(d, turn, "resume_thread");
		give_up(d, turn);
		return;
	}
	attempt_lost(d, turn, policy->auto_resume ? "automatic" : "resume_thread");
	if (policy->auto_resume)
		try_again(d, turn, "resume_after_crash");
	else
		wait_for_resume(d, turn);
}

/* A turn that only waits for people or clients lost nothing with its process: no attempt is
 * counted, nothing is said unless a deadline has passed. Nor did one that only waits for its last
 * checkpoint. */
static void take_up(struct ar_decision *d, struct ar_turn *turn)
{
	if (!turn->is_interrupted && ar_turn_only_waits(d->session, turn) && !ar_turn_has_open_hooks(turn) &&
	    turn->checkpoint.v != AR_TURN_CHECKPOINT_LOST) {
		ar_decide_rearm_calls(d, turn);
		ar_decide_wait_again(d, turn);
		if (turn->waits_worker.v && ar_str_absent(turn->outcome))
			ar_worker_look(d, turn);
		return;
	}
	if (!turn->is_interrupted && turn->checkpoint.v == AR_TURN_CHECKPOINT_END_LOST) {
		ar_decide_resume(d, turn); /* all its work is done: only the state of the files is kept */
		return;
	}
	ar_decide_wait_on(d, turn); /* first: a question that is asked from here on is waited for already */
	recover_turn(d, turn);
}

/* It waited because no model had a key, and one has it now. */
static bool has_key_again(const struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_policy *policy = d->input->policy;

	if (!ar_str_is(ar_decide_thread(d, turn)->reason, AR_REASON_NO_CANDIDATE))
		return false;
	for (size_t i = 0; i < policy->model_count; i++) {
		if (policy->models[i].has_credentials)
			return true;
	}
	return false;
}

/* What was set meanwhile counts for all that is taken up. */
static bool is_policy_new(struct ar_decision *d)
{
	const struct ar_shape_workspace_record *read = d->input->recover.workspace;

	return read && ar_decide_own_workspace(d, read);
}

enum ar_status ar_decide_recover(struct ar_decision *d, struct ar_error *err)
{
	bool has_new_policy = is_policy_new(d);

	(void)err;
	if (ar_session_is_old_home(d->session))
		ar_decide_start_thread(d);
	ar_decide_attach(d);
	ar_decide_channels_lost(d);
	ar_channels_recover(d);
	ar_checkpoints_lost(d);
	ar_isolation_recover(d);
	ar_task_recover(d);
	ar_reports_recover(d);
	ar_schedule_recover(d);
	ar_jobs_recover(d);
	ar_deliveries_recover(d);
	for (size_t i = 0; i < d->session->threads.count; i++) {
		struct ar_turn *turn = ar_thread_active(d->session->threads.at[i]);

		if (turn)
			ar_budget_start_clock(d, turn, turn->started);
		if (turn && !turn->is_lost)
			take_up(d, turn);
		else if (turn && has_key_again(d, turn))
			ar_decide_resume_lost(d, turn);
		else if (turn)
			ar_decide_wait_on(d, turn); /* for the answer whether it goes on */
		if (turn && turn->is_lost && turn->lost_worker.v)
			ar_worker_recover(d, turn);
	}
	if (has_new_policy)
		ar_decide_overrule_all(d);
	ar_subagents_settle(d);
	return AR_OK;
}

static void say_regained(struct ar_decision *d, const struct ar_thread *t)
{
	window_loaded(d, t);
	say_reconstructed(d, t);
}

static void go_on(struct ar_decision *d, struct ar_turn *turn)
{
	ar_decide_close_recovery(d, turn);
	ar_decide_wait_on(d, turn);
	try_again(d, turn, AR_REASON_RESUMED);
}

void ar_decide_resume_lost(struct ar_decision *d, struct ar_turn *turn)
{
	say_regained(d, ar_decide_thread(d, turn));
	go_on(d, turn);
}

/* The questions that a turn waits for. */
static struct ar_shape_open_question_list open_questions(struct ar_decision *d, const struct ar_turn *turn)
{
	struct ar_vec open = ar_turn_open_actions(d, turn);
	struct ar_shape_open_question *list = ar_arena_alloc(d->arena, (open.count + 1) * sizeof(*list));

	for (size_t i = 0; i < open.count; i++)
		list[i] = (struct ar_shape_open_question){ .kind = AR_STR("action"),
							   .id = ((const struct ar_action *)open.at[i])->id };
	return (struct ar_shape_open_question_list){ list, open.count };
}

static struct ar_shape_open_question_list missing_worker(struct ar_decision *d)
{
	struct ar_shape_open_question *one = ar_arena_alloc(d->arena, sizeof(*one));

	*one = (struct ar_shape_open_question){ .kind = AR_STR(AR_WORKER_KIND),
						.id = ar_session_worker(d->session) };
	return (struct ar_shape_open_question_list){ one, 1 };
}

static struct ar_shape_turn_snapshot turn_snapshot(const struct ar_turn *turn)
{
	return (struct ar_shape_turn_snapshot){
		.turn_id = turn->id,
		.status = ar_str_absent(turn->outcome)
				  ? ar_str_from(ar_machine_state_name(AR_MACHINE_TURN, (int)turn->status))
				  : turn->outcome,
		.output_ref = turn->output_ref
	};
}

/* The thread as it is after what was decided so far, kept for readers that continue from here. */
static void say_snapshot(struct ar_decision *d, const struct ar_thread *t, const char *mode,
			 const char *reason)
{
	struct ar_shape_turn_snapshot *turns =
		ar_arena_alloc(d->arena, (t->turns.count + 1) * sizeof(*turns));
	struct ar_shape_thread_snapshot snapshot = {
		.session_id = d->session->id,
		.thread_id = t->id,
		.as_of_sequence = (int64_t)d->session->head,
		.status = ar_str_from(ar_enum_name(&ar_thread_status_desc, (int)t->status)),
		.active_turn_id = t->active_turn,
		.queued_turn_ids = ar_decide_turn_ids(d, &t->queue),
	};
	struct ar_ids ids = ar_ids_thread(t);

	for (size_t i = 0; i < t->turns.count; i++) {
		const struct ar_turn *turn = t->turns.at[i];

		if (!turn->removed.v)
			turns[snapshot.turns.count++] = turn_snapshot(turn);
	}
	snapshot.turns.at = turns;
	ar_decide_emit(d, AR_EV_SNAPSHOT_UPDATED, &ids,
		       &(struct ar_ev_snapshot_updated){
			       .snapshot_kind = AR_STR("thread"),
			       .snapshot_ref =
				       ar_decide_content(d, ar_decide_shape(d, &ar_shape_thread_snapshot_desc,
									    &snapshot)),
			       .as_of_sequence = snapshot.as_of_sequence,
			       .recovery_mode = ar_str_from(mode),
			       .reason = ar_str_from(reason) });
}

/* All that was regained is said before anything goes on. */
static void resume(struct ar_decision *d, const struct ar_thread *t, struct ar_turn *turn)
{
	if (!turn->lost_worker.v)
		say_regained(d, t);
	say_snapshot(d, t, "replay", "resume_thread");
	if (turn->lost_worker.v)
		ar_worker_back(d, turn);
	else
		go_on(d, turn);
}

enum ar_status ar_decide_resume_thread(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_resume_thread_in *in = d->input->command.args;
	struct ar_cmd_resume_thread_out out = { .result = AR_RESUME_THREAD_RESULT_NOTHING_TO_RESUME };
	struct ar_thread *t;
	struct ar_turn *turn;

	if (ar_decide_need_thread(d, in->thread_id, &t, err) != AR_OK ||
	    ar_channel_check_shown(d, err) != AR_OK)
		return AR_E_REFUSED;
	turn = ar_thread_active(t);
	if (turn && (turn->waits_worker.v || turn->lost_worker.v) && !ar_worker_is_ready(d)) {
		out.result = AR_RESUME_THREAD_RESULT_BLOCKED;
		out.active_turn_id = turn->id;
		out.blockers = missing_worker(d);
	} else if (turn && !turn->is_lost && ar_turn_is_waiting(d->session, turn)) {
		out.result = AR_RESUME_THREAD_RESULT_BLOCKED;
		out.active_turn_id = turn->id;
		out.blockers = open_questions(d, turn);
	} else if (turn && !turn->is_lost) {
		out.result = AR_RESUME_THREAD_RESULT_ALREADY_ACTIVE;
		out.active_turn_id = turn->id;
	} else if (turn) {
		resume(d, t, turn);
		out.result = AR_RESUME_THREAD_RESULT_RESUMED;
		out.active_turn_id = turn->id;
		out.recovery_mode = AR_STR("replay");
	}
	ar_decide_reply(d, AR_CMD_RESUME_THREAD, &out);
	return AR_OK;
}

/* Facts are gone for good: no reader may take the session for whole. */
static void say_lost(struct ar_decision *d, const struct ar_repair *r)
{
	ar_decide_emit(d, AR_EV_RUNTIME_ERROR, &(struct ar_ids){ 0 },
		       &(struct ar_ev_runtime_error){
			       .code = AR_STR("storage_corrupt"),
			       .message =
				       ar_arena_fmt(d->arena,
						    "facts %llu to %llu of this session were stored and "
						    "are lost",
						    (unsigned long long)r->from, (unsigned long long)r->to),
			       .fatal = true,
			       .component = AR_STR("store"),
			       .recovery_advice =
				       AR_STR("find out what the lost facts were from a backup or a "
					      "pack; what they began may have happened") });
}

/* What was stored beside the log was not what it says, and is written again. The state is the fold of the
 * log, so nothing in it changes. */
enum ar_status ar_decide_repair(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_repair *r = d->input->repair;

	(void)err;
	ar_decide_emit(
		d, AR_EV_SNAPSHOT_REPAIRED, &(struct ar_ids){ 0 },
		&(struct ar_ev_snapshot_repaired){
			.reason = r->is_loss
					  ? AR_STR("the end of the log was lost, and the loss was accepted: "
						   "the facts that follow use its sequences again")
					  : AR_STR("verification: what was stored beside the log "
						   "differed from it"),
			.from_sequence = (int64_t)r->from,
			.to_sequence = (int64_t)r->to,
			.repaired_fields = r->fields,
			.unavailable = r->unavailable });
	if (r->is_loss)
		say_lost(d, r);
	return AR_OK;
}
