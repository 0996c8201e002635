/* What only the SQLite store has: the file, its lock and version, a full disk, commit failures,
 * compression and the dictionaries behind it. Killing the process is in test_store_crash.c. */
#include "store_fixture.h"

#include "fault.h"
#include "mem.h"
#include "store_op.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void expect_open_fails(struct fixture *f, enum ar_status expected, const char *sentence_part)
{
	struct ar_store_sqlite_options o = fixture_options(f);
	struct ar_store *store = NULL;
	struct ar_error err = { 0 };

	assert_int_equal(ar_store_sqlite_open(&o, &store, &err), expected);
	assert_null(store);
	if (!strstr(err.msg, sentence_part))
		fail_msg("'%s' does not say '%s'", err.msg, sentence_part);
}

static void newer_schema_is_refused(void **state)
{
	struct fixture *f = *state;

	ar_store_close(f->store);
	f->store = NULL;
	sql_script(f, "PRAGMA user_version = 99; UPDATE meta SET value = '99' WHERE key = 'least_version'");
	expect_open_fails(f, AR_E_UNAVAILABLE, "schema version 99");
	assert_int_equal(sql_int(f, "SELECT epoch FROM node"), 1);
}

static void foreign_database_is_left_alone(void **state)
{
	struct fixture *f = *state;

	ar_store_close(f->store);
	f->store = NULL;
	unlink(f->path);
	sql_script(f, "CREATE TABLE recipes (name)");
	expect_open_fails(f, AR_E_INVALID, "not a store");
	assert_int_equal(sql_int(f, "SELECT count(*) FROM sqlite_schema"), 1);
	assert_int_equal(sql_int(f, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 0);
}

static void file_that_is_no_database_is_refused(void **state)
{
	struct fixture *f = *state;
	FILE *file;

	ar_store_close(f->store);
	f->store = NULL;
	file = fopen(f->path, "w");
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		fputs("this is not a database\n", file);
	fclose(file);
	expect_open_fails(f, AR_E_IO, "not a database");
}

static void second_opener_learns_who_has_it(void **state)
{
	struct fixture *f = *state;
	char sentence[64];

	snprintf(sentence, sizeof sentence, "in use by process %ld", (long)getpid());
	expect_open_fails(f, AR_E_EXISTS, sentence);
	assert_int_equal(sql_int(f, "SELECT epoch FROM node"), 1);
	put(f, sess(1), 1, 1, "still works");
}

static void missing_directory_is_an_io_error(void **state)
{
	struct fixture *f = *state, elsewhere = *f;

	snprintf(elsewhere.path, sizeof elsewhere.path, "%s/none/store.db", f->dir);
	expect_open_fails(&elsewhere, AR_E_IO, "none/store.db");
}

/* ---- a full disk: the file size limit stands in for it ---- */

static void limit_file_size(rlim_t bytes)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void full_disk_fails_appends_and_passes(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append big = an_append(sess(1), 2, 2, NULL), small = an_append(sess(2), 1, 1, "s");
	struct ar_store_load l = a_load(sess(1)), l2 = a_load(sess(2));
	char *noise = ar_new0(3 << 20);
	uint64_t random = 1;

	for (size_t i = 0; i < 3 << 20; i++)
		noise[i] = (char)ar_store_random(&random);
	signal(SIGXFSZ, SIG_IGN);
	put(f, sess(1), 1, 1, "before");
	limit_file_size(1 << 20);
	big.body = (struct ar_str){ noise, 3 << 20 };
	give(f, &big.op);
	wait_for(f, &big.op);
	assert_status(&big.op, AR_E_IO);
	limit_file_size(RLIM_INFINITY);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.row_count, 1);
	assert_int_equal(run(f, &small.op), AR_OK);
	assert_int_equal(run(f, &big.op), AR_OK);
	fixture_reopen(f);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.row_count, 2);
	assert_int_equal(l.rows[1].body.len, 3 << 20);
	assert_int_equal(run(f, &l2.op), AR_OK);
	ar_store_op_fini(&l.op);
	ar_store_op_fini(&l2.op);
	ar_free(noise);
}

