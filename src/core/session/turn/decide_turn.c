/* A turn comes in, waits or starts. Also how a thread goes on to its next queued turn. Pure. */
#include "channel/channel.h"
#include "limits/budget.h"
#include "limits/limits.h"
#include "hook/hooks.h"
#include "quota/quota.h"
#include "subagent/subagents.h"
#include "task/task.h"
#include "tenant.h"

#define TITLE_MAX 60

/* ---- session and thread ---- */

struct birth {
	struct ar_str title, workspace, account, source, metadata;
};

/* The one that it names, or has without naming any. */
static struct ar_str workspace_word(const struct ar_decision *d, struct ar_str named)
{
	if (!ar_str_absent(named))
		return named;
	return ar_decide_workspace(d) ? ar_decide_workspace(d)->workspace_id : AR_STR("default");
}

static void create_session(struct ar_decision *d, const struct birth *b)
{
	const struct ar_ids none = { 0 };

	ar_decide_emit(d, AR_EV_SESSION_CREATED, &none,
		       &(struct ar_ev_session_created){
			       .title = ar_str_empty(b->title) ? AR_STR("Untitled") : b->title,
			       .workspace_id = workspace_word(d, b->workspace),
			       .account_ref = ar_str_absent(b->account) ? d->input->account : b->account,
			       .created_at = d->input->now,
			       .tenant = ar_tenant_told(d->input->tenant),
			       .source = ar_str_absent(b->source) ? AR_STR("api") : b->source,
			       .metadata = b->metadata,
		       });
	ar_decide_bind(d);
}

struct ar_thread *ar_decide_start_thread(struct ar_decision *d)
{
	struct ar_ids ids = { 0 };

	ids.at[AR_SCOPE_THREAD] = ar_decide_mint(d, "thread", &d->counters.thread);
	ar_decide_emit(d, AR_EV_THREAD_STARTED, &ids,
		       &(struct ar_ev_thread_started){ .reason = AR_THREAD_STARTED_REASON_NEW,
						       .status = AR_THREAD_STATUS_IDLE,
						       .actor = d->input->account });
	return ar_session_thread(d->session, ids.at[AR_SCOPE_THREAD]);
}

static enum ar_status check_tenant(const struct ar_decision *d, struct ar_error *err)
{
	if (ar_decide_is_admitted(d))
		return AR_OK;
	return ar_refuse(
		err, AR_ERR_POLICY_DENIED,
		"the workspace of this server (tools.workspace) belongs to the tenant %s; ask the operator "
		"for a server without a workspace, or to set tools.workspace_shared_by_tenants, which allows "
		"every tenant to read and write the same files",
		AR_TENANT_LOCAL);
}

enum ar_status ar_decide_create_session(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_create_session_in *in = d->input->command.args;
	const struct ar_thread *t;

	if (d->session->head > 0)
		return ar_refuse(err, AR_ERR_ID_CONFLICT, "session %.*s exists already",
				 AR_STR_ARG(d->session->id));
	if (ar_decide_check_binding(d, in->workspace_id, err) != AR_OK || check_tenant(d, err) != AR_OK)
		return AR_E_REFUSED;
	create_session(d, &(struct birth){ in->title, in->workspace_id, in->account_ref, in->source,
					   in->metadata });
	t = ar_decide_start_thread(d);
	ar_decide_reply(d, AR_CMD_CREATE_SESSION,
			&(struct ar_cmd_create_session_out){ .session_id = d->session->id,
							     .thread_id = t->id,
							     .sequence =
								     AR_OPT_INT((int64_t)d->event_count) });
	return AR_OK;
}

/* ---- threads and their queue ---- */

void ar_turn_emit(struct ar_decision *d, const struct ar_turn *turn, enum ar_event_type type,
		  const void *payload)
{
	struct ar_ids ids = ar_ids_turn(d, turn);

	ar_decide_emit(d, type, &ids, payload);
}

