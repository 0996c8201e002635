/* The database itself: tables, version, and the rows that are written at open (epoch, runtime id, dictionary). One
 * transaction; when two nodes open an empty database at once, one of them clashes and looks again. Runs on the
 * opening thread before the store's threads exist. */
#include "postgres.h"

#include <string.h>

#define SET_UP_TRIES 10

/* log: the primary key is its only index, and holds what it may be partitioned by. epoch says who wrote a row, for
 * the question after a lost connection; size is that of the unpacked body, for windows. */
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

/* Version n is migrations[n - 1]. A migration that was released is never changed. */
static const char *const migrations[] = { first_schema };

static const char migration_table[] =
	"CREATE TABLE migration (version int8 PRIMARY KEY, application text NOT NULL,"
	" applied timestamptz NOT NULL DEFAULT now())";

static const struct ar_pg_args none;

static enum ar_status tell(struct ar_pg *pg, const char *script, struct ar_error *err)
{
	PGresult *r = ar_pg_ask(pg, script, NULL);

	PQclear(r);
	return r ? AR_OK : ar_pg_fail(pg, err);
}

/* One number from a statement; *ret stays when it gives no row. */
static enum ar_status ask_number(struct ar_pg *pg, const char *text, const struct ar_pg_args *args,
				 uint64_t *ret, struct ar_error *err)
{
	PGresult *r = ar_pg_ask(pg, text, args);

	if (!r)
		return ar_pg_fail(pg, err);
	if (PQntuples(r) > 0)
		*ret = ar_pg_col_u64(r, 0, 0);
	PQclear(r);
	return AR_OK;
}

/* Before anything is made: tables of those names that are not ours stay as they are. */
static enum ar_status check_empty(struct ar_pg *pg, struct ar_error *err)
{
	uint64_t count = 0;
	enum ar_status st = ask_number(
		pg,
		"SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()"
		" AND table_name IN ('meta', 'node', 'dictionary', 'log', 'snapshot', 'session', 'task', "
		"'receipt',"
		" 'chunk', 'blob')",
		&none, &count, err);

	if (st || !count)
		return st;
	return ar_fail(
		err, AR_E_INVALID,
		"the database holds tables of another program; give the runtime a database, or a schema in "
		"search_path, of its own");
}

static enum ar_status read_version(struct ar_pg *pg, uint64_t *ret, struct ar_error *err)
{
	uint64_t tables = 0, columns = 0;
	enum ar_status st = ask_number(pg,
				       "SELECT count(*) FROM information_schema.tables"
				       " WHERE table_schema = current_schema() AND table_name = 'migration'",
				       &none, &tables, err);

	*ret = 0;
	if (st || !tables)
		return st ? st : check_empty(pg, err);
	st = ask_number(
		pg,
		"SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema()"
		" AND table_name = 'migration' AND column_name IN ('version', 'application', 'applied')",
		&none, &columns, err);
	if (!st && columns == 3)
		st = ask_number(pg, "SELECT max(version) FROM migration WHERE application = 'agentruntime'",
				&none, ret, err);
	if (!st && !*ret)
		return ar_fail(err, AR_E_INVALID, "the database is not a store of this runtime");
	return st;
}

static enum ar_status migrate(struct ar_pg *pg, uint64_t version, struct ar_error *err)
{
	struct ar_pg_args args = { 0 };
	enum ar_status st = version == 1 ? tell(pg, migration_table, err) : AR_OK;
	PGresult *r;

	if (!st)
		st = tell(pg, migrations[version - 1], err);
	if (st)
		return st;
	ar_pg_arg_u64(&args, version);
	r = ar_pg_ask(pg, "INSERT INTO migration (version, application) VALUES ($1, 'agentruntime')", &args);
	PQclear(r);
	return r ? AR_OK : ar_pg_fail(pg, err);
}

static enum ar_status ensure_schema(struct ar_pg *pg, struct ar_error *err)
{
	uint64_t version = 0;
	enum ar_status st = read_version(pg, &version, err);

	if (!st && version > AR_ARRAY_LEN(migrations))
		return ar_fail(
			err, AR_E_UNAVAILABLE,
			"the database has schema version %llu, this program knows up to %zu: a newer one "
			"wrote it",
			(unsigned long long)version, AR_ARRAY_LEN(migrations));
	while (!st && version < AR_ARRAY_LEN(migrations))
		st = migrate(pg, ++version, err);
	return st;
}

static enum ar_status take_epoch(struct ar_postgres *s, struct ar_error *err)
{
	struct ar_pg_args args = { 0 };
	PGresult *r;

