/* What only the PostgreSQL store has: the database, its schema and owner, sentences of failed connections.
 * Cut connections are in test_store_postgres_cut.c, storms in test_store_postgres_storm.c. */
#include "postgres_fixture.h"

#include "store_op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- opening ---- */

static void expect_open_fails(struct ar_store_postgres_options o, enum ar_status expected, const char *part)
{
	struct ar_store *store = NULL;
	struct ar_error err = { 0 };

	assert_int_equal(ar_store_postgres_open(&o, &store, &err), expected);
	assert_null(store);
	assert_int_equal(err.status, expected);
	if (!strstr(err.msg, part))
		fail_msg("'%s' does not say '%s'", err.msg, part);
}

static void failed_connections_say_what_to_check(void **state)
{
	struct fixture *f = *state;
	struct ar_store_postgres_options o = postgres_options(f);
	char conninfo[400];

	o.conninfo = "no connection string";
	expect_open_fails(o, AR_E_INVALID, "not a PostgreSQL connection string");
	o.conninfo = "host=/nowhere-at-all password=secret";
	expect_open_fails(o, AR_E_UNAVAILABLE, "check that the server runs");
	o.conninfo = "postgres://user:secret@127.0.0.1:1/db";
	expect_open_fails(o, AR_E_UNAVAILABLE, "listens at that host and port");
	snprintf(conninfo, sizeof conninfo, "%s dbname=none", getenv("AR_TEST_POSTGRES"));
	o.conninfo = conninfo;
	expect_open_fails(o, AR_E_UNAVAILABLE, "create that database");
	snprintf(conninfo, sizeof conninfo, "%s user=nobody-here", f->path);
	expect_open_fails(o, AR_E_UNAVAILABLE, "create that user");
	o = postgres_options(f);
	o.node = "a name with spaces";
	expect_open_fails(o, AR_E_INVALID, "node's id");
}

static void newer_schema_is_refused(void **state)
{
	struct fixture *f = *state;

	ar_store_close(f->store);
	f->store = NULL;
	postgres_script(f, "INSERT INTO migration (version, application) VALUES (99, 'agentruntime');"
			   "UPDATE meta SET value = '99' WHERE key = 'least_version'");
	expect_open_fails(postgres_options(f), AR_E_UNAVAILABLE, "schema version 99");
	assert_int_equal(postgres_int(f, "SELECT epoch FROM node"), 1);
}

static void empty_the_database(struct fixture *f)
{
	ar_store_close(f->store);
	f->store = NULL;
	postgres_script(f, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
}

static void foreign_tables_are_left_alone(void **state)
{
	struct fixture *f = *state;

	empty_the_database(f);
	postgres_script(f, "CREATE TABLE log (line text)");
	expect_open_fails(postgres_options(f), AR_E_INVALID, "another program");
	postgres_script(f, "CREATE TABLE migration (id int)");
	expect_open_fails(postgres_options(f), AR_E_INVALID, "not a store of this runtime");
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM information_schema.tables"
					 " WHERE table_schema = 'public'"),
			 2);
}

/* Two processes race to create the tables of one empty database. */
static void many_may_create_it_at_once(void **state)
{
	struct fixture *f = *state;
	pid_t children[6];
	int wstatus;

	empty_the_database(f);
	for (size_t i = 0; i < AR_ARRAY_LEN(children); i++) {
		struct ar_store_postgres_options o = postgres_options(f);
		struct ar_store *store;
		struct ar_error err;
		char node[16];

		snprintf(node, sizeof node, "n%zu", i);
		o.node = node;
		o.wake = NULL;
		o.dictionary = AR_STR("words that are often in a text, many times over and over");
		children[i] = fork();
		if (children[i] != 0)
			continue;
		if (ar_store_postgres_open(&o, &store, &err)) {
			fprintf(stderr, "%s\n", err.msg);
			_exit(1);
		}
		ar_store_close(store);
		_exit(0);
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(children); i++) {
		assert_int_equal(waitpid(children[i], &wstatus, 0), children[i]);
		assert_int_equal(wstatus, 0);
	}
	assert_int_equal(postgres_int(f, "SELECT count(*) - max(version) FROM migration"), 0);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM node"), 6);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM dictionary"), 1);
}

/* ---- who may write ---- */

