/* Many processes at once: each is told its own, none is lost, no descriptor and no zombie stays. */
#include "desk_group.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/wait.h>

#define PROCESSES 100

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void a_hundred_at_once(void **state)
{
	struct desk_process *p[PROCESSES];
	int before = open_files();
	char text[64];

	(void)state;
	for (int i = 0; i < PROCESSES; i++) {
		snprintf(text, sizeof(text), "echo first %d; sleep 0.2; echo last %d; exit %d", i, i, i);
		p[i] = desk_launch(&d, text, NULL);
	}
	desk_wait_all(&d);
	for (int i = 0; i < PROCESSES; i++) {
		snprintf(text, sizeof(text), "first %d\nlast %d\n", i, i);
		assert_int_equal(p[i]->end.outcome, AR_PROC_EXITED);
		assert_int_equal(p[i]->end.exit_code, i);
		assert_true(ar_str_is(desk_out(p[i], AR_PROC_STDOUT), text));
		d.host->v->forget(d.host, ar_str_from(p[i]->handle));
		desk_free(p[i]);
	}
	desk_turn(&d, 2500);
	assert_int_equal(open_files(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_hundred_at_once, desk_setup, desk_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
