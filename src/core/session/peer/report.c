/* delegate_task, link_peer_task, and the host's reports about the tasks of peers. The intent is a fact
 * (task.delegated) before the message leaves; what the peer says is kept by task.progress with remoteTask.
 * channel.peer_task.* are views of these facts for readers who ask for them, and change nothing. Pure. */
#include "channel/channel.h"
#include "peer/remote.h"
#include "task/task.h"

#define MESSAGE_PREVIEW_MAX 1024

const struct ar_task *ar_peer_task_of(const struct ar_session *s, const struct ar_turn *turn)
{
	const struct ar_task *declared = ar_turn_options(turn)->purpose == AR_TURN_OPTIONS_PURPOSE_PEER
						 ? ar_session_declared(s, turn->task->parent)
						 : NULL;

	return declared ? declared : turn->task;
}

static struct ar_str channel_of(struct ar_decision *d, struct ar_str peer)
{
	return ar_arena_fmt(d->arena, AR_PEER_CHANNEL_PREFIX "%.*s", AR_STR_ARG(peer));
}

/* ---- facts ---- */

/* A report, and what it is about. */
struct peer_report {
	const struct ar_cmd_report_peer_task_in *in;
	const struct ar_task *task;
	struct ar_ids ids;
	const struct ar_shape_remote_task *known; /* NULL: this is the first of the operation */
	struct ar_shape_remote_task now;
};

static void emit_delegated(struct ar_decision *d, const struct ar_ids *ids, struct ar_str target,
			   const char *reason)
{
	const struct ar_shape_relationship edge = { .kind = AR_STR(AR_PEER_EDGE), .target_id = target };

	ar_decide_emit(d, AR_EV_TASK_DELEGATED, ids,
		       &(struct ar_ev_task_delegated){ .delegate_kind =
							       AR_TASK_DELEGATED_DELEGATE_KIND_PEER_TASK,
						       .target_id = target,
						       .edge = &edge,
						       .reason = ar_str_from(reason) });
}

static struct ar_ids channel_ids(const struct ar_ids *of, struct ar_str channel)
{
	struct ar_ids ids = *of;

	ids.at[AR_SCOPE_CHANNEL] = channel;
	return ids;
}

/* Both identities in one fact, and the edge of the graph. */
static void emit_linked(struct ar_decision *d, const struct ar_task *task, const struct ar_ids *about,
			const struct ar_shape_remote_task *r)
{
	const struct ar_edge edge = { .kind = AR_STR(AR_PEER_EDGE),
				      .target = r->remote_task_id,
				      .status = AR_STR(AR_EDGE_ACTIVE) };
	const struct ar_shape_relationship shape = ar_edge_shape(AR_STR_NONE, &edge);
	struct ar_ids ids = channel_ids(about, r->channel_id);

	if (!ar_task_edge(task, edge.kind, edge.target) && task->edges.count < AR_EDGES_MAX)
		ar_decide_emit(d, AR_EV_TASK_DEPENDENCY_UPDATED, about,
			       &(struct ar_ev_task_dependency_updated){
				       .change = AR_TASK_DEPENDENCY_UPDATED_CHANGE_ADDED,
				       .relationship = &shape,
				       .actor = d->input->account });
	ar_decide_emit(d, AR_EV_CHANNEL_PEER_TASK_LINKED, &ids,
		       &(struct ar_ev_channel_peer_task_linked){
			       .native_protocol = r->native_protocol,
			       .remote_task_id = r->remote_task_id,
			       .remote_context_id = r->remote_context_id,
			       .remote_agent_ref =
				       ar_str_absent(r->agent_card_ref) ? r->remote_agent_ref : AR_STR_NONE,
			       .agent_card_ref = r->agent_card_ref,
			       .delivery_mechanism = r->delivery_mechanism,
			       .native_status = r->native_status });
}

