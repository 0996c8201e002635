/* A daemon's side and a worker's side over a link in memory, with ports that do what the test says and a
 * clock that stands still until it is moved. Messages move when the test lets them. */
#ifndef AR_TEST_WORKER_RIG_H
#define AR_TEST_WORKER_RIG_H

#include "buf.h"
#include "cmocka_unit.h"
#include "list.h"
#include "map.h"
#include "serve.h"
#include "set.h"

/* ---- links ---- */

struct wire_end {
	struct ar_link link;
	struct wire_pair *pair;
	struct wire_end *peer;
	struct ar_list queue; /* struct wire_note: sent, not delivered */
	size_t bytes;
	bool is_closed; /* nothing is called any more */
};

struct wire_pair {
	struct ar_list node;
	struct wire_end daemon, worker;
};

struct wire_pair *wire_pair_new(void);
bool wire_deliver(struct wire_end *from); /* one message; false: there is none */
void wire_cut(struct wire_pair *p); /* what is on its way is lost */
void wire_pair_free(struct wire_pair *p);
struct ar_str wire_first(const struct wire_end *from); /* the message on its way; absent: none */
void wire_put(struct wire_end *from, const char *head, struct ar_str bytes); /* as if `from` had sent it */

/* ---- ports ---- */

struct fake_call {
	struct ar_list node;
	struct ar_tool_call *tool; /* or */
	struct ar_checkpoint_run *run;
	bool is_cancelled;
};

struct fake_proc {
	struct ar_list node;
	char handle[32];
	struct ar_buf journal[4]; /* what it wrote, by stream */
	struct ar_buf
		order; /* one byte per byte of output: its stream; 'R': a report; 'G': a gap of 10 bytes */
	size_t told; /* of order */
	size_t told_of[4];
	uint64_t seq, reports;
	struct ar_process *owner; /* NULL: nobody has it */
	bool owes_ready, owes_attached;
	bool is_released, has_ended, owes_end;
	int goes; /* that changed something */
	char input[256];
	uint64_t inputs;
	bool is_asked_to_end;
};

struct fake_ports {
	struct ar_worker_ports ports;
	struct ar_tool tools[2]; /* look (reads), change (writes) */
	struct ar_tool_source files;
	struct ar_checkpoints checkpoints;
	struct ar_inspector inspector;
	struct ar_process_host host;
	struct ar_sandbox_host sandbox;
	struct ar_list calls; /* struct fake_call */
	struct ar_list procs; /* struct fake_proc */
	struct ar_map begins; /* how often each call began, by its id */
	struct ar_arena arena;
	struct ar_inspect_run *inspecting;
	const struct ar_definition *definitions; /* that an inspection finds */
	size_t definition_count;
	size_t begun, forgotten, launched;
};

void fake_ports_init(struct fake_ports *f);
void fake_ports_fini(struct fake_ports *f);
bool fake_step(struct fake_ports *f); /* one callback that is due; false: none is */
size_t fake_begins(struct fake_ports *f, const char *id);
void fake_finish(struct fake_ports *f, const char *id, const struct ar_tool_result *r); /* that call */
void fake_finish_first(struct fake_ports *f);
struct fake_proc *fake_proc_at(struct fake_ports *f, size_t i);
void fake_write(struct fake_proc *p, enum ar_process_stream stream, struct ar_str bytes);
void fake_gap(struct fake_proc *p); /* ten bytes of stdout that are not kept */
void fake_report(struct fake_proc *p);
void fake_end(struct fake_proc *p);

/* ---- all together ---- */

struct rig {
	uv_loop_t loop;
	struct ar_clock clock;
	ar_usec now;
	struct fake_ports here, there; /* of the daemon, of the worker */
	struct ar_worker_set *set;
	struct ar_worker_serve *serve;
	struct wire_pair *pair; /* the newest; NULL: none */
	struct ar_list pairs;
	char dir[64];
	int joined, parted, drained;
	char parted_why[128];
	enum ar_worker_state states[256]; /* as reported */
	size_t state_count;
	bool holds_messages; /* rig_run delivers none */
};

#define WORKER AR_STR("wk_0123456789abcdefghijklmnop")
#define LEASE_MS 30000
#define LOST_MS (LEASE_MS + LEASE_MS / 4 + 1000)

int rig_open(void **state);
int rig_close(void **state);
void rig_connect(struct rig *r); /* a new link; the old one is cut */
void rig_cut(struct rig *r);
void rig_turn(struct rig *r); /* the loop, until nothing is due */
void rig_run(struct rig *r); /* that, the ports and all messages, until nothing moves */
void rig_wait(struct rig *r, int64_t ms); /* time passes, a heartbeat at a time */
void rig_skip(struct rig *r, int64_t ms); /* time passes at once, as for one who was stopped */
void rig_restart_worker(struct rig *r); /* it is killed; no link afterwards */
void rig_restart_daemon(struct rig *r);
struct ar_worker_status rig_status(struct rig *r);

/* ---- owners on the daemon's side ---- */

struct probe_call {
	struct ar_tool_call call;
	int done, progress;
	enum ar_tool_outcome outcome;
	char text[256], category[64], content[64];
	size_t text_len;
};

void probe_start(struct rig *r, struct probe_call *p, const char *id, const char *tool);
void probe_start_at(struct rig *r, struct probe_call *p, const char *id, const char *tool,
		    struct ar_str worker);
void probe_cancel(struct rig *r, struct probe_call *p);

struct probe_process {
	struct ar_process port;
	struct ar_buf out[4];
	int ready, attached, ended, written, busy;
	uint64_t inputs, seq, reports, skipped;
	char handle[128];
	struct ar_process_end end;
	char message[128];
};

void probe_launch(struct rig *r, struct probe_process *p);
void probe_attach(struct rig *r, struct probe_process *p, const char *handle);
void probe_leave(struct rig *r, struct probe_process *p);
void probe_process_fini(struct probe_process *p);

#endif
