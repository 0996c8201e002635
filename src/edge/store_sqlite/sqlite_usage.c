/* What model calls used: sums that appends add to (writer thread), and pages of them (reader thread, results
 * are copies in the operation's arena). The key begins with what a page by hour is read in the order of. */
#include "sqlite.h"

const char ar_sqlite_usage_schema[] =
	"CREATE TABLE usage (tenant TEXT NOT NULL, hour INTEGER NOT NULL, currency TEXT NOT NULL,"
	" workspace TEXT NOT NULL, model TEXT NOT NULL, requests INTEGER NOT NULL,"
	" input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,"
	" cost INTEGER NOT NULL, PRIMARY KEY (tenant, hour, currency, workspace, model)) WITHOUT ROWID;"
	"CREATE INDEX session_open ON session (tenant, session) WHERE open = 1;";

/* A new file has the column. A session of before may have open tasks: they are looked for once. */
const char ar_sqlite_open_schema[] =
	"ALTER TABLE session ADD COLUMN open INTEGER NOT NULL DEFAULT 0;"
	"UPDATE session SET open = 1 WHERE active = 1 OR session IN (SELECT session FROM task WHERE status"
	" NOT IN ('completed', 'failed', 'cancelled', 'timed_out', 'archived'));";

static struct ar_str named(struct ar_str name)
{
	return ar_str_absent(name) ? AR_STR("") : name;
}

static enum ar_status put_sums(struct ar_db *db, enum ar_sql_id how, const struct ar_store_usage_row *row,
			       struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, how);

	ar_sql_text(&q, ar_store_tenant_of(row->tenant));
	ar_sql_i64(&q, row->hour);
	ar_sql_text(&q, named(row->currency));
	ar_sql_text(&q, named(row->workspace));
	ar_sql_text(&q, named(row->model));
	ar_sql_i64(&q, row->requests);
	ar_sql_i64(&q, row->input_tokens);
	ar_sql_i64(&q, row->output_tokens);
	ar_sql_i64(&q, row->cached_tokens);
	ar_sql_i64(&q, row->cost);
	return ar_sql_run(&q, err);
}

/* Most calls are in an hour that has a row, which an update finds at less cost than an insert that fails. */
static enum ar_status add_sums(struct ar_db *db, const struct ar_store_usage_row *row, struct ar_error *err)
{
	enum ar_status st = put_sums(db, AR_SQL_USAGE_ADD, row, err);

	return st || sqlite3_changes(db->handle) > 0 ? st : put_sums(db, AR_SQL_USAGE_NEW, row, err);
}

enum ar_status ar_sqlite_add_usage(struct ar_sqlite *s, struct ar_store_append *a,
				   const struct ar_store_key *key AR_UNUSED)
{
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < a->usage_count; i++)
		st = add_sums(&s->write_db, &a->usage[i], &a->op.err);
	return st;
}

/* There is no index by hour, which would cost each new file a fortieth of its start: one look an hour. */
enum ar_status ar_sqlite_usage_prune(struct ar_sqlite *s, struct ar_store_upkeep *op, size_t most)
{
	int64_t hour = op->usage_before / AR_STORE_HOUR;
	struct ar_sql q;
	enum ar_status st;

	if (hour <= s->usage_floor)
		return AR_OK;
	q = ar_sql_begin(&s->write_db, AR_SQL_USAGE_OLD);
	ar_sql_i64(&q, hour);
	ar_sql_u64(&q, most);
	st = ar_sql_run(&q, &op->op.err);
	op->usages = st ? 0 : (size_t)sqlite3_changes(s->write_db.handle);
	op->more = op->more || op->usages == most;
	if (!st && op->usages < most)
		s->usage_floor = hour;
	return st;
}

/* ---- pages ---- */

static void add_row(struct ar_sql *q, struct ar_store_usage *op)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_store_usage_row *row;
	struct ar_str *name;

	op->rows = ar_store_extend(a, op->rows, op->count, sizeof *op->rows);
	row = &op->rows[op->count++];
	*row = (struct ar_store_usage_row){ .currency = ar_sql_col_str(q, 1, a),
					    .requests = ar_sql_col_i64(q, 2),
					    .input_tokens = ar_sql_col_i64(q, 3),
					    .output_tokens = ar_sql_col_i64(q, 4),
					    .cached_tokens = ar_sql_col_i64(q, 5),
					    .cost = ar_sql_col_i64(q, 6) };
	name = ar_store_usage_name(row, op->by);
	if (name)
		*name = ar_sql_col_str(q, 0, a);
	else
		row->hour = ar_sql_col_i64(q, 0);
}

static void bind_place(struct ar_sql *q, struct ar_store_usage *op)
{
	struct ar_str *name = ar_store_usage_name(&op->after, op->by);

	if (!op->has_after)
		ar_sql_text(q, AR_STR_NONE);
	else if (name)
		ar_sql_text(q, named(*name));
	else
		ar_sql_i64(q, op->after.hour);
	ar_sql_text(q, op->has_after ? named(op->after.currency) : AR_STR_NONE);
}

enum ar_status ar_sqlite_usage(struct ar_db *db, struct ar_store_usage *op)
{
	static const enum ar_sql_id ids[AR_STORE_USAGE_BY_COUNT] = { AR_SQL_USAGE_HOUR, AR_SQL_USAGE_MODEL,
								     AR_SQL_USAGE_WORKSPACE,
								     AR_SQL_USAGE_TENANT };
	struct ar_sql q = ar_sql_begin(db, ids[op->by]);

	op->rows = NULL;
	op->count = 0;
	op->more = false;
	ar_sql_text(&q, op->tenant);
	ar_sql_i64(&q, op->from);
	ar_sql_i64(&q, op->to);
	ar_sql_text(&q, op->workspace);
	ar_sql_text(&q, op->model);
	bind_place(&q, op);
	ar_sql_u64(&q, op->limit + UINT64_C(1));
	while (ar_sql_page_row(&q, op->count, op->limit, &op->more))
		add_row(&q, op);
	return ar_sql_end(&q, &op->op.err);
}
