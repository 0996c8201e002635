/* The reader thread: LOAD and READ, the two that walk the log. Each operation sees one moment of the
 * database. The lists and lookups are in sqlite_list.c and sqlite_action.c. */
#include "sqlite.h"

static enum ar_status add_row(struct ar_sql *q, const struct ar_store_key *key, struct ar_arena *a,
			      struct ar_store_row **rows, size_t *count, struct ar_error *err)
{
	struct ar_store_row *row;

	*rows = ar_store_extend(a, *rows, *count, sizeof **rows);
	row = &(*rows)[*count];
	row->first_seq = ar_sql_col_u64(q, 0);
	row->last_seq = ar_sql_col_u64(q, 1);
	row->at = ar_sql_col_i64(q, 2);
	if (ar_sql_col_checksummed(q, 3, ar_row_sum_of_facts(key, row->first_seq, row->last_seq), a,
				   &row->body, err))
		return ar_store_fail_facts(err, row->first_seq, row->last_seq);
	++*count;
	return AR_OK;
}

/* A session that has rows of other tables and no log is not one that never was. */
static enum ar_status check_unknown(struct ar_db *db, const struct ar_store_key *key, struct ar_str session,
				    struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_KNOWN);
	enum ar_status st;
	bool is_known;

	ar_sql_key(&q, key);
	is_known = ar_sql_row(&q);
	st = ar_sql_end(&q, err);
	if (st)
		return st;
	return is_known ? ar_store_fail_no_log(err) : ar_store_fail_unknown(err, session);
}

static enum ar_status read_head(struct ar_db *db, const struct ar_store_key *key, struct ar_str session,
				uint64_t *ret, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_HEAD);
	enum ar_status st;

	ar_sql_key(&q, key);
	*ret = ar_sql_row(&q) ? ar_sql_col_u64(&q, 0) : 0;
	st = ar_sql_end(&q, err);
	return st || *ret ? st : check_unknown(db, key, session, err);
}

static enum ar_status load_snapshot(struct ar_db *db, struct ar_store_load *op,
				    const struct ar_store_key *key)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_SNAPSHOT_GET);
	enum ar_status st = AR_OK, end;

	ar_sql_key(&q, key);
	if (ar_sql_row(&q)) {
		op->snapshot_seq = ar_sql_col_u64(&q, 0);
		st = ar_sql_col_checksummed(&q, 1, ar_row_sum_of_snapshot(key, op->snapshot_seq),
					    &op->op.arena, &op->snapshot, &op->op.err);
		if (st)
			ar_fail_wrap(&op->op.err, "snapshot");
	}
	end = ar_sql_end(&q, st ? NULL : &op->op.err);
	return st ? st : end;
}

static enum ar_status load_shell(struct ar_db *db, struct ar_store_load *op, const struct ar_store_key *key)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_SESSION_GET);

	ar_sql_key(&q, key);
	if (ar_sql_row(&q) && ar_sql_col_packed(&q, 6, &op->op.arena, &op->shell, NULL))
		op->shell = AR_STR_NONE;
	return ar_sql_end(&q, &op->op.err);
}

static enum ar_status load_rows(struct ar_db *db, struct ar_store_load *op, const struct ar_store_key *key)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_LOG_AFTER);
	enum ar_status st = AR_OK, end;

	ar_sql_key(&q, key);
	ar_sql_u64(&q, op->snapshot_seq);
	while (!st && ar_sql_row(&q))
		st = add_row(&q, key, &op->op.arena, &op->rows, &op->row_count, &op->op.err);
	end = ar_sql_end(&q, st ? NULL : &op->op.err);
	return st ? st : end;
}

static enum ar_status load_chunks(struct ar_db *db, struct ar_store_load *op, const struct ar_store_key *key)
{
	struct ar_sql q = ar_sql_begin(db, AR_SQL_CHUNK_LIST);

