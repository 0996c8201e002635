/* One step of upkeep: sessions in one transaction, then receipts and content in another; at the end of
 * a round the log's partitions. Every transaction is fenced like an append.
 *
 * A session: the caller owns it, so its appends come through this very thread and take turns
 * with upkeep; its partition cannot move until we are done, nor are sessions touched whose
 * partition has moved. A row that another transaction holds is skipped, and its state is
 * checked again under the lock.
 *
 * Content that is put again while it is collected: an append that finds it there refers to it, and
 * the key of blob_ref holds the row (FOR KEY SHARE) until the append has ended; the collector locks
 * (FOR UPDATE SKIP LOCKED) before it looks for references in a statement of its own. If the append
 * has the lock, the collector skips the row and tries again later. If the collector has it, the
 * append waits; then the row is there with no one to take it, or it is gone, the reference fails as a
 * clash and the append's next try puts it anew. Content that is new in an append comes with the facts
 * of the session that it names. */
#include "postgres.h"

#include "clock.h"
#include "store_upkeep.h"

#include <string.h>

#define TRIES 3 /* when others were first */

static ar_usec wall_time(void)
{
	return ar_clock_system()->wall(ar_clock_system());
}

/* ---- sessions ---- */

/* Of a page of sessions, the keys of those that may go. */
static void choose(struct ar_store_upkeep *op, const struct ar_store_walk *w, const PGresult *r,
		   struct ar_pg_array *keys)
{
	struct ar_store_key key;
	int i = 0;

	for (; i < PQntuples(r) && keys->count < op->limit; i++) {
		struct ar_str raw = ar_pg_col_bytes(r, i, 0), active = ar_pg_col_bytes(r, i, 1);

		AR_ASSERT(raw.len == sizeof key.b && active.len == 1);
		memcpy(key.b, raw.p, sizeof key.b);
		if (ar_store_walk_includes(op, &key, *active.p, ar_pg_col_i64(r, i, 2)))
			ar_pg_array_bytes(keys, raw);
	}
	ar_store_walk_end(op, w, i == AR_STORE_LOOK || keys->count == op->limit ? &key : NULL);
}

static bool find_old(struct ar_postgres *s, struct ar_store_upkeep *op, const struct ar_store_walk *w,
		     struct ar_pg_array *keys)
{
	struct ar_pg_args args = { 0 };
	PGresult *fence, *page;

	ar_pg_arg_key(&args, &w->from);
	ar_pg_arg_key(&args, &w->to);
	ar_pg_arg_u64(&args, AR_STORE_LOOK);
	ar_postgres_begin(s);
	ar_pg_send(&s->writer, AR_PG_OLD_LIST, &args);
	ar_pg_sync(&s->writer);
	fence = ar_pg_next(&s->writer);
	page = ar_pg_next(&s->writer);
	if (page)
		choose(op, w, page, keys);
	PQclear(fence);
	PQclear(page);
	return ar_pg_turn(&s->writer) == AR_PG_FINE;
}

/* The keys become those that are still old under our lock; they are the ids that the caller gets. */
static bool lock_old(struct ar_postgres *s, struct ar_store_upkeep *op, struct ar_pg_array *keys)
{
	struct ar_pg_args args = { 0 };
	struct ar_store_key key;
	PGresult *r;

	ar_pg_arg_array(&args, keys);
	ar_pg_arg_u64(&args, (uint64_t)op->before);
	ar_pg_arg_bytes(&args, ar_str_from(s->node));
	ar_pg_arg_u64(&args, s->base.store.epoch);
	ar_pg_send(&s->writer, AR_PG_OLD_LOCK, &args);
	ar_pg_sync(&s->writer);
	r = ar_pg_next(&s->writer);
	ar_pg_array_start(keys, AR_PG_UUID);
	for (int i = 0; r && i < PQntuples(r); i++) {
		memcpy(key.b, PQgetvalue(r, i, 0), sizeof key.b);
		ar_pg_array_bytes(keys, ar_store_key_bytes(&key));
		ar_store_upkeep_removed(op, &key);
		ar_store_heads_remove(&s->heads, &key);
	}
	PQclear(r);
	return ar_pg_turn(&s->writer) == AR_PG_FINE;
}

