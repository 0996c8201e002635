/* See store_contract.h: rows of API tokens. */
#include "store_contract.h"
#include "store_token.h"

#include <string.h>

static struct ar_store_token_put a_put(const char *token, uint64_t expected, const char *record)
{
	return (struct ar_store_token_put){ .op = { .kind = AR_STORE_TOKEN_PUT, .done = note_done },
					    .token = ar_str_from(token),
					    .record = ar_str_from(record),
					    .expected = expected };
}

static uint64_t put_token(struct fixture *f, const char *token, uint64_t expected, const char *record)
{
	struct ar_store_token_put p = a_put(token, expected, record);

	run(f, &p.op);
	assert_status(&p.op, AR_OK);
	assert_true(p.version > expected);
	ar_store_op_fini(&p.op);
	return p.version;
}

static void expect_put(struct fixture *f, struct ar_store_token_put p, enum ar_status expected)
{
	run(f, &p.op);
	assert_status(&p.op, expected);
	ar_store_op_fini(&p.op);
}

/* The records after that version must be these, one letter each, with a '+' where there are more. */
static void expect_tokens(struct fixture *f, uint64_t after, size_t limit, const char *records)
{
	struct ar_store_tokens l = { .op = { .kind = AR_STORE_TOKENS, .done = note_done },
				     .after = after,
				     .limit = limit };
	char all[64] = "";

	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	for (size_t i = 0; i < l.count; i++) {
		assert_true(l.rows[i].version > after);
		assert_true(i == 0 || l.rows[i].version > l.rows[i - 1].version);
		strncat(all, l.rows[i].record.p, l.rows[i].record.len);
	}
	strcat(all, l.more ? "+" : "");
	assert_string_equal(all, records);
	ar_store_op_fini(&l.op);
}

void tokens_are_listed_by_version(void **state)
{
	struct fixture *f = *state;
	uint64_t a, b;

	expect_tokens(f, 0, 10, "");
	a = put_token(f, "one", 0, "a");
	b = put_token(f, "two", 0, "b");
	assert_true(b > a);
	put_token(f, "three", 0, "c");
	expect_tokens(f, 0, 10, "abc");
	expect_tokens(f, 0, 2, "ab+");
	expect_tokens(f, b, 2, "c");
	put_token(f, "one", a, "d");
	expect_tokens(f, 0, 3, "bcd");
	expect_tokens(f, b, 10, "cd");
}

void token_put_expects_a_version(void **state)
{
	struct fixture *f = *state;
	uint64_t first = put_token(f, "one", 0, "a");
	uint64_t second = put_token(f, "one", first, "b");

	expect_put(f, a_put("one", 0, "x"), AR_E_EXISTS);
	expect_put(f, a_put("one", first, "x"), AR_E_EXISTS);
	expect_put(f, a_put("two", second, "x"), AR_E_EXISTS);
	expect_tokens(f, 0, 10, "b");
	put_token(f, "one", second, "c");
	expect_tokens(f, second, 10, "c");
}

void tokens_are_removed(void **state)
{
	struct fixture *f = *state;
	uint64_t a = put_token(f, "one", 0, "a"), b = put_token(f, "two", 0, "b"), c;

	expect_put(f, a_put("one", b, NULL), AR_E_EXISTS);
	expect_put(f, a_put("nobody", a, NULL), AR_E_EXISTS);
	expect_tokens(f, 0, 10, "ab");
	expect_put(f, a_put("one", a, NULL), AR_OK);
	expect_put(f, a_put("one", a, NULL), AR_E_EXISTS);
	expect_tokens(f, 0, 10, "b");
	fixture_reopen(f);
	expect_tokens(f, 0, 10, "b");
	c = put_token(f, "one", 0, "c");
	assert_true(c > b);
	expect_tokens(f, b, 10, "c");
}

void tokens_survive_a_reopening(void **state)
{
	struct fixture *f = *state;
	uint64_t version = put_token(f, "one", 0, "a");

	fixture_reopen(f);
	expect_tokens(f, 0, 10, "a");
	assert_true(put_token(f, "two", 0, "b") > version);
	put_token(f, "one", version, "c");
	expect_tokens(f, 0, 10, "bc");
}

void token_put_is_fenced(void **state)
{
	struct fixture *f = *state;
	uint64_t version = put_token(f, "one", 0, "a");

	fixture_fence(f);
	expect_put(f, a_put("one", version, "x"), AR_E_FENCED);
	expect_put(f, a_put("two", 0, "x"), AR_E_FENCED);
	expect_put(f, a_put("one", version, NULL), AR_E_FENCED);
	expect_tokens(f, 0, 10, "a");
}

/* Among other writes, which share a transaction where this one has its own. */
void token_put_keeps_its_place_in_a_flight(void **state)
{
	struct fixture *f = *state;
	struct ar_store_append before = an_append(sess(1), 1, 1, "a"), after = an_append(sess(1), 2, 2, "b");
	struct ar_store_token_put first = a_put("one", 0, "x"), again = a_put("one", 0, "y");

	give(f, &before.op);
	give(f, &first.op);
	give(f, &again.op);
	give(f, &after.op);
	wait_for(f, &after.op);
	wait_for(f, &again.op);
	assert_status(&before.op, AR_OK);
	assert_status(&after.op, AR_OK);
	wait_for(f, &first.op);
	assert_true(first.op.status != again.op.status); /* whichever came first: they are of no session */
	assert_status(first.op.status ? &first.op : &again.op, AR_E_EXISTS);
	expect_tokens(f, 0, 10, first.op.status ? "y" : "x");
}

void malformed_tokens_are_refused(void **state)
{
	struct fixture *f = *state;
	struct ar_store_token_put nameless = a_put("", 0, "x"), empty = a_put("one", 0, NULL);

	expect_put(f, nameless, AR_E_INVALID);
	expect_put(f, empty, AR_E_INVALID);
	expect_tokens(f, 0, 10, "");
}
