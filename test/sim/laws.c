/* What must hold of any stored log, whatever happened to the processes that wrote it; and of a request
 * to a model. Written from the rules, not from the code: nothing of core/session is used here. */
#include "sim.h"
#include "describe.h"

#define TURNS_MAX 256
#define THREADS_MAX 64
#define HOOKS_MAX 16
#define PROCESSES_MAX 512
#define CHECKPOINTS_MAX 512

struct turn {
	struct ar_str id, thread, run, step;
	struct ar_str model; /* that its route names now */
	unsigned starts, ends, restarts, rounds, routes, fallbacks, uncounted;
	int64_t attempt;
	ar_usec not_before; /* the next attempt */
	bool is_queued, is_interrupted, is_attempt_open, was_cancelled;
	struct ar_str hooks[HOOKS_MAX]; /* runs that are open */
	size_t hook_count;
	unsigned saves; /* checkpoints at its start that ended otherwise than with their process */
	unsigned changes; /* calls that may change files */
	bool is_saved, is_saving, is_end_saved;
};

struct thread {
	struct ar_str id, active;
	struct ar_str queue[TURNS_MAX];
	size_t queued;
};

struct process {
	struct ar_str id, call;
	unsigned ends;
	int64_t seq, inputs; /* newest report on record, newest input */
};

struct watch {
	struct sim *sim;
	const struct sim_log *log;
	size_t at; /* index of the fact in question */
	struct turn turns[TURNS_MAX];
	size_t turn_count;
	struct thread threads[THREADS_MAX];
	size_t thread_count;
	struct process processes[PROCESSES_MAX];
	size_t process_count;
	struct ar_str checkpoints[CHECKPOINTS_MAX]; /* that are open */
	size_t checkpoint_count;
	bool has_workspace;
	bool is_own, is_filling, is_filled, is_merging; /* of a folder of the session's own */
};

static const struct ar_event *now(const struct watch *w)
{
	return &w->log->facts[w->at].e;
}

static const struct ar_event *fact(const struct watch *w, size_t at)
{
	return at < w->log->count ? &w->log->facts[at].e : NULL;
}

static void broken(const struct watch *w, const char *what)
{
	const struct sim_fact *f = &w->log->facts[w->at];

	sim_fail(w->sim, "%s: fact %zu of %.*s: %.*s", what, w->at + 1, AR_SESSION_KEY_LEN,
		 w->log->session_key, AR_STR_ARG(ar_str_utf8_prefix(f->json, 500)));
}

static struct thread *thread_of(struct watch *w)
{
	struct ar_str id = now(w)->ids[AR_SCOPE_THREAD];

	for (size_t i = 0; i < w->thread_count; i++) {
		if (ar_str_eq(w->threads[i].id, id))
			return &w->threads[i];
	}
	if (w->thread_count == THREADS_MAX)
		broken(w, "too many threads for this test");
	w->threads[w->thread_count].id = id;
	return &w->threads[w->thread_count++];
}

static struct turn *turn_of(struct watch *w)
{
	struct ar_str id = now(w)->ids[AR_SCOPE_TURN];

	for (size_t i = 0; i < w->turn_count; i++) {
		if (ar_str_eq(w->turns[i].id, id))
			return &w->turns[i];
	}
	broken(w, "a turn that was never submitted");
	return NULL;
}

/* ---- turns ---- */

static void submitted(struct watch *w)
{
	const struct ar_ev_turn_submitted *p = now(w)->payload;
	struct turn *t = &w->turns[w->turn_count];

	for (size_t i = 0; i < w->turn_count; i++) {
		if (ar_str_eq(w->turns[i].id, now(w)->ids[AR_SCOPE_TURN]))
			broken(w, "one turn is submitted twice");
	}
	if (w->turn_count == TURNS_MAX)
		broken(w, "too many turns for this test");
	w->turn_count++;
	w->sim->counts->turns++;
	*t = (struct turn){ .id = now(w)->ids[AR_SCOPE_TURN], .thread = now(w)->ids[AR_SCOPE_THREAD] };
	for (size_t i = 0; i < w->sim->submit_count; i++) {
		if (ar_str_starts(p->input_preview, w->sim->submits[i]->text))
			w->sim->submits[i]->facts++;
	}
}

