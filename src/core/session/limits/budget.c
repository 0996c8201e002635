/* See budget.h. What was used is a sum of facts, so it is exact over restarts; what may be used
 * is the operator's, lowered by the turn, raised by people. Pure. */
#include "limits/budget.h"
#include "action/action.h"
#include "limits/money.h"
#include "subagent/subagents.h"
#include "task/task.h"

const struct ar_quota_name ar_quota_names[AR_QUOTA_NAMES] = {
	{ "turn_tokens", AR_QUOTA_TOKENS, false }, { "turn_tool_calls", AR_QUOTA_CALLS, false },
	{ "turn_cost", AR_QUOTA_COST, false },	   { "session_tokens", AR_QUOTA_TOKENS, true },
	{ "session_cost", AR_QUOTA_COST, true },
};

const struct ar_quota_name *ar_quota_find(struct ar_str name)
{
	for (size_t i = 0; i < AR_QUOTA_NAMES; i++) {
		if (ar_str_is(name, ar_quota_names[i].name))
			return &ar_quota_names[i];
	}
	return NULL;
}

double ar_quota_units(enum ar_quota quota, int64_t amount)
{
	return quota == AR_QUOTA_COST ? (double)amount / (double)AR_MONEY_UNIT : (double)amount;
}

int64_t ar_quota_amount(enum ar_quota quota, double units)
{
	return (int64_t)(quota == AR_QUOTA_COST ? units * (double)AR_MONEY_UNIT + 0.5 : units + 0.5);
}

/* ---- how much ---- */

/* An amount of money as JSON: a number or a text. */
static bool read_cost(struct ar_str json, int64_t *ret)
{
	if (json.len > 1 && json.p[0] == '"')
		json = ar_str_sub(json, 1, json.len - 2);
	return ar_money_parse(json, ret) && *ret > 0;
}

int64_t ar_budget_amount(const struct ar_shape_turn_budget *b, enum ar_quota quota)
{
	int64_t cost;

	if (!b)
		return 0;
	if (quota == AR_QUOTA_COST)
		return read_cost(b->cost, &cost) ? cost : 0;
	return quota == AR_QUOTA_TOKENS ? b->tokens.v : b->tool_calls.v;
}

/* Of the policy of a session; 0: it says nothing. */
static int64_t preset_amount(const struct ar_shape_session_budget *b, enum ar_quota quota)
{
	int64_t cost;

	if (!b || quota == AR_QUOTA_CALLS)
		return 0;
	if (quota == AR_QUOTA_COST)
		return read_cost(b->cost, &cost) ? cost : 0;
	return b->tokens.v;
}

static int64_t of_session(const struct ar_session *s, enum ar_quota quota)
{
	return s->preset ? preset_amount(s->preset->budget, quota) : 0;
}

static int64_t of_workspace(const struct ar_session *s, enum ar_quota quota)
{
	return s->workspace_policy ? preset_amount(s->workspace_policy->preset->budget, quota) : 0;
}

/* Of two limits; 0: there is none. */
static int64_t lower_of(int64_t a, int64_t b)
{
	return b > 0 && (a == 0 || b < a) ? b : a;
}

int64_t ar_budget_preset(const struct ar_session *s, enum ar_quota quota)
{
	return lower_of(of_session(s, quota), of_workspace(s, quota));
}

/* As set, without what people added; 0: no limit. A turn may only ask for less, and so may the policy of a
 * session, unless the host lets it loosen. Nothing exceeds what the policy of the workspace says. */
static int64_t base_of(const struct ar_decision *d, const struct ar_turn *turn, const struct ar_quota_name *q)
{
	const struct ar_budget_policy *policy = &d->input->policy->budget;
	int64_t limit = q->is_session ? policy->session[q->quota] : policy->turn[q->quota];
	int64_t own;

	if (!q->is_session)
		return lower_of(limit, ar_budget_amount(ar_turn_options(turn)->budget, q->quota));
	own = of_session(d->session, q->quota);
	limit = own > 0 && d->input->policy->may_loosen ? own : lower_of(limit, own);
	return lower_of(limit, of_workspace(d->session, q->quota));
}

static const struct ar_quota_mark *mark_of(const struct ar_decision *d, const struct ar_turn *turn,
					   const struct ar_quota_name *q)
{
	return q->is_session ? &d->session->budget.marks[q->quota] : &turn->budget.marks[q->quota];
}

