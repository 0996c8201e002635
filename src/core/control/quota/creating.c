/* The quotas of workspaces and schedules: those that a tenant has are counted in the index before one more is
 * made. Creations of a tenant that has this quota follow one another, so that each count has all that came
 * before; nodes of a cluster do not wait for each other. Owner: the loop thread. */
#include "control_priv.h"
#include "quota/creating.h"
#include "quota/quota.h"
#include "storage.h"
#include "tenant.h"

#define PAGE 1000

static void begin(struct ar_creating *m);

struct ar_store_sessions ar_workspaces_of(const struct ar_call *c, ar_store_done_fn *done)
{
	struct ar_store_sessions page = ar_sessions_of(c, done);

	page.above = ar_str_from(ar_workspaces_above);
	page.before = ar_str_from(ar_workspaces_below);
	page.status = AR_STR("active");
	page.limit = PAGE;
	return page;
}

static struct ar_store_sessions page_of(const struct ar_call *c, ar_store_done_fn *done)
{
	struct ar_store_sessions page = ar_workspaces_of(c, done);

	if (c->work->creating->kind == AR_CREATING_SCHEDULE) {
		page.above = ar_str_from(ar_schedules_above);
		page.before = ar_str_from(ar_schedules_below);
		page.status = AR_STR("open");
	}
	return page;
}

static int64_t limit_of(const struct ar_call *c, enum ar_creating_kind kind)
{
	const struct ar_policy *policy = ar_engine_policy(c->control->engine);

	if (kind == AR_CREATING_SCHEDULE)
		return policy->schedules_max;
	return ar_tenant_quota(policy, ar_control_who(c->who)->tenant)->limits[AR_TENANT_WORKSPACES];
}

static enum ar_status check_used(const struct ar_call *c, const struct ar_creating *m, struct ar_error *err)
{
	const struct ar_policy *policy = ar_engine_policy(c->control->engine);

	if (m->kind == AR_CREATING_WORKSPACE)
		return ar_tenant_check_workspaces(ar_tenant_quota(policy, ar_control_who(c->who)->tenant),
						  m->used, err);
	if (m->used < m->most)
		return AR_OK;
	return ar_refuse(err, AR_ERR_TENANT_QUOTA_EXCEEDED,
			 "the tenant has %lld schedules that have not ended, and may have %lld "
			 "(schedules.per_tenant); end one that is not needed",
			 (long long)m->used, (long long)m->most);
}

static struct ar_str tenant_of(const struct ar_creating *m)
{
	return ar_control_who(m->call->who)->tenant;
}

/* Both kinds follow one another: a tenant creates few of them. */
static struct ar_creating *first_of(struct ar_control *c, struct ar_str tenant)
{
	AR_LIST_FOR (it, &c->creating) {
		struct ar_creating *m = AR_CONTAINER_OF(it, struct ar_creating, node);

		if (ar_str_eq(tenant_of(m), tenant))
			return m;
	}
	return NULL;
}

void ar_creating_over(struct ar_call *c)
{
	struct ar_creating *m = c->work ? c->work->creating : NULL, *next;

	if (!m)
		return;
	c->work->creating = NULL;
	ar_list_del(&m->node);
	next = first_of(c->control, tenant_of(m));
	if (next)
		begin(next);
}

static void refuse_unread(struct ar_call *c, struct ar_store_op *op)
{
	struct ar_error err = op->err;
	enum ar_status status = op->status;

	ar_store_op_fini(op);
	ar_call_refuse(c, ar_storage_code(status), "%.200s", err.msg);
}

static void on_page(struct ar_store_op *op)
{
	struct ar_call *c = AR_CONTAINER_OF(op, struct ar_call_work, sessions.op)->call;
	struct ar_creating *m = c->work->creating;
	struct ar_store_sessions *page = &c->work->sessions;
	struct ar_error err;

	if (op->status != AR_OK) {
		refuse_unread(c, op);
		return;
	}
	m->used += (int64_t)page->count;
	if (page->more && m->used < m->most) {
		struct ar_str last = ar_arena_str(&c->arena, page->ids[page->count - 1]);

		ar_store_op_fini(op);
		*page = page_of(c, on_page);
		page->before = last;
		ar_store_submit(c->control->store, op);
		return;
	}
	ar_store_op_fini(op);
	if (check_used(c, m, &err) != AR_OK)
		ar_call_fail(c, &err);
	else
		m->go_on(c);
}

static void count(struct ar_call *c)
{
	c->work->sessions = page_of(c, on_page);
	ar_store_submit(c->control->store, &c->work->sessions.op);
}

/* One that is there, or was, is not one more: the decision knows what to say of it. */
static void on_row(struct ar_store_op *op)
{
	struct ar_call_work *w = AR_CONTAINER_OF(op, struct ar_call_work, index.op);
	struct ar_call *c = w->call;
	bool is_there = w->index.has_row;

	if (op->status != AR_OK) {
		refuse_unread(c, op);
		return;
	}
	ar_store_op_fini(op);
	if (is_there)
		w->creating->go_on(c);
	else
		count(c);
}

static void begin(struct ar_creating *m)
{
	struct ar_call *c = m->call;
	struct ar_call_work *w = c->work;

	w->index = (struct ar_store_index){ .op = { .kind = AR_STORE_INDEX, .done = on_row },
					    .session = m->key };
	ar_store_submit(c->control->store, &w->index.op);
}

void ar_creating_check(struct ar_call *c, enum ar_creating_kind kind, struct ar_str key, ar_query_fn *go_on)
{
	struct ar_str tenant = ar_control_who(c->who)->tenant;
	int64_t most = limit_of(c, kind);
	struct ar_creating *m;
	bool is_first;

	if (most == 0) {
		go_on(c);
		return;
	}
	m = ar_arena_alloc(&c->arena, sizeof(*m));
	*m = (struct ar_creating){ .call = c, .kind = kind, .key = key, .most = most, .go_on = go_on };
	is_first = !first_of(c->control, tenant);
	ar_list_push(&c->control->creating, &m->node);
	c->work->creating = m;
	if (is_first)
		begin(m);
}
