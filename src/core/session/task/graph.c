/* The graph of tasks: who blocks whom, and what is a part of what; what follows from the end of a
 * blocker is depend.c's. An edge is one fact of the task it starts from; its other side is read
 * from there. Pure. */
#include "describe.h"
#include "action/action.h"
#include "task/blocks.h"
#include "task/task.h"

/* ---- reading ---- */

bool ar_task_is_blocked(const struct ar_task *task)
{
	return !ar_str_absent(ar_task_blocked_by(task));
}

/* The question that a turn of the task, or one that works for it, waits with; absent: none. */
static struct ar_str question_of(const struct ar_session *s, struct ar_str task)
{
	struct ar_thread *thread;

	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];
		const struct ar_turn *turn = ar_session_turn(s, a->turn, &thread);

		if (a->status == AR_ACTION_PENDING && turn && turn->task &&
		    (ar_str_eq(turn->task->id, task) || ar_str_eq(turn->task->parent, task)))
			return a->id;
	}
	return AR_STR_NONE;
}

struct ar_shape_blocker ar_task_blocker(const struct ar_session *s, struct ar_str id)
{
	return (struct ar_shape_blocker){ .kind = AR_STR("task"),
					  .id = id,
					  .required_action_id = question_of(s, id) };
}

struct ar_str ar_task_blocked_by(const struct ar_task *task)
{
	struct ar_str held, blocker;

	for (size_t i = 0; i < task->held_by.count; i++) {
		const struct ar_block *b = ar_block_at(&task->held_by, i);

		if (ar_block_is_open(b) && ar_block_ends(b->from, b->edge, &held, &blocker))
			return blocker;
	}
	return AR_STR_NONE;
}

struct ar_vec ar_task_children(const struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_session *s = d->session;
	struct ar_vec open = { 0 };

	for (size_t i = 0; i < s->declared.count; i++) {
		struct ar_task *child = s->declared.at[i];

		if (ar_str_eq(child->parent, task->id) && !ar_task_is_over(child))
			ar_vec_push(d->arena, &open, child);
	}
	return open;
}

struct ar_vec ar_task_turns(const struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_session *s = d->session;
	struct ar_vec open = { 0 };

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			struct ar_turn *turn = t->turns.at[k];

			if (ar_str_absent(turn->outcome) && turn->task &&
			    ar_str_eq(turn->task->parent, task->id))
				ar_vec_push(d->arena, &open, turn);
		}
	}
	return open;
}

size_t ar_task_open_children(const struct ar_decision *d, const struct ar_task *task)
{
	return ar_task_children(d, task).count + ar_task_turns(d, task).count;
}

/* ---- saying ---- */

void ar_task_say_edge(struct ar_decision *d, const struct ar_task *task, const struct ar_edge *edge,
		      int change)
{
	struct ar_shape_relationship shape = ar_edge_shape(AR_STR_NONE, edge);

	ar_task_emit(d, task, AR_EV_TASK_DEPENDENCY_UPDATED,
		     &(struct ar_ev_task_dependency_updated){
			     .change = change, .relationship = &shape, .actor = d->input->account });
}

void ar_task_delegated(struct ar_decision *d, const struct ar_task *task, const struct ar_str child,
		       const char *reason)
{
	const struct ar_shape_relationship edge = { .kind = AR_STR("child"), .target_id = child };
	struct ar_ids ids = ar_task_ids(task, ar_task_open_run(task));

	ar_decide_emit(d, AR_EV_TASK_DELEGATED, &ids,
		       &(struct ar_ev_task_delegated){ .delegate_kind =
							       AR_TASK_DELEGATED_DELEGATE_KIND_CHILD_TASK,
						       .target_id = child,
						       .edge = &edge,
						       .reason = ar_str_from(reason) });
}

/* ---- link ---- */

