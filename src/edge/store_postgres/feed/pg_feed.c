/* Feeds of tenants over many writers. A commit of one node may become visible before an earlier one of
 * another, so there is no one number that a reader could go on from. But the commits of one writer come one
 * after the other: each writer has a lane, and in a lane what has a higher position is visible only after
 * what has a lower one. Positions are of one sequence, taken inside the transaction: an append of a session
 * that follows another one, of whichever writer, was begun after that was committed, and so has the higher
 * one.
 *
 * A lane is its epoch's: given at open to the same node again, or to another when the epoch is over or its
 * writer has left it. Nothing of the epoch before can commit then: it was ended under a lock that every write
 * transaction holds. All openings wait for each other at a row of `meta`, so no two of them see the same lane
 * free.
 *
 * Setting up is the opening thread's, leaving the closing one's, pages are the reader's. */
#include "postgres.h"

#include <string.h>

/* What a node of the version before writes meanwhile has no tenant here, and is in no feed; nor is what was
 * written before. */
const char ar_pg_migration_feed[] =
	"ALTER TABLE log ADD COLUMN tenant bytea, ADD COLUMN lane int8, ADD COLUMN position int8;"
	"CREATE INDEX log_feed ON log (tenant, lane, position) WHERE tenant IS NOT NULL;"
	"CREATE SEQUENCE feed_position;"
	"CREATE TABLE lane (number int8 PRIMARY KEY, node text NOT NULL, epoch int8 NOT NULL);";

/* How far what upkeep removed reached in a tenant's feed. What was removed before is not known, nor is what a
 * node of the version before removes meanwhile. */
const char ar_pg_migration_floor[] = "CREATE TABLE feed_floor (tenant bytea NOT NULL, lane int8 NOT NULL,"
				     " position int8 NOT NULL, PRIMARY KEY (tenant, lane));";

/* Everything is found through a key: our connections count a scan as the most expensive thing there is. */
static const char acquire_free[] =
	"INSERT INTO lane (number, node, epoch) SELECT coalesce((SELECT l.number FROM"
	" (SELECT number, node, epoch FROM lane ORDER BY number LIMIT 1000) AS l WHERE l.node = $1"
	" OR NOT EXISTS (SELECT 1 FROM node AS n WHERE n.id = l.node AND n.epoch = l.epoch)"
	" ORDER BY l.node <> $1, l.number LIMIT 1), (SELECT coalesce(max(number), 0) + 1 FROM lane)), $1, $2"
	" ON CONFLICT (number) DO UPDATE SET node = excluded.node, epoch = excluded.epoch RETURNING number";

enum ar_status ar_postgres_acquire_lane(struct ar_postgres *s, struct ar_error *err)
{
	struct ar_pg_args args = { 0 };
	PGresult *r;

	ar_pg_arg_bytes(&args, ar_str_from(s->node));
	ar_pg_arg_u64(&args, s->base.store.epoch);
	r = ar_pg_query(&s->writer, acquire_free, &args);
	if (!r)
		return ar_pg_fail(&s->writer, err);
	s->lane = ar_pg_col_u64(r, 0, 0);
	PQclear(r);
	return AR_OK;
}

/* A server that is away keeps it until our epoch ends. */
void ar_postgres_leave_lane(struct ar_postgres *s)
{
	struct ar_pg_args args = { 0 };

	if (!s->lane || !s->writer.packer || !ar_pg_is_alive(&s->writer))
		return;
	ar_pg_arg_u64(&args, s->lane);
	ar_pg_arg_bytes(&args, ar_str_from(s->node));
	ar_pg_arg_u64(&args, s->base.store.epoch);
	ar_pg_send(&s->writer, AR_PG_LANE_LEAVE, &args);
	ar_pg_sync(&s->writer);
	(void)ar_pg_end(&s->writer);
}

static enum ar_status read_row(struct ar_pg *pg, const PGresult *r, int i, struct ar_store_feed *op)
{
	struct ar_store_feed_row *row = &op->rows[i];
	struct ar_str session = ar_pg_col_bytes(r, i, 2);
	uint64_t before = ar_pg_col_u64(r, i, 7);
	struct ar_store_key key;

