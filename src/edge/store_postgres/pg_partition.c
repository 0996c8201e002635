/* The log's partitions: log_YYYY_MM holds the sessions whose ids were minted in that month
 * (UTC), log_default those that a caller dated beyond. Made ahead of time, because nothing
 * is moved out of log_default later; dropped as tables once upkeep has emptied them, which
 * gives their space back at once.
 *
 * These statements lock the whole log for a moment. They wait for that lock shortly, and statements
 * that queue behind them wait no longer than that; if they do not get it, the next round tries again.
 * Writer thread, or the opening one. */
#include "postgres.h"

#include "clock.h"
#include "store_upkeep.h"

#include <stdio.h>
#include <string.h>

#define DAY ((ar_usec)24 * 3600 * 1000000)
#define NAME 12 /* of "log_2026_11" and NUL */
#define BOUND 37 /* of a uuid and NUL */
#define LIST_MAX 128

struct month {
	char name[NAME];
	ar_usec starts, ends;
};

static ar_usec month_start(ar_usec t)
{
	char text[AR_TIME_TEXT];
	ar_usec ret = 0;

	ar_time_format(t, text);
	memcpy(text + 8, "01T00:00:00.000000Z", 20);
	AR_ASSERT(ar_time_parse(ar_str_from(text), &ret));
	return ret;
}

static struct month month_of(ar_usec t)
{
	struct month m = { .starts = month_start(t) };
	char text[AR_TIME_TEXT];

	m.ends =
		month_start(m.starts + 31 * DAY + DAY / 2); /* no month is longer, and none shorter than 28 */
	ar_time_format(m.starts, text);
	snprintf(m.name, sizeof m.name, "log_%.4s_%.2s", text, text + 5);
	return m;
}

/* False for what is not named like one of ours: log_default, and what an operator attached. */
static bool month_named(struct ar_str name, struct month *ret)
{
	char text[] = "2026-11-01T00:00:00Z";
	ar_usec t;

	if (name.len != NAME - 1)
		return false;
	memcpy(text, name.p + 4, 4);
	memcpy(text + 5, name.p + 9, 2);
	if (!ar_time_parse(ar_str_from(text), &t))
		return false;
	*ret = month_of(t);
	return ar_str_eq(ar_str_from(ret->name), name);
}

static void bound_text(ar_usec t, char ret[BOUND])
{
	struct ar_store_key key = ar_store_key_at(t);

	snprintf(ret, BOUND, "%02x%02x%02x%02x-%02x%02x-0000-0000-000000000000", key.b[0], key.b[1], key.b[2],
		 key.b[3], key.b[4], key.b[5]);
}

/* ---- what there is ---- */

struct partitions {
	struct month list[LIST_MAX]; /* by time */
	size_t count;
};

static bool list_partitions(struct ar_pg *pg, struct partitions *ret)
{
	PGresult *r;

	ret->count = 0;
	ar_pg_send(pg, AR_PG_PARTITION_LIST, NULL);
	ar_pg_sync(pg);
	r = ar_pg_next(pg);
	for (int i = 0; r && i < PQntuples(r) && ret->count < LIST_MAX; i++)
		ret->count += month_named(ar_pg_col_bytes(r, i, 0), &ret->list[ret->count]);
	PQclear(r);
	return ar_pg_end(pg) == AR_PG_FINE;
}

static bool has(const struct partitions *p, const struct month *m)
{
	for (size_t i = 0; i < p->count; i++) {
		if (strcmp(p->list[i].name, m->name) == 0)
			return true;
	}
	return false;
}

/* ---- made ---- */

static void begin_short(struct ar_postgres *s)
{
	ar_postgres_begin(s);
	ar_pg_send_text(&s->writer, "SET LOCAL lock_timeout = 200");
	ar_pg_send_text(&s->writer, "SET LOCAL statement_timeout = 500");
}

static void make(struct ar_postgres *s, const struct month *m)
{
	char text[256], from[BOUND], to[BOUND];

	bound_text(m->starts, from);
	bound_text(m->ends, to);
	snprintf(text, sizeof text, "CREATE TABLE %s PARTITION OF log FOR VALUES FROM ('%s') TO ('%s')",
		 m->name, from, to);
	begin_short(s);
	ar_pg_send_text(&s->writer, text);
	ar_pg_send(&s->writer, AR_PG_COMMIT, NULL);
	ar_pg_sync(&s->writer);
	ar_pg_end(&s->writer);
}

/* ---- dropped ---- */

/* Whether a row is left; true also when that could not be found out in time. Ends the round trip, not the
 * transaction. */
static bool has_rows(struct ar_pg *pg, const struct month *m)
{
	bool is_empty;
	char text[96];
	PGresult *r;

	snprintf(text, sizeof text, "SELECT count(*) FROM (SELECT 1 FROM %s LIMIT 1) AS one", m->name);
	ar_pg_send_text(pg, text);
	ar_pg_sync(pg);
	r = ar_pg_next(pg);
	is_empty = r && ar_pg_col_u64(r, 0, 0) == 0;
	PQclear(r);
	return ar_pg_turn(pg) || !is_empty;
}

/* Looks once without a lock, so that a month in use costs nobody anything. The parent is locked first, as by
 * everyone. */
static void drop_if_empty(struct ar_postgres *s, const struct month *m)
{
	struct ar_pg *pg = &s->writer;
	char text[96];
	bool is_used;

	begin_short(s);
	ar_pg_send_text(pg, "SET LOCAL statement_timeout = 100");
	ar_pg_sync(pg);
	is_used = ar_pg_turn(pg) || has_rows(pg, m);
	if (!is_used) {
		snprintf(text, sizeof text, "LOCK TABLE ONLY log, %s IN ACCESS EXCLUSIVE MODE", m->name);
		ar_pg_send_text(pg, text);
		is_used = has_rows(pg, m);
	}
	snprintf(text, sizeof text, "DROP TABLE %s", m->name);
	if (!is_used) {
		ar_pg_send_text(pg, text);
		ar_pg_send(pg, AR_PG_COMMIT, NULL);
		ar_pg_sync(pg);
	}
	ar_pg_end(pg);
}

/* One old month per round takes its turn. */
static void drop_one(struct ar_postgres *s, const struct partitions *p, ar_usec before)
{
	size_t old = 0;

	while (old < p->count && p->list[old].ends <= before)
		old++;
	if (old)
		drop_if_empty(s, &p->list[s->rounds++ % old]);
}

void ar_postgres_partition_log(struct ar_postgres *s, ar_usec before)
{
	ar_usec now = ar_clock_system()->wall(ar_clock_system());
	struct month this_month = month_of(now);
	struct month next_month = month_of(this_month.ends);
	struct partitions p;

	if (!ar_pg_is_alive(&s->writer) || !list_partitions(&s->writer, &p))
		return;
	if (!has(&p, &this_month))
		make(s, &this_month);
	if (!has(&p, &next_month))
		make(s, &next_month);
	drop_one(s, &p, before < now ? before : now);
}
