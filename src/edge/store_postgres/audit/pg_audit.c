/* The audit trail over many writers: each has the chain of its lane (feed/pg_feed.c) and nobody else writes
 * there. The end of the chain is in the writer's memory; after anything that went wrong it is read again,
 * before the transaction that goes on with it: what an earlier connection of ours sent has ended by then
 * (pg_recover.c). Writer thread, but for the pages, which are the reader's. */
#include "postgres.h"

#include <string.h>

const char ar_pg_migration_audit[] =
	"CREATE TABLE audit (lane int8 NOT NULL, n int8 NOT NULL, at int8 NOT NULL, tenant bytea NOT NULL,"
	" session bytea, seq int8 NOT NULL, record bytea NOT NULL, hash bytea NOT NULL, PRIMARY KEY (lane, "
	"n));"
	"CREATE INDEX audit_tenant ON audit (tenant, at, lane, n);"
	"CREATE INDEX audit_at ON audit (at, lane, n);"
	"CREATE TABLE audit_floor (lane int8 PRIMARY KEY, n int8 NOT NULL, hash bytea NOT NULL);";

/* ---- the writer's ---- */

bool ar_postgres_audit_begin(struct ar_postgres *s)
{
	struct ar_pg_args args = { 0 };
	PGresult *r;

	s->batch.chain = s->chain;
	if (s->is_chain_known)
		return true;
	s->chain = (struct ar_audit_chain){ 0 };
	ar_pg_arg_u64(&args, s->lane);
	ar_pg_send(&s->writer, AR_PG_AUDIT_END, &args);
	ar_pg_sync(&s->writer);
	r = ar_pg_next(&s->writer);
	if (r && PQntuples(r) > 0)
		s->chain = (struct ar_audit_chain){ ar_pg_col_u64(r, 0, 0),
						    ar_audit_hash_from(ar_pg_col_bytes(r, 0, 1)) };
	s->is_chain_known = r != NULL;
	s->batch.chain = s->chain;
	PQclear(r);
	return ar_pg_turn(&s->writer) == AR_PG_FINE;
}

void ar_postgres_audit_end(struct ar_postgres *s, bool is_written)
{
	s->chain = s->batch.chain;
	s->is_chain_known = s->is_chain_known && is_written;
}

/* ---- the reader's ---- */

static struct ar_store_audit_row row_of(const PGresult *r, int i, struct ar_arena *a)
{
	return (struct ar_store_audit_row){
		.place = { .at = ar_pg_col_i64(r, i, 2),
			   .lane = ar_pg_col_u64(r, i, 0),
			   .n = ar_pg_col_u64(r, i, 1) },
		.entry = { .tenant = ar_pg_col_str(r, i, 3, a),
			   .at = ar_pg_col_i64(r, i, 2),
			   .session = ar_pg_col_str(r, i, 4, a),
			   .sequence = ar_pg_col_u64(r, i, 5),
			   .record = ar_pg_col_str(r, i, 6, a) },
		.hash = ar_audit_hash_from(ar_pg_col_bytes(r, i, 7)),
	};
}

static enum ar_status read_page(struct ar_pg *pg AR_UNUSED, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_audit_list *op = AR_CONTAINER_OF(base, struct ar_store_audit_list, op);
	size_t came = (size_t)PQntuples(r);

	op->more = came > op->limit;
	op->count = op->more ? op->limit : came;
	op->rows = ar_arena_alloc(&base->arena, (op->count + 1) * sizeof *op->rows);
	for (size_t i = 0; i < op->count; i++)
		op->rows[i] = row_of(r, (int)i, &base->arena);
	return AR_OK;
}

static enum ar_pg_id list_of(const struct ar_store_audit_list *op)
{
	if (ar_str_absent(op->tenant))
		return op->is_oldest_first ? AR_PG_AUDIT_LIST_ALL_UP : AR_PG_AUDIT_LIST_ALL;
	return op->is_oldest_first ? AR_PG_AUDIT_LIST_UP : AR_PG_AUDIT_LIST;
}

enum ar_status ar_postgres_audit_list(struct ar_pg *pg, struct ar_store_audit_list *op)
{
	struct ar_store_audit_place from = ar_audit_list_from(op);
	struct ar_pg_args args = { 0 };

	op->rows = NULL;
	op->count = 0;
	op->more = false;
	ar_pg_arg_bytes(&args, op->tenant);
	ar_pg_arg_u64(&args, (uint64_t)op->since);
	ar_pg_arg_u64(&args, op->until ? (uint64_t)op->until : INT64_MAX);
	ar_pg_arg_u64(&args, from.at < 0 ? 0 : (uint64_t)from.at);
	ar_pg_arg_u64(&args, from.lane);
	ar_pg_arg_u64(&args, from.n);
	ar_pg_arg_u64(&args, op->limit + UINT64_C(1));
	return ar_postgres_query(pg, list_of(op), &args, &op->op, read_page);
}

static enum ar_status read_chain(struct ar_pg *pg AR_UNUSED, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_audit_verify *op = AR_CONTAINER_OF(base, struct ar_store_audit_verify, op);
	int count = PQntuples(r);

	op->more = (size_t)count > op->limit;
	for (int i = 0; i < count && (size_t)i < op->limit; i++) {
		struct ar_store_audit_row row = row_of(r, i, &base->arena);
		struct ar_audit_chain floor = { ar_pg_col_u64(r, i, 8),
						ar_audit_hash_from(ar_pg_col_bytes(r, i, 9)) };

		ar_audit_verify_row(op, &row, &floor);
	}
	return AR_OK;
}

enum ar_status ar_postgres_audit_verify(struct ar_pg *pg, struct ar_store_audit_verify *op)
{
	struct ar_pg_args args = { 0 };

	ar_pg_arg_u64(&args, op->lane);
	ar_pg_arg_u64(&args, op->n);
	ar_pg_arg_u64(&args, op->limit + UINT64_C(1));
	return ar_postgres_query(pg, AR_PG_AUDIT_AFTER, &args, &op->op, read_chain);
}