enum ar_status ar_decide_need_thread(const struct ar_decision *d, struct ar_str id, struct ar_thread **ret,
				     struct ar_error *err)
{
	*ret = ar_session_thread(d->session, id);
	if (*ret)
		return AR_OK;
	return ar_refuse(err, AR_ERR_THREAD_NOT_FOUND, "session %.*s has no thread %.*s",
			 AR_STR_ARG(d->session->id), AR_STR_ARG(id));
}

struct ar_thread *ar_decide_thread(const struct ar_decision *d, const struct ar_turn *turn)
{
	return ar_session_thread(d->session, turn->thread);
}

void ar_decide_status(struct ar_decision *d, const struct ar_thread *t, int status, const char *reason,
		      const char *detail, const struct ar_turn *turn)
{
	struct ar_ids ids = turn ? ar_ids_turn(d, turn) : ar_ids_thread(t);

	ar_decide_emit(d, AR_EV_THREAD_UPDATED, &ids,
		       &(struct ar_ev_thread_updated){ .status = status,
						       .reason = ar_str_from(reason),
						       .status_detail = ar_str_from(detail),
						       .active_turn_id = turn ? turn->id : AR_STR_NONE });
	ar_subagent_follow(d, t);
}

struct ar_texts ar_decide_turn_ids(struct ar_decision *d, const struct ar_vec *turns)
{
	struct ar_str *ids = ar_arena_alloc(d->arena, (turns->count + 1) * sizeof(*ids));

	for (size_t i = 0; i < turns->count; i++)
		ids[i] = ((const struct ar_turn *)turns->at[i])->id;
	return (struct ar_texts){ ids, turns->count };
}

void ar_decide_queue_changed(struct ar_decision *d, const struct ar_thread *t, int change,
			     const struct ar_turn *turn, const struct ar_vec *order)
{
	struct ar_ids ids = ar_ids_thread(t);

	ids.at[AR_SCOPE_TURN] = turn->id;
	ids.at[AR_SCOPE_QUEUE] = ar_arena_fmt(d->arena, "queue_%.*s", AR_STR_ARG(t->id));
	ar_decide_emit(d, AR_EV_QUEUE_CHANGED, &ids,
		       &(struct ar_ev_queue_changed){
			       .change = change,
			       .queued_turn_id = turn->id,
			       .order = ar_decide_turn_ids(d, order),
			       .source = ar_str_absent(turn->source) ? AR_STR("runtime") : turn->source,
			       .policy =
				       &(struct ar_shape_queue_policy){
					       .busy = AR_STR("queue"),
					       .order = AR_STR("fifo"),
					       .limit = AR_OPT_INT(d->input->policy->queue_max) },
			       .resume_state = AR_STR("automatic"),
			       .actor = d->input->account,
		       });
}

void ar_decide_next(struct ar_decision *d, struct ar_thread *t)
{
	struct ar_vec rest = ar_vec_copy(d->arena, &t->queue);
	struct ar_turn *next;

	if (d->fault != AR_OK)
		return; /* the queue would never get shorter */
	if (rest.count == 0) {
		bool is_late = ar_str_is(t->last_outcome, "timed_out");

		ar_decide_status(d, t, is_late ? AR_THREAD_STATUS_FAILED : AR_THREAD_STATUS_IDLE,
				 "turn_ended", is_late ? "timed_out" : NULL, NULL);
		return;
	}
	next = rest.at[0];
	ar_vec_remove(&rest, 0);
	ar_decide_queue_changed(d, t, AR_QUEUE_CHANGED_CHANGE_DEQUEUED, next, &rest);
	ar_decide_start(d, next);
}

/* ---- starting ---- */

void ar_decide_attempt(struct ar_decision *d, struct ar_turn *turn, int trigger)
{
	const struct ar_policy *policy = d->input->policy;
	bool is_bystander = d->input->kind == AR_IN_RECOVER && d->input->recover.is_bystander;
	struct ar_ids ids = ar_ids_run(d, turn, ar_decide_mint(d, "run", &d->counters.run));

	ar_decide_emit(d, AR_EV_TASK_ATTEMPT_STARTED, &ids,
		       &(struct ar_ev_task_attempt_started){
			       .attempt_count = turn->task->attempts + 1,
			       .worker = &(struct ar_shape_party){ .kind = AR_STR("runtime") },
			       .input_refs = { &turn->input_ref, 1 },
			       .trigger = trigger,
			       .retry_policy =
				       &(struct ar_shape_retry_policy){
					       .max_attempts = AR_OPT_INT(policy->max_attempts),
					       .backoff_ms = AR_OPT_INT(policy->backoff_ms),
					       .max_restarts = AR_OPT_INT(policy->max_restarts) },
			       .is_bystander = { is_bystander, is_bystander },
		       });
}

