/* Inside the engine: a session in memory, its commit, its open steps, timers. */
#ifndef AR_ENGINE_PRIV_H
#define AR_ENGINE_PRIV_H

#include "engine.h"
#include "map.h"
#include "mem.h"
#include "request/turnstile.h"
#include "toolbox.h"

struct ar_due;
struct ar_tenant_count; /* quota/usage.c */

/* The one batch of a session that is in flight. */
struct ar_commit {
	struct ar_arena arena;
	struct ar_decision decision;
	struct ar_engine_request *request;
	struct ar_store_append append;
	struct ar_store_receipt_get lookup;
	struct ar_store_audit audit; /* the request's, with its place */
	struct ar_store_session_row row;
	struct ar_buf body, snapshot;
	struct ar_fact *facts;
	ar_usec began; /* monotonic: when it was handed to the store */
};

struct ar_timer {
	struct ar_list node; /* by due time */
	ar_usec due; /* monotonic */
	struct ar_live *live; /* whose it is; NULL: the engine's own */
	void (*fire)(struct ar_timer *t);
	/* It will not fire: the engine ends, or the session moves away. NULL when nothing hangs on it. */
	void (*drop)(struct ar_timer *t);
};

/* The contents that open turns of a session go on from, and which of them are gone; see
 * recover/contents.c. */
struct ar_contents {
	struct ar_store_blobs_get get;
	struct ar_arena arena;
	struct ar_hash *hashes;
	struct ar_str *refs, *missing;
	size_t count, at, missing_count;
	bool is_known; /* all were looked for */
};

/* A session in memory. */
struct ar_live {
	struct ar_engine *engine;
	char session_key[AR_SESSION_KEY_LEN];
	unsigned partition;
	struct ar_session state;
	uint64_t load_number; /* of the load or the beginning that the state comes from */
	bool is_loaded, is_loading;
	bool has_row, row_active, row_open; /* of the row that it wrote last, since it was loaded */
	bool is_in_flight, is_durable; /* not durable: the state is ahead of the store, nobody may look */
	bool is_pumping; /* further up the stack: new inputs are seen there */
	bool is_owned; /* this process carries the open work; false right after a load */
	/* the store did not take what recovery says: who looks no longer waits for that */
	bool is_shown_early;
	/* another node is to have it: nothing new is begun, it goes when nothing is in flight */
	bool is_released;
	bool is_removed; /* from the store: goes as soon as it is at rest */
	bool is_borrowed; /* the state is a verification's, for the commit of its repair only */
	ar_usec skew; /* of the wall clock against the monotonic one, at its newest decision; 0: none yet */
	struct ar_list inbox; /* struct ar_engine_request */
	struct ar_list views; /* struct ar_engine_view */
	struct ar_list verifiers; /* struct ar_verify that wait for the session to be quiet */
	struct ar_list steps; /* struct ar_live_step */
	struct ar_list calls; /* struct ar_live_call */
	struct ar_list processes; /* struct ar_live_process */
	struct ar_list hooks; /* struct ar_live_hook */
	struct ar_list inspects; /* struct ar_live_inspect */
	struct ar_list servers; /* struct ar_live_servers */
	struct ar_list checkpoints; /* struct ar_live_checkpoint */
	struct ar_list sends; /* struct ar_live_send */
	struct ar_list wakes; /* what its timers will bring back; see effects.c */
	struct ar_list idle; /* in the engine's list of idle sessions, or alone */
	struct ar_list working; /* in the engine's list of sessions that something is done for, or alone */
	struct ar_list unrecovered; /* in the engine's list of sessions that wait for tools, or alone */
	struct ar_store_load load;
	struct ar_commit commit;
	struct ar_contents contents;
	struct ar_engine_request recovery;
	struct ar_timer recovery_again; /* when the store could not take it */
	struct ar_step_output *saved; /* what chunks kept of open steps, for recovery; in saved_arena */
	size_t saved_count;
	struct ar_arena saved_arena;
	size_t timers; /* running */
	size_t busy; /* store operations of its steps in flight */
	bool is_scanned; /* the start-up scan counts it */
	struct ar_tenant_count *usage; /* of its tenant; NULL: without quotas, or not known yet */
	struct ar_list held; /* in the list of those that wait for it, or alone */
	int64_t turns_counted, processes_counted; /* there, for this session */
	struct ar_day_spent day_counted; /* the same, or found in the store */
	bool is_day_counted;
	struct ar_live_policy *policy; /* of its workspace (workspace/policy_run.c); NULL: not needed yet */
};

struct ar_receipt_cache_entry {
	char *scope_key;
	size_t len;
	struct ar_hash input;
	char *reply;
};

/* Forgetting; see upkeep.c. */
struct ar_session_key {
	char session_key[AR_SESSION_KEY_LEN];
};

