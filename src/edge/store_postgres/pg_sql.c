/* See the header. A batch is one array per column, taken apart by unnest: one statement per table however
 * many sessions wrote. */
#include "pg_sql.h"
#include "store_feed.h"

#define TEXT_OF(number) TEXT_OF_IT(number)
#define TEXT_OF_IT(number) #number

/* Rows of a window, oldest or newest first, until their bodies exceed $3; row number $4 comes in any case. */
#define WINDOW(range, order) \
	"SELECT first_seq, last_seq, at, body FROM (SELECT first_seq, last_seq, at, body," \
	" sum(size) OVER w AS upto, row_number() OVER w AS n FROM (SELECT first_seq, last_seq, at, body, " \
	"size" \
	" FROM log WHERE session = $1 AND " range " ORDER BY first_seq " order \
	" LIMIT " TEXT_OF(AR_PG_WINDOW) ") AS near WINDOW w AS (ORDER BY first_seq " order ")) AS summed" \
					" WHERE upto <= $3::int8 OR n = $4::int8 ORDER BY first_seq " order

/* A list of sessions, newest first. Parameters are the same for all: newest, workspace, account, status,
 * limit, end, tenant. */
#define SESSION_LIST(which) \
	"SELECT session, shell FROM session WHERE session <= $1 AND ($6::uuid IS NULL OR session > " \
	"$6)" which " AND ($2::bytea IS NULL OR workspace = $2) AND ($3::bytea IS NULL OR account = $3)" \
	" AND ($4::bytea IS NULL OR status = $4) AND updated >= $8::int8" \
	" AND ($9::bytea IS NULL OR status <> $9)" \
	" ORDER BY session DESC LIMIT $5"

#define OF_TENANT " AND tenant = $7::bytea"
#define OF_ANY_TENANT " AND ($7::bytea IS NULL OR tenant = $7)"
#define OWNED OF_ANY_TENANT " AND partition = ANY ($10::int8[])"

/* A list of actions, oldest first. Parameters are the same for all: session, account, place, whether pending
 * ones are wanted, limit, tenant. */
#define ACTION_LIST(whose, which) \
	"SELECT action, account, created, pending, record, tenant FROM action WHERE " whose " AND " which \
	" AND (created, action) > ($3::int8, $4::bytea) ORDER BY created, action LIMIT $6"

#define OF_ANYONE "$1::uuid IS NULL AND $7::bytea IS NULL AND ($2::bytea IS NULL OR account = $2)"
#define ACTIONS_OF_TENANT "$1::uuid IS NULL AND $2::bytea IS NULL AND tenant = $7::bytea"
#define OF_ACCOUNT "$1::uuid IS NULL AND tenant = $7::bytea AND account = $2::bytea"
#define OF_SESSION \
	"session = $1::uuid AND ($7::bytea IS NULL OR tenant = $7) AND ($2::bytea IS NULL OR account = $2)"
#define NOT_ONLY_PENDING "($5::bool OR NOT pending)"
#define PENDING "pending AND $5::bool IS NOT NULL"

/* With a limit, which the planner would not know by itself: a table of few rows has no statistics. One more
 * than there may be. */
#define WINDOW_ROWS TEXT_OF(AR_PG_WINDOW)
#define SOME_LANES "(SELECT number FROM lane ORDER BY number LIMIT 65)"

/* A stored value, put together from its parts if it has any. */
#define BODY(b) \
	"CASE WHEN " b ".parts = 0 THEN " b ".body ELSE (SELECT string_agg(p.bytes, ''::bytea ORDER BY p.n)" \
	" FROM blob_part AS p WHERE p.hash = " b ".hash AND p.n <= " b ".parts) END"

/* Whether a session has facts. Asked for the first of them: where one session has most rows of the table,
 * EXISTS is planned as a walk through the table from its beginning, past everybody else's. */
#define HAS_FACTS(of) \
	"(SELECT first_seq FROM log WHERE log.session = " of " ORDER BY first_seq LIMIT 1) IS NOT NULL"

/* Content that stays: from before there were references, or referred to, or put by a session that has
 * facts. */
#define IS_KEPT(b) \
	"(" b ".at IS NULL OR EXISTS (SELECT 1 FROM blob_ref AS r WHERE r.hash = " b ".hash)" \
	" OR " HAS_FACTS(b ".session") ")"

