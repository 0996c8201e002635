/* See store_contract.h. */
#include "store_contract.h"

struct ar_store_receipt a_receipt(const char *key, const char *input, const char *reply)
{
	return (struct ar_store_receipt){ AR_STR("acct/send"), ar_str_from(key),
					  ar_hash_of(ar_str_from(input)), ar_str_from(reply) };
}

void expect_receipt(struct fixture *f, const char *key, const char *input, const char *reply)
{
	struct ar_store_receipt_get g = { .op = { .kind = AR_STORE_RECEIPT, .done = note_done },
					  .scope = AR_STR("acct/send"),
					  .key = ar_str_from(key) };
	struct ar_hash hash = ar_hash_of(ar_str_from(input));

	run(f, &g.op);
	assert_status(&g.op, AR_OK);
	assert_str(g.found.scope, "acct/send");
	assert_str(g.found.key, key);
	assert_memory_equal(g.found.input.b, hash.b, sizeof hash.b);
	assert_str(g.found.reply, reply);
	ar_store_op_fini(&g.op);
}

void known_receipt_stops_the_append(void **state)
{
	struct fixture *f = *state;
	struct ar_store_receipt first = a_receipt("k1", "in", "{\"ok\":1}"),
				again = a_receipt("k1", "other", "{}");
	struct ar_store_blob blob = { ar_hash_of(AR_STR("B")), AR_STR("B") };
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(1), 2, 2, "b");
	struct ar_store_blobs_get g = { .op = { .kind = AR_STORE_BLOBS, .done = note_done },
					.hashes = &blob.hash,
					.count = 1 };
	struct ar_hash hash = ar_hash_of(AR_STR("in"));
	struct ar_store_read r = a_read(sess(1), 1, false, 100);

	a.receipt = &first;
	assert_int_equal(run(f, &a.op), AR_OK);
	b.receipt = &again;
	b.blobs = &blob;
	b.blob_count = 1;
	run(f, &b.op);
	assert_status(&b.op, AR_E_EXISTS);
	assert_str(b.found.scope, "acct/send");
	assert_str(b.found.key, "k1");
	assert_str(b.found.reply, "{\"ok\":1}");
	assert_memory_equal(b.found.input.b, hash.b, sizeof hash.b);
	run(f, &r.op);
	assert_int_equal(r.head, 1);
	run(f, &g.op);
	assert_null(g.bytes[0].p);
	expect_receipt(f, "k1", "in", "{\"ok\":1}");
	ar_store_op_fini(&b.op);
	ar_store_op_fini(&r.op);
	ar_store_op_fini(&g.op);
}

void receipt_wins_over_a_wrong_sequence(void **state)
{
	struct fixture *f = *state;
	struct ar_store_receipt receipt = a_receipt("k1", "in", "{}"), fresh = a_receipt("k2", "in", "{}");
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(1), 1, 1, "a");

	a.receipt = b.receipt = &receipt;
	assert_int_equal(run(f, &a.op), AR_OK);
	run(f, &b.op);
	assert_status(&b.op, AR_E_EXISTS);
	ar_store_op_fini(&b.op);
	b.receipt = &fresh;
	run(f, &b.op);
	assert_status(&b.op, AR_E_INVALID);
	ar_store_op_fini(&b.op);
}

void one_receipt_twice_in_flight_is_written_once(void **state)
{
	struct fixture *f = *state;
	struct ar_store_receipt receipt = a_receipt("k", "in", "first"),
				same = a_receipt("k", "in", "second");
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(2), 1, 1, "b");
	struct ar_store_load l = a_load(sess(2));

	a.receipt = &receipt;
	b.receipt = &same;
	give(f, &a.op);
	give(f, &b.op);
	wait_for(f, &b.op);
	assert_status(&a.op, AR_OK);
	assert_status(&b.op, AR_E_EXISTS);
	assert_str(b.found.reply, "first");
	run(f, &l.op);
	assert_status(&l.op, AR_E_NOT_FOUND);
	ar_store_op_fini(&b.op);
}

void receipt_needs_no_facts(void **state)
{
	struct fixture *f = *state;
	struct ar_store_receipt none = a_receipt("k", "in", NULL), empty = a_receipt("e", "in", "");
	struct ar_store_append a = an_append(sess(1), 2, 1, NULL);

	put(f, sess(1), 1, 1, "x");
	a.receipt = &none;
	assert_int_equal(run(f, &a.op), AR_OK);
	a.receipt = &empty;
	assert_int_equal(run(f, &a.op), AR_OK);
	expect_receipt(f, "k", "in", NULL);
	expect_receipt(f, "e", "in", "");
	put(f, sess(1), 2, 2, "y");
	ar_store_op_fini(&a.op);
}

void missing_receipt_is_not_found(void **state)
{
	struct fixture *f = *state;
	struct ar_store_receipt receipt = a_receipt("k", "in", "r");
	struct ar_store_append a = an_append(sess(1), 1, 1, "x");
	struct ar_store_receipt_get g = { .op = { .kind = AR_STORE_RECEIPT, .done = note_done },
					  .scope = AR_STR("acct/other"),
					  .key = AR_STR("k") };

	a.receipt = &receipt;
	assert_int_equal(run(f, &a.op), AR_OK);
	run(f, &g.op);
	assert_status(&g.op, AR_E_NOT_FOUND);
	ar_store_op_fini(&a.op);
	ar_store_op_fini(&g.op);
}