static int64_t limit_of(const struct ar_decision *d, const struct ar_turn *turn,
			const struct ar_quota_name *q)
{
	const struct ar_quota_mark *mark = mark_of(d, turn, q);
	int64_t base = base_of(d, turn, q);

	return base > 0 && mark->limit.v > base ? mark->limit.v : base;
}

static int64_t used_of(const struct ar_decision *d, const struct ar_turn *turn, const struct ar_quota_name *q)
{
	const struct ar_spent *spent = q->is_session ? &d->session->spent : &turn->spent;

	int64_t held = q->is_session ? ar_subagents_reserved(d->session, turn, q->quota)
				     : ar_subagents_held(d->session, turn, q->quota);

	if (q->quota == AR_QUOTA_CALLS)
		return held + turn->calls_started.v;
	return held + (q->quota == AR_QUOTA_COST ? spent->cost + spent->reserved.v
						 : spent->input_tokens + spent->output_tokens);
}

/* The name of the budget of a turn, or of a session; NULL: there is none. */
static const struct ar_quota_name *name_of(enum ar_quota quota, bool is_session)
{
	for (size_t i = 0; i < AR_QUOTA_NAMES; i++) {
		if (ar_quota_names[i].quota == quota && ar_quota_names[i].is_session == is_session)
			return &ar_quota_names[i];
	}
	return NULL;
}

int64_t ar_budget_used(const struct ar_decision *d, const struct ar_turn *turn, enum ar_quota quota)
{
	return used_of(d, turn, name_of(quota, false));
}

int64_t ar_budget_limit(const struct ar_decision *d, const struct ar_turn *turn, enum ar_quota quota)
{
	return limit_of(d, turn, name_of(quota, false));
}

int64_t ar_budget_session_left(const struct ar_decision *d, const struct ar_turn *turn, enum ar_quota quota)
{
	const struct ar_quota_name *q = name_of(quota, true);
	int64_t limit = q ? limit_of(d, turn, q) : 0;

	return limit > 0 ? limit - used_of(d, turn, q) : INT64_MAX;
}

/* ---- saying it ---- */

/* Whether the budget of the turn's task is what counts. */
static bool is_of_task(const struct ar_decision *d, const struct ar_turn *turn, const struct ar_quota_name *q)
{
	int64_t own = q->is_session ? 0 : ar_budget_amount(ar_turn_options(turn)->budget, q->quota);

	return own > 0 && base_of(d, turn, q) == own && ar_task_executed_by(d, turn);
}

static struct ar_shape_limit_scope scope_of(const struct ar_decision *d, const struct ar_turn *turn,
					    const struct ar_quota_name *q)
{
	const struct ar_task *task = q && is_of_task(d, turn, q) ? ar_task_executed_by(d, turn) : NULL;

	return (struct ar_shape_limit_scope){ .session_id = d->session->id,
					      .turn_id = q && q->is_session ? AR_STR_NONE : turn->id,
					      .task_id = task ? task->id : AR_STR_NONE };
}

static void note_one(struct ar_decision *d, struct ar_turn *turn, const struct ar_quota_name *q)
{
	const struct ar_quota_mark *mark = mark_of(d, turn, q);
	int64_t limit = limit_of(d, turn, q), used = limit ? used_of(d, turn, q) : 0;
	const struct ar_shape_limit_scope scope = scope_of(d, turn, q);
	struct ar_ids ids;

	if (limit == 0 || mark->warned.v == limit || used >= limit ||
	    (double)used * 100 < (double)limit * (double)d->input->policy->budget.warn_percent)
		return;
	ids = ar_ids_turn(d, turn);
	ar_decide_emit(d, AR_EV_QUOTA_LOW, &ids,
		       &(struct ar_ev_quota_low){ .quota_kind = ar_str_from(q->name),
						  .remaining = ar_quota_units(q->quota, limit - used),
						  .limit = ar_quota_units(q->quota, limit),
						  .scope = &scope });
}

void ar_budget_note(struct ar_decision *d, struct ar_turn *turn)
{
	for (size_t i = 0; i < AR_QUOTA_NAMES; i++)
		note_one(d, turn, &ar_quota_names[i]);
}

static void say_blocked(struct ar_decision *d, struct ar_turn *turn, const struct ar_quota_name *q,
			struct ar_str action)
{
	const struct ar_shape_limit_scope scope = scope_of(d, turn, q);
	int64_t limit = limit_of(d, turn, q);

