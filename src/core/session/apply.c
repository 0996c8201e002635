/* Facts become state: one small function per kind of fact, found in a table. A fact without a function
 * changes only the head of the session.
 *
 * This is the only meaning of a fact. It runs when a decision emits the fact, when a session is loaded (the
 * facts after its snapshot), when a log is verified, and on another node after a takeover. So a function
 * here may use nothing but the state and the fact: no clock, no policy, no setting of this host. What it
 * needs must be in the fact; if it is not, the fact is missing a member.
 *
 * Facts of old versions stay in logs for ever. A member that was added later is optional here, and a
 * function keeps the meaning that its fact had when it was written.
 *
 * The state is bounded by windows (state.h): the newest turns, steps, messages, actions and tasks, and
 * everything that is open. Functions here drop what leaves a window. Memory depends on what is open and
 * recent, never on the length of the history; older things are read from the log or from index rows.
 *
 * A fact that contradicts the state (a gap in the sequence, an unknown id, a move that its state machine
 * does not allow) is AR_E_CORRUPT. On load that means a damaged log; in a decision it means a bug. */
#include "apply.h"
#include "channel/channel.h"
#include "describe.h"
#include "people.h"
#include "subagent/subagents.h"

struct ar_str ar_apply_keep(struct ar_session *s, struct ar_str text)
{
	return ar_arena_str(&s->arena, text);
}

void ar_apply_count(int64_t *counter, struct ar_str id)
{
	uint64_t n;

	if (!ar_str_absent(ar_id_session_key(id)) && ar_id_counter(id, &n) && (int64_t)n > *counter)
		*counter = (int64_t)n;
}

struct ar_json ar_apply_parse(struct ar_session *s, struct ar_str raw)
{
	struct ar_json v = { 0 };

	if (ar_str_absent(raw) || ar_json_parse(s->json, raw, &v, NULL) != AR_OK)
		return (struct ar_json){ 0 };
	return v;
}

const void *ar_apply_kept(struct ar_session *s, const struct ar_event *e)
{
	return ar_struct_copy(&ar_event_describe(e->type)->payload, e->payload, AR_COPY_TEXT, &s->arena);
}

struct ar_shape_failure ar_apply_failure(const struct ar_shape_failure *error)
{
	return error ? *error : (struct ar_shape_failure){ 0 };
}

struct ar_str ar_apply_word(const struct ar_event *e, const char *field, int value)
{
	const struct ar_field_desc *f =
		ar_field_find(&ar_event_describe(e->type)->payload, ar_str_from(field));

	return ar_str_from(ar_enum_name(f->values, value));
}

enum ar_status ar_apply_unknown(struct ar_error *err, const struct ar_event *e, const char *what)
{
	return ar_fail(err, AR_E_CORRUPT, "fact %llu (%s) names an unknown %s",
		       (unsigned long long)e->sequence, ar_event_describe(e->type)->name, what);
}

struct ar_thread *ar_apply_thread(struct ar_session *s, const struct ar_event *e)
{
	return ar_session_thread(s, e->ids[AR_SCOPE_THREAD]);
}

struct ar_turn *ar_apply_turn(struct ar_session *s, const struct ar_event *e, struct ar_thread **ret_thread)
{
	struct ar_thread *t = ar_apply_thread(s, e);

	if (!t)
		return NULL;
	*ret_thread = t;
	return ar_thread_turn(t, e->ids[AR_SCOPE_TURN]);
}

enum ar_status ar_apply_move(int64_t *state, enum ar_machine machine, const struct ar_event *e,
			     struct ar_error *err)
{
	int next;

	if (!ar_machine_next(machine, (int)*state, e->type, &next))
		return ar_fail(err, AR_E_CORRUPT, "fact %llu (%s) is not possible in state %s",
			       (unsigned long long)e->sequence, ar_event_describe(e->type)->name,
			       ar_machine_state_name(machine, (int)*state));
	*state = next;
	return AR_OK;
}

