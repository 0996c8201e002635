/* See store_contract.h: sums of what was used, and what lists over all sessions are found by. */
#include "store_contract.h"
#include "store/usage.h"

#include <stdio.h>
#include <string.h>

#define HOUR AR_STORE_HOUR
#define NOW ((ar_usec)1800000000 * 1000000) /* later than the ids of sess() */

static struct ar_store_usage_row used(int64_t hour, const char *workspace, const char *model, int64_t tokens)
{
	return (struct ar_store_usage_row){ .hour = hour,
					    .workspace = ar_str_from(workspace),
					    .model = ar_str_from(model),
					    .currency = AR_STR("USD"),
					    .requests = 1,
					    .input_tokens = tokens,
					    .output_tokens = 2 * tokens,
					    .cached_tokens = 3 * tokens,
					    .cost = 4 * tokens };
}

static enum ar_status put_usage(struct fixture *f, unsigned session, uint64_t seq,
				const struct ar_store_usage_row *rows, size_t count)
{
	struct ar_store_session_row row = { .created = NOW, .updated = NOW, .shell = AR_STR("{}") };
	struct ar_store_append a = an_append(sess(session), seq, seq, "x");
	enum ar_status st;

	a.row = &row;
	a.usage = rows;
	a.usage_count = count;
	st = run(f, &a.op);
	ar_store_op_fini(&a.op);
	return st;
}

static struct ar_store_usage by(enum ar_store_usage_by kind, const char *tenant)
{
	return (struct ar_store_usage){
		.by = kind, .tenant = tenant ? ar_str_from(tenant) : AR_STR_NONE, .to = 1000, .limit = 10
	};
}

static void add_line(char *all, size_t size, struct ar_store_usage *l, struct ar_store_usage_row *row)
{
	struct ar_str *name = ar_store_usage_name(row, l->by);
	char key[64];

	if (name)
		snprintf(key, sizeof key, "%.*s", AR_STR_ARG(*name));
	else
		snprintf(key, sizeof key, "%lld", (long long)row->hour);
	assert_int_equal(row->output_tokens, 2 * row->input_tokens);
	assert_int_equal(row->cached_tokens, 3 * row->input_tokens);
	snprintf(all + strlen(all), size - strlen(all), "%s%.*s=%lld/%lld ", key, AR_STR_ARG(row->currency),
		 (long long)row->input_tokens, (long long)row->requests);
}

/* Key and currency, tokens and requests of each row, with a '+' where there are more. The last row is where
 * the next page begins. */
static void expect(struct fixture *f, struct ar_store_usage *l, const char *lines)
{
	static char last_name[64], last_currency[64];
	char all[256] = "";

	l->op = (struct ar_store_op){ .kind = AR_STORE_USAGE, .done = note_done };
	run(f, &l->op);
	assert_status(&l->op, AR_OK);
	for (size_t i = 0; i < l->count; i++)
		add_line(all, sizeof all, l, &l->rows[i]);
	if (l->more)
		strcat(all, "+");
	assert_string_equal(all, lines);
	if (l->count > 0) {
		struct ar_store_usage_row *last = &l->rows[l->count - 1];
		struct ar_str *name = ar_store_usage_name(last, l->by);

		snprintf(last_name, sizeof last_name, "%.*s", AR_STR_ARG(name ? *name : AR_STR("")));
		snprintf(last_currency, sizeof last_currency, "%.*s", AR_STR_ARG(last->currency));
		l->after = (struct ar_store_usage_row){ .hour = last->hour,
							.currency = ar_str_from(last_currency) };
		name = ar_store_usage_name(&l->after, l->by);
		if (name)
			*name = ar_str_from(last_name);
		l->has_after = true;
	}
	ar_store_op_fini(&l->op);
}

static void expect_once(struct fixture *f, struct ar_store_usage l, const char *lines)
{
	expect(f, &l, lines);
}

