/* apply_workspace, discard_workspace: what a session changed in its own folder is merged into the workspace,
 * or thrown away. A conflict is a question to people; until it is answered nothing of the workspace is
 * changed. Pure. */
#include "checkpoint/checkpoints.h"
#include "tool/calls.h"
#include "workspace/isolation.h"

#define MILLISECOND 1000
#define PROMPT_PATHS 10
#define PROMPT_PATH_MAX 120 /* bytes of each */
#define PATHS_MAX 1000

static const struct ar_ids none;

/* ---- what stands in the way ---- */

static const struct ar_action *open_question(const struct ar_session *s)
{
	const struct ar_action *a = s->files ? ar_session_action(s, s->files->action_id) : NULL;
	struct ar_thread *t;

	return a && a->status == AR_ACTION_PENDING && ar_session_turn(s, a->turn, &t) ? a : NULL;
}

static enum ar_status check_no_merge(const struct ar_session *s, struct ar_error *err)
{
	const struct ar_action *a = open_question(s);

	if (s->files->apply_status == AR_SESSION_FILES_APPLY_STATUS_MERGING)
		return ar_refuse(err, AR_ERR_CONFLICT, "%.*s is being applied; wait for its end",
				 AR_STR_ARG(s->files->apply_id));
	if (a)
		return ar_refuse(err, AR_ERR_CONFLICT, "%.*s waits for an answer to action %.*s",
				 AR_STR_ARG(s->files->apply_id), AR_STR_ARG(a->id));
	return AR_OK;
}

static enum ar_status check_command(const struct ar_decision *d, struct ar_error *err)
{
	const struct ar_session *s = d->session;

	if (!ar_session_has_own_folder(s))
		return ar_refuse(err, AR_ERR_WORKSPACE_SHARED,
				 "the session has no folder of its own: its changes are in the workspace");
	if (!s->files || s->files->status != AR_SESSION_FILES_STATUS_READY)
		return ar_refuse(err, AR_ERR_CONFLICT,
				 "the folder of the session is not filled yet: nothing is changed in it");
	if (d->input->policy->checkpoints <= 0)
		return ar_refuse(err, AR_ERR_UNAVAILABLE,
				 "this server keeps no states of files; set workspaces.dir, and "
				 "workspaces.checkpoints above 0");
	if (check_no_merge(s, err) != AR_OK)
		return AR_E_REFUSED;
	return ar_checkpoints_check_rest(s, err);
}

/* ---- apply_workspace ---- */

static enum ar_merge_side side_of(int choice)
{
	static const enum ar_merge_side sides[] = {
		[AR_SESSION_FILES_CHOICE_SESSION] = AR_MERGE_SIDE_SESSION,
		[AR_SESSION_FILES_CHOICE_WORKSPACE] = AR_MERGE_SIDE_WORKSPACE,
		[AR_SESSION_FILES_CHOICE_LEAVE_OUT] = AR_MERGE_SIDE_LEFT_OUT,
	};

	return sides[choice];
}

/* Of the merge that is open. */
static void run_merge(struct ar_decision *d)
{
	const struct ar_shape_session_files *f = d->session->files;
	struct ar_effect_checkpoint *effect = &ar_decide_effect(d, AR_EFFECT_CHECKPOINT)->checkpoint;

	effect->kind = AR_CHECKPOINT_MERGE;
	effect->id = effect->label = f->apply_id;
	effect->from = f->base;
	effect->trees = f->paths;
	effect->side = side_of(f->choice);
	effect->is_waited_for = true;
	effect->deadline = d->input->now + d->input->policy->tool_ms * MILLISECOND;
}