/* The answer to a call means nothing without the message that made the call. */
static bool begins_with_answer(const struct ar_thread *t)
{
	return t->omitted > 0 && t->context.count > 0 &&
	       ((const struct ar_context_entry *)t->context.at[0])->role == AR_CONTEXT_TOOL;
}

void ar_apply_context(struct ar_session *s, struct ar_thread *t, struct ar_context_entry entry)
{
	struct ar_context_entry *kept = ar_arena_alloc(&s->arena, sizeof(*kept));
	const struct ar_turn *active = ar_thread_active(t);

	*kept = entry;
	if (active)
		kept->turn = active->start;
	ar_vec_push(&s->arena, &t->context, kept);
	while (t->context.count > AR_WINDOW_CONTEXT || begins_with_answer(t)) {
		ar_vec_remove(&t->context, 0);
		t->omitted++;
		t->sent -= t->sent > 0;
	}
}

/* ---- session and threads ---- */

static enum ar_status session_created(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_session_created *p = KEPT(s, e, session_created);

	(void)err;
	s->title = p->title;
	s->workspace = p->workspace_id;
	s->account = p->account_ref;
	s->tenant = p->tenant;
	s->source = p->source;
	s->created = p->created_at;
	return AR_OK;
}

/* A branch begins with the messages of its parent, up to the end of a turn. It shares them: an
 * ended turn's never change. */
static void share_context(struct ar_session *s, struct ar_thread *t)
{
	const struct ar_thread *parent = ar_session_thread(s, t->parent_thread);
	const struct ar_turn *last = parent ? ar_thread_turn(parent, t->parent_turn) : NULL;

	if (!last)
		return;
	t->omitted = parent->omitted;
	for (size_t i = 0; i < parent->boundaries.count; i++) {
		struct ar_boundary *b = parent->boundaries.at[i];

		if (b->start <= last->start.v)
			ar_vec_push(&s->arena, &t->boundaries, b);
	}
	for (size_t i = 0; i < parent->context.count; i++) {
		struct ar_context_entry *entry = parent->context.at[i];

		if (entry->turn.v <= last->start.v)
			ar_vec_push(&s->arena, &t->context, entry);
	}
}

static enum ar_status thread_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_thread_started *p = PAYLOAD(e, thread_started);
	struct ar_thread *t = ar_arena_alloc(&s->arena, sizeof(*t));

	if (ar_apply_thread(s, e))
		return ar_fail(err, AR_E_CORRUPT, "fact %llu starts a thread that exists",
			       (unsigned long long)e->sequence);
	t->id = ar_apply_keep(s, e->ids[AR_SCOPE_THREAD]);
	t->status = p->status;
	t->parent_thread = ar_apply_keep(s, p->parent_thread_id);
	t->parent_turn = ar_apply_keep(s, p->parent_turn_id);
	if (p->reason == AR_THREAD_STARTED_REASON_BRANCH)
		share_context(s, t);
	t->created = t->updated = e->time;
	ar_vec_push(&s->arena, &s->threads, t);
	ar_apply_count(&s->counters.thread, t->id);
	return AR_OK;
}

static enum ar_status thread_updated(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_thread_updated *p = PAYLOAD(e, thread_updated);
	struct ar_thread *t = ar_apply_thread(s, e);
	struct ar_turn *active;

	if (!t)
		return ar_apply_unknown(err, e, "thread");
	t->status = p->status;
	t->detail = ar_apply_keep(s, p->status_detail);
	t->reason = ar_apply_keep(s, p->reason);
	t->updated = e->time;
	active = ar_thread_active(t);
	if (!active)
		return AR_OK;
	if (ar_str_is(p->reason, AR_REASON_INTERRUPT))
		active->is_interrupted = true;
	active->is_lost = ar_str_is(p->reason, AR_REASON_LOST) ||
			  ar_str_is(p->reason, AR_REASON_CRASH_LOOP) ||
			  ar_str_is(p->reason, AR_REASON_NO_CANDIDATE);
	if (ar_str_is(p->reason, AR_REASON_RESUMED))
		active->restarts = 0;
	return AR_OK;
}

