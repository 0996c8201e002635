/* What this machine can do for a daemon elsewhere: the sandbox and, in it, the tools on files, commands under
 * their supervisors, checkpoints; folders of workspaces, and what their files bring. The same parts that a
 * daemon uses for its own workspaces. Loop thread. */
#ifndef AR_HOST_WORKER_MACHINE_H
#define AR_HOST_WORKER_MACHINE_H

#include "boundary.h"
#include "config.h"
#include "log.h"
#include "ports.h"
#include "process_host.h"
#include "workspace/folders.h"
#include "workspace/inspector.h"

struct ar_worker_machine {
	uv_loop_t *loop;
	const struct ar_log *log; /* set before the open */
	struct ar_texts root_names, root_paths; /* likewise: folders that it offers */
	struct ar_worker_ports ports;
	struct ar_sandbox *sandbox;
	struct ar_host_processes processes;
	struct ar_host_folders folders;
	struct ar_host_inspector inspector;
	struct ar_redactor *redactor;
	struct ar_arena arena;
};

/* c->data_dir and c->workspaces.dir exist and are of this process alone. Fails with the sentence for the
 * operator; close it then, too. The struct stays in place until the close. */
AR_MUST_USE enum ar_status ar_worker_machine_open(uv_loop_t *loop, const struct ar_config *c,
						  struct ar_worker_machine *ret, struct ar_error *err);

/* Ends what runs, but for processes under their supervisors. The loop runs on, until nothing is left. */
void ar_worker_machine_close(struct ar_worker_machine *m);

/* When the loop has run out. */
void ar_worker_machine_free(struct ar_worker_machine *m);

#endif
