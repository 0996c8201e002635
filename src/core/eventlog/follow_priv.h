/* Inside follow: the hub of a session (its live ring, its open outputs, its readers) and
 * a reader's position. */
#ifndef AR_EVENTLOG_FOLLOW_PRIV_H
#define AR_EVENTLOG_FOLLOW_PRIV_H

#include "clock.h"
#include "frame.h"
#include "json.h"
#include "map.h"
#include "places.h"
#include "process.h"
#include "publish.h"

/* Live frames of one session; exists while someone reads it or a step is open. */
struct ar_hub {
	struct ar_follow *follow;
	char session_key[AR_SESSION_KEY_LEN];
	unsigned partition;
	uint64_t head; /* newest published fact, 0 = none since the hub exists */
	struct ar_list readers; /* struct ar_follow_cursor */
	struct ar_list outputs; /* struct ar_output */
	struct ar_frame **ring; /* order % room */
	size_t room;
	uint64_t first, next; /* orders of the oldest frame kept and of the next one */
	size_t bytes;
	size_t trim_at; /* bytes at which what all have taken is looked for again */
	struct ar_feed *feed; /* it is a tenant's; NULL: a session's */
};

/* What the live readers of a tenant share: one of them all reads on in the store, for the ring.
 * A commit wakes it. */
struct ar_feed {
	struct ar_hub *hub;
	struct ar_list node; /* of follow's feeds */
	struct ar_store_feed read;
	struct ar_store_place after[AR_FEED_LANES]; /* of the read */
	struct ar_places tail; /* up to where the ring goes; of use while there is a live reader */
	bool is_busy; /* the read is under way: memory must stay */
	bool has_grown; /* there may be more than the last read saw */
	size_t key_len;
	char key[]; /* '@' and the tenant: no session is called so */
};

struct ar_follow {
	struct ar_store *store;
	struct ar_clock *clock;
	struct ar_json_parser *json;
	struct ar_str runtime_id;
	size_t ring_bytes;
	struct ar_map hubs; /* session key, or key of a feed -> struct ar_hub */
	struct ar_list feeds; /* struct ar_feed */
	/* where others write too: how often and when (monotonic) feeds are looked at unstirred */
	ar_usec look_every, look_at;
	uint64_t cuts; /* readers that fell a whole ring behind */
	ar_derive_fn *derive; /* NULL: there is no such view */
};

enum ar_reader_state {
	AR_READER_READING, /* stored rows are on their way */
	AR_READER_QUEUED, /* frames made from them wait to be taken */
	AR_READER_LIVE,
	AR_READER_ENDED,
};

/* A line of a page that is being turned into frames. */
struct ar_page_line {
	enum ar_event_type type;
	uint64_t sequence;
	ar_usec time;
	struct ar_str json;
	/* step end: one, with its segments; end of a process: its streams. Bytes are filled from content */
	struct ar_output outputs[AR_PROC_TTY];
	uint64_t process; /* that ends with it; 0: none does */
	size_t first_hash; /* where its content hashes begin in the page's list */
	size_t hash_count;
};

/* What a reader wants beyond types; most want everything and have none. */
struct ar_follow_filter {
	struct ar_str thread, task; /* absent: any */
	struct ar_str hidden; /* a session; absent: none */
	char text[3 * AR_ID_MAX];
};

/* The question whose the session is, before anything of it is read. */
struct ar_whose {
	struct ar_store_tenant lookup;
	struct ar_follow_cursor *reader;
	char *tenant; /* wanted */
};

struct ar_follow_cursor {
	struct ar_list node; /* hub's readers */
	struct ar_subscription *sub;
	struct ar_hub *hub;
	char session_key[AR_SESSION_KEY_LEN]; /* its own: a read in flight outlives the hub */
	enum ar_reader_state state;
	bool is_open; /* opened() was called */
	bool is_idle; /* the reader knows that there is nothing, so ready() is due on the next frame */
	bool is_busy; /* a store operation is in flight: memory must stay */
	bool from_now;
	bool deltas, is_strict;
	bool derives; /* it wants events that follow from facts, too */
	struct ar_follow_filter *filter; /* NULL: everything */
	uint8_t *types; /* AR_EV_COUNT flags; NULL: all */
	struct ar_cursor at;
	uint64_t opened_at; /* head of the session then */
	uint64_t order; /* next ring frame */
	struct ar_list pending; /* frames made from the store */
	struct ar_page *page; /* in work; NULL for a reader that waits for what is new */
	/* it follows a whole tenant; NULL: a session, and `at` is its place */
	struct ar_tenant_reader *tenant;
};