static void expect_content(struct fixture *f, const struct ar_hash *hash, const char *expected)
{
	struct ar_store_blobs_get get = { .op = { .kind = AR_STORE_BLOBS, .done = note_done },
					  .hashes = hash,
					  .count = 1 };

	assert_int_equal(run(f, &get.op), AR_OK);
	assert_str(get.bytes[0], expected);
	ar_store_op_fini(&get.op);
}

static void failed_commit_fails_the_batch_and_passes(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append a = an_append(sess(1), 2, 2, "b");
	struct ar_store_load l = a_load(sess(1));
	struct ar_store_blob content = { .hash = ar_hash_of(AR_STR("c")), .bytes = AR_STR("c") };

	a.blobs = &content;
	a.blob_count = 1;
	put(f, sess(1), 1, 1, "a");
	setenv("AGENTD_FAULT", "store.commit_error:1:error", 1);
	ar_fault_init();
	run(f, &a.op);
	assert_status(&a.op, AR_E_IO);
	unsetenv("AGENTD_FAULT");
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.row_count, 1);
	expect_content(f, &content.hash, NULL);
	assert_int_equal(run(f, &a.op), AR_OK);
	expect_content(f, &content.hash, "c");
	ar_store_op_fini(&l.op);
}

/* The block that its places were of was reserved by the batch that failed. */
static void failed_commit_gives_no_place_twice(void **state)
{
	struct fixture *f = *state;
	struct ar_store_session_row row = { .updated = 1 };
	struct ar_store_append a = an_append(sess(1), 1, 1, "a");

	a.row = &row;
	setenv("AGENTD_FAULT", "store.commit_error:1:error", 1);
	ar_fault_init();
	run(f, &a.op);
	assert_status(&a.op, AR_E_IO);
	unsetenv("AGENTD_FAULT");
	assert_int_equal(run(f, &a.op), AR_OK);
	assert_int_equal(sql_int(f, "SELECT (SELECT max(position) FROM log) <="
				    " (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'feed')"),
			 1);
	ar_store_op_fini(&a.op);
}

/* ---- group commit, seen through a lock that keeps the writer waiting ---- */

static sqlite3 *hold_the_write_lock(const struct fixture *f)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	sqlite3_busy_timeout(db, 10000);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	return db;
}

static void reads_do_not_wait_for_writes(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append a[3];
	struct ar_store_load l = a_load(sess(1));
	sqlite3 *db;

	put(f, sess(1), 1, 1, "a");
	assert_int_equal(ar_store_sqlite_backlog(f->store), 0);
	db = hold_the_write_lock(f);
	for (unsigned i = 0; i < AR_ARRAY_LEN(a); i++) {
		a[i] = an_append(sess(1), 2 + i, 2 + i, "later");
		give(f, &a[i].op);
	}
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.row_count, 1);
	assert_int_equal(ar_store_sqlite_backlog(f->store), AR_ARRAY_LEN(a));
	sqlite3_close(db);
	wait_for(f, &a[2].op);
	assert_status(&a[2].op, AR_OK);
	assert_int_equal(ar_store_sqlite_backlog(f->store), 0);
	ar_store_op_fini(&l.op);
}

/* ---- what is in the file ---- */

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
	assert_int_equal(sql_int(f, "SELECT count(*) FROM blob"), 1);
	assert_int_equal(sql_int(f, "SELECT size FROM blob"), 4000);
	assert_true(sql_int(f, "SELECT length(body) FROM blob") < 200);
	assert_true(sql_int(f, "SELECT max(length(body)) FROM log") < 200);
	assert_true(sql_int(f, "SELECT length(body) FROM snapshot") < 200);
	assert_int_equal(sql_int(f, "SELECT length(session) FROM snapshot"), 16);
}

