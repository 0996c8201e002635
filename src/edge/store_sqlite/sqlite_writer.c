/* The writer thread's transaction: everything that waits becomes durable with one fsync. The rules of one
 * append are in sqlite_append.c; here is only what holds for the batch: the epoch, and all or nothing. */
#include "sqlite.h"

#include "fault.h"

static struct ar_store_op *op_of(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_store_op, node);
}

static enum ar_status check_epoch(struct ar_sqlite *s, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(&s->write_db, AR_SQL_EPOCH);
	uint64_t stored = ar_sql_row(&q) ? ar_sql_col_u64(&q, 0) : 0;
	enum ar_status st = ar_sql_end(&q, err);

	if (st)
		return st;
	return stored == s->base.store.epoch ? AR_OK : ar_store_fail_fenced(err, s->base.store.epoch);
}

static enum ar_status apply(struct ar_sqlite *s, struct ar_store_op *op)
{
	if (op->kind == AR_STORE_CHUNK)
		return ar_sqlite_chunk(s, AR_CONTAINER_OF(op, struct ar_store_chunk, op));
	if (op->kind == AR_STORE_UPKEEP)
		return ar_sqlite_upkeep(s, AR_CONTAINER_OF(op, struct ar_store_upkeep, op));
	if (op->kind == AR_STORE_TOKEN_PUT)
		return ar_sqlite_token_put(s, AR_CONTAINER_OF(op, struct ar_store_token_put, op));
	if (op->kind == AR_STORE_AUDIT_PUT)
		return ar_sqlite_audit_put(s, AR_CONTAINER_OF(op, struct ar_store_audit_put, op)->entry,
					   &op->err);
	return ar_sqlite_append(s, AR_CONTAINER_OF(op, struct ar_store_append, op));
}

/* One operation may be refused without harm to the others; an engine failure ends them all. */
static enum ar_status apply_all(struct ar_sqlite *s, struct ar_list *batch, struct ar_error *err)
{
	AR_LIST_FOR (it, batch) {
		struct ar_store_op *op = op_of(it);

		op->status = apply(s, op);
		if (op->status == AR_E_IO) {
			*err = op->err;
			return AR_E_IO;
		}
	}
	return AR_OK;
}

/* What failed at writing is not in the file. But once the last page of a commit is in the write-ahead
 * log only the sync is left; when that fails the commit may come back at the next start, and what the
 * kernel still has to write is not known any more either. */
static bool is_in_doubt(struct ar_sqlite *s)
{
	int code = sqlite3_extended_errcode(s->write_db.handle);

	return (code & 0xff) == SQLITE_IOERR && code != SQLITE_IOERR_WRITE;
}

static enum ar_status run_commit(struct ar_sqlite *s, struct ar_error *err)
{
	enum ar_status st = ar_db_run(&s->write_db, AR_SQL_COMMIT, err);

	if (!st || !is_in_doubt(s))
		return st;
	s->is_in_doubt = true;
	if (s->doubt)
		s->doubt(s->doubt_arg, err->msg);
	return err->status = AR_E_DOUBT;
}

static enum ar_status commit(struct ar_sqlite *s, struct ar_error *err)
{
	AR_FAULT("store.before_commit");
	if (AR_FAULT_ERROR("store.commit_error"))
		return ar_fail(err, AR_E_IO, "store: the commit failed (fault injected)");
	return run_commit(s, err);
}

static enum ar_status run_transaction(struct ar_sqlite *s, struct ar_list *batch, struct ar_error *err)
{
	enum ar_status st;

	if (s->is_in_doubt)
		return ar_fail(err, AR_E_DOUBT,
			       "store: a commit failed while it was synced; open the store again");
	AR_FAULT("store.before_begin");
	st = ar_db_run(&s->write_db, AR_SQL_BEGIN_WRITE, err);
	if (!st)
		st = check_epoch(s, err);
	if (!st)
		st = apply_all(s, batch, err);
	return st ? st : commit(s, err);
}

/* Nothing of the batch is stored: they all end alike, also those that had been refused on the strength of
 * it. */
static void fail_all(struct ar_sqlite *s, struct ar_list *batch, enum ar_status st,
		     const struct ar_error *err)
{
	if (!sqlite3_get_autocommit(s->write_db.handle))
		ar_db_run(&s->write_db, AR_SQL_ROLLBACK, NULL);
	ar_store_heads_clear(&s->heads);
	ar_blob_cache_clear(&s->blobs);
	s->is_chain_known = false;
	s->position = s->reserved = 0; /* the block may have been reserved by what is rolled back */
	AR_LIST_FOR (it, batch) {
		op_of(it)->status = st;
		op_of(it)->err = *err;
	}
}

void ar_sqlite_write_batch(struct ar_store_threaded *t, struct ar_list *batch)
{
	struct ar_sqlite *s = AR_CONTAINER_OF(t, struct ar_sqlite, base);
	struct ar_error err = { 0 };
	enum ar_status st = run_transaction(s, batch, &err);

	if (st)
		fail_all(s, batch, st, &err);
	else
		AR_FAULT("store.after_commit");
	ar_db_note_cached(&s->write_db, ar_store_heads_bytes(&s->heads));
}
