/* The reader's lists and lookups: sessions, tasks, receipts, blobs. One statement each; results are copies in
 * the operation's arena. */
#include "postgres.h"

#include <string.h>

enum ar_status ar_postgres_query(struct ar_pg *pg, enum ar_pg_id id, const struct ar_pg_args *args,
				 struct ar_store_op *op, ar_postgres_read_fn *take)
{
	enum ar_status st = AR_OK;
	PGresult *r;

	ar_pg_send(pg, id, args);
	ar_pg_sync(pg);
	r = ar_pg_next(pg);
	if (r)
		st = take(pg, r, op);
	PQclear(r);
	return ar_pg_end(pg) ? ar_pg_fail(pg, &op->err) : st;
}

/* ---- receipts ---- */

static enum ar_status read_receipt(struct ar_pg *pg, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_receipt_get *op = AR_CONTAINER_OF(base, struct ar_store_receipt_get, op);
	struct ar_str input;

	if (PQntuples(r) == 0)
		return ar_store_fail_no_receipt(&op->op.err, op->key);
	input = ar_pg_col_bytes(r, 0, 0);
	if (input.len != AR_HASH_LEN)
		return ar_fail(&op->op.err, AR_E_CORRUPT, "a stored receipt has no input hash");
	memcpy(op->found.input.b, input.p, AR_HASH_LEN);
	op->found.scope = ar_arena_str(&op->op.arena, op->scope);
	op->found.key = ar_arena_str(&op->op.arena, op->key);
	return ar_pg_unpack_checksummed(pg->packer, ar_pg_col_bytes(r, 0, 1),
					ar_row_sum_of_receipt(&op->found), &op->op.arena, &op->found.reply,
					&op->op.err);
}

enum ar_status ar_postgres_receipt(struct ar_pg *pg, struct ar_store_receipt_get *op)
{
	struct ar_pg_args args = { 0 };

	op->found = (struct ar_store_receipt){ .scope = op->scope, .key = op->key };
	ar_pg_arg_bytes(&args, op->scope);
	ar_pg_arg_bytes(&args, op->key);
	return ar_postgres_query(pg, AR_PG_RECEIPT_GET, &args, &op->op, read_receipt);
}

/* ---- blobs ---- */

static struct ar_str hash_bytes(const struct ar_hash *h)
{
	return (struct ar_str){ (const char *)h->b, sizeof h->b };
}

/* The row of a hash among those that came; -1 when it is not there. */
static int find_blob(const PGresult *r, const struct ar_hash *hash)
{
	for (int i = 0; i < PQntuples(r); i++) {
		if (ar_str_eq(ar_pg_col_bytes(r, i, 0), hash_bytes(hash)))
			return i;
	}
	return -1;
}

static enum ar_status read_blob(struct ar_pg *pg, const PGresult *r, struct ar_store_blobs_get *op, size_t i)
{
	struct ar_postgres *s = AR_CONTAINER_OF(pg, struct ar_postgres, reader);
	int row = find_blob(r, &op->hashes[i]);
	enum ar_status st;

	if (row < 0)
		return AR_OK;
	if (!PQgetisnull(r, row, 2))
		return ar_postgres_object_get(s, ar_pg_col_bytes(r, row, 2), &op->hashes[i], op,
					      &op->bytes[i]);
	st = ar_pg_unpack(pg->packer, ar_pg_col_bytes(r, row, 1), &op->op.arena, &op->bytes[i], &op->op.err);
	return st ? st : ar_store_check_content(&op->hashes[i], &op->bytes[i], &op->op.err);
}

static enum ar_status read_blobs(struct ar_pg *pg, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_blobs_get *op = AR_CONTAINER_OF(base, struct ar_store_blobs_get, op);
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < op->count; i++) {
		if (!ar_str_absent(op->bytes[i]))
			continue;
		st = read_blob(pg, r, op, i);
		if (op->is_check && st != AR_E_IO)
			st = AR_OK; /* a value that does not unpack was left absent */
	}
	return st;
}

