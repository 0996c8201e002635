/* What one append or chunk writes, inside the writer's transaction. All checks come before the first
 * write, so that a refused operation leaves nothing behind and needs no savepoint. Writer thread only. */
#include "sqlite.h"

#include "fault.h"

static enum ar_status find_head(struct ar_sqlite *s, const struct ar_store_key *key, uint64_t *ret,
				struct ar_error *err)
{
	struct ar_sql q;
	enum ar_status st;

	if (ar_store_heads_get(&s->heads, key, ret))
		return AR_OK;
	q = ar_sql_begin(&s->write_db, AR_SQL_HEAD);
	ar_sql_key(&q, key);
	*ret = ar_sql_row(&q) ? ar_sql_col_u64(&q, 0) : 0;
	st = ar_sql_end(&q, err);
	if (!st)
		ar_store_heads_put(&s->heads, key, *ret);
	return st;
}

/* AR_E_EXISTS with the stored receipt, AR_E_NOT_FOUND, or AR_E_IO. */
static enum ar_status find_receipt(struct ar_sqlite *s, struct ar_store_append *a)
{
	enum ar_status st;

	a->found = (struct ar_store_receipt){ .scope = a->receipt->scope, .key = a->receipt->key };
	st = ar_sqlite_receipt_find(&s->write_db, &a->found, &a->op.arena, &a->op.err);
	return st ? st : ar_store_fail_exists(&a->op.err, a->receipt->scope, a->receipt->key);
}

/* Inserting is also the lookup: on the way that nearly every append takes this is one statement, not two. */
static enum ar_status put_receipt(struct ar_sqlite *s, struct ar_store_append *a)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_RECEIPT_PUT);
	enum ar_status st;

	ar_sql_text(&q, a->receipt->scope);
	ar_sql_text(&q, a->receipt->key);
	ar_sql_hash(&q, &a->receipt->input);
	ar_sql_i64(&q, a->at);
	ar_sql_checksummed(&q, a->receipt->reply, ar_row_sum_of_receipt(a->receipt));
	st = ar_sql_run(&q, &a->op.err);
	if (st || sqlite3_changes(s->write_db.handle))
		return st;
	return find_receipt(s, a);
}

/* A known receipt wins over a wrong sequence: the repeated write is the same write, whatever came between. */
static enum ar_status admit(struct ar_sqlite *s, struct ar_store_append *a, const struct ar_store_key *key)
{
	uint64_t head = 0;
	enum ar_status st = find_head(s, key, &head, &a->op.err);

	if (st)
		return st;
	if (a->first_seq == head + 1)
		return a->receipt ? put_receipt(s, a) : AR_OK;
	st = a->receipt ? find_receipt(s, a) : AR_E_NOT_FOUND;
	return st == AR_E_NOT_FOUND ? ar_store_fail_gap(&a->op.err, a->first_seq, head) : st;
}

static enum ar_status put_facts(struct ar_sqlite *s, struct ar_store_append *a,
				const struct ar_store_key *key)
{
	uint64_t position = 0;
	struct ar_sql q;
	enum ar_status st;

	if (a->last_seq < a->first_seq)
		return AR_OK;
	st = a->row ? ar_sqlite_feed_next(s, &position, &a->op.err) : AR_OK;
	if (st)
		return st;
	q = ar_sql_begin(&s->write_db, AR_SQL_LOG_PUT);
	ar_sql_key(&q, key);
	ar_sql_u64(&q, a->first_seq);
	ar_sql_u64(&q, a->last_seq);
	ar_sql_i64(&q, a->at);
	ar_sql_text(&q, a->row ? ar_store_tenant_of(a->row->tenant) : AR_STR_NONE);
	ar_sql_u64(&q, position);
	ar_sql_checksummed(&q, a->body, ar_row_sum_of_facts(key, a->first_seq, a->last_seq));
	st = ar_sql_run(&q, &a->op.err);
	if (!st)
		ar_store_heads_put(&s->heads, key, a->last_seq);
	return st;
}

/* A repair, which may write the row of a session anew, comes with a snapshot. */
static enum ar_status put_tenant(struct ar_sqlite *s, struct ar_store_append *a,
				 const struct ar_store_key *key)
{
	struct ar_sql q;

	if (ar_str_absent(a->snapshot))
		return AR_OK;
	q = ar_sql_begin(&s->write_db, AR_SQL_SESSION_TENANT_PUT);
	ar_sql_key(&q, key);
	ar_sql_text(&q, ar_store_tenant_of(a->row->tenant));
	return ar_sql_run(&q, &a->op.err);
}

