/* Commands as handlers: each way they end, what they are given, and that nothing of them is left. */
#include "desk.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLENTY 20000

/* ---- how they end ---- */

struct ending {
	const char *command;
	enum ar_hook_outcome outcome;
	const char *output, *message;
};

static void ends_say_what_happened(void **state AR_UNUSED)
{
	static const struct ending endings[] = {
		{ "echo '{}'", AR_HOOK_ANSWERED, "{}\n", "" },
		{ "exit 0", AR_HOOK_ANSWERED, "", "" },
		{ "exit 0 </dev/null; exec <&-", AR_HOOK_ANSWERED, "", "" },
		{ "echo ignored; echo 'not today' >&2; exit 2", AR_HOOK_BLOCKED, "not today", "" },
		{ "exit 2", AR_HOOK_BLOCKED, "", "" },
		{ "echo why >&2; exit 3", AR_HOOK_FAILED, "", "the command ended with exit status 3: why" },
		{ "exit 1", AR_HOOK_FAILED, "", "the command ended with exit status 1" },
		{ "kill -9 $$", AR_HOOK_FAILED, "", "the command was ended by signal 9" },
	};
	struct desk d;

	desk_init(&d);
	for (size_t i = 0; i < AR_ARRAY_LEN(endings); i++) {
		struct desk_run *r = desk_run(&d, endings[i].command, PLENTY);

		if (r->outcome != endings[i].outcome || strcmp(r->output, endings[i].output) != 0 ||
		    strcmp(r->message, endings[i].message) != 0)
			fail_msg("`%s` ended as %d with '%s', '%s'", endings[i].command, (int)r->outcome,
				 r->output, r->message);
		test_free(r);
	}
	desk_fini(&d);
}

static void one_that_cannot_start_fails(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	r = desk_run(&d, "/nowhere/at-all", PLENTY);
	assert_int_equal(r->outcome, AR_HOOK_FAILED);
	assert_non_null(strstr(r->message, "exit status 127"));
	assert_non_null(strstr(r->message, "/nowhere/at-all"));
	test_free(r);
	desk_fini(&d);
}

/* ---- what they say ---- */

static void output_up_to_the_cap_is_whole(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	r = desk_run(&d, "head -c 262144 /dev/zero | tr '\\0' x", PLENTY);
	assert_int_equal(r->outcome, AR_HOOK_ANSWERED);
	assert_int_equal(r->output_len, 262144);
	assert_int_equal(r->output[262143], 'x');
	test_free(r);
	desk_fini(&d);
}

static void output_over_the_cap_ends_it(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	r = desk_run(&d, "yes", PLENTY);
	assert_int_equal(r->outcome, AR_HOOK_FAILED);
	assert_non_null(strstr(r->message, "more than 67108864 bytes"));
	assert_true(r->took_ms < PLENTY / 2);
	test_free(r);
	desk_fini(&d);
}

static void of_a_long_complaint_the_end_is_kept(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	r = desk_run(&d, "head -c 300000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 2", PLENTY);
	assert_int_equal(r->outcome, AR_HOOK_BLOCKED);
	assert_true(r->output_len <= 16384);
	assert_string_equal(r->output + r->output_len - 7, "the end");
	test_free(r);
	desk_fini(&d);
}

/* ---- what they are given ---- */

static void the_input_comes_whole_and_ends(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	r = desk_run(&d, "cat /dev/stdin", PLENTY);
	assert_int_equal(r->outcome, AR_HOOK_ANSWERED);
	assert_int_equal(r->output_len, r->run.input.len);
	assert_memory_equal(r->output, r->run.input.p, r->output_len);
	test_free(r);
	desk_fini(&d);
}

/* SIGPIPE stays at its default here: a write to a pipe that nobody reads would end this program. */
static void one_that_does_not_read_hurts_nobody(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	r = desk_start(&d, "exec <&-; sleep 0.2; echo fine", PLENTY);
	desk_wait(&d);
	assert_int_equal(r->outcome, AR_HOOK_ANSWERED);
	assert_string_equal(r->output, "fine\n");
	test_free(r);
	desk_fini(&d);
}

