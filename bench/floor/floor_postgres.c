/* See floor_rows.h: PostgreSQL. Source and target are connection strings; the target gets the tables. The
 * statements are the runtime's own, in pipeline mode on one connection: begin, fence, one per table, commit,
 * one round trip. One thread. */
#include "floor_rows.h"

#include "mem.h"
#include "pg_link.h"
#include "store_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS_MAX 11

enum table { LOG, SESSION, TASK, RECEIPT, BLOB, REF, SNAPSHOT, TABLES };

#define U AR_PG_UUID
#define I AR_PG_INT8
#define B AR_PG_BYTEA
#define T AR_PG_BOOL

/* Columns in the order of the statement. The log only grows, so the place of a row is the order of
 * writing. */
static const struct {
	const char *select;
	enum ar_pg_id put;
	enum ar_pg_type types[COLUMNS_MAX];
} tables[TABLES] = {
	[LOG] = { "SELECT session, first_seq, last_seq, at, size::int8, body, tenant FROM log ORDER BY "
		  "tableoid, "
		  "ctid",
		  AR_PG_LOG_PUT,
		  { U, I, I, I, I, B, B } },
	[SESSION] = { "SELECT session, created, updated, active, workspace, account, status, shell, tenant,"
		      " coalesce(due, 0), open FROM session ORDER BY session",
		      AR_PG_SESSION_PUT,
		      { U, I, I, T, B, B, B, B, B, I, T } },
	[TASK] = { "SELECT session, n, task, status, internal, record FROM task ORDER BY session, n",
		   AR_PG_TASK_PUT,
		   { U, I, B, B, T, B } },
	[RECEIPT] = { "SELECT scope, key, input, created, reply FROM receipt ORDER BY ctid",
		      AR_PG_RECEIPT_PUT,
		      { B, B, B, I, B } },
	[BLOB] = { "SELECT hash, size, at, session, parts, object, body FROM blob ORDER BY ctid",
		   AR_PG_BLOB_PUT,
		   { B, I, I, U, I, B, B } },
	[REF] = { "SELECT session, hash FROM blob_ref ORDER BY ctid", AR_PG_REF_PUT, { U, B } },
	[SNAPSHOT] = { "SELECT session, seq, body FROM snapshot ORDER BY session",
		       AR_PG_SNAPSHOT_PUT,
		       { U, I, B } },
};

struct floor_rows {
	struct ar_pg pg; /* the target */
	PGresult *node; /* its owner: id, epoch, connection, lane */
	PGresult *rows[TABLES];
	struct ar_pg_array columns[TABLES][COLUMNS_MAX];
	size_t done[TABLES]; /* rows of RECEIPT, BLOB, REF and SNAPSHOT written so far */
	size_t *session_of, *task_of; /* per log row */
	bool *is_active; /* per log row: after it */
	size_t *written_in[TABLES]; /* per row of SESSION and TASK: the last commit that has it */
	size_t commits;
};

