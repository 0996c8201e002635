/* The file itself: tables, version, the settings of a connection, and the rows that are written at
 * open (epoch, runtime id, dictionary). Runs on the opening thread before the store's threads exist. */
#include "sqlite.h"

#include "clock.h"

#include <stdio.h>
#include <string.h>

#define SCHEMA_VERSION 11
/* The oldest schema whose programs can work on this one: a migration that only adds leaves it, one that
 * takes away or changes what they use raises it to its own number. It is kept in the file, so that a
 * program from before a migration may start again. */
#define LEAST_VERSION 7
#define APPLICATION_ID 0x41675274 /* "AgRt": marks our files among other databases */

/* log: an ordinary table with a composite key; measured faster than WITHOUT ROWID for bodies of this size,
 * and a second index would cost a third of the throughput. */
static const char first_schema[] =
	"CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE node (id TEXT PRIMARY KEY, epoch INTEGER NOT NULL);"
	"CREATE TABLE dictionary (number INTEGER PRIMARY KEY, content BLOB NOT NULL);"
	"CREATE TABLE log (session BLOB NOT NULL, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,"
	" at INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (session, first_seq));"
	"CREATE TABLE snapshot (session BLOB PRIMARY KEY, seq INTEGER NOT NULL, body BLOB NOT NULL);"
	"CREATE TABLE session (session BLOB PRIMARY KEY, created INTEGER NOT NULL, updated INTEGER NOT NULL,"
	" active INTEGER NOT NULL, workspace TEXT, account TEXT, status TEXT, shell BLOB, due INTEGER,"
	" open INTEGER NOT NULL DEFAULT 0);"
	"CREATE INDEX session_active ON session (session) WHERE active = 1;"
	"CREATE TABLE task (session BLOB NOT NULL, n INTEGER NOT NULL, task TEXT NOT NULL, status TEXT,"
	" internal INTEGER NOT NULL, record BLOB, PRIMARY KEY (session, n), UNIQUE (session, task));"
	"CREATE TABLE receipt (scope TEXT NOT NULL, key TEXT NOT NULL, input BLOB NOT NULL, reply BLOB,"
	" PRIMARY KEY (scope, key));"
	"CREATE TABLE chunk (session BLOB NOT NULL, step TEXT NOT NULL, pos INTEGER NOT NULL, kind INTEGER "
	"NOT NULL,"
	" idx INTEGER NOT NULL, bytes BLOB, PRIMARY KEY (session, step, pos));"
	"CREATE TABLE blob (hash BLOB PRIMARY KEY, size INTEGER NOT NULL, body BLOB NOT NULL);";

/* What may be forgotten. Content names the session that put it first, nearly always the only one;
 * only others need a row in blob_ref. Content from before names nobody and stays. Receipts from
 * before count from the change on. */
static const char keeping[] =
	"ALTER TABLE receipt ADD COLUMN created INTEGER NOT NULL DEFAULT %lld;"
	"ALTER TABLE blob ADD COLUMN at INTEGER;"
	"ALTER TABLE blob ADD COLUMN session BLOB;"
	"CREATE INDEX blob_session ON blob (session);"
	"CREATE TABLE blob_ref (hash BLOB NOT NULL, session BLOB NOT NULL, PRIMARY KEY (hash, session))"
	" WITHOUT ROWID;"
	"CREATE INDEX blob_ref_session ON blob_ref (session);"
	"CREATE TABLE blob_doomed (hash BLOB PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE INDEX blob_doomed_since ON blob_doomed (since);";

/* Actions of all sessions. Pending ones are few and have indexes of their own, which do not grow
 * with those that were answered. */
static const char actions[] =
	"CREATE TABLE action (session BLOB NOT NULL, action TEXT NOT NULL, created INTEGER NOT NULL,"
	" account TEXT, pending INTEGER NOT NULL, record BLOB, PRIMARY KEY (session, action)) WITHOUT ROWID;"
	"CREATE INDEX action_created ON action (created, action);"
	"CREATE INDEX action_account ON action (account, created, action);"
	"CREATE INDEX action_session ON action (session, created, action);"
	"CREATE INDEX action_pending ON action (created, action) WHERE pending = 1;"
	"CREATE INDEX action_pending_account ON action (account, created, action) WHERE pending = 1;"
	"CREATE INDEX action_pending_session ON action (session, created, action) WHERE pending = 1;";