	ar_sql_key(&q, key);
	while (ar_sql_row(&q)) {
		struct ar_store_chunk_row *c;

		op->chunks = ar_store_extend(&op->op.arena, op->chunks, op->chunk_count, sizeof *op->chunks);
		c = &op->chunks[op->chunk_count++];
		c->step = ar_sql_col_str(&q, 0, &op->op.arena);
		c->pos = ar_sql_col_u64(&q, 1);
		c->kind = (uint8_t)ar_sql_col_u64(&q, 2);
		c->index = (uint32_t)ar_sql_col_u64(&q, 3);
		c->bytes = ar_sql_col_str(&q, 4, &op->op.arena);
	}
	return ar_sql_end(&q, &op->op.err);
}

static enum ar_status load(struct ar_db *db, struct ar_store_load *op)
{
	struct ar_store_key key;
	uint64_t head = 0;
	enum ar_status st;

	op->snapshot = op->shell = AR_STR_NONE;
	op->snapshot_seq = 0;
	op->rows = NULL;
	op->chunks = NULL;
	op->row_count = op->chunk_count = 0;
	if (!ar_store_key_parse(op->session, &key))
		return ar_store_fail_unknown(&op->op.err, op->session);
	st = read_head(db, &key, op->session, &head, &op->op.err);
	if (!st)
		st = load_snapshot(db, op, &key);
	if (!st)
		st = load_rows(db, op, &key);
	if (!st)
		st = ar_store_check_load(op, head, &op->op.err);
	if (!st)
		st = load_shell(db, op, &key);
	return st ? st : load_chunks(db, op, &key);
}

/* Whether the current row still fits into the window; the first always does, and only then one that does not
 * say its length. */
static bool row_fits(struct ar_sql *q, const struct ar_store_read *op, size_t *used)
{
	size_t len = 0;
	bool is_said = !ar_pack_length(ar_sql_col_raw(q, 3), &len, NULL);
	bool has_room = *used <= op->max_bytes && len <= op->max_bytes - *used;

	*used += len;
	return op->row_count == 0 || (is_said && has_room);
}

/* The fact that a window begins with; backward the newest one that there is. */
static struct ar_store_row_expected first_wanted(const struct ar_store_read *op)
{
	uint64_t next = op->backward && op->from > op->head ? op->head : op->from;

	return (struct ar_store_row_expected){ .next = next || op->backward ? next : 1,
					       .backward = op->backward,
					       .is_first = true };
}

static enum ar_status read_row(struct ar_sql *q, struct ar_store_read *op, const struct ar_store_key *key,
			       struct ar_store_row_expected *w)
{
	uint64_t first = ar_sql_col_u64(q, 0), last = ar_sql_col_u64(q, 1);
	enum ar_status st = ar_store_check_row(w, first, last, &op->op.err);

	if (!st)
		st = add_row(q, key, &op->op.arena, &op->rows, &op->row_count, &op->op.err);
	w->is_first = false;
	w->next = op->backward ? first - 1 : last + 1;
	return st;
}

/* A row that is broken or missing is the next window's to report. */
static enum ar_status walk(struct ar_sql *q, struct ar_store_read *op, const struct ar_store_key *key)
{
	struct ar_store_row_expected w = first_wanted(op);
	size_t used = 0;

	while (ar_sql_row(q)) {
		enum ar_status st = row_fits(q, op, &used) ? read_row(q, op, key, &w) : AR_E_LIMIT;

		if (st)
			return op->row_count ? AR_OK : st;
	}
	/* An outage, which the end of the statement reports: nothing is known to be missing */
	if (q->rc != SQLITE_DONE)
		return AR_OK;
	op->at_end = op->backward ? w.next == 0 : true;
	if (!op->at_end && !op->row_count)
		return ar_store_fail_missing(&op->op.err, w.next);
	return AR_OK;
}

static void reverse(struct ar_store_row *rows, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct ar_store_row row = rows[i];

		rows[i] = rows[count - 1 - i];
		rows[count - 1 - i] = row;
	}
}

static enum ar_status read_window(struct ar_db *db, struct ar_store_read *op, const struct ar_store_key *key)
{
	struct ar_sql q = ar_sql_begin(db, op->backward ? AR_SQL_LOG_BACKWARD : AR_SQL_LOG_FORWARD);
	enum ar_status st, end;

