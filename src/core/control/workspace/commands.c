/* Commands about workspaces. Each has a log of its own (core/session/workspace): a write goes there like
 * any other, after the folder of a new one was looked at or made; a list comes out of the index. One of
 * another tenant is as if it did not exist. Owner: the loop thread. */
#include "control_priv.h"
#include "quota/creating.h"
#include "tenant.h"
#include "workspace/workspace.h"

bool ar_workspace_is_command(enum ar_command command)
{
	return command == AR_CMD_CREATE_WORKSPACE || command == AR_CMD_UPDATE_WORKSPACE ||
	       command == AR_CMD_ARCHIVE_WORKSPACE;
}

void ar_workspace_refuse_unknown(struct ar_call *c)
{
	ar_call_refuse(c, AR_ERR_WORKSPACE_NOT_FOUND, "%s", AR_NO_WORKSPACE);
}

/* ---- create_workspace ---- */

#define AR_FOLDER_MAX 4096 /* bytes of a path, as the catalogue has it */

struct ar_workspace_making {
	struct ar_call *call;
	struct ar_folder_request request;
	struct ar_workspace_folder folder;
};

void ar_control_serve_folders(struct ar_control *c, ar_control_folder_fn *find, void *arg)
{
	c->find_folder = find;
	c->folder_arg = arg;
}

/* A path says something only to who is on this machine as one of its users; a token can be anywhere. */
static enum ar_status check_namer(const struct ar_call *c, struct ar_error *err)
{
	const struct ar_principal *who = ar_control_who(c->who);
	bool is_user = ar_str_is(who->person, AR_PERSON_LOCAL) || ar_str_starts(who->person, AR_STR("uid:"));

	if (c->control->placement)
		return ar_refuse(
			err, AR_ERR_POLICY_DENIED,
			"the nodes of a cluster do not have each other's folders; leave root out, and the "
			"runtime makes a folder");
	if (is_user && ar_str_absent(who->token) && ar_tenant_is_local(who->tenant))
		return AR_OK;
	return ar_refuse(
		err, AR_ERR_POLICY_DENIED,
		"only users of this machine name a root, over the unix socket; leave root out, and the "
		"runtime makes a folder");
}

static void on_folder(struct ar_folder_request *r)
{
	struct ar_workspace_making *m = AR_CONTAINER_OF(r, struct ar_workspace_making, request);
	struct ar_call *c = m->call;

	if (r->status != AR_OK) {
		ar_call_fail(c, &r->err);
		return;
	}
	if (!ar_str_absent(r->worker) &&
	    (r->folder.len > AR_FOLDER_MAX || !ar_str_is_plain_path(r->folder))) {
		ar_call_refuse(c, AR_ERR_UNAVAILABLE, "the worker named no folder");
		return;
	}
	m->folder.root = r->folder;
	m->folder.is_managed = ar_str_absent(r->root);
	c->work->write.input.command.folder = &m->folder;
	ar_call_send(c);
}

static bool is_isolated(int isolation)
{
	return isolation && isolation != AR_WORKSPACE_ISOLATION_SHARED;
}

static void refuse_pool(struct ar_call *c, struct ar_str pool)
{
	ar_call_refuse(c, AR_ERR_WORKER_UNAVAILABLE,
		       "no worker of pool %.*s is connected and takes calls; create workers with the label "
		       "pool=%.*s, and start them",
		       AR_STR_ARG(pool), AR_STR_ARG(pool));
}

static void make_folder(struct ar_call *c)
{
	const struct ar_cmd_create_workspace_in *in = c->input;
	const struct ar_shape_worker_record *worker = c->work->worker;
	struct ar_workspace_making *m = ar_arena_alloc(&c->arena, sizeof(*m));
	struct ar_str member = AR_STR_NONE;

	m->call = c;
	m->folder.worker = worker;
	m->folder.pool = in->pool;
	if ((worker && worker->status != AR_WORKER_RECORD_STATUS_ACTIVE) ||
	    ((worker || !ar_str_absent(in->pool)) && is_isolated(in->isolation))) {
		m->folder.is_managed = true; /* refused by the decision, unless it is a repeat */
		c->work->write.input.command.folder = &m->folder;
		ar_call_send(c);
		return;
	}
	if (!ar_str_absent(in->pool)) {
		member = ar_engine_pool_worker(c->control->engine, ar_control_who(c->who)->tenant, in->pool);
		if (ar_str_absent(member)) {
			refuse_pool(c, in->pool);
			return;
		}
		member = ar_arena_str(&c->arena, member);
	}
	m->request = (struct ar_folder_request){ .root = in->root,
						 .person = ar_control_who(c->who)->person,
						 .home = ar_control_home(c->who, &c->arena),
						 .key = c->work->write.session,
						 .worker = worker ? worker->worker_id : member,
						 .arena = &c->arena,
						 .done = on_folder };
	c->control->find_folder(c->control->folder_arg, &m->request);
}

