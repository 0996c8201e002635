/* The tables, and the versions they went through. An empty database gets the newest schema when it is
 * opened; an older one is changed by ar_store_postgres_migrate() alone, because nodes of the version
 * before may be at work on it. What is written into the tables at open is in pg_set_up.c. Runs on the
 * calling thread, over a link that is not prepared. */
#include "postgres.h"

#include <stdio.h>

#define MIGRATE_TRIES 10

/* log: the primary key is its only index, and holds what it may be partitioned by. epoch says who wrote
 * a row, for the question after a lost connection; size is that of the unpacked body, for windows. */
static const char first_schema[] =
	"CREATE TABLE meta (key text PRIMARY KEY, value text NOT NULL);"
	"CREATE TABLE node (id text PRIMARY KEY, epoch int8 NOT NULL, connection int8 NOT NULL);"
	"CREATE TABLE dictionary (number int8 PRIMARY KEY, content bytea NOT NULL);"
	"CREATE TABLE log (session uuid NOT NULL, first_seq int8 NOT NULL, last_seq int8 NOT NULL,"
	" at int8 NOT NULL, epoch int8 NOT NULL, size int4 NOT NULL, body bytea NOT NULL,"
	" PRIMARY KEY (session, first_seq));"
	"CREATE TABLE snapshot (session uuid PRIMARY KEY, seq int8 NOT NULL, body bytea NOT NULL);"
	"CREATE TABLE session (session uuid PRIMARY KEY, created int8 NOT NULL, updated int8 NOT NULL,"
	" active bool NOT NULL, workspace bytea, account bytea, status bytea, shell bytea);"
	"CREATE INDEX session_active ON session (session) WHERE active;"
	"CREATE TABLE task (session uuid NOT NULL, n int8 NOT NULL, task bytea NOT NULL, status bytea,"
	" internal bool NOT NULL, record bytea, PRIMARY KEY (session, n), UNIQUE (session, task));"
	"CREATE TABLE receipt (scope bytea NOT NULL, key bytea NOT NULL, input bytea NOT NULL, reply bytea,"
	" PRIMARY KEY (scope, key));"
	"CREATE TABLE chunk (session uuid NOT NULL, step bytea NOT NULL, pos int8 NOT NULL, kind int8 NOT "
	"NULL,"
	" idx int8 NOT NULL, bytes bytea, PRIMARY KEY (session, step, pos));"
	"CREATE TABLE blob (hash bytea PRIMARY KEY, size int8 NOT NULL, body bytea NOT NULL);";

/* Membership. The partition of a session is computed by the server, so that an older node that knows
 * nothing of it still writes whole rows. seen is for people: no decision is made by that clock. */
static const char membership[] =
	"ALTER TABLE node ADD COLUMN instance int8 NOT NULL DEFAULT 0;"
	"CREATE TABLE node_beat (id text PRIMARY KEY, beat int8 NOT NULL, address text NOT NULL,"
	" state int8 NOT NULL, seen timestamptz NOT NULL);"
	"CREATE TABLE partition (id int8 PRIMARY KEY, node text NOT NULL DEFAULT '', epoch int8 NOT NULL "
	"DEFAULT 0);"
	"INSERT INTO partition (id) SELECT generate_series(0, 1023);"
	"ALTER TABLE session ADD COLUMN partition int8 NOT NULL GENERATED ALWAYS AS"
	" ((get_byte(sha256(uuid_send(session)), 0) * 256 + get_byte(sha256(uuid_send(session)), 1)) / 64) "
	"STORED;"
	"DROP INDEX session_active;"
	"CREATE INDEX session_active ON session (partition, session) WHERE active;";

/* Actions of all sessions. Pending ones are few and have indexes of their own, which do not grow
 * with those that were answered. */
static const char actions[] =
	"CREATE TABLE action (session uuid NOT NULL, created int8 NOT NULL, action bytea NOT NULL, account "
	"bytea,"
	" pending bool NOT NULL, record bytea, PRIMARY KEY (session, action));"
	"CREATE INDEX action_created ON action (created, action);"
	"CREATE INDEX action_account ON action (account, created, action);"
	"CREATE INDEX action_session ON action (session, created, action);"
	"CREATE INDEX action_pending ON action (created, action) WHERE pending;"
	"CREATE INDEX action_pending_account ON action (account, created, action) WHERE pending;"
	"CREATE INDEX action_pending_session ON action (session, created, action) WHERE pending;";

/* The tenant of a session. Existing sessions belong to an installation that had no tenants, and so does
 * what a node of the version before writes meanwhile. */