static void started(struct watch *w)
{
	struct turn *t = turn_of(w);
	struct thread *th = thread_of(w);
	const struct ar_event *before = fact(w, w->at - 1);

	if (t->starts++ > 0 || t->ends > 0)
		broken(w, "a turn starts twice");
	if (!ar_str_absent(th->active))
		broken(w, "two turns of one thread are active");
	if (t->is_queued &&
	    (before->type != AR_EV_QUEUE_CHANGED || !ar_str_eq(before->ids[AR_SCOPE_TURN], t->id)))
		broken(w, "a queued turn starts without being dequeued");
	if (!t->is_queued && th->queued > 0)
		broken(w, "a turn overtakes the queue");
	th->active = t->id;
}

/* Attempt, task, turn, then the thread: in this order, with nothing between. */
static void check_end_order(struct watch *w, const struct turn *t)
{
	const struct ar_event *task = fact(w, w->at - 1), *attempt = fact(w, w->at - 2),
			      *next = fact(w, w->at + 1);
	bool is_task_end = task->type == AR_EV_TASK_COMPLETED || task->type == AR_EV_TASK_FAILED ||
			   task->type == AR_EV_TASK_CANCELLED;
	bool is_attempt_end =
		attempt->type == AR_EV_TASK_ATTEMPT_COMPLETED || attempt->type == AR_EV_TASK_ATTEMPT_FAILED;

	if (!is_task_end || !ar_str_eq(task->ids[AR_SCOPE_TURN], t->id))
		broken(w, "a turn ends and its task did not end just before");
	if (t->is_attempt_open)
		broken(w, "a turn ends with an open attempt");
	if (t->starts && is_attempt_end && !ar_str_eq(attempt->ids[AR_SCOPE_TURN], t->id))
		broken(w, "the attempt that ended is of another turn");
	if (!t->starts)
		return;
	if (!next || !ar_str_eq(next->ids[AR_SCOPE_THREAD], t->thread) ||
	    (next->type != AR_EV_THREAD_UPDATED && next->type != AR_EV_QUEUE_CHANGED &&
	     next->type != AR_EV_HISTORY_ROLLBACK_STARTED))
		broken(w, "a turn ends and its thread does not go on");
}

static void ended(struct watch *w)
{
	const struct ar_ev_turn_failed *p = now(w)->payload;
	bool is_good = now(w)->type == AR_EV_TURN_COMPLETED;
	struct turn *t = turn_of(w);
	struct thread *th = thread_of(w);

	if (t->ends++ > 0)
		broken(w, "a turn ends twice");
	if (!ar_str_absent(t->step))
		broken(w, "a turn ends with an open model call");
	t->was_cancelled = !is_good && p->status == AR_TURN_FAILED_STATUS_CANCELLED;
	if (t->hook_count > 0)
		broken(w, "a turn ends while a hook runs");
	if (t->is_saving)
		broken(w, "a turn ends while its first checkpoint is made");
	if (is_good && t->is_saved && !t->is_end_saved)
		broken(w, "a turn completes and the state of its files at the end is not kept");
	if (t->is_interrupted && !t->was_cancelled)
		broken(w, "an interrupted turn ends otherwise than cancelled");
	if (ar_str_eq(th->active, t->id))
		th->active = AR_STR_NONE;
	else if (is_good || t->starts)
		broken(w, "a turn ends that was not active");
	check_end_order(w, t);
	w->sim->counts->completed += is_good;
	w->sim->counts->cancelled += t->was_cancelled;
	w->sim->counts->failed += !is_good && !t->was_cancelled;
}

/* ---- the queue ---- */