/* Asks for those that are not in memory. */
static enum ar_status query_blobs(struct ar_pg *pg, struct ar_store_blobs_get *op,
				  const struct ar_store_key *of)
{
	struct ar_pg_array hashes = { 0 };
	struct ar_pg_args args = { 0 };
	enum ar_status st = AR_OK;

	ar_pg_array_start(&hashes, AR_PG_BYTEA);
	for (size_t i = 0; i < op->count; i++) {
		if (ar_str_absent(op->bytes[i]))
			ar_pg_array_bytes(&hashes, hash_bytes(&op->hashes[i]));
	}
	ar_pg_arg_array(&args, &hashes);
	if (of)
		ar_pg_arg_key(&args, of);
	if (hashes.count)
		st = ar_postgres_query(pg, of ? AR_PG_BLOB_GET_OF : AR_PG_BLOB_GET, &args, &op->op,
				       read_blobs);
	ar_pg_array_fini(&hashes);
	return st;
}

enum ar_status ar_postgres_blobs(struct ar_postgres *s, struct ar_store_blobs_get *op)
{
	struct ar_store_key key;
	enum ar_status st;

	op->bytes = ar_arena_alloc(&op->op.arena, (op->count + 1) * sizeof *op->bytes);
	if (!ar_str_absent(op->session)) /* past the cache, which does not know who put what */
		return ar_store_key_parse(op->session, &key) ? query_blobs(&s->reader, op, &key) : AR_OK;
	for (size_t i = 0; i < op->count && !op->is_check; i++)
		ar_blob_cache_get(&s->blobs, &op->hashes[i], &op->op.arena, &op->bytes[i]);
	st = query_blobs(&s->reader, op, NULL);
	for (size_t i = 0; !st && i < op->count && !op->is_check; i++) {
		if (!ar_str_absent(op->bytes[i]))
			ar_blob_cache_put(&s->blobs, &op->hashes[i], op->bytes[i]);
	}
	return st;
}

/* ---- sessions ---- */

static enum ar_status read_sessions(struct ar_pg *pg, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_sessions *op = AR_CONTAINER_OF(base, struct ar_store_sessions, op);
	struct ar_arena *a = &op->op.arena;
	size_t came = (size_t)PQntuples(r);
	enum ar_status st = AR_OK;

	op->more = came > op->limit;
	op->count = op->more ? op->limit : came;
	op->ids = ar_arena_alloc(a, (op->count + 1) * sizeof *op->ids);
	op->shells = ar_arena_alloc(a, (op->count + 1) * sizeof *op->shells);
	for (size_t i = 0; !st && i < op->count; i++) {
		struct ar_str raw = ar_pg_col_bytes(r, (int)i, 0);
		struct ar_store_key key;

		AR_ASSERT(raw.len == sizeof key.b);
		memcpy(key.b, raw.p, sizeof key.b);
		op->ids[i] = ar_store_key_text(a, &key);
		st = ar_pg_unpack(pg->packer, ar_pg_col_bytes(r, (int)i, 1), a, &op->shells[i], &op->op.err);
	}
	return st;
}

/* The greatest key below; false when there is none. */
static bool step_down(struct ar_store_key *key)
{
	for (size_t i = sizeof key->b; i-- > 0;) {
		if (key->b[i]-- != 0)
			return true;
	}
	return false;
}

void ar_postgres_list_partitions(const uint64_t *bits, struct ar_pg_array *ret)
{
	ar_pg_array_start(ret, AR_PG_INT8);
	for (unsigned i = 0; i < AR_PARTITIONS; i++) {
		if (bits[i / 64] >> i % 64 & 1)
			ar_pg_array_i64(ret, i);
	}
}

static enum ar_pg_id session_list(const struct ar_store_sessions *op)
{
	static const enum ar_pg_id ids[2][2] = {
		{ AR_PG_SESSION_LIST, AR_PG_SESSION_LIST_ACTIVE },
		{ AR_PG_SESSION_LIST_OWNED, AR_PG_SESSION_LIST_OWNED_ACTIVE },
	};

	if (op->open_only)
		return ar_str_absent(op->tenant) ? AR_PG_SESSION_LIST_OPEN : AR_PG_SESSION_LIST_OPEN_TENANT;
	if (!ar_str_absent(op->tenant) && !op->partitions && !op->active_only)
		return AR_PG_SESSION_LIST_TENANT;
	return ids[op->partitions != NULL][op->active_only];
}