void ar_decide_start(struct ar_decision *d, struct ar_turn *turn)
{
	const struct ar_shape_turn_environment *in;
	struct ar_str environment = ar_turn_environment(d, turn, &in);

	ar_turn_emit(d, turn, AR_EV_TURN_STARTED,
		     &(struct ar_ev_turn_started){ .started_at = d->input->now,
						   .input_snapshot_ref = ar_turn_input(d, turn),
						   .execution_environment_ref = environment,
						   .task_id = turn->task->id,
						   .execution_environment = in });
	ar_decide_attempt(d, turn, AR_TASK_ATTEMPT_STARTED_TRIGGER_START);
	ar_turn_emit(d, turn, AR_EV_TASK_STARTED,
		     &(struct ar_ev_task_started){
			     .run_id = turn->run,
			     .worker = &(struct ar_shape_party){ .kind = AR_STR("runtime") },
			     .thread_id = turn->thread,
			     .environment_ref = environment });
	ar_budget_start_clock(d, turn, d->input->now);
	ar_decide_status(d, ar_decide_thread(d, turn), AR_THREAD_STATUS_RUNNING, "turn_started", "preparing",
			 turn);
	ar_decide_begin(d, turn);
}

/* ---- submitting ---- */

/* Each turn has a task; this one is the runtime's own and hidden from lists by default. */
static void create_task(struct ar_decision *d, const struct ar_turn *turn, struct ar_str channel,
			const struct ar_task *parent)
{
	struct ar_ids ids = ar_ids_turn(d, turn);

	ids.at[AR_SCOPE_CHANNEL] = channel;
	ids.at[AR_SCOPE_TASK] = ar_decide_mint(d, "task", &d->counters.task);
	ids.at[AR_SCOPE_PARENT_TASK] = parent ? parent->id : AR_STR_NONE;
	ids.at[AR_SCOPE_ROOT_TASK] = parent ? parent->root : AR_STR_NONE;
	ar_decide_emit(d, AR_EV_TASK_CREATED, &ids,
		       &(struct ar_ev_task_created){
			       .objective = ar_str_empty(turn->input_preview) ? AR_STR("(no text)")
									      : turn->input_preview,
			       .task_kind = ar_turn_is_system(turn) ? AR_STR("system") : AR_STR("chat"),
			       .visibility = AR_TASK_VISIBILITY_INTERNAL,
			       .requested_by = ar_task_channel(d, channel),
			       .scope = &(struct ar_shape_task_scope){ .session_id = d->session->id,
								       .thread_id = turn->thread,
								       .turn_id = turn->id },
		       });
	ids.at[AR_SCOPE_CHANNEL] = AR_STR_NONE; /* the runtime accepts it */
	ar_decide_emit(d, AR_EV_TASK_ACCEPTED, &ids,
		       &(struct ar_ev_task_accepted){
			       .owner = &(struct ar_shape_party){ .kind = AR_STR("runtime") },
			       .accepted_at = d->input->now });
}

struct ar_turn *ar_decide_submit(struct ar_decision *d, const struct ar_thread *t,
				 const struct ar_new_turn *n, const struct ar_task *task,
				 struct ar_texts people)
{
	const struct ar_cmd_submit_turn_in *in = n->in;
	struct ar_ids ids = ar_ids_thread(t);
	struct ar_str id =
		ar_str_absent(in->turn_id) ? ar_decide_mint(d, "turn", &d->counters.turn) : in->turn_id;
	struct ar_turn *turn;