static size_t read_order(struct watch *w, struct ar_str *ret)
{
	const struct ar_ev_queue_changed *p = now(w)->payload;
	size_t n = 0;

	for (; n < p->order.count && n < TURNS_MAX; n++)
		ret[n] = sim_keep(w->sim, p->order.at[n]);
	return n;
}

static bool is_in(const struct ar_str *list, size_t n, struct ar_str id)
{
	for (size_t i = 0; i < n; i++) {
		if (ar_str_eq(list[i], id))
			return true;
	}
	return false;
}

/* Whether `a` without `id` is `b` without `id`, in the same order. */
static bool same_but(const struct ar_str *a, size_t na, const struct ar_str *b, size_t nb, struct ar_str id)
{
	size_t i = 0, k = 0;

	for (;;) {
		while (i < na && ar_str_eq(a[i], id))
			i++;
		while (k < nb && ar_str_eq(b[k], id))
			k++;
		if (i == na || k == nb)
			return i == na && k == nb;
		if (!ar_str_eq(a[i++], b[k++]))
			return false;
	}
}

static void queue_changed(struct watch *w)
{
	const struct ar_ev_queue_changed *p = now(w)->payload;
	struct thread *th = thread_of(w);
	struct turn *t = turn_of(w);
	struct ar_str order[TURNS_MAX] = { { 0 } };
	size_t n = read_order(w, order);
	bool was_in = is_in(th->queue, th->queued, t->id), is_there = is_in(order, n, t->id);

	if (!same_but(th->queue, th->queued, order, n, t->id))
		broken(w, "the queue changes for others too");
	switch (p->change) {
	case AR_QUEUE_CHANGED_CHANGE_ENQUEUED:
		if (was_in || n == 0 || !ar_str_eq(order[n - 1], t->id))
			broken(w, "a turn is not queued last");
		break;
	case AR_QUEUE_CHANGED_CHANGE_DEQUEUED:
		if (is_there || th->queued == 0 || !ar_str_eq(th->queue[0], t->id))
			broken(w, "another turn than the first leaves the queue");
		break;
	case AR_QUEUE_CHANGED_CHANGE_PROMOTED:
		if (!was_in || !is_there)
			broken(w, "a promoted turn was not queued");
		break;
	default:
		if (!was_in || is_there)
			broken(w, "a removed turn was not queued");
	}
	for (size_t i = 0; i < n; i++)
		th->queue[i] = order[i];
	th->queued = n;
	t->is_queued = true;
}

/* ---- attempts and model calls ---- */

static void attempt_started(struct watch *w)
{
	const struct ar_ev_task_attempt_started *p = now(w)->payload;
	struct turn *t = turn_of(w);

	if (t->is_attempt_open)
		broken(w, "two attempts of one turn are open");
	t->is_attempt_open = true;
	t->attempt = 0;
	t->not_before = 0;
	t->restarts += p->trigger == AR_TASK_ATTEMPT_STARTED_TRIGGER_RESUME_AFTER_CRASH && !p->is_bystander.v;
}

static void attempt_ended(struct watch *w)
{
	struct turn *t = turn_of(w);

	if (!t->is_attempt_open)
		broken(w, "an attempt ends that was not open");
	t->is_attempt_open = false;
}

static void model_requested(struct watch *w)
{
	const struct ar_ev_model_requested *p = now(w)->payload;
	struct turn *t = turn_of(w);

	if (!ar_str_eq(thread_of(w)->active, t->id) || !ar_str_absent(t->step))
		broken(w, "a model is asked for a turn that does not wait for one");
	if (p->attempt != t->attempt + 1 || p->attempt > w->sim->policy.max_attempts)
		broken(w, "the attempt is not the next, or one too many");
	if (t->hook_count > 0)
		broken(w, "a model is asked while a hook of its turn runs");
	if (now(w)->time < t->not_before)
		broken(w, "an attempt comes before its wait is over");
	if (t->is_interrupted)
		broken(w, "a model is asked for an interrupted turn");
	if (!ar_str_eq(p->model, t->model))
		broken(w, "a model is asked that no route names");
	t->attempt = p->attempt;
	t->step = now(w)->ids[AR_SCOPE_STEP];
}

