/* Notes for the home of a tenant while nobody can say who owns it: they are kept, up to a bound, and
 * what is given up is counted. */
#include "cmocka_unit.h"
#include "control.h"
#include "engine.h"
#include "follow.h"
#include "metrics.h"
#include "store_open.h"

#define KEPT 256

static struct ar_metrics *metrics;

static enum ar_place nowhere(void *arg AR_UNUSED, struct ar_str session_key AR_UNUSED,
			     struct ar_str *ret_address AR_UNUSED)
{
	return AR_PLACE_UNSETTLED;
}

static int64_t dropped(void)
{
	return ar_metric_value(metrics, AR_METRIC_AUDIT_DROPPED, AR_STR_NONE, AR_STR_NONE);
}

static void note(struct ar_control *c, size_t times)
{
	const struct ar_audit refusal = { .tenant = AR_STR("acme"),
					  .actor = AR_STR("unknown"),
					  .command = AR_STR("list_sessions"),
					  .code = AR_ERR_AUTH_FAILED,
					  .count = 1 };

	while (times-- > 0)
		ar_control_audit(c, &refusal);
}

static void test_notes_that_are_given_up_are_counted(void **state AR_UNUSED)
{
	const struct ar_placement placement = { .find = nowhere };
	struct ar_clock *clock = ar_clock_system();
	struct ar_follow *follow;
	struct ar_engine *engine;
	struct ar_control *control;
	struct ar_store *store;

	ar_store_memory_open(NULL, NULL, &store);
	metrics = ar_metrics_new(ar_metric_descs, AR_METRIC_COUNT);
	follow = ar_follow_new(&(struct ar_follow_options){ .store = store, .clock = clock });
	engine = ar_engine_new(&(struct ar_engine_options){
		.store = store, .follow = follow, .clock = clock, .metrics = metrics });
	control = ar_control_new(engine, follow, store, &placement);
	note(control, KEPT);
	ar_control_audit_again(control);
	assert_int_equal(dropped(), 0);
	note(control, 2);
	assert_int_equal(dropped(), 2);
	ar_engine_stop(engine);
	ar_store_close(store);
	ar_control_free(control);
	ar_engine_free(engine);
	ar_follow_free(follow);
	ar_metrics_free(metrics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes_that_are_given_up_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
