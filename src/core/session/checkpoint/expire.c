/* Which checkpoints are kept: the newest so many, none that is too old. What is open, what a running turn
 * began with and what is being restored stays. A state of the files that no other checkpoint of the session
 * has may leave the store. Pure. */
#include "checkpoint/checkpoints.h"
#include "closed/closed_group.h"
#include "workspace/work_folder.h"

#define DAY (INT64_C(24) * 3600 * 1000000)

static bool is_restored(const struct ar_session *s, struct ar_str id)
{
	for (size_t i = 0; i < s->checkpoints.count; i++) {
		const struct ar_shape_checkpoint_record *r = ar_checkpoint_at(s, i);

		if (r->status == AR_CHECKPOINT_RECORD_STATUS_PENDING && ar_str_eq(r->target_id, id))
			return true;
	}
	return false;
}

static bool is_needed(const struct ar_session *s, const struct ar_shape_checkpoint_record *r)
{
	const struct ar_thread *t = ar_session_thread(s, r->thread_id);

	return r->status == AR_CHECKPOINT_RECORD_STATUS_PENDING ||
	       (t && !ar_str_absent(t->active_turn) && ar_str_eq(t->active_turn, r->turn_id)) ||
	       is_restored(s, r->checkpoint_id);
}

/* Oldest first; `most` of them at most, and only those that were begun before `before`. */
static struct ar_texts leaving(struct ar_decision *d, size_t most, ar_usec before)
{
	const struct ar_session *s = d->session;
	struct ar_str *ids = ar_arena_alloc(d->arena, (s->checkpoints.count + 1) * sizeof(*ids));
	size_t n = 0;

	for (size_t i = 0; i < s->checkpoints.count && n < most; i++) {
		const struct ar_shape_checkpoint_record *r = ar_checkpoint_at(s, i);

		if (r->created_at < before && !is_needed(s, r))
			ids[n++] = r->checkpoint_id;
	}
	return (struct ar_texts){ ids, n };
}

static bool has_tree(const struct ar_session *s, struct ar_str tree)
{
	struct ar_work_folder p;

	ar_closed_groups_seek(s, tree);
	for (size_t at = 0; ar_work_folder_next(s, &at, &p);) {
		if (p.files && ar_str_eq(p.files->base, tree))
			return true;
	}
	for (size_t i = 0; i < s->checkpoints.count; i++) {
		if (ar_str_eq(ar_checkpoint_at(s, i)->tree, tree))
			return true;
	}
	return false;
}

static struct ar_texts trees_of(struct ar_decision *d, struct ar_texts ids)
{
	struct ar_str *trees = ar_arena_alloc(d->arena, (ids.count + 1) * sizeof(*trees));
	struct ar_texts found = { trees, 0 };

	for (size_t i = 0; i < ids.count; i++) {
		struct ar_str tree = ar_session_checkpoint(d->session, ids.at[i])->tree;

		if (!ar_str_absent(tree) && !ar_texts_have(found, tree))
			trees[found.count++] = tree;
	}
	return found;
}

static void forget(struct ar_decision *d, struct ar_texts trees)
{
	struct ar_str *gone = ar_arena_alloc(d->arena, (trees.count + 1) * sizeof(*gone));
	struct ar_effect_checkpoint *effect;
	size_t n = 0;

	for (size_t i = 0; i < trees.count; i++) {
		if (!has_tree(d->session, trees.at[i]))
			gone[n++] = trees.at[i];
	}
	if (n == 0)
		return;
	effect = &ar_decide_effect(d, AR_EFFECT_CHECKPOINT)->checkpoint;
	effect->kind = AR_CHECKPOINT_FORGET;
	effect->trees = (struct ar_texts){ gone, n };
	effect->deadline = d->input->now + d->input->policy->tool_ms * 1000;
}

static void expire(struct ar_decision *d, struct ar_texts ids, int reason)
{
	static const struct ar_ids none;
	struct ar_texts trees;

	if (ids.count == 0)
		return;
	trees = trees_of(d, ids);
	ar_decide_emit(d, AR_EV_CHECKPOINT_EXPIRED, &none,
		       &(struct ar_ev_checkpoint_expired){ .checkpoint_ids = ids, .reason = reason });
	forget(d, trees);
}

void ar_checkpoints_expire(struct ar_decision *d)
{
	const struct ar_policy *policy = d->input->policy;
	size_t most = policy->checkpoints > 0 ? (size_t)policy->checkpoints : SIZE_MAX, have;

	if (policy->checkpoint_days > 0)
		expire(d, leaving(d, SIZE_MAX, d->input->now - policy->checkpoint_days * DAY),
		       AR_CHECKPOINT_EXPIRED_REASON_AGE);
	have = d->session->checkpoints.count;
	if (have > most)
		expire(d, leaving(d, have - most, INT64_MAX), AR_CHECKPOINT_EXPIRED_REASON_COUNT);
}