/* What is stored of a step is what the model said: all of it, or after a crash what had been saved. */
static void check_content(struct watch *w)
{
	const struct ar_ev_model_completed *good = now(w)->payload;
	const struct ar_ev_model_failed *bad = now(w)->payload;
	bool is_good = now(w)->type == AR_EV_MODEL_COMPLETED;
	struct ar_str step = now(w)->ids[AR_SCOPE_STEP];
	struct ar_str said = sim_said(w->sim, step, AR_OUT_TEXT, 0);
	struct ar_str stored = sim_content(w->sim, is_good ? good->output_ref : bad->output_ref);

	if (!is_good && bad->outcome == AR_MODEL_FAILED_OUTCOME_INTERRUPTED) {
		if (!ar_str_starts(said, stored))
			broken(w, "what was saved of a model call is not what it said");
		return;
	}
	if (said.len != stored.len || !ar_str_starts(said, stored))
		broken(w, "what is stored of a model call is not what it said");
}

static void check_saved(struct watch *w)
{
	const struct ar_ev_model_failed *p = now(w)->payload;
	const struct sim_saved *saved = ar_map_get(&w->sim->saved, now(w)->ids[AR_SCOPE_STEP]);
	int64_t len, sum = 0;
	struct ar_json v;

	if (now(w)->type != AR_EV_MODEL_FAILED || p->outcome != AR_MODEL_FAILED_OUTCOME_INTERRUPTED)
		return;
	if (!ar_str_absent(p->segments) && ar_json_parse(w->sim->json, p->segments, &v, NULL) == AR_OK) {
		for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it); sum += len) {
			len = 0;
			ar_json_i64(ar_json_at(it.value, 2), &len);
		}
	}
	if (sum != (saved ? (int64_t)saved->len : 0))
		broken(w, "a crash lost output that was saved");
}

static void model_ended(struct watch *w)
{
	const struct ar_ev_model_failed *p = now(w)->payload;
	struct turn *t = turn_of(w);

	check_content(w);
	check_saved(w);

	if (!ar_str_eq(t->step, now(w)->ids[AR_SCOPE_STEP]))
		broken(w, "a model call ends that was not open");
	t->step = AR_STR_NONE;
	t->uncounted = 1;
	if (now(w)->type == AR_EV_MODEL_COMPLETED) {
		t->attempt = 0;
		t->not_before = 0;
		if (++t->rounds > (unsigned)w->sim->policy.max_rounds)
			broken(w, "too many rounds");
		return;
	}
	t->not_before = now(w)->time + (w->sim->policy.backoff_ms << (t->attempt - 1)) * 1000;
	if (p->retry_after_ms.set && now(w)->time + p->retry_after_ms.v * 1000 > t->not_before)
		t->not_before = now(w)->time + p->retry_after_ms.v * 1000;
}

/* ---- routes and costs ---- */

static void routed(struct watch *w)
{
	const struct ar_ev_routing_decided *p = now(w)->payload;
	const struct ar_ev_routing_single_candidate *single = now(w)->payload;
	struct turn *t = turn_of(w);

	/* That there is but one may be said before why it is not the one that was asked for. */
	if (++t->routes > 1 && fact(w, w->at - 1)->type != AR_EV_ROUTING_SINGLE_CANDIDATE)
		broken(w, "the route of a turn is decided twice");
	t->model = now(w)->type == AR_EV_ROUTING_DECIDED ? p->selected_model : single->selected_model;
}

