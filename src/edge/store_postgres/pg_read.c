/* The reader thread: LOAD and READ, the two that walk the log. Each operation sees one moment of the
 * database, and is done again when the connection is lost under it. The lists and lookups are in
 * pg_list.c. */
#include "postgres.h"

#include "clock.h"

#define TRIES 3 /* of a read whose connection is lost */

static enum ar_status add_row(struct ar_pg *pg, const PGresult *r, int i, const struct ar_store_key *key,
			      struct ar_store_op *op, struct ar_store_row *row)
{
	row->first_seq = ar_pg_col_u64(r, i, 0);
	row->last_seq = ar_pg_col_u64(r, i, 1);
	row->at = ar_pg_col_i64(r, i, 2);
	if (ar_pg_unpack_checksummed(pg->packer, ar_pg_col_bytes(r, i, 3),
				     ar_row_sum_of_facts(key, row->first_seq, row->last_seq), &op->arena,
				     &row->body, &op->err))
		return ar_store_fail_facts(&op->err, row->first_seq, row->last_seq);
	return AR_OK;
}

static void add_chunks(const PGresult *r, struct ar_store_load *op)
{
	struct ar_arena *a = &op->op.arena;

	op->chunk_count = (size_t)PQntuples(r);
	op->chunks = ar_arena_alloc(a, (op->chunk_count + 1) * sizeof *op->chunks);
	for (int i = 0; i < PQntuples(r); i++)
		op->chunks[i] = (struct ar_store_chunk_row){ .step = ar_pg_col_str(r, i, 0, a),
							     .pos = ar_pg_col_u64(r, i, 1),
							     .kind = (uint8_t)ar_pg_col_u64(r, i, 2),
							     .index = (uint32_t)ar_pg_col_u64(r, i, 3),
							     .bytes = ar_pg_col_str(r, i, 4, a) };
}

/* ---- load ---- */

static enum ar_status read_snapshot(struct ar_pg *pg, const PGresult *r, const struct ar_store_key *key,
				    struct ar_store_load *op)
{
	if (PQntuples(r) == 0)
		return AR_OK;
	op->snapshot_seq = ar_pg_col_u64(r, 0, 0);
	if (ar_pg_unpack_checksummed(pg->packer, ar_pg_col_bytes(r, 0, 1),
				     ar_row_sum_of_snapshot(key, op->snapshot_seq), &op->op.arena,
				     &op->snapshot, &op->op.err))
		return ar_fail_wrap(&op->op.err, "snapshot");
	return AR_OK;
}

static enum ar_status read_rows(struct ar_pg *pg, const PGresult *r, const struct ar_store_key *key,
				struct ar_store_load *op)
{
	enum ar_status st = AR_OK;

	op->row_count = (size_t)PQntuples(r);
	op->rows = ar_arena_alloc(&op->op.arena, (op->row_count + 1) * sizeof *op->rows);
	for (int i = 0; !st && i < PQntuples(r); i++)
		st = add_row(pg, r, i, key, &op->op, &op->rows[i]);
	return st;
}

static void read_shell(struct ar_pg *pg, const PGresult *r, struct ar_store_load *op)
{
	if (PQntuples(r) > 0 &&
	    ar_pg_unpack(pg->packer, ar_pg_col_bytes(r, 0, 6), &op->op.arena, &op->shell, NULL))
		op->shell = AR_STR_NONE;
}

/* A session that has rows of other tables and no log is not one that never was. */
static enum ar_status fail_unknown(const PGresult *span, struct ar_str session, struct ar_error *err)
{
	return ar_pg_col_bool(span, 0, 2) ? ar_store_fail_no_log(err) : ar_store_fail_unknown(err, session);
}

/* All results of a load, in the order they were asked for. */
static enum ar_status read_load(struct ar_pg *pg, const struct ar_store_key *key, struct ar_store_load *op)
{
	PGresult *r[5]; /* span, snapshot, rows, chunks, session */
	enum ar_status st = AR_OK;

