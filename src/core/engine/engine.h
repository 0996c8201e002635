/* The pump: inputs of a session wait in its inbox; one at a time is decided, made durable, applied,
 * published, answered, and its effects are started. Results of effects come back into the inbox,
 * nowhere else. Sessions are loaded on demand and leave memory when nothing of them runs. Owner: the
 * loop thread; the store and the provider call back on it. */
#ifndef AR_ENGINE_ENGINE_H
#define AR_ENGINE_ENGINE_H

#include "checkpoint.h"
#include "clock.h"
#include "hook.h"
#include "inspect.h"
#include "workspace/servers.h"
#include "metric.h"
#include "partition_set.h"
#include "provider.h"
#include "publish.h"
#include "sender.h"
#include "session.h"
#include "store.h"
#include "worker.h"

struct ar_engine;
struct ar_sign_key;
struct ar_zone;
struct ar_redactor;
struct ar_toolbox;
struct ar_engine_request;
struct ar_engine_view;

/* A provider by the name of an entry of policy->models; several may share one. */
struct ar_provider_slot {
	struct ar_str name;
	struct ar_provider *provider;
};

/* What the engine works on, written as it goes into memory that outlives the process (a mapped file):
 * the key of a session, or zeros. */
struct ar_engine_mark {
	char working[AR_SESSION_KEY_LEN]; /* whose inputs, loading or model output are handled right now */
	/* the only session that something is done for; zeros while there are several */
	char alone[AR_SESSION_KEY_LEN];
};

struct ar_engine_options {
	struct ar_store *store;
	struct ar_follow *follow;
	const struct ar_provider_slot *providers; /* who answers for each entry of policy->models; borrowed */
	size_t provider_count;
	struct ar_toolbox *toolbox; /* NULL: only clients run tools */
	struct ar_process_host *processes; /* NULL: none is run */
	bool ends_processes; /* with the runtime; otherwise they go on, and the next start finds them */
	struct ar_clock *clock;
	const struct ar_policy *policy; /* borrowed */
	struct ar_hook_runner *hooks; /* NULL: no hook is configured */
	struct ar_inspector *inspector; /* with policy->inspects_workspaces */
	struct ar_servers *servers; /* with policy->starts_servers */
	const struct ar_hook_handler *handlers; /* borrowed: who is asked, by the names of the policy */
	size_t handler_count;
	struct ar_checkpoints *checkpoints; /* NULL: no files of workspaces are kept */
	struct ar_workers *workers; /* the engine sets its on_changed; NULL: no worker is ever reached */
	const struct ar_redactor *redactor; /* borrowed; NULL: nothing is masked */
	bool redact_inputs; /* in commands too, not only in what models say */
	uint64_t snapshot_every;
	size_t session_cache; /* idle sessions kept */
	size_t model_calls; /* most of them at once; more wait; 0: no limit */
	struct ar_metrics *metrics; /* of catalog/metrics.cat; borrowed; NULL: nothing is counted */
	const struct ar_sign_key *(*evidence_key)(void *arg); /* that signs; NULL: evidence is not signed */
	void *evidence_arg;
	size_t commit_backlog; /* appends in flight before writes are refused as overloaded */
	struct ar_engine_mark *mark; /* NULL: not known; every turn that was open counts as worked on */
	struct ar_engine_mark died; /* what the last process had left in it */
	void (*on_blocked)(void *arg,
			   struct ar_str session); /* a turn that was lost too often; NULL: nobody asks */
	void (*on_lost_write)(void *arg, struct ar_str session,
			      struct ar_str what); /* nobody is asked about it; NULL: not reported */
	void (*on_removed)(void *arg,
			   struct ar_str session_key); /* by retention, certainly; NULL: not told */
	/* facts are durable, and the session has them; NULL: not told */
	void (*on_committed)(void *arg, const struct ar_session *s, const struct ar_event *facts,
			     size_t count);
	/* the epoch is over: nothing more can be written, everything here is to be dropped */
	void (*on_fenced)(void *arg);
	void *arg;
};