static void fell_back(struct watch *w)
{
	const struct ar_ev_routing_fallback_applied *p = now(w)->payload;
	struct turn *t = turn_of(w);
	struct ar_str to = p->to->model;

	if (!w->sim->policy.may_fall_back || ++t->fallbacks >= w->sim->policy.model_count)
		broken(w, "another model steps in that may not");
	if (ar_str_eq(to, t->model) || ar_str_is(to, "sim-3"))
		broken(w, "a model steps in for itself, or one without a key");
	t->model = sim_keep(w->sim, to);
	t->attempt = 0;
	t->not_before = 0;
}

static void cost_recorded(struct watch *w)
{
	const struct ar_event *before = fact(w, w->at - 1);

	if (turn_of(w)->uncounted-- == 0 ||
	    !ar_str_eq(before->ids[AR_SCOPE_TURN], now(w)->ids[AR_SCOPE_TURN]))
		broken(w, "a cost without a call");
}

static void thread_updated(struct watch *w)
{
	const struct ar_ev_thread_updated *p = now(w)->payload;
	struct thread *th = thread_of(w);
	struct turn *t = ar_str_absent(now(w)->ids[AR_SCOPE_TURN]) ? NULL : turn_of(w);

	if (t && ar_str_is(p->reason, AR_REASON_INTERRUPT))
		t->is_interrupted = true;
	if (t && ar_str_is(p->reason, AR_REASON_RESUMED))
		t->restarts = 0;
	if (t && t->restarts > (unsigned)w->sim->policy.max_restarts)
		broken(w, "a turn is restarted too often");
	if (p->status == AR_THREAD_STATUS_IDLE && (th->queued > 0 || !ar_str_absent(th->active)))
		broken(w, "a thread rests with work to do");
}

/* ---- hooks ---- */

static void hook_started(struct watch *w)
{
	struct turn *t = turn_of(w);

	if (t->ends > 0 || !ar_str_eq(thread_of(w)->active, t->id) || !ar_str_absent(t->step))
		broken(w, "a hook is asked for a turn that does not run, or while its model is");
	if (t->hook_count == HOOKS_MAX)
		broken(w, "too many hooks at once for this test");
	t->hooks[t->hook_count++] = now(w)->event_id;
}

static void hook_ended(struct watch *w)
{
	const struct ar_ev_hook_completed *good = now(w)->payload;
	const struct ar_ev_hook_failed *bad = now(w)->payload;
	struct ar_str run = now(w)->type == AR_EV_HOOK_COMPLETED ? good->hook_run_ref : bad->hook_run_ref;
	struct turn *t = turn_of(w);

	for (size_t i = 0; i < t->hook_count; i++) {
		if (!ar_str_eq(t->hooks[i], run))
			continue;
		t->hooks[i] = t->hooks[--t->hook_count];
		return;
	}
	broken(w, "a hook ends that did not run");
}

/* ---- processes ---- */

static struct process *process_of(struct watch *w)
{
	for (size_t i = 0; i < w->process_count; i++) {
		if (ar_str_eq(w->processes[i].id, now(w)->ids[AR_SCOPE_PROCESS]))
			return &w->processes[i];
	}
	return NULL;
}

static void process_started(struct watch *w)
{
	const struct ar_ev_process_started *p = now(w)->payload;
	const struct ar_event *before = fact(w, w->at - 1);

	if (process_of(w))
		broken(w, "a process starts twice");
	if (before->type != AR_EV_SANDBOX_APPLIED || !ar_str_eq(before->event_id, p->sandbox_ref))
		broken(w, "a process starts without its boundary");
	if (w->process_count == PROCESSES_MAX)
		broken(w, "too many processes for this test");
	w->processes[w->process_count++] = (struct process){ .id = now(w)->ids[AR_SCOPE_PROCESS],
							     .call = now(w)->ids[AR_SCOPE_TOOL_CALL] };
	if (turn_of(w)->ends > 0)
		broken(w, "a process starts after its turn");
}

