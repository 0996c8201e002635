/* The folder of a session is filled: the intent is a fact, its end another. Pure. */
#include "checkpoint/checkpoints.h"
#include "tool/calls.h"
#include "workspace/isolation.h"

#define MILLISECOND 1000
#define BRANCH "agent/"

_Static_assert((int)AR_WORKSPACE_ISOLATION_SHARED == (int)AR_ISOLATION_SHARED &&
		       (int)AR_WORKSPACE_ISOLATION_OVERLAY == (int)AR_ISOLATION_OVERLAY,
	       "the port has the words of the catalogue");

bool ar_session_has_own_folder(const struct ar_session *s)
{
	return s->bound && !ar_str_absent(s->bound->origin);
}

static bool is_merging(const struct ar_session *s)
{
	return s->files && s->files->apply_status == AR_SESSION_FILES_APPLY_STATUS_MERGING;
}

bool ar_session_moves_files(const struct ar_session *s)
{
	const struct ar_action *a = s->files ? ar_session_action(s, s->files->action_id) : NULL;

	return s->files && (s->files->status == AR_SESSION_FILES_STATUS_PREPARING || is_merging(s) ||
			    (a && a->status == AR_ACTION_PENDING && (a->expires || a->escalates)));
}

/* ---- begun ---- */

static void fill(struct ar_decision *d)
{
	const struct ar_session *s = d->session;
	struct ar_effect_checkpoint *effect = &ar_decide_effect(d, AR_EFFECT_CHECKPOINT)->checkpoint;

	effect->kind = AR_CHECKPOINT_FILL;
	effect->id = s->bound->workspace_id;
	if (s->bound->isolation == AR_WORKSPACE_ISOLATION_WORKTREE)
		effect->label = ar_arena_fmt(d->arena, BRANCH "%.*s", AR_STR_ARG(s->session_key));
	effect->is_waited_for = true;
	effect->deadline = d->input->now + d->input->policy->tool_ms * MILLISECOND;
}

/* Another turn tries again. */
static bool has_failed(const struct ar_session *s, const struct ar_turn *turn)
{
	return s->files && s->files->status == AR_SESSION_FILES_STATUS_FAILED &&
	       ar_str_eq(s->files->turn_id, turn->id);
}

enum ar_hold ar_isolation_before_call(struct ar_decision *d, const struct ar_turn *turn,
				      const struct ar_tool *tool)
{
	const struct ar_session *s = d->session;

	if (!ar_session_has_own_folder(s) || !tool->works_in_folder || has_failed(s, turn))
		return AR_GO_ON;
	if (s->files && s->files->status == AR_SESSION_FILES_STATUS_READY)
		return is_merging(s) ? AR_HELD : AR_GO_ON;
	if (s->files && s->files->status == AR_SESSION_FILES_STATUS_PREPARING)
		return AR_HELD;
	ar_turn_emit(d, turn, AR_EV_WORKSPACE_PREPARING,
		     &(struct ar_ev_workspace_preparing){ .workspace_id = s->bound->workspace_id,
							  .isolation = s->bound->isolation });
	fill(d);
	return AR_HELD;
}

struct ar_str ar_isolation_fault(const struct ar_session *s, const struct ar_turn *turn,
				 const struct ar_tool *tool)
{
	return ar_session_has_own_folder(s) && tool->works_in_folder && has_failed(s, turn)
		       ? s->files->message
		       : AR_STR_NONE;
}

void ar_isolation_recover(struct ar_decision *d)
{
	const struct ar_session *s = d->session;

	if (!s->files)
		return;
	if (s->files->status == AR_SESSION_FILES_STATUS_PREPARING)
		fill(d);
	ar_isolation_merge_again(d);
}

/* ---- ended ---- */

static int method_of(const struct ar_session *s, const struct ar_checkpoint_end *end)
{
	if (s->bound->isolation == AR_WORKSPACE_ISOLATION_EMPTY)
		return AR_WORKSPACE_PREPARED_METHOD_NONE;
	return end->is_shared ? AR_WORKSPACE_PREPARED_METHOD_REFLINK : AR_WORKSPACE_PREPARED_METHOD_COPY;
}

void ar_isolation_filled(struct ar_decision *d, const struct ar_checkpoint_end *end)
{
	static const struct ar_ids none;
	const struct ar_session *s = d->session;

	if (!s->files || s->files->status != AR_SESSION_FILES_STATUS_PREPARING)
		return;
	if (end->status == AR_OK && !ar_str_empty(end->tree))
		ar_decide_emit(d, AR_EV_WORKSPACE_PREPARED, &none,
			       &(struct ar_ev_workspace_prepared){
				       .isolation = s->bound->isolation,
				       .method = method_of(s, end),
				       .base = end->tree,
				       .checkpoint_id = ar_decide_mint(d, "cp", &d->counters.checkpoint.v),
				       .files = end->files,
				       .bytes = end->bytes,
				       .left_out = end->left_out });
	else
		ar_decide_emit(d, AR_EV_WORKSPACE_FAILED, &none,
			       &(struct ar_ev_workspace_failed){
				       .phase = AR_WORKSPACE_FAILED_PHASE_PREPARE,
				       .category = ar_checkpoint_category(end->status),
				       .message = ar_checkpoint_message(end->message) });
	ar_decide_start_held(d);
}
