/* The reader's list of actions: one statement, by whose and which are wanted; each has an index in the order
 * of the list, but that over all tenants. Results are copies in the operation's arena. The rows are written
 * by pg_batch.c and go with their session in pg_upkeep.c. */
#include "postgres.h"

static enum ar_status read_action(struct ar_pg *pg, const PGresult *r, struct ar_store_actions *op, size_t i)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_store_action_row *row = &op->rows[i];
	enum ar_status st;

	*row = (struct ar_store_action_row){ .action = ar_pg_col_str(r, (int)i, 0, a),
					     .account = ar_pg_col_str(r, (int)i, 1, a),
					     .created = ar_pg_col_i64(r, (int)i, 2),
					     .is_pending = ar_pg_col_bool(r, (int)i, 3),
					     .tenant = ar_pg_col_str(r, (int)i, 5, a) };
	st = ar_pg_unpack_checksummed(pg->packer, ar_pg_col_bytes(r, (int)i, 4), ar_row_sum_of_action(row), a,
				      &row->record, &op->op.err);
	return op->is_check ? AR_OK : st; /* a record that does not unpack was left absent */
}

static enum ar_status read_actions(struct ar_pg *pg, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_actions *op = AR_CONTAINER_OF(base, struct ar_store_actions, op);
	size_t came = (size_t)PQntuples(r);
	enum ar_status st = AR_OK;

	op->more = came > op->limit;
	op->count = op->more ? op->limit : came;
	op->rows = ar_arena_alloc(&op->op.arena, (op->count + 1) * sizeof *op->rows);
	for (size_t i = 0; !st && i < op->count; i++)
		st = read_action(pg, r, op, i);
	return st;
}

static enum ar_pg_id statement_for(const struct ar_store_actions *op)
{
	static const enum ar_pg_id ids[2][4] = {
		{ AR_PG_ACTION_LIST, AR_PG_ACTION_LIST_TENANT, AR_PG_ACTION_LIST_ACCOUNT,
		  AR_PG_ACTION_LIST_SESSION },
		{ AR_PG_ACTION_PENDING, AR_PG_ACTION_PENDING_TENANT, AR_PG_ACTION_PENDING_ACCOUNT,
		  AR_PG_ACTION_PENDING_SESSION },
	};

	return ids[op->filter == AR_STORE_ACTION_PENDING][ar_store_actions_filter(op)];
}

static enum ar_status list_actions(struct ar_pg *pg, struct ar_store_actions *op, struct ar_str session)
{
	bool is_first = ar_str_absent(op->after);
	struct ar_pg_args args = { 0 };

	ar_pg_arg_bytes(&args, session);
	ar_pg_arg_bytes(&args, op->account);
	ar_pg_arg_u64(&args, is_first || op->after_created < 0 ? 0 : (uint64_t)op->after_created);
	ar_pg_arg_bytes(&args, is_first ? AR_STR("") : op->after);
	ar_pg_arg_bool(&args, op->filter == AR_STORE_ACTION_ANY);
	ar_pg_arg_u64(&args, op->limit + UINT64_C(1));
	ar_pg_arg_bytes(&args, op->tenant);
	return ar_postgres_query(pg, statement_for(op), &args, &op->op, read_actions);
}

enum ar_status ar_postgres_actions(struct ar_pg *pg, struct ar_store_actions *op)
{
	struct ar_store_key key;

	op->rows = NULL;
	op->count = 0;
	op->more = false;
	if (ar_str_absent(op->session))
		return list_actions(pg, op, AR_STR_NONE);
	return ar_store_key_parse(op->session, &key) ? list_actions(pg, op, ar_store_key_bytes(&key)) : AR_OK;
}