static bool is_between_tasks(int kind)
{
	static const bool is[] = { [AR_TASK_EDGE_PARENT] = true,      [AR_TASK_EDGE_CHILD] = true,
				   [AR_TASK_EDGE_BLOCKS] = true,      [AR_TASK_EDGE_BLOCKED_BY] = true,
				   [AR_TASK_EDGE_SOURCE_TASK] = true, [AR_TASK_EDGE_EVIDENCE] = false };

	return (size_t)kind < AR_ARRAY_LEN(is) && is[kind];
}

/* Tasks that a walk has come to: each is looked at once. */
struct walk {
	struct ar_arena *arena;
	struct ar_vec found; /* struct ar_task */
	struct ar_map seen;
};

static void visit(struct walk *w, struct ar_task *task)
{
	if (!task || ar_map_get(&w->seen, task->id))
		return;
	ar_map_put(&w->seen, task->id, task);
	ar_vec_push(w->arena, &w->found, task);
}

/* One step along edges of kind blocks, in either spelling; the other way with `is_back`. */
static void visit_blocks(struct walk *w, const struct ar_task *task, bool is_back)
{
	const struct ar_vec *blocks = is_back ? &task->held_by : &task->holds;

	for (size_t i = 0; i < blocks->count; i++) {
		const struct ar_block *b = ar_block_at(blocks, i);

		visit(w, is_back ? b->blocker : b->held);
	}
}

/* One step up the tree, by its place in it and by edges. */
static void visit_parents(struct walk *w, const struct ar_session *s, const struct ar_task *task)
{
	visit(w, ar_session_any_task(s, task->parent));
	for (size_t i = 0; i < s->declared.count; i++) {
		struct ar_task *other = s->declared.at[i];

		if (ar_task_edge(other, AR_STR("child"), task->id) ||
		    ar_task_edge(task, AR_STR("parent"), other->id))
			visit(w, other);
	}
}

/* Whether `to` is reached from `from` along edges of the kind. */
static bool reaches(const struct ar_decision *d, struct ar_task *from, struct ar_task *to, int kind)
{
	bool is_tree = kind == AR_TASK_EDGE_PARENT || kind == AR_TASK_EDGE_CHILD;
	bool is_down = kind == AR_TASK_EDGE_CHILD;
	struct walk w = { .arena = d->arena };
	bool is_found;

	/* The tree is walked up, which is short: down from one to the other is up from the other. */
	visit(&w, is_down ? to : from);
	for (size_t i = 0; i < w.found.count && !ar_map_get(&w.seen, is_down ? from->id : to->id); i++) {
		if (is_tree)
			visit_parents(&w, d->session, w.found.at[i]);
		else
			visit_blocks(&w, w.found.at[i], kind == AR_TASK_EDGE_BLOCKED_BY);
	}
	is_found = ar_map_get(&w.seen, is_down ? from->id : to->id) != NULL;
	ar_map_fini(&w.seen);
	return is_found;
}

static enum ar_status check_target(const struct ar_decision *d, struct ar_task *source, struct ar_error *err)
{
	const struct ar_cmd_link_tasks_in *in = d->input->command.args;
	const struct ar_session *s = d->session;
	struct ar_task *target = ar_session_any_task(s, in->target_id);
	struct ar_str kind = ar_str_from(ar_enum_name(&ar_task_edge_desc, in->kind));

