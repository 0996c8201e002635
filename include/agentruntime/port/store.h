/* The store port: durable facts, and the rows that let us find them. An engine is
 * whatever passes test/port/store.
 *
 * All work is an operation struct that the caller owns and fills. submit() never blocks and never calls
 * back before it returns; done() is called exactly once per operation, from poll(), on the thread that
 * calls poll(). Text and arrays in an operation are borrowed until done(); results live in the
 * operation's arena until ar_store_op_fini(). wake() (given at open) is called from any thread when
 * poll() has something to do.
 *
 * Order: writes of one session take effect in the order they were submitted, and a read submitted
 * after an append's done() sees it. An append is one transaction: all of it is durable before
 * done() says AR_OK, or none is. */
#ifndef AR_PORT_STORE_H
#define AR_PORT_STORE_H

#include "arena.h"
#include "hash.h"
#include "id.h"
#include "list.h"
#include "status.h"
#include "store_counts.h"
#include "store_rows.h"

struct ar_packed_ahead;
struct ar_store;
struct ar_store_op;

typedef void ar_store_done_fn(struct ar_store_op *op);

struct ar_store_op {
	struct ar_list node; /* the store's while in flight */
	enum ar_store_op_kind kind;
	ar_store_done_fn *done;
	enum ar_status status; /* result */
	struct ar_error err;
	struct ar_arena arena; /* results */
};

/* The facts of one decision. AR_E_FENCED: the writer's epoch is over. AR_E_EXISTS: the receipt is already
 * there, nothing was written, `found` holds it. AR_E_INVALID: first_seq does not continue what is stored.
 * AR_E_IO: an outage, and nothing was written. AR_E_DOUBT: it may be written, and nobody can say. */
struct ar_store_append {
	struct ar_store_op op;
	struct ar_str session; /* the 26 characters */
	uint64_t first_seq; /* 1 creates the session */
	uint64_t last_seq; /* first_seq - 1 when there are no facts, only a receipt */
	ar_usec at;
	struct ar_str body; /* the facts as encoded, one JSON object per line */
	const struct ar_store_session_row *row; /* upserted; NULL leaves it */
	const struct ar_store_task_row *tasks;
	size_t task_count;
	const struct ar_store_action_row *actions;
	size_t action_count;
	const struct ar_store_receipt *receipt; /* NULL for none */
	const struct ar_store_audit *audit; /* who did this; NULL: nothing is recorded */
	const struct ar_store_blob *blobs;
	const struct ar_str *closed_steps; /* whose chunks are dropped: their content is final now */
	size_t blob_count, closed_step_count;
	struct ar_str snapshot; /* replaces the older one; absent for none. Covers facts up to last_seq. */
	struct ar_store_receipt found;
	const struct ar_packed_ahead *ahead; /* the store's while in flight */
	const struct ar_store_item_row *items;
	const struct ar_store_usage_row *usage; /* added up (store/usage.h) */
	const struct ar_hash *removed; /* contents that it has no more: upkeep takes what no other has */
	size_t item_count, usage_count, removed_count;
};

/* Bytes of an open step, kept so that a crash loses little. Not fenced by sequence, only by epoch. */
struct ar_store_chunk {
	struct ar_store_op op;
	struct ar_str session;
	struct ar_str step;
	uint64_t pos; /* position in the step's output, over all segments */
	uint8_t kind; /* enum ar_output_kind of port/provider.h; the store does not look at it */
	uint32_t index; /* which of several outputs of that kind */
	struct ar_str bytes;
};

/* One bounded step of forgetting; a write. Whole sessions go that are not active and were last updated
 * before `before`: their facts, rows, chunks and references to content; then receipts older than
 * `before`, then content that lost its last reference before `doomed_before`. A session that is active,
 * or becomes so at the same time, stays. A session without a row stays.
 *
 * AR_E_FENCED as for an append; AR_E_IO: an outage, and part of the step may be done. Whatever the
 * status, `ids` are removed or may be: the caller drops them from its memory, because an append that
 * continues one is refused from then on. So a caller names only partitions that it owns.
 *
 * An engine does here what else has to be done from time to time (PostgreSQL: partitions of the log;
 * rows of the log that have no checksum get one). With a limit of 0 that is all. */
