/* Tasks together: edges from both ends, what blocks what, counts and groups by state. Pure. */
#include "closed/closed_group.h"
#include "task/blocks.h"
#include "task/task.h"
#include "thread.h"

/* ---- edges ---- */

struct edges {
	struct ar_arena *arena;
	struct ar_vec found; /* struct ar_shape_relationship */
};

static void add_edge(struct edges *edges, struct ar_str source, const struct ar_edge *e)
{
	struct ar_shape_relationship *r = ar_arena_alloc(edges->arena, sizeof(*r));

	*r = ar_edge_shape(source, e);
	ar_vec_push(edges->arena, &edges->found, r);
}

/* What other tasks say about this one, turned round. */
static void from_others(const struct ar_session *s, const struct ar_task *task, struct edges *edges)
{
	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *other = s->declared.at[i];

		for (size_t k = 0; k < other->edges.count; k++) {
			struct ar_edge turned = *(const struct ar_edge *)other->edges.at[k];

			if (!ar_str_eq(turned.target, task->id) ||
			    ar_str_absent(ar_edge_inverse(turned.kind)))
				continue;
			turned.kind = ar_edge_inverse(turned.kind);
			turned.target = other->id;
			add_edge(edges, task->id, &turned);
		}
	}
}

/* Its place in the tree, where no edge says it. */
static void add_parent(const struct ar_session *s, const struct ar_task *task, struct edges *edges)
{
	const struct ar_task *parent = ar_session_declared(s, task->parent);
	const struct ar_edge up = { .kind = AR_STR("parent"),
				    .target = task->parent,
				    .status = AR_STR(AR_EDGE_ACTIVE),
				    .created = task->created,
				    .updated = task->created };

	if (!ar_str_absent(task->parent) && !ar_task_edge(task, up.kind, up.target) &&
	    (!parent || !ar_task_edge(parent, AR_STR("child"), task->id)))
		add_edge(edges, task->id, &up);
}

static void add_child(const struct ar_task *of, const struct ar_task *task, struct edges *edges)
{
	const struct ar_edge down = { .kind = AR_STR("child"),
				      .target = task->id,
				      .status = AR_STR(AR_EDGE_ACTIVE),
				      .created = task->created,
				      .updated = task->created };

	if (ar_str_eq(task->parent, of->id) && !ar_task_edge(of, down.kind, task->id) &&
	    !ar_task_edge(task, AR_STR("parent"), of->id))
		add_edge(edges, of->id, &down);
}

static void add_children(const struct ar_session *s, const struct ar_task *task, struct edges *edges)
{
	for (size_t i = 0; i < s->declared.count; i++)
		add_child(task, s->declared.at[i], edges);
	ar_closed_groups_seek(s, task->id);
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (turn->task && !ar_str_absent(turn->task->parent))
				add_child(task, turn->task, edges);
		}
	}
}

/* A turn may have hundreds of children; the edges of those that are not shown are left out, too. What a
 * caller linked under that kind is not a child of this session. */
static bool is_shown(const struct ar_session *s, const struct ar_edge *e, const struct ar_shown *shown)
{
	if (!shown || !ar_str_starts(e->target, AR_STR("sub_")) ||
	    !ar_str_eq(ar_id_owner(e->target), s->session_key))
		return true;
	for (size_t i = 0; i < shown->children.count; i++) {
		const struct ar_shape_subagent_record *r = shown->children.at[i];

		if (ar_str_eq(r->subagent_id, e->target))
			return true;
	}
	return false;
}

struct ar_shape_relationship_list ar_projection_relationships(const struct ar_session *s,
							      const struct ar_task *task,
							      const struct ar_shown *shown,
							      struct ar_arena *a)
{
	struct edges edges = { .arena = a };
	struct ar_shape_relationship *at;

	for (size_t i = 0; i < task->edges.count; i++) {
		if (is_shown(s, task->edges.at[i], shown))
			add_edge(&edges, task->id, task->edges.at[i]);
	}
	if (s->declared.count > 0) {
		from_others(s, task, &edges);
		add_parent(s, task, &edges);
		add_children(s, task, &edges);
	}
	at = ar_arena_alloc(a, (edges.found.count + 1) * sizeof(*at));
	for (size_t i = 0; i < edges.found.count; i++)
		at[i] = *(const struct ar_shape_relationship *)edges.found.at[i];
	return (struct ar_shape_relationship_list){ at, edges.found.count };
}

static bool is_in(const struct ar_task *task, struct ar_str thread)
{
	return ar_str_absent(thread) || ar_str_eq(task->sheet->thread, thread);
}

static void graph(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	struct ar_arena arena = { 0 };
	struct edges edges = { .arena = &arena };

	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *task = s->declared.at[i];

		if (!is_in(task, shown->thread))
			continue;
		for (size_t k = 0; k < task->edges.count; k++) {
			if (is_shown(s, task->edges.at[k], shown))
				add_edge(&edges, task->id, task->edges.at[k]);
		}
		add_parent(s, task, &edges);
	}
	ar_jw_key(w, "taskGraph");
	ar_jw_open(w);
	ar_jw_key(w, "edges");
	ar_jw_open_array(w);
	for (size_t i = 0; i < edges.found.count; i++)
		ar_struct_encode(&ar_shape_relationship_desc, edges.found.at[i], AR_STR_NONE, w);
	ar_jw_close_array(w);
	ar_jw_close(w);
	ar_arena_fini(&arena);
}

/* ---- tasks that cannot proceed ---- */

