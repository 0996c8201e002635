/* Facts about children. A record is replaced whole when a fact changes it. Pure; see apply.c. */
#include "apply.h"
#include "describe.h"
#include "closed/closed_group.h"
#include "subagent/subagents.h"

#define WINDOW_CLOSED 500 /* newest closed children kept per session */

static void keep_record(struct ar_session *s, struct ar_subagent *a, const struct ar_shape_subagent_record *r)
{
	a->record = ar_struct_copy(&ar_shape_subagent_record_desc, r, AR_COPY_TEXT, &s->arena);
}

static struct ar_subagent *find_by(struct ar_session *s, struct ar_str id, bool is_thread)
{
	for (size_t i = s->subagents.count; i > 0; i--) {
		struct ar_subagent *a = s->subagents.at[i - 1];

		if (!a->pack &&
		    ar_str_eq(is_thread ? a->record->child_thread_id : a->record->subagent_id, id))
			return a;
	}
	return ar_closed_groups_seek(s, id) ? find_by(s, id, is_thread) : NULL;
}

static void drop_old(struct ar_session *s)
{
	size_t closed = 0;

	for (size_t i = s->subagents.count; i > 0; i--) {
		const struct ar_shape_subagent_record *r = ar_subagent_at(s, i - 1);

		if (!ar_subagent_is_closed(r) || ar_subagent_keeps_files(r) || ++closed <= WINDOW_CLOSED)
			continue;
		ar_subagent_whole(s, i - 1); /* a pack has no content without a place */
		if (!((const struct ar_subagent *)s->subagents.at[i - 1])->pack) /* else it is unreadable */
			ar_vec_remove(&s->subagents, i - 1);
	}
}

static void count_child(struct ar_session *s, struct ar_str id)
{
	struct ar_subagent *a = ar_str_absent(id) ? NULL : find_by(s, id, false);
	struct ar_shape_subagent_record r;

	if (!a || !a->record->children.set)
		return; /* of one from before they were counted it stays unknown */
	r = *a->record;
	r.children.v++;
	keep_record(s, a, &r);
}

enum ar_status ar_apply_subagent_spawned(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_subagent_spawned *p = PAYLOAD(e, subagent_spawned);
	struct ar_subagent *a = ar_arena_alloc(&s->arena, sizeof(*a));
	struct ar_shape_subagent_record r = { .subagent_id = e->ids[AR_SCOPE_SUBAGENT],
					      .parent_session_id = p->parent_session_id,
					      .parent_thread_id = p->parent_thread_id,
					      .parent_turn_id = p->parent_turn_id,
					      .parent_id = p->parent_id,
					      .tool_call_id = p->tool_call_id,
					      .task_id = p->task_id,
					      .child_thread_id = p->child_thread_id,
					      .depth = p->depth,
					      .role = p->role,
					      .nickname = p->nickname,
					      .definition = p->definition,
					      .instructions_ref = p->instructions_ref,
					      .instructions_bytes = p->instructions_bytes,
					      .isolation = p->isolation,
					      .model_policy = p->model_policy,
					      .options = p->options,
					      .budget = p->budget,
					      .children = AR_OPT_INT(0),
					      .status = p->status,
					      .machine_state = AR_OPT_INT(AR_SUBAGENT_NONE),
					      .created_at = e->time,
					      .updated_at = e->time };

	if (find_by(s, r.subagent_id, false))
		return ar_fail(err, AR_E_CORRUPT, "fact %llu spawns a subagent that exists",
			       (unsigned long long)e->sequence);
	if (ar_apply_move(&r.machine_state.v, AR_MACHINE_SUBAGENT, e, err) != AR_OK)
		return AR_E_CORRUPT;
	keep_record(s, a, &r);
	ar_vec_push(&s->arena, &s->subagents, a);
	count_child(s, r.parent_id);
	ar_apply_count(&s->counters.subagent.v, r.subagent_id);
	s->counters.subagent.set = true;
	drop_old(s);
	return AR_OK;
}

static void set_status(struct ar_shape_subagent_record *r, struct ar_str status, struct ar_str reason,
		       struct ar_str detail)
{
	r->status = status;
	r->status_reason = reason;
	r->status_detail = detail;
}

/* What the fact says, in the record; a closed child keeps no more than a list shows. */
static void take_in(struct ar_shape_subagent_record *r, const struct ar_event *e)
{
	switch (e->type) {
	case AR_EV_SUBAGENT_STATUS: {
		const struct ar_ev_subagent_status *p = PAYLOAD(e, subagent_status);

		set_status(r, ar_apply_word(e, "status", p->status), p->reason, p->status_detail);
		break;
	}
	case AR_EV_SUBAGENT_OUTPUT: {
		const struct ar_ev_subagent_output *p = PAYLOAD(e, subagent_output);

		r->last_message_ref = p->output_ref;
		r->summary = p->summary;
		break;
	}
	case AR_EV_SUBAGENT_COMPLETED: {
		const struct ar_ev_subagent_completed *p = PAYLOAD(e, subagent_completed);

		set_status(r, AR_STR("completed"), AR_STR_NONE, AR_STR_NONE);
		r->result_ref = p->result_ref;
		r->last_message_ref = p->last_message_ref;
		r->error = NULL;
		break;
	}
	case AR_EV_SUBAGENT_FAILED:
		set_status(r, AR_STR("failed"), AR_STR_NONE, AR_STR_NONE);
		r->error = PAYLOAD(e, subagent_failed)->error;
		break;
	case AR_EV_SUBAGENT_CLOSED:
		set_status(r, AR_STR("closed"), PAYLOAD(e, subagent_closed)->reason, AR_STR_NONE);
		r->summary = AR_STR_NONE;
		r->options = NULL;
		break;
	default: /* input: it has work again */
		if (ar_subagent_is_over(r))
			set_status(r, AR_STR("queued"), AR_STR("input"), AR_STR_NONE);
		break;
	}
}