	ar_turn_emit(d, turn, AR_EV_QUOTA_BLOCKED,
		     &(struct ar_ev_quota_blocked){ .quota_kind = ar_str_from(q->name),
						    .limit = ar_quota_units(q->quota, limit),
						    .scope = &scope,
						    .required_action_id = action });
}

/* ---- at the limit ---- */

/* Money is set aside before it is used: what is left may be too little for the next request. */
static const char *words_of(const struct ar_quota_name *q, int64_t used, int64_t limit)
{
	return q->quota == AR_QUOTA_COST && used < limit ? "has less left than the next request can cost"
							 : "is used up";
}

static void stop(struct ar_decision *d, struct ar_turn *turn, const struct ar_quota_name *q, const char *why)
{
	struct ar_str cited = is_of_task(d, turn, q) ? ar_task_cite(d, turn, "budget") : AR_STR("");
	struct ar_str text = ar_arena_fmt(d->arena, "the budget %s%.*s %s%s", q->name, AR_STR_ARG(cited),
					  words_of(q, used_of(d, turn, q), limit_of(d, turn, q)), why);

	ar_decide_fail(d, turn,
		       &(struct ar_ending){ .status = AR_TURN_FAILED_STATUS_FAILED,
					    .category = AR_STR("budget_exhausted"),
					    .message = text,
					    .advice = AR_STR("raise the budget in the configuration or in "
							     "options.budget, or ask for less, then submit "
							     "again") });
}

static void ask_about_quota(struct ar_decision *d, struct ar_turn *turn, const struct ar_quota_name *q)
{
	struct ar_str action = ar_action_mint(d);
	int64_t used = used_of(d, turn, q), limit = limit_of(d, turn, q);

	say_blocked(d, turn, q, action);
	ar_decide_ask(d, turn,
		      &(struct ar_ask){
			      .id = action,
			      .type = AR_ACTION_BUDGET_OVERRIDE,
			      .question = ar_str_from(q->name),
			      .prompt = ar_arena_fmt(d->arena,
						     "The budget %s %s: %g of %g. Extend it by %g, or stop "
						     "the turn?",
						     q->name, words_of(q, used, limit),
						     ar_quota_units(q->quota, used),
						     ar_quota_units(q->quota, limit),
						     ar_quota_units(q->quota, base_of(d, turn, q))) });
}

/* A question about a budget of this turn that nobody answered yet. */
static bool is_asked(const struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_session *s = d->session;

	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		if (a->type == AR_ACTION_BUDGET_OVERRIDE && a->status == AR_ACTION_PENDING &&
		    ar_str_eq(a->turn, turn->id))
			return true;
	}
	return false;
}

static bool may_ask(struct ar_decision *d, const struct ar_turn *turn)
{
	return d->input->policy->budget.is_asking &&
	       !ar_str_is(ar_str_from(ar_permission_mode_of(d, turn)), "never");
}

static bool is_over(struct ar_decision *d, struct ar_turn *turn, const struct ar_quota_name *q,
		    struct ar_spending next)
{
	int64_t limit = limit_of(d, turn, q), used;

	if (limit == 0)
		return false;
	used = used_of(d, turn, q);
	if (q->quota == AR_QUOTA_CALLS)
		return used + next.calls > limit;
	return used >= limit || (q->quota == AR_QUOTA_TOKENS ? next.tokens : next.cost) > limit - used;
}

int64_t ar_budget_tokens_left(struct ar_decision *d, struct ar_turn *turn)
{
	int64_t least = INT64_MAX;

	if (is_asked(d, turn))
		return least;
	for (size_t i = 0; i < AR_QUOTA_NAMES; i++) {
		const struct ar_quota_name *q = &ar_quota_names[i];
		int64_t limit = q->quota == AR_QUOTA_TOKENS ? limit_of(d, turn, q) : 0;

		if (limit > 0 && limit - used_of(d, turn, q) < least)
			least = limit - used_of(d, turn, q);
	}
	return least;
}

/* A child whose budget, or its parents', is used up ends: what was set aside for it is not extended. */
static enum ar_hold claim_of_parent(struct ar_decision *d, struct ar_turn *turn, struct ar_spending next)
{
	const int64_t amounts[AR_QUOTA_COUNT] = {
		[AR_QUOTA_TOKENS] = next.tokens, [AR_QUOTA_CALLS] = next.calls, [AR_QUOTA_COST] = next.cost
	};

