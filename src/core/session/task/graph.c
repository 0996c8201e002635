/* The graph of tasks: who blocks whom, what is a part of what, and what goes on when a blocker
 * ends. An edge is one fact of the task it starts from; its other side is read from there. Pure. */
#include "describe.h"
#include "action/action.h"
#include "task/task.h"

/* ---- reading ---- */

/* The task that an edge keeps from running, and the one that does; both absent: none. */
struct block {
	struct ar_str held, blocker;
};

static struct block block_of(const struct ar_task *from, const struct ar_edge *edge)
{
	if (ar_str_is(edge->kind, "blocks"))
		return (struct block){ .held = edge->target, .blocker = from->id };
	if (ar_str_is(edge->kind, "blocked_by"))
		return (struct block){ .held = from->id, .blocker = edge->target };
	return (struct block){ 0 };
}

/* The open blockers of a task, one after another: `*at` and `*k` are where to look next. */
static bool next_blocker(const struct ar_session *s, const struct ar_task *task, size_t *at, size_t *k,
			 struct ar_str *ret)
{
	for (; *at < s->declared.count; (*at)++, *k = 0) {
		const struct ar_task *from = s->declared.at[*at];

		while (*k < from->edges.count) {
			const struct ar_edge *edge = from->edges.at[(*k)++];
			struct block b = block_of(from, edge);

			*ret = b.blocker;
			if (ar_str_eq(b.held, task->id) && !ar_str_is(edge->status, AR_EDGE_SATISFIED))
				return true;
		}
	}
	return false;
}