	ar_sql_key(&q, key);
	ar_sql_u64(&q, op->from);
	st = walk(&q, op, key);
	end = ar_sql_end(&q, st ? NULL : &op->op.err);
	if (op->backward)
		reverse(op->rows, op->row_count);
	return st ? st : end;
}

static enum ar_status read_log(struct ar_db *db, struct ar_store_read *op)
{
	struct ar_store_key key;
	enum ar_status st;

	op->rows = NULL;
	op->row_count = 0;
	op->at_end = false;
	op->head = 0;
	if (!ar_store_key_parse(op->session, &key))
		return ar_store_fail_unknown(&op->op.err, op->session);
	st = read_head(db, &key, op->session, &op->head, &op->op.err);
	return st ? st : read_window(db, op, &key);
}

static enum ar_status serve(struct ar_sqlite *s, struct ar_store_op *op)
{
	struct ar_db *db = &s->read_db;

	switch (op->kind) {
	case AR_STORE_LOAD:
		return load(db, AR_CONTAINER_OF(op, struct ar_store_load, op));
	case AR_STORE_READ:
		return read_log(db, AR_CONTAINER_OF(op, struct ar_store_read, op));
	case AR_STORE_RECEIPT:
		return ar_sqlite_receipt(db, AR_CONTAINER_OF(op, struct ar_store_receipt_get, op));
	case AR_STORE_BLOBS:
		return ar_sqlite_blobs(s, AR_CONTAINER_OF(op, struct ar_store_blobs_get, op));
	case AR_STORE_SESSIONS:
		return ar_sqlite_sessions(db, AR_CONTAINER_OF(op, struct ar_store_sessions, op));
	case AR_STORE_TASKS:
		return ar_sqlite_tasks(db, AR_CONTAINER_OF(op, struct ar_store_tasks, op));
	case AR_STORE_ACTIONS:
		return ar_sqlite_actions(db, AR_CONTAINER_OF(op, struct ar_store_actions, op));
	case AR_STORE_ITEMS:
		return ar_sqlite_items(db, AR_CONTAINER_OF(op, struct ar_store_items, op));
	case AR_STORE_USAGE:
		return ar_sqlite_usage(db, AR_CONTAINER_OF(op, struct ar_store_usage, op));
	case AR_STORE_TOKENS:
		return ar_sqlite_tokens(db, AR_CONTAINER_OF(op, struct ar_store_tokens, op));
	case AR_STORE_INDEX:
		return ar_sqlite_index(db, AR_CONTAINER_OF(op, struct ar_store_index, op));
	case AR_STORE_FEED:
		return ar_sqlite_feed(db, AR_CONTAINER_OF(op, struct ar_store_feed, op));
	case AR_STORE_AUDIT_LIST:
		return ar_sqlite_audit_list(db, AR_CONTAINER_OF(op, struct ar_store_audit_list, op));
	case AR_STORE_AUDIT_VERIFY:
		return ar_sqlite_audit_verify(db, AR_CONTAINER_OF(op, struct ar_store_audit_verify, op));
	case AR_STORE_DUE:
		return ar_sqlite_due(db, AR_CONTAINER_OF(op, struct ar_store_due, op));
	case AR_STORE_TENANT:
		return ar_sqlite_tenant(db, AR_CONTAINER_OF(op, struct ar_store_tenant, op));
	default:
		return ar_fail(&op->err, AR_E_INVALID, "operation %d is not a read", (int)op->kind);
	}
}

/* One transaction for all: it begins after the last of them was submitted, so each sees what it may
 * expect. */
void ar_sqlite_read_batch(struct ar_store_threaded *t, struct ar_list *batch)
{
	struct ar_sqlite *s = AR_CONTAINER_OF(t, struct ar_sqlite, base);
	struct ar_error err = { 0 };
	enum ar_status st = ar_db_run(&s->read_db, AR_SQL_BEGIN_READ, &err);

	AR_LIST_FOR (it, batch) {
		struct ar_store_op *op = AR_CONTAINER_OF(it, struct ar_store_op, node);

		op->err = err;
		op->status = st ? st : serve(s, op);
	}
	if (!st)
		ar_db_run(&s->read_db, AR_SQL_ROLLBACK, NULL);
	ar_db_note_cached(&s->read_db, 0);
}
