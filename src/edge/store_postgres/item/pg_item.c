/* Rows of items: the table, and pages of one list by number. Results are copies in the operation's arena.
 * The rows are written by pg_batch.c and go with their session in pg_upkeep.c. */
#include "postgres.h"

const char ar_pg_migration_item[] =
	"CREATE TABLE item (session uuid NOT NULL, list int8 NOT NULL, number int8 NOT NULL, record bytea,"
	" PRIMARY KEY (session, list, number));"
	"ALTER TABLE item ALTER COLUMN record SET STORAGE EXTERNAL;"
	"ALTER TABLE item SET (fillfactor = 70);";

static enum ar_status read_item(struct ar_pg *pg, const PGresult *r, struct ar_store_items *op, size_t i)
{
	struct ar_store_item_row *row = &op->rows[i];
	struct ar_store_key key;
	enum ar_status st;

	AR_ASSERT(ar_store_key_parse(op->session, &key));
	*row = (struct ar_store_item_row){ .list = ar_pg_col_u64(r, (int)i, 0),
					   .number = ar_pg_col_u64(r, (int)i, 1) };
	st = ar_pg_unpack_checksummed(pg->packer, ar_pg_col_bytes(r, (int)i, 2),
				      ar_row_sum_of_item(&key, row), &op->op.arena, &row->record,
				      &op->op.err);
	return op->is_check ? AR_OK : st; /* a record that does not unpack was left absent */
}

static enum ar_status read_items(struct ar_pg *pg, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_items *op = AR_CONTAINER_OF(base, struct ar_store_items, op);
	size_t came = (size_t)PQntuples(r);
	enum ar_status st = AR_OK;

	op->more = came > op->limit;
	op->count = op->more ? op->limit : came;
	op->rows = ar_arena_alloc(&op->op.arena, (op->count + 1) * sizeof *op->rows);
	for (size_t i = 0; !st && i < op->count; i++)
		st = read_item(pg, r, op, i);
	return st;
}

enum ar_status ar_postgres_items(struct ar_pg *pg, struct ar_store_items *op)
{
	struct ar_pg_args args = { 0 };
	struct ar_store_key key;

	op->rows = NULL;
	op->count = 0;
	op->more = false;
	if (!ar_store_key_parse(op->session, &key))
		return AR_OK;
	ar_pg_arg_bytes(&args, ar_store_key_bytes(&key));
	ar_pg_arg_u64(&args, op->list);
	ar_pg_arg_u64(&args, op->from);
	ar_pg_arg_u64(&args, op->to);
	ar_pg_arg_u64(&args, op->limit + UINT64_C(1));
	return ar_postgres_query(pg, AR_PG_ITEM_LIST, &args, &op->op, read_items);
}
