/* What a machine that holds workspaces can do: the four ports through which calls and processes run in them,
 * and its folders. A front end (set.h) offers the same for all machines together. Plain data. */
#ifndef AR_EDGE_WORKER_PORTS_H
#define AR_EDGE_WORKER_PORTS_H

#include "arena.h"
#include "checkpoint.h"
#include "inspect.h"
#include "process.h"
#include "status.h"
#include "tool.h"

#define AR_WORKER_NODES_MAX 64 /* of one cluster */
#define AR_WORKER_NODE_URL_MAX 512

/* The folder of a workspace, made when it is not there. The caller owns it, and what it points to, until
 * done(). */
struct ar_worker_folder {
	struct ar_str home, key; /* names of the folders: of the tenant, and of the workspace below it */
	struct ar_str worker; /* wk_..., that is to have it; absent: this machine */
	struct ar_str root; /* name of a folder that the worker offers; absent: one is made */
	struct ar_arena *arena; /* of the result */
	void (*done)(struct ar_worker_folder *f);
	enum ar_status status; /* result */
	struct ar_error err; /* result: not AR_OK */
	struct ar_str folder; /* result: AR_OK; real path on that machine */
};

/* Each may be NULL: there it is not available. */
struct ar_worker_ports {
	struct ar_process_host *processes;
	struct ar_tool_source *files;
	struct ar_checkpoints *checkpoints;
	struct ar_inspector *inspector;
	/* Exactly one done(), maybe before it returns. */
	void (*find_folder)(void *arg, struct ar_worker_folder *f);
	void *folder_arg;
};

#endif
