/* How PostgreSQL forgets: the log's partitions and their end, what the change of the schema keeps,
 * sessions that another connection holds, and content that is put again while it is collected. */
#include "postgres_fixture.h"

#include "clock.h"
#include "store_upkeep.h"

#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define DAY ((ar_usec)24 * 3600 * 1000000)
#define MONTH "to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM')"
#define NEXT_MONTH "to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '1 month', 'YYYY_MM')"

#define NOVEMBER_28 ((ar_usec)1764288000 * 1000000) /* of 2025; sess() dates its ids two days before */

static ar_usec now(void)
{
	return ar_clock_system()->wall(ar_clock_system());
}

/* One fact under an id of that time. */
static void put_at(struct fixture *f, ar_usec time, const char *body)
{
	static char session_keys[8][AR_SESSION_KEY_LEN];
	static unsigned next;
	struct ar_store_key key = ar_store_key_at(time);
	char *session_key = session_keys[next++ % AR_ARRAY_LEN(session_keys)];

	key.b[15] = (uint8_t)next;
	ar_id_encode(key.b, session_key);
	put(f, (struct ar_str){ session_key, AR_SESSION_KEY_LEN }, 1, 1, body);
}

static struct ar_store *open_node(struct fixture *f, const char *node)
{
	struct ar_store_postgres_options o = postgres_options(f);
	struct ar_store *store = NULL;
	struct ar_error err = { 0 };

	o.node = node;
	if (ar_store_postgres_open(&o, &store, &err))
		fail_msg("%s", err.msg);
	return store;
}

static void put_row(struct fixture *f, unsigned n, struct ar_store_session_row row)
{
	struct ar_store_append a = an_append(sess(n), 1, 1, "x");

	a.row = &row;
	run(f, &a.op);
	assert_status(&a.op, AR_OK);
	ar_store_op_fini(&a.op);
}

/* ---- partitions ---- */

static void log_has_a_partition_for_each_month(void **state)
{
	struct fixture *f = *state;

	put_at(f, now(), "a");
	put_at(f, now() + 40 * DAY, "b"); /* in the next month or the one after it */
	put_at(f, now() + 4000 * DAY, "c");
	put(f, sess(1), 1, 1, "long ago");
	assert_int_equal(postgres_int(f,
				      "SELECT count(*) FROM pg_inherits WHERE inhparent = 'log'::regclass"),
			 3);
	assert_int_equal(
		postgres_int(f, "SELECT count(*) FROM log WHERE tableoid::regclass::text = 'log_' || " MONTH),
		2);
	assert_in_range(postgres_int(f, "SELECT count(*) FROM log WHERE tableoid::regclass::text IN"
					" ('log_default', 'log_' || " NEXT_MONTH ")"),
			2, 2);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log_default WHERE last_seq = 1") > 0, 1);
}

/* The store of the version before, with a session of long ago, one dated into the
 * future, a receipt and content. */
static void make_plain(struct fixture *f)
{
	struct ar_error err = { 0 };
	uint64_t from, to;

	ar_store_close(f->store);
	f->store = NULL;
	postgres_script(f, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
	if (ar_store_postgres_migrate_to(&(struct ar_store_postgres_options){ .conninfo = f->path }, 2, &from,
					 &err))
		fail_msg("%s", err.msg);
	postgres_script(
		f,
		"INSERT INTO log SELECT id, 1, 1, 1, 1, 1, '\\x0061' FROM (VALUES"
		" ('019abcde-0001-7001-8000-000000000025'::uuid), ('fffffffe-0001-7001-8000-000000000000'))"
		" AS t(id); INSERT INTO session (session, created, updated, active)"
		" SELECT session, 1, 1, false FROM log;"
		"INSERT INTO receipt VALUES ('s', 'k', '', NULL); INSERT INTO blob VALUES ('h', 1, "
		"'\\x0061')");
	if (ar_store_postgres_migrate(&(struct ar_store_postgres_options){ .conninfo = f->path }, &from, &to,
				      &err))
		fail_msg("%s", err.msg);
	fixture_reopen(f);
}

/* Nothing is lost, and the table that held it all is the partition of this month and all before. */
static void plain_log_becomes_partitioned(void **state)
{
	struct fixture *f = *state;

	make_plain(f);
	put(f, sess(1), 2, 2, "b");
	expect_append(f, 1, 2, AR_E_INVALID);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), 3);
	assert_int_equal(
		postgres_int(f, "SELECT count(*) FROM log WHERE tableoid::regclass::text = 'log_' || " MONTH),
		2);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log_default"), 1);
	/* The receipt is as young as the change, and nobody knows who refers to the content. */
	postgres_script(f, "INSERT INTO blob_doomed VALUES ('h', 1)");
	assert_int_equal(keep_up(f, an_upkeep(now() - DAY, 10)), 2);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM receipt"), 1);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob"), 1);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), 0);
}

