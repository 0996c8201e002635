/* Budgets of children. What a child may use is set aside from the budget of its parent while it has work, and
 * what it used stays counted there: a tree of children uses no more than its root may. A child without a
 * budget of its own uses its parent's. All amounts are sums of facts. Pure. */
#include "limits/budget.h"
#include "subagent/subagents.h"

/* ---- sums ---- */

/* By itself, and by its closed children. */
static int64_t spent_of(const struct ar_shape_subagent_record *r, enum ar_quota quota)
{
	const struct ar_shape_subagent_spent *p = r->spent;

	if (!p)
		return 0;
	if (quota == AR_QUOTA_CALLS)
		return p->tool_calls.v + p->child_tool_calls.v;
	if (quota == AR_QUOTA_TOKENS)
		return p->tokens.v + p->child_tokens.v;
	return p->cost_nano.v + p->reserved_nano.v + p->child_cost_nano.v;
}

static int64_t limit_of(const struct ar_shape_subagent_record *r, enum ar_quota quota)
{
	return ar_budget_amount(r->budget, quota);
}

/* The child at this place; NULL: what it used is counted with its parents. */
static const struct ar_shape_subagent_record *unsettled(const struct ar_session *s, size_t i)
{
	const struct ar_subagent *a = s->subagents.at[i];

	return a->is_settled.v ? NULL : a->record;
}

static int64_t held_by(const struct ar_session *s, const struct ar_shape_subagent_record *r,
		       enum ar_quota quota);

/* What it used, with what its children hold. Depth is limited when they are spawned. */
static int64_t total_of(const struct ar_session *s, const struct ar_shape_subagent_record *r,
			enum ar_quota quota)
{
	int64_t total = spent_of(r, quota);

	if (r->children.set && r->children.v == 0)
		return total;
	for (size_t i = 0; i < s->subagents.count; i++) {
		const struct ar_shape_subagent_record *child = unsettled(s, i);

		if (child && !ar_str_absent(child->parent_id) && ar_str_eq(child->parent_id, r->subagent_id))
			total += held_by(s, child, quota);
	}
	return total;
}

/* What of the parent's is its own for now. */
static int64_t held_by(const struct ar_session *s, const struct ar_shape_subagent_record *r,
		       enum ar_quota quota)
{
	int64_t total = total_of(s, r, quota), limit = limit_of(r, quota);

	return limit > total && !ar_subagent_is_over(r) ? limit : total;
}

int64_t ar_subagents_held(const struct ar_session *s, const struct ar_turn *turn, enum ar_quota quota)
{
	int64_t held = turn->spent.below[quota].v;

	for (size_t i = 0; i < s->subagents.count; i++) {
		const struct ar_shape_subagent_record *r = unsettled(s, i);

		if (r && ar_str_eq(r->parent_turn_id, turn->id))
			held += held_by(s, r, quota);
	}
	return held;
}

/* The outermost of the child and those around it that has a budget; NULL: none. */
static const struct ar_shape_subagent_record *outermost(const struct ar_session *s,
							const struct ar_shape_subagent_record *r,
							enum ar_quota quota)
{
	const struct ar_shape_subagent_record *found = NULL;

	for (; r; r = ar_str_absent(r->parent_id) ? NULL : ar_session_subagent(s, r->parent_id)) {
		if (limit_of(r, quota) > 0)
			found = r;
	}
	return found;
}

int64_t ar_subagents_reserved(const struct ar_session *s, const struct ar_turn *turn, enum ar_quota quota)
{
	const struct ar_shape_subagent_record *own =
		s->subagents.count ? outermost(s, ar_session_subagent_in(s, turn->thread), quota) : NULL;
	int64_t reserved = 0;

	for (size_t i = 0; i < s->subagents.count; i++) {
		const struct ar_shape_subagent_record *r = unsettled(s, i);

		if (!r || r == own || limit_of(r, quota) == 0 || ar_subagent_is_over(r))
			continue; /* what it has not used is not set aside */
		if (outermost(s, r, quota) == r)
			reserved += held_by(s, r, quota) - total_of(s, r, quota);
	}
	return reserved;
}

/* ---- before something is used ---- */

static struct ar_str over_text(struct ar_decision *d, struct ar_str whose, enum ar_quota quota)
{
	static const char *const words[] = {
		[AR_QUOTA_TOKENS] = "tokens", [AR_QUOTA_CALLS] = "toolCalls", [AR_QUOTA_COST] = "cost"
	};

	return ar_arena_fmt(d->arena, "the budget of %.*s (%s) is used up%s", AR_STR_ARG(whose), words[quota],
			    quota == AR_QUOTA_COST ? ", or less is left than the next request can cost" : "");
}

static bool is_over(int64_t used, int64_t limit, int64_t next)
{
	return limit > 0 && (used >= limit || next > limit - used);
}

