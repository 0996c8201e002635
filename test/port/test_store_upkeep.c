/* See store_contract.h: what upkeep removes, what it leaves, and how far one step goes. */
#include "store_contract.h"

#include "postgres_fixture.h"
#include "store_op.h"

#include <stdio.h>

#define HOUR ((ar_usec)3600 * 1000000)
#define LATER ((ar_usec)4102444800 * 1000000) /* the year 2100 */
#define NOW ((ar_usec)1800000000 * 1000000) /* later than the ids of sess() */

/* A session of one fact with a row, a task, a chunk, a snapshot, a receipt and one content of its own. */
struct life {
	struct ar_store_session_row row;
	struct ar_store_task_row task;
	struct ar_store_receipt receipt;
	struct ar_store_blob blob;
	char name[16];
};

static void live(struct fixture *f, struct life *l, unsigned n, bool is_active, ar_usec updated)
{
	struct ar_store_append a = an_append(sess(n), 1, 1, "fact");
	struct ar_store_chunk c = a_chunk(sess(n), "step", 0, "bytes");

	snprintf(l->name, sizeof l->name, "session-%u", n);
	l->row = (struct ar_store_session_row){
		.active = is_active, .created = updated, .updated = updated, .shell = AR_STR("{}")
	};
	l->task = (struct ar_store_task_row){ AR_STR("t"), AR_STR("done"), AR_STR("{}"), false };
	l->receipt = a_receipt(l->name, "in", "{}");
	l->blob = (struct ar_store_blob){ ar_hash_of(ar_str_from(l->name)), ar_str_from(l->name) };
	a.at = updated;
	a.row = &l->row;
	a.tasks = &l->task;
	a.task_count = 1;
	a.receipt = &l->receipt;
	a.blobs = &l->blob;
	a.blob_count = 1;
	a.snapshot = AR_STR("S");
	run(f, &a.op);
	assert_status(&a.op, AR_OK);
	ar_store_op_fini(&a.op);
	assert_int_equal(run(f, &c.op), AR_OK);
}

static void expect_blob(struct fixture *f, const char *text, bool is_there)
{
	struct ar_hash hash = ar_hash_of(ar_str_from(text));
	struct ar_store_blobs_get g = { .op = { .kind = AR_STORE_BLOBS, .done = note_done },
					.hashes = &hash,
					.count = 1 };

	assert_int_equal(run(f, &g.op), AR_OK);
	assert_str(g.bytes[0], is_there ? text : NULL);
	ar_store_op_fini(&g.op);
}

/* Whether the content is there as that session's own. */
static bool may_see(struct fixture *f, struct ar_str session, const char *text)
{
	struct ar_hash hash = ar_hash_of(ar_str_from(text));
	struct ar_store_blobs_get g = { .op = { .kind = AR_STORE_BLOBS, .done = note_done },
					.session = session,
					.hashes = &hash,
					.count = 1 };
	bool is_there;

	assert_int_equal(run(f, &g.op), AR_OK);
	is_there = !ar_str_absent(g.bytes[0]);
	ar_store_op_fini(&g.op);
	return is_there;
}

static bool has_receipt(struct fixture *f, const char *key)
{
	struct ar_store_receipt_get g = { .op = { .kind = AR_STORE_RECEIPT, .done = note_done },
					  .scope = AR_STR("acct/send"),
					  .key = ar_str_from(key) };
	enum ar_status st = run(f, &g.op);

	ar_store_op_fini(&g.op);
	return st == AR_OK;
}

static size_t listed(struct fixture *f)
{
	struct ar_store_sessions l = { .op = { .kind = AR_STORE_SESSIONS, .done = note_done }, .limit = 500 };

	assert_int_equal(run(f, &l.op), AR_OK);
	ar_store_op_fini(&l.op);
	return l.count;
}

