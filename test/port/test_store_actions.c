/* See store_contract.h: rows of actions, which are listed over all sessions. */
#include "store_contract.h"

#include <stdio.h>
#include <string.h>

#define HOUR ((ar_usec)3600 * 1000000)
#define NOW ((ar_usec)1800000000 * 1000000) /* later than the ids of sess() */

static struct ar_store_action_row an_action(const char *id, const char *account, ar_usec created,
					    const char *record)
{
	return (struct ar_store_action_row){ .action = ar_str_from(id),
					     .account = ar_str_from(account),
					     .created = created,
					     .is_pending = true,
					     .record = ar_str_from(record) };
}

static struct ar_store_action_row answered(struct ar_store_action_row row, const char *record)
{
	row.is_pending = false;
	row.record = ar_str_from(record);
	return row;
}

static enum ar_status put_rows(struct fixture *f, unsigned session, uint64_t seq,
			       const struct ar_store_action_row *rows, size_t count)
{
	struct ar_store_session_row row = { .created = NOW, .updated = NOW, .shell = AR_STR("{}") };
	struct ar_store_append a = an_append(sess(session), seq, seq, "x");
	enum ar_status st;

	a.row = &row;
	a.actions = rows;
	a.action_count = count;
	st = run(f, &a.op);
	ar_store_op_fini(&a.op);
	return st;
}

static void put_action(struct fixture *f, unsigned session, uint64_t seq, struct ar_store_action_row row)
{
	assert_int_equal(put_rows(f, session, seq, &row, 1), AR_OK);
}

static struct ar_store_actions a_list(enum ar_store_action_filter filter, const char *account)
{
	return (struct ar_store_actions){ .op = { .kind = AR_STORE_ACTIONS, .done = note_done },
					  .account = ar_str_from(account),
					  .filter = filter,
					  .limit = 10 };
}

static struct ar_store_actions of_session(struct ar_store_actions l, unsigned n)
{
	l.session = sess(n);
	return l;
}

/* The records must be these, one letter each, with a '+' where there are more. */
static void expect_list(struct fixture *f, struct ar_store_actions l, const char *records)
{
	char all[64] = "";

	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	for (size_t i = 0; i < l.count; i++)
		strncat(all, l.rows[i].record.p, l.rows[i].record.len);
	if (l.more)
		strcat(all, "+");
	assert_string_equal(all, records);
	ar_store_op_fini(&l.op);
}

/* All pages of that size, as a caller walks them, separated by spaces. */
static void expect_pages(struct fixture *f, struct ar_store_actions l, size_t limit, const char *records)
{
	char all[128] = "", after[64];

	l.limit = limit;
	do {
		run(f, &l.op);
		assert_status(&l.op, AR_OK);
		assert_true(l.count <= limit);
		for (size_t i = 0; i < l.count; i++)
			strncat(all, l.rows[i].record.p, l.rows[i].record.len);
		if (l.more) {
			strcat(all, " ");
			snprintf(after, sizeof after, "%.*s", AR_STR_ARG(l.rows[l.count - 1].action));
			l.after = ar_str_from(after);
			l.after_created = l.rows[l.count - 1].created;
		}
		ar_store_op_fini(&l.op);
	} while (l.more);
	assert_string_equal(all, records);
}

void actions_come_oldest_first_in_pages(void **state)
{
	struct fixture *f = *state;
	struct ar_store_actions l = a_list(AR_STORE_ACTION_ANY, NULL);
	struct ar_store_action_row same_time[] = { an_action("c", "t", 20, "4"), an_action("b", "t", 20, "3"),
						   an_action("a", "t", 30, "5") };

	expect_list(f, l, "");
	assert_int_equal(put_rows(f, 1, 1, same_time, AR_ARRAY_LEN(same_time)), AR_OK);
	put_action(f, 2, 1, an_action("z", "t", 10, "1"));
	put_action(f, 3, 1, an_action("aa", "t", 20, "2"));
	expect_list(f, l, "12345");
	l.limit = 5;
	expect_list(f, l, "12345");
	l.limit = 2;
	expect_list(f, l, "12+");
	expect_pages(f, l, 1, "1 2 3 4 5");
	expect_pages(f, l, 2, "12 34 5");
	expect_pages(f, of_session(l, 1), 2, "34 5");
	expect_pages(f, a_list(AR_STORE_ACTION_PENDING, "t"), 3, "123 45");
	l.after = AR_STR("a");
	l.after_created = 30;
	expect_list(f, l, "");
}

