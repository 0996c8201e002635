/* A write: which session it is for, what makes a repeat of it the same write, and its answer. */
#include "audit/trail.h"
#include "control_priv.h"
#include "tenant.h"

/* Where a write goes, and under which key it is known. Text in the call's arena. */
struct target {
	struct ar_str core;
	bool may_create, is_fresh;
	struct ar_str key; /* absent: the write is not protected against repeats */
};

static void mint(struct ar_call *c, struct target *t)
{
	t->core = (struct ar_str){ ar_arena_alloc(&c->arena, AR_ID_CORE), AR_ID_CORE };
	t->may_create = t->is_fresh = true;
}

/* A new session is one of ours: ids are minted until one falls into a partition that is. False: none is, and the call went elsewhere. */
static bool mint_here(struct ar_call *c, struct ar_str core)
{
	struct ar_str address;

	if (!ar_call_is_here(c, AR_STR_NONE))
		return false;
	do
		ar_tenant_mint(ar_control_who(c->who)->tenant, (char *)core.p);
	while (ar_control_place(c->control, core, &address) != AR_PLACE_HERE);
	return true;
}

static void set_key(struct ar_call *c, struct target *t, const char *kind, struct ar_str value)
{
	if (!ar_str_absent(value))
		t->key = ar_arena_fmt(&c->arena, "%s:%.*s", kind, AR_STR_ARG(value));
}

/* One receipt per write: an id of the caller's own is as good as a key, and both could disagree. */
static enum ar_status check_one_key(struct ar_str own_id, struct ar_str key, const char *what,
				    struct ar_error *err)
{
	if (ar_str_absent(own_id) || ar_str_absent(key))
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_INPUT,
			 "send %s or idempotencyKey, not both: each alone makes a repeat safe", what);
}

/* A caller's own id must not look like one that the runtime mints. */
static enum ar_status check_own_id(struct ar_str id, const char *what, struct ar_error *err)
{
	if (ar_str_absent(id) || (ar_id_acceptable(id) && ar_str_absent(ar_id_core(id))))
		return AR_OK;
	return ar_refuse(
		err, AR_ERR_INVALID_INPUT,
		"%s: use 1 to %d of A-Z a-z 0-9 . _ : - in a form that the runtime does not mint itself",
		what, AR_ID_MAX);
}

static enum ar_status target_submit(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_submit_turn_in *in = c->input;

	if (check_own_id(in->turn_id, "turnId", err) != AR_OK ||
	    check_one_key(in->turn_id, in->idempotency_key, "turnId", err) != AR_OK)
		return AR_E_REFUSED;
	set_key(c, t, "key", in->idempotency_key);
	set_key(c, t, "turn", in->turn_id);
	if (ar_str_absent(in->session_id)) {
		mint(c, t);
		return AR_OK;
	}
	t->may_create = !ar_str_absent(in->create_policy);
	return ar_call_session(in->session_id, &t->core, err);
}

static enum ar_status target_create(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_create_session_in *in = c->input;

	if (check_one_key(in->session_id, in->idempotency_key, "sessionId", err) != AR_OK)
		return AR_E_REFUSED;
	set_key(c, t, "key", in->idempotency_key);
	if (ar_str_absent(in->session_id)) {
		mint(c, t);
		return AR_OK;
	}
	set_key(c, t, "session", in->session_id);
	t->may_create = true;
	if (ar_call_session(in->session_id, &t->core, err) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "a session id of your own is sess_ and 26 base32 characters");
	return AR_OK;
}

static enum ar_status target_interrupt(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_interrupt_turn_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return ar_call_session(in->session_id, &t->core, err);
}

static enum ar_status target_resume(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_resume_thread_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return ar_call_session(in->session_id, &t->core, err);
}

static enum ar_status target_steer(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_steer_turn_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return ar_call_session(in->session_id, &t->core, err);
}

static enum ar_status target_fork(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_fork_thread_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return ar_call_session(in->session_id, &t->core, err);
}

static enum ar_status target_rollback(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_rollback_thread_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return ar_call_session(in->session_id, &t->core, err);
}

static enum ar_status target_compact(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_compact_thread_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return ar_call_session(in->session_id, &t->core, err);
}

