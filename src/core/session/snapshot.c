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
#include "artifact/artifact.h"
#include "channel/snapshot_channel.h"
#include "checkpoint/checkpoints.h"
#include "delivery/delivery.h"
#include "evidence/evidence.h"
#include "job/snapshot_job.h"
#include "output/outputs.h"
#include "closed/closed_group.h"
#include "process/snapshot_process.h"
#include "session.h"
#include "subagent/subagents.h"
#include "task/blocks.h"
#include "task/snapshot_task.h"

#include <string.h>

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
	OPT(ar_step, reserved), STR(ar_step, summary),
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
static const struct ar_field_desc hook_run_fields[] = {
	STR(ar_hook_record, id),     STR(ar_hook_record, handler),  STR(ar_hook_record, subject),
	STR(ar_hook_record, status), STR(ar_hook_record, decision), STR(ar_hook_record, category),
	INT(ar_hook_record, point),  TIME(ar_hook_record, started), TIME(ar_hook_record, ended),
};
static const struct ar_field_desc origin_fields[] = {
	STR(ar_turn_origin, environment),
	RAW(ar_turn_origin, metadata),
	OPT_FLAG(ar_turn_origin, stopped_by_policy),
	OPT_FLAG(ar_turn_origin, plan_approved),
};
static const struct ar_field_desc environment_fields[] = {
	STR(ar_kept_environment, ref),
	OBJECT(ar_kept_environment, of, turn_environment),
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
	MARK(ar_turn, 0),
	MARK(ar_turn, 1),
	MARK(ar_turn, 2),
	OPT(ar_turn, checkpoint),
	OPT(ar_turn, calls_started),
	OPT_FLAG(ar_turn, overdue),
	OPT_FLAG(ar_turn, silent),
	OPT_FLAG(ar_turn, crowded),
	OPT_FLAG(ar_turn, waits_worker),
	OPT_FLAG(ar_turn, lost_worker),
	STR(ar_turn, report_to),
	OPT_FLAG(ar_turn, retryable),
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
	OPT_FLAG(ar_invocation, delegates),
	TEXTS(ar_invocation, waits),
	OPT_FLAG(ar_invocation, waits_any),
	OPT(ar_invocation, profile),
	STR(ar_invocation, command_digest),
	OPT(ar_invocation, approvals),
	TIME(ar_invocation, started),
	TIME(ar_invocation, ended),
	TIME(ar_invocation, expires),
};
static const struct ar_field_desc spent_fields[] = {
	INT(ar_spent, requests),      INT(ar_spent, input_tokens), INT(ar_spent, output_tokens),
	INT(ar_spent, cached_tokens), INT(ar_spent, cost),	   INT(ar_spent, unpriced),
	OPT(ar_spent, reserved),      OPT(ar_spent, below[0]),	   OPT(ar_spent, below[1]),
	OPT(ar_spent, below[2]),
};
static const struct ar_field_desc trace_fields[] = { STR(ar_turn_trace, parent) };
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
	OPT(ar_thread, queue_limit),
	OPT(ar_thread, violations),
	TEXTS(ar_thread, violation_refs),
	OBJECT(ar_thread, selected, context_selection),
	STR(ar_thread, catalog_ref),
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
	STR(ar_action, rule_source),
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
	STR(ar_grant, tool),	 STR(ar_grant, rule),	STR(ar_grant, scope),	    STR(ar_grant, permission),
	TIME(ar_grant, expires), STR(ar_grant, covers), STR(ar_grant, rule_source),
};
static const struct ar_field_desc workspace_policy_fields[] = {
	STR(ar_workspace_policy, ref),
	OBJECT(ar_workspace_policy, preset, session_policy),
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
	TIME(ar_stored_output, expires),
};
static const struct ar_field_desc expiring_fields[] = {
	STR(ar_expiring_output, ref),
	TIME(ar_expiring_output, expires),
};
static const struct ar_field_desc removed_fields[] = {
	STR(ar_removed_output, ref),	    STR(ar_removed_output, replacement),
	OPT_FLAG(ar_removed_output, whole), TIME(ar_removed_output, expires),
	TIME(ar_removed_output, at),
};
static const struct ar_field_desc artifact_fields[] = {
	OBJECT(ar_artifact, record, artifact_record),
};
static const struct ar_field_desc evidence_fields[] = {
	OBJECT(ar_evidence, record, evidence_record),
};
static const struct ar_field_desc checkpoint_fields[] = {
	OBJECT(ar_checkpoint, record, checkpoint_record),
};
static const struct ar_field_desc subagent_fields[] = {
	OBJECT(ar_subagent, record, subagent_record),
	OPT_FLAG(ar_subagent, is_settled),
};
static const struct ar_field_desc pack_fields[] = {
	INT(ar_closed_group, number),
	STR(ar_closed_group, ids),
	STR(ar_closed_group, body),
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
	OPT(ar_session, counters.checkpoint),
	OPT(ar_session, counters.subagent),
	OPT(ar_session, counters.job),
	OPT(ar_session, counters.evidence),
	OPT(ar_session, declared_count),
	OPT(ar_session, artifacts_left),
	OPT(ar_session, day.number),
	OPT(ar_session, day.tokens),
	OPT(ar_session, day.cost),
	OPT(ar_session, disk.used),
	OPT_FLAG(ar_session, disk.partly),
	STR(ar_session, mode),
	STR(ar_session, policy_ref),
	STR(ar_session, environment_ref),
	RAW(ar_session, limits),
	OBJECT(ar_session, preset, session_policy),
	OBJECT(ar_session, bound, workspace_binding),
	OBJECT(ar_session, files, session_files),
	OBJECT(ar_session, instructions, workspace_instructions),
	ITEMS(ar_session, skills, workspace_skill),
	ITEMS(ar_session, agents, workspace_agent),
	ITEMS(ar_session, servers, workspace_server),
	STR(ar_session, servers_digest),
	OBJECT(ar_session, own, workspace_record),
	OBJECT(ar_session, own_worker, worker_record),
	OBJECT(ar_session, own_schedule, schedule_record),
	ITEMS(ar_session, schedule_runs, schedule_run),
	OBJECT(ar_session, worker, worker_observed),
	MARK(ar_session, 0),
	MARK(ar_session, 1),
	MARK(ar_session, 2),
	INT(ar_session, tasks.completed),
	INT(ar_session, tasks.failed),
	INT(ar_session, tasks.cancelled),
	INT(ar_session, tasks.lost),
	OPT(ar_session, tasks.timed_out),
	TEXTS(ar_session, pinned),
	OPT_FLAG(ar_session, archived),
};

