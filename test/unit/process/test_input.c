/* Inputs: numbered, each written once, answered once, in order; over a pipe, given at the start, over a
 * terminal. */
#include "desk_group.h"

#include <stdio.h>

static void put(struct desk_process *p, uint64_t number, const char *text, bool is_eof)
{
	size_t before = p->story.len;

	d.host->v->write(d.host, &p->process, number, ar_str_from(text), is_eof);
	assert_int_equal(p->story.len, before);
}

static void each_number_is_written_once(void **state)
{
	struct ar_process_spec spec = { .has_input = true };
	/* It outlives its input: one that has ended answers nothing. */
	struct desk_process *p = desk_launch(&d, "trap 'exit 0' INT TERM; cat; while :; do sleep 0.02; done",
					     &spec),
			    *again;
	char handle[512];

	(void)state;
	desk_wait_ready(p);
	put(p, 1, "a", false);
	desk_wait_story(p, "written 1 took");
	put(p, 1, "a", false);
	put(p, 2, "b", false);
	desk_wait_story(p, "written 2 took");
	put(p, 4, "d", false); /* the third has not come */
	desk_wait_story(p, "written 4 busy");
	desk_wait_text(p, AR_PROC_STDOUT, "ab");
	snprintf(handle, sizeof(handle), "%s", p->handle);
	desk_leave(p);
	desk_free(p);
	again = desk_attach(&d, handle);
	desk_wait_text(again, AR_PROC_STDOUT, "ab");
	assert_int_equal(again->inputs, 2);
	put(again, 2, "b", false); /* nobody knew whether it was taken */
	put(again, 3, "c", true);
	put(again, 4, "d", false);
	/* Reports may stand between the answers. */
	desk_wait_story(again, "written 2 took");
	desk_wait_story(again, "written 3 took");
	desk_wait_story(again, "written 4 closed");
	desk_wait_story(again, "input_written");
	desk_wait_text(again, AR_PROC_STDOUT, "abc");
	d.host->v->end(d.host, &again->process, AR_STR("user"), AR_STR("x"), 5000);
	desk_wait_end(again);
	assert_true(ar_str_is(desk_out(again, AR_PROC_STDOUT), "abc"));
	assert_int_equal(again->end.exit_code, 0);
	desk_free(again);
}

static void every_write_is_answered(void **state)
{
	enum { WRITES = 200 };
	struct ar_process_spec spec = { .has_input = true };
	struct desk_process *p = desk_launch(&d, "sleep 60", &spec);
	char *large = test_malloc(AR_PROC_INPUT_MAX + 2), line[64];
	size_t answers = 0;

	(void)state;
	memset(large, 'x', AR_PROC_INPUT_MAX + 1);
	large[AR_PROC_INPUT_MAX + 1] = '\0';
	desk_wait_ready(p);
	put(p, 1, large, false);
	desk_wait_story(p, "written 1 too_large");
	large[AR_PROC_INPUT_MAX] = '\0';
	for (uint64_t i = 1; i <= WRITES; i++)
		put(p, i, large, false);
	snprintf(line, sizeof(line), "written %d ", WRITES);
	desk_wait_story(p, line);
	desk_wait_story(p, "busy");
	put(p, 1000, "x", false);
	d.host->v->end(d.host, &p->process, AR_STR("user"), AR_STR("x"), 0);
	desk_wait_end(p);
	for (const char *at = p->story.p;
	     (at = memmem(at, (size_t)(p->story.p + p->story.len - at), "written ", 8)); at += 8)
		answers += at == p->story.p || at[-1] == '\n';
	assert_int_equal(answers, WRITES + 2);
	desk_free(p);
	test_free(large);
}

static void is_given_at_the_start(void **state)
{
	enum { BYTES = 1000000 };
	char *bytes = test_malloc(BYTES);
	struct ar_process_spec spec = { .input = { bytes, BYTES } };
	struct desk_process *p;

	(void)state;
	for (int i = 0; i < BYTES; i++)
		bytes[i] = (char)(i * 7 % 251);
	p = desk_launch(&d, "cat", &spec);
	desk_wait_end(p);
	assert_int_equal(p->end.exit_code, 0);
	assert_true(ar_str_eq(desk_out(p, AR_PROC_STDOUT), spec.input));
	desk_free(p);
	p = desk_launch(&d, "cat; echo end", NULL);
	desk_wait_end(p);
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "end\n"));
	desk_free(p);
	test_free(bytes);
}

static void a_terminal_is_typed_at(void **state)
{
	struct ar_process_spec spec = { .tty = true, .rows = 30, .columns = 90 };
	struct desk_process *p =
		desk_launch(&d, "stty size; read line; echo \"<$line>\"; stty size; test -t 0 && echo tty",
			    &spec);

	(void)state;
	desk_wait_text(p, AR_PROC_TTY, "30 90");
	desk_wait_story(p, "waits 0 0 {}\n");
	d.host->v->resize(d.host, &p->process, 40, 100);
	put(p, 1, "hello\n", false);
	desk_wait_end(p);
	assert_non_null(memmem(p->out[AR_PROC_TTY].p, p->out[AR_PROC_TTY].len, "<hello>", 7));
	desk_wait_text(p, AR_PROC_TTY, "40 100");
	desk_wait_text(p, AR_PROC_TTY, "tty");
	assert_int_equal(p->end.exit_code, 0);
	assert_int_equal(p->end.tty_bytes, p->out[AR_PROC_TTY].len);
	desk_free(p);
}

/* One that works is not one that waits. */
static void a_busy_terminal_does_not_wait(void **state)
{
	struct ar_process_spec spec = { .tty = true };
	struct desk_process *p = desk_launch(&d, "echo up; sleep 3.2", &spec);

	(void)state;
	desk_wait_end(p);
	assert_null(memmem(p->story.p, p->story.len, "waits", 5));
	desk_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_number_is_written_once, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(every_write_is_answered, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(is_given_at_the_start, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(a_terminal_is_typed_at, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(a_busy_terminal_does_not_wait, desk_setup, desk_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
