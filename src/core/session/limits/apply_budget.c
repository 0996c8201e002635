/* Facts about budgets: warnings, blocks, limits that people raised. Pure; see apply.c. */
#include "apply.h"
#include "limits/budget.h"

/* What a fact of this quota is marked on; NULL when it is none of ours, or its turn is gone. */
static struct ar_quota_mark *mark_of(struct ar_session *s, const struct ar_event *e, struct ar_str name)
{
	const struct ar_quota_name *q = ar_quota_find(name);
	struct ar_thread *t;
	struct ar_turn *turn;

	if (!q)
		return NULL;
	if (q->is_session)
		return &s->budget.marks[q->quota];
	turn = ar_apply_turn(s, e, &t);
	return turn ? &turn->budget.marks[q->quota] : NULL;
}

static struct ar_opt_int amount(struct ar_str name, double units)
{
	return AR_OPT_INT(ar_quota_amount(ar_quota_find(name)->quota, units));
}

enum ar_status ar_apply_quota_low(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_quota_low *p = PAYLOAD(e, quota_low);
	struct ar_quota_mark *mark = mark_of(s, e, p->quota_kind);

	(void)err;
	if (mark)
		mark->warned = amount(p->quota_kind, p->limit);
	return AR_OK;
}

enum ar_status ar_apply_quota_blocked(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_quota_blocked *p = PAYLOAD(e, quota_blocked);
	struct ar_quota_mark *mark = mark_of(s, e, p->quota_kind);

	(void)err;
	if (mark)
		mark->blocked = amount(p->quota_kind, p->limit);
	return AR_OK;
}

enum ar_status ar_apply_limit_changed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_limit_changed *p = PAYLOAD(e, limit_changed);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	const struct ar_shape_limit_state *state = p->limit_state;
	struct ar_quota_mark *mark;

	(void)err;
	if (turn && p->limit_kind == AR_LIMIT_CHANGED_LIMIT_KIND_CONCURRENCY)
		turn->crowded = AR_OPT_BOOL(true);
	mark = state ? mark_of(s, e, state->quota_kind) : NULL;
	if (!mark)
		return AR_OK;
	if (ar_str_is(p->source, AR_LIMIT_BY_POLICY)) {
		*mark = (struct ar_quota_mark){ 0 }; /* the policy has it; what people added is void */
		return AR_OK;
	}
	if (!state->limit.set)
		return AR_OK;
	mark->limit = amount(state->quota_kind, state->limit.v);
	mark->blocked = (struct ar_opt_int){ 0 };
	return AR_OK;
}
