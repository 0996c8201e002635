/* apply_workspace, discard_workspace: what a session or a child agent changed in its own folder is merged
 * into the one that it was filled from, or thrown away. A conflict is a question to people; until it is
 * answered nothing is written there. Pure. */
#include "checkpoint/checkpoints.h"
#include "process/record.h"
#include "subagent/subagents.h"
#include "tool/calls.h"
#include "workspace/isolation.h"

#define MILLISECOND 1000
#define PROMPT_PATHS 10
#define PROMPT_PATH_MAX 120 /* bytes of each */
#define PATHS_MAX 1000

/* ---- what stands in the way ---- */

static const struct ar_action *open_question(const struct ar_session *s, const struct ar_work_folder *p)
{
	const struct ar_action *a = p->files ? ar_session_action(s, p->files->action_id) : NULL;
	struct ar_thread *t;

	return a && a->status == AR_ACTION_PENDING && ar_session_turn(s, a->turn, &t) ? a : NULL;
}

static enum ar_status check_no_merge(const struct ar_session *s, const struct ar_work_folder *p,
				     struct ar_error *err)
{
	const struct ar_action *a = open_question(s, p);

	if (ar_work_folder_is_merging(p))
		return ar_refuse(err, AR_ERR_CONFLICT, "%.*s is being applied; wait for its end",
				 AR_STR_ARG(p->files->apply_id));
	if (a)
		return ar_refuse(err, AR_ERR_CONFLICT, "%.*s waits for an answer to action %.*s",
				 AR_STR_ARG(p->files->apply_id), AR_STR_ARG(a->id));
	return AR_OK;
}

/* One that runs could write after what is merged was read. */
static enum ar_status check_processes(const struct ar_session *s, const struct ar_work_folder *p,
				      struct ar_error *err)
{
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *process = s->processes.at[i];
		struct ar_work_folder in = ar_work_folder_in(s, process->thread);

		if (p->child && ar_process_is_running(process) && ar_work_folder_is_same(&in, p))
			return ar_refuse(err, AR_ERR_CONFLICT,
					 "process %.*s runs in the folder; wait for its end or end it",
					 AR_STR_ARG(process->id));
	}
	return AR_OK;
}

/* The folder that the command names. */
static enum ar_status find_place(const struct ar_decision *d, struct ar_str child, struct ar_work_folder *ret,
				 struct ar_error *err)
{
	const struct ar_shape_subagent_record *r = NULL;

	if (!ar_str_absent(child) && ar_subagent_need(d, child, &r, err) != AR_OK)
		return AR_E_REFUSED;
	*ret = r ? ar_work_folder_of_child(r) : ar_work_folder_of_session(d->session);
	if (ar_work_folder_is_own(ret))
		return AR_OK;
	return ar_refuse(err, AR_ERR_WORKSPACE_SHARED, "%s",
			 r ? "the agent has no folder of its own: its changes are in that of its parent"
			   : "the session has no folder of its own: its changes are in the workspace");
}

static enum ar_status check_command(const struct ar_decision *d, struct ar_str child,
				    struct ar_work_folder *ret, struct ar_error *err)
{
	const struct ar_session *s = d->session;

	if (find_place(d, child, ret, err) != AR_OK)
		return AR_E_REFUSED;
	if (ret->files && ret->files->status >= AR_SESSION_FILES_STATUS_REMOVING)
		return ar_refuse(err, AR_ERR_CONFLICT,
				 "the folder of the agent is removed: nothing was left to merge in it");
	if (!ar_work_folder_has(ret, AR_SESSION_FILES_STATUS_READY))
		return ar_refuse(err, AR_ERR_CONFLICT,
				 "the folder of %.*s is not filled yet: nothing is changed in it",
				 AR_STR_ARG(ar_work_folder_owner(d->arena, ret)));
	if (d->input->policy->checkpoints <= 0)
		return ar_refuse(err, AR_ERR_UNAVAILABLE,
				 "this server keeps no states of files; set workspaces.dir, and "
				 "workspaces.checkpoints above 0");
	if (check_no_merge(s, ret, err) != AR_OK || check_processes(s, ret, err) != AR_OK)
		return AR_E_REFUSED;
	return ar_checkpoints_check_rest(s, ret, err);
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

/* Of the merge that is open. `p`: as it is now. */
static void run_merge(struct ar_decision *d, const struct ar_work_folder *p)
{
	const struct ar_shape_session_files *f = p->files;
	struct ar_effect_checkpoint *effect = &ar_decide_effect(d, AR_EFFECT_CHECKPOINT)->checkpoint;

	effect->kind = AR_CHECKPOINT_MERGE;
	effect->child = ar_work_folder_child(p);
	effect->id = effect->label = f->apply_id;
	effect->from = f->base;
	effect->trees = f->paths;
	effect->side = side_of(f->choice);
	effect->is_waited_for = true;
	effect->deadline = d->input->now + d->input->policy->tool_ms * MILLISECOND;
}

/* The intent, then the merge. */
static void begin_merge(struct ar_decision *d, const struct ar_work_folder *p,
			struct ar_ev_workspace_applying *fact)
{
	struct ar_ids ids = ar_work_folder_ids(p);
	struct ar_work_folder now;

