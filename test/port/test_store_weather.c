/* The parts that simulations lean on: the memory store's crash, and the faulty store's failures, delays
 * and order. All of it must be repeatable from the seed. */
#include "store_fixture.h"

#include "mem.h"

#include <string.h>

#define OPS 60
#define SESSIONS 6

static struct ar_store_append *submit_many(struct ar_store *store)
{
	struct ar_store_append *ops = ar_new0(OPS * sizeof *ops);

	for (unsigned i = 0; i < OPS; i++) {
		ops[i] = an_append(sess(i % SESSIONS), i / SESSIONS + 1, i / SESSIONS + 1, "x");
		ar_store_submit(store, &ops[i].op);
	}
	return ops;
}

static uint64_t head_of(struct ar_store *store, unsigned n)
{
	struct ar_store_read r = a_read(sess(n), 1, false, SIZE_MAX);

	forget_done();
	ar_store_submit(store, &r.op);
	while (done_place(&r.op) == SIZE_MAX)
		ar_store_poll(store);
	assert_int_equal(r.row_count, r.head); /* no gaps: one fact per row here */
	ar_store_op_fini(&r.op);
	return r.head;
}

static void crash_with(uint64_t seed, uint64_t heads[SESSIONS])
{
	struct ar_store *store;
	struct ar_store_append *ops;

	forget_done();
	ar_store_memory_open(NULL, NULL, &store);
	ops = submit_many(store);
	ar_store_memory_crash(store, seed);
	assert_int_equal(store->epoch, 2);
	ar_store_poll(store);
	assert_int_equal(done_count(), 0);
	ar_free(ops);
	for (unsigned n = 0; n < SESSIONS; n++)
		heads[n] = head_of(store, n);
	ar_store_close(store);
}

static void crash_keeps_a_prefix_that_the_seed_chooses(void **state)
{
	uint64_t a[SESSIONS], again[SESSIONS], other[SESSIONS], sum = 0;

	(void)state;
	crash_with(7, a);
	crash_with(7, again);
	crash_with(8, other);
	assert_memory_equal(a, again, sizeof a);
	assert_memory_not_equal(a, other, sizeof a);
	for (unsigned n = 0; n < SESSIONS; n++)
		sum += a[n] + other[n];
	assert_in_range(sum, 1, 2 * OPS - 1); /* neither all nor nothing */
}

/* Chunks have no sequence that would refuse the later ones: only the crash itself keeps them a prefix. */
static size_t crash_among_chunks(uint64_t seed)
{
	struct ar_store_append a = an_append(sess(0), 1, 1, "a");
	struct ar_store_chunk chunks[20];
	struct ar_store_load l = a_load(sess(0));
	struct ar_store *store;

	ar_store_memory_open(NULL, NULL, &store);
	ar_store_submit(store, &a.op);
	ar_store_poll(store);
	for (unsigned i = 0; i < AR_ARRAY_LEN(chunks); i++) {
		chunks[i] = a_chunk(sess(0), "s", i, "x");
		ar_store_submit(store, &chunks[i].op);
	}
	ar_store_memory_crash(store, seed);
	ar_store_submit(store, &l.op);
	ar_store_poll(store);
	for (size_t i = 0; i < l.chunk_count; i++)
		assert_int_equal(l.chunks[i].pos, i);
	ar_store_op_fini(&l.op);
	ar_store_close(store);
	return l.chunk_count;
}

static void crash_keeps_a_prefix_of_chunks(void **state)
{
	size_t kept = 0;

	(void)state;
	forget_done();
	for (uint64_t seed = 1; seed <= 20; seed++)
		kept += crash_among_chunks(seed);
	assert_in_range(kept, 1, 399);
}

static struct ar_store *open_faulty(struct ar_store_fault_plan plan)
{
	struct ar_store *inner, *store;

	forget_done();
	ar_store_memory_open(NULL, NULL, &inner);
	ar_store_faulty_new(inner, &plan, &store);
	return store;
}

static void nth_append_fails_unwritten(void **state)
{
	struct ar_store *store = open_faulty((struct ar_store_fault_plan){ .fail_nth = 2 });
	struct ar_store_append a = an_append(sess(0), 1, 1, "a"), b = an_append(sess(0), 2, 2, "b");
	struct ar_store_append c = an_append(sess(0), 3, 3, "c");

	(void)state;
	ar_store_submit(store, &a.op);
	ar_store_submit(store, &b.op);
	ar_store_submit(store, &c.op);
	while (done_count() < 3)
		ar_store_poll(store);
	assert_status(&a.op, AR_OK);
	assert_status(&b.op, AR_E_IO);
	assert_status(&c.op, AR_E_INVALID);
	assert_true(done_place(&a.op) < done_place(&b.op) && done_place(&b.op) < done_place(&c.op));
	ar_store_submit(store, &b.op);
	ar_store_poll(store);
	assert_status(&b.op, AR_OK);
	assert_int_equal(head_of(store, 0), 2);
	ar_store_close(store);
}

