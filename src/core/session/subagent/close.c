/* close_subagent, and how the end of a parent reaches its children. That a child is to end is a fact before
 * anything is stopped; subagent.closed follows the end of the last thing that it began. Pure. */
#include "closed/closed_group.h"
#include "process/record.h"
#include "subagent/subagents.h"
#include "task/task.h"
#include "workspace/isolation.h"

#define REASON_MAX 1024

/* ---- what of it runs ---- */

static bool has_process(const struct ar_session *s, struct ar_str thread)
{
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (ar_process_is_running(p) && ar_str_eq(p->thread, thread))
			return true;
	}
	return false;
}

static bool has_children(const struct ar_session *s, struct ar_str id)
{
	for (size_t i = 0; i < s->subagents.count; i++) {
		const struct ar_shape_subagent_record *r = ar_subagent_at(s, i);

		if (ar_str_eq(r->parent_id, id) && !ar_subagent_is_closed(r))
			return true;
	}
	return false;
}

static void end_turns(struct ar_decision *d, struct ar_str thread, struct ar_str reason)
{
	const struct ar_thread *t = ar_session_thread(d->session, thread);
	struct ar_turn *active = t ? ar_thread_active(t) : NULL;

	while (t && d->fault == AR_OK && t->queue.count > 0)
		ar_decide_cancel_queued(d, t->queue.at[t->queue.count - 1], reason);
	if (active && !active->is_interrupted && ar_str_absent(active->outcome))
		ar_decide_interrupt(d, active, reason);
}

static void end_processes(struct ar_decision *d, struct ar_str thread, struct ar_str reason, bool is_forced)
{
	struct ar_vec all = ar_vec_copy(d->arena, &d->session->processes);

	for (size_t i = 0; i < all.count; i++) {
		const struct ar_process_record *p = all.at[i];

		if (ar_process_is_running(p) && ar_str_eq(p->thread, thread))
			ar_decide_terminate(d, p,
					    &(struct ar_effect_process_end){
						    .process = p->id,
						    .by = AR_STR("parent_cancellation"),
						    .reason = reason,
						    .grace_ms =
							    is_forced ? 0
								      : d->input->policy->process_grace_ms });
	}
}

/* ---- closing ---- */

static void say_closing(struct ar_decision *d, const struct ar_shape_subagent_record *r, struct ar_str reason)
{
	struct ar_ids ids = ar_ids_subagent(r);
	static const struct {
		const char *word;
		int status;
	} words[] = { { "queued", AR_SUBAGENT_STATUS_STATUS_QUEUED },
		      { "running", AR_SUBAGENT_STATUS_STATUS_RUNNING },
		      { "blocked", AR_SUBAGENT_STATUS_STATUS_BLOCKED },
		      { "completed", AR_SUBAGENT_STATUS_STATUS_COMPLETED },
		      { "failed", AR_SUBAGENT_STATUS_STATUS_FAILED } };
	int status = AR_SUBAGENT_STATUS_STATUS_CANCELLED;

	for (size_t i = 0; i < AR_ARRAY_LEN(words); i++) {
		if (ar_str_is(r->status, words[i].word))
			status = words[i].status;
	}
	ar_decide_emit(d, AR_EV_SUBAGENT_STATUS, &ids,
		       &(struct ar_ev_subagent_status){ .status = status,
							.reason = ar_str_utf8_prefix(reason, REASON_MAX),
							.last_message_ref = r->last_message_ref,
							.status_detail = AR_STR(AR_SUBAGENT_CLOSING),
							.actor = d->input->account });
}

void ar_subagent_close(struct ar_decision *d, struct ar_str id, struct ar_str reason, bool is_forced)
{
	const struct ar_shape_subagent_record *r = ar_session_subagent(d->session, id);

	if (!r || ar_subagent_is_closed(r) || d->fault != AR_OK)
		return;
	if (!ar_subagent_is_closing(r))
		say_closing(d, r, reason);
	for (size_t i = 0; i < d->session->subagents.count; i++) {
		const struct ar_shape_subagent_record *child = ar_subagent_at(d->session, i);

		if (ar_str_eq(child->parent_id, id) && !ar_subagent_is_closing(child))
			ar_subagent_close(d, child->subagent_id, reason, is_forced);
	}
	end_turns(d, r->child_thread_id, reason);
	end_processes(d, r->child_thread_id, reason, is_forced);
	ar_subagents_close_ended(d);
}

/* Ids of what has ended since it began to close. */
static struct ar_texts released(struct ar_decision *d, const struct ar_shape_subagent_record *r)
{
	const struct ar_session *s = d->session;
	const struct ar_thread *t = ar_session_thread(s, r->child_thread_id);
	struct ar_texts ids = ar_texts_empty;

