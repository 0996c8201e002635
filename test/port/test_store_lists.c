/* See store_contract.h. */
#include "store_contract.h"

#include <stdio.h>
#include <string.h>

static struct ar_store_session_row a_row(const char *workspace, const char *status, bool active)
{
	return (struct ar_store_session_row){ .active = active,
					      .created = 5,
					      .updated = 6,
					      .workspace = ar_str_from(workspace),
					      .account = AR_STR("acct"),
					      .status = ar_str_from(status),
					      .shell = AR_STR("{}") };
}

static void put_row(struct fixture *f, unsigned n, uint64_t seq, struct ar_store_session_row row)
{
	struct ar_store_append a = an_append(sess(n), seq, seq, "x");
	char shell[300];

	/* one short shell and one long enough to be stored compressed */
	snprintf(shell, sizeof shell, "{\"n\":%u,\"pad\":\"%0*u\"}", n, n % 2 ? 1 : 250, 0u);
	row.shell = ar_str_from(shell);
	a.row = &row;
	assert_int_equal(run(f, &a.op), AR_OK);
	ar_store_op_fini(&a.op);
}

static struct ar_store_sessions a_list(size_t limit)
{
	return (struct ar_store_sessions){ .op = { .kind = AR_STORE_SESSIONS, .done = note_done },
					   .limit = limit };
}

/* The numbers of the listed sessions must be these, ended by -1. */
static void expect_sessions(struct fixture *f, struct ar_store_sessions l, const int *expected, bool more)
{
	size_t count = 0;
	char start[32];

	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	for (; expected[count] >= 0; count++) {
		assert_true(count < l.count);
		assert_true(ar_str_eq(l.ids[count], sess((unsigned)expected[count])));
		snprintf(start, sizeof start, "{\"n\":%d,", expected[count]);
		assert_true(ar_str_starts(l.shells[count], ar_str_from(start)));
	}
	assert_int_equal(l.count, count);
	assert_int_equal(l.more, more);
	ar_store_op_fini(&l.op);
}

#define NUMBERS(...) ((const int[]){ __VA_ARGS__ __VA_OPT__(, ) - 1 })

void sessions_come_newest_first_in_pages(void **state)
{
	struct fixture *f = *state;
	struct ar_store_sessions l = a_list(3), bad = a_list(3);

	expect_sessions(f, l, NUMBERS(), false);
	for (unsigned n = 0; n < 7; n++)
		put_row(f, n * 3 % 7, 1, a_row("w", "idle", false));
	put(f, sess(50), 1, 1, "a session without a row is not listed");
	expect_sessions(f, l, NUMBERS(6, 5, 4), true);
	l.before = sess(4);
	expect_sessions(f, l, NUMBERS(3, 2, 1), true);
	l.before = sess(1);
	expect_sessions(f, l, NUMBERS(0), false);
	l.before = sess(3);
	expect_sessions(f, l, NUMBERS(2, 1, 0), false);
	l.before = sess(100);
	expect_sessions(f, l, NUMBERS(6, 5, 4), true);
	bad.before = AR_STR("nonsense");
	run(f, &bad.op);
	assert_status(&bad.op, AR_E_INVALID);
}

/* Pages are of those alone. */
void sessions_are_listed_by_their_last_update(void **state)
{
	struct fixture *f = *state;
	struct ar_store_sessions l = a_list(2);

	for (unsigned n = 1; n <= 5; n++) {
		struct ar_store_session_row row = a_row("w", "idle", false);

		row.updated = n % 2 ? 1000 : 999;
		put_row(f, n, 1, row);
	}
	l.updated_since = 1000;
	expect_sessions(f, l, NUMBERS(5, 3), true);
	l.before = sess(3);
	expect_sessions(f, l, NUMBERS(1), false);
	l.updated_since = 1001;
	expect_sessions(f, l, NUMBERS(), false);
}

/* Pages are of the others alone. */
void sessions_are_listed_without_a_status(void **state)
{
	struct fixture *f = *state;
	struct ar_store_sessions l = a_list(2);

	for (unsigned n = 1; n <= 5; n++)
		put_row(f, n, 1, a_row("w", n % 2 ? "idle" : "archived", false));
	l.except = AR_STR("archived");
	expect_sessions(f, l, NUMBERS(5, 3), true);
	l.before = sess(3);
	expect_sessions(f, l, NUMBERS(1), false);
	l.except = AR_STR("idle");
	l.active_only = true;
	expect_sessions(f, l, NUMBERS(), false);
}

