/* Rows of actions: written with the append that changes them (writer thread), and listed over all sessions
 * (reader thread, results are copies in the operation's arena). They go with their session in
 * sqlite_upkeep.c. */
#include "sqlite.h"

static enum ar_status put_action(struct ar_db *db, const struct ar_store_key *key,
				 const struct ar_store_action_row *row, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_ACTION_PUT);

	ar_sql_key(&q, key);
	ar_sql_i64(&q, row->created);
	ar_sql_text(&q, row->action);
	ar_sql_text(&q, row->account);
	ar_sql_text(&q, ar_store_tenant_of(row->tenant));
	ar_sql_i64(&q, row->is_pending);
	ar_sql_checksummed(&q, row->record, ar_row_sum_of_action(row));
	return ar_sql_run(&q, err);
}

enum ar_status ar_sqlite_put_actions(struct ar_sqlite *s, struct ar_store_append *a,
				     const struct ar_store_key *key)
{
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < a->action_count; i++)
		st = put_action(&s->write_db, key, &a->actions[i], &a->op.err);
	return st;
}

static enum ar_status add_action(struct ar_sql *q, struct ar_store_actions *op)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_store_action_row *row;
	enum ar_status st;

	op->rows = ar_store_extend(a, op->rows, op->count, sizeof *op->rows);
	row = &op->rows[op->count++];
	*row = (struct ar_store_action_row){ .action = ar_sql_col_str(q, 0, a),
					     .account = ar_sql_col_str(q, 1, a),
					     .created = ar_sql_col_i64(q, 2),
					     .is_pending = ar_sql_col_i64(q, 3) != 0,
					     .tenant = ar_sql_col_str(q, 5, a) };
	st = ar_sql_col_checksummed(q, 4, ar_row_sum_of_action(row), a, &row->record,
				    op->is_check ? NULL : &op->op.err);
	if (st && op->is_check)
		row->record = AR_STR_NONE;
	return op->is_check ? AR_OK : st;
}

/* By what is asked for: each has an index in the order of the list, but that over all tenants. */
static enum ar_sql_id statement_for(const struct ar_store_actions *op)
{
	static const enum ar_sql_id ids[2][4] = {
		{ AR_SQL_ACTION_LIST, AR_SQL_ACTION_LIST_TENANT, AR_SQL_ACTION_LIST_ACCOUNT,
		  AR_SQL_ACTION_LIST_SESSION },
		{ AR_SQL_ACTION_PENDING, AR_SQL_ACTION_PENDING_TENANT, AR_SQL_ACTION_PENDING_ACCOUNT,
		  AR_SQL_ACTION_PENDING_SESSION },
	};

	return ids[op->filter == AR_STORE_ACTION_PENDING][ar_store_actions_filter(op)];
}

static enum ar_status list_actions(struct ar_db *db, struct ar_store_actions *op, struct ar_str session)
{
	struct ar_sql q = ar_sql_begin(db, statement_for(op));
	bool is_first = ar_str_absent(op->after);
	enum ar_status st = AR_OK, end;

	ar_sql_bytes(&q, session);
	ar_sql_text(&q, op->account);
	ar_sql_i64(&q, is_first ? 0 : op->after_created);
	ar_sql_text(&q, is_first ? AR_STR("") : op->after);
	ar_sql_i64(&q, op->filter == AR_STORE_ACTION_ANY);
	ar_sql_u64(&q, op->limit + UINT64_C(1));
	ar_sql_text(&q, op->tenant);
	while (!st && !op->more && ar_sql_row(&q)) {
		op->more = op->count == op->limit;
		if (!op->more)
			st = add_action(&q, op);
	}
	end = ar_sql_end(&q, st ? NULL : &op->op.err);
	return st ? st : end;
}

enum ar_status ar_sqlite_actions(struct ar_db *db, struct ar_store_actions *op)
{
	struct ar_store_key key;

	op->rows = NULL;
	op->count = 0;
	op->more = false;
	if (ar_str_absent(op->session))
		return list_actions(db, op, AR_STR_NONE);
	return ar_store_key_parse(op->session, &key) ? list_actions(db, op, ar_store_key_bytes(&key)) : AR_OK;
}
