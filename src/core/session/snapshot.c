/* The state of a session as JSON and back, by tables of fields.
 *
 * A snapshot is only a shortcut: loading a session reads the newest snapshot and applies the facts after
 * it, and the result must equal the fold of the whole log. `agentctl verify` checks exactly that for stored
 * sessions.
 *
 * A member that is missing here is lost at the next restart, so every member of the state structs stands in
 * one of the tables below. A member that was added in a later version is optional (OPT, OPT_FLAG):
 * snapshots of older versions do not have it, and programs of older versions ignore it. Its type is a
 * struct with a flag, checked at compile time, because a plain number could not say "absent".
 *
 * Restoring fills a new arena. That makes a snapshot the way to release the memory of a long session: after
 * the engine has stored one it continues with what it restores from it (commit.c, renew()). */
#include "channel/channel.h"
#include "session.h"

/* Where the member is, which must have this type. */
#define AT_TYPE(T, m, type) \
	(offsetof(struct T, m) + 0 * sizeof(char[_Generic(((struct T *)NULL)->m, type : 1, default : -1)]))
#define MEMBER(T, m, k, type, shape) \
	{ \
		.name = #m, .kind = AR_F_##k, .max = UINT32_MAX, .offset = AT_TYPE(T, m, type), .of = shape \
	}
#define STR(T, m) MEMBER(T, m, STRING, struct ar_str, NULL)
#define RAW(T, m) MEMBER(T, m, JSON, struct ar_str, NULL)
#define TEXTS(T, m) MEMBER(T, m, TEXTS, struct ar_texts, NULL)
/* Stored as the JSON of its shape. */
#define OBJECT(T, m, shape) MEMBER(T, m, OBJECT, const struct ar_shape_##shape *, &ar_shape_##shape##_desc)
#define ITEMS(T, m, shape) MEMBER(T, m, ARRAY, struct ar_shape_##shape##_list, &ar_shape_##shape##_desc)
#define INT(T, m) \
	{ \
		.name = #m, .kind = AR_F_INT, .required = true, .offset = offsetof(struct T, m) \
	}
/* Absent in what an older version stored: a struct with a flag. A plain number in its place
 * would take its neighbour for the flag. */
#define OPT(T, m) MEMBER(T, m, INT, struct ar_opt_int, NULL)
#define OPT_NUM(T, m) MEMBER(T, m, NUM, struct ar_opt_num, NULL)
#define OPT_FLAG(T, m) MEMBER(T, m, BOOL, struct ar_opt_bool, NULL)
#define FLAG(T, m) \
	{ \
		.name = #m, .kind = AR_F_BOOL, .required = true, .offset = offsetof(struct T, m) \
	}
#define TIME(T, m) MEMBER(T, m, TIME, ar_usec, NULL)
#define DESC(T, f) \
	{ \
		.fields = f, .count = AR_ARRAY_LEN(f), .size = sizeof(struct T) \
	}

