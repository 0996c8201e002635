/* A whole runtime in one process: the core as it is, fake ports, a virtual clock, and every choice
 * drawn from one seed. Files: world.c (build, run, crash, end), move.c, ports.c (store and clock),
 * provider.c, hooks.c, tools.c, checkpoints.c, workers.c, process.c (processes that outlive the runtime),
 * client.c and client_ask.c, reader.c, log.c (what is stored), laws.c and rest.c (what must hold), main.c.
 * Single-threaded; a run is a pure function of its seed. */
#ifndef SIM_H
#define SIM_H

#include "control.h"
#include "cursor.h"
#include "engine.h"
#include "limits/route.h"
#include "mem.h"
#include "memory.h"
#include "toolbox.h"

#include <string.h>

#define SIM_NEVER INT64_MAX
#define SIM_MS 1000
#define SIM_MODELS 3
#define SIM_ACCOUNT "local" /* calls name nobody: they are the operator's */

struct sim;

/* Something that acts at a time; the earliest acts next. */
struct sim_actor {
	struct ar_list node;
	ar_usec at;
	void (*step)(struct sim *s, struct sim_actor *a);
};

/* What the seed decided before the run. */
struct sim_plan {
	struct ar_store_fault_plan store;
	uint32_t move_permille; /* looks of the mover that let a partition go */
	uint32_t hold_permille; /* appends whose done() comes later than their effect */
	uint64_t snapshot_every;
	size_t session_cache, commit_backlog, ring_bytes;
	unsigned clients, readers, actions, crashes, sessions;
	bool is_patient; /* nobody interrupts: queues grow */
	ar_usec pace; /* longest pause between two pieces of a stream */
};

/* How often the interesting things happened, over all seeds. */
struct sim_counts {
	uint64_t seeds, facts, turns, hooks, completed, failed, cancelled, calls, crashes, fences, refused,
		repeats, steers, forks, rollbacks, conflicts, moves, resumes, frames, rejoins, overtaken,
		reads, processes, attaches, checkpoints, worker_changes, worker_waits, worker_losses;
};

/* A store in front of the faulty one: knows what is in flight, and can hold done() back. */
struct sim_store {
	struct ar_store store;
	struct ar_store *memory, *faulty;
	struct ar_list flight; /* struct sim_op, see ports.c */
	bool is_dead; /* between crash and restart nothing is done any more */
	struct sim_actor actor;
};

/* One stored fact, decoded. */
struct sim_fact {
	struct ar_event e;
	struct ar_str json;
};

/* The stored log of a session, read straight from the memory store. */
struct sim_log {
	char session_key[AR_SESSION_KEY_LEN];
	struct ar_arena arena;
	struct sim_fact *facts;
	size_t count, rows;
};

/* All that a model said in one output of a step. */
struct sim_said {
	struct ar_str key;
	struct ar_buf bytes;
};

/* Bytes of an open step that were in the store when its process died. */
struct sim_saved {
	struct ar_str step;
	uint64_t len;
};

/* One turn that a client wants. */
struct sim_submit {
	unsigned number;
	struct ar_str body, other; /* the request; and one with the same ids and another text */
	struct ar_str text;
	struct ar_str key; /* of its receipt; absent: a repeat would be another turn */
	bool was_acked, was_lost; /* answered with 202; a crash took an answer */
	struct ar_str reply, session_key, thread, turn;
	unsigned facts; /* turn.submitted with its text, counted at the end */
};

#define SIM_WORKER_KEY "0000000000maaaaaaaaaaaaaaa"
#define SIM_WORKER "wk_" SIM_WORKER_KEY

/* The worker that has the workspace, in seeds that have one. */
struct sim_worker {
	struct ar_workers port;
	struct sim_actor actor;
	uint64_t random; /* its own chance */
	enum ar_worker_state state;
	bool is_used;
};

struct sim {
	uint64_t seed, random;
	bool is_loud;
	struct ar_clock clock;
	ar_usec now;
	uint64_t steps, minted;
	unsigned generation; /* of the runtime: grows with every crash */
	struct sim_plan plan;
	struct ar_policy policy;
	struct ar_arena arena; /* what lives as long as the run */
	struct ar_buf trace;
	struct ar_json_parser *json, *member_json;
	struct sim_counts *counts;

