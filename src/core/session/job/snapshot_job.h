/* Jobs in a snapshot: the tables of their members, for snapshot.c alone. */
#ifndef AR_SESSION_JOB_SNAPSHOT_H
#define AR_SESSION_JOB_SNAPSHOT_H

#include "history/snapshot_fields.h"
#include "job/job.h"

static const struct ar_field_desc job_item_fields[] = {
	INT(ar_job_item, number),    INT(ar_job_item, attempt),	     STR(ar_job_item, thread),
	STR(ar_job_item, input_ref), FLAG(ar_job_item, is_assigned),
};
static const struct ar_field_desc job_ahead_fields[] = {
	INT(ar_job_ahead, number),
};
static const struct ar_field_desc job_fields[] = {
	STR(ar_job, id),
	STR(ar_job, task),
	STR(ar_job, person),
	STR(ar_job, instruction_ref),
	STR(ar_job, schema_ref),
	TEXTS(ar_job, input_refs),
	STR(ar_job, list_ref),
	OBJECT(ar_job, options, turn_options),
	OBJECT(ar_job, policy, create_policy),
	OBJECT(ar_job, error, failure),
	STR(ar_job, reason),
	INT(ar_job, list),
	INT(ar_job, status),
	INT(ar_job, item_count),
	INT(ar_job, cursor),
	INT(ar_job, concurrency),
	INT(ar_job, max_runtime),
	INT(ar_job, completed),
	INT(ar_job, failed),
	INT(ar_job, reported),
	INT(ar_job, retryable),
	INT(ar_job, input_tokens),
	INT(ar_job, output_tokens),
	INT(ar_job, cached_tokens),
	INT(ar_job, cost),
	OPT_FLAG(ar_job, unpriced),
	TIME(ar_job, created),
	TIME(ar_job, started),
	TIME(ar_job, ended),
	TIME(ar_job, progressed),
	STR(ar_job, schedule),
	STR(ar_job, schedule_run),
	STR(ar_job, report_to),
	OPT(ar_job, max_attempts),
	OPT(ar_job, inactivity_ms),
	OBJECT(ar_job, deliver_to, task_delivery),
	OBJECT(ar_job, delivery, delivery_state),
	TIME(ar_job, alive),
};

#endif
