/* See store_contract.h: the audit trail. */
#include "postgres_fixture.h"
#include "store_audit.h"
#include "store_contract.h"
#include "store_token.h"

#include <string.h>

static struct ar_store_audit an_entry(const char *tenant, ar_usec at, const char *record)
{
	return (struct ar_store_audit){ .tenant = ar_str_from(tenant),
					.at = at,
					.record = ar_str_from(record) };
}

static void put_entry(struct fixture *f, const char *tenant, ar_usec at, const char *record)
{
	struct ar_store_audit e = an_entry(tenant, at, record);
	struct ar_store_audit_put p = { .op = { .kind = AR_STORE_AUDIT_PUT, .done = note_done },
					.entry = &e };

	run(f, &p.op);
	assert_status(&p.op, AR_OK);
	ar_store_op_fini(&p.op);
}

static struct ar_store_audit_list a_list(const char *tenant, size_t limit)
{
	return (struct ar_store_audit_list){ .op = { .kind = AR_STORE_AUDIT_LIST, .done = note_done },
					     .tenant = tenant ? ar_str_from(tenant) : AR_STR_NONE,
					     .limit = limit };
}

/* The records of a page, one letter each, with a '+' where there are more; `after` becomes the last one's
 * place. */
static void expect_page(struct fixture *f, struct ar_store_audit_list l, struct ar_store_audit_place *after,
			const char *records)
{
	char all[64] = "";

	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	for (size_t i = 0; i < l.count; i++)
		strncat(all, l.rows[i].entry.record.p, l.rows[i].entry.record.len);
	if (after && l.count)
		*after = l.rows[l.count - 1].place;
	strcat(all, l.more ? "+" : "");
	assert_string_equal(all, records);
	ar_store_op_fini(&l.op);
}

static void expect_list(struct fixture *f, const char *tenant, const char *records)
{
	expect_page(f, a_list(tenant, 50), NULL, records);
}

static struct ar_store_audit_verify a_verify(size_t limit)
{
	return (struct ar_store_audit_verify){ .op = { .kind = AR_STORE_AUDIT_VERIFY, .done = note_done },
					       .limit = limit };
}

/* All pages; the first fault is `what` at number `n`, 0: there is none. */
static void expect_chain(struct fixture *f, size_t limit, uint64_t checked, unsigned what, uint64_t n)
{
	struct ar_store_audit_verify v = a_verify(limit);
	struct ar_store_audit_fault first = { 0 };
	uint64_t sum = 0;

	do {
		v.checked = 0;
		v.fault_count = 0;
		v.more = false;
		run(f, &v.op);
		assert_status(&v.op, AR_OK);
		sum += v.checked;
		if (v.fault_count && !first.what)
			first = v.faults[0];
		ar_store_op_fini(&v.op);
	} while (v.more);
	assert_int_equal(sum, checked);
	assert_int_equal(first.what, what);
	assert_int_equal(first.n, n);
}

void audit_entries_are_listed_by_time(void **state)
{
	struct fixture *f = *state;
	struct ar_store_audit_list l = a_list("one", 2);

	expect_list(f, "one", "");
	put_entry(f, "one", 10, "a");
	put_entry(f, "two", 20, "b");
	put_entry(f, "one", 30, "c");
	put_entry(f, "one", 30, "d");
	expect_list(f, "one", "dca");
	expect_list(f, "two", "b");
	expect_list(f, NULL, "dcba");
	expect_page(f, l, &l.after, "dc+");
	l.has_after = true;
	expect_page(f, l, NULL, "a");
	l = a_list("one", 2);
	l.is_oldest_first = true;
	expect_page(f, l, &l.after, "ac+");
	l.has_after = true;
	expect_page(f, l, NULL, "d");
	l = a_list(NULL, 50);
	l.since = 20;
	l.until = 30;
	expect_page(f, l, NULL, "b");
	fixture_reopen(f);
	put_entry(f, "one", 40, "e");
	expect_list(f, "one", "edca");
	expect_chain(f, 2, 5, 0, 0);
}

void audit_entry_is_there_with_its_append(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append a = an_append(sess(1), 1, 1, "fact"), wrong = an_append(sess(1), 9, 9, "fact");
	struct ar_store_audit e = an_entry("one", 10, "a");
	struct ar_store_audit_list l = a_list("one", 10);

	e.session = sess(1);
	e.sequence = 1;
	a.audit = wrong.audit = &e;
	run(f, &a.op);
	assert_status(&a.op, AR_OK);
	ar_store_op_fini(&a.op);
	run(f, &wrong.op);
	assert_status(&wrong.op, AR_E_INVALID);
	ar_store_op_fini(&wrong.op);
	run(f, &l.op);
	assert_int_equal(l.count, 1);
	assert_true(ar_str_eq(l.rows[0].entry.session, sess(1)));
	assert_int_equal(l.rows[0].entry.sequence, 1);
	ar_store_op_fini(&l.op);
	expect_chain(f, 10, 1, 0, 0);
}