	ar_pg_arg_bytes(&args, ar_str_from(s->node));
	r = ar_pg_ask(
		&s->writer,
		"INSERT INTO node (id, epoch, connection) VALUES ($1, 1, 1) ON CONFLICT (id) DO UPDATE"
		" SET epoch = node.epoch + 1, connection = node.connection + 1 RETURNING epoch, connection",
		&args);
	if (!r)
		return ar_pg_fail(&s->writer, err);
	s->base.store.epoch = ar_pg_col_u64(r, 0, 0);
	s->connection = ar_pg_col_u64(r, 0, 1);
	PQclear(r);
	return AR_OK;
}

/* Mints an id that only the first open will keep. */
static enum ar_status name_runtime(struct ar_pg *pg, char ret[4 + AR_ID_CORE + 1], struct ar_error *err)
{
	char minted[3 + AR_ID_CORE] = "rt_";
	struct ar_pg_args args = { 0 };
	enum ar_status st = AR_OK;
	struct ar_str kept;
	PGresult *r;

	ar_id_mint(minted + 3);
	ar_pg_arg_bytes(&args, (struct ar_str){ minted, sizeof minted });
	r = ar_pg_ask(pg,
		      "INSERT INTO meta (key, value) VALUES ('runtime_id', $1)"
		      " ON CONFLICT (key) DO UPDATE SET value = meta.value RETURNING value",
		      &args);
	if (!r)
		return ar_pg_fail(pg, err);
	kept = ar_pg_col_bytes(r, 0, 0);
	if (kept.len == sizeof minted)
		memcpy(ret, kept.p, sizeof minted);
	else
		st = ar_fail(err, AR_E_CORRUPT, "the stored runtime id is not one");
	PQclear(r);
	return st;
}

/* Loads all dictionaries; *ret is the number of the one that `wanted` is, 0 when it is new; *ret_last the
 * highest. */
static enum ar_status load_dictionaries(struct ar_postgres *s, struct ar_str wanted, uint64_t *ret,
					uint64_t *ret_last, struct ar_error *err)
{
	PGresult *r = ar_pg_ask(&s->writer, "SELECT number, content FROM dictionary ORDER BY number", &none);
	enum ar_status st = AR_OK;

	if (!r)
		return ar_pg_fail(&s->writer, err);
	for (int i = 0; !st && i < PQntuples(r); i++) {
		struct ar_str content = ar_pg_col_bytes(r, i, 1);

		*ret_last = ar_pg_col_u64(r, i, 0);
		if (ar_str_eq(content, wanted))
			*ret = *ret_last;
		st = ar_pack_dictionaries_add(s->dictionaries, *ret_last, content, err);
	}
	PQclear(r);
	return st;
}

static enum ar_status keep_dictionary(struct ar_postgres *s, uint64_t number, struct ar_str content,
				      struct ar_error *err)
{
	struct ar_pg_args args = { 0 };
	enum ar_status st = ar_pack_dictionaries_add(s->dictionaries, number, content, err);
	PGresult *r;

	if (st)
		return st;
	ar_pg_arg_u64(&args, number);
	ar_pg_arg_bytes(&args, content);
	r = ar_pg_ask(&s->writer, "INSERT INTO dictionary (number, content) VALUES ($1, $2)", &args);
	PQclear(r);
	return r ? AR_OK : ar_pg_fail(&s->writer, err);
}

/* Values name the dictionary that packed them by number, so each one that was ever used stays. */
static enum ar_status set_up_dictionaries(struct ar_postgres *s, struct ar_str wanted, struct ar_error *err)
{
	uint64_t number = 0, last = 0;
	enum ar_status st;

	ar_pack_dictionaries_free(s->dictionaries); /* an earlier try may have left some */
	s->dictionaries = ar_pack_dictionaries_new();
	st = load_dictionaries(s, wanted, &number, &last, err);
	if (st || ar_str_empty(wanted))
		return st;
	if (!number) {
		number = last + 1;
		st = keep_dictionary(s, number, wanted, err);
	}
	return st ? st : ar_pack_dictionaries_use(s->dictionaries, number, wanted, err);
}

static enum ar_status set_up_once(struct ar_postgres *s, struct ar_str dictionary, struct ar_error *err)
{
	enum ar_status st = tell(&s->writer, "BEGIN", err);

	if (!st)
		st = ensure_schema(&s->writer, err);
	if (!st)
		st = name_runtime(&s->writer, s->base.store.runtime_id, err);
	if (!st)
		st = set_up_dictionaries(s, dictionary, err);
	if (!st)
		st = take_epoch(s, err);
	return st ? st : tell(&s->writer, "COMMIT", err);
}

enum ar_status ar_postgres_set_up(struct ar_postgres *s, struct ar_str dictionary, struct ar_error *err)
{
	enum ar_status st = AR_E_IO;
	bool clashed = true;

	for (unsigned tries = 0; clashed && tries < SET_UP_TRIES; tries++) {
		st = set_up_once(s, dictionary, err);
		clashed = st && s->writer.fault == AR_PG_CLASH;
		if (st)
			tell(&s->writer, "ROLLBACK", NULL);
	}
	return st;
}