static const struct ar_field_desc context_fields[] = {
	INT(ar_context_entry, role),
	STR(ar_context_entry, ref),
	INT(ar_context_entry, bytes),
	STR(ar_context_entry, tool_call_id),
	ITEMS(ar_context_entry, uses, requested_call),
	STR(ar_context_entry, echo),
	STR(ar_context_entry, echo_by),
	OPT(ar_context_entry, turn),
	TEXTS(ar_context_entry, images),
};
static const struct ar_field_desc step_fields[] = {
	STR(ar_step, id),	STR(ar_step, purpose), STR(ar_step, model_request), STR(ar_step, status),
	STR(ar_step, provider), STR(ar_step, model),   STR(ar_step, output_ref),    STR(ar_step, preview),
	STR(ar_step, category), INT(ar_step, attempt), TIME(ar_step, started),	    TIME(ar_step, ended),
};
static const struct ar_field_desc hook_fields[] = {
	INT(ar_hook_chain, point),
	STR(ar_hook_chain, subject),
	STR(ar_hook_chain, run),
	STR(ar_hook_chain, handler),
	TEXTS(ar_hook_chain, done),
	TEXTS(ar_hook_chain, runs),
	STR(ar_hook_chain, by),
	STR(ar_hook_chain, by_handler),
	STR(ar_hook_chain, reason),
	STR(ar_hook_chain, input_ref),
	INT(ar_hook_chain, decision),
	INT(ar_hook_chain, tries),
	OPT_FLAG(ar_hook_chain, has_failed),
	TIME(ar_hook_chain, started),
};
static const struct ar_field_desc run_fields[] = {
	STR(ar_run, id),
	STR(ar_run, attempt_id),
	STR(ar_run, status),
	STR(ar_run, trigger),
	STR(ar_run, category),
	INT(ar_run, count),
	TIME(ar_run, started),
	TIME(ar_run, ended),
	STR(ar_run, turn),
	OBJECT(ar_run, worker, party),
	TEXTS(ar_run, inputs),
	TEXTS(ar_run, outputs),
	OBJECT(ar_run, policy, retry_policy),
	OBJECT(ar_run, error, failure),
	STR(ar_run, summary),
};
static const struct ar_field_desc edge_fields[] = {
	STR(ar_edge, kind),   STR(ar_edge, target),   STR(ar_edge, status),
	STR(ar_edge, reason), TIME(ar_edge, created), TIME(ar_edge, updated),
};
static const struct ar_field_desc sheet_fields[] = {
	STR(ar_sheet, thread),
	STR(ar_sheet, turn),
	STR(ar_sheet, kind),
	STR(ar_sheet, family),
	STR(ar_sheet, priority),
	OBJECT(ar_sheet, scope, task_scope),
	OBJECT(ar_sheet, constraints, task_constraints),
	OBJECT(ar_sheet, profile, task_profile),
	ITEMS(ar_sheet, acceptance, criterion),
	OBJECT(ar_sheet, requested_by, party),
	OBJECT(ar_sheet, owner, party),
	OBJECT(ar_sheet, assignee, party),
	RAW(ar_sheet, metadata),
	STR(ar_sheet, phase),
	STR(ar_sheet, step),
	STR(ar_sheet, summary),
	STR(ar_sheet, validation),
	OPT_NUM(ar_sheet, percent),
	RAW(ar_sheet, counters),
	TEXTS(ar_sheet, outputs),
	OBJECT(ar_sheet, delivery, delivery_state),
	RAW(ar_sheet, coverage),
	ITEMS(ar_sheet, artifacts, result_ref),
	ITEMS(ar_sheet, evidence, result_ref),
	OBJECT(ar_sheet, error, failure),
	ITEMS(ar_sheet, accepted, criterion),
	OBJECT(ar_sheet, start, task_start),
	TEXTS(ar_sheet, people),
	STR(ar_sheet, reason),
	STR(ar_sheet, offset_run),
	OPT(ar_sheet, offset),
	OPT(ar_sheet, offset_at),
	OPT(ar_sheet, number),
	TIME(ar_sheet, alive),
	TIME(ar_sheet, retry_at),
};
static const struct ar_field_desc task_fields[] = {
	STR(ar_task, id),
	STR(ar_task, objective),
	STR(ar_task, title),
	STR(ar_task, error_category),
	STR(ar_task, error_message),
	STR(ar_task, waiting),
	STR(ar_task, parent),
	STR(ar_task, root),
	INT(ar_task, status),
	INT(ar_task, visibility),
	INT(ar_task, attempts),
	TIME(ar_task, created),
	TIME(ar_task, updated),
	TIME(ar_task, started),
	TIME(ar_task, ended),
};
static const struct ar_field_desc turn_fields[] = {
	STR(ar_turn, id),
	STR(ar_turn, thread),
	STR(ar_turn, run),
	STR(ar_turn, open_step),
	STR(ar_turn, source),
	STR(ar_turn, input_ref),
	STR(ar_turn, input_preview),
	STR(ar_turn, updated_input_ref),
	TEXTS(ar_turn, people),
	OBJECT(ar_turn, options, turn_options),
	STR(ar_turn, outcome),
	STR(ar_turn, interrupt_reason),
	STR(ar_turn, stop_reason),
	STR(ar_turn, output_ref),
	STR(ar_turn, error_category),
	STR(ar_turn, error_message),
	INT(ar_turn, status),
	INT(ar_turn, restarts),
	INT(ar_turn, attempt),
	INT(ar_turn, rounds),
	INT(ar_turn, input_bytes),
	INT(ar_turn, input_tokens),
	INT(ar_turn, output_tokens),
	INT(ar_turn, cached_tokens),
	OPT(ar_turn, start),
	OPT_FLAG(ar_turn, has_images),
	OPT_FLAG(ar_turn, unwanted),
	OPT(ar_turn, stop_blocks),
	OPT_FLAG(ar_turn, removed),
	STR(ar_turn, resolved),
	OPT(ar_turn, compaction.trigger),
	OPT(ar_turn, compaction.covered),
	OPT(ar_turn, compaction.tokens),
	OPT(ar_turn, compaction.started),
	OPT(ar_turn, compaction.failed),
	OPT(ar_turn, compaction.budgets),
	OPT(ar_turn, compaction.overflows),
	OPT(ar_turn, budget.marks[0].limit),
	OPT(ar_turn, budget.marks[0].warned),
	OPT(ar_turn, budget.marks[0].blocked),
	OPT(ar_turn, budget.marks[1].limit),
	OPT(ar_turn, budget.marks[1].warned),
	OPT(ar_turn, budget.marks[1].blocked),
	OPT(ar_turn, budget.marks[2].limit),
	OPT(ar_turn, budget.marks[2].warned),
	OPT(ar_turn, budget.marks[2].blocked),
	OPT(ar_turn, calls_started),
	OPT_FLAG(ar_turn, overdue),
	OPT_FLAG(ar_turn, silent),
	OPT_FLAG(ar_turn, crowded),
	STR(ar_turn, repeat.name),
	STR(ar_turn, repeat.args_ref),
	STR(ar_turn, repeat.answer_ref),
	OPT(ar_turn, repeat.count),
	FLAG(ar_turn, is_interrupted),
	FLAG(ar_turn, is_lost),
	TIME(ar_turn, submitted),
	TIME(ar_turn, started),
	TIME(ar_turn, ended),
};
static const struct ar_field_desc call_fields[] = {
	STR(ar_invocation, id),
	STR(ar_invocation, step),
	STR(ar_invocation, name),
	STR(ar_invocation, provider_id),
	STR(ar_invocation, args_ref),
	STR(ar_invocation, permission),
	STR(ar_invocation, status),
	STR(ar_invocation, answer_ref),
	TEXTS(ar_invocation, images),
	STR(ar_invocation, output_ref),
	STR(ar_invocation, preview),
	STR(ar_invocation, category),
	INT(ar_invocation, stage),
	INT(ar_invocation, attempt),
	INT(ar_invocation, answer_bytes),
	FLAG(ar_invocation, is_read_only),
	FLAG(ar_invocation, is_parallel),
	FLAG(ar_invocation, is_destructive),
	FLAG(ar_invocation, is_idempotent),
	FLAG(ar_invocation, is_client),
	FLAG(ar_invocation, blocks),
	FLAG(ar_invocation, is_joined),
	OPT_FLAG(ar_invocation, runs_process),
	OPT(ar_invocation, profile),
	OPT(ar_invocation, approvals),
	TIME(ar_invocation, started),
	TIME(ar_invocation, ended),
	TIME(ar_invocation, expires),
};
static const struct ar_field_desc spent_fields[] = {
	INT(ar_spent, requests),      INT(ar_spent, input_tokens), INT(ar_spent, output_tokens),
	INT(ar_spent, cached_tokens), INT(ar_spent, cost),	   INT(ar_spent, unpriced),
};
static const struct ar_field_desc route_fields[] = {
	STR(ar_route, mode),	  STR(ar_route, provider),   STR(ar_route, model),    TEXTS(ar_route, chain),
	STR(ar_route, source),	  STR(ar_route, reason),     STR(ar_route, gap),      RAW(ar_route, estimate),
	RAW(ar_route, profile),	  RAW(ar_route, candidates), RAW(ar_route, decision), INT(ar_route, count),
	INT(ar_route, fallbacks),
};
static const struct ar_field_desc throttle_fields[] = {
	STR(ar_throttle, model),
	TIME(ar_throttle, until),
};
static const struct ar_field_desc incident_fields[] = {
	STR(ar_incident, id),	STR(ar_incident, code), STR(ar_incident, message),
	STR(ar_incident, turn), TIME(ar_incident, at),
};
static const struct ar_field_desc boundary_fields[] = {
	STR(ar_boundary, turn),		 STR(ar_boundary, trigger),
	STR(ar_boundary, summary_ref),	 STR(ar_boundary, preview),
	STR(ar_boundary, history_ref),	 OBJECT(ar_boundary, preserved, preserved),
	INT(ar_boundary, covered),	 INT(ar_boundary, bytes),
	INT(ar_boundary, tokens_before), INT(ar_boundary, tokens_after),
	INT(ar_boundary, start),	 TIME(ar_boundary, at),
};
static const struct ar_field_desc thread_fields[] = {
	STR(ar_thread, id),
	STR(ar_thread, detail),
	STR(ar_thread, reason),
	STR(ar_thread, active_turn),
	STR(ar_thread, parent_thread),
	STR(ar_thread, parent_turn),
	STR(ar_thread, request_ref),
	STR(ar_thread, last_turn),
	STR(ar_thread, last_outcome),
	STR(ar_thread, last_category),
	STR(ar_thread, last_message),
	INT(ar_thread, status),
	INT(ar_thread, sent),
	INT(ar_thread, omitted),
	OPT(ar_thread, anchor),
	OPT(ar_thread, anchor_at),
	OPT(ar_thread, forgotten),
	OPT(ar_thread, compact_failures),
	OPT(ar_thread, compact_rested),
	TIME(ar_thread, created),
	TIME(ar_thread, updated),
	TIME(ar_thread, last_ended),
};
static const struct ar_field_desc action_fields[] = {
	STR(ar_action, id),
	STR(ar_action, thread),
	STR(ar_action, turn),
	STR(ar_action, call),
	STR(ar_action, tool),
	STR(ar_action, prompt),
	RAW(ar_action, schema),
	TEXTS(ar_action, decisions),
	OBJECT(ar_action, scope, action_scope),
	STR(ar_action, question),
	STR(ar_action, rule),
	STR(ar_action, mode),
	STR(ar_action, covers),
	STR(ar_action, decision),
	STR(ar_action, source),
	STR(ar_action, response_ref),
	OBJECT(ar_action, actor, actor),
	INT(ar_action, type),
	INT(ar_action, status),
	INT(ar_action, on_timeout),
	FLAG(ar_action, is_destructive),
	TIME(ar_action, created),
	TIME(ar_action, expires),
	TIME(ar_action, resolved),
	ITEMS(ar_action, seen, sight),
	STR(ar_action, audience),
	TIME(ar_action, escalates),
	TIME(ar_action, escalated),
	STR(ar_action, prompt_ref),
	STR(ar_action, check),
	OPT(ar_action, needed),
	ITEMS(ar_action, approved, approval),
};
static const struct ar_field_desc grant_fields[] = {
	STR(ar_grant, tool),	   STR(ar_grant, rule),	    STR(ar_grant, scope),
	STR(ar_grant, permission), TIME(ar_grant, expires), STR(ar_grant, covers),
};
static const struct ar_field_desc rule_fields[] = {
	STR(ar_permission_rule, name),	    STR(ar_permission_rule, tool),
	STR(ar_permission_rule, argument),  STR(ar_permission_rule, matches),
	STR(ar_permission_rule, thread),    STR(ar_permission_rule, turn),
	STR(ar_permission_rule, command),   STR(ar_permission_rule, reason),
	INT(ar_permission_rule, verdict),   INT(ar_permission_rule, reach),
	OPT(ar_permission_rule, approvals),
};
static const struct ar_field_desc judged_fields[] = {
	STR(ar_judged, call),	    STR(ar_judged, verdict),	  STR(ar_judged, source),
	STR(ar_judged, reason),	    TEXTS(ar_judged, rules),	  STR(ar_judged, mode),
	STR(ar_judged, permission), FLAG(ar_judged, destructive), TIME(ar_judged, at),
};
static const struct ar_field_desc output_fields[] = {
	STR(ar_stored_output, ref),
	STR(ar_stored_output, owner),
	STR(ar_stored_output, media_type),
	STR(ar_stored_output, encoding),
	STR(ar_stored_output, truncation),
	STR(ar_stored_output, preview),
	OBJECT(ar_stored_output, redaction, redaction),
	STR(ar_stored_output, call),
	STR(ar_stored_output, process),
	INT(ar_stored_output, size),
	TIME(ar_stored_output, at),
};
static const struct ar_field_desc process_fields[] = {
	STR(ar_process_record, id),
	STR(ar_process_record, thread),
	STR(ar_process_record, turn),
	STR(ar_process_record, step),
	STR(ar_process_record, call),
	STR(ar_process_record, handle),
	STR(ar_process_record, command),
	STR(ar_process_record, cwd),
	STR(ar_process_record, profile),
	STR(ar_process_record, sandbox),
	ITEMS(ar_process_record, outputs, process_output),
	OBJECT(ar_process_record, end, process_ending),
	STR(ar_process_record, stop_reason),
	INT(ar_process_record, status),
	INT(ar_process_record, seq),
	INT(ar_process_record, inputs),
	INT(ar_process_record, violations),
	OPT(ar_process_record, exit_code),
	FLAG(ar_process_record, tty),
	FLAG(ar_process_record, has_input),
	FLAG(ar_process_record, is_closed),
	FLAG(ar_process_record, is_background),
	TIME(ar_process_record, started),
	TIME(ar_process_record, ended),
	STR(ar_process_record, output_ref),
	STR(ar_process_record, signal),
	STR(ar_process_record, by),
	INT(ar_process_record, sequence),
	INT(ar_process_record, output_bytes),
};
static const struct ar_field_desc process_input_fields[] = {
	INT(ar_process_input, number),
	STR(ar_process_input, ref),
	FLAG(ar_process_input, is_eof),
};
static const struct ar_field_desc channel_fields[] = {
	STR(ar_channel, id),
	STR(ar_channel, account),
	TEXTS(ar_channel, capabilities),
	STR(ar_channel, native_protocol),
	STR(ar_channel, card_ref),
	STR(ar_channel, token_ref),
	STR(ar_channel, cursor),
	INT(ar_channel, transport),
	INT(ar_channel, role),
	INT(ar_channel, status),
	INT(ar_channel, acked),
	TIME(ar_channel, seen),
	TIME(ar_channel, token_expires),
};
static const struct ar_field_desc bridged_fields[] = {
	STR(ar_bridged, action),
};
static const struct ar_field_desc session_fields[] = {
	STR(ar_session, id),
	STR(ar_session, title),
	STR(ar_session, workspace),
	STR(ar_session, account),
	STR(ar_session, tenant),
	STR(ar_session, source),
	STR(ar_session, currency),
	TIME(ar_session, created),
	TIME(ar_session, updated),
	INT(ar_session, head),
	INT(ar_session, counters.thread),
	INT(ar_session, counters.turn),
	INT(ar_session, counters.task),
	INT(ar_session, counters.run),
	INT(ar_session, counters.step),
	INT(ar_session, counters.request),
	INT(ar_session, counters.action),
	OPT(ar_session, counters.process),
	OPT(ar_session, counters.channel),
	OPT(ar_session, declared_count),
	STR(ar_session, mode),
	STR(ar_session, policy_ref),
	STR(ar_session, environment_ref),
	RAW(ar_session, limits),
	OPT(ar_session, budget.marks[0].limit),
	OPT(ar_session, budget.marks[0].warned),
	OPT(ar_session, budget.marks[0].blocked),
	OPT(ar_session, budget.marks[1].limit),
	OPT(ar_session, budget.marks[1].warned),
	OPT(ar_session, budget.marks[1].blocked),
	OPT(ar_session, budget.marks[2].limit),
	OPT(ar_session, budget.marks[2].warned),
	OPT(ar_session, budget.marks[2].blocked),
	INT(ar_session, tasks.completed),
	INT(ar_session, tasks.failed),
	INT(ar_session, tasks.cancelled),
	INT(ar_session, tasks.lost),
	OPT(ar_session, tasks.timed_out),
};

