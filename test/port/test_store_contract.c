/* The contract of port/store.h, run against every engine. Here: appends, epochs, sizes, order, close, and the
 * list of all tests; the others are in the files that store_contract.h names. */
#include "store_contract.h"

#include "mem.h"

#include <stdio.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static void append_is_loaded_again(void **state)
{
	struct fixture *f = *state;
	struct ar_store_load l = a_load(sess(1));

	put(f, sess(1), 1, 3, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
	put(f, sess(1), 4, 4, "{\"a\":4}\n");
	put(f, sess(2), 1, 1, "other");
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_str(l.snapshot, NULL);
	assert_int_equal(l.row_count, 2);
	assert_int_equal(l.rows[0].first_seq, 1);
	assert_int_equal(l.rows[0].last_seq, 3);
	assert_int_equal(l.rows[0].at, 1000);
	assert_str(l.rows[0].body, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
	assert_int_equal(l.rows[1].first_seq, 4);
	assert_str(l.rows[1].body, "{\"a\":4}\n");
	assert_int_equal(l.chunk_count, 0);
	ar_store_op_fini(&l.op);
}

static void unknown_session_is_not_found(void **state)
{
	struct fixture *f = *state;
	struct ar_store_load l = a_load(sess(9)), bad = a_load(AR_STR("not a session"));
	struct ar_store_read r = a_read(sess(9), 1, false, 100);

	run(f, &l.op);
	assert_status(&l.op, AR_E_NOT_FOUND);
	run(f, &bad.op);
	assert_status(&bad.op, AR_E_NOT_FOUND);
	run(f, &r.op);
	assert_status(&r.op, AR_E_NOT_FOUND);
	assert_int_equal(r.head, 0);
}

static void expect_refusal(struct fixture *f, struct ar_store_append a, enum ar_status expected)
{
	run(f, &a.op);
	assert_status(&a.op, expected);
	ar_store_op_fini(&a.op);
}

static void gap_and_repetition_are_refused(void **state)
{
	struct fixture *f = *state;
	struct ar_store_read r = a_read(sess(1), 1, false, 100);

	expect_refusal(f, an_append(sess(1), 2, 2, "x"), AR_E_INVALID);
	put(f, sess(1), 1, 2, "x");
	expect_refusal(f, an_append(sess(1), 2, 2, "x"), AR_E_INVALID);
	expect_refusal(f, an_append(sess(1), 4, 4, "x"), AR_E_INVALID);
	expect_refusal(f, an_append(sess(1), 1, 2, "x"), AR_E_INVALID);
	put(f, sess(1), 3, 3, "y");
	assert_int_equal(run(f, &r.op), AR_OK);
	assert_int_equal(r.head, 3);
	assert_int_equal(r.row_count, 2);
	ar_store_op_fini(&r.op);
}

static void malformed_appends_are_refused(void **state)
{
	struct fixture *f = *state;
	struct ar_store_chunk c = a_chunk(AR_STR("short"), "step", 0, "x");

	expect_refusal(f, an_append(AR_STR("sess_1"), 1, 1, "x"), AR_E_INVALID);
	expect_refusal(f, an_append(AR_STR_NONE, 1, 1, "x"), AR_E_INVALID);
	expect_refusal(f, an_append(sess(1), 0, 0, "x"), AR_E_INVALID);
	expect_refusal(f, an_append(sess(1), 3, 1, NULL), AR_E_INVALID);
	expect_refusal(f, an_append(sess(1), 1, 1, NULL), AR_E_INVALID);
	expect_refusal(f, an_append(sess(1), 1, 0, "x"), AR_E_INVALID);
	run(f, &c.op);
	assert_status(&c.op, AR_E_INVALID);
}

static void refused_append_spoils_no_neighbour(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append ops[] = { an_append(sess(1), 1, 1, "a"), an_append(sess(2), 5, 5, "b"),
					 an_append(sess(1), 2, 2, "c"), an_append(AR_STR("?"), 1, 1, "d"),
					 an_append(sess(3), 1, 1, "e") };
	static const enum ar_status expected[] = { AR_OK, AR_E_INVALID, AR_OK, AR_E_INVALID, AR_OK };

	for (size_t i = 0; i < AR_ARRAY_LEN(ops); i++)
		give(f, &ops[i].op);
	wait_for(f, &ops[AR_ARRAY_LEN(ops) - 1].op);
	for (size_t i = 0; i < AR_ARRAY_LEN(ops); i++)
		assert_status(&ops[i].op, expected[i]);
}

/* ---- epochs ---- */

static void over_epoch_writes_nothing(void **state)
{
	struct fixture *f = *state;
	struct ar_store_chunk c = a_chunk(sess(1), "s", 0, "x");
	struct ar_store_load l = a_load(sess(1));

	put(f, sess(1), 1, 1, "a");
	fixture_fence(f);
	expect_refusal(f, an_append(sess(1), 2, 2, "b"), AR_E_FENCED);
	expect_refusal(f, an_append(sess(1), 2, 2, "b"), AR_E_FENCED);
	run(f, &c.op);
	assert_status(&c.op, AR_E_FENCED);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.row_count, 1);
	assert_int_equal(l.chunk_count, 0);
	ar_store_op_fini(&l.op);
	fixture_reopen(f);
	put(f, sess(1), 2, 2, "b");
}

static void reopening_keeps_content_and_takes_an_epoch(void **state)
{
	struct fixture *f = *state;
	struct ar_store_receipt receipt = a_receipt("k", "in", "r");
	struct ar_store_append a = an_append(sess(1), 1, 2, "facts");
	struct ar_store_load l = a_load(sess(1));
	uint64_t epoch = f->store->epoch;
	char name[sizeof f->store->runtime_id];

	memcpy(name, f->store->runtime_id, sizeof name);
	assert_int_equal(strlen(name), 3 + AR_SESSION_KEY_LEN);
	assert_true(epoch >= 1);
	a.receipt = &receipt;
	a.snapshot = AR_STR("snap");
	assert_int_equal(run(f, &a.op), AR_OK);
	put(f, sess(1), 3, 3, "more");
	fixture_reopen(f);
	assert_true(f->store->epoch > epoch);
	assert_string_equal(f->store->runtime_id, name);
	expect_receipt(f, "k", "in", "r");
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_str(l.snapshot, "snap");
	assert_int_equal(l.row_count, 1);
	assert_str(l.rows[0].body, "more");
	put(f, sess(1), 4, 4, "after");
	ar_store_op_fini(&l.op);
	ar_store_op_fini(&a.op);
}

/* ---- sizes, numbers, order ---- */

static char *big_text(size_t len, bool noisy)
{
	char *p = ar_new0(len + 1);
	uint32_t x = 12345;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = noisy ? (char)(1 + (x >> 16) % 255) : "abcdefgh"[i % 8];
	}
	return p;
}