	ids.at[AR_SCOPE_TURN] = id;
	ids.at[AR_SCOPE_CHANNEL] = in->channel_id;
	ids.at[AR_SCOPE_TASK] =
		ar_id_inner(d->arena, "task", d->session->session_key, (uint64_t)d->counters.task + 1);
	ar_decide_emit(d, AR_EV_TURN_SUBMITTED, &ids,
		       &(struct ar_ev_turn_submitted){
			       .input_ref = ar_decide_content(d, n->input.parts),
			       .source = ar_str_absent(in->source) ? AR_STR("api") : in->source,
			       .status = n->is_queued ? AR_ADMISSION_QUEUED : AR_ADMISSION_ACCEPTED,
			       .options = in->options,
			       .attachments = in->attachments,
			       .queued_turn_id = n->is_queued ? id : AR_STR_NONE,
			       .position = { (int64_t)t->queue.count + 1, n->is_queued },
			       .idempotency_key = in->idempotency_key,
			       .input_preview = n->input.preview,
			       .input_bytes = AR_OPT_INT((int64_t)n->input.parts.len),
			       .input_kinds = n->input.has_images ? AR_TEXTS(AR_STR("image"))
								  : (struct ar_texts){ 0 },
			       .metadata = in->metadata,
			       .submitted_by = people,
			       .report_to = in->report_to,
			       .trace_parent =
				       d->input->policy->is_traced ? d->input->trace_parent : AR_STR_NONE,
		       });
	turn = ar_thread_turn(t, id);
	create_task(d, turn, in->channel_id, task);
	return turn;
}

void ar_decide_enqueue(struct ar_decision *d, const struct ar_thread *t, struct ar_turn *turn)
{
	struct ar_vec order = ar_vec_copy(d->arena, &t->queue);

	ar_vec_push(d->arena, &order, turn);
	ar_turn_emit(d, turn, AR_EV_TASK_QUEUED,
		     &(struct ar_ev_task_queued){ .queue_reason = AR_TASK_QUEUED_QUEUE_REASON_QUEUE,
						  .position = AR_OPT_INT((int64_t)order.count) });
	ar_decide_queue_changed(d, t, AR_QUEUE_CHANGED_CHANGE_ENQUEUED, turn, &order);
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
		return ar_refuse(
			err, AR_ERR_OVERLOADED,
			"%zu turns are queued already, which is the limit (queue.max_turns); repeat later",
			t->queue.count);
	return AR_OK;
}

/* With rollback the running turn also leaves the conversation, as if it had never been. */
static void stop_active(struct ar_decision *d, const struct ar_thread *t, bool is_rollback)
{
	struct ar_turn *active = ar_thread_active(t);
	struct ar_str reason = AR_STR("a new turn takes its place");

	if (!active)
		return;
	if (!active->is_interrupted)
		ar_decide_interrupt_for(d, active, is_rollback ? AR_INTERRUPT_ROLLBACK : AR_INTERRUPT_ASKED,
					reason);
	else if (is_rollback && !active->unwanted.v)
		ar_decide_say_interrupting(d, active, AR_INTERRUPT_ROLLBACK, active->interrupt_reason);
}

/* The turn waits only for the end of the one it interrupts: it goes before all that wait already. */
static void take_over(struct ar_decision *d, const struct ar_thread *t, struct ar_turn *turn,
		      bool is_rollback)
{
	struct ar_vec order = ar_vec_copy(d->arena, &t->queue);

	if (order.count > 1) {
		order.count--;
		ar_vec_insert(d->arena, &order, 0, turn);
		ar_decide_queue_changed(d, t, AR_QUEUE_CHANGED_CHANGE_PROMOTED, turn, &order);
	}
	stop_active(d, t, is_rollback);
}

static bool wants_new_thread(const struct ar_cmd_submit_turn_in *in)
{
	return in->create_policy && ar_str_is(in->create_policy->thread, "new");
}

/* *ret is NULL: it is to be a new one. */
static enum ar_status choose_thread(const struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
				    struct ar_thread **ret, struct ar_error *err)
{
	const struct ar_session *s = d->session;

