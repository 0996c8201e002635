/* attach() to what is left of processes: journals written by hand, nobody behind them. */
#include "desk_group.h"
#include "journal_file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct desk_process *attached(const char *handle)
{
	struct desk_process *p = desk_attach(&d, handle);

	desk_wait_end(p);
	return p;
}

static void replays_all(void **state)
{
	struct journal_file j;
	struct desk_process *p;

	(void)state;
	journal_make(&j, &d);
	journal_begin(&j);
	journal_add(&j, AR_RECORD_OUTPUT, AR_STREAM_STDOUT, "ab", 2);
	journal_say(&j, AR_RECORD_VIOLATION, "{\"boundary\":\"filesystem\"}");
	journal_add(&j, AR_RECORD_OUTPUT, AR_STREAM_STDERR, "\0!", 2);
	journal_say(&j, AR_RECORD_INPUT_ACCEPTED, "{\"number\":1,\"bytes\":2,\"eof\":false}");
	journal_say(&j, AR_RECORD_INPUT_WRITTEN, "{\"number\":1}");
	journal_say(&j, AR_RECORD_LIMIT, "{\"kind\":\"output\",\"count\":1}");
	journal_say(&j, AR_RECORD_TRUNCATED, "{\"stream\":\"stdout\",\"from\":2,\"to\":9}");
	journal_add(&j, AR_RECORD_OUTPUT, AR_STREAM_STDOUT, "z", 1);
	journal_say(&j, AR_RECORD_SIGNALLED, "{\"signal\":\"SIGINT\",\"by\":\"user\",\"reason\":\"enough\"}");
	journal_say(&j, AR_RECORD_EXIT, "{\"signal\":\"SIGINT\",\"by\":\"user\",\"durationMs\":77}");
	journal_say(&j, AR_RECORD_LEFTOVERS, "{\"count\":3}");
	journal_say(&j, AR_RECORD_OUTPUT_END, "{\"stdout\":10,\"stderr\":2,\"tty\":0}");
	journal_say(&j, AR_RECORD_SEALED, "{}");
	p = attached(j.handle);
	desk_assert_story(p, "violation 6 0 {\"boundary\":\"filesystem\"}\n"
			     "input_written 9 1 {\"number\":1}\n"
			     "limit 10 0 {\"kind\":\"output\",\"count\":1}\n"
			     "truncated 11 0 {\"stream\":\"stdout\",\"from\":2,\"to\":9}\n"
			     "end 3 seq 14 exit 1 130 SIGINT user enough  10 2 0\n");
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "abz"));
	assert_true(ar_str_eq(desk_out(p, AR_PROC_STDERR), AR_STR("\0!")));
	assert_int_equal(p->end.leftovers, 3);
	assert_int_equal(p->end.duration_ms, 77);
	assert_false(p->is_attached);
	assert_false(p->is_ready);
	desk_free(p);
	journal_close(&j);
}

/* By what EXIT says, the end means another thing. */
static void ends_by_who_ended_it(void **state)
{
	static const struct {
		const char *exit;
		enum ar_process_outcome outcome;
		int code;
		const char *by, *message;
	} rows[] = {
		{ "{\"code\":3,\"by\":\"itself\",\"durationMs\":5}", AR_PROC_EXITED, 3, "", "" },
		{ "{\"signal\":\"SIGSEGV\",\"by\":\"itself\"}", AR_PROC_EXITED, 139, "", "" },
		{ "{\"signal\":\"SIGKILL\",\"by\":\"timeout\"}", AR_PROC_TIMED_OUT, 137, "", "" },
		{ "{\"signal\":\"SIGKILL\",\"by\":\"limit\"}", AR_PROC_LIMIT_HIT, 137, "", "memory" },
		{ "{\"code\":0,\"by\":\"shutdown\"}", AR_PROC_ENDED, 0, "shutdown", "" },
		{ "{\"code\":0,\"by\":\"parent_cancellation\"}", AR_PROC_ENDED, 0, "parent_cancellation",
		  "" },
		{ "{\"code\":0,\"by\":\"policy\"}", AR_PROC_ENDED, 0, "policy", "" },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct journal_file j;
		struct desk_process *p;

		journal_make(&j, &d);
		journal_begin(&j);
		journal_say(&j, AR_RECORD_LIMIT, "{\"kind\":\"memory\",\"count\":1}");
		journal_end(&j, rows[i].exit);
		p = attached(j.handle);
		assert_int_equal(p->end.outcome, rows[i].outcome);
		assert_true(p->end.exit_is_known);
		assert_int_equal(p->end.exit_code, rows[i].code);
		assert_string_equal(p->by, rows[i].by);
		assert_string_equal(p->message, rows[i].message);
		assert_int_equal(p->end.seq, 6);
		desk_free(p);
		journal_close(&j);
	}
}