static void expect_big(struct fixture *f, struct ar_str session, bool noisy)
{
	char *text = big_text(MIB, noisy);
	struct ar_store_blob blob = { ar_hash_of(ar_str_from(text)), ar_str_from(text) };
	struct ar_store_append a = an_append(session, 1, 1, text);
	struct ar_store_load l = a_load(session);
	struct ar_store_read r = a_read(session, 1, false, 10);
	struct ar_store_blobs_get g = { .op = { .kind = AR_STORE_BLOBS, .done = note_done },
					.hashes = &blob.hash,
					.count = 1 };

	a.blobs = &blob;
	a.blob_count = 1;
	a.snapshot = ar_str_from(text);
	assert_int_equal(run(f, &a.op), AR_OK);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_str(l.snapshot, text);
	assert_int_equal(run(f, &r.op), AR_OK);
	assert_str(r.rows[0].body, text);
	assert_int_equal(run(f, &g.op), AR_OK);
	assert_str(g.bytes[0], text);
	ar_store_op_fini(&l.op);
	ar_store_op_fini(&r.op);
	ar_store_op_fini(&g.op);
	ar_free(text);
}

static void big_values_come_back_whole(void **state)
{
	expect_big(*state, sess(1), false);
	expect_big(*state, sess(2), true);
}