struct ar_upkeep {
	struct ar_engine *engine;
	ar_usec keep, keep_audit, keep_usage; /* 0 = for ever */
	struct ar_timer timer;
	struct ar_store_upkeep op;
	struct ar_partition_set owned;
	struct ar_session_key after;
	bool has_after;
};

#define AR_RECEIPT_CACHE 4096
#define AR_STOPPING "the runtime is stopping; connect again in a moment"
#define AR_STORE_RETRY 500000 /* microseconds before an input that the store could not take is tried again */

struct ar_engine {
	struct ar_sender *sender; /* NULL: no session reaches another one */
	struct ar_engine_options o;
	struct ar_map sessions; /* session key -> struct ar_live */
	struct ar_list idle; /* least recently used first */
	size_t idle_count, exports; /* the latter: under way */
	struct ar_list working;
	struct ar_list unrecovered; /* read from the store with open work, before all tools were found */
	struct ar_timer tools_again; /* while there are some */
	struct ar_list timers, watches; /* the latter struct ar_engine_watch */
	struct ar_json_parser *json, *member_json, *decide_json;
	struct ar_map receipts; /* scope\0key -> entry */
	struct ar_receipt_cache_entry receipt_ring[AR_RECEIPT_CACHE];
	size_t receipt_next;
	size_t expected; /* bytes of conversations on their way to model requests */
	struct ar_engine_counts counts;
	struct ar_turnstile turnstile; /* of model calls */
	uint64_t loads; /* states that were read or begun, ever */
	struct ar_engine_load load[AR_PARTITIONS];
	struct ar_partition_set owned;
	ar_usec since[AR_PARTITIONS]; /* when it was gained, by the wall clock */
	struct ar_partition_set scan_set, scan_later; /* what is scanned now, and what came to it meanwhile */
	struct ar_store_sessions scan;
	size_t scan_open;
	struct ar_timer scan_again;
	struct ar_upkeep upkeep;
	struct ar_due *due; /* schedule/due.c; NULL: nothing was looked for yet */
	struct ar_map workers; /* id -> struct ar_worker_entry, of workers that sessions here use */
	struct ar_map at_workers; /* session key -> struct ar_at_worker, with open work at one of them */
	struct ar_map usage; /* tenant -> struct ar_tenant_count */
	bool is_scanning;
	bool has_scan_failed; /* by the store; some sessions with open work may not have been seen */
	bool is_workspace_in_doubt; /* a write to one may be stored without its facts having been seen */
	bool is_stopping, is_draining, is_final_shutdown; /* the last: the engine does not start again */
	struct ar_damaged *damaged; /* verify/damaged.c; NULL: no session is known to be */
};

/* live.c */
struct ar_live *ar_live_get(struct ar_engine *e, struct ar_str session_key);
void ar_live_forget(struct ar_live *l); /* drops the state; it is loaded again when needed */
void ar_live_wake(struct ar_live *l); /* out of the idle list */
void ar_live_settle(struct ar_live *l); /* into it, and eviction */
void ar_live_drop(struct ar_engine *e,
		  struct ar_str session_key); /* out of memory, or as soon as it is at rest */
struct ar_str ar_live_session_key(const struct ar_live *l);

/* load.c */
void ar_live_load(struct ar_live *l);
void ar_live_refuse(struct ar_live *l, uint16_t code, const char *message); /* everything that waits */
void ar_live_begin(struct ar_live *l); /* a session that does not exist yet */

/* pump.c */
void ar_live_pump(struct ar_live *l);
void ar_live_decide(struct ar_live *l,
		    struct ar_engine_request *r); /* an input for which everything was read */
void ar_inbox_push(struct ar_live *l,
		   struct ar_engine_request *r); /* from inside: never refused as overloaded */
void ar_request_finish(struct ar_engine_request *r, enum ar_status status);
void ar_request_refuse(struct ar_engine_request *r, uint16_t code, const char *message);

/* commit.c */
void ar_commit_start(struct ar_live *l);
void ar_commit_reset(struct ar_commit *c);
void ar_commit_release(struct ar_commit *c); /* gives back the memory that a reset one keeps for the next */

/* receipts.c: recent receipts, so that most repeats never reach the store */
const struct ar_receipt_cache_entry *ar_receipts_find(struct ar_engine *e, const struct ar_store_receipt *r);
void ar_receipts_keep(struct ar_engine *e, const struct ar_store_receipt *r);
void ar_receipts_fini(struct ar_engine *e);
void ar_request_repeat(struct ar_engine_request *r, const struct ar_hash *input, struct ar_str reply);

/* effects.c and step.c */
/* How far the wall clock was set back between two looks at its skew, below 0; 0: it was not.
 * Corrections that clocks make all the time, and steps forward, are none. */
ar_usec ar_clock_step(ar_usec before, ar_usec now);

/* Something of this turn happened: what waits for its silence begins to wait anew. */
void ar_live_reset_idle(struct ar_live *l, struct ar_str turn);

void ar_effects_run(struct ar_live *l, const struct ar_decision *d);
void ar_step_plan(struct ar_live *l,
		  const struct ar_effect_model_call *effect); /* copies what it needs; nothing is asked yet */
