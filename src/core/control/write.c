/* A write: which session it is for, what makes a repeat of it the same write, and its answer. */
#include "audit/trail.h"
#include "control_priv.h"
#include "job/job.h"
#include "schedule/schedule.h"
#include "tenant.h"
#include "webhook/control_webhook.h"
#include "worker/worker.h"
#include "workspace/workspace.h"

#include <string.h>

/* Where a write goes, and under which key it is known. Text in the call's arena. */
struct target {
	struct ar_str session_key;
	bool may_create, is_fresh;
	struct ar_str key; /* absent: the write is not protected against repeats */
};

static void mint(struct ar_call *c, struct target *t)
{
	t->session_key = (struct ar_str){ ar_arena_alloc(&c->arena, AR_SESSION_KEY_LEN), AR_SESSION_KEY_LEN };
	t->may_create = t->is_fresh = true;
}

static void mint_key(const struct ar_call *c, struct ar_str session_key)
{
	struct ar_str tenant = ar_control_who(c->who)->tenant;

	if (c->command == AR_CMD_CREATE_WORKSPACE)
		ar_workspace_mint(tenant, AR_STR_NONE, (char *)session_key.p);
	else if (c->command == AR_CMD_CREATE_WORKER)
		ar_worker_mint(tenant, AR_STR_NONE, (char *)session_key.p);
	else if (c->command == AR_CMD_CREATE_SCHEDULE)
		ar_schedule_mint(tenant, AR_STR_NONE, (char *)session_key.p);
	else
		ar_tenant_mint(tenant, (char *)session_key.p);
}

/* A new session is one of ours: ids are minted until one falls into a partition that is. False: none
 * is, and the call went elsewhere. */
static bool mint_here(struct ar_call *c, struct ar_str session_key)
{
	struct ar_str address;

	if (!ar_call_is_here(c, AR_STR_NONE))
		return false;
	do
		mint_key(c, session_key);
	while (ar_control_place(c->control, session_key, &address) != AR_PLACE_HERE);
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
	if (ar_str_absent(id) || (ar_id_acceptable(id) && ar_str_absent(ar_id_session_key(id))))
		return AR_OK;
	return ar_refuse(
		err, AR_ERR_INVALID_INPUT,
		"%s: use 1 to %d of A-Z a-z 0-9 . _ : - in a form that the runtime does not generate", what,
		AR_ID_MAX);
}

/* ---- writes whose target is declared ---- */

static struct ar_str text_at(const struct ar_call *c, size_t offset)
{
	return *(const struct ar_str *)((const char *)c->input + offset);
}

static struct ar_str member_of(const struct ar_call *c, const struct ar_text_member *m)
{
	return m->name ? text_at(c, m->at) : AR_STR_NONE;
}

static enum ar_status session_key_of_session(const struct ar_target_desc *how AR_UNUSED, struct ar_str id,
					     struct target *t, struct ar_error *err)
{
	return ar_call_session(id, &t->session_key, err);
}

/* Every id of ours says which session it is of. */
static enum ar_status session_key_of_any(const struct ar_target_desc *how AR_UNUSED, struct ar_str id,
					 struct target *t, struct ar_error *err)
{
	t->session_key = ar_id_owner(id);
	if (!ar_str_absent(t->session_key))
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_SCOPE, "name the sessionId; the turn's id does not contain it");
}