_Static_assert(AR_FEED_LANES == 64, "SOME_LANES holds that number");

/* A list of audit entries. Parameters are the same for all: tenant, bounds of the time, place, limit. */
#define AUDIT_LIST(whose, than, order) \
	"SELECT lane, n, at, tenant, session, seq, record, hash FROM audit WHERE " whose \
	" AND at >= $2::int8 AND at < $3::int8 AND (at, lane, n) " than " ($4::int8, $5::int8, $6::int8)" \
	" ORDER BY at " order ", lane " order ", n " order " LIMIT $7"

/* Sums of what was used. Parameters are the same for all: tenant, bounds of the hour, workspace, model,
 * place, limit. */
#define USAGE_LIST(whose, key, type) \
	"SELECT " key ", currency, sum(requests)::int8, sum(input_tokens)::int8, sum(output_tokens)::int8," \
	" sum(cached_tokens)::int8, sum(cost)::int8 FROM usage WHERE " whose \
	" AND hour >= $2::int8 AND hour < $3::int8 AND ($4::bytea IS NULL OR workspace = $4)" \
	" AND ($5::bytea IS NULL OR model = $5) AND ($6::" type " IS NULL OR (" key \
	", currency) > ($6, $7::bytea)) GROUP BY " key ", currency ORDER BY " key ", currency LIMIT $8"

