/* spawn_subagent: a child gets a thread, a record, an edge in the task graph and its first turn, all in one
 * decision. Pure. */
#include "people.h"
#include "subagent/subagents.h"
#include "task/task.h"
#include "tenant.h"
#include "workspace/work_folder.h"

/* ---- whether it may be ---- */

static enum ar_status check_parent(const struct ar_decision *d, const struct ar_spawn *asked,
				   struct ar_error *err)
{
	const struct ar_shape_subagent_record *parent = ar_session_subagent_in(d->session, asked->thread->id);

	if (asked->turn->is_interrupted || ar_str_is(asked->turn->outcome, "cancelled") ||
	    (parent && (ar_subagent_is_closed(parent) || ar_subagent_is_closing(parent))))
		return ar_refuse(err, AR_ERR_PARENT_CANCELLING, "turn %.*s is cancelled: it spawns no more",
				 AR_STR_ARG(asked->turn->id));
	return AR_OK;
}

static int64_t depth_of(const struct ar_session *s, const struct ar_thread *t)
{
	const struct ar_shape_subagent_record *parent = ar_session_subagent_in(s, t->id);

	return parent ? parent->depth.v + 1 : 1;
}

/* Of closed ones: each takes space until it is merged or discarded. */
static size_t kept_folders(const struct ar_session *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->subagents.count; i++)
		count += ar_subagent_is_closed(ar_subagent_at(s, i)) &&
			 ar_subagent_keeps_files(ar_subagent_at(s, i));
	return count;
}

static enum ar_status check_limits(const struct ar_decision *d, const struct ar_spawn *asked,
				   struct ar_error *err)
{
	const struct ar_policy *policy = d->input->policy;
	size_t open = ar_session_open_subagents(d->session, AR_STR_NONE) + kept_folders(d->session);

	if (depth_of(d->session, asked->thread) > policy->subagent_depth)
		return ar_refuse(err, AR_ERR_DEPTH_LIMIT,
				 "subagents may nest %lld deep here (subagents.max_depth)",
				 (long long)policy->subagent_depth);
	if ((int64_t)open >= policy->subagents_max)
		return ar_refuse(err, AR_ERR_FANOUT_LIMIT,
				 "session %.*s has %zu subagents that are not closed, or whose folder is not "
				 "merged or discarded, which is the limit (subagents.max_children)",
				 AR_STR_ARG(d->session->id), open);
	if (!ar_str_absent(asked->id) && ar_session_subagent(d->session, asked->id))
		return ar_refuse(err, AR_ERR_ID_CONFLICT,
				 "subagent %.*s exists already; choose another subagentId",
				 AR_STR_ARG(asked->id));
	return AR_OK;
}

/* The task that is named; else the one that the turn of the parent works for, or is. */
static enum ar_status find_task(const struct ar_decision *d, const struct ar_spawn *asked,
				const struct ar_task **ret, struct ar_error *err)
{
	const struct ar_task *own = asked->turn->task, *declared;

	if (!ar_str_absent(asked->task))
		return ar_task_for_turn(d, asked->task, ret, err);
	declared = own ? ar_session_declared(d->session, own->parent) : NULL;
	*ret = declared && !ar_task_is_over(declared) ? declared : own;
	return AR_OK;
}

static enum ar_status check_first_turn(struct ar_decision *d, const struct ar_spawn *asked,
				       struct ar_spawn_plan *plan, struct ar_error *err)
{
	static const struct ar_shape_create_policy new_thread = { .thread = AR_STR("new") };
	struct ar_cmd_submit_turn_in *in = ar_arena_alloc(d->arena, sizeof(*in));

	*in = (struct ar_cmd_submit_turn_in){ .session_id = d->session->id,
					      .text = ar_str_absent(asked->input) ? asked->objective
										  : AR_STR_NONE,
					      .input = asked->input,
					      .source = AR_STR(AR_SOURCE_SUBAGENT),
					      .busy_policy = AR_SUBMIT_TURN_BUSY_POLICY_QUEUE,
					      .create_policy = &new_thread,
					      .options = &plan->options };
	return ar_decide_check_turn(d, in, &plan->turn, err);
}

