/* Sessions by their due times: a column of their row, with an index that holds those alone that have one. */
#include "sqlite.h"

#include <string.h>

const char ar_sqlite_due_schema[] =
	"CREATE INDEX session_due ON session (due, session) WHERE due IS NOT NULL;";

/* One of a partition that is not asked for is passed over; one too many only says that there are more. */
static enum ar_status add_session(struct ar_sql *q, struct ar_store_due *op)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_str raw = ar_sql_col_raw(q, 0);
	struct ar_store_key key;

	if (raw.len != sizeof key.b)
		return ar_fail(&op->op.err, AR_E_CORRUPT, "a stored session has a key of %zu bytes", raw.len);
	memcpy(key.b, raw.p, sizeof key.b);
	if (!ar_store_partitions_have(op->partitions, &key))
		return AR_OK;
	op->more = op->count == op->limit;
	if (op->more)
		return AR_OK;
	op->ids = ar_store_extend(a, op->ids, op->count, sizeof *op->ids);
	op->times = ar_store_extend(a, op->times, op->count, sizeof *op->times);
	op->ids[op->count] = ar_store_key_text(a, &key);
	op->times[op->count++] = ar_sql_col_i64(q, 1);
	return AR_OK;
}

enum ar_status ar_sqlite_due(struct ar_db *db, struct ar_store_due *op)
{
	struct ar_store_key after = { 0 };
	bool has_after = !ar_str_absent(op->after);
	enum ar_status st = AR_OK, end;
	struct ar_sql q;

	op->ids = NULL;
	op->times = NULL;
	op->count = 0;
	op->more = false;
	if (has_after && !ar_store_key_parse(op->after, &after))
		return ar_store_fail_key(&op->op.err, op->after);
	q = ar_sql_begin(db, AR_SQL_DUE_LIST);
	ar_sql_i64(&q, has_after ? op->after_due : INT64_MIN);
	ar_sql_key(&q, &after);
	while (!st && !op->more && ar_sql_row(&q))
		st = add_session(&q, op);
	end = ar_sql_end(&q, st ? NULL : &op->op.err);
	return st ? st : end;
}
