/* create_task, update_task, archive_task: a task gets an identity, changes what is said about
 * it, leaves the lists. Pure. */
#include "channel/channel.h"
#include "delivery/delivery.h"
#include "clock.h"
#include "codec.h"
#include "task/task.h"

/* Category of a task that records a run that a schedule missed. */
#define AR_CATEGORY_MISSED_RUN "missed_run"

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
	if (!ar_str_absent(in->command) && ar_str_empty(in->command))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "command: give a command, or leave it out");
	if (!ar_str_absent(in->channel_id) && ar_channel_check_own(d, in->channel_id, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_delivery_check(d, in->delivery, err) != AR_OK ||
	    ar_criteria_check(in->acceptance, AR_ERR_INVALID_INPUT, err) != AR_OK)
		return AR_E_REFUSED;
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
	ids.at[AR_SCOPE_CHANNEL] = in->channel_id;
	ar_decide_emit(d, AR_EV_TASK_CREATED, &ids,
		       &(struct ar_ev_task_created){
			       .objective = in->objective,
			       .title = in->title,
			       .task_kind = in->task_kind,
			       .task_family = in->task_family,
			       .visibility = in->visibility ? in->visibility : AR_TASK_VISIBILITY_FOREGROUND,
			       .scope = &scope,
			       .constraints = in->constraints,
			       .task_profile = in->profile,
			       .acceptance = in->acceptance,
			       .requested_by =
				       ar_task_caller(d, in->requested_by
								 ? in->requested_by
								 : ar_task_channel(d, in->channel_id)),
			       .owner = in->owner,
			       .assignee = in->assignee,
			       .priority = in->priority,
			       .idempotency_key = in->idempotency_key,
			       .metadata = in->metadata,
			       .submitted_by = ar_people_with_caller(d, (struct ar_texts){ 0 }),
			       .command = in->command,
			       .delivery = in->delivery,
		       });
}

void ar_task_say_accepted(struct ar_decision *d, const struct ar_task *task,
			  const struct ar_shape_party *owner)
{
	static const struct ar_shape_party runtime = { .kind = AR_STR("runtime") };

	ar_task_emit(d, task, AR_EV_TASK_ACCEPTED,
		     &(struct ar_ev_task_accepted){ .owner = owner ? owner : &runtime,
						    .accepted_at = d->input->now });
}

/* It was to run, and did not: that is all that it says. */
static void say_missed(struct ar_decision *d, const struct ar_task *task,
		       const struct ar_shape_missed_run *missed)
{
	char due[AR_TIME_TEXT];

	ar_time_format(missed->due_at, due);
	ar_task_emit(d, task, AR_EV_TASK_FAILED,
		     &(struct ar_ev_task_failed){
			     .failure_category = AR_STR(AR_CATEGORY_MISSED_RUN),
			     .last_error = &(struct ar_shape_failure){
				     .category = AR_STR(AR_CATEGORY_MISSED_RUN),
				     .message = ar_arena_fmt(
					     d->arena,
					     "schedule %.*s missed %lld of its times, the last at %s: %.*s",
					     AR_STR_ARG(missed->schedule_id), (long long)missed->count, due,
					     AR_STR_ARG(missed->reason)),
				     .retryable = AR_OPT_BOOL(false) } });
}

enum ar_status ar_decide_create_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_create_task_in *in = d->input->command.args;
	struct ar_sheet sheet = { .thread = in->thread_id };
	struct ar_task task = { .sheet = &sheet };
	const struct ar_task *parent;
	const struct ar_thread *t;

	if (in->missed_run && !d->input->is_runtime)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "missedRun is for schedules; leave it out");
	if (check_create(d, err) != AR_OK || check_parent(d, &parent, err) != AR_OK)
		return AR_E_REFUSED;
	if (parent && ar_str_absent(sheet.thread))
		sheet.thread = parent->sheet->thread;
	t = ar_session_thread(d->session, sheet.thread);
	sheet.turn = t ? t->active_turn : AR_STR_NONE;
	task.id = ar_str_absent(in->task_id) ? ar_decide_mint(d, "task", &d->counters.task) : in->task_id;
	task.parent = parent ? parent->id : AR_STR_NONE;
	task.root = parent ? parent->root : task.id;
	ar_channel_note_use(d, in->channel_id);
	say_created(d, &task);
	if (in->missed_run)
		say_missed(d, &task, in->missed_run);
	else if (!in->draft.v)
		ar_task_say_accepted(d, &task, in->owner);
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

