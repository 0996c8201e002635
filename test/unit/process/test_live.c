/* Processes from launch to end, over the real agent-shim and agent-init, without a boundary. */
#include "desk_group.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void runs_and_ends(void **state)
{
	struct desk_process *p, *again;
	char folder[512];

	(void)state;
	p = desk_launch(&d, "printf out; printf err >&2; exit 3", NULL);
	desk_wait_end(p);
	assert_true(p->is_ready);
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "out"));
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDERR), "err"));
	assert_int_equal(p->end.outcome, AR_PROC_EXITED);
	assert_true(p->end.exit_is_known);
	assert_int_equal(p->end.exit_code, 3);
	assert_int_equal(p->end.stdout_bytes, 3);
	assert_non_null(strstr(p->boundary, "\"guarantees\":{\"nothing\":true}"));
	assert_non_null(strstr(p->boundary, "\"noNewPrivs\""));
	desk_folder_of(p->handle, folder);
	assert_true(desk_exists(folder, "journal"));
	again = desk_attach(&d, p->handle);
	desk_wait_end(again);
	desk_assert_same(p, again);
	d.host->v->forget(d.host, ar_str_from(p->handle));
	assert_false(desk_exists(folder, ""));
	desk_free(p);
	desk_free(again);
}

/* Nothing of the command runs before go(), and nothing at all without it. */
static void waits_for_go(void **state)
{
	struct desk_process *p;
	char script[128];

	(void)state;
	assert_int_equal(chmod(d.root, 0777), 0);
	snprintf(script, sizeof(script), "# not by itself\necho ran > %s/ran", d.root);
	p = desk_launch(&d, script, NULL);
	desk_wait_ready(p);
	desk_turn(&d, 300);
	assert_false(desk_exists(d.root, "ran"));
	d.host->v->go(d.host, &p->process);
	d.host->v->go(d.host, &p->process);
	desk_wait_end(p);
	assert_int_equal(p->end.exit_code, 0);
	assert_true(desk_exists(d.root, "ran"));
	desk_free(p);
}

static void gives_up_at_the_barrier(void **state)
{
	struct desk_process *p;
	char script[128];

	(void)state;
	desk_close(&d);
	d.barrier_ms = 300;
	desk_open(&d);
	assert_int_equal(chmod(d.root, 0777), 0);
	snprintf(script, sizeof(script), "# never\necho ran > %s/ran", d.root);
	p = desk_launch(&d, script, NULL);
	desk_wait_end(p);
	assert_int_equal(p->end.outcome, AR_PROC_NOT_STARTED);
	assert_string_equal(p->step, "barrier");
	assert_non_null(strstr(p->message, "run it again"));
	assert_false(desk_exists(d.root, "ran"));
	desk_free(p);
}

static void says_what_is_missing(void **state)
{
	struct ar_str argv[] = { AR_STR("no-such-program") };
	struct ar_process_spec spec = { .argv = argv, .argc = 1 };
	struct desk_process *p = desk_launch(&d, "", &spec);

	(void)state;
	desk_wait_end(p);
	assert_int_equal(p->end.outcome, AR_PROC_NOT_STARTED);
	assert_string_equal(p->step, "exec");
	assert_non_null(strstr(p->message, "not found"));
	assert_non_null(strstr(p->message, "sandbox.read_roots"));
	assert_false(p->end.exit_is_known);
	desk_free(p);
}

static size_t folders(void)
{
	struct stat st;

	assert_int_equal(stat(d.folder, &st), 0);
	return (size_t)st.st_nlink - 2;
}

static void not_started(const struct ar_process_spec *spec, const char *step, const char *says)
{
	struct desk_process *p = desk_launch(&d, "true", spec);

	desk_wait_end(p);
	assert_int_equal(p->end.outcome, AR_PROC_NOT_STARTED);
	assert_string_equal(p->step, step);
	assert_non_null(strstr(p->message, says));
	desk_free(p);
	desk_turn(&d, 20);
	assert_int_equal(folders(), 0);
}

/* Whoever never got a handle cannot forget it, so nothing may be left. */
static void leaves_nothing_of_what_did_not_begin(void **state)
{
	struct ar_str word = AR_STR("x");
	struct ar_process_spec none = { .argv = &word }, both = { .input = word, .tty = true };

	(void)state;
	d.sandbox_refuses = "user namespaces are off; turn them on";
	not_started(NULL, "sandbox", d.sandbox_refuses);
	d.sandbox_refuses = NULL;
	not_started(&none, "request", "name a program");
	not_started(&both, "request", "exclude each other");
	desk_close(&d);
	snprintf(d.shim, sizeof(d.shim), "%s/no-shim", d.root);
	desk_open(&d);
	not_started(NULL, "supervisor", "sandbox.helpers");
	desk_close(&d);
	snprintf(d.shim, sizeof(d.shim), "/bin/false");
	desk_open(&d);
	not_started(NULL, "supervisor", "nothing of it ran");
}

static void runs_out_of_time(void **state)
{
	struct ar_process_spec spec = { .timeout_ms = 300 };
	struct desk_process *p = desk_launch(&d, "sleep 60", &spec);

	(void)state;
	desk_wait_end(p);
	assert_int_equal(p->end.outcome, AR_PROC_TIMED_OUT);
	desk_free(p);
}