/* One row per action, whatever changes in it; what is in it comes back. */
void action_rows_are_replaced(void **state)
{
	struct fixture *f = *state;
	struct ar_store_action_row row = an_action("a", "t", 7, "p");
	struct ar_store_actions l = a_list(AR_STORE_ACTION_ANY, NULL);

	put_action(f, 1, 1, row);
	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	assert_int_equal(l.count, 1);
	assert_str(l.rows[0].action, "a");
	assert_str(l.rows[0].account, "t");
	assert_int_equal(l.rows[0].created, 7);
	assert_true(l.rows[0].is_pending);
	ar_store_op_fini(&l.op);
	put_action(f, 1, 2, answered(row, "r"));
	expect_list(f, l, "r");
	expect_list(f, a_list(AR_STORE_ACTION_PENDING, NULL), "");
	row.created = 8; /* as a repair does */
	put_action(f, 1, 3, answered(row, "r"));
	put(f, sess(1), 4, 4, "leaves the row");
	expect_list(f, l, "r");
	l.is_check = true;
	run(f, &l.op);
	assert_false(l.rows[0].is_pending);
	ar_store_op_fini(&l.op);
}

void action_filters_are_exact(void **state)
{
	struct fixture *f = *state;
	struct ar_store_actions nobody = a_list(AR_STORE_ACTION_ANY, NULL);

	put_action(f, 1, 1, an_action("a", "t1", 1, "a"));
	put_action(f, 1, 2, answered(an_action("b", "t1", 2, ""), "b"));
	put_action(f, 2, 1, an_action("c", "t2", 3, "c"));
	put_action(f, 2, 2, answered(an_action("d", "t2", 4, ""), "d"));
	put_action(f, 3, 1, an_action("e", NULL, 5, "e"));
	put_action(f, 4, 1, an_action("f", "t1", 6, "f"));
	expect_list(f, a_list(AR_STORE_ACTION_ANY, NULL), "abcdef");
	expect_list(f, a_list(AR_STORE_ACTION_PENDING, NULL), "acef");
	expect_list(f, a_list(AR_STORE_ACTION_RESOLVED, NULL), "bd");
	expect_list(f, a_list(AR_STORE_ACTION_ANY, "t1"), "abf");
	expect_list(f, a_list(AR_STORE_ACTION_PENDING, "t1"), "af");
	expect_list(f, a_list(AR_STORE_ACTION_RESOLVED, "t2"), "d");
	expect_list(f, a_list(AR_STORE_ACTION_ANY, "t"), "");
	expect_list(f, a_list(AR_STORE_ACTION_PENDING, ""), "");
	expect_list(f, of_session(a_list(AR_STORE_ACTION_ANY, NULL), 1), "ab");
	expect_list(f, of_session(a_list(AR_STORE_ACTION_PENDING, NULL), 1), "a");
	expect_list(f, of_session(a_list(AR_STORE_ACTION_RESOLVED, NULL), 2), "d");
	expect_list(f, of_session(a_list(AR_STORE_ACTION_ANY, "t2"), 1), "");
	expect_list(f, of_session(a_list(AR_STORE_ACTION_PENDING, "t2"), 2), "c");
	expect_list(f, of_session(a_list(AR_STORE_ACTION_ANY, NULL), 9), "");
	nobody.session = AR_STR("not a session");
	expect_list(f, nobody, "");
}

/* The same id in two sessions is two actions; the last word in one flight stays. */
void actions_in_one_flight_keep_the_last(void **state)
{
	struct fixture *f = *state;
	struct ar_store_action_row asked = an_action("x", "t", 1, "p"), other = an_action("x", "t", 1, "o");
	struct ar_store_action_row told = answered(asked, "r");
	struct ar_store_append a = an_append(sess(1), 1, 1, "a"), b = an_append(sess(1), 2, 2, "b"),
			       c = an_append(sess(2), 1, 1, "c");

	a.actions = &asked;
	b.actions = &told;
	c.actions = &other;
	a.action_count = b.action_count = c.action_count = 1;
	give(f, &a.op);
	give(f, &b.op);
	give(f, &c.op);
	wait_for(f, &a.op);
	wait_for(f, &b.op);
	wait_for(f, &c.op);
	expect_list(f, of_session(a_list(AR_STORE_ACTION_ANY, NULL), 1), "r");
	expect_list(f, a_list(AR_STORE_ACTION_PENDING, "t"), "o");
	ar_store_op_fini(&a.op);
	ar_store_op_fini(&b.op);
	ar_store_op_fini(&c.op);
}

