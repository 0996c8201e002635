/* The policy of a session's workspace, before something is decided for the session. The record of the
 * workspace is read from the index, and given to the session as an input of its own, which stands before
 * those that wait: what it decides is a fact of the session, so a replay needs no other log. Recovery, which
 * comes before all inputs, gets the record with it.
 *
 * It is read once after the session was loaded, and again when the log of the workspace says that the policy
 * is another one; a session with open work does not wait for an input then. Changes that another node
 * decides are not seen here, nor those whose commit has an unknown outcome: the record is read again before
 * each turn that is submitted, and before any input when it was read some seconds ago. Owner: the loop
 * thread. */
#include "workspace/policy_run.h"
#include "storage.h"

#define REFRESH ((ar_usec)5 * 1000000) /* how old a record may be that another node can write */
#define UNREADABLE "the record of the session's workspace cannot be read; run agentctl verify --all --repair"

static void on_row(struct ar_store_op *op);

static struct ar_str workspace_key(const struct ar_live *l)
{
	return ar_id_session_key(l->state.bound->workspace_id);
}

/* Another node writes the log of the workspace; or a commit of this one to it has an unknown outcome. */
static bool is_elsewhere(const struct ar_live *l)
{
	if (l->engine->is_workspace_in_doubt)
		return true;
	return ar_partition_any(&l->engine->owned) &&
	       !ar_partition_has(&l->engine->owned, ar_id_partition(workspace_key(l)));
}

static void begin_reading(struct ar_live_policy *p)
{
	struct ar_live *l = p->live;
	struct ar_engine *e = l->engine;

	l->busy++;
	p->is_reading = p->is_known = true; /* a change from now on says otherwise */
	p->is_fresh = !ar_list_empty(&l->inbox);
	p->was_elsewhere = is_elsewhere(l);
	p->read_at = e->o.clock->mono(e->o.clock);
	ar_arena_reset(&p->arena);
	p->read = (struct ar_store_index){ .op = { .kind = AR_STORE_INDEX, .done = on_row } };
	p->read.session = ar_arena_str(&p->arena, workspace_key(l));
	ar_store_submit(e->o.store, &p->read.op);
}

/* A session that waits for people hears of a change, too. */
static void read_if_changed(struct ar_live_policy *p)
{
	const struct ar_live *l = p->live;

	if (!p->is_known && !p->is_reading && !p->is_deciding && l->is_loaded &&
	    ar_session_is_active(&l->state))
		begin_reading(p);
}

/* A session in memory keeps what it recorded, no copy of it. */
static void drop_record(struct ar_live_policy *p)
{
	p->record = (struct ar_shape_workspace_record){ 0 };
	ar_arena_fini(&p->arena);
}

static bool is_recovery_next(const struct ar_live *l)
{
	return l->inbox.next == &l->recovery.node;
}

/* Nothing is decided by a policy that may be old. What was left open is taken up when the session is loaded
 * again (recovery.c). */
static void refuse_next(struct ar_live *l, uint16_t code, const char *message)
{
	struct ar_list *node;

	if (is_recovery_next(l)) {
		ar_live_forget(l);
		ar_live_refuse(l, code, message);
		return;
	}
	node = ar_list_pop(&l->inbox);
	if (node)
		ar_request_refuse(AR_CONTAINER_OF(node, struct ar_engine_request, node), code, message);
}

/* The input that waits was not decided, whatever became of the facts before it. */
static void on_decided(struct ar_engine_request *r)
{
	struct ar_live_policy *p = AR_CONTAINER_OF(r, struct ar_live_policy, request);
	bool is_in_doubt = r->err.code == AR_ERR_OUTCOME_UNKNOWN;

	p->is_deciding = false;
	drop_record(p);
	if (r->status == AR_OK) {
		read_if_changed(p);
		return;
	}
	p->is_known = false;
	refuse_next(p->live, is_in_doubt ? AR_ERR_STORAGE_UNAVAILABLE : r->err.code, r->err.msg);
}

/* Without a row the session goes by what it has recorded; a row that cannot be read may say more. */
static bool read_record(struct ar_live_policy *p)
{
	struct ar_json v;

	p->record = (struct ar_shape_workspace_record){ 0 };
	return !p->read.has_row ||
	       (ar_json_parse(p->live->engine->json, p->read.row.shell, &v, NULL) == AR_OK &&
		ar_struct_decode_strict(&ar_shape_workspace_record_desc, v, &p->arena, &p->record, NULL,
					NULL) == AR_OK);
}

