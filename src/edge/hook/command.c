/* The life of a command: it is read while it runs, asked to end at its deadline or when it is cancelled,
 * killed when it does not, and its group is gone before on_done. Which process belongs to it is left to
 * child.c. Loop thread only. */
#include "command.h"

#include "buf.h"
#include "child.h"
#include "environment.h"
#include "json.h"
#include "mem.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_MS 1000 /* between being asked and being killed */
#define COMPLAINT_MAX ((size_t)16 * 1024) /* of standard error the end is kept */
#define SHOWN_MAX 160 /* of it in a message */
#define BLOCK_STATUS 2
#define READ_BYTES 16384
#define READS_MAX (2 * AR_HOOK_OUTPUT_MAX / READ_BYTES)

enum { WATCH_EXIT, WATCH_OUT, WATCH_ERR, WATCH_COUNT };

struct command {
	struct ar_list node;
	struct ar_hook_run *run;
	struct ar_hook_commands *all;
	struct ar_child child;
	uv_poll_t watch[WATCH_COUNT];
	uv_timer_t timer;
	int handles; /* of the five above, not yet closed */
	struct ar_buf said, complaint;
	size_t written; /* to its standard output; `said` has the first of it */
	bool is_running; /* there is a child */
	bool has_exited, out_ended, err_ended;
	enum ar_hook_outcome verdict; /* what ended it before it did; 0: nothing */
	struct ar_error trouble; /* of verdict FAILED */
};

/* ---- the end ---- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct command *c = handle->data;

	if (--c->handles > 0)
		return;
	ar_buf_fini(&c->said);
	ar_buf_fini(&c->complaint);
	ar_free(c);
}

static void close_handles(struct command *c)
{
	uv_close((uv_handle_t *)&c->timer, on_handle_closed);
	for (int i = 0; c->is_running && i < WATCH_COUNT; i++)
		uv_close((uv_handle_t *)&c->watch[i], on_handle_closed);
}

static struct ar_str trimmed(struct ar_str s)
{
	while (s.len > 0 && (s.p[s.len - 1] == '\n' || s.p[s.len - 1] == '\r' || s.p[s.len - 1] == ' '))
		s.len--;
	return s;
}

/* The end of what it complained about, from a character's start. */
static struct ar_str stderr_tail(struct ar_str s)
{
	if (s.len > SHOWN_MAX)
		s = ar_str_sub(s, s.len - SHOWN_MAX, SHOWN_MAX);
	while (s.len > 0 && ((unsigned char)*s.p & 0xC0) == 0x80)
		s = ar_str_sub(s, 1, s.len);
	return s;
}

static void explain(struct command *c, int status)
{
	struct ar_str words = stderr_tail(trimmed(ar_buf_str(&c->complaint)));
	char how[64];

	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "was ended by signal %d", WTERMSIG(status));
	else
		snprintf(how, sizeof(how), "ended with exit status %d", WEXITSTATUS(status));
	ar_fail(&c->trouble, AR_E_IO, "the command %s%s%.*s", how, words.len > 0 ? ": " : "", (int)words.len,
		words.p);
}

static bool is_too_long(const struct command *c)
{
	return c->written > AR_HOOK_OUTPUT_MAX;
}