/* A write on its way through a session. The caller owns it until done(). */
struct ar_engine_request {
	struct ar_list node;
	struct ar_str session; /* the 26 characters */
	/* args borrowed until done(); time and policy are the engine's to fill. A command to a session
	 * of another tenant is refused as one to a session that does not exist. */
	struct ar_input input;
	bool may_create; /* the session need not exist */
	bool is_fresh; /* its id was minted for this request: nothing can be stored under it */
	bool with_snapshot; /* a snapshot is due whatever the count of facts says */
	/* rows to write beside those of the decision; borrowed until done() */
	const struct ar_store_task_row *tasks;
	size_t task_count;
	const struct ar_store_action_row *actions; /* the same */
	size_t action_count;
	/* who asks for it, written when something is; its time and place in the log are the engine's to
	 * fill. Borrowed until done(); NULL: nothing is recorded */
	const struct ar_store_audit *audit;
	bool has_receipt;
	struct ar_store_receipt receipt; /* scope, key, input hash; the reply is filled by the engine */
	void (*done)(struct ar_engine_request *r);

	enum ar_status status; /* results */
	struct ar_error err;
	struct ar_str reply; /* valid inside done() */
};

/* A look at committed state. `session` is NULL when there is none (err says why); valid
 * inside done() only. */
struct ar_engine_view {
	struct ar_list node;
	struct ar_str session;
	struct ar_str tenant; /* a session of another one is as if there were none; absent: whosever */
	void (*done)(struct ar_engine_view *v, const struct ar_session *session, const struct ar_error *err);
};

struct ar_engine_counts {
	size_t sessions; /* in memory */
	size_t steps; /* open model and tool calls */
	/* those of them that end with this process: models, hooks, and tools that are no
	 * process of their own */
	size_t calls;
	size_t waiting; /* model calls that wait for a place, not among those above */
	size_t commits; /* in flight */
	uint64_t facts; /* committed since start */
};

struct ar_engine *ar_engine_new(const struct ar_engine_options *o);

/* Who takes commands of sessions to other sessions; borrowed. Without it they are answered as unavailable. */
void ar_engine_send_by(struct ar_engine *e, struct ar_sender *sender);

/* Ends of model calls are ignored from now on (the next start finds the steps open and says so), writes
 * are refused, processes are left. Then close the provider, the process host and the store, whose last
 * callbacks still come here, then free. */
void ar_engine_stop(struct ar_engine *e);

/* The runtime is about to stop for good: from now on processes that are to end with it do so when their
 * session is left. Otherwise a session that is left is another's, and so are its processes. */
void ar_engine_expect_stop(struct ar_engine *e, bool is_for_good);

/* Nothing new is begun from now on: calls that decisions ask for stay as the log has them, for the next
 * start to take up. Those under way go on, and their ends are recorded. */
void ar_engine_drain(struct ar_engine *e);
void ar_engine_free(struct ar_engine *e);

/* A short text for the record, without its secrets; in the arena. */
struct ar_str ar_engine_mask(const struct ar_engine *e, struct ar_str text, struct ar_arena *a);

/* Exactly one done() each; it may come before the call returns. */
void ar_engine_write(struct ar_engine *e, struct ar_engine_request *r);
void ar_engine_look(struct ar_engine *e, struct ar_engine_view *v);

/* Output of a process that still runs: a window of what is kept of one stream. */
struct ar_engine_output {
	struct ar_str session_key, process;
	int stream; /* enum ar_process_stream */
	uint64_t from; /* wanted first byte */
	struct ar_str bytes; /* found; valid until control returns to the loop */
	uint64_t offset, size; /* of the first of them, and all that it wrote so far */
};

/* False: this runtime does not have the process. Inside done() of a view of its session. */
bool ar_engine_output(struct ar_engine *e, struct ar_engine_output *o);

enum ar_engine_woken {
	AR_WOKEN_BY_FACT = 1,
	AR_WOKEN_LATE, /* its time is over, or nothing new is begun any more */
	AR_WOKEN_STOPPED, /* the engine stops: nothing can be read */
};

/* A wait for the next fact of a session. The caller owns it until done(), which comes exactly once. */
struct ar_engine_watch {
	struct ar_list node;
	struct ar_str session;
	ar_usec delay; /* the longest wait */
	void (*done)(struct ar_engine_watch *w, enum ar_engine_woken why);
	struct ar_watch_timer *timer; /* the engine's */
};

void ar_engine_watch(struct ar_engine *e, struct ar_engine_watch *w);

/* Committed state that is in memory now, or NULL: then look, or ask the store. Valid until
 * control returns to the loop. */
const struct ar_session *ar_engine_peek(const struct ar_engine *e, struct ar_str session_key);

/* Of a session that a view or a peek shows: a number that no other session has, nor the same one after
 * it was read from the store again. Together with `head` it names the state. */
uint64_t ar_engine_load_of(const struct ar_session *s);

