/* See store_contract.h: rows of items, found by session, list and number. */
#include "store_contract.h"

#include <stdio.h>
#include <string.h>

#define HOUR ((ar_usec)3600 * 1000000)
#define NOW ((ar_usec)1800000000 * 1000000) /* later than the ids of sess() */

static struct ar_store_item_row an_item(uint64_t list, uint64_t number, const char *record)
{
	return (struct ar_store_item_row){ list, number, ar_str_from(record) };
}

static enum ar_status put_rows(struct fixture *f, unsigned session, uint64_t seq,
			       const struct ar_store_item_row *rows, size_t count)
{
	struct ar_store_session_row row = { .created = NOW, .updated = NOW, .shell = AR_STR("{}") };
	struct ar_store_append a = an_append(sess(session), seq, seq, "x");
	enum ar_status st;

	a.row = &row;
	a.items = rows;
	a.item_count = count;
	st = run(f, &a.op);
	ar_store_op_fini(&a.op);
	return st;
}

/* The records must be these, with a '+' where there are more. */
static void expect(struct fixture *f, unsigned session, struct ar_store_items l, const char *records)
{
	char all[64] = "";

	l.op = (struct ar_store_op){ .kind = AR_STORE_ITEMS, .done = note_done };
	l.session = sess(session);
	run(f, &l.op);
	assert_status(&l.op, AR_OK);
	for (size_t i = 0; i < l.count; i++) {
		assert_int_equal(l.rows[i].list, l.list);
		strncat(all, l.rows[i].record.p, l.rows[i].record.len);
	}
	if (l.more)
		strcat(all, "+");
	assert_string_equal(all, records);
	ar_store_op_fini(&l.op);
}

static struct ar_store_items page(uint64_t list, uint64_t from, uint64_t to, size_t limit)
{
	return (struct ar_store_items){ .list = list, .from = from, .to = to, .limit = limit };
}

void items_are_read_by_number(void **state)
{
	struct fixture *f = *state;
	const struct ar_store_item_row rows[] = { an_item(1, 7, "d"), an_item(1, 0, "a"), an_item(2, 0, "x"),
						  an_item(1, 3, "c"), an_item(1, 1, "b") };
	const struct ar_store_item_row other = an_item(1, 0, "o");

	expect(f, 1, page(1, 0, 100, 10), "");
	assert_int_equal(put_rows(f, 1, 1, rows, AR_ARRAY_LEN(rows)), AR_OK);
	assert_int_equal(put_rows(f, 2, 1, &other, 1), AR_OK);
	expect(f, 1, page(1, 0, 100, 10), "abcd");
	expect(f, 1, page(1, 0, 100, 4), "abcd");
	expect(f, 1, page(1, 0, 100, 3), "abc+");
	expect(f, 1, page(1, 1, 7, 10), "bc");
	expect(f, 1, page(1, 3, 8, 1), "c+");
	expect(f, 1, page(1, 8, INT64_MAX, 10), "");
	expect(f, 1, page(2, 0, 100, 10), "x");
	expect(f, 1, page(3, 0, 100, 10), "");
	expect(f, 2, page(1, 0, 100, 10), "o");
}

void item_is_written_again(void **state)
{
	struct fixture *f = *state;
	const struct ar_store_item_row first[] = { an_item(1, 0, "a"), an_item(1, 1, "b") };
	const struct ar_store_item_row again[] = { an_item(1, 1, "c"), an_item(1, 1, "d") };

	assert_int_equal(put_rows(f, 1, 1, first, 2), AR_OK);
	assert_int_equal(put_rows(f, 1, 2, again, 2), AR_OK);
	expect(f, 1, page(1, 0, 10, 10), "ad");
	fixture_reopen(f);
	expect(f, 1, page(1, 0, 10, 10), "ad");
}

void items_of_a_refused_append_are_not_there(void **state)
{
	struct fixture *f = *state;
	const struct ar_store_item_row row = an_item(1, 0, "a"), no_number = an_item(1, UINT64_MAX, "z");

	assert_int_equal(put_rows(f, 1, 1, &row, 1), AR_OK);
	assert_int_equal(put_rows(f, 1, 9, &(struct ar_store_item_row){ 1, 1, AR_STR("b") }, 1),
			 AR_E_INVALID);
	assert_int_equal(put_rows(f, 1, 2, &no_number, 1), AR_E_INVALID);
	expect(f, 1, page(1, 0, 10, 10), "a");
}

void items_go_with_their_session(void **state)
{
	struct fixture *f = *state;
	struct ar_store_upkeep op = { .op = { .kind = AR_STORE_UPKEEP, .done = note_done },
				      .before = NOW + HOUR,
				      .limit = 10 };
	const struct ar_store_item_row row = an_item(1, 0, "a");

	assert_int_equal(put_rows(f, 1, 1, &row, 1), AR_OK);
	run(f, &op.op);
	assert_status(&op.op, AR_OK);
	assert_int_equal(op.removed, 1);
	ar_store_op_fini(&op.op);
	expect(f, 1, page(1, 0, 10, 10), "");
}