static const struct ar_struct_desc context_desc = DESC(ar_context_entry, context_fields);
static const struct ar_struct_desc step_desc = DESC(ar_step, step_fields);
static const struct ar_struct_desc hook_desc = DESC(ar_hook_chain, hook_fields);
static const struct ar_struct_desc run_desc = DESC(ar_run, run_fields);
static const struct ar_struct_desc edge_desc = DESC(ar_edge, edge_fields);
static const struct ar_struct_desc sheet_desc = DESC(ar_sheet, sheet_fields);
static const struct ar_struct_desc task_desc = DESC(ar_task, task_fields);
static const struct ar_struct_desc turn_desc = DESC(ar_turn, turn_fields);
static const struct ar_struct_desc call_desc = DESC(ar_invocation, call_fields);
static const struct ar_struct_desc spent_desc = DESC(ar_spent, spent_fields);
static const struct ar_struct_desc route_desc = DESC(ar_route, route_fields);
static const struct ar_struct_desc throttle_desc = DESC(ar_throttle, throttle_fields);
static const struct ar_struct_desc incident_desc = DESC(ar_incident, incident_fields);
static const struct ar_struct_desc boundary_desc = DESC(ar_boundary, boundary_fields);
static const struct ar_struct_desc thread_desc = DESC(ar_thread, thread_fields);
static const struct ar_struct_desc action_desc = DESC(ar_action, action_fields);
static const struct ar_struct_desc grant_desc = DESC(ar_grant, grant_fields);
static const struct ar_struct_desc rule_desc = DESC(ar_permission_rule, rule_fields);
static const struct ar_struct_desc judged_desc = DESC(ar_judged, judged_fields);
static const struct ar_struct_desc output_desc = DESC(ar_stored_output, output_fields);
static const struct ar_struct_desc process_desc = DESC(ar_process_record, process_fields);
static const struct ar_struct_desc process_input_desc = DESC(ar_process_input, process_input_fields);
static const struct ar_struct_desc channel_desc = DESC(ar_channel, channel_fields);
static const struct ar_struct_desc bridged_desc = DESC(ar_bridged, bridged_fields);
static const struct ar_struct_desc session_desc = DESC(ar_session, session_fields);

