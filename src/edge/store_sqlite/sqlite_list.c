/* The reader's lists and lookups: sessions, tasks, receipts, blobs. Results are copies in the operation's
 * arena. */
#include "sqlite.h"

#include <string.h>

enum ar_status ar_sqlite_receipt_find(struct ar_db *db, struct ar_store_receipt *found, struct ar_arena *a,
				      struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_RECEIPT_GET);
	enum ar_status st = AR_E_NOT_FOUND, end;

	ar_sql_text(&q, found->scope);
	ar_sql_text(&q, found->key);
	if (ar_sql_row(&q)) {
		struct ar_str input = ar_sql_col_raw(&q, 0);

		found->scope = ar_arena_str(a, found->scope);
		found->key = ar_arena_str(a, found->key);
		if (input.len == AR_HASH_LEN)
			memcpy(found->input.b, input.p, AR_HASH_LEN);
		st = input.len == AR_HASH_LEN
			     ? ar_sql_col_checksummed(&q, 1, ar_row_sum_of_receipt(found), a, &found->reply,
						      err)
			     : ar_fail(err, AR_E_CORRUPT, "a stored receipt has no input hash");
	}
	end = ar_sql_end(&q, st == AR_E_CORRUPT ? NULL : err);
	return end ? end : st;
}

enum ar_status ar_sqlite_receipt(struct ar_db *db, struct ar_store_receipt_get *op)
{
	enum ar_status st;

	op->found = (struct ar_store_receipt){ .scope = op->scope, .key = op->key };
	st = ar_sqlite_receipt_find(db, &op->found, &op->op.arena, &op->op.err);
	if (st != AR_E_NOT_FOUND)
		return st;
	return ar_store_fail_no_receipt(&op->op.err, op->key);
}

/* For a check: what the file has. */
static enum ar_status check_blob(struct ar_sqlite *s, const struct ar_hash *hash, struct ar_arena *a,
				 struct ar_str *ret, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(&s->read_db, AR_SQL_BLOB_GET);

	*ret = AR_STR_NONE;
	ar_sql_hash(&q, hash);
	if (ar_sql_row(&q) && ar_sql_col_packed(&q, 0, a, ret, NULL))
		*ret = AR_STR_NONE;
	return ar_sql_end(&q, err);
}

static enum ar_status read_content(struct ar_sql *q, const struct ar_hash *hash, struct ar_arena *a,
				   struct ar_str *ret, struct ar_error *err)
{
	enum ar_status st = ar_sql_col_packed(q, 0, a, ret, err);

	return st ? st : ar_store_check_content(hash, ret, err);
}

static enum ar_status get_blob(struct ar_sqlite *s, const struct ar_hash *hash, struct ar_arena *a,
			       struct ar_str *ret, struct ar_error *err)
{
	struct ar_sql q;
	enum ar_status st = AR_OK, end;

	*ret = AR_STR_NONE;
	if (ar_blob_cache_get(&s->blobs, hash, a, ret))
		return AR_OK;
	q = ar_sql_begin(&s->read_db, AR_SQL_BLOB_GET);
	ar_sql_hash(&q, hash);
	if (ar_sql_row(&q))
		st = read_content(&q, hash, a, ret, err);
	end = ar_sql_end(&q, st ? NULL : err);
	if (!st && !end && !ar_str_absent(*ret))
		ar_blob_cache_put(&s->blobs, hash, *ret);
	return st ? st : end;
}

/* Past the cache, which does not know who put what. */
static enum ar_status get_blob_of(struct ar_db *db, const struct ar_store_key *key,
				  const struct ar_hash *hash, struct ar_store_op *op, struct ar_str *ret)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_BLOB_GET_OF);
	enum ar_status st = AR_OK, end;

	ar_sql_hash(&q, hash);
	ar_sql_key(&q, key);
	if (ar_sql_row(&q))
		st = read_content(&q, hash, &op->arena, ret, &op->err);
	end = ar_sql_end(&q, st ? NULL : &op->err);
	return st ? st : end;
}

enum ar_status ar_sqlite_blobs(struct ar_sqlite *s, struct ar_store_blobs_get *op)
{
	bool is_open = ar_str_absent(op->session);
	struct ar_store_key key;
	enum ar_status st = AR_OK;

	op->bytes = ar_arena_alloc(&op->op.arena, (op->count + 1) * sizeof *op->bytes);
	if (!is_open && !ar_store_key_parse(op->session, &key))
		return AR_OK;
	for (size_t i = 0; !is_open && !st && i < op->count; i++)
		st = get_blob_of(&s->read_db, &key, &op->hashes[i], &op->op, &op->bytes[i]);
	for (size_t i = 0; is_open && !st && i < op->count; i++)
		st = (op->is_check ? check_blob : get_blob)(s, &op->hashes[i], &op->op.arena, &op->bytes[i],
							    &op->op.err);
	return st;
}

