/* Taking a thread back: which turns go, what survives, what it touches. The log keeps all of it;
 * the next request does not. Pure. */
#include "artifact/artifact.h"
#include "context/context.h"
#include "subagent/subagents.h"

#define TOOLS_MAX 500 /* ids of tool calls that the fact lists */

/* ---- what it touches ---- */

static struct ar_texts calls_after(struct ar_decision *d, const struct ar_thread *t, size_t kept)
{
	struct ar_str *ids = ar_arena_alloc(d->arena, TOOLS_MAX * sizeof(*ids));
	size_t n = 0;

	for (size_t i = kept; i < t->context.count; i++) {
		const struct ar_context_entry *entry = t->context.at[i];

		for (size_t k = 0; k < entry->uses.count && n < TOOLS_MAX; k++)
			ids[n++] = entry->uses.at[k].tool_call_id;
	}
	return (struct ar_texts){ ids, n };
}

/* Files stay as they are: readers learn which ones the turns that go have changed. */
static struct ar_texts artifacts_of(struct ar_decision *d, const struct ar_vec *turns)
{
	const struct ar_session *s = d->session;
	struct ar_str *ids = ar_arena_alloc(d->arena, (s->artifacts.count + 1) * sizeof(*ids));
	struct ar_texts all = { ids, 0 };

	for (size_t i = 0; i < turns->count; i++) {
		struct ar_str turn = ((const struct ar_turn *)turns->at[i])->id;
		struct ar_texts own = ar_artifacts_of_turn(s, turn, d->arena);

		for (size_t k = 0; k < own.count && all.count < AR_ARTIFACTS_LISTED; k++) {
			if (!ar_texts_have(all, own.at[k]))
				ids[all.count++] = own.at[k];
		}
	}
	return all.count > 0 ? all : ar_texts_empty;
}

/* ---- what survives ---- */

static struct ar_str repair_of(struct ar_conversation *left, struct ar_texts removed)
{
	int64_t messages = (int64_t)(left->kept - ar_conversation_visible(left)) + (left->boundary ? 1 : 0);
	const struct ar_shape_read_model_repair repair = { .thread_id = left->thread->id,
							   .removed_turn_ids = removed,
							   .context_messages = AR_OPT_INT(messages) };

	return ar_decide_content(left->d,
				 ar_decide_shape(left->d, &ar_shape_read_model_repair_desc, &repair));
}

static size_t count_kept(const struct ar_thread *t, int64_t first)
{
	size_t n = t->context.count;

	while (n > 0 && ((const struct ar_context_entry *)t->context.at[n - 1])->turn.v >= first)
		n--;
	return n;
}

struct ar_str ar_decide_roll_back(struct ar_decision *d, const struct ar_thread *t,
				  const struct ar_rollback *r)
{
	struct ar_ids ids = ar_ids_thread(t);
	int64_t first = ((const struct ar_turn *)r->turns.at[0])->start.v;
	size_t kept = count_kept(t, first);
	struct ar_texts removed = ar_decide_turn_ids(d, &r->turns);
	struct ar_shape_rollback_effect affected = { .tools = calls_after(d, t, kept),
						     .artifacts = artifacts_of(d, &r->turns),
						     .subagents = ar_subagents_of_turns(d, &r->turns, false),
						     .jobs = ar_texts_empty };
	struct ar_shape_asker asker = { .account_ref = d->input->account };
	struct ar_str base;
	struct ar_conversation left = {
		.d = d, .thread = t, .kept = kept, .sent = kept, .boundary = ar_thread_boundary(t, first)
	};

	base = ar_conversation_baseline(&left);
	ar_decide_emit(d, AR_EV_HISTORY_ROLLBACK_STARTED, &ids,
		       &(struct ar_ev_history_rollback_started){ .target = r->target,
								 .removed_turn_ids = removed,
								 .requested_by = &asker,
								 .reason = r->reason });
	ar_decide_emit(d, AR_EV_HISTORY_ROLLBACK_COMPLETED, &ids,
		       &(struct ar_ev_history_rollback_completed){ .target = r->target,
								   .removed_turn_ids = removed,
								   .surviving_baseline_ref = base,
								   .affected = &affected,
								   .read_model_repair_ref =
									   repair_of(&left, removed) });
	ar_decide_emit(d, AR_EV_SNAPSHOT_REPAIRED, &ids,
		       &(struct ar_ev_snapshot_repaired){
			       .reason = AR_STR("rollback"),
			       .from_sequence = first,
			       .to_sequence = (int64_t)d->session->head,
			       .repaired_fields = AR_TEXTS(AR_STR("turns"), AR_STR("lastOutcome"),
							   AR_STR("incidents"), AR_STR("history")) });
	return base;
}

