/* Sessions by their due times: a column of their row, with an index that holds those alone that have one. */
#include "postgres.h"

#include <string.h>

/* A node of the version before leaves the column as it is. */
const char ar_pg_migration_due[] =
	"ALTER TABLE session ADD COLUMN due int8;"
	"CREATE INDEX session_due ON session (due, session) WHERE due IS NOT NULL;";

static enum ar_status read_due(struct ar_pg *pg AR_UNUSED, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_due *op = AR_CONTAINER_OF(base, struct ar_store_due, op);
	struct ar_arena *a = &base->arena;
	size_t came = (size_t)PQntuples(r);

	op->more = came > op->limit;
	op->count = op->more ? op->limit : came;
	op->ids = ar_arena_alloc(a, (op->count + 1) * sizeof *op->ids);
	op->times = ar_arena_alloc(a, (op->count + 1) * sizeof *op->times);
	for (size_t i = 0; i < op->count; i++) {
		struct ar_str raw = ar_pg_col_bytes(r, (int)i, 0);
		struct ar_store_key key;

		AR_ASSERT(raw.len == sizeof key.b);
		memcpy(key.b, raw.p, sizeof key.b);
		op->ids[i] = ar_store_key_text(a, &key);
		op->times[i] = ar_pg_col_i64(r, (int)i, 1);
	}
	return AR_OK;
}

enum ar_status ar_postgres_due(struct ar_pg *pg, struct ar_store_due *op)
{
	struct ar_store_key after = { 0 };
	bool has_after = !ar_str_absent(op->after);
	struct ar_pg_array partitions = { 0 };
	struct ar_pg_args args = { 0 };
	enum ar_status st;

	op->ids = NULL;
	op->times = NULL;
	op->count = 0;
	op->more = false;
	if (has_after && !ar_store_key_parse(op->after, &after))
		return ar_store_fail_key(&op->op.err, op->after);
	ar_pg_arg_u64(&args, has_after ? (uint64_t)op->after_due : 0);
	ar_pg_arg_key(&args, &after);
	ar_pg_arg_u64(&args, op->limit + UINT64_C(1));
	if (op->partitions) {
		ar_postgres_list_partitions(op->partitions, &partitions);
		ar_pg_arg_array(&args, &partitions);
	} else {
		ar_pg_arg_bytes(&args, AR_STR_NONE);
	}
	st = ar_postgres_query(pg, AR_PG_DUE_LIST, &args, &op->op, read_due);
	ar_pg_array_fini(&partitions);
	return st;
}