/* One of a partition that is not asked for is passed over; one too many only says that there are more. */
static enum ar_status add_session(struct ar_sql *q, struct ar_store_sessions *op)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_str raw = ar_sql_col_raw(q, 0);
	struct ar_store_key key;

	if (raw.len != sizeof key.b)
		return ar_fail(&op->op.err, AR_E_CORRUPT, "a stored session has a key of %zu bytes", raw.len);
	memcpy(key.b, raw.p, sizeof key.b);
	if (!ar_store_sessions_match(op, &key))
		return AR_OK;
	op->more = op->count == op->limit;
	if (op->more)
		return AR_OK;
	op->ids = ar_store_extend(a, op->ids, op->count, sizeof *op->ids);
	op->shells = ar_store_extend(a, op->shells, op->count, sizeof *op->shells);
	op->ids[op->count] = ar_store_key_text(a, &key);
	return ar_sql_col_packed(q, 1, a, &op->shells[op->count++], &op->op.err);
}

static enum ar_sql_id session_list(const struct ar_store_sessions *op)
{
	if (op->active_only)
		return AR_SQL_SESSION_LIST_ACTIVE;
	if (op->open_only)
		return ar_str_absent(op->tenant) ? AR_SQL_SESSION_LIST_OPEN : AR_SQL_SESSION_LIST_OPEN_TENANT;
	return ar_str_absent(op->tenant) ? AR_SQL_SESSION_LIST : AR_SQL_SESSION_LIST_TENANT;
}

static enum ar_status list_sessions(struct ar_db *db, struct ar_store_sessions *op, struct ar_str before,
				    struct ar_str above)
{
	struct ar_sql q = ar_sql_begin(db, session_list(op));
	enum ar_status st = AR_OK, end;

	ar_sql_bytes(&q, before);
	ar_sql_bytes(&q, above);
	ar_sql_text(&q, op->tenant);
	ar_sql_text(&q, op->workspace);
	ar_sql_text(&q, op->account);
	ar_sql_text(&q, op->status);
	ar_sql_i64(&q, op->updated_since);
	ar_sql_text(&q, op->except);
	while (!st && !op->more && ar_sql_row(&q))
		st = add_session(&q, op);
	end = ar_sql_end(&q, st ? NULL : &op->op.err);
	return st ? st : end;
}

enum ar_status ar_sqlite_sessions(struct ar_db *db, struct ar_store_sessions *op)
{
	static const char above_all[AR_STORE_KEY + 1] = { [0 ... AR_STORE_KEY] = '\xff' };
	struct ar_store_key before, above;
	struct ar_str from = { above_all, sizeof above_all }, to = AR_STR_NONE;

	op->ids = op->shells = NULL;
	op->count = 0;
	op->more = false;
	if (!ar_str_absent(op->before)) { /* else one byte longer than any key, so after the last */
		if (!ar_store_key_parse(op->before, &before))
			return ar_store_fail_key(&op->op.err, op->before);
		from = ar_store_key_bytes(&before);
	}
	if (!ar_str_absent(op->above)) {
		if (!ar_store_key_parse(op->above, &above))
			return ar_store_fail_key(&op->op.err, op->above);
		to = ar_store_key_bytes(&above);
	}
	return list_sessions(db, op, from, to);
}

static enum ar_status add_task(struct ar_sql *q, struct ar_store_tasks *op)
{
	struct ar_arena *a = &op->op.arena;
	struct ar_store_task_row *row;
	enum ar_status st;

	op->rows = ar_store_extend(a, op->rows, op->count, sizeof *op->rows);
	row = &op->rows[op->count++];
	*row = (struct ar_store_task_row){ .task = ar_sql_col_str(q, 1, a),
					   .status = ar_sql_col_str(q, 2, a),
					   .is_internal = ar_sql_col_u64(q, 3) };
	st = ar_sql_col_checksummed(q, 4, ar_row_sum_of_task(row), a, &row->record,
				    op->is_check ? NULL : &op->op.err);
	if (st && op->is_check)
		row->record = AR_STR_NONE;
	return op->is_check ? AR_OK : st;
}

static enum ar_status walk_tasks(struct ar_sql *q, struct ar_store_tasks *op)
{
	enum ar_status st = AR_OK;
	uint64_t last = op->after;

	while (!st && ar_sql_row(q)) {
		if (op->count == op->limit) {
			op->next = last;
			break;
		}
		last = ar_sql_col_u64(q, 0);
		st = add_task(q, op);
	}
	return st;
}