static void emit_updated(struct ar_decision *d, const struct ar_ids *about,
			 const struct ar_shape_remote_task *r)
{
	struct ar_ids ids = channel_ids(about, r->channel_id);

	ar_decide_emit(d, AR_EV_CHANNEL_PEER_TASK_UPDATED, &ids,
		       &(struct ar_ev_channel_peer_task_updated){ .remote_task_id = r->remote_task_id,
								  .native_status = r->native_status,
								  .status = r->status });
}

static int phase_of(const struct ar_shape_remote_task *r)
{
	if (r->recovery_state == AR_REMOTE_TASK_RECOVERY_STATE_UNRECONCILED)
		return AR_TASK_PROGRESS_PHASE_DELIVERING;
	return r->recovery_state == AR_REMOTE_TASK_RECOVERY_STATE_WAITING ? AR_TASK_PROGRESS_PHASE_WAITING
									  : AR_TASK_PROGRESS_PHASE_WORKING;
}

static void emit_progress(struct ar_decision *d, const struct ar_ids *ids,
			  const struct ar_shape_remote_task *r)
{
	ar_decide_emit(d, AR_EV_TASK_PROGRESS, ids,
		       &(struct ar_ev_task_progress){
			       .phase = phase_of(r), .counters = AR_STR("{}"), .remote_task = r });
}

/* The declared task waits as the peer does; of a turn's own task the question says it. */
static void emit_status(struct ar_decision *d, const struct peer_report *t)
{
	bool is_input = t->now.status == AR_TASK_STATUS_WAITING_INPUT;
	bool waits =
		(is_input || t->now.status == AR_TASK_STATUS_WAITING_PERMISSION) && !t->now.unreachable_since;

	if (!t->task->sheet)
		return;
	if (waits && t->task->status == AR_TASK_RUNNING)
		ar_decide_emit(d, AR_EV_TASK_WAITING, &t->ids,
			       &(struct ar_ev_task_waiting){
				       .wait_for = is_input ? AR_TASK_WAITING_WAIT_FOR_INPUT
							    : AR_TASK_WAITING_WAIT_FOR_PERMISSION,
				       .status = is_input ? AR_TASK_WAITING_STATUS_WAITING_INPUT
							  : AR_TASK_WAITING_STATUS_WAITING_PERMISSION,
				       .status_reason = AR_STR("the peer asks; respond_action answers it") });
	else if (!waits && t->task->status == AR_TASK_WAITING)
		ar_decide_emit(d, AR_EV_TASK_RESUMED, &t->ids,
			       &(struct ar_ev_task_resumed){ .reason = AR_STR("the peer goes on"),
							     .from_status = t->task->waiting });
}

/* ---- the channel of the peer ---- */

static void emit_connected(struct ar_decision *d, const struct peer_report *t)
{
	const struct ar_channel *c = ar_session_channel(d->session, t->now.channel_id);
	const struct ar_ids ids = { .at = { [AR_SCOPE_CHANNEL] = t->now.channel_id } };

	if ((c && c->status == AR_CHANNEL_CONNECTED) ||
	    (!c && d->session->channels.count >= ar_channels_max(d->session) &&
	     ar_channels_leaver(d->session, d->input->now) >= d->session->channels.count))
		return;
	ar_decide_emit(d, AR_EV_CHANNEL_CONNECTED, &ids,
		       &(struct ar_ev_channel_connected){
			       .transport = t->in->transport ? t->in->transport : AR_TRANSPORT_JSON_RPC,
			       .peer_role = AR_PEER_ROLE_PEER_AGENT,
			       .account_ref = AR_STR(""),
			       .capabilities = t->in->capabilities.at ? t->in->capabilities
					       : c		      ? c->capabilities
								      : (struct ar_texts){ 0 },
			       .last_seen_at = d->input->now,
			       .native_protocol = AR_STR(AR_PEER_NATIVE_PROTOCOL),
			       .agent_card_ref = t->now.agent_card_ref });
}

