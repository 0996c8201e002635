/* create_task, update_task, archive_task: a task gets an identity, changes what is said about it, leaves the lists. Pure. */
#include "task/task.h"

/* ---- create ---- */

static enum ar_status check_parent(const struct ar_decision *d, const struct ar_task **ret,
				   struct ar_error *err)
{
	const struct ar_cmd_create_task_in *in = d->input->command.args;
	const struct ar_task *parent;

	*ret = NULL;
	if (ar_str_absent(in->parent_task_id))
		return AR_OK;
	parent = ar_session_declared(d->session, in->parent_task_id);
	if (!parent)
		return ar_refuse(err, AR_ERR_PARENT_NOT_FOUND, "session %.*s has no declared task %.*s",
				 AR_STR_ARG(d->session->id),
				 AR_STR_ARG(ar_str_utf8_prefix(in->parent_task_id, 64)));
	if (parent->status == AR_TASK_CANCELLING || parent->status == AR_TASK_CANCELLED)
		return ar_refuse(err, AR_ERR_PARENT_CANCELLING,
				 "task %.*s is cancelled and accepts no new work", AR_STR_ARG(parent->id));
	if (ar_task_is_over(parent))
		return ar_refuse(err, AR_ERR_INVALID_SCOPE,
				 "task %.*s has ended; name another parent or none", AR_STR_ARG(parent->id));
	*ret = parent;
	return AR_OK;
}

static enum ar_status check_create(const struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_create_task_in *in = d->input->command.args;
	const struct ar_session *s = d->session;
	size_t open = 0;

	if (!ar_str_absent(in->thread_id) && !ar_session_thread(s, in->thread_id))
		return ar_refuse(err, AR_ERR_INVALID_SCOPE, "session %.*s has no thread %.*s",
				 AR_STR_ARG(s->id), AR_STR_ARG(ar_str_utf8_prefix(in->thread_id, 64)));
	if (!ar_str_absent(in->task_id) && ar_session_any_task(s, in->task_id))
		return ar_refuse(err, AR_ERR_ID_CONFLICT, "task %.*s exists already; choose another taskId",
				 AR_STR_ARG(in->task_id));
	for (size_t i = 0; i < s->declared.count; i++)
		open += !ar_task_is_over(s->declared.at[i]);
	if (open >= AR_TASKS_MAX)
		return ar_refuse(err, AR_ERR_OVERLOADED,
				 "%zu tasks of this session are open; end or cancel some first", open);
	return AR_OK;
}

static void say_created(struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_cmd_create_task_in *in = d->input->command.args;
	const struct ar_shape_task_scope scope = { .session_id = d->session->id,
						   .thread_id = task->sheet->thread,
						   .turn_id = task->sheet->turn,
						   .parent_task_id = task->parent,
						   .workspace_id = d->session->workspace };
	struct ar_ids ids = ar_task_ids(task, NULL);

	ids.at[AR_SCOPE_TURN] = task->sheet->turn;
	ar_decide_emit(d, AR_EV_TASK_CREATED, &ids,
		       &(struct ar_ev_task_created){
			       .objective = in->objective,
			       .title = in->title,
			       .task_kind = in->task_kind,
			       .task_family = in->task_family,
			       .visibility = in->visibility ? in->visibility : AR_TASK_VISIBILITY_FOREGROUND,
			       .scope = &scope,
			       .constraints = ar_str_absent(in->constraints) ? AR_STR("{}") : in->constraints,
			       .task_profile = ar_str_absent(in->profile) ? AR_STR("{}") : in->profile,
			       .acceptance = in->acceptance,
			       .requested_by = ar_task_asker(d, in->requested_by),
			       .owner = in->owner,
			       .assignee = in->assignee,
			       .priority = in->priority,
			       .idempotency_key = in->idempotency_key,
			       .metadata = in->metadata,
			       .submitted_by = ar_people_with_caller(d, AR_STR_NONE),
		       });
}