void usage_is_added_up(void **state)
{
	struct fixture *f = *state;
	struct ar_store_usage_row free_call = used(7, "w1", "m1", 9), other = used(5, "w1", "m1", 50);
	const struct ar_store_usage_row first[] = { used(5, "w1", "m1", 1), used(5, "w1", "m1", 2),
						    used(5, "w2", "m1", 4), used(7, "w2", "m2", 8) };
	struct ar_store_usage l;

	free_call.currency = AR_STR_NONE;
	free_call.cost = 0;
	other.tenant = AR_STR("acme");
	assert_int_equal(put_usage(f, 1, 1, first, AR_ARRAY_LEN(first)), AR_OK);
	assert_int_equal(put_usage(f, 2, 1, &free_call, 1), AR_OK);
	assert_int_equal(put_usage(f, 3, 1, &other, 1), AR_OK);
	expect_once(f, by(AR_STORE_USAGE_HOUR, "local"), "5USD=7/3 7=9/1 7USD=8/1 ");
	expect_once(f, by(AR_STORE_USAGE_MODEL, "local"), "m1=9/1 m1USD=7/3 m2USD=8/1 ");
	expect_once(f, by(AR_STORE_USAGE_WORKSPACE, "local"), "w1=9/1 w1USD=3/2 w2USD=12/2 ");
	expect_once(f, by(AR_STORE_USAGE_TENANT, "local"), "local=9/1 localUSD=15/4 ");
	expect_once(f, by(AR_STORE_USAGE_TENANT, NULL), "acmeUSD=50/1 local=9/1 localUSD=15/4 ");
	expect_once(f, by(AR_STORE_USAGE_HOUR, "acme"), "5USD=50/1 ");
	expect_once(f, by(AR_STORE_USAGE_HOUR, "nobody"), "");
	l = by(AR_STORE_USAGE_MODEL, "local");
	l.from = 6;
	expect_once(f, l, "m1=9/1 m2USD=8/1 ");
	l.from = 5;
	l.to = 7;
	expect_once(f, l, "m1USD=7/3 ");
	l = by(AR_STORE_USAGE_HOUR, "local");
	l.workspace = AR_STR("w2");
	expect_once(f, l, "5USD=4/1 7USD=8/1 ");
	l.model = AR_STR("m2");
	expect_once(f, l, "7USD=8/1 ");
	fixture_reopen(f);
	assert_int_equal(put_usage(f, 1, 2, first, 1), AR_OK);
	expect_once(f, by(AR_STORE_USAGE_HOUR, "local"), "5USD=8/4 7=9/1 7USD=8/1 ");
}

void usage_comes_in_pages(void **state)
{
	struct fixture *f = *state;
	struct ar_store_usage_row rows[] = { used(5, "", "m", 1), used(5, "w", "m", 2),
					     used(6, "w", "n", 4) };
	static const enum ar_store_usage_by kinds[] = { AR_STORE_USAGE_HOUR, AR_STORE_USAGE_WORKSPACE };
	static const char *const pages[][3] = { { "5=1/1 +", "5USD=2/1 +", "6USD=4/1 " },
						{ "=1/1 +", "wUSD=6/2 ", "" } };

	rows[0].currency = AR_STR_NONE;
	assert_int_equal(put_usage(f, 1, 1, rows, AR_ARRAY_LEN(rows)), AR_OK);
	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		struct ar_store_usage l = by(kinds[i], "local");

		l.limit = 1;
		for (size_t k = 0; k < 3; k++)
			expect(f, &l, pages[i][k]);
	}
}

void usage_of_a_refused_append_is_not_counted(void **state)
{
	struct fixture *f = *state;
	struct ar_store_usage_row row = used(5, "w", "m", 1), bad = used(5, "w", "m", 1);
	char longer[AR_STORE_USAGE_NAME + 2];

	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = 0;
	assert_int_equal(put_usage(f, 1, 1, &row, 1), AR_OK);
	assert_int_equal(put_usage(f, 1, 9, &row, 1), AR_E_INVALID);
	bad.model = ar_str_from(longer);
	assert_int_equal(put_usage(f, 1, 2, &bad, 1), AR_E_INVALID);
	bad = row;
	bad.input_tokens = -1;
	assert_int_equal(put_usage(f, 1, 2, &bad, 1), AR_E_INVALID);
	expect_once(f, by(AR_STORE_USAGE_HOUR, "local"), "5USD=1/1 ");
}

/* Sums outlive their session, until their hour is old. */
void usage_goes_with_its_age(void **state)
{
	struct fixture *f = *state;
	const struct ar_store_usage_row rows[] = { used(5, "w", "m", 1), used(6, "w", "m", 2) };
	struct ar_store_upkeep op = an_upkeep(NOW + HOUR, 10), old = an_upkeep(0, 10);

	assert_int_equal(put_usage(f, 1, 1, rows, 2), AR_OK);
	run(f, &op.op);
	assert_status(&op.op, AR_OK);
	assert_int_equal(op.removed, 1);
	assert_int_equal(op.usages, 0);
	ar_store_op_fini(&op.op);
	expect_once(f, by(AR_STORE_USAGE_HOUR, "local"), "5USD=1/1 6USD=2/1 ");
	old.usage_before = 6 * HOUR + HOUR / 2;
	run(f, &old.op);
	assert_status(&old.op, AR_OK);
	assert_int_equal(old.usages, 1);
	ar_store_op_fini(&old.op);
	expect_once(f, by(AR_STORE_USAGE_HOUR, "local"), "6USD=2/1 ");
}

