/* Tasks in a snapshot: the tables of their members, for snapshot.c alone. */
#ifndef AR_SESSION_TASK_SNAPSHOT_H
#define AR_SESSION_TASK_SNAPSHOT_H

#include "history/snapshot_fields.h"
#include "state_task.h"

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
	ITEMS(ar_run, remote, remote_task),
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
	ITEMS(ar_sheet, checks, criterion),
	STR(ar_sheet, command),
	OBJECT(ar_sheet, deliver_to, task_delivery),
};
static const struct ar_field_desc task_fields[] = {
	STR(ar_task, id),
	STR(ar_task, objective),
	STR(ar_task, title),
	STR(ar_task, error_category),
	STR(ar_task, error_message),
	STR(ar_task, waiting),
	OPT_FLAG(ar_task, stale),
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

#endif