static void push_record(struct ar_live_policy *p)
{
	p->is_deciding = true;
	p->request = (struct ar_engine_request){ .done = on_decided };
	p->request.input.kind = AR_IN_WORKSPACE;
	p->request.input.workspace = &p->record;
	ar_list_push(p->live->inbox.next, &p->request.node); /* before all others */
}

static void give_record(struct ar_live_policy *p)
{
	struct ar_live *l = p->live;

	if (!p->record.policy && !l->state.workspace_policy)
		drop_record(p);
	else if (is_recovery_next(l))
		l->recovery.input.recover.workspace = &p->record;
	else
		push_record(p);
}

static void not_read(struct ar_live_policy *p, uint16_t code, const char *why)
{
	struct ar_live *l = p->live;

	p->is_known = false;
	drop_record(p);
	l->is_pumping = true; /* callbacks may bring new inputs */
	refuse_next(l, code, why);
	l->is_pumping = false;
}

static void on_row(struct ar_store_op *op)
{
	struct ar_live_policy *p = AR_CONTAINER_OF(op, struct ar_live_policy, read.op);
	struct ar_live *l = p->live;
	struct ar_mark_before before = ar_mark_enter(l);
	struct ar_engine *e = l->engine;
	bool is_read = op->status == AR_OK && read_record(p);

	p->is_reading = false;
	l->busy--;
	if (e->is_stopping)
		not_read(p, AR_ERR_UNAVAILABLE, AR_STOPPING);
	else if (op->status != AR_OK)
		not_read(p, ar_storage_code(op->status), op->err.msg);
	else if (!is_read)
		not_read(p, AR_ERR_STORAGE_UNAVAILABLE, UNREADABLE);
	else if (p->is_known)
		give_record(p);
	else
		drop_record(p); /* it is another one meanwhile */
	ar_store_op_fini(op);
	if (is_read && !e->is_stopping)
		read_if_changed(p);
	ar_live_pump(l);
	ar_mark_leave(e, before);
}

static bool is_old(const struct ar_live_policy *p, const struct ar_engine_request *r)
{
	struct ar_clock *clock = p->live->engine->o.clock;

	if (!p->is_known)
		return true;
	if (p->is_fresh || (!p->was_elsewhere && !is_elsewhere(p->live)))
		return false;
	return (r->input.kind == AR_IN_COMMAND && r->input.command.id == AR_CMD_SUBMIT_TURN) ||
	       clock->mono(clock) - p->read_at > REFRESH;
}

static struct ar_live_policy *policy_of(struct ar_live *l)
{
	if (l->policy)
		return l->policy;
	l->policy = ar_new0(sizeof(*l->policy));
	l->policy->live = l;
	return l->policy;
}

/* A session that was loaded anew takes up its open work first. */
static void take_back(struct ar_live_policy *p)
{
	if (!p->is_deciding)
		return;
	ar_list_del(&p->request.node);
	p->is_deciding = false;
}

bool ar_policy_hold(struct ar_live *l)
{
	const struct ar_engine_request *r;
	struct ar_live_policy *p;

	if (!l->state.bound || ar_list_empty(&l->inbox))
		return false;
	p = policy_of(l);
	r = AR_CONTAINER_OF(l->inbox.next, struct ar_engine_request, node);
	if (r == &p->request || r->input.kind == AR_IN_REPAIR) /* a repair goes by no policy */
		return false;
	if (is_recovery_next(l))
		take_back(p);
	if (!p->is_reading && !p->is_deciding && is_old(p, r))
		begin_reading(p);
	if (!p->is_reading)
		p->is_fresh = false; /* it was for this input */
	return p->is_reading;
}

void ar_policy_changed(const struct ar_live *workspace)
{
	const struct ar_shape_workspace_record *changed = workspace->state.own;
	struct ar_live *l;
	size_t cursor = 0;

	while (changed && (l = ar_map_next(&workspace->engine->sessions, &cursor))) {
		if (!l->is_loaded || !l->state.bound ||
		    !ar_str_eq(l->state.bound->workspace_id, changed->workspace_id))
			continue;
		policy_of(l)->is_known = false;
		read_if_changed(l->policy);
	}
}

void ar_policy_recovered(struct ar_live *l)
{
	struct ar_live_policy *p = l->policy;

	l->recovery.input.recover.workspace = NULL;
	if (p && !p->is_reading && !p->is_deciding)
		drop_record(p);
}

void ar_policy_forget(struct ar_live *l)
{
	if (l->policy)
		l->policy->is_known = false;
}

void ar_policy_drop(struct ar_live *l)
{
	if (!l->policy)
		return;
	ar_store_op_fini(&l->policy->read.op);
	ar_arena_fini(&l->policy->arena);
	ar_free(l->policy);
}