	fact->workspace_id = p->bound->workspace_id;
	fact->base = p->files->base;
	ar_decide_emit(d, AR_EV_WORKSPACE_APPLYING, &ids, fact);
	now = ar_work_folder_named(d->session, ar_work_folder_child(p));
	run_merge(d, &now);
}

enum ar_status ar_decide_apply_workspace(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_apply_workspace_in *in = d->input->command.args;
	struct ar_work_folder p;
	struct ar_str id;

	if (in->paths.count > PATHS_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "at most %d paths are named; name folders",
				 PATHS_MAX);
	if (check_command(d, in->subagent_id, &p, err) != AR_OK)
		return AR_E_REFUSED;
	id = ar_decide_mint(d, "apply", &d->counters.checkpoint.v);
	begin_merge(d, &p,
		    &(struct ar_ev_workspace_applying){ .apply_id = id,
							.paths = in->paths,
							.actor = d->input->account,
							.reason = in->reason });
	ar_decide_reply(d, AR_CMD_APPLY_WORKSPACE,
			&(struct ar_cmd_apply_workspace_out){ .apply_id = id,
							      .sequence = (int64_t)d->session->head });
	return AR_OK;
}

void ar_isolation_merge_again(struct ar_decision *d, const struct ar_work_folder *p)
{
	const struct ar_action *a = open_question(d->session, p);

	if (ar_work_folder_is_merging(p))
		run_merge(d, p);
	else if (a)
		ar_decide_wake_for(d, a);
}

/* ---- its end ---- */

static void fail_merge(struct ar_decision *d, const struct ar_work_folder *p, struct ar_str category,
		       struct ar_str message)
{
	struct ar_ids ids = ar_work_folder_ids(p);

