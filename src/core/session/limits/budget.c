/* See budget.h. What was used is a sum of facts, so it is exact over restarts; what may be used is the operator's, lowered by the turn,
 * raised by people. Pure. */
#include "limits/budget.h"
#include "action/action.h"
#include "limits/money.h"

const struct ar_quota_name ar_quota_names[AR_QUOTA_NAMES] = {
	{ "turn_tokens", "tokens", AR_QUOTA_TOKENS, false },
	{ "turn_tool_calls", "toolCalls", AR_QUOTA_CALLS, false },
	{ "turn_cost", "cost", AR_QUOTA_COST, false },
	{ "session_tokens", NULL, AR_QUOTA_TOKENS, true },
	{ "session_cost", NULL, AR_QUOTA_COST, true },
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

/* A member of options.budget: a whole number, or an amount of money as number or text. */
static bool read_amount(struct ar_json v, enum ar_quota quota, int64_t *ret)
{
	struct ar_buf text = { 0 };
	struct ar_str word;
	bool is_good;

	if (quota != AR_QUOTA_COST)
		return ar_json_i64(v, ret) && *ret > 0;
	if (ar_json_str(v, &word))
		return ar_money_parse(word, ret) && *ret > 0;
	ar_json_print(v, &text);
	is_good = ar_money_parse(ar_buf_str(&text), ret) && *ret > 0;
	ar_buf_fini(&text);
	return is_good;
}

static struct ar_json option_of(const struct ar_decision *d, struct ar_str options, const char *name)
{
	struct ar_json v;

	if (options.len <= 2 || ar_json_parse(d->json, options, &v, NULL) != AR_OK) /* mostly {} */
		return (struct ar_json){ 0 };
	return ar_json_get(ar_json_get(v, "budget"), name);
}

/* As set, without what people added; 0: no limit. A turn may only ask for less. */
static int64_t base_of(const struct ar_decision *d, const struct ar_turn *turn, const struct ar_quota_name *q)
{
	const struct ar_budget_policy *policy = &d->input->policy->budget;
	int64_t limit = q->is_session ? policy->session[q->quota] : policy->turn[q->quota], own;

	if (q->option && read_amount(option_of(d, turn->options, q->option), q->quota, &own) &&
	    (limit == 0 || own < limit))
		return own;
	return limit;
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

static int64_t spent(const struct ar_spent *s, enum ar_quota quota)
{
	return quota == AR_QUOTA_COST ? s->cost : s->input_tokens + s->output_tokens;
}

static int64_t used_of(const struct ar_decision *d, const struct ar_turn *turn, const struct ar_quota_name *q)
{
	if (q->quota == AR_QUOTA_CALLS)
		return turn->calls_started.v;
	return spent(q->is_session ? &d->session->spent : &turn->spent, q->quota);
}

/* ---- saying it ---- */

static struct ar_shape_limit_scope scope_of(const struct ar_decision *d, const struct ar_turn *turn,
					    const struct ar_quota_name *q)
{
	return (struct ar_shape_limit_scope){ .session_id = d->session->id,
					      .turn_id = q && q->is_session ? AR_STR_NONE : turn->id };
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
	struct ar_ids ids = ar_ids_turn(d, turn);
	const struct ar_shape_limit_scope scope = scope_of(d, turn, q);
	int64_t limit = limit_of(d, turn, q);

	ar_decide_emit(d, AR_EV_QUOTA_BLOCKED, &ids,
		       &(struct ar_ev_quota_blocked){ .quota_kind = ar_str_from(q->name),
						      .limit = ar_quota_units(q->quota, limit),
						      .scope = &scope,
						      .required_action_id = action });
}

/* ---- at the limit ---- */

static void stop(struct ar_decision *d, struct ar_turn *turn, const struct ar_quota_name *q, const char *why)
{
	struct ar_str text = ar_arena_fmt(d->arena, "the budget %s is used up%s", q->name, why);

	ar_decide_fail(d, turn,
		       &(struct ar_ending){ .status = AR_TURN_FAILED_STATUS_FAILED,
					    .category = AR_STR("budget_exhausted"),
					    .message = text,
					    .advice = AR_STR("raise the budget in the configuration or in "
							     "options.budget, or ask for less, then submit "
							     "again") });
}

static void ask(struct ar_decision *d, struct ar_turn *turn, const struct ar_quota_name *q)
{
	struct ar_str action = ar_action_mint(d);
	int64_t used = used_of(d, turn, q), limit = limit_of(d, turn, q);

	say_blocked(d, turn, q, action);
	ar_decide_ask(
		d, turn,
		&(struct ar_ask){
			.id = action,
			.type = AR_ACTION_BUDGET_OVERRIDE,
			.question = ar_str_from(q->name),
			.prompt = ar_arena_fmt(d->arena,
					       "The budget %s is used up: %g of %g. Extend it by %g, or stop "
					       "the turn?",
					       q->name, ar_quota_units(q->quota, used),
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
	int64_t limit = limit_of(d, turn, q), used = used_of(d, turn, q);

	if (limit == 0)
		return false;
	if (q->quota == AR_QUOTA_CALLS)
		return used + next.calls > limit;
	return used >= limit || (q->quota == AR_QUOTA_TOKENS && used + next.tokens > limit);
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

enum ar_hold ar_budget_claim(struct ar_decision *d, struct ar_turn *turn, struct ar_spending next)
{
	if (is_asked(d, turn))
		return AR_HELD;
	ar_budget_note(d, turn);
	for (size_t i = 0; i < AR_QUOTA_NAMES; i++) {
		const struct ar_quota_name *q = &ar_quota_names[i];

		if (!is_over(d, turn, q, next))
			continue;
		if (may_ask(d, turn)) {
			ask(d, turn, q);
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
	struct ar_ids ids = ar_ids_turn(d, turn);

	ar_decide_emit(d, AR_EV_LIMIT_CHANGED, &ids,
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

static enum ar_status check_member(struct ar_json v, struct ar_str name, struct ar_error *err)
{
	int64_t n;

	if (ar_str_is(name, "ms") && ar_json_i64(v, &n) && n > 0)
		return AR_OK;
	for (size_t i = 0; i < AR_QUOTA_NAMES; i++) {
		const struct ar_quota_name *q = &ar_quota_names[i];

		if (q->option && ar_str_is(name, q->option) && read_amount(v, q->quota, &n))
			return AR_OK;
	}
	return ar_refuse(err, AR_ERR_INVALID_INPUT,
			 "options.budget.%.*s is not valid; tokens, toolCalls and ms are whole numbers above "
			 "0, cost is an amount such as 0.25",
			 AR_STR_ARG(name));
}

enum ar_status ar_budget_check(const struct ar_decision *d, struct ar_str options, struct ar_error *err)
{
	struct ar_json v, budget;

	if (ar_str_empty(options) || ar_json_parse(d->json, options, &v, NULL) != AR_OK)
		return AR_OK;
	budget = ar_json_get(v, "budget");
	if (ar_json_type(budget) == AR_JSON_NONE)
		return AR_OK;
	if (ar_json_type(budget) != AR_JSON_OBJECT)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "options.budget is an object");
	for (struct ar_json_iter it = ar_json_iter(budget); ar_json_next(&it);) {
		if (check_member(it.value, it.name, err) != AR_OK)
			return AR_E_REFUSED;
	}
	return AR_OK;
}

/* ---- calls at once ---- */

void ar_budget_say_parallel(struct ar_decision *d, struct ar_turn *turn, int64_t running)
{
	struct ar_ids ids = ar_ids_turn(d, turn);
	const struct ar_shape_limit_scope scope = scope_of(d, turn, NULL);
	const struct ar_shape_limit_state state = {
		.limit_event = AR_STR("parallel_budget_reached"),
		.max_parallel = AR_OPT_INT(d->input->policy->tool_parallel),
		.running = AR_OPT_INT(running),
	};

	if (turn->crowded.v)
		return;
	ar_decide_emit(d, AR_EV_LIMIT_CHANGED, &ids,
		       &(struct ar_ev_limit_changed){ .limit_kind = AR_LIMIT_CHANGED_LIMIT_KIND_CONCURRENCY,
						      .limit_state = &state,
						      .scope = &scope,
						      .source = AR_STR("runtime") });
}