static void the_environment_has_ids_and_no_secret(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	setenv("OPENAI_API_KEY", "sk-planted", 1);
	setenv("TZ", "UTC", 1);
	desk_init(&d);
	r = desk_run(&d, "env | grep -v '^\\(PWD\\|SHLVL\\|OLDPWD\\|_\\|HOME\\|LANG\\|PATH\\)=' | sort",
		     PLENTY);
	assert_string_equal(r->output, "AGENTRUNTIME_HOOK=probe\nAGENTRUNTIME_HOOK_POINT=stop\n"
				       "AGENTRUNTIME_SESSION_ID=sess_1\nAGENTRUNTIME_THREAD_ID=thread_1\n"
				       "AGENTRUNTIME_TURN_ID=turn_1\nTZ=UTC\n");
	test_free(r);
	desk_fini(&d);
}

static void descriptors_and_signals_are_a_shells(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;
	int leaked = dup(STDERR_FILENO); /* not close-on-exec */

	signal(SIGPIPE, SIG_IGN);
	desk_init(&d);
	r = desk_run(&d, "ls /proc/self/fd | grep -c . ; sh -c 'kill -PIPE $$; echo ignored'; exit 0",
		     PLENTY);
	signal(SIGPIPE, SIG_DFL);
	close(leaked);
	/* 0, 1, 2 and the one that ls reads the folder with. */
	assert_string_equal(r->output, "4\n");
	test_free(r);
	desk_fini(&d);
}

/* ---- nothing is left ---- */

static bool is_seen(const char *mark)
{
	char line[160];
	bool found;
	FILE *out;

	snprintf(line, sizeof(line), "ps -eo stat=,args= | grep -v '^Z' | grep '[s]leep %s'", mark);
	out = popen(line, "r");
	assert_non_null(out);
	found = fgets(line, sizeof(line), out) != NULL;
	pclose(out);
	return found;
}

/* Whether a process with this mark in its command line lives; one that was killed has a moment to go. */
static bool is_alive(const char *mark)
{
	bool found = true;

	for (int i = 0; i < 20 && found; i++) {
		found = is_seen(mark);
		if (found)
			usleep(20000);
	}
	return found;
}

static void a_slow_one_ends_at_its_deadline(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	r = desk_run(&d, "sleep 41.101; echo late", 200);
	assert_int_equal(r->outcome, AR_HOOK_TIMEOUT);
	assert_true(r->took_ms >= 190 && r->took_ms < PLENTY);
	assert_false(is_alive("41.101"));
	test_free(r);
	desk_fini(&d);
}

static void one_that_ignores_the_request_is_killed(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	r = desk_run(&d, "trap '' TERM; sh -c 'trap \"\" TERM; sleep 42.201'; sleep 42.202", 1000);
	assert_int_equal(r->outcome, AR_HOOK_TIMEOUT);
	assert_true(r->took_ms >= 1900 && r->took_ms < PLENTY);
	assert_false(is_alive("42.201") || is_alive("42.202"));
	test_free(r);
	desk_fini(&d);
}

/* One has time to put its things in order when it is asked to end. */
static void who_was_asked_may_clean_up(void **state AR_UNUSED)
{
	char mark[] = "/tmp/ar-hook-XXXXXX";
	int fd = mkstemp(mark);
	char command[200];
	struct desk d;
	struct desk_run *r;
	char text[8] = "";

	snprintf(command, sizeof(command),
		 "trap 'sleep 0.3; echo swept >%s; exit 0' TERM; while :; do sleep 0.05; done", mark);
	desk_init(&d);
	r = desk_run(&d, command, 1000);
	assert_int_equal(r->outcome, AR_HOOK_TIMEOUT);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "swept\n");
	close(fd);
	unlink(mark);
	test_free(r);
	desk_fini(&d);
}

