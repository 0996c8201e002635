/* Facts become state. One small function per kind of fact, found in a table; facts without one change nothing but the head.
 * The only writer of session state beside snapshot.c. Pure; no clock: all times are in the facts. */
#include "describe.h"
#include "machine.h"
#include "session.h"

#define PAYLOAD(e, name) ((const struct ar_ev_##name *)(e)->payload)

typedef enum ar_status apply_fn(struct ar_session *s, const struct ar_event *e, struct ar_error *err);

static struct ar_str keep(struct ar_session *s, struct ar_str text)
{
	return ar_arena_str(&s->arena, text);
}

/* Ids of ours carry their number: the counter follows the highest that was used. */
static void count(int64_t *counter, struct ar_str id)
{
	uint64_t n;

	if (!ar_str_absent(ar_id_core(id)) && ar_id_counter(id, &n) && (int64_t)n > *counter)
		*counter = (int64_t)n;
}

/* A member object of a payload; absent when the payload has none. */
static struct ar_json parsed(struct ar_session *s, struct ar_str raw)
{
	struct ar_json v = { 0 };

	if (ar_str_absent(raw) || ar_json_parse(s->json, raw, &v, NULL) != AR_OK)
		return (struct ar_json){ 0 };
	return v;
}

static struct ar_str text_of(struct ar_session *s, struct ar_json object, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &text);
	return keep(s, text);
}

static int64_t number_of(struct ar_json object, const char *name)
{
	int64_t n = 0;

	ar_json_i64(ar_json_get(object, name), &n);
	return n;
}

/* The word behind an enum member of the payload. */
static struct ar_str word_of(const struct ar_event *e, const char *field, int value)
{
	const struct ar_field_desc *f = ar_field_find(&ar_event_describe(e->type)->payload, ar_str_from(field));

	return ar_str_from(ar_enum_name(f->values, value));
}

static enum ar_status unknown(struct ar_error *err, const struct ar_event *e, const char *what)
{
	return ar_fail(err, AR_E_CORRUPT, "fact %llu (%s) names an unknown %s", (unsigned long long)e->sequence,
		       ar_event_describe(e->type)->name, what);
}

static struct ar_thread *thread_of(struct ar_session *s, const struct ar_event *e)
{
	return ar_session_thread(s, e->ids[AR_SCOPE_THREAD]);
}

static struct ar_turn *turn_of(struct ar_session *s, const struct ar_event *e, struct ar_thread **ret_thread)
{
	struct ar_thread *t = thread_of(s, e);

	if (!t)
		return NULL;
	*ret_thread = t;
	return ar_thread_turn(t, e->ids[AR_SCOPE_TURN]);
}

static enum ar_status move(int64_t *state, enum ar_machine machine, const struct ar_event *e, struct ar_error *err)
{
	int next;

	if (!ar_machine_next(machine, (int)*state, e->type, &next))
		return ar_fail(err, AR_E_CORRUPT, "fact %llu (%s) is not possible in state %s",
			       (unsigned long long)e->sequence, ar_event_describe(e->type)->name,
			       ar_machine_state_name(machine, (int)*state));
	*state = next;
	return AR_OK;
}

/* ---- session and threads ---- */

static enum ar_status session_created(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_session_created *p = PAYLOAD(e, session_created);

	(void)err;
	s->title = keep(s, p->title);
	s->workspace = keep(s, p->workspace_id);
	s->account = keep(s, p->account_ref);
	s->source = keep(s, p->source);
	s->created = p->created_at;
	return AR_OK;
}

static enum ar_status thread_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_thread_started *p = PAYLOAD(e, thread_started);
	struct ar_thread *t = ar_arena_alloc(&s->arena, sizeof(*t));

	if (thread_of(s, e))
		return ar_fail(err, AR_E_CORRUPT, "fact %llu starts a thread that is there",
			       (unsigned long long)e->sequence);
	t->id = keep(s, e->ids[AR_SCOPE_THREAD]);
	t->status = p->status;
	t->parent_thread = keep(s, p->parent_thread_id);
	t->created = t->updated = e->time;
	ar_vec_push(&s->arena, &s->threads, t);
	count(&s->counters.thread, t->id);
	return AR_OK;
}

