/* Rows of API tokens: put one at a time inside the writer's transaction, listed by version on the
 * reader thread (results are copies in the operation's arena). There is one writer, so the next version
 * is one more than the newest. */
#include "sqlite.h"

const char ar_sqlite_token_schema[] =
	"CREATE TABLE token (token TEXT PRIMARY KEY, version INTEGER NOT NULL UNIQUE, record BLOB NOT NULL)"
	" WITHOUT ROWID;";

/* The version that is stored (0: none) and the next one. */
static enum ar_status read_versions(struct ar_db *db, struct ar_str token, uint64_t ret[2],
				    struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_TOKEN_VERSION);

	ar_sql_text(&q, token);
	if (ar_sql_row(&q)) {
		ret[0] = ar_sql_col_u64(&q, 0);
		ret[1] = ar_sql_col_u64(&q, 1);
	}
	return ar_sql_end(&q, err);
}

static enum ar_status drop(struct ar_db *db, struct ar_store_token_put *op)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_TOKEN_DROP);

	ar_sql_text(&q, op->token);
	return ar_sql_run(&q, &op->op.err);
}

enum ar_status ar_sqlite_token_put(struct ar_sqlite *s, struct ar_store_token_put *op)
{
	uint64_t versions[2] = { 0 };
	enum ar_status st = ar_store_check_token(op, &op->op.err);
	struct ar_sql q;

	if (!st)
		st = read_versions(&s->write_db, op->token, versions, &op->op.err);
	if (st)
		return st;
	if (versions[0] != op->expected)
		return ar_store_fail_token(&op->op.err, op->token);
	if (ar_str_absent(op->record))
		return drop(&s->write_db, op);
	op->version = versions[1];
	q = ar_sql_begin(&s->write_db, AR_SQL_TOKEN_PUT);
	ar_sql_text(&q, op->token);
	ar_sql_u64(&q, op->version);
	ar_sql_bytes(&q, op->record);
	st = ar_sql_run(&q, &op->op.err);
	return st || !op->audit ? st : ar_sqlite_audit_put(s, op->audit, &op->op.err);
}

enum ar_status ar_sqlite_tokens(struct ar_db *db, struct ar_store_tokens *op)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_TOKEN_LIST);
	struct ar_arena *a = &op->op.arena;

	op->rows = NULL;
	op->count = 0;
	ar_sql_u64(&q, op->after);
	ar_sql_u64(&q, op->limit + UINT64_C(1));
	while (ar_sql_page_row(&q, op->count, op->limit, &op->more)) {
		op->rows = ar_store_extend(a, op->rows, op->count, sizeof *op->rows);
		op->rows[op->count++] =
			(struct ar_store_token_row){ ar_sql_col_str(&q, 0, a), ar_sql_col_u64(&q, 1),
						     ar_sql_col_str(&q, 2, a) };
	}
	return ar_sql_end(&q, &op->op.err);
}
