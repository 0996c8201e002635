/* What a process is between two facts: who asked for it, how it is found again, what was written
 * to it, how it ended. See state.h for who writes here. (struct ar_process is the port's: a
 * process in this runtime's hands.) */
#ifndef AR_SESSION_STATE_PROCESS_H
#define AR_SESSION_STATE_PROCESS_H

#include "catalog.h"
#include "vec.h"

#define AR_WINDOW_PROCESSES 20 /* newest ended ones kept */
#define AR_PROCESS_INPUTS 16 /* that may be on their way to one process; more are refused */

/* Reason that the journal and the facts give when the runtime ends a process whose time is over. */
#define AR_PROCESS_TIMEOUT "timeout"

/* Phase of run.status that says that a process is to be ended, and why. */
#define AR_PHASE_TERMINATING "process_terminating"
#define AR_PHASE_WAITS_FOR_INPUT "process_waits_for_input"

/* Something that was to be written to it; the bytes are content by ref. */
struct ar_process_input {
	int64_t number; /* from 1 */
	struct ar_str ref;
	bool is_eof;
};

struct ar_process_record {
	struct ar_str id, thread, turn, step, call;
	struct ar_str handle; /* by which its host finds it again */
	struct ar_str command, cwd, profile;
	struct ar_str sandbox; /* eventId of its sandbox.applied */
	struct ar_shape_process_output_list outputs; /* what was kept of it */
	const struct ar_shape_process_ending
		*end; /* for the call that waits for that; see process/record.h */
	struct ar_str output_ref; /* all that is kept of all streams, as its call reads it; absent: nothing */
	struct ar_str signal, by; /* that ended it, and who did; absent: none, nobody */
	struct ar_str stop_reason; /* a person wants it ended; absent: nobody does */
	int64_t status; /* of the process machine */
	int64_t seq; /* of the newest report that is on record */
	int64_t inputs; /* number of the newest input */
	int64_t violations; /* on record */
	int64_t sequence; /* of its process.started */
	int64_t output_bytes; /* that it wrote in all, known at its end */
	struct ar_opt_int exit_code;
	bool tty, has_input;
	bool is_closed; /* its input was */
	bool is_background; /* its call has ended before it */
	ar_usec started, ended;
	struct ar_vec written; /* struct ar_process_input: the newest, which may have to be sent again */
	struct ar_str environment, limits; /* of its boundary: content by ref; JSON object, while it runs */
	struct ar_str override_reason; /* why it runs in another folder than its turn; absent: it does not */
};

#endif
