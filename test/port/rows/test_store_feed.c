/* See store_contract.h: the feed of a tenant. */
#include "store_contract.h"
#include "store_feed.h"

#include <stdio.h>
#include <string.h>

#define NOW ((ar_usec)1800000000 * 1000000) /* 2027, after every minted id */
#define HOUR ((ar_usec)3600 * 1000000)

static void feed_put_at(struct fixture *f, unsigned session, uint64_t seq, const char *tenant, ar_usec at)
{
	struct ar_store_session_row row = {
		.created = 5, .updated = at, .tenant = ar_str_from(tenant), .shell = AR_STR("{}")
	};
	char body[32];
	struct ar_store_append a;

	snprintf(body, sizeof body, "%c%u ", 'a' + (int)session, (unsigned)seq);
	a = an_append(sess(session), seq, seq, body);
	a.row = &row;
	assert_int_equal(run(f, &a.op), AR_OK);
	ar_store_op_fini(&a.op);
}

static void feed_put(struct fixture *f, unsigned session, uint64_t seq, const char *tenant)
{
	feed_put_at(f, session, seq, tenant, 6);
}

static struct ar_store_feed a_page(const char *tenant, const struct ar_store_place *after, size_t max_bytes)
{
	return (struct ar_store_feed){ .op = { .kind = AR_STORE_FEED, .done = note_done },
				       .tenant = ar_str_from(tenant),
				       .after = after,
				       .after_count = after ? 1 : 0,
				       .max_bytes = max_bytes };
}

/* What a page holds, with a '+' where there is more; the place behind it. These stores have one writer at a
 * time: one lane. */
static struct ar_store_place expect_page(struct fixture *f, const char *tenant, struct ar_store_place after,
					 size_t max_bytes, const char *expected)
{
	struct ar_store_feed p = a_page(tenant, after.lane ? &after : NULL, max_bytes);
	char all[256] = "";

	run(f, &p.op);
	assert_status(&p.op, AR_OK);
	for (size_t i = 0; i < p.row_count; i++) {
		assert_true(p.rows[i].at.position > after.position);
		assert_true(ar_str_eq(p.rows[i].session, sess((unsigned)(p.rows[i].body.p[0] - 'a'))));
		assert_int_equal(p.rows[i].first_seq, p.rows[i].last_seq);
		strncat(all, p.rows[i].body.p, p.rows[i].body.len);
		after = p.rows[i].at;
	}
	strcat(all, p.at_end ? "" : "+");
	assert_string_equal(all, expected);
	ar_store_op_fini(&p.op);
	return after;
}

static const struct ar_store_place beginning;

void feed_has_what_a_tenant_wrote(void **state)
{
	struct fixture *f = *state;

	expect_page(f, "x", beginning, 100, "");
	feed_put(f, 1, 1, "x");
	feed_put(f, 2, 1, "y");
	feed_put(f, 3, 1, "x");
	feed_put(f, 1, 2, "x");
	feed_put(f, 4, 1, NULL);
	put(f, sess(5), 1, 1, "a session without a row is in no feed");
	expect_page(f, "x", beginning, 100, "b1 d1 b2 ");
	expect_page(f, "y", beginning, 100, "c1 ");
	expect_page(f, "local", beginning, 100, "e1 ");
	expect_page(f, "xx", beginning, 100, "");
}

void feed_goes_on_from_a_place(void **state)
{
	struct fixture *f = *state;
	struct ar_store_place at;

	for (unsigned seq = 1; seq <= 3; seq++) {
		feed_put(f, 1, seq, "x");
		feed_put(f, 2, seq, "x");
		feed_put(f, 3, seq, "y");
	}
	at = expect_page(f, "x", beginning, 1, "b1 +");
	at = expect_page(f, "x", at, 6, "c1 b2 +");
	at = expect_page(f, "x", at, 9, "c2 b3 c3 ");
	at = expect_page(f, "x", at, 9, "");
	feed_put(f, 2, 4, "x");
	expect_page(f, "x", at, 1, "c4 ");
}

void feed_knows_its_heads(void **state)
{
	struct fixture *f = *state;
	struct ar_store_feed heads = a_page("x", NULL, 0);
	struct ar_store_place at;

	heads.only_heads = true;
	assert_int_equal(run(f, &heads.op), AR_OK);
	assert_int_equal(heads.head_count, 0);
	ar_store_op_fini(&heads.op);
	feed_put(f, 1, 1, "x");
	feed_put(f, 2, 1, "x");
	at = expect_page(f, "x", beginning, 100, "b1 c1 ");
	feed_put(f, 3, 1, "y");
	heads = a_page("x", NULL, 0);
	heads.only_heads = true;
	assert_int_equal(run(f, &heads.op), AR_OK);
	assert_int_equal(heads.head_count, 1);
	assert_int_equal(heads.row_count, 0);
	assert_int_equal(heads.heads[0].lane, at.lane);
	assert_int_equal(heads.heads[0].position, at.position);
	assert_true(heads.limit > at.position);
	ar_store_op_fini(&heads.op);
}