/* ---- writing ---- */

static void write_vec(struct ar_jw *w, const char *name, const struct ar_vec *v,
		      const struct ar_struct_desc *d)
{
	ar_jw_key(w, name);
	ar_jw_open_array(w);
	for (size_t i = 0; i < v->count; i++)
		ar_struct_encode(d, v->at[i], AR_STR_NONE, w);
	ar_jw_close_array(w);
}

/* Nothing for NULL. */
static void write_one(struct ar_jw *w, const char *name, const void *item, const struct ar_struct_desc *d)
{
	if (!item)
		return;
	ar_jw_key(w, name);
	ar_struct_encode(d, item, AR_STR_NONE, w);
}

/* Members of the object that is open. */
static void write_task(struct ar_jw *w, const struct ar_task *task)
{
	ar_jw_key(w, "task");
	ar_struct_encode(&task_desc, task, AR_STR_NONE, w);
	write_vec(w, "runs", &task->runs, &run_desc);
	if (task->edges.count > 0)
		write_vec(w, "edges", &task->edges, &edge_desc);
	write_one(w, "sheet", task->sheet, &sheet_desc);
}

static void write_declared(struct ar_jw *w, const struct ar_session *s)
{
	ar_jw_key(w, "declared");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->declared.count; i++) {
		ar_jw_open(w);
		write_task(w, s->declared.at[i]);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

static void write_turn(struct ar_jw *w, const struct ar_turn *turn)
{
	ar_jw_open(w);
	ar_jw_key(w, "turn");
	ar_struct_encode(&turn_desc, turn, AR_STR_NONE, w);
	write_vec(w, "steps", &turn->steps, &step_desc);
	write_vec(w, "steers", &turn->steers, &context_desc);
	write_vec(w, "calls", &turn->calls, &call_desc);
	write_one(w, "spent", &turn->spent, &spent_desc);
	write_one(w, "route", turn->route, &route_desc);
	write_vec(w, "hooks", &turn->hooks, &hook_desc);
	if (turn->task)
		write_task(w, turn->task);
	ar_jw_close(w);
}

static void write_thread(struct ar_jw *w, const struct ar_thread *t)
{
	ar_jw_open(w);
	ar_jw_key(w, "thread");
	ar_struct_encode(&thread_desc, t, AR_STR_NONE, w);
	write_vec(w, "context", &t->context, &context_desc);
	write_vec(w, "boundaries", &t->boundaries, &boundary_desc);
	write_vec(w, "incidents", &t->incidents, &incident_desc);
	write_vec(w, "judged", &t->judged, &judged_desc);
	write_vec(w, "outputs", &t->outputs, &output_desc);
	ar_jw_key(w, "turns");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->turns.count; i++)
		write_turn(w, t->turns.at[i]);
	ar_jw_close_array(w);
	ar_jw_key(w, "queue");
	ar_jw_open_array(w);
	for (size_t i = 0; i < t->queue.count; i++)
		ar_jw_str(w, ((const struct ar_turn *)t->queue.at[i])->id);
	ar_jw_close_array(w);
	ar_jw_close(w);
}