static enum ar_status session_key_of_action(const struct ar_target_desc *how, struct ar_str id,
					    struct target *t, struct ar_error *err)
{
	t->session_key = ar_id_session_key(id);
	if (!ar_str_absent(t->session_key))
		return AR_OK;
	return ar_refuse(err, how->error, "there is no action '%.*s'",
			 AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

static enum ar_status session_key_of_process(const struct ar_target_desc *how, struct ar_str id,
					     struct target *t, struct ar_error *err)
{
	t->session_key = ar_id_session_key(id);
	if (!ar_str_absent(t->session_key) && ar_str_starts(id, AR_STR("proc_")))
		return AR_OK;
	return ar_refuse(err, how->error, "there is no process '%.*s' of this runtime",
			 AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

static enum ar_status session_key_of_workspace(const struct ar_target_desc *how, struct ar_str id,
					       struct target *t, struct ar_error *err)
{
	t->session_key = ar_workspace_key_in(id);
	if (!ar_str_absent(t->session_key))
		return AR_OK;
	return ar_refuse(err, how->error, "%s", AR_NO_WORKSPACE);
}

static enum ar_status session_key_of_worker(const struct ar_target_desc *how, struct ar_str id,
					    struct target *t, struct ar_error *err)
{
	t->session_key = ar_worker_key_in(id);
	if (!ar_str_absent(t->session_key))
		return AR_OK;
	return ar_refuse(err, how->error, "%s", AR_NO_WORKER);
}

static enum ar_status session_key_of_schedule(const struct ar_target_desc *how, struct ar_str id,
					      struct target *t, struct ar_error *err)
{
	t->session_key = ar_schedule_key_in(id);
	if (!ar_str_absent(t->session_key))
		return AR_OK;
	return ar_refuse(err, how->error, "%s", AR_NO_SCHEDULE);
}

/* An id of the caller's own names the session, too. */
static enum ar_status session_key_of_task(const struct ar_target_desc *how, struct ar_str id,
					  struct target *t, struct ar_error *err)
{
	t->session_key = ar_id_owner(id);
	if (!ar_str_absent(t->session_key))
		return AR_OK;
	return ar_refuse(err, how->error, "there is no task '%.*s'", AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

/* The same of a child agent. */
static enum ar_status session_key_of_subagent(const struct ar_target_desc *how, struct ar_str id,
					      struct target *t, struct ar_error *err)
{
	t->session_key = ar_id_owner(id);
	if (!ar_str_absent(t->session_key) && ar_str_starts(id, AR_STR("sub_")))
		return AR_OK;
	return ar_refuse(err, how->error, "there is no subagent '%.*s'",
			 AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

static enum ar_status session_key_of_job(const struct ar_target_desc *how, struct ar_str id, struct target *t,
					 struct ar_error *err)
{
	t->session_key = ar_id_owner(id);
	if (!ar_str_absent(t->session_key))
		return AR_OK;
	return ar_refuse(err, how->error, "there is no job '%.*s'", AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
}

typedef enum ar_status session_key_fn(const struct ar_target_desc *how, struct ar_str id, struct target *t,
				      struct ar_error *err);

static session_key_fn *const session_key_by_target[] = {
	[AR_TARGET_SESSION] = session_key_of_session,	[AR_TARGET_ANY] = session_key_of_any,
	[AR_TARGET_ACTION] = session_key_of_action,	[AR_TARGET_PROCESS] = session_key_of_process,
	[AR_TARGET_TASK] = session_key_of_task,		[AR_TARGET_WORKSPACE] = session_key_of_workspace,
	[AR_TARGET_WORKER] = session_key_of_worker,	[AR_TARGET_SUBAGENT] = session_key_of_subagent,
	[AR_TARGET_SCHEDULE] = session_key_of_schedule, [AR_TARGET_JOB] = session_key_of_job,
};

/* The first member that is there; where any of several will do, the first that says
 * which session it is of. */
static struct ar_str naming_id(const struct ar_call *c, const struct ar_target_desc *how)
{
	for (size_t i = 0; i < how->count; i++) {
		struct ar_str id = text_at(c, how->at[i]);

		if (!ar_str_absent(how->kind == AR_TARGET_ANY ? ar_id_owner(id) : id))
			return id;
	}
	return AR_STR_NONE;
}

/* runId: "run" */
static const char *kind_of(struct ar_call *c, const struct ar_text_member *id)
{
	return id->name ? ar_arena_fmt(&c->arena, "%.*s", (int)strlen(id->name) - 2, id->name).p : "";
}

static enum ar_status target_declared(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_target_desc *how = &ar_command_describe(c->command)->target;
	struct ar_str key = member_of(c, &how->key), own = member_of(c, &how->own_id);

	if (check_own_id(own, how->own_id.name, err) != AR_OK ||
	    check_one_key(own, key, how->own_id.name, err) != AR_OK)
		return AR_E_REFUSED;
	set_key(c, t, "key", key);
	set_key(c, t, kind_of(c, &how->own_id), own);
	return session_key_by_target[how->kind](how, naming_id(c, how), t, err);
}

/* ---- writes that find their target themselves ---- */

static enum ar_status target_create_workspace(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_create_workspace_in *in = c->input;
	struct ar_str tenant = ar_control_who(c->who)->tenant;

	set_key(c, t, "key", in->idempotency_key);
	mint(c, t);
	if (ar_str_absent(in->root)) {
		t->is_fresh = ar_str_absent(in->idempotency_key);
		if (!t->is_fresh)
			ar_workspace_mint(tenant, in->idempotency_key, (char *)t->session_key.p);
		return AR_OK;
	}
	t->is_fresh = false;
	if (!ar_str_absent(in->worker)) {
		ar_workspace_key(tenant,
				 ar_arena_fmt(&c->arena, "%.*s/%.*s", AR_STR_ARG(in->worker),
					      AR_STR_ARG(in->root)),
				 (char *)t->session_key.p);
		return AR_OK;
	}
	if (!ar_str_is_plain_path(in->root))
		return ar_refuse(
			err, AR_ERR_INVALID_INPUT,
			"root is the absolute path of a folder, without '.', '..', repeated or final '/'");
	ar_workspace_key(tenant, in->root, (char *)t->session_key.p);
	return AR_OK;
}

static enum ar_status target_create_worker(struct ar_call *c, struct target *t,
					   struct ar_error *err AR_UNUSED)
{
	const struct ar_cmd_create_worker_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	mint(c, t);
	t->is_fresh = ar_str_absent(in->idempotency_key);
	if (!t->is_fresh)
		ar_worker_mint(ar_control_who(c->who)->tenant, in->idempotency_key, (char *)t->session_key.p);
	return AR_OK;
}

static enum ar_status target_create_schedule(struct ar_call *c, struct target *t,
					     struct ar_error *err AR_UNUSED)
{
	const struct ar_cmd_create_schedule_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	mint(c, t);
	t->is_fresh = ar_str_absent(in->idempotency_key);
	if (!t->is_fresh)
		ar_schedule_mint(ar_control_who(c->who)->tenant, in->idempotency_key,
				 (char *)t->session_key.p);
	return AR_OK;
}

/* The token that was shown names the worker. */
static enum ar_status target_enrol_worker(struct ar_call *c, struct target *t, struct ar_error *err)
{
	t->session_key = ar_worker_key_in(ar_control_who(c->who)->worker);
	if (!ar_str_absent(t->session_key))
		return AR_OK;
	return ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
			 "enrol_worker needs the enrolment token of a worker, from create_worker");
}

static enum ar_status target_submit_turn(struct ar_call *c, struct target *t, struct ar_error *err)
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
	t->may_create = in->create_policy != NULL;
	return ar_call_session(in->session_id, &t->session_key, err);
}

static enum ar_status target_create_session(struct ar_call *c, struct target *t, struct ar_error *err)
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
	if (ar_call_session(in->session_id, &t->session_key, err) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "a custom session id is sess_ and 26 base32 characters");
	return AR_OK;
}

/* A described act needs its session's name; everything else says it by itself. */
static enum ar_status target_evaluate_permission(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_evaluate_permission_in *in = c->input;
	const struct ar_str ids[] = { in->tool_call_id, in->action_id, in->process_id };

	set_key(c, t, "key", in->idempotency_key);
	if (!ar_str_absent(in->session_id))
		return ar_call_session(in->session_id, &t->session_key, err);
	if (in->act)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "send the sessionId of the act");
	for (size_t i = 0; i < AR_ARRAY_LEN(ids); i++) {
		t->session_key = ar_id_session_key(ids[i]);
		if (!ar_str_absent(t->session_key))
			return AR_OK;
	}
	return ar_refuse(err, AR_ERR_SCOPE_NOT_FOUND, "there is nothing with that id in this runtime");
}

/* The policy of a host is its configuration: a second place would be a second truth. */
static enum ar_status target_set_policy(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_set_policy_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	if (in->scope == AR_SET_POLICY_SCOPE_HOST)
		return ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
				 "the policy of the host is in the settings file of agentd (permission.mode, "
				 "permission_rules, budget): change it there and start agentd again, which "
				 "records the change; a workspace or a session can be set here");
	if (ar_str_absent(in->scope_id))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "scopeId names the session or the workspace");
	if (in->scope == AR_SET_POLICY_SCOPE_WORKSPACE)
		return session_key_of_workspace(
			&(struct ar_target_desc){ .error = AR_ERR_WORKSPACE_NOT_FOUND }, in->scope_id, t,
			err);
	return ar_call_session(in->scope_id, &t->session_key, err);
}

/* The credential is checked by authentication; a call without one is refused differently. */
static enum ar_status target_connect_channel(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_connect_channel_in *in = c->input;

	if (ar_str_empty(in->credential))
		return ar_refuse(err, AR_ERR_AUTH_FAILED, "the credential is empty");
	if (ar_str_absent(ar_id_session_key(in->channel_id)) &&
	    check_own_id(in->channel_id, "channelId", err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_channel_check_claims(c, err) != AR_OK)
		return AR_E_REFUSED;
	return ar_channel_target(c, in->session_id, in->channel_id, &t->session_key, err);
}

static enum ar_status target_reconnect_channel(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_reconnect_channel_in *in = c->input;

	if (ar_channel_target(c, in->session_id, in->channel_id, &t->session_key, err) != AR_OK)
		return AR_E_REFUSED;
	return ar_channel_check_sessions(in, t->session_key, err);
}

static enum ar_status target_ack_events(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_ack_events_in *in = c->input;

	return ar_channel_target(c, in->session_id, in->channel_id, &t->session_key, err);
}

static enum ar_status target_post_channel_message(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_post_channel_message_in *in = c->input;

	set_key(c, t, "key", in->idempotency_key);
	return ar_channel_target(c, in->session_id, in->channel_id, &t->session_key, err);
}

/* An id of the caller's own names the session too, as those that the runtime mints do. */
static enum ar_status target_create_task(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_create_task_in *in = c->input;
	struct ar_str id = !ar_str_absent(in->session_id) ? in->session_id
			   : ar_str_absent(in->thread_id) ? in->parent_task_id
							  : in->thread_id;

	t->session_key = ar_id_owner(id);
	if (ar_str_absent(t->session_key))
		return ar_refuse(err, AR_ERR_INVALID_SCOPE,
				 "name the sessionId, threadId or parentTaskId that the task belongs to");
	if (check_one_key(in->task_id, in->idempotency_key, "taskId", err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->task_id) && (!ar_str_absent(ar_id_session_key(in->task_id)) ||
					    !ar_str_eq(ar_id_owner(in->task_id), t->session_key) ||
					    !ar_str_starts(in->task_id, AR_STR("task_"))))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "a custom task id is task_%.*s_ and a name that is not a number",
				 AR_STR_ARG(t->session_key));
	set_key(c, t, "key", in->idempotency_key);
	set_key(c, t, "task", in->task_id);
	return AR_OK;
}

/* As with tasks: an id of the caller's own names the session. */
static enum ar_status target_spawn_subagent(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_spawn_subagent_in *in = c->input;

	if (ar_call_session(in->session_id, &t->session_key, err) != AR_OK ||
	    check_one_key(in->subagent_id, in->idempotency_key, "subagentId", err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(in->subagent_id) && (!ar_str_absent(ar_id_session_key(in->subagent_id)) ||
						!ar_str_eq(ar_id_owner(in->subagent_id), t->session_key) ||
						!ar_str_starts(in->subagent_id, AR_STR("sub_"))))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "a custom subagent id is sub_%.*s_ and a name that is not a number",
				 AR_STR_ARG(t->session_key));
	set_key(c, t, "key", in->idempotency_key);
	set_key(c, t, "subagent", in->subagent_id);
	return AR_OK;
}

static enum ar_status target_report_webhook(struct ar_call *c, struct target *t,
					    struct ar_error *err AR_UNUSED)
{
	t->session_key = ar_control_home(c->who, &c->arena);
	return AR_OK;
}

static enum ar_status target_set_task_push(struct ar_call *c, struct target *t,
					   struct ar_error *err AR_UNUSED)
{
	t->session_key = ar_control_home(c->who, &c->arena);
	return AR_OK;
}

static enum ar_status target_remove_task_push(struct ar_call *c, struct target *t, struct ar_error *err)
{
	return target_set_task_push(c, t, err);
}

static enum ar_status target_redeliver_webhook(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_redeliver_webhook_in *in = c->input;

	t->session_key = ar_control_home(c->who, &c->arena);
	return ar_webhook_check(c, in->name, err);
}

/* That of its task, of its own id, the one that is named, or a new one. */
static enum ar_status target_create_job(struct ar_call *c, struct target *t, struct ar_error *err)
{
	const struct ar_cmd_create_job_in *in = c->input;
	struct ar_str id = !ar_str_absent(in->session_id) ? in->session_id
			   : ar_str_absent(in->task_id)	  ? in->job_id
							  : in->task_id;

	if (check_one_key(in->job_id, in->idempotency_key, "jobId", err) != AR_OK)
		return AR_E_REFUSED;
	set_key(c, t, "key", in->idempotency_key);
	set_key(c, t, "job", in->job_id);
	if (ar_str_absent(id)) {
		mint(c, t);
		return AR_OK;
	}
	t->session_key = ar_id_owner(id);
	/* a run of a schedule names the session that it makes */
	t->may_create = ar_control_who(c->who)->is_runtime && in->create_policy != NULL;
	if (ar_str_absent(t->session_key))
		return ar_refuse(err, AR_ERR_SESSION_NOT_FOUND, "there is no session of '%.*s'",
				 AR_STR_ARG(ar_str_utf8_prefix(id, 64)));
	if (!ar_str_absent(in->job_id) &&
	    (!ar_str_absent(ar_id_session_key(in->job_id)) ||
	     !ar_str_eq(ar_id_owner(in->job_id), t->session_key) || in->job_id.len > AR_JOB_ID_MAX ||
	     !ar_id_acceptable(in->job_id) || !ar_str_starts(in->job_id, AR_STR("job_"))))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "a custom job id is job_%.*s_ and a name that is not a number, at most %d "
				 "characters",
				 AR_STR_ARG(t->session_key), AR_JOB_ID_MAX);
	return AR_OK;
}

typedef enum ar_status target_fn(struct ar_call *c, struct target *t, struct ar_error *err);

/* The catalogue says which these are: one without its function does not compile. */
#define BY_COMMAND(id, name) [AR_CMD_##id] = target_##name,
static target_fn *const targets[AR_CMD_COUNT] = { AR_OWN_TARGETS(BY_COMMAND) };
#undef BY_COMMAND

static enum ar_status find_target(struct ar_call *c, struct target *ret, struct ar_error *err)
{
	return (targets[c->command] ? targets[c->command] : target_declared)(c, ret, err);
}

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
	[AR_CMD_CONNECT_CHANNEL] = ar_channel_connected, [AR_CMD_RECONNECT_CHANNEL] = ar_channel_reconnected,
	[AR_CMD_CREATE_WORKER] = ar_worker_created,	 [AR_CMD_ENROL_WORKER] = ar_worker_enrolled,
	[AR_CMD_REMOVE_WORKER] = ar_worker_removed,	 [AR_CMD_REDELIVER_WEBHOOK] = ar_webhook_redelivering,
	[AR_CMD_SET_TASK_PUSH] = ar_push_changed,	 [AR_CMD_REMOVE_TASK_PUSH] = ar_push_changed,
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
	char home[AR_SESSION_KEY_LEN];

	if (ar_tenant_may_name(tenant, c->work->write.session)) {
		ar_call_send_bound(c);
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
			AR_TENANT_MARK, home + AR_SESSION_KEY_LEN - AR_TENANT_MARK);
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

static bool is_of_workspace(const struct ar_call *c)
{
	const struct ar_cmd_set_policy_in *in = c->input;

	return ar_workspace_is_command(c->command) ||
	       (c->command == AR_CMD_SET_POLICY && in->scope == AR_SET_POLICY_SCOPE_WORKSPACE);
}

/* Nobody but its own commands writes to such a log; a schedule also gets the reports of what it started. */
static bool is_for_reserved(const struct ar_call *c, struct ar_str session_key)
{
	return is_of_workspace(c) || ar_worker_is_command(c->command) || ar_schedule_is_command(c->command) ||
	       ((c->command == AR_CMD_REPORT_TURN || c->command == AR_CMD_REPORT_JOB) &&
		ar_key_is_schedule(session_key));
}

void ar_call_write(struct ar_call *c)
{
	const struct ar_principal *who = ar_control_who(c->who);
	struct ar_engine_request *r = &c->work->write;
	struct target t = { 0 };
	struct ar_error err = { 0 };
	bool is_home;

	if (find_target(c, &t, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	if (t.is_fresh ? !mint_here(c, t.session_key) : !ar_call_is_here(c, t.session_key))
		return;
	is_home = ar_tenant_is_home(who->tenant, t.session_key);
	if (is_home && !ar_channel_is_command(c->command) && !ar_webhook_is_command(c->command)) {
		ar_call_refuse(c, AR_ERR_NOT_AUTHORIZED,
			       "the home session of a tenant is written by the runtime alone");
		return;
	}
	if (ar_key_is_reserved(t.session_key) && !is_for_reserved(c, t.session_key)) {
		ar_call_no_session(c);
		return;
	}
	*r = (struct ar_engine_request){
		.session = t.session_key, .may_create = t.may_create, .is_fresh = t.is_fresh, .done = answered
	};
	r->input = (struct ar_input){ .kind = AR_IN_COMMAND,
				      .command = { .id = c->command, .args = c->input },
				      .account = who->actor,
				      .person = who->person,
				      .tenant = who->tenant,
				      .is_runtime = who->is_runtime,
				      .trace_parent = ar_arena_str(&c->arena, c->from.trace_parent) };
	ar_channel_tokens(c, &r->input.command.token);
	if (ar_push_seal(c, &r->input.command, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	add_receipt(c, r, t.key);
	r->audit = ar_trail_of_call(c);
	if (is_of_workspace(c))
		ar_workspace_write(c);
	else if (ar_worker_is_command(c->command))
		ar_worker_write(c);
	else if (ar_schedule_is_command(c->command))
		ar_schedule_write(c);
	else if (t.is_fresh)
		ar_call_send_bound(c);
	else if (is_home)
		ar_channel_write_home(c);
	else
		ar_call_check_tenant(c, t.session_key, ar_call_send,
				     t.may_create ? send_new : ar_call_no_session);
}
