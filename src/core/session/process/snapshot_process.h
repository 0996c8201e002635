/* Processes in a snapshot: the tables of their members, for snapshot.c alone. */
#ifndef AR_SESSION_PROCESS_SNAPSHOT_H
#define AR_SESSION_PROCESS_SNAPSHOT_H

#include "history/snapshot_fields.h"
#include "state_process.h"

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
	STR(ar_process_record, environment),
	RAW(ar_process_record, limits),
	STR(ar_process_record, override_reason),
};
static const struct ar_field_desc process_input_fields[] = {
	INT(ar_process_input, number),
	STR(ar_process_input, ref),
	FLAG(ar_process_input, is_eof),
};

#endif