static void write_process(struct ar_jw *w, const struct ar_process_record *p)
{
	ar_jw_open(w);
	ar_jw_key(w, "process");
	ar_struct_encode(&process_desc, p, AR_STR_NONE, w);
	write_vec(w, "written", &p->written, &process_input_desc);
	ar_jw_close(w);
}

static void write_channel(struct ar_jw *w, const struct ar_channel *c)
{
	ar_jw_open(w);
	ar_jw_key(w, "channel");
	ar_struct_encode(&channel_desc, c, AR_STR_NONE, w);
	write_vec(w, "open", &c->open, &bridged_desc);
	ar_jw_close(w);
}

void ar_session_snapshot(const struct ar_session *s, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_key(&w, "session");
	ar_struct_encode(&session_desc, s, AR_STR_NONE, &w);
	write_one(&w, "spent", &s->spent, &spent_desc);
	write_vec(&w, "throttles", &s->throttles, &throttle_desc);
	ar_jw_key(&w, "threads");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < s->threads.count; i++)
		write_thread(&w, s->threads.at[i]);
	ar_jw_close_array(&w);
	write_vec(&w, "actions", &s->actions, &action_desc);
	write_vec(&w, "grants", &s->grants, &grant_desc);
	write_vec(&w, "rules", &s->rules, &rule_desc);
	ar_jw_key(&w, "processes");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < s->processes.count; i++)
		write_process(&w, s->processes.at[i]);
	ar_jw_close_array(&w);
	ar_jw_key(&w, "channels");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < s->channels.count; i++)
		write_channel(&w, s->channels.at[i]);
	ar_jw_close_array(&w);
	if (s->declared.count > 0)
		write_declared(&w, s);
	ar_jw_close(&w);
}