static enum ar_status thread_updated(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_thread_updated *p = PAYLOAD(e, thread_updated);
	struct ar_thread *t = thread_of(s, e);
	struct ar_turn *active;

	if (!t)
		return unknown(err, e, "thread");
	t->status = p->status;
	t->detail = keep(s, p->status_detail);
	t->reason = keep(s, p->reason);
	t->updated = e->time;
	active = ar_thread_active(t);
	if (!active)
		return AR_OK;
	if (ar_str_is(p->reason, AR_REASON_INTERRUPT))
		active->is_interrupted = true;
	active->is_lost = ar_str_is(p->reason, AR_REASON_LOST) || ar_str_is(p->reason, AR_REASON_CRASH_LOOP);
	if (ar_str_is(p->reason, AR_REASON_RESUMED))
		active->restarts = 0;
	return AR_OK;
}

/* Why it was interrupted is told with the state line that goes with the intent. */
static enum ar_status run_status(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_run_status *p = PAYLOAD(e, run_status);
	struct ar_thread *t;
	struct ar_turn *turn = turn_of(s, e, &t);

	(void)err;
	if (turn && ar_str_is(p->phase, "interrupting"))
		turn->interrupt_reason = keep(s, p->detail);
	return AR_OK;
}

/* ---- turns and their queue ---- */

static enum ar_status turn_submitted(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_turn_submitted *p = PAYLOAD(e, turn_submitted);
	struct ar_thread *t = thread_of(s, e);
	struct ar_turn *turn;

	if (!t)
		return unknown(err, e, "thread");
	turn = ar_arena_alloc(&s->arena, sizeof(*turn));
	turn->id = keep(s, e->ids[AR_SCOPE_TURN]);
	turn->thread = t->id;
	turn->status = AR_TURN_ACCEPTED;
	turn->source = keep(s, p->source);
	turn->input_ref = keep(s, p->input_ref);
	turn->input_preview = keep(s, p->input_preview);
	turn->input_bytes = p->input_bytes.v;
	turn->options = keep(s, p->options);
	turn->submitted = e->time;
	ar_vec_push(&s->arena, &t->turns, turn);
	count(&s->counters.turn, turn->id);
	return AR_OK;
}

/* `order` is a JSON array of ids, and ids hold nothing that JSON escapes. */
static bool next_id(struct ar_str *rest, struct ar_str *ret)
{
	struct ar_str after = ar_str_split(*rest, '"', ret);

	if (ar_str_absent(after))
		return false;
	*rest = ar_str_split(after, '"', ret);
	return true;
}

static enum ar_status queue_changed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_queue_changed *p = PAYLOAD(e, queue_changed);
	struct ar_thread *t = thread_of(s, e);
	struct ar_str rest = p->order, id;

	if (!t)
		return unknown(err, e, "thread");
	t->queue.count = 0;
	while (next_id(&rest, &id)) {
		struct ar_turn *turn = ar_thread_turn(t, id);

		if (!turn)
			return unknown(err, e, "queued turn");
		turn->status = AR_TURN_QUEUED;
		ar_vec_push(&s->arena, &t->queue, turn);
	}
	return AR_OK;
}

static void add_context(struct ar_session *s, struct ar_thread *t, struct ar_context_entry entry)
{
	struct ar_context_entry *kept = ar_arena_alloc(&s->arena, sizeof(*kept));

	*kept = entry;
	ar_vec_push(&s->arena, &t->context, kept);
	if (t->context.count <= AR_WINDOW_CONTEXT)
		return;
	ar_vec_remove(&t->context, 0);
	t->omitted++;
	if (t->sent > 0)
		t->sent--;
}

static enum ar_status turn_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = turn_of(s, e, &t);

	if (!turn)
		return unknown(err, e, "turn");
	if (!ar_str_absent(t->active_turn))
		return ar_fail(err, AR_E_CORRUPT, "fact %llu starts a turn beside a running one",
			       (unsigned long long)e->sequence);
	turn->started = e->time;
	t->active_turn = turn->id;
	add_context(s, t, (struct ar_context_entry){ .role = AR_CONTEXT_USER, .ref = turn->input_ref,
						     .bytes = turn->input_bytes });
	return move(&turn->status, AR_MACHINE_TURN, e, err);
}

static void drop_old_turns(struct ar_thread *t)
{
	size_t ended = 0;

	for (size_t i = t->turns.count; i > 0; i--) {
		const struct ar_turn *turn = t->turns.at[i - 1];

		if (!ar_str_absent(turn->outcome) && ++ended > AR_WINDOW_TURNS)
			ar_vec_remove(&t->turns, i - 1);
	}
}