static void say_accepted(struct ar_decision *d, const struct ar_task *task, struct ar_str owner)
{
	struct ar_ids ids = ar_task_ids(task, NULL);

	ar_decide_emit(d, AR_EV_TASK_ACCEPTED, &ids,
		       &(struct ar_ev_task_accepted){
			       .owner = ar_str_absent(owner) ? AR_STR("{\"kind\":\"runtime\"}") : owner,
			       .accepted_at = d->input->now });
}

enum ar_status ar_decide_create_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_create_task_in *in = d->input->command.args;
	struct ar_sheet sheet = { .thread = in->thread_id };
	struct ar_task task = { .sheet = &sheet };
	const struct ar_task *parent;
	const struct ar_thread *t;

	if (check_create(d, err) != AR_OK || check_parent(d, &parent, err) != AR_OK)
		return AR_E_REFUSED;
	if (parent && ar_str_absent(sheet.thread))
		sheet.thread = parent->sheet->thread;
	t = ar_session_thread(d->session, sheet.thread);
	sheet.turn = t ? t->active_turn : AR_STR_NONE;
	task.id = ar_str_absent(in->task_id) ? ar_decide_mint(d, "task", &d->counters.task) : in->task_id;
	task.parent = parent ? parent->id : AR_STR_NONE;
	task.root = parent ? parent->root : task.id;
	say_created(d, &task);
	if (!in->draft.v)
		say_accepted(d, &task, in->owner);
	if (parent)
		ar_task_delegated(d, parent, task.id, "a task was declared under it");
	ar_decide_reply(d, AR_CMD_CREATE_TASK,
			&(struct ar_cmd_create_task_out){ .task_id = task.id,
							  .status = in->draft.v
									    ? AR_CREATE_TASK_STATUS_DRAFT
									    : AR_CREATE_TASK_STATUS_ACCEPTED,
							  .sequence = (int64_t)d->head + 1 });
	return AR_OK;
}

/* ---- update ---- */

static const struct ar_task_member *member_named(struct ar_str name)
{
	for (size_t i = 0; i < ar_task_member_count; i++) {
		if (ar_str_is(name, ar_task_members[i].name))
			return &ar_task_members[i];
	}
	return NULL;
}

static enum ar_status check_members(const struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_task_in *in = d->input->command.args;
	struct ar_json changed;

	if (ar_json_parse(d->json, in->changed, &changed, NULL) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_FIELD, "changed is not a JSON object");
	for (struct ar_json_iter it = ar_json_iter(changed); ar_json_next(&it);) {
		const struct ar_task_member *m = member_named(it.name);
		struct ar_str text;

		if (!m || (int)ar_json_type(it.value) != m->type)
			return ar_refuse(
				err, AR_ERR_INVALID_FIELD,
				"changed.%.*s: title, objective, priority (texts), metadata, owner, "
				"assignee, constraints, taskProfile (objects) and acceptance (array) "
				"can be changed",
				AR_STR_ARG(ar_str_utf8_prefix(it.name, 64)));
		if (m->is_text && ar_json_str(it.value, &text) && (text.len > m->max || text.len == 0))
			return ar_refuse(err, AR_ERR_INVALID_FIELD, "changed.%s: 1 to %zu bytes", m->name,
					 m->max);
	}
	return AR_OK;
}

/* Writes a member to both texts when it is another than now. */
static bool note_change(struct ar_decision *d, const struct ar_task *task, const struct ar_task_member *m,
			struct ar_jw *now, struct ar_jw *before)
{
	const struct ar_cmd_update_task_in *in = d->input->command.args;
	struct ar_str given = ar_text_member(d->json, d->arena, in->changed, m->name, m->is_text);
	struct ar_str old = *ar_task_member(task, m);