struct outcome {
	enum ar_status status[OPS];
	size_t place[OPS];
	unsigned polls;
};

static struct outcome run_plan(struct ar_store_fault_plan plan)
{
	struct ar_store *store = open_faulty(plan);
	struct ar_store_append *ops = submit_many(store);
	struct outcome o = { 0 };

	for (; done_count() < OPS; o.polls++)
		ar_store_poll(store);
	for (unsigned i = 0; i < OPS; i++) {
		o.status[i] = ops[i].op.status;
		o.place[i] = done_place(&ops[i].op);
		if (i >= SESSIONS)
			assert_true(o.place[i] > o.place[i - SESSIONS]);
	}
	ar_store_close(store);
	ar_free(ops);
	return o;
}

static void without_faults_nothing_changes(void **state)
{
	struct outcome o = run_plan((struct ar_store_fault_plan){ .seed = 1 });

	(void)state;
	assert_int_equal(o.polls, 1);
	for (unsigned i = 0; i < OPS; i++) {
		assert_int_equal(o.status[i], AR_OK);
		assert_int_equal(o.place[i], i);
	}
}

static void delays_keep_the_order_unless_asked(void **state)
{
	struct ar_store_fault_plan plan = { .seed = 3, .delay_polls = 9 };
	struct outcome in_order = run_plan(plan), mixed;
	bool overtook = false;

	(void)state;
	assert_in_range(in_order.polls, 2, 10);
	for (unsigned i = 0; i < OPS; i++)
		assert_int_equal(in_order.place[i], i);
	plan.reorder = true;
	mixed = run_plan(plan);
	for (unsigned i = 0; i < OPS; i++) {
		assert_int_equal(mixed.status[i], AR_OK);
		overtook = overtook || mixed.place[i] != i;
	}
	assert_true(overtook);
}

static void weather_is_repeatable(void **state)
{
	struct ar_store_fault_plan plan = {
		.seed = 11, .fail_permille = 100, .delay_polls = 5, .reorder = true
	};
	struct outcome a = run_plan(plan), b = run_plan(plan), c;
	unsigned failed = 0;

	(void)state;
	assert_memory_equal(a.status, b.status, sizeof a.status);
	assert_memory_equal(a.place, b.place, sizeof a.place);
	plan.seed = 12;
	c = run_plan(plan);
	assert_memory_not_equal(a.place, c.place, sizeof a.place);
	for (unsigned i = 0; i < OPS; i++)
		failed += a.status[i] == AR_E_IO;
	assert_in_range(failed, 1, OPS / 2);
}

static void count_wake(void *arg)
{
	++*(unsigned *)arg;
}

static void held_operations_wake_their_owner(void **state)
{
	unsigned wakes = 0, seen;
	struct ar_store *store = open_faulty((struct ar_store_fault_plan){
		.seed = 5, .delay_polls = 20, .wake = count_wake, .wake_arg = &wakes });
	struct ar_store_append *ops = submit_many(store);

	(void)state;
	while (done_count() < OPS) {
		seen = wakes;
		assert_true(seen > 0);
		wakes = 0;
		ar_store_poll(store);
	}
	assert_int_equal(wakes, 0);
	ar_store_close(store);
	ar_free(ops);
}

static void crash_loses_what_was_held(void **state)
{
	struct ar_store *store = open_faulty((struct ar_store_fault_plan){ .seed = 5, .delay_polls = 3 });
	struct ar_store_append *ops = submit_many(store);

	(void)state;
	ar_store_poll(store);
	assert_in_range(done_count(), 0, OPS - 1);
	ar_store_faulty_crash(store, 1);
	assert_int_equal(store->epoch, 2);
	forget_done();
	for (int i = 0; i < 10; i++)
		ar_store_poll(store);
	assert_int_equal(done_count(), 0);
	ar_free(ops);
	assert_true(head_of(store, 0) < OPS / SESSIONS);
	ar_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crash_keeps_a_prefix_that_the_seed_chooses),
		cmocka_unit_test(crash_keeps_a_prefix_of_chunks),
		cmocka_unit_test(nth_append_fails_unwritten),
		cmocka_unit_test(without_faults_nothing_changes),
		cmocka_unit_test(delays_keep_the_order_unless_asked),
		cmocka_unit_test(weather_is_repeatable),
		cmocka_unit_test(held_operations_wake_their_owner),
		cmocka_unit_test(crash_loses_what_was_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