	for (size_t i = 0; i < AR_ARRAY_LEN(r); i++)
		r[i] = ar_pg_next(pg);
	if (r[4] && PQgetisnull(r[0], 0, 1))
		st = fail_unknown(r[0], op->session, &op->op.err);
	if (!st && r[4])
		st = read_snapshot(pg, r[1], key, op);
	if (!st && r[4])
		st = read_rows(pg, r[2], key, op);
	if (!st && r[4])
		st = ar_store_check_load(op, ar_pg_col_u64(r[0], 0, 1), &op->op.err);
	if (!st && r[4]) {
		add_chunks(r[3], op);
		read_shell(pg, r[4], op);
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(r); i++)
		PQclear(r[i]);
	return st;
}

static enum ar_status load(struct ar_pg *pg, struct ar_store_load *op)
{
	static const enum ar_pg_id asked[] = { AR_PG_SPAN, AR_PG_SNAPSHOT_GET, AR_PG_LOG_AFTER,
					       AR_PG_CHUNK_LIST, AR_PG_SESSION_GET };
	struct ar_pg_args args = { 0 };
	struct ar_store_key key;
	enum ar_status st;

	op->snapshot = op->shell = AR_STR_NONE;
	op->snapshot_seq = 0;
	op->rows = NULL;
	op->chunks = NULL;
	op->row_count = op->chunk_count = 0;
	if (!ar_store_key_parse(op->session, &key))
		return ar_store_fail_unknown(&op->op.err, op->session);
	ar_pg_arg_key(&args, &key);
	ar_pg_send(pg, AR_PG_BEGIN_READ, NULL);
	for (size_t i = 0; i < AR_ARRAY_LEN(asked); i++)
		ar_pg_send(pg, asked[i], &args);
	ar_pg_send(pg, AR_PG_COMMIT, NULL);
	ar_pg_sync(pg);
	st = read_load(pg, &key, op);
	return ar_pg_end(pg) ? ar_pg_fail(pg, &op->op.err) : st;
}

/* ---- read ---- */

/* A window in progress: where the next statement goes on, and how many bytes it may still bring. */
struct window {
	struct ar_store_key key;
	uint64_t from;
	size_t left;
	struct ar_store_row_expected wanted;
	bool is_full;
};

static void send_window(struct ar_pg *pg, const struct ar_store_read *op, const struct window *w)
{
	struct ar_pg_args args = { 0 };

	ar_pg_arg_key(&args, &w->key);
	ar_pg_arg_u64(&args, w->from);
	ar_pg_arg_u64(&args, w->left);
	ar_pg_arg_u64(&args, op->row_count == 0); /* the first row comes whatever its size */
	ar_pg_send(pg, op->backward ? AR_PG_LOG_BACKWARD : AR_PG_LOG_FORWARD, &args);
}

static enum ar_status read_row(struct ar_pg *pg, const PGresult *r, int i, struct ar_store_read *op,
			       struct window *w)
{
	struct ar_store_row *row;
	enum ar_status st =
		ar_store_check_row(&w->wanted, ar_pg_col_u64(r, i, 0), ar_pg_col_u64(r, i, 1), &op->op.err);

	if (st)
		return st;
	op->rows = ar_store_extend(&op->op.arena, op->rows, op->row_count, sizeof *op->rows);
	row = &op->rows[op->row_count];
	st = add_row(pg, r, i, &w->key, &op->op, row);
	if (st)
		return st;
	op->row_count++;
	w->wanted.is_first = false;
	w->wanted.next = w->from = op->backward ? row->first_seq - 1 : row->last_seq + 1;
	w->left -= row->body.len < w->left ? row->body.len : w->left;
	return AR_OK;
}

/* Rows that were written since the first statement are left out: the log only grows, so the rest is what it
 * saw. One that is broken or missing is the next window's to report. */
static enum ar_status read_window(struct ar_pg *pg, struct ar_store_read *op, struct window *w)
{
	PGresult *r = ar_pg_next(pg);
	int count = r ? PQntuples(r) : 0;
	enum ar_status st = AR_OK;

	w->is_full = count < AR_PG_WINDOW;
	for (int i = 0; !st && i < count && ar_pg_col_u64(r, i, 0) <= op->head; i++)
		st = read_row(pg, r, i, op, w);
	PQclear(r);
	w->is_full |= st != AR_OK;
	return op->row_count ? AR_OK : st;
}

/* The fact that it begins with; backward the newest one that there is. */
static void want_first(const struct ar_store_read *op, struct window *w)
{
	uint64_t next = op->backward && op->from > op->head ? op->head : op->from;

	w->wanted = (struct ar_store_row_expected){ .next = next || op->backward ? next : 1,
						    .backward = op->backward,
						    .is_first = true };
}