	if (ar_str_absent(given) || ar_str_eq(given, old))
		return false;
	if (m->is_text) {
		ar_jw_mstr(now, m->name, given);
		ar_jw_mstr(before, m->name, old);
	} else {
		ar_jw_mraw(now, m->name, given);
		ar_jw_mraw(before, m->name, old);
	}
	return true;
}

static size_t say_updated(struct ar_decision *d, const struct ar_task *task)
{
	struct ar_buf now = { 0 }, before = { 0 };
	struct ar_jw jn = ar_jw(&now), jb = ar_jw(&before);
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));
	size_t count = 0;

	ar_jw_open(&jn);
	ar_jw_open(&jb);
	for (size_t i = 0; i < ar_task_member_count; i++)
		count += note_change(d, task, &ar_task_members[i], &jn, &jb);
	ar_jw_close(&jn);
	ar_jw_close(&jb);
	if (count > 0)
		ar_decide_emit(d, AR_EV_TASK_UPDATED, &ids,
			       &(struct ar_ev_task_updated){
				       .changed = ar_arena_str(d->arena, ar_buf_str(&now)),
				       .previous = ar_arena_str(d->arena, ar_buf_str(&before)),
				       .updated_at = d->input->now,
				       .submitted_by = ar_people_with_caller(d, task->sheet->people) });
	ar_buf_fini(&now);
	ar_buf_fini(&before);
	return count;
}

/* The record after the change, short: what was changed and when. The whole is get_task's to show. */
static struct ar_str record_of(struct ar_decision *d, const struct ar_task *task, bool is_changed)
{
	struct ar_jw w = ar_decide_json(d);
	const struct ar_ev_task_updated *p = is_changed ? d->events[d->event_count - 1].payload : NULL;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "taskId", task->id);
	ar_jw_mstr(&w, "status", ar_task_status_word(task));
	if (p)
		ar_jw_mraw(&w, "changed", p->changed);
	ar_jw_mtime(&w, "updatedAt", is_changed ? d->input->now : task->updated);
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

enum ar_status ar_decide_update_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_task_in *in = d->input->command.args;
	struct ar_task *task;
	bool is_changed;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK)
		return AR_E_REFUSED;
	if (task->status == AR_TASK_ARCHIVED)
		return ar_refuse(err, AR_ERR_TASK_ARCHIVED, "task %.*s is archived and cannot change",
				 AR_STR_ARG(task->id));
	if (in->expected_updated_at && in->expected_updated_at != task->updated)
		return ar_refuse(err, AR_ERR_VERSION_CONFLICT,
				 "task %.*s has changed since; read it again with get_task",
				 AR_STR_ARG(task->id));
	if (check_members(d, err) != AR_OK)
		return AR_E_REFUSED;
	is_changed = say_updated(d, task) > 0;
	ar_decide_reply(d, AR_CMD_UPDATE_TASK,
			&(struct ar_cmd_update_task_out){ .task_id = task->id,
							  .task = record_of(d, task, is_changed) });
	return AR_OK;
}

/* ---- archive ---- */

enum ar_status ar_decide_archive_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_archive_task_in *in = d->input->command.args;
	struct ar_task *task;
	struct ar_ids ids;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_task_is_over(task))
		return ar_refuse(err, AR_ERR_NOT_TERMINAL,
				 "task %.*s is %.*s; complete, fail or cancel it first", AR_STR_ARG(task->id),
				 AR_STR_ARG(ar_task_status_word(task)));
	ids = ar_task_ids(task, ar_task_run(task));
	if (task->status != AR_TASK_ARCHIVED)
		ar_decide_emit(d, AR_EV_TASK_ARCHIVED, &ids,
			       &(struct ar_ev_task_archived){ .previous_status = ar_task_status_word(task),
							      .reason = in->reason });
	ar_decide_reply(d, AR_CMD_ARCHIVE_TASK,
			&(struct ar_cmd_archive_task_out){ .task_id = task->id,
							   .status = AR_ARCHIVE_TASK_STATUS_ARCHIVED });
	return AR_OK;
}