void ar_workspace_make(struct ar_call *c, const struct ar_shape_worker_record *worker)
{
	if (!c->control->find_folder) {
		ar_call_refuse(c, AR_ERR_UNAVAILABLE, "this runtime has no folders for workspaces");
		return;
	}
	c->work->worker = worker;
	ar_creating_check(c, AR_CREATING_WORKSPACE, c->work->write.session, make_folder);
}

static void create(struct ar_call *c)
{
	const struct ar_cmd_create_workspace_in *in = c->input;
	struct ar_error err = { 0 };

	if (!ar_str_absent(in->pool) && (!ar_str_absent(in->worker) || !ar_str_absent(in->root)))
		ar_call_refuse(c, AR_ERR_INVALID_INPUT, "pass pool, worker or root: one of them");
	else if (!ar_str_absent(in->pool) && !ar_pool_is_name(in->pool))
		ar_call_refuse(
			c, AR_ERR_INVALID_INPUT,
			"the name of a pool has letters, digits, '.', '_' and '-', at most 64, and does "
			"not begin with wk_");
	else if (!ar_str_absent(in->worker))
		ar_worker_find_for(c, in->worker);
	else if (!ar_str_absent(in->root) && check_namer(c, &err) != AR_OK)
		ar_call_fail(c, &err);
	else
		ar_workspace_make(c, NULL);
}

void ar_workspace_write(struct ar_call *c)
{
	const struct ar_cmd_update_workspace_in *update = c->input;

	if (c->command == AR_CMD_CREATE_WORKSPACE)
		create(c);
	else if (c->command == AR_CMD_UPDATE_WORKSPACE && update->trust == AR_WORKSPACE_TRUST_TRUSTED)
		ar_workspace_trust(c);
	else
		ar_call_check_tenant(c, c->work->write.session, ar_call_send, ar_workspace_refuse_unknown);
}

/* ---- get_workspace ---- */

static void seen_workspace(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	struct ar_jw w = ar_jw(&c->reply);

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!s->own) {
		ar_workspace_refuse_unknown(c);
		return;
	}
	ar_struct_encode(&ar_command_describe(c->command)->out,
			 &(struct ar_cmd_get_workspace_out){ .workspace = s->own }, AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

void ar_query_get_workspace(struct ar_call *c)
{
	const struct ar_cmd_get_workspace_in *in = c->input;

	c->work->view.done = seen_workspace;
	c->work->view.session = ar_workspace_key_in(in->workspace_id);
	if (ar_str_absent(c->work->view.session))
		ar_workspace_refuse_unknown(c);
	else
		ar_call_look_else(c, ar_workspace_refuse_unknown);
}

/* ---- list_workspaces ---- */

static void on_workspaces(struct ar_store_op *op)
{
	ar_list_answer(op, "workspaces");
}

static struct ar_str status_word(int wanted)
{
	static const char *const words[] = { [0] = "active",
					     [AR_LIST_WORKSPACES_STATUS_ACTIVE] = "active",
					     [AR_LIST_WORKSPACES_STATUS_ARCHIVED] = "archived",
					     [AR_LIST_WORKSPACES_STATUS_ALL] = NULL };

	return words[wanted] ? ar_str_from(words[wanted]) : AR_STR_NONE;
}

void ar_query_list_workspaces(struct ar_call *c)
{
	const struct ar_cmd_list_workspaces_in *in = c->input;
	struct ar_store_sessions *wanted = &c->work->sessions;

	if (!ar_str_absent(in->cursor) && (!ar_key_is_reserved(in->cursor) || ar_key_is_worker(in->cursor))) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	*wanted = ar_sessions_of(c, on_workspaces);
	wanted->above = ar_str_from(ar_workspaces_above);
	wanted->before = ar_str_absent(in->cursor) ? ar_str_from(ar_workspaces_below) : in->cursor;
	wanted->status = status_word(in->status);
	wanted->limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX);
	ar_store_submit(c->control->store, &wanted->op);
}