struct ar_str ar_subagent_over_budget(struct ar_decision *d, const struct ar_turn *turn, enum ar_quota quota,
				      int64_t next)
{
	const struct ar_session *s = d->session;
	const struct ar_shape_subagent_record *r =
		s->subagents.count ? ar_session_subagent_in(s, turn->thread) : NULL;
	const struct ar_turn *parent = NULL;
	struct ar_thread *t;

	for (; r; r = ar_session_subagent_in(s, r->parent_thread_id)) {
		int64_t limit = limit_of(r, quota);

		if (limit > 0) /* set aside: nobody above it can have used it */
			return is_over(total_of(s, r, quota), limit, next)
				       ? over_text(d, r->subagent_id, quota)
				       : AR_STR_NONE;
		parent = ar_session_turn(s, r->parent_turn_id, &t);
		if (!parent)
			return AR_STR_NONE; /* it ended long ago: the session's budget is what is left */
	}
	if (parent && is_over(ar_budget_used(d, parent, quota), ar_budget_limit(d, parent, quota), next))
		return over_text(d, parent->id, quota);
	return AR_STR_NONE;
}

/* ---- setting aside ---- */

/* Whose budget a turn uses: that of a child, or of a turn that is no child's. Both NULL: it is not known any
 * more. */
struct payer {
	const struct ar_shape_subagent_record *child;
	const struct ar_turn *turn;
};

static struct payer payer_of(const struct ar_session *s, const struct ar_turn *turn, enum ar_quota quota)
{
	const struct ar_shape_subagent_record *r =
		s->subagents.count ? ar_session_subagent_in(s, turn->thread) : NULL;
	struct ar_thread *t;

	for (; r && turn; r = turn ? ar_session_subagent_in(s, turn->thread) : NULL) {
		if (limit_of(r, quota) > 0)
			return (struct payer){ .child = r };
		turn = ar_session_turn(s, r->parent_turn_id, &t);
	}
	return (struct payer){ .turn = turn };
}

int64_t ar_subagents_available(const struct ar_decision *d, const struct ar_turn *turn, enum ar_quota quota)
{
	struct payer p = payer_of(d->session, turn, quota);
	int64_t limit = p.turn ? ar_budget_limit(d, p.turn, quota) : 0;

	if (p.child)
		return limit_of(p.child, quota) - total_of(d->session, p.child, quota);
	return limit > 0 ? limit - ar_budget_used(d, p.turn, quota) : INT64_MAX;
}

bool ar_subagents_share(const struct ar_session *s, const struct ar_turn *a, const struct ar_turn *b,
			enum ar_quota quota)
{
	struct payer p = payer_of(s, a, quota), q = payer_of(s, b, quota);

	return p.child == q.child && p.turn == q.turn;
}

static enum ar_status check_amounts(struct ar_decision *d, const struct ar_turn *parent,
				    const int64_t wanted[AR_QUOTA_COUNT], struct ar_error *err)
{
	static const char *const words[] = {
		[AR_QUOTA_TOKENS] = "tokens", [AR_QUOTA_CALLS] = "toolCalls", [AR_QUOTA_COST] = "cost"
	};

	for (int q = 0; q < AR_QUOTA_COUNT; q++) {
		int64_t turn = ar_subagents_available(d, parent, (enum ar_quota)q);
		int64_t session = ar_budget_session_left(d, parent, (enum ar_quota)q);
		int64_t left = turn < session ? turn : session;

		if (wanted[q] > 0 && wanted[q] > left)
			return ar_refuse(err, AR_ERR_BUDGET_EXCEEDED,
					 "budget.%s %g is more than the %g that the parent has left",
					 words[q], ar_quota_units((enum ar_quota)q, wanted[q]),
					 ar_quota_units((enum ar_quota)q, left > 0 ? left : 0));
	}
	return AR_OK;
}

enum ar_status ar_subagent_check_budget(struct ar_decision *d, const struct ar_turn *parent,
					const struct ar_shape_turn_budget *budget, struct ar_error *err)
{
	const struct ar_shape_turn_options options = { .budget = budget };
	int64_t wanted[AR_QUOTA_COUNT];

	if (!budget)
		return AR_OK;
	if (ar_budget_check(&options, err) != AR_OK)
		return AR_E_REFUSED;
	for (int q = 0; q < AR_QUOTA_COUNT; q++)
		wanted[q] = ar_budget_amount(budget, (enum ar_quota)q);
	return check_amounts(d, parent, wanted, err);
}

enum ar_status ar_subagent_check_again(struct ar_decision *d, const struct ar_shape_subagent_record *r,
				       struct ar_error *err)
{
	struct ar_thread *t;
	const struct ar_turn *parent = ar_session_turn(d->session, r->parent_turn_id, &t);
	int64_t wanted[AR_QUOTA_COUNT];

	if (!r->budget || !parent || !ar_subagent_is_over(r))
		return AR_OK; /* what it has is set aside already */
	for (int q = 0; q < AR_QUOTA_COUNT; q++)
		wanted[q] = limit_of(r, (enum ar_quota)q) - total_of(d->session, r, (enum ar_quota)q);
	return check_amounts(d, parent, wanted, err);
}
