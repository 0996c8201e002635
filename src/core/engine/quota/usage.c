/* See usage.h. */
#include "quota/usage.h"
#include "quota/quota.h"
#include "tenant.h"

#define PAGE 256
#define DAY ((ar_usec)86400 * 1000000)
#define OTHERS_AGE ((ar_usec)60 * 1000000) /* what other nodes count may be this old */

enum usage_day {
	DAY_UNREAD, /* not added up, or too long ago */
	DAY_READING,
	DAY_READ,
};

/* Of one tenant. */
struct ar_tenant_count {
	struct ar_engine *engine;
	char *tenant;
	const struct ar_tenant_quota *quota; /* the policy's */
	int64_t turns, processes; /* at work here */
	int64_t day, tokens, cost; /* of all its sessions */
	enum usage_day state;
	ar_usec read_at, failed_at; /* monotonic; 0: never, or not the last time */
	size_t commits; /* of its sessions, in flight */
	struct ar_list waiting; /* struct ar_live */
	struct ar_list asking; /* struct ar_engine_usage */
	struct ar_store_sessions page; /* while it is added up */
};

static void read_if_quiet(struct ar_tenant_count *t);

static ar_usec mono(const struct ar_engine *e)
{
	return e->o.clock->mono(e->o.clock);
}

/* ---- one tenant ---- */

static struct ar_tenant_count *count_of(struct ar_engine *e, struct ar_str tenant)
{
	struct ar_str name = ar_str_absent(tenant) ? AR_STR(AR_TENANT_LOCAL) : tenant;
	const struct ar_tenant_quota *quota = ar_tenant_quota(e->o.policy, name);
	struct ar_tenant_count *t = ar_map_get(&e->usage, name);

	if (t || e->is_stopping || (!ar_tenant_quota_has_day(quota) && !ar_tenant_quota_has_work(quota)))
		return t;
	t = ar_new0(sizeof(*t));
	*t = (struct ar_tenant_count){ .engine = e, .tenant = ar_str_dup(name), .quota = quota };
	ar_list_init(&t->waiting);
	ar_list_init(&t->asking);
	ar_map_put(&e->usage, ar_str_from(t->tenant), t);
	return t;
}

/* A new day has nothing yet. One that has begun is not left, whatever the clock says. */
static void turn_page_of_day(struct ar_tenant_count *t)
{
	int64_t today = ar_day_of(t->engine->o.clock->wall(t->engine->o.clock));

	if (today <= t->day)
		return;
	t->day = today;
	t->tokens = t->cost = 0;
}

/* The tenant whose quotas the session counts for; logs of the runtime's own do not. */
static struct ar_tenant_count *count_for(struct ar_live *l, const struct ar_engine_request *r)
{
	struct ar_str key = ar_live_session_key(l);

	if (l->usage || l->engine->o.policy->tenant_quota_count == 0 || ar_key_is_reserved(key) ||
	    ar_tenant_is_a_home(key))
		return l->usage;
	if (l->state.head > 0)
		l->usage = count_of(l->engine, ar_session_tenant(&l->state));
	else if (r && r->input.kind == AR_IN_COMMAND)
		l->usage = count_of(l->engine, r->input.tenant);
	return l->usage;
}

/* ---- waiting ---- */

static void answer(struct ar_tenant_count *t, struct ar_engine_usage *u)
{
	u->usage = (struct ar_tenant_usage){ .turns = t->turns,
					     .processes = t->processes,
					     .day = t->day,
					     .other_tokens = t->tokens,
					     .other_cost = t->cost,
					     .is_work_unread = t->engine->is_scanning,
					     .is_day_unread = t->state != DAY_READ };
	u->done(u);
}

static void wake(struct ar_tenant_count *t)
{
	struct ar_list waiting, asking;
	struct ar_list *node;

	ar_list_init(&waiting);
	ar_list_init(&asking);
	ar_list_splice(&waiting, &t->waiting);
	ar_list_splice(&asking, &t->asking);
	while ((node = ar_list_pop(&asking)))
		answer(t, AR_CONTAINER_OF(node, struct ar_engine_usage, node));
	while ((node = ar_list_pop(&waiting)))
		ar_live_pump(AR_CONTAINER_OF(node, struct ar_live, held));
}

