/* A turn comes in, waits or starts. Also how a thread goes on to its next queued turn. Pure. */
#include "channel/channel.h"
#include "limits/budget.h"
#include "limits/limits.h"
#include "hook/hooks.h"
#include "task/task.h"
#include "tenant.h"

#define TITLE_MAX 60

/* ---- session and thread ---- */

struct birth {
	struct ar_str title, workspace, account, source, metadata;
};

static void create_session(struct ar_decision *d, const struct birth *b)
{
	const struct ar_ids none = { 0 };

	ar_decide_emit(d, AR_EV_SESSION_CREATED, &none,
		       &(struct ar_ev_session_created){
			       .title = ar_str_empty(b->title) ? AR_STR("Untitled") : b->title,
			       .workspace_id = ar_str_absent(b->workspace) ? AR_STR("default") : b->workspace,
			       .account_ref = ar_str_absent(b->account) ? d->input->account : b->account,
			       .created_at = d->input->now,
			       .tenant = ar_tenant_told(d->input->tenant),
			       .source = ar_str_absent(b->source) ? AR_STR("api") : b->source,
			       .metadata = b->metadata,
		       });
}

static struct ar_thread *start_thread(struct ar_decision *d)
{
	struct ar_thread *t = ar_arena_alloc(d->arena, sizeof(*t));
	struct ar_ids ids;

	t->id = ar_decide_mint(d, "thread", &d->counters.thread);
	t->status = AR_THREAD_STATUS_IDLE;
	ids = ar_ids_thread(t);
	ar_decide_emit(d, AR_EV_THREAD_STARTED, &ids,
		       &(struct ar_ev_thread_started){ .reason = AR_THREAD_STARTED_REASON_NEW,
						       .status = AR_THREAD_STATUS_IDLE });
	return t;
}

static enum ar_status check_tenant(const struct ar_decision *d, struct ar_error *err)
{
	if (ar_decide_is_admitted(d))
		return AR_OK;
	return ar_refuse(
		err, AR_ERR_POLICY_DENIED,
		"the workspace of this server (tools.workspace) belongs to the tenant %s; ask the operator "
		"for a server without a workspace, or to set tools.workspace_shared_by_tenants, which lets "
		"every tenant read and write the same files",
		AR_TENANT_LOCAL);
}

enum ar_status ar_decide_create_session(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_create_session_in *in = d->input->args;
	const struct ar_thread *t;

	if (d->session->head > 0)
		return ar_refuse(err, AR_ERR_ID_CONFLICT, "session %.*s exists already",
				 AR_STR_ARG(d->session->id));
	if (check_tenant(d, err) != AR_OK)
		return AR_E_REFUSED;
	create_session(d, &(struct birth){ in->title, in->workspace_id, in->account_ref, in->source,
					   in->metadata });
	t = start_thread(d);
	ar_decide_reply(d, AR_CMD_CREATE_SESSION,
			&(struct ar_cmd_create_session_out){ .session_id = d->session->id,
							     .thread_id = t->id,
							     .sequence =
								     AR_OPT_INT((int64_t)d->event_count) });
	return AR_OK;
}

/* ---- drafts ---- */

struct ar_draft ar_draft_of(struct ar_decision *d, const struct ar_thread *t)
{
	struct ar_draft w = {
		.d = d,
		.thread = t,
		.kept = t->context.count,
		.boundary = ar_thread_boundary(t, INT64_MAX),
		.sent = (size_t)t->sent,
		.anchor = t->anchor.v,
		.anchor_at = t->anchor_at.v,
		.budget = d->session->budget,
		.base = t->request_ref,
	};

	for (size_t i = 0; i < t->queue.count; i++)
		ar_vec_push(d->arena, &w.queue, t->queue.at[i]);
	return w;
}

void ar_draft_status(struct ar_draft *w, int status, const char *reason, const char *detail,
		     const struct ar_turn *turn)
{
	struct ar_ids ids = turn ? ar_ids_turn(w->d, turn) : ar_ids_thread(w->thread);

	ar_decide_emit(w->d, AR_EV_THREAD_UPDATED, &ids,
		       &(struct ar_ev_thread_updated){ .status = status,
						       .reason = ar_str_from(reason),
						       .status_detail = ar_str_from(detail),
						       .active_turn_id = turn ? turn->id : AR_STR_NONE });
}

