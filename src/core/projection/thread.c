/* thread_read_model: what is going on in one thread now. Pure. */
#include "describe.h"
#include "machine.h"
#include "parts/parts.h"
#include "routing.h"

static void step(const struct ar_step *s, struct ar_jw *w)
{
	bool is_model = !ar_str_absent(s->model_request);

	ar_jw_open(w);
	ar_jw_mstr(w, "stepId", s->id);
	ar_jw_mstr(w, "kind", is_model ? AR_STR("model") : AR_STR("input"));
	ar_jw_mstr(w, "status", s->status);
	ar_jw_mstr(w, "modelRequestId", s->model_request);
	ar_jw_mstr(w, "provider", s->provider);
	ar_jw_mstr(w, "model", s->model);
	if (is_model) {
		ar_jw_mstr(w, "purpose", s->purpose);
		ar_jw_mint(w, "attempt", s->attempt);
	}
	ar_jw_mstr(w, is_model ? "outputRef" : "inputRef", s->output_ref);
	ar_jw_mstr(w, "preview", s->preview);
	ar_jw_mstr(w, "errorCategory", s->category);
	ar_jw_mtime(w, "startedAt", s->started);
	ar_jw_mtime(w, "endedAt", s->ended);
	ar_jw_close(w);
}

static void usage(const struct ar_turn *turn, struct ar_jw *w)
{
	ar_jw_key(w, "usage");
	ar_jw_open(w);
	ar_jw_mint(w, "inputTokens", turn->input_tokens);
	ar_jw_mint(w, "outputTokens", turn->output_tokens);
	ar_jw_mint(w, "cachedTokens", turn->cached_tokens);
	ar_jw_close(w);
}

static struct ar_str turn_status(const struct ar_turn *turn)
{
	if (!ar_str_absent(turn->outcome))
		return turn->outcome;
	if (turn->task && turn->task->status == AR_TASK_WAITING)
		return turn->task->waiting;
	if (turn->task && (turn->task->stale.v || turn->lost_worker.v))
		return turn->lost_worker.v ? AR_STR("lost") : AR_STR("stale");
	return ar_str_from(ar_machine_state_name(AR_MACHINE_TURN, (int)turn->status));
}

static void turn(const struct ar_session *s, const struct ar_thread *thread, const struct ar_turn *t,
		 struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "turnId", t->id);
	ar_jw_mstr(w, "status", turn_status(t));
	ar_jw_mstr(w, "source", t->source);
	ar_jw_mstr(w, "inputRef", t->input_ref);
	ar_jw_mstr(w, "inputPreview", t->input_preview);
	ar_jw_mstr(w, "outputRef", t->output_ref);
	ar_jw_mstr(w, "stopReason", t->stop_reason);
	ar_jw_mstr(w, "taskId", t->task ? t->task->id : AR_STR_NONE);
	ar_jw_mstr(w, "runId", t->run);
	ar_jw_mbool(w, "interruptRequested", t->is_interrupted);
	ar_jw_mint(w, "restarts", t->restarts);
	usage(t, w);
	ar_projection_turn_routing(s, t, w);
	ar_projection_turn_parts(s, thread, t, w);
	ar_jw_mtime(w, "submittedAt", t->submitted);
	ar_jw_mtime(w, "startedAt", t->started);
	ar_jw_mtime(w, "completedAt", t->ended);
	ar_jw_key(w, "steps");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->steps.count; i++)
		step(t->steps.at[i], w);
	ar_jw_close_array(w);
	ar_projection_turn_items(s, t, w);
	ar_jw_close(w);
}

static void last_outcome(const struct ar_thread *t, struct ar_jw *w)
{
	if (ar_str_absent(t->last_turn))
		return;
	ar_jw_key(w, "lastOutcome");
	ar_jw_open(w);
	ar_jw_mstr(w, "turnId", t->last_turn);
	ar_jw_mstr(w, "status", t->last_outcome);
	ar_jw_mstr(w, "category", t->last_category);
	ar_jw_mstr(w, "message", t->last_message);
	ar_jw_mtime(w, "endedAt", t->last_ended);
	ar_jw_close(w);
}

static void incidents(const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "incidents");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->incidents.count; i++) {
		const struct ar_incident *incident = t->incidents.at[i];

		ar_jw_open(w);
		ar_jw_mstr(w, "incidentId", incident->id);
		ar_jw_mstr(w, "code", incident->code);
		ar_jw_mstr(w, "message", incident->message);
		ar_jw_mstr(w, "turnId", incident->turn);
		ar_jw_mtime(w, "at", incident->at);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

/* Where the conversation was shortened last, and whether it is being shortened now. */
void ar_projection_boundary(const struct ar_thread *t, struct ar_jw *w)
{
	const struct ar_boundary *b = ar_thread_boundary(t, INT64_MAX);
	const struct ar_turn *active = ar_thread_active(t);
	bool is_open = active && active->compaction.trigger.set;

	ar_jw_open(w);
	ar_jw_mstr(w, "state", is_open ? AR_STR("compacting") : b ? AR_STR("compacted") : AR_STR("none"));
	ar_jw_mstr(w, "threadId", t->id);
	if (b) {
		ar_jw_mstr(w, "turnId", b->turn);
		ar_jw_mstr(w, "trigger", b->trigger);
		ar_jw_mstr(w, "summaryRef", b->summary_ref);
		ar_jw_mstr(w, "summaryPreview", b->preview);
		ar_jw_mstr(w, "replacementHistoryRef", b->history_ref);
		ar_jw_mint(w, "coveredMessages", b->covered);
		ar_jw_mint(w, "tokensBefore", b->tokens_before);
		ar_jw_mint(w, "tokensAfter", b->tokens_after);
		if (b->preserved) {
			ar_jw_key(w, "preserved");
			ar_struct_encode(&ar_shape_preserved_desc, b->preserved, b->preserved->extra_, w);
		}
		ar_jw_mtime(w, "at", b->at);
	}
	ar_shape_write(w, "selection", &ar_shape_context_selection_desc, t->selected);
	ar_jw_close(w);
}

static void history(const struct ar_thread *t, size_t removed, struct ar_jw *w)
{
	const struct ar_boundary *b = ar_thread_boundary(t, INT64_MAX);
	size_t hidden = ar_thread_visible(t, b);

	ar_jw_key(w, "history");
	ar_jw_open(w);
	ar_jw_mint(w, "windowTurns", (int64_t)(t->turns.count - removed));
	ar_jw_mint(w, "removedTurns", (int64_t)removed);
	ar_jw_mint(w, "contextMessages", (int64_t)(t->context.count - hidden) + (b ? 1 : 0));
	ar_jw_mint(w, "omittedMessages", t->omitted + (int64_t)hidden);
	ar_jw_close(w);
}

static void queued_turn(const struct ar_turn *t, size_t place, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "queuedTurnId", t->id);
	ar_jw_mstr(w, "turnId", t->id);
	ar_jw_mint(w, "position", (int64_t)place + 1);
	ar_jw_mstr(w, "source", t->source);
	ar_jw_mstr(w, "policy", AR_STR("queue"));
	ar_jw_mstr(w, "inputPreview", t->input_preview);
	ar_jw_mtime(w, "submittedAt", t->submitted);
	ar_jw_close(w);
}