/* Queue commands may name the session, or only an id inside it: every id of ours says which session it is of. */
static enum ar_status core_of_any(const struct ar_str *ids, size_t count, struct target *t,
				  struct ar_error *err)
{
	for (size_t i = 0; i < count; i++) {
		t->core = ar_id_core(ids[i]);
		if (!ar_str_absent(t->core))
			return AR_OK;
	}
	return ar_refuse(err, AR_ERR_INVALID_SCOPE,
			 "name the sessionId; the turn's id alone does not say it");
}

static enum ar_status core_of_action(struct ar_str id, uint16_t code, struct target *t, struct ar_error *err)
{
	t->core = ar_id_core(id);
	if (!ar_str_absent(t->core))
		return AR_OK;
	return ar_refuse(err, code, "there is no action '%.*s'", AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

static enum ar_status target_promote(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_promote_queued_turn_in *in = c->input;
	const struct ar_str ids[] = { in->session_id, in->thread_id, in->queued_turn_id, in->turn_id };

	set_key(c, t, "key", in->idempotency_key);
	return core_of_any(ids, AR_ARRAY_LEN(ids), t, err);
}

static enum ar_status target_remove(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_remove_queued_turn_in *in = c->input;
	const struct ar_str ids[] = { in->session_id, in->thread_id, in->queued_turn_id, in->turn_id };

	set_key(c, t, "key", in->idempotency_key);
	return core_of_any(ids, AR_ARRAY_LEN(ids), t, err);
}

static enum ar_status target_report(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_report_tool_result_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return core_of_any(&in->tool_call_id, 1, t, err);
}

static enum ar_status target_respond(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_respond_action_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return core_of_action(in->action_id, AR_ERR_ACTION_NOT_FOUND, t, err);
}

static enum ar_status target_resolve(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_resolve_permission_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return core_of_action(ar_str_absent(in->action_id) ? in->request_id : in->action_id,
			      AR_ERR_REQUEST_NOT_FOUND, t, err);
}

/* A described act needs its session's name; everything else says it by itself. */
static enum ar_status target_evaluate(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_evaluate_permission_in *in = c->input;
	const struct ar_str ids[] = { in->tool_call_id, in->action_id, in->process_id };

	set_key(c, t, "key", in->idempotency_key);
	if (!ar_str_absent(in->session_id))
		return ar_call_session(in->session_id, &t->core, err);
	if (!ar_str_absent(in->act))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "name the sessionId that the act would be done in");
	for (size_t i = 0; i < AR_ARRAY_LEN(ids); i++) {
		t->core = ar_id_core(ids[i]);
		if (!ar_str_absent(t->core))
			return AR_OK;
	}
	return ar_refuse(err, AR_ERR_SCOPE_NOT_FOUND, "nothing of this runtime has that id");
}

static enum ar_status core_of_process(struct ar_str id, struct target *t, struct ar_error *err)
{
	t->core = ar_id_core(id);
	if (!ar_str_absent(t->core) && ar_str_starts(id, AR_STR("proc_")))
		return AR_OK;
	return ar_refuse(err, AR_ERR_PROCESS_NOT_FOUND, "there is no process '%.*s' of this runtime",
			 AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

static enum ar_status target_write_stdin(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_write_process_stdin_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return core_of_process(in->process_id, t, err);
}

static enum ar_status target_terminate(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_terminate_process_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return core_of_process(in->process_id, t, err);
}

/* The policy of a host and its workspaces is its configuration. */
static enum ar_status target_policy(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_set_policy_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	if (in->scope != AR_SET_POLICY_SCOPE_SESSION)
		return ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
				 "the policy of host and workspaces is the configuration (permission.mode, "
				 "permission_rules); here only a session's is set");
	if (ar_str_absent(in->scope_id))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "scopeId names the session");
	return ar_call_session(in->scope_id, &t->core, err);
}

/* The credential is the door's business; that somebody shows none is told apart. */
static enum ar_status target_connect(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_connect_channel_in *in = c->input;

	if (ar_str_empty(in->credential))
		return ar_refuse(err, AR_ERR_AUTH_FAILED, "the credential is empty");
	if (ar_str_absent(ar_id_core(in->channel_id)) &&
	    check_own_id(in->channel_id, "channelId", err) != AR_OK)
		return AR_E_REFUSED;
	return ar_channel_target(c, in->session_id, in->channel_id, &t->core, err);
}

static enum ar_status target_reconnect(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_reconnect_channel_in *in = c->input;

	if (!ar_str_absent(in->sessions))
		return ar_refuse(err, AR_ERR_UNAVAILABLE,
				 "a call is about one session: name its sessionId, and call for each");
	return ar_channel_target(c, in->session_id, in->channel_id, &t->core, err);
}

static enum ar_status target_ack(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_ack_events_in *in = c->input;

	return ar_channel_target(c, in->session_id, in->channel_id, &t->core, err);
}

static enum ar_status target_post(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_post_channel_message_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return ar_channel_target(c, in->session_id, in->channel_id, &t->core, err);
}

/* Commands about tasks: the member that names the session, the caller's own id and the key, by their places in the input. */
struct task_write {
	size_t task, own, key; /* own, key: 0 when there is none (the first member is never one) */
	const char *kind;
};

#define TASK_WRITE(command, in, key_member) \
	[command] = { .task = offsetof(struct in, task_id), \
		      .key = offsetof(struct in, key_member), \
		      .kind = "key" }
#define RUN_WRITE(command, in) \
	[command] = { .task = offsetof(struct in, task_id), \
		      .own = offsetof(struct in, run_id), \
		      .key = offsetof(struct in, idempotency_key), \
		      .kind = "key" }
#define LINK_WRITE(command, in) \
	[command] = { .task = offsetof(struct in, source_id), \
		      .key = offsetof(struct in, idempotency_key), \
		      .kind = "key" }

static const struct task_write task_writes[AR_CMD_COUNT] = {
	TASK_WRITE(AR_CMD_UPDATE_TASK, ar_cmd_update_task_in, idempotency_key),
	RUN_WRITE(AR_CMD_START_TASK, ar_cmd_start_task_in),
	TASK_WRITE(AR_CMD_APPEND_TASK_PROGRESS, ar_cmd_append_task_progress_in, progress_key),
	TASK_WRITE(AR_CMD_PAUSE_TASK, ar_cmd_pause_task_in, idempotency_key),
	TASK_WRITE(AR_CMD_RESUME_TASK, ar_cmd_resume_task_in, idempotency_key),
	TASK_WRITE(AR_CMD_CANCEL_TASK, ar_cmd_cancel_task_in, idempotency_key),
	RUN_WRITE(AR_CMD_RETRY_TASK, ar_cmd_retry_task_in),
	TASK_WRITE(AR_CMD_COMPLETE_TASK, ar_cmd_complete_task_in, idempotency_key),
	TASK_WRITE(AR_CMD_FAIL_TASK, ar_cmd_fail_task_in, idempotency_key),
	LINK_WRITE(AR_CMD_LINK_TASKS, ar_cmd_link_tasks_in),
	LINK_WRITE(AR_CMD_UNLINK_TASKS, ar_cmd_unlink_tasks_in),
	[AR_CMD_ARCHIVE_TASK] = { .task = offsetof(struct ar_cmd_archive_task_in, task_id) },
};

static struct ar_str member_at(const struct ar_call *c, size_t offset)
{
	return *(const struct ar_str *)((const char *)c->input + offset);
}

static enum ar_status target_task(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct task_write *how = &task_writes[c->command];
	struct ar_str id = member_at(c, how->task), own = how->own ? member_at(c, how->own) : AR_STR_NONE;
	struct ar_str key = how->key ? member_at(c, how->key) : AR_STR_NONE;

	if (check_own_id(own, "runId", err) != AR_OK || check_one_key(own, key, "runId", err) != AR_OK)
		return AR_E_REFUSED;
	set_key(c, t, "key", key);
	set_key(c, t, "run", own);
	t->core = ar_id_owner(id);
	if (!ar_str_absent(t->core))
		return AR_OK;
	return ar_refuse(err, AR_ERR_TASK_NOT_FOUND, "there is no task '%.*s'",
			 AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

/* An id of the caller's own names the session too, as those that the runtime mints do. */
static enum ar_status target_create_task(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_create_task_in *in = c->input;
	struct ar_str id = !ar_str_absent(in->session_id) ? in->session_id
			   : ar_str_absent(in->thread_id) ? in->parent_task_id
							  : in->thread_id;

	t->core = ar_id_owner(id);
	if (ar_str_absent(t->core))
		return ar_refuse(err, AR_ERR_INVALID_SCOPE,
				 "name the sessionId, threadId or parentTaskId that the task belongs to");
	if (check_one_key(in->task_id, in->idempotency_key, "taskId", err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->task_id) &&
	    (!ar_str_absent(ar_id_core(in->task_id)) || !ar_str_eq(ar_id_owner(in->task_id), t->core) ||
	     !ar_str_starts(in->task_id, AR_STR("task_"))))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "a task id of your own is task_%.*s_ and a name that is no number",
				 AR_STR_ARG(t->core));
	set_key(c, t, "key", in->idempotency_key);
	set_key(c, t, "task", in->task_id);
	return AR_OK;
}

static enum ar_status target_see(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_see_action_in *in = c->input;

	return core_of_action(in->action_id, AR_ERR_ACTION_NOT_FOUND, t, err);
}

typedef enum ar_status target_fn(struct ar_call *c, struct target *t, struct ar_error *err);

static target_fn *const targets[AR_CMD_COUNT] = {
	[AR_CMD_SUBMIT_TURN] = target_submit,
	[AR_CMD_CREATE_SESSION] = target_create,
	[AR_CMD_INTERRUPT_TURN] = target_interrupt,
	[AR_CMD_RESUME_THREAD] = target_resume,
	[AR_CMD_STEER_TURN] = target_steer,
	[AR_CMD_FORK_THREAD] = target_fork,
	[AR_CMD_ROLLBACK_THREAD] = target_rollback,
	[AR_CMD_PROMOTE_QUEUED_TURN] = target_promote,
	[AR_CMD_REMOVE_QUEUED_TURN] = target_remove,
	[AR_CMD_REPORT_TOOL_RESULT] = target_report,
	[AR_CMD_COMPACT_THREAD] = target_compact,
	[AR_CMD_RESPOND_ACTION] = target_respond,
	[AR_CMD_RESOLVE_PERMISSION] = target_resolve,
	[AR_CMD_EVALUATE_PERMISSION] = target_evaluate,
	[AR_CMD_SET_POLICY] = target_policy,
	[AR_CMD_WRITE_PROCESS_STDIN] = target_write_stdin,
	[AR_CMD_TERMINATE_PROCESS] = target_terminate,
	[AR_CMD_CONNECT_CHANNEL] = target_connect,
	[AR_CMD_RECONNECT_CHANNEL] = target_reconnect,
	[AR_CMD_ACK_EVENTS] = target_ack,
	[AR_CMD_POST_CHANNEL_MESSAGE] = target_post,
	[AR_CMD_CREATE_TASK] = target_create_task,
	[AR_CMD_UPDATE_TASK] = target_task,
	[AR_CMD_START_TASK] = target_task,
	[AR_CMD_APPEND_TASK_PROGRESS] = target_task,
	[AR_CMD_PAUSE_TASK] = target_task,
	[AR_CMD_RESUME_TASK] = target_task,
	[AR_CMD_CANCEL_TASK] = target_task,
	[AR_CMD_RETRY_TASK] = target_task,
	[AR_CMD_COMPLETE_TASK] = target_task,
	[AR_CMD_FAIL_TASK] = target_task,
	[AR_CMD_LINK_TASKS] = target_task,
	[AR_CMD_UNLINK_TASKS] = target_task,
	[AR_CMD_ARCHIVE_TASK] = target_task,
	[AR_CMD_SEE_ACTION] = target_see,
};

/* The input as the catalogue writes it: spelling, order and spacing of the caller do not count. */
static struct ar_hash input_hash(const struct ar_call *c)
{
	struct ar_buf canonical = { 0 };
	struct ar_jw w = ar_jw(&canonical);
	struct ar_hash h;

	ar_struct_encode(&ar_command_describe(c->command)->in, c->input, AR_STR_NONE, &w);
	h = ar_hash_of(ar_buf_str(&canonical));
	ar_buf_fini(&canonical);
	return h;
}

/* Writes that answer otherwise than with the decision's reply. */
static void (*const particular[AR_CMD_COUNT])(struct ar_call *c, struct ar_str reply) = {
	[AR_CMD_CONNECT_CHANNEL] = ar_channel_connected,
	[AR_CMD_RECONNECT_CHANNEL] = ar_channel_reconnected,
};

static void answered(struct ar_engine_request *r)
{
	struct ar_call *c = AR_CONTAINER_OF(r, struct ar_call_work, write)->call;

	if (r->status != AR_OK) {
		ar_call_fail_or_move(c, &r->err);
		return;
	}
	if (particular[c->command]) {
		particular[c->command](c, r->reply);
		return;
	}
	ar_buf_adds(&c->reply, r->reply);
	ar_call_done(c, ar_command_describe(c->command)->http);
}

void ar_call_send(struct ar_call *c)
{
	if (ar_call_is_here(c, c->work->write.session))
		ar_engine_write(c->control->engine, &c->work->write);
}

/* A session is made under an id that the caller chose: one that no other tenant can have chosen. */
static void send_new(struct ar_call *c)
{
	struct ar_str tenant = ar_control_who(c->who)->tenant;
	char home[AR_ID_CORE];

	if (ar_tenant_may_name(tenant, c->work->write.session)) {
		ar_call_send(c);
		return;
	}
	ar_tenant_home(tenant, home);
	if (ar_tenant_is_local(tenant))
		ar_call_refuse(c, AR_ERR_INVALID_INPUT,
			       "a session id of your own has no \"g\" or \"h\" as the eleventh of its 26 "
			       "characters, and the first ten are not all 0");
	else
		ar_call_refuse(
			c, AR_ERR_INVALID_INPUT,
			"a session id of your own has a \"g\" as the eleventh of its 26 characters and ends "
			"in %.*s for this tenant; idempotencyKey makes a repeat as safe",
			AR_TENANT_MARK, home + AR_ID_CORE - AR_TENANT_MARK);
}

static void add_receipt(struct ar_call *c, struct ar_engine_request *r, struct ar_str key)
{
	if (ar_str_absent(key))
		return;
	r->has_receipt = true;
	r->receipt.scope = ar_arena_fmt(&c->arena, "%.*s/%s", AR_STR_ARG(ar_control_who(c->who)->tenant),
					ar_command_describe(c->command)->name);
	r->receipt.key = key;
	r->receipt.input = input_hash(c);
}

void ar_call_write(struct ar_call *c)
{
	const struct ar_principal *who = ar_control_who(c->who);
	struct ar_engine_request *r = &c->work->write;
	struct target t = { 0 };
	struct ar_error err = { 0 };
	bool is_home;

	if (targets[c->command](c, &t, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	if (t.is_fresh ? !mint_here(c, t.core) : !ar_call_is_here(c, t.core))
		return;
	is_home = ar_tenant_is_home(who->tenant, t.core);
	if (is_home && !ar_channel_is_command(c->command)) {
		ar_call_refuse(c, AR_ERR_NOT_AUTHORIZED,
			       "the home session of a tenant is written by the runtime alone");
		return;
	}
	*r = (struct ar_engine_request){
		.session = t.core, .may_create = t.may_create, .is_fresh = t.is_fresh, .done = answered
	};
	r->input = (struct ar_input){ .kind = AR_IN_COMMAND,
				      .command = c->command,
				      .args = c->input,
				      .account = who->actor,
				      .person = who->person,
				      .tenant = who->tenant };
	ar_channel_tokens(c, &r->input.token);
	add_receipt(c, r, t.key);
	r->audit = ar_trail_of_call(c);
	if (t.is_fresh)
		ar_engine_write(c->control->engine, r);
	else if (is_home)
		ar_channel_write_home(c);
	else
		ar_call_within(c, t.core, ar_call_send, t.may_create ? send_new : ar_call_no_session);
}
