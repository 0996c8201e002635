/* What the files of a workspace bring: listed for who is to trust it, and compared with the list that a
 * caller has seen before its trust is decided. Owner: the loop thread. */
#include "control_priv.h"
#include "workspace/environment.h"
#include "workspace/workspace.h"
#include "tenant.h"

struct look {
	struct ar_call *call;
	struct ar_inspect_run run;
	struct ar_str workspace;
	struct ar_str servers_digest; /* of .mcp.json as it was trusted */
	int trust;
	bool is_far; /* a worker has the files */
};

void ar_control_serve_inspector(struct ar_control *c, struct ar_inspector *inspector)
{
	c->inspector = inspector;
}

/* ---- the look ---- */

/* The name of a pool none of whose workers is connected reaches nobody, which the answer says. */
static struct ar_str worker_of(struct ar_call *c, const struct ar_shape_workspace_record *r)
{
	struct ar_str found;

	if (ar_str_absent(r->pool))
		return r->worker;
	found = ar_engine_pool_worker(c->control->engine, r->tenant, r->pool);
	return ar_str_absent(found) ? r->pool : found;
}

static void start_look(struct ar_call *c, const struct ar_shape_workspace_record *r,
		       void (*on_done)(struct ar_inspect_run *r, const struct ar_inspected *found))
{
	struct look *l = ar_arena_alloc(&c->arena, sizeof(*l));

	*l = (struct look){ .call = c,
			    .run = { .folder = ar_arena_str(&c->arena, r->root),
				     .worker = ar_arena_str(&c->arena, worker_of(c, r)),
				     .variables = ar_environment_texts(&r->environment, true, &c->arena),
				     .on_done = on_done },
			    .workspace = ar_arena_str(&c->arena, r->workspace_id),
			    .servers_digest = ar_arena_str(&c->arena, r->servers_digest),
			    .trust = r->trust ? r->trust : AR_WORKSPACE_TRUST_UNTRUSTED,
			    .is_far = ar_workspace_is_far(r) };
	c->control->inspector->v->start(c->control->inspector, &l->run);
}

/* The record of the workspace that the view found; NULL: the call is over. */
static const struct ar_shape_workspace_record *record_in(struct ar_call *c, const struct ar_session *s,
							 const struct ar_error *err)
{
	if (!s)
		ar_call_fail_or_move(c, err);
	else if (!s->own)
		ar_workspace_refuse_unknown(c);
	else if (!c->control->inspector)
		ar_call_refuse(c, AR_ERR_UNAVAILABLE, "this runtime cannot inspect workspaces");
	else
		return s->own;
	return NULL;
}

/* ---- inspect_workspace ---- */

static const int kinds[] = {
	[AR_INSPECT_INSTRUCTIONS] = AR_WORKSPACE_ITEM_KIND_INSTRUCTIONS,
	[AR_INSPECT_MCP_SERVERS] = AR_WORKSPACE_ITEM_KIND_MCP_SERVERS,
	[AR_INSPECT_SKILL] = AR_WORKSPACE_ITEM_KIND_SKILL,
	[AR_INSPECT_AGENT] = AR_WORKSPACE_ITEM_KIND_AGENT,
};

/* Why no server of the workspace is started, whatever its file says of it; absent: some are, once it is
 * trusted. */
static struct ar_str why_no_servers(const struct look *l, const struct ar_inspected *found)
{
	if (l->is_far)
		return AR_STR("not_supported: servers of a workspace on a worker are not started");
	if (!ar_engine_policy(l->call->control->engine)->starts_servers)
		return AR_STR("unavailable: this runtime has no sandbox to start servers of workspaces in");
	if (l->trust == AR_WORKSPACE_TRUST_TRUSTED && !ar_str_eq(l->servers_digest, found->servers_digest))
		return AR_STR(AR_SERVERS_CHANGED);
	return AR_STR_NONE;
}