static enum ar_status read_change(const struct ar_decision *d, struct ar_shape_task_change *ret,
				  struct ar_error *err)
{
	const struct ar_cmd_update_task_in *in = d->input->command.args;
	const struct ar_str *const texts[] = { &ret->title, &ret->objective, &ret->priority };
	struct ar_error why = { 0 };
	struct ar_json v;

	if (ar_json_parse(d->json, in->changed, &v, &why) != AR_OK ||
	    ar_struct_decode_strict(&ar_shape_task_change_desc, v, d->arena, ret, &ret->extra_, &why) !=
		    AR_OK ||
	    ar_struct_validate(&ar_shape_task_change_desc, ret, &why) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_FIELD, "changed: %s", why.msg);
	if (!ar_str_empty(ret->extra_))
		return ar_refuse(err, AR_ERR_INVALID_FIELD,
				 "changed.%.*s: title, objective, priority, metadata, owner, assignee, "
				 "acceptance, constraints and taskProfile can be changed",
				 AR_STR_ARG(ar_str_utf8_prefix(ar_extra_name(ret->extra_), 64)));
	for (size_t i = 0; i < AR_ARRAY_LEN(texts); i++) {
		if (!ar_str_absent(*texts[i]) && texts[i]->len == 0)
			return ar_refuse(err, AR_ERR_INVALID_FIELD,
					 "changed: title, objective and priority cannot be empty");
	}
	return ar_criteria_check(ret->acceptance, AR_ERR_INVALID_FIELD, err);
}

static struct ar_shape_task_change as_it_is(const struct ar_task *task)
{
	const struct ar_sheet *sheet = task->sheet;

	return (struct ar_shape_task_change){ .title = task->title,
					      .objective = task->objective,
					      .priority = sheet->priority,
					      .metadata = sheet->metadata,
					      .owner = sheet->owner,
					      .assignee = sheet->assignee,
					      .acceptance = sheet->acceptance,
					      .constraints = sheet->constraints,
					      .task_profile = sheet->profile };
}

static void say_updated(struct ar_decision *d, const struct ar_task *task,
			const struct ar_shape_task_change *now, const struct ar_shape_task_change *before)
{
	ar_task_emit(d, task, AR_EV_TASK_UPDATED,
		     &(struct ar_ev_task_updated){ .changed = now,
						   .previous = before,
						   .updated_at = d->input->now,
						   .submitted_by =
							   ar_people_with_caller(d, task->sheet->people),
						   .actor = d->input->account });
}

enum ar_status ar_decide_update_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_task_in *in = d->input->command.args;
	struct ar_shape_task_change now = { 0 }, before;
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
	if (read_change(d, &now, err) != AR_OK)
		return AR_E_REFUSED;
	before = as_it_is(task);
	is_changed = ar_struct_keep_changes(&ar_shape_task_change_desc, &now, &before);
	if (is_changed)
		say_updated(d, task, &now, &before);
	/* The record after the change, short: what was changed and when. The whole is get_task's to show. */
	ar_decide_reply(d, AR_CMD_UPDATE_TASK,
			&(struct ar_cmd_update_task_out){
				.task_id = task->id,
				.task = &(struct ar_shape_updated_task){ .task_id = task->id,
									 .status = ar_task_status_word(task),
									 .changed = is_changed ? &now : NULL,
									 .updated_at = task->updated } });
	return AR_OK;
}

/* ---- archive ---- */

enum ar_status ar_decide_archive_task(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_archive_task_in *in = d->input->command.args;
	struct ar_task *task;

	if (ar_task_need(d, in->task_id, &task, err) != AR_OK)
		return AR_E_REFUSED;
	if (!ar_task_is_over(task))
		return ar_refuse(err, AR_ERR_NOT_TERMINAL,
				 "task %.*s is %.*s; complete, fail or cancel it first", AR_STR_ARG(task->id),
				 AR_STR_ARG(ar_task_status_word(task)));
	if (task->status != AR_TASK_ARCHIVED)
		ar_task_emit(d, task, AR_EV_TASK_ARCHIVED,
			     &(struct ar_ev_task_archived){ .previous_status = ar_task_status_word(task),
							    .reason = in->reason,
							    .actor = d->input->account });
	ar_decide_reply(d, AR_CMD_ARCHIVE_TASK,
			&(struct ar_cmd_archive_task_out){ .task_id = task->id,
							   .status = AR_ARCHIVE_TASK_STATUS_ARCHIVED });
	return AR_OK;
}
