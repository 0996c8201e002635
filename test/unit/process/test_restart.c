/* The daemon is killed in the middle of a process: whoever attaches afterwards is told everything from the
 * first byte, as if nothing had happened. A daemon is a child of the test that follows on a loop of its
 * own. */
#include "desk_group.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Slow enough that it still runs when the last of the daemons is killed. */
#define LINES \
	"for i in $(seq 1 4000); do echo line $i of it all; [ $((i % 100)) = 0 ] && echo err $i >&2 && " \
	"sleep 0.05; " \
	"done; exit 7"
#define ROUNDS 8

static int told; /* where the child says its handle, and then each output */

static void say_output(struct desk_process *p)
{
	(void)p;
	if (write(told, "o", 1) != 1)
		_exit(1);
}

/* In the child: a host of its own over the same folder. */
static void follow(struct desk *mine, const char *script, const char *handle)
{
	struct desk_process *p;

	if (uv_loop_init(&mine->loop) != 0)
		_exit(1);
	desk_open(mine);
	p = script ? desk_launch(mine, script, NULL) : desk_attach(mine, handle);
	if (script) {
		desk_wait_ready(p);
		if (write(told, p->handle, sizeof(p->handle)) != sizeof(p->handle))
			_exit(1);
	}
	p->on_output = say_output; /* not before: the handle is told first */
	desk_wait_end(p);
	_exit(1); /* closes `told`: the parent sees it, if it waits for more output than there is */
}

/* Runs a follower until it has told `outputs` of them, then kills it. */
static void follow_and_die(const char *script, char handle[512], int outputs)
{
	struct desk mine = d;
	int pipe_fds[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	told = pipe_fds[1];
	child = fork();
	if (child == 0)
		follow(&mine, script, handle);
	close(pipe_fds[1]);
	if (script)
		assert_int_equal(read(pipe_fds[0], handle, 512), 512);
	for (int i = 0; i < outputs; i++)
		assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(pipe_fds[0]);
}

static void killed_again_and_again(void **state)
{
	struct desk_process *whole = desk_launch(&d, LINES, NULL), *p;
	char handle[512];

	(void)state;
	desk_wait_end(whole);
	assert_int_equal(whole->end.exit_code, 7);
	follow_and_die(LINES, handle, 1);
	for (int i = 1; i <= ROUNDS; i++)
		follow_and_die(NULL, handle, i * 3);
	p = desk_attach(&d, handle);
	desk_wait_end(p);
	assert_true(p->is_attached);
	assert_true(ar_str_eq(desk_out(whole, AR_PROC_STDOUT), desk_out(p, AR_PROC_STDOUT)));
	assert_true(ar_str_eq(desk_out(whole, AR_PROC_STDERR), desk_out(p, AR_PROC_STDERR)));
	assert_int_equal(p->end.outcome, AR_PROC_EXITED);
	assert_int_equal(p->end.exit_code, 7);
	assert_int_equal(p->end.stdout_bytes, whole->end.stdout_bytes);
	desk_free(whole);
	desk_free(p);
}

/* It is not let go by whoever finds it, unless that one says so. */
static void killed_before_go(void **state)
{
	char handle[512], script[128];
	struct desk_process *p;

	(void)state;
	snprintf(script, sizeof(script), "# waits\necho ran");
	follow_and_die(script, handle, 0);
	p = desk_attach(&d, handle);
	desk_turn(&d, 300);
	assert_true(p->is_attached);
	assert_int_equal(desk_out(p, AR_PROC_STDOUT).len, 0);
	d.host->v->go(d.host, &p->process);
	desk_wait_end(p);
	assert_true(ar_str_is(desk_out(p, AR_PROC_STDOUT), "ran\n"));
	desk_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(killed_again_and_again, desk_setup, desk_teardown),
		cmocka_unit_test_setup_teardown(killed_before_go, desk_setup, desk_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