/* A step of its own that is over as it begins; the conversation takes it up with the next request. */
static void steered(struct ar_session *s, const struct ar_event *e, struct ar_turn *turn)
{
	const struct ar_ev_run_status *p = PAYLOAD(e, run_status);
	const struct ar_shape_run_metadata nowhere = { 0 }, *where = p->metadata ? p->metadata : &nowhere;
	struct ar_context_entry *entry = ar_arena_alloc(&s->arena, sizeof(*entry));
	struct ar_step *step = ar_arena_alloc(&s->arena, sizeof(*step));

	*entry = (struct ar_context_entry){ .role = AR_CONTEXT_USER,
					    .ref = ar_apply_keep(s, where->input_ref),
					    .bytes = where->input_bytes.v };
	ar_vec_push(&s->arena, &turn->steers, entry);
	turn->people = ar_people_add(&s->arena, turn->people, where->submitted_by);
	*step = (struct ar_step){ .id = ar_apply_keep(s, e->ids[AR_SCOPE_STEP]),
				  .status = AR_STR("completed"),
				  .output_ref = entry->ref,
				  .preview = ar_apply_keep(s, p->detail),
				  .started = e->time,
				  .ended = e->time };
	ar_apply_step(s, turn, step);
}

/* The runtime requests calls by itself: a step that no model took, over as it begins. */
static void tools_requested(struct ar_session *s, const struct ar_event *e, struct ar_turn *turn)
{
	const struct ar_shape_run_metadata *what = KEPT(s, e, run_status)->metadata;
	struct ar_step *step = ar_arena_alloc(&s->arena, sizeof(*step));

	*step = (struct ar_step){ .id = ar_apply_keep(s, e->ids[AR_SCOPE_STEP]),
				  .status = AR_STR("completed"),
				  .purpose = AR_STR(AR_PURPOSE_COMMAND),
				  .started = e->time,
				  .ended = e->time };
	ar_apply_step(s, turn, step);
	ar_apply_forget_hooks(turn);
	if (what)
		ar_apply_calls(s, turn, step, &what->tool_calls);
}

void ar_apply_steers(struct ar_session *s, struct ar_thread *t, struct ar_turn *turn)
{
	for (size_t i = 0; i < turn->steers.count; i++)
		ar_apply_context(s, t, *(const struct ar_context_entry *)turn->steers.at[i]);
	turn->steers.count = 0;
}

/* Why it was interrupted is told with the state line that goes with the intent. */
static void interrupting(struct ar_session *s, struct ar_turn *turn, const struct ar_ev_run_status *p)
{
	turn->interrupt_reason = ar_apply_keep(s, p->detail);
	if (!p->metadata)
		return;
	if (p->metadata->rollback.v)
		turn->unwanted = AR_OPT_BOOL(true);
	if (ar_str_is(p->metadata->cancelled_by, AR_CANCELLED_BY_POLICY))
		turn->origin.stopped_by_policy = AR_OPT_BOOL(true);
	if (ar_str_absent(p->metadata->limit))
		return;
	turn->overdue = AR_OPT_BOOL(true);
	if (ar_str_is(p->metadata->limit, AR_LIMIT_SILENCE))
		turn->silent = AR_OPT_BOOL(true);
}

/* A call waits for children: what it waits for is known from here on. */
static void waits_for_subagents(struct ar_session *s, const struct ar_event *e, struct ar_turn *turn)
{
	const struct ar_shape_run_metadata *wait = PAYLOAD(e, run_status)->metadata;
	struct ar_invocation *call = ar_turn_call(turn, e->ids[AR_SCOPE_TOOL_CALL]);

	if (!wait || !call)
		return;
	call->waits = ar_arena_texts(&s->arena, wait->subagent_ids);
	call->waits_any = wait->waits_for_any;
	call->expires = wait->until;
}