static bool is_there(struct fixture *f, unsigned n)
{
	struct ar_store_load l = a_load(sess(n));
	enum ar_status st = run(f, &l.op);

	ar_store_op_fini(&l.op);
	return st == AR_OK;
}

void old_sessions_go_with_all_they_have(void **state)
{
	struct fixture *f = *state;
	struct ar_store_upkeep u = an_upkeep(NOW, 10);
	struct ar_store_read r = a_read(sess(1), 1, false, 100);
	struct ar_store_tasks t = { .op = { .kind = AR_STORE_TASKS, .done = note_done },
				    .session = sess(1),
				    .limit = 10 };
	struct life old, young;

	live(f, &old, 1, false, NOW - HOUR);
	live(f, &young, 2, false, NOW + HOUR);
	run(f, &u.op);
	assert_status(&u.op, AR_OK);
	assert_int_equal(u.removed, 1);
	assert_true(ar_str_eq(u.ids[0], sess(1)));
	assert_int_equal(u.receipts, 1);
	assert_int_equal(u.contents, 1);
	ar_store_op_fini(&u.op);
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 0);
	assert_int_equal(run(f, &r.op), AR_E_NOT_FOUND);
	assert_false(is_there(f, 1));
	assert_true(is_there(f, 2));
	assert_int_equal(listed(f), 1);
	assert_int_equal(run(f, &t.op), AR_OK);
	assert_int_equal(t.count, 0);
	assert_false(has_receipt(f, old.name));
	assert_true(has_receipt(f, young.name));
	expect_blob(f, old.name, false);
	expect_blob(f, young.name, true);
	ar_store_op_fini(&t.op);
}

/* The id is free again, and nothing of the first life shows. */
void removed_session_begins_anew(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append late = an_append(sess(1), 2, 2, "late");
	struct ar_store_load l = a_load(sess(1));
	struct life old;

	live(f, &old, 1, false, NOW - HOUR);
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 1);
	run(f, &late.op);
	assert_status(&late.op, AR_E_INVALID);
	ar_store_op_fini(&late.op);
	put(f, sess(1), 1, 1, "again");
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_str(l.snapshot, NULL);
	assert_int_equal(l.row_count, 1);
	assert_int_equal(l.chunk_count, 0);
	assert_str(l.rows[0].body, "again");
	ar_store_op_fini(&l.op);
}

static struct ar_store_append an_old_append(const char *session, struct ar_store_session_row *row)
{
	struct ar_store_append a = an_append(ar_str_from(session), 1, 1, "fact");

	*row = (struct ar_store_session_row){ .updated = NOW - HOUR, .shell = AR_STR("{}") };
	a.at = NOW - HOUR;
	a.row = row;
	return a;
}

/* Keys without a time of version 9 and 10 are workspaces and workers; a home is as old as it looks. */
void workspaces_outlive_retention(void **state)
{
	static const char *const keys[] = { "0000000000e000000000000001", "0000000000j000000000000001",
					    "0000000000k000000000000002", "0000000000m000000000000003" };
	struct fixture *f = *state;
	struct ar_store_session_row row;

	for (size_t i = 0; i < AR_ARRAY_LEN(keys); i++) {
		struct ar_store_append a = an_old_append(keys[i], &row);

		run(f, &a.op);
		assert_status(&a.op, AR_OK);
		ar_store_op_fini(&a.op);
	}
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 1);
	assert_int_equal(listed(f), 3);
	for (size_t i = 0; i < AR_ARRAY_LEN(keys); i++) {
		struct ar_store_load l = a_load(ar_str_from(keys[i]));

		assert_int_equal(run(f, &l.op), i == 0 ? AR_E_NOT_FOUND : AR_OK);
		ar_store_op_fini(&l.op);
	}
}