static enum ar_status list_tasks(struct ar_db *db, struct ar_store_tasks *op, const struct ar_store_key *key)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_TASK_LIST);
	enum ar_status st, end;

	ar_sql_key(&q, key);
	ar_sql_u64(&q, op->after);
	ar_sql_text(&q, op->status);
	ar_sql_i64(&q, op->with_internal);
	ar_sql_text(&q, op->except);
	st = walk_tasks(&q, op);
	end = ar_sql_end(&q, st ? NULL : &op->op.err);
	return st ? st : end;
}

static enum ar_status get_task(struct ar_db *db, struct ar_store_tasks *op, const struct ar_store_key *key)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_TASK_GET);
	enum ar_status st = AR_OK, end;

	ar_sql_key(&q, key);
	ar_sql_text(&q, op->task);
	if (ar_sql_row(&q))
		st = add_task(&q, op);
	end = ar_sql_end(&q, st ? NULL : &op->op.err);
	if (!st && !end && !op->count)
		return ar_store_fail_no_task(&op->op.err, op->task);
	return st ? st : end;
}

enum ar_status ar_sqlite_tasks(struct ar_db *db, struct ar_store_tasks *op)
{
	bool just_one = !ar_str_absent(op->task);
	struct ar_store_key key;

	op->rows = NULL;
	op->count = 0;
	op->next = 0;
	if (!ar_store_key_parse(op->session, &key))
		return just_one ? ar_store_fail_no_task(&op->op.err, op->task) : AR_OK;
	return just_one ? get_task(db, op, &key) : list_tasks(db, op, &key);
}

static enum ar_status index_row(struct ar_db *db, struct ar_store_index *op, const struct ar_store_key *key)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_SESSION_GET);
	struct ar_arena *a = &op->op.arena;

	ar_sql_key(&q, key);
	op->has_row = ar_sql_row(&q);
	if (op->has_row) {
		op->row = (struct ar_store_session_row){ .created = ar_sql_col_i64(&q, 0),
							 .updated = ar_sql_col_i64(&q, 1),
							 .active = ar_sql_col_i64(&q, 2) != 0,
							 .workspace = ar_sql_col_str(&q, 3, a),
							 .account = ar_sql_col_str(&q, 4, a),
							 .status = ar_sql_col_str(&q, 5, a),
							 .tenant = ar_sql_col_str(&q, 7, a),
							 .due = ar_sql_col_i64(&q, 8),
							 .open = ar_sql_col_i64(&q, 9) != 0 };
		if (ar_sql_col_packed(&q, 6, a, &op->row.shell, NULL))
			op->row.shell = AR_STR_NONE;
	}
	return ar_sql_end(&q, &op->op.err);
}

static enum ar_status index_snapshot(struct ar_db *db, struct ar_store_index *op,
				     const struct ar_store_key *key)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_SNAPSHOT_GET);

	ar_sql_key(&q, key);
	op->has_snapshot = ar_sql_row(&q);
	if (op->has_snapshot) {
		op->snapshot_seq = ar_sql_col_u64(&q, 0);
		if (ar_sql_col_checksummed(&q, 1, ar_row_sum_of_snapshot(key, op->snapshot_seq),
					   &op->op.arena, &op->snapshot, NULL))
			op->snapshot = AR_STR_NONE;
	}
	return ar_sql_end(&q, &op->op.err);
}

enum ar_status ar_sqlite_index(struct ar_db *db, struct ar_store_index *op)
{
	struct ar_store_key key;
	enum ar_status st;

	op->has_row = op->has_snapshot = false;
	op->row = (struct ar_store_session_row){ 0 };
	op->snapshot = AR_STR_NONE;
	op->snapshot_seq = 0;
	if (!ar_store_key_parse(op->session, &key))
		return AR_OK;
	st = index_row(db, op, &key);
	return st ? st : index_snapshot(db, op, &key);
}

enum ar_status ar_sqlite_tenant(struct ar_db *db, struct ar_store_tenant *op)
{
	struct ar_store_key key;
	struct ar_sql q;

	op->tenant = AR_STR_NONE;
	if (!ar_store_key_parse(op->session, &key))
		return AR_OK;
	q = ar_sql_begin(db, AR_SQL_TENANT_GET);
	ar_sql_key(&q, &key);
	if (ar_sql_row(&q)) {
		op->tenant = ar_sql_col_str(&q, 0, &op->op.arena);
		if (ar_str_absent(op->tenant) && ar_sql_col_i64(&q, 1))
			op->tenant = ar_store_tenant_of(AR_STR_NONE);
	}
	return ar_sql_end(&q, &op->op.err);
}