/* ---- reading ---- */

static void *read_struct(struct ar_session *s, struct ar_json v, const struct ar_struct_desc *d,
			 struct ar_error *err)
{
	void *item = ar_arena_alloc(&s->arena, d->size);

	return ar_struct_decode(d, v, &s->arena, item, NULL, err) == AR_OK ? item : NULL;
}

static bool read_vec(struct ar_session *s, struct ar_json array, struct ar_vec *v,
		     const struct ar_struct_desc *d, struct ar_error *err)
{
	for (struct ar_json_iter it = ar_json_iter(array); ar_json_next(&it);) {
		void *item = read_struct(s, it.value, d, err);

		if (!item)
			return false;
		ar_vec_push(&s->arena, v, item);
	}
	return true;
}

/* What an older version did not store stays as it is. */
static bool read_spent(struct ar_session *s, struct ar_json v, struct ar_spent *ret, struct ar_error *err)
{
	if (ar_json_type(v) != AR_JSON_OBJECT)
		return true;
	return ar_struct_decode(&spent_desc, v, &s->arena, ret, NULL, err) == AR_OK;
}

static bool read_route(struct ar_session *s, struct ar_json v, struct ar_turn *turn, struct ar_error *err)
{
	if (ar_json_type(v) != AR_JSON_OBJECT)
		return true;
	turn->route = read_struct(s, v, &route_desc, err);
	return turn->route != NULL;
}