struct ar_str ar_draft_order(struct ar_draft *w)
{
	struct ar_jw j = ar_decide_json(w->d);

	ar_jw_open_array(&j);
	for (size_t i = 0; i < w->queue.count; i++)
		ar_jw_str(&j, ((const struct ar_turn *)w->queue.at[i])->id);
	ar_jw_close_array(&j);
	return ar_decide_json_end(w->d);
}

void ar_draft_queue_changed(struct ar_draft *w, int change, const struct ar_turn *turn)
{
	struct ar_ids ids = ar_ids_thread(w->thread);

	if (turn)
		ids.at[AR_SCOPE_TURN] = turn->id;
	ids.at[AR_SCOPE_QUEUE] = ar_arena_fmt(w->d->arena, "queue_%.*s", AR_STR_ARG(w->thread->id));
	ar_decide_emit(w->d, AR_EV_QUEUE_CHANGED, &ids,
		       &(struct ar_ev_queue_changed){
			       .change = change,
			       .queued_turn_id = turn ? turn->id : AR_STR_NONE,
			       .order = ar_draft_order(w),
			       .source = turn && !ar_str_absent(turn->source) ? turn->source
									      : AR_STR("runtime"),
			       .policy = AR_STR("{\"busy\":\"queue\",\"order\":\"fifo\"}"),
			       .resume_state = AR_STR("automatic"),
		       });
}

void ar_draft_next(struct ar_draft *w)
{
	struct ar_turn *next;

	if (w->queue.count == 0) {
		ar_draft_status(w, AR_THREAD_STATUS_IDLE, "turn_ended", NULL, NULL);
		return;
	}
	next = w->queue.at[0];
	ar_vec_remove(&w->queue, 0);
	ar_draft_queue_changed(w, AR_QUEUE_CHANGED_CHANGE_DEQUEUED, next);
	ar_draft_start(w, next);
}

/* ---- starting ---- */

/* What a turn runs with, so that it can be explained and repeated. */
static struct ar_str input_snapshot(struct ar_decision *d, const struct ar_turn *turn)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "inputRef", turn->input_ref);
	ar_jw_mstr(&w, "workspaceId", d->session->workspace);
	ar_jw_mraw(&w, "options", turn->options);
	ar_jw_close(&w);
	return ar_decide_content(d, ar_decide_json_end(d));
}

static struct ar_str retry_policy(struct ar_decision *d)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mint(&w, "maxAttempts", d->input->policy->max_attempts);
	ar_jw_mint(&w, "backoffMs", d->input->policy->backoff_ms);
	ar_jw_mint(&w, "maxRestarts", d->input->policy->max_restarts);
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

void ar_draft_attempt(struct ar_draft *w, struct ar_turn *turn, int trigger)
{
	struct ar_decision *d = w->d;
	bool is_bystander = d->input->kind == AR_IN_RECOVER && d->input->is_bystander;
	struct ar_ids ids;

	turn->run = ar_decide_mint(d, "run", &d->counters.run);
	ids = ar_ids_turn(d, turn);
	ar_decide_emit(d, AR_EV_TASK_ATTEMPT_STARTED, &ids,
		       &(struct ar_ev_task_attempt_started){
			       .attempt_count = ++turn->task->attempts,
			       .worker = AR_STR("{\"kind\":\"runtime\"}"),
			       .input_refs =
				       ar_arena_fmt(d->arena, "[\"%.*s\"]", AR_STR_ARG(turn->input_ref)),
			       .trigger = trigger,
			       .retry_policy = retry_policy(d),
			       .is_bystander = { is_bystander, is_bystander },
		       });
}