static struct ar_store *open_second(struct fixture *f, const char *node)
{
	struct ar_store_postgres_options o = postgres_options(f);
	struct ar_store *store = NULL;
	struct ar_error err = { 0 };

	o.node = node;
	if (ar_store_postgres_open(&o, &store, &err))
		fail_msg("%s", err.msg);
	return store;
}

static void second_writer_fences_the_first(void **state)
{
	struct fixture *f = *state;
	struct ar_store *first = f->store, *second;

	expect_append(f, 1, 1, AR_OK);
	second = open_second(f, NULL);
	assert_int_equal(second->epoch, first->epoch + 1);
	expect_append(f, 1, 2, AR_E_FENCED);
	f->store = second;
	expect_append(f, 1, 2, AR_OK);
	f->store = first;
	expect_append(f, 1, 3, AR_E_FENCED);
	ar_store_close(second);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), 2);
	assert_int_equal(postgres_int(f, "SELECT epoch FROM log WHERE first_seq = 2"), 2);
}

/* Two living nodes write one session: the primary key lets only one continue it. */
static void nodes_cannot_fork_a_log(void **state)
{
	struct fixture *f = *state;
	struct ar_store *first = f->store, *second = open_second(f, "node-2");

	assert_int_equal(second->epoch, 1);
	expect_append(f, 1, 1, AR_OK);
	f->store = second;
	expect_append(f, 1, 1, AR_E_INVALID);
	expect_append(f, 1, 2, AR_OK);
	f->store = first;
	expect_append(f, 1, 2, AR_E_INVALID);
	expect_append(f, 1, 3, AR_OK);
	ar_store_close(second);
}

static void receipts_hold_over_all_nodes(void **state)
{
	struct fixture *f = *state;
	struct ar_store *first = f->store, *second = open_second(f, "node-2");
	struct ar_store_receipt r = { AR_STR("s"), AR_STR("k"), ar_hash_of(AR_STR("in")), AR_STR("first") };
	struct ar_store_receipt again = { AR_STR("s"), AR_STR("k"), ar_hash_of(AR_STR("in")),
					  AR_STR("later") };
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(2), 1, 1, "b");
	struct ar_store_append beside = an_append(sess(3), 1, 1, "c");

	a.receipt = &r;
	b.receipt = &again;
	assert_int_equal(run(f, &a.op), AR_OK);
	f->store = second;
	give(f, &b.op);
	give(f, &beside.op);
	wait_for(f, &beside.op);
	assert_status(&b.op, AR_E_EXISTS);
	assert_str(b.found.reply, "first");
	assert_status(&beside.op, AR_OK);
	f->store = first;
	ar_store_close(second);
	ar_store_op_fini(&b.op);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM receipt"), 1);
}

/* ---- what is stored ---- */

static void content_is_stored_once_and_small(void **state)
{
	struct fixture *f = *state;
	char text[4001];
	struct ar_store_blob blobs[2];
	struct ar_store_append a, b;

	memset(text, 'x', 4000);
	text[4000] = '\0';
	blobs[0] = blobs[1] = (struct ar_store_blob){ ar_hash_of(ar_str_from(text)), ar_str_from(text) };
	a = an_append(sess(1), 1, 1, text);
	b = an_append(sess(2), 1, 1, text);
	a.blobs = b.blobs = blobs;
	a.blob_count = b.blob_count = 2;
	a.snapshot = ar_str_from(text);
	assert_int_equal(run(f, &a.op), AR_OK);
	assert_int_equal(run(f, &b.op), AR_OK);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob"), 1);
	assert_int_equal(postgres_int(f, "SELECT size FROM blob"), 4000);
	assert_true(postgres_int(f, "SELECT length(body) FROM blob") < 200);
	assert_int_equal(postgres_int(f, "SELECT max(size) FROM log"), 4000);
	assert_true(postgres_int(f, "SELECT max(length(body)) FROM log") < 200);
	assert_true(postgres_int(f, "SELECT length(body) FROM snapshot") < 200);
}

static void reopen_with(struct fixture *f, struct ar_str dictionary)
{
	struct ar_store_postgres_options o = postgres_options(f);
	struct ar_error err = { 0 };

	ar_store_close(f->store);
	o.dictionary = dictionary;
	if (ar_store_postgres_open(&o, &f->store, &err))
		fail_msg("%s", err.msg);
}

