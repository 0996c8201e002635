/* Following a session: from any cursor through the stored log into the live stream, with nothing missed
 * or doubled. (Progress of a tool is sent only to readers that are connected then.)
 *
 * A cursor is `sequence[.step:pos[,step:pos]...]`: all facts up to `sequence` were seen,
 * and of each named open step the output bytes before `pos`. Every frame carries the cursor
 * that a reader has after it.
 *
 * A whole tenant is followed in the same way: the facts of all its sessions, those that are made
 * meanwhile among them, each session's in order. Its cursors are places in the tenant's feed
 * (places.h). It carries facts alone; what a model or a process says meanwhile is followed by session.
 *
 * Pull, not push: a subscription holds a position, never a queue. ready() says that ar_follow_next()
 * has something; the reader takes frames as its peer drains. A reader that falls a whole ring behind is
 * ended and resumes by its cursor. Owner: the loop thread. */
#ifndef AR_EVENTLOG_FOLLOW_H
#define AR_EVENTLOG_FOLLOW_H

#include "buf.h"
#include "catalog.h"
#include "list.h"
#include "status.h"
#include "store_feed.h"

struct ar_follow;
struct ar_subscription;

/* One thing to deliver; immutable, shared by all readers. `sse` is the whole server-sent
 * event, `json` the event inside. */
struct ar_frame {
	struct ar_list node;
	unsigned refs;
	uint64_t order; /* position in the ring of its session */
	uint64_t sequence; /* of the fact; of the newest fact for a delta */
	enum ar_event_type type;
	bool is_delta;
	bool is_passing; /* a delta that cannot be had again: left out for a reader that is ahead of it */
	uint64_t step, from, until; /* of a delta: whose output it is (as in the cursor), and which bytes */
	uint64_t process; /* of a fact: number of the process that ends with it; 0: none does */
	struct ar_store_place place; /* in the feed of a tenant; zero: it is in none */
	struct ar_str id; /* cursor after this frame */
	struct ar_str json;
	struct ar_str sse;
	struct ar_buf bytes; /* owns the text */
};

struct ar_frame *ar_frame_ref(struct ar_frame *f);
void ar_frame_unref(struct ar_frame *f); /* NULL is fine */

struct ar_subscription_vtable {
	void (*opened)(struct ar_subscription *s); /* once: the session exists, frames may follow */
	void (*ready)(struct ar_subscription *s); /* ar_follow_next() has something */
	void (*ended)(struct ar_subscription *s,
		      const struct ar_error *err); /* once, last: closed by us; do not close again */
};

struct ar_follow_request {
	struct ar_str session; /* the 26 characters; absent: all sessions of the tenant */
	/* whose it has to be, or it is as if there were none; absent: that is known. Copied. */
	struct ar_str tenant;
	struct ar_str hidden; /* of a tenant: the id of a session that is not shown; absent: none. Copied. */
	struct ar_str after; /* cursor text; absent or empty = from the beginning; "now" = only what is new */
	bool deltas; /* output frames too */
	bool is_strict; /* only types of the public schema */
	struct ar_str thread, task; /* only what belongs to it; absent: any. Copied. */
	const uint8_t *types; /* AR_EV_COUNT flags, non-zero = wanted; NULL = all. Copied. */
};

/* Memory is the reader's; zero it, set v, hand it to ar_follow_open. The rest is follow's own. */
struct ar_subscription {
	const struct ar_subscription_vtable *v;
	struct ar_follow_cursor *at;
};

/* AR_E_INVALID: the cursor does not parse (code invalid_cursor). No callback comes before it returns. */
AR_MUST_USE enum ar_status ar_follow_open(struct ar_follow *f, struct ar_subscription *s,
					  const struct ar_follow_request *r, struct ar_error *err);

/* Newest stored fact of its session when it was opened; 0 before that, and for a tenant,
 * where each session has its own. */
uint64_t ar_follow_opened_at(const struct ar_subscription *s);

/* The next frame, with a reference for the caller; NULL when there is none now (ready() will tell). */
struct ar_frame *ar_follow_next(struct ar_subscription *s);

/* Whether output of a model call of the thread that has not ended is there. */
bool ar_follow_is_streaming(const struct ar_follow *f, struct ar_str session_key, struct ar_str thread);

/* Ends it from the reader's side; no callback comes any more. Harmless after ended(). */
void ar_follow_close(struct ar_subscription *s);

#endif
