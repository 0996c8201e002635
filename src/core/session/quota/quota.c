/* See quota.h. */
#include "quota/quota.h"
#include "limits/budget.h"
#include "limits/money.h"
#include "process/record.h"
#include "tenant.h"
#include "tool/calls.h"
#include "workspace/work_folder.h"

#define DAY ((ar_usec)86400 * 1000000)

const struct ar_tenant_limit_name ar_tenant_limit_names[AR_TENANT_LIMITS] = {
	[AR_TENANT_WORKSPACES] = { "workspaces", AR_QUOTA_CALLS },
	[AR_TENANT_PROCESSES] = { "processes", AR_QUOTA_CALLS },
	[AR_TENANT_TURNS] = { "turns", AR_QUOTA_CALLS },
	[AR_TENANT_TOKENS] = { "tokens_per_day", AR_QUOTA_TOKENS },
	[AR_TENANT_COST] = { "cost_per_day", AR_QUOTA_COST },
	[AR_TENANT_WORKSPACE_BYTES] = { "workspace_bytes", AR_QUOTA_CALLS },
};

/* ---- limits ---- */

static const struct ar_tenant_quota *find_quota(const struct ar_policy *policy, struct ar_str name)
{
	for (size_t i = 0; i < policy->tenant_quota_count; i++) {
		if (ar_str_eq(policy->tenant_quotas[i].tenant, name))
			return &policy->tenant_quotas[i];
	}
	return NULL;
}

const struct ar_tenant_quota *ar_tenant_quota(const struct ar_policy *policy, struct ar_str tenant)
{
	static const struct ar_tenant_quota unlimited;
	const struct ar_tenant_quota *own =
		find_quota(policy, ar_str_absent(tenant) ? AR_STR(AR_TENANT_LOCAL) : tenant);
	const struct ar_tenant_quota *any = own ? own : find_quota(policy, AR_STR(AR_TENANT_ANY));

	return any ? any : &unlimited;
}

bool ar_tenant_quota_has_day(const struct ar_tenant_quota *q)
{
	return q->limits[AR_TENANT_TOKENS] > 0 || q->limits[AR_TENANT_COST] > 0;
}

bool ar_tenant_quota_has_work(const struct ar_tenant_quota *q)
{
	return q->limits[AR_TENANT_TURNS] > 0 || q->limits[AR_TENANT_PROCESSES] > 0;
}

/* ---- what is used ---- */

int64_t ar_day_of(ar_usec at)
{
	return at / DAY;
}

int64_t ar_day_tokens(const struct ar_session *s, int64_t day)
{
	return s->day.number.set && s->day.number.v == day ? s->day.tokens.v : 0;
}

int64_t ar_day_cost(const struct ar_session *s, int64_t day)
{
	return s->day.number.set && s->day.number.v == day ? s->day.cost.v : 0;
}

int64_t ar_session_turns_at_work(const struct ar_session *s)
{
	int64_t count = 0;

	for (size_t i = 0; i < s->threads.count; i++)
		count += ar_thread_active(s->threads.at[i]) != NULL;
	return count;
}

int64_t ar_session_processes_at_work(const struct ar_session *s)
{
	int64_t count = 0;

	for (size_t i = 0; i < s->processes.count; i++)
		count += ar_process_is_running(s->processes.at[i]);
	return count;
}

static const struct ar_tenant_quota *quota_of(const struct ar_decision *d)
{
	return ar_tenant_quota(d->input->policy,
			       d->session->head > 0 ? ar_session_tenant(d->session) : d->input->tenant);
}

/* The session's own part comes from its state, which has what this decision recorded, too. */
static int64_t used_of(const struct ar_decision *d, enum ar_tenant_limit limit)
{
	const struct ar_tenant_usage *u = &d->input->usage;

	switch (limit) {
	case AR_TENANT_TOKENS:
		return u->other_tokens + ar_day_tokens(d->session, u->day);
	case AR_TENANT_COST:
		return u->other_cost + ar_day_cost(d->session, u->day);
	case AR_TENANT_TURNS:
		return u->turns;
	case AR_TENANT_PROCESSES:
		return u->processes;
	default:
		return 0;
	}
}