static void reopen_with(struct fixture *f, struct ar_str dictionary)
{
	struct ar_store_sqlite_options o = fixture_options(f);
	struct ar_error err = { 0 };

	ar_store_close(f->store);
	o.dictionary = dictionary;
	if (ar_store_sqlite_open(&o, &f->store, &err))
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
	reopen_with(f, AR_STR_NONE);
	put(f, sess(5), 1, 1, body);
	assert_int_equal(sql_int(f, "SELECT count(*) FROM dictionary"), 2);
	assert_int_equal(sql_int(f, "SELECT count(*) FROM log WHERE length(body) < 100"), 3);
	expect_body(f, 1, body);
	expect_body(f, 2, body);
	expect_body(f, 3, other);
	expect_body(f, 4, body);
	expect_body(f, 5, body);
}

static void expect_corrupt(struct fixture *f, const char *script)
{
	struct ar_store_load l = a_load(sess(1));
	struct ar_store_read r = a_read(sess(1), 1, false, 100);

	sql_script(f, script);
	run(f, &l.op);
	assert_status(&l.op, AR_E_CORRUPT);
	run(f, &r.op);
	assert_status(&r.op, AR_E_CORRUPT);
	ar_store_op_fini(&l.op);
	ar_store_op_fini(&r.op);
}

static void damaged_values_are_reported(void **state)
{
	struct fixture *f = *state;

	put(f, sess(1), 1, 1, "fine");
	expect_body(f, 1, "fine");
	expect_corrupt(f, "UPDATE log SET body = x''");
	expect_corrupt(f, "UPDATE log SET body = x'0141424344'");
	expect_corrupt(
		f, "UPDATE log SET body = x'3328b52ffd2001090000aa'"); /* a dictionary that is not there */
	expect_corrupt(f, "UPDATE log SET body = x'0128b52ffd2005290000616263'"); /* cut short */
	expect_corrupt(f, "UPDATE log SET body = x'0128b52ffda0ffffffff290000616263'"); /* claims 4 GiB */
	sql_script(f, "UPDATE log SET body = x'0061'");
	expect_body(f, 1, "a");
}

/* Sessions with open work are found after the change; nothing was counted of what they used. */
static void open_work_is_found_after_the_change(void **state)
{
	static const char undo[] =
		"DROP TABLE usage; DROP INDEX session_open; ALTER TABLE session DROP COLUMN open;"
		"PRAGMA user_version = 10";
	struct fixture *f = *state;
	const struct ar_store_task_row tasks[] = { { .task = AR_STR("a"), .status = AR_STR("completed") },
						   { .task = AR_STR("b"), .status = AR_STR("paused") } };
	struct ar_store_session_row row = { .updated = 1 };
	struct ar_store_sessions l = { .op = { .kind = AR_STORE_SESSIONS, .done = note_done },
				       .tenant = AR_STR("local"),
				       .open_only = true,
				       .limit = 10 };

	for (unsigned n = 1; n <= 3; n++) {
		struct ar_store_append a = an_append(sess(n), 1, 1, "a");

		row.active = n == 3;
		a.row = &row;
		a.tasks = tasks;
		a.task_count = n == 2 ? 2 : 1;
		assert_int_equal(run(f, &a.op), AR_OK);
		ar_store_op_fini(&a.op);
	}
	ar_store_close(f->store);
	f->store = NULL;
	sql_script(f, undo);
	fixture_reopen(f);
	assert_int_equal(sql_int(f, "PRAGMA user_version"), 11);
	assert_int_equal(sql_int(f, "SELECT count(*) FROM usage"), 0);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.count, 2);
	assert_true(ar_str_eq(l.ids[0], sess(3)) && ar_str_eq(l.ids[1], sess(2)));
	ar_store_op_fini(&l.op);
}