void ar_draft_start(struct ar_draft *w, struct ar_turn *turn)
{
	struct ar_decision *d = w->d;
	struct ar_str environment = ar_turn_environment(d, turn);
	struct ar_context_entry *entry = ar_arena_alloc(d->arena, sizeof(*entry));
	struct ar_ids ids = ar_ids_turn(d, turn);

	ar_decide_emit(d, AR_EV_TURN_STARTED, &ids,
		       &(struct ar_ev_turn_started){ .started_at = d->input->now,
						     .input_snapshot_ref = input_snapshot(d, turn),
						     .execution_environment_ref = environment,
						     .task_id = turn->task->id });
	turn = ar_draft_own(w, turn);
	ar_draft_attempt(w, turn, AR_TASK_ATTEMPT_STARTED_TRIGGER_START);
	ids = ar_ids_turn(d, turn);
	ar_decide_emit(d, AR_EV_TASK_STARTED, &ids,
		       &(struct ar_ev_task_started){ .run_id = turn->run,
						     .worker = AR_STR("{\"kind\":\"runtime\"}"),
						     .thread_id = turn->thread,
						     .environment_ref = environment });
	ar_budget_start_clock(w, turn, d->input->now);
	ar_draft_status(w, AR_THREAD_STATUS_RUNNING, "turn_started", "preparing", turn);
	*entry = (struct ar_context_entry){ .role = AR_CONTEXT_USER,
					    .ref = turn->input_ref,
					    .bytes = turn->input_bytes };
	if (!ar_turn_is_system(turn))
		ar_vec_push(d->arena, &w->context, entry);
	ar_draft_begin(w, turn);
}

/* ---- submitting ---- */

struct ar_turn *ar_draft_own(struct ar_draft *w, const struct ar_turn *turn)
{
	struct ar_turn *copy = ar_arena_alloc(w->d->arena, sizeof(*copy));
	struct ar_task *task = ar_arena_alloc(w->d->arena, sizeof(*task));

	*copy = *turn;
	*task = *turn->task;
	copy->task = task;
	copy->calls = (struct ar_vec){ 0 };
	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = ar_arena_alloc(w->d->arena, sizeof(*call));

		*call = *(const struct ar_invocation *)turn->calls.at[i];
		ar_vec_push(w->d->arena, &copy->calls, call);
	}
	copy->hooks = (struct ar_vec){ 0 };
	for (size_t i = 0; i < turn->hooks.count; i++) {
		struct ar_hook_chain *chain = ar_arena_alloc(w->d->arena, sizeof(*chain));

		*chain = *(const struct ar_hook_chain *)turn->hooks.at[i];
		ar_vec_push(w->d->arena, &copy->hooks, chain);
	}
	return copy;
}

struct ar_turn *ar_draft_turn(struct ar_draft *w, const struct ar_cmd_submit_turn_in *in,
			      const struct ar_turn_input *input)
{
	struct ar_decision *d = w->d;
	struct ar_turn *turn = ar_arena_alloc(d->arena, sizeof(*turn));

	turn->id = ar_str_absent(in->turn_id) ? ar_decide_mint(d, "turn", &d->counters.turn) : in->turn_id;
	turn->thread = w->thread->id;
	turn->task = ar_arena_alloc(d->arena, sizeof(*turn->task));
	turn->task->id = ar_decide_mint(d, "task", &d->counters.task);
	turn->source = ar_str_absent(in->source) ? AR_STR("api") : in->source;
	turn->input_ref = ar_decide_content(d, input->parts);
	turn->input_bytes = (int64_t)input->parts.len;
	turn->input_preview = input->preview;
	turn->has_images.v = turn->has_images.set = input->has_images;
	turn->options = ar_str_absent(in->options) ? AR_STR("{}") : in->options;
	return turn;
}

