/* The writing side of follow: the engine publishes what has become durable and what an open
 * step has said. Loop thread. */
#ifndef AR_EVENTLOG_PUBLISH_H
#define AR_EVENTLOG_PUBLISH_H

#include "clock.h"
#include "codec.h"
#include "follow.h"
#include "output.h"

struct ar_fact {
	enum ar_event_type type;
	uint64_t sequence;
	struct ar_str json;
	uint64_t process; /* number of the process that ends with it; 0: none does */
};

#define AR_DERIVED_MAX 3 /* events that follow from one fact */

/* The events of a view that follow from a fact; how many. Pure. Type, scope and payload are set. */
typedef size_t ar_derive_fn(enum ar_event_type type, struct ar_json fact, struct ar_arena *a,
			    struct ar_event *ret);

struct ar_follow_options {
	struct ar_store *store;
	struct ar_clock *clock;
	size_t ring_bytes; /* live frames kept per session, or tenant */
	/* others write to the store too: how often readers of a tenant look for it; 0: nobody does */
	ar_usec look_every;
};

/* How many frames the slowest live reader is behind, and how many readers were ended for being a whole
 * ring behind. The first looks at every reader. */
uint64_t ar_follow_lag(const struct ar_follow *f);
uint64_t ar_follow_cuts(const struct ar_follow *f);

struct ar_follow *ar_follow_new(const struct ar_follow_options *o);
void ar_follow_derive(struct ar_follow *f, ar_derive_fn *derive); /* before it there is no such view */
void ar_follow_free(struct ar_follow *f); /* no reader may be left */

/* Ends every reader; what is queued in their sockets still goes out. */
void ar_follow_end_all(struct ar_follow *f, const struct ar_error *err);

/* Ends the readers of sessions of one partition. */
void ar_follow_end_partition(struct ar_follow *f, unsigned partition, const struct ar_error *err);

/* Ends the readers of one session, which is there no more. */
void ar_follow_end_session(struct ar_follow *f, struct ar_str session_key, const struct ar_error *err);

/* Facts of one commit, in order. Call only when they are durable. */
void ar_follow_publish(struct ar_follow *f, struct ar_str session_key, const struct ar_fact *facts,
		       size_t count);

/* Facts of a session of that tenant are durable: readers of the tenant find them in the store. */
void ar_follow_tenant_grew(struct ar_follow *f, struct ar_str tenant);

/* Looks for what others have written, when it is time; when that is (0: nobody reads a
 * tenant, or nobody else writes). */
void ar_follow_tick(struct ar_follow *f);
ar_usec ar_follow_deadline(const struct ar_follow *f);

/* The same for facts that end a step of an earlier process: no reader here was told what it had said,
 * so each takes them from the store, where its output is re-made from where that reader is. */
void ar_follow_reread(struct ar_follow *f, struct ar_str session_key, uint64_t head);

/* A step opened (`head`: the newest durable fact of its session then); its output grew (readers
 * get the new bytes at once: frames need not be durable); its end is about to be published. The
 * output stays the caller's. */
void ar_follow_output_open(struct ar_follow *f, struct ar_output *o, uint64_t head);
void ar_follow_output_grew(struct ar_follow *f, struct ar_output *o, uint64_t from);
void ar_follow_output_close(struct ar_follow *f, struct ar_output *o);

/* A frame that is only for those who read now: it is stored nowhere. Its sequence, time
 * and runtime are filled in. */
void ar_follow_push_frame(struct ar_follow *f, struct ar_str session_key, struct ar_event *e);

/* args_frame.c: such a frame about the arguments of a call that a fact, published before, completes or
 * replaces; nothing for other facts. */
void ar_follow_push_args(struct ar_follow *f, struct ar_str session_key, const struct ar_event *fact);

#endif