/* ---- what is used ---- */

static struct ar_opt_int sum(struct ar_opt_int a, int64_t b)
{
	return a.set || b != 0 ? AR_OPT_INT(a.v + b) : a;
}

/* All that a child and its closed children used, or may have. */
static struct ar_subagent_use use_of(const struct ar_shape_subagent_record *r)
{
	const struct ar_shape_subagent_spent *p = r->spent;

	if (!p)
		return (struct ar_subagent_use){ 0 };
	return (struct ar_subagent_use){ .tokens = p->tokens.v + p->child_tokens.v,
					 .calls = p->tool_calls.v + p->child_tool_calls.v,
					 .cost = p->cost_nano.v + p->reserved_nano.v + p->child_cost_nano.v };
}

static void count_below(struct ar_session *s, struct ar_subagent *a, const struct ar_subagent_use *use)
{
	static const struct ar_shape_subagent_spent nothing;
	struct ar_shape_subagent_record r = *a->record;
	struct ar_shape_subagent_spent spent = r.spent ? *r.spent : nothing;

	spent.child_tokens = sum(spent.child_tokens, use->tokens);
	spent.child_tool_calls = sum(spent.child_tool_calls, use->calls);
	spent.child_cost_nano = sum(spent.child_cost_nano, use->cost);
	r.spent = &spent;
	keep_record(s, a, &r);
}

/* Counts what a closed child used with the turn that spawned it and with the child that this turn is of; a
 * parent that was settled before passes it on. Depth is limited when children are spawned. */
static void settle(struct ar_session *s, const struct ar_shape_subagent_record *r,
		   const struct ar_subagent_use *use)
{
	struct ar_thread *t;
	struct ar_turn *turn = ar_session_turn(s, r->parent_turn_id, &t);
	struct ar_subagent *parent = ar_str_absent(r->parent_id) ? NULL : find_by(s, r->parent_id, false);

	if (turn) {
		turn->spent.below[AR_QUOTA_TOKENS] = sum(turn->spent.below[AR_QUOTA_TOKENS], use->tokens);
		turn->spent.below[AR_QUOTA_CALLS] = sum(turn->spent.below[AR_QUOTA_CALLS], use->calls);
		turn->spent.below[AR_QUOTA_COST] = sum(turn->spent.below[AR_QUOTA_COST], use->cost);
	}
	if (!parent)
		return;
	count_below(s, parent, use);
	if (parent->is_settled.v)
		settle(s, parent->record, use);
}

static void settle_closed(struct ar_session *s, struct ar_subagent *a)
{
	const struct ar_subagent_use use = use_of(a->record);

	if (a->is_settled.v || !ar_subagent_is_closed(a->record))
		return;
	a->is_settled = AR_OPT_BOOL(true);
	settle(s, a->record, &use);
}

enum ar_status ar_apply_subagent(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_subagent *a = find_by(s, e->ids[AR_SCOPE_SUBAGENT], false);
	struct ar_shape_subagent_record r;

	if (!a)
		return ar_apply_unknown(err, e, "subagent");
	r = *a->record;
	if (ar_apply_move(&r.machine_state.v, AR_MACHINE_SUBAGENT, e, err) != AR_OK)
		return AR_E_CORRUPT;
	take_in(&r, e);
	r.updated_at = e->time;
	keep_record(s, a, &r);
	settle_closed(s, a);
	drop_old(s);
	return AR_OK;
}

void ar_apply_subagent_spent(struct ar_session *s, struct ar_str thread, struct ar_subagent_use use)
{
	static const struct ar_shape_subagent_spent nothing;
	struct ar_subagent *a = s->subagents.count ? find_by(s, thread, true) : NULL;
	struct ar_shape_subagent_record r;
	struct ar_shape_subagent_spent spent;

	if (!a)
		return;
	r = *a->record;
	spent = r.spent ? *r.spent : nothing;
	spent.tokens = AR_OPT_INT(spent.tokens.v + use.tokens);
	spent.tool_calls = AR_OPT_INT(spent.tool_calls.v + use.calls);
	spent.cost_nano = AR_OPT_INT(spent.cost_nano.v + use.cost);
	spent.reserved_nano = sum(spent.reserved_nano, use.reserved);
	r.spent = &spent;
	keep_record(s, a, &r);
	use.cost += use.reserved;
	if (a->is_settled.v)
		settle(s, a->record, &use);
}

void ar_apply_subagent_folder(struct ar_session *s, struct ar_str id,
			      const struct ar_shape_workspace_binding *folder)
{
	struct ar_subagent *a = find_by(s, id, false);
	struct ar_shape_subagent_record r = *a->record;

	r.folder = folder;
	keep_record(s, a, &r);
}

void ar_apply_subagent_files(struct ar_session *s, struct ar_str id, const struct ar_shape_session_files *f)
{
	struct ar_subagent *a = find_by(s, id, false);
	struct ar_shape_subagent_record r = *a->record;

	r.files = f;
	keep_record(s, a, &r);
	drop_old(s);
}