static enum ar_status run_status(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_run_status *p = PAYLOAD(e, run_status);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	(void)err;
	if (turn && ar_str_is(p->phase, AR_PHASE_INTERRUPTING))
		interrupting(s, turn, p);
	if (turn && ar_str_is(p->phase, AR_PHASE_STEERED)) {
		steered(s, e, turn);
		ar_apply_channel_used(s, e);
	}
	if (turn && ar_str_is(p->phase, AR_PHASE_TOOLS_REQUESTED))
		tools_requested(s, e, turn);
	if (turn && ar_str_is(p->phase, AR_PHASE_WAITING_SUBAGENTS))
		waits_for_subagents(s, e, turn);
	if (!ar_str_absent(e->ids[AR_SCOPE_PROCESS]))
		ar_apply_process_status(s, e);
	if (!ar_str_absent(e->ids[AR_SCOPE_ACTION]))
		ar_apply_action_noticed(s, e);
	return AR_OK;
}

/* ---- turns and their queue ---- */

static enum ar_status turn_submitted(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_turn_submitted *p = KEPT(s, e, turn_submitted);
	struct ar_thread *t = ar_apply_thread(s, e);
	struct ar_turn *turn;

	if (!t)
		return ar_apply_unknown(err, e, "thread");
	turn = ar_arena_alloc(&s->arena, sizeof(*turn));
	turn->id = ar_apply_keep(s, e->ids[AR_SCOPE_TURN]);
	turn->thread = t->id;
	turn->status = AR_TURN_ACCEPTED;
	turn->source = p->source;
	turn->input_ref = p->input_ref;
	turn->input_preview = p->input_preview;
	turn->input_bytes = p->input_bytes.v;
	turn->options = p->options;
	turn->people = p->submitted_by;
	turn->report_to = p->report_to;
	turn->origin.metadata = p->metadata;
	if (!ar_str_absent(e->ids[AR_SCOPE_TRACE])) {
		turn->trace = ar_arena_alloc(&s->arena, sizeof(*turn->trace));
		turn->trace->parent = p->trace_parent;
	}
	turn->has_images.v = turn->has_images.set = ar_texts_have(p->input_kinds, AR_STR("image"));
	turn->submitted = e->time;
	if (!ar_str_absent(e->ids[AR_SCOPE_CHANNEL]))
		ar_apply_channel_used(s, e);
	ar_vec_push(&s->arena, &t->turns, turn);
	ar_apply_count(&s->counters.turn, turn->id);
	return AR_OK;
}

static enum ar_status queue_changed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_queue_changed *p = PAYLOAD(e, queue_changed);
	struct ar_thread *t = ar_apply_thread(s, e);

	if (!t)
		return ar_apply_unknown(err, e, "thread");
	t->queue.count = 0;
	if (p->policy && p->policy->limit.set)
		t->queue_limit = p->policy->limit;
	for (size_t i = 0; i < p->order.count; i++) {
		struct ar_turn *turn = ar_thread_turn(t, p->order.at[i]);

		if (!turn)
			return ar_apply_unknown(err, e, "queued turn");
		turn->status = AR_TURN_QUEUED;
		ar_vec_push(&s->arena, &t->queue, turn);
	}
	return AR_OK;
}

static void keep_environment(struct ar_session *s, struct ar_turn *turn, const struct ar_ev_turn_started *p)
{
	struct ar_kept_environment *kept;

	if (ar_session_turn_environment(s, p->execution_environment_ref))
		turn->origin.environment = ar_apply_keep(s, p->execution_environment_ref);
	if (!p->execution_environment)
		return;
	kept = ar_arena_alloc(&s->arena, sizeof(*kept));
	kept->ref = turn->origin.environment = ar_apply_keep(s, p->execution_environment_ref);
	kept->of = ar_struct_copy(&ar_shape_turn_environment_desc, p->execution_environment, AR_COPY_TEXT,
				  &s->arena);
	ar_vec_push(&s->arena, &s->environments, kept);
	if (s->environments.count > AR_WINDOW_ENVIRONMENTS)
		ar_vec_remove(&s->environments, 0);
}

