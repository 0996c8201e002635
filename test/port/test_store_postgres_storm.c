/* A server that is killed, restarted and cut off in the midst of writing. Whatever the store says about a
 * write must be so: AR_OK is stored once and stays, AR_E_IO is not stored; sequences have no gap and no other
 * content. */
#include "postgres_fixture.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LANES 12

/* One session with one append in flight at a time; each has a receipt that carries its sequence. */
struct lane {
	struct ar_store_append a;
	struct ar_store_receipt receipt;
	struct ar_store_session_row row;
	struct storm *storm;
	unsigned n;
	char text[300];
};

struct storm {
	struct fixture *f;
	struct lane lanes[LANES];
	size_t in_flight;
	size_t acked, failed;
	bool is_over;
};

static void fact_text(char out[300], unsigned session, uint64_t seq)
{
	snprintf(out, 300, "s%u-%llu-%0240d", session, (unsigned long long)seq, 0);
}

static void went(struct ar_store_op *op);

static void write_fact(struct lane *l, uint64_t seq)
{
	fact_text(l->text, l->n, seq);
	l->a = an_append(sess(l->n), seq, seq, l->text);
	l->a.op.done = went;
	l->receipt = (struct ar_store_receipt){ .scope = AR_STR("storm"), .key = ar_str_from(l->text) };
	l->row = (struct ar_store_session_row){ .updated = (ar_usec)seq };
	l->a.receipt = &l->receipt;
	l->a.row = &l->row;
	l->storm->in_flight++;
	ar_store_submit(l->storm->f->store, &l->a.op);
}

/* A failed write is written again: if the store had lied about it, that one would clash. */
static void went(struct ar_store_op *op)
{
	struct lane *l = AR_CONTAINER_OF(op, struct lane, a.op);
	uint64_t seq = l->a.first_seq;
	bool is_stored = op->status == AR_OK;

	if (!is_stored)
		assert_status(op, AR_E_IO);
	l->storm->in_flight--;
	l->storm->acked += is_stored;
	l->storm->failed += !is_stored;
	ar_store_op_fini(op);
	if (!l->storm->is_over || !is_stored)
		write_fact(l, seq + is_stored);
}

static void pump(struct storm *s, int ms)
{
	struct pollfd pfd = { .fd = s->f->wake_fd, .events = POLLIN };
	uint64_t count;

	if (poll(&pfd, 1, ms) != 1)
		return;
	if (read(s->f->wake_fd, &count, sizeof count) != (ssize_t)sizeof count)
		fail_msg("the wake could not be read");
	ar_store_poll(s->f->store);
}

static void pump_until(struct storm *s, size_t acked)
{
	for (unsigned i = 0; s->acked < acked; i++) {
		if (i > 3000)
			fail_msg("the store did not come back");
		pump(s, 20);
	}
}

static void expect_lane(struct fixture *f, const struct lane *l)
{
	struct ar_store_load load = a_load(sess(l->n));
	char text[300];

	run(f, &load.op);
	assert_status(&load.op, AR_OK);
	assert_int_equal(load.row_count, l->a.last_seq);
	for (size_t i = 0; i < load.row_count; i++) {
		fact_text(text, l->n, i + 1);
		assert_int_equal(load.rows[i].first_seq, i + 1);
		assert_str(load.rows[i].body, text);
	}
	ar_store_op_fini(&load.op);
}

/* Lets the lanes write while `strike` comes `times` times, each after some more acknowledged writes. */
static void weather(struct fixture *f, void (*strike)(struct storm *s, unsigned round), unsigned times)
{
	static struct storm s;

	s = (struct storm){ .f = f };
	for (unsigned i = 0; i < LANES; i++) {
		s.lanes[i] = (struct lane){ .storm = &s, .n = i };
		write_fact(&s.lanes[i], 1);
	}
	for (unsigned round = 0; round < times; round++) {
		pump_until(&s, s.acked + 30 + 17 * (round % 5));
		strike(&s, round);
	}
	pump_until(&s, s.acked + 30);
	s.is_over = true;
	while (s.in_flight)
		pump(&s, 1000);
	for (unsigned i = 0; i < LANES; i++)
		expect_lane(f, &s.lanes[i]);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM log"), s.acked);
	assert_int_equal(postgres_int(f, "SELECT count(*) FROM receipt"), s.acked);
}

static void cut_connections(struct storm *s, unsigned round)
{
	(void)round;
	postgres_script(s->f, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
			      " WHERE application_name = 'agentd' AND datname = current_database()");
}

static void cut_connections_lose_and_double_nothing(void **state)
{
	weather(*state, cut_connections, 40);
}

/* The server takes the loss of one process for damage and restarts them all. */
static void kill_backend(struct storm *s, unsigned round)
{
	int64_t pid =
		postgres_int(s->f, "SELECT coalesce(max(pid), 0) FROM pg_stat_activity"
				   " WHERE application_name = 'agentd' AND datname = current_database()");

	(void)round;
	if (pid)
		kill((pid_t)pid, SIGKILL);
}

static void killed_backend_loses_and_doubles_nothing(void **state)
{
	weather(*state, kill_backend, 3);
}

static void crash_server(struct storm *s, unsigned round)
{
	postgres_control("crash");
	for (unsigned i = 0; i < 5 * round; i++)
		pump(s, 20);
	postgres_control("start");
}

static void killed_server_loses_and_doubles_nothing(void **state)
{
	weather(*state, crash_server, 4);
}

/* ---- a server that stays away ---- */

static void reopen_impatient(struct fixture *f)
{
	struct ar_store_postgres_options o = postgres_options(f);
	struct ar_error err = { 0 };

	ar_store_close(f->store);
	o.outage_ms = 300;
	if (ar_store_postgres_open(&o, &f->store, &err))
		fail_msg("%s", err.msg);
}

static void long_outage_fails_operations_and_passes(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append a = an_append(sess(1), 2, 2, "b");
	struct ar_store_load l = a_load(sess(1));

	reopen_impatient(f);
	put(f, sess(1), 1, 1, "a");
	postgres_control("crash");
	run(f, &a.op);
	assert_status(&a.op, AR_E_IO);
	run(f, &l.op);
	assert_status(&l.op, AR_E_IO);
	postgres_control("start");
	run(f, &a.op);
	assert_status(&a.op, AR_OK);
	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	assert_int_equal(l.row_count, 2);
	ar_store_op_fini(&l.op);
}

static void close_does_not_wait_for_ever(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append a = an_append(sess(1), 2, 2, "b");

	reopen_impatient(f);
	put(f, sess(1), 1, 1, "a");
	postgres_control("crash");
	forget_done();
	give(f, &a.op);
	ar_store_close(f->store);
	f->store = NULL;
	assert_int_equal(done_count(), 1);
	assert_status(&a.op, AR_E_IO);
	postgres_control("start");
}

#define T(fn) cmocka_unit_test_prestate_setup_teardown(fn, fixture_setup, fixture_teardown, &f)

int main(void)
{
	static struct fixture f = { .engine = ENGINE_POSTGRES };
	const struct CMUnitTest tests[] = {
		T(cut_connections_lose_and_double_nothing),
		T(killed_backend_loses_and_doubles_nothing),
		T(killed_server_loses_and_doubles_nothing),
		T(long_outage_fails_operations_and_passes),
		T(close_does_not_wait_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
