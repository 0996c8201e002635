/* The SQL that runs while the store is open, and the calls that run it. Tables are in sqlite_schema.c; which
 * statements make up an operation is in sqlite_append.c, sqlite_read.c, sqlite_list.c and sqlite_action.c. */
#include "sqlite_stmt.h"

#include <string.h>

/* A list of sessions, newest first. Parameters are the same for all: ends, tenant,
 * workspace, account, status, least time of the last update. */
#define SESSION_LIST(which) \
	"SELECT session, shell FROM session WHERE session < ?1 AND (?2 IS NULL OR session > ?2)" which \
	" AND (?4 IS NULL OR workspace = ?4) AND (?5 IS NULL OR account = ?5)" \
	" AND (?6 IS NULL OR status = ?6) AND updated >= ?7 AND (?8 IS NULL OR status <> ?8)" \
	" ORDER BY session DESC"

/* The row of a session. Naming a column here writes the indexes that it is in, whatever its value. */
#define SESSION_PUT \
	"INSERT INTO session (session, created, updated, active, workspace, account, status, shell," \
	" tenant, due, open) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)" \
	" ON CONFLICT (session) DO UPDATE SET created = excluded.created, updated = excluded.updated," \
	" workspace = excluded.workspace, account = excluded.account, status = excluded.status," \
	" shell = excluded.shell, due = excluded.due"

/* A list of actions, oldest first. Parameters are the same for all: session, account, place, whether
 * pending ones are wanted, limit, tenant. */
#define ACTION_LIST(whose, which) \
	"SELECT action, account, created, pending, record, tenant FROM action WHERE " whose " AND " which \
	" AND (created, action) > (?3, ?4) ORDER BY created, action LIMIT ?6"

#define OF_ACCOUNT "(?2 IS NULL OR account = ?2)"
#define OF_SESSION "session = ?1 AND (?7 IS NULL OR tenant = ?7) AND " OF_ACCOUNT

#define AUDIT_ROW "SELECT n, at, tenant, session, seq, record, hash FROM audit"

/* Sums of what was used. Parameters are the same for all: tenant, bounds of the hour, workspace, model,
 * place, limit. */
#define USAGE_LIST(whose, key) \
	"SELECT " key \
	", currency, sum(requests), sum(input_tokens), sum(output_tokens), sum(cached_tokens)," \
	" sum(cost) FROM usage WHERE " whose " AND hour >= ?2 AND hour < ?3" \
	" AND (?4 IS NULL OR workspace = ?4) AND (?5 IS NULL OR model = ?5)" \
	" AND (?6 IS NULL OR (" key ", currency) > (?6, ?7))" \
	" GROUP BY " key ", currency ORDER BY " key ", currency LIMIT ?8"

/* A list of audit entries. Parameters are the same for all: tenant, bounds of the time, place, limit. */
#define AUDIT_LIST(whose, than, order) \
	AUDIT_ROW " WHERE " whose " AND at >= ?2 AND at < ?3 AND (at, n) " than \
		  " (?4, ?5) ORDER BY at " order ", n " order " LIMIT ?6"