static enum ar_status turn_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	if (!ar_str_absent(t->active_turn))
		return ar_fail(err, AR_E_CORRUPT, "fact %llu starts a turn while another one runs",
			       (unsigned long long)e->sequence);
	turn->started = e->time;
	turn->start = AR_OPT_INT((int64_t)e->sequence);
	keep_environment(s, turn, PAYLOAD(e, turn_started));
	turn->origin.metadata = AR_STR_NONE; /* it is in the snapshot of its input from here on */
	if (t->compact_failures.set)
		t->compact_rested = AR_OPT_INT(t->compact_rested.v + 1);
	t->active_turn = turn->id;
	if (!ar_turn_is_system(turn))
		ar_apply_context(s, t,
				 (struct ar_context_entry){ .role = AR_CONTEXT_USER,
							    .ref = turn->input_ref,
							    .bytes = turn->input_bytes });
	return ar_apply_move(&turn->status, AR_MACHINE_TURN, e, err);
}

/* Turns with children that may still use its budget stay. */
static void drop_old_turns(const struct ar_session *s, struct ar_thread *t)
{
	size_t ended = 0;

	for (size_t i = t->turns.count; i > 0; i--) {
		const struct ar_turn *turn = t->turns.at[i - 1];

		if (ar_str_absent(turn->outcome) || !ar_str_absent(turn->report_to) ||
		    ++ended <= AR_WINDOW_TURNS || ar_subagents_open_of_turn(s, turn))
			continue;
		if (turn->start.v > t->forgotten.v)
			t->forgotten = turn->start;
		ar_vec_remove(&t->turns, i - 1);
	}
}

static enum ar_status end_turn(struct ar_session *s, const struct ar_event *e, struct ar_turn *turn,
			       struct ar_thread *t, struct ar_error *err)
{
	turn->ended = e->time;
	ar_apply_steers(s, t, turn);
	if (ar_str_eq(t->active_turn, turn->id))
		t->active_turn = AR_STR_NONE;
	t->last_turn = turn->id;
	t->last_outcome = turn->outcome;
	t->last_category = turn->error_category;
	t->last_message = turn->error_message;
	t->last_ended = e->time;
	turn->open_step = AR_STR_NONE;
	turn->hooks.count = 0;
	s->updated = e->time;
	if (ar_apply_move(&turn->status, AR_MACHINE_TURN, e, err) != AR_OK)
		return AR_E_CORRUPT;
	drop_old_turns(s, t);
	return AR_OK;
}

static enum ar_status turn_completed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_turn_completed *p = PAYLOAD(e, turn_completed);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	turn->outcome = AR_STR("completed");
	turn->stop_reason = ar_apply_keep(s, p->stop_reason);
	turn->output_ref = ar_apply_keep(s, p->output_ref);
	return end_turn(s, e, turn, t, err);
}

static enum ar_status turn_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_turn_failed *p = PAYLOAD(e, turn_failed);
	struct ar_thread *t;
	struct ar_shape_failure error = ar_apply_failure(p->error);
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	turn->outcome = ar_apply_word(e, "status", p->status);
	turn->error_category = ar_apply_keep(s, error.category);
	turn->error_message = ar_apply_keep(s, error.message);
	turn->retryable = error.retryable;
	turn->output_ref = ar_apply_keep(s, p->output_ref);
	return end_turn(s, e, turn, t, err);
}