void active_and_young_sessions_stay(void **state)
{
	struct fixture *f = *state;
	struct life lives[3];

	live(f, &lives[0], 1, true, NOW - HOUR);
	live(f, &lives[1], 2, false, NOW);
	put(f, sess(3), 1, 1, "without a row");
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 0);
	assert_int_equal(keep_up(f, an_upkeep(0, 10)), 0);
	assert_int_equal(keep_up(f, an_upkeep(LATER, 0)), 0);
	for (unsigned n = 1; n <= 3; n++)
		assert_true(is_there(f, n));
	assert_true(has_receipt(f, lives[1].name));
	expect_blob(f, lives[0].name, true);
}

void steps_are_bounded_and_go_on(void **state)
{
	struct fixture *f = *state;
	struct ar_store_upkeep u = an_upkeep(NOW, 7);
	static struct life lives[40];

	for (unsigned n = 0; n < 40; n++)
		live(f, &lives[n], n, n % 4 == 0, NOW - HOUR);
	run(f, &u.op);
	assert_status(&u.op, AR_OK);
	assert_int_equal(u.removed, 7);
	assert_true(u.more);
	ar_store_op_fini(&u.op);
	assert_int_equal(listed(f), 33);
	assert_int_equal(keep_up(f, an_upkeep(NOW, 7)), 23);
	assert_int_equal(listed(f), 10);
	for (unsigned n = 0; n < 40; n++)
		assert_int_equal(is_there(f, n), n % 4 == 0);
}

/* An id that a caller made may claim any time. */
void sessions_of_any_id_are_met(void **state)
{
	struct fixture *f = *state;
	uint8_t far[16] = { 0xf0, [6] = 0x70, [8] = 0x80 }, zero[16] = { 0 };
	char text[2][AR_SESSION_KEY_LEN];
	struct ar_store_session_row row = { .updated = NOW - HOUR };

	ar_id_encode(far, text[0]);
	ar_id_encode(zero, text[1]);
	for (size_t i = 0; i < 2; i++) {
		struct ar_store_append a =
			an_append((struct ar_str){ text[i], AR_SESSION_KEY_LEN }, 1, 1, "x");

		a.row = &row;
		assert_int_equal(run(f, &a.op), AR_OK);
		ar_store_op_fini(&a.op);
	}
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 2);
	assert_int_equal(listed(f), 0);
	assert_int_equal(keep_up(f, an_upkeep(LATER, 10)), 0); /* also a time to come has an end */
}

void only_owned_partitions_are_touched(void **state)
{
	struct fixture *f = *state;
	uint64_t owned[AR_PARTITIONS / 64] = { 0 };
	struct ar_store_upkeep u = an_upkeep(NOW, 10);
	unsigned p = ar_id_partition(sess(1));
	struct life lives[2];

	live(f, &lives[0], 1, false, NOW - HOUR);
	live(f, &lives[1], 2, false, NOW - HOUR);
	assert_int_not_equal(p, ar_id_partition(sess(2)));
	u.partitions = owned;
	assert_int_equal(keep_up(f, u), 0);
	owned[p / 64] = UINT64_C(1) << p % 64;
	assert_int_equal(keep_up(f, u), 1);
	assert_false(is_there(f, 1));
	assert_true(is_there(f, 2));
}

void shared_content_stays_until_the_last_reference_goes(void **state)
{
	struct fixture *f = *state;
	struct ar_store_blob blob = { ar_hash_of(AR_STR("shared")), AR_STR("shared") };
	struct ar_store_session_row rows[2] = { { .updated = NOW - 2 * HOUR }, { .updated = NOW - HOUR } };
	struct ar_store_upkeep u = an_upkeep(NOW, 10);

	for (unsigned n = 0; n < 2; n++) {
		struct ar_store_append a = an_append(sess(n), 1, 1, "x");

		a.row = &rows[n];
		a.blobs = &blob;
		a.blob_count = 1;
		assert_int_equal(run(f, &a.op), AR_OK);
		ar_store_op_fini(&a.op);
	}
	assert_true(may_see(f, sess(0), "shared"));
	assert_int_equal(keep_up(f, an_upkeep(NOW - HOUR, 10)), 1);
	expect_blob(f, "shared", true);
	assert_false(may_see(f, sess(0), "shared"));
	assert_true(may_see(f, sess(1), "shared"));
	assert_false(may_see(f, sess(2), "shared"));
	assert_false(may_see(f, AR_STR("nobody"), "shared"));
	u.doomed_before = 1; /* younger than that: it stays for now */
	assert_int_equal(keep_up(f, u), 1);
	expect_blob(f, "shared", true);
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 0);
	expect_blob(f, "shared", false);
}