/* Children in the background, also those whose parent has gone, end with the command; what it said stays. */
static void those_left_behind_end_with_it(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	r = desk_run(
		&d,
		"sleep 43.301 & (sh -c 'trap \"\" TERM HUP; (sleep 43.302 &) ; sleep 43.303' &) ; echo said",
		PLENTY);
	assert_int_equal(r->outcome, AR_HOOK_ANSWERED);
	assert_string_equal(r->output, "said\n");
	assert_true(r->took_ms < PLENTY / 2);
	assert_false(is_alive("43.301") || is_alive("43.302") || is_alive("43.303"));
	test_free(r);
	desk_fini(&d);
}

static void on_cancel_due(uv_timer_t *timer)
{
	struct desk_run *r = timer->data;

	r->desk->runner->v->cancel(r->desk->runner, &r->run);
	uv_close((uv_handle_t *)timer, NULL);
}

static void a_cancelled_one_ends_with_its_group(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;
	uv_timer_t timer;

	desk_init(&d);
	uv_timer_init(&d.loop, &timer);
	timer.data = r = desk_start(&d, "sleep 44.401 & sleep 44.402", PLENTY);
	uv_timer_start(&timer, on_cancel_due, 100, 0);
	desk_wait(&d);
	assert_int_equal(r->outcome, AR_HOOK_CANCELLED);
	assert_true(r->took_ms < PLENTY / 2);
	assert_false(is_alive("44.401") || is_alive("44.402"));
	test_free(r);
	desk_fini(&d);
}

static void closing_ends_what_is_open(void **state AR_UNUSED)
{
	struct desk d;
	struct desk_run *r;

	desk_init(&d);
	r = desk_start(&d, "trap '' TERM; sleep 45.501 & sleep 45.502", PLENTY);
	desk_fini(&d);
	assert_int_equal(r->outcome, AR_HOOK_CANCELLED);
	assert_false(is_alive("45.501") || is_alive("45.502"));
	test_free(r);
}

static size_t descriptors(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 4096; fd++)
		count += uv_guess_handle(fd) != UV_UNKNOWN_HANDLE;
	return count;
}

static void a_hundred_at_once(void **state AR_UNUSED)
{
	struct desk_run *runs[100];
	size_t before = descriptors();
	struct desk d;

	desk_init(&d);
	for (size_t i = 0; i < AR_ARRAY_LEN(runs); i++)
		runs[i] = desk_start(&d, i % 4 == 3 ? "sleep 46.601" : "sleep 0.1; cat",
				     i % 4 == 3 ? 1000 : PLENTY);
	desk_wait(&d);
	for (size_t i = 0; i < AR_ARRAY_LEN(runs); i++) {
		assert_int_equal(runs[i]->outcome, i % 4 == 3 ? AR_HOOK_TIMEOUT : AR_HOOK_ANSWERED);
		assert_true(i % 4 == 3 || runs[i]->output_len == runs[i]->run.input.len);
		test_free(runs[i]);
	}
	desk_fini(&d);
	assert_int_equal(descriptors(), before);
	assert_false(is_alive("46.601"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_say_what_happened),
		cmocka_unit_test(one_that_cannot_start_fails),
		cmocka_unit_test(output_up_to_the_cap_is_whole),
		cmocka_unit_test(output_over_the_cap_ends_it),
		cmocka_unit_test(of_a_long_complaint_the_end_is_kept),
		cmocka_unit_test(the_input_comes_whole_and_ends),
		cmocka_unit_test(one_that_does_not_read_hurts_nobody),
		cmocka_unit_test(the_environment_has_ids_and_no_secret),
		cmocka_unit_test(descriptors_and_signals_are_a_shells),
		cmocka_unit_test(a_slow_one_ends_at_its_deadline),
		cmocka_unit_test(one_that_ignores_the_request_is_killed),
		cmocka_unit_test(who_was_asked_may_clean_up),
		cmocka_unit_test(those_left_behind_end_with_it),
		cmocka_unit_test(a_cancelled_one_ends_with_its_group),
		cmocka_unit_test(closing_ends_what_is_open),
		cmocka_unit_test(a_hundred_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