static ar_apply_fn *const appliers[AR_EV_COUNT] = {
	[AR_EV_SESSION_CREATED] = session_created,
	[AR_EV_SESSION_UPDATED] = ar_apply_session_updated,
	[AR_EV_THREAD_STARTED] = thread_started,
	[AR_EV_THREAD_UPDATED] = thread_updated,
	[AR_EV_RUN_STATUS] = run_status,
	[AR_EV_TURN_SUBMITTED] = turn_submitted,
	[AR_EV_TURN_STARTED] = turn_started,
	[AR_EV_TURN_COMPLETED] = turn_completed,
	[AR_EV_TURN_FAILED] = turn_failed,
	[AR_EV_QUEUE_CHANGED] = queue_changed,
	[AR_EV_TASK_CREATED] = ar_apply_task_created,
	[AR_EV_TASK_ACCEPTED] = ar_apply_task_moved,
	[AR_EV_TASK_QUEUED] = ar_apply_task_moved,
	[AR_EV_TASK_STARTED] = ar_apply_task_moved,
	[AR_EV_TASK_BLOCKED] = ar_apply_task_moved,
	[AR_EV_TASK_WAITING] = ar_apply_task_waiting,
	[AR_EV_TASK_RESUMED] = ar_apply_task_moved,
	[AR_EV_TASK_RETRYING] = ar_apply_task_moved,
	[AR_EV_TASK_COMPLETED] = ar_apply_task_ended,
	[AR_EV_TASK_FAILED] = ar_apply_task_ended,
	[AR_EV_TASK_TIMED_OUT] = ar_apply_task_ended,
	[AR_EV_TASK_CANCELLED] = ar_apply_task_ended,
	[AR_EV_TASK_LOST] = ar_apply_task_ended,
	[AR_EV_TASK_PAUSED] = ar_apply_task_moved,
	[AR_EV_TASK_CANCEL_REQUESTED] = ar_apply_task_moved,
	[AR_EV_TASK_UPDATED] = ar_apply_task_updated,
	[AR_EV_TASK_PROGRESS] = ar_apply_task_progress,
	[AR_EV_TASK_DEPENDENCY_UPDATED] = ar_apply_dependency,
	[AR_EV_TASK_ARCHIVED] = ar_apply_task_archived,
	[AR_EV_TASK_ATTEMPT_STARTED] = ar_apply_attempt_started,
	[AR_EV_TASK_ATTEMPT_COMPLETED] = ar_apply_attempt_ended,
	[AR_EV_TASK_ATTEMPT_FAILED] = ar_apply_attempt_ended,
	[AR_EV_MODEL_REQUESTED] = ar_apply_model_requested,
	[AR_EV_MODEL_COMPLETED] = ar_apply_model_completed,
	[AR_EV_MODEL_FAILED] = ar_apply_model_failed,
	[AR_EV_REASONING_SUMMARY] = ar_apply_reasoning_summary,
	[AR_EV_TOOL_STARTED] = ar_apply_tool_started,
	[AR_EV_TOOL_RESULT] = ar_apply_tool_result,
	[AR_EV_TOOL_FAILED] = ar_apply_tool_failed,
	[AR_EV_PERMISSION_EVALUATED] = ar_apply_permission_evaluated,
	[AR_EV_OUTPUT_SPILLED] = ar_apply_output_spilled,
	[AR_EV_OUTPUT_EXPIRED] = ar_apply_output_expired,
	[AR_EV_OUTPUT_REDACTED] = ar_apply_output_redacted,
	[AR_EV_ARTIFACT_CHANGED] = ar_apply_artifact_changed,
	[AR_EV_EVIDENCE_CHANGED] = ar_apply_evidence_changed,
	[AR_EV_TASK_PROFILE_RESOLVED] = ar_apply_profile,
	[AR_EV_ROUTING_CANDIDATES_RESOLVED] = ar_apply_routing,
	[AR_EV_ROUTING_SINGLE_CANDIDATE] = ar_apply_routing,
	[AR_EV_ROUTING_DECIDED] = ar_apply_routing,
	[AR_EV_ROUTING_NOT_POSSIBLE] = ar_apply_routing,
	[AR_EV_ROUTING_FALLBACK_APPLIED] = ar_apply_routing,
	[AR_EV_COST_ESTIMATED] = ar_apply_routing,
	[AR_EV_COST_RECORDED] = ar_apply_cost_recorded,
	[AR_EV_RATE_LIMIT_HIT] = ar_apply_rate_limit,
	[AR_EV_HOOK_STARTED] = ar_apply_hook_started,
	[AR_EV_HOOK_COMPLETED] = ar_apply_hook_completed,
	[AR_EV_HOOK_FAILED] = ar_apply_hook_failed,
	[AR_EV_HISTORY_ROLLBACK_COMPLETED] = ar_apply_rolled_back,
	[AR_EV_QUOTA_LOW] = ar_apply_quota_low,
	[AR_EV_QUOTA_BLOCKED] = ar_apply_quota_blocked,
	[AR_EV_LIMIT_CHANGED] = ar_apply_limit_changed,
	[AR_EV_CONTEXT_RESOLVED] = ar_apply_context_resolved,
	[AR_EV_TOOL_CATALOG_RESOLVED] = ar_apply_catalog_resolved,
	[AR_EV_CONTEXT_COMPACTION_STARTED] = ar_apply_compaction_started,
	[AR_EV_CONTEXT_COMPACTION_COMPLETED] = ar_apply_compaction_completed,
	[AR_EV_CONTEXT_COMPACTION_FAILED] = ar_apply_compaction_failed,
	[AR_EV_ACTION_REQUIRED] = ar_apply_action_required,
	[AR_EV_HISTORY_WINDOW_LOADED] = ar_apply_window_loaded,
	[AR_EV_CHANNEL_CONNECTED] = ar_apply_channel_connected,
	[AR_EV_CHANNEL_DISCONNECTED] = ar_apply_channel,
	[AR_EV_CHANNEL_RESUMED] = ar_apply_channel,
	[AR_EV_CHANNEL_ACKED] = ar_apply_channel,
	[AR_EV_CHANNEL_MESSAGE] = ar_apply_channel_message,
	[AR_EV_CHANNEL_PERMISSION_FORWARDED] = ar_apply_channel,
	[AR_EV_CHANNEL_PERMISSION_RETURNED] = ar_apply_channel,
	[AR_EV_ACTION_RESOLVED] = ar_apply_action_resolved,
	[AR_EV_PERMISSION_RESOLVED] = ar_apply_permission_resolved,
	[AR_EV_POLICY_CHANGED] = ar_apply_policy_changed,
	[AR_EV_RUNTIME_WARNING] = ar_apply_runtime_warning,
	[AR_EV_RUNTIME_ERROR] = ar_apply_runtime_error,
	[AR_EV_PROCESS_STARTED] = ar_apply_process_started,
	[AR_EV_PROCESS_INPUT] = ar_apply_process_input,
	[AR_EV_PROCESS_COMPLETED] = ar_apply_process_completed,
	[AR_EV_PROCESS_FAILED] = ar_apply_process_failed,
	[AR_EV_PROCESS_TERMINATED] = ar_apply_process_terminated,
	[AR_EV_SANDBOX_APPLIED] = ar_apply_boundary,
	[AR_EV_SANDBOX_VIOLATION] = ar_apply_violation,
	[AR_EV_SNAPSHOT_REPAIRED] = ar_apply_repaired,
	[AR_EV_CHECKPOINT_STARTED] = ar_apply_checkpoint_started,
	[AR_EV_CHECKPOINT_CREATED] = ar_apply_checkpoint_created,
	[AR_EV_CHECKPOINT_FAILED] = ar_apply_checkpoint_failed,
	[AR_EV_CHECKPOINT_RESTORING] = ar_apply_checkpoint_restoring,
	[AR_EV_CHECKPOINT_RESTORED] = ar_apply_checkpoint_restored,
	[AR_EV_CHECKPOINT_EXPIRED] = ar_apply_checkpoint_expired,
	[AR_EV_WORKSPACE_PREPARING] = ar_apply_workspace_preparing,
	[AR_EV_WORKSPACE_PREPARED] = ar_apply_workspace_prepared,
	[AR_EV_WORKSPACE_APPLYING] = ar_apply_workspace_applying,
	[AR_EV_WORKSPACE_APPLIED] = ar_apply_workspace_applied,
	[AR_EV_WORKSPACE_CONFLICTED] = ar_apply_workspace_conflicted,
	[AR_EV_WORKSPACE_FAILED] = ar_apply_workspace_failed,
	[AR_EV_WORKSPACE_REMOVING] = ar_apply_workspace_removed,
	[AR_EV_WORKSPACE_REMOVED] = ar_apply_workspace_removed,
	[AR_EV_WORKSPACE_BOUND] = ar_apply_workspace_bound,
	[AR_EV_WORKSPACE_INSPECTED] = ar_apply_workspace_inspected,
	[AR_EV_WORKSPACE_SERVERS_STARTING] = ar_apply_workspace_servers_starting,
	[AR_EV_WORKSPACE_SERVERS_STARTED] = ar_apply_workspace_servers_started,
	[AR_EV_WORKSPACE_CREATED] = ar_apply_workspace_created,
	[AR_EV_WORKSPACE_UPDATED] = ar_apply_workspace_updated,
	[AR_EV_WORKSPACE_ARCHIVED] = ar_apply_workspace_archived,
	[AR_EV_TURN_REPORTED] = ar_apply_turn_reported,
	[AR_EV_JOB_REPORTED] = ar_apply_job_reported,
	[AR_EV_JOB_DELIVERY] = ar_apply_job_delivery,
	[AR_EV_SUBAGENT_SPAWNED] = ar_apply_subagent_spawned,
	[AR_EV_SUBAGENT_STATUS] = ar_apply_subagent,
	[AR_EV_SUBAGENT_INPUT] = ar_apply_subagent,
	[AR_EV_SUBAGENT_OUTPUT] = ar_apply_subagent,
	[AR_EV_SUBAGENT_COMPLETED] = ar_apply_subagent,
	[AR_EV_SUBAGENT_FAILED] = ar_apply_subagent,
	[AR_EV_SUBAGENT_CLOSED] = ar_apply_subagent,
	[AR_EV_WEBHOOK_PROGRESSED] = ar_apply_webhook_progressed,
	[AR_EV_WEBHOOK_FAILED] = ar_apply_webhook_failed,
	[AR_EV_WEBHOOK_REDELIVERING] = ar_apply_webhook_redelivering,
	[AR_EV_WEBHOOK_REDELIVERED] = ar_apply_webhook_redelivered,
	[AR_EV_WEBHOOK_ADDED] = ar_apply_webhook_added,
	[AR_EV_WEBHOOK_REMOVED] = ar_apply_webhook_removed,
	[AR_EV_WORKER_CREATED] = ar_apply_worker_created,
	[AR_EV_WORKER_ENROLLED] = ar_apply_worker_enrolled,
	[AR_EV_WORKER_UPDATED] = ar_apply_worker_updated,
	[AR_EV_WORKER_REMOVED] = ar_apply_worker_removed,
	[AR_EV_WORKER_CHANGED] = ar_apply_worker_changed,
	[AR_EV_SCHEDULE_CREATED] = ar_apply_schedule_created,
	[AR_EV_SCHEDULE_UPDATED] = ar_apply_schedule_updated,
	[AR_EV_SCHEDULE_FIRED] = ar_apply_schedule_fired,
	[AR_EV_SCHEDULE_MISSED] = ar_apply_schedule_missed,
	[AR_EV_SCHEDULE_RUN_CHANGED] = ar_apply_schedule_run_changed,
	[AR_EV_SCHEDULE_ENDED] = ar_apply_schedule_ended,
	[AR_EV_JOB_CREATED] = ar_apply_job_created,
	[AR_EV_JOB_STARTED] = ar_apply_job_started,
	[AR_EV_JOB_PROGRESS] = ar_apply_job_progress,
	[AR_EV_JOB_ITEM_STARTED] = ar_apply_job_item_started,
	[AR_EV_JOB_ITEM_COMPLETED] = ar_apply_job_item_completed,
	[AR_EV_JOB_ITEM_FAILED] = ar_apply_job_item_failed,
	[AR_EV_JOB_COMPLETED] = ar_apply_job_completed,
	[AR_EV_JOB_FAILED] = ar_apply_job_failed,
	[AR_EV_JOB_CANCELLED] = ar_apply_job_cancelled,
};

enum ar_status ar_session_apply(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	if (e->sequence != s->head + 1)
		return ar_fail(err, AR_E_CORRUPT, "fact %llu cannot follow %llu",
			       (unsigned long long)e->sequence, (unsigned long long)s->head);
	if (appliers[e->type] && appliers[e->type](s, e, err) != AR_OK)
		return AR_E_CORRUPT;
	s->head = e->sequence;
	s->updated = e->time;
	return AR_OK;
}
