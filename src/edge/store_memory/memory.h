/* Inside of the memory store: one struct per session with everything about it, and two maps over all
 * sessions. Single-threaded. memory.c writes, memory_read.c reads, memory_upkeep.c forgets; memory_action.c
 * and memory_token.c do both for actions and tokens. */
#ifndef AR_EDGE_STORE_MEMORY_H
#define AR_EDGE_STORE_MEMORY_H

#include "audit_chain.h"
#include "map.h"
#include "store/usage.h"
#include "store_feed.h"
#include "store_open.h"
#include "store_op.h"

/* All text in here is owned, one heap block each. */
struct ar_memory_session {
	struct ar_store_key key;
	struct ar_store_row *rows;
	uint64_t *positions; /* of each row, in the feed of the session's tenant; 0: in none */
	size_t row_count;
	struct ar_str snapshot;
	uint64_t snapshot_seq;
	bool has_row;
	struct ar_store_session_row row;
	struct ar_store_task_row *tasks; /* in the order of creation: position + 1 is the task's number */
	size_t task_count;
	struct ar_store_action_row *actions; /* in the order they came */
	size_t action_count;
	struct ar_store_item_row *items; /* sorted by list and number */
	size_t item_count, item_room;
	struct ar_store_chunk_row *chunks; /* sorted by step and position */
	size_t chunk_count;
	struct ar_hash *refs; /* to content, each once */
	size_t ref_count;
};

struct ar_memory_blob {
	struct ar_store_blob b;
	size_t refs; /* sessions that refer to it */
	ar_usec doomed; /* when it lost the last one */
};

struct ar_memory_receipt {
	struct ar_str name; /* scope, NUL, key: what the map finds it by */
	struct ar_store_receipt r;
	ar_usec created;
};

struct ar_memory_floor {
	struct ar_str tenant;
	uint64_t position; /* the highest that was removed from its feed */
};

struct ar_memory {
	struct ar_store store;
	uint64_t stored_epoch; /* the store's; above store.epoch = fenced */
	ar_store_wake_fn *wake;
	void *wake_arg;
	struct ar_list pending;
	struct ar_map sessions; /* ar_memory_session */
	struct ar_map receipts; /* ar_memory_receipt */
	struct ar_map blobs; /* ar_memory_blob */
	struct ar_store_token_row *tokens; /* sorted by version; text is owned */
	size_t token_count;
	uint64_t token_version; /* the newest that was given */
	uint64_t position; /* the same of a feed */
	struct ar_memory_floor *floors; /* one a tenant */
	size_t floor_count;
	struct ar_store_audit_row *audits; /* in the order of writing; text is owned */
	size_t audit_count;
	struct ar_audit_chain chain, audit_floor; /* the newest, and the last one that upkeep removed */
	struct ar_store_usage_row *usage; /* no two of one key; text is owned */
	size_t usage_count;
};

AR_BEGIN_DECLS

struct ar_memory_session *ar_memory_session(const struct ar_memory *m, const struct ar_store_key *key);
uint64_t ar_memory_head(const struct ar_memory_session *ms); /* NULL: 0 */

/* Copies the receipt of (scope, key) into the arena; AR_E_NOT_FOUND without a sentence. */
enum ar_status ar_memory_receipt_find(const struct ar_memory *m, struct ar_str scope, struct ar_str key,
				      struct ar_arena *a, struct ar_store_receipt *ret);

bool ar_memory_has_ref(const struct ar_memory_session *ms, const struct ar_hash *hash);

/* memory.c: ends of what the maps hold; the entry is taken out by the caller. */
void ar_memory_session_free(struct ar_memory_session *ms);
void ar_memory_receipt_free(struct ar_memory_receipt *r);
void ar_memory_blob_free(struct ar_memory_blob *b);

/* memory_upkeep.c */
enum ar_status ar_memory_upkeep(struct ar_memory *m, struct ar_store_upkeep *op);

/* memory_action.c: rows of actions, kept with their session. */
void ar_memory_put_actions(struct ar_memory_session *ms, const struct ar_store_append *a);
void ar_memory_drop_actions(struct ar_memory_session *ms);
enum ar_status ar_memory_actions(struct ar_memory *m, struct ar_store_op *base);

/* memory_item.c: the same of items. */
void ar_memory_put_items(struct ar_memory_session *ms, const struct ar_store_append *a);
void ar_memory_drop_items(struct ar_memory_session *ms);
enum ar_status ar_memory_items(struct ar_memory *m, struct ar_store_op *base);

/* memory_audit.c: the audit trail. */
void ar_memory_audit_add(struct ar_memory *m, const struct ar_store_audit *e);
enum ar_status ar_memory_audit_put(struct ar_memory *m, struct ar_store_audit_put *op);
void ar_memory_audit_prune(struct ar_memory *m, struct ar_store_upkeep *op, size_t most);
enum ar_status ar_memory_audit_list(struct ar_memory *m, struct ar_store_op *base);
enum ar_status ar_memory_audit_verify(struct ar_memory *m, struct ar_store_op *base);
void ar_memory_drop_audits(struct ar_memory *m);

/* memory_usage.c: what was used. */
void ar_memory_add_usage(struct ar_memory *m, const struct ar_store_append *a);
void ar_memory_usage_prune(struct ar_memory *m, struct ar_store_upkeep *op, size_t most);
enum ar_status ar_memory_usage(struct ar_memory *m, struct ar_store_op *base);
void ar_memory_drop_usage(struct ar_memory *m);

/* memory_due.c: sessions by their due times. */
enum ar_status ar_memory_due(struct ar_memory *m, struct ar_store_op *base);

/* memory_token.c: rows of tokens. */
enum ar_status ar_memory_token_put(struct ar_memory *m, struct ar_store_token_put *op);
enum ar_status ar_memory_tokens(struct ar_memory *m, struct ar_store_op *base);
void ar_memory_drop_tokens(struct ar_memory *m);

/* memory_feed.c: the feeds of tenants; what a session that goes takes from one. */
enum ar_status ar_memory_feed(struct ar_memory *m, struct ar_store_op *base);
void ar_memory_raise_floor(struct ar_memory *m, const struct ar_memory_session *ms);
void ar_memory_drop_floors(struct ar_memory *m);

/* memory_read.c: serves one operation that is not a write. */
enum ar_status ar_memory_read(struct ar_memory *m, struct ar_store_op *op);

AR_END_DECLS

#endif