enum ar_status ar_subagent_plan(struct ar_decision *d, const struct ar_spawn *asked,
				struct ar_spawn_plan *ret, struct ar_error *err)
{
	*ret = (struct ar_spawn_plan){ .asked = asked };
	if (check_parent(d, asked, err) != AR_OK || check_limits(d, asked, err) != AR_OK ||
	    ar_subagent_isolate(d, asked, ret, err) != AR_OK ||
	    ar_subagent_check_budget(d, asked->turn, asked->budget, err) != AR_OK ||
	    find_task(d, asked, &ret->task, err) != AR_OK || check_first_turn(d, asked, ret, err) != AR_OK)
		return AR_E_REFUSED;
	return AR_OK;
}

/* ---- its facts ---- */

static void say_spawned(struct ar_decision *d, const struct ar_spawn_plan *plan, struct ar_str id,
			struct ar_str thread)
{
	const struct ar_spawn *asked = plan->asked;
	const struct ar_shape_subagent_record *parent = ar_session_subagent_in(d->session, asked->thread->id);
	struct ar_ids ids = ar_ids_thread(asked->thread);

	ids.at[AR_SCOPE_TURN] = asked->turn->id;
	ids.at[AR_SCOPE_SUBAGENT] = id;
	ar_decide_emit(
		d, AR_EV_SUBAGENT_SPAWNED, &ids,
		&(struct ar_ev_subagent_spawned){
			.parent_session_id = d->session->id,
			.parent_thread_id = asked->thread->id,
			.parent_turn_id = asked->turn->id,
			.child_thread_id = thread,
			.role = ar_str_absent(asked->role) ? AR_STR("") : asked->role,
			.nickname = ar_str_absent(asked->nickname) ? AR_STR("") : asked->nickname,
			.isolation = &plan->isolation,
			.model_policy = &plan->model,
			.status = AR_STR("queued"),
			.parent_id = parent ? parent->subagent_id : AR_STR_NONE,
			.tool_call_id = asked->call,
			.task_id = plan->task ? plan->task->id : AR_STR_NONE,
			.depth = AR_OPT_INT(depth_of(d->session, asked->thread)),
			.definition = ar_str_empty(asked->definition) ? AR_STR_NONE : asked->definition,
			.instructions_ref = plan->instructions_ref,
			.instructions_bytes = { plan->instructions_bytes, plan->instructions_bytes > 0 },
			.options = &plan->options,
			.budget = asked->budget });
}

/* Below workspaces.dir, named by the thread: callers choose ids of children, not those of threads. */
static struct ar_str path_for(struct ar_decision *d, const struct ar_shape_subagent_record *r)
{
	const struct ar_session *s = d->session;
	char home[AR_SESSION_KEY_LEN];
	uint64_t n = 0;

	ar_tenant_home(ar_session_tenant(s), home);
	ar_id_counter(r->child_thread_id, &n);
	return ar_arena_fmt(d->arena, "%.*s/%.*s/%.*s/sessions/%.*s/agent-%llu/files",
			    AR_STR_ARG(d->input->policy->folders), AR_SESSION_KEY_LEN, home,
			    AR_STR_ARG(ar_workspace_key_in(s->bound->workspace_id)),
			    AR_STR_ARG(s->session_key), (unsigned long long)n);
}

/* Filled from the folder that its parent works in, before its first call that needs it. */
static void say_bound(struct ar_decision *d, struct ar_str id)
{
	const struct ar_shape_subagent_record *r = ar_session_subagent(d->session, id);
	struct ar_work_folder around;
	struct ar_ids ids = { 0 };

	if (!r)
		return; /* a fact did not fit: the decision says so */
	around = ar_work_folder_in(d->session, r->parent_thread_id);
	ids.at[AR_SCOPE_THREAD] = r->child_thread_id;
	ids.at[AR_SCOPE_SUBAGENT] = id;
	ar_decide_emit(d, AR_EV_WORKSPACE_BOUND, &ids,
		       &(struct ar_ev_workspace_bound){ .binding = &(struct ar_shape_workspace_binding){
								.workspace_id = around.bound->workspace_id,
								.version = around.bound->version,
								.folder = path_for(d, r),
								.trusted = around.bound->trusted,
								.isolation = AR_WORKSPACE_ISOLATION_WORKTREE,
								.origin = around.bound->folder } });
}