static bool is_used_up(const struct ar_decision *d, enum ar_tenant_limit limit)
{
	int64_t most = quota_of(d)->limits[limit];

	return most > 0 && used_of(d, limit) >= most;
}

/* ---- messages ---- */

static double units(enum ar_tenant_limit limit, int64_t amount)
{
	return ar_quota_units(ar_tenant_limit_names[limit].unit, amount);
}

static enum ar_status refuse_used_up(enum ar_tenant_limit limit, int64_t used, int64_t most,
				     struct ar_error *err)
{
	static const char *const advice[AR_TENANT_LIMITS] = {
		[AR_TENANT_WORKSPACES] = "archive one that is not needed",
		[AR_TENANT_TURNS] = "wait until one ends",
		[AR_TENANT_TOKENS] = "it starts again at 00:00 UTC",
		[AR_TENANT_COST] = "it starts again at 00:00 UTC",
	};

	return ar_refuse(
		err, AR_ERR_TENANT_QUOTA_EXCEEDED,
		"the quota %s of the tenant is used up: %.12g of %.12g; %s, or ask the operator for more",
		ar_tenant_limit_names[limit].name, units(limit, used), units(limit, most), advice[limit]);
}

static enum ar_status refuse_unread(struct ar_error *err)
{
	return ar_refuse(err, AR_ERR_STORAGE_UNAVAILABLE,
			 "what the tenant has used of its quotas cannot be read now; repeat in a moment");
}

/* ---- decisions ---- */

enum ar_status ar_tenant_check_workspaces(const struct ar_tenant_quota *q, int64_t used, struct ar_error *err)
{
	int64_t most = q->limits[AR_TENANT_WORKSPACES];

	return most > 0 && used >= most ? refuse_used_up(AR_TENANT_WORKSPACES, used, most, err) : AR_OK;
}

enum ar_status ar_tenant_check_turn(const struct ar_decision *d, bool is_queued, struct ar_error *err)
{
	static const enum ar_tenant_limit of_turns[] = { AR_TENANT_TOKENS, AR_TENANT_COST, AR_TENANT_TURNS };
	const struct ar_tenant_quota *q = quota_of(d);
	size_t count = AR_ARRAY_LEN(of_turns) - is_queued;

	if ((ar_tenant_quota_has_day(q) && d->input->usage.is_day_unread) ||
	    (q->limits[AR_TENANT_TURNS] > 0 && !is_queued && d->input->usage.is_work_unread))
		return refuse_unread(err);
	for (size_t i = 0; i < count; i++) {
		if (is_used_up(d, of_turns[i]))
			return refuse_used_up(of_turns[i], used_of(d, of_turns[i]), q->limits[of_turns[i]],
					      err);
	}
	return AR_OK;
}

static void end_turn(struct ar_decision *d, struct ar_turn *turn, enum ar_tenant_limit limit)
{
	const char *name = ar_tenant_limit_names[limit].name;
	int64_t most = quota_of(d)->limits[limit];
	const struct ar_shape_limit_scope scope = { .session_id = d->session->id };

	ar_turn_emit(d, turn, AR_EV_QUOTA_BLOCKED,
		     &(struct ar_ev_quota_blocked){ .quota_kind = ar_arena_fmt(d->arena, "tenant_%s", name),
						    .limit = units(limit, most),
						    .scope = &scope });
	ar_decide_fail(
		d, turn,
		&(struct ar_ending){
			.status = AR_TURN_FAILED_STATUS_FAILED,
			.category = AR_STR("tenant_quota_exceeded"),
			.message = ar_arena_fmt(d->arena,
						"the quota %s of the tenant is used up: %.12g of %.12g", name,
						units(limit, used_of(d, limit)), units(limit, most)),
			.advice = AR_STR("submit again after 00:00 UTC, or ask the operator for more") });
}

