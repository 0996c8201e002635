/* Quotas of a tenant: what the operator allows all of its sessions together (settings `tenants`). Limits come
 * with the policy, what is used comes with the input: the engine counts it (engine/quota/), a decision only
 * compares. Pure. */
#ifndef AR_SESSION_QUOTA_QUOTA_H
#define AR_SESSION_QUOTA_QUOTA_H

#include "decide.h"

/* The quota of this name is for every tenant that has none of its own. */
#define AR_TENANT_ANY "*"

/* Never NULL: without one nothing is limited. */
const struct ar_tenant_quota *ar_tenant_quota(const struct ar_policy *policy, struct ar_str tenant);
bool ar_tenant_quota_has_day(const struct ar_tenant_quota *q); /* something is limited per day */
bool ar_tenant_quota_has_work(const struct ar_tenant_quota *q); /* turns or processes are limited */

struct ar_tenant_limit_name {
	const char *name; /* as in the settings and in facts */
	enum ar_quota unit; /* AR_QUOTA_COST: billionths; else a number */
};

extern const struct ar_tenant_limit_name ar_tenant_limit_names[AR_TENANT_LIMITS];

/* ---- what a session used on one day ---- */

int64_t ar_day_of(ar_usec at); /* days since 1970-01-01 (UTC) */
int64_t ar_day_tokens(const struct ar_session *s, int64_t day); /* 0 if its newest day is another one */
int64_t ar_day_cost(const struct ar_session *s, int64_t day);

/* ---- what it has at work now ---- */

int64_t ar_session_turns_at_work(const struct ar_session *s); /* begun and not ended */
int64_t ar_session_processes_at_work(const struct ar_session *s);

/* ---- decisions ---- */

/* Whether the tenant may have another turn. Of one that is queued behind another only what is counted by
 * day matters. */
AR_MUST_USE enum ar_status ar_tenant_check_turn(const struct ar_decision *d, bool is_queued,
						struct ar_error *err);

/* Before a model request. Held: a quota of the day is used up, and the turn has ended. */
enum ar_hold ar_tenant_claim(struct ar_decision *d, struct ar_turn *turn);

/* Before a process begins. Held: as many run as may, and the call has ended without it. */
enum ar_hold ar_tenant_claim_process(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call);

/* Most bytes of the files of a workspace: that of its tenant or of all, the smaller; 0: no limit. */
int64_t ar_tenant_disk_limit_of(const struct ar_policy *policy, const struct ar_tenant_quota *q);
int64_t ar_tenant_disk_limit(const struct ar_decision *d);

/* Before a call begins. Held: it may change files, and they take more space than they may; it has ended. */
enum ar_hold ar_tenant_claim_disk(struct ar_decision *d, struct ar_turn *turn, struct ar_invocation *call,
				  const struct ar_tool *tool);

/* Whether another workspace may be created, with so many that are there. */
AR_MUST_USE enum ar_status ar_tenant_check_workspaces(const struct ar_tenant_quota *q, int64_t used,
						      struct ar_error *err);

#endif