void audit_entry_is_there_with_its_token(void **state)
{
	struct fixture *f = *state;
	struct ar_store_audit e = an_entry("one", 10, "a");
	struct ar_store_token_put p = { .op = { .kind = AR_STORE_TOKEN_PUT, .done = note_done },
					.token = AR_STR("tok"),
					.record = AR_STR("r"),
					.audit = &e };

	run(f, &p.op);
	assert_status(&p.op, AR_OK);
	run(f, &p.op); /* its version is another by now */
	assert_status(&p.op, AR_E_EXISTS);
	ar_store_op_fini(&p.op);
	expect_list(f, "one", "a");
	put_entry(f, "one", 20, "b");
	expect_chain(f, 10, 2, 0, 0);
}

void audit_is_fenced(void **state)
{
	struct fixture *f = *state;
	struct ar_store_audit e = an_entry("one", 10, "a"), bad = an_entry("", 10, "a");
	struct ar_store_audit_put p = { .op = { .kind = AR_STORE_AUDIT_PUT, .done = note_done },
					.entry = &bad };

	run(f, &p.op);
	assert_status(&p.op, AR_E_INVALID);
	fixture_fence(f);
	p.entry = &e;
	run(f, &p.op);
	assert_status(&p.op, AR_E_FENCED);
	ar_store_op_fini(&p.op);
}

static size_t prune(struct fixture *f, ar_usec before)
{
	struct ar_store_upkeep u = an_upkeep(0, 1);
	size_t sum = 0;

	u.audit_before = before;
	do {
		run(f, &u.op);
		assert_status(&u.op, AR_OK);
		sum += u.audits;
		u.after = AR_STR_NONE;
		ar_store_op_fini(&u.op);
	} while (u.audits);
	return sum;
}

void old_audit_entries_go_and_the_chain_holds(void **state)
{
	struct fixture *f = *state;

	put_entry(f, "one", 10, "a");
	put_entry(f, "two", 20, "b");
	put_entry(f, "one", 30, "c");
	assert_int_equal(prune(f, 0), 0);
	assert_int_equal(prune(f, 10), 0);
	assert_int_equal(prune(f, 21), 2);
	expect_list(f, NULL, "c");
	expect_chain(f, 10, 1, 0, 0);
	assert_int_equal(prune(f, 1000), 0); /* the newest of a lane stays: the chain goes on from it */
	put_entry(f, "one", 40, "d");
	expect_list(f, NULL, "dc");
	expect_chain(f, 1, 2, 0, 0);
	assert_int_equal(prune(f, 1000), 1);
	fixture_reopen(f);
	put_entry(f, "one", 50, "e");
	expect_chain(f, 10, 2, 0, 0);
}

static void change_rows(struct fixture *f, const char *script)
{
	if (f->engine == ENGINE_POSTGRES)
		postgres_script(f, script);
	else
		sql_script(f, script);
}

void changed_and_removed_audit_entries_are_found(void **state)
{
	struct fixture *f = *state;

	for (ar_usec i = 1; i <= 6; i++)
		put_entry(f, "one", i, "a");
	expect_chain(f, 4, 6, 0, 0);
	if (f->engine != ENGINE_SQLITE && f->engine != ENGINE_POSTGRES)
		return;
	change_rows(f, "UPDATE audit SET at = 99 WHERE n = 3");
	expect_chain(f, 10, 6, AR_STORE_AUDIT_CHANGED, 3);
	expect_chain(f, 2, 6, AR_STORE_AUDIT_CHANGED, 3);
	change_rows(f, "UPDATE audit SET at = 3 WHERE n = 3");
	expect_chain(f, 2, 6, 0, 0);
	change_rows(f, "DELETE FROM audit WHERE n = 4");
	expect_chain(f, 10, 5, AR_STORE_AUDIT_MISSING, 5);
	change_rows(f, "DELETE FROM audit WHERE n <= 4");
	expect_chain(f, 10, 2, AR_STORE_AUDIT_MISSING, 5);
	change_rows(f, "DELETE FROM audit WHERE n = 6"); /* the newest: seen with the next one */
	put_entry(f, "one", 7, "b");
	change_rows(f, "UPDATE audit SET tenant = 'two' WHERE n = 7");
	expect_chain(f, 10, 2, AR_STORE_AUDIT_MISSING, 5);
}
