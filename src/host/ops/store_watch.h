/* Watches whether the store works, for the log, GET /ready and answers: an outage begins with the first
 * operation that fails in an outage (or, in a cluster, when no heartbeat has reached the database for a
 * lease) and ends when none has failed for a while and one has succeeded. While it lasts the store is
 * tried, so that its end is found when nobody asks for anything. Owner: the loop thread. */
#ifndef AR_HOST_OPS_STORE_WATCH_H
#define AR_HOST_OPS_STORE_WATCH_H

#include "clock.h"
#include "log.h"
#include "store.h"

#include <uv.h>

struct ar_store_watch {
	uv_timer_t timer;
	struct ar_store *store;
	const struct ar_log *log; /* set after the init */
	bool (*is_cut_off)(void *arg); /* by what the cluster knows; NULL: there is none */
	void *arg;
	bool is_out;
	ar_usec began, failed_at; /* monotonic */
	ar_usec looked_at, woke_at; /* the last look, and the last one that came late; monotonic */
	uint64_t before, seen; /* counts.outages at its begin, and at the last look */
	char why[AR_STORE_WHY];
	struct ar_store_upkeep write;
	struct ar_store_tenant read;
	size_t probes; /* in flight */
};

void ar_store_watch_init(struct ar_store_watch *w, uv_loop_t *loop);

/* From now on; `is_cut_off` is asked now and then. */
void ar_store_watch_begin(struct ar_store_watch *w, struct ar_store *store, bool (*is_cut_off)(void *arg),
			  void *arg);

/* After the store has finished operations. */
void ar_store_watch_look(struct ar_store_watch *w);

/* No probe is sent any more. Those in flight end when the store is closed. */
void ar_store_watch_end(struct ar_store_watch *w);

#endif
