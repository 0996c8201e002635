/* The state of a process as its journal describes it: the fold of the records read so far. Pure: no file, no
 * callback, no clock. Every value of a record is checked; a record that breaks the format ends the fold. */
#ifndef AR_PROCESS_JOURNAL_STATE_H
#define AR_PROCESS_JOURNAL_STATE_H

#include "journal.h"
#include "json.h"
#include "process.h"

#define AR_JOURNAL_STATE_TEXT_MAX 1024

struct ar_journal_state {
	uint64_t seq; /* of the newest record */
	bool is_applied, is_released, has_failed, has_exited, is_sealed;
	bool has_tty;
	bool is_broken; /* nothing after the newest record can be known */
	uint64_t released_at, at; /* wall time, microseconds */
	int64_t shim_pid, first_pid; /* seen from outside; 0: not recorded */
	int64_t command_pid; /* seen from inside */
	uint32_t session; /* of the kernel's audit; 0: none */
	uint64_t number; /* of the newest INPUT_WRITTEN */
	uint64_t bytes[AR_STREAM_TTY + 1];
	uint64_t leftovers;
	int64_t duration_ms;
	uint64_t end_seq; /* of the record that says how it ended */
	int exit_code;
	int64_t error; /* errno of has_failed */
	char signal[16], by[32], limit[32], step[64];
	char reason[AR_JOURNAL_STATE_TEXT_MAX + 1], message[AR_JOURNAL_STATE_TEXT_MAX + 1];
};

AR_BEGIN_DECLS

/* Applies the next record. False: it is broken, and so is everything after it. */
bool ar_journal_state_apply(struct ar_journal_state *t, const struct ar_record *r,
			    struct ar_json_parser *parser);

/* How it ended, when has_failed or has_exited; borrowed from `t`. */
void ar_journal_state_end(const struct ar_journal_state *t, struct ar_process_end *ret);

/* 1..64, or 0: no signal has this name. */
int ar_journal_state_signal(struct ar_str name);

AR_END_DECLS

#endif