static enum ar_status put_row(struct ar_sqlite *s, struct ar_store_append *a, const struct ar_store_key *key)
{
	struct ar_sql q;
	enum ar_status st;

	if (!a->row)
		return AR_OK;
	q = ar_sql_begin(&s->write_db, a->row->has_same_flags ? AR_SQL_SESSION_PUT_SAME : AR_SQL_SESSION_PUT);
	ar_sql_key(&q, key);
	ar_sql_i64(&q, a->row->created);
	ar_sql_i64(&q, a->row->updated);
	ar_sql_i64(&q, a->row->active);
	ar_sql_text(&q, a->row->workspace);
	ar_sql_text(&q, a->row->account);
	ar_sql_text(&q, a->row->status);
	ar_sql_bytes(&q, ar_pack_raw(s->write_db.packer, a->row->shell));
	ar_sql_text(&q, ar_store_tenant_of(a->row->tenant));
	if (a->row->due)
		ar_sql_i64(&q, a->row->due);
	else
		ar_sql_text(&q, AR_STR_NONE);
	ar_sql_i64(&q, a->row->open);
	st = ar_sql_run(&q, &a->op.err);
	return st ? st : put_tenant(s, a, key);
}

static void bind_task(struct ar_sql *q, const struct ar_store_key *key, const struct ar_store_task_row *t)
{
	ar_sql_key(q, key);
	ar_sql_text(q, t->task);
	ar_sql_text(q, t->status);
	ar_sql_i64(q, t->is_internal);
}

static enum ar_status put_task(struct ar_db *db, const struct ar_store_key *key,
			       const struct ar_store_task_row *t, struct ar_error *err)
{
	static const enum ar_sql_id ways[] = { AR_SQL_TASK_UPDATE, AR_SQL_TASK_INSERT };
	struct ar_str record = ar_pack_checksummed(db->packer, t->record, ar_row_sum_of_task(t));
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < AR_ARRAY_LEN(ways); i++) {
		struct ar_sql q = ar_sql_begin(db, ways[i]);

		bind_task(&q, key, t);
		ar_sql_bytes(&q, record);
		st = ar_sql_run(&q, err);
		if (!st && sqlite3_changes(db->handle))
			return AR_OK;
	}
	return st;
}

/* Not an upsert: a task keeps the number it was created with. */
static enum ar_status put_tasks(struct ar_sqlite *s, struct ar_store_append *a,
				const struct ar_store_key *key)
{
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < a->task_count; i++)
		st = put_task(&s->write_db, key, &a->tasks[i], &a->op.err);
	return st;
}

static enum ar_status put_ref(struct ar_db *db, const struct ar_store_key *key, const struct ar_hash *hash,
			      struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_REF_PUT);

	ar_sql_key(&q, key);
	ar_sql_hash(&q, hash);
	return ar_sql_run(&q, err);
}

static enum ar_status has_blob(struct ar_db *db, const struct ar_hash *hash, bool *ret, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_BLOB_HAS);

	ar_sql_hash(&q, hash);
	*ret = ar_sql_row(&q);
	return ar_sql_end(&q, err);
}

static enum ar_status insert_blob(struct ar_db *db, const struct ar_store_append *a,
				  const struct ar_store_blob *b, const struct ar_store_key *key,
				  struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_BLOB_PUT);

	ar_sql_hash(&q, &b->hash);
	ar_sql_u64(&q, b->bytes.len);
	ar_sql_i64(&q, a->at);
	ar_sql_key(&q, key);
	ar_sql_packed(&q, b->bytes);
	return ar_sql_run(&q, err);
}

/* Inserting is also the lookup, but for what would have to be compressed first: that costs more than looking.
 * What is stored already is only referred to. */
static enum ar_status put_blob(struct ar_db *db, const struct ar_store_append *a,
			       const struct ar_store_blob *b, const struct ar_store_key *key,
			       struct ar_error *err)
{
	bool is_stored = false;
	enum ar_status st = AR_OK;

	if (!ar_pack_is_ready(db->packer, b->bytes))
		st = has_blob(db, &b->hash, &is_stored, err);
	if (!st && !is_stored) {
		st = insert_blob(db, a, b, key, err);
		is_stored = !st && sqlite3_changes(db->handle) == 0;
	}
	return !st && is_stored ? put_ref(db, key, &b->hash, err) : st;
}

