/* Rows of API tokens: the table, a put in a transaction of its own (writer thread), the list by version
 * (reader thread). A write holds the one row of token_clock until the end, so versions become visible in
 * their order, whichever node writes. */
#include "postgres.h"

#define TRIES 4 /* when others were first, or the connection was lost before the commit was sent */

const char ar_pg_migration_token[] =
	"CREATE TABLE token (token bytea PRIMARY KEY, version int8 NOT NULL UNIQUE, record bytea NOT NULL);"
	"CREATE TABLE token_clock (id int8 PRIMARY KEY CHECK (id = 1), version int8 NOT NULL);"
	"INSERT INTO token_clock (id, version) VALUES (1, 0);";

/* The version that the row got, or had; 0: the stored one is not what was expected. */
static void read_version(struct ar_pg *pg, struct ar_store_token_put *op)
{
	PGresult *fence = ar_pg_next(pg), *tick = ar_pg_next(pg), *put = ar_pg_next(pg);

	op->version = put && PQntuples(put) > 0 ? ar_pg_col_u64(put, 0, 0) : 0;
	PQclear(fence);
	PQclear(tick);
	PQclear(put);
}

/* Its entry goes into the same transaction; nothing was changed, so nothing is recorded. */
static bool add_audit(struct ar_postgres *s, const struct ar_store_token_put *op)
{
	if (ar_pg_turn(&s->writer))
		return false;
	ar_pg_batch_reset(&s->batch);
	s->batch.chain = s->chain;
	if (op->audit && op->version)
		ar_pg_batch_audit(&s->batch, op->audit);
	ar_pg_batch_send(&s->batch, &s->writer, s->base.store.epoch, s->lane);
	return true;
}

static enum ar_pg_fault commit(struct ar_postgres *s)
{
	struct ar_pg *pg = &s->writer;

	ar_pg_send(pg, AR_PG_NO_TIMEOUT, NULL);
	s->is_commit_sent = !pg->fault;
	ar_pg_send(pg, AR_PG_COMMIT, NULL);
	ar_pg_sync(pg);
	return ar_pg_end(pg);
}

static enum ar_pg_fault put_once(struct ar_postgres *s, struct ar_store_token_put *op)
{
	struct ar_pg *pg = &s->writer;
	bool is_drop = ar_str_absent(op->record);
	struct ar_pg_args args = { 0 };

	ar_pg_arg_bytes(&args, op->token);
	ar_pg_arg_u64(&args, op->expected);
	if (!is_drop)
		ar_pg_arg_bytes(&args, op->record);
	if (!ar_postgres_audit_begin(s))
		return ar_pg_end(pg);
	ar_postgres_begin(s);
	ar_pg_send(pg, AR_PG_TOKEN_TICK, NULL);
	ar_pg_send(pg, is_drop ? AR_PG_TOKEN_DROP : AR_PG_TOKEN_PUT, &args);
	ar_pg_sync(pg);
	read_version(pg, op);
	return add_audit(s, op) ? commit(s) : ar_pg_end(pg);
}

static bool may_try_again(const struct ar_postgres *s, enum ar_pg_fault fault)
{
	return fault == AR_PG_CLASH || (fault == AR_PG_LOST && !s->is_commit_sent);
}

enum ar_status ar_postgres_token_put(struct ar_postgres *s, struct ar_store_token_put *op)
{
	enum ar_pg_fault fault = AR_PG_CLASH;
	bool was_sent;
	enum ar_status st = ar_store_check_token(op, &op->op.err);

	for (unsigned tries = 0; !st && tries < TRIES && may_try_again(s, fault); tries++) {
		s->is_commit_sent = false;
		if (!ar_pg_is_alive(&s->writer))
			st = ar_postgres_reconnect(s, &op->op.err);
		if (!st)
			fault = put_once(s, op);
		ar_postgres_audit_end(s, !st && !fault);
	}
	was_sent = s->is_commit_sent;
	s->is_commit_sent = false;
	if (st)
		return st == AR_E_UNAVAILABLE ? (op->op.err.status = AR_E_IO) : st;
	if (fault == AR_PG_FENCED)
		return ar_store_fail_fenced(&op->op.err, s->base.store.epoch);
	if (fault) {
		ar_pg_fail(&s->writer, &op->op.err);
		return op->op.err.status = fault == AR_PG_LOST && was_sent ? AR_E_DOUBT : AR_E_IO;
	}
	return op->version ? AR_OK : ar_store_fail_token(&op->op.err, op->token);
}

static enum ar_status read_tokens(struct ar_pg *pg, const PGresult *r, struct ar_store_op *base)
{
	struct ar_store_tokens *op = AR_CONTAINER_OF(base, struct ar_store_tokens, op);
	size_t came = (size_t)PQntuples(r);

	(void)pg;
	op->more = came > op->limit;
	op->count = op->more ? op->limit : came;
	op->rows = ar_arena_alloc(&base->arena, (op->count + 1) * sizeof *op->rows);
	for (size_t i = 0; i < op->count; i++)
		op->rows[i] = (struct ar_store_token_row){ ar_pg_col_str(r, (int)i, 0, &base->arena),
							   ar_pg_col_u64(r, (int)i, 1),
							   ar_pg_col_str(r, (int)i, 2, &base->arena) };
	return AR_OK;
}

enum ar_status ar_postgres_tokens(struct ar_pg *pg, struct ar_store_tokens *op)
{
	struct ar_pg_args args = { 0 };

	op->rows = NULL;
	op->count = 0;
	op->more = false;
	ar_pg_arg_u64(&args, op->after);
	ar_pg_arg_u64(&args, op->limit + UINT64_C(1));
	return ar_postgres_query(pg, AR_PG_TOKEN_LIST, &args, &op->op, read_tokens);
}