static void expect_session_of_ten(struct fixture *f, unsigned n)
{
	struct ar_store_load l = a_load(sess(n));
	char body[32];

	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	assert_int_equal(l.row_count, 10);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(body, sizeof body, "session %u fact %u", n, i + 1);
		assert_str(l.rows[i].body, body);
	}
	ar_store_op_fini(&l.op);
}

static void thousand_appends_of_a_hundred_sessions(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append *ops = ar_new0(1000 * sizeof *ops);
	char(*bodies)[32] = ar_new0(1000 * sizeof *bodies);

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(bodies[i], sizeof bodies[i], "session %u fact %u", i % 100, i / 100 + 1);
		ops[i] = an_append(sess(i % 100), i / 100 + 1, i / 100 + 1, bodies[i]);
		give(f, &ops[i].op);
	}
	wait_for(f, &ops[999].op);
	assert_int_equal(done_count(), 1000);
	for (unsigned i = 0; i < 1000; i++) {
		assert_status(&ops[i].op, AR_OK);
		if (i >= 100)
			assert_true(done_place(&ops[i].op) > done_place(&ops[i - 100].op));
	}
	for (unsigned n = 0; n < 100; n++)
		expect_session_of_ten(f, n);
	ar_free(ops);
	ar_free(bodies);
}

static void chunk_and_close_in_flight_keep_their_order(void **state)
{
	struct fixture *f = *state;
	struct ar_str step = AR_STR("s");
	struct ar_store_chunk c1 = a_chunk(sess(1), "s", 0, "gone"), c2 = a_chunk(sess(1), "t", 0, "kept");
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(1), 2, 2, "b");
	struct ar_store_load l = a_load(sess(1));

	b.closed_steps = &step;
	b.closed_step_count = 1;
	give(f, &a.op);
	give(f, &c1.op);
	give(f, &c2.op);
	give(f, &b.op);
	wait_for(f, &b.op);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.chunk_count, 1);
	assert_chunk(&l.chunks[0], "t", 0, "kept");
	ar_store_op_fini(&l.op);
}

struct chained {
	struct ar_store_append a;
	struct fixture *f;
	struct ar_store_append *then;
};

static void submit_the_next(struct ar_store_op *op)
{
	struct chained *c = AR_CONTAINER_OF(op, struct chained, a.op);

	note_done(op);
	give(c->f, &c->then->op);
}

static void done_may_submit(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append second = an_append(sess(1), 2, 2, "b");
	struct chained first = { an_append(sess(1), 1, 1, "a"), f, &second };

	first.a.op.done = submit_the_next;
	give(f, &first.a.op);
	wait_for(f, &second.op);
	assert_status(&second.op, AR_OK);
}

static void close_finishes_what_was_submitted(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append second = an_append(sess(1), 2, 2, "b");
	struct chained first = { an_append(sess(1), 1, 1, "a"), f, &second };
	struct ar_store_load l = a_load(sess(9));

	first.a.op.done = submit_the_next;
	give(f, &first.a.op);
	give(f, &l.op);
	ar_store_close(f->store);
	assert_int_equal(done_count(), 3);
	assert_status(&first.a.op, AR_OK);
	assert_status(&second.op, AR_OK);
	assert_status(&l.op, AR_E_NOT_FOUND);
	f->store = NULL;
}

#define T(fn) \
	{ \
#fn, fn, fixture_setup, fixture_teardown, NULL \
	}

