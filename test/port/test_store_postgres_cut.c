/* What a connection that is cut around a commit does to it, and what others may do meanwhile: each outcome is
 * forced, and what the store says is compared with the database. */
#include "row_sum.h"
#include "postgres_fixture.h"

#include "fault.h"
#include "store_op.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void arm(const char *fault)
{
	setenv("AGENTD_FAULT", fault, 1);
	ar_fault_init();
	unsetenv("AGENTD_FAULT");
}

static void commit_error_fails_the_batch_and_passes(void **state)
{
	struct fixture *f = *state;

	expect_append(f, 1, 1, AR_OK);
	arm("store.commit_error:1:error");
	expect_append(f, 1, 2, AR_E_IO);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), 1);
	expect_append(f, 1, 3, AR_E_INVALID);
	expect_append(f, 1, 2, AR_OK);
}

/* The append with a receipt, a row and a task must be there once, whenever the cut came. */
static void expect_once_through(struct fixture *f, const char *fault)
{
	struct ar_store_receipt r = { AR_STR("s"), AR_STR("k"), ar_hash_of(AR_STR("in")), AR_STR("reply") };
	struct ar_store_task_row task = { AR_STR("t"), AR_STR("open"), AR_STR("{}"), false };
	struct ar_store_append a = an_append(sess(1), 2, 2, "b");

	expect_append(f, 1, 1, AR_OK);
	a.receipt = &r;
	a.tasks = &task;
	a.task_count = 1;
	arm(fault);
	run(f, &a.op);
	assert_status(&a.op, AR_OK);
	assert_int_equal(postgres_int(f, "SELECT connection FROM node"), 2);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), 2);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM receipt"), 1);
	expect_append(f, 1, 3, AR_OK);
}

static void cut_before_the_commit_is_written_again(void **state)
{
	expect_once_through(*state, "store.cut_before_commit:1:error");
}

static void cut_after_the_commit_is_recognised(void **state)
{
	expect_once_through(*state, "store.cut_after_commit:1:error");
}

static void cut_receipt_without_facts_is_recognised(void **state)
{
	struct fixture *f = *state;
	struct ar_store_receipt r = { AR_STR("s"), AR_STR("k"), ar_hash_of(AR_STR("in")), AR_STR("reply") };
	struct ar_store_append a = an_append(sess(1), 2, 1, NULL);

	expect_append(f, 1, 1, AR_OK);
	a.receipt = &r;
	arm("store.cut_after_commit:1:error");
	run(f, &a.op);
	assert_status(&a.op, AR_OK);
}

static void cut_chunk_is_written_again(void **state)
{
	struct fixture *f = *state;
	struct ar_store_chunk c = a_chunk(sess(1), "s", 0, "x");

	arm("store.cut_before_commit:1:error");
	run(f, &c.op);
	assert_status(&c.op, AR_OK);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM chunk"), 1);
}

static void refusals_survive_a_cut(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append bad = an_append(sess(2), 5, 5, "gap"), good = an_append(sess(1), 1, 1, "a");

	arm("store.cut_after_commit:1:error");
	give(f, &bad.op);
	give(f, &good.op);
	wait_for(f, &good.op);
	assert_status(&bad.op, AR_E_INVALID);
	assert_status(&good.op, AR_OK);
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

static void let_go(PGconn *c)
{
	PQclear(PQexec(c, "COMMIT"));
	PQfinish(c);
}

/* What the old connection had sent commits only after the new one is there: the question must wait for it. */
static void late_commit_is_waited_for(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append a = an_append(sess(1), 1, 1, "a");
	struct ar_store_key key;
	struct ar_pack_dictionaries *none = ar_pack_dictionaries_new();
	struct ar_packer *packer = ar_packer_new(none);
	char script[400];
	char uuid[33], body[100];
	struct ar_str stored;
	PGconn *old;

	assert_true(ar_store_key_parse(sess(1), &key));
	for (size_t i = 0; i < sizeof key.b; i++)
		snprintf(uuid + 2 * i, 3, "%02x", key.b[i]);
	stored = ar_pack_checksummed(packer, AR_STR("a"), ar_row_sum_of_facts(&key, 1, 1));
	for (size_t i = 0; i < stored.len; i++)
		snprintf(body + 2 * i, 3, "%02x", (unsigned char)stored.p[i]);
	snprintf(script, sizeof script,
		 "BEGIN; SELECT 1 FROM node FOR SHARE; INSERT INTO log (session, first_seq, last_seq, at, "
		 "epoch, size,"
		 " body) VALUES ('%s', 1, 1, 1000, 1, 1, '\\x%s')",
		 uuid, body);
	old = hold(f, script);
	arm("store.cut_before_commit:1:error");
	forget_done();
	give(f, &a.op);
	usleep(400000);
	assert_int_equal(done_count(), 0);
	let_go(old);
	wait_for(f, &a.op);
	assert_status(&a.op, AR_OK);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), 1);
	ar_packer_free(packer);
	ar_pack_dictionaries_free(none);
}

static void takeover_during_a_cut_is_fenced(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append a = an_append(sess(1), 1, 1, "a");
	PGconn *other = hold(f, "BEGIN; UPDATE node SET epoch = epoch + 1");

	arm("store.cut_before_commit:1:error");
	give(f, &a.op);
	usleep(200000);
	let_go(other);
	wait_for(f, &a.op);
	assert_status(&a.op, AR_E_FENCED);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), 0);
}

static void takeover_after_a_commit_leaves_it_acknowledged(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append a = an_append(sess(1), 1, 1, "a");
	PGconn *other = hold(f, "BEGIN; SELECT 1 FROM node FOR SHARE");

	arm("store.cut_after_commit:1:error"); /* commits beside the other lock, but the claim has to wait */
	give(f, &a.op);
	usleep(200000);
	PQclear(PQexec(other, "UPDATE node SET epoch = epoch + 1"));
	let_go(other);
	wait_for(f, &a.op);
	assert_status(&a.op, AR_OK);
	expect_append(f, 1, 2, AR_E_FENCED);
}

static void slow_statement_is_ended_by_the_server(void **state)
{
	struct fixture *f = *state;
	struct ar_store_postgres_options o = postgres_options(f);
	struct ar_error err;
	PGconn *other;

	ar_store_close(f->store);
	o.statement_timeout_ms = 200;
	if (ar_store_postgres_open(&o, &f->store, &err))
		fail_msg("%s", err.msg);
	other = hold(f, "BEGIN; LOCK TABLE log IN EXCLUSIVE MODE");
	expect_append(f, 1, 1, AR_E_IO);
	let_go(other);
	expect_append(f, 1, 1, AR_OK);
}

#define T(fn) cmocka_unit_test_prestate_setup_teardown(fn, fixture_setup, fixture_teardown, &f)

int main(void)
{
	static struct fixture f = { .engine = ENGINE_POSTGRES };
	const struct CMUnitTest tests[] = {
		T(commit_error_fails_the_batch_and_passes),
		T(cut_before_the_commit_is_written_again),
		T(cut_after_the_commit_is_recognised),
		T(cut_receipt_without_facts_is_recognised),
		T(cut_chunk_is_written_again),
		T(refusals_survive_a_cut),
		T(late_commit_is_waited_for),
		T(takeover_during_a_cut_is_fenced),
		T(takeover_after_a_commit_leaves_it_acknowledged),
		T(slow_statement_is_ended_by_the_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