static struct ar_shape_workspace_server_list servers_of(const struct look *l,
							const struct ar_inspected *found)
{
	struct ar_shape_workspace_server *list =
		ar_arena_alloc(&l->call->arena, (found->server_count + 1) * sizeof(*list));
	struct ar_str why = why_no_servers(l, found);

	for (size_t i = 0; i < found->server_count; i++) {
		const struct ar_server *s = &found->servers[i];
		struct ar_str reason = ar_str_absent(s->reason) ? why : s->reason;

		list[i] = (struct ar_shape_workspace_server){
			.name = s->name,
			.transport = ar_str_absent(s->command) ? AR_WORKSPACE_SERVER_TRANSPORT_HTTP
							       : AR_WORKSPACE_SERVER_TRANSPORT_STDIO,
			.status = ar_str_absent(reason) ? AR_WORKSPACE_SERVER_STATUS_DECLARED
							: AR_WORKSPACE_SERVER_STATUS_NOT_STARTED,
			.reason = reason,
			.command = s->shown
		};
	}
	return (struct ar_shape_workspace_server_list){ list, found->server_count };
}

static struct ar_shape_workspace_item_list items_of(const struct look *l, const struct ar_inspected *found)
{
	struct ar_call *c = l->call;
	struct ar_shape_workspace_item *list = ar_arena_alloc(&c->arena, (found->count + 1) * sizeof(*list));

	for (size_t i = 0; i < found->count; i++) {
		const struct ar_inspect_item *item = &found->items[i];
		struct ar_str reason = item->reason;

		if (item->kind == AR_INSPECT_MCP_SERVERS && ar_str_absent(reason))
			reason = why_no_servers(l, found);
		list[i] = (struct ar_shape_workspace_item){ .kind = kinds[item->kind],
							    .path = item->path,
							    .bytes = { item->bytes,
								       !ar_str_absent(item->digest) },
							    .digest = item->digest,
							    .used = ar_str_absent(reason),
							    .reason = reason };
	}
	return (struct ar_shape_workspace_item_list){ list, found->count };
}

static void answer_items(struct ar_inspect_run *r, const struct ar_inspected *found)
{
	struct look *l = AR_CONTAINER_OF(r, struct look, run);
	struct ar_call *c = l->call;
	struct ar_jw w = ar_jw(&c->reply);

	if (ar_str_absent(found->digest)) {
		ar_call_refuse(c, AR_ERR_UNAVAILABLE, "the folder of the workspace cannot be read now: %.*s",
			       AR_STR_ARG(found->reason));
		return;
	}
	ar_struct_encode(&ar_command_describe(c->command)->out,
			 &(struct ar_cmd_inspect_workspace_out){ .workspace_id = l->workspace,
								 .trust = l->trust,
								 .items = items_of(l, found),
								 .items_digest = found->digest,
								 .servers = servers_of(l, found) },
			 AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

static void seen_to_list(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_shape_workspace_record *record = record_in(c, s, err);

	if (record)
		start_look(c, record, answer_items);
}

void ar_query_inspect_workspace(struct ar_call *c)
{
	const struct ar_cmd_inspect_workspace_in *in = c->input;

	c->work->view.done = seen_to_list;
	c->work->view.session = ar_workspace_key_in(in->workspace_id);
	if (ar_str_absent(c->work->view.session))
		ar_workspace_refuse_unknown(c);
	else
		ar_call_look_else(c, ar_workspace_refuse_unknown);
}

/* ---- update_workspace with trust ---- */

static void send_with_digest(struct ar_inspect_run *r, const struct ar_inspected *found)
{
	struct ar_call *c = AR_CONTAINER_OF(r, struct look, run)->call;

	c->work->write.input.command.items_digest = ar_arena_str(&c->arena, found->digest);
	c->work->write.input.command.servers_digest = ar_arena_str(&c->arena, found->servers_digest);
	ar_call_send(c);
}

static void seen_to_trust(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_shape_workspace_record *record = record_in(c, s, err);

	if (record)
		start_look(c, record, send_with_digest);
}

void ar_workspace_trust(struct ar_call *c)
{
	c->work->view.done = seen_to_trust;
	c->work->view.session = c->work->write.session;
	ar_call_look_else(c, ar_workspace_refuse_unknown);
}