/* Each turn has a task; this one is the runtime's own and hidden from lists by default. */
static void create_task(struct ar_decision *d, const struct ar_turn *turn)
{
	struct ar_ids ids = ar_ids_turn(d, turn);
	struct ar_jw w = ar_decide_json(d);
	struct ar_str scope;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", d->session->id);
	ar_jw_mstr(&w, "threadId", turn->thread);
	ar_jw_mstr(&w, "turnId", turn->id);
	ar_jw_close(&w);
	scope = ar_decide_json_end(d);
	ids.at[AR_SCOPE_PARENT_TASK] = turn->task->parent;
	ids.at[AR_SCOPE_ROOT_TASK] = turn->task->root;
	ar_decide_emit(d, AR_EV_TASK_CREATED, &ids,
		       &(struct ar_ev_task_created){
			       .objective = ar_str_empty(turn->input_preview) ? AR_STR("(no text)")
									      : turn->input_preview,
			       .task_kind = ar_turn_is_system(turn) ? AR_STR("system") : AR_STR("chat"),
			       .visibility = AR_TASK_VISIBILITY_INTERNAL,
			       .scope = scope,
			       .constraints = AR_STR("{}"),
			       .task_profile = AR_STR("{}"),
		       });
	ar_decide_emit(d, AR_EV_TASK_ACCEPTED, &ids,
		       &(struct ar_ev_task_accepted){ .owner = AR_STR("{\"kind\":\"runtime\"}"),
						      .accepted_at = d->input->now });
}

void ar_draft_admit(struct ar_draft *w, const struct ar_turn *turn, const struct ar_cmd_submit_turn_in *in,
		    bool is_queued)
{
	struct ar_ids ids = ar_ids_turn(w->d, turn);

	ar_decide_emit(w->d, AR_EV_TURN_SUBMITTED, &ids,
		       &(struct ar_ev_turn_submitted){
			       .input_ref = turn->input_ref,
			       .source = turn->source,
			       .status = is_queued ? AR_ADMISSION_QUEUED : AR_ADMISSION_ACCEPTED,
			       .options = turn->options,
			       .attachments = in->attachments,
			       .queued_turn_id = is_queued ? turn->id : AR_STR_NONE,
			       .position = { (int64_t)w->queue.count + 1, is_queued },
			       .idempotency_key = in->idempotency_key,
			       .input_preview = turn->input_preview,
			       .input_bytes = AR_OPT_INT(turn->input_bytes),
			       .input_kinds = turn->has_images.v ? AR_STR("[\"image\"]") : AR_STR_NONE,
			       .metadata = in->metadata,
			       .submitted_by = turn->people,
		       });
	create_task(w->d, turn);
}

static void enqueue(struct ar_draft *w, struct ar_turn *turn)
{
	struct ar_ids ids = ar_ids_turn(w->d, turn);

	ar_vec_push(w->d->arena, &w->queue, turn);
	ar_decide_emit(w->d, AR_EV_TASK_QUEUED, &ids,
		       &(struct ar_ev_task_queued){ .queue_reason = AR_TASK_QUEUED_QUEUE_REASON_QUEUE,
						    .position = AR_OPT_INT((int64_t)w->queue.count) });
	ar_draft_queue_changed(w, AR_QUEUE_CHANGED_CHANGE_ENQUEUED, turn);
}

static int busy_policy(const struct ar_decision *d, const struct ar_cmd_submit_turn_in *in)
{
	if (in->busy_policy)
		return in->busy_policy;
	return d->input->policy->queue_by_default ? AR_SUBMIT_TURN_BUSY_POLICY_QUEUE
						  : AR_SUBMIT_TURN_BUSY_POLICY_REJECT;
}

static enum ar_status check_busy(const struct ar_decision *d, int policy, const struct ar_thread *t,
				 struct ar_error *err)
{
	if (policy == AR_SUBMIT_TURN_BUSY_POLICY_REJECT)
		return ar_refuse(err, AR_ERR_THREAD_BUSY_REJECTED,
				 "thread %.*s runs turn %.*s and busyPolicy is reject; retry later or send "
				 "busyPolicy queue",
				 AR_STR_ARG(t->id), AR_STR_ARG(t->active_turn));
	if ((int64_t)t->queue.count >= d->input->policy->queue_max)
		return ar_refuse(err, AR_ERR_OVERLOADED,
				 "%zu turns wait already; queue.max_turns allows no more", t->queue.count);
	return AR_OK;
}

/* With rollback the running turn also leaves the conversation, as if it had never been. */
static void stop_active(struct ar_draft *w, bool is_rollback)
{
	struct ar_turn *active = ar_thread_active(w->thread);
	struct ar_str reason = AR_STR("a new turn takes its place");

	if (!active)
		return;
	active = ar_draft_own(w, active);
	if (is_rollback && !active->unwanted.v) {
		active->unwanted = AR_OPT_BOOL(true);
		active->interrupt_reason = active->is_interrupted ? active->interrupt_reason : reason;
		if (active->is_interrupted)
			ar_draft_say_interrupting(w, active, active->interrupt_reason);
	}
	if (!active->is_interrupted)
		ar_draft_interrupt(w, active, reason);
}