	ar_decide_emit(d, AR_EV_WORKSPACE_FAILED, &ids,
		       &(struct ar_ev_workspace_failed){ .phase = AR_WORKSPACE_FAILED_PHASE_APPLY,
							 .apply_id = p->files->apply_id,
							 .category = category,
							 .message = ar_checkpoint_message(message) });
}

static struct ar_str keep_list(struct ar_decision *d, struct ar_str list)
{
	if (ar_str_empty(list) || list.len > AR_CHECKPOINT_CHANGES_MAX)
		return AR_STR_NONE;
	return ar_decide_content(d, list);
}

static void say_applied(struct ar_decision *d, const struct ar_work_folder *p,
			const struct ar_checkpoint_end *end)
{
	struct ar_ids ids = ar_work_folder_ids(p);
	struct ar_str changes = keep_list(d, end->changes);
	bool is_cut = end->is_cut || ar_str_absent(changes);

	ar_decide_emit(d, AR_EV_WORKSPACE_APPLIED, &ids,
		       &(struct ar_ev_workspace_applied){
			       .apply_id = p->files->apply_id,
			       .before = end->tree,
			       .base = end->base,
			       .checkpoint_id = ar_decide_mint(d, "cp", &d->counters.checkpoint.v),
			       .files = end->files,
			       .left_out = end->left_out,
			       .changes_ref = changes,
			       .cut = { is_cut, is_cut } });
	if (!ar_str_absent(changes))
		ar_decide_masked(d, &ids, changes, &end->masked);
}

/* The one that ended last: a turn that runs does not wait for the answer. There is one, since no merge
 * begins before a turn has worked in the folder and ended. */
static const struct ar_turn *last_turn(const struct ar_session *s, const struct ar_work_folder *p)
{
	const struct ar_turn *newest = NULL;

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		if (p->child && !ar_str_eq(t->id, p->child->child_thread_id))
			continue;
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

/* The words of the answers are the same for both; the sentence says whose version is which. */
static struct ar_str question_about(struct ar_decision *d, const struct ar_work_folder *p,
				    const struct ar_checkpoint_end *end)
{
	struct ar_str owner = ar_work_folder_owner(d->arena, p);
	struct ar_str around = p->child ? AR_STR("the folder of its parent") : AR_STR("the workspace");

	return ar_arena_fmt(d->arena,
			    "%lld files changed in %s%.*s and in %.*s in ways that cannot be "
			    "merged: %.*s. Nothing is written yet. "
			    "keep_session takes the %s versions, "
			    "keep_workspace the %s, leave_out "
			    "merges all other files and leaves these "
			    "changes in %s, cancel merges nothing.",
			    (long long)end->files, p->child ? "the folder of " : "", AR_STR_ARG(owner),
			    AR_STR_ARG(around), AR_STR_ARG(shown_paths(d, end->conflicts)),
			    p->child ? "agent's" : "session's", p->child ? "parent's" : "workspace's",
			    p->child ? "the agent's folder" : "the session");
}

static void ask_about(struct ar_decision *d, const struct ar_work_folder *p,
		      const struct ar_checkpoint_end *end)
{
	const struct ar_turn *turn = last_turn(d->session, p);
	struct ar_ids ids = ar_work_folder_ids(p);
	struct ar_str action, conflicts;

	if (!turn) {
		fail_merge(
			d, p, AR_STR("error"),
			AR_STR("there are conflicts, and no turn is left to ask about; apply fewer paths"));
		return;
	}
	action = ar_action_mint(d);
	conflicts = keep_list(d, end->conflicts);
	ar_decide_emit(d, AR_EV_WORKSPACE_CONFLICTED, &ids,
		       &(struct ar_ev_workspace_conflicted){ .apply_id = p->files->apply_id,
							     .action_id = action,
							     .files = end->files,
							     .conflicts_ref = conflicts });
	ar_decide_ask(d, turn,
		      &(struct ar_ask){ .id = action,
					.type = AR_ACTION_MERGE_CONFLICT,
					.prompt = question_about(d, p, end) });
}

/* A late end finds another merge, or none. */
void ar_isolation_merged(struct ar_decision *d, const struct ar_checkpoint_end *end)
{
	struct ar_work_folder p;
	size_t at = 0;

	while (ar_work_folder_next(d->session, &at, &p)) {
		if (ar_work_folder_is_merging(&p) && ar_str_eq(p.files->apply_id, end->id))
			break;
		p = (struct ar_work_folder){ 0 };
	}
	if (!p.files)
		return;
	if (end->status != AR_OK)
		fail_merge(d, &p, ar_checkpoint_category(end->status), end->message);
	else if (!ar_str_empty(end->conflicts))
		ask_about(d, &p, end);
	else
		say_applied(d, &p, end);
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

/* The folder that the question is about; false: none has it open. */
static bool find_asked(const struct ar_session *s, const struct ar_action *a, struct ar_work_folder *ret)
{
	for (size_t at = 0; ar_work_folder_next(s, &at, ret);) {
		if (ret->files && ar_str_eq(ret->files->action_id, a->id))
			return true;
	}
	return false;
}

enum ar_status ar_isolation_check_answer(const struct ar_session *s, const struct ar_action *a,
					 struct ar_str decision, struct ar_error *err)
{
	struct ar_work_folder p;

	if (a->type != AR_ACTION_MERGE_CONFLICT || !choice_of(decision))
		return AR_OK;
	if (!find_asked(s, a, &p))
		p = ar_work_folder_of_session(s);
	return ar_checkpoints_check_rest(s, &p, err);
}

void ar_isolation_answered(struct ar_decision *d, const struct ar_action *a, const struct ar_settlement *s)
{
	int choice = choice_of(s->decision);
	struct ar_work_folder p;

	if (!find_asked(d->session, a, &p))
		return;
	if (!choice) {
		fail_merge(d, &p, AR_STR("cancelled"),
			   AR_STR("the merge was cancelled; nothing was written"));
		return;
	}
	begin_merge(d, &p,
		    &(struct ar_ev_workspace_applying){ .apply_id = p.files->apply_id,
							.paths = p.files->paths,
							.choice = choice,
							.actor = d->input->account });
}

/* ---- discard_workspace ---- */

enum ar_status ar_decide_discard_workspace(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_discard_workspace_in *in = d->input->command.args;
	struct ar_str id, target;
	struct ar_work_folder p;

	if (check_command(d, in->subagent_id, &p, err) != AR_OK)
		return AR_E_REFUSED;
	target = p.files->checkpoint_id;
	id = ar_checkpoint_restore(d, &p,
				   &(struct ar_restore){
					   .target = target, .tree = p.files->base, .reason = in->reason });
	ar_decide_reply(d, AR_CMD_DISCARD_WORKSPACE,
			&(struct ar_cmd_discard_workspace_out){ .checkpoint_id = id,
								.target_id = target,
								.sequence = (int64_t)d->session->head });
	return AR_OK;
}