void session_filters_are_exact(void **state)
{
	struct fixture *f = *state;
	struct ar_store_sessions w = a_list(10), s = a_list(10), active = a_list(2), both = a_list(10),
				 account = a_list(10);

	put_row(f, 1, 1, a_row("w1", "idle", false));
	put_row(f, 2, 1, a_row("w1", "running", true));
	put_row(f, 3, 1, a_row("w2", "running", true));
	put_row(f, 4, 1, a_row("w2", "waiting", true));
	put_row(f, 5, 1, a_row(NULL, "idle", false));
	w.workspace = AR_STR("w1");
	expect_sessions(f, w, NUMBERS(2, 1), false);
	w.workspace = AR_STR("w");
	expect_sessions(f, w, NUMBERS(), false);
	s.status = AR_STR("running");
	expect_sessions(f, s, NUMBERS(3, 2), false);
	active.active_only = true;
	expect_sessions(f, active, NUMBERS(4, 3), true);
	active.before = sess(3);
	expect_sessions(f, active, NUMBERS(2), false);
	both.active_only = true;
	both.workspace = AR_STR("w2");
	both.status = AR_STR("running");
	expect_sessions(f, both, NUMBERS(3), false);
	account.account = AR_STR("acct");
	expect_sessions(f, account, NUMBERS(5, 4, 3, 2, 1), false);
	account.account = AR_STR("nobody");
	expect_sessions(f, account, NUMBERS(), false);
}

static void want(uint64_t bits[AR_PARTITIONS / 64], unsigned session)
{
	unsigned partition = ar_id_partition(sess(session));

	bits[partition / 64] |= UINT64_C(1) << partition % 64;
}

/* Only what passes counts towards the limit, and `more` is about those alone. */
void sessions_are_listed_by_partition(void **state)
{
	struct fixture *f = *state;
	uint64_t bits[AR_PARTITIONS / 64] = { 0 };
	struct ar_store_sessions l = a_list(2), active = a_list(5);

	for (unsigned n = 1; n <= 8; n++)
		put_row(f, n, 1, a_row("w", "idle", n % 2 == 0));
	l.partitions = active.partitions = bits;
	expect_sessions(f, l, NUMBERS(), false);
	want(bits, 2);
	want(bits, 3);
	want(bits, 6);
	expect_sessions(f, l, NUMBERS(6, 3), true);
	l.before = sess(3);
	expect_sessions(f, l, NUMBERS(2), false);
	l.before = sess(6);
	expect_sessions(f, l, NUMBERS(3, 2), false);
	active.active_only = true;
	expect_sessions(f, active, NUMBERS(6, 2), false);
	active.workspace = AR_STR("other");
	expect_sessions(f, active, NUMBERS(), false);
}

void session_rows_follow_their_last_append(void **state)
{
	struct fixture *f = *state;
	struct ar_store_sessions l = a_list(10);

	put_row(f, 1, 1, a_row("w", "running", true));
	put_row(f, 2, 1, a_row("w", "running", true));
	put_row(f, 1, 2, a_row("w", "idle", false));
	put(f, sess(2), 2, 2, "leaves the row");
	l.active_only = true;
	expect_sessions(f, l, NUMBERS(2), false);
	l.active_only = false;
	l.status = AR_STR("idle");
	expect_sessions(f, l, NUMBERS(1), false);
}

/* ---- tasks ---- */

static void put_tasks(struct fixture *f, uint64_t seq, const struct ar_store_task_row *tasks, size_t count)
{
	struct ar_store_append a = an_append(sess(1), seq, seq, "x");

	a.tasks = tasks;
	a.task_count = count;
	assert_int_equal(run(f, &a.op), AR_OK);
	ar_store_op_fini(&a.op);
}

static struct ar_store_tasks a_task_list(size_t limit)
{
	return (struct ar_store_tasks){ .op = { .kind = AR_STORE_TASKS, .done = note_done },
					.session = sess(1),
					.limit = limit,
					.with_internal = true };
}

/* The records must be these, one letter each; returns `next`. */
static uint64_t expect_tasks(struct fixture *f, struct ar_store_tasks l, const char *records)
{
	char all[64] = "";

	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	for (size_t i = 0; i < l.count; i++)
		strncat(all, l.rows[i].record.p, l.rows[i].record.len);
	assert_string_equal(all, records);
	ar_store_op_fini(&l.op);
	return l.next;
}