	for (int q = 0; q < AR_QUOTA_COUNT; q++) {
		struct ar_str why;

		if (q == AR_QUOTA_CALLS && next.calls == 0)
			continue;
		why = ar_subagent_over_budget(d, turn, (enum ar_quota)q, amounts[q]);
		if (ar_str_absent(why))
			continue;
		say_blocked(d, turn, name_of((enum ar_quota)q, false), AR_STR_NONE);
		ar_decide_fail(d, turn,
			       &(struct ar_ending){ .status = AR_TURN_FAILED_STATUS_FAILED,
						    .category = AR_STR("budget_exhausted"),
						    .message = why,
						    .advice = AR_STR("give the next subagent a larger "
								     "budget, or less to do") });
		return AR_HELD;
	}
	return AR_GO_ON;
}

enum ar_hold ar_budget_claim(struct ar_decision *d, struct ar_turn *turn, struct ar_spending next)
{
	if (is_asked(d, turn) || claim_of_parent(d, turn, next) == AR_HELD)
		return AR_HELD;
	ar_budget_note(d, turn);
	for (size_t i = 0; i < AR_QUOTA_NAMES; i++) {
		const struct ar_quota_name *q = &ar_quota_names[i];

		if (!is_over(d, turn, q, next))
			continue;
		if (may_ask(d, turn)) {
			ask_about_quota(d, turn, q);
			return AR_HELD;
		}
		say_blocked(d, turn, q, AR_STR_NONE);
		stop(d, turn, q, "");
		return AR_HELD;
	}
	return AR_GO_ON;
}

/* ---- what was decided ---- */

static struct ar_shape_limit_state state_of(const struct ar_quota_name *q, int64_t limit, int64_t used)
{
	return (struct ar_shape_limit_state){ .quota_kind = ar_str_from(q->name),
					      .limit = { ar_quota_units(q->quota, limit), true },
					      .used = { ar_quota_units(q->quota, used), true } };
}

/* By its original size. */
static void extend(struct ar_decision *d, struct ar_turn *turn, const struct ar_quota_name *q)
{
	int64_t before = limit_of(d, turn, q), used = used_of(d, turn, q);
	const struct ar_shape_limit_scope scope = scope_of(d, turn, q);
	const struct ar_shape_limit_state previous = state_of(q, before, used);
	const struct ar_shape_limit_state now = state_of(q, before + base_of(d, turn, q), used);

	ar_turn_emit(d, turn, AR_EV_LIMIT_CHANGED,
		     &(struct ar_ev_limit_changed){ .limit_kind = AR_LIMIT_CHANGED_LIMIT_KIND_BUDGET,
						    .limit_state = &now,
						    .scope = &scope,
						    .previous = &previous,
						    .source = AR_STR("action") });
}

void ar_budget_decided(struct ar_decision *d, struct ar_turn *turn, const struct ar_action *a,
		       struct ar_str decision)
{
	const struct ar_quota_name *q = ar_quota_find(a->question);

	if (!q)
		return;
	if (!ar_str_is(decision, "extend")) {
		stop(d, turn, q, ", and it was not extended");
		return;
	}
	extend(d, turn, q);
	if (turn->is_lost)
		return;
	if (ar_turn_has_open_calls(turn))
		ar_decide_advance(d, turn);
	else
		ar_decide_ask_model(d, turn, turn->attempt + 1);
}

/* ---- options ---- */

enum ar_status ar_budget_check(const struct ar_shape_turn_options *options, struct ar_error *err)
{
	const struct ar_shape_turn_budget *b = options->budget;
	const char *wrong = NULL;
	int64_t cost;

	if (!b)
		return AR_OK;
	if (b->tokens.set && b->tokens.v <= 0)
		wrong = "tokens";
	else if (b->tool_calls.set && b->tool_calls.v <= 0)
		wrong = "toolCalls";
	else if (b->ms.set && b->ms.v <= 0)
		wrong = "ms";
	else if (!ar_str_absent(b->cost) && !read_cost(b->cost, &cost))
		wrong = "cost";
	if (!wrong)
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_INPUT,
			 "options.budget.%s is not valid; tokens, toolCalls and ms are whole numbers above "
			 "0, cost is an amount such as 0.25",
			 wrong);
}