/* The tenant of a session. Existing sessions belong to an installation that had no tenants. */
static const char tenants[] =
	"ALTER TABLE session ADD COLUMN tenant TEXT NOT NULL DEFAULT 'local';"
	"CREATE INDEX session_tenant ON session (tenant, session);"
	"ALTER TABLE action ADD COLUMN tenant TEXT NOT NULL DEFAULT 'local';"
	"DROP INDEX action_created;"
	"DROP INDEX action_account;"
	"DROP INDEX action_pending;"
	"DROP INDEX action_pending_account;"
	"CREATE INDEX action_tenant ON action (tenant, created, action);"
	"CREATE INDEX action_tenant_account ON action (tenant, account, created, action);"
	"CREATE INDEX action_pending_tenant ON action (tenant, created, action) WHERE pending = 1;"
	"CREATE INDEX action_pending_tenant_account ON action (tenant, account, created, action)"
	" WHERE pending = 1;";

static const char connection_pragmas[] =
	"PRAGMA journal_mode = WAL;"
	"PRAGMA synchronous = FULL;" /* NORMAL may lose acknowledged commits with the power */
	"PRAGMA journal_size_limit = 67108864;"
	"PRAGMA temp_store = MEMORY;"
	"PRAGMA trusted_schema = OFF;";

static enum ar_status run_script(struct ar_db *db, const char *script, struct ar_error *err)
{
	return sqlite3_exec(db->handle, script, NULL, NULL, NULL) == SQLITE_OK ? AR_OK : ar_db_fail(db, err);
}

/* Statements of the opening; they run once, so they are not kept. */
static enum ar_status prepare(struct ar_db *db, const char *text, struct ar_sql *ret, struct ar_error *err)
{
	*ret = (struct ar_sql){ .db = db };
	if (sqlite3_prepare_v2(db->handle, text, -1, &ret->stmt, NULL) == SQLITE_OK)
		return AR_OK;
	return ar_db_fail(db, err);
}

static enum ar_status finish(struct ar_sql *q, struct ar_error *err)
{
	enum ar_status st = ar_sql_run(q, err);

	sqlite3_finalize(q->stmt);
	return st;
}

static enum ar_status query_int(struct ar_db *db, const char *text, int64_t *ret, struct ar_error *err)
{
	struct ar_sql q;
	enum ar_status st = prepare(db, text, &q, err);

	if (st)
		return st;
	if (ar_sql_row(&q))
		*ret = ar_sql_col_i64(&q, 0);
	return finish(&q, err);
}

/* Whether a newer schema says that this program can work on it. */
static bool knows_enough(struct ar_db *db)
{
	int64_t least = 0;

	return query_int(db, "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'least_version'", &least,
			 NULL) == AR_OK &&
	       least > 0 && least <= SCHEMA_VERSION;
}

/* Before anything is changed: a file that is not ours, or too new, stays as it is. */
static enum ar_status check_file(struct ar_db *db, const char *path, struct ar_error *err)
{
	int64_t version = 0, application = 0, tables = 0;
	enum ar_status st = query_int(db, "PRAGMA user_version", &version, err);

	if (!st)
		st = query_int(db, "PRAGMA application_id", &application, err);
	if (!st)
		st = query_int(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
	if (st)
		return ar_fail_wrap(err, path);
	if (tables && application != APPLICATION_ID)
		return ar_fail(err, AR_E_INVALID, "'%s' is a database, but not a store of this runtime",
			       path);
	if (version > SCHEMA_VERSION && !knows_enough(db))
		return ar_fail(err, AR_E_UNAVAILABLE,
			       "store '%s' has schema version %lld, this program knows up to %d: run the "
			       "newer version that wrote it",
			       path, (long long)version, SCHEMA_VERSION);
	return AR_OK;
}

/* SQLite falls back to another journal without an error where the file system has no shared memory. */
static enum ar_status check_wal(struct ar_db *db, const char *path, struct ar_error *err)
{
	int64_t is_wal = 0;
	enum ar_status st =
		query_int(db, "SELECT journal_mode = 'wal' FROM pragma_journal_mode", &is_wal, err);