static enum ar_status list_sessions(struct ar_pg *pg, struct ar_store_sessions *op,
				    const struct ar_store_key *newest, struct ar_str above)
{
	struct ar_pg_array partitions = { 0 };
	struct ar_pg_args args = { 0 };
	enum ar_status st;

	ar_pg_arg_key(&args, newest);
	ar_pg_arg_bytes(&args, op->workspace);
	ar_pg_arg_bytes(&args, op->account);
	ar_pg_arg_bytes(&args, op->status);
	ar_pg_arg_u64(&args, op->limit + UINT64_C(1));
	ar_pg_arg_bytes(&args, above);
	ar_pg_arg_bytes(&args, op->tenant);
	ar_pg_arg_u64(&args, (uint64_t)op->updated_since);
	ar_pg_arg_bytes(&args, op->except);
	if (op->partitions) {
		ar_postgres_list_partitions(op->partitions, &partitions);
		ar_pg_arg_array(&args, &partitions);
	}
	st = ar_postgres_query(pg, session_list(op), &args, &op->op, read_sessions);
	ar_pg_array_fini(&partitions);
	return st;
}

enum ar_status ar_postgres_sessions(struct ar_pg *pg, struct ar_store_sessions *op)
{
	struct ar_store_key newest = { .b = { [0 ... AR_STORE_KEY - 1] = 0xff } }, above;

	op->ids = op->shells = NULL;
	op->count = 0;
	op->more = false;
	if (!ar_str_absent(op->before) && !ar_store_key_parse(op->before, &newest))
		return ar_store_fail_key(&op->op.err, op->before);
	if (!ar_str_absent(op->above) && !ar_store_key_parse(op->above, &above))
		return ar_store_fail_key(&op->op.err, op->above);
	if (!ar_str_absent(op->before) && !step_down(&newest))
		return AR_OK;
	return list_sessions(pg, op, &newest,
			     ar_str_absent(op->above) ? AR_STR_NONE : ar_store_key_bytes(&above));
}

/* ---- tasks ---- */

/* Row i of the result as the operation's row i. */
static enum ar_status read_task_row(struct ar_pg *pg, const PGresult *r, struct ar_store_tasks *op, size_t i)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_store_task_row *row = &op->rows[i];
	enum ar_status st;

	*row = (struct ar_store_task_row){ .task = ar_pg_col_str(r, (int)i, 1, a),
					   .status = ar_pg_col_str(r, (int)i, 2, a),
					   .is_internal = ar_pg_col_bool(r, (int)i, 3) };
	st = ar_pg_unpack_checksummed(pg->packer, ar_pg_col_bytes(r, (int)i, 4), ar_row_sum_of_task(row), a,
				      &row->record, &op->op.err);
	return op->is_check ? AR_OK : st; /* a record that does not unpack was left absent */
}

static enum ar_status read_tasks(struct ar_pg *pg, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_tasks *op = AR_CONTAINER_OF(base, struct ar_store_tasks, op);
	size_t came = (size_t)PQntuples(r);
	enum ar_status st = AR_OK;

	op->count = came < op->limit ? came : op->limit;
	op->rows = ar_arena_alloc(&op->op.arena, (op->count + 1) * sizeof *op->rows);
	for (size_t i = 0; !st && i < op->count; i++)
		st = read_task_row(pg, r, op, i);
	if (came > op->count)
		op->next = op->count ? ar_pg_col_u64(r, (int)op->count - 1, 0) : op->after;
	return st;
}

static enum ar_status read_task(struct ar_pg *pg, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_tasks *op = AR_CONTAINER_OF(base, struct ar_store_tasks, op);

	if (PQntuples(r) == 0)
		return ar_store_fail_no_task(&op->op.err, op->task);
	op->rows = ar_arena_alloc(&op->op.arena, sizeof *op->rows);
	op->count = 1;
	return read_task_row(pg, r, op, 0);
}

static enum ar_status list_tasks(struct ar_pg *pg, struct ar_store_tasks *op, const struct ar_store_key *key)
{
	struct ar_pg_args args = { 0 };

	ar_pg_arg_key(&args, key);
	ar_pg_arg_u64(&args, op->after);
	ar_pg_arg_bytes(&args, op->status);
	ar_pg_arg_bool(&args, op->with_internal);
	ar_pg_arg_u64(&args, op->limit + UINT64_C(1));
	ar_pg_arg_bytes(&args, op->except);
	return ar_postgres_query(pg, AR_PG_TASK_LIST, &args, &op->op, read_tasks);
}

static enum ar_status get_task(struct ar_pg *pg, struct ar_store_tasks *op, const struct ar_store_key *key)
{
	struct ar_pg_args args = { 0 };

	ar_pg_arg_key(&args, key);
	ar_pg_arg_bytes(&args, op->task);
	return ar_postgres_query(pg, AR_PG_TASK_GET, &args, &op->op, read_task);
}

