/* The writer thread: everything that waits becomes one transaction, sent as one pipeline: begin, fence, one
 * statement per table, commit. What ended it decides what happens next: a clash is done again with a look, a
 * lost connection is asked about, anything else fails the whole batch. */
#include "postgres.h"

#include "fault.h"

#include <sys/socket.h>

#define TRIES 6 /* clashes and lost connections of one batch */

static struct ar_store_op *op_of(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_store_op, node);
}

void ar_postgres_begin(struct ar_postgres *s)
{
	struct ar_pg_args args = { 0 };

	ar_pg_arg_bytes(&args, ar_str_from(s->node));
	ar_pg_arg_u64(&args, s->base.store.epoch);
	ar_pg_arg_u64(&args, s->connection);
	ar_pg_send(&s->writer, AR_PG_BEGIN_WRITE, NULL);
	ar_pg_send(&s->writer, AR_PG_FENCE, &args);
}

/* For tests: the network goes away between us and the server. SHUT_RD: it still gets what we send, and we
 * hear nothing of it. */
static void fail_at(struct ar_pg *pg, int how)
{
	shutdown(PQsocket(pg->handle), how);
}

static enum ar_pg_fault commit(struct ar_postgres *s)
{
	struct ar_pg *pg = &s->writer;

	AR_FAULT("store.before_commit");
	if (AR_FAULT_ERROR("store.commit_error")) {
		ar_pg_send(pg, AR_PG_ROLLBACK, NULL);
		ar_pg_sync(pg);
		ar_pg_end(pg);
		ar_fail(&pg->error, AR_E_IO, "store: the commit failed (fault injected)");
		return AR_PG_FAILED;
	}
	if (AR_FAULT_ERROR("store.cut_before_commit"))
		fail_at(pg, SHUT_RDWR);
	ar_pg_send(pg, AR_PG_NO_TIMEOUT, NULL);
	s->is_commit_sent = !pg->fault;
	ar_pg_send(pg, AR_PG_COMMIT, NULL);
	if (AR_FAULT_ERROR("store.cut_after_commit"))
		fail_at(pg, SHUT_RD); /* before it is sent: the answer may be faster than we are */
	ar_pg_sync(pg);
	return ar_pg_end(pg);
}

/* One transaction. Without `look` it is one round trip, and memory has to be enough to admit all. */
static enum ar_pg_fault attempt(struct ar_postgres *s, struct ar_list *ops, bool look)
{
	s->is_commit_sent = false;
	ar_pg_batch_reset(&s->batch);
	if (!ar_postgres_audit_begin(s))
		return ar_pg_end(&s->writer);
	if (!look && !ar_postgres_admit(s, ops, false)) {
		ar_pg_batch_reset(&s->batch);
		s->batch.chain = s->chain;
		look = true;
	}
	AR_FAULT("store.before_begin");
	ar_postgres_begin(s);
	if (look) {
		ar_postgres_look(s, ops);
		if (ar_pg_turn(&s->writer))
			return ar_pg_end(&s->writer);
		ar_postgres_admit(s, ops, true);
	}
	ar_pg_batch_send(&s->batch, &s->writer, s->base.store.epoch, s->lane);
	return commit(s);
}

/* The connection was lost with a commit under way: AR_OK and *ret when the database has it; AR_OK without
 * when it certainly has not and may be tried again. */
static enum ar_status settle(struct ar_postgres *s, bool *ret, struct ar_error *err)
{
	enum ar_status owner, st;

	do {
		owner = ar_postgres_reconnect(s, err);
		if (owner && owner != AR_E_FENCED)
			return owner;
		st = ar_postgres_was_written(s, ret, err);
	} while (st && !ar_store_threaded_closing(&s->base));
	if (st)
		return err->status = AR_E_DOUBT;
	if (*ret)
		return AR_OK;
	return owner ? ar_store_fail_fenced(err, s->base.store.epoch) : AR_OK;
}