void ar_usage_recovered(struct ar_engine *e)
{
	size_t cursor = 0;
	struct ar_tenant_count *t;
	struct ar_list waiting;
	struct ar_list *node;

	ar_list_init(&waiting);
	while ((t = ar_map_next(&e->usage, &cursor))) {
		if (t->state != DAY_READING)
			ar_list_splice(&waiting, &t->waiting);
	}
	while ((node = ar_list_pop(&waiting)))
		ar_live_pump(AR_CONTAINER_OF(node, struct ar_live, held));
}

void ar_usage_stop(struct ar_engine *e)
{
	size_t cursor = 0;
	struct ar_tenant_count *t;
	struct ar_list *node;

	while ((t = ar_map_next(&e->usage, &cursor))) {
		while ((node = ar_list_pop(&t->asking)))
			answer(t, AR_CONTAINER_OF(node, struct ar_engine_usage, node));
		while ((node = ar_list_pop(&t->waiting)))
			ar_live_refuse(AR_CONTAINER_OF(node, struct ar_live, held), AR_ERR_UNAVAILABLE,
				       AR_STOPPING);
	}
}

/* ---- adding up the day ---- */

static void add_row(struct ar_tenant_count *t, struct ar_str shell)
{
	int64_t day = 0, tokens = 0, cost = 0;
	struct ar_json v, used;

	if (ar_json_parse(t->engine->json, shell, &v, NULL) != AR_OK)
		return;
	used = ar_json_get(v, "usageDay");
	if (!ar_json_i64(ar_json_get(used, "day"), &day) || day != t->day)
		return;
	ar_json_i64(ar_json_get(used, "tokens"), &tokens);
	ar_json_i64(ar_json_get(used, "costNano"), &cost);
	t->tokens += tokens;
	t->cost += cost;
}

static void on_page(struct ar_store_op *op);

/* Rows of the day before are looked at as well: a clock that was set back wrote some of today's. */
static void read_page(struct ar_tenant_count *t, struct ar_str before)
{
	struct ar_arena kept = { 0 };
	struct ar_str last = ar_arena_str(&kept, before);

	ar_store_op_fini(&t->page.op);
	t->page = (struct ar_store_sessions){ .op = { .kind = AR_STORE_SESSIONS, .done = on_page },
					      .above = ar_str_from(ar_tenant_homes_end),
					      .tenant = ar_str_from(t->tenant),
					      .updated_since = (t->day - 1) * DAY,
					      .limit = PAGE };
	t->page.before = ar_arena_str(&t->page.op.arena, last);
	ar_arena_fini(&kept);
	ar_store_submit(t->engine->o.store, &t->page.op);
}

static void stop_reading(struct ar_tenant_count *t, bool is_read)
{
	t->state = is_read ? DAY_READ : DAY_UNREAD;
	t->read_at = is_read ? mono(t->engine) : 0;
	t->failed_at = is_read ? 0 : mono(t->engine);
	ar_store_op_fini(&t->page.op);
	wake(t);
}

static void on_page(struct ar_store_op *op)
{
	struct ar_tenant_count *t = AR_CONTAINER_OF(op, struct ar_tenant_count, page.op);

	for (size_t i = 0; op->status == AR_OK && i < t->page.count; i++)
		add_row(t, t->page.shells[i]);
	if (op->status == AR_OK && t->page.more && t->page.count > 0)
		read_page(t, t->page.ids[t->page.count - 1]);
	else
		stop_reading(t, op->status == AR_OK);
}

/* A commit in flight may be in a row or not: the sum would not know. */
static void read_if_quiet(struct ar_tenant_count *t)
{
	if (t->state != DAY_UNREAD || t->commits > 0 ||
	    (ar_list_empty(&t->waiting) && ar_list_empty(&t->asking)))
		return;
	t->state = DAY_READING;
	t->tokens = t->cost = 0;
	read_page(t, AR_STR_NONE);
}

/* Whether what is used today has to be added up before anything is decided about it. After a failure the
 * next try is a moment later; until then it is unknown. */
static bool is_day_wanted(struct ar_tenant_count *t)
{
	struct ar_engine *e = t->engine;

	if (!ar_tenant_quota_has_day(t->quota))
		return false;
	turn_page_of_day(t);
	if (t->state == DAY_READ && !ar_str_absent(e->o.policy->node) && mono(e) - t->read_at > OTHERS_AGE)
		t->state = DAY_UNREAD;
	if (t->state == DAY_UNREAD)
		return t->failed_at == 0 || mono(e) - t->failed_at > AR_STORE_RETRY;
	return t->state == DAY_READING;
}