void ar_steps_begin(struct ar_live *l); /* the planned ones */
bool ar_steps_wait(const struct ar_live *l, struct ar_str turn); /* for a place among the calls */
void ar_step_cancel(struct ar_live *l, struct ar_str step);
bool ar_step_may_have_chunks(struct ar_live *l,
			     struct ar_str step); /* also when a process before us began it */
void ar_step_close(struct ar_live *l, struct ar_str step); /* its end is durable */
void ar_steps_release(struct ar_live *l); /* none of them ends in a fact */
void ar_steps_drop(struct ar_live *l); /* at the end of the process */

/* tool_run.c: the same for tool calls */
void ar_tool_plan(struct ar_live *l, const struct ar_effect *effect); /* TOOL_CALL */
void ar_tools_begin(struct ar_live *l);
void ar_tool_cancel(struct ar_live *l, struct ar_str call);
void ar_tool_answer(struct ar_live *l,
		    const struct ar_effect_tool_answer *effect); /* a person's, to a call that runs */
void ar_tools_release(struct ar_live *l);
void ar_tools_drop(struct ar_live *l);

/* hook_run.c: and for handlers of hooks */
void ar_hook_plan(struct ar_live *l, const struct ar_effect_hook_run *effect);
void ar_hooks_begin(struct ar_live *l);
void ar_hook_cancel(struct ar_live *l, struct ar_str run);
void ar_hooks_release(struct ar_live *l);
void ar_hooks_drop(struct ar_live *l);

/* workspace/inspect_run.c: and for looks at the files of a workspace */
void ar_inspect_plan(struct ar_live *l, const struct ar_effect_inspect *effect);
void ar_inspects_begin(struct ar_live *l);
void ar_inspects_release(struct ar_live *l);
void ar_inspects_drop(struct ar_live *l);

/* workspace/servers_run.c: and for servers of a workspace that are started */
void ar_servers_plan(struct ar_live *l, const struct ar_effect_servers *effect);
void ar_servers_begin(struct ar_live *l);
void ar_servers_release(struct ar_live *l);
void ar_servers_drop(struct ar_live *l);
const struct ar_server *ar_servers_copy(struct ar_arena *a, const struct ar_server *of, size_t count);
const struct ar_inventory *ar_live_inventory(const struct ar_engine *e, const struct ar_session *s);

/* checkpoint/run.c: and for checkpoints of its workspace */
void ar_checkpoint_plan(struct ar_live *l, const struct ar_effect_checkpoint *effect);
void ar_checkpoints_begin(struct ar_live *l);
void ar_checkpoint_cancel(struct ar_live *l, struct ar_str id);
void ar_checkpoints_release(struct ar_live *l);
void ar_checkpoints_drop(struct ar_live *l);

/* verify.c: whether a verification holds the session from now on, as a commit does: inputs and lookers
 * wait. Called when nothing is in flight. */
bool ar_verify_hold(struct ar_live *l);

/* timers.c */
void ar_timer_start(struct ar_engine *e, struct ar_timer *t, ar_usec delay);
bool ar_timer_stop(struct ar_timer *t); /* false: it has fired already */
void ar_timers_cancel(struct ar_live *l);
void ar_timers_drop(struct ar_engine *e);

/* upkeep.c */
void ar_upkeep_fini(struct ar_upkeep *u);
void ar_upkeep_end_readers(struct ar_engine *e,
			   struct ar_str session_key); /* they hear that it was removed */

/* recovery.c: a session was read from the store with open work. It goes on in ar_contents_look()
 * when all tools are found, and until then is loading: inputs and readers wait. */
void ar_recovery_prepare(struct ar_live *l);

/* The engine stops, or the session is released: one that waits so is left as the log has it, and
 * may be freed. False: it does not wait. */
bool ar_recovery_leave(struct ar_live *l);

/* After every load. */
void ar_recovery_loaded(struct ar_live *l);

/* recover/contents.c: looks for the contents of a session that was just read;
 * ar_live_came_back(l, true) goes on, now or later. */
void ar_contents_look(struct ar_live *l);
void ar_contents_fini(struct ar_live *l);

/* load.c: the load is over; false: without a state. The session may be freed. */
void ar_live_came_back(struct ar_live *l, bool is_back);

/* mark.c: what is known of this process when it dies. From enter() to leave() it works on this session. */
struct ar_mark_before {
	char session_key[AR_SESSION_KEY_LEN];
};

struct ar_mark_before ar_mark_enter(const struct ar_live *l);
void ar_mark_leave(struct ar_engine *e, struct ar_mark_before before);
bool ar_mark_is_worked_on(const struct ar_session *s); /* something is done for one of its turns */
void ar_mark_work(struct ar_live *l, bool is_worked_on);
bool ar_mark_is_bystander(const struct ar_live *l); /* the last process died at something else */

#endif