	if (!st && !is_wal)
		st = ar_fail(err, AR_E_UNAVAILABLE,
			     "store '%s' is on a file system without WAL support; use a local disk", path);
	return st;
}

static enum ar_status limit_cache(struct ar_db *db, int kib, struct ar_error *err)
{
	char script[64];

	snprintf(script, sizeof script, "PRAGMA cache_size = -%d;", kib);
	return run_script(db, script, err);
}

enum ar_status ar_sqlite_connect(const char *path, int cache_kib, struct ar_db *db, struct ar_error *err)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	enum ar_status st;

	if (sqlite3_open_v2(path, &db->handle, flags, NULL) != SQLITE_OK) {
		ar_db_fail(db, err);
		return ar_fail_wrap(err, path);
	}
	sqlite3_extended_result_codes(db->handle, 1);
	sqlite3_busy_timeout(db->handle, 5000); /* a backup tool may hold the file for a moment */
	st = check_file(db, path, err);
	if (!st)
		st = run_script(db, connection_pragmas, err);
	if (!st)
		st = limit_cache(db, cache_kib, err);
	return st ? st : check_wal(db, path, err);
}

static enum ar_status add_keeping(struct ar_db *db, struct ar_error *err)
{
	struct ar_clock *clock = ar_clock_system();
	char script[sizeof keeping + 32];

	snprintf(script, sizeof script, keeping, (long long)clock->wall(clock));
	return run_script(db, script, err);
}

static enum ar_status ensure_schema(struct ar_db *db, struct ar_error *err)
{
	char mark[256];
	int64_t version = 0;
	enum ar_status st = query_int(db, "PRAGMA user_version", &version, err);

	if (st || version >= SCHEMA_VERSION)
		return st;
	if (version < 1)
		st = run_script(db, first_schema, err);
	if (!st && version < 2)
		st = add_keeping(db, err);
	if (!st && version < 3)
		st = run_script(db, actions, err);
	if (!st && version < 4)
		st = run_script(db, tenants, err);
	if (!st && version < 5)
		st = run_script(db, ar_sqlite_token_schema, err);
	if (!st && version < 6)
		st = run_script(db, ar_sqlite_feed_schema, err);
	if (!st && version < 7)
		st = run_script(db, ar_sqlite_floor_schema, err);
	if (!st && version < 8)
		st = run_script(db, ar_sqlite_audit_schema, err);
	if (!st && version < 9)
		st = run_script(db, ar_sqlite_item_schema, err);
	if (!st && version > 0 &&
	    version < 10) /* a new file has it: to add a column costs a start a twentieth */
		st = run_script(db, "ALTER TABLE session ADD COLUMN due INTEGER", err);
	if (!st && version < 10)
		st = run_script(db, ar_sqlite_due_schema, err);
	if (!st && version > 0 && version < 11)
		st = run_script(db, ar_sqlite_open_schema, err);
	if (!st && version < 11)
		st = run_script(db, ar_sqlite_usage_schema, err);
	snprintf(mark, sizeof mark,
		 "INSERT INTO meta (key, value) VALUES ('least_version', '%d')"
		 " ON CONFLICT (key) DO UPDATE SET value = excluded.value;"
		 "PRAGMA application_id = %d; PRAGMA user_version = %d",
		 LEAST_VERSION, APPLICATION_ID, SCHEMA_VERSION);
	return st ? st : run_script(db, mark, err);
}

static enum ar_status acquire_epoch(struct ar_db *db, uint64_t *ret, struct ar_error *err)
{
	int64_t epoch = 0;
	enum ar_status st = query_int(db,
				      "INSERT INTO node (id, epoch) VALUES ('local', 1)"
				      " ON CONFLICT (id) DO UPDATE SET epoch = epoch + 1 RETURNING epoch",
				      &epoch, err);

	*ret = (uint64_t)epoch;
	return st;
}

