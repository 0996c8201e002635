/* What a peer of HTTP/2 may ask beside requests. */
#include "h2/h2_budget.h"
#include "compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <nghttp2/nghttp2.h>

static unsigned pay_until_refused(struct ar_h2_budget *b, uint8_t type, size_t bytes, uint64_t now)
{
	unsigned count = 0;

	while (count < 100000 && ar_h2_budget_pay(b, type, bytes, false, now))
		count++;
	return count;
}

static void requests_and_bodies_are_free(void **state AR_UNUSED)
{
	struct ar_h2_budget b = { 0 };

	assert_int_equal(pay_until_refused(&b, NGHTTP2_HEADERS, 100, 1000), 100000);
	assert_int_equal(pay_until_refused(&b, NGHTTP2_DATA, 1, 1000), 100000);
}

static void floods_are_not(void **state AR_UNUSED)
{
	static const struct {
		uint8_t type;
		unsigned count;
	} rows[] = {
		{ NGHTTP2_RST_STREAM, 200 }, { NGHTTP2_PING, 500 }, { NGHTTP2_SETTINGS, 100 },
		{ NGHTTP2_DATA, 1000 },	     { 0x42, 1000 },	    { NGHTTP2_WINDOW_UPDATE, 10000 },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_h2_budget b = { 0 };

		assert_int_equal(pay_until_refused(&b, rows[i].type, 0, 5), rows[i].count);
	}
}

static void time_and_reading_fill_it_up(void **state AR_UNUSED)
{
	struct ar_h2_budget b = { 0 };

	assert_int_equal(pay_until_refused(&b, NGHTTP2_RST_STREAM, 4, 1000), 200);
	assert_false(ar_h2_budget_pay(&b, NGHTTP2_PING, 8, false, 1001));
	assert_int_equal(pay_until_refused(&b, NGHTTP2_RST_STREAM, 4, 3001), 198);
	b = (struct ar_h2_budget){ 0 };
	for (unsigned i = 0; i < 1000000; i++) {
		assert_true(ar_h2_budget_pay(&b, NGHTTP2_WINDOW_UPDATE, 4, false, 7));
		ar_h2_budget_earn(&b, 1024);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_and_bodies_are_free),
		cmocka_unit_test(floods_are_not),
		cmocka_unit_test(time_and_reading_fill_it_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
