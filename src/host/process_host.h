/* Processes of the settings: the supervisor's side of port/process.h, in the data folder, and the proxy
 * that allowlisted_network goes through. Loop thread. */
#ifndef AR_HOST_PROCESS_HOST_H
#define AR_HOST_PROCESS_HOST_H

#include "arena.h"
#include "boundary.h"
#include "config.h"
#include "gate.h"
#include "json.h"
#include "log.h"
#include "process.h"

#include <uv.h>

struct ar_host_processes {
	const struct ar_log *log; /* set before the open */
	struct ar_process_host *host; /* NULL: there is no sandbox, and nothing is run */
	struct ar_egress_gate *gate; /* NULL: no hosts are listed */
	struct ar_json_parser *json;
};

/* Fails when the folder cannot be used or a host cannot be meant, with the sentence for the operator.
 * The struct stays in place until the close. */
AR_MUST_USE enum ar_status ar_host_processes_open(uv_loop_t *loop, const struct ar_config *c,
						  struct ar_sandbox *sandbox, struct ar_host_processes *ret,
						  struct ar_error *err);

/* Removes what is left of processes that nobody asks for any more, a piece of it. `is_settled`: every
 * session with a process here has it. Returns when to call again, in milliseconds. */
uint64_t ar_host_processes_sweep(struct ar_host_processes *p, bool is_settled);

/* For another sandbox with a network: the proxy serves its socket, whose descriptor it takes; and no
 * longer. */
void ar_host_processes_serve(struct ar_host_processes *p, struct ar_str name, int fd);
void ar_host_processes_unserve(struct ar_host_processes *p, struct ar_str name);

/* Processes are left as they are; the loop has to run on. Fine for what was never opened. */
void ar_host_processes_close(struct ar_host_processes *p);

#endif
