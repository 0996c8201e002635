/* Rows of items: written with the append that changes them (writer thread), and read by number (reader
 * thread, results are copies in the operation's arena). They go with their session in sqlite_upkeep.c. */
#include "sqlite.h"

const char ar_sqlite_item_schema[] =
	"CREATE TABLE item (session BLOB NOT NULL, list INTEGER NOT NULL, number INTEGER NOT NULL,"
	" record BLOB, PRIMARY KEY (session, list, number)) WITHOUT ROWID;";

static enum ar_status put_item(struct ar_db *db, const struct ar_store_key *key,
			       const struct ar_store_item_row *row, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_ITEM_PUT);

	ar_sql_key(&q, key);
	ar_sql_u64(&q, row->list);
	ar_sql_u64(&q, row->number);
	ar_sql_checksummed(&q, row->record, ar_row_sum_of_item(key, row));
	return ar_sql_run(&q, err);
}

enum ar_status ar_sqlite_put_items(struct ar_sqlite *s, struct ar_store_append *a,
				   const struct ar_store_key *key)
{
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < a->item_count; i++)
		st = put_item(&s->write_db, key, &a->items[i], &a->op.err);
	return st;
}

static enum ar_status add_item(struct ar_sql *q, const struct ar_store_key *key, struct ar_store_items *op)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_store_item_row *row;
	enum ar_status st;

	op->rows = ar_store_extend(a, op->rows, op->count, sizeof *op->rows);
	row = &op->rows[op->count++];
	*row = (struct ar_store_item_row){ .list = ar_sql_col_u64(q, 0), .number = ar_sql_col_u64(q, 1) };
	st = ar_sql_col_checksummed(q, 2, ar_row_sum_of_item(key, row), a, &row->record,
				    op->is_check ? NULL : &op->op.err);
	if (st && op->is_check)
		row->record = AR_STR_NONE;
	return op->is_check ? AR_OK : st;
}

enum ar_status ar_sqlite_items(struct ar_db *db, struct ar_store_items *op)
{
	struct ar_store_key key;
	struct ar_sql q;
	enum ar_status st = AR_OK, end;

	op->rows = NULL;
	op->count = 0;
	op->more = false;
	if (!ar_store_key_parse(op->session, &key))
		return AR_OK;
	q = ar_sql_begin(db, AR_SQL_ITEM_LIST);
	ar_sql_key(&q, &key);
	ar_sql_u64(&q, op->list);
	ar_sql_u64(&q, op->from);
	ar_sql_u64(&q, op->to);
	ar_sql_u64(&q, op->limit + UINT64_C(1));
	while (!st && ar_sql_page_row(&q, op->count, op->limit, &op->more))
		st = add_item(&q, &key, op);
	end = ar_sql_end(&q, st ? NULL : &op->op.err);
	return st ? st : end;
}