/* Also when what had the newest place is gone. */
void feed_place_is_never_given_twice(void **state)
{
	struct fixture *f = *state;
	struct ar_store_place at;

	feed_put(f, 1, 1, "x");
	feed_put(f, 2, 1, "x");
	at = expect_page(f, "x", beginning, 100, "b1 c1 ");
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 2);
	expect_page(f, "x", beginning, 100, "");
	fixture_reopen(f);
	feed_put(f, 3, 1, "x");
	at = expect_page(f, "x", at, 100, "d1 ");
	fixture_reopen(f);
	feed_put(f, 3, 2, "x");
	expect_page(f, "x", at, 100, "d2 ");
}

/* ---- what was removed ---- */

static struct ar_store_place newest(struct fixture *f, const char *tenant)
{
	struct ar_store_feed ends = a_page(tenant, NULL, 0);
	struct ar_store_place at;

	ends.only_heads = true;
	assert_int_equal(run(f, &ends.op), AR_OK);
	assert_int_equal(ends.head_count, 1);
	at = ends.heads[0];
	ar_store_op_fini(&ends.op);
	return at;
}

static void expect_floor(struct fixture *f, const char *tenant, struct ar_store_place expected)
{
	struct ar_store_feed ends = a_page(tenant, NULL, 0);

	ends.only_heads = true;
	assert_int_equal(run(f, &ends.op), AR_OK);
	assert_int_equal(ends.floor_count, expected.lane ? 1 : 0);
	if (expected.lane) {
		assert_int_equal(ends.floors[0].lane, expected.lane);
		assert_int_equal(ends.floors[0].position, expected.position);
	}
	ar_store_op_fini(&ends.op);
}

static const struct ar_store_place nothing;

/* Session 1 is the first to come and the last to go; 2 and 3 take turns, 4 is of another tenant. */
void feed_floor_is_how_far_removal_reached(void **state)
{
	struct fixture *f = *state;
	struct ar_store_place of_2, of_4;

	feed_put_at(f, 1, 1, "x", NOW - HOUR);
	for (unsigned seq = 1; seq <= 3; seq++) {
		feed_put_at(f, 3, seq, "x", NOW + HOUR);
		feed_put_at(f, 2, seq, "x", NOW - 3 * HOUR);
	}
	of_2 = newest(f, "x");
	feed_put_at(f, 4, 1, "y", NOW - 5 * HOUR);
	of_4 = newest(f, "y");
	feed_put_at(f, 3, 4, "x", NOW + HOUR);
	expect_floor(f, "x", nothing);
	assert_int_equal(keep_up(f, an_upkeep(NOW - 4 * HOUR, 10)), 1);
	expect_floor(f, "x", nothing);
	expect_floor(f, "y", of_4);
	assert_int_equal(keep_up(f, an_upkeep(NOW - 2 * HOUR, 10)), 1);
	expect_floor(f, "x", of_2);
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 1);
	expect_floor(f, "x", of_2);
	fixture_reopen(f);
	expect_floor(f, "x", of_2);
	expect_floor(f, "y", of_4);
	expect_page(f, "x", of_2, 100, "d4 ");
}

void feed_floors_of_one_step(void **state)
{
	struct fixture *f = *state;
	struct ar_store_place of_x, of_y;

	for (unsigned n = 1; n <= 4; n++)
		feed_put(f, n, 1, n % 2 ? "x" : "y");
	feed_put(f, 1, 2, "x");
	of_x = newest(f, "x");
	of_y = newest(f, "y");
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 4);
	expect_floor(f, "x", of_x);
	expect_floor(f, "y", of_y);
	feed_put(f, 1, 1, "x"); /* the same session once more */
	of_x = newest(f, "x");
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 1);
	expect_floor(f, "x", of_x);
}

/* Nobody can have missed there what never was there. */
void facts_without_a_place_leave_no_floor(void **state)
{
	struct fixture *f = *state;
	struct ar_store_session_row row = { .updated = 6, .tenant = AR_STR("x") };
	struct ar_store_append a = an_append(sess(1), 2, 1, NULL);

	put(f, sess(1), 1, 1, "in no feed");
	a.row = &row;
	assert_int_equal(run(f, &a.op), AR_OK);
	ar_store_op_fini(&a.op);
	assert_int_equal(keep_up(f, an_upkeep(NOW, 10)), 1);
	expect_floor(f, "x", nothing);
}