/* A turn that is at work when the store cannot be read goes on: what it uses is recorded all the same. */
enum ar_hold ar_tenant_claim(struct ar_decision *d, struct ar_turn *turn)
{
	static const enum ar_tenant_limit of_day[] = { AR_TENANT_TOKENS, AR_TENANT_COST };

	for (size_t i = 0; i < AR_ARRAY_LEN(of_day); i++) {
		if (!is_used_up(d, of_day[i]))
			continue;
		end_turn(d, turn, of_day[i]);
		return AR_HELD;
	}
	return AR_GO_ON;
}

enum ar_hold ar_tenant_claim_process(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call)
{
	int64_t most = quota_of(d)->limits[AR_TENANT_PROCESSES];
	struct ar_str message;

	if (!is_used_up(d, AR_TENANT_PROCESSES))
		return AR_GO_ON;
	message = ar_arena_fmt(d->arena,
			       "the command was not started: the quota processes of the tenant is used up, "
			       "%lld of %lld run; wait until one ends, or end one",
			       (long long)used_of(d, AR_TENANT_PROCESSES), (long long)most);
	ar_decide_fail_call(d, turn, call,
			    &(struct ar_call_failure){ .status = AR_TOOL_FAILED_STATUS_FAILED,
						       .category = AR_STR("tenant_quota_exceeded"),
						       .message = message,
						       .advice =
							       AR_STR("call again when a process has ended"),
						       .retryable = true });
	ar_decide_advance(d, turn);
	return AR_HELD;
}

/* ---- space of a workspace ---- */

int64_t ar_tenant_disk_limit_of(const struct ar_policy *policy, const struct ar_tenant_quota *q)
{
	int64_t all = policy->workspace_bytes, own = q->limits[AR_TENANT_WORKSPACE_BYTES];

	return own > 0 && (all == 0 || own < all) ? own : all;
}

int64_t ar_tenant_disk_limit(const struct ar_decision *d)
{
	return d->session->bound ? ar_tenant_disk_limit_of(d->input->policy, quota_of(d)) : 0;
}

/* What ends a process makes room for others, and writes nothing. */
static bool may_write(const struct ar_tool *tool)
{
	return tool->works_in_folder && tool->is_confined && !tool->is_read_only;
}

/* Of the folder that the turn works in. */
static struct ar_disk_used disk_of(const struct ar_session *s, const struct ar_turn *turn)
{
	struct ar_work_folder p = ar_work_folder_in(s, turn->thread);

	if (!p.child)
		return s->disk;
	return p.files ? (struct ar_disk_used){ p.files->used_bytes, p.files->used_partly }
		       : (struct ar_disk_used){ 0 };
}

enum ar_hold ar_tenant_claim_disk(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
				  const struct ar_tool *tool)
{
	const struct ar_disk_used disk = disk_of(d->session, turn);
	int64_t most = ar_tenant_disk_limit(d);
	struct ar_str message;

	if (most == 0 || !may_write(tool) || !disk.used.set || disk.used.v <= most)
		return AR_GO_ON;
	message = ar_arena_fmt(
		d->arena,
		"nothing was changed: the files of the workspace take %s%lld bytes, which is more "
		"than the %lld that it may have. This was measured at the start of the turn by "
		"adding up all files. Reading still works. Somebody has to delete files in the "
		"folder, restore an earlier state (agentctl undo), or ask the operator for more",
		disk.partly.v ? "at least " : "", (long long)disk.used.v, (long long)most);
	ar_decide_refuse_call(d, turn, call, "unavailable",
			      &(struct ar_call_failure){ .status = AR_TOOL_FAILED_STATUS_FAILED,
							 .category = AR_STR("disk_quota_exceeded"),
							 .message = message,
							 .advice = AR_STR("free space, then submit again") });
	return AR_HELD;
}