static void expect_row(const struct ar_store_task_row *row, const char *task, const char *status,
		       bool is_internal)
{
	assert_str(row->task, task);
	assert_str(row->status, status);
	assert_int_equal(row->is_internal, is_internal);
}

static const struct ar_store_task_row some_tasks[] = {
	{ AR_STR("task_z"), AR_STR("open"), AR_STR("1"), false },
	{ AR_STR("task_a"), AR_STR("open"), AR_STR("2"), true },
	{ AR_STR("task_m"), AR_STR("done"), AR_STR("3"), false },
	{ AR_STR("task_b"), AR_STR("open"), AR_STR("4"), false },
};

void tasks_come_in_order_of_creation(void **state)
{
	static const struct ar_store_task_row changed = { AR_STR("task_z"), AR_STR("done"), AR_STR("Z"),
							  false };
	struct fixture *f = *state;
	struct ar_store_tasks l = a_task_list(2);

	assert_int_equal(expect_tasks(f, l, ""), 0);
	put_tasks(f, 1, some_tasks, 3);
	put_tasks(f, 2, some_tasks + 3, 1);
	put_tasks(f, 3, &changed, 1);
	l.after = expect_tasks(f, l, "Z2");
	assert_int_not_equal(l.after, 0);
	assert_int_equal(expect_tasks(f, l, "34"), 0);
	l = a_task_list(3);
	l.after = expect_tasks(f, l, "Z23");
	assert_int_equal(expect_tasks(f, l, "4"), 0);
	l.after = UINT64_MAX;
	assert_int_equal(expect_tasks(f, l, ""), 0);
	l = a_task_list(10);
	l.session = sess(2);
	assert_int_equal(expect_tasks(f, l, ""), 0);
}

void task_filters_and_single_tasks(void **state)
{
	struct fixture *f = *state;
	struct ar_store_tasks l = a_task_list(10), one = a_task_list(0);

	put_tasks(f, 1, some_tasks, AR_ARRAY_LEN(some_tasks));
	l.with_internal = false;
	assert_int_equal(expect_tasks(f, l, "134"), 0);
	l.with_internal = l.is_check = true;
	run(f, &l.op);
	assert_int_equal(l.count, 4);
	expect_row(&l.rows[1], "task_a", "open", true);
	expect_row(&l.rows[2], "task_m", "done", false);
	ar_store_op_fini(&l.op);
	l = a_task_list(10);
	l.with_internal = false;
	l.status = AR_STR("open");
	assert_int_equal(expect_tasks(f, l, "14"), 0);
	l.limit = 1;
	l.after = expect_tasks(f, l, "1");
	assert_int_equal(expect_tasks(f, l, "4"), 0);
	one.task = AR_STR("task_m");
	expect_tasks(f, one, "3");
	one.task = AR_STR("task_x");
	run(f, &one.op);
	assert_status(&one.op, AR_E_NOT_FOUND);
	one.task = AR_STR("task_m");
	one.session = sess(2);
	run(f, &one.op);
	assert_status(&one.op, AR_E_NOT_FOUND);
}

/* ---- what is stored beside the log ---- */

void index_of_a_session(void **state)
{
	static const struct ar_store_session_row row = { .active = true,
							 .created = 5,
							 .updated = 7,
							 .account = AR_STR("a"),
							 .status = AR_STR("running"),
							 .shell = AR_STR("{}") };
	struct fixture *f = *state;
	struct ar_store_append a = an_append(sess(1), 1, 2, "facts"), b = an_append(sess(1), 3, 3, "more");
	struct ar_store_index i = { .op = { .kind = AR_STORE_INDEX, .done = note_done }, .session = sess(1) };

	assert_int_equal(run(f, &i.op), AR_OK);
	assert_false(i.has_row || i.has_snapshot);
	a.row = &row;
	a.snapshot = AR_STR("snap");
	assert_int_equal(run(f, &a.op), AR_OK);
	assert_int_equal(run(f, &b.op), AR_OK);
	assert_int_equal(run(f, &i.op), AR_OK);
	assert_true(i.has_row && i.has_snapshot && i.row.active);
	assert_int_equal(i.row.created, 5);
	assert_int_equal(i.row.updated, 7);
	assert_str(i.row.workspace, NULL);
	assert_str(i.row.account, "a");
	assert_str(i.row.status, "running");
	assert_str(i.row.shell, "{}");
	assert_str(i.snapshot, "snap");
	assert_int_equal(i.snapshot_seq, 2);
	ar_store_op_fini(&i.op);
	i.session = AR_STR("not a session");
	assert_int_equal(run(f, &i.op), AR_OK);
	assert_false(i.has_row || i.has_snapshot);
}