static void emit_disconnected(struct ar_decision *d, const struct peer_report *t)
{
	const struct ar_channel *c = ar_session_channel(d->session, t->now.channel_id);
	const struct ar_ids ids = { .at = { [AR_SCOPE_CHANNEL] = t->now.channel_id } };

	if (c && c->status == AR_CHANNEL_CONNECTED)
		ar_decide_emit(d, AR_EV_CHANNEL_DISCONNECTED, &ids,
			       &(struct ar_ev_channel_disconnected){
				       .reason = AR_CHANNEL_DISCONNECTED_REASON_ERROR,
				       .last_seen_at = c->seen,
				       .last_acked_sequence = c->acked });
}

/* What a peer says is a message of its channel, never the output of a task. */
static void emit_message(struct ar_decision *d, const struct peer_report *t)
{
	struct ar_ids ids = channel_ids(&t->ids, t->now.channel_id);

	if (ar_str_empty(t->in->message))
		return;
	ar_decide_emit(d, AR_EV_CHANNEL_MESSAGE, &ids,
		       &(struct ar_ev_channel_message){ .message_kind =
								AR_CHANNEL_MESSAGE_MESSAGE_KIND_STATUS,
							.message_ref = ar_decide_content(d, t->in->message),
							.direction = AR_CHANNEL_MESSAGE_DIRECTION_IN });
}

/* ---- what a report means ---- */

/* A message that left without an address for notifications brings none. */
static bool is_too_late(const struct ar_shape_remote_task *known, int mechanism)
{
	return known && mechanism == AR_DELIVERY_MECHANISM_PUSH_NOTIFICATION &&
	       known->delivery_mechanism != mechanism;
}

static void begin(struct ar_decision *d, struct peer_report *t)
{
	const struct ar_cmd_report_peer_task_in *in = t->in;

	t->now = t->known ? *t->known
			  : (struct ar_shape_remote_task){
				    .native_protocol = AR_STR(AR_PEER_NATIVE_PROTOCOL),
				    .remote_context_id = in->remote_context_id,
				    .remote_agent_ref = in->peer,
				    .status = AR_TASK_STATUS_UNKNOWN,
				    .recovery_state = AR_REMOTE_TASK_RECOVERY_STATE_SENDING,
				    .channel_id = channel_of(d, in->peer),
				    .message_id = in->message_id,
				    .operation_id = in->operation_id,
			    };
	t->now.tool_call_id = in->tool_call_id;
	if (in->delivery_mechanism && !is_too_late(t->known, in->delivery_mechanism))
		t->now.delivery_mechanism = in->delivery_mechanism;
	if (!ar_str_empty(in->agent_card))
		t->now.agent_card_ref = ar_decide_content(d, in->agent_card);
}

static void update(struct peer_report *t)
{
	struct ar_peer_meaning m = ar_peer_meaning(t->in->native_status);

	t->now.unreachable_since = 0;
	t->now.reason = AR_STR_NONE;
	if (!ar_str_empty(t->in->remote_task_id))
		t->now.remote_task_id = t->in->remote_task_id;
	if (!ar_str_empty(t->in->remote_context_id))
		t->now.remote_context_id = t->in->remote_context_id;
	if (ar_str_empty(t->in->native_status)) {
		/* it answered by a message alone: it has ended, and there is nothing of it to settle */
		if (ar_str_absent(t->now.remote_task_id))
			t->now.recovery_state = AR_REMOTE_TASK_RECOVERY_STATE_UNRECONCILED;
		return;
	}
	t->now.native_status = t->in->native_status;
	t->now.status = m.status;
	t->now.recovery_state = m.recovery;
}

static void unreachable(const struct ar_decision *d, struct peer_report *t)
{
	t->now.status = AR_TASK_STATUS_STALE;
	t->now.recovery_state = AR_REMOTE_TASK_RECOVERY_STATE_UNAVAILABLE;
	t->now.unreachable_since = t->in->since ? t->in->since : d->input->now;
	t->now.reason = t->in->reason;
}

static void missing(struct peer_report *t)
{
	t->now.status = AR_TASK_STATUS_LOST;
	t->now.recovery_state = AR_REMOTE_TASK_RECOVERY_STATE_MISSING;
	t->now.unreachable_since = 0;
	t->now.reason = t->in->reason;
}