static enum ar_status end_turn(struct ar_session *s, const struct ar_event *e, struct ar_turn *turn, struct ar_thread *t,
			       struct ar_error *err)
{
	turn->ended = e->time;
	if (ar_str_eq(t->active_turn, turn->id))
		t->active_turn = AR_STR_NONE;
	t->last_turn = turn->id;
	t->last_outcome = turn->outcome;
	t->last_category = turn->error_category;
	t->last_message = turn->error_message;
	t->last_ended = e->time;
	turn->open_step = AR_STR_NONE;
	s->updated = e->time;
	if (move(&turn->status, AR_MACHINE_TURN, e, err) != AR_OK)
		return AR_E_CORRUPT;
	drop_old_turns(t);
	return AR_OK;
}

static enum ar_status turn_completed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_turn_completed *p = PAYLOAD(e, turn_completed);
	struct ar_thread *t;
	struct ar_turn *turn = turn_of(s, e, &t);

	if (!turn)
		return unknown(err, e, "turn");
	turn->outcome = AR_STR("completed");
	turn->stop_reason = keep(s, p->stop_reason);
	turn->output_ref = keep(s, p->output_ref);
	return end_turn(s, e, turn, t, err);
}

static enum ar_status turn_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_turn_failed *p = PAYLOAD(e, turn_failed);
	struct ar_thread *t;
	struct ar_json error;
	struct ar_turn *turn = turn_of(s, e, &t);

	if (!turn)
		return unknown(err, e, "turn");
	turn->outcome = word_of(e, "status", p->status);
	error = parsed(s, p->error);
	turn->error_category = text_of(s, error, "category");
	turn->error_message = text_of(s, error, "message");
	turn->output_ref = keep(s, p->output_ref);
	return end_turn(s, e, turn, t, err);
}

/* ---- tasks and attempts ---- */

static enum ar_status task_created(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_task_created *p = PAYLOAD(e, task_created);
	struct ar_thread *t;
	struct ar_turn *turn = turn_of(s, e, &t);
	struct ar_task *task;

	if (!turn)
		return unknown(err, e, "turn");
	task = ar_arena_alloc(&s->arena, sizeof(*task));
	task->id = keep(s, e->ids[AR_SCOPE_TASK]);
	task->objective = keep(s, p->objective);
	task->title = keep(s, p->title);
	task->visibility = p->visibility;
	task->status = AR_TASK_DRAFT;
	task->created = task->updated = e->time;
	turn->task = task;
	count(&s->counters.task, task->id);
	return AR_OK;
}

static enum ar_status attempt_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_task_attempt_started *p = PAYLOAD(e, task_attempt_started);
	struct ar_thread *t;
	struct ar_turn *turn = turn_of(s, e, &t);
	struct ar_run *run;

	if (!turn || !turn->task)
		return unknown(err, e, "task");
	run = ar_arena_alloc(&s->arena, sizeof(*run));
	run->id = keep(s, e->ids[AR_SCOPE_RUN]);
	run->attempt_id = keep(s, e->ids[AR_SCOPE_ATTEMPT]);
	run->status = AR_STR("running");
	run->trigger = word_of(e, "trigger", p->trigger);
	run->count = p->attempt_count;
	run->started = e->time;
	ar_vec_push(&s->arena, &turn->task->runs, run);
	if (turn->task->runs.count > AR_WINDOW_RUNS)
		ar_vec_remove(&turn->task->runs, 0);
	turn->task->attempts = p->attempt_count;
	turn->run = run->id;
	turn->attempt = 0;
	turn->restarts += p->trigger == AR_TASK_ATTEMPT_STARTED_TRIGGER_RESUME_AFTER_CRASH;
	turn->is_lost = false;
	count(&s->counters.run, run->id);
	return move(&turn->task->status, AR_MACHINE_TASK, e, err);
}

static struct ar_run *current_run(const struct ar_task *task)
{
	return task->runs.count ? task->runs.at[task->runs.count - 1] : NULL;
}