/* A kind of struct in the state. One without parts is the object of its fields. One with parts is an
 * object that holds its fields as the member `name`, and its parts beside them. */
struct kind {
	struct ar_struct_desc fields;
	const char *name; /* NULL: it has no parts */
	const struct part *parts;
	size_t part_count;
};

enum form {
	LIST, /* struct ar_vec */
	FILLED_LIST, /* the same, left out when it is empty */
	INSIDE, /* the struct itself */
	POINTED, /* a pointer, left out when NULL; one with parts has its members in the same object */
	QUEUE, /* struct ar_vec of turns that are among `turns`: their ids */
};

struct part {
	const char *name;
	enum form form;
	size_t offset;
	const struct kind *of;
};

#define FIELDS(T, f) \
	{ \
		.fields = f, .count = AR_ARRAY_LEN(f), .size = sizeof(struct T) \
	}
#define KIND(T, f) \
	{ \
		.fields = FIELDS(T, f) \
	}
#define KIND_WITH_PARTS(T, n) \
	{ \
		.fields = FIELDS(T, n##_fields), .name = #n, .parts = n##_parts, \
		.part_count = AR_ARRAY_LEN(n##_parts) \
	}
#define PART(T, m, f, k) \
	{ \
		.name = #m, .form = f, .offset = offsetof(struct T, m), .of = k \
	}

static const struct kind context = KIND(ar_context_entry, context_fields);
static const struct kind step = KIND(ar_step, step_fields);
static const struct kind hook = KIND(ar_hook_chain, hook_fields);
static const struct kind hook_run = KIND(ar_hook_record, hook_run_fields);
static const struct kind origin = KIND(ar_turn_origin, origin_fields);
static const struct kind environment = KIND(ar_kept_environment, environment_fields);
static const struct kind run = KIND(ar_run, run_fields);
static const struct kind edge = KIND(ar_edge, edge_fields);
static const struct kind sheet = KIND(ar_sheet, sheet_fields);
static const struct kind call = KIND(ar_invocation, call_fields);
static const struct kind spent = KIND(ar_spent, spent_fields);
static const struct kind route = KIND(ar_route, route_fields);
static const struct kind trace = KIND(ar_turn_trace, trace_fields);
static const struct kind throttle = KIND(ar_throttle, throttle_fields);
static const struct kind incident = KIND(ar_incident, incident_fields);
static const struct kind boundary = KIND(ar_boundary, boundary_fields);
static const struct kind action = KIND(ar_action, action_fields);
static const struct kind grant = KIND(ar_grant, grant_fields);
static const struct kind rule = KIND(ar_permission_rule, rule_fields);
static const struct kind workspace_policy = KIND(ar_workspace_policy, workspace_policy_fields);
static const struct kind judged = KIND(ar_judged, judged_fields);
static const struct kind output = KIND(ar_stored_output, output_fields);
static const struct kind expiring = KIND(ar_expiring_output, expiring_fields);
static const struct kind removed = KIND(ar_removed_output, removed_fields);
static const struct kind process_input = KIND(ar_process_input, process_input_fields);
static const struct kind artifact = KIND(ar_artifact, artifact_fields);
static const struct kind checkpoint = KIND(ar_checkpoint, checkpoint_fields);
static const struct kind subagent = KIND(ar_subagent, subagent_fields);
static const struct kind evidence = KIND(ar_evidence, evidence_fields);
static const struct kind webhook_failure = KIND(ar_webhook_failure, webhook_failure_fields);
static const struct kind pack = KIND(ar_closed_group, pack_fields);
static const struct kind bridged = KIND(ar_bridged, bridged_fields);

static const struct part task_parts[] = {
	PART(ar_task, runs, LIST, &run),
	PART(ar_task, edges, FILLED_LIST, &edge),
	PART(ar_task, sheet, POINTED, &sheet),
};
static const struct kind task = KIND_WITH_PARTS(ar_task, task);

static const struct part turn_parts[] = {
	PART(ar_turn, steps, LIST, &step),
	PART(ar_turn, steers, LIST, &context),
	PART(ar_turn, calls, LIST, &call),
	PART(ar_turn, spent, INSIDE, &spent),
	PART(ar_turn, route, POINTED, &route),
	PART(ar_turn, hooks, LIST, &hook),
	PART(ar_turn, trace, POINTED, &trace),
	PART(ar_turn, task, POINTED, &task),
	PART(ar_turn, hook_runs, FILLED_LIST, &hook_run),
	PART(ar_turn, origin, INSIDE, &origin),
};
static const struct kind turn = KIND_WITH_PARTS(ar_turn, turn);

static const struct part thread_parts[] = {
	PART(ar_thread, context, LIST, &context),    PART(ar_thread, boundaries, LIST, &boundary),
	PART(ar_thread, incidents, LIST, &incident), PART(ar_thread, judged, LIST, &judged),
	PART(ar_thread, outputs, LIST, &output),     PART(ar_thread, turns, LIST, &turn),
	PART(ar_thread, queue, QUEUE, NULL),
};
static const struct kind thread = KIND_WITH_PARTS(ar_thread, thread);

static const struct part process_parts[] = { PART(ar_process_record, written, LIST, &process_input) };
static const struct kind process = KIND_WITH_PARTS(ar_process_record, process);

static const struct part channel_parts[] = { PART(ar_channel, open, LIST, &bridged) };
static const struct kind channel = KIND_WITH_PARTS(ar_channel, channel);

static const struct part webhook_parts[] = { PART(ar_webhook, failures, LIST, &webhook_failure) };
static const struct kind webhook = KIND_WITH_PARTS(ar_webhook, webhook);
static const struct kind job_item = KIND(ar_job_item, job_item_fields);
static const struct kind job_ahead = KIND(ar_job_ahead, job_ahead_fields);
static const struct part job_parts[] = { PART(ar_job, running, LIST, &job_item),
					 PART(ar_job, ahead, FILLED_LIST, &job_ahead) };
static const struct kind job = KIND_WITH_PARTS(ar_job, job);

static const struct part session_parts[] = {
	PART(ar_session, packs, FILLED_LIST, &pack), /* first: stubs of what follows name them */
	PART(ar_session, jobs, FILLED_LIST, &job),
	PART(ar_session, spent, INSIDE, &spent),
	PART(ar_session, throttles, LIST, &throttle),
	PART(ar_session, threads, LIST, &thread),
	PART(ar_session, actions, LIST, &action),
	PART(ar_session, grants, LIST, &grant),
	PART(ar_session, rules, LIST, &rule),
	PART(ar_session, workspace_policy, POINTED, &workspace_policy),
	PART(ar_session, webhooks, FILLED_LIST, &webhook),
	PART(ar_session, checkpoints, FILLED_LIST, &checkpoint),
	PART(ar_session, processes, LIST, &process),
	PART(ar_session, channels, LIST, &channel),
	PART(ar_session, declared, FILLED_LIST, &task),
	PART(ar_session, artifacts, FILLED_LIST, &artifact),
	PART(ar_session, versions, FILLED_LIST, &artifact),
	PART(ar_session, subagents, FILLED_LIST, &subagent),
	PART(ar_session, environments, FILLED_LIST, &environment),
	PART(ar_session, evidence, FILLED_LIST, &evidence),
	PART(ar_session, expiring, FILLED_LIST, &expiring),
	PART(ar_session, removed, FILLED_LIST, &removed),
};
static const struct kind session = KIND_WITH_PARTS(ar_session, session);

/* ---- writing ---- */

static void write_item(struct ar_jw *w, const struct kind *k, const void *item);
static void write_members(struct ar_jw *w, const struct kind *k, const void *item);

/* The pack in whose place the item is a stub; NULL: it is none. */
static const struct ar_closed_group *pack_of(const struct kind *k, const void *item)
{
	if (k == &thread)
		return ((const struct ar_thread *)item)->pack;
	return k == &subagent ? ((const struct ar_subagent *)item)->pack : NULL;
}

static void write_list(struct ar_jw *w, const struct part *p, const struct ar_vec *v)
{
	if (p->form == FILLED_LIST && v->count == 0)
		return;
	ar_jw_key(w, p->name);
	ar_jw_open_array(w);
	for (size_t i = 0; i < v->count; i++) {
		if (p->form == QUEUE)
			ar_jw_str(w, ((const struct ar_turn *)v->at[i])->id);
		else if (pack_of(p->of, v->at[i]))
			ar_jw_int(w, pack_of(p->of, v->at[i])->number);
		else
			write_item(w, p->of, v->at[i]);
	}
	ar_jw_close_array(w);
}

static void write_struct(struct ar_jw *w, const struct part *p, const void *item)
{
	if (!item)
		return;
	if (p->of->name) {
		write_members(w, p->of, item);
		return;
	}
	ar_jw_key(w, p->name);
	write_item(w, p->of, item);
}

static const void *pointer_at(const void *member)
{
	const void *pointer;

	memcpy(&pointer, member, sizeof(pointer));
	return pointer;
}

static void write_members(struct ar_jw *w, const struct kind *k, const void *item)
{
	ar_jw_key(w, k->name);
	ar_struct_encode(&k->fields, item, AR_STR_NONE, w);
	for (size_t i = 0; i < k->part_count; i++) {
		const struct part *p = &k->parts[i];
		const void *at = (const char *)item + p->offset;

		if (p->form == INSIDE)
			write_struct(w, p, at);
		else if (p->form == POINTED)
			write_struct(w, p, pointer_at(at));
		else
			write_list(w, p, at);
	}
}

static void write_item(struct ar_jw *w, const struct kind *k, const void *item)
{
	if (!k->name) {
		ar_struct_encode(&k->fields, item, AR_STR_NONE, w);
		return;
	}
	ar_jw_open(w);
	write_members(w, k, item);
	ar_jw_close(w);
}

void ar_session_snapshot(const struct ar_session *s, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);
	struct ar_session whole = *s;

	ar_closed_groups_open_all(s);
	whole.packs = (struct ar_vec){ 0 };
	write_item(&w, &session, &whole);
}

void ar_session_snapshot_packed(const struct ar_session *s, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);
	struct ar_arena arena = { 0 };
	struct ar_session plan = ar_closed_groups_plan(s, &arena);

	write_item(&w, &session, &plan);
	ar_arena_fini(&arena);
}