/* Its task may be there, and go on there, without anybody here to hear of it. */
static void unclear(struct peer_report *t)
{
	t->now.status = AR_TASK_STATUS_UNKNOWN;
	t->now.recovery_state = AR_REMOTE_TASK_RECOVERY_STATE_SENDING;
	t->now.unreachable_since = t->in->since;
	t->now.reason = t->in->reason;
}

static bool may_progress(const struct ar_task *task)
{
	return !ar_task_is_over(task) && task->status != AR_TASK_DRAFT && task->status != AR_TASK_LOST;
}

static void record(struct ar_decision *d, const struct peer_report *t)
{
	bool is_linked = !ar_str_absent(t->now.remote_task_id) && !ar_str_absent(t->now.native_status);
	bool is_new = is_linked && (!t->known || ar_str_absent(t->known->remote_task_id));
	bool is_moved = t->known && !ar_str_eq(t->known->native_status, t->now.native_status);

	if (!t->known)
		emit_delegated(d, &t->ids, t->now.message_id, "the work is handed on to a peer");
	if (t->now.unreachable_since)
		emit_disconnected(d, t);
	else
		emit_connected(d, t);
	emit_message(d, t);
	if (t->known && ar_struct_equal(&ar_shape_remote_task_desc, t->known, &t->now))
		return;
	if (is_new)
		emit_linked(d, t->task, &t->ids, &t->now);
	emit_progress(d, &t->ids, &t->now);
	if (is_linked && (is_new || is_moved || t->now.status != (t->known ? t->known->status : 0)))
		emit_updated(d, &t->ids, &t->now);
	emit_status(d, t);
}

/* A message was all that the peer had to say: it has no task that could be followed. */
static bool is_answered(const struct peer_report *t)
{
	return t->known && ar_str_absent(t->known->remote_task_id) &&
	       t->known->recovery_state == AR_REMOTE_TASK_RECOVERY_STATE_UNRECONCILED;
}

/* What is known of the operation: the host goes on from there. */
static void reply(struct ar_decision *d, const struct peer_report *t)
{
	ar_decide_reply(d, AR_CMD_REPORT_PEER_TASK,
			&(struct ar_cmd_report_peer_task_out){ .is_sent = t->known != NULL,
							       .remote_task_id = t->now.remote_task_id,
							       .remote_context_id = t->now.remote_context_id,
							       .native_status = t->now.native_status,
							       .delivery_mechanism =
								       t->now.delivery_mechanism,
							       .is_answered = AR_OPT_BOOL(is_answered(t)) });
}

/* One task of a peer is one piece of work: what another one has is not believed of this one. */
static bool is_of_another(const struct ar_session *s, const struct peer_report *t)
{
	struct ar_str said = t->in->remote_task_id;

	return !ar_str_empty(said) && !ar_str_eq(said, t->known->remote_task_id) &&
	       (!ar_str_absent(t->known->remote_task_id) ||
		ar_session_remote(s, t->known->channel_id, said) != NULL);
}

enum ar_status ar_decide_report_peer_task(struct ar_decision *d, struct ar_error *err)
{
	struct peer_report t = { .in = d->input->command.args };
	struct ar_invocation *call;
	struct ar_thread *thread;
	struct ar_turn *turn;

