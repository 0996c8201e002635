/* Between the files of the worker's side: serve.c (the link and the lease), serve_calls.c, serve_process.c.
 * Loop thread only. */
#ifndef AR_EDGE_WORKER_SERVE_PRIV_H
#define AR_EDGE_WORKER_SERVE_PRIV_H

#include "begun.h"
#include "worker_codec.h"
#include "map.h"
#include "mem.h"
#include "serve.h"

#define AR_SERVE_PINGS 64 /* that may be on their way */

/* owner: loop thread */
struct ar_serve_shared {
	struct ar_begun *begun;
	struct ar_map processes; /* struct served_process, by its handle */
};

/* owner: loop thread */
struct ar_worker_serve {
	uv_loop_t *loop;
	struct ar_worker_ports local;
	struct ar_worker_serve_options options; /* texts: own copies */
	struct ar_link *link; /* NULL: none */
	struct ar_wire_in in;
	struct ar_wire_out out;
	bool is_welcome; /* the daemon has greeted on this link */
	const char *broken; /* why the link is to be closed in the loop's next turn */
	char life[33]; /* of this process, at random */
	char daemon_id[65]; /* of the last that greeted; empty: none yet */
	int64_t lease_ms, heartbeat_ms;
	ar_usec hello_at; /* monotonic: when the greeting of this link was sent */
	ar_usec leased_at; /* monotonic: when that was sent which the daemon confirmed last */
	ar_usec ping_at; /* monotonic: of the last ping */
	uint64_t pings; /* of this link */
	ar_usec ping_times[AR_SERVE_PINGS];
	struct ar_serve_shared *shared;
	bool owns_shared;
	struct ar_json_parser *parser, *checker;
	struct ar_list calls; /* struct served_call */
	struct ar_map calls_by_ref;
	size_t running, kept; /* of the calls */
	size_t kept_bytes;
	struct ar_list processes; /* struct served_process, of this link */
	struct ar_map processes_by_ref;
	uv_timer_t clock_timer, later;
	size_t handles;
	bool is_draining, is_drained, is_closing;
};

/* serve.c */
bool ar_serve_is_up(const struct ar_worker_serve *s); /* the daemon has greeted, and the link is good */
void ar_serve_send(struct ar_worker_serve *s, struct ar_wire_writer *w);
void ar_serve_send_copy(struct ar_worker_serve *s, const struct ar_wire_writer *w);
void ar_serve_send_word(struct ar_worker_serve *s, const char *op, struct ar_str ref);
void ar_serve_break(struct ar_worker_serve *s, const char *why); /* the link, in the loop's next turn */
void ar_serve_later(struct ar_worker_serve *s);
ar_usec ar_serve_now(const struct ar_worker_serve *s);
bool ar_serve_may_use(const struct ar_worker_serve *s, struct ar_str folder);
void ar_serve_settle(struct ar_worker_serve *s); /* gives the memory back when nothing needs it */

/* serve_calls.c */
bool ar_serve_calls_message(struct ar_worker_serve *s, struct ar_wire_message *m);
/* What runs is cancelled, and nobody gets its result; also those that are kept, if `drops_results`. */
void ar_serve_calls_kill(struct ar_worker_serve *s, bool drops_results);
void ar_serve_calls_greeted(struct ar_worker_serve *s); /* the daemon will say which ones it waits for */
void ar_serve_calls_tick(struct ar_worker_serve *s, ar_usec now);

/* serve_process.c */
bool ar_serve_processes_message(struct ar_worker_serve *s, struct ar_wire_message *m);
void ar_serve_processes_leave(struct ar_worker_serve *s); /* all: the link is gone */
void ar_serve_processes_drained(struct ar_worker_serve *s); /* the link has room */
void ar_serve_processes_later(struct ar_worker_serve *s);

#endif
