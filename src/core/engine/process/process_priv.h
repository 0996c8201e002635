/* A process in this runtime's hands; between the files of this folder. */
#ifndef AR_ENGINE_PROCESS_PRIV_H
#define AR_ENGINE_PROCESS_PRIV_H

#include "process/process_output.h"
#include "process/process_run.h"
#include "request/delivery.h"

#define AR_PROCESS_VIOLATIONS 16

/* Something for the session, in the order it happened: a report, or the end. */
struct ar_process_item {
	struct ar_list node;
	struct ar_arena arena;
	struct ar_process_told told;
	bool is_end;
};

/* Bytes on their way to its standard input. */
struct ar_process_input_item {
	struct ar_list node;
	uint64_t number;
	struct ar_buf bytes;
	bool is_eof;
};

/* LAUNCHED -> STANDING (at its barrier, on its way into the log) -> RUNNING -> ENDED;
 * attach begins with RUNNING. */
struct ar_live_process {
	struct ar_list node; /* live's processes */
	struct ar_live *live;
	struct ar_arena arena;
	struct ar_process port;
	struct ar_str id; /* absent until it is on record */
	struct ar_str call, handle;
	struct ar_str turn; /* absent until it is on record */
	bool tty;
	bool is_held; /* the host has it */
	bool is_reached; /* it runs, and takes inputs */
	bool is_ending; /* it was asked to */
	bool has_ended; /* the host said so */
	bool is_told; /* its call, if it has one, knows the end */
	bool is_over; /* its end is on record, or will never be */
	struct ar_process_launched launched;
	struct ar_delivery ready; /* that it may run, once that is on record */
	struct ar_list items; /* struct ar_process_item, oldest first */
	struct ar_delivery first; /* of them */
	struct ar_timer end_timer; /* its end, when there is no host to bring it */
	struct ar_process_output output;
	uint64_t shown[AR_PROC_TTY + 1]; /* bytes of each stream that readers of its call were told of */
	struct ar_str violations[AR_PROCESS_VIOLATIONS]; /* the first of them, for its call */
	size_t violation_count;
	struct ar_process_over over;
	struct ar_str end_by, end_reason; /* asked for before it was reached */
	int64_t end_grace;
	struct ar_list inputs; /* struct ar_process_input_item */
	bool is_writing, is_closed;
	uint64_t taken; /* number of the newest input that it has */
	struct ar_timer write_again;
	bool is_write_set;
	struct ar_store_blobs_get blobs; /* inputs to send again; or the text of one that is recalled */
	struct ar_hash hashes[AR_PROCESS_INPUTS];
	bool has_unread; /* inputs whose bytes are still in the store */
	size_t busy; /* store operations in flight */
};

/* process_run.c */
struct ar_live_process *ar_process_new(struct ar_live *l, struct ar_str call);
struct ar_live_process *ar_process_find(struct ar_live *l, struct ar_str id);
void ar_process_settle(struct ar_live_process *p); /* frees it when nothing needs it any more */
void ar_process_deliver_end(struct ar_live_process *p);
struct ar_process_host *ar_process_host_of(const struct ar_live_process *p);
void ar_process_reached(struct ar_live_process *p); /* after attach() */

/* process_input.c */
void ar_process_inputs_find(
	struct ar_live_process *p,
	const struct ar_process_record *r); /* those that an earlier process may not have sent */
void ar_process_inputs_send(struct ar_live_process *p);
void ar_process_inputs_drop(struct ar_live_process *p);
void ar_process_on_attached(struct ar_process *port, uint64_t inputs);
void ar_process_on_written(struct ar_process *port, uint64_t number, enum ar_process_write how);

#endif