const char *const ar_pg_sql_text[AR_PG_SQL_COUNT] = {
	[AR_PG_BEGIN_WRITE] = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
	[AR_PG_BEGIN_READ] = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
	/* A commit that waits for its standby and is cut short would report success without it. */
	[AR_PG_NO_TIMEOUT] = "SET LOCAL statement_timeout = 0",
	[AR_PG_COMMIT] = "COMMIT",
	[AR_PG_ROLLBACK] = "ROLLBACK",
	/* Division by zero where the row is not ours any more: the server itself drops the rest of the
	 * pipeline, so the check costs no round trip. The lock makes a takeover wait for the commit, or us
	 * for it. */
	[AR_PG_FENCE] = "SELECT 1 / count(*) FROM (SELECT epoch FROM node WHERE id = $1 AND epoch = $2"
			" AND connection = $3 FOR SHARE) AS owner",
	[AR_PG_CLAIM] = "UPDATE node SET connection = connection + 1 WHERE id = $1 AND epoch = $2"
			" RETURNING connection",
	[AR_PG_DICTIONARIES] = "SELECT number, content FROM dictionary",
	[AR_PG_HEADS] = "SELECT k.session, (SELECT l.last_seq FROM log AS l WHERE l.session = k.session"
			" ORDER BY l.first_seq DESC LIMIT 1) FROM unnest($1::uuid[]) AS k(session)",
	[AR_PG_RECEIPTS] = "SELECT r.scope, r.key, r.input, r.reply FROM unnest($1::bytea[], $2::bytea[])"
			   " AS k(scope, key) JOIN receipt AS r ON r.scope = k.scope AND r.key = k.key",
	/* The position is taken inside the transaction, of which each lane has one at a time: see
	 * feed/pg_feed.c. */
	[AR_PG_LOG_PUT] =
		"INSERT INTO log (session, first_seq, last_seq, at, size, body, tenant, epoch, lane, "
		"position)"
		" SELECT t.*, $8::int8, $9::int8, nextval('feed_position')"
		" FROM unnest($1::uuid[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::bytea[],"
		" $7::bytea[]) AS t",
	[AR_PG_SESSION_PUT] =
		"INSERT INTO session (session, created, updated, active, workspace, account, status, shell,"
		" tenant, due, open) SELECT t.session, t.created, t.updated, t.active, t.workspace, "
		"t.account,"
		" t.status, t.shell, t.tenant, nullif(t.due, 0), t.open FROM unnest($1::uuid[], $2::int8[], "
		"$3::int8[],"
		" $4::bool[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[], $10::int8[],"
		" $11::bool[])"
		" AS t(session, created, updated, active, workspace, account, status, shell, tenant, due, "
		"open)"
		" ON CONFLICT (session) DO UPDATE SET created = excluded.created, updated = excluded.updated,"
		" active = excluded.active, workspace = excluded.workspace, account = excluded.account,"
		" status = excluded.status, shell = excluded.shell, tenant = excluded.tenant,"
		" due = excluded.due, open = excluded.open",
	/* A task keeps the number it was created with. */
	[AR_PG_TASK_PUT] =
		"INSERT INTO task (session, n, task, status, internal, record)"
		" SELECT t.session, t.n + coalesce((SELECT max(o.n) FROM task AS o"
		" WHERE o.session = t.session), 0), t.task, t.status, t.internal, t.record"
		" FROM unnest($1::uuid[], $2::int8[], $3::bytea[], $4::bytea[], $5::bool[], $6::bytea[])"
		" AS t(session, n, task, status, internal, record)"
		" ON CONFLICT (session, task) DO UPDATE SET status = excluded.status,"
		" internal = excluded.internal, record = excluded.record",
	[AR_PG_ACTION_PUT] =
		"INSERT INTO action (session, created, action, account, tenant, pending, record)"
		" SELECT * FROM unnest($1::uuid[], $2::int8[], $3::bytea[], $4::bytea[], $5::bytea[], "
		"$6::bool[], $7::bytea[])"
		" AS t ON CONFLICT (session, action) DO UPDATE SET created = excluded.created,"
		" account = excluded.account, tenant = excluded.tenant, pending = excluded.pending, record = "
		"excluded.record",
	[AR_PG_ITEM_PUT] = "INSERT INTO item (session, list, number, record)"
			   " SELECT * FROM unnest($1::uuid[], $2::int8[], $3::int8[], $4::bytea[])"
			   " AS t ON CONFLICT (session, list, number) DO UPDATE SET record = excluded.record",
	[AR_PG_RECEIPT_PUT] =
		"INSERT INTO receipt (scope, key, input, created, reply)"
		" SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::int8[], $5::bytea[]) AS t",
	/* What is there already is referred to, which also keeps it from being collected before we commit
	 * (the key of blob_ref); if it has just been collected that fails as a clash, and the next try puts
	 * it. */
	[AR_PG_BLOB_PUT] =
		"WITH t AS (SELECT * FROM unnest($1::bytea[], $2::int8[], $3::int8[], $4::uuid[], $5::int8[],"
		" $6::bytea[], $7::bytea[]) AS t(hash, size, at, session, parts, object, body)),"
		" put AS (INSERT INTO blob (hash, size, at, session, parts, object, body) SELECT * FROM t"
		" ON CONFLICT (hash) DO NOTHING RETURNING hash, object),"
		" used AS (UPDATE object AS o SET since = NULL FROM put"
		" WHERE put.object IS NOT NULL AND o.name = put.object)"
		" INSERT INTO blob_ref (hash, session) SELECT t.hash, t.session FROM t"
		" WHERE NOT EXISTS (SELECT 1 FROM put WHERE put.hash = t.hash) ON CONFLICT DO NOTHING",
	/* Never DO NOTHING: a collector may be about to drop the row that is there. */
	[AR_PG_BLOB_REMOVE] =
		"WITH t AS (SELECT * FROM unnest($1::uuid[], $2::bytea[]) AS t(session, hash)),"
		" gone AS (DELETE FROM blob_ref AS r USING t WHERE r.session = t.session AND r.hash = "
		"t.hash),"
		" left_it AS (UPDATE blob AS b SET session = NULL FROM t"
		" WHERE b.hash = t.hash AND b.session = t.session)"
		" INSERT INTO blob_doomed (hash, since) SELECT DISTINCT hash, 0::int8 FROM t ORDER BY hash"
		" ON CONFLICT (hash) DO UPDATE SET since = excluded.since",
	[AR_PG_CHUNK_DROP] =
		"DELETE FROM chunk AS c USING unnest($1::uuid[], $2::bytea[]) AS d(session, step)"
		" WHERE c.session = d.session AND c.step = d.step",
	[AR_PG_CHUNK_PUT] =
		"INSERT INTO chunk (session, step, pos, kind, idx, bytes)"
		" SELECT * FROM unnest($1::uuid[], $2::bytea[], $3::int8[], $4::int8[], $5::int8[],"
		" $6::bytea[]) AS t ON CONFLICT (session, step, pos) DO UPDATE SET"
		" kind = excluded.kind, idx = excluded.idx, bytes = excluded.bytes",
	[AR_PG_SNAPSHOT_PUT] =
		"INSERT INTO snapshot (session, seq, body)"
		" SELECT * FROM unnest($1::uuid[], $2::int8[], $3::bytea[]) AS t"
		" ON CONFLICT (session) DO UPDATE SET seq = excluded.seq, body = excluded.body",
	[AR_PG_LOG_HAS] = "SELECT count(*) FROM log WHERE session = $1 AND first_seq = $2 AND last_seq = $3"
			  " AND body = $4 AND epoch = $5",
	[AR_PG_RECEIPT_HAS] = "SELECT count(*) FROM receipt WHERE scope = $1 AND key = $2 AND input = $3"
			      " AND reply IS NOT DISTINCT FROM $4",
	[AR_PG_SPAN] = "SELECT (SELECT first_seq FROM log WHERE session = $1 ORDER BY first_seq LIMIT 1),"
		       " (SELECT last_seq FROM log WHERE session = $1 ORDER BY first_seq DESC LIMIT 1),"
		       " EXISTS (SELECT 1 FROM session WHERE session = $1)"
		       " OR EXISTS (SELECT 1 FROM snapshot WHERE session = $1)",
	[AR_PG_LOG_AFTER] = "SELECT first_seq, last_seq, at, body FROM log WHERE session = $1 AND first_seq >"
			    " coalesce((SELECT seq FROM snapshot WHERE session = $1), 0) ORDER BY first_seq",
	[AR_PG_LOG_FORWARD] =
		WINDOW("last_seq >= $2 AND first_seq >= coalesce((SELECT max(first_seq) FROM log"
		       " WHERE session = $1 AND first_seq <= $2), 0)",
		       ""),
	[AR_PG_LOG_BACKWARD] = WINDOW("first_seq <= $2", "DESC"),
	[AR_PG_SNAPSHOT_GET] = "SELECT seq, body FROM snapshot WHERE session = $1",
	[AR_PG_CHUNK_LIST] =
		"SELECT step, pos, kind, idx, bytes FROM chunk WHERE session = $1 ORDER BY step, pos",
	[AR_PG_RECEIPT_GET] = "SELECT input, reply FROM receipt WHERE scope = $1 AND key = $2",
	[AR_PG_BLOB_GET] = "SELECT hash, " BODY("b") ", object FROM blob AS b WHERE hash = ANY ($1::bytea[])",
	[AR_PG_SESSION_GET] = "SELECT created, updated, active, workspace, account, status, shell, tenant,"
			      " coalesce(due, 0), open FROM session WHERE session = $1",
	/* Both are looked at, whatever the first says. */
	[AR_PG_TENANT_GET] = "SELECT (SELECT tenant FROM session WHERE session = $1),"
			     " " HAS_FACTS("$1"),
	[AR_PG_SESSION_LIST] = SESSION_LIST(OF_ANY_TENANT),
	[AR_PG_SESSION_LIST_TENANT] = SESSION_LIST(OF_TENANT),
	[AR_PG_SESSION_LIST_ACTIVE] = SESSION_LIST(" AND active" OF_ANY_TENANT),
	[AR_PG_SESSION_LIST_OWNED] = SESSION_LIST(OWNED),
	[AR_PG_SESSION_LIST_OWNED_ACTIVE] = SESSION_LIST(" AND active" OWNED),
	[AR_PG_DUE_LIST] = "SELECT session, due FROM session WHERE due IS NOT NULL AND (due, session) >"
			   " ($1::int8, $2::uuid) AND ($4::int8[] IS NULL OR partition = ANY ($4))"
			   " ORDER BY due, session LIMIT $3",
	[AR_PG_TASK_GET] =
		"SELECT n, task, status, internal, record FROM task WHERE session = $1 AND task = $2",
	[AR_PG_TASK_LIST] = "SELECT n, task, status, internal, record FROM task WHERE session = $1 AND n > $2"
			    " AND ($3::bytea IS NULL OR status = $3) AND ($4::bool OR NOT internal)"
			    " AND ($6::bytea IS NULL OR"
			    " position(','::bytea || status || ','::bytea IN $6) = 0) ORDER BY n LIMIT $5",
	[AR_PG_ACTION_LIST] = ACTION_LIST(OF_ANYONE, NOT_ONLY_PENDING),
	[AR_PG_ACTION_LIST_TENANT] = ACTION_LIST(ACTIONS_OF_TENANT, NOT_ONLY_PENDING),
	[AR_PG_ACTION_LIST_ACCOUNT] = ACTION_LIST(OF_ACCOUNT, NOT_ONLY_PENDING),
	[AR_PG_ACTION_LIST_SESSION] = ACTION_LIST(OF_SESSION, NOT_ONLY_PENDING),
	[AR_PG_ACTION_PENDING] = ACTION_LIST(OF_ANYONE, PENDING),
	[AR_PG_ACTION_PENDING_TENANT] = ACTION_LIST(ACTIONS_OF_TENANT, PENDING),
	[AR_PG_ACTION_PENDING_ACCOUNT] = ACTION_LIST(OF_ACCOUNT, PENDING),
	[AR_PG_ACTION_PENDING_SESSION] = ACTION_LIST(OF_SESSION, PENDING),
	[AR_PG_ITEM_LIST] = "SELECT list, number, record FROM item WHERE session = $1 AND list = $2"
			    " AND number >= $3 AND number < $4 ORDER BY number LIMIT $5",
	/* Content from before there were references is anyone's. */
	[AR_PG_BLOB_GET_OF] = "SELECT hash, " BODY(
		"b") ", object FROM blob AS b WHERE hash = ANY ($1::bytea[]) AND (at IS NULL"
		     " OR (b.session = $2 AND " HAS_FACTS(
			     "$2") ") OR EXISTS"
				   " (SELECT 1 FROM blob_ref AS r WHERE r.hash = b.hash AND r.session = $2))",
	[AR_PG_REF_PUT] = "INSERT INTO blob_ref (session, hash)"
			  " SELECT * FROM unnest($1::uuid[], $2::bytea[]) AS t ON CONFLICT DO NOTHING",
	[AR_PG_CHECKSUM_BEGIN] = "INSERT INTO meta (key, value) VALUES ($1, '') ON CONFLICT (key) DO NOTHING",
	[AR_PG_CHECKSUM_WALK] = "SELECT value FROM meta WHERE key = $1 FOR UPDATE SKIP LOCKED",
	/* The body of a row that has a checksum (pack.c) is not sent. */
	[AR_PG_CHECKSUM_LIST] =
		"SELECT session, first_seq, last_seq, CASE WHEN length(body) > 12 AND get_byte(body, 0) <> 0"
		" AND substring(body FROM length(body) - 11 FOR 8) = '\\x5a2a4d1804000000'::bytea"
		" THEN NULL ELSE body END FROM log WHERE (session, first_seq) > ($1::uuid, $2::int8)"
		" AND session <= $3 ORDER BY session, first_seq LIMIT $4",
	[AR_PG_CHECKSUM_PUT] =
		"UPDATE log AS l SET body = n.body"
		" FROM unnest($1::uuid[], $2::int8[], $3::bytea[]) AS n(session, first_seq, body)"
		" WHERE l.session = n.session AND l.first_seq = n.first_seq",
	[AR_PG_CHECKSUM_END] = "UPDATE meta SET value = $2 WHERE key = $1",
	[AR_PG_OLD_LIST] = "SELECT session, active, updated FROM session WHERE session BETWEEN $1 AND $2"
			   " ORDER BY session LIMIT $3",
	/* Checked again under a lock: a transaction that holds the row is about to update or
	 * remove it. A partition that another node owns by now is skipped, and one of ours cannot
	 * move before we are done. */
	[AR_PG_OLD_LOCK] = "SELECT s.session FROM session AS s JOIN partition AS p ON p.id = s.partition"
			   " WHERE s.session = ANY ($1::uuid[]) AND NOT s.active AND s.updated < $2"
			   " AND (p.node = '' OR (p.node = $3 AND p.epoch = $4))"
			   " FOR UPDATE OF s SKIP LOCKED FOR SHARE OF p SKIP LOCKED",
	/* Never DO NOTHING: a collector may be about to drop the row that is there. */
	[AR_PG_OLD_REF] =
		"WITH gone AS (DELETE FROM blob_ref WHERE session = ANY ($1::uuid[]) RETURNING hash)"
		" INSERT INTO blob_doomed (hash, since) SELECT hash, $2::int8 FROM (SELECT hash FROM gone"
		" UNION SELECT hash FROM blob WHERE session = ANY ($1::uuid[])) AS lost ORDER BY hash"
		" ON CONFLICT (hash) DO UPDATE SET since = excluded.since",
	/* And how far that reached in the feeds. In one order, so that of two that remove at once each gets
	 * past the other. */
	[AR_PG_OLD_LOG] =
		"WITH gone AS (DELETE FROM log WHERE session = ANY ($1::uuid[])"
		" RETURNING tenant, lane, position)"
		" INSERT INTO feed_floor AS f (tenant, lane, position) SELECT tenant, lane, max(position)"
		" FROM gone WHERE tenant IS NOT NULL GROUP BY tenant, lane ORDER BY tenant, lane"
		" ON CONFLICT (tenant, lane) DO UPDATE SET"
		" position = greatest(f.position, excluded.position)",
	[AR_PG_OLD_SNAPSHOT] = "DELETE FROM snapshot WHERE session = ANY ($1::uuid[])",
	[AR_PG_OLD_TASK] = "DELETE FROM task WHERE session = ANY ($1::uuid[])",
	[AR_PG_OLD_ACTION] = "DELETE FROM action WHERE session = ANY ($1::uuid[])",
	[AR_PG_OLD_ITEM] = "DELETE FROM item WHERE session = ANY ($1::uuid[])",
	[AR_PG_OLD_CHUNK] = "DELETE FROM chunk WHERE session = ANY ($1::uuid[])",
	[AR_PG_OLD_SESSION] = "DELETE FROM session WHERE session = ANY ($1::uuid[])",
	[AR_PG_OLD_RECEIPT] =
		"WITH gone AS (DELETE FROM receipt WHERE (scope, key) IN (SELECT scope, key FROM receipt"
		" WHERE created < $1 ORDER BY created LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1)"
		" SELECT count(*) FROM gone",
	[AR_PG_DOOMED_LIST] = "SELECT hash FROM blob_doomed WHERE since < $1 ORDER BY since LIMIT $2"
			      " FOR UPDATE SKIP LOCKED",
	/* Then a statement of its own, which sees every reference that was committed before we had the
	 * lock. */
	[AR_PG_DOOMED_LOCK] = "SELECT hash FROM blob WHERE hash = ANY ($1::bytea[]) FOR UPDATE SKIP LOCKED",
	[AR_PG_DOOMED_BLOB] =
		"WITH gone AS (DELETE FROM blob AS b WHERE hash = ANY ($1::bytea[])"
		" AND NOT " IS_KEPT(
			"b") " RETURNING hash, object),"
			     " parts AS (DELETE FROM blob_part WHERE hash IN (SELECT hash FROM gone)),"
			     " freed AS (UPDATE object SET since = 0 WHERE name IN (SELECT object FROM gone))"
			     " SELECT count(*) FROM gone",
	/* All but those that were skipped because someone is about to refer to them again. */
	[AR_PG_DOOMED_DROP] = "DELETE FROM blob_doomed AS d WHERE hash = ANY ($1::bytea[]) AND NOT EXISTS"
			      " (SELECT 1 FROM blob AS b WHERE b.hash = d.hash AND NOT " IS_KEPT("b") ")",
	[AR_PG_PART_PUT] =
		"INSERT INTO blob_part (hash, n, bytes)"
		" SELECT * FROM unnest($1::bytea[], $2::int8[], $3::bytea[]) AS t ON CONFLICT DO NOTHING",
	[AR_PG_OBJECT_BEGIN] =
		"INSERT INTO object (name, since) SELECT name, $2::int8 FROM unnest($1::bytea[])"
		" AS t(name)",
	/* From here on no append can name it: its reference would fail. */
	[AR_PG_OBJECT_FREE] =
		"WITH free AS (DELETE FROM object WHERE name IN (SELECT name FROM object WHERE since < $1"
		" ORDER BY since LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING name)"
		" INSERT INTO object_gone (name) SELECT name FROM free",
	[AR_PG_OBJECT_GONE] = "SELECT name FROM object_gone LIMIT $1",
	[AR_PG_OBJECT_FORGET] = "DELETE FROM object_gone WHERE name = ANY ($1::bytea[])",
	/* The row of token_clock is held until the end of the transaction: puts become visible in the order
	 * of their versions. What is put comes in a statement of its own, which sees what the one before it
	 * waited for. */
	[AR_PG_TOKEN_TICK] = "UPDATE token_clock SET version = version + 1 WHERE id = 1 RETURNING version",
	[AR_PG_TOKEN_PUT] =
		"INSERT INTO token (token, version, record) SELECT $1::bytea, c.version, $3::bytea"
		" FROM token_clock AS c WHERE c.id = 1 AND coalesce((SELECT t.version FROM token AS t"
		" WHERE t.token = $1), 0) = $2::int8 ON CONFLICT (token) DO UPDATE SET"
		" version = excluded.version, record = excluded.record RETURNING version",
	[AR_PG_TOKEN_DROP] =
		"DELETE FROM token WHERE token = $1::bytea AND version = $2::int8 RETURNING version",
	[AR_PG_TOKEN_LIST] =
		"SELECT token, version, record FROM token WHERE version > $1 ORDER BY version LIMIT $2",
	/* Of each lane the oldest behind its place, and of these the oldest: one statement, so one moment. */
	[AR_PG_FEED_LIST] =
		"SELECT lane, position, session, first_seq, last_seq, body, is_last, (SELECT b.last_seq FROM "
		"log AS b"
		" WHERE b.session = summed.session AND b.first_seq < summed.first_seq ORDER BY b.first_seq "
		"DESC"
		" LIMIT 1) FROM (SELECT lane, "
		"position,"
		" session, first_seq, last_seq, body, sum(size) OVER w AS upto, row_number() OVER w AS n,"
		" count(*) OVER () < " WINDOW_ROWS " AND lead(1) OVER w IS NULL AS is_last FROM"
		" (SELECT l.* FROM (SELECT a.number, coalesce(c.position, 0) AS position FROM " SOME_LANES
		" AS a LEFT JOIN unnest($2::int8[], $3::int8[]) AS c(lane, position) ON c.lane = a.number)"
		" AS place CROSS JOIN LATERAL (SELECT lane, position, session, first_seq, last_seq, size, "
		"body"
		" FROM log WHERE tenant = $1 AND lane = place.number AND position > place.position"
		" ORDER BY position LIMIT " WINDOW_ROWS ") AS l ORDER BY l.position LIMIT " WINDOW_ROWS ")"
		" AS near WINDOW w AS (ORDER BY position)) AS summed WHERE upto <= $4::int8 OR n = 1"
		" ORDER BY position",
	/* A row for each lane that there is; NULL where it holds nothing of the tenant, or nothing of it was
	 * removed. */
	[AR_PG_FEED_ENDS] =
		"SELECT a.number, (SELECT l.position FROM log AS l WHERE l.tenant = $1 AND l.lane = a.number"
		" ORDER BY l.position DESC LIMIT 1), pg_sequence_last_value('feed_position'),"
		" (SELECT f.position FROM feed_floor AS f WHERE f.tenant = $1 AND f.lane = a.number)"
		" FROM " SOME_LANES " AS a",
	[AR_PG_LANE_LEAVE] = "UPDATE lane SET node = '' WHERE number = $1 AND node = $2 AND epoch = $3",
	[AR_PG_AUDIT_END] = "SELECT n, hash FROM audit WHERE lane = $1 ORDER BY n DESC LIMIT 1",
	[AR_PG_AUDIT_PUT] = "INSERT INTO audit (n, at, tenant, session, seq, record, hash, lane) SELECT t.*, "
			    "$8::int8 FROM"
			    " unnest($1::int8[], $2::int8[], $3::bytea[], $4::bytea[], $5::int8[], "
			    "$6::bytea[], $7::bytea[])"
			    " AS t",
	[AR_PG_AUDIT_HAS] = "SELECT count(*) FROM audit WHERE lane = $1 AND n = $2 AND hash = $3",
	/* Of each lane from the first on, as far as all are old; the last of those that are looked at stays,
	 * so the newest of all does. */
	[AR_PG_AUDIT_OLD] =
		"WITH old AS (SELECT p.lane, p.n FROM lane AS l CROSS JOIN LATERAL (SELECT lane, n,"
		" bool_and(at < $1::int8) OVER (ORDER BY n) AS is_old, lead(n) OVER (ORDER BY n) AS next"
		" FROM (SELECT lane, n, at FROM audit WHERE lane = l.number ORDER BY n LIMIT $2::int8) AS "
		"page)"
		" AS p WHERE p.is_old AND p.next IS NOT NULL),"
		" gone AS (DELETE FROM audit AS a USING old WHERE a.lane = old.lane AND a.n = old.n"
		" RETURNING a.lane, a.n, a.hash),"
		" raised AS (INSERT INTO audit_floor AS f (lane, n, hash) SELECT DISTINCT ON (lane) lane, n, "
		"hash"
		" FROM gone ORDER BY lane, n DESC ON CONFLICT (lane) DO UPDATE SET n = excluded.n,"
		" hash = excluded.hash WHERE f.n < excluded.n) SELECT count(*) FROM gone",
	[AR_PG_AUDIT_AFTER] =
		"SELECT a.lane, a.n, a.at, a.tenant, a.session, a.seq, a.record, a.hash, f.n, f.hash"
		" FROM audit AS a LEFT JOIN audit_floor AS f ON f.lane = a.lane"
		" WHERE (a.lane, a.n) > ($1::int8, $2::int8) ORDER BY a.lane, a.n LIMIT $3",
	[AR_PG_AUDIT_LIST] = AUDIT_LIST("tenant = $1", "<", "DESC"),
	[AR_PG_AUDIT_LIST_UP] = AUDIT_LIST("tenant = $1", ">", ""),
	[AR_PG_AUDIT_LIST_ALL] = AUDIT_LIST("$1::bytea IS NULL", "<", "DESC"),
	[AR_PG_AUDIT_LIST_ALL_UP] = AUDIT_LIST("$1::bytea IS NULL", ">", ""),
	[AR_PG_SESSION_LIST_OPEN] = SESSION_LIST(" AND open" OF_ANY_TENANT),
	[AR_PG_SESSION_LIST_OPEN_TENANT] = SESSION_LIST(" AND open" OF_TENANT),
	/* Each lane has rows of its own: no two nodes wait for each other. */
	[AR_PG_USAGE_ADD] =
		"INSERT INTO usage AS u (tenant, hour, currency, workspace, model, requests, input_tokens,"
		" output_tokens, cached_tokens, cost, lane) SELECT t.tenant, t.hour, t.currency, t.workspace,"
		" t.model, sum(t.requests), sum(t.input_tokens), sum(t.output_tokens), sum(t.cached_tokens),"
		" sum(t.cost), $11::int8 FROM unnest($1::bytea[], $2::int8[], $3::bytea[], $4::bytea[],"
		" $5::bytea[], $6::int8[], $7::int8[], $8::int8[], $9::int8[], $10::int8[])"
		" AS t(tenant, hour, currency, workspace, model, requests, input_tokens, output_tokens,"
		" cached_tokens, cost) GROUP BY 1, 2, 3, 4, 5"
		" ON CONFLICT (tenant, hour, currency, workspace, model, lane) DO UPDATE SET"
		" requests = u.requests + excluded.requests,"
		" input_tokens = u.input_tokens + excluded.input_tokens,"
		" output_tokens = u.output_tokens + excluded.output_tokens,"
		" cached_tokens = u.cached_tokens + excluded.cached_tokens, cost = u.cost + excluded.cost",
	[AR_PG_USAGE_HOUR] = USAGE_LIST("tenant = $1::bytea", "hour", "int8"),
	[AR_PG_USAGE_MODEL] = USAGE_LIST("tenant = $1::bytea", "model", "bytea"),
	[AR_PG_USAGE_WORKSPACE] = USAGE_LIST("tenant = $1::bytea", "workspace", "bytea"),
	[AR_PG_USAGE_TENANT] = USAGE_LIST("($1::bytea IS NULL OR tenant = $1)", "tenant", "bytea"),
	/* Nodes that sweep at once pass over what another has. */
	[AR_PG_USAGE_OLD] =
		"WITH gone AS (DELETE FROM usage WHERE (tenant, hour, currency, workspace, model, lane) IN"
		" (SELECT tenant, hour, currency, workspace, model, lane FROM usage WHERE hour < $1"
		" ORDER BY hour LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1) SELECT count(*) FROM gone",
	[AR_PG_PARTITION_LIST] =
		"SELECT c.relname::text FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid"
		" WHERE i.inhparent = 'log'::regclass ORDER BY c.relname",
};