static const struct part packed_parts[] = { PART(ar_closed_group, threads, LIST, &thread),
					    PART(ar_closed_group, subagents, LIST, &subagent) };

void ar_snapshot_write_group(const struct ar_closed_group *p, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	write_list(&w, &packed_parts[0], &p->threads);
	write_list(&w, &packed_parts[1], &p->subagents);
	ar_jw_close(&w);
}

/* ---- reading ---- */

static bool read_item(struct ar_session *s, struct ar_json v, const struct kind *k, void *item);

static bool read_stub(struct ar_session *s, int64_t number, const struct kind *k, void *item)
{
	if (k == &thread)
		return ar_closed_group_stub_thread(s, number, item);
	return k == &subagent && ar_closed_group_stub_subagent(s, number, item);
}

static bool read_list(struct ar_session *s, struct ar_json array, const struct kind *k, struct ar_vec *ret)
{
	int64_t number;

	for (struct ar_json_iter it = ar_json_iter(array); ar_json_next(&it);) {
		void *item = ar_arena_alloc(&s->arena, k->fields.size);

		ar_vec_push(&s->arena, ret, item);
		if (ar_json_i64(it.value, &number) ? !read_stub(s, number, k, item)
						   : !read_item(s, it.value, k, item))
			return false;
	}
	return true;
}