/* The turn waits only for the end of the one it interrupts: it goes before all that wait already. */
static void take_over(struct ar_draft *w, struct ar_turn *turn, bool is_rollback)
{
	if (w->queue.count > 1) {
		w->queue.count--;
		ar_vec_insert(w->d->arena, &w->queue, 0, turn);
		ar_draft_queue_changed(w, AR_QUEUE_CHANGED_CHANGE_PROMOTED, turn);
	}
	stop_active(w, is_rollback);
}

static bool wants_new_thread(const struct ar_decision *d, const struct ar_cmd_submit_turn_in *in)
{
	struct ar_str word = AR_STR_NONE;
	struct ar_json policy;

	if (ar_str_absent(in->create_policy) ||
	    ar_json_parse(d->session->json, in->create_policy, &policy, NULL) != AR_OK)
		return false;
	return ar_json_str(ar_json_get(policy, "thread"), &word) && ar_str_is(word, "new");
}

static enum ar_status choose_thread(struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
				    const struct ar_thread **ret, struct ar_error *err)
{
	const struct ar_session *s = d->session;

	if (s->head == 0 || wants_new_thread(d, in)) {
		if (!ar_str_absent(in->thread_id))
			return ar_refuse(err, AR_ERR_THREAD_NOT_FOUND,
					 "a new thread gets its id from the runtime");
		*ret = start_thread(d);
		return AR_OK;
	}
	*ret = ar_str_absent(in->thread_id) ? s->threads.at[0] : ar_session_thread(s, in->thread_id);
	if (!*ret)
		return ar_refuse(err, AR_ERR_THREAD_NOT_FOUND, "session %.*s has no thread %.*s",
				 AR_STR_ARG(s->id), AR_STR_ARG(in->thread_id));
	return AR_OK;
}

/* A repeat is answered with its receipt, before or after this; what is left is another turn under a known id. */
static enum ar_status check_new(const struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
				struct ar_error *err)
{
	struct ar_thread *t;

	if (ar_str_absent(in->turn_id) || !ar_session_turn(d->session, in->turn_id, &t))
		return AR_OK;
	return ar_refuse(err, AR_ERR_ID_CONFLICT, "turn %.*s exists already; choose another turnId",
			 AR_STR_ARG(in->turn_id));
}

/* A turn may tighten what the host lets run. */
static enum ar_status check_mode(const struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
				 struct ar_error *err)
{
	struct ar_json options;
	struct ar_str mode;

	if (ar_str_absent(in->options) ||
	    ar_json_parse(d->session->json, in->options, &options, NULL) != AR_OK ||
	    !ar_json_str(ar_json_get(options, "mode"), &mode))
		return AR_OK;
	return ar_mode_check(d, mode, AR_ERR_INVALID_INPUT, err);
}

static struct ar_str member(struct ar_decision *d, struct ar_json object, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &text);
	return ar_arena_str(d->arena, text);
}

static void create_from_policy(struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
			       struct ar_str preview)
{
	struct ar_json policy = { 0 };
	struct birth b = { .source = in->source };

	if (!ar_str_absent(in->create_policy) &&
	    ar_json_parse(d->session->json, in->create_policy, &policy, NULL) == AR_OK) {
		b.title = member(d, policy, "title");
		b.workspace = member(d, policy, "workspaceId");
		b.account = member(d, policy, "accountRef");
	}
	if (ar_str_absent(b.title))
		b.title = ar_str_utf8_prefix(preview, TITLE_MAX);
	create_session(d, &b);
}