static enum ar_status read_first(struct ar_pg *pg, struct ar_store_read *op, struct window *w)
{
	struct ar_pg_args args = { 0 };
	enum ar_status st;
	PGresult *span;

	ar_pg_arg_key(&args, &w->key);
	ar_pg_send(pg, AR_PG_BEGIN_READ, NULL);
	ar_pg_send(pg, AR_PG_SPAN, &args);
	send_window(pg, op, w);
	ar_pg_send(pg, AR_PG_COMMIT, NULL);
	ar_pg_sync(pg);
	span = ar_pg_next(pg);
	op->head = span ? ar_pg_col_u64(span, 0, 1) : 0;
	want_first(op, w);
	st = read_window(pg, op, w);
	if (span && !op->head)
		st = fail_unknown(span, op->session, &op->op.err);
	PQclear(span);
	return ar_pg_end(pg) ? ar_pg_fail(pg, &op->op.err) : st;
}

/* A window of more rows than one statement looks at. */
static enum ar_status read_on(struct ar_pg *pg, struct ar_store_read *op, struct window *w)
{
	enum ar_status st;

	send_window(pg, op, w);
	ar_pg_sync(pg);
	st = read_window(pg, op, w);
	return ar_pg_end(pg) ? ar_pg_fail(pg, &op->op.err) : st;
}

static void reverse(struct ar_store_row *rows, size_t count)
{
	for (size_t i = 0; i < count / 2; i++) {
		struct ar_store_row row = rows[i];

		rows[i] = rows[count - 1 - i];
		rows[count - 1 - i] = row;
	}
}

static bool is_at_end(const struct ar_store_read *op, const struct window *w)
{
	if (op->backward)
		return w->wanted.next == 0;
	return op->row_count == 0 || op->rows[op->row_count - 1].last_seq == op->head;
}

static enum ar_status read_log(struct ar_pg *pg, struct ar_store_read *op)
{
	struct window w = { .from = op->from, .left = op->max_bytes };
	enum ar_status st;

	op->rows = NULL;
	op->row_count = 0;
	op->at_end = false;
	op->head = 0;
	if (!ar_store_key_parse(op->session, &w.key))
		return ar_store_fail_unknown(&op->op.err, op->session);
	st = read_first(pg, op, &w);
	while (!st && !w.is_full && w.left > 0 && !is_at_end(op, &w))
		st = read_on(pg, op, &w);
	op->at_end = is_at_end(op, &w);
	if (!st && op->row_count == 0 && !op->at_end)
		st = ar_store_fail_missing(&op->op.err, w.wanted.next);
	if (op->backward)
		reverse(op->rows, op->row_count);
	return st;
}

static enum ar_status serve(struct ar_postgres *s, struct ar_store_op *op)
{
	struct ar_pg *pg = &s->reader;

	switch (op->kind) {
	case AR_STORE_LOAD:
		return load(pg, AR_CONTAINER_OF(op, struct ar_store_load, op));
	case AR_STORE_READ:
		return read_log(pg, AR_CONTAINER_OF(op, struct ar_store_read, op));
	case AR_STORE_RECEIPT:
		return ar_postgres_receipt(pg, AR_CONTAINER_OF(op, struct ar_store_receipt_get, op));
	case AR_STORE_BLOBS:
		return ar_postgres_blobs(s, AR_CONTAINER_OF(op, struct ar_store_blobs_get, op));
	case AR_STORE_SESSIONS:
		return ar_postgres_sessions(pg, AR_CONTAINER_OF(op, struct ar_store_sessions, op));
	case AR_STORE_TASKS:
		return ar_postgres_tasks(pg, AR_CONTAINER_OF(op, struct ar_store_tasks, op));
	case AR_STORE_ITEMS:
		return ar_postgres_items(pg, AR_CONTAINER_OF(op, struct ar_store_items, op));
	case AR_STORE_ACTIONS:
		return ar_postgres_actions(pg, AR_CONTAINER_OF(op, struct ar_store_actions, op));
	case AR_STORE_USAGE:
		return ar_postgres_usage(pg, AR_CONTAINER_OF(op, struct ar_store_usage, op));
	case AR_STORE_TOKENS:
		return ar_postgres_tokens(pg, AR_CONTAINER_OF(op, struct ar_store_tokens, op));
	case AR_STORE_INDEX:
		return ar_postgres_index(pg, AR_CONTAINER_OF(op, struct ar_store_index, op));
	case AR_STORE_FEED:
		return ar_postgres_feed(pg, AR_CONTAINER_OF(op, struct ar_store_feed, op));
	case AR_STORE_AUDIT_LIST:
		return ar_postgres_audit_list(pg, AR_CONTAINER_OF(op, struct ar_store_audit_list, op));
	case AR_STORE_AUDIT_VERIFY:
		return ar_postgres_audit_verify(pg, AR_CONTAINER_OF(op, struct ar_store_audit_verify, op));
	case AR_STORE_DUE:
		return ar_postgres_due(pg, AR_CONTAINER_OF(op, struct ar_store_due, op));
	case AR_STORE_TENANT:
		return ar_postgres_tenant(pg, AR_CONTAINER_OF(op, struct ar_store_tenant, op));
	default:
		return ar_fail(&op->err, AR_E_INVALID, "operation %d is not a read", (int)op->kind);
	}
}