static bool is_work_wanted(const struct ar_tenant_count *t, const struct ar_engine_request *r)
{
	return ar_tenant_quota_has_work(t->quota) && t->engine->is_scanning && !t->engine->has_scan_failed &&
	       (r->input.kind == AR_IN_COMMAND || r->input.kind == AR_IN_PROCESS_READY);
}

bool ar_usage_hold(struct ar_live *l)
{
	const struct ar_engine_request *r =
		ar_list_empty(&l->inbox) ? NULL
					 : AR_CONTAINER_OF(l->inbox.next, struct ar_engine_request, node);
	struct ar_tenant_count *t = r ? count_for(l, r) : NULL;
	bool is_day;

	if (!t || l->engine->is_stopping)
		return false;
	is_day = is_day_wanted(t);
	if (!is_day && !is_work_wanted(t, r))
		return false;
	if (ar_list_empty(&l->held))
		ar_list_push(&t->waiting, &l->held);
	if (is_day)
		read_if_quiet(t);
	return true;
}

/* ---- counting ---- */

static void count_work(struct ar_live *l, int64_t turns, int64_t processes)
{
	l->usage->turns += turns - l->turns_counted;
	l->usage->processes += processes - l->processes_counted;
	l->turns_counted = turns;
	l->processes_counted = processes;
}

/* What the session used today, as far as it is in the sum. */
static void count_day(struct ar_live *l, bool is_in_sum)
{
	struct ar_tenant_count *t = l->usage;
	const struct ar_day_spent before = l->day_counted, *now = &l->state.day;
	bool is_same;

	l->day_counted = *now;
	if (is_in_sum || !ar_tenant_quota_has_day(t->quota))
		return;
	turn_page_of_day(t);
	if (!now->number.set || now->number.v != t->day)
		return;
	is_same = before.number.set && before.number.v == t->day;
	t->tokens += now->tokens.v - (is_same ? before.tokens.v : 0);
	t->cost += now->cost.v - (is_same ? before.cost.v : 0);
}

void ar_usage_loaded(struct ar_live *l)
{
	bool is_first = !l->is_day_counted;

	l->is_day_counted = true;
	if (!count_for(l, NULL))
		return;
	/* Read again after a write whose end was not known: it may have been counted by nobody. */
	count_day(l, is_first);
	ar_usage_changed(l);
}

void ar_usage_changed(struct ar_live *l)
{
	if (l->usage)
		count_work(l, ar_session_turns_at_work(&l->state), ar_session_processes_at_work(&l->state));
}

void ar_usage_commit_began(struct ar_live *l)
{
	if (l->usage)
		l->usage->commits++;
}

void ar_usage_commit_ended(struct ar_live *l, bool is_durable)
{
	if (!l->usage)
		return;
	l->usage->commits--;
	if (is_durable)
		count_day(l, false);
	read_if_quiet(l->usage);
}

void ar_usage_dropped(struct ar_live *l)
{
	ar_list_del(&l->held);
	if (l->usage)
		count_work(l, 0, 0);
}

void ar_usage_fill(struct ar_live *l, struct ar_input *in)
{
	struct ar_tenant_count *t = l->usage;

	in->usage = (struct ar_tenant_usage){ 0 };
	if (!t)
		return;
	turn_page_of_day(t);
	in->usage = (struct ar_tenant_usage){
		.turns = t->turns,
		.processes = t->processes,
		.day = t->day,
		.other_tokens = t->tokens - ar_day_tokens(&l->state, t->day),
		.other_cost = t->cost - ar_day_cost(&l->state, t->day),
		.is_work_unread = l->engine->is_scanning,
		.is_day_unread = t->state != DAY_READ,
	};
}

/* ---- for readers ---- */

void ar_engine_usage(struct ar_engine *e, struct ar_engine_usage *u)
{
	struct ar_tenant_count *t = count_of(e, u->tenant);

	u->usage = (struct ar_tenant_usage){ .day = ar_day_of(e->o.clock->wall(e->o.clock)) };
	if (!t) {
		u->done(u);
		return;
	}
	if (is_day_wanted(t) && !e->is_stopping) {
		ar_list_push(&t->asking, &u->node);
		read_if_quiet(t);
		return;
	}
	answer(t, u);
}

void ar_usage_fini(struct ar_engine *e)
{
	size_t cursor = 0;
	struct ar_tenant_count *t;

	while ((t = ar_map_next(&e->usage, &cursor))) {
		ar_store_op_fini(&t->page.op);
		ar_free(t->tenant);
		ar_free(t);
	}
	ar_map_fini(&e->usage);
}
