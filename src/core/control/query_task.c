/* Reads of tasks. */
#include "control_priv.h"
#include "find/degraded.h"
#include "storage.h"
#include "projection.h"

#define NO_TASK "there is no such task"

static bool store_failed(struct ar_call *c, struct ar_store_op *op)
{
	if (op->status == AR_OK)
		return false;
	ar_store_op_fini(op); /* first: the answer gives the call's memory back */
	if (op->status == AR_E_NOT_FOUND)
		ar_call_refuse(c, AR_ERR_TASK_NOT_FOUND, NO_TASK);
	else
		ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
	return true;
}

static void on_task(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, tasks.op);
	struct ar_call *c = q->call;
	struct ar_jw w = ar_jw(&c->reply);

	if (store_failed(c, op))
		return;
	if (ar_call_cannot_read(c, q->tasks.session))
		ar_record_write_unknown(c, q->tasks.rows[0].record, false, &w);
	else
		ar_buf_adds(&c->reply, q->tasks.rows[0].record);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

/* A task that is open or recent is in its session's state; asking for it again and again
 * costs the store nothing. */
static bool answer_from_memory(struct ar_call *c, struct ar_str session_key, struct ar_str task)
{
	const struct ar_session *s = ar_engine_peek(c->control->engine, session_key);
	struct ar_jw w = ar_jw(&c->reply);

	if (!s)
		return false;
	if (ar_read_cache_answer(c, s, task))
		return true;
	if (!ar_session_any_task(s, task))
		return false;
	ar_projection_task(s, task, &w);
	ar_read_cache_store(c, s, task);
	ar_call_done(c, 200);
	return true;
}

static void get_task(struct ar_call *c)
{
	const struct ar_cmd_get_task_in *in = c->input;
	struct ar_call_work *q = c->work;
	struct ar_str session_key = q->view.session;

	if (answer_from_memory(c, session_key, in->task_id))
		return;
	q->tasks = (struct ar_store_tasks){ .op = { .kind = AR_STORE_TASKS, .done = on_task },
					    .session = session_key,
					    .task = in->task_id,
					    .with_internal = true,
					    .limit = 1 };
	ar_store_submit(c->control->store, &q->tasks.op);
}

static void no_task(struct ar_call *c)
{
	ar_call_refuse(c, AR_ERR_TASK_NOT_FOUND, NO_TASK);
}

void ar_query_get_task(struct ar_call *c)
{
	const struct ar_cmd_get_task_in *in = c->input;
	struct ar_str session_key = ar_id_owner(in->task_id);

	c->work->view.session = session_key;
	if (ar_str_absent(session_key))
		ar_call_refuse(c, AR_ERR_TASK_NOT_FOUND, "there is no task '%.*s'",
			       AR_STR_ARG(ar_str_utf8_prefix(in->task_id, 64)));
	else
		ar_call_check_tenant(c, session_key, get_task, no_task);
}

/* ---- list_tasks ---- */

static bool is_same(struct ar_json record, const char *name, struct ar_str wanted)
{
	struct ar_str text;

	return ar_str_absent(wanted) ||
	       (ar_json_str(ar_json_get(record, name), &text) && ar_str_eq(text, wanted));
}

/* What the store does not know of a task is looked up in its record: a page may be shorter for it. */
static bool is_wanted(struct ar_call *c, struct ar_str text)
{
	const struct ar_cmd_list_tasks_in *in = c->input;
	struct ar_str hidden = ar_str_from(ar_enum_name(&ar_task_visibility_desc, AR_TASK_VISIBILITY_HIDDEN));
	struct ar_json record;

	if (ar_json_parse(c->control->json, text, &record, NULL) != AR_OK)
		return true;
	if (!in->include_archived.v && in->status != AR_TASK_STATUS_ARCHIVED &&
	    is_same(record, "status", AR_STR("archived")))
		return false;
	if (in->visibility)
		return is_same(record, "visibility",
			       ar_str_from(ar_enum_name(&ar_task_visibility_desc, in->visibility))) &&
		       is_same(record, "threadId", in->thread_id) &&
		       is_same(record, "parentTaskId", in->parent_task_id);
	return !is_same(record, "visibility", hidden) && is_same(record, "threadId", in->thread_id) &&
	       is_same(record, "parentTaskId", in->parent_task_id);
}

static void on_tasks(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, tasks.op);
	struct ar_call *c = q->call;
	struct ar_jw w = { .out = &c->reply, .comma = true };

	if (store_failed(c, op))
		return;
	ar_jw_key(&w, "tasks");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < q->tasks.count; i++) {
		if (is_wanted(c, q->tasks.rows[i].record))
			ar_jw_raw(&w, q->tasks.rows[i].record);
	}
	ar_jw_close_array(&w);
	if (q->tasks.next > 0)
		ar_jw_mstr(&w, "nextCursor",
			   ar_arena_fmt(&c->arena, "%llu", (unsigned long long)q->tasks.next));
	ar_jw_close(&w);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

static void on_view(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call_work *q = AR_CONTAINER_OF(v, struct ar_call_work, view);
	struct ar_call *c = q->call;
	const struct ar_cmd_list_tasks_in *in = c->input;
	struct ar_jw w = ar_jw(&c->reply);
	uint64_t after = 0;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	if (!ar_str_absent(in->cursor) && !ar_str_to_u64(in->cursor, &after)) {
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
		return;
	}
	ar_jw_open(&w);
	ar_jw_key(&w, "taskSummary");
	ar_projection_task_summary(s, &w);
	q->tasks = (struct ar_store_tasks){ .op = { .kind = AR_STORE_TASKS, .done = on_tasks },
					    .session = v->session,
					    .with_internal = in->visibility == AR_TASK_VISIBILITY_INTERNAL ||
							     !ar_str_absent(in->parent_task_id),
					    .status = ar_str_from(
						    ar_enum_name(&ar_task_status_desc, in->status)),
					    .after = after,
					    .limit = ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX) };
	ar_store_submit(c->control->store, &q->tasks.op);
}

void ar_query_list_tasks(struct ar_call *c)
{
	const struct ar_cmd_list_tasks_in *in = c->input;
	struct ar_str id = ar_str_absent(in->session_id) ? in->thread_id : in->session_id;

	c->work->view.done = on_view;
	c->work->view.session = ar_id_owner(ar_str_absent(id) ? in->parent_task_id : id);
	if (ar_str_absent(c->work->view.session)) {
		ar_call_refuse(c, AR_ERR_INVALID_SCOPE, "send the sessionId of the tasks");
		return;
	}
	ar_call_look(c);
}
