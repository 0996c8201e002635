/* Fault points: dying at the right passing, erring once, and refusing a malformed variable. */
#include "unit.h"
#include "fault.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Arms `spec` in a child that passes "p" `times` times; returns the signal that ended it, 0 for none. */
static int signal_after(const char *spec, int times)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		close(STDERR_FILENO);
		setenv("AGENTD_FAULT", spec, 1);
		ar_fault_init();
		for (int i = 0; i < times; i++)
			AR_FAULT("p");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_dies_at_the_nth_passing(void **state AR_UNUSED)
{
	assert_int_equal(signal_after("p:3", 2), 0);
	assert_int_equal(signal_after("p:3", 3), SIGKILL);
	assert_int_equal(signal_after("other:1", 3), 0);
	assert_int_equal(signal_after("other:1,p:1", 1), SIGKILL);
	assert_int_equal(signal_after("p:1:error", 5), 0);
}

static void test_malformed_variable_aborts(void **state AR_UNUSED)
{
	static const char *const bad[] = { "p",	   "p:",      "p:0",	     "p:x",  ":1",
					   "p:1:", "p:1:err", "p:1:error:2", "p:1,q" };

	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++)
		assert_int_equal(signal_after(bad[i], 0), SIGABRT);
	assert_int_equal(signal_after("", 1), 0);
}

static void test_errs_once(void **state AR_UNUSED)
{
	setenv("AGENTD_FAULT", "e:2:error", 1);
	ar_fault_init();
	assert_false(AR_FAULT_ERROR("e"));
	assert_false(AR_FAULT_ERROR("other"));
	assert_true(AR_FAULT_ERROR("e"));
	assert_false(AR_FAULT_ERROR("e"));
	unsetenv("AGENTD_FAULT");
	ar_fault_init();
	assert_false(ar_fault_armed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dies_at_the_nth_passing),
		cmocka_unit_test(test_malformed_variable_aborts),
		cmocka_unit_test(test_errs_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
