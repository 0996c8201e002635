/* See floor_rows.h: SQLite. Source and target are files. One thread. */
#include "floor_rows.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLUMNS_MAX 8
#define ACTIVE 4 /* its parameter in the session's statement */

/* Rows of one table, all columns as SQLite values. */
struct rows {
	sqlite3_value **values;
	size_t count, room;
	int columns;
};

enum table { LOG, SESSION, TASK, RECEIPT, BLOB, REF, SNAPSHOT, TABLES };

static const struct {
	const char *select, *put;
} sql[TABLES] = {
	[LOG] = { "SELECT session, first_seq, last_seq, at, tenant, position, body FROM log ORDER BY rowid",
		  "INSERT INTO log (session, first_seq, last_seq, at, tenant, position, body)"
		  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)" },
	[SESSION] = { "SELECT session, created, updated, active, workspace, account, status, shell FROM "
		      "session"
		      " ORDER BY session",
		      "INSERT INTO session (session, created, updated, active, workspace, account, status, "
		      "shell)"
		      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (session) DO UPDATE SET"
		      " created = excluded.created, updated = excluded.updated, active = excluded.active,"
		      " workspace = excluded.workspace, account = excluded.account, status = excluded.status,"
		      " shell = excluded.shell" },
	[TASK] = { "SELECT session, n, task, status, internal, record FROM task ORDER BY session, n",
		   "INSERT INTO task (session, n, task, status, internal, record) VALUES (?1, ?2, ?3, ?4, "
		   "?5, ?6)"
		   " ON CONFLICT (session, n) DO UPDATE SET status = excluded.status, record = "
		   "excluded.record" },
	[RECEIPT] = { "SELECT scope, key, input, created, reply FROM receipt ORDER BY rowid",
		      "INSERT INTO receipt (scope, key, input, created, reply) VALUES (?1, ?2, ?3, ?4, ?5)" },
	[BLOB] = { "SELECT hash, size, at, session, body FROM blob ORDER BY rowid",
		   "INSERT INTO blob (hash, size, at, session, body) VALUES (?1, ?2, ?3, ?4, ?5)" },
	[REF] = { "SELECT session, hash FROM blob_ref ORDER BY session",
		  "INSERT OR IGNORE INTO blob_ref (session, hash) VALUES (?1, ?2)" },
	[SNAPSHOT] = { "SELECT session, seq, body FROM snapshot ORDER BY session",
		       "INSERT INTO snapshot (session, seq, body) VALUES (?1, ?2, ?3)" },
};

struct floor_rows {
	sqlite3 *db;
	sqlite3_stmt *put[TABLES], *begin, *commit, *epoch;
	struct rows rows[TABLES];
	size_t done[TABLES]; /* rows of RECEIPT, BLOB, REF and SNAPSHOT written so far */
	size_t *session_of; /* per log row: index of its session row */
	size_t *task_of; /* per log row: index of its task row */
	char *is_active; /* per log row: the session after it */
};