/* A file of the version before: receipts are as young as the change, and content that nobody refers to
 * stays. */
static void older_file_is_brought_up(void **state)
{
	static const char undo[] =
		"DROP TABLE usage; DROP INDEX session_open; ALTER TABLE session DROP COLUMN open;"
		"DROP TABLE item; DROP INDEX session_due; ALTER TABLE session DROP COLUMN due;"
		"DROP TABLE audit; DROP TABLE audit_floor; DROP TABLE feed_floor; DROP TABLE token; DROP "
		"TABLE action; DROP TABLE blob_ref; DROP TABLE "
		"blob_doomed; ALTER "
		"TABLE receipt DROP COLUMN created;"
		"DROP INDEX log_feed; ALTER TABLE log DROP COLUMN tenant; ALTER TABLE log DROP COLUMN "
		"position;"
		"DELETE FROM meta WHERE key = 'feed';"
		"DROP INDEX session_tenant; ALTER TABLE session DROP COLUMN tenant;"
		"DROP INDEX blob_session; ALTER TABLE blob DROP COLUMN at;"
		"ALTER TABLE blob DROP COLUMN session; PRAGMA user_version = 1";
	struct fixture *f = *state;
	struct ar_store_blob blob = { ar_hash_of(AR_STR("B")), AR_STR("B") };
	struct ar_store_receipt r = { AR_STR("s"), AR_STR("k"), blob.hash, AR_STR("r") };
	struct ar_store_session_row row = { .updated = 1 };
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(2), 1, 1, "b");
	ar_usec yesterday = (ar_usec)(time(NULL) - 86400) * 1000000;
	int64_t place;

	a.row = b.row = &row;
	a.receipt = &r;
	a.blobs = b.blobs = &blob;
	a.blob_count = b.blob_count = 1;
	assert_int_equal(run(f, &a.op), AR_OK);
	ar_store_close(f->store);
	f->store = NULL;
	sql_script(f, undo);
	fixture_reopen(f);
	assert_int_equal(sql_int(f, "PRAGMA user_version"), 11);
	assert_int_equal(sql_int(f, "SELECT count(*) FROM session WHERE tenant = 'local'"), 1);
	assert_int_equal(sql_int(f, "SELECT count(*) FROM log WHERE tenant IS NULL"), 1); /* in no feed */
	assert_int_equal(run(f, &b.op), AR_OK);
	place = sql_int(f, "SELECT position FROM log WHERE tenant = 'local'");
	assert_int_equal(keep_up(f, an_upkeep(yesterday, 10)), 2);
	assert_int_equal(sql_int(f, "SELECT sum(position) FROM feed_floor WHERE tenant = 'local'"), place);
	assert_int_equal(sql_int(f, "SELECT count(*) FROM receipt"), 1);
	assert_int_equal(sql_int(f, "SELECT count(*) FROM log"), 0);
	expect_content(f, &blob.hash, "B");
	ar_store_op_fini(&a.op);
	ar_store_op_fini(&b.op);
}

#define T(fn) cmocka_unit_test_prestate_setup_teardown(fn, fixture_setup, fixture_teardown, &f)

int main(void)
{
	static struct fixture f = { .engine = ENGINE_SQLITE };
	const struct CMUnitTest tests[] = {
		T(newer_schema_is_refused),
		T(foreign_database_is_left_alone),
		T(file_that_is_no_database_is_refused),
		T(second_opener_learns_who_has_it),
		T(missing_directory_is_an_io_error),
		T(full_disk_fails_appends_and_passes),
		T(failed_commit_fails_the_batch_and_passes),
		T(failed_commit_gives_no_place_twice),
		T(reads_do_not_wait_for_writes),
		T(content_is_stored_once_and_small),
		T(values_outlive_their_dictionary),
		T(damaged_values_are_reported),
		T(open_work_is_found_after_the_change),
		T(older_file_is_brought_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
