/* Inside follow: the hub of a session (its live ring, its open outputs, its readers) and a reader's position. */
#ifndef AR_EVENTLOG_FOLLOW_PRIV_H
#define AR_EVENTLOG_FOLLOW_PRIV_H

#include "clock.h"
#include "frame.h"
#include "json.h"
#include "map.h"
#include "publish.h"

/* Live frames of one session; exists while someone reads it or a step is open. */
struct ar_hub {
	struct ar_follow *follow;
	char core[AR_ID_CORE];
	unsigned partition;
	uint64_t head; /* newest published fact, 0 = none since the hub exists */
	struct ar_list readers; /* struct ar_follow_cursor */
	struct ar_list outputs; /* struct ar_output */
	struct ar_frame **ring; /* order % room */
	size_t room;
	uint64_t first, next; /* orders of the oldest frame kept and of the next one */
	size_t bytes;
};

struct ar_follow {
	struct ar_store *store;
	struct ar_clock *clock;
	struct ar_json_parser *json;
	struct ar_str runtime_id;
	size_t ring_bytes;
	struct ar_map hubs; /* core -> struct ar_hub */
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
	struct ar_output output; /* step end: its segments, bytes filled from content */
	size_t first_hash; /* where its content hashes begin in the page's list */
	size_t hash_count;
};

struct ar_follow_cursor {
	struct ar_list node; /* hub's readers */
	struct ar_subscription *sub;
	struct ar_hub *hub;
	char core[AR_ID_CORE]; /* its own: a read in flight outlives the hub */
	enum ar_reader_state state;
	bool is_open; /* opened() was called */
	bool is_idle; /* the reader was told that there is nothing, so ready() is due on the next frame */
	bool is_busy; /* a store operation is in flight: memory must stay */
	bool from_now;
	bool deltas, is_strict;
	bool has_types;
	uint8_t types[AR_EV_COUNT];
	struct ar_cursor at;
	uint64_t order; /* next ring frame */
	struct ar_list pending; /* frames made from the store */
	struct ar_store_read read;
	struct ar_store_blobs_get blobs;
	struct ar_arena page; /* lines and hashes of the page in work */
	struct ar_page_line *lines;
	size_t line_count;
	struct ar_hash *hashes;
	size_t hash_count, hash_room;
};

/* catchup.c */
void ar_catchup_begin(struct ar_follow_cursor *c);
void ar_catchup_free(struct ar_follow_cursor *c);

/* page.c: the lines of a page, the content they need, the frames they become */
AR_MUST_USE enum ar_status ar_page_read(struct ar_follow_cursor *c, struct ar_error *err);
void ar_page_frames(struct ar_follow_cursor *c);

/* follow.c */
bool ar_reader_wants(const struct ar_follow_cursor *c, const struct ar_frame *f);
void ar_reader_push(struct ar_follow_cursor *c, struct ar_frame *f); /* takes the reference */
void ar_reader_join(struct ar_follow_cursor *c); /* from the store into the live ring */
void ar_reader_end(struct ar_follow_cursor *c, const struct ar_error *err);

#endif