/* Put again after it was doomed, before it is collected. */
void doomed_content_that_is_put_again_stays(void **state)
{
	struct fixture *f = *state;
	struct ar_store_blob blob = { ar_hash_of(AR_STR("again")), AR_STR("again") };
	struct ar_store_session_row old = { .updated = NOW - HOUR };
	struct ar_store_append a = an_append(sess(1), 1, 1, "x"), b = an_append(sess(2), 1, 1, "y");
	struct ar_store_upkeep u = an_upkeep(NOW, 10);

	a.row = &old;
	a.blobs = b.blobs = &blob;
	a.blob_count = b.blob_count = 1;
	u.doomed_before = 1;
	assert_int_equal(run(f, &a.op), AR_OK);
	assert_int_equal(keep_up(f, u), 1);
	assert_int_equal(run(f, &b.op), AR_OK);
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 0);
	expect_blob(f, "again", true);
	ar_store_op_fini(&a.op);
	ar_store_op_fini(&b.op);
}

static void append_content(struct fixture *f, struct ar_store_append a, const struct ar_store_blob *put,
			   const struct ar_hash *removed)
{
	a.blobs = put;
	a.blob_count = put ? 1 : 0;
	a.removed = removed;
	a.removed_count = removed ? 1 : 0;
	assert_int_equal(run(f, &a.op), AR_OK);
	ar_store_op_fini(&a.op);
}

/* The one that put it first has it no more, the other one keeps it; upkeep takes it behind the last. */
void removed_content_is_gone_for_its_session_alone(void **state)
{
	struct fixture *f = *state;
	struct ar_store_blob blob = { ar_hash_of(AR_STR("removed")), AR_STR("removed") };

	append_content(f, an_append(sess(1), 1, 1, "x"), &blob, NULL);
	append_content(f, an_append(sess(2), 1, 1, "y"), &blob, NULL);
	append_content(f, an_append(sess(1), 2, 2, "x"), NULL, &blob.hash);
	assert_false(may_see(f, sess(1), "removed"));
	assert_true(may_see(f, sess(2), "removed"));
	keep_up(f, an_upkeep(0, 10));
	expect_blob(f, "removed", true);
	append_content(f, an_append(sess(2), 2, 2, "y"), NULL, &blob.hash);
	append_content(f, an_append(sess(2), 3, 3, "y"), NULL, &blob.hash); /* twice does no harm */
	assert_false(may_see(f, sess(2), "removed"));
	keep_up(f, an_upkeep(0, 10));
	expect_blob(f, "removed", false);
}

void removed_content_may_be_put_again(void **state)
{
	struct fixture *f = *state;
	struct ar_store_blob blob = { ar_hash_of(AR_STR("anew")), AR_STR("anew") };

	append_content(f, an_append(sess(1), 1, 1, "x"), &blob, NULL);
	append_content(f, an_append(sess(1), 2, 2, "x"), NULL, &blob.hash);
	append_content(f, an_append(sess(1), 3, 3, "x"), &blob, NULL);
	assert_true(may_see(f, sess(1), "anew"));
	append_content(f, an_append(sess(1), 4, 4, "x"), &blob, &blob.hash);
	keep_up(f, an_upkeep(0, 10));
	assert_true(may_see(f, sess(1), "anew"));
}

