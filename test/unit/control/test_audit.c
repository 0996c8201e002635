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

struct desk {
	struct ar_follow *follow;
	struct ar_engine *engine;
	struct ar_control *control;
	struct ar_store *store;
};

static struct desk open_desk(const struct ar_placement *placement)
{
	struct ar_clock *clock = ar_clock_system();
	struct desk d;

	ar_store_memory_open(NULL, NULL, &d.store);
	metrics = ar_metrics_new(ar_metric_descs, AR_METRIC_COUNT);
	d.follow = ar_follow_new(&(struct ar_follow_options){ .store = d.store, .clock = clock });
	d.engine = ar_engine_new(&(struct ar_engine_options){
		.store = d.store, .follow = d.follow, .clock = clock, .metrics = metrics });
	d.control = ar_control_new(d.engine, d.follow, d.store, placement);
	return d;
}

static void close_desk(struct desk *d)
{
	ar_engine_stop(d->engine);
	ar_store_close(d->store);
	ar_control_free(d->control);
	ar_engine_free(d->engine);
	ar_follow_free(d->follow);
	ar_metrics_free(metrics);
}

static void test_notes_that_are_given_up_are_counted(void **state AR_UNUSED)
{
	const struct ar_placement placement = { .find = nowhere };
	struct desk d = open_desk(&placement);

	note(d.control, KEPT);
	ar_control_audit_again(d.control);
	assert_int_equal(dropped(), 0);
	note(d.control, 2);
	assert_int_equal(dropped(), 2);
	close_desk(&d);
}

static enum ar_place elsewhere(void *arg AR_UNUSED, struct ar_str session_key AR_UNUSED,
			       struct ar_str *ret_address)
{
	*ret_address = AR_STR("peer");
	return AR_PLACE_PEER;
}

static bool carry(void *arg, struct ar_str address AR_UNUSED, struct ar_str text)
{
	ar_buf_clear(arg);
	ar_buf_adds(arg, text);
	return true;
}

/* The node that gets it, and has to hand it on, hands on the same. */
static void test_the_policy_of_a_node_is_carried(void **state AR_UNUSED)
{
	static const char policy[] = "{\"permission.mode\":\"never\"}";
	const struct ar_placement placement = { .find = elsewhere };
	struct desk d = open_desk(&placement);
	struct ar_buf carried = { 0 }, first = { 0 };

	ar_control_carry_audit(d.control, carry, &carried);
	ar_control_audit(d.control, &(struct ar_audit){ .tenant = AR_STR("local"),
							.actor = AR_STR("system"),
							.message = AR_STR("why"),
							.policy = ar_str_from(policy) });
	assert_non_null(memmem(carried.p, carried.len, "{\\\"permission.mode", 18));
	ar_buf_adds(&first, ar_buf_str(&carried));
	ar_buf_clear(&carried);
	ar_control_audit_told(d.control, ar_buf_str(&first), false);
	assert_true(ar_str_eq(ar_buf_str(&first), ar_buf_str(&carried)));
	ar_buf_fini(&first);
	ar_buf_fini(&carried);
	close_desk(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes_that_are_given_up_are_counted),
		cmocka_unit_test(test_the_policy_of_a_node_is_carried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