static enum ar_status connect_reader(struct ar_postgres *s, struct ar_error *err)
{
	enum ar_status st = ar_pg_connect(&s->reader, &s->target, err);

	if (!st)
		st = ar_pg_prepare(&s->reader, err);
	if (st)
		ar_pg_disconnect(&s->reader);
	return st;
}

static enum ar_status ensure_reader(struct ar_postgres *s, struct ar_error *err)
{
	ar_usec deadline = ar_clock_system()->mono(ar_clock_system()) + s->patience;
	enum ar_status st = ar_pg_is_alive(&s->reader) ? AR_OK : connect_reader(s, err);

	for (unsigned tries = 0; st && ar_postgres_wait(tries, deadline); tries++)
		st = connect_reader(s, err);
	return st;
}

static enum ar_status add_dictionaries(struct ar_postgres *s, const PGresult *r, struct ar_error *err)
{
	enum ar_status st = AR_OK;

	for (int i = 0; !st && i < PQntuples(r); i++) {
		uint64_t number = ar_pg_col_u64(r, i, 0);

		if (!ar_pack_dictionaries_has(s->dictionaries, number))
			st = ar_pack_dictionaries_add(s->dictionaries, number, ar_pg_col_bytes(r, i, 1), err);
	}
	return st;
}

/* A node of a newer version packs with a dictionary that was not there when we opened. Only this thread adds
 * them. */
static enum ar_status remember_head(struct ar_postgres *s, struct ar_error *err)
{
	enum ar_status st = AR_OK;
	PGresult *r;

	ar_pg_send(&s->reader, AR_PG_DICTIONARIES, NULL);
	ar_pg_sync(&s->reader);
	r = ar_pg_next(&s->reader);
	if (r)
		st = add_dictionaries(s, r, err);
	PQclear(r);
	return ar_pg_end(&s->reader) ? ar_pg_fail(&s->reader, err) : st;
}

static enum ar_status serve_learning(struct ar_postgres *s, struct ar_store_op *op)
{
	enum ar_status st = serve(s, op);

	if (st != AR_E_CORRUPT || !ar_packer_lacked(s->reader.packer))
		return st;
	st = remember_head(s, &op->err);
	return st ? st : serve(s, op);
}

/* A read changes nothing, so one that lost its connection is simply done again. */
static enum ar_status serve_again(struct ar_postgres *s, struct ar_store_op *op)
{
	enum ar_status st = AR_E_UNAVAILABLE;

	for (unsigned tries = 0; st == AR_E_UNAVAILABLE && tries < TRIES; tries++) {
		st = ensure_reader(s, &op->err);
		if (st)
			break;
		st = serve_learning(s, op);
	}
	return st == AR_E_UNAVAILABLE ? (op->err.status = AR_E_IO) : st;
}

void ar_postgres_read_batch(struct ar_store_threaded *t, struct ar_list *batch)
{
	struct ar_postgres *s = AR_CONTAINER_OF(t, struct ar_postgres, base);

	AR_LIST_FOR (it, batch) {
		struct ar_store_op *op = AR_CONTAINER_OF(it, struct ar_store_op, node);

		op->status = serve_again(s, op);
	}
}