static enum ar_status put_blobs(struct ar_sqlite *s, struct ar_store_append *a,
				const struct ar_store_key *key)
{
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < a->blob_count; i++) {
		st = put_blob(&s->write_db, a, &a->blobs[i], key, &a->op.err);
		if (!st)
			ar_blob_cache_put(&s->blobs, &a->blobs[i].hash, a->blobs[i].bytes);
	}
	return st;
}

/* Before the blobs: what is put again in the same append stays. */
static enum ar_status remove_contents(struct ar_sqlite *s, struct ar_store_append *a,
				      const struct ar_store_key *key)
{
	static const enum ar_sql_id ways[] = { AR_SQL_REF_REMOVE, AR_SQL_BLOB_LEAVE, AR_SQL_BLOB_DOOM };
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < a->removed_count * AR_ARRAY_LEN(ways); i++) {
		struct ar_sql q = ar_sql_begin(&s->write_db, ways[i % AR_ARRAY_LEN(ways)]);

		ar_sql_key(&q, key);
		ar_sql_hash(&q, &a->removed[i / AR_ARRAY_LEN(ways)]);
		st = ar_sql_run(&q, &a->op.err);
	}
	return st;
}

static enum ar_status drop_chunks(struct ar_sqlite *s, struct ar_store_append *a,
				  const struct ar_store_key *key)
{
	enum ar_status st = AR_OK;

	for (size_t i = 0; !st && i < a->closed_step_count; i++) {
		struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_CHUNK_DROP);

		ar_sql_key(&q, key);
		ar_sql_text(&q, a->closed_steps[i]);
		st = ar_sql_run(&q, &a->op.err);
	}
	return st;
}

static enum ar_status put_snapshot(struct ar_sqlite *s, struct ar_store_append *a,
				   const struct ar_store_key *key)
{
	struct ar_sql q;

	if (ar_str_absent(a->snapshot))
		return AR_OK;
	q = ar_sql_begin(&s->write_db, AR_SQL_SNAPSHOT_PUT);
	ar_sql_key(&q, key);
	ar_sql_u64(&q, a->last_seq);
	ar_sql_checksummed(&q, a->snapshot, ar_row_sum_of_snapshot(key, a->last_seq));
	return ar_sql_run(&q, &a->op.err);
}

static enum ar_status put_audit(struct ar_sqlite *s, struct ar_store_append *a,
				const struct ar_store_key *key AR_UNUSED)
{
	return a->audit ? ar_sqlite_audit_put(s, a->audit, &a->op.err) : AR_OK;
}

typedef enum ar_status put_fn(struct ar_sqlite *s, struct ar_store_append *a, const struct ar_store_key *key);

static put_fn *const puts_in_order[] = {
	put_facts,	     put_row,	      put_tasks,	  ar_sqlite_put_actions,
	ar_sqlite_put_items, remove_contents, put_blobs,	  drop_chunks,
	put_snapshot,	     put_audit,	      ar_sqlite_add_usage
};

enum ar_status ar_sqlite_append(struct ar_sqlite *s, struct ar_store_append *a)
{
	struct ar_store_key key;
	enum ar_status st = ar_store_check_append(a, &key, &a->op.err);

	ar_packer_look(s->write_db.packer, a->ahead);
	if (!st)
		st = admit(s, a, &key);
	for (size_t i = 0; !st && i < AR_ARRAY_LEN(puts_in_order); i++)
		st = puts_in_order[i](s, a, &key);
	return st;
}

enum ar_status ar_sqlite_chunk(struct ar_sqlite *s, struct ar_store_chunk *c)
{
	struct ar_store_key key;
	struct ar_sql q;
	enum ar_status st = ar_store_check_chunk(c, &key, &c->op.err);

	if (st)
		return st;
	AR_FAULT("store.chunk");
	q = ar_sql_begin(&s->write_db, AR_SQL_CHUNK_PUT);
	ar_sql_key(&q, &key);
	ar_sql_text(&q, c->step);
	ar_sql_u64(&q, c->pos);
	ar_sql_i64(&q, c->kind);
	ar_sql_i64(&q, c->index);
	ar_sql_bytes(&q, c->bytes);
	return ar_sql_run(&q, &c->op.err);
}