enum ar_status ar_decide_apply_workspace(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_apply_workspace_in *in = d->input->command.args;
	struct ar_str id;

	if (in->paths.count > PATHS_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "at most %d paths are named; name folders",
				 PATHS_MAX);
	if (check_command(d, err) != AR_OK)
		return AR_E_REFUSED;
	id = ar_decide_mint(d, "apply", &d->counters.checkpoint.v);
	ar_decide_emit(d, AR_EV_WORKSPACE_APPLYING, &none,
		       &(struct ar_ev_workspace_applying){ .apply_id = id,
							   .workspace_id = d->session->bound->workspace_id,
							   .base = d->session->files->base,
							   .paths = in->paths,
							   .actor = d->input->account,
							   .reason = in->reason });
	run_merge(d);
	ar_decide_reply(d, AR_CMD_APPLY_WORKSPACE,
			&(struct ar_cmd_apply_workspace_out){ .apply_id = id,
							      .sequence = (int64_t)d->session->head });
	return AR_OK;
}

void ar_isolation_merge_again(struct ar_decision *d)
{
	const struct ar_action *a = open_question(d->session);

	if (d->session->files->apply_status == AR_SESSION_FILES_APPLY_STATUS_MERGING)
		run_merge(d);
	else if (a)
		ar_decide_wake_for(d, a);
}

/* ---- its end ---- */

static void fail_merge(struct ar_decision *d, struct ar_str category, struct ar_str message)
{
	ar_decide_emit(d, AR_EV_WORKSPACE_FAILED, &none,
		       &(struct ar_ev_workspace_failed){ .phase = AR_WORKSPACE_FAILED_PHASE_APPLY,
							 .apply_id = d->session->files->apply_id,
							 .category = category,
							 .message = ar_checkpoint_message(message) });
}

static struct ar_str keep_list(struct ar_decision *d, struct ar_str list)
{
	if (ar_str_empty(list) || list.len > AR_CHECKPOINT_CHANGES_MAX)
		return AR_STR_NONE;
	return ar_decide_content(d, list);
}

static void say_applied(struct ar_decision *d, const struct ar_checkpoint_end *end)
{
	struct ar_str changes = keep_list(d, end->changes);
	bool is_cut = end->is_cut || ar_str_absent(changes);

	ar_decide_emit(d, AR_EV_WORKSPACE_APPLIED, &none,
		       &(struct ar_ev_workspace_applied){
			       .apply_id = d->session->files->apply_id,
			       .before = end->tree,
			       .base = end->base,
			       .checkpoint_id = ar_decide_mint(d, "cp", &d->counters.checkpoint.v),
			       .files = end->files,
			       .left_out = end->left_out,
			       .changes_ref = changes,
			       .cut = { is_cut, is_cut } });
	if (!ar_str_absent(changes))
		ar_decide_masked(d, &none, changes, &end->masked);
}

/* The one that ended last: a turn that runs does not wait for the answer. There is one, since no merge
 * begins before a turn has worked in the folder and ended. */
static const struct ar_turn *last_turn(const struct ar_session *s)
{
	const struct ar_turn *newest = NULL;

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (!ar_str_absent(turn->outcome) && (!newest || turn->ended >= newest->ended))
				newest = turn;
		}
	}
	return newest;
}

/* The first paths, and that there are more. */
static struct ar_str shown_paths(struct ar_decision *d, struct ar_str conflicts)
{
	struct ar_str list = AR_STR(""), path;
	struct ar_json v;
	size_t count = 0;

	if (ar_json_parse(d->json, conflicts, &v, NULL) != AR_OK)
		return AR_STR("files");
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it) && count <= PROMPT_PATHS; count++) {
		if (!ar_json_str(it.value, &path))
			continue;
		list = ar_arena_fmt(d->arena, "%.*s%s%.*s", AR_STR_ARG(list), count ? ", " : "",
				    AR_STR_ARG(count < PROMPT_PATHS
						       ? ar_str_utf8_prefix(path, PROMPT_PATH_MAX)
						       : AR_STR("...")));
	}
	return list;
}

