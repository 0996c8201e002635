/* get_quota: the quotas of the caller's tenant, and how much of each is used. Owner: the loop thread. */
#include "control_priv.h"
#include "limits/budget.h"
#include "quota/creating.h"
#include "quota/quota.h"
#include "storage.h"

#define DAY ((ar_usec)86400 * 1000000)

/* In the call's arena. */
struct reading {
	struct ar_call *call;
	const struct ar_tenant_quota *quota;
	struct ar_engine_usage usage;
	int64_t workspaces;
	bool is_counted; /* workspaces are */
};

static const char *const measured[AR_TENANT_LIMITS] = {
	[AR_TENANT_WORKSPACES] = "workspaces that are not archived, on all nodes",
	[AR_TENANT_PROCESSES] = "processes that run now, on this node",
	[AR_TENANT_TURNS] = "turns that have begun and not ended, on this node",
	[AR_TENANT_TOKENS] = "tokens sent and received today (UTC), on all nodes",
	[AR_TENANT_COST] = "cost of model calls with a known price today (UTC), on all nodes",
	[AR_TENANT_WORKSPACE_BYTES] =
		"space of the files of each workspace, when a turn starts to change them",
};

static bool is_of_day(enum ar_tenant_limit limit)
{
	return limit == AR_TENANT_TOKENS || limit == AR_TENANT_COST;
}

/* False: it is not known. */
static bool used_of(const struct reading *r, enum ar_tenant_limit limit, int64_t *ret)
{
	const struct ar_tenant_usage *u = &r->usage.usage;
	const int64_t used[AR_TENANT_LIMITS] = { [AR_TENANT_WORKSPACES] = r->workspaces,
						 [AR_TENANT_PROCESSES] = u->processes,
						 [AR_TENANT_TURNS] = u->turns,
						 [AR_TENANT_TOKENS] = u->other_tokens,
						 [AR_TENANT_COST] = u->other_cost };

	*ret = used[limit];
	if (r->quota->limits[limit] == 0 || limit == AR_TENANT_WORKSPACE_BYTES)
		return false;
	if (limit == AR_TENANT_WORKSPACES)
		return r->is_counted;
	return is_of_day(limit) ? !u->is_day_unread : !u->is_work_unread;
}

static int64_t limit_of(const struct reading *r, enum ar_tenant_limit limit)
{
	if (limit == AR_TENANT_WORKSPACE_BYTES)
		return ar_tenant_disk_limit_of(ar_engine_policy(r->call->control->engine), r->quota);
	return r->quota->limits[limit];
}

static struct ar_shape_quota_row row_of(const struct reading *r, enum ar_tenant_limit limit)
{
	const struct ar_tenant_limit_name *name = &ar_tenant_limit_names[limit];
	int64_t most = limit_of(r, limit), used;
	bool is_known = used_of(r, limit, &used);

	return (struct ar_shape_quota_row){ .quota = ar_str_from(name->name),
					    .limit = { ar_quota_units(name->unit, most), most > 0 },
					    .used = { ar_quota_units(name->unit, used), is_known },
					    .measured = ar_str_from(measured[limit]),
					    .resets_at =
						    is_of_day(limit) ? (r->usage.usage.day + 1) * DAY : 0 };
}

static void answer(struct reading *r)
{
	struct ar_call *c = r->call;
	struct ar_shape_quota_row rows[AR_TENANT_LIMITS];
	struct ar_cmd_get_quota_out out = { .tenant = ar_control_who(c->who)->tenant,
					    .quotas = { rows, AR_TENANT_LIMITS } };
	struct ar_jw w = ar_jw(&c->reply);

	for (int i = 0; i < AR_TENANT_LIMITS; i++)
		rows[i] = row_of(r, (enum ar_tenant_limit)i);
	ar_struct_encode(&ar_command_describe(c->command)->out, &out, AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

static void on_usage(struct ar_engine_usage *u)
{
	answer(AR_CONTAINER_OF(u, struct reading, usage));
}

static void ask_engine(struct reading *r)
{
	r->usage =
		(struct ar_engine_usage){ .tenant = ar_control_who(r->call->who)->tenant, .done = on_usage };
	ar_engine_usage(r->call->control->engine, &r->usage);
}

static void on_page(struct ar_store_op *op)
{
	struct ar_call_work *w = AR_CONTAINER_OF(op, struct ar_call_work, sessions.op);
	struct ar_call *c = w->call;
	struct reading *r = w->walk;
	bool is_more = op->status == AR_OK && w->sessions.more;
	struct ar_str last =
		is_more ? ar_arena_str(&c->arena, w->sessions.ids[w->sessions.count - 1]) : AR_STR_NONE;

	r->workspaces += op->status == AR_OK ? (int64_t)w->sessions.count : 0;
	r->is_counted = op->status == AR_OK && !is_more;
	ar_store_op_fini(op);
	if (!is_more) {
		ask_engine(r);
		return;
	}
	w->sessions = ar_workspaces_of(c, on_page);
	w->sessions.before = last;
	ar_store_submit(c->control->store, &w->sessions.op);
}

void ar_query_get_quota(struct ar_call *c)
{
	struct reading *r = ar_arena_alloc(&c->arena, sizeof(*r));

	*r = (struct reading){ .call = c,
			       .quota = ar_tenant_quota(ar_engine_policy(c->control->engine),
							ar_control_who(c->who)->tenant) };
	if (r->quota->limits[AR_TENANT_WORKSPACES] == 0) {
		ask_engine(r);
		return;
	}
	c->work->walk = r;
	c->work->sessions = ar_workspaces_of(c, on_page);
	ar_store_submit(c->control->store, &c->work->sessions.op);
}