static void require(bool is_fine, const char *what, const char *why)
{
	if (is_fine)
		return;
	fprintf(stderr, "bench floor: %s: %s\n", what, why);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- reading the source ---- */

static void connect_to(struct ar_pg *pg, const char *conninfo)
{
	const struct ar_pg_target target = { .conninfo = conninfo, .application = "bench-floor" };
	struct ar_error err = { 0 };

	require(ar_pg_connect(pg, &target, &err) == AR_OK, conninfo, err.msg);
}

static PGresult *query(struct ar_pg *pg, const char *text)
{
	static const struct ar_pg_args none;
	PGresult *r = ar_pg_query(pg, text, &none);

	require(r != NULL, text, pg->error.msg);
	return r;
}

static size_t count(const struct floor_rows *f, enum table t)
{
	return (size_t)PQntuples(f->rows[t]);
}

/* The first row of a table sorted by session that is of this one. */
static size_t find_session(const PGresult *r, const char *session)
{
	int low = 0, high = PQntuples(r);

	while (low < high) {
		int middle = (low + high) / 2;

		if (memcmp(PQgetvalue(r, middle, 0), session, AR_STORE_KEY) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return (size_t)low;
}

/* Each turn is two appends in order: the k-th append of a session is about its task k / 2, and the second one
 * ends it. */
static void link_rows(struct floor_rows *f)
{
	size_t appends = count(f, LOG);
	size_t *seen = ar_new0((count(f, SESSION) + 1) * sizeof *seen);

	f->session_of = ar_new0((appends + 1) * sizeof *f->session_of);
	f->task_of = ar_new0((appends + 1) * sizeof *f->task_of);
	f->is_active = ar_new0((appends + 1) * sizeof *f->is_active);
	f->written_in[SESSION] = ar_new0((count(f, SESSION) + 1) * sizeof(size_t));
	f->written_in[TASK] = ar_new0((count(f, TASK) + 1) * sizeof(size_t));
	for (size_t i = 0; i < appends; i++) {
		const char *session = PQgetvalue(f->rows[LOG], (int)i, 0);
		size_t at = find_session(f->rows[SESSION], session);
		size_t task = find_session(f->rows[TASK], session) + seen[at] / 2;

		f->is_active[i] = seen[at]++ % 2 == 0;
		f->session_of[i] = at;
		f->task_of[i] = task < count(f, TASK) ? task : count(f, TASK) - 1;
	}
	ar_free(seen);
}

static void read_source(struct floor_rows *f, const char *conninfo)
{
	struct ar_pg pg = { 0 };

	connect_to(&pg, conninfo);
	for (int t = 0; t < TABLES; t++)
		f->rows[t] = query(&pg, tables[t].select);
	ar_pg_disconnect(&pg);
	require(count(f, LOG) && count(f, SESSION) && count(f, TASK), conninfo, "the source has no rows");
	link_rows(f);
}

/* A store makes the tables and takes an epoch; its connections are gone before ours comes. */
static void open_target(struct floor_rows *f, const char *conninfo)
{
	struct ar_store_postgres_options o = { .conninfo = conninfo };
	struct ar_store *store;
	struct ar_error err = { 0 };

	require(ar_store_postgres_open(&o, &store, &err) == AR_OK, conninfo, err.msg);
	ar_store_close(store);
	connect_to(&f->pg, conninfo);
	f->node = query(&f->pg, "SELECT id, epoch, connection, (SELECT max(number) FROM lane) FROM node");
	require(PQntuples(f->node) == 1, conninfo, "it has no single owner");
	require(ar_pg_prepare(&f->pg, &err) == AR_OK, conninfo, err.msg);
}

/* ---- writing ---- */

static void start_table(struct floor_rows *f, enum table t)
{
	for (size_t c = 0; c < COLUMNS_MAX && tables[t].types[c]; c++)
		ar_pg_array_start(&f->columns[t][c], tables[t].types[c]);
}

static void add_row(struct floor_rows *f, enum table t, size_t row)
{
	for (int c = 0; c < COLUMNS_MAX && tables[t].types[c]; c++)
		ar_pg_array_bytes(&f->columns[t][c], ar_pg_col_bytes(f->rows[t], (int)row, c));
}

/* A row that an append replaces stands once in a commit. */
static bool is_new(struct floor_rows *f, enum table t, size_t row)
{
	bool is_first = f->written_in[t][row] != f->commits;

	f->written_in[t][row] = f->commits;
	return is_first;
}

static void add_session(struct floor_rows *f, size_t row, bool is_active)
{
	for (int c = 0; c < COLUMNS_MAX; c++) {
		if (tables[SESSION].types[c] == T)
			ar_pg_array_bool(&f->columns[SESSION][c], is_active);
		else
			ar_pg_array_bytes(&f->columns[SESSION][c],
					  ar_pg_col_bytes(f->rows[SESSION], (int)row, c));
	}
}

/* Adds as many rows of the table as belong to the first `appends` of all appends. */
static void add_share(struct floor_rows *f, enum table t, size_t appends)
{
	size_t due = count(f, t) * appends / count(f, LOG);

	while (f->done[t] < due)
		add_row(f, t, f->done[t]++);
}

static void add_append(struct floor_rows *f, size_t i)
{
	add_row(f, LOG, i);
	if (is_new(f, SESSION, f->session_of[i]))
		add_session(f, f->session_of[i], f->is_active[i]);
	if (is_new(f, TASK, f->task_of[i]))
		add_row(f, TASK, f->task_of[i]);
	add_share(f, RECEIPT, i + 1);
	add_share(f, BLOB, i + 1);
	add_share(f, REF, i + 1);
	add_share(f, SNAPSHOT, i + 1);
}

static void send_table(struct floor_rows *f, enum table t)
{
	struct ar_pg_args args = { 0 };

	if (f->columns[t][0].count == 0)
		return;
	for (size_t c = 0; c < COLUMNS_MAX && tables[t].types[c]; c++)
		ar_pg_arg_array(&args, &f->columns[t][c]);
	for (int c = 1; t == LOG && c <= 3; c += 2)
		ar_pg_arg_bytes(&args, ar_pg_col_bytes(f->node, 0, c));
	ar_pg_send(&f->pg, tables[t].put, &args);
}

static void send_begin(struct floor_rows *f)
{
	struct ar_pg_args args = { 0 };

	for (int c = 0; c < 3; c++)
		ar_pg_arg_bytes(&args, ar_pg_col_bytes(f->node, 0, c));
	ar_pg_send(&f->pg, AR_PG_BEGIN_WRITE, NULL);
	ar_pg_send(&f->pg, AR_PG_FENCE, &args);
}

double floor_commit(struct floor_rows *f, size_t from, size_t to)
{
	double start = now_us();

	f->commits++;
	for (enum table t = 0; t < TABLES; t++)
		start_table(f, t);
	for (size_t i = from; i < to; i++)
		add_append(f, i);
	send_begin(f);
	for (enum table t = 0; t < TABLES; t++)
		send_table(f, t);
	ar_pg_send(&f->pg, AR_PG_NO_TIMEOUT, NULL);
	ar_pg_send(&f->pg, AR_PG_COMMIT, NULL);
	ar_pg_sync(&f->pg);
	require(ar_pg_end(&f->pg) == AR_PG_FINE, "commit", f->pg.error.msg);
	return now_us() - start;
}

struct floor_rows *floor_open(const char *source, const char *target)
{
	struct floor_rows *f = ar_new0(sizeof *f);

	read_source(f, source);
	open_target(f, target);
	return f;
}

size_t floor_appends(const struct floor_rows *f)
{
	return count(f, LOG);
}

long long floor_facts(const struct floor_rows *f)
{
	long long facts = 0;

	for (int i = 0; i < PQntuples(f->rows[LOG]); i++)
		facts += ar_pg_col_i64(f->rows[LOG], i, 2) - ar_pg_col_i64(f->rows[LOG], i, 1) + 1;
	return facts;
}