	*ret = NULL;
	if (s->head == 0 || wants_new_thread(in)) {
		if (!ar_str_absent(in->thread_id))
			return ar_refuse(err, AR_ERR_THREAD_NOT_FOUND,
					 "a new thread gets its id from the runtime");
		return AR_OK;
	}
	if (!ar_str_absent(in->thread_id))
		return ar_decide_need_thread(d, in->thread_id, ret, err);
	*ret = s->threads.at[0];
	return AR_OK;
}

/* A repeat is answered with its receipt, before or after this; what is left is another turn
 * under a known id. */
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
static enum ar_status check_mode(const struct ar_decision *d, const struct ar_shape_turn_options *options,
				 struct ar_error *err)
{
	if (!options->mode)
		return AR_OK;
	return ar_mode_check(d, ar_str_from(ar_mode_name((enum ar_permission_mode)options->mode)),
			     AR_ERR_INVALID_INPUT, err);
}

static enum ar_status check_options(struct ar_decision *d, const struct ar_shape_turn_options *options,
				    struct ar_error *err)
{
	if (!options)
		return AR_OK;
	if (options->purpose)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "options.purpose is reserved for turns of the runtime; leave it out");
	if (ar_offers_check(d, options, err) != AR_OK || check_mode(d, options, err) != AR_OK ||
	    ar_profile_check(d, options, err) != AR_OK || ar_budget_check(options, err) != AR_OK ||
	    ar_route_check(d, options, err) != AR_OK)
		return AR_E_REFUSED;
	return AR_OK;
}

static void create_from_policy(struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
			       struct ar_str preview)
{
	const struct ar_shape_create_policy *policy = in->create_policy;
	struct birth b = { .source = in->source };

	if (policy)
		b = (struct birth){ policy->title, policy->workspace_id, policy->account_ref, in->source,
				    AR_STR_NONE };
	if (ar_str_absent(b.title))
		b.title = ar_str_utf8_prefix(preview, TITLE_MAX);
	create_session(d, &b);
}

enum ar_status ar_decide_check_birth(const struct ar_decision *d, const struct ar_shape_create_policy *policy,
				     struct ar_error *err)
{
	if (policy && ar_decide_check_binding(d, policy->workspace_id, err) != AR_OK)
		return AR_E_REFUSED;
	return check_tenant(d, err);
}

void ar_decide_birth(struct ar_decision *d, const struct ar_shape_create_policy *policy, struct ar_str title,
		     struct ar_str source)
{
	struct birth b = { .source = source };

	if (policy)
		b = (struct birth){ policy->title, policy->workspace_id, policy->account_ref, source,
				    AR_STR_NONE };
	if (ar_str_absent(b.title))
		b.title = ar_str_utf8_prefix(title, TITLE_MAX);
	create_session(d, &b);
	ar_decide_start_thread(d);
}

enum ar_status ar_decide_check_options(struct ar_decision *d, const struct ar_shape_turn_options *options,
				       struct ar_error *err)
{
	return check_options(d, options, err);
}

/* A session that is there keeps the workspace that it has. */
static enum ar_status check_workspace(const struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
				      struct ar_error *err)
{
	if (d->session->head > 0 || !in->create_policy)
		return AR_OK;
	return ar_decide_check_binding(d, in->create_policy->workspace_id, err);
}

/* What the turn is to be, before anything of it is said. */
static enum ar_status check_turn(struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
				 struct ar_turn_input *ret, struct ar_error *err)
{
	if (!ar_str_absent(in->channel_id) && ar_channel_check_own(d, in->channel_id, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->report_to) && !d->input->is_runtime)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "reportTo is for turns that a job or a schedule starts; leave it out");
	if (ar_str_is(in->source, AR_SOURCE_SYSTEM))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "source %s is reserved for the runtime; use another or none",
				 AR_SOURCE_SYSTEM);
	if (check_workspace(d, in, err) != AR_OK || check_tenant(d, err) != AR_OK ||
	    ar_decide_input(d, in->input, in->text, ret, err) != AR_OK || check_new(d, in, err) != AR_OK ||
	    check_options(d, in->options, err) != AR_OK)
		return AR_E_REFUSED;
	return AR_OK;
}