static void send_removal(struct ar_pg *pg, struct ar_pg_array *keys)
{
	static const enum ar_pg_id drops[] = { AR_PG_OLD_LOG,	 AR_PG_OLD_SNAPSHOT, AR_PG_OLD_TASK,
					       AR_PG_OLD_ACTION, AR_PG_OLD_ITEM,     AR_PG_OLD_CHUNK,
					       AR_PG_OLD_SESSION };
	struct ar_pg_args args = { 0 };

	ar_pg_arg_array(&args, keys);
	for (size_t i = 0; i < AR_ARRAY_LEN(drops); i++)
		ar_pg_send(pg, drops[i], &args);
	ar_pg_arg_u64(&args, (uint64_t)wall_time());
	ar_pg_send(pg, AR_PG_OLD_REF, &args);
}

enum ar_pg_fault ar_postgres_commit(struct ar_postgres *s)
{
	struct ar_pg *pg = &s->writer;

	ar_pg_send(pg, AR_PG_NO_TIMEOUT, NULL);
	ar_pg_send(pg, AR_PG_COMMIT, NULL);
	ar_pg_sync(pg);
	return ar_pg_end(pg);
}

static enum ar_pg_fault remove_sessions(struct ar_postgres *s, struct ar_store_upkeep *op,
					const struct ar_store_walk *w)
{
	struct ar_pg_array *keys = &s->batch.columns[0];

	op->removed = 0;
	ar_pg_array_start(keys, AR_PG_UUID);
	if (!find_old(s, op, w, keys))
		return ar_pg_end(&s->writer);
	if (keys->count && !lock_old(s, op, keys))
		return ar_pg_end(&s->writer);
	if (op->removed)
		send_removal(&s->writer, keys);
	return ar_postgres_commit(s);
}

/* ---- receipts and content ---- */

static void read_hashes(const PGresult *r, struct ar_pg_array *hashes)
{
	ar_pg_array_start(hashes, AR_PG_BYTEA);
	for (int i = 0; r && i < PQntuples(r); i++)
		ar_pg_array_bytes(hashes, ar_pg_col_bytes(r, i, 0));
}

static bool find_litter(struct ar_postgres *s, struct ar_store_upkeep *op, struct ar_pg_array *doomed)
{
	struct ar_pg_args receipts = { 0 }, contents = { 0 };
	uint64_t most = op->limit * AR_STORE_LITTER;
	struct ar_pg_args audits = { 0 }, usages = { 0 };
	PGresult *fence, *count, *hashes, *pruned, *used;

	ar_pg_arg_u64(&receipts, (uint64_t)op->before);
	ar_pg_arg_u64(&receipts, most);
	ar_pg_arg_u64(&contents, (uint64_t)op->doomed_before);
	ar_pg_arg_u64(&contents, most);
	ar_pg_arg_u64(&audits, (uint64_t)op->audit_before);
	ar_pg_arg_u64(&audits, most + 1); /* of each lane; the last one that is looked at stays */
	ar_pg_arg_u64(&usages, (uint64_t)(op->usage_before / AR_STORE_HOUR));
	ar_pg_arg_u64(&usages, most);
	ar_postgres_begin(s);
	ar_pg_send(&s->writer, AR_PG_OLD_RECEIPT, &receipts);
	ar_pg_send(&s->writer, AR_PG_AUDIT_OLD, &audits);
	ar_pg_send(&s->writer, AR_PG_USAGE_OLD, &usages);
	ar_pg_send(&s->writer, AR_PG_DOOMED_LIST, &contents);
	ar_pg_sync(&s->writer);
	fence = ar_pg_next(&s->writer);
	count = ar_pg_next(&s->writer);
	pruned = ar_pg_next(&s->writer);
	used = ar_pg_next(&s->writer);
	hashes = ar_pg_next(&s->writer);
	op->receipts = count ? (size_t)ar_pg_col_u64(count, 0, 0) : 0;
	op->audits = pruned ? (size_t)ar_pg_col_u64(pruned, 0, 0) : 0;
	op->usages = used ? (size_t)ar_pg_col_u64(used, 0, 0) : 0;
	read_hashes(hashes, doomed);
	op->more = op->more || op->usages == most || op->receipts == most || doomed->count == most ||
		   op->audits >= most;
	PQclear(fence);
	PQclear(count);
	PQclear(pruned);
	PQclear(used);
	PQclear(hashes);
	return ar_pg_turn(&s->writer) == AR_PG_FINE;
}