/* Before the child runs: a reader of the task finds it. */
static void say_delegated(struct ar_decision *d, const struct ar_task *task, struct ar_str child)
{
	const struct ar_shape_relationship edge = { .kind = AR_STR("spawned_subagent"),
						    .target_id = child,
						    .status = AR_STR(AR_EDGE_ACTIVE),
						    .created_at = d->input->now,
						    .updated_at = d->input->now };
	struct ar_ids ids = ar_task_ids(task, ar_task_open_run(task));

	ids.at[AR_SCOPE_SUBAGENT] = child;
	ar_decide_emit(d, AR_EV_TASK_DELEGATED, &ids,
		       &(struct ar_ev_task_delegated){ .delegate_kind =
							       AR_TASK_DELEGATED_DELEGATE_KIND_SUBAGENT,
						       .target_id = child,
						       .edge = &edge,
						       .reason = AR_STR("a subagent works for it") });
	ar_decide_emit(d, AR_EV_TASK_DEPENDENCY_UPDATED, &ids,
		       &(struct ar_ev_task_dependency_updated){
			       .change = AR_TASK_DEPENDENCY_UPDATED_CHANGE_ADDED,
			       .relationship = &edge,
			       .actor = d->input->account });
}

struct ar_str ar_subagent_begin(struct ar_decision *d, struct ar_spawn_plan *plan)
{
	const struct ar_spawn *asked = plan->asked;
	struct ar_str id = asked->id;
	struct ar_ids ids = { 0 };

	if (ar_str_absent(id))
		id = ar_decide_mint(d, "sub", &d->counters.subagent.v);
	ids.at[AR_SCOPE_THREAD] = ar_decide_mint(d, "thread", &d->counters.thread);
	ar_decide_emit(d, AR_EV_THREAD_STARTED, &ids,
		       &(struct ar_ev_thread_started){ .reason = AR_THREAD_STARTED_REASON_DELEGATE,
						       .parent_thread_id = asked->thread->id,
						       .parent_turn_id = asked->turn->id,
						       .subagent_id = id,
						       .status = AR_THREAD_STATUS_IDLE,
						       .actor = d->input->account });
	if (!ar_str_absent(plan->instructions))
		ar_decide_content(d, plan->instructions);
	say_spawned(d, plan, id, ids.at[AR_SCOPE_THREAD]);
	if (plan->has_folder)
		say_bound(d, id);
	if (plan->task)
		say_delegated(d, plan->task, id);
	plan->turn.thread = ar_session_thread(d->session, ids.at[AR_SCOPE_THREAD]);
	if (d->fault == AR_OK)
		ar_subagent_send(d, ar_session_subagent(d->session, id), &plan->turn, false);
	return id;
}

/* ---- the command ---- */

static enum ar_status find_parent(const struct ar_decision *d, const struct ar_cmd_spawn_subagent_in *in,
				  struct ar_spawn *ret, struct ar_error *err)
{
	ret->thread = ar_session_thread(d->session, in->thread_id);
	ret->turn = ret->thread ? ar_thread_turn(ret->thread, in->turn_id) : NULL;
	if (ret->turn && !ret->turn->removed.v)
		return AR_OK;
	return ar_refuse(err, AR_ERR_PARENT_NOT_FOUND, "thread %.*s has no turn %.*s",
			 AR_STR_ARG(ar_str_utf8_prefix(in->thread_id, 64)),
			 AR_STR_ARG(ar_str_utf8_prefix(in->turn_id, 64)));
}

enum ar_status ar_decide_spawn_subagent(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_spawn_subagent_in *in = d->input->command.args;
	struct ar_spawn asked = { .id = in->subagent_id,
				  .objective = in->objective,
				  .input = in->input,
				  .role = in->role,
				  .nickname = in->nickname,
				  .task = in->task_id,
				  .definition = in->definition,
				  .isolation = in->isolation,
				  .model = in->model_policy,
				  .budget = in->budget };
	struct ar_cmd_spawn_subagent_out out = { 0 };
	const struct ar_shape_subagent_record *r;
	struct ar_spawn_plan plan;

	if (find_parent(d, in, &asked, err) != AR_OK || ar_subagent_plan(d, &asked, &plan, err) != AR_OK)
		return AR_E_REFUSED;
	out.subagent_id = ar_subagent_begin(d, &plan);
	r = ar_session_subagent(d->session, out.subagent_id);
	if (!r)
		return AR_OK; /* a fact did not fit: the decision says so */
	out.child_thread_id = r->child_thread_id;
	out.status = r->status;
	ar_decide_reply(d, AR_CMD_SPAWN_SUBAGENT, &out);
	return AR_OK;
}