static void require(int is_fine, sqlite3 *db, const char *what)
{
	if (is_fine)
		return;
	fprintf(stderr, "bench floor: %s: %s\n", what, db ? sqlite3_errmsg(db) : "failed");
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- reading the source ---- */

static void read_rows(sqlite3 *db, const char *text, struct rows *r)
{
	sqlite3_stmt *s;

	require(sqlite3_prepare_v2(db, text, -1, &s, NULL) == SQLITE_OK, db, text);
	r->columns = sqlite3_column_count(s);
	while (sqlite3_step(s) == SQLITE_ROW) {
		if (r->count == r->room) {
			r->room = r->room ? 2 * r->room : 1024;
			r->values = realloc(r->values, r->room * COLUMNS_MAX * sizeof(*r->values));
			require(r->values != NULL, NULL, "memory");
		}
		for (int c = 0; c < r->columns; c++)
			r->values[r->count * COLUMNS_MAX + (size_t)c] =
				sqlite3_value_dup(sqlite3_column_value(s, c));
		r->count++;
	}
	sqlite3_finalize(s);
}

static sqlite3_value *value(const struct rows *r, size_t row, int column)
{
	return r->values[row * COLUMNS_MAX + (size_t)column];
}

static int compare_session(sqlite3_value *a, sqlite3_value *b)
{
	return memcmp(sqlite3_value_blob(a), sqlite3_value_blob(b), 16);
}

/* The first row of a table sorted by session that is of this one. */
static size_t find_session(const struct rows *r, sqlite3_value *session)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (compare_session(value(r, middle, 0), session) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Each turn is two appends in order: the k-th append of a session is about its task k / 2, and the second one
 * ends it. */
static void link_rows(struct floor_rows *f)
{
	size_t count = f->rows[LOG].count, sessions = f->rows[SESSION].count;
	size_t *seen = calloc(sessions + 1, sizeof *seen);

	f->session_of = calloc(count + 1, sizeof *f->session_of);
	f->task_of = calloc(count + 1, sizeof *f->task_of);
	f->is_active = calloc(count + 1, 1);
	require(seen && f->session_of && f->task_of && f->is_active, NULL, "memory");
	for (size_t i = 0; i < count; i++) {
		sqlite3_value *session = value(&f->rows[LOG], i, 0);
		size_t at = find_session(&f->rows[SESSION], session);
		size_t task = find_session(&f->rows[TASK], session) + seen[at] / 2;

		f->is_active[i] = seen[at]++ % 2 == 0;
		f->session_of[i] = at;
		f->task_of[i] = task < f->rows[TASK].count ? task : f->rows[TASK].count - 1;
	}
	free(seen);
}

static void copy_schema(sqlite3 *from, sqlite3 *to)
{
	sqlite3_stmt *s;

	sqlite3_prepare_v2(from, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid", -1, &s,
			   NULL);
	while (sqlite3_step(s) == SQLITE_ROW)
		require(sqlite3_exec(to, (const char *)sqlite3_column_text(s, 0), NULL, NULL, NULL) ==
				SQLITE_OK,
			to, "schema");
	sqlite3_finalize(s);
}

struct floor_rows *floor_open(const char *source, const char *target)
{
	struct floor_rows *f = calloc(1, sizeof *f);
	sqlite3 *from = NULL;

	require(f != NULL, NULL, "memory");
	require(sqlite3_open_v2(source, &from, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK, from, source);
	require(sqlite3_open(target, &f->db) == SQLITE_OK, f->db, target);
	sqlite3_exec(f->db,
		     "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;"
		     "PRAGMA journal_size_limit = 67108864",
		     NULL, NULL, NULL);
	copy_schema(from, f->db);
	sqlite3_exec(f->db, "INSERT INTO node (id, epoch) VALUES ('local', 1)", NULL, NULL, NULL);
	for (int t = 0; t < TABLES; t++) {
		read_rows(from, sql[t].select, &f->rows[t]);
		require(sqlite3_prepare_v2(f->db, sql[t].put, -1, &f->put[t], NULL) == SQLITE_OK, f->db,
			sql[t].put);
	}
	sqlite3_prepare_v2(f->db, "BEGIN IMMEDIATE", -1, &f->begin, NULL);
	sqlite3_prepare_v2(f->db, "COMMIT", -1, &f->commit, NULL);
	sqlite3_prepare_v2(f->db, "SELECT epoch FROM node WHERE id = 'local'", -1, &f->epoch, NULL);
	sqlite3_close(from);
	require(f->rows[LOG].count && f->rows[SESSION].count, NULL, "the source has no rows");
	link_rows(f);
	return f;
}

/* ---- writing ---- */

static void run(struct floor_rows *f, sqlite3_stmt *s)
{
	int rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW)
		;
	require(rc == SQLITE_DONE, f->db, sqlite3_sql(s));
	sqlite3_reset(s);
}

static void bind(struct floor_rows *f, enum table t, size_t row)
{
	const struct rows *r = &f->rows[t];

	for (int c = 0; c < r->columns; c++)
		sqlite3_bind_value(f->put[t], c + 1, value(r, row, c));
}

static void put_row(struct floor_rows *f, enum table t, size_t row)
{
	bind(f, t, row);
	run(f, f->put[t]);
}

static void put_session(struct floor_rows *f, size_t row, int is_active)
{
	bind(f, SESSION, row);
	sqlite3_bind_int(f->put[SESSION], ACTIVE, is_active);
	run(f, f->put[SESSION]);
}

/* Writes as many rows of the table as belong to the first `appends` of all appends. */
static void put_share(struct floor_rows *f, enum table t, size_t appends)
{
	size_t due = f->rows[t].count * appends / f->rows[LOG].count;

	while (f->done[t] < due)
		put_row(f, t, f->done[t]++);
}

static void append(struct floor_rows *f, size_t i)
{
	put_row(f, LOG, i);
	put_session(f, f->session_of[i], f->is_active[i]);
	if (f->rows[TASK].count)
		put_row(f, TASK, f->task_of[i]);
	put_share(f, RECEIPT, i + 1);
	put_share(f, BLOB, i + 1);
	put_share(f, REF, i + 1);
	put_share(f, SNAPSHOT, i + 1);
}

double floor_commit(struct floor_rows *f, size_t from, size_t to)
{
	double start = now_us();

	run(f, f->begin);
	run(f, f->epoch);
	for (size_t i = from; i < to; i++)
		append(f, i);
	run(f, f->commit);
	return now_us() - start;
}

size_t floor_appends(const struct floor_rows *f)
{
	return f->rows[LOG].count;
}

long long floor_facts(const struct floor_rows *f)
{
	long long facts = 0;

	for (size_t i = 0; i < f->rows[LOG].count; i++)
		facts += sqlite3_value_int64(value(&f->rows[LOG], i, 2)) -
			 sqlite3_value_int64(value(&f->rows[LOG], i, 1)) + 1;
	return facts;
}