static void queued_turns(const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->queue.count; i++)
		queued_turn(t->queue.at[i], i, w);
	ar_jw_close_array(w);
}

void ar_projection_queue(const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mint(w, "length", (int64_t)t->queue.count);
	ar_jw_mstr(w, "resumeState", AR_STR("automatic"));
	ar_jw_key(w, "turns");
	queued_turns(t, w);
	ar_jw_close(w);
}

/* A task whose newest run was a turn of the thread is halted on purpose, and goes on there. */
static bool has_paused_task(const struct ar_session *s, const struct ar_thread *t)
{
	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *task = s->declared.at[i];
		const struct ar_run *run = task->status == AR_TASK_PAUSED ? ar_task_run(task) : NULL;
		struct ar_thread *where = NULL;

		if (run && ar_session_turn(s, run->turn, &where) && where == t)
			return true;
	}
	return false;
}

/* The word of the fact that moved the thread, until the model is asked or a tool runs: then nothing is
 * prepared or awaited any more. */
static struct ar_str detail_of(const struct ar_session *s, const struct ar_thread *t,
			       const struct ar_shown *among)
{
	const struct ar_turn *active = ar_thread_active(t);
	bool is_early = ar_str_is(t->detail, "preparing") || ar_str_is(t->detail, "retrying");
	bool is_at_work = active && !ar_str_absent(active->open_step);

	for (size_t i = 0; active && i < active->calls.count; i++)
		is_at_work |= ((const struct ar_invocation *)active->calls.at[i])->stage == AR_CALL_RUNNING;
	if (t->status == AR_THREAD_STATUS_IDLE && has_paused_task(s, t))
		return AR_STR("paused");
	if (!is_early || !is_at_work)
		return t->detail;
	return ar_texts_have(among->streaming, t->id) ? AR_STR("streaming") : AR_STR("running");
}

void ar_projection_thread(const struct ar_session *s, const struct ar_thread *t, const struct ar_shown *among,
			  struct ar_jw *w)
{
	size_t removed = 0;

	ar_jw_open(w);
	ar_jw_mstr(w, "threadId", t->id);
	ar_jw_mstr(w, "status", ar_str_from(ar_enum_name(&ar_thread_status_desc, (int)t->status)));
	ar_jw_mstr(w, "statusDetail", detail_of(s, t, among));
	ar_jw_mstr(w, "statusReason", t->reason);
	ar_jw_mstr(w, "activeTurnId", t->active_turn);
	ar_jw_mstr(w, "parentThreadId", t->parent_thread);
	ar_jw_mstr(w, "parentTurnId", t->parent_turn);
	last_outcome(t, w);
	ar_jw_key(w, "turns");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->turns.count; i++) {
		const struct ar_turn *shown = t->turns.at[i];

		if (shown->removed.v)
			removed++;
		else
			turn(s, t, shown, w);
	}
	ar_jw_close_array(w);
	ar_jw_key(w, "queuedTurns");
	queued_turns(t, w);
	ar_jw_key(w, "queue");
	ar_projection_queue(t, w);
	incidents(t, w);
	ar_projection_thread_routing(s, t, w);
	ar_projection_tool_calls(t, w);
	ar_projection_actions(s, t, w);
	ar_projection_permission(s, t, w);
	ar_projection_diagnostics(s, t, w);
	ar_projection_processes(s, t, w);
	ar_projection_channels(s, w);
	ar_projection_outputs(s, t, w);
	ar_projection_thread_artifacts(s, t, w);
	ar_projection_checkpoint_summary(s, t->id, w);
	ar_projection_thread_subagents(t, among, w);
	ar_projection_jobs(s, among, w);
	ar_projection_thread_tasks(s, t, w);
	ar_jw_key(w, "telemetry");
	ar_projection_telemetry(s, &(struct ar_vec){ .at = (void *[]){ (void *)(uintptr_t)t }, .count = 1 },
				w);
	ar_projection_evidence(s, t, w);
	history(t, removed, w);
	ar_jw_key(w, "contextBoundary");
	ar_projection_boundary(t, w);
	ar_jw_mtime(w, "createdAt", t->created);
	ar_jw_mtime(w, "updatedAt", t->updated);
	ar_jw_close(w);
}
