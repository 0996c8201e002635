/* The shim is killed, or stands still: nothing of the process lives on, no exit code is invented. */
#include "desk_group.h"
#include "folder.h"
#include "journal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* From the first record of the journal. */
static pid_t shim_of(struct desk_process *p)
{
	char path[600], folder[512], text[256];
	ssize_t n;
	int fd;

	desk_folder_of(p->handle, folder);
	snprintf(path, sizeof(path), "%s/journal", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	assert_true(n > (ssize_t)sizeof(struct ar_record_head));
	text[n] = '\0';
	return atoi(strstr(text + sizeof(struct ar_record_head), "\"shimPid\":") + 10);
}

/* The id of the command, seen from outside: the script prints none that would mean anything here. */
static bool is_running(const char *mark)
{
	char command[128];

	snprintf(command, sizeof(command), "grep -qz -- '^%s$' /proc/[0-9]*/cmdline 2>/dev/null", mark);
	return system(command) == 0;
}

static void kill_and_wait(struct desk_process *p, pid_t shim)
{
	desk_turn(&d, 100); /* its first words may come before the word that it runs */
	assert_int_equal(kill(shim, SIGKILL), 0);
	desk_wait_end(p);
	assert_int_equal(p->end.outcome, AR_PROC_SUPERVISOR_LOST);
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "up\n"));
	assert_int_equal(p->end.seq, 0);
	if (p->end.exit_is_known) {
		assert_string_equal(p->signal, "SIGKILL");
		assert_int_equal(p->end.exit_code, 137);
	}
}

static void shim_killed_while_we_follow(void **state)
{
	char mark[32], script[128];
	struct desk_process *p;

	(void)state;
	snprintf(mark, sizeof(mark), "6%07d", (int)getpid());
	snprintf(script, sizeof(script), "(setsid sleep %s &); echo up; sleep 60", mark);
	p = desk_launch(&d, script, NULL);
	desk_wait_text(p, AR_PROC_STDOUT, "up");
	for (int i = 0; i < 100 && !is_running(mark); i++)
		desk_turn(&d, 20);
	assert_true(is_running(mark));
	kill_and_wait(p, shim_of(p));
	/* The kernel saw it, and a descriptor of ours was open since its start. */
	assert_true(p->end.exit_is_known);
	assert_false(is_running(mark));
	desk_free(p);
}

static void shim_killed_while_attached(void **state)
{
	struct desk_process *p = desk_launch(&d, "echo up; sleep 60", NULL), *again;
	char handle[512];
	pid_t shim;

	(void)state;
	desk_wait_text(p, AR_PROC_STDOUT, "up");
	snprintf(handle, sizeof(handle), "%s", p->handle);
	shim = shim_of(p);
	desk_close(&d);
	d.open = 0;
	desk_free(p);
	desk_open(&d);
	again = desk_attach(&d, handle);
	desk_wait_text(again, AR_PROC_STDOUT, "up");
	kill_and_wait(again, shim);
	assert_true(again->end.exit_is_known);
	desk_free(again);
}

/* Both gone before anybody looked: nobody can know. */
static void shim_killed_while_nobody_looks(void **state)
{
	struct desk_process *p = desk_launch(&d, "echo up; sleep 60", NULL), *again;
	char handle[512];
	pid_t shim;

	(void)state;
	desk_wait_text(p, AR_PROC_STDOUT, "up");
	snprintf(handle, sizeof(handle), "%s", p->handle);
	shim = shim_of(p);
	desk_leave(p);
	desk_free(p);
	assert_int_equal(kill(shim, SIGKILL), 0);
	desk_turn(&d, 200);
	again = desk_attach(&d, handle);
	desk_wait_end(again);
	assert_int_equal(again->end.outcome, AR_PROC_SUPERVISOR_LOST);
	assert_false(again->end.exit_is_known);
	assert_true(ar_str_is(desk_out(again, AR_PROC_STDOUT), "up\n"));
	desk_free(again);
}

static void shim_killed_at_the_barrier(void **state)
{
	struct desk_process *p = desk_launch(&d, "# never\ntrue", NULL);

	(void)state;
	desk_wait_ready(p);
	assert_int_equal(kill(shim_of(p), SIGKILL), 0);
	desk_wait_end(p);
	assert_int_equal(p->end.outcome, AR_PROC_NOT_STARTED);
	assert_string_equal(p->step, "barrier");
	desk_free(p);
}

/* It does not obey; after the graces it is killed itself. */
static void shim_that_stands_still(void **state)
{
	struct desk_process *p = desk_launch(&d, "echo up; sleep 60", NULL);
	pid_t shim;

	(void)state;
	desk_wait_text(p, AR_PROC_STDOUT, "up");
	shim = shim_of(p);
	assert_int_equal(kill(shim, SIGSTOP), 0);
	d.host->v->end(d.host, &p->process, AR_STR("user"), AR_STR("x"), 0);
	desk_wait_end(p);
	assert_int_equal(p->end.outcome, AR_PROC_SUPERVISOR_LOST);
	assert_int_equal(kill(shim, 0), -1);
	desk_free(p);
}

/* The folder is gone under a living process: it is followed all the same, its journal is open. */
static void folder_removed_while_it_runs(void **state)
{
	struct desk_process *p = desk_launch(&d, "echo up; sleep 0.3; echo down", NULL);

	(void)state;
	desk_wait_text(p, AR_PROC_STDOUT, "up");
	d.host->v->forget(d.host, ar_str_from(p->handle));
	desk_wait_end(p);
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "up\ndown\n"));
	assert_int_equal(p->end.outcome, AR_PROC_EXITED);
	desk_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shim_killed_while_we_follow, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(shim_killed_while_attached, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(shim_killed_while_nobody_looks, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(shim_killed_at_the_barrier, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(shim_that_stands_still, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(folder_removed_while_it_runs, desk_setup, desk_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