/* All that it wrote is kept, by stream. */
static void check_kept(struct watch *w, struct ar_shape_process_output_list outputs)
{
	static const char *const names[] = { "", "stdout", "stderr", "pty" };
	struct ar_str rest[4];

	for (int i = 1; i <= AR_PROC_TTY; i++)
		rest[i] = sim_wrote(w->sim, now(w)->ids[AR_SCOPE_PROCESS], i);
	for (size_t n = 0; n < outputs.count; n++) {
		struct ar_str bytes = sim_content(w->sim, outputs.at[n].ref);
		int i = 1;

		while (i < AR_PROC_TTY && !ar_str_is(outputs.at[n].stream, names[i]))
			i++;
		if (!ar_str_starts(rest[i], bytes))
			broken(w, "what was kept of a process is not what it wrote");
		rest[i] = ar_str_sub(rest[i], bytes.len, SIZE_MAX);
	}
	for (int i = 1; i <= AR_PROC_TTY; i++) {
		if (rest[i].len > 0)
			broken(w, "not all that a process wrote was kept");
	}
}

static void process_ended(struct watch *w)
{
	const struct ar_ev_process_completed *good = now(w)->payload;
	const struct ar_ev_process_failed *bad = now(w)->payload;
	const struct ar_ev_process_terminated *stopped = now(w)->payload;
	struct process *p = process_of(w);

	if (!p || p->ends++ > 0)
		broken(w, "a process ends that does not run");
	check_kept(w, now(w)->type == AR_EV_PROCESS_COMPLETED ? good->outputs
		      : now(w)->type == AR_EV_PROCESS_FAILED  ? bad->outputs
							      : stopped->outputs);
}

static void repaired(struct watch *w)
{
	struct process *p = process_of(w);

	if (ar_str_absent(now(w)->ids[AR_SCOPE_PROCESS]))
		return;
	if (!p || p->ends++ > 0 || !sim_is_out_of_reach(w->sim, p->id))
		broken(w, "a process is unavailable that is there");
}

/* What a process reports is told once, in the order it came. */
static void violated(struct watch *w)
{
	const struct ar_ev_sandbox_violation *v = now(w)->payload;
	struct process *p = process_of(w);

	if (!p || p->ends > 0)
		broken(w, "something is told of a process that does not run");
	if (v->record_seq.v <= p->seq)
		broken(w, "a violation is told twice");
	p->seq = v->record_seq.v;
}

static void written(struct watch *w)
{
	const struct ar_ev_process_input *in = now(w)->payload;
	struct process *p = process_of(w);

	if (!p || p->ends > 0 || in->number.v != ++p->inputs)
		broken(w, "something is written to a process that does not run, or out of turn");
}

/* ---- checkpoints ---- */

static void bound(struct watch *w)
{
	w->has_workspace = true;
	w->is_own = !ar_str_absent(((const struct ar_ev_workspace_bound *)now(w)->payload)->binding->origin);
}

/* ---- a folder of its own ---- */

static void filling(struct watch *w)
{
	if (!w->is_own || w->is_filling || w->is_filled)
		broken(w, "a folder is filled that is none of its own, or a second time");
	w->is_filling = true;
}

static void filled(struct watch *w)
{
	if (!w->is_filling)
		broken(w, "a folder is filled without an intent");
	w->is_filling = false;
	w->is_filled = true;
}

static void merging(struct watch *w)
{
	for (size_t i = 0; i < w->thread_count; i++) {
		if (!ar_str_absent(w->threads[i].active))
			broken(w, "files are merged while a turn runs");
	}
	if (!w->is_filled || w->is_merging)
		broken(w, "what is merged is not there, or is merged already");
	w->is_merging = true;
}

static void merged(struct watch *w)
{
	if (!w->is_merging)
		broken(w, "a merge ends that did not begin");
	w->is_merging = false;
}

static void not_done(struct watch *w)
{
	const struct ar_ev_workspace_failed *p = now(w)->payload;

	if (p->phase == AR_WORKSPACE_FAILED_PHASE_PREPARE)
		w->is_filling = false;
	else
		w->is_merging = false; /* or its question was cancelled */
}