	if (!d->input->is_runtime)
		return ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
				 "report_peer_task is sent by the runtime, not by callers");
	turn = ar_session_call(d->session, t.in->tool_call_id, &call, &thread);
	if (!turn || call->stage != AR_CALL_RUNNING || !ar_str_is(call->name, AR_PEER_TOOL))
		return ar_refuse(err, AR_ERR_NOT_FOUND, "no call %.*s hands work on to a peer",
				 AR_STR_ARG(ar_str_utf8_prefix(t.in->tool_call_id, 64)));
	t.task = ar_peer_task_of(d->session, turn);
	if (!ar_task_run(t.task) || !may_progress(t.task))
		return ar_refuse(err, AR_ERR_NOT_FOUND, "task %.*s has ended", AR_STR_ARG(t.task->id));
	t.ids = ar_task_ids(t.task, ar_task_run(t.task));
	t.ids.at[AR_SCOPE_TOOL_CALL] = call->id;
	if (!t.task->sheet) {
		t.ids.at[AR_SCOPE_THREAD] = turn->thread;
		t.ids.at[AR_SCOPE_TURN] = turn->id;
	}
	t.known = ar_task_remote_of(t.task, t.in->operation_id);
	if (!t.known && t.in->event != AR_REPORT_PEER_TASK_EVENT_BEGIN)
		return ar_refuse(err, AR_ERR_NOT_FOUND, "the work was not handed on");
	if (t.known && is_of_another(d->session, &t))
		return ar_refuse(err, AR_ERR_CONFLICT, "that task of the peer is another piece of work");
	begin(d, &t);
	if (t.in->event == AR_REPORT_PEER_TASK_EVENT_UPDATE)
		update(&t);
	else if (t.in->event == AR_REPORT_PEER_TASK_EVENT_UNREACHABLE)
		unreachable(d, &t);
	else if (t.in->event == AR_REPORT_PEER_TASK_EVENT_MISSING)
		missing(&t);
	else if (t.in->event == AR_REPORT_PEER_TASK_EVENT_UNCLEAR)
		unclear(&t);
	reply(d, &t);
	record(d, &t);
	return AR_OK;
}

/* ---- a person's commands ---- */

enum ar_status ar_decide_delegate_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_delegate_task_in *in = d->input->command.args;
	const struct ar_shape_party worker = { .kind = AR_STR(AR_WORKER_PEER), .id = in->peer };
	struct ar_cmd_start_task_out out;

	if (ar_task_start_by(d, in->task_id, &worker, &out, err) != AR_OK)
		return AR_E_REFUSED;
	ar_decide_reply(d, AR_CMD_DELEGATE_TASK,
			&(struct ar_cmd_delegate_task_out){ .task_id = out.task_id,
							    .run_id = out.run_id,
							    .attempt_id = out.attempt_id,
							    .status = AR_DELEGATE_TASK_STATUS_PREPARING });
	return AR_OK;
}

static enum ar_status check_link(const struct ar_decision *d, const struct ar_cmd_link_peer_task_in *in,
				 const struct ar_task *task, struct ar_error *err)
{
	const struct ar_task *other = ar_session_remote(d->session, in->channel_id, in->remote_task_id);

	if (other && other != task)
		return ar_refuse(err, AR_ERR_CONFLICT, "that task of the peer is linked to task %.*s",
				 AR_STR_ARG(other->id));
	if (ar_str_eq(in->remote_task_id, task->id))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "remoteTaskId is the peer's id, not ours");
	if (!ar_task_run(task))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "task %.*s has no run: start it with the worker that the peer is",
				 AR_STR_ARG(task->id));
	return AR_OK;
}