static enum ar_hook_outcome read_verdict(struct command *c, int status)
{
	if (c->verdict)
		return c->verdict;
	if (is_too_long(c)) {
		ar_fail(&c->trouble, AR_E_LIMIT,
			"the command wrote %zu bytes to its standard output, and may write %zu", c->written,
			AR_HOOK_OUTPUT_MAX);
		return AR_HOOK_FAILED;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return AR_HOOK_ANSWERED;
	if (WIFEXITED(status) && WEXITSTATUS(status) == BLOCK_STATUS)
		return AR_HOOK_BLOCKED;
	explain(c, status);
	return AR_HOOK_FAILED;
}

static void finish(struct command *c)
{
	struct ar_hook_result result = { 0 };
	struct ar_hook_run *run = c->run;
	int status = 0;

	for (int i = 0; c->is_running && i < WATCH_COUNT; i++)
		uv_poll_stop(&c->watch[i]);
	uv_timer_stop(&c->timer);
	if (c->is_running)
		status = ar_child_end(&c->child);
	ar_list_del(&c->node);
	result.outcome = read_verdict(c, status);
	if (result.outcome == AR_HOOK_ANSWERED)
		result.output = ar_buf_str(&c->said);
	if (result.outcome == AR_HOOK_BLOCKED)
		result.output = trimmed(ar_buf_str(&c->complaint));
	if (result.outcome == AR_HOOK_FAILED) {
		result.message = ar_str_from(c->trouble.msg);
		result.output = is_too_long(c) ? ar_buf_str(&c->said) : AR_STR_NONE;
		result.size = is_too_long(c) ? (int64_t)c->written : 0;
	}
	run->runner_state = NULL;
	run->on_done(run, &result);
	close_handles(c);
}

static void on_grace_over(uv_timer_t *timer)
{
	struct command *c = timer->data;

	finish(c);
}

/* Decides how it ends and asks it to; what still lives after the grace is killed. */
static void stop(struct command *c, enum ar_hook_outcome verdict)
{
	if (c->verdict)
		return;
	c->verdict = verdict;
	ar_child_signal(&c->child, SIGTERM);
	uv_update_time(c->all->loop);
	uv_timer_start(&c->timer, on_grace_over, GRACE_MS, 0);
}

/* It has ended by itself: what it wrote is in the pipes, and whom it left behind holding them is not waited
 * for. Once stopped, those it started have the grace too, as far as they still hold an end of a pipe. */
static void step(struct command *c)
{
	if (c->has_exited && (!c->verdict || (c->out_ended && c->err_ended)))
		finish(c);
}

/* ---- what it says ---- */

static void add_output(struct command *c, const char *bytes, size_t len)
{
	size_t room = AR_HOOK_OUTPUT_MAX - c->said.len;

	if (c->verdict)
		return;
	c->written += len;
	ar_buf_add(&c->said, bytes, len < room ? len : room);
	if (c->written <= AR_HOOK_COUNTED_MAX)
		return;
	ar_fail(&c->trouble, AR_E_LIMIT, "the command wrote more than %zu bytes to its standard output",
		AR_HOOK_COUNTED_MAX);
	stop(c, AR_HOOK_FAILED);
}

static void add_stderr(struct command *c, const char *bytes, size_t len)
{
	ar_buf_add(&c->complaint, bytes, len);
	if (c->complaint.len > COMPLAINT_MAX)
		ar_buf_eat(&c->complaint, c->complaint.len - COMPLAINT_MAX);
}

/* Takes what is there; true at the end of the stream. One that writes without end cannot hold the loop: what
 * is taken in one go is more than may be said. */
static bool drain(struct command *c, int fd, void (*keep)(struct command *c, const char *bytes, size_t len))
{
	char bytes[READ_BYTES];

	for (size_t i = 0; i < READS_MAX; i++) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n > 0)
			keep(c, bytes, (size_t)n);
		else if (n == 0 || (errno != EINTR && errno != EAGAIN))
			return true;
		else if (errno == EAGAIN)
			return false;
	}
	return false;
}

static void read_out(struct command *c)
{
	if (c->out_ended)
		return;
	c->out_ended = drain(c, c->child.out_fd, add_output);
	if (c->out_ended)
		uv_poll_stop(&c->watch[WATCH_OUT]);
}

static void read_err(struct command *c)
{
	if (c->err_ended)
		return;
	c->err_ended = drain(c, c->child.err_fd, add_stderr);
	if (c->err_ended)
		uv_poll_stop(&c->watch[WATCH_ERR]);
}

static void on_out(uv_poll_t *poll, int status AR_UNUSED, int events AR_UNUSED)
{
	struct command *c = poll->data;

	read_out(c);
	step(c);
}

