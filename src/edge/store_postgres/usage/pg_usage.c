/* What model calls used: the table, and pages of sums. Results are copies in the operation's arena. The rows
 * are written by pg_batch.c, and go with their age in pg_upkeep.c. */
#include "postgres.h"

/* A node of the version before adds nothing, and leaves `open` as it is. Sessions of before may have open
 * tasks: those that were not ended are looked for once. */
const char ar_pg_migration_usage[] =
	"CREATE TABLE usage (tenant bytea NOT NULL, hour int8 NOT NULL, currency bytea NOT NULL,"
	" workspace bytea NOT NULL, model bytea NOT NULL, lane int8 NOT NULL, requests int8 NOT NULL,"
	" input_tokens int8 NOT NULL, output_tokens int8 NOT NULL, cached_tokens int8 NOT NULL,"
	" cost int8 NOT NULL, PRIMARY KEY (tenant, hour, currency, workspace, model, lane))"
	" WITH (fillfactor = 70);"
	"CREATE INDEX usage_hour ON usage (hour);"
	"ALTER TABLE session ADD COLUMN open bool NOT NULL DEFAULT false;"
	"UPDATE session SET open = true WHERE active OR session IN (SELECT session FROM task WHERE status"
	" NOT IN ('completed', 'failed', 'cancelled', 'timed_out', 'archived'));"
	"CREATE INDEX session_open ON session (tenant, session) WHERE open;";

static void read_row(const PGresult *r, int i, struct ar_store_usage *op, struct ar_store_usage_row *row)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_str *name;

	*row = (struct ar_store_usage_row){ .currency = ar_pg_col_str(r, i, 1, a),
					    .requests = ar_pg_col_i64(r, i, 2),
					    .input_tokens = ar_pg_col_i64(r, i, 3),
					    .output_tokens = ar_pg_col_i64(r, i, 4),
					    .cached_tokens = ar_pg_col_i64(r, i, 5),
					    .cost = ar_pg_col_i64(r, i, 6) };
	name = ar_store_usage_name(row, op->by);
	if (name)
		*name = ar_pg_col_str(r, i, 0, a);
	else
		row->hour = ar_pg_col_i64(r, i, 0);
}

static enum ar_status read_rows(struct ar_pg *pg AR_UNUSED, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_usage *op = AR_CONTAINER_OF(base, struct ar_store_usage, op);
	size_t came = (size_t)PQntuples(r);

	op->more = came > op->limit;
	op->count = op->more ? op->limit : came;
	op->rows = ar_arena_alloc(&base->arena, (op->count + 1) * sizeof *op->rows);
	for (size_t i = 0; i < op->count; i++)
		read_row(r, (int)i, op, &op->rows[i]);
	return AR_OK;
}

static void add_place(struct ar_pg_args *args, struct ar_store_usage *op)
{
	struct ar_str *name = ar_store_usage_name(&op->after, op->by);

	if (!op->has_after)
		ar_pg_arg_bytes(args, AR_STR_NONE);
	else if (name)
		ar_pg_arg_bytes(args, ar_str_absent(*name) ? AR_STR("") : *name);
	else
		ar_pg_arg_u64(args, (uint64_t)op->after.hour);
	ar_pg_arg_bytes(args, ar_str_absent(op->after.currency) ? AR_STR("") : op->after.currency);
}

enum ar_status ar_postgres_usage(struct ar_pg *pg, struct ar_store_usage *op)
{
	static const enum ar_pg_id ids[AR_STORE_USAGE_BY_COUNT] = { AR_PG_USAGE_HOUR, AR_PG_USAGE_MODEL,
								    AR_PG_USAGE_WORKSPACE,
								    AR_PG_USAGE_TENANT };
	struct ar_pg_args args = { 0 };

	op->rows = NULL;
	op->count = 0;
	op->more = false;
	ar_pg_arg_bytes(&args, op->tenant);
	ar_pg_arg_u64(&args, (uint64_t)op->from);
	ar_pg_arg_u64(&args, (uint64_t)op->to);
	ar_pg_arg_bytes(&args, op->workspace);
	ar_pg_arg_bytes(&args, op->model);
	add_place(&args, op);
	ar_pg_arg_u64(&args, op->limit + UINT64_C(1));
	return ar_postgres_query(pg, ids[op->by], &args, &op->op, read_rows);
}
