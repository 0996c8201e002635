/* Schema versions of the PostgreSQL store: an older database is refused at open and brought up by a migration
 * that keeps what is in it. The fixture's own store is closed first; each test makes the version it needs. */
#include "postgres_fixture.h"

#include <stdio.h>
#include <string.h>

#define NEWEST 13

/* An empty database with the schema of that version. */
static void make_version(struct fixture *f, uint64_t version)
{
	struct ar_error err = { 0 };
	uint64_t from = 77;

	ar_store_close(f->store);
	f->store = NULL;
	postgres_script(f, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
	if (ar_store_postgres_migrate_to(&(struct ar_store_postgres_options){ .conninfo = f->path }, version,
					 &from, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(from, 0);
}

static void expect_migration(struct fixture *f, uint64_t expected_from)
{
	struct ar_error err = { 0 };
	uint64_t from = 77, to = 77;

	if (ar_store_postgres_migrate(&(struct ar_store_postgres_options){ .conninfo = f->path }, &from, &to,
				      &err))
		fail_msg("%s", err.msg);
	assert_int_equal(from, expected_from);
	assert_int_equal(to, NEWEST);
	assert_int_equal(postgres_int(f, "SELECT max(version) FROM migration"), NEWEST);
}

/* What version 1 writes for a session, in its own words. */
static void put_as_version_1(struct fixture *f, unsigned from, unsigned to)
{
	char script[256];

	snprintf(script, sizeof script,
		 "INSERT INTO session (session, created, updated, active) SELECT"
		 " ('019abcde-0000-7001-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 5, 6, true"
		 " FROM generate_series(%u, %u) AS n",
		 from, to);
	postgres_script(f, script);
}

static void older_schema_is_refused_with_what_to_do(void **state)
{
	struct fixture *f = *state;
	struct ar_store_postgres_options o = postgres_options(f);
	struct ar_error err = { 0 };

	make_version(f, 1);
	assert_int_equal(ar_store_postgres_open(&o, &f->store, &err), AR_E_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "schema version 1"));
	assert_non_null(strstr(err.msg, "agentd migrate"));
	assert_int_equal(postgres_int(f, "SELECT max(version) FROM migration"), 1);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM node"), 0);
}

/* Every row is still there, and in the partition that its id says. */
static void migration_keeps_rows_and_finds_their_partitions(void **state)
{
	struct fixture *f = *state;
	struct ar_store_sessions l = { .op = { .kind = AR_STORE_SESSIONS, .done = note_done }, .limit = 100 };
	uint64_t bits[AR_PARTITIONS / 64];

	make_version(f, 1);
	postgres_script(f, "INSERT INTO node (id, epoch, connection) VALUES ('node-1', 41, 5)");
	put_as_version_1(f, 1, 50);
	expect_migration(f, 1);
	put_as_version_1(f, 51, 60); /* a node of the version before goes on */
	postgres_open(f);
	assert_int_equal(f->store->epoch, 42);
	run(f, &l.op);
	assert_int_equal(l.count, 60);
	for (size_t i = 0; i < 60; i++) {
		struct ar_store_sessions one = { .op = { .kind = AR_STORE_SESSIONS, .done = note_done },
						 .active_only = true,
						 .limit = 100,
						 .partitions = bits };
		unsigned partition = ar_id_partition(l.ids[i]);
		bool is_found = false;

		memset(bits, 0, sizeof bits);
		bits[partition / 64] = UINT64_C(1) << partition % 64;
		run(f, &one.op);
		assert_status(&one.op, AR_OK);
		for (size_t k = 0; k < one.count; k++)
			is_found |= ar_str_eq(one.ids[k], l.ids[i]);
		assert_true(is_found);
		ar_store_op_fini(&one.op);
	}
	ar_store_op_fini(&l.op);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM partition WHERE node = '' AND epoch = 0"),
			 1024);
}

/* Nodes of version 3 are at work while the table of actions is added: what they write stays, and theirs is no
 * row of it. */
static void actions_are_added_beside_older_nodes(void **state)
{
	struct fixture *f = *state;
	struct ar_store_actions l = { .op = { .kind = AR_STORE_ACTIONS, .done = note_done }, .limit = 10 };
	struct ar_store_action_row row = { .action = AR_STR("a"),
					   .is_pending = true,
					   .record = AR_STR("{}") };
	struct ar_store_append a = an_append(sess(1), 1, 1, "x");

	make_version(f, 3);
	put_as_version_1(f, 1, 5);
	expect_migration(f, 3);
	put_as_version_1(f, 6, 9);
	postgres_open(f);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM session WHERE tenant = 'local'"), 9);
	a.actions = &row;
	a.action_count = 1;
	assert_int_equal(run(f, &a.op), AR_OK);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.count, 1);
	ar_store_op_fini(&a.op);
	ar_store_op_fini(&l.op);
}

/* What was stored before stays as it is; the server does not try to compress what comes packed, in this month
 * or a later one. */
