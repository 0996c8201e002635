/* A write: which session it is for, what makes a repeat of it the same write, and its answer. */
#include "control_priv.h"

#define HTTP_OK 200
#define HTTP_ACCEPTED 202

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
		ar_id_mint((char *)core.p);
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

typedef enum ar_status target_fn(struct ar_call *c, struct target *t, struct ar_error *err);

static target_fn *const targets[AR_CMD_COUNT] = {
	[AR_CMD_SUBMIT_TURN] = target_submit,	      [AR_CMD_CREATE_SESSION] = target_create,
	[AR_CMD_INTERRUPT_TURN] = target_interrupt,   [AR_CMD_RESUME_THREAD] = target_resume,
	[AR_CMD_STEER_TURN] = target_steer,	      [AR_CMD_FORK_THREAD] = target_fork,
	[AR_CMD_ROLLBACK_THREAD] = target_rollback,   [AR_CMD_PROMOTE_QUEUED_TURN] = target_promote,
	[AR_CMD_REMOVE_QUEUED_TURN] = target_remove,  [AR_CMD_REPORT_TOOL_RESULT] = target_report,
	[AR_CMD_COMPACT_THREAD] = target_compact,     [AR_CMD_RESPOND_ACTION] = target_respond,
	[AR_CMD_RESOLVE_PERMISSION] = target_resolve, [AR_CMD_SET_POLICY] = target_policy,
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

static void answered(struct ar_engine_request *r)
{
	struct ar_call *c = AR_CONTAINER_OF(r, struct ar_call_work, write)->call;

	if (r->status != AR_OK) {
		ar_call_fail_or_move(c, &r->err);
		return;
	}
	ar_buf_adds(&c->reply, r->reply);
	ar_call_done(c, c->command == AR_CMD_SUBMIT_TURN ? HTTP_ACCEPTED : HTTP_OK);
}

void ar_call_write(struct ar_call *c)
{
	struct ar_engine_request *r = &c->work->write;
	struct target t = { 0 };
	struct ar_error err = { 0 };

	if (targets[c->command](c, &t, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	if (t.is_fresh ? !mint_here(c, t.core) : !ar_call_is_here(c, t.core))
		return;
	*r = (struct ar_engine_request){
		.session = t.core, .may_create = t.may_create, .is_fresh = t.is_fresh, .done = answered
	};
	r->input = (struct ar_input){
		.kind = AR_IN_COMMAND, .command = c->command, .args = c->input, .account = c->account
	};
	if (!ar_str_absent(t.key)) {
		r->has_receipt = true;
		r->receipt.scope = ar_arena_fmt(&c->arena, "%.*s/%s", AR_STR_ARG(c->account),
						ar_command_describe(c->command)->name);
		r->receipt.key = t.key;
		r->receipt.input = input_hash(c);
	}
	ar_engine_write(c->control->engine, r);
}
