/* The state machines: the paths that the runtime takes, and that everything else is refused. */
#include "cmocka_unit.h"
#include "machine.h"

/* Feeds the events one by one; the state at the end, -1 when one was refused. */
static int run(enum ar_machine m, const enum ar_event_type *events, size_t count)
{
	int state = 0;

	for (size_t i = 0; i < count; i++)
		if (!ar_machine_next(m, state, events[i], &state))
			return -1;
	return state;
}

#define RUN(machine, ...) \
	run(machine, (enum ar_event_type[]){ __VA_ARGS__ }, \
	    AR_ARRAY_LEN(((enum ar_event_type[]){ __VA_ARGS__ })))

static void test_turn_runs_and_ends(void **state AR_UNUSED)
{
	enum ar_machine m = AR_MACHINE_TURN;

	assert_int_equal(RUN(m, AR_EV_TURN_SUBMITTED), AR_TURN_ACCEPTED);
	assert_int_equal(RUN(m, AR_EV_TURN_SUBMITTED, AR_EV_QUEUE_CHANGED), AR_TURN_QUEUED);
	assert_int_equal(RUN(m, AR_EV_TURN_SUBMITTED, AR_EV_TURN_STARTED, AR_EV_TURN_COMPLETED),
			 AR_TURN_COMPLETED);
	assert_int_equal(RUN(m, AR_EV_TURN_SUBMITTED, AR_EV_QUEUE_CHANGED, AR_EV_TURN_FAILED),
			 AR_TURN_FAILED);
	assert_int_equal(RUN(m, AR_EV_TURN_STARTED), -1);
	assert_int_equal(RUN(m, AR_EV_TURN_SUBMITTED, AR_EV_TURN_COMPLETED), -1);
	assert_int_equal(RUN(m, AR_EV_TURN_SUBMITTED, AR_EV_TURN_FAILED, AR_EV_TURN_STARTED), -1);
}

static void test_task_survives_a_lost_worker(void **state AR_UNUSED)
{
	enum ar_machine m = AR_MACHINE_TASK;

	assert_int_equal(RUN(m, AR_EV_TASK_CREATED, AR_EV_TASK_ACCEPTED, AR_EV_TASK_ATTEMPT_STARTED,
			     AR_EV_TASK_STARTED, AR_EV_TASK_LOST, AR_EV_TASK_ATTEMPT_STARTED,
			     AR_EV_TASK_COMPLETED),
			 AR_TASK_COMPLETED);
	assert_int_equal(RUN(m, AR_EV_TASK_CREATED, AR_EV_TASK_COMPLETED), -1);
	assert_int_equal(RUN(m, AR_EV_TASK_CREATED, AR_EV_TASK_ACCEPTED, AR_EV_TASK_CANCELLED,
			     AR_EV_TASK_STARTED),
			 -1);
}

static void test_refusal_leaves_the_state(void **state AR_UNUSED)
{
	int next = 77;

	assert_false(ar_machine_next(AR_MACHINE_ACTION, AR_ACTION_RESOLVED, AR_EV_ACTION_RESOLVED, &next));
	assert_int_equal(next, 77);
}

static void test_tables_are_sound(void **state AR_UNUSED)
{
	for (int m = 0; m < AR_MACHINE_COUNT; m++) {
		const struct ar_machine_desc *d = &ar_machine_descs[m];
		uint64_t reached = 1;

		for (size_t i = 0; i < d->transition_count; i++) {
			const struct ar_transition *t = &d->transitions[i];

			assert_true(t->from < d->state_count && t->to > 0 && t->to < d->state_count);
			reached |= UINT64_C(1) << t->to;
			for (size_t k = 0; k < i; k++)
				assert_false(d->transitions[k].from == t->from &&
					     d->transitions[k].event == t->event);
		}
		assert_int_equal(reached, (UINT64_C(1) << d->state_count) - 1);
		assert_false(ar_machine_is_final((enum ar_machine)m, 0));
	}
	assert_true(ar_machine_is_final(AR_MACHINE_TURN, AR_TURN_COMPLETED));
	assert_false(ar_machine_is_final(AR_MACHINE_TURN, AR_TURN_RUNNING));
}

static void test_states_have_names(void **state AR_UNUSED)
{
	assert_string_equal(ar_machine_state_name(AR_MACHINE_TURN, AR_TURN_RUNNING), "running");
	assert_string_equal(ar_machine_state_name(AR_MACHINE_TURN, 0), "none");
	assert_null(ar_machine_state_name(AR_MACHINE_TURN, 99));
	assert_null(ar_machine_state_name(AR_MACHINE_TURN, -1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turn_runs_and_ends),
		cmocka_unit_test(test_task_survives_a_lost_worker),
		cmocka_unit_test(test_refusal_leaves_the_state),
		cmocka_unit_test(test_tables_are_sound),
		cmocka_unit_test(test_states_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