/* The month that everything is in becomes one of last year's. */
static void make_last_year(struct fixture *f)
{
	postgres_script(f, "DO $$ BEGIN EXECUTE 'ALTER TABLE log DETACH PARTITION log_' || " MONTH ";"
			   "EXECUTE format('ALTER TABLE log_%s RENAME TO log_2025_11', " MONTH "); END $$;"
			   "ALTER TABLE log ATTACH PARTITION log_2025_11 FOR VALUES FROM (MINVALUE)"
			   " TO ('019ad6f0-0000-0000-0000-000000000000')");
}

static bool has_last_year(struct fixture *f)
{
	return postgres_int(f, "SELECT count(*) FROM pg_class WHERE relname = 'log_2025_11'") == 1;
}

static void empty_month_is_dropped(void **state)
{
	struct fixture *f = *state;

	put_row(f, 1, (struct ar_store_session_row){ .updated = 1 });
	put_row(f, 2, (struct ar_store_session_row){ .active = true, .updated = 1 });
	make_last_year(f);
	assert_int_equal(keep_up(f, an_upkeep(now() - DAY, 10)), 1);
	assert_true(has_last_year(f)); /* a session is left in it */
	postgres_script(f, "UPDATE session SET active = false");
	assert_int_equal(keep_up(f, an_upkeep(NOVEMBER_28, 10)), 1);
	assert_true(has_last_year(f)); /* empty, but not that old */
	keep_up(f, an_upkeep(now() - DAY, 0));
	assert_false(has_last_year(f));
	assert_int_equal(postgres_int(f,
				      "SELECT count(*) FROM pg_inherits WHERE inhparent = 'log'::regclass"),
			 3);
	put(f, sess(1), 1, 1, "into the default");
}

static PGconn *hold(struct fixture *f, const char *script)
{
	PGconn *c = PQconnectdb(f->path);
	PGresult *r = PQexec(c, script);

	if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
		fail_msg("%s", PQerrorMessage(c));
	PQclear(r);
	return c;
}

static void let_go(PGconn *c, const char *script)
{
	PQclear(PQexec(c, script));
	PQfinish(c);
}

/* Someone reads the log for long: the drop gives up soon, and appends go on meanwhile. */
static void busy_month_is_left_for_later(void **state)
{
	struct fixture *f = *state;
	PGconn *reader;
	ar_usec start;

	make_last_year(f);
	reader = hold(f, "BEGIN; SELECT count(*) FROM log");
	start = ar_clock_system()->mono(ar_clock_system());
	keep_up(f, an_upkeep(now() - DAY, 10));
	assert_in_range(ar_clock_system()->mono(ar_clock_system()) - start, 0, 5000000);
	assert_true(has_last_year(f));
	put_at(f, now(), "goes on");
	let_go(reader, "COMMIT");
	keep_up(f, an_upkeep(now() - DAY, 10));
	assert_false(has_last_year(f));
}

/* ---- who holds a session ---- */

static void session_that_becomes_active_wins(void **state)
{
	struct fixture *f = *state;
	PGconn *other;

	put_row(f, 1, (struct ar_store_session_row){ .updated = 1 });
	put_row(f, 2, (struct ar_store_session_row){ .updated = 1 });
	other = hold(f, "BEGIN; UPDATE session SET active = true WHERE session IN (SELECT session FROM "
			"session ORDER BY session LIMIT 1)");
	assert_int_equal(keep_up(f, an_upkeep(now(), 10)), 1);
	let_go(other, "COMMIT");
	assert_int_equal(keep_up(f, an_upkeep(now(), 10)), 0);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), 1);
	expect_append(f, 1, 2, AR_OK);
	expect_append(f, 2, 2, AR_E_INVALID);
}

/* What is another node's by now is his to forget. */
static void partition_of_another_is_left_alone(void **state)
{
	struct fixture *f = *state;
	char script[128];

	put_row(f, 1, (struct ar_store_session_row){ .updated = 1 });
	put_row(f, 2, (struct ar_store_session_row){ .updated = 1 });
	snprintf(script, sizeof script, "UPDATE partition SET node = 'node-2', epoch = 1 WHERE id = %u",
		 ar_id_partition(sess(1)));
	postgres_script(f, script);
	assert_int_equal(keep_up(f, an_upkeep(now(), 10)), 1);
	postgres_script(f, "UPDATE partition SET node = 'node-1'");
	assert_int_equal(keep_up(f, an_upkeep(now(), 10)), 1);
}

/* ---- content that is put again ---- */

#define ROUNDS 200

/* A session of long ago with that content is removed; the content waits to be collected. */
static void doom_common(struct fixture *f, struct ar_store_blob *blob)
{
	struct ar_store_append a = an_append(sess(1), 1, 1, "x");
	struct ar_store_session_row row = { .updated = 1 };
	struct ar_store_upkeep u = an_upkeep(now(), 10);

	*blob = (struct ar_store_blob){ ar_hash_of(AR_STR("common")), AR_STR("common") };
	a.row = &row;
	a.blobs = blob;
	a.blob_count = 1;
	assert_int_equal(run(f, &a.op), AR_OK);
	ar_store_op_fini(&a.op);
	u.doomed_before = 1;
	assert_int_equal(keep_up(f, u), 1);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob_doomed"), 1);
}