/* What the turn is to be, before anything of it is said. */
static enum ar_status check_turn(struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
				 struct ar_turn_input *ret, struct ar_error *err)
{
	if (!ar_str_absent(in->channel_id) && !ar_session_channel(d->session, in->channel_id))
		return ar_refuse(err, AR_ERR_CHANNEL_NOT_FOUND,
				 "no channel '%.*s' follows this session; connect it first, or leave it out",
				 AR_STR_ARG(ar_str_utf8_prefix(in->channel_id, 64)));
	if (ar_str_is(in->source, AR_SOURCE_SYSTEM))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "source %s is the runtime's own; name another or none", AR_SOURCE_SYSTEM);
	if (check_tenant(d, err) != AR_OK || ar_decide_input(d, in->input, in->text, ret, err) != AR_OK ||
	    ar_offers_check(d, in->options, err) != AR_OK || check_new(d, in, err) != AR_OK ||
	    check_mode(d, in, err) != AR_OK || ar_profile_check(d, in->options, err) != AR_OK ||
	    ar_budget_check(d, in->options, err) != AR_OK || ar_route_check(d, in->options, err) != AR_OK)
		return AR_E_REFUSED;
	return AR_OK;
}

/* Of a task from before that was on record, nobody knows who gave it. */
static struct ar_str people_of(struct ar_decision *d, const struct ar_task *task)
{
	struct ar_str people = task ? task->sheet->people : AR_STR_NONE;

	if (task && ar_str_absent(people))
		people = AR_STR("[\"" AR_PERSON_UNKNOWN "\"]");
	return ar_people_with_caller(d, people);
}

enum ar_status ar_decide_admit(struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
			       const struct ar_task *task, struct ar_cmd_submit_turn_out *ret,
			       struct ar_error *err)
{
	struct ar_cmd_submit_turn_out out = { .session_id = d->session->id, .status = AR_ADMISSION_ACCEPTED };
	int policy = busy_policy(d, in);
	const struct ar_thread *t;
	struct ar_turn_input input;
	struct ar_draft w;
	struct ar_turn *turn;
	bool is_busy, is_urgent = policy == AR_SUBMIT_TURN_BUSY_POLICY_INTERRUPT ||
				  policy == AR_SUBMIT_TURN_BUSY_POLICY_ROLLBACK;

	if (check_turn(d, in, &input, err) != AR_OK)
		return AR_E_REFUSED;
	if (d->session->head == 0)
		create_from_policy(d, in, input.preview);
	if (choose_thread(d, in, &t, err) != AR_OK)
		return AR_E_REFUSED;
	is_busy = !ar_str_absent(t->active_turn) || t->queue.count > 0;
	if (is_busy && check_busy(d, policy, t, err) != AR_OK)
		return AR_E_REFUSED;

	w = ar_draft_of(d, t);
	turn = ar_draft_turn(&w, in, &input);
	turn->task->parent = task ? task->id : AR_STR_NONE;
	turn->task->root = task ? task->root : AR_STR_NONE;
	turn->people = people_of(d, task);
	out.sequence = (int64_t)(d->session->head + d->event_count + 1); /* of turn.submitted */
	ar_draft_admit(&w, turn, in, is_busy);
	if (task)
		ar_task_delegated(d, task, turn->task->id, "a turn works for it");
	if (is_busy) {
		enqueue(&w, turn);
		out.status = AR_ADMISSION_QUEUED;
		out.queued_turn_id = turn->id;
		out.position = AR_OPT_INT(is_urgent ? 1 : (int64_t)w.queue.count);
		if (is_urgent)
			take_over(&w, turn, policy == AR_SUBMIT_TURN_BUSY_POLICY_ROLLBACK);
	} else {
		ar_draft_start(&w, turn);
	}
	out.thread_id = t->id;
	out.turn_id = turn->id;
	out.task_id = turn->task->id;
	*ret = out;
	return AR_OK;
}

enum ar_status ar_decide_submit_turn(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_submit_turn_in *in = d->input->args;
	struct ar_cmd_submit_turn_out out;
	const struct ar_task *task = NULL;

	if (!ar_str_absent(in->task_id) && ar_task_for_turn(d, in->task_id, &task, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_decide_admit(d, in, task, &out, err) != AR_OK)
		return AR_E_REFUSED;
	ar_decide_reply(d, AR_CMD_SUBMIT_TURN, &out);
	return AR_OK;
}