static enum ar_status attempt_ended(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = turn_of(s, e, &t);
	struct ar_run *run = turn && turn->task ? current_run(turn->task) : NULL;

	if (!run)
		return unknown(err, e, "attempt");
	run->ended = e->time;
	run->status = AR_STR("completed");
	if (e->type != AR_EV_TASK_ATTEMPT_FAILED)
		return AR_OK;
	run->status = word_of(e, "status", PAYLOAD(e, task_attempt_failed)->status);
	run->category = keep(s, PAYLOAD(e, task_attempt_failed)->failure_category);
	return AR_OK;
}

/* Every task fact moves the task's machine; some leave more behind. */
static enum ar_status task_moved(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = turn_of(s, e, &t);
	struct ar_task *task = turn ? turn->task : NULL;

	if (!task)
		return unknown(err, e, "task");
	task->updated = e->time;
	if (e->type == AR_EV_TASK_STARTED && task->started == 0)
		task->started = e->time;
	if (e->type == AR_EV_TASK_FAILED)
		task->error_category = keep(s, PAYLOAD(e, task_failed)->failure_category);
	return move(&task->status, AR_MACHINE_TASK, e, err);
}

static enum ar_status task_ended(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;
	struct ar_turn *turn = turn_of(s, e, &t);

	if (turn && turn->task)
		turn->task->ended = e->time;
	s->tasks.completed += e->type == AR_EV_TASK_COMPLETED;
	s->tasks.failed += e->type == AR_EV_TASK_FAILED;
	s->tasks.cancelled += e->type == AR_EV_TASK_CANCELLED;
	s->tasks.lost += e->type == AR_EV_TASK_LOST;
	return task_moved(s, e, err);
}

/* ---- the model step ---- */

static enum ar_status model_requested(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_model_requested *p = PAYLOAD(e, model_requested);
	struct ar_thread *t;
	struct ar_turn *turn = turn_of(s, e, &t);
	struct ar_step *step;

	if (!turn)
		return unknown(err, e, "turn");
	step = ar_arena_alloc(&s->arena, sizeof(*step));
	step->id = keep(s, e->ids[AR_SCOPE_STEP]);
	step->model_request = keep(s, e->ids[AR_SCOPE_MODEL_REQUEST]);
	step->status = AR_STR("open");
	step->provider = keep(s, p->provider);
	step->model = keep(s, p->model);
	step->attempt = p->attempt;
	step->started = e->time;
	ar_vec_push(&s->arena, &turn->steps, step);
	if (turn->steps.count > AR_WINDOW_STEPS)
		ar_vec_remove(&turn->steps, 0);
	turn->open_step = step->id;
	turn->attempt = p->attempt;
	t->request_ref = keep(s, p->request_ref);
	t->sent = (int64_t)t->context.count;
	count(&s->counters.step, step->id);
	count(&s->counters.request, step->model_request);
	return AR_OK;
}

static struct ar_step *close_step(struct ar_session *s, const struct ar_event *e, struct ar_turn **ret_turn,
				  struct ar_thread **ret_thread)
{
	struct ar_turn *turn = turn_of(s, e, ret_thread);
	struct ar_step *step = turn ? ar_turn_step(turn, e->ids[AR_SCOPE_STEP]) : NULL;

	*ret_turn = turn;
	if (!step)
		return NULL;
	turn->open_step = AR_STR_NONE;
	step->ended = e->time;
	return step;
}

static enum ar_status model_completed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_model_completed *p = PAYLOAD(e, model_completed);
	struct ar_thread *t;
	struct ar_turn *turn;
	struct ar_step *step = close_step(s, e, &turn, &t);
	struct ar_json usage;

	if (!step)
		return unknown(err, e, "step");
	step->status = AR_STR("completed");
	step->output_ref = keep(s, p->output_ref);
	step->preview = keep(s, p->preview);
	turn->attempt = 0;
	turn->rounds++;
	usage = parsed(s, p->usage);
	turn->input_tokens += number_of(usage, "inputTokens");
	turn->output_tokens += number_of(usage, "outputTokens");
	turn->cached_tokens += number_of(usage, "cachedTokens");
	add_context(s, t, (struct ar_context_entry){ .role = AR_CONTEXT_ASSISTANT, .ref = step->output_ref,
						     .bytes = p->output_bytes.v,
						     .uses = keep(s, p->tool_calls) });
	return AR_OK;
}