static const char *const sql_text[AR_SQL_COUNT] = {
	[AR_SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	[AR_SQL_BEGIN_READ] = "BEGIN",
	[AR_SQL_COMMIT] = "COMMIT",
	[AR_SQL_ROLLBACK] = "ROLLBACK",
	[AR_SQL_EPOCH] = "SELECT epoch FROM node WHERE id = 'local'",
	[AR_SQL_HEAD] = "SELECT last_seq FROM log WHERE session = ?1 ORDER BY first_seq DESC LIMIT 1",
	[AR_SQL_KNOWN] = "SELECT 1 WHERE EXISTS (SELECT 1 FROM session WHERE session = ?1)"
			 " OR EXISTS (SELECT 1 FROM snapshot WHERE session = ?1)",
	[AR_SQL_LOG_PUT] = "INSERT INTO log (session, first_seq, last_seq, at, tenant, position, body)"
			   " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[AR_SQL_LOG_AFTER] = "SELECT first_seq, last_seq, at, body FROM log"
			     " WHERE session = ?1 AND first_seq > ?2 ORDER BY first_seq",
	[AR_SQL_LOG_FORWARD] =
		"SELECT first_seq, last_seq, at, body FROM log WHERE session = ?1 AND last_seq >= ?2 AND "
		"first_seq >="
		" coalesce((SELECT max(first_seq) FROM log WHERE session = ?1 AND first_seq <= ?2), 0)"
		" ORDER BY first_seq",
	[AR_SQL_LOG_BACKWARD] = "SELECT first_seq, last_seq, at, body FROM log"
				" WHERE session = ?1 AND first_seq <= ?2 ORDER BY first_seq DESC",
	[AR_SQL_SNAPSHOT_PUT] =
		"INSERT INTO snapshot (session, seq, body) VALUES (?1, ?2, ?3)"
		" ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, body = excluded.body",
	[AR_SQL_SNAPSHOT_GET] = "SELECT seq, body FROM snapshot WHERE session = ?1",
	[AR_SQL_SESSION_PUT] = SESSION_PUT ", active = excluded.active, open = excluded.open",
	[AR_SQL_SESSION_PUT_SAME] = SESSION_PUT,
	/* The tenant never changes, and naming it above would write its index with every append. */
	[AR_SQL_SESSION_TENANT_PUT] = "UPDATE session SET tenant = ?2 WHERE session = ?1 AND tenant <> ?2",
	[AR_SQL_SESSION_GET] =
		"SELECT created, updated, active, workspace, account, status, shell, tenant, due, open"
		" FROM session WHERE session = ?1",
	/* Both are looked at, whatever the first says. */
	[AR_SQL_TENANT_GET] = "SELECT (SELECT tenant FROM session WHERE session = ?1),"
			      " EXISTS (SELECT 1 FROM log WHERE session = ?1)",
	[AR_SQL_SESSION_LIST] = SESSION_LIST(" AND ?3 IS NULL"),
	[AR_SQL_SESSION_LIST_TENANT] = SESSION_LIST(" AND tenant = ?3"),
	[AR_SQL_SESSION_LIST_ACTIVE] = SESSION_LIST(" AND active = 1 AND (?3 IS NULL OR tenant = ?3)"),
	[AR_SQL_SESSION_LIST_OPEN] = SESSION_LIST(" AND open = 1 AND (?3 IS NULL OR tenant = ?3)"),
	[AR_SQL_SESSION_LIST_OPEN_TENANT] = SESSION_LIST(" AND open = 1 AND tenant = ?3"),
	[AR_SQL_DUE_LIST] = "SELECT session, due FROM session WHERE due IS NOT NULL AND (due, session) >"
			    " (?1, ?2) ORDER BY due, session",
	[AR_SQL_TASK_UPDATE] =
		"UPDATE task SET status = ?3, internal = ?4, record = ?5 WHERE session = ?1 AND task = ?2",
	[AR_SQL_TASK_INSERT] =
		"INSERT INTO task (session, n, task, status, internal, record) VALUES (?1,"
		" 1 + coalesce((SELECT max(n) FROM task WHERE session = ?1), 0), ?2, ?3, ?4, ?5)",
	[AR_SQL_TASK_GET] =
		"SELECT n, task, status, internal, record FROM task WHERE session = ?1 AND task = ?2",
	[AR_SQL_TASK_LIST] =
		"SELECT n, task, status, internal, record FROM task WHERE session = ?1 AND n > ?2"
		" AND (?3 IS NULL OR status = ?3) AND internal <= ?4"
		" AND (?5 IS NULL OR instr(?5, ',' || status || ',') = 0) ORDER BY n",
	[AR_SQL_ACTION_PUT] =
		"INSERT INTO action (session, created, action, account, tenant, pending, record)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (session, action) DO UPDATE"
		" SET created = excluded.created, account = excluded.account,"
		" tenant = excluded.tenant, pending = excluded.pending, record = excluded.record",
	[AR_SQL_ACTION_LIST] = ACTION_LIST(OF_ACCOUNT " AND ?7 IS NULL", "pending <= ?5"),
	[AR_SQL_ACTION_LIST_TENANT] = ACTION_LIST("tenant = ?7", "pending <= ?5"),
	[AR_SQL_ACTION_LIST_ACCOUNT] = ACTION_LIST("tenant = ?7 AND account = ?2", "pending <= ?5"),
	[AR_SQL_ACTION_LIST_SESSION] = ACTION_LIST(OF_SESSION, "pending <= ?5"),
	[AR_SQL_ACTION_PENDING] = ACTION_LIST(OF_ACCOUNT " AND ?7 IS NULL", "pending = 1"),
	[AR_SQL_ACTION_PENDING_TENANT] = ACTION_LIST("tenant = ?7", "pending = 1"),
	[AR_SQL_ACTION_PENDING_ACCOUNT] = ACTION_LIST("tenant = ?7 AND account = ?2", "pending = 1"),
	[AR_SQL_ACTION_PENDING_SESSION] = ACTION_LIST(OF_SESSION, "pending = 1"),
	[AR_SQL_ITEM_PUT] = "INSERT INTO item (session, list, number, record) VALUES (?1, ?2, ?3, ?4)"
			    " ON CONFLICT (session, list, number) DO UPDATE SET record = excluded.record",
	[AR_SQL_ITEM_LIST] = "SELECT list, number, record FROM item WHERE session = ?1 AND list = ?2"
			     " AND number >= ?3 AND number < ?4 ORDER BY number LIMIT ?5",
	[AR_SQL_USAGE_ADD] =
		"UPDATE usage SET requests = requests + ?6, input_tokens = input_tokens + ?7,"
		" output_tokens = output_tokens + ?8, cached_tokens = cached_tokens + ?9, cost = cost + ?10"
		" WHERE tenant = ?1 AND hour = ?2 AND currency = ?3 AND workspace = ?4 AND model = ?5",
	[AR_SQL_USAGE_NEW] =
		"INSERT INTO usage (tenant, hour, currency, workspace, model, requests, input_tokens,"
		" output_tokens, cached_tokens, cost) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[AR_SQL_USAGE_HOUR] = USAGE_LIST("tenant = ?1", "hour"),
	[AR_SQL_USAGE_MODEL] = USAGE_LIST("tenant = ?1", "model"),
	[AR_SQL_USAGE_WORKSPACE] = USAGE_LIST("tenant = ?1", "workspace"),
	[AR_SQL_USAGE_TENANT] = USAGE_LIST("(?1 IS NULL OR tenant = ?1)", "tenant"),
	[AR_SQL_USAGE_OLD] =
		"DELETE FROM usage WHERE (tenant, hour, currency, workspace, model) IN (SELECT tenant, hour,"
		" currency, workspace, model FROM usage WHERE hour < ?1 LIMIT ?2)",
	[AR_SQL_TOKEN_VERSION] = "SELECT (SELECT version FROM token WHERE token = ?1),"
				 " coalesce((SELECT max(version) FROM token), 0) + 1",
	[AR_SQL_TOKEN_PUT] = "INSERT INTO token (token, version, record) VALUES (?1, ?2, ?3)"
			     " ON CONFLICT (token) DO UPDATE SET version = excluded.version,"
			     " record = excluded.record",
	[AR_SQL_TOKEN_DROP] = "DELETE FROM token WHERE token = ?1",
	[AR_SQL_TOKEN_LIST] =
		"SELECT token, version, record FROM token WHERE version > ?1 ORDER BY version LIMIT ?2",
	[AR_SQL_RECEIPT_PUT] =
		"INSERT INTO receipt (scope, key, input, created, reply) VALUES (?1, ?2, ?3, ?4, ?5)"
		" ON CONFLICT (scope, key) DO NOTHING",
	[AR_SQL_RECEIPT_GET] = "SELECT input, reply FROM receipt WHERE scope = ?1 AND key = ?2",
	[AR_SQL_CHUNK_PUT] =
		"INSERT INTO chunk (session, step, pos, kind, idx, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
		" ON CONFLICT (session, step, pos) DO UPDATE SET kind = excluded.kind,"
		" idx = excluded.idx, bytes = excluded.bytes",
	[AR_SQL_CHUNK_LIST] =
		"SELECT step, pos, kind, idx, bytes FROM chunk WHERE session = ?1 ORDER BY step, pos",
	[AR_SQL_CHUNK_DROP] = "DELETE FROM chunk WHERE session = ?1 AND step = ?2",
	[AR_SQL_BLOB_HAS] = "SELECT 1 FROM blob WHERE hash = ?1",
	[AR_SQL_BLOB_PUT] = "INSERT INTO blob (hash, size, at, session, body) VALUES (?1, ?2, ?3, ?4, ?5)"
			    " ON CONFLICT (hash) DO NOTHING",
	[AR_SQL_BLOB_GET] = "SELECT body FROM blob WHERE hash = ?1",
	/* Content from before there were references is anyone's. */
	[AR_SQL_BLOB_GET_OF] =
		"SELECT body FROM blob WHERE hash = ?1 AND (at IS NULL"
		" OR (session = ?2 AND EXISTS (SELECT 1 FROM log AS l WHERE l.session = ?2)) OR EXISTS"
		" (SELECT 1 FROM blob_ref AS r WHERE r.hash = ?1 AND r.session = ?2))",
	[AR_SQL_REF_PUT] = "INSERT OR IGNORE INTO blob_ref (session, hash) VALUES (?1, ?2)",
	[AR_SQL_OLD_LIST] =
		"SELECT session, active, updated FROM session WHERE session >= ?1 AND session <= ?2"
		" ORDER BY session LIMIT ?3",
	[AR_SQL_OLD_LOG] = "DELETE FROM log WHERE session = ?1",
	[AR_SQL_OLD_SNAPSHOT] = "DELETE FROM snapshot WHERE session = ?1",
	[AR_SQL_OLD_TASK] = "DELETE FROM task WHERE session = ?1",
	[AR_SQL_OLD_ACTION] = "DELETE FROM action WHERE session = ?1",
	[AR_SQL_OLD_ITEM] = "DELETE FROM item WHERE session = ?1",
	[AR_SQL_OLD_CHUNK] = "DELETE FROM chunk WHERE session = ?1",
	[AR_SQL_OLD_SESSION] = "DELETE FROM session WHERE session = ?1",
	/* Rows are numbered in the order they came, so the oldest are found without an index by age. */
	[AR_SQL_OLD_RECEIPT] =
		"DELETE FROM receipt WHERE rowid IN (SELECT rowid FROM"
		" (SELECT rowid, created FROM receipt ORDER BY rowid LIMIT ?2) WHERE created < ?1)",
	[AR_SQL_DOOM] =
		"INSERT INTO blob_doomed (hash, since) SELECT hash, ?2 FROM (SELECT hash FROM blob_ref"
		" WHERE session = ?1 UNION SELECT hash FROM blob WHERE session = ?1) WHERE true"
		" ON CONFLICT (hash) DO UPDATE SET since = excluded.since",
	[AR_SQL_REF_DROP] = "DELETE FROM blob_ref WHERE session = ?1",
	[AR_SQL_REF_REMOVE] = "DELETE FROM blob_ref WHERE session = ?1 AND hash = ?2",
	[AR_SQL_BLOB_LEAVE] = "UPDATE blob SET session = NULL WHERE session = ?1 AND hash = ?2",
	[AR_SQL_BLOB_DOOM] = "INSERT INTO blob_doomed (hash, since) VALUES (?2, 0)"
			     " ON CONFLICT (hash) DO UPDATE SET since = excluded.since",
	/* Content from before there were references has no `at`: nobody knows who needs it, so it stays. */
	[AR_SQL_DOOMED_BLOB] = "DELETE FROM blob WHERE hash IN (SELECT hash FROM blob_doomed WHERE since < ?1"
			       " ORDER BY since LIMIT ?2) AND at IS NOT NULL"
			       " AND NOT EXISTS (SELECT 1 FROM blob_ref AS r WHERE r.hash = blob.hash)"
			       " AND NOT EXISTS (SELECT 1 FROM log AS l WHERE l.session = blob.session)",
	[AR_SQL_PROBE] = "INSERT INTO meta (key, value) VALUES ('probed', ?1)"
			 " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
	[AR_SQL_META_GET] = "SELECT value FROM meta WHERE key = ?1",
	[AR_SQL_META_PUT] = "INSERT INTO meta (key, value) VALUES (?1, ?2)"
			    " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
	[AR_SQL_CHECKSUM_LIST] = "SELECT session, first_seq, last_seq, body FROM log"
				 " WHERE (session, first_seq) > (?1, ?2) AND session <= ?3"
				 " ORDER BY session, first_seq LIMIT ?4",
	[AR_SQL_CHECKSUM_PUT] = "UPDATE log SET body = ?3 WHERE session = ?1 AND first_seq = ?2",
	/* With where the row before it in its session ends. */
	[AR_SQL_FEED_LIST] =
		"SELECT position, session, first_seq, last_seq, body, (SELECT b.last_seq FROM log AS b"
		" WHERE b.session = log.session AND b.first_seq < log.first_seq"
		" ORDER BY b.first_seq DESC LIMIT 1) FROM log"
		" WHERE tenant = ?1 AND position > ?2 ORDER BY position",
	[AR_SQL_FEED_HEAD] = "SELECT position FROM log WHERE tenant = ?1 ORDER BY position DESC LIMIT 1",
	[AR_SQL_FEED_LIMIT] = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'feed'",
	[AR_SQL_FEED_RESERVE] = "UPDATE meta SET value = CAST(value AS INTEGER) + ?1 WHERE key = 'feed'"
				" RETURNING CAST(value AS INTEGER)",
	[AR_SQL_FEED_FLOOR] = "SELECT position FROM feed_floor WHERE tenant = ?1",
	/* Positions of a session rise: its last one in a feed is the highest. */
	[AR_SQL_FEED_RAISE] =
		"INSERT INTO feed_floor (tenant, position) SELECT tenant, position FROM log"
		" WHERE session = ?1 AND tenant IS NOT NULL ORDER BY first_seq DESC LIMIT 1"
		" ON CONFLICT (tenant) DO UPDATE SET position = max(position, excluded.position)",
	[AR_SQL_DOOMED_DROP] = "DELETE FROM blob_doomed WHERE hash IN"
			       " (SELECT hash FROM blob_doomed WHERE since < ?1 ORDER BY since LIMIT ?2)",
	[AR_SQL_AUDIT_END] = "SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1",
	[AR_SQL_AUDIT_PUT] = "INSERT INTO audit (n, at, tenant, session, seq, record, hash)"
			     " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	/* From the first on, as far as all are old; the last of those that are looked at stays,
	 * so the newest of all does. */
	[AR_SQL_AUDIT_OLD] =
		"SELECT max(n), count(*) FROM (SELECT n, max(at >= ?1) OVER w AS young, lead(n) OVER w AS "
		"next"
		" FROM (SELECT n, at FROM audit ORDER BY n LIMIT ?2) WINDOW w AS (ORDER BY n ROWS BETWEEN"
		" UNBOUNDED PRECEDING AND CURRENT ROW)) WHERE NOT young AND next IS NOT NULL",
	[AR_SQL_AUDIT_FLOOR] =
		"INSERT INTO audit_floor (lane, n, hash) SELECT 1, n, hash FROM audit WHERE n = ?1"
		" ON CONFLICT (lane) DO UPDATE SET n = excluded.n, hash = excluded.hash",
	[AR_SQL_AUDIT_DROP] = "DELETE FROM audit WHERE n <= ?1",
	[AR_SQL_AUDIT_FLOOR_GET] = "SELECT n, hash FROM audit_floor WHERE lane = 1",
	[AR_SQL_AUDIT_AFTER] = AUDIT_ROW " WHERE n > ?1 ORDER BY n LIMIT ?2",
	[AR_SQL_AUDIT_LIST] = AUDIT_LIST("tenant = ?1", "<", "DESC"),
	[AR_SQL_AUDIT_LIST_UP] = AUDIT_LIST("tenant = ?1", ">", ""),
	[AR_SQL_AUDIT_LIST_ALL] = AUDIT_LIST("?1 IS NULL", "<", "DESC"),
	[AR_SQL_AUDIT_LIST_ALL_UP] = AUDIT_LIST("?1 IS NULL", ">", ""),
};

void ar_db_fini(struct ar_db *db)
{
	for (size_t i = 0; i < AR_SQL_COUNT; i++)
		sqlite3_finalize(db->stmts[i]);
	sqlite3_close(db->handle);
	ar_packer_free(db->packer);
	*db = (struct ar_db){ 0 };
}

void ar_db_note_cached(struct ar_db *db, size_t more)
{
	int pages = 0, most;

	if (db->handle)
		sqlite3_db_status(db->handle, SQLITE_DBSTATUS_CACHE_USED, &pages, &most, 0);
	atomic_store(&db->cached, (size_t)pages + more);
}

enum ar_status ar_db_fail(struct ar_db *db, struct ar_error *err)
{
	return ar_fail(err, AR_E_IO, "store: %s (SQLite %d)", sqlite3_errmsg(db->handle),
		       sqlite3_extended_errcode(db->handle));
}

enum ar_status ar_db_run(struct ar_db *db, enum ar_sql_id id, struct ar_error *err)
{
	struct ar_sql q = ar_sql_begin(db, id);

	return ar_sql_run(&q, err);
}

struct ar_sql ar_sql_begin(struct ar_db *db, enum ar_sql_id id)
{
	struct ar_sql q = { .db = db };

	if (!db->stmts[id])
		q.rc = sqlite3_prepare_v3(db->handle, sql_text[id], -1, SQLITE_PREPARE_PERSISTENT,
					  &db->stmts[id], NULL);
	q.stmt = db->stmts[id];
	return q;
}

bool ar_sql_row(struct ar_sql *q)
{
	if (q->rc != SQLITE_OK && q->rc != SQLITE_ROW)
		return false;
	q->rc = sqlite3_step(q->stmt);
	return q->rc == SQLITE_ROW;
}

bool ar_sql_page_row(struct ar_sql *q, size_t count, size_t limit, bool *ret_more)
{
	bool has_row = ar_sql_row(q);

	*ret_more = has_row && count == limit;
	return has_row && !*ret_more;
}

enum ar_status ar_sql_end(struct ar_sql *q, struct ar_error *err)
{
	bool failed = q->rc != SQLITE_OK && q->rc != SQLITE_ROW && q->rc != SQLITE_DONE;

	if (failed)
		ar_db_fail(q->db, err); /* before the reset, which has a result of its own */
	if (q->stmt) {
		sqlite3_reset(q->stmt);
		sqlite3_clear_bindings(q->stmt);
	}
	return failed ? AR_E_IO : AR_OK;
}

enum ar_status ar_sql_run(struct ar_sql *q, struct ar_error *err)
{
	while (ar_sql_row(q))
		;
	return ar_sql_end(q, err);
}

static void note_fault(struct ar_sql *q, int rc)
{
	if (q->rc == SQLITE_OK)
		q->rc = rc;
}

void ar_sql_u64(struct ar_sql *q, uint64_t v)
{
	ar_sql_i64(q, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

void ar_sql_i64(struct ar_sql *q, int64_t v)
{
	note_fault(q, sqlite3_bind_int64(q->stmt, ++q->bound, v));
}

void ar_sql_text(struct ar_sql *q, struct ar_str v)
{
	note_fault(q, sqlite3_bind_text64(q->stmt, ++q->bound, v.p, v.len, SQLITE_STATIC, SQLITE_UTF8));
}

void ar_sql_bytes(struct ar_sql *q, struct ar_str v)
{
	note_fault(q, sqlite3_bind_blob64(q->stmt, ++q->bound, v.p, v.len, SQLITE_STATIC));
}

void ar_sql_key(struct ar_sql *q, const struct ar_store_key *key)
{
	ar_sql_bytes(q, ar_store_key_bytes(key));
}

void ar_sql_hash(struct ar_sql *q, const struct ar_hash *hash)
{
	ar_sql_bytes(q, (struct ar_str){ (const char *)hash->b, sizeof hash->b });
}

void ar_sql_packed(struct ar_sql *q, struct ar_str v)
{
	ar_sql_bytes(q, ar_pack(q->db->packer, v));
}

void ar_sql_checksummed(struct ar_sql *q, struct ar_str v, struct ar_row_sum at)
{
	ar_sql_bytes(q, ar_pack_checksummed(q->db->packer, v, at));
}

uint64_t ar_sql_col_u64(struct ar_sql *q, int col)
{
	return (uint64_t)ar_sql_col_i64(q, col);
}

int64_t ar_sql_col_i64(struct ar_sql *q, int col)
{
	return sqlite3_column_int64(q->stmt, col);
}

struct ar_str ar_sql_col_raw(struct ar_sql *q, int col)
{
	const char *p = sqlite3_column_blob(q->stmt, col);
	size_t len = (size_t)sqlite3_column_bytes(q->stmt, col);

	if (!p && sqlite3_column_type(q->stmt, col) != SQLITE_NULL)
		p = ""; /* SQLite gives no address for an empty value */
	return (struct ar_str){ p, len };
}

struct ar_str ar_sql_col_str(struct ar_sql *q, int col, struct ar_arena *a)
{
	return ar_arena_str(a, ar_sql_col_raw(q, col));
}

enum ar_status ar_sql_col_packed(struct ar_sql *q, int col, struct ar_arena *a, struct ar_str *ret,
				 struct ar_error *err)
{
	struct ar_str raw = ar_sql_col_raw(q, col);

	*ret = raw;
	return ar_str_absent(raw) ? AR_OK : ar_unpack(q->db->packer, raw, a, ret, err);
}

enum ar_status ar_sql_col_checksummed(struct ar_sql *q, int col, struct ar_row_sum at, struct ar_arena *a,
				      struct ar_str *ret, struct ar_error *err)
{
	struct ar_str raw = ar_sql_col_raw(q, col);

	*ret = raw;
	return ar_str_absent(raw) ? AR_OK : ar_unpack_checksummed(q->db->packer, raw, at, a, ret, err);
}