static void packed_values_are_left_as_they_are(void **state)
{
	struct fixture *f = *state;

	make_version(f, 7);
	postgres_script(f,
			"INSERT INTO snapshot (session, seq, body) VALUES"
			" ('019abcde-0000-7001-8000-000000000001', 1, decode(repeat('00', 20000), 'hex'))");
	expect_migration(f, 7);
	assert_int_equal(postgres_int(f, "SELECT length(body) FROM snapshot"), 20000);
	postgres_script(f, "INSERT INTO snapshot (session, seq, body) SELECT"
			   " '019abcde-0000-7001-8000-000000000002', 1, decode(repeat('00', 20000), 'hex')");
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM snapshot WHERE pg_column_size(body) < 1000"),
			 1);
	postgres_script(
		f, "CREATE TABLE log_2099_01 PARTITION OF log FOR VALUES FROM"
		   " ('03b48ab0-0000-0000-0000-000000000000') TO ('03b52a4e-0000-0000-0000-000000000000')");
	assert_int_equal(
		postgres_int(f, "SELECT count(*) FROM pg_attribute AS a JOIN pg_class AS c"
				" ON c.oid = a.attrelid WHERE c.relname LIKE 'log%' AND attname = 'body'"
				" AND attstorage <> 'e'"),
		0);
}

/* What goes before the change, and by a node of the version before after it, is not known to be gone. */
static void floors_are_kept_from_then_on(void **state)
{
	static const char one_goes[] = "DELETE FROM log WHERE position = (SELECT min(position) FROM log)";
	struct fixture *f = *state;

	make_version(f, 8);
	put_as_version_1(f, 1, 4);
	postgres_script(f, "UPDATE session SET active = false;"
			   "INSERT INTO log (session, first_seq, last_seq, at, epoch, size, body, tenant, "
			   "lane, position)"
			   " SELECT session, 1, 1, 1, 1, 1, '\\x0061', 'local'::bytea, 1 + n % 2, n FROM"
			   " (SELECT session, row_number() OVER (ORDER BY session) AS n FROM session) AS t");
	postgres_script(f, one_goes);
	expect_migration(f, 8);
	postgres_script(f, one_goes);
	postgres_open(f);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM feed_floor"), 0);
	assert_int_equal(keep_up(f, an_upkeep((ar_usec)1800000000 * 1000000, 10)), 4);
	assert_int_equal(postgres_int(f, "SELECT position FROM feed_floor WHERE lane = 1"), 4);
	assert_int_equal(postgres_int(f, "SELECT position FROM feed_floor WHERE lane = 2"), 3);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM feed_floor"), 2);
}

/* Sessions with open work are found, whose ever; nothing was counted of what they used. */
static void open_work_is_found_after_the_change(void **state)
{
	struct fixture *f = *state;
	struct ar_store_sessions l = { .op = { .kind = AR_STORE_SESSIONS, .done = note_done },
				       .tenant = AR_STR("local"),
				       .open_only = true,
				       .limit = 10 };

	make_version(f, 12);
	put_as_version_1(f, 1, 4);
	postgres_script(f, "UPDATE session SET active = session = '019abcde-0000-7001-8000-000000000001';"
			   "INSERT INTO task (session, n, task, status, internal) SELECT session, 1, 't',"
			   " CASE WHEN session = '019abcde-0000-7001-8000-000000000003' THEN 'paused'::bytea"
			   " ELSE 'completed'::bytea END, false FROM session");
	expect_migration(f, 12);
	put_as_version_1(f, 5, 6); /* a node of the version before goes on */
	postgres_open(f);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.count, 2);
	ar_store_op_fini(&l.op);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM usage"), 0);
}

static void newest_schema_has_nothing_to_do(void **state)
{
	struct fixture *f = *state;
	struct ar_error err = { 0 };
	uint64_t from = 0, to = 0;

	make_version(f, NEWEST);
	expect_migration(f, NEWEST);
	postgres_script(f, "INSERT INTO migration (version, application) VALUES (99, 'agentruntime');"
			   "UPDATE meta SET value = '99' WHERE key = 'least_version'");
	assert_int_equal(ar_store_postgres_migrate(&(struct ar_store_postgres_options){ .conninfo = f->path },
						   &from, &to, &err),
			 AR_E_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "schema version 99"));
}

static void cluster_key_is_made_once(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(postgres_int(f, "SELECT count(*) FROM meta WHERE key = 'cluster_key'"
					 " AND value ~ '^[0-9a-f]{64}$'"),
			 1);
	postgres_script(f, "CREATE TABLE kept AS SELECT value FROM meta WHERE key = 'cluster_key'");
	fixture_reopen(f);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM meta JOIN kept USING (value)"), 1);
}

#define T(fn) cmocka_unit_test_prestate_setup_teardown(fn, fixture_setup, fixture_teardown, &f)

int main(void)
{
	static struct fixture f = { .engine = ENGINE_POSTGRES };
	const struct CMUnitTest tests[] = {
		T(older_schema_is_refused_with_what_to_do),
		T(migration_keeps_rows_and_finds_their_partitions),
		T(actions_are_added_beside_older_nodes),
		T(packed_values_are_left_as_they_are),
		T(floors_are_kept_from_then_on),
		T(open_work_is_found_after_the_change),
		T(newest_schema_has_nothing_to_do),
		T(cluster_key_is_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