/* An exit is known from its record on, also when the seal is missing. */
static void exit_counts_without_seal(void **state)
{
	struct journal_file j;
	struct desk_process *p;

	(void)state;
	journal_make(&j, &d);
	journal_begin(&j);
	journal_say(&j, AR_RECORD_EXIT, "{\"code\":9,\"by\":\"itself\"}");
	p = attached(j.handle);
	assert_int_equal(p->end.outcome, AR_PROC_EXITED);
	assert_int_equal(p->end.exit_code, 9);
	desk_free(p);
	journal_close(&j);
}

static void lost_without_exit(void **state)
{
	struct journal_file j;
	struct desk_process *p;

	(void)state;
	journal_make(&j, &d);
	journal_begin(&j);
	journal_add(&j, AR_RECORD_OUTPUT, AR_STREAM_STDOUT, "part", 4);
	p = attached(j.handle);
	assert_int_equal(p->end.outcome, AR_PROC_SUPERVISOR_LOST);
	assert_false(p->end.exit_is_known);
	assert_int_equal(p->end.stdout_bytes, 4);
	assert_int_equal(p->end.seq, 0);
	assert_int_equal(p->end.duration_ms, 2000);
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "part"));
	desk_free(p);
	journal_close(&j);
}

/* Never let go: then nothing ran, on this boot. After another start of the machine records may be missing. */
static void not_started_without_release(void **state)
{
	struct journal_file j;
	struct desk_process *p;
	char handle[512];

	(void)state;
	journal_make(&j, &d);
	journal_say(&j, AR_RECORD_SPAWNED, "{\"shimPid\":1}");
	journal_say(&j, AR_RECORD_APPLIED, "{\"pid\":1}");
	p = attached(j.handle);
	assert_int_equal(p->end.outcome, AR_PROC_NOT_STARTED);
	assert_string_equal(p->step, "barrier");
	desk_free(p);
	journal_handle(&j, NULL, "another-boot", handle);
	p = attached(handle);
	assert_int_equal(p->end.outcome, AR_PROC_SUPERVISOR_LOST);
	assert_non_null(strstr(p->message, "started again"));
	desk_free(p);
	journal_close(&j);
}

/* The lock is held by somebody: on another boot that is nobody of ours. */
static void other_boot_is_lost(void **state)
{
	struct journal_file j;
	struct desk_process *p;
	char handle[512];

	(void)state;
	journal_make(&j, &d);
	journal_begin(&j);
	journal_lock(&j);
	journal_handle(&j, NULL, "another-boot", handle);
	p = attached(handle);
	assert_int_equal(p->end.outcome, AR_PROC_SUPERVISOR_LOST);
	assert_false(p->end.exit_is_known);
	desk_free(p);
	journal_close(&j);
}

static void unavailable(const char *handle, const char *says)
{
	struct desk_process *p = attached(handle);

	assert_int_equal(p->end.outcome, AR_PROC_UNAVAILABLE);
	assert_non_null(strstr(p->message, says));
	assert_false(p->end.exit_is_known);
	desk_free(p);
}

static void not_here_is_unavailable(void **state)
{
	struct journal_file j;
	char handle[512], path[200];

	(void)state;
	journal_make(&j, &d);
	journal_begin(&j);
	journal_handle(&j, "0123456789abcdef", NULL, handle);
	unavailable(handle, "another machine");
	assert_int_equal(chmod(j.folder, 0750), 0);
	unavailable(j.handle, "another user");
	assert_int_equal(chmod(j.folder, 0700), 0);
	snprintf(path, sizeof(path), "%s/journal", j.folder);
	assert_int_equal(unlink(path), 0);
	unavailable(j.handle, "gone");
	assert_int_equal(rmdir(j.folder), 0);
	unavailable(j.handle, "gone");
	unavailable("", "handle");
	unavailable("shim1:a:b", "handle");
	unavailable("shim2:a:b:/tmp", "handle");
	journal_close(&j);
}

static struct desk_process *leaver;

static void leave_now(struct desk_process *p)
{
	leaver = p;
	desk_leave(p);
}

static void may_leave_in_a_callback(void **state)
{
	struct journal_file j;
	struct desk_process *p;

	(void)state;
	journal_make(&j, &d);
	journal_begin(&j);
	journal_add(&j, AR_RECORD_OUTPUT, AR_STREAM_STDOUT, "a", 1);
	journal_add(&j, AR_RECORD_OUTPUT, AR_STREAM_STDOUT, "b", 1);
	journal_end(&j, "{\"code\":0,\"by\":\"itself\"}");
	p = desk_attach(&d, j.handle);
	p->on_output = leave_now;
	desk_turn(&d, 200);
	assert_ptr_equal(leaver, p);
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "a"));
	assert_false(p->is_done);
	desk_free(p);
	p = attached(j.handle);
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "ab"));
	desk_free(p);
	journal_close(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(replays_all, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(ends_by_who_ended_it, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(exit_counts_without_seal, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(lost_without_exit, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(not_started_without_release, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(other_boot_is_lost, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(not_here_is_unavailable, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(may_leave_in_a_callback, desk_setup, desk_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
