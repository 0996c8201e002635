/* See store_contract.h. */
#include "store_contract.h"

#include <string.h>

/* ---- windows of the log: rows 1-2 "aa", 3 "b", 4-6 "ccc", 7 "d" ---- */

static void expect_window(struct fixture *f, struct ar_store_read r, const char *bodies, bool at_end)
{
	char all[64] = "";

	run(f, &r.op);
	assert_status(&r.op, AR_OK);
	for (size_t i = 0; i < r.row_count; i++) {
		if (i)
			assert_int_equal(r.rows[i].first_seq, r.rows[i - 1].last_seq + 1);
		strncat(all, r.rows[i].body.p, r.rows[i].body.len);
	}
	assert_string_equal(all, bodies);
	assert_int_equal(r.at_end, at_end);
	assert_int_equal(r.head, 7);
	ar_store_op_fini(&r.op);
}

static void put_window_rows(struct fixture *f)
{
	put(f, sess(1), 1, 2, "aa");
	put(f, sess(1), 3, 3, "b");
	put(f, sess(1), 4, 6, "ccc");
	put(f, sess(1), 7, 7, "d");
	put(f, sess(0), 1, 1, "below");
	put(f, sess(2), 1, 1, "above");
}

void forward_windows(void **state)
{
	struct fixture *f = *state;

	put_window_rows(f);
	expect_window(f, a_read(sess(1), 0, false, 100), "aabcccd", true);
	expect_window(f, a_read(sess(1), 1, false, 7), "aabcccd", true);
	expect_window(f, a_read(sess(1), 1, false, 6), "aabccc", false);
	expect_window(f, a_read(sess(1), 1, false, 5), "aab", false);
	expect_window(f, a_read(sess(1), 1, false, 0), "aa", false);
	expect_window(f, a_read(sess(1), 2, false, 2), "aa", false);
	expect_window(f, a_read(sess(1), 3, false, 100), "bcccd", true);
	expect_window(f, a_read(sess(1), 5, false, 1), "ccc", false);
	expect_window(f, a_read(sess(1), 7, false, 0), "d", true);
	expect_window(f, a_read(sess(1), 8, false, 100), "", true);
	expect_window(f, a_read(sess(1), UINT64_MAX, false, 100), "", true);
}

void backward_windows(void **state)
{
	struct fixture *f = *state;

	put_window_rows(f);
	expect_window(f, a_read(sess(1), UINT64_MAX, true, SIZE_MAX), "aabcccd", true);
	expect_window(f, a_read(sess(1), 7, true, 7), "aabcccd", true);
	expect_window(f, a_read(sess(1), 7, true, 6), "bcccd", false);
	expect_window(f, a_read(sess(1), 7, true, 0), "d", false);
	expect_window(f, a_read(sess(1), 6, true, 4), "bccc", false);
	expect_window(f, a_read(sess(1), 4, true, 1), "ccc", false);
	expect_window(f, a_read(sess(1), 3, true, 100), "aab", true);
	expect_window(f, a_read(sess(1), 2, true, 1), "aa", true);
	expect_window(f, a_read(sess(1), 0, true, 100), "", true);
}

void snapshot_replaces_and_shortens_the_load(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append a = an_append(sess(1), 1, 2, "a"), b = an_append(sess(1), 3, 3, "b");
	struct ar_store_append late = an_append(sess(1), 5, 4, NULL);
	struct ar_store_load l = a_load(sess(1));

	a.snapshot = AR_STR("S2");
	b.snapshot = AR_STR("S3");
	assert_int_equal(run(f, &a.op), AR_OK);
	assert_int_equal(run(f, &b.op), AR_OK);
	put(f, sess(1), 4, 4, "c");
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_str(l.snapshot, "S3");
	assert_int_equal(l.snapshot_seq, 3);
	assert_int_equal(l.row_count, 1);
	assert_str(l.rows[0].body, "c");
	late.snapshot = AR_STR("S4");
	assert_int_equal(run(f, &late.op), AR_OK);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_str(l.snapshot, "S4");
	assert_int_equal(l.snapshot_seq, 4);
	assert_int_equal(l.row_count, 0);
	ar_store_op_fini(&l.op);
}

/* ---- blobs and chunks ---- */

void blobs_are_kept_by_hash(void **state)
{
	struct fixture *f = *state;
	struct ar_store_blob blobs[] = { { ar_hash_of(AR_STR("one")), AR_STR("one") },
					 { ar_hash_of(AR_STR("")), AR_STR("") } };
	struct ar_hash asked[] = { blobs[0].hash, ar_hash_of(AR_STR("missing")), blobs[1].hash };
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(2), 1, 1, "b");
	struct ar_store_blobs_get g = { .op = { .kind = AR_STORE_BLOBS, .done = note_done },
					.hashes = asked,
					.count = AR_ARRAY_LEN(asked) };

	a.blobs = b.blobs = blobs;
	a.blob_count = b.blob_count = AR_ARRAY_LEN(blobs);
	assert_int_equal(run(f, &a.op), AR_OK);
	assert_int_equal(run(f, &b.op), AR_OK);
	assert_int_equal(run(f, &g.op), AR_OK);
	assert_str(g.bytes[0], "one");
	assert_str(g.bytes[1], NULL);
	assert_str(g.bytes[2], "");
	ar_store_op_fini(&g.op);
}

static void put_chunk(struct fixture *f, const char *step, uint64_t pos, const char *bytes, uint32_t index)
{
	struct ar_store_chunk c = a_chunk(sess(1), step, pos, bytes);

	c.index = index;
	c.kind = (uint8_t)(index + 1);
	assert_int_equal(run(f, &c.op), AR_OK);
	ar_store_op_fini(&c.op);
}

void assert_chunk(const struct ar_store_chunk_row *c, const char *step, uint64_t pos, const char *bytes)
{
	assert_str(c->step, step);
	assert_int_equal(c->pos, pos);
	assert_str(c->bytes, bytes);
}

void chunks_live_until_their_step_closes(void **state)
{
	struct fixture *f = *state;
	struct ar_str closed[] = { AR_STR("step_2"), AR_STR("step_none") };
	struct ar_store_append a = an_append(sess(1), 2, 2, "final");
	struct ar_store_load l = a_load(sess(1));

	put(f, sess(1), 1, 1, "a");
	put_chunk(f, "step_2", 0, "zz", 0);
	put_chunk(f, "step_1", 300, "second", 7);
	put_chunk(f, "step_1", 5, "first", 0);
	put_chunk(f, "step_1", 300, "replaced", 3);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.chunk_count, 3);
	assert_chunk(&l.chunks[0], "step_1", 5, "first");
	assert_chunk(&l.chunks[1], "step_1", 300, "replaced");
	assert_int_equal(l.chunks[1].index, 3);
	assert_int_equal(l.chunks[1].kind, 4);
	assert_chunk(&l.chunks[2], "step_2", 0, "zz");
	a.closed_steps = closed;
	a.closed_step_count = AR_ARRAY_LEN(closed);
	assert_int_equal(run(f, &a.op), AR_OK);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.chunk_count, 2);
	assert_chunk(&l.chunks[1], "step_1", 300, "replaced");
	ar_store_op_fini(&l.op);
}