static void on_err(uv_poll_t *poll, int status AR_UNUSED, int events AR_UNUSED)
{
	struct command *c = poll->data;

	read_err(c);
	step(c);
}

static void end_seen(struct command *c)
{
	uv_poll_stop(&c->watch[WATCH_EXIT]);
	c->has_exited = true;
	read_out(c);
	read_err(c);
	step(c);
}

static void on_exit_seen(uv_poll_t *poll, int status AR_UNUSED, int events AR_UNUSED)
{
	end_seen(poll->data);
}

/* ---- the start ---- */

/* Timers run before descriptors are read: when the loop stood still, its end may wait that came in time. */
static void on_deadline(uv_timer_t *timer)
{
	struct command *c = timer->data;

	if (ar_child_has_exited(&c->child))
		end_seen(c);
	else
		stop(c, AR_HOOK_TIMEOUT);
}

/* A start never calls back: what did not begin ends in the next turn of the loop. */
static void on_not_begun(uv_timer_t *timer)
{
	finish(timer->data);
}

static uint64_t ms_until(ar_usec deadline)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec left = deadline - clock->mono(clock);

	return left > 0 ? (uint64_t)left / 1000 + 1 : 0;
}

static void watch(struct command *c, int which, int fd, uv_poll_cb on_readable)
{
	AR_ASSERT(uv_poll_init(c->all->loop, &c->watch[which], fd) == 0);
	c->watch[which].data = c;
	c->handles++;
	AR_ASSERT(uv_poll_start(&c->watch[which], UV_READABLE, on_readable) == 0);
}

static bool spawn(struct command *c)
{
	struct ar_arena a = { 0 };
	struct ar_child_options o = {
		.command = ar_arena_str(&a, c->run->handler->command).p,
		.environment = ar_hook_environment(c->run, c->all->parser, &a),
		.input = c->run->input,
	};
	enum ar_status rc = ar_child_start(&o, &c->child, &c->trouble);

	ar_arena_fini(&a);
	return rc == AR_OK;
}

void ar_hook_command_start(struct ar_hook_commands *all, struct ar_hook_run *r)
{
	struct command *c = ar_new0(sizeof(*c));

	c->run = r;
	c->all = all;
	c->said.cap = AR_HOOK_OUTPUT_MAX;
	r->runner_state = c;
	ar_list_push(&all->open, &c->node);
	uv_timer_init(all->loop, &c->timer);
	c->timer.data = c;
	c->handles = 1;
	c->is_running = spawn(c);
	uv_update_time(all->loop); /* the deadline counts from now, not from before the start */
	if (!c->is_running) {
		c->verdict = AR_HOOK_FAILED;
		uv_timer_start(&c->timer, on_not_begun, 0, 0);
		return;
	}
	watch(c, WATCH_EXIT, c->child.exit_fd, on_exit_seen);
	watch(c, WATCH_OUT, c->child.out_fd, on_out);
	watch(c, WATCH_ERR, c->child.err_fd, on_err);
	uv_timer_start(&c->timer, on_deadline, ms_until(r->deadline), 0);
}

void ar_hook_command_cancel(struct ar_hook_run *r)
{
	struct command *c = r->runner_state;

	if (c->is_running)
		stop(c, AR_HOOK_CANCELLED);
}

void ar_hook_commands_init(struct ar_hook_commands *all, uv_loop_t *loop)
{
	*all = (struct ar_hook_commands){ .loop = loop, .parser = ar_json_parser_new() };
	ar_list_init(&all->open);
}

void ar_hook_commands_fini(struct ar_hook_commands *all)
{
	while (!ar_list_empty(&all->open)) {
		struct command *c = AR_CONTAINER_OF(all->open.next, struct command, node);

		c->verdict = AR_HOOK_CANCELLED;
		finish(c);
	}
	ar_json_parser_free(all->parser);
}
