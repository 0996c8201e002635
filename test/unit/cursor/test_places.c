/* Places of a tenant's feed: their text, and how two of them compare. */
#include "cmocka_unit.h"
#include "catalog.h"
#include "places.h"

static void expect_text(const char *text, const char *expected)
{
	struct ar_buf out = { 0 };
	struct ar_places p;

	assert_int_equal(ar_places_parse(ar_str_from(text), &p, NULL), AR_OK);
	ar_places_print(&p, &out);
	ar_buf_addc(&out, '\0');
	assert_string_equal(out.p, expected);
	ar_places_fini(&p);
	ar_buf_fini(&out);
}

static void places_as_text(void **state AR_UNUSED)
{
	static const char *const bad[] = { "t",
					   "t1",
					   "t1:",
					   "t:1",
					   "t1:0",
					   "t0:1",
					   "1:1",
					   "t1:1,",
					   "t1:1,1:2",
					   "t1:1.0",
					   "t1:1.",
					   "t1:1x",
					   "t 1:1",
					   "t1:1.2,2:1.3",
					   "17",
					   "t1:1.1.1",
					   "t-1:1",
					   "t1:1;2:1",
					   "t99999999999999999999:1" };
	struct ar_places p;

	expect_text("", "");
	expect_text("t1:5", "t1:5");
	expect_text("t3:9223372036854775807.4,1:7", "t3:9223372036854775807.4,1:7");
	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++) {
		struct ar_error err = { 0 };

		assert_int_equal(ar_places_parse(ar_str_from(bad[i]), &p, &err), AR_E_REFUSED);
		assert_int_equal(err.code, AR_ERR_INVALID_CURSOR);
	}
}

static void lanes_have_an_end(void **state AR_UNUSED)
{
	struct ar_places p = { 0 };

	for (uint64_t lane = 1; lane <= AR_FEED_LANES; lane++)
		assert_true(ar_places_move(&p, (struct ar_store_place){ lane, 1 }, 0));
	assert_false(ar_places_move(&p, (struct ar_store_place){ AR_FEED_LANES + 1, 1 }, 0));
	assert_true(ar_places_move(&p, (struct ar_store_place){ 3, 2 }, 0));
	ar_places_fini(&p);
}

static void expect_beyond(const char *a, const char *b, bool expected)
{
	struct ar_places x, y;

	assert_int_equal(ar_places_parse(ar_str_from(a), &x, NULL), AR_OK);
	assert_int_equal(ar_places_parse(ar_str_from(b), &y, NULL), AR_OK);
	assert_int_equal(ar_places_beyond(&x, &y), expected);
	ar_places_fini(&x);
	ar_places_fini(&y);
}

static void which_is_further(void **state AR_UNUSED)
{
	expect_beyond("", "", false);
	expect_beyond("t1:1", "", true);
	expect_beyond("", "t1:1", false);
	expect_beyond("t1:5", "t1:5", false);
	expect_beyond("t1:6", "t1:5", true);
	expect_beyond("t1:5,2:3", "t1:9", true);
	expect_beyond("t1:9", "t1:5,2:3", true);
	/* Of an append that was told in part: the rest of it is further on. */
	expect_beyond("t1:5", "t1:5.2", true);
	expect_beyond("t1:5.3", "t1:5.2", true);
	expect_beyond("t1:5.2", "t1:5.2", false);
	expect_beyond("t1:5.2", "t1:5", false);
}

static void only_forward(void **state AR_UNUSED)
{
	static const struct ar_store_place to[] = { { 1, 4 }, { 2, 9 }, { 3, 1 } };
	struct ar_buf out = { 0 };
	struct ar_places p;

	assert_int_equal(ar_places_parse(AR_STR("t1:5.2,2:3"), &p, NULL), AR_OK);
	assert_true(ar_places_raise(&p, to, AR_ARRAY_LEN(to)));
	ar_places_print(&p, &out);
	ar_buf_addc(&out, '\0');
	assert_string_equal(out.p, "t1:5.2,2:9,3:1");
	ar_places_fini(&p);
	ar_buf_fini(&out);
}

static void the_furthest_position(void **state AR_UNUSED)
{
	struct ar_places p;

	assert_int_equal(ar_places_parse(AR_STR("t2:4,1:9.3,3:7"), &p, NULL), AR_OK);
	assert_int_equal(ar_places_reach(&p), 9);
	ar_places_fini(&p);
	assert_int_equal(ar_places_reach(&p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_as_text),	 cmocka_unit_test(lanes_have_an_end),
		cmocka_unit_test(which_is_further),	 cmocka_unit_test(only_forward),
		cmocka_unit_test(the_furthest_position),
	};

	return cmocka_run_group_tests_name("cursor_places", tests, NULL, NULL);
}
