/* See store_contract.h. An engine may put everything that waits into one transaction: what many operations
 * say about the same row must come out as if they had been done one by one. */
#include "store_contract.h"

#include "mem.h"

#include <stdio.h>
#include <string.h>

/* Gives them all at once, behind one that keeps the writer busy, and waits for the last. */
static void fly(struct fixture *f, struct ar_store_op **ops, size_t count)
{
	struct ar_store_append first = an_append(sess(900), 1, 1, "keeps the writer busy");

	forget_done();
	give(f, &first.op);
	for (size_t i = 0; i < count; i++)
		give(f, ops[i]);
	for (size_t i = 0; i < count; i++) {
		wait_for(f, ops[i]);
		assert_status(ops[i], AR_OK);
	}
}

void same_rows_in_one_flight_keep_the_last(void **state)
{
	struct fixture *f = *state;
	struct ar_store_session_row rows[] = { { .active = true, .shell = AR_STR("old") },
					       { .active = false, .shell = AR_STR("new") } };
	struct ar_store_task_row first[] = { { AR_STR("z"), AR_STR("open"), AR_STR("z1"), false },
					     { AR_STR("a"), AR_STR("open"), AR_STR("a1"), false } };
	struct ar_store_task_row then[] = { { AR_STR("a"), AR_STR("done"), AR_STR("a2"), false },
					    { AR_STR("b"), AR_STR("open"), AR_STR("b1"), false } };
	struct ar_store_blob blob = { ar_hash_of(AR_STR("B")), AR_STR("B") };
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(1), 2, 2, "b");
	struct ar_store_op *ops[] = { &a.op, &b.op };
	struct ar_store_tasks t = { .op = { .kind = AR_STORE_TASKS, .done = note_done },
				    .session = sess(1),
				    .limit = 10 };
	struct ar_store_sessions l = { .op = { .kind = AR_STORE_SESSIONS, .done = note_done }, .limit = 10 };
	struct ar_store_load load = a_load(sess(1));

	a.row = &rows[0];
	b.row = &rows[1];
	a.tasks = first;
	b.tasks = then;
	a.task_count = b.task_count = 2;
	a.blobs = b.blobs = &blob;
	a.blob_count = b.blob_count = 1;
	a.snapshot = AR_STR("S1");
	b.snapshot = AR_STR("S2");
	fly(f, ops, AR_ARRAY_LEN(ops));
	assert_int_equal(run(f, &t.op), AR_OK);
	assert_int_equal(t.count, 3);
	assert_str(t.rows[0].record, "z1");
	assert_str(t.rows[1].record, "a2");
	assert_str(t.rows[2].record, "b1");
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.count, 1);
	assert_str(l.shells[0], "new");
	assert_int_equal(run(f, &load.op), AR_OK);
	assert_str(load.snapshot, "S2");
	assert_int_equal(load.row_count, 0);
	ar_store_op_fini(&t.op);
	ar_store_op_fini(&l.op);
	ar_store_op_fini(&load.op);
}

void step_closed_and_opened_again_in_one_flight(void **state)
{
	struct fixture *f = *state;
	struct ar_str step = AR_STR("s");
	struct ar_store_chunk c1 = a_chunk(sess(1), "s", 0, "gone"),
			      c2 = a_chunk(sess(1), "s", 5, "gone too");
	struct ar_store_chunk c3 = a_chunk(sess(1), "s", 5, "late"),
			      other = a_chunk(sess(2), "s", 0, "other");
	struct ar_store_chunk again = a_chunk(sess(1), "s", 5, "later");
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(2), 1, 1, "b");
	struct ar_store_op *ops[] = { &b.op, &other.op, &c1.op, &c2.op, &a.op, &c3.op, &again.op };
	struct ar_store_load l = a_load(sess(1)), l2 = a_load(sess(2));

	a.closed_steps = &step;
	a.closed_step_count = 1;
	fly(f, ops, AR_ARRAY_LEN(ops));
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.chunk_count, 1);
	assert_chunk(&l.chunks[0], "s", 5, "later");
	assert_int_equal(run(f, &l2.op), AR_OK);
	assert_int_equal(l2.chunk_count, 1);
	ar_store_op_fini(&l.op);
	ar_store_op_fini(&l2.op);
}

void many_steps_and_sessions_in_one_flight(void **state)
{
	enum { SESSIONS = 30, ROUNDS = 6 };
	struct fixture *f = *state;
	struct ar_store_append *a = ar_new0(SESSIONS * ROUNDS * sizeof *a);
	struct ar_store_op *ops[SESSIONS * ROUNDS];

	for (unsigned i = 0; i < SESSIONS * ROUNDS; i++) {
		/* every third decision has two facts */
		unsigned round = i / SESSIONS, first = 1 + round + (round + 2) / 3;

		a[i] = an_append(sess(i % SESSIONS), first, first + (round % 3 == 0), "fact");
		ops[i] = &a[i].op;
	}
	fly(f, ops, AR_ARRAY_LEN(ops));
	for (unsigned i = 0; i < SESSIONS; i++) {
		struct ar_store_read r = a_read(sess(i), 1, false, 1000);

		assert_int_equal(run(f, &r.op), AR_OK);
		assert_int_equal(r.head, ROUNDS + 2);
		assert_int_equal(r.row_count, ROUNDS);
		ar_store_op_fini(&r.op);
	}
	ar_free(a);
}

/* ---- windows over more rows than an engine may look at in one go ---- */