static struct ar_task *read_task(struct ar_session *s, struct ar_json v, struct ar_error *err)
{
	struct ar_task *task = read_struct(s, ar_json_get(v, "task"), &task_desc, err);
	struct ar_json sheet = ar_json_get(v, "sheet");

	if (!task || !read_vec(s, ar_json_get(v, "runs"), &task->runs, &run_desc, err) ||
	    !read_vec(s, ar_json_get(v, "edges"), &task->edges, &edge_desc, err))
		return NULL;
	if (ar_json_type(sheet) != AR_JSON_OBJECT)
		return task;
	task->sheet = read_struct(s, sheet, &sheet_desc, err);
	return task->sheet ? task : NULL;
}

static bool read_declared(struct ar_session *s, struct ar_json v, struct ar_error *err)
{
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		struct ar_task *task = read_task(s, it.value, err);

		if (!task || !task->sheet)
			return false;
		ar_vec_push(&s->arena, &s->declared, task);
	}
	return true;
}

static bool read_turn(struct ar_session *s, struct ar_thread *t, struct ar_json v, struct ar_error *err)
{
	struct ar_turn *turn = read_struct(s, ar_json_get(v, "turn"), &turn_desc, err);

	if (!turn || !read_vec(s, ar_json_get(v, "steps"), &turn->steps, &step_desc, err) ||
	    !read_vec(s, ar_json_get(v, "steers"), &turn->steers, &context_desc, err) ||
	    !read_vec(s, ar_json_get(v, "calls"), &turn->calls, &call_desc, err) ||
	    !read_spent(s, ar_json_get(v, "spent"), &turn->spent, err) ||
	    !read_route(s, ar_json_get(v, "route"), turn, err) ||
	    !read_vec(s, ar_json_get(v, "hooks"), &turn->hooks, &hook_desc, err))
		return false;
	ar_vec_push(&s->arena, &t->turns, turn);
	if (ar_json_type(ar_json_get(v, "task")) != AR_JSON_OBJECT)
		return true;
	turn->task = read_task(s, v, err);
	return turn->task != NULL;
}