/* ---- tenants ---- */

static void put_of(struct fixture *f, unsigned n, uint64_t seq, const char *tenant)
{
	struct ar_store_session_row row = a_row("w", "idle", n % 2 == 0);

	row.tenant = ar_str_from(tenant);
	put_row(f, n, seq, row);
}

static struct ar_store_sessions list_of(const char *tenant, size_t limit)
{
	struct ar_store_sessions l = a_list(limit);

	l.tenant = ar_str_from(tenant);
	return l;
}

/* Others are not in the list, nor do they count towards its pages. */
void sessions_are_listed_by_tenant(void **state)
{
	struct fixture *f = *state;
	struct ar_store_sessions l = list_of("acme", 2), bad = a_list(1);
	uint64_t bits[AR_PARTITIONS / 64];

	put_of(f, 1, 1, "acme");
	put_of(f, 2, 1, "zeta");
	put_of(f, 3, 1, NULL);
	put_of(f, 4, 1, "acme");
	put_of(f, 5, 1, "zeta");
	put_of(f, 6, 1, "acme");
	put_of(f, 6, 2, "acme");
	expect_sessions(f, l, NUMBERS(6, 4), true);
	l.before = sess(4);
	expect_sessions(f, l, NUMBERS(1), false);
	l.before = sess(5); /* a place of another tenant's list is one in ours */
	expect_sessions(f, l, NUMBERS(4, 1), false);
	expect_sessions(f, list_of("zeta", 9), NUMBERS(5, 2), false);
	expect_sessions(f, list_of("local", 9), NUMBERS(3), false);
	expect_sessions(f, list_of("acm", 9), NUMBERS(), false);
	expect_sessions(f, a_list(9), NUMBERS(6, 5, 4, 3, 2, 1), false);
	l = list_of("acme", 9);
	l.active_only = true;
	expect_sessions(f, l, NUMBERS(6, 4), false);
	l.partitions = memset(bits, 0xff, sizeof bits);
	expect_sessions(f, l, NUMBERS(6, 4), false);
	l = list_of("acme", 1);
	l.above = sess(4);
	expect_sessions(f, l, NUMBERS(6), false);
	l = a_list(9);
	l.above = sess(2);
	l.before = sess(5);
	expect_sessions(f, l, NUMBERS(4, 3), false);
	bad.above = AR_STR("nonsense");
	run(f, &bad.op);
	assert_status(&bad.op, AR_E_INVALID);
}

static void expect_tenant(struct fixture *f, struct ar_str session, const char *tenant)
{
	struct ar_store_tenant t = { .op = { .kind = AR_STORE_TENANT, .done = note_done },
				     .session = session };

	run(f, &t.op);
	assert_status(&t.op, AR_OK);
	assert_str(t.tenant, tenant);
	ar_store_op_fini(&t.op);
}

void tenant_of_a_session(void **state)
{
	struct fixture *f = *state;
	struct ar_store_session_row row = { .tenant = AR_STR("acme"), .shell = AR_STR("{}") };
	struct ar_store_append again = an_append(sess(3), 2, 2, "x");
	struct ar_store_index i = { .op = { .kind = AR_STORE_INDEX, .done = note_done }, .session = sess(3) };

	put_of(f, 1, 1, "acme");
	put_of(f, 2, 1, NULL);
	put(f, sess(3), 1, 1, "its row was lost");
	expect_tenant(f, sess(1), "acme");
	expect_tenant(f, sess(2), "local");
	expect_tenant(f, sess(3), "local");
	expect_tenant(f, sess(9), NULL);
	expect_tenant(f, AR_STR("not a session"), NULL);
	again.row = &row; /* as a repair writes it */
	again.snapshot = AR_STR("snap");
	assert_int_equal(run(f, &again.op), AR_OK);
	expect_tenant(f, sess(3), "acme");
	put_of(f, 2, 2, NULL);
	expect_tenant(f, sess(2), "local");
	assert_int_equal(run(f, &i.op), AR_OK);
	assert_str(i.row.tenant, "acme");
	ar_store_op_fini(&i.op);
	ar_store_op_fini(&again.op);
}