static const char tenants[] =
	"ALTER TABLE session ADD COLUMN tenant bytea NOT NULL DEFAULT 'local'::bytea;"
	"CREATE INDEX session_tenant ON session (tenant, session);"
	"ALTER TABLE action ADD COLUMN tenant bytea NOT NULL DEFAULT 'local'::bytea;"
	"DROP INDEX action_created, action_account, action_pending, action_pending_account;"
	"CREATE INDEX action_tenant ON action (tenant, created, action);"
	"CREATE INDEX action_tenant_account ON action (tenant, account, created, action);"
	"CREATE INDEX action_pending_tenant ON action (tenant, created, action) WHERE pending;"
	"CREATE INDEX action_pending_tenant_account ON action (tenant, account, created, action) WHERE "
	"pending;";

/* These values come packed: what does not fit into a page is put aside as it is, without the
 * server's own attempt to compress it. A task is written again with every step of its turn: room in
 * its page keeps its indexes as they are. In the order in which a batch writes, so that no writer
 * and we wait for each other. */
static const char packed[] = "ALTER TABLE log ALTER COLUMN body SET STORAGE EXTERNAL;"
			     "ALTER TABLE task ALTER COLUMN record SET STORAGE EXTERNAL;"
			     "ALTER TABLE task SET (fillfactor = 70);"
			     "ALTER TABLE action ALTER COLUMN record SET STORAGE EXTERNAL;"
			     "ALTER TABLE blob ALTER COLUMN body SET STORAGE EXTERNAL;"
			     "ALTER TABLE snapshot ALTER COLUMN body SET STORAGE EXTERNAL;";

/* Version n is migrations[n - 1]. A migration that was released is never changed, and takes
 * nothing away that the version before it uses; so that one may start again after it, and with
 * `least` set lower older ones too. */
static const struct {
	const char *script;
	uint64_t least; /* the oldest version whose programs can work on the schema; 0: the one before */
} migrations[] = { { first_schema, 1 },
		   { membership, 0 },
		   { ar_pg_migration_retention, 0 },
		   { actions, 0 },
		   { tenants, 0 },
		   { ar_pg_migration_token, 0 },
		   { ar_pg_migration_feed, 0 },
		   { packed, 0 },
		   { ar_pg_migration_floor, 0 },
		   { ar_pg_migration_audit, 0 },
		   { ar_pg_migration_item, 0 },
		   { ar_pg_migration_due, 0 },
		   { ar_pg_migration_usage, 0 } };

_Static_assert(AR_PARTITIONS == 1024, "migrations hold that number");

static const char migration_table[] =
	"CREATE TABLE migration (version int8 PRIMARY KEY, application text NOT NULL,"
	" applied timestamptz NOT NULL DEFAULT now())";

static const struct ar_pg_args none;

/* One number from a statement; *ret stays when it gives no row. */
static enum ar_status query_number(struct ar_pg *pg, const char *text, const struct ar_pg_args *args,
				   uint64_t *ret, struct ar_error *err)
{
	PGresult *r = ar_pg_query(pg, text, args);

	if (!r)
		return ar_pg_fail(pg, err);
	if (PQntuples(r) > 0)
		*ret = ar_pg_col_u64(r, 0, 0);
	PQclear(r);
	return AR_OK;
}

/* Before anything is made: tables of those names that are not ours stay as they are. Those that another node
 * made since we looked are ours, and the first migration clashes with it. */
static enum ar_status check_empty(struct ar_pg *pg, struct ar_error *err)
{
	uint64_t count = 0;
	enum ar_status st = query_number(
		pg,
		"SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()"
		" AND table_name IN ('meta', 'node', 'dictionary', 'log', 'snapshot', 'session', 'task', "
		"'receipt',"
		" 'chunk', 'blob', 'node_beat', 'partition', 'blob_ref', 'blob_doomed', 'blob_part', "
		"'object', 'object_gone', 'action', 'token', 'token_clock', 'lane', 'feed_position', "
		"'feed_floor', 'audit', 'audit_floor', 'item', 'usage')"
		" AND NOT EXISTS (SELECT 1 FROM information_schema.tables"
		" WHERE table_schema = current_schema() AND table_name = 'migration')",
		&none, &count, err);

	if (st || !count)
		return st;
	return ar_fail(err, AR_E_INVALID,
		       "the database contains tables of another program; give the runtime its own database, "
		       "or its own schema in search_path");
}

static enum ar_status read_version(struct ar_pg *pg, uint64_t *ret, struct ar_error *err)
{
	uint64_t tables = 0, columns = 0;
	enum ar_status st =
		query_number(pg,
			     "SELECT count(*) FROM information_schema.tables"
			     " WHERE table_schema = current_schema() AND table_name = 'migration'",
			     &none, &tables, err);

	*ret = 0;
	if (st || !tables)
		return st ? st : check_empty(pg, err);
	st = query_number(
		pg,
		"SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema()"
		" AND table_name = 'migration' AND column_name IN ('version', 'application', 'applied')",
		&none, &columns, err);
	if (!st && columns == 3)
		st = query_number(pg, "SELECT max(version) FROM migration WHERE application = 'agentruntime'",
				  &none, ret, err);
	if (!st && !*ret)
		return ar_fail(err, AR_E_INVALID, "the database is not a store of this runtime");
	return st;
}

