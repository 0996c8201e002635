/* Rows that a commit writes beside the facts: what a call used, as far as it can be added up, and processes
 * that the state does not have any more. */
#include "cmocka_unit.h"
#include "index_rows.h"
#include "store/usage.h"

#include <stdlib.h>
#include <string.h>

#define KEY "01m7q000000000000000000000"

struct session {
	struct ar_json_parser *json;
	struct ar_session state;
};

static int make(void **state)
{
	struct session *s = calloc(1, sizeof(*s));

	s->json = ar_json_parser_new();
	ar_session_init(&s->state, AR_STR(KEY), s->json);
	*state = s;
	return 0;
}

static int end(void **state)
{
	struct session *s = *state;

	ar_session_fini(&s->state);
	ar_json_parser_free(s->json);
	free(s);
	return 0;
}

static struct ar_event cost(const struct ar_ev_cost_recorded *p)
{
	struct ar_event e = { .type = AR_EV_COST_RECORDED, .payload = p };

	e.ids[AR_SCOPE_TURN] = AR_STR("turn_" KEY "_1");
	return e;
}

/* A provider may claim anything; thousands of such calls can still be added up. */
static void claims_are_cut(void **state)
{
	struct session *s = *state;
	const struct ar_ev_cost_recorded lie = { .input_tokens = -7,
						 .output_tokens = INT64_MAX,
						 .cached_tokens = INT64_MAX,
						 .amount = AR_STR("9000000000"),
						 .currency = AR_STR("USD") };
	const struct ar_event events[] = { { .type = AR_EV_TURN_STARTED }, cost(&lie) };
	struct ar_store_usage_row rows[2];

	assert_int_equal(ar_index_usage(&s->state, events, 2, 5 * AR_STORE_HOUR + 1, rows), 1);
	assert_int_equal(rows[0].hour, 5);
	assert_int_equal(rows[0].requests, 1);
	assert_int_equal(rows[0].input_tokens, 0);
	assert_true(rows[0].output_tokens > 0 && rows[0].output_tokens < INT64_MAX / 1000000);
	assert_true(rows[0].cost > 0 && rows[0].cost < INT64_MAX / 1000);
	assert_true(ar_str_is(rows[0].tenant, "local"));
}

static void unknown_price_has_no_currency(void **state)
{
	struct session *s = *state;
	const struct ar_ev_cost_recorded p = { .input_tokens = 3, .amount = AR_STR("\"unknown\"") };
	const struct ar_event e = cost(&p);
	struct ar_store_usage_row row;

	assert_int_equal(ar_index_usage(&s->state, &e, 1, 0, &row), 1);
	assert_true(ar_str_absent(row.currency));
	assert_int_equal(row.cost, 0);
	assert_int_equal(row.input_tokens, 3);
}

/* Names that are too long for an index are cut, never a reason to refuse the facts. */
static void long_names_are_cut(void **state)
{
	struct session *s = *state;
	char name[AR_STORE_USAGE_NAME + 100];
	const struct ar_ev_cost_recorded p = { .amount = AR_STR("1"), .currency = { name, sizeof(name) } };
	const struct ar_event e = cost(&p);
	struct ar_store_usage_row row;

	memset(name, 'x', sizeof(name));
	s->state.workspace = (struct ar_str){ name, sizeof(name) };
	assert_int_equal(ar_index_usage(&s->state, &e, 1, 0, &row), 1);
	assert_int_equal(row.workspace.len, AR_STORE_USAGE_NAME);
	assert_int_equal(row.currency.len, AR_STORE_USAGE_NAME);
}

static void end_of_a_process_that_left_the_state_is_written(void **state)
{
	struct session *s = *state;
	struct ar_event events[3] = { { .type = AR_EV_PROCESS_OUTPUT },
				      { .type = AR_EV_PROCESS_TERMINATED } };
	struct ar_arena a = { 0 };
	struct ar_store_item_row rows[3];

	events[0].ids[AR_SCOPE_PROCESS] = AR_STR("proc_" KEY "_8");
	events[1].ids[AR_SCOPE_PROCESS] = AR_STR("proc_" KEY "_7");
	events[2] = events[1]; /* and only once */
	assert_int_equal(ar_index_processes(&s->state, events, 3, &a, rows), 1);
	assert_int_equal(rows[0].list, AR_INDEX_PROCESSES);
	assert_int_equal(rows[0].number, 7);
	assert_non_null(memmem(rows[0].record.p, rows[0].record.len, "\"terminated\"", 12));
	assert_non_null(memmem(rows[0].record.p, rows[0].record.len, "proc_" KEY "_7", 33));
	ar_arena_fini(&a);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, make, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(claims_are_cut),
		T(unknown_price_has_no_currency),
		T(long_names_are_cut),
		T(end_of_a_process_that_left_the_state_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
