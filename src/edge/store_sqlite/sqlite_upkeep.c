/* One step of upkeep, inside the writer's transaction. Appends and this take turns on one thread and one
 * connection, so a session cannot become active, nor content be put again, between the look and the removal.
 * The file does not shrink: its pages are used again. Writer thread only. */
#include "sqlite.h"

#include "clock.h"
#include "store_upkeep.h"

#include <string.h>

/* Looks at a page of sessions and notes those that go; the walk goes on behind the last one looked at. */
static enum ar_status find_old(struct ar_sqlite *s, struct ar_store_upkeep *op, const struct ar_store_walk *w,
			       struct ar_store_key *keys)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_OLD_LIST);
	struct ar_store_key last;
	size_t looked = 0;

	ar_sql_key(&q, &w->from);
	ar_sql_key(&q, &w->to);
	ar_sql_u64(&q, AR_STORE_LOOK);
	while (op->removed < op->limit && ar_sql_row(&q)) {
		struct ar_str raw = ar_sql_col_raw(&q, 0);

		looked++;
		AR_ASSERT(raw.len == sizeof last.b);
		memcpy(last.b, raw.p, sizeof last.b);
		if (!ar_store_walk_includes(op, &last, ar_sql_col_i64(&q, 1), ar_sql_col_i64(&q, 2)))
			continue;
		keys[op->removed] = last;
		ar_store_upkeep_removed(op, &last);
	}
	ar_store_walk_end(op, w, looked == AR_STORE_LOOK || op->removed == op->limit ? &last : NULL);
	return ar_sql_end(&q, &op->op.err);
}

static enum ar_status drop_rows(struct ar_sqlite *s, enum ar_sql_id id, const struct ar_store_key *key,
				struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, id);

	ar_sql_key(&q, key);
	return ar_sql_run(&q, err);
}

static enum ar_status doom_content(struct ar_sqlite *s, const struct ar_store_key *key, struct ar_error *err)
{
	struct ar_clock *clock = ar_clock_system();
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_DOOM);

	ar_sql_key(&q, key);
	ar_sql_i64(&q, clock->wall(clock));
	return ar_sql_run(&q, err);
}

static enum ar_status remove_session(struct ar_sqlite *s, const struct ar_store_key *key,
				     struct ar_error *err)
{
	static const enum ar_sql_id drops[] = { AR_SQL_REF_DROP,     AR_SQL_FEED_RAISE, AR_SQL_OLD_LOG,
						AR_SQL_OLD_SNAPSHOT, AR_SQL_OLD_TASK,	AR_SQL_OLD_ACTION,
						AR_SQL_OLD_ITEM,     AR_SQL_OLD_CHUNK,	AR_SQL_OLD_SESSION };
	enum ar_status st = doom_content(s, key, err);

	for (size_t i = 0; !st && i < AR_ARRAY_LEN(drops); i++)
		st = drop_rows(s, drops[i], key, err);
	ar_store_heads_remove(&s->heads, key);
	return st;
}

static enum ar_status remove_sessions(struct ar_sqlite *s, struct ar_store_upkeep *op,
				      const struct ar_store_walk *w)
{
	struct ar_store_key *keys = ar_arena_alloc(&op->op.arena, op->limit * sizeof *keys);
	enum ar_status st = find_old(s, op, w, keys);

	for (size_t i = 0; !st && i < op->removed; i++)
		st = remove_session(s, &keys[i], &op->op.err);
	return st;
}

static enum ar_status sweep(struct ar_sqlite *s, enum ar_sql_id id, ar_usec before,
			    struct ar_store_upkeep *op, size_t *ret)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, id);
	enum ar_status st;

	ar_sql_i64(&q, before);
	ar_sql_u64(&q, op->limit * AR_STORE_LITTER);
	st = ar_sql_run(&q, &op->op.err);
	*ret = st ? 0 : (size_t)sqlite3_changes(s->write_db.handle);
	return st;
}

static enum ar_status remove_litter(struct ar_sqlite *s, struct ar_store_upkeep *op)
{
	size_t looked = 0;
	enum ar_status st = sweep(s, AR_SQL_OLD_RECEIPT, op->before, op, &op->receipts);

	if (!st)
		st = sweep(s, AR_SQL_DOOMED_BLOB, op->doomed_before, op, &op->contents);
	if (!st)
		st = sweep(s, AR_SQL_DOOMED_DROP, op->doomed_before, op, &looked);
	if (!st)
		st = ar_sqlite_audit_prune(s, op, op->limit * AR_STORE_LITTER);
	if (!st)
		st = ar_sqlite_usage_prune(s, op, op->limit * AR_STORE_LITTER);
	op->more = op->more || op->receipts == op->limit * AR_STORE_LITTER ||
		   looked == op->limit * AR_STORE_LITTER;
	if (op->contents)
		ar_blob_cache_clear(&s->blobs);
	return st;
}

static enum ar_status probe(struct ar_sqlite *s, struct ar_store_upkeep *op)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_PROBE);

	ar_sql_i64(&q, ar_clock_system()->wall(ar_clock_system()));
	return ar_sql_run(&q, &op->op.err);
}

enum ar_status ar_sqlite_upkeep(struct ar_sqlite *s, struct ar_store_upkeep *op)
{
	struct ar_clock *clock = ar_clock_system();
	struct ar_store_walk w;
	enum ar_status st;

	if (op->is_probe)
		return probe(s, op);
	st = ar_store_walk_start(op, clock->wall(clock), &w);
	if (!st && !w.is_empty)
		st = remove_sessions(s, op, &w);
	if (!st && op->limit)
		st = remove_litter(s, op);
	if (!st && op->limit)
		st = ar_sqlite_add_checksums(s, op);
	return st;
}