	for (size_t i = 0; t && i < t->turns.count; i++) {
		const struct ar_turn *turn = t->turns.at[i];

		if (ar_str_is(turn->outcome, "cancelled") && turn->ended >= r->updated_at)
			ids = ar_arena_texts_add(d->arena, ids, turn->id);
	}
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (ar_str_eq(p->thread, r->child_thread_id) && p->ended >= r->updated_at)
			ids = ar_arena_texts_add(d->arena, ids, p->id);
	}
	for (size_t i = 0; i < s->subagents.count; i++) {
		const struct ar_shape_subagent_record *child = ar_subagent_at(s, i);

		if (ar_str_eq(child->parent_id, r->subagent_id) && child->updated_at >= r->updated_at)
			ids = ar_arena_texts_add(d->arena, ids, child->subagent_id);
	}
	return ids;
}

static bool is_at_rest(const struct ar_session *s, const struct ar_shape_subagent_record *r)
{
	const struct ar_thread *t = ar_session_thread(s, r->child_thread_id);

	return (!t || (ar_str_absent(t->active_turn) && t->queue.count == 0)) &&
	       !has_process(s, r->child_thread_id) && !has_children(s, r->subagent_id);
}

/* Who asks for it now; what another command ends was asked for before. */
static struct ar_str closer(const struct ar_decision *d)
{
	bool is_asked = d->input->kind == AR_IN_COMMAND && d->input->command.id == AR_CMD_CLOSE_SUBAGENT;

	return is_asked ? d->input->account : AR_STR_NONE;
}

/* Children before their parents: a parent has rest when its last child is closed. */
void ar_subagents_close_ended(struct ar_decision *d)
{
	for (size_t i = d->session->subagents.count; i > 0 && d->fault == AR_OK; i--) {
		const struct ar_shape_subagent_record *r = ar_subagent_at(d->session, i - 1);
		struct ar_str task = r->task_id;
		struct ar_ids ids = ar_ids_subagent(r);

		if (!ar_subagent_is_closing(r) || !is_at_rest(d->session, r))
			continue;
		ar_decide_emit(d, AR_EV_SUBAGENT_CLOSED, &ids,
			       &(struct ar_ev_subagent_closed){ .closed_by =
									AR_SUBAGENT_CLOSED_CLOSED_BY_PARENT,
								.reason = r->status_reason,
								.resources_released = released(d, r),
								.actor = closer(d) });
		ar_task_child_ended(d, task);
		i = d->session->subagents.count + 1; /* its parent may have rest now */
	}
	ar_isolation_release(d);
}

enum ar_status ar_decide_close_subagent(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_close_subagent_in *in = d->input->command.args;
	struct ar_str reason = ar_str_absent(in->reason) ? AR_STR("closed") : in->reason;
	const struct ar_shape_subagent_record *r;

	if (ar_subagent_need(d, in->subagent_id, &r, err) != AR_OK)
		return AR_E_REFUSED;
	ar_subagent_close(d, in->subagent_id, reason, in->force.v);
	ar_subagents_settle(d);
	ar_decide_reply(d, AR_CMD_CLOSE_SUBAGENT,
			&(struct ar_cmd_close_subagent_out){ .subagent_id = in->subagent_id,
							     .status = AR_CLOSE_SUBAGENT_STATUS_CLOSED });
	return AR_OK;
}

/* ---- the end of a parent ---- */

struct ar_texts ar_subagents_of_turns(struct ar_decision *d, const struct ar_vec *turns, bool is_at_work)
{
	struct ar_texts ids = ar_texts_empty;

	if (!is_at_work)
		ar_closed_groups_open_all(d->session);
	for (size_t i = 0; i < d->session->subagents.count; i++) {
		const struct ar_shape_subagent_record *r = ar_subagent_at(d->session, i);

		if (ar_vec_last_with(turns, offsetof(struct ar_turn, id), r->parent_turn_id) &&
		    (!is_at_work || !ar_subagent_is_over(r)))
			ids = ar_arena_texts_add(d->arena, ids, r->subagent_id);
	}
	return ids;
}

void ar_subagents_interrupt(struct ar_decision *d, const struct ar_turn *turn, struct ar_str reason)
{
	struct ar_vec one = { 0 };
	struct ar_texts ids;

	if (d->session->subagents.count == 0)
		return;
	ar_vec_push(d->arena, &one, (void *)(uintptr_t)turn);
	ids = ar_subagents_of_turns(d, &one, true);
	for (size_t i = 0; i < ids.count && d->fault == AR_OK; i++)
		end_turns(d, ar_session_subagent(d->session, ids.at[i])->child_thread_id, reason);
}

void ar_subagents_close_task(struct ar_decision *d, const struct ar_task *task, struct ar_str reason)
{
	struct ar_texts ids = ar_texts_empty;

	for (size_t i = 0; i < d->session->subagents.count; i++) {
		const struct ar_shape_subagent_record *r = ar_subagent_at(d->session, i);

		if (ar_str_eq(r->task_id, task->id) && !ar_subagent_is_closed(r))
			ids = ar_arena_texts_add(d->arena, ids, r->subagent_id);
	}
	for (size_t i = 0; i < ids.count; i++)
		ar_subagent_close(d, ids.at[i], reason, false);
}