static void open_checkpoint(struct watch *w, struct ar_str id)
{
	if (!w->has_workspace || w->sim->policy.checkpoints == 0)
		broken(w, "a checkpoint where there is none to be");
	if (w->checkpoint_count == CHECKPOINTS_MAX)
		broken(w, "too many checkpoints for this test");
	w->checkpoints[w->checkpoint_count++] = id;
}

static void close_checkpoint(struct watch *w, struct ar_str id)
{
	for (size_t i = 0; i < w->checkpoint_count; i++) {
		if (!ar_str_eq(w->checkpoints[i], id))
			continue;
		w->checkpoints[i] = w->checkpoints[--w->checkpoint_count];
		return;
	}
	broken(w, "a checkpoint ends that is not open");
}

static void checkpoint_started(struct watch *w)
{
	const struct ar_ev_checkpoint_started *p = now(w)->payload;
	struct turn *t = turn_of(w);

	open_checkpoint(w, p->checkpoint_id);
	if (p->phase == AR_CHECKPOINT_STARTED_PHASE_END) {
		if (!t->is_saved)
			broken(w, "the end of a turn is kept whose start is not");
		return;
	}
	if (t->ends || t->is_saving || t->saves > 0 || t->changes > 0)
		broken(w, "the start of a turn is kept twice or too late");
	t->is_saving = true;
}

static void checkpoint_ended(struct watch *w)
{
	const struct ar_ev_checkpoint_created *good = now(w)->payload;
	const struct ar_ev_checkpoint_failed *bad = now(w)->payload;
	bool is_good = now(w)->type == AR_EV_CHECKPOINT_CREATED;
	int phase = is_good ? good->phase : bad->phase;

	close_checkpoint(w, is_good ? good->checkpoint_id : bad->checkpoint_id);
	if (phase == AR_CHECKPOINT_FAILED_PHASE_END)
		turn_of(w)->is_end_saved = is_good || !ar_str_is(bad->category, AR_CATEGORY_INTERRUPTED);
	if (phase != AR_CHECKPOINT_FAILED_PHASE_START)
		return;
	turn_of(w)->is_saving = false;
	turn_of(w)->is_saved = is_good;
	turn_of(w)->saves += is_good || !ar_str_is(bad->category, AR_CATEGORY_INTERRUPTED);
}

static void restoring(struct watch *w)
{
	for (size_t i = 0; i < w->thread_count; i++) {
		if (!ar_str_absent(w->threads[i].active))
			broken(w, "files are restored while a turn runs");
	}
	open_checkpoint(w, ((const struct ar_ev_checkpoint_restoring *)now(w)->payload)->checkpoint_id);
}

static void restored(struct watch *w)
{
	close_checkpoint(w, ((const struct ar_ev_checkpoint_restored *)now(w)->payload)->checkpoint_id);
}

/* ---- calls ---- */

/* No call that may change files begins before the start of its turn is kept, or could not be. */
static void check_saved_first(struct watch *w)
{
	const struct ar_ev_tool_started *p = now(w)->payload;
	struct turn *t = turn_of(w);

	if (!p->runs_process.v || !p->attempt.set || !ar_str_is(p->policy, "allowed"))
		return;
	t->changes++;
	t->is_end_saved = false;
	if (w->is_own && (!w->is_filled || w->is_merging))
		broken(w, "a call begins in a folder that is not ready");
	if (w->has_workspace && w->sim->policy.checkpoints > 0 && (t->is_saving || t->saves == 0))
		broken(w, "a call begins before the checkpoint of its turn");
}

/* What has run is not run again: nobody here may decide that it should. */
static void tool_started(struct watch *w)
{
	const struct ar_ev_tool_started *p = now(w)->payload;

	check_saved_first(w);
	if (!ar_str_absent(p->retry_of) && ar_str_is(p->policy, "allowed") && p->attempt.set &&
	    sim_has_run(w->sim, p->retry_of))
		broken(w, "a call is tried again that has run");
}