	struct sim_store store;
	struct ar_provider provider;
	struct ar_hook_runner hooks;
	struct ar_tool_source source;
	struct ar_toolbox *toolbox;
	struct ar_process_host host;
	struct ar_checkpoints checkpoints;
	struct sim_worker worker;
	struct ar_str workspace; /* of the sessions that name one */
	uint64_t files; /* as they are now: a state is a number */
	uint64_t states; /* that there were */
	uint64_t handles; /* given out */
	struct ar_follow *follow;
	struct ar_engine *engine;
	struct ar_provider_slot slots[SIM_MODELS];
	struct ar_control *control;
	struct ar_list actors, calls, hook_runs, tool_calls, checkpoint_runs, procs, readers, clients;
	struct sim_actor fate, mover, finder, files_actor;
	struct ar_partition_set away; /* partitions that are not ours for a while */
	struct ar_placement placement;
	unsigned crashes_left;
	bool is_calm; /* the weather is over: models answer, clients only finish what they began */

	struct ar_map logs; /* core -> struct sim_log */
	struct ar_map asked; /* modelRequestIds that a call was made for, and runs of hooks that were */
	struct ar_map launched; /* toolCallId -> struct sim_proc */
	struct ar_map interrupted; /* turnIds whose interruption was acknowledged */
	struct ar_map said; /* what models really said: struct sim_said by step, kind, index */
	struct ar_map saved; /* step -> struct sim_saved, as the newest crash found it */
	struct sim_submit **submits;
	size_t submit_count;
};

/* ---- main.c ---- */
void sim_say(struct sim *s, const char *who, const char *fmt, ...) AR_PRINTF(3, 4);
void sim_fail(struct sim *s, const char *fmt, ...) AR_PRINTF(2, 3) AR_NORETURN;
extern struct sim *sim_current; /* for what the linker wraps, and for the last words of an abort */

/* ---- world.c ---- */
void sim_begin(struct sim *s, uint64_t seed, struct sim_counts *counts);
void sim_settle(struct sim *s); /* runs until nothing is left to do */
void sim_end(struct sim *s);
uint64_t sim_random(struct sim *s);
uint64_t sim_below(struct sim *s, uint64_t n); /* 0 <= result < n */
bool sim_chance(struct sim *s, unsigned permille);
void sim_actor_start(struct sim *s, struct sim_actor *a, ar_usec at,
		     void (*step)(struct sim *, struct sim_actor *));
void sim_actor_by(struct sim_actor *a, ar_usec at); /* at that time or earlier */
struct ar_str sim_core_new(struct sim *s);

/* ---- ports.c ---- */
void sim_ports_open(struct sim *s);
void sim_store_crash(
	struct sim *s); /* done() of all that was in flight comes with AR_E_IO, to clean up behind the dead */
void sim_note_saved(struct sim *s); /* what the store has of open steps now is what recovery may count on */
struct ar_memory *sim_memory(const struct sim *s);

/* ---- move.c ---- */
void sim_mover_open(struct sim *s);

/* ---- provider.c ---- */
void sim_provider_open(struct sim *s);
void sim_provider_drop(struct sim *s); /* open calls are forgotten */
struct ar_str sim_said(struct sim *s, struct ar_str step, int kind, uint32_t index); /* empty when nothing */
void sim_said_close(struct sim *s);

/* ---- hooks.c ---- */
#define SIM_HOOKS 12
extern const struct ar_hook_rule sim_hook_rules[SIM_HOOKS];
extern const struct ar_hook_handler sim_hook_handlers[SIM_HOOKS];
void sim_hooks_open(struct sim *s);
void sim_hooks_drop(struct sim *s); /* open runs are forgotten */

/* ---- tools.c ---- */
void sim_tools_open(struct sim *s);
void sim_tools_lose(struct sim *s); /* they have to be found again, which may take a while */
void sim_tools_drop(struct sim *s); /* open calls are forgotten */
void sim_tools_cut(struct sim *s); /* with the worker: those at it that have no process yet are lost */

