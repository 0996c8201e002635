/* The process port (port/process.h) over agent-shim: one shim per process, started here, in a session of its
 * own, with a folder of its own. What happens is in the journal of that folder; this module follows it and
 * tells, live or after a restart the same. It makes no boundary (edge/sandbox settles it, agent-init sets it
 * up) and decides nothing about a process.
 *
 * Contract: loop thread only. Small files are written and the journal is read on the loop, a bounded piece in
 * each of its turns. */
#ifndef AR_PROCESS_PROCESSES_H
#define AR_PROCESS_PROCESSES_H

#include "audit.h"
#include "boundary.h"
#include "process.h"

#include <uv.h>

struct ar_processes_options {
	const char *folder; /* absolute; made, mode 0700, when it is not there */
	const char *shim, *init; /* absolute paths of the helpers */
	uint64_t output_bytes; /* kept of each process; 0: 64 MiB */
	int64_t barrier_ms; /* between being ready and go(); 0: 30 s */
	int64_t grace_ms; /* of end() with a negative one; 0: 5 s */
	size_t prewarmed; /* boundaries that wait for a command, all together; 0: none */
	int64_t prewarmed_ms; /* that one waits */
	struct ar_sandbox *sandbox; /* lives longer than the host */
	/* Of a process that reaches the world through a proxy: its listening socket, for the callee to keep
	 * and close, told once in each life of this host; and when the process is over or left. `name` tells
	 * processes apart. NULL: sockets are closed. */
	void (*on_listener)(void *context, struct ar_str name, int fd);
	void (*on_listener_gone)(void *context, struct ar_str name);
	void *context;
	struct ar_audit_reader *audit; /* taken over; NULL: refusals of the kernel are not reported */
};

AR_BEGIN_DECLS

/* NULL: the folder cannot be used, the sentence says why. All options but the sandbox are copied, the audit
 * is not taken over then. The host's close() leaves every process as it is; the memory is given back in the
 * loop's next turns. */
struct ar_process_host *ar_processes_open(uv_loop_t *loop, const struct ar_processes_options *o,
					  struct ar_error *err);

/* What somebody else saw a process try, as the detail of AR_PROC_VIOLATION; `name` is that of on_listener.
 * Nothing when it is over. */
void ar_processes_report_violation(struct ar_process_host *h, struct ar_str name, struct ar_str detail);

struct ar_process_prewarmed {
	uint64_t waiting;
	uint64_t used, unused; /* since the start */
};

struct ar_process_prewarmed ar_processes_prewarmed(const struct ar_process_host *h);

/* Removes folders of processes that are over, and that nobody wrote to or attached to for a day; not before
 * every session that may have a process here has attached. A bounded piece of the work per call: returns
 * whether there is more to look at. */
bool ar_processes_sweep(struct ar_process_host *h);

AR_END_DECLS

#endif
