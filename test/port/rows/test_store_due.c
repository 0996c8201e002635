/* See store_contract.h: sessions by their due times. */
#include "store_contract.h"
#include "store/due.h"

#include <string.h>

static void put_due(struct fixture *f, unsigned n, uint64_t seq, ar_usec due)
{
	struct ar_store_append a = an_append(sess(n), seq, seq, "x");
	struct ar_store_session_row row = { .created = 5, .updated = 6, .shell = AR_STR("{}"), .due = due };

	a.row = &row;
	assert_int_equal(run(f, &a.op), AR_OK);
	ar_store_op_fini(&a.op);
}

static struct ar_store_due a_list(size_t limit)
{
	return (struct ar_store_due){ .op = { .kind = AR_STORE_DUE, .done = note_done }, .limit = limit };
}

/* The numbers of the sessions and their times must be these, ended by -1. */
static void expect_due(struct fixture *f, struct ar_store_due l, const int (*expected)[2], bool more)
{
	size_t count = 0;

	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	for (; expected[count][0] >= 0; count++) {
		assert_true(count < l.count);
		assert_true(ar_str_eq(l.ids[count], sess((unsigned)expected[count][0])));
		assert_int_equal(l.times[count], expected[count][1]);
	}
	assert_int_equal(l.count, count);
	assert_int_equal(l.more, more);
	ar_store_op_fini(&l.op);
}

#define NONE_DUE ((const int[][2]){ { -1, 0 } })
#define DUE(...) ((const int[][2]){ __VA_ARGS__, { -1, 0 } })

void due_sessions_come_earliest_first_in_pages(void **state)
{
	struct fixture *f = *state;
	struct ar_store_due l = a_list(2), bad = a_list(1);

	expect_due(f, l, NONE_DUE, false);
	put_due(f, 1, 1, 300);
	put_due(f, 2, 1, 100);
	put_due(f, 3, 1, 0);
	put_due(f, 4, 1, 200);
	put_due(f, 5, 1, 100);
	put(f, sess(6), 1, 1, "a session without a row is never due");
	expect_due(f, l, DUE({ 2, 100 }, { 5, 100 }), true);
	l.after = sess(2);
	l.after_due = 100;
	expect_due(f, l, DUE({ 5, 100 }, { 4, 200 }), true);
	l.after = sess(5);
	expect_due(f, l, DUE({ 4, 200 }, { 1, 300 }), false);
	l.after = sess(1);
	l.after_due = 300;
	expect_due(f, l, NONE_DUE, false);
	bad.after = AR_STR("nonsense");
	run(f, &bad.op);
	assert_status(&bad.op, AR_E_INVALID);
}

void due_times_follow_their_last_append(void **state)
{
	struct fixture *f = *state;
	struct ar_store_index row = { .op = { .kind = AR_STORE_INDEX, .done = note_done },
				      .session = sess(1) };

	put_due(f, 1, 1, 100);
	put_due(f, 2, 1, 150);
	put_due(f, 1, 2, 200);
	put(f, sess(1), 3, 3, "an append without a row leaves it");
	expect_due(f, a_list(9), DUE({ 2, 150 }, { 1, 200 }), false);
	assert_int_equal(run(f, &row.op), AR_OK);
	assert_int_equal(row.row.due, 200);
	ar_store_op_fini(&row.op);
	put_due(f, 1, 4, 0);
	expect_due(f, a_list(9), DUE({ 2, 150 }), false);
}

static void want(uint64_t bits[AR_PARTITIONS / 64], unsigned session)
{
	unsigned partition = ar_id_partition(sess(session));

	bits[partition / 64] |= UINT64_C(1) << partition % 64;
}

/* Only what passes counts towards the limit, and `more` is about those alone. */
void due_sessions_are_listed_by_partition(void **state)
{
	struct fixture *f = *state;
	uint64_t bits[AR_PARTITIONS / 64] = { 0 };
	struct ar_store_due l = a_list(1);

	for (unsigned n = 1; n <= 4; n++)
		put_due(f, n, 1, 1000 - n);
	l.partitions = bits;
	expect_due(f, l, NONE_DUE, false);
	want(bits, 1);
	expect_due(f, l, DUE({ 1, 999 }), false);
	want(bits, 3);
	expect_due(f, l, DUE({ 3, 997 }), true);
}