/* ---- checkpoints.c ---- */
void sim_files_open(struct sim *s);
void sim_files_serve(struct sim *s); /* to a new process */
void sim_files_make(struct sim *s); /* the workspace */
void sim_files_crashed(struct sim *s); /* open runs end, and nobody hears it */
struct ar_str sim_some_checkpoint(struct sim *s, struct ar_str session_key); /* absent: none was made */

/* ---- workers.c ---- */
void sim_workers_open(struct sim *s);
void sim_workers_make(struct sim *s); /* its record */
void sim_workers_begin(struct sim *s); /* from now on it comes and goes */
void sim_workers_crashed(struct sim *s);
void sim_check_worker(struct sim *s, const struct sim_log *log); /* what the facts say of it */
bool sim_worker_takes(const struct sim *s, struct ar_str worker); /* a call, now */

/* ---- process.c ---- */
void sim_procs_open(struct sim *s);
void sim_procs_crashed(struct sim *s); /* they go on, but for some */
void sim_procs_close(struct sim *s);
struct ar_str sim_wrote(struct sim *s, struct ar_str process, int stream); /* all of it; empty when nothing */
bool sim_has_run(struct sim *s, struct ar_str call); /* a process of the call was let go */
bool sim_is_out_of_reach(struct sim *s, struct ar_str process);
void sim_check_told(struct sim *s, const struct ar_process_result *r); /* its call is told all */

/* ---- client.c, client_ask.c ---- */
struct sim_ask {
	const char *name;
	enum ar_command command;
	bool (*compose)(struct sim *s, struct sim_submit *about,
			struct ar_buf *body); /* false: nothing to ask now */
	void (*judge)(struct sim *s, struct sim_submit *about, struct ar_json reply, struct ar_str text);
	unsigned weight;
};
enum {
	SIM_ASK_SUBMIT,
	SIM_ASK_REPEAT,
	SIM_ASK_CONFLICT,
	SIM_ASK_OTHER
}; /* OTHER and what follows: by weight */
extern const struct sim_ask sim_asks[];
extern const size_t sim_ask_count;
void sim_clients_open(struct sim *s);
void sim_clients_crashed(struct sim *s);
void sim_clients_close(struct sim *s);
bool sim_clients_are_done(const struct sim *s);
struct ar_str sim_ask_now(struct sim *s, enum ar_command command,
			  struct ar_str body); /* settles; the reply, in the arena */
struct ar_str sim_verify_now(struct sim *s, struct ar_str body); /* likewise, of verify */
struct sim_submit *sim_submit_new(struct sim *s);

/* ---- reader.c ---- */
void sim_readers_open(struct sim *s);
void sim_readers_cut(struct sim *s); /* before a crash */
void sim_readers_are_out(struct sim *s, unsigned partition); /* none follows a session of it */
void sim_readers_check(struct sim *s); /* at rest: each has everything */
void sim_readers_close(struct sim *s);

/* ---- log.c ---- */
struct sim_log *sim_log_of(struct sim *s,
			   struct ar_str session_key); /* up to date; NULL when there are no facts */
const struct sim_fact *sim_log_find(struct sim *s, struct ar_str session_key, enum ar_event_type type,
				    int scope, struct ar_str id);
struct ar_str sim_content(struct sim *s, struct ar_str ref); /* stored bytes, or absent */
void sim_logs_close(struct sim *s);
struct ar_str sim_text(struct ar_json object, const char *name);
struct ar_str sim_keep(struct sim *s, struct ar_str text);

/* ---- laws.c, rest.c ---- */
void sim_check_log(struct sim *s, const struct sim_log *log);
void sim_check_request(struct sim *s, const struct ar_model_request *r);
void sim_replay(struct sim *s, const struct sim_log *log, uint64_t head, struct ar_session *ret);
void sim_check_session(struct sim *s, struct ar_str reply, bool is_at_rest);
void sim_check_rest(struct sim *s);

#endif