/* Mints an id that only the first open will keep. */
static enum ar_status name_runtime(struct ar_db *db, char ret[4 + AR_SESSION_KEY_LEN + 1],
				   struct ar_error *err)
{
	char minted[3 + AR_SESSION_KEY_LEN] = "rt_";
	struct ar_str kept = AR_STR_NONE;
	struct ar_sql q;
	enum ar_status st = prepare(db,
				    "INSERT INTO meta (key, value) VALUES ('runtime_id', ?1)"
				    " ON CONFLICT (key) DO UPDATE SET value = value RETURNING value",
				    &q, err);

	if (st)
		return st;
	ar_id_mint(minted + 3);
	ar_sql_text(&q, (struct ar_str){ minted, sizeof minted });
	if (ar_sql_row(&q))
		kept = ar_sql_col_raw(&q, 0);
	if (kept.len == sizeof minted)
		memcpy(ret, kept.p, sizeof minted);
	else if (q.rc == SQLITE_ROW)
		st = ar_fail(err, AR_E_CORRUPT, "the stored runtime id is not valid; restore a backup");
	return finish(&q, st ? NULL : err) ? AR_E_IO : st;
}

/* Loads all dictionaries; *ret is the number of the one that `wanted` is, 0 when it is new; *ret_last the
 * highest. */
static enum ar_status load_dictionaries(struct ar_sqlite *s, struct ar_str wanted, uint64_t *ret,
					uint64_t *ret_last, struct ar_error *err)
{
	struct ar_sql q;
	enum ar_status st =
		prepare(&s->write_db, "SELECT number, content FROM dictionary ORDER BY number", &q, err);

	if (st)
		return st;
	while (!st && ar_sql_row(&q)) {
		struct ar_str content = ar_sql_col_raw(&q, 1);

		*ret_last = ar_sql_col_u64(&q, 0);
		if (ar_str_eq(content, wanted))
			*ret = *ret_last;
		st = ar_pack_dictionaries_add(s->dictionaries, *ret_last, content, err);
	}
	return finish(&q, st ? NULL : err) ? AR_E_IO : st;
}

static enum ar_status store_dictionary(struct ar_sqlite *s, uint64_t number, struct ar_str content,
				       struct ar_error *err)
{
	struct ar_sql q;
	enum ar_status st = ar_pack_dictionaries_add(s->dictionaries, number, content, err);

	if (!st)
		st = prepare(&s->write_db, "INSERT INTO dictionary (number, content) VALUES (?1, ?2)", &q,
			     err);
	if (st)
		return st;
	ar_sql_u64(&q, number);
	ar_sql_bytes(&q, content);
	return finish(&q, err);
}

/* Values name the dictionary that packed them by number, so each one that was ever used stays in the file. */
static enum ar_status set_up_dictionaries(struct ar_sqlite *s, struct ar_str wanted, struct ar_error *err)
{
	uint64_t number = 0, last = 0;
	enum ar_status st = load_dictionaries(s, wanted, &number, &last, err);

	if (st || ar_str_empty(wanted))
		return st;
	if (!number) {
		number = last + 1;
		st = store_dictionary(s, number, wanted, err);
	}
	return st ? st : ar_pack_dictionaries_use(s->dictionaries, number, wanted, err);
}

enum ar_status ar_sqlite_set_up(struct ar_sqlite *s, const struct ar_store_sqlite_options *o,
				struct ar_error *err)
{
	struct ar_db *db = &s->write_db;
	/* What the log shows may never have reached the disk, if a sync failed before:
	 * copied and synced it has. */
	enum ar_status st = run_script(db, "PRAGMA wal_checkpoint(TRUNCATE)", err);

	if (!st)
		st = run_script(db, "BEGIN IMMEDIATE", err);
	if (!st)
		st = ensure_schema(db, err);
	if (!st)
		st = acquire_epoch(db, &s->base.store.epoch, err);
	if (!st)
		st = name_runtime(db, s->base.store.runtime_id, err);
	if (!st)
		st = set_up_dictionaries(s, o->dictionary, err);
	if (!st)
		st = run_script(db, "COMMIT", err);
	if (st)
		run_script(db, "ROLLBACK", NULL);
	return st;
}
