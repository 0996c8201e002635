/* Feeds of tenants: an append's place among all appends of the store, in the row of its facts. There is one
 * writer, so what it commits becomes visible in the order of the places. They are reserved in blocks: where
 * the file was closed or the process killed the next ones begin behind the block, so none is given twice, and
 * no append writes a counter. ar_sqlite_feed_next() is the writer thread's, ar_sqlite_feed() the reader's. */
#include "sqlite.h"

#include <string.h>

#define LANE 1
#define BLOCK 65536

/* Facts from before are in no feed: to give them a place the whole log would have to be written again. */
const char ar_sqlite_feed_schema[] =
	"ALTER TABLE log ADD COLUMN tenant TEXT;"
	"ALTER TABLE log ADD COLUMN position INTEGER;"
	"CREATE INDEX log_feed ON log (tenant, position) WHERE tenant IS NOT NULL;"
	"INSERT INTO meta (key, value) VALUES ('feed', '0');";

/* How far what upkeep removed reached in a tenant's feed. What it removed before this is not known any
 * more. */
const char ar_sqlite_floor_schema[] =
	"CREATE TABLE feed_floor (tenant TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID;";

/* A block that is rolled back with its batch was never used, and is reserved again. */
static enum ar_status reserve(struct ar_sqlite *s, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_FEED_RESERVE);
	uint64_t limit = 0;
	enum ar_status st;

	ar_sql_u64(&q, BLOCK);
	if (ar_sql_row(&q))
		limit = ar_sql_col_u64(&q, 0);
	st = ar_sql_end(&q, err);
	if (!st && limit < BLOCK)
		st = ar_fail(err, AR_E_IO, "store: meta has no row 'feed'");
	if (st)
		return st;
	s->reserved = limit;
	s->position = limit - BLOCK;
	return AR_OK;
}

enum ar_status ar_sqlite_feed_next(struct ar_sqlite *s, uint64_t *ret, struct ar_error *err)
{
	enum ar_status st = s->position < s->reserved ? AR_OK : reserve(s, err);

	if (!st)
		*ret = ++s->position;
	return st;
}

/* A row of the feed is what it was, and no fact is missing between it and the one before it in its
 * session. */
static enum ar_status read_facts(struct ar_sql *q, const struct ar_store_key *key,
				 struct ar_store_feed_row *row, struct ar_store_feed *op)
{
	struct ar_error *err = &op->op.err;
	enum ar_status st;

	if (ar_sql_col_u64(q, 5) + 1 != row->first_seq)
		return ar_store_fail_missing(err, ar_sql_col_u64(q, 5) + 1);
	st = ar_sql_col_checksummed(q, 4, ar_row_sum_of_facts(key, row->first_seq, row->last_seq),
				    &op->op.arena, &row->body, err);
	return st ? ar_store_fail_facts(err, row->first_seq, row->last_seq) : AR_OK;
}

static enum ar_status add_row(struct ar_sql *q, struct ar_store_feed *op)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_store_feed_row *row;
	struct ar_str session = ar_sql_col_raw(q, 1);
	struct ar_store_key key;

	if (session.len != sizeof key.b)
		return ar_fail(&op->op.err, AR_E_CORRUPT, "a stored fact names no session");
	memcpy(key.b, session.p, sizeof key.b);
	op->rows = ar_store_extend(a, op->rows, op->row_count, sizeof *op->rows);
	row = &op->rows[op->row_count];
	*row = (struct ar_store_feed_row){ .at = { LANE, ar_sql_col_u64(q, 0) },
					   .session = ar_store_key_text(a, &key),
					   .first_seq = ar_sql_col_u64(q, 2),
					   .last_seq = ar_sql_col_u64(q, 3) };
	if (read_facts(q, &key, row, op)) {
		op->damaged = row->session;
		return AR_E_CORRUPT;
	}
	op->row_count++;
	return AR_OK;
}

/* Whether the current row is still of the page; the first always is, and only then one that does not say its
 * length. */
static bool row_fits(struct ar_sql *q, const struct ar_store_feed *op, size_t *used)
{
	size_t len = 0;
	bool is_said = !ar_pack_length(ar_sql_col_raw(q, 4), &len, NULL);
	bool has_room = *used <= op->max_bytes && len <= op->max_bytes - *used;

	*used += len;
	return op->row_count == 0 || (is_said && has_room);
}

static enum ar_status list(struct ar_db *db, struct ar_store_feed *op)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_FEED_LIST);
	enum ar_status st = AR_OK, end;
	bool fits = true;
	size_t used = 0;

	ar_sql_text(&q, op->tenant);
	ar_sql_u64(&q, ar_store_place_of(op->after, op->after_count, LANE));
	while (!st && fits) {
		op->at_end = !ar_sql_row(&q);
		if (op->at_end)
			break;
		fits = row_fits(&q, op, &used);
		if (fits)
			st = add_row(&q, op);
	}
	if (st && op->row_count) /* what is broken is the next page's to report */
		st = AR_OK;
	end = ar_sql_end(&q, st ? NULL : &op->op.err);
	return st ? st : end;
}

/* The tenant's place that a statement finds, if any. */
static enum ar_status find_position(struct ar_db *db, enum ar_sql_id id, struct ar_store_feed *op,
				    struct ar_store_place **ret, size_t *ret_count)
{
	struct ar_sql q = ar_sql_begin(db, id);

	ar_sql_text(&q, op->tenant);
	if (ar_sql_row(&q)) {
		*ret = ar_arena_alloc(&op->op.arena, sizeof **ret);
		(*ret)[(*ret_count)++] = (struct ar_store_place){ LANE, ar_sql_col_u64(&q, 0) };
	}
	return ar_sql_end(&q, &op->op.err);
}

static enum ar_status find_ends(struct ar_db *db, struct ar_store_feed *op)
{
	enum ar_status st = find_position(db, AR_SQL_FEED_HEAD, op, &op->heads, &op->head_count);
	struct ar_sql limit;

	if (!st)
		st = find_position(db, AR_SQL_FEED_FLOOR, op, &op->floors, &op->floor_count);
	if (st)
		return st;
	limit = ar_sql_begin(db, AR_SQL_FEED_LIMIT);
	if (ar_sql_row(&limit))
		op->limit = ar_sql_col_u64(&limit, 0);
	return ar_sql_end(&limit, &op->op.err);
}

enum ar_status ar_sqlite_feed(struct ar_db *db, struct ar_store_feed *op)
{
	ar_store_feed_reset(op);
	return op->only_heads ? find_ends(db, op) : list(db, op);
}