static bool read_queue(struct ar_session *s, struct ar_json ids, struct ar_thread *t)
{
	for (struct ar_json_iter it = ar_json_iter(ids); ar_json_next(&it);) {
		struct ar_str id = AR_STR_NONE;
		struct ar_turn *queued;

		ar_json_str(it.value, &id);
		queued = ar_thread_turn(t, id);
		if (!queued)
			return false;
		ar_vec_push(&s->arena, &t->queue, queued);
	}
	return true;
}

/* `v` is the object of the struct that has the part. What an older version did not store stays as it is. */
static bool read_part(struct ar_session *s, struct ar_json v, const struct part *p, void *item)
{
	struct ar_json own = ar_json_get(v, p->name);
	void *at = (char *)item + p->offset, *made;

	if (p->form == QUEUE)
		return read_queue(s, own, item);
	if (p->form == LIST || p->form == FILLED_LIST)
		return read_list(s, own, p->of, at);
	if (ar_json_type(own) != AR_JSON_OBJECT)
		return true;
	if (p->form == INSIDE)
		return read_item(s, own, p->of, at);
	made = ar_arena_alloc(&s->arena, p->of->fields.size);
	memcpy(at, &made, sizeof(made));
	return read_item(s, p->of->name ? v : own, p->of, made);
}