static void blockers(const struct ar_session *s, const struct ar_task *task, struct ar_jw *w)
{
	struct ar_str held, blocker;

	ar_jw_key(w, "blockers");
	ar_jw_open_array(w);
	for (size_t i = 0; i < task->held_by.count; i++) {
		const struct ar_block *b = ar_block_at(&task->held_by, i);
		struct ar_shape_blocker shape;

		if (!ar_block_is_open(b) || !ar_block_ends(b->from, b->edge, &held, &blocker))
			continue;
		shape = ar_task_blocker(s, blocker);
		ar_struct_encode(&ar_shape_blocker_desc, &shape, AR_STR_NONE, w);
	}
	ar_jw_close_array(w);
}

static void blocked_tasks(const struct ar_session *s, struct ar_str thread, struct ar_jw *w)
{
	ar_jw_key(w, "blockedTasks");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *task = s->declared.at[i];

		if (!is_in(task, thread) || ar_task_is_over(task) || !ar_task_is_blocked(task))
			continue;
		ar_jw_open(w);
		ar_jw_mstr(w, "taskId", task->id);
		ar_jw_mstr(w, "status", ar_projection_task_status(s, task));
		ar_jw_mstr(w, "statusReason", task->sheet->reason);
		blockers(s, task, w);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

/* ---- groups ---- */

enum group {
	ACTIVE,
	WAITING,
	BLOCKED,
	FAILED,
	LOST,
	ENDED,
	GROUPS,
};

static enum group group_of(const struct ar_task *task)
{
	switch (task->status) {
	case AR_TASK_WAITING:
		return WAITING;
	case AR_TASK_BLOCKED:
		return BLOCKED;
	case AR_TASK_FAILED:
	case AR_TASK_TIMED_OUT:
		return FAILED;
	case AR_TASK_LOST:
		return LOST;
	case AR_TASK_COMPLETED:
	case AR_TASK_CANCELLED:
	case AR_TASK_ARCHIVED:
		return ENDED;
	default:
		return ACTIVE;
	}
}

static void one_group(const struct ar_session *s, const struct ar_shown *shown, enum group g, struct ar_jw *w)
{
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *task = s->declared.at[i];

		if (is_in(task, shown->thread) && group_of(task) == g)
			ar_jw_str(w, task->id);
	}
	for (size_t i = 0; i < shown->threads.count; i++) {
		const struct ar_thread *t = shown->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (turn->task && group_of(turn->task) == g)
				ar_jw_str(w, turn->task->id);
		}
	}
	ar_jw_close_array(w);
}

void ar_projection_task_groups(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	static const char *const names[GROUPS] = { "active", "waiting", "blocked",
						   "failed", "lost",	"recentlyEnded" };

	ar_jw_key(w, "taskGroups");
	ar_jw_open(w);
	for (int g = 0; g < GROUPS; g++) {
		ar_jw_key(w, names[g]);
		one_group(s, shown, (enum group)g, w);
	}
	ar_jw_close(w);
	blocked_tasks(s, shown->thread, w);
	graph(s, shown, w);
}

/* ---- counts ---- */

struct open_tasks {
	int64_t active, waiting, blocked, lost;
};

static void count_one(const struct ar_task *task, struct open_tasks *n)
{
	enum group group = group_of(task);

	n->active += group == ACTIVE;
	n->waiting += group == WAITING;
	n->blocked += group == BLOCKED;
	n->lost += group == LOST;
}

static struct open_tasks count_open(const struct ar_session *s, const struct ar_shown *shown)
{
	struct open_tasks n = { 0 };

	for (size_t i = 0; i < shown->threads.count; i++) {
		const struct ar_thread *t = shown->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (ar_str_absent(turn->outcome) && turn->task)
				count_one(turn->task, &n);
		}
	}
	for (size_t i = 0; i < s->declared.count; i++) {
		if (!ar_task_is_over(s->declared.at[i]))
			count_one(s->declared.at[i], &n);
	}
	return n;
}

static void recent_terminal(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	ar_jw_key(w, "recentTerminal");
	ar_jw_open_array(w);
	for (size_t i = 0; i < shown->threads.count; i++) {
		const struct ar_thread *t = shown->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++) {
			const struct ar_turn *turn = t->turns.at[k];

			if (!ar_str_absent(turn->outcome) && turn->task)
				ar_jw_str(w, turn->task->id);
		}
	}
	for (size_t i = 0; i < s->declared.count; i++) {
		const struct ar_task *task = s->declared.at[i];

		if (ar_task_is_over(task))
			ar_jw_str(w, task->id);
	}
	ar_jw_close_array(w);
}

/* Of the whole session: threads that are left out have no open task. */
void ar_projection_shown_summary(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	struct open_tasks open = count_open(s, shown);

	ar_jw_open(w);
	ar_jw_mint(w, "active", open.active);
	ar_jw_mint(w, "waiting", open.waiting);
	ar_jw_mint(w, "blocked", open.blocked);
	ar_jw_mint(w, "completed", s->tasks.completed);
	ar_jw_mint(w, "failed", s->tasks.failed);
	ar_jw_mint(w, "cancelled", s->tasks.cancelled);
	ar_jw_mint(w, "lost", open.lost);
	ar_jw_mint(w, "terminal",
		   s->tasks.completed + s->tasks.failed + s->tasks.cancelled + s->tasks.timed_out.v);
	recent_terminal(s, shown, w);
	ar_jw_close(w);
}

void ar_projection_task_summary(const struct ar_session *s, struct ar_jw *w)
{
	struct ar_shown shown;

	ar_projection_show(s, NULL, &shown);
	ar_projection_shown_summary(s, &shown, w);
	ar_arena_fini(&shown.arena);
}
