/* What the files of a workspace bring: listed for who is to trust it, and compared with the list that a
 * caller has seen before its trust is decided. Owner: the loop thread. */
#include "control_priv.h"
#include "workspace/workspace.h"
#include "tenant.h"

struct look {
	struct ar_call *call;
	struct ar_inspect_run run;
	struct ar_str workspace;
	int trust;
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
				     .on_done = on_done },
			    .workspace = ar_arena_str(&c->arena, r->workspace_id),
			    .trust = r->trust ? r->trust : AR_WORKSPACE_TRUST_UNTRUSTED };
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

static struct ar_shape_workspace_item_list items_of(struct ar_call *c, const struct ar_inspected *found)
{
	struct ar_shape_workspace_item *list = ar_arena_alloc(&c->arena, (found->count + 1) * sizeof(*list));

	for (size_t i = 0; i < found->count; i++) {
		const struct ar_inspect_item *item = &found->items[i];

		list[i] = (struct ar_shape_workspace_item){ .kind = kinds[item->kind],
							    .path = item->path,
							    .bytes = { item->bytes,
								       !ar_str_absent(item->digest) },
							    .digest = item->digest,
							    .used = ar_str_absent(item->reason),
							    .reason = item->reason };
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
								 .items = items_of(c, found),
								 .items_digest = found->digest },
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