	AR_ASSERT(session.len == sizeof key.b);
	memcpy(key.b, session.p, sizeof key.b);
	row->at = (struct ar_store_place){ ar_pg_col_u64(r, i, 0), ar_pg_col_u64(r, i, 1) };
	row->session = op->damaged = ar_store_key_text(&op->op.arena, &key);
	row->first_seq = ar_pg_col_u64(r, i, 3);
	row->last_seq = ar_pg_col_u64(r, i, 4);
	if (before + 1 != row->first_seq)
		return ar_store_fail_missing(&op->op.err, before + 1);
	if (ar_pg_unpack_checksummed(pg->packer, ar_pg_col_bytes(r, i, 5),
				     ar_row_sum_of_facts(&key, row->first_seq, row->last_seq), &op->op.arena,
				     &row->body, &op->op.err))
		return ar_store_fail_facts(&op->op.err, row->first_seq, row->last_seq);
	return AR_OK;
}

/* A row that is broken, or that facts are missing before, is the next page's to report. */
static enum ar_status read_page(struct ar_pg *pg, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_feed *op = AR_CONTAINER_OF(base, struct ar_store_feed, op);
	enum ar_status st = AR_OK;
	int came = PQntuples(r), i = 0;

	op->rows = ar_arena_alloc(&base->arena, ((size_t)came + 1) * sizeof *op->rows);
	while (i < came && !(st = read_row(pg, r, i, op)))
		i++;
	op->row_count = (size_t)i;
	op->at_end = came == 0 || (i == came && ar_pg_col_bool(r, came - 1, 6));
	return i > 0 ? AR_OK : st;
}

/* Adds what a row says of a lane, if anything. */
static void add_position(const PGresult *r, int row, int col, struct ar_store_place *places, size_t *count)
{
	if (!PQgetisnull(r, row, col))
		places[(*count)++] =
			(struct ar_store_place){ ar_pg_col_u64(r, row, 0), ar_pg_col_u64(r, row, col) };
}

static enum ar_status read_ends(struct ar_pg *pg AR_UNUSED, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_feed *op = AR_CONTAINER_OF(base, struct ar_store_feed, op);

	if (PQntuples(r) > AR_FEED_LANES)
		return ar_fail(&base->err, AR_E_LIMIT, "more than %d nodes have written at once",
			       AR_FEED_LANES);
	op->heads = ar_arena_alloc(&base->arena, ((size_t)PQntuples(r) + 1) * sizeof *op->heads);
	op->floors = ar_arena_alloc(&base->arena, ((size_t)PQntuples(r) + 1) * sizeof *op->floors);
	for (int i = 0; i < PQntuples(r); i++) {
		op->limit = ar_pg_col_u64(r, i, 2);
		add_position(r, i, 1, op->heads, &op->head_count);
		add_position(r, i, 3, op->floors, &op->floor_count);
	}
	return AR_OK;
}

static enum ar_status find_ends(struct ar_pg *pg, struct ar_store_feed *op)
{
	struct ar_pg_args args = { 0 };

	ar_pg_arg_bytes(&args, op->tenant);
	return ar_postgres_query(pg, AR_PG_FEED_ENDS, &args, &op->op, read_ends);
}

static enum ar_status list(struct ar_pg *pg, struct ar_store_feed *op)
{
	struct ar_pg_array lanes = { 0 }, positions = { 0 };
	struct ar_pg_args args = { 0 };
	enum ar_status st;

	ar_pg_array_start(&lanes, AR_PG_INT8);
	ar_pg_array_start(&positions, AR_PG_INT8);
	for (size_t i = 0; i < op->after_count; i++) {
		ar_pg_array_i64(&lanes, (int64_t)op->after[i].lane);
		ar_pg_array_i64(&positions, (int64_t)op->after[i].position);
	}
	ar_pg_arg_bytes(&args, op->tenant);
	ar_pg_arg_array(&args, &lanes);
	ar_pg_arg_array(&args, &positions);
	ar_pg_arg_u64(&args, op->max_bytes);
	st = ar_postgres_query(pg, AR_PG_FEED_LIST, &args, &op->op, read_page);
	ar_pg_array_fini(&lanes);
	ar_pg_array_fini(&positions);
	return st;
}

enum ar_status ar_postgres_feed(struct ar_pg *pg, struct ar_store_feed *op)
{
	ar_store_feed_reset(op);
	return op->only_heads ? find_ends(pg, op) : list(pg, op);
}