/* ---- lists over all sessions ---- */

static void put_row(struct fixture *f, unsigned n, uint64_t seq, const char *tenant, bool is_open,
		    bool is_same)
{
	struct ar_store_append a = an_append(sess(n), seq, seq, "x");
	struct ar_store_session_row row = { .created = 5,
					    .updated = (ar_usec)seq,
					    .active = is_open,
					    .has_same_flags = is_same,
					    .shell = AR_STR("{}"),
					    .tenant = ar_str_from(tenant),
					    .open = is_open };

	a.row = &row;
	assert_int_equal(run(f, &a.op), AR_OK);
	ar_store_op_fini(&a.op);
}

static void put_open(struct fixture *f, unsigned n, uint64_t seq, const char *tenant, bool is_open)
{
	put_row(f, n, seq, tenant, is_open, false);
}

static void expect_open(struct fixture *f, const char *tenant, const char *sessions)
{
	struct ar_store_sessions l = { .op = { .kind = AR_STORE_SESSIONS, .done = note_done },
				       .tenant = tenant ? ar_str_from(tenant) : AR_STR_NONE,
				       .open_only = true,
				       .limit = 10 };
	char all[32] = "";

	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	for (size_t i = 0; i < l.count; i++) {
		for (unsigned n = 1; n < 6; n++) {
			if (ar_str_eq(l.ids[i], sess(n)))
				snprintf(all + strlen(all), sizeof all - strlen(all), "%u", n);
		}
	}
	assert_string_equal(all, sessions);
	ar_store_op_fini(&l.op);
}

void open_sessions_are_listed(void **state)
{
	struct fixture *f = *state;
	struct ar_store_index row = { .op = { .kind = AR_STORE_INDEX, .done = note_done },
				      .session = sess(3) };

	put_open(f, 1, 1, "acme", true);
	put_open(f, 2, 1, "acme", false);
	put_open(f, 3, 1, "acme", true);
	put_open(f, 4, 1, "other", true);
	expect_open(f, "acme", "31");
	expect_open(f, "other", "4");
	expect_open(f, NULL, "431");
	assert_int_equal(run(f, &row.op), AR_OK);
	assert_true(row.row.open);
	ar_store_op_fini(&row.op);
	put_open(f, 3, 2, "acme", false);
	put_open(f, 2, 2, "acme", true);
	expect_open(f, "acme", "21");
	put_row(f, 1, 2, "acme", true, true); /* as it was: the rest of the row is new */
	put_row(f, 5, 1, "acme", true, true); /* and one that has no row is made */
	expect_open(f, "acme", "521");
	row.session = sess(1);
	assert_int_equal(run(f, &row.op), AR_OK);
	assert_true(row.row.open && row.row.active && row.row.updated == 2);
	ar_store_op_fini(&row.op);
}

void tasks_are_listed_without_some_statuses(void **state)
{
	struct fixture *f = *state;
	const struct ar_store_task_row rows[] = {
		{ .task = AR_STR("t1"), .status = AR_STR("running"), .record = AR_STR("1") },
		{ .task = AR_STR("t2"), .status = AR_STR("completed"), .record = AR_STR("2") },
		{ .task = AR_STR("t3"), .status = AR_STR("lost"), .record = AR_STR("3") },
		{ .task = AR_STR("t4"), .status = AR_STR("run"), .record = AR_STR("4") }
	};
	struct ar_store_append a = an_append(sess(1), 1, 1, "x");
	struct ar_store_tasks l = { .op = { .kind = AR_STORE_TASKS, .done = note_done },
				    .session = sess(1),
				    .except = AR_STR(",completed,running,"),
				    .limit = 1 };

	a.tasks = rows;
	a.task_count = AR_ARRAY_LEN(rows);
	assert_int_equal(run(f, &a.op), AR_OK);
	ar_store_op_fini(&a.op);
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.count, 1);
	assert_true(ar_str_is(l.rows[0].record, "3"));
	l.after = l.next;
	ar_store_op_fini(&l.op);
	l.op = (struct ar_store_op){ .kind = AR_STORE_TASKS, .done = note_done };
	assert_int_equal(run(f, &l.op), AR_OK);
	assert_int_equal(l.count, 1);
	assert_true(ar_str_is(l.rows[0].record, "4"));
	assert_int_equal(l.next, 0);
	ar_store_op_fini(&l.op);
}
