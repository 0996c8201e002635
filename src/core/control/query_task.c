/* Reads of tasks. */
#include "control_priv.h"
#include "projection.h"

static bool store_failed(struct ar_call *c, struct ar_store_op *op)
{
	if (op->status == AR_OK)
		return false;
	ar_store_op_fini(op); /* first: the answer gives the call's memory back */
	if (op->status == AR_E_NOT_FOUND)
		ar_call_refuse(c, AR_ERR_TASK_NOT_FOUND, "there is no such task");
	else
		ar_call_refuse(c, AR_ERR_STORAGE_UNAVAILABLE, "%.200s", op->err.msg);
	return true;
}

static void on_task(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, tasks.op);
	struct ar_call *c = q->call;

	if (store_failed(c, op))
		return;
	ar_buf_adds(&c->reply, q->tasks.rows[0].record);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

/* A task that is open or recent is in its session's state; asking for it again and again costs the store nothing. */
static bool answer_from_memory(struct ar_call *c, struct ar_str core, struct ar_str task)
{
	const struct ar_session *s = ar_engine_peek(c->control->engine, core);
	const struct ar_turn *turn = s ? ar_session_task(s, task) : NULL;
	struct ar_jw w = ar_jw(&c->reply);

	if (!turn)
		return false;
	ar_projection_task(s, turn, &w);
	ar_call_done(c, 200);
	return true;
}

void ar_query_get_task(struct ar_call *c)
{
	const struct ar_cmd_get_task_in *in = c->input;
	struct ar_call_work *q = c->work;
	struct ar_str core = ar_id_core(in->task_id);

	if (ar_str_absent(core)) {
		ar_call_refuse(c, AR_ERR_TASK_NOT_FOUND, "there is no task '%.*s'",
			       AR_STR_ARG(ar_str_utf8_prefix(in->task_id, 64)));
		return;
	}
	if (answer_from_memory(c, core, in->task_id))
		return;
	q->tasks = (struct ar_store_tasks){ .op = { .kind = AR_STORE_TASKS, .done = on_task },
					    .session = core,
					    .task = in->task_id,
					    .with_internal = true,
					    .limit = 1 };
	ar_store_submit(c->control->store, &q->tasks.op);
}

/* ---- list_tasks ---- */

static void on_tasks(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, tasks.op);
	struct ar_call *c = q->call;
	struct ar_jw w = { .out = &c->reply, .comma = true };

	if (store_failed(c, op))
		return;
	ar_jw_key(&w, "tasks");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < q->tasks.count; i++)
		ar_jw_raw(&w, q->tasks.rows[i].record);
	ar_jw_close_array(&w);
	if (q->tasks.next > 0)
		ar_jw_mstr(&w, "nextCursor",
			   ar_arena_fmt(&c->arena, "%llu", (unsigned long long)q->tasks.next));
	ar_jw_close(&w);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

static void seen(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
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
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR,
			       "a list cursor is what an earlier reply gave as nextCursor");
		return;
	}
	ar_jw_open(&w);
	ar_jw_key(&w, "taskSummary");
	ar_projection_task_summary(s, &w);
	q->tasks = (struct ar_store_tasks){ .op = { .kind = AR_STORE_TASKS, .done = on_tasks },
					    .session = v->session,
					    .with_internal = in->visibility == AR_TASK_VISIBILITY_INTERNAL,
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

	c->work->view.done = seen;
	c->work->view.session = ar_id_core(id);
	if (ar_str_absent(c->work->view.session)) {
		ar_call_refuse(c, AR_ERR_INVALID_SCOPE, "name the sessionId whose tasks are wanted");
		return;
	}
	ar_call_look(c);
}