enum ar_status ar_postgres_tasks(struct ar_pg *pg, struct ar_store_tasks *op)
{
	bool just_one = !ar_str_absent(op->task);
	struct ar_store_key key;

	op->rows = NULL;
	op->count = 0;
	op->next = 0;
	if (!ar_store_key_parse(op->session, &key))
		return just_one ? ar_store_fail_no_task(&op->op.err, op->task) : AR_OK;
	return just_one ? get_task(pg, op, &key) : list_tasks(pg, op, &key);
}

/* ---- what is stored beside the log ---- */

static struct ar_str unpack_or_none(struct ar_pg *pg, struct ar_str packed, struct ar_arena *a)
{
	struct ar_str text = AR_STR_NONE;

	return ar_pg_unpack(pg->packer, packed, a, &text, NULL) ? AR_STR_NONE : text;
}

static void read_index(struct ar_pg *pg, const struct ar_store_key *key, const PGresult *row,
		       const PGresult *snapshot, struct ar_store_index *op)
{
	struct ar_arena *a = &op->op.arena;

	op->has_row = PQntuples(row) > 0;
	op->has_snapshot = PQntuples(snapshot) > 0;
	if (op->has_row)
		op->row =
			(struct ar_store_session_row){ .created = ar_pg_col_i64(row, 0, 0),
						       .updated = ar_pg_col_i64(row, 0, 1),
						       .active = ar_pg_col_bool(row, 0, 2),
						       .workspace = ar_pg_col_str(row, 0, 3, a),
						       .account = ar_pg_col_str(row, 0, 4, a),
						       .status = ar_pg_col_str(row, 0, 5, a),
						       .tenant = ar_pg_col_str(row, 0, 7, a),
						       .due = ar_pg_col_i64(row, 0, 8),
						       .open = ar_pg_col_bool(row, 0, 9),
						       .shell = unpack_or_none(pg, ar_pg_col_bytes(row, 0, 6),
									       a) };
	if (op->has_snapshot) {
		op->snapshot_seq = ar_pg_col_u64(snapshot, 0, 0);
		if (ar_pg_unpack_checksummed(pg->packer, ar_pg_col_bytes(snapshot, 0, 1),
					     ar_row_sum_of_snapshot(key, op->snapshot_seq), a, &op->snapshot,
					     NULL))
			op->snapshot = AR_STR_NONE;
	}
}

enum ar_status ar_postgres_index(struct ar_pg *pg, struct ar_store_index *op)
{
	struct ar_pg_args args = { 0 };
	struct ar_store_key key;
	PGresult *row, *snapshot;

	op->has_row = op->has_snapshot = false;
	op->row = (struct ar_store_session_row){ 0 };
	op->snapshot = AR_STR_NONE;
	op->snapshot_seq = 0;
	if (!ar_store_key_parse(op->session, &key))
		return AR_OK;
	ar_pg_arg_key(&args, &key);
	ar_pg_send(pg, AR_PG_BEGIN_READ, NULL);
	ar_pg_send(pg, AR_PG_SESSION_GET, &args);
	ar_pg_send(pg, AR_PG_SNAPSHOT_GET, &args);
	ar_pg_send(pg, AR_PG_COMMIT, NULL);
	ar_pg_sync(pg);
	row = ar_pg_next(pg);
	snapshot = ar_pg_next(pg);
	if (row && snapshot)
		read_index(pg, &key, row, snapshot, op);
	PQclear(row);
	PQclear(snapshot);
	return ar_pg_end(pg) ? ar_pg_fail(pg, &op->op.err) : AR_OK;
}

static enum ar_status read_tenant(struct ar_pg *pg AR_UNUSED, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_tenant *op = AR_CONTAINER_OF(base, struct ar_store_tenant, op);

	op->tenant = ar_pg_col_str(r, 0, 0, &base->arena);
	if (ar_str_absent(op->tenant) && ar_pg_col_bool(r, 0, 1))
		op->tenant = ar_store_tenant_of(AR_STR_NONE);
	return AR_OK;
}

enum ar_status ar_postgres_tenant(struct ar_pg *pg, struct ar_store_tenant *op)
{
	struct ar_pg_args args = { 0 };
	struct ar_store_key key;

	op->tenant = AR_STR_NONE;
	if (!ar_store_key_parse(op->session, &key))
		return AR_OK;
	ar_pg_arg_key(&args, &key);
	return ar_postgres_query(pg, AR_PG_TENANT_GET, &args, &op->op, read_tenant);
}
