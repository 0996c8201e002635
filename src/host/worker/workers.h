/* The daemon's side of workers: one set (set.h) in front of this machine's own parts, so that a call takes
 * the same way whether its workspace is here or elsewhere. Loop thread. */
#ifndef AR_HOST_WORKER_WORKERS_H
#define AR_HOST_WORKER_WORKERS_H

#include "config.h"
#include "control.h"
#include "member.h"
#include "set.h"
#include "transport.h"
#include "workspace/folders.h"

struct ar_host_workers {
	struct ar_worker_set *set; /* NULL: not open */
	const struct ar_worker_ports *ports; /* the front ends: what the engine and the tools use */
	struct ar_host_folders *folders; /* of this machine */
	const char *node_url; /* workers.node_url; empty: workers are connected to one node */
	char *own_url; /* NULL: none */
	uint64_t beat; /* of the table that workers know */
};

/* local: parts of this machine, each may be NULL; the folders stay in place until the close. */
void ar_host_workers_open(uv_loop_t *loop, const struct ar_config *c, const struct ar_worker_ports *local,
			  struct ar_host_folders *folders, struct ar_host_workers *ret);

void ar_host_workers_find_folder(void *workers, struct ar_folder_request *r); /* an ar_control_folder_fn */

/* This node, and all nodes, for workers that are connected to each of them. Nothing without node_url. */
void ar_host_workers_set_self(struct ar_host_workers *w, const char *id, const char *address);
void ar_host_workers_set_table(struct ar_host_workers *w, const struct ar_member_beat *table);

/* For the options of the transport. */
struct ar_http_workers ar_host_workers_of(struct ar_host_workers *w);

/* After the engine was stopped, before the local parts are closed. Fine for what was never opened. */
void ar_host_workers_close(struct ar_host_workers *w);

#endif
