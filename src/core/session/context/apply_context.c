/* Facts about what requests carry: what was resolved, and the boundaries at which a conversation
 * was shortened. Pure; see apply.c. */
#include "context/compact.h"
#include "apply.h"

static void set_one_more(struct ar_opt_int *count)
{
	*count = AR_OPT_INT(count->v + 1);
}

/* A person asked for it, or it worked: the next automatic one need not wait. */
static void end_rest(struct ar_thread *t)
{
	t->compact_failures = t->compact_rested = (struct ar_opt_int){ 0 };
}

/* A turn may fail twice; it counts once. */
static void add_failure(struct ar_thread *t, struct ar_turn *turn)
{
	if (turn->compaction.failed.v == 0)
		set_one_more(&t->compact_failures);
	set_one_more(&turn->compaction.failed);
	t->compact_rested = AR_OPT_INT(0);
}

static void close_compaction(struct ar_turn *turn)
{
	turn->compaction.trigger = turn->compaction.covered = turn->compaction.tokens =
		(struct ar_opt_int){ 0 };
}

enum ar_status ar_apply_context_resolved(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_context_resolved *p = PAYLOAD(e, context_resolved);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	turn->resolved = ar_context_digest(&s->arena, s->session_key, p);
	if (!ar_apply_is_shown(turn))
		return AR_OK;
	t->selected = ar_struct_copy(&ar_shape_context_selection_desc,
				     &(struct ar_shape_context_selection){
					     .turn_id = turn->id,
					     .workspace_refs = p->workspace_refs,
					     .instruction_refs = p->instruction_refs,
					     .policy_facts = p->policy_facts,
					     .omissions = p->omissions,
					     .warnings = p->warnings,
					     .token_estimate = p->token_estimate,
				     },
				     AR_COPY_TEXT, &s->arena);
	return AR_OK;
}

enum ar_status ar_apply_catalog_resolved(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_thread *t;

	(void)err;
	if (ar_apply_is_shown(ar_apply_turn(s, e, &t)))
		t->catalog_ref = ar_apply_keep(s, PAYLOAD(e, tool_catalog_resolved)->catalog_ref);
	return AR_OK;
}

enum ar_status ar_apply_compaction_started(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	const struct ar_ev_context_compaction_started *p = PAYLOAD(e, context_compaction_started);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	turn->compaction.trigger = AR_OPT_INT(p->trigger);
	turn->compaction.covered = p->covered_messages;
	turn->compaction.tokens = AR_OPT_INT(p->tokens_before);
	if (p->trigger == AR_COMPACTION_TRIGGER_AUTO)
		set_one_more(&turn->compaction.started);
	if (p->trigger == AR_COMPACTION_TRIGGER_BUDGET)
		set_one_more(&turn->compaction.budgets);
	if (p->trigger == AR_COMPACTION_TRIGGER_MANUAL)
		end_rest(t);
	return AR_OK;
}

enum ar_status ar_apply_compaction_completed(struct ar_session *s, const struct ar_event *e,
					     struct ar_error *err)
{
	const struct ar_ev_context_compaction_completed *p = PAYLOAD(e, context_compaction_completed);
	struct ar_boundary *b = ar_arena_alloc(&s->arena, sizeof(*b));
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	*b = (struct ar_boundary){ .turn = turn->id,
				   .trigger = ar_apply_word(e, "trigger", p->trigger),
				   .summary_ref = ar_apply_keep(s, p->summary_ref),
				   .preview = ar_apply_keep(s, p->summary_preview),
				   .history_ref = ar_apply_keep(s, p->replacement_history_ref),
				   .covered = p->covered_messages.v,
				   .bytes = p->summary_bytes.v,
				   .tokens_before = p->tokens_before,
				   .tokens_after = p->tokens_after,
				   .start = turn->start.v,
				   .at = e->time };
	if (p->preserved)
		b->preserved =
			ar_struct_copy(&ar_shape_preserved_desc, p->preserved, AR_COPY_TEXT, &s->arena);
	ar_vec_push(&s->arena, &t->boundaries, b);
	if (t->boundaries.count > AR_WINDOW_BOUNDARIES)
		ar_vec_remove(&t->boundaries, 0);
	t->request_ref = b->history_ref;
	t->sent = (int64_t)t->context.count;
	t->anchor = AR_OPT_INT(p->tokens_after);
	t->anchor_at = AR_OPT_INT(t->omitted + t->sent);
	end_rest(t);
	close_compaction(turn);
	return AR_OK;
}

enum ar_status ar_apply_compaction_failed(struct ar_session *s, const struct ar_event *e,
					  struct ar_error *err)
{
	const struct ar_ev_context_compaction_failed *p = PAYLOAD(e, context_compaction_failed);
	struct ar_thread *t;
	struct ar_turn *turn = ar_apply_turn(s, e, &t);
	struct ar_shape_failure error = ar_apply_failure(p->error);

	if (!turn)
		return ar_apply_unknown(err, e, "turn");
	if (p->trigger == AR_COMPACTION_TRIGGER_AUTO && !ar_str_is(error.category, AR_CATEGORY_INTERRUPTED))
		add_failure(t, turn);
	ar_apply_incident(s, e, t, &error);
	close_compaction(turn);
	return AR_OK;
}