static enum ar_status write_until_known(struct ar_postgres *s, struct ar_list *ops, struct ar_error *err)
{
	enum ar_pg_fault fault = AR_PG_FINE;
	enum ar_status st = AR_OK;
	bool is_written = false;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		s->is_commit_sent = false;
		if (!ar_pg_is_alive(&s->writer))
			st = ar_postgres_reconnect(s, err);
		if (st)
			return st;
		fault = attempt(s, ops, fault == AR_PG_CLASH);
		if (fault == AR_PG_FINE)
			return AR_OK;
		ar_store_heads_clear(&s->heads);
		s->is_chain_known = false;
		if (fault == AR_PG_FENCED)
			return ar_store_fail_fenced(err, s->base.store.epoch);
		if (fault == AR_PG_FAILED)
			return ar_pg_fail(&s->writer, err);
		if (fault == AR_PG_LOST && s->is_commit_sent)
			st = settle(s, &is_written, err);
		if (st || is_written)
			return st;
	}
	return ar_pg_fail(&s->writer, err);
}

/* Nothing of the batch is stored, or nobody can say: they all end alike, also those that had been refused on
 * the strength of it. */
static void fail_all(struct ar_list *ops, enum ar_status st, struct ar_error *err)
{
	if (st == AR_E_UNAVAILABLE)
		st = err->status = AR_E_IO;
	AR_LIST_FOR (it, ops) {
		op_of(it)->status = st;
		op_of(it)->err = *err;
	}
}

static void cache_blobs(struct ar_postgres *s)
{
	const struct ar_pg_rows *rows = &s->batch.rows[AR_PG_BLOB];

	for (size_t i = 0; i < rows->count; i++) {
		const struct ar_store_blob *blob = rows->list[i]->from;

		ar_blob_cache_put(&s->blobs, &blob->hash, blob->bytes);
	}
}

static void write_ops(struct ar_postgres *s, struct ar_list *ops)
{
	struct ar_error err = { 0 };
	enum ar_status st = write_until_known(s, ops, &err);

	ar_postgres_audit_end(s, !st);
	if (st) {
		fail_all(ops, st, &err);
	} else {
		AR_FAULT("store.after_commit");
		cache_blobs(s);
	}
	ar_pg_batch_reset(&s->batch); /* it points into operations that are handed back now */
}

/* As many of the operations as one transaction takes, at least one. */
static void move_some(struct ar_list *from, struct ar_list *ret)
{
	size_t sum = 0;

	while (!ar_list_empty(from)) {
		sum += ar_postgres_weight(op_of(from->next));
		if (sum > AR_POSTGRES_BATCH_BYTES && !ar_list_empty(ret))
			return;
		ar_list_push(ret, ar_list_pop(from));
	}
}

/* What comes alone and has transactions of its own. */
static bool write_alone(struct ar_postgres *s, struct ar_store_op *op)
{
	if (op->kind == AR_STORE_UPKEEP)
		op->status = ar_postgres_upkeep(s, AR_CONTAINER_OF(op, struct ar_store_upkeep, op));
	else if (op->kind == AR_STORE_TOKEN_PUT)
		op->status = ar_postgres_token_put(s, AR_CONTAINER_OF(op, struct ar_store_token_put, op));
	else
		return false;
	return true;
}

void ar_postgres_write_batch(struct ar_store_threaded *t, struct ar_list *batch)
{
	struct ar_postgres *s = AR_CONTAINER_OF(t, struct ar_postgres, base);
	struct ar_list left, some, done;

	if (write_alone(s, op_of(batch->next)))
		return;
	ar_list_init(&left);
	ar_list_init(&some);
	ar_list_init(&done);
	ar_list_splice(&left, batch);
	while (!ar_list_empty(&left)) {
		move_some(&left, &some);
		ar_postgres_put_objects(s, &some, &done);
		if (!ar_list_empty(&some))
			write_ops(s, &some);
		ar_postgres_forget_objects(s);
		ar_list_splice(&done, &some);
	}
	ar_list_splice(batch, &done);
}