static void ask_about(struct ar_decision *d, const struct ar_checkpoint_end *end)
{
	const struct ar_turn *turn = last_turn(d->session);
	struct ar_str action, conflicts;

	if (!turn) {
		fail_merge(
			d, AR_STR("error"),
			AR_STR("there are conflicts, and no turn is left to ask about; apply fewer paths"));
		return;
	}
	action = ar_action_mint(d);
	conflicts = keep_list(d, end->conflicts);
	ar_decide_emit(d, AR_EV_WORKSPACE_CONFLICTED, &none,
		       &(struct ar_ev_workspace_conflicted){ .apply_id = d->session->files->apply_id,
							     .action_id = action,
							     .files = end->files,
							     .conflicts_ref = conflicts });
	ar_decide_ask(d, turn,
		      &(struct ar_ask){ .id = action,
					.type = AR_ACTION_MERGE_CONFLICT,
					.prompt =
						ar_arena_fmt(d->arena,
							     "%lld files changed in the session and in the "
							     "workspace in ways that cannot be "
							     "merged: %.*s. Nothing is written yet. "
							     "keep_session takes the session's versions, "
							     "keep_workspace the workspace's, leave_out "
							     "merges all other files and leaves these "
							     "changes in the session, cancel merges nothing.",
							     (long long)end->files,
							     AR_STR_ARG(shown_paths(d, end->conflicts))) });
}

/* A late end finds another merge, or none. */
void ar_isolation_merged(struct ar_decision *d, const struct ar_checkpoint_end *end)
{
	const struct ar_shape_session_files *f = d->session->files;

	if (!f || f->apply_status != AR_SESSION_FILES_APPLY_STATUS_MERGING ||
	    !ar_str_eq(f->apply_id, end->id))
		return;
	if (end->status != AR_OK)
		fail_merge(d, ar_checkpoint_category(end->status), end->message);
	else if (!ar_str_empty(end->conflicts))
		ask_about(d, end);
	else
		say_applied(d, end);
	ar_decide_start_held(d);
}

/* ---- the answer ---- */

static int choice_of(struct ar_str decision)
{
	if (ar_str_is(decision, "keep_session"))
		return AR_WORKSPACE_APPLYING_CHOICE_SESSION;
	if (ar_str_is(decision, "keep_workspace"))
		return AR_WORKSPACE_APPLYING_CHOICE_WORKSPACE;
	return ar_str_is(decision, "leave_out") ? AR_WORKSPACE_APPLYING_CHOICE_LEAVE_OUT : 0;
}

enum ar_status ar_isolation_check_answer(const struct ar_session *s, const struct ar_action *a,
					 struct ar_str decision, struct ar_error *err)
{
	if (a->type != AR_ACTION_MERGE_CONFLICT || !choice_of(decision))
		return AR_OK;
	return ar_checkpoints_check_rest(s, err);
}

void ar_isolation_answered(struct ar_decision *d, const struct ar_action *a, const struct ar_settlement *s)
{
	const struct ar_shape_session_files *f = d->session->files;
	int choice = choice_of(s->decision);

	if (!f || !ar_str_eq(f->action_id, a->id))
		return;
	if (!choice) {
		fail_merge(d, AR_STR("cancelled"), AR_STR("the merge was cancelled; nothing was written"));
		return;
	}
	ar_decide_emit(d, AR_EV_WORKSPACE_APPLYING, &none,
		       &(struct ar_ev_workspace_applying){ .apply_id = f->apply_id,
							   .workspace_id = d->session->bound->workspace_id,
							   .base = f->base,
							   .paths = f->paths,
							   .choice = choice,
							   .actor = d->input->account });
	run_merge(d);
}

/* ---- discard_workspace ---- */

enum ar_status ar_decide_discard_workspace(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_discard_workspace_in *in = d->input->command.args;
	const struct ar_shape_session_files *f = d->session->files;
	struct ar_str id;

	if (check_command(d, err) != AR_OK)
		return AR_E_REFUSED;
	id = ar_checkpoint_restore(d, f->checkpoint_id, f->base, in->reason);
	ar_decide_reply(d, AR_CMD_DISCARD_WORKSPACE,
			&(struct ar_cmd_discard_workspace_out){ .checkpoint_id = id,
								.target_id = f->checkpoint_id,
								.sequence = (int64_t)d->session->head });
	return AR_OK;
}
