/* The audit trail: an entry is put inside the writer's transaction, as one more row behind the chain
 * that the writer has in memory; a batch that is rolled back takes the chain with it. Pages and checks
 * are the reader's. There is one lane. */
#include "sqlite.h"

#define LANE 1

/* Numbers rise with every row, so the table is written at its end alone; the index by
 * tenant is what lists go by. */
const char ar_sqlite_audit_schema[] =
	"CREATE TABLE audit (n INTEGER PRIMARY KEY, at INTEGER NOT NULL, tenant TEXT NOT NULL, session TEXT,"
	" seq INTEGER NOT NULL, record BLOB NOT NULL, hash BLOB NOT NULL);"
	"CREATE INDEX audit_tenant ON audit (tenant, at, n);"
	"CREATE TABLE audit_floor (lane INTEGER PRIMARY KEY, n INTEGER NOT NULL, hash BLOB NOT NULL);";

/* ---- the writer's ---- */

static enum ar_status find_end(struct ar_sqlite *s, struct ar_error *err)
{
	struct ar_sql q;
	enum ar_status st;

	if (s->is_chain_known)
		return AR_OK;
	s->chain = (struct ar_audit_chain){ 0 };
	q = ar_sql_begin(&s->write_db, AR_SQL_AUDIT_END);
	if (ar_sql_row(&q)) {
		s->chain.n = ar_sql_col_u64(&q, 0);
		s->chain.hash = ar_audit_hash_from(ar_sql_col_raw(&q, 1));
	}
	st = ar_sql_end(&q, err);
	s->is_chain_known = !st;
	return st;
}

enum ar_status ar_sqlite_audit_put(struct ar_sqlite *s, const struct ar_store_audit *e, struct ar_error *err)
{
	enum ar_status st = ar_store_check_audit(e, err);
	struct ar_sql q;

	if (!st)
		st = find_end(s, err);
	if (st)
		return st;
	ar_audit_chain_add(&s->chain, e);
	q = ar_sql_begin(&s->write_db, AR_SQL_AUDIT_PUT);
	ar_sql_u64(&q, s->chain.n);
	ar_sql_i64(&q, e->at);
	ar_sql_text(&q, e->tenant);
	ar_sql_text(&q, e->session);
	ar_sql_u64(&q, e->sequence);
	ar_sql_bytes(&q, e->record);
	ar_sql_hash(&q, &s->chain.hash);
	return ar_sql_run(&q, err);
}

static enum ar_status raise_floor(struct ar_sqlite *s, uint64_t n, struct ar_error *err)
{
	static const enum ar_sql_id steps[] = { AR_SQL_AUDIT_FLOOR, AR_SQL_AUDIT_DROP };
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < AR_ARRAY_LEN(steps); i++) {
		struct ar_sql q = ar_sql_begin(&s->write_db, steps[i]);

		ar_sql_u64(&q, n);
		st = ar_sql_run(&q, err);
	}
	return st;
}

enum ar_status ar_sqlite_audit_prune(struct ar_sqlite *s, struct ar_store_upkeep *op, size_t most)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_AUDIT_OLD);
	uint64_t last = 0;
	enum ar_status st;

	ar_sql_i64(&q, op->audit_before);
	ar_sql_u64(&q, most + UINT64_C(1)); /* the last one that is looked at stays */
	if (ar_sql_row(&q)) {
		last = ar_sql_col_u64(&q, 0);
		op->audits = (size_t)ar_sql_col_u64(&q, 1);
	}
	st = ar_sql_end(&q, &op->op.err);
	op->more = op->more || op->audits == most;
	return st || !last ? st : raise_floor(s, last, &op->op.err);
}

/* ---- the reader's ---- */

static void read_row(struct ar_sql *q, struct ar_arena *a, struct ar_store_audit_row *ret)
{
	*ret = (struct ar_store_audit_row){
		.place = { .at = ar_sql_col_i64(q, 1), .lane = LANE, .n = ar_sql_col_u64(q, 0) },
		.entry = { .tenant = ar_sql_col_str(q, 2, a),
			   .at = ar_sql_col_i64(q, 1),
			   .session = ar_sql_col_str(q, 3, a),
			   .sequence = ar_sql_col_u64(q, 4),
			   .record = ar_sql_col_str(q, 5, a) },
		.hash = ar_audit_hash_from(ar_sql_col_raw(q, 6)),
	};
}

static enum ar_sql_id list_of(const struct ar_store_audit_list *op)
{
	if (ar_str_absent(op->tenant))
		return op->is_oldest_first ? AR_SQL_AUDIT_LIST_ALL_UP : AR_SQL_AUDIT_LIST_ALL;
	return op->is_oldest_first ? AR_SQL_AUDIT_LIST_UP : AR_SQL_AUDIT_LIST;
}

enum ar_status ar_sqlite_audit_list(struct ar_db *db, struct ar_store_audit_list *op)
{
	struct ar_sql q = ar_sql_begin(db, list_of(op));
	struct ar_store_audit_place from = ar_audit_list_from(op);
	struct ar_arena *a = &op->op.arena;

	op->rows = NULL;
	op->count = 0;
	ar_sql_text(&q, op->tenant);
	ar_sql_i64(&q, op->since);
	ar_sql_i64(&q, op->until ? op->until : INT64_MAX);
	ar_sql_i64(&q, from.at);
	ar_sql_u64(&q, from.n);
	ar_sql_u64(&q, op->limit + UINT64_C(1));
	while (ar_sql_page_row(&q, op->count, op->limit, &op->more)) {
		op->rows = ar_store_extend(a, op->rows, op->count, sizeof *op->rows);
		read_row(&q, a, &op->rows[op->count++]);
	}
	return ar_sql_end(&q, &op->op.err);
}

static enum ar_status find_floor(struct ar_db *db, struct ar_audit_chain *ret, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_AUDIT_FLOOR_GET);

	if (ar_sql_row(&q))
		*ret = (struct ar_audit_chain){ ar_sql_col_u64(&q, 0),
						ar_audit_hash_from(ar_sql_col_raw(&q, 1)) };
	return ar_sql_end(&q, err);
}

enum ar_status ar_sqlite_audit_verify(struct ar_db *db, struct ar_store_audit_verify *op)
{
	struct ar_audit_chain floor = { 0 };
	enum ar_status st = find_floor(db, &floor, &op->op.err);
	struct ar_store_audit_row row;
	struct ar_sql q;

	if (st)
		return st;
	q = ar_sql_begin(db, AR_SQL_AUDIT_AFTER);
	ar_sql_u64(&q, op->n);
	ar_sql_u64(&q, op->limit + UINT64_C(1));
	while (ar_sql_page_row(&q, op->checked, op->limit, &op->more)) {
		read_row(&q, &op->op.arena, &row);
		ar_audit_verify_row(op, &row, &floor);
	}
	return ar_sql_end(&q, &op->op.err);
}