	if (in->kind == AR_TASK_EDGE_ASSIGNED_THREAD && !ar_session_thread(s, in->target_id))
		return ar_refuse(err, AR_ERR_SCOPE_NOT_FOUND, "session %.*s has no thread %.*s",
				 AR_STR_ARG(s->id), AR_STR_ARG(ar_str_utf8_prefix(in->target_id, 64)));
	if (!is_between_tasks(in->kind))
		return AR_OK;
	if (!target)
		return ar_refuse(err, AR_ERR_TASK_NOT_FOUND, "session %.*s has no task %.*s",
				 AR_STR_ARG(s->id), AR_STR_ARG(ar_str_utf8_prefix(in->target_id, 64)));
	if (!ar_str_absent(ar_edge_inverse(kind)) && reaches(d, target, source, in->kind))
		return ar_refuse(err, AR_ERR_CYCLE, "the edge would close a cycle from %.*s over %.*s edges",
				 AR_STR_ARG(source->id), AR_STR_ARG(kind));
	if ((in->kind == AR_TASK_EDGE_CHILD && source->status == AR_TASK_CANCELLING) ||
	    (in->kind == AR_TASK_EDGE_PARENT && target->status == AR_TASK_CANCELLING))
		return ar_refuse(err, AR_ERR_CANCELLING_PARENT,
				 "the parent is cancelled and accepts no new work");
	return AR_OK;
}

/* The edge as it is said already, by either end; NULL: it is new. */
static const struct ar_edge *known_edge(const struct ar_decision *d, const struct ar_task *source,
					struct ar_str kind, struct ar_str target_id,
					const struct ar_task **ret_from)
{
	const struct ar_task *target = ar_session_any_task(d->session, target_id);
	struct ar_str inverse = ar_edge_inverse(kind);
	const struct ar_edge *edge = ar_task_edge(source, kind, target_id);

	*ret_from = source;
	if (edge || !target || ar_str_absent(inverse))
		return edge;
	*ret_from = target;
	return ar_task_edge(target, inverse, source->id);
}

/* A task that has begun, or may, stands still while it has an open blocker, and goes on without one. */
static void follow_edge(struct ar_decision *d, const struct ar_task *from, const struct ar_edge *edge)
{
	struct ar_str held, blocker;

	if (!ar_block_ends(from, edge, &held, &blocker))
		return;
	if (ar_str_is(edge->status, AR_EDGE_SATISFIED))
		ar_task_unblock(d, ar_session_declared(d->session, held));
	else
		ar_task_say_blocked(d, ar_session_declared(d->session, held), blocker);
}

static void add_edge(struct ar_decision *d, const struct ar_task *source, const struct ar_edge *edge)
{
	ar_task_say_edge(d, source, edge, AR_TASK_DEPENDENCY_UPDATED_CHANGE_ADDED);
	if (!ar_str_is(edge->status, AR_EDGE_SATISFIED))
		follow_edge(d, source, edge);
	if (ar_str_is(edge->kind, "child"))
		ar_task_delegated(d, source, edge->target, "a task was put under it");
}

static void change_edge(struct ar_decision *d, const struct ar_task *from, const struct ar_edge *before,
			const struct ar_edge *edge)
{
	bool is_moved = !ar_str_eq(before->status, edge->status);

	ar_task_say_edge(d, from, edge, AR_TASK_DEPENDENCY_UPDATED_CHANGE_UPDATED);
	if (is_moved)
		follow_edge(d, from, edge);
}

/* An archived one ended well if its newest run did and no end took the word from it. */
static bool ended_well(const struct ar_task *task)
{
	const struct ar_run *run = ar_task_run(task);

	return task->status == AR_TASK_COMPLETED ||
	       (task->status == AR_TASK_ARCHIVED && run && ar_str_is(run->status, "completed") &&
		task->sheet && ar_str_absent(task->sheet->reason));
}

static struct ar_str first_status(const struct ar_decision *d, const struct ar_task *source)
{
	const struct ar_cmd_link_tasks_in *in = d->input->command.args;
	bool is_blocks = in->kind == AR_TASK_EDGE_BLOCKS;
	const struct ar_task *blocker = is_blocks ? source : ar_session_any_task(d->session, in->target_id);

	if (!ar_str_absent(in->status))
		return in->status;
	if (!is_blocks && in->kind != AR_TASK_EDGE_BLOCKED_BY)
		return AR_STR(AR_EDGE_ACTIVE);
	if (!blocker || !ar_task_is_over(blocker))
		return AR_STR(AR_EDGE_OPEN);
	return ended_well(blocker) ? AR_STR(AR_EDGE_SATISFIED) : AR_STR(AR_EDGE_FAILED);
}

