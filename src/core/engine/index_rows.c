/* See the header. The documents themselves are core/projection's. Owner: the loop thread. */
#include "index_rows.h"
#include "action/action.h"
#include "projection.h"
#include "quota/quota.h"
#include "task/words.h"

#define ROW_ROOM 2000 /* bytes that most records stay below: one allocation instead of six */

/* The record of a task, or of the session, workspace, worker or schedule when none is named. */
static struct ar_str render(struct ar_arena *a, const struct ar_session *s, struct ar_str task)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str text;

	ar_buf_room(&out, ROW_ROOM);
	if (!ar_str_absent(task))
		ar_projection_task(s, task, &w);
	else if (s->own)
		ar_projection_workspace(s, &w);
	else if (s->own_worker)
		ar_projection_worker(s, &w);
	else if (s->own_schedule)
		ar_projection_schedule(s, &w);
	else
		ar_projection_shell(s, &w);
	text = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return text;
}

/* Of an archived session only while it rests: what works is listed. */
static struct ar_str session_status(const struct ar_session *s)
{
	struct ar_str status = ar_projection_status(s);

	return s->archived.v && ar_str_is(status, "idle") ? AR_STR(AR_STORE_ARCHIVED) : status;
}

static struct ar_str status_of(const struct ar_session *s)
{
	if (s->own)
		return ar_projection_workspace_status(s);
	if (s->own_schedule)
		return ar_projection_schedule_status(s);
	return s->own_worker ? ar_projection_worker_status(s) : session_status(s);
}

/* Whether lists of tasks or processes over all sessions find something here. */
static bool is_open(const struct ar_session *s)
{
	for (size_t i = 0; i < s->declared.count; i++) {
		if (!ar_task_is_over(s->declared.at[i]))
			return true;
	}
	return ar_session_processes_at_work(s) > 0;
}

struct ar_store_session_row ar_index_session(const struct ar_session *s, struct ar_arena *a)
{
	bool is_active = ar_session_is_active(s);

	return (struct ar_store_session_row){ .active = is_active,
					      .created = s->created,
					      .updated = s->updated,
					      .tenant = ar_session_tenant(s),
					      .workspace = s->workspace,
					      .account = s->account,
					      .status = status_of(s),
					      .shell = render(a, s, AR_STR_NONE),
					      .due = ar_session_due(s),
					      .open = is_active || is_open(s) };
}

uint64_t ar_index_head(struct ar_json_parser *json, struct ar_str shell)
{
	int64_t head = 0;
	struct ar_json v;

	if (!ar_str_absent(shell) && ar_json_parse(json, shell, &v, NULL) == AR_OK)
		ar_json_i64(ar_json_get(v, "asOfSequence"), &head);
	return head > 0 ? (uint64_t)head : 0;
}

static bool is_new_task(const struct ar_store_task_row *rows, size_t count, struct ar_str id)
{
	for (size_t i = 0; i < count; i++) {
		if (ar_str_eq(rows[i].task, id))
			return false;
	}
	return true;
}

static struct ar_str edge_target(const struct ar_event *e)
{
	const struct ar_ev_task_dependency_updated *p = e->payload;

	return p->relationship ? p->relationship->target_id : AR_STR_NONE;
}

static size_t add_task(const struct ar_session *s, struct ar_str id, struct ar_arena *a,
		       struct ar_store_task_row *rows, size_t n)
{
	const struct ar_task *task =
		!ar_str_absent(id) && is_new_task(rows, n, id) ? ar_session_any_task(s, id) : NULL;

	if (!task)
		return n;
	rows[n] =
		(struct ar_store_task_row){ .task = task->id,
					    .record = render(a, s, task->id),
					    .status = ar_projection_task_status(s, task),
					    .is_internal = task->visibility == AR_TASK_VISIBILITY_INTERNAL };
	return n + 1;
}

/* Facts of a turn that change the word for the task that it works for. */
static bool moves_parent(enum ar_event_type type)
{
	return type == AR_EV_TURN_STARTED || type == AR_EV_MODEL_REQUESTED || type == AR_EV_TOOL_STARTED;
}

static struct ar_str parent_of(const struct ar_session *s, const struct ar_event *e)
{
	const struct ar_task *task = ar_session_any_task(s, e->ids[AR_SCOPE_TASK]);

	return task && ar_session_declared(s, task->parent) ? task->parent : AR_STR_NONE;
}

size_t ar_index_tasks(const struct ar_session *s, const struct ar_event *events, size_t count,
		      struct ar_arena *a, struct ar_store_task_row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		n = add_task(s, events[i].ids[AR_SCOPE_TASK], a, rows, n);
		/* An edge shows at both of its ends. */
		if (events[i].type == AR_EV_TASK_DEPENDENCY_UPDATED)
			n = add_task(s, edge_target(&events[i]), a, rows, n);
		else if (moves_parent(events[i].type) && !ar_str_absent(events[i].ids[AR_SCOPE_TASK]))
			n = add_task(s, parent_of(s, &events[i]), a, rows, n);
	}
	return n;
}

static struct ar_store_action_row action_row(const struct ar_session *s, const struct ar_action *action,
					     struct ar_arena *a)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_store_action_row row = { .action = action->id,
					   .tenant = ar_session_tenant(s),
					   .account = s->account,
					   .created = action->created,
					   .is_pending = action->status == AR_ACTION_PENDING };

	ar_projection_action(s, action, &w);
	row.record = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return row;
}

static bool is_new_action(const struct ar_store_action_row *rows, size_t count, struct ar_str id)
{
	for (size_t i = 0; i < count; i++) {
		if (ar_str_eq(rows[i].action, id))
			return false;
	}
	return true;
}

size_t ar_index_actions(const struct ar_session *s, const struct ar_event *events, size_t count,
			struct ar_arena *a, struct ar_store_action_row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct ar_str id = events[i].ids[AR_SCOPE_ACTION];
		const struct ar_action *action;

		if (events[i].type != AR_EV_ACTION_REQUIRED && events[i].type != AR_EV_ACTION_RESOLVED &&
		    events[i].type != AR_EV_RUN_STATUS)
			continue;
		action = is_new_action(rows, n, id) ? ar_session_action(s, id) : NULL;
		if (action)
			rows[n++] = action_row(s, action, a);
	}
	return n;
}