static void expect_body(struct fixture *f, unsigned n, const char *body)
{
	struct ar_store_load l = a_load(sess(n));

	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	assert_str(l.rows[0].body, body);
	ar_store_op_fini(&l.op);
}

static void a_dictionary_that_another_node_adds_is_learnt(void **state)
{
	struct fixture *f = *state;
	struct fixture other = *f;
	struct ar_store_postgres_options o = postgres_options(f);
	struct ar_error err = { 0 };
	char body[401];
	uint64_t random = 5;

	for (size_t i = 0; i < 400; i++)
		body[i] = (char)('!' + ar_store_random(&random) % 90);
	body[400] = '\0';
	o.node = "newer";
	o.dictionary = ar_str_from(body);
	if (ar_store_postgres_open(&o, &other.store, &err))
		fail_msg("%s", err.msg);
	put(&other, sess(1), 1, 1, body);
	ar_store_close(other.store);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log WHERE length(body) < 100"), 1);
	expect_body(f, 1, body);
	expect_body(f, 1, body);
}

static void values_outlive_their_dictionary(void **state)
{
	struct fixture *f = *state;
	char body[401], other[401];
	uint64_t random = 2;

	for (size_t i = 0; i < 400; i++) {
		body[i] = (char)('!' + ar_store_random(&random) % 90);
		other[i] = (char)('!' + ar_store_random(&random) % 90);
	}
	body[400] = other[400] = '\0';
	put(f, sess(1), 1, 1, body);
	reopen_with(f, ar_str_from(body));
	put(f, sess(2), 1, 1, body);
	reopen_with(f, ar_str_from(other));
	put(f, sess(3), 1, 1, other);
	reopen_with(f, ar_str_from(body)); /* known already */
	put(f, sess(4), 1, 1, body);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM dictionary"), 2);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log WHERE length(body) < 100"), 3);
	expect_body(f, 1, body);
	expect_body(f, 2, body);
	expect_body(f, 3, other);
	expect_body(f, 4, body);
}

static void damaged_values_are_reported(void **state)
{
	struct fixture *f = *state;
	struct ar_store_load l = a_load(sess(1));
	struct ar_store_read r = a_read(sess(1), 1, false, 100);

	put(f, sess(1), 1, 1, "fine");
	postgres_script(f, "UPDATE log SET body = '\\x3328b52ffd2001090000aa'");
	run(f, &l.op);
	assert_status(&l.op, AR_E_CORRUPT);
	run(f, &r.op);
	assert_status(&r.op, AR_E_CORRUPT);
	postgres_script(f, "UPDATE log SET body = '\\x0061'");
	expect_body(f, 1, "a");
	ar_store_op_fini(&l.op);
	ar_store_op_fini(&r.op);
}

/* A commit that is reported before it is durable is not one, whatever the database was told. */
static void asynchronous_commit_is_overruled(void **state)
{
	struct fixture *f = *state;
	char text[128];

	snprintf(text, sizeof text, "ALTER DATABASE %s SET synchronous_commit = off", f->database);
	postgres_script(f, text);
	fixture_reopen(f);
	postgres_script(
		f,
		"CREATE TABLE seen (setting text); CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS"
		" $$ BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END "
		"$$;"
		" CREATE TRIGGER note BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION note()");
	put(f, sess(1), 1, 1, "a");
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM seen WHERE setting = 'on'"), 1);
}

#define T(fn) cmocka_unit_test_prestate_setup_teardown(fn, fixture_setup, fixture_teardown, &f)

int main(void)
{
	static struct fixture f = { .engine = ENGINE_POSTGRES };
	const struct CMUnitTest tests[] = {
		T(failed_connections_say_what_to_check), T(newer_schema_is_refused),
		T(foreign_tables_are_left_alone),	 T(many_may_create_it_at_once),
		T(second_writer_fences_the_first),	 T(nodes_cannot_fork_a_log),
		T(receipts_hold_over_all_nodes),	 T(content_is_stored_once_and_small),
		T(values_outlive_their_dictionary),	 T(a_dictionary_that_another_node_adds_is_learnt),
		T(damaged_values_are_reported),		 T(asynchronous_commit_is_overruled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
