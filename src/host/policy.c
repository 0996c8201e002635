/* Settings become the policy of all sessions. Owner: the loop thread, at start. */
#include "host_priv.h"
#include "ops/system.h"
#include "permission.h"

static struct ar_str keep_text(struct ar_host *r, const char *text)
{
	return ar_arena_str(&r->arena, ar_str_from(text));
}

/* Money that is not set is unknown, which is no limit. */
static void read_budget(const struct ar_config_budget *c, struct ar_budget_policy *ret)
{
	ret->turn[AR_QUOTA_TOKENS] = c->turn_tokens;
	ret->turn[AR_QUOTA_CALLS] = c->turn_tool_calls;
	ret->turn[AR_QUOTA_COST] = c->turn_cost > 0 ? c->turn_cost : 0;
	ret->session[AR_QUOTA_TOKENS] = c->session_tokens;
	ret->session[AR_QUOTA_COST] = c->session_cost > 0 ? c->session_cost : 0;
	ret->turn_ms = c->turn_ms;
	ret->output_tokens = c->max_output_tokens;
	ret->warn_percent = c->warn_percent;
	ret->is_asking = c->on_limit == AR_CONFIG_BUDGET_ON_LIMIT_ASK;
}

static void read_tenants(struct ar_host *r, const struct ar_config *c)
{
	struct ar_tenant_quota *quotas = ar_arena_alloc(&r->arena, (c->tenants_count + 1) * sizeof(*quotas));

	for (size_t i = 0; i < c->tenants_count; i++) {
		const struct ar_config_tenants *t = &c->tenants[i];

		quotas[i] = (struct ar_tenant_quota){
			.tenant = keep_text(r, t->name),
			.limits = { [AR_TENANT_WORKSPACES] = t->workspaces,
				    [AR_TENANT_PROCESSES] = t->processes,
				    [AR_TENANT_TURNS] = t->turns,
				    [AR_TENANT_TOKENS] = t->tokens_per_day,
				    [AR_TENANT_WORKSPACE_BYTES] = t->workspace_bytes,
				    [AR_TENANT_COST] = t->cost_per_day > 0 ? t->cost_per_day : 0 }
		};
	}
	r->policy.tenant_quotas = quotas;
	r->policy.tenant_quota_count = c->tenants_count;
}

void ar_host_read_policy(struct ar_host *r, const struct ar_config *c)
{
	r->policy = (struct ar_policy){
		.runtime_id = keep_text(r, r->store->runtime_id),
		.node = r->member ? ar_str_from(r->member->id) : AR_STR_NONE,
		.epoch = r->store->epoch,
		.models = r->models.entries,
		.model_count = r->models.count,
		.may_fall_back = c->model.fallback == AR_CONFIG_MODEL_FALLBACK_ALLOW,
		.max_attempts = c->model.max_attempts,
		.backoff_ms = c->model.backoff_ms,
		.max_rounds = c->model.max_rounds,
		.tool_ms = c->tools.timeout_ms,
		.process_output_bytes = c->process.max_output_bytes,
		.process_grace_ms = c->process.grace_ms,
		.checkpoint_days = c->workspaces.checkpoint_days,
		.workspace_bytes = c->workspaces.bytes,
		.subagent_depth = c->subagents.max_depth,
		.subagents_max = c->subagents.max_children,
		.subagents_running = c->subagents.max_running,
		.schedule_late_ms = c->schedules.late_ms,
		.schedules_max = c->schedules.per_tenant,
		.tool_parallel = c->tools.max_parallel,
		.tool_result_bytes = c->tools.max_result_bytes,
		.is_workspace_shared = c->tools.workspace_shared_by_tenants,
		.hooks = r->hooks.rules,
		.hook_count = r->hooks.count,
		.max_restarts = c->recovery.max_restarts,
		.queue_max = c->queue.max_turns,
		.context_max = c->context.max_messages,
		.context_bytes = c->context.max_bytes,
		.context_tokens = c->context.window_tokens,
		.compact_at = c->context.compact_at,
		.queue_by_default = c->queue.default_policy == AR_CONFIG_QUEUE_DEFAULT_POLICY_QUEUE,
		.auto_resume = c->recovery.auto_resume,
	};
	ar_system_describe(&r->arena, &r->policy);
	read_tenants(r, c);
	read_budget(&c->budget, &r->policy.budget);
	r->policy.budget.inactivity_ms = c->turn.inactivity_ms;
	r->policy.progress_ms = c->task.progress_ms;
	r->policy.delivery_ms = c->task.delivery_ms;
	ar_host_webhooks_name(c, &r->arena, &r->policy);
	r->policy.output_seconds = c->retention.outputs_s;
	r->policy.ends_with_turn = c->process.on_turn_end == AR_CONFIG_PROCESS_ON_TURN_END_TERMINATE;
	r->policy.budget.repeats = c->guard.repeats;
	ar_permission_configure(c, &r->arena, &r->policy);
}