enum ar_status ar_decide_link_peer_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_link_peer_task_in *in = d->input->command.args;
	const struct ar_cmd_link_peer_task_out out = { .remote_task_ref = in->task_id };
	struct ar_str native = ar_str_empty(in->native_status) ? AR_STR("unknown") : in->native_status;
	struct ar_peer_meaning m = ar_peer_meaning(native);
	const struct ar_channel *c = ar_session_channel(d->session, in->channel_id);
	struct ar_shape_remote_task r;
	struct ar_task *task;
	struct ar_ids ids;

	if (ar_str_absent(in->task_id))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "link a task; child agents have no peers");
	if (ar_channel_check_own(d, in->channel_id, err) != AR_OK ||
	    ar_task_need(d, in->task_id, &task, err) != AR_OK || ar_task_check_open(task, err) != AR_OK ||
	    check_link(d, in, task, err) != AR_OK)
		return AR_E_REFUSED;
	ar_decide_reply(d, AR_CMD_LINK_PEER_TASK, &out);
	if (ar_session_remote(d->session, in->channel_id, in->remote_task_id))
		return AR_OK;
	r = (struct ar_shape_remote_task){
		.native_protocol = ar_str_absent(c->native_protocol) ? AR_STR(AR_PEER_NATIVE_PROTOCOL)
								     : c->native_protocol,
		.remote_task_id = in->remote_task_id,
		.remote_context_id =
			ar_str_empty(in->remote_context_id) ? AR_STR("unknown") : in->remote_context_id,
		.remote_agent_ref = in->channel_id,
		.agent_card_ref = ar_str_absent(in->agent_card_ref) ? c->card_ref : in->agent_card_ref,
		.delivery_mechanism =
			in->delivery_mechanism ? in->delivery_mechanism : AR_DELIVERY_MECHANISM_CUSTOM,
		.native_status = native,
		.status = m.status,
		.recovery_state = m.recovery,
		.channel_id = in->channel_id,
		.operation_id = in->remote_task_id,
	};
	ids = ar_task_ids(task, ar_task_run(task));
	emit_delegated(d, &ids, r.remote_task_id, "a task of a peer works on it");
	emit_linked(d, task, &ids, &r);
	emit_progress(d, &ids, &r);
	return AR_OK;
}

/* ---- authorization ---- */

bool ar_peer_asks_authorization(const struct ar_session *s, const struct ar_turn *turn,
				const struct ar_invocation *call)
{
	const struct ar_shape_remote_task *r;

	if (!ar_str_is(call->name, AR_PEER_TOOL))
		return false;
	r = ar_task_remote(ar_peer_task_of(s, turn));
	return r && ar_str_eq(r->tool_call_id, call->id) && r->status == AR_TASK_STATUS_WAITING_PERMISSION;
}

void ar_peer_forward(struct ar_decision *d, const struct ar_turn *turn, const struct ar_invocation *call,
		     struct ar_str action)
{
	const struct ar_shape_remote_task *r = ar_task_remote(ar_peer_task_of(d->session, turn));
	const struct ar_shape_action_scope scope = { .session_id = d->session->id,
						     .thread_id = turn->thread,
						     .turn_id = turn->id,
						     .tool_call_id = call->id,
						     .tool_name = call->name };
	const struct ar_action *a = ar_session_action(d->session, action);
	struct ar_ids ids = ar_ids_turn(d, turn);

	ids.at[AR_SCOPE_ACTION] = action;
	ids.at[AR_SCOPE_TOOL_CALL] = call->id;
	ar_decide_emit(d, AR_EV_PERMISSION_REQUESTED, &ids,
		       &(struct ar_ev_permission_requested){
			       .requested_from = AR_PERMISSION_REQUESTED_REQUESTED_FROM_HUMAN,
			       .approval_action_id = action,
			       .target = &scope,
			       .mode = ar_str_from(ar_permission_mode_of(d, turn)),
			       .expires_at = a ? a->expires : 0 });
	if (!ar_session_channel(d->session, r->channel_id))
		return;
	ids.at[AR_SCOPE_CHANNEL] = r->channel_id;
	ar_decide_emit(d, AR_EV_CHANNEL_PERMISSION_FORWARDED, &ids,
		       &(struct ar_ev_channel_permission_forwarded){
			       .requesting_peer =
				       &(struct ar_shape_requesting_peer){ .kind = AR_STR(AR_WORKER_PEER),
									   .runtime_id = r->remote_agent_ref,
									   .session_id = d->session->id },
			       .target = &(struct ar_shape_party){ .kind = AR_STR(AR_PEER_EDGE),
								   .id = r->remote_task_id },
			       .forwarded_to =
				       &(struct ar_shape_channel_peer){ .channel_id = r->channel_id,
									.peer_role = AR_PEER_ROLE_HOST,
									.account_ref = AR_STR("") },
			       .approval_action_id = action,
			       .channel_scoped = true,
			       .expires_at = a ? a->expires : 0 });
}