static void (*const laws[AR_EV_COUNT])(struct watch *w) = {
	[AR_EV_TURN_SUBMITTED] = submitted,
	[AR_EV_TURN_STARTED] = started,
	[AR_EV_TURN_COMPLETED] = ended,
	[AR_EV_TURN_FAILED] = ended,
	[AR_EV_QUEUE_CHANGED] = queue_changed,
	[AR_EV_TASK_ATTEMPT_STARTED] = attempt_started,
	[AR_EV_TASK_ATTEMPT_COMPLETED] = attempt_ended,
	[AR_EV_TASK_ATTEMPT_FAILED] = attempt_ended,
	[AR_EV_MODEL_REQUESTED] = model_requested,
	[AR_EV_MODEL_COMPLETED] = model_ended,
	[AR_EV_MODEL_FAILED] = model_ended,
	[AR_EV_ROUTING_DECIDED] = routed,
	[AR_EV_ROUTING_SINGLE_CANDIDATE] = routed,
	[AR_EV_ROUTING_FALLBACK_APPLIED] = fell_back,
	[AR_EV_COST_RECORDED] = cost_recorded,
	[AR_EV_HOOK_STARTED] = hook_started,
	[AR_EV_HOOK_COMPLETED] = hook_ended,
	[AR_EV_HOOK_FAILED] = hook_ended,
	[AR_EV_THREAD_UPDATED] = thread_updated,
	[AR_EV_PROCESS_STARTED] = process_started,
	[AR_EV_PROCESS_INPUT] = written,
	[AR_EV_SANDBOX_VIOLATION] = violated,
	[AR_EV_PROCESS_COMPLETED] = process_ended,
	[AR_EV_PROCESS_FAILED] = process_ended,
	[AR_EV_PROCESS_TERMINATED] = process_ended,
	[AR_EV_SNAPSHOT_REPAIRED] = repaired,
	[AR_EV_TOOL_STARTED] = tool_started,
	[AR_EV_WORKSPACE_BOUND] = bound,
	[AR_EV_WORKSPACE_PREPARING] = filling,
	[AR_EV_WORKSPACE_PREPARED] = filled,
	[AR_EV_WORKSPACE_APPLYING] = merging,
	[AR_EV_WORKSPACE_APPLIED] = merged,
	[AR_EV_WORKSPACE_CONFLICTED] = merged,
	[AR_EV_WORKSPACE_FAILED] = not_done,
	[AR_EV_CHECKPOINT_STARTED] = checkpoint_started,
	[AR_EV_CHECKPOINT_CREATED] = checkpoint_ended,
	[AR_EV_CHECKPOINT_FAILED] = checkpoint_ended,
	[AR_EV_CHECKPOINT_RESTORING] = restoring,
	[AR_EV_CHECKPOINT_RESTORED] = restored,
};

void sim_check_log(struct sim *s, const struct sim_log *log)
{
	struct watch *w = ar_new0(sizeof(*w));

	w->sim = s;
	w->log = log;
	for (; w->at < log->count; w->at++) {
		if (laws[now(w)->type])
			laws[now(w)->type](w);
	}
	w->at = log->count - 1;
	for (size_t i = 0; i < w->turn_count; i++) {
		if (w->turns[i].ends != 1)
			sim_fail(s, "turn %.*s has no end", AR_STR_ARG(w->turns[i].id));
	}
	for (size_t i = 0; i < w->process_count; i++) {
		if (w->processes[i].ends != 1)
			sim_fail(s, "process %.*s has no end", AR_STR_ARG(w->processes[i].id));
	}
	if (w->checkpoint_count > 0)
		sim_fail(s, "checkpoint %.*s has no end", AR_STR_ARG(w->checkpoints[0]));
	if (w->is_filling || w->is_merging)
		sim_fail(s, "the files of a session have no end of a fill or a merge");
	ar_free(w);
}