void actions_go_with_their_session(void **state)
{
	struct fixture *f = *state;

	put_action(f, 1, 1, an_action("a", "t", 1, "a"));
	put_action(f, 2, 1, answered(an_action("b", "t", 2, ""), "b"));
	assert_int_equal(keep_up(f, an_upkeep(NOW - HOUR, 10)), 0);
	expect_list(f, a_list(AR_STORE_ACTION_ANY, NULL), "ab");
	assert_int_equal(keep_up(f, an_upkeep(NOW + HOUR, 10)), 2);
	expect_list(f, a_list(AR_STORE_ACTION_ANY, NULL), "");
	put_action(f, 1, 1, an_action("a", "t", 9, "c"));
	expect_list(f, a_list(AR_STORE_ACTION_ANY, NULL), "c");
}

void malformed_actions_are_refused(void **state)
{
	static char long_name[2000];
	struct fixture *f = *state;
	struct ar_store_action_row bad[] = { an_action("", "t", 1, "x"), an_action(NULL, "t", 1, "x"),
					     an_action("a", "t", -1, "x"), an_action("a", long_name, 1, "x"),
					     an_action(long_name, "t", 1, "x") };

	memset(long_name, 'n', sizeof long_name - 1);
	bad[3].account = bad[4].action = ar_str_from(long_name);
	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++)
		assert_int_equal(put_rows(f, 1, 1, &bad[i], 1), AR_E_INVALID);
	put_action(f, 1, 1, an_action("a", "", 0, "x"));
	expect_list(f, a_list(AR_STORE_ACTION_ANY, ""), "x");
}

static struct ar_store_action_row of_tenant(struct ar_store_action_row row, const char *tenant)
{
	row.tenant = ar_str_from(tenant);
	return row;
}

static struct ar_store_actions list_of(const char *tenant, enum ar_store_action_filter filter,
				       const char *account)
{
	struct ar_store_actions l = a_list(filter, account);

	l.tenant = ar_str_from(tenant);
	return l;
}

void actions_are_listed_by_tenant(void **state)
{
	struct fixture *f = *state;

	put_action(f, 1, 1, of_tenant(an_action("a", "t1", 1, "a"), "acme"));
	put_action(f, 1, 2, of_tenant(answered(an_action("b", "t2", 2, ""), "b"), "acme"));
	put_action(f, 2, 1, of_tenant(an_action("c", "t1", 3, "c"), "zeta"));
	put_action(f, 3, 1, an_action("d", "t1", 4, "d"));
	put_action(f, 4, 1, of_tenant(an_action("e", "t1", 5, "e"), "acme"));
	expect_list(f, list_of("acme", AR_STORE_ACTION_ANY, NULL), "abe");
	expect_list(f, list_of("acme", AR_STORE_ACTION_PENDING, NULL), "ae");
	expect_list(f, list_of("acme", AR_STORE_ACTION_RESOLVED, NULL), "b");
	expect_list(f, list_of("acme", AR_STORE_ACTION_ANY, "t1"), "ae");
	expect_list(f, list_of("acme", AR_STORE_ACTION_RESOLVED, "t2"), "b");
	expect_pages(f, list_of("acme", AR_STORE_ACTION_PENDING, "t1"), 1, "a e");
	expect_list(f, list_of("local", AR_STORE_ACTION_ANY, NULL), "d");
	expect_list(f, list_of("nobody", AR_STORE_ACTION_ANY, NULL), "");
	expect_list(f, of_session(list_of("acme", AR_STORE_ACTION_ANY, NULL), 1), "ab");
	expect_list(f, of_session(list_of("acme", AR_STORE_ACTION_ANY, NULL), 2), "");
	expect_list(f, a_list(AR_STORE_ACTION_PENDING, "t1"), "acde");
	put_action(f, 2, 2, of_tenant(an_action("c", "t1", 3, "C"), "acme")); /* as a repair writes it */
	expect_list(f, list_of("acme", AR_STORE_ACTION_PENDING, NULL), "aCe");
}