struct ar_store_upkeep {
	struct ar_store_op op;
	ar_usec before, doomed_before; /* wall clock; 0 = nothing is that old */
	/* the same for entries of the audit trail, oldest first in each lane; its newest one stays */
	ar_usec audit_before, usage_before; /* and for what was used in hours before this */
	size_t limit; /* sessions; several times as many receipts and contents */
	const uint64_t *partitions; /* as in struct ar_store_sessions */
	struct ar_str after; /* `next` of the step before; absent = a new round */
	struct ar_str next; /* absent: the round is over */
	struct ar_str *ids; /* removed sessions: the 26 characters */
	size_t removed, receipts, contents, audits, usages;
	size_t sealed; /* rows of the log from before there were checksums that got one */
	bool more; /* worth another step soon */
	bool is_probe; /* removes nothing: only whether something can be written is wanted */
};

/* What a session needs to come back: newest snapshot, the facts after it, chunks of open steps (by
 * step, pos). AR_E_CORRUPT: a stored value is not the one that was written, or facts are missing
 * between those that are there, or the log is shorter than the snapshot. */
struct ar_store_load {
	struct ar_store_op op; /* AR_E_NOT_FOUND: no such session */
	struct ar_str session;
	struct ar_str shell; /* of its row, as it was last written; absent: there is none that can be read */
	struct ar_str snapshot; /* absent when there is none */
	uint64_t snapshot_seq;
	struct ar_store_row *rows;
	size_t row_count;
	struct ar_store_chunk_row *chunks;
	size_t chunk_count;
};

/* A window of the log: whole rows, oldest first, that hold facts >= from (forward) or <= from
 * (backward: the newest such rows); at least one row, then up to max_bytes of bodies. Rows follow each
 * other without a gap, and each is as it was written: a window ends before one that is missing or
 * damaged, and when that is the first, with AR_E_CORRUPT. */
struct ar_store_read {
	struct ar_store_op op;
	struct ar_str session;
	uint64_t from;
	bool backward;
	size_t max_bytes;
	struct ar_store_row *rows;
	size_t row_count;
	bool at_end; /* nothing further in that direction */
	uint64_t head; /* newest stored sequence; 0 when the session is unknown (status AR_E_NOT_FOUND) */
};

struct ar_store_receipt_get {
	struct ar_store_op op; /* AR_E_NOT_FOUND */
	struct ar_str scope, key;
	struct ar_store_receipt found;
};

/* bytes[i] is absent where hashes[i] is not stored; the operation itself is AR_OK. With a session
 * only what that session put. */
struct ar_store_blobs_get {
	struct ar_store_op op;
	struct ar_str session; /* absent: any */
	const struct ar_hash *hashes;
	size_t count;
	/* for verification: past any cache, and what does not unpack is absent, not an error */
	bool is_check;
	struct ar_str *bytes; /* result, in the arena */
};

/* Sessions, newest first (ids are time-ordered). active_only is what recovery walks.
 * Filters are exact; absent = any. */
#define AR_STORE_ARCHIVED "archived" /* status of a session that lists leave out */

struct ar_store_sessions {
	struct ar_store_op op;
	struct ar_str before; /* 26 characters: strictly older than this one; absent = from the newest */
	struct ar_str above; /* 26 characters: strictly newer than this one; absent = to the oldest */
	size_t limit;
	bool active_only;
	/* AR_PARTITIONS bits (ar_id_partition): only sessions of those; NULL = all */
	const uint64_t *partitions;
	struct ar_str tenant; /* with one, a page costs what that tenant has, not what there is */
	struct ar_str workspace, account, status;
	ar_usec updated_since; /* only those that were last updated at this time or later; 0 = any */
	struct ar_str except; /* a status that is left out; absent = none */
	bool open_only; /* only those with `open` in their row; with a tenant, a page costs what it holds */
	struct ar_str *ids; /* results: the 26 characters, and the shells */
	struct ar_str *shells;
	size_t count;
	bool more;
};