void upkeep_is_fenced(void **state)
{
	struct fixture *f = *state;
	struct ar_store_upkeep u = an_upkeep(NOW, 10), bad = an_upkeep(NOW, 10);
	struct life old;

	live(f, &old, 1, false, NOW - HOUR);
	bad.after = AR_STR("not a session");
	run(f, &bad.op);
	assert_status(&bad.op, AR_E_INVALID);
	fixture_fence(f);
	run(f, &u.op);
	assert_status(&u.op, AR_E_FENCED);
	assert_true(is_there(f, 1));
	ar_store_op_fini(&u.op);
	ar_store_op_fini(&bad.op);
}

static void change_rows(struct fixture *f, const char *script)
{
	if (f->engine == ENGINE_POSTGRES)
		postgres_script(f, script);
	else
		sql_script(f, script);
}

static enum ar_status read_second(struct fixture *f)
{
	struct ar_store_read r = a_read(sess(1), 2, false, 1000);
	enum ar_status st = run(f, &r.op);

	if (!st)
		assert_str(r.rows[0].body, "fact");
	ar_store_op_fini(&r.op);
	return st;
}

/* Rows as a version without checksums left them get one: a row that stands in another's place is
 * noticed from then on. What cannot be unpacked is not made good by it. */
void rows_without_a_checksum_get_one(void **state)
{
	struct fixture *f = *state;
	bool is_postgres = f->engine == ENGINE_POSTGRES;
	const char *move =
		"UPDATE log SET body = (SELECT body FROM log WHERE first_seq = 3) WHERE first_seq = 2";

	if (!is_postgres && f->engine != ENGINE_SQLITE)
		skip();
	for (uint64_t i = 1; i <= 600; i++)
		put(f, sess(1), i, i, "fact");
	put(f, sess(2), 1, 1, "other");
	/* raw, and what was never a value */
	change_rows(f, is_postgres ? "UPDATE log SET body = '\\x0066616374' WHERE first_seq <> 1"
				   : "UPDATE log SET body = X'0066616374' WHERE first_seq <> 1");
	change_rows(f, is_postgres ? "UPDATE log SET body = '\\x05ffff' WHERE first_seq = 600"
				   : "UPDATE log SET body = X'05ffff' WHERE first_seq = 600");
	change_rows(f, move);
	assert_int_equal(read_second(f), AR_OK);
	keep_up(f, an_upkeep(0, 10));
	assert_int_equal(read_second(f), AR_OK);
	assert_false(is_there(f, 1));
	change_rows(f, move);
	assert_int_equal(read_second(f), AR_E_CORRUPT);
}

/* Writes before and after it in one flight keep their order around it. */
void upkeep_keeps_its_place_in_a_flight(void **state)
{
	struct fixture *f = *state;
	struct ar_store_session_row row = { .updated = NOW - HOUR },
				    active = { .active = true, .updated = NOW - HOUR };
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), woken = an_append(sess(2), 2, 2, "c");
	struct ar_store_append late = an_append(sess(1), 2, 2, "b");
	struct ar_store_upkeep u = an_upkeep(NOW, 10);
	struct life old;

	live(f, &old, 2, false, NOW - HOUR);
	a.row = &row;
	woken.row = &active;
	forget_done();
	give(f, &a.op);
	give(f, &woken.op);
	give(f, &u.op);
	give(f, &late.op);
	wait_for(f, &late.op);
	assert_status(&a.op, AR_OK);
	assert_status(&woken.op, AR_OK);
	assert_status(&u.op, AR_OK);
	assert_int_equal(u.removed, 1);
	assert_true(ar_str_eq(u.ids[0], sess(1)));
	assert_status(&late.op, AR_E_INVALID);
	assert_true(is_there(f, 2));
	ar_store_op_fini(&u.op);
	ar_store_op_fini(&a.op);
	ar_store_op_fini(&woken.op);
	ar_store_op_fini(&late.op);
}
