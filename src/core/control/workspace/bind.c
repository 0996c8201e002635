/* The workspace that a new session names: read from the index row of its log before the session is made, so
 * that the decision needs nothing but its input. Owner: the loop thread. */
#include "control_priv.h"
#include "workspace/workspace.h"
#include "storage.h"
#include "tenant.h"

static struct ar_str named_workspace(const struct ar_call *c)
{
	const struct ar_cmd_submit_turn_in *turn = c->input;
	const struct ar_cmd_create_job_in *job = c->input;

	if (c->command == AR_CMD_CREATE_SESSION)
		return ((const struct ar_cmd_create_session_in *)c->input)->workspace_id;
	if (c->command == AR_CMD_SUBMIT_TURN && turn->create_policy)
		return turn->create_policy->workspace_id;
	if (c->command == AR_CMD_CREATE_JOB && job->create_policy)
		return job->create_policy->workspace_id;
	return AR_STR_NONE;
}

static bool creates_session(const struct ar_call *c)
{
	return c->command == AR_CMD_CREATE_SESSION || c->command == AR_CMD_SUBMIT_TURN;
}

const void *ar_call_index_record(struct ar_call *c, const struct ar_struct_desc *desc, size_t size)
{
	const struct ar_store_index *index = &c->work->index;
	void *record = ar_arena_alloc(&c->arena, size);
	struct ar_json v;

	if (index->op.status != AR_OK || !index->has_row || ar_str_absent(index->row.shell) ||
	    ar_json_parse(c->control->json, index->row.shell, &v, NULL) != AR_OK ||
	    ar_struct_decode_strict(desc, v, &c->arena, record, NULL, NULL) != AR_OK)
		return NULL;
	return record;
}

/* ---- the folder that the session is to have for itself ---- */

struct own_folder {
	struct ar_call *call;
	struct ar_folder_request request;
};

static int isolation_of(const struct ar_call *c, const struct ar_shape_workspace_record *record)
{
	const struct ar_cmd_submit_turn_in *turn = c->input;
	int wanted;

	if (c->command == AR_CMD_CREATE_JOB)
		return AR_WORKSPACE_ISOLATION_SHARED; /* nothing works in the session of a job itself */
	wanted = c->command == AR_CMD_CREATE_SESSION
			 ? ((const struct ar_cmd_create_session_in *)c->input)->isolation
			 : turn->create_policy->isolation;

	return wanted ? wanted : record->isolation ? record->isolation : AR_WORKSPACE_ISOLATION_SHARED;
}

static void on_own_folder(struct ar_folder_request *r)
{
	struct own_folder *own = AR_CONTAINER_OF(r, struct own_folder, request);
	struct ar_call *c = own->call;

	if (r->status != AR_OK) {
		ar_call_fail(c, &r->err);
		return;
	}
	c->work->write.input.command.own_folder = r->folder;
	ar_call_send(c);
}

/* Before the decision: an empty folder that no session refers to harms nobody. */
static void make_own_folder(struct ar_call *c, const struct ar_shape_workspace_record *record)
{
	struct own_folder *own = ar_arena_alloc(&c->arena, sizeof(*own));

	own->call = c;
	own->request = (struct ar_folder_request){ .root = record->root,
						   .home = ar_control_home(c->who, &c->arena),
						   .key = ar_workspace_key_in(record->workspace_id),
						   .session = c->work->write.session,
						   .arena = &c->arena,
						   .done = on_own_folder };
	c->control->find_folder(c->control->folder_arg, &own->request);
}

static void on_row(struct ar_store_op *op)
{
	struct ar_call_work *w = AR_CONTAINER_OF(op, struct ar_call_work, index.op);
	struct ar_call *c = w->call;
	const struct ar_shape_workspace_record *record =
		ar_call_index_record(c, &ar_shape_workspace_record_desc, sizeof(*record));

	ar_store_op_fini(op); /* first: the answer gives the call's memory back */
	if (op->status != AR_OK) {
		ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
		return;
	}
	if (!record || !ar_str_eq(record->tenant, ar_control_who(c->who)->tenant)) {
		w->on_foreign(c);
		return;
	}
	/* One that is archived is refused by the decision: a repeat of an old write is answered as then. */
	w->write.input.command.workspace = record;
	if (isolation_of(c, record) == AR_WORKSPACE_ISOLATION_SHARED || !c->control->find_folder ||
	    ar_workspace_is_far(record)) /* none is made here for files that are elsewhere */
		ar_call_send(c);
	else
		make_own_folder(c, record);
}

void ar_call_bind(struct ar_call *c, struct ar_str key, ar_query_fn *on_unknown)
{
	struct ar_call_work *w = c->work;

	w->on_foreign = on_unknown;
	w->index =
		(struct ar_store_index){ .op = { .kind = AR_STORE_INDEX, .done = on_row }, .session = key };
	ar_store_submit(c->control->store, &w->index.op);
}

static void bind_named(struct ar_call *c)
{
	ar_call_bind(c, ar_workspace_key_in(named_workspace(c)), ar_workspace_refuse_unknown);
}

void ar_call_send_bound(struct ar_call *c)
{
	struct ar_str key = ar_workspace_key_in(named_workspace(c));

	if (!ar_str_absent(key))
		ar_call_check_tenant(c, key, bind_named, ar_workspace_refuse_unknown);
	else if (ar_engine_policy(c->control->engine)->default_workspace && creates_session(c))
		ar_workspace_use_default(c);
	else
		ar_call_send(c);
}