bool ar_task_is_blocked(const struct ar_session *s, const struct ar_task *task, struct ar_str but)
{
	size_t at = 0, k = 0;
	struct ar_str blocker;

	while (next_blocker(s, task, &at, &k, &blocker)) {
		if (!ar_str_eq(blocker, but))
			return true;
	}
	return false;
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

struct ar_str ar_task_blocked_by(const struct ar_session *s, const struct ar_task *task)
{
	struct ar_str blocker = AR_STR_NONE;
	size_t at = 0, k = 0;

	return next_blocker(s, task, &at, &k, &blocker) ? blocker : AR_STR_NONE;
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

static void say_edge(struct ar_decision *d, const struct ar_task *task, const struct ar_edge *edge,
		     int change)
{
	struct ar_shape_relationship shape = ar_edge_shape(AR_STR_NONE, edge);

	ar_task_emit(d, task, AR_EV_TASK_DEPENDENCY_UPDATED,
		     &(struct ar_ev_task_dependency_updated){ .change = change, .relationship = &shape });
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

/* Nothing stands in its way any more. */
static void unblock(struct ar_decision *d, const struct ar_task *task)
{
	if (task->sheet->start) {
		/* With a decision of its own: it sees the graph as it is then. */
		ar_decide_wake(d, AR_IN_TASK_DUE, task->id, d->input->now);
		return;
	}
	if (task->status != AR_TASK_BLOCKED)
		return;
	if (ar_task_open_run(task))
		ar_task_emit(d, task, AR_EV_TASK_RESUMED,
			     &(struct ar_ev_task_resumed){ .reason = AR_STR("nothing blocks it any more"),
							   .from_status = AR_STR("blocked") });
	else
		ar_task_emit(d, task, AR_EV_TASK_QUEUED,
			     &(struct ar_ev_task_queued){
				     .queue_reason = AR_TASK_QUEUED_QUEUE_REASON_WORKER_CAPACITY });
}

void ar_task_release(struct ar_decision *d, const struct ar_task *task, bool is_completed)
{
	const struct ar_session *s = d->session;

	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *from = s->declared.at[i];

		for (size_t k = 0; k < from->edges.count; k++) {
			struct ar_edge now = *(const struct ar_edge *)from->edges.at[k];
			struct block b = block_of(from, &now);
			const struct ar_task *held = ar_session_declared(s, b.held);

			if (!ar_str_eq(b.blocker, task->id) || ar_str_is(now.status, AR_EDGE_SATISFIED))
				continue;
			now.status = is_completed ? AR_STR(AR_EDGE_SATISFIED) : AR_STR(AR_EDGE_FAILED);
			now.updated = d->input->now;
			say_edge(d, from, &now, AR_TASK_DEPENDENCY_UPDATED_CHANGE_UPDATED);
			if (is_completed && held && !ar_task_is_over(held) &&
			    !ar_task_is_blocked(s, held, task->id))
				unblock(d, held);
		}
	}
	ar_task_child_ended(d, task->parent);
}

/* ---- link ---- */

static bool is_between_tasks(int kind)
{
	static const bool is[] = { [AR_TASK_EDGE_PARENT] = true,      [AR_TASK_EDGE_CHILD] = true,
				   [AR_TASK_EDGE_BLOCKS] = true,      [AR_TASK_EDGE_BLOCKED_BY] = true,
				   [AR_TASK_EDGE_SOURCE_TASK] = true, [AR_TASK_EDGE_EVIDENCE] = false };

	return (size_t)kind < AR_ARRAY_LEN(is) && is[kind];
}

/* Whether one edge of `task`, or its place under a parent, leads from `from` to *ret along the
 * kind, in either spelling. */
static bool leads_on(const struct ar_task *task, const struct ar_edge *edge, struct ar_str from,
		     struct ar_str kind, struct ar_str *ret)
{
	if (ar_str_eq(task->id, from) && ar_str_eq(edge->kind, kind)) {
		*ret = edge->target;
		return true;
	}
	*ret = task->id;
	return ar_str_eq(edge->target, from) && ar_str_eq(edge->kind, ar_edge_inverse(kind));
}

/* Marks what can be reached in one step from `from`; false when `to` is among it. */
static bool mark_next(const struct ar_session *s, struct ar_str from, struct ar_str to, struct ar_str kind,
		      bool *marks)
{
	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *task = s->declared.at[i];
		const struct ar_edge up = { .kind = AR_STR("parent"), .target = task->parent };
		struct ar_str next;

		for (size_t k = 0; k <= task->edges.count; k++) {
			const struct ar_edge *edge = k < task->edges.count ? task->edges.at[k] : &up;

			if (ar_str_absent(edge->target) || !leads_on(task, edge, from, kind, &next))
				continue;
			if (ar_str_eq(next, to))
				return false;
			for (size_t n = 0; n < s->declared.count; n++)
				marks[n] = marks[n] ||
					   ar_str_eq(((const struct ar_task *)s->declared.at[n])->id, next);
		}
	}
	return true;
}

/* Whether `to` is reached from `from` along edges of the kind. */
static bool reaches(const struct ar_decision *d, struct ar_str from, struct ar_str to, struct ar_str kind)
{
	const struct ar_session *s = d->session;
	bool *marks = ar_arena_alloc(d->arena, s->declared.count + 1);
	bool *done = ar_arena_alloc(d->arena, s->declared.count + 1);
	bool is_new = true;

	if (ar_str_eq(from, to) || !mark_next(s, from, to, kind, marks))
		return true;
	while (is_new) {
		is_new = false;
		for (size_t i = 0; i < s->declared.count; i++) {
			if (!marks[i] || done[i])
				continue;
			done[i] = is_new = true;
			if (!mark_next(s, ((const struct ar_task *)s->declared.at[i])->id, to, kind, marks))
				return true;
		}
	}
	return false;
}

static enum ar_status check_target(const struct ar_decision *d, const struct ar_task *source,
				   struct ar_error *err)
{
	const struct ar_cmd_link_tasks_in *in = d->input->command.args;
	const struct ar_session *s = d->session;
	const struct ar_task *target = ar_session_any_task(s, in->target_id);
	struct ar_str kind = ar_str_from(ar_enum_name(&ar_task_edge_desc, in->kind));

	if (in->kind == AR_TASK_EDGE_ASSIGNED_THREAD && !ar_session_thread(s, in->target_id))
		return ar_refuse(err, AR_ERR_SCOPE_NOT_FOUND, "session %.*s has no thread %.*s",
				 AR_STR_ARG(s->id), AR_STR_ARG(ar_str_utf8_prefix(in->target_id, 64)));
	if (!is_between_tasks(in->kind))
		return AR_OK;
	if (!target)
		return ar_refuse(err, AR_ERR_TASK_NOT_FOUND, "session %.*s has no task %.*s",
				 AR_STR_ARG(s->id), AR_STR_ARG(ar_str_utf8_prefix(in->target_id, 64)));
	if (!ar_str_absent(ar_edge_inverse(kind)) && reaches(d, target->id, source->id, kind))
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

/* A task that has begun, or may, stands still when it gets an open blocker. */
static void say_blocked(struct ar_decision *d, const struct ar_task *task, struct ar_str blocker)
{
	static const bool may_block[] = { [AR_TASK_ACCEPTED] = true,
					  [AR_TASK_QUEUED] = true,
					  [AR_TASK_RUNNING] = true,
					  [AR_TASK_WAITING] = true,
					  [AR_TASK_BLOCKED] = true };
	struct ar_shape_blocker one;

	if (!task || (size_t)task->status >= AR_ARRAY_LEN(may_block) || !may_block[task->status])
		return;
	one = ar_task_blocker(d->session, blocker);
	ar_task_emit(d, task, AR_EV_TASK_BLOCKED,
		     &(struct ar_ev_task_blocked){ .blockers = { &one, 1 },
						   .status_reason = AR_STR("another task has to be completed "
									   "first") });
}

static void add_edge(struct ar_decision *d, const struct ar_task *source, const struct ar_edge *edge)
{
	struct block b = block_of(source, edge);

	say_edge(d, source, edge, AR_TASK_DEPENDENCY_UPDATED_CHANGE_ADDED);
	if (ar_str_is(edge->status, AR_EDGE_OPEN))
		say_blocked(d, ar_session_declared(d->session, b.held), b.blocker);
	if (ar_str_is(edge->kind, "child"))
		ar_task_delegated(d, source, edge->target, "a task was put under it");
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
	return blocker && blocker->status == AR_TASK_COMPLETED ? AR_STR(AR_EDGE_SATISFIED)
							       : AR_STR(AR_EDGE_OPEN);
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
	if (!known && check_target(d, source, err) != AR_OK)
		return AR_E_REFUSED;
	if (!known && source->edges.count >= AR_EDGES_MAX)
		return ar_refuse(err, AR_ERR_OVERLOADED, "task %.*s has %d edges; unlink some first",
				 AR_STR_ARG(source->id), AR_EDGES_MAX);
	edge = known ? *known
		     : (struct ar_edge){ .kind = kind, .target = in->target_id, .created = d->input->now };
	edge.status = known && ar_str_absent(in->status) ? known->status : first_status(d, source);
	edge.reason = known && ar_str_absent(in->reason) ? known->reason : in->reason;
	edge.updated = known ? known->updated : d->input->now;
	if (!known) {
		add_edge(d, source, &edge);
	} else if (!ar_str_eq(edge.status, known->status) || !ar_str_eq(edge.reason, known->reason)) {
		edge.updated = d->input->now;
		say_edge(d, from, &edge, AR_TASK_DEPENDENCY_UPDATED_CHANGE_UPDATED);
	}
	shape = ar_edge_shape(AR_STR_NONE, &edge);
	ar_decide_reply(d, AR_CMD_LINK_TASKS, &(struct ar_cmd_link_tasks_out){ .edge = &shape });
	return AR_OK;
}

enum ar_status ar_decide_unlink_tasks(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_unlink_tasks_in *in = d->input->command.args;
	struct ar_str kind = ar_str_from(ar_enum_name(&ar_task_edge_desc, in->kind));
	const struct ar_task *from, *held;
	const struct ar_edge *edge;
	struct ar_task *source;
	struct ar_edge gone;
	struct block b;

	if (ar_task_need(d, in->source_id, &source, err) != AR_OK)
		return AR_E_REFUSED;
	edge = known_edge(d, source, kind, in->target_id, &from);
	if (edge) {
		gone = *edge;
		gone.reason = ar_str_absent(in->reason) ? edge->reason : in->reason;
		gone.updated = d->input->now;
		say_edge(d, from, &gone, AR_TASK_DEPENDENCY_UPDATED_CHANGE_REMOVED);
		b = block_of(from, edge);
		held = ar_session_declared(d->session, b.held);
		if (held && !ar_task_is_blocked(d->session, held, b.blocker))
			unblock(d, held);
	}
	ar_decide_reply(d, AR_CMD_UNLINK_TASKS, &(struct ar_cmd_unlink_tasks_out){ .removed = edge != NULL });
	return AR_OK;
}
