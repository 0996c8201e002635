/* Inside the host: what the runtime consists of. Files: host.c (opened and taken down in order), node.c
 * (its part in a cluster), policy.c (what settings allow sessions), stopping.c (how it ends). */
#ifndef AR_HOST_HOST_PRIV_H
#define AR_HOST_HOST_PRIV_H

#include "a2a/host_a2a.h"
#include "ops/evidence_key.h"
#include "access/host_access.h"
#include "arena.h"
#include "cluster.h"
#include "control.h"
#include "engine.h"
#include "hooks.h"
#include "model.h"
#include "ops/loop_time.h"
#include "ops/memory.h"
#include "ops/observers.h"
#include "ops/request_log.h"
#include "ops/lost_writes.h"
#include "ops/store_watch.h"
#include "process_host.h"
#include "evidence/log_checkpoints.h"
#include "host.h"
#include "schedule/zones.h"
#include "secret/renewal.h"
#include "store_open.h"
#include "telemetry/host_telemetry.h"
#include "tools.h"
#include "trigger/triggers.h"
#include "webhook/webhooks.h"
#include "transport.h"
#include "worker/workers.h"
#include "workspace/folders.h"
#include "workspace/removal.h"
#include "workspace/inspector.h"
#include "workspace/server_host.h"

#include <uv.h>

enum ar_stop_phase {
	AR_STOP_NOT = 0,
	AR_STOP_HANDING_OVER, /* the other nodes take our partitions; everything is still served */
	AR_STOP_FINISHING, /* no node takes over: calls under way may end; no work is begun */
	AR_STOP_CLOSING, /* requests under way are answered, commits finish */
	AR_STOP_GIVING_UP, /* the database does not answer: nobody waits for it any more */
	AR_STOP_LEAVING, /* leaves the cluster */
};

struct ar_host {
	const struct ar_config *config;
	const struct ar_host_start *start;
	uv_loop_t *loop; /* the owner's */
	uv_async_t store_wake;
	uv_timer_t engine_timer, stop_timer, sweep_timer;
	uv_prepare_t before_sleep;
	int folder_lock; /* of the data folder, when the store is not in it; -1 = none */
	struct ar_objects *objects; /* of the store: where large content goes; NULL: nowhere else */
	struct ar_store *store;
	struct ar_follow *follow;
	struct ar_models models;
	struct ar_host_hooks hooks;
	struct ar_hook_runner *hook_runner; /* NULL: none is configured */
	struct ar_tools tools;
	struct ar_host_processes processes;
	struct ar_host_folders folders;
	struct ar_host_inspector inspector; /* with workspaces.dir */
	struct ar_host_servers servers; /* of workspaces; with a sandbox */
	struct ar_checkpoints *checkpoints; /* of workspaces; NULL: none are made */
	struct ar_host_workers workers; /* in front of the parts above */
	struct ar_host_removal removal; /* of folders of sessions */
	struct ar_engine *engine;
	struct ar_control *control;
	struct ar_host_access access;
	struct ar_host_webhooks *webhooks; /* NULL: there are none */
	struct ar_host_triggers *triggers; /* the same */
	struct ar_host_telemetry *telemetry; /* NULL: nothing is exported */
	struct ar_log_checkpoints *log_checkpoints; /* NULL: none are made */
	struct ar_http_server *http;
	struct ar_member *member; /* NULL: one node, all is ours */
	struct ar_cluster *cluster;
	struct ar_placement placement;
	struct ar_http_ops ops;
	struct ar_policy policy;
	struct ar_instruction_file *instructions; /* NULL: no file is wanted */
	struct ar_redactor *redactor;
	struct ar_secret_renewal *renewal;
	struct ar_metrics *metrics;
	struct ar_request_log requests;
	struct ar_memory memory;
	struct ar_store_watch store_watch;
	struct ar_lost_writes lost_writes;
	/* NULL: of a cluster, whose other nodes could not read it, or without a file */
	struct ar_engine_mark *work_mark;
	struct ar_evidence_key evidence_key;
	struct ar_engine_mark died;
	struct ar_loop_time loop_time;
	struct ar_zones zones;
	struct ar_arena arena;
	enum ar_stop_phase phase;
	ar_usec phase_until; /* monotonic */
	enum ar_run_end end;
	bool is_quiet; /* while finishing: no call was under way at the last look */
	bool is_ready;
	bool is_closing;
	bool is_over; /* nothing is left to do but to free it */
};

/* host.c */
void ar_host_wake(void *runtime); /* any thread: the store or the member has something */

/* policy.c: when the store, the models and the hooks are open */
void ar_host_read_policy(struct ar_host *r, const struct ar_config *c);

/* node.c */
AR_MUST_USE enum ar_status ar_node_join(struct ar_host *r, struct ar_error *err); /* when the store is open */
void ar_node_serve(struct ar_host *r); /* after the listeners: publishes our address to the others */
enum ar_place ar_node_find(void *runtime, struct ar_str session_key, struct ar_str *ret_address);
void ar_node_describe(void *runtime, struct ar_buf *out);
bool ar_node_is_ready(void *runtime, struct ar_str *ret_why);
bool ar_node_is_cut_off(void *runtime); /* it had its place, and has not reached the database for a lease */
bool ar_node_is_store_out(void *runtime);
void ar_node_drain(void *runtime);
void ar_node_fenced(void *runtime);

/* workspace/open.c: when the tools are open, before the engine */
AR_MUST_USE enum ar_status ar_host_workspaces_open(struct ar_host *r, const struct ar_config *c,
						   struct ar_error *err);
/* When the toolbox is there, before the engine: the port for servers of workspaces. */
void ar_host_open_servers(struct ar_host *r, const struct ar_config *c);

/* stopping.c */
void ar_host_stop(struct ar_host *r, enum ar_run_end end);

#endif