/* Of a task from before that was on record, nobody knows who gave it. */
static struct ar_texts people_of(struct ar_decision *d, const struct ar_task *task)
{
	struct ar_texts people = task ? task->sheet->people : (struct ar_texts){ 0 };

	if (task && !people.at)
		people = ar_people_unknown();
	return ar_people_with_caller(d, people);
}

enum ar_status ar_decide_check_turn(struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
				    struct ar_new_turn *ret, struct ar_error *err)
{
	struct ar_new_turn n = { .in = in, .busy = busy_policy(d, in) };

	if (check_turn(d, in, &n.input, err) != AR_OK || choose_thread(d, in, &n.thread, err) != AR_OK)
		return AR_E_REFUSED;
	n.is_queued = n.thread && (!ar_str_absent(n.thread->active_turn) || n.thread->queue.count > 0);
	if (ar_tenant_check_turn(d, n.is_queued, err) != AR_OK)
		return AR_E_REFUSED;
	if (n.is_queued && check_busy(d, n.busy, n.thread, err) != AR_OK)
		return AR_E_REFUSED;
	*ret = n;
	return AR_OK;
}

struct ar_cmd_submit_turn_out ar_decide_admit(struct ar_decision *d, const struct ar_new_turn *n,
					      const struct ar_task *task)
{
	bool is_rollback = n->busy == AR_SUBMIT_TURN_BUSY_POLICY_ROLLBACK;
	bool is_urgent = n->busy == AR_SUBMIT_TURN_BUSY_POLICY_INTERRUPT || is_rollback;
	struct ar_cmd_submit_turn_out out = { .session_id = d->session->id, .status = AR_ADMISSION_ACCEPTED };
	struct ar_turn *turn;
	struct ar_thread *t;

	if (d->session->head == 0)
		create_from_policy(d, n->in, n->input.preview);
	t = n->thread ? n->thread : ar_decide_start_thread(d);
	out.sequence = (int64_t)ar_decide_next_sequence(d); /* of turn.submitted */
	turn = ar_decide_submit(d, t, n, task, n->people.at ? n->people : people_of(d, task));
	out.thread_id = t->id;
	out.turn_id = turn->id;
	out.task_id = turn->task->id;
	if (task)
		ar_task_delegated(d, task, turn->task->id, "a turn works for it");
	if (!n->is_queued) {
		ar_decide_start(d, turn);
		return out;
	}
	ar_decide_enqueue(d, t, turn);
	out.status = AR_ADMISSION_QUEUED;
	out.queued_turn_id = turn->id;
	out.position = AR_OPT_INT(is_urgent ? 1 : (int64_t)t->queue.count);
	if (is_urgent)
		take_over(d, t, turn, is_rollback);
	return out;
}

/* Turns of a child run with its isolation, which a caller's options would replace. */
static enum ar_status check_not_child(const struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
				      struct ar_error *err)
{
	const struct ar_shape_subagent_record *r = ar_session_subagent_in(d->session, in->thread_id);

	if (!r || ar_str_absent(in->thread_id))
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_INPUT,
			 "subagent %.*s works in thread %.*s; use send_subagent_input, or fork_thread",
			 AR_STR_ARG(r->subagent_id), AR_STR_ARG(in->thread_id));
}

enum ar_status ar_decide_submit_turn(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_submit_turn_in *in = d->input->command.args;
	struct ar_cmd_submit_turn_out out;
	struct ar_new_turn turn;
	const struct ar_task *task = NULL;

	if (!ar_str_absent(in->task_id) && ar_task_for_turn(d, in->task_id, &task, err) != AR_OK)
		return AR_E_REFUSED;
	if (check_not_child(d, in, err) != AR_OK || ar_decide_check_turn(d, in, &turn, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->channel_id))
		ar_channel_note_use(d, in->channel_id);
	out = ar_decide_admit(d, &turn, task);
	ar_decide_reply(d, AR_CMD_SUBMIT_TURN, &out);
	return AR_OK;
}