/* Whether the session is in memory, and that tenant's. False says nothing: the store knows. */
bool ar_engine_is_of(const struct ar_engine *e, struct ar_str session_key, struct ar_str tenant);

/* What is said of a session that does not exist, or might as well not. */
#define AR_NO_SESSION "there is no such session"

/* These partitions are ours from now on (NULL: all): finds the sessions with open work that nobody
 * carries and takes it up, in the background. */
void ar_engine_recover(struct ar_engine *e, const struct ar_partition_set *gained);
bool ar_engine_is_recovering(const struct ar_engine *e); /* sessions with open work may still be found */

/* The partition is to move: everything of it is left as it stands in the log. It is quiet
 * when its load has no sessions. */
void ar_engine_release(struct ar_engine *e, unsigned partition);

struct ar_engine_load {
	unsigned sessions; /* in memory */
	unsigned steps; /* open model and tool calls */
};

struct ar_engine_load ar_engine_load(const struct ar_engine *e, unsigned partition);

/* Forgets, from now on and in the background, sessions of ours that are not active and were last
 * touched longer than `keep` ago; 0 keeps them for ever, and leaves to the store what else it does from
 * time to time. The same of audit entries older than `keep_audit`, and of what was used longer than
 * `keep_usage` ago. Call once. */
void ar_engine_keep(struct ar_engine *e, ar_usec keep, ar_usec keep_audit, ar_usec keep_usage);

/* Memory is wanted: idle sessions leave, the oldest half of them or all. They come back from the store
 * when they are needed. Returns how many left. */
size_t ar_engine_shed(struct ar_engine *e, bool is_all);

/* Bytes of conversations that model calls about to begin will need. */
size_t ar_engine_expected(const struct ar_engine *e);

/* Monotonic time of the next timer, 0 = none; and letting due ones fire. */
ar_usec ar_engine_deadline(const struct ar_engine *e);
void ar_engine_tick(struct ar_engine *e);

/* What decisions are made by now. */
const struct ar_policy *ar_engine_policy(const struct ar_engine *e);

/* The same with the tools that this session has; in the arena where it differs. */
const struct ar_policy *ar_engine_policy_of(const struct ar_engine *e, const struct ar_session *s,
					    struct ar_arena *a);

/* Whether a session in the workspace that is in memory works on a turn. */
bool ar_engine_has_turns_in(const struct ar_engine *e, struct ar_str workspace);

/* The worker of the session, or of its pool that gets the next call, as this node finds it now. */
struct ar_worker_status ar_engine_worker_status(struct ar_engine *e, const struct ar_session *s);

/* A worker of that tenant's pool that is connected and takes calls; absent: there is none. The text lives
 * until the loop turns. */
struct ar_str ar_engine_pool_worker(struct ar_engine *e, struct ar_str tenant, struct ar_str pool);

struct ar_engine_counts ar_engine_counts(const struct ar_engine *e);

/* What the sessions in memory have in hand; looks at each of them. */
struct ar_engine_work {
	size_t running, waiting, queued; /* turns: worked on; blocked or asking; not begun */
	size_t asking; /* questions that wait for people */
};

struct ar_engine_work ar_engine_work(const struct ar_engine *e);

/* What a tenant uses of its quotas now. Exactly one done(), which may come before the call returns. */
struct ar_engine_usage {
	struct ar_list node;
	struct ar_str tenant; /* lives until done() */
	void (*done)(struct ar_engine_usage *u);
	/* Result: other_tokens and other_cost are those of all its sessions. Without a limit of one kind
	 * it is not counted. */
	struct ar_tenant_usage usage;
};

void ar_engine_usage(struct ar_engine *e, struct ar_engine_usage *u);

/* Who finds zones by their names: NULL, if there is none of that name. They live as long as the engine.
 * Without it only UTC is known. */
typedef const struct ar_zone *ar_engine_zone_fn(void *arg, struct ar_str name);
void ar_engine_find_zones(struct ar_engine *e, ar_engine_zone_fn *find, void *arg);

/* The zone of that name; NULL: UTC, also if none is named, or one that is not known. */
const struct ar_zone *ar_engine_zone(const struct ar_engine *e, struct ar_str name, bool *ret_is_unknown);

struct ar_checkpoints *ar_engine_checkpoints(const struct ar_engine *e); /* those of the options */
struct ar_metrics *ar_engine_metrics(const struct ar_engine *e); /* those of the options */
ar_usec ar_engine_now(const struct ar_engine *e); /* monotonic, by its clock */

#endif