static void add_incident(struct ar_session *s, const struct ar_event *e, struct ar_thread *t, struct ar_json error)
{
	struct ar_incident *incident = ar_arena_alloc(&s->arena, sizeof(*incident));

	incident->code = text_of(s, error, "category");
	incident->message = text_of(s, error, "message");
	incident->turn = keep(s, e->ids[AR_SCOPE_TURN]);
	incident->at = e->time;
	ar_vec_push(&s->arena, &t->incidents, incident);
	if (t->incidents.count > AR_WINDOW_INCIDENTS)
		ar_vec_remove(&t->incidents, 0);
}

static enum ar_status model_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_model_failed *p = PAYLOAD(e, model_failed);
	struct ar_thread *t;
	struct ar_turn *turn;
	struct ar_step *step = close_step(s, e, &turn, &t);
	struct ar_json error;

	if (!step)
		return unknown(err, e, "step");
	step->status = AR_STR("failed");
	error = parsed(s, p->error);
	step->category = text_of(s, error, "category");
	step->output_ref = keep(s, p->output_ref);
	add_incident(s, e, t, error);
	return AR_OK;
}

static enum ar_status tool_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_tool_started *p = PAYLOAD(e, tool_started);
	struct ar_thread *t = thread_of(s, e);

	if (!t)
		return unknown(err, e, "thread");
	add_context(s, t, (struct ar_context_entry){ .role = AR_CONTEXT_TOOL,
						     .tool_call_id = keep(s, p->provider_call_id) });
	return AR_OK;
}

/* The answer to a call fills the entry that its start opened; calls of one step end in the order they began. */
static enum ar_status tool_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t = thread_of(s, e);

	if (!t)
		return unknown(err, e, "thread");
	for (size_t i = 0; i < t->context.count; i++) {
		struct ar_context_entry *entry = t->context.at[i];

		if (entry->role != AR_CONTEXT_TOOL || !ar_str_absent(entry->ref))
			continue;
		entry->ref = keep(s, PAYLOAD(e, tool_failed)->error_ref);
		return AR_OK;
	}
	return unknown(err, e, "tool call");
}

static apply_fn *const appliers[AR_EV_COUNT] = {
	[AR_EV_SESSION_CREATED] = session_created,
	[AR_EV_THREAD_STARTED] = thread_started,
	[AR_EV_THREAD_UPDATED] = thread_updated,
	[AR_EV_RUN_STATUS] = run_status,
	[AR_EV_TURN_SUBMITTED] = turn_submitted,
	[AR_EV_TURN_STARTED] = turn_started,
	[AR_EV_TURN_COMPLETED] = turn_completed,
	[AR_EV_TURN_FAILED] = turn_failed,
	[AR_EV_QUEUE_CHANGED] = queue_changed,
	[AR_EV_TASK_CREATED] = task_created,
	[AR_EV_TASK_ACCEPTED] = task_moved,
	[AR_EV_TASK_QUEUED] = task_moved,
	[AR_EV_TASK_STARTED] = task_moved,
	[AR_EV_TASK_BLOCKED] = task_moved,
	[AR_EV_TASK_RETRYING] = task_moved,
	[AR_EV_TASK_COMPLETED] = task_ended,
	[AR_EV_TASK_FAILED] = task_ended,
	[AR_EV_TASK_CANCELLED] = task_ended,
	[AR_EV_TASK_LOST] = task_ended,
	[AR_EV_TASK_ATTEMPT_STARTED] = attempt_started,
	[AR_EV_TASK_ATTEMPT_COMPLETED] = attempt_ended,
	[AR_EV_TASK_ATTEMPT_FAILED] = attempt_ended,
	[AR_EV_MODEL_REQUESTED] = model_requested,
	[AR_EV_MODEL_COMPLETED] = model_completed,
	[AR_EV_MODEL_FAILED] = model_failed,
	[AR_EV_TOOL_STARTED] = tool_started,
	[AR_EV_TOOL_FAILED] = tool_failed,
};

enum ar_status ar_session_apply(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	if (e->sequence != s->head + 1)
		return ar_fail(err, AR_E_CORRUPT, "fact %llu cannot follow %llu", (unsigned long long)e->sequence,
			       (unsigned long long)s->head);
	if (appliers[e->type] && appliers[e->type](s, e, err) != AR_OK)
		return AR_E_CORRUPT;
	s->head = e->sequence;
	s->updated = e->time;
	return AR_OK;
}