static bool read_item(struct ar_session *s, struct ar_json v, const struct kind *k, void *item)
{
	struct ar_json fields = k->name ? ar_json_get(v, k->name) : v;

	if (ar_struct_decode(&k->fields, fields, &s->arena, item, NULL, NULL) != AR_OK)
		return false;
	for (size_t i = 0; i < k->part_count; i++) {
		if (!read_part(s, v, &k->parts[i], item))
			return false;
	}
	return true;
}

/* The stubs are filled in the order in which the pack was written. */
static bool fill_stubs(struct ar_session *s, struct ar_json array, const struct part *p,
		       const struct ar_vec *stubs)
{
	size_t i = 0;

	for (struct ar_json_iter it = ar_json_iter(array); ar_json_next(&it); i++) {
		if (i == stubs->count)
			return false;
		memset(stubs->at[i], 0, p->of->fields.size);
		if (!read_item(s, it.value, p->of, stubs->at[i]))
			return false;
	}
	return i == stubs->count;
}

bool ar_snapshot_read_group(struct ar_json v, struct ar_closed_group *p)
{
	struct ar_session into = { .arena = p->arena }; /* nothing else of it is used */
	bool is_good = fill_stubs(&into, ar_json_get(v, "threads"), &packed_parts[0], &p->threads) &&
		       fill_stubs(&into, ar_json_get(v, "subagents"), &packed_parts[1], &p->subagents);

	p->arena = into.arena;
	return is_good;
}

static bool have_sheets(const struct ar_vec *tasks)
{
	for (size_t i = 0; i < tasks->count; i++) {
		const struct ar_task *one = tasks->at[i];

		if (!one->sheet || ar_str_absent(one->id))
			return false;
	}
	return true;
}

/* Of artifacts, checkpoints, evidence and child agents: each begins with its record. */
static bool have_records(const struct ar_vec *items)
{
	for (size_t i = 0; i < items->count; i++) {
		if (!*(const void *const *)items->at[i])
			return false;
	}
	return true;
}

_Static_assert(offsetof(struct ar_artifact, record) == 0 && offsetof(struct ar_checkpoint, record) == 0 &&
		       offsetof(struct ar_evidence, record) == 0 && offsetof(struct ar_subagent, record) == 0,
	       "it is the first member");

enum ar_status ar_session_restore(struct ar_session *s, struct ar_json snapshot, struct ar_error *err)
{
	if (!read_item(s, snapshot, &session, s) || !have_sheets(&s->declared) ||
	    !have_records(&s->artifacts) || !have_records(&s->versions) || !have_records(&s->checkpoints) ||
	    !have_records(&s->subagents) || !have_records(&s->evidence) || !ar_webhooks_are_whole(s) ||
	    !ar_closed_groups_are_whole(s))
		return ar_fail(err, AR_E_CORRUPT, "the stored snapshot of session %.*s does not decode",
			       AR_STR_ARG(s->session_key));
	ar_blocks_restore(s);
	ar_deliveries_restore(s);
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
	ar_closed_groups_fini(s);
	ar_map_fini(&s->declared_ids);
	ar_arena_fini(&s->arena);
	*s = (struct ar_session){ 0 };
}