static bool read_queue(struct ar_session *s, struct ar_thread *t, struct ar_json v)
{
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		struct ar_str id = AR_STR_NONE;
		struct ar_turn *turn;

		ar_json_str(it.value, &id);
		turn = ar_thread_turn(t, id);
		if (!turn)
			return false;
		ar_vec_push(&s->arena, &t->queue, turn);
	}
	return true;
}

static bool read_thread(struct ar_session *s, struct ar_json v, struct ar_error *err)
{
	struct ar_thread *t = read_struct(s, ar_json_get(v, "thread"), &thread_desc, err);

	if (!t)
		return false;
	ar_vec_push(&s->arena, &s->threads, t);
	if (!read_vec(s, ar_json_get(v, "context"), &t->context, &context_desc, err) ||
	    !read_vec(s, ar_json_get(v, "boundaries"), &t->boundaries, &boundary_desc, err) ||
	    !read_vec(s, ar_json_get(v, "incidents"), &t->incidents, &incident_desc, err) ||
	    !read_vec(s, ar_json_get(v, "judged"), &t->judged, &judged_desc, err) ||
	    !read_vec(s, ar_json_get(v, "outputs"), &t->outputs, &output_desc, err))
		return false;
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(v, "turns")); ar_json_next(&it);) {
		if (!read_turn(s, t, it.value, err))
			return false;
	}
	return read_queue(s, t, ar_json_get(v, "queue"));
}

static bool read_process(struct ar_session *s, struct ar_json v, struct ar_error *err)
{
	struct ar_process_record *p = read_struct(s, ar_json_get(v, "process"), &process_desc, err);

	if (!p)
		return false;
	ar_vec_push(&s->arena, &s->processes, p);
	return read_vec(s, ar_json_get(v, "written"), &p->written, &process_input_desc, err);
}

static bool read_channel(struct ar_session *s, struct ar_json v, struct ar_error *err)
{
	struct ar_channel *c = read_struct(s, ar_json_get(v, "channel"), &channel_desc, err);

	if (!c)
		return false;
	ar_vec_push(&s->arena, &s->channels, c);
	return read_vec(s, ar_json_get(v, "open"), &c->open, &bridged_desc, err);
}

enum ar_status ar_session_restore(struct ar_session *s, struct ar_json snapshot, struct ar_error *err)
{
	bool is_read = true;

	if (ar_struct_decode(&session_desc, ar_json_get(snapshot, "session"), &s->arena, s, NULL, err) !=
	    AR_OK)
		return ar_fail_wrap(err, "snapshot");
	if (!read_spent(s, ar_json_get(snapshot, "spent"), &s->spent, err) ||
	    !read_vec(s, ar_json_get(snapshot, "throttles"), &s->throttles, &throttle_desc, err))
		return ar_fail_wrap(err, "snapshot");
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(snapshot, "threads"));
	     is_read && ar_json_next(&it);)
		is_read = read_thread(s, it.value, err);
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(snapshot, "processes"));
	     is_read && ar_json_next(&it);)
		is_read = read_process(s, it.value, err);
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(snapshot, "channels"));
	     is_read && ar_json_next(&it);)
		is_read = read_channel(s, it.value, err);
	is_read = is_read && read_declared(s, ar_json_get(snapshot, "declared"), err);
	if (!is_read || !read_vec(s, ar_json_get(snapshot, "actions"), &s->actions, &action_desc, err) ||
	    !read_vec(s, ar_json_get(snapshot, "grants"), &s->grants, &grant_desc, err) ||
	    !read_vec(s, ar_json_get(snapshot, "rules"), &s->rules, &rule_desc, err))
		return ar_fail(err, AR_E_CORRUPT, "the stored snapshot of session %.*s does not decode",
			       AR_STR_ARG(s->session_key));
	s->snapshot_head = s->head;
	return AR_OK;
}

/* ---- life ---- */

void ar_session_init(struct ar_session *s, struct ar_str session_key, struct ar_json_parser *json)
{
	*s = (struct ar_session){ .json = json };
	s->session_key = ar_arena_str(&s->arena, session_key);
	s->id = ar_id_root(&s->arena, "sess", session_key);
}

void ar_session_fini(struct ar_session *s)
{
	ar_arena_fini(&s->arena);
	*s = (struct ar_session){ 0 };
}