void ar_decide_roll_back_turn(struct ar_decision *d, struct ar_turn *turn)
{
	struct ar_shape_rollback_target target = { .sequence = AR_OPT_INT(turn->start.v - 1) };
	struct ar_rollback r = { .target = &target, .reason = turn->interrupt_reason };

	ar_vec_push(d->arena, &r.turns, turn);
	ar_decide_roll_back(d, ar_decide_thread(d, turn), &r);
}

/* ---- rollback_thread ---- */

/* Turns that started after the target go. */
static enum ar_status find_target(struct ar_decision *d, const struct ar_thread *t, int64_t *ret,
				  struct ar_error *err)
{
	const struct ar_cmd_rollback_thread_in *in = d->input->command.args;
	const struct ar_shape_rollback_target *target = in->target;
	const struct ar_turn *turn;

	if (!ar_str_absent(target->turn_id)) {
		turn = ar_thread_turn(t, target->turn_id);
		if (!turn || !turn->start.set || turn->removed.v)
			return ar_refuse(err, AR_ERR_TARGET_NOT_FOUND,
					 "turn %.*s is not among the newest %d turns of thread %.*s",
					 AR_STR_ARG(target->turn_id), AR_WINDOW_TURNS, AR_STR_ARG(t->id));
		*ret = turn->start.v;
		return AR_OK;
	}
	if (!target->sequence.set)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "target needs a turnId or a sequence");
	*ret = target->sequence.v;
	if (*ret < t->forgotten.v || *ret > (int64_t)d->session->head)
		return ar_refuse(err, AR_ERR_TARGET_NOT_FOUND,
				 "sequence %lld is not in the newest %d turns of thread %.*s",
				 (long long)*ret, AR_WINDOW_TURNS, AR_STR_ARG(t->id));
	return AR_OK;
}

/* Those that started after `target`, in the order they ran. */
static struct ar_vec turns_after(struct ar_decision *d, const struct ar_thread *t, int64_t target)
{
	struct ar_vec found = { 0 };

	for (size_t i = 0; i < t->turns.count; i++) {
		struct ar_turn *turn = t->turns.at[i];
		size_t at = found.count;

		if (turn->start.v <= target || turn->removed.v)
			continue;
		while (at > 0 && ((const struct ar_turn *)found.at[at - 1])->start.v > turn->start.v)
			at--;
		ar_vec_insert(d->arena, &found, at, turn);
	}
	return found;
}

enum ar_status ar_decide_rollback_thread(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_rollback_thread_in *in = d->input->command.args;
	struct ar_thread *t;
	struct ar_rollback r = { .target = in->target, .reason = in->reason };
	struct ar_texts removed;
	struct ar_str base;
	int64_t target = 0;

	if (ar_decide_need_thread(d, in->thread_id, &t, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_str_absent(t->active_turn))
		return ar_refuse(err, AR_ERR_ACTIVE_TURN, "turn %.*s runs in thread %.*s",
				 AR_STR_ARG(t->active_turn), AR_STR_ARG(t->id));
	if (find_target(d, t, &target, err) != AR_OK)
		return AR_E_REFUSED;
	base = t->request_ref;
	r.turns = turns_after(d, t, target);
	removed = ar_decide_turn_ids(d, &r.turns);
	if (r.turns.count > 0) {
		base = ar_decide_roll_back(d, t, &r);
		ar_decide_status(d, t, AR_THREAD_STATUS_IDLE, "rolled_back", NULL, NULL);
	}
	ar_decide_reply(d, AR_CMD_ROLLBACK_THREAD,
			&(struct ar_cmd_rollback_thread_out){ .removed_turn_ids = removed,
							      .baseline_ref = base });
	return AR_OK;
}