/* A reader of a tenant: where it is, and its own read until it is live. */
struct ar_tenant_reader {
	struct ar_follow_cursor *reader;
	struct ar_places at;
	struct ar_store_feed read;
	struct ar_store_place after[AR_FEED_LANES];
};

/* A page of the stored log on its way to a reader. */
struct ar_page {
	struct ar_follow_cursor *reader;
	struct ar_store_read read;
	struct ar_store_blobs_get blobs;
	struct ar_arena arena; /* lines and what they name */
	struct ar_page_line *lines;
	size_t line_count;
	/* newest fact of the session when the read began: the log has it, or has lost it */
	uint64_t published;
	uint64_t next; /* sequence that the next line of the log must have */
	uint64_t content; /* bytes that the page needs beside its lines */
	bool is_cut; /* the page was ended for that: there is more */
	struct ar_hash *hashes;
	size_t hash_count, hash_room;
};

/* catchup.c */
void ar_catchup_begin(struct ar_follow_cursor *c);
void ar_catchup_check(struct ar_follow_cursor *c,
		      struct ar_str tenant); /* begins if the session is that tenant's */
void ar_catchup_free(struct ar_follow_cursor *c);
/* An operation is back. False: the reader left meanwhile and is freed, or the store said
 * no and it has ended. */
bool ar_catchup_goes_on(struct ar_follow_cursor *c, const struct ar_store_op *op);
void ar_catchup_signal(
	struct ar_follow_cursor *c); /* frames of a page wait: opened() when it is the first, then ready() */

/* page.c: the lines of a page, the content they need, the frames they become */
AR_MUST_USE enum ar_status ar_page_read(struct ar_follow_cursor *c, struct ar_error *err);
void ar_page_frames(struct ar_follow_cursor *c);
void ar_page_line_fini(struct ar_page_line *line);

/* follow.c */
bool ar_reader_wants(const struct ar_follow_cursor *c, const struct ar_frame *f);
void ar_reader_push(struct ar_follow_cursor *c, struct ar_frame *f); /* takes the reference */
void ar_reader_join(struct ar_follow_cursor *c); /* from the store into the live ring */
void ar_reader_end(struct ar_follow_cursor *c, const struct ar_error *err);
void ar_hub_push(struct ar_hub *h, struct ar_frame *f); /* into the ring; takes the reference */
void ar_hub_wake(struct ar_hub *h, enum ar_reader_state state); /* live readers go on as `state` */
void ar_hub_release(struct ar_hub *h); /* frees one that nobody needs */

/* derive.c: whether a reader asks for events that follow from facts; and those of the fact that is next,
 * which wait for the reader before it. `after`: its place when it has the fact. */
bool ar_reader_is_deriving(const struct ar_follow_request *r);
void ar_reader_derive(struct ar_follow_cursor *c, const struct ar_frame *fact, const struct ar_cursor *after);

/* tenant.c: a reader of a whole tenant, the hub that it has, its next page, its next
 * frame of the ring, its end */
AR_MUST_USE enum ar_status ar_tenant_open(struct ar_follow *f, struct ar_follow_cursor *c,
					  const struct ar_follow_request *r, struct ar_error *err);
void ar_tenant_begin(struct ar_follow_cursor *c); /* it is in its hub: where does it go on? */
void ar_tenant_read(struct ar_follow_cursor *c);
struct ar_frame *ar_tenant_take(struct ar_follow_cursor *c,
				struct ar_frame *f); /* NULL: it has it, or does not want it */
void ar_tenant_free(struct ar_follow_cursor *c);
void ar_feed_free(struct ar_feed *feed); /* with its hub */

#endif