/* Tasks of a session in id order of creation; task set = just that one (AR_E_NOT_FOUND when missing). */
struct ar_store_tasks {
	struct ar_store_op op;
	struct ar_str session;
	struct ar_str task;
	struct ar_str status; /* filter; absent = any */
	struct ar_str except; /* statuses that are left out, each between commas: ",a,b,"; absent = none */
	bool with_internal;
	bool is_check; /* for verification: a record that does not unpack is absent, not an error */
	uint64_t after; /* opaque position of an earlier `next`; 0 = from the start */
	size_t limit;
	struct ar_store_task_row *rows;
	size_t count;
	uint64_t next; /* 0 = no more */
};

enum ar_store_action_filter { AR_STORE_ACTION_ANY, AR_STORE_ACTION_PENDING, AR_STORE_ACTION_RESOLVED };

/* Actions of all sessions of a tenant, or of one session, oldest first: by `created`, then by id.
 * Exactly those of the tenant and the account; absent = any. A page of a tenant or a session costs what
 * it holds, however many others are stored; resolved ones pass over those that are pending. The next
 * page is the one after the last row of this. */
struct ar_store_actions {
	struct ar_store_op op;
	struct ar_str session; /* absent = all */
	struct ar_str tenant, account;
	enum ar_store_action_filter filter;
	ar_usec after_created; /* with after: strictly behind this place */
	struct ar_str after; /* an action's id; absent = from the oldest */
	bool is_check; /* for verification: a record that does not unpack is absent, not an error */
	size_t limit;
	struct ar_store_action_row *rows;
	size_t count;
	bool more;
};

/* Items of one list of a session, by number: those in [from, to) that are stored. At most `limit`; `more`
 * says that another one is there. */
struct ar_store_items {
	struct ar_store_op op;
	struct ar_str session;
	uint64_t list, from, to; /* at most INT64_MAX */
	bool is_check; /* for verification: a record that does not unpack is absent, not an error */
	size_t limit;
	struct ar_store_item_row *rows;
	size_t count;
	bool more;
};

/* What is stored beside the log of one session: its row and its snapshot, as they are. AR_OK also when
 * there is neither. Text that does not unpack is absent. */
struct ar_store_index {
	struct ar_store_op op;
	struct ar_str session;
	bool has_row, has_snapshot;
	struct ar_store_session_row row;
	struct ar_str snapshot;
	uint64_t snapshot_seq;
};

/* The tenant of a session, at the same small cost whatever the session holds and whether there is one. A
 * session that lost its row counts as AR_TENANT_LOCAL until verification has written it again. */
struct ar_store_tenant {
	struct ar_store_op op;
	struct ar_str session;
	struct ar_str tenant; /* result; absent: there is no such session */
};

struct ar_store_vtable {
	void (*submit)(struct ar_store *s, struct ar_store_op *op);
	void (*poll)(struct ar_store *s);
	/* Finishes what was submitted (done() is called), then frees the store. */
	void (*close)(struct ar_store *s);
	/* From now on a write whose end is not known waits no longer than others for a server that is
	 * away, and then ends AR_E_DOUBT. NULL: it never waits. */
	void (*give_up)(struct ar_store *s);
	/* Bytes of heap that its caches have now; they are bounded, and the store's own to
	 * fill. NULL: it has none. */
	uint64_t (*cached)(struct ar_store *s);
};

struct ar_store {
	const struct ar_store_vtable *v;
	uint64_t epoch; /* the writer's; taken at open, checked in every append */
	char runtime_id[4 + AR_SESSION_KEY_LEN + 1]; /* "rt_" + 26: names the installation, kept for ever */
	struct ar_store_counts counts; /* left at zero by an engine that does not count */
};

typedef void ar_store_wake_fn(void *arg);

static inline void ar_store_submit(struct ar_store *s, struct ar_store_op *op)
{
	s->v->submit(s, op);
}

static inline void ar_store_poll(struct ar_store *s)
{
	s->v->poll(s);
}

static inline void ar_store_close(struct ar_store *s)
{
	if (s)
		s->v->close(s);
}

static inline void ar_store_give_up(struct ar_store *s)
{
	if (s->v->give_up)
		s->v->give_up(s);
}

static inline uint64_t ar_store_cached(struct ar_store *s)
{
	return s->v->cached ? s->v->cached(s) : 0;
}

static inline void ar_store_op_fini(struct ar_store_op *op)
{
	ar_arena_fini(&op->arena);
}

#endif
