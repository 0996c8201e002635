/* After a lost connection: a new one, a new connection number that shuts out whatever the old
 * one may still have sent, and then the question what became of the last commit. Writer thread,
 * but for ar_postgres_wait(). */
#include "postgres.h"

#include "clock.h"

#include <poll.h>

#define FIRST_PAUSE_MS 50
#define LAST_PAUSE_MS 1000

static ar_usec now(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

bool ar_postgres_wait(unsigned tries, ar_usec deadline)
{
	int pause = tries < 4 ? FIRST_PAUSE_MS << tries : LAST_PAUSE_MS;

	if (now() + (ar_usec)pause * 1000 > deadline)
		return false;
	poll(NULL, 0, pause);
	return true;
}

/* Waits for a transaction of the old connection that still runs: its fence holds the row. The number is
 * durable (and on the standby, where there is one) before we go by it. */
static enum ar_status claim(struct ar_postgres *s, struct ar_error *err)
{
	struct ar_pg *pg = &s->writer;
	struct ar_pg_args args = { 0 };
	uint64_t number = 0;
	PGresult *r;

	ar_pg_arg_bytes(&args, ar_str_from(s->node));
	ar_pg_arg_u64(&args, s->base.store.epoch);
	ar_pg_send(pg, AR_PG_BEGIN_WRITE, NULL);
	ar_pg_send(pg, AR_PG_CLAIM, &args);
	ar_pg_send(pg, AR_PG_NO_TIMEOUT, NULL);
	ar_pg_send(pg, AR_PG_COMMIT, NULL);
	ar_pg_sync(pg);
	r = ar_pg_next(pg);
	if (r && PQntuples(r) > 0)
		number = ar_pg_col_u64(r, 0, 0);
	PQclear(r);
	if (ar_pg_end(pg))
		return ar_pg_fail(pg, err);
	if (!number)
		return ar_store_fail_fenced(err, s->base.store.epoch);
	s->connection = number;
	return AR_OK;
}

static enum ar_status reconnect_once(struct ar_postgres *s, struct ar_error *err)
{
	enum ar_status st;

	ar_pg_disconnect(&s->writer);
	st = ar_pg_connect(&s->writer, &s->target, err);
	if (!st)
		st = ar_pg_prepare(&s->writer, err);
	if (!st)
		st = claim(s, err);
	if (st && st != AR_E_FENCED)
		ar_pg_disconnect(&s->writer);
	return st;
}

static bool may_give_up(const struct ar_postgres *s)
{
	return !s->is_commit_sent || ar_store_threaded_closing(&s->base);
}

enum ar_status ar_postgres_reconnect(struct ar_postgres *s, struct ar_error *err)
{
	ar_usec deadline = now() + s->patience;
	enum ar_status st = reconnect_once(s, err);

	for (unsigned tries = 0; st && st != AR_E_FENCED; tries++) {
		if (!ar_postgres_wait(tries, may_give_up(s) ? deadline : INT64_MAX))
			break;
		st = reconnect_once(s, err);
	}
	if (st && s->is_commit_sent && st != AR_E_FENCED)
		return ar_fail(err, AR_E_DOUBT,
			       "store: the connection to the server was lost during a commit, and its "
			       "outcome is not known");
	return st;
}

/* ---- the question ---- */

static const struct ar_pg_row *first_row(const struct ar_postgres *s, enum ar_pg_table table)
{
	return s->batch.rows[table].count ? s->batch.rows[table].list[0] : NULL;
}

static void query_log(struct ar_postgres *s, const struct ar_pg_row *row)
{
	const struct ar_store_append *a = row->from;
	struct ar_pg_args args = { 0 };

	ar_pg_arg_key(&args, &row->key);
	ar_pg_arg_u64(&args, a->first_seq);
	ar_pg_arg_u64(&args, a->last_seq);
	ar_pg_arg_bytes(&args,
			ar_pack_checksummed(s->writer.packer, a->body,
					    ar_row_sum_of_facts(&row->key, a->first_seq, a->last_seq)));
	ar_pg_arg_u64(&args, s->base.store.epoch);
	ar_pg_send(&s->writer, AR_PG_LOG_HAS, &args);
}

static void query_receipt(struct ar_postgres *s, const struct ar_pg_row *row)
{
	const struct ar_store_receipt *r = row->from;
	struct ar_pg_args args = { 0 };

	ar_pg_arg_bytes(&args, r->scope);
	ar_pg_arg_bytes(&args, r->key);
	ar_pg_arg_bytes(&args, (struct ar_str){ (const char *)r->input.b, AR_HASH_LEN });
	ar_pg_arg_bytes(&args, ar_pack_checksummed(s->writer.packer, r->reply, ar_row_sum_of_receipt(r)));
	ar_pg_send(&s->writer, AR_PG_RECEIPT_HAS, &args);
}

static void query_audit(struct ar_postgres *s, const struct ar_pg_row *row)
{
	struct ar_pg_args args = { 0 };

	ar_pg_arg_u64(&args, s->lane);
	ar_pg_arg_u64(&args, row->chain.n);
	ar_pg_arg_bytes(&args, (struct ar_str){ (const char *)row->chain.hash.b, AR_HASH_LEN });
	ar_pg_send(&s->writer, AR_PG_AUDIT_HAS, &args);
}

/* A transaction is there as a whole or not at all, so one row that only it can have
 * written answers for it. */
enum ar_status ar_postgres_was_written(struct ar_postgres *s, bool *ret, struct ar_error *err)
{
	const struct ar_pg_row *log = first_row(s, AR_PG_LOG), *receipt = first_row(s, AR_PG_RECEIPT);
	const struct ar_pg_row *audit = first_row(s, AR_PG_AUDIT);
	PGresult *r;

	*ret = false;
	if (!log && !receipt && !audit)
		return AR_OK;
	if (log)
		query_log(s, log);
	else if (receipt)
		query_receipt(s, receipt);
	else
		query_audit(s, audit);
	ar_pg_sync(&s->writer);
	r = ar_pg_next(&s->writer);
	if (r)
		*ret = ar_pg_col_u64(r, 0, 0) > 0;
	PQclear(r);
	return ar_pg_end(&s->writer) ? ar_pg_fail(&s->writer, err) : AR_OK;
}