static const struct CMUnitTest contract[] = {
	T(append_is_loaded_again),
	T(unknown_session_is_not_found),
	T(gap_and_repetition_are_refused),
	T(malformed_appends_are_refused),
	T(refused_append_spoils_no_neighbour),
	T(known_receipt_stops_the_append),
	T(receipt_wins_over_a_wrong_sequence),
	T(one_receipt_twice_in_flight_is_written_once),
	T(receipt_needs_no_facts),
	T(missing_receipt_is_not_found),
	T(over_epoch_writes_nothing),
	T(reopening_keeps_content_and_takes_an_epoch),
	T(forward_windows),
	T(backward_windows),
	T(snapshot_replaces_and_shortens_the_load),
	T(blobs_are_kept_by_hash),
	T(chunks_live_until_their_step_closes),
	T(big_values_come_back_whole),
	T(thousand_appends_of_a_hundred_sessions),
	T(chunk_and_close_in_flight_keep_their_order),
	T(done_may_submit),
	T(close_finishes_what_was_submitted),
	T(same_rows_in_one_flight_keep_the_last),
	T(step_closed_and_opened_again_in_one_flight),
	T(many_steps_and_sessions_in_one_flight),
	T(long_windows),
	T(names_may_hold_any_byte),
	T(too_long_names_are_refused_alone),
	T(heavy_flight),
	T(sessions_come_newest_first_in_pages),
	T(sessions_are_listed_by_their_last_update),
	T(sessions_are_listed_without_a_status),
	T(session_filters_are_exact),
	T(sessions_are_listed_by_partition),
	T(session_rows_follow_their_last_append),
	T(tasks_come_in_order_of_creation),
	T(task_filters_and_single_tasks),
	T(index_of_a_session),
	T(sessions_are_listed_by_tenant),
	T(tenant_of_a_session),
	T(actions_come_oldest_first_in_pages),
	T(action_rows_are_replaced),
	T(action_filters_are_exact),
	T(actions_in_one_flight_keep_the_last),
	T(actions_go_with_their_session),
	T(items_are_read_by_number),
	T(item_is_written_again),
	T(items_of_a_refused_append_are_not_there),
	T(items_go_with_their_session),
	T(usage_is_added_up),
	T(usage_comes_in_pages),
	T(usage_of_a_refused_append_is_not_counted),
	T(usage_goes_with_its_age),
	T(open_sessions_are_listed),
	T(tasks_are_listed_without_some_statuses),
	T(malformed_actions_are_refused),
	T(actions_are_listed_by_tenant),
	T(tokens_are_listed_by_version),
	T(tokens_are_removed),
	T(token_put_expects_a_version),
	T(tokens_survive_a_reopening),
	T(token_put_is_fenced),
	T(token_put_keeps_its_place_in_a_flight),
	T(malformed_tokens_are_refused),
	T(audit_entries_are_listed_by_time),
	T(audit_entry_is_there_with_its_append),
	T(due_sessions_come_earliest_first_in_pages),
	T(due_times_follow_their_last_append),
	T(due_sessions_are_listed_by_partition),
	T(audit_entry_is_there_with_its_token),
	T(audit_is_fenced),
	T(old_audit_entries_go_and_the_chain_holds),
	T(changed_and_removed_audit_entries_are_found),
	T(feed_has_what_a_tenant_wrote),
	T(feed_goes_on_from_a_place),
	T(feed_knows_its_heads),
	T(feed_place_is_never_given_twice),
	T(feed_floor_is_how_far_removal_reached),
	T(feed_floors_of_one_step),
	T(facts_without_a_place_leave_no_floor),
	T(old_sessions_go_with_all_they_have),
	T(workspaces_outlive_retention),
	T(removed_session_begins_anew),
	T(active_and_young_sessions_stay),
	T(steps_are_bounded_and_go_on),
	T(sessions_of_any_id_are_met),
	T(only_owned_partitions_are_touched),
	T(shared_content_stays_until_the_last_reference_goes),
	T(doomed_content_that_is_put_again_stays),
	T(removed_content_is_gone_for_its_session_alone),
	T(removed_content_may_be_put_again),
	T(upkeep_is_fenced),
	T(rows_without_a_checksum_get_one),
	T(upkeep_keeps_its_place_in_a_flight),
};

static int run_against(const char *name, enum engine engine)
{
	struct CMUnitTest tests[AR_ARRAY_LEN(contract)];
	struct fixture f = { .engine = engine };

	memcpy(tests, contract, sizeof tests);
	for (size_t i = 0; i < AR_ARRAY_LEN(tests); i++)
		tests[i].initial_state = &f;
	return _cmocka_run_group_tests(name, tests, AR_ARRAY_LEN(tests), NULL, NULL);
}

int main(int argc, char **argv)
{
	if (engine_asked(argc, argv) == ENGINE_POSTGRES)
		return run_against("postgres", ENGINE_POSTGRES);
	return run_against("sqlite", ENGINE_SQLITE) + run_against("memory", ENGINE_MEMORY) +
	       run_against("faulty", ENGINE_FAULTY);
}