/* Both ends are limited: a task that holds another stays in memory after its end. */
static enum ar_status check_room(const struct ar_decision *d, const struct ar_task *source,
				 struct ar_error *err)
{
	const struct ar_cmd_link_tasks_in *in = d->input->command.args;
	const struct ar_task *target = ar_session_any_task(d->session, in->target_id);
	const struct ar_task *held = in->kind == AR_TASK_EDGE_BLOCKS	   ? target
				     : in->kind == AR_TASK_EDGE_BLOCKED_BY ? source
									   : NULL;
	const struct ar_task *full = source->edges.count >= AR_EDGES_MAX	   ? source
				     : held && held->held_by.count >= AR_EDGES_MAX ? held
										   : NULL;

	if (!full)
		return AR_OK;
	return ar_refuse(err, AR_ERR_OVERLOADED, "task %.*s has %d edges; unlink some first",
			 AR_STR_ARG(full->id), AR_EDGES_MAX);
}

enum ar_status ar_decide_link_tasks(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_link_tasks_in *in = d->input->command.args;
	struct ar_str kind = ar_str_from(ar_enum_name(&ar_task_edge_desc, in->kind));
	const struct ar_edge *known;
	const struct ar_task *from;
	struct ar_edge edge;
	struct ar_shape_relationship shape;
	struct ar_task *source;

	if (ar_task_need(d, in->source_id, &source, err) != AR_OK)
		return AR_E_REFUSED;
	known = known_edge(d, source, kind, in->target_id, &from);
	if (!known && (check_target(d, source, err) != AR_OK || check_room(d, source, err) != AR_OK))
		return AR_E_REFUSED;
	edge = known ? *known
		     : (struct ar_edge){ .kind = kind, .target = in->target_id, .created = d->input->now };
	edge.status = known && ar_str_absent(in->status) ? known->status : first_status(d, source);
	edge.reason = known && ar_str_absent(in->reason) ? known->reason : in->reason;
	edge.updated = known ? known->updated : d->input->now;
	if (!known) {
		add_edge(d, source, &edge);
	} else if (!ar_str_eq(edge.status, known->status) || !ar_str_eq(edge.reason, known->reason)) {
		edge.updated = d->input->now;
		change_edge(d, from, known, &edge);
	}
	shape = ar_edge_shape(AR_STR_NONE, &edge);
	ar_decide_reply(d, AR_CMD_LINK_TASKS, &(struct ar_cmd_link_tasks_out){ .edge = &shape });
	return AR_OK;
}

enum ar_status ar_decide_unlink_tasks(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_unlink_tasks_in *in = d->input->command.args;
	struct ar_str kind = ar_str_from(ar_enum_name(&ar_task_edge_desc, in->kind));
	struct ar_str held, blocker;
	const struct ar_task *from;
	const struct ar_edge *edge;
	struct ar_task *source;
	struct ar_edge gone;

	if (ar_task_need(d, in->source_id, &source, err) != AR_OK)
		return AR_E_REFUSED;
	edge = known_edge(d, source, kind, in->target_id, &from);
	if (edge) {
		gone = *edge;
		gone.reason = ar_str_absent(in->reason) ? edge->reason : in->reason;
		gone.updated = d->input->now;
		ar_task_say_edge(d, from, &gone, AR_TASK_DEPENDENCY_UPDATED_CHANGE_REMOVED);
		if (ar_block_ends(from, edge, &held, &blocker))
			ar_task_unblock(d, ar_session_declared(d->session, held));
	}
	ar_decide_reply(d, AR_CMD_UNLINK_TASKS, &(struct ar_cmd_unlink_tasks_out){ .removed = edge != NULL });
	return AR_OK;
}