#define LONG 1500
#define BODY "0123456789"

static void expect_long_window(struct fixture *f, struct ar_store_read r, uint64_t first, uint64_t last)
{
	assert_int_equal(run(f, &r.op), AR_OK);
	assert_int_equal(r.row_count, last - first + 1);
	for (size_t i = 0; i < r.row_count; i++)
		assert_int_equal(r.rows[i].first_seq, first + i);
	assert_int_equal(r.head, LONG);
	assert_int_equal(r.at_end, r.backward ? first == 1 : last == LONG);
	ar_store_op_fini(&r.op);
}

void long_windows(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append *a = ar_new0(LONG * sizeof *a);

	forget_done();
	for (unsigned i = 0; i < LONG; i++) {
		a[i] = an_append(sess(1), i + 1, i + 1, BODY);
		give(f, &a[i].op);
	}
	wait_for(f, &a[LONG - 1].op);
	assert_status(&a[LONG - 1].op, AR_OK);
	expect_long_window(f, a_read(sess(1), 0, false, SIZE_MAX), 1, LONG);
	expect_long_window(f, a_read(sess(1), UINT64_MAX, true, SIZE_MAX), 1, LONG);
	expect_long_window(f, a_read(sess(1), 2, false, 1200 * strlen(BODY)), 2, 1201);
	expect_long_window(f, a_read(sess(1), 2, false, 512 * strlen(BODY)), 2, 513);
	expect_long_window(f, a_read(sess(1), 2, false, 513 * strlen(BODY) + 9), 2, 514);
	expect_long_window(f, a_read(sess(1), 1400, true, 1200 * strlen(BODY)), 201, 1400);
	ar_free(a);
}

/* ---- names ---- */

void names_may_hold_any_byte(void **state)
{
	static const char bytes[] = "k\0\xff\xc3";
	struct fixture *f = *state;
	struct ar_store_receipt receipt = a_receipt("k", "in", "r"), other = a_receipt("k", "in", "q");
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(2), 1, 1, "b");
	struct ar_store_task_row task = { { bytes, 4 }, { bytes, 3 }, AR_STR("t"), false };
	struct ar_store_tasks t = { .op = { .kind = AR_STORE_TASKS, .done = note_done },
				    .session = sess(1),
				    .task = { bytes, 4 } };
	struct ar_store_chunk c = a_chunk(sess(1), "s", 0, "x");
	struct ar_store_load l = a_load(sess(1));

	receipt.key = (struct ar_str){ bytes, 4 };
	a.receipt = b.receipt = &receipt;
	a.tasks = &task;
	a.task_count = 1;
	c.step = (struct ar_str){ bytes, 4 };
	assert_int_equal(run(f, &a.op), AR_OK);
	assert_int_equal(run(f, &b.op), AR_E_EXISTS);
	b.receipt = &other;
	assert_int_equal(run(f, &b.op), AR_OK);
	assert_int_equal(run(f, &t.op), AR_OK);
	assert_str(t.rows[0].record, "t");
	assert_int_equal(run(f, &c.op), AR_OK);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.chunk_count, 1);
	assert_int_equal(l.chunks[0].step.len, 4);
	assert_memory_equal(l.chunks[0].step.p, bytes, 4);
	ar_store_op_fini(&b.op);
	ar_store_op_fini(&t.op);
	ar_store_op_fini(&l.op);
}

void too_long_names_are_refused_alone(void **state)
{
	struct fixture *f = *state;
	static char name[1026];
	struct ar_store_receipt receipt, longest;
	struct ar_store_append before = an_append(sess(1), 1, 1, "a"), bad = an_append(sess(2), 1, 1, "b");
	struct ar_store_append after = an_append(sess(3), 1, 1, "c");
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof name - 1; i++) { /* not to be compressed into an index */
		x = x * 1664525u + 1013904223u;
		name[i] = (char)('!' + (x >> 16) % 90);
	}
	receipt = a_receipt(name, "in", "r");
	longest = (struct ar_store_receipt){ { name, 1024 }, { name + 1, 1024 }, receipt.input, AR_STR("r") };
	bad.receipt = &receipt;
	after.receipt = &longest;
	give(f, &before.op);
	give(f, &bad.op);
	give(f, &after.op);
	wait_for(f, &after.op);
	assert_status(&before.op, AR_OK);
	assert_status(&bad.op, AR_E_INVALID);
	assert_status(&after.op, AR_OK);
}

/* Together more than an engine may want in one transaction. */
void heavy_flight(void **state)
{
	enum { COUNT = 5, SIZE = 20 << 20 };
	struct fixture *f = *state;
	struct ar_store_append a[COUNT];
	struct ar_store_op *ops[COUNT];
	char *text = ar_new0(SIZE + 1);

	memset(text, 'x', SIZE);
	for (unsigned i = 0; i < COUNT; i++) {
		a[i] = an_append(sess(i / 2), 1 + i % 2, 1 + i % 2, text);
		ops[i] = &a[i].op;
	}
	fly(f, ops, COUNT);
	for (unsigned i = 0; i < 3; i++) {
		struct ar_store_read r = a_read(sess(i), 1, false, 1);

		assert_int_equal(run(f, &r.op), AR_OK);
		assert_int_equal(r.head, i < 2 ? 2 : 1);
		assert_int_equal(r.rows[0].body.len, SIZE);
		ar_store_op_fini(&r.op);
	}
	ar_free(text);
}