static void await_lock(struct fixture *f)
{
	for (unsigned i = 0; i < 500; i++) {
		if (postgres_int(f, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
				    " AND datname = current_database()") > 0)
			return;
		poll(NULL, 0, 10);
	}
	fail_msg("nobody waits");
}

/* An append has found the content and not yet committed its reference when the collector comes by. */
static void content_that_an_append_has_found_stays(void **state)
{
	struct fixture *f = *state;
	struct ar_store *first = f->store, *second = open_node(f, "node-2");
	struct ar_store_append b = an_append(sess(2), 1, 1, "y");
	struct ar_store_blob blob;
	PGconn *brake;

	doom_common(f, &blob);
	b.blobs = &blob;
	b.blob_count = 1;
	b.snapshot = AR_STR("S");
	brake = hold(f, "BEGIN; LOCK TABLE snapshot IN SHARE MODE");
	f->store = second;
	give(f, &b.op);
	await_lock(f);
	f->store = first;
	keep_up(f, an_upkeep(1, 10));
	let_go(brake, "COMMIT");
	f->store = second;
	wait_for(f, &b.op);
	assert_status(&b.op, AR_OK);
	ar_store_op_fini(&b.op);
	f->store = first;
	ar_store_close(second);
	keep_up(f, an_upkeep(1, 10));
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob"), 1);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob_doomed"), 0);
}

/* The collector has it when the append comes: the append waits, and puts it anew. */
static void content_that_is_being_collected_is_put_anew(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append b = an_append(sess(2), 1, 1, "y");
	struct ar_store_blob blob;
	PGconn *collector;

	doom_common(f, &blob);
	b.blobs = &blob;
	b.blob_count = 1;
	collector = hold(f, "BEGIN; DELETE FROM blob");
	forget_done();
	give(f, &b.op);
	await_lock(f);
	let_go(collector, "COMMIT");
	wait_for(f, &b.op);
	assert_status(&b.op, AR_OK);
	ar_store_op_fini(&b.op);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob"), 1);
}

/* A second node that makes session after session, all with the same content, on a thread of its own. */
struct putter {
	struct ar_store *store;
	atomic_bool is_done;
};

struct putting {
	struct ar_store_append a;
	bool is_done;
};

static void note_put(struct ar_store_op *op)
{
	AR_CONTAINER_OF(op, struct putting, a.op)->is_done = true;
}

static void *put_all(void *arg)
{
	struct putter *p = arg;
	struct ar_store_blob blob = { ar_hash_of(AR_STR("common")), AR_STR("common") };
	struct ar_store_session_row row = { .updated = 1 };

	for (unsigned n = 0; n < ROUNDS; n++) {
		struct putting one = { .a = an_append(sess(n), 1, 1, "x") };

		one.a.op.done = note_put;
		one.a.row = &row;
		one.a.blobs = &blob;
		one.a.blob_count = 1;
		ar_store_submit(p->store, &one.a.op);
		while (!one.is_done) {
			poll(NULL, 0, 1);
			ar_store_poll(p->store);
		}
		AR_ASSERT(one.a.op.status == AR_OK);
		ar_store_op_fini(&one.a.op);
	}
	p->is_done = true;
	return NULL;
}

/* Every session is old at once, so its content is doomed at once, again and again while it is put. */
static void content_put_while_it_is_collected_is_not_lost(void **state)
{
	static const char lost[] = "SELECT count(*) FROM log WHERE NOT EXISTS (SELECT 1 FROM blob)";
	struct fixture *f = *state;
	struct putter p = { .store = open_node(f, "node-2") };
	size_t removed = 0;
	pthread_t thread;

	for (unsigned n = 0; n < ROUNDS; n++)
		sess(n); /* made here: the texts are shared with the thread */
	assert_int_equal(pthread_create(&thread, NULL, put_all, &p), 0);
	while (!p.is_done) {
		removed += keep_up(f, an_upkeep(now(), 10));
		assert_int_equal(postgres_int(f, lost), 0);
	}
	pthread_join(thread, NULL);
	ar_store_close(p.store);
	removed += keep_up(f, an_upkeep(now(), 10));
	keep_up(f, an_upkeep(now(), 10));
	assert_int_equal(removed, ROUNDS);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob"), 0);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM blob_doomed"), 0);
}

#define T(fn) cmocka_unit_test_prestate_setup_teardown(fn, fixture_setup, fixture_teardown, &f)

int main(void)
{
	static struct fixture f = { .engine = ENGINE_POSTGRES };
	const struct CMUnitTest tests[] = {
		T(log_has_a_partition_for_each_month),
		T(plain_log_becomes_partitioned),
		T(empty_month_is_dropped),
		T(busy_month_is_left_for_later),
		T(session_that_becomes_active_wins),
		T(partition_of_another_is_left_alone),
		T(content_that_an_append_has_found_stays),
		T(content_that_is_being_collected_is_put_anew),
		T(content_put_while_it_is_collected_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