static void keeps_head_and_tail(void **state)
{
	struct desk_process *p, *again;

	(void)state;
	desk_close(&d);
	d.output_bytes = 100000;
	desk_open(&d);
	p = desk_launch(&d, "head -c 3000000 /dev/zero | tr '\\0' x; printf END", NULL);
	desk_wait_end(p);
	assert_int_equal(p->end.stdout_bytes, 3000003);
	assert_in_range(desk_out(p, AR_PROC_STDOUT).len, 100000, 100000 + 256 * 1024);
	assert_true(ar_str_ends(desk_out(p, AR_PROC_STDOUT), AR_STR("END")));
	desk_wait_story(p, "truncated");
	again = desk_attach(&d, p->handle);
	desk_wait_end(again);
	desk_assert_same(p, again);
	desk_free(p);
	desk_free(again);
}

/* ---- ends on purpose ---- */

static void ends_when_asked(void **state)
{
	struct desk_process *p =
		desk_launch(&d, "trap 'exit 4' INT; echo up; while :; do sleep 0.05; done", NULL);

	(void)state;
	desk_wait_text(p, AR_PROC_STDOUT, "up");
	d.host->v->end(d.host, &p->process, AR_STR("user"), AR_STR("no longer \"wanted\""), 5000);
	desk_wait_end(p);
	assert_int_equal(p->end.outcome, AR_PROC_ENDED);
	assert_string_equal(p->by, "user");
	assert_string_equal(p->reason, "no longer \"wanted\"");
	assert_true(p->end.exit_is_known);
	assert_int_equal(p->end.exit_code, 4);
	desk_free(p);
}

/* It ignores what it is asked with; after the graces it is killed, and so is what it started. */
static void kills_who_does_not_listen(void **state)
{
	struct desk_process *p =
		desk_launch(&d, "trap '' INT TERM; (setsid sleep 60 &); echo up; while :; do sleep 60; done",
			    NULL);

	(void)state;
	desk_wait_text(p, AR_PROC_STDOUT, "up");
	d.host->v->end(d.host, &p->process, AR_STR("policy"), AR_STR("over"), 150);
	desk_wait_end(p);
	assert_int_equal(p->end.outcome, AR_PROC_ENDED);
	assert_string_equal(p->signal, "SIGKILL");
	assert_int_equal(p->end.exit_code, 137);
	assert_true(p->end.duration_ms >= 300);
	desk_free(p);
}

static void ends_before_it_began(void **state)
{
	struct desk_process *p = desk_launch(&d, "# never\ntrue", NULL);

	(void)state;
	d.host->v->end(d.host, &p->process, AR_STR("user"), AR_STR("changed my mind"), 100);
	desk_wait_end(p);
	assert_true(p->end.outcome == AR_PROC_NOT_STARTED || p->end.outcome == AR_PROC_ENDED);
	assert_false(p->end.outcome == AR_PROC_ENDED && p->end.exit_code == 0);
	desk_free(p);
}

static void takes_signals(void **state)
{
	struct desk_process *p =
		desk_launch(&d, "trap 'echo got; exit 5' USR1; echo up; while :; do sleep 0.05; done", NULL);

	(void)state;
	desk_wait_text(p, AR_PROC_STDOUT, "up");
	d.host->v->signal(d.host, &p->process, AR_STR("NOT-ONE"));
	d.host->v->signal(d.host, &p->process, AR_STR("SIGUSR1"));
	desk_wait_end(p);
	assert_true(ar_str_ends(desk_out(p, AR_PROC_STDOUT), AR_STR("got\n")));
	assert_int_equal(p->end.exit_code, 5);
	desk_free(p);
}

/* ---- left and found again ---- */

static void goes_on_when_left(void **state)
{
	struct desk_process *p = desk_launch(&d, "for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done", NULL);
	struct desk_process *again;
	char handle[512];

	(void)state;
	desk_wait_text(p, AR_PROC_STDOUT, "2");
	snprintf(handle, sizeof(handle), "%s", p->handle);
	desk_leave(p);
	desk_free(p);
	desk_turn(&d, 100);
	again = desk_attach(&d, handle);
	desk_wait_end(again);
	assert_true(again->is_attached);
	assert_true(ar_str_is(desk_out(again, AR_PROC_STDOUT), "1\n2\n3\n4\n5\n6\n"));
	assert_int_equal(again->end.outcome, AR_PROC_EXITED);
	assert_int_equal(again->end.exit_code, 0);
	desk_free(again);
}

/* Another host of the same folder, as after a restart. */
static void goes_on_when_the_host_closes(void **state)
{
	struct desk_process *p = desk_launch(&d, "echo a; sleep 0.4; echo b", NULL), *again;
	char handle[512];

	(void)state;
	desk_wait_text(p, AR_PROC_STDOUT, "a");
	snprintf(handle, sizeof(handle), "%s", p->handle);
	desk_close(&d);
	d.open = 0;
	desk_free(p);
	desk_open(&d);
	again = desk_attach(&d, handle);
	desk_wait_end(again);
	assert_true(ar_str_is(desk_out(again, AR_PROC_STDOUT), "a\nb\n"));
	assert_int_equal(again->end.exit_code, 0);
	desk_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(runs_and_ends, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(waits_for_go, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(gives_up_at_the_barrier, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(says_what_is_missing, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(leaves_nothing_of_what_did_not_begin, desk_setup,
						desk_teardown),
		cmocka_unit_test_setup_teardown(runs_out_of_time, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(keeps_head_and_tail, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(ends_when_asked, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(kills_who_does_not_listen, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(ends_before_it_began, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(takes_signals, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(goes_on_when_left, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(goes_on_when_the_host_closes, desk_setup, desk_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
