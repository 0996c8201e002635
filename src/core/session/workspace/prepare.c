/* A folder that is not the workspace's is filled: the intent is a fact, its end another. Pure. */
#include "checkpoint/checkpoints.h"
#include "tool/calls.h"
#include "workspace/isolation.h"

#define MILLISECOND 1000
#define BRANCH "agent/"

_Static_assert((int)AR_WORKSPACE_ISOLATION_SHARED == (int)AR_ISOLATION_SHARED &&
		       (int)AR_WORKSPACE_ISOLATION_OVERLAY == (int)AR_ISOLATION_OVERLAY,
	       "the port has the words of the catalogue");

static bool is_moving(const struct ar_session *s, const struct ar_work_folder *p)
{
	const struct ar_action *a = p->files ? ar_session_action(s, p->files->action_id) : NULL;

	return ar_work_folder_has(p, AR_SESSION_FILES_STATUS_PREPARING) ||
	       ar_work_folder_has(p, AR_SESSION_FILES_STATUS_REMOVING) || ar_work_folder_is_merging(p) ||
	       (a && a->status == AR_ACTION_PENDING && (a->expires || a->escalates));
}

bool ar_session_moves_files(const struct ar_session *s)
{
	struct ar_work_folder p;

	for (size_t at = 0; ar_work_folder_next(s, &at, &p);) {
		if (is_moving(s, &p))
			return true;
	}
	return false;
}

/* ---- begun ---- */

/* Branches of children end in the number of their thread, which no caller chooses. */
static struct ar_str branch_of(struct ar_decision *d, const struct ar_work_folder *p)
{
	uint64_t n = 0;

	if (!p->child || !ar_id_counter(p->child->child_thread_id, &n))
		return ar_arena_fmt(d->arena, BRANCH "%.*s", AR_STR_ARG(d->session->session_key));
	return ar_arena_fmt(d->arena, BRANCH "%.*s_%llu", AR_STR_ARG(d->session->session_key),
			    (unsigned long long)n);
}

static void fill(struct ar_decision *d, const struct ar_work_folder *p)
{
	struct ar_effect_checkpoint *effect = &ar_decide_effect(d, AR_EFFECT_CHECKPOINT)->checkpoint;

	effect->kind = AR_CHECKPOINT_FILL;
	effect->child = ar_work_folder_child(p);
	effect->id = p->child ? effect->child : p->bound->workspace_id;
	if (p->bound->isolation == AR_WORKSPACE_ISOLATION_WORKTREE)
		effect->label = branch_of(d, p);
	effect->is_waited_for = true;
	effect->deadline = d->input->now + d->input->policy->tool_ms * MILLISECOND;
}

/* Another turn tries again. */
static bool has_failed(const struct ar_work_folder *p, const struct ar_turn *turn)
{
	return ar_work_folder_has(p, AR_SESSION_FILES_STATUS_FAILED) &&
	       ar_str_eq(p->files->turn_id, turn->id);
}

/* The folder that cannot be had for this turn: that of the call, or one that it would be filled from. */
static bool find_failed(const struct ar_session *s, const struct ar_turn *turn, struct ar_work_folder *p)
{
	while (ar_work_folder_is_own(p) && !has_failed(p, turn) && p->child &&
	       !ar_work_folder_has(p, AR_SESSION_FILES_STATUS_READY))
		*p = ar_work_folder_around(s, p);
	return ar_work_folder_is_own(p) && has_failed(p, turn);
}

static void begin(struct ar_decision *d, const struct ar_turn *turn, const struct ar_work_folder *p)
{
	struct ar_ids ids = ar_ids_turn(d, turn);

	ids.at[AR_SCOPE_SUBAGENT] = ar_work_folder_child(p);
	ar_decide_emit(d, AR_EV_WORKSPACE_PREPARING, &ids,
		       &(struct ar_ev_workspace_preparing){ .workspace_id = p->bound->workspace_id,
							    .isolation = p->bound->isolation });
	fill(d, p);
}

/* One after the other from the outside: a child's folder is filled from one that is ready. */
static enum ar_hold make_ready(struct ar_decision *d, const struct ar_turn *turn,
			       const struct ar_work_folder *p)
{
	if (!ar_work_folder_is_own(p))
		return AR_GO_ON;
	if (ar_work_folder_has(p, AR_SESSION_FILES_STATUS_READY))
		return ar_work_folder_is_merging(p) ? AR_HELD : AR_GO_ON;
	if (ar_work_folder_has(p, AR_SESSION_FILES_STATUS_PREPARING))
		return AR_HELD;
	if (p->child) {
		struct ar_work_folder around = ar_work_folder_around(d->session, p);

		if (make_ready(d, turn, &around) == AR_HELD)
			return AR_HELD;
	}
	begin(d, turn, p);
	return AR_HELD;
}

enum ar_hold ar_isolation_before_call(struct ar_decision *d, const struct ar_turn *turn,
				      const struct ar_tool *tool)
{
	struct ar_work_folder p = ar_work_folder_in(d->session, turn->thread), failed = p;

	if (!tool->works_in_folder || find_failed(d->session, turn, &failed))
		return AR_GO_ON;
	return make_ready(d, turn, &p);
}

struct ar_str ar_isolation_fault(const struct ar_session *s, const struct ar_turn *turn,
				 const struct ar_tool *tool)
{
	struct ar_work_folder p = ar_work_folder_in(s, turn->thread);

	return tool->works_in_folder && find_failed(s, turn, &p) ? p.files->message : AR_STR_NONE;
}

void ar_isolation_recover(struct ar_decision *d)
{
	struct ar_work_folder p;

	for (size_t at = 0; ar_work_folder_next(d->session, &at, &p);) {
		if (ar_work_folder_has(&p, AR_SESSION_FILES_STATUS_PREPARING))
			fill(d, &p);
		ar_isolation_merge_again(d, &p);
		ar_isolation_remove_again(d, &p);
	}
	ar_isolation_release(d);
}

/* ---- ended ---- */

static int method_of(const struct ar_work_folder *p, const struct ar_checkpoint_end *end)
{
	if (p->bound->isolation == AR_WORKSPACE_ISOLATION_EMPTY)
		return AR_WORKSPACE_PREPARED_METHOD_NONE;
	return end->is_shared ? AR_WORKSPACE_PREPARED_METHOD_REFLINK : AR_WORKSPACE_PREPARED_METHOD_COPY;
}

void ar_isolation_filled(struct ar_decision *d, const struct ar_checkpoint_end *end)
{
	struct ar_work_folder p = ar_work_folder_named(d->session, end->id);
	struct ar_ids ids = ar_work_folder_ids(&p);

	if (!ar_work_folder_has(&p, AR_SESSION_FILES_STATUS_PREPARING))
		return;
	if (end->status == AR_OK && !ar_str_empty(end->tree))
		ar_decide_emit(d, AR_EV_WORKSPACE_PREPARED, &ids,
			       &(struct ar_ev_workspace_prepared){
				       .isolation = p.bound->isolation,
				       .method = method_of(&p, end),
				       .base = end->tree,
				       .checkpoint_id = ar_decide_mint(d, "cp", &d->counters.checkpoint.v),
				       .files = end->files,
				       .bytes = end->bytes,
				       .left_out = end->left_out });
	else
		ar_decide_emit(d, AR_EV_WORKSPACE_FAILED, &ids,
			       &(struct ar_ev_workspace_failed){
				       .phase = AR_WORKSPACE_FAILED_PHASE_PREPARE,
				       .category = ar_checkpoint_category(end->status),
				       .message = ar_checkpoint_message(end->message) });
	ar_decide_start_held(d);
}
