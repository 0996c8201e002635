/* A process that dies in the midst of writing: what it was told is durable must be there, in order and
 * without gaps, and what it was not told may be there only as a whole. Children write, the parent kills
 * and looks. */
#include "store_fixture.h"

#include "fault.h"
#include "mem.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSIONS 8
#define IN_FLIGHT 4 /* appends per session */

/* One append of the child: a fact, a receipt and a row that all carry its sequence. */
struct written {
	struct ar_store_append a;
	struct ar_store_receipt receipt;
	struct ar_store_session_row row;
	struct fixture *f;
	unsigned session;
	int ack_fd;
	char text[300];
};

struct ack {
	unsigned session;
	uint64_t seq;
};

static void fact_text(char out[300], unsigned session, uint64_t seq)
{
	snprintf(out, 300, "s%u-%llu-%0240d", session, (unsigned long long)seq, 0);
}

static void acknowledge_and_go_on(struct ar_store_op *op);

static void write_next(struct written *w, uint64_t seq)
{
	fact_text(w->text, w->session, seq);
	w->a = an_append(sess(w->session), seq, seq, w->text);
	w->a.op.done = acknowledge_and_go_on;
	w->receipt = (struct ar_store_receipt){ .scope = AR_STR("crash"), .key = ar_str_from(w->text) };
	w->row = (struct ar_store_session_row){ .updated = (ar_usec)seq, .active = true };
	w->a.receipt = &w->receipt;
	w->a.row = &w->row;
	ar_store_submit(w->f->store, &w->a.op);
}

static void acknowledge_and_go_on(struct ar_store_op *op)
{
	struct written *w = AR_CONTAINER_OF(op, struct written, a.op);
	struct ack ack = { w->session, w->a.last_seq };

	if (op->status != AR_OK || write(w->ack_fd, &ack, sizeof ack) != (ssize_t)sizeof ack)
		_exit(3);
	ar_store_op_fini(op);
	write_next(w, ack.seq + IN_FLIGHT);
}

/* Runs until it is killed. */
static void write_for_ever(struct fixture *f, const uint64_t *heads, int ack_fd)
{
	static struct written all[SESSIONS][IN_FLIGHT];
	uint64_t count;

	f->store = NULL;
	fixture_reopen(f);
	for (unsigned i = 0; i < IN_FLIGHT; i++) {
		for (unsigned s = 0; s < SESSIONS; s++) {
			all[s][i] = (struct written){ .f = f, .session = s, .ack_fd = ack_fd };
			write_next(&all[s][i], heads[s] + 1 + i);
		}
	}
	for (count = 0;; count++)
		ar_store_poll(f->store);
}

/* Lets a child write until `acks` appends were acknowledged, then kills it; *acked is the newest per
 * session. */
static void write_and_kill(struct fixture *f, const uint64_t *heads, unsigned acks, uint64_t *acked)
{
	int fds[2], wstatus;
	struct ack ack;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(fds[0]);
		write_for_ever(f, heads, fds[1]);
	}
	close(fds[1]);
	for (unsigned n = 0; read(fds[0], &ack, sizeof ack) == (ssize_t)sizeof ack; n++) {
		acked[ack.session] = ack.seq;
		if (n == acks)
			kill(child, SIGKILL);
	}
	close(fds[0]);
	assert_int_equal(waitpid(child, &wstatus, 0), child);
	assert_true(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGKILL);
}

static void expect_receipt_like_fact(struct fixture *f, unsigned session, uint64_t seq, bool stored)
{
	char text[300];
	struct ar_store_receipt_get g = { .op = { .kind = AR_STORE_RECEIPT, .done = note_done },
					  .scope = AR_STR("crash") };

	fact_text(text, session, seq);
	g.key = ar_str_from(text);
	run(f, &g.op);
	assert_status(&g.op, stored ? AR_OK : AR_E_NOT_FOUND);
	ar_store_op_fini(&g.op);
}

/* A prefix of what was written, at least as long as what was acknowledged; returns its end. */
static uint64_t expect_prefix(struct fixture *f, unsigned session, uint64_t acked)
{
	struct ar_store_load l = a_load(sess(session));
	char text[300];
	uint64_t head;

	run(f, &l.op);
	if (acked == 0 && l.op.status == AR_E_NOT_FOUND)
		return 0;
	assert_status(&l.op, AR_OK);
	for (size_t i = 0; i < l.row_count; i++) {
		fact_text(text, session, i + 1);
		assert_int_equal(l.rows[i].first_seq, i + 1);
		assert_str(l.rows[i].body, text);
	}
	head = l.row_count;
	assert_true(head >= acked);
	assert_true(head <= acked + IN_FLIGHT);
	ar_store_op_fini(&l.op);
	expect_receipt_like_fact(f, session, head, true);
	expect_receipt_like_fact(f, session, head + 1, false);
	return head;
}

static void killed_writer_leaves_a_prefix(void **state)
{
	struct fixture *f = *state;
	uint64_t heads[SESSIONS] = { 0 }, acked[SESSIONS] = { 0 };
	uint64_t epoch = f->store->epoch;

	for (unsigned round = 0; round < 6; round++) {
		ar_store_close(f->store);
		write_and_kill(f, heads, 40 + 111 * round, acked);
		f->store = NULL;
		fixture_reopen(f);
		for (unsigned s = 0; s < SESSIONS; s++)
			acked[s] = heads[s] = expect_prefix(f, s, acked[s]);
		assert_int_equal(f->store->epoch, epoch + 2 * (round + 1));
	}
}

/* A child that dies at a fault point of its second append; whether that one is stored afterwards. */
static void die_at(struct fixture *f, const char *point)
{
	int wstatus;
	pid_t child;

	ar_store_close(f->store);
	f->store = NULL;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		setenv("AGENTD_FAULT", point, 1);
		ar_fault_init();
		fixture_reopen(f);
		put(f, sess(1), 1, 1, "a");
		put(f, sess(1), 2, 2, "b");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &wstatus, 0), child);
	assert_true(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGKILL);
	fixture_reopen(f);
}

static void expect_head(struct fixture *f, uint64_t head)
{
	struct ar_store_read r = a_read(sess(1), 1, false, 100);

	assert_int_equal(run(f, &r.op), AR_OK);
	assert_int_equal(r.head, head);
	ar_store_op_fini(&r.op);
}

static void death_before_begin_loses_the_append(void **state)
{
	die_at(*state, "store.before_begin:2");
	expect_head(*state, 1);
}

static void death_before_commit_loses_the_append(void **state)
{
	die_at(*state, "store.before_commit:2");
	expect_head(*state, 1);
}

static void death_after_commit_keeps_the_append(void **state)
{
	die_at(*state, "store.after_commit:2");
	expect_head(*state, 2);
}

#define T(fn) cmocka_unit_test_prestate_setup_teardown(fn, fixture_setup, fixture_teardown, &f)

int main(int argc, char **argv)
{
	static struct fixture f;
	const struct CMUnitTest tests[] = {
		T(killed_writer_leaves_a_prefix),
		T(death_before_begin_loses_the_append),
		T(death_before_commit_loses_the_append),
		T(death_after_commit_keeps_the_append),
	};

	f.engine = engine_asked(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