/* ---- by the policy of a session ---- */

struct ar_session_limits ar_budget_session_limits(const struct ar_decision *d)
{
	struct ar_session_limits limits = { 0 };

	for (int i = 0; i < AR_QUOTA_COUNT; i++) {
		const struct ar_quota_name *q = name_of((enum ar_quota)i, true);

		limits.at[i] = q ? limit_of(d, NULL, q) : 0;
	}
	return limits;
}

static struct ar_shape_limit_state session_state(const struct ar_quota_name *q, int64_t limit,
						 const struct ar_spent *spent)
{
	int64_t used = q->quota == AR_QUOTA_COST ? spent->cost + spent->reserved.v
						 : spent->input_tokens + spent->output_tokens;
	struct ar_shape_limit_state state = state_of(q, limit, used);

	state.limit.set = limit > 0;
	return state;
}

void ar_budget_say_session(struct ar_decision *d, const struct ar_session_limits *before)
{
	const struct ar_session_limits now = ar_budget_session_limits(d);
	const struct ar_shape_limit_scope scope = { .session_id = d->session->id };

	for (int i = 0; i < AR_QUOTA_COUNT; i++) {
		const struct ar_quota_name *q = name_of((enum ar_quota)i, true);
		struct ar_shape_limit_state old, new;

		if (!q || now.at[i] == before->at[i])
			continue;
		old = session_state(q, before->at[i], &d->session->spent);
		new = session_state(q, now.at[i], &d->session->spent);
		ar_decide_emit(d, AR_EV_LIMIT_CHANGED, &(struct ar_ids){ 0 },
			       &(struct ar_ev_limit_changed){ .limit_kind =
								      AR_LIMIT_CHANGED_LIMIT_KIND_BUDGET,
							      .limit_state = &new,
							      .scope = &scope,
							      .previous = &old,
							      .source = AR_STR(AR_LIMIT_BY_POLICY) });
	}
}

static enum ar_status refuse_looser(enum ar_quota quota, const char *whose, int64_t limit, const char *unless,
				    struct ar_error *err)
{
	return ar_refuse(err, AR_ERR_INVALID_POLICY,
			 "budget: %s is looser than the %s's %g, which may only be tightened here%s",
			 name_of(quota, true)->name, whose, ar_quota_units(quota, limit), unless);
}

enum ar_status ar_budget_check_session(const struct ar_decision *d, const struct ar_shape_session_budget *b,
				       struct ar_error *err)
{
	bool is_workspace = d->session->own != NULL;
	bool may_loosen = d->input->policy->may_loosen && !is_workspace;
	int64_t cost;

	if (!b)
		return AR_OK;
	if ((b->tokens.set && b->tokens.v <= 0) || (!ar_str_absent(b->cost) && !read_cost(b->cost, &cost)))
		return ar_refuse(err, AR_ERR_INVALID_POLICY,
				 "budget: tokens is a whole number above 0, cost an amount such as 0.25");
	for (enum ar_quota q = 0; q < AR_QUOTA_COUNT; q++) {
		int64_t wanted = preset_amount(b, q), host = d->input->policy->budget.session[q];
		int64_t workspace = of_workspace(d->session, q);

		if (workspace > 0 && wanted > workspace)
			return refuse_looser(q, "workspace", workspace, "", err);
		if (host > 0 && wanted > host && !may_loosen)
			return refuse_looser(q, "host", host, is_workspace ? "" : " (permission.may_loosen)",
					     err);
	}
	return AR_OK;
}

/* ---- calls at once ---- */

void ar_budget_say_parallel(struct ar_decision *d, struct ar_turn *turn, int64_t running)
{
	const struct ar_shape_limit_scope scope = scope_of(d, turn, NULL);
	const struct ar_shape_limit_state state = {
		.limit_event = AR_STR("parallel_budget_reached"),
		.max_parallel = AR_OPT_INT(d->input->policy->tool_parallel),
		.running = AR_OPT_INT(running),
	};

	if (turn->crowded.v)
		return;
	ar_turn_emit(d, turn, AR_EV_LIMIT_CHANGED,
		     &(struct ar_ev_limit_changed){ .limit_kind = AR_LIMIT_CHANGED_LIMIT_KIND_CONCURRENCY,
						    .limit_state = &state,
						    .scope = &scope,
						    .source = AR_STR("runtime") });
}