static enum ar_status store_least_version(struct ar_pg *pg, uint64_t version, struct ar_error *err)
{
	uint64_t least = migrations[version - 1].least;
	char text[160];

	snprintf(text, sizeof text,
		 "INSERT INTO meta (key, value) VALUES ('least_version', '%llu')"
		 " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
		 (unsigned long long)(least ? least : version - 1));
	return ar_pg_execute(pg, text, err);
}

/* Whether a newer schema says that this program can work on it. */
static bool knows_enough(struct ar_pg *pg)
{
	uint64_t least = 0;

	return query_number(pg, "SELECT value::int8 FROM meta WHERE key = 'least_version'", &none, &least,
			    NULL) == AR_OK &&
	       least > 0 && least <= AR_ARRAY_LEN(migrations);
}

/* The row comes first: of two that migrate at once the second waits for it, clashes, and
 * finds nothing left to do. */
static enum ar_status migrate(struct ar_pg *pg, uint64_t version, struct ar_error *err)
{
	struct ar_pg_args args = { 0 };
	enum ar_status st = version == 1 ? ar_pg_execute(pg, migration_table, err) : AR_OK;
	PGresult *r;

	if (st)
		return st;
	ar_pg_arg_u64(&args, version);
	r = ar_pg_query(pg, "INSERT INTO migration (version, application) VALUES ($1, 'agentruntime')",
			&args);
	PQclear(r);
	if (!r)
		return ar_pg_fail(pg, err);
	st = ar_pg_execute(pg, migrations[version - 1].script, err);
	return st ? st : store_least_version(pg, version, err);
}

static enum ar_status fail_newer(uint64_t version, struct ar_error *err)
{
	return ar_fail(err, AR_E_UNAVAILABLE,
		       "the database has schema version %llu, this program knows up to %zu: run the newer "
		       "version that wrote it",
		       (unsigned long long)version, AR_ARRAY_LEN(migrations));
}

static enum ar_status migrate_up(struct ar_pg *pg, uint64_t from, uint64_t to, ar_store_step_fn *on_step,
				 struct ar_error *err)
{
	enum ar_status st = AR_OK;

	while (!st && from++ < to) {
		if (on_step)
			on_step(from, to);
		st = migrate(pg, from, err);
	}
	return st;
}

enum ar_status ar_postgres_ensure_schema(struct ar_pg *pg, struct ar_error *err)
{
	uint64_t version = 0;
	enum ar_status st = read_version(pg, &version, err);

	if (st)
		return st;
	if (version > AR_ARRAY_LEN(migrations))
		return knows_enough(pg) ? AR_OK : fail_newer(version, err);
	if (version > 0 && version < AR_ARRAY_LEN(migrations))
		return ar_fail(
			err, AR_E_UNAVAILABLE,
			"the database has schema version %llu, this program needs %zu: run `agentd migrate`",
			(unsigned long long)version, AR_ARRAY_LEN(migrations));
	return migrate_up(pg, version, AR_ARRAY_LEN(migrations), NULL, err);
}

/* ---- as a program of its own ---- */

static enum ar_status migrate_once(struct ar_pg *pg, uint64_t to, ar_store_step_fn *on_step,
				   uint64_t *ret_from, struct ar_error *err)
{
	enum ar_status st = ar_pg_execute(pg, "BEGIN", err);

	if (!st)
		st = read_version(pg, ret_from, err);
	if (!st && *ret_from > AR_ARRAY_LEN(migrations))
		st = fail_newer(*ret_from, err);
	if (!st)
		st = migrate_up(pg, *ret_from, to, on_step, err);
	return st ? st : ar_pg_execute(pg, "COMMIT", err);
}

enum ar_status ar_store_postgres_migrate_to(const struct ar_store_postgres_options *o, uint64_t to,
					    uint64_t *ret_from, struct ar_error *err)
{
	struct ar_pg_target target = { .conninfo = o->conninfo,
				       .password = o->password,
				       .application = "agentd migrate" };
	struct ar_pg pg = { 0 };
	enum ar_status st = ar_pg_connect(&pg, &target, err);
	bool clashed = !st;

	for (unsigned tries = 0; clashed && tries < MIGRATE_TRIES; tries++) {
		st = migrate_once(&pg, to, o->on_step, ret_from, err);
		clashed = st && pg.fault == AR_PG_CLASH;
		if (st)
			ar_pg_execute(&pg, "ROLLBACK", NULL);
	}
	ar_pg_disconnect(&pg);
	return st;
}

enum ar_status ar_store_postgres_migrate(const struct ar_store_postgres_options *o, uint64_t *ret_from,
					 uint64_t *ret_to, struct ar_error *err)
{
	*ret_to = AR_ARRAY_LEN(migrations);
	return ar_store_postgres_migrate_to(o, *ret_to, ret_from, err);
}
