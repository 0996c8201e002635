/* Between the files of the daemon's side: set.c (workers, links, leases), calls.c (calls over them),
 * remote_process.c (processes over them). Loop thread only. */
#ifndef AR_EDGE_WORKER_SET_PRIV_H
#define AR_EDGE_WORKER_SET_PRIV_H

#include "worker_codec.h"
#include "hash.h"
#include "map.h"
#include "mem.h"
#include "set.h"

#define AR_WORKER_REF_TEXT (AR_WIRE_REF_MAX + 1)

/* owner: loop thread */
struct ar_worker_set {
	uv_loop_t *loop;
	struct ar_worker_ports local, front;
	struct ar_worker_set_options options;
	struct ar_tool_source files;
	struct ar_process_host processes;
	struct ar_checkpoints checkpoints;
	struct ar_inspector inspector;
	struct ar_workers workers;
	struct ar_map by_id; /* struct ar_remote */
	struct ar_map by_owner; /* struct ar_remote_process, by the address of what its owner has */
	struct ar_list doomed_calls, doomed_processes; /* that end in the loop's next turn */
	struct ar_json_parser *parser, *checker;
	uv_timer_t clock_timer, later;
	bool has_clock_timer; /* it runs */
	size_t handles; /* that are not closed */
	char **nodes; /* addresses that workers are told */
	size_t node_count;
	size_t held; /* bytes of messages that are not complete, of all links */
	char id[33]; /* of this life of the daemon: to another one a worker brings no results */
	bool is_closing;
};

/* A worker, as long as the daemon lives or until it is removed. */
struct ar_remote {
	struct ar_worker_set *set;
	char *id, *tenant; /* tenant: NULL until it was connected once */
	struct ar_link *link; /* NULL: none */
	struct ar_wire_in in;
	struct ar_wire_out out;
	uint64_t generation; /* of its links */
	ar_usec linked_at; /* monotonic */
	ar_usec heard_at; /* monotonic: its last message, or when something of it was first open */
	ar_usec seen_at; /* wall clock */
	bool is_greeted, is_draining, is_lost, is_dropped;
	const char *broken; /* why its link is to be closed in the loop's next turn; NULL: it is good */
	size_t strays; /* messages of this link about things that are not open */
	size_t strays_max;
	char life[33]; /* of the worker's program, as its last greeting says */
	char *version, *capabilities;
	enum ar_worker_state reported; /* to on_changed */
	struct ar_list calls, processes;
	struct ar_map calls_by_ref, processes_by_ref;
};

/* set.c */
struct ar_remote *ar_remote_find(struct ar_worker_set *s, struct ar_str id);
struct ar_remote *ar_remote_make(struct ar_worker_set *s, struct ar_str id); /* found, or new */
bool ar_remote_is_up(const struct ar_remote *r); /* greeted, and its link is good */
void ar_remote_send(struct ar_remote *r, struct ar_wire_writer *w);
void ar_remote_send_copy(struct ar_remote *r, const struct ar_wire_writer *w);
void ar_remote_break(struct ar_remote *r, const char *why); /* the link, in the loop's next turn */
void ar_remote_stray(struct ar_remote *r); /* a message about something that is not open */
void ar_remote_expect_strays(struct ar_remote *r); /* something was given up: what is on its way is no lie */
void ar_worker_set_later(struct ar_worker_set *s);
ar_usec ar_worker_set_now(const struct ar_worker_set *s);

/* Why something ends without an answer of its worker. */
enum ar_doom {
	AR_DOOM_NONE,
	AR_DOOM_AWAY, /* certainly not run: the worker is not connected */
	AR_DOOM_DRAINING, /* certainly not run */
	AR_DOOM_REFUSED, /* certainly not run: the worker said so */
	AR_DOOM_FOREIGN, /* certainly not run: the worker is another tenant's */
	AR_DOOM_NO_PORT, /* certainly not run: this machine has no such port */
	AR_DOOM_LOST, /* nobody knows */
	AR_DOOM_BROKEN, /* nobody knows: the answer cannot be read */
	AR_DOOM_TIMEOUT, /* nobody knows */
	AR_DOOM_CLOSED, /* nobody knows: the daemon stops */
	AR_DOOM_COUNT,
};

/* calls.c */
void ar_calls_init(struct ar_worker_set *s);
void ar_calls_resume(struct ar_remote *r, bool is_same_life); /* a new link */
bool ar_calls_message(struct ar_remote *r, struct ar_wire_message *m); /* false: not an op of calls */
void ar_calls_tick(struct ar_remote *r, ar_usec now);
void ar_calls_lose(struct ar_remote *r, enum ar_doom why); /* all, in the loop's next turn */
void ar_calls_end_doomed(struct ar_worker_set *s);

/* remote_process.c */
void ar_processes_init(struct ar_worker_set *s);
void ar_processes_resume(struct ar_remote *r);
bool ar_processes_message(struct ar_remote *r, struct ar_wire_message *m);
void ar_processes_cut(struct ar_remote *r); /* the link is gone */
void ar_processes_lose(struct ar_remote *r, bool is_final); /* those that have not begun; final: all */
void ar_processes_end_doomed(struct ar_worker_set *s);

#endif