static bool collect(struct ar_postgres *s, struct ar_store_upkeep *op, struct ar_pg_array *doomed,
		    struct ar_pg_array *locked)
{
	struct ar_pg *pg = &s->writer;
	struct ar_pg_args all = { 0 }, ours = { 0 };
	PGresult *r;

	ar_pg_arg_array(&all, doomed);
	ar_pg_send(pg, AR_PG_DOOMED_LOCK, &all);
	ar_pg_sync(pg);
	r = ar_pg_next(pg);
	read_hashes(r, locked);
	PQclear(r);
	if (ar_pg_turn(pg))
		return false;
	ar_pg_arg_array(&ours, locked);
	ar_pg_send(pg, AR_PG_DOOMED_BLOB, &ours);
	ar_pg_send(pg, AR_PG_DOOMED_DROP, &all);
	ar_pg_sync(pg);
	r = ar_pg_next(pg);
	op->contents = r ? (size_t)ar_pg_col_u64(r, 0, 0) : 0;
	PQclear(r);
	return ar_pg_turn(pg) == AR_PG_FINE;
}

static enum ar_pg_fault remove_litter(struct ar_postgres *s, struct ar_store_upkeep *op,
				      const struct ar_store_walk *w)
{
	struct ar_pg_array *doomed = &s->batch.columns[0], *locked = &s->batch.columns[1];

	(void)w;
	op->contents = 0;
	if (!find_litter(s, op, doomed))
		return ar_pg_end(&s->writer);
	if (doomed->count && !collect(s, op, doomed, locked))
		return ar_pg_end(&s->writer);
	return ar_postgres_commit(s);
}

/* ---- the step ---- */

typedef enum ar_pg_fault part_fn(struct ar_postgres *s, struct ar_store_upkeep *op,
				 const struct ar_store_walk *w);

/* A lost connection is not asked about: what was to be removed is, or the next round removes it. */
static enum ar_status until_done(struct ar_postgres *s, part_fn *part, struct ar_store_upkeep *op,
				 const struct ar_store_walk *w)
{
	enum ar_pg_fault fault = AR_PG_CLASH;
	enum ar_status st = AR_OK;

	s->is_commit_sent = false;
	for (unsigned tries = 0; fault == AR_PG_CLASH && tries < TRIES; tries++) {
		if (!ar_pg_is_alive(&s->writer))
			st = ar_postgres_reconnect(s, &op->op.err);
		if (st)
			return st == AR_E_UNAVAILABLE ? (op->op.err.status = AR_E_IO) : st;
		fault = part(s, op, w);
	}
	if (fault == AR_PG_FENCED)
		return ar_store_fail_fenced(&op->op.err, s->base.store.epoch);
	if (!fault)
		return AR_OK;
	ar_store_heads_clear(&s->heads);
	ar_pg_fail(&s->writer, &op->op.err);
	return op->op.err.status = AR_E_IO;
}

/* The heartbeats of the node write all the time; here it is enough that the writer has its connection and its
 * epoch. */
static enum ar_pg_fault probe(struct ar_postgres *s, struct ar_store_upkeep *op,
			      const struct ar_store_walk *w)
{
	(void)op;
	(void)w;
	ar_postgres_begin(s);
	ar_pg_sync(&s->writer);
	PQclear(ar_pg_next(&s->writer));
	return ar_pg_turn(&s->writer) ? ar_pg_end(&s->writer) : ar_postgres_commit(s);
}

static enum ar_pg_fault add_checksums(struct ar_postgres *s, struct ar_store_upkeep *op,
				      const struct ar_store_walk *w)
{
	(void)w;
	return ar_postgres_add_checksums(s, op);
}

enum ar_status ar_postgres_upkeep(struct ar_postgres *s, struct ar_store_upkeep *op)
{
	struct ar_store_walk w;
	enum ar_status st;

	if (op->is_probe)
		return until_done(s, probe, op, NULL);
	st = ar_store_walk_start(op, wall_time(), &w);
	if (!st && !w.is_empty)
		st = until_done(s, remove_sessions, op, &w);
	if (!st && op->limit)
		st = until_done(s, remove_litter, op, &w);
	if (!st && op->contents)
		ar_blob_cache_clear(&s->blobs);
	if (!st && op->limit)
		ar_postgres_remove_objects(s, op);
	if (!st && op->limit && !s->has_checksums)
		st = until_done(s, add_checksums, op, &w);
	if (!st && !op->more)
		ar_postgres_partition_log(s, op->before);
	return st;
}
