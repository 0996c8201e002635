/* A program that has the runtime inside itself and calls its front door directly: no listener, no socket, no transport. The test beside it says
 * on stdin what the program is to call, one line each, and reads on stdout what came of it:
 *   in   <n> <command> <JSON>                       subscribe_events follows a session until the end; `verify` is the operation
 *   out  <n> <http status> <JSON>                   the answer of a command
 *        <n> frame <cursor> <JSON>                  an event;  <n> ended <message> is the last of them
 * First line out: `ready`. The end of stdin ends it. Owner of everything: the loop thread, which is the only one of this file. */
#include "describe.h"
#include "fault.h"
#include "mem.h"
#include "host_priv.h"
#include "settings.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AGAIN_MS 20 /* before a call whose session has no owner yet is made again */

struct embed {
	struct ar_host *runtime;
	uv_pipe_t in;
	struct ar_buf line;
};

struct asked {
	struct embed *embed;
	struct ar_arena arena;
	uint64_t n;
	struct ar_str body;
	enum ar_command command;
	struct ar_call call;
	uv_timer_t again;
};

struct following {
	struct ar_subscription sub;
	struct ar_arena arena;
	uint64_t n;
};

static void say(uint64_t n, const char *what, struct ar_str text)
{
	printf("%llu %s %.*s\n", (unsigned long long)n, what, AR_STR_ARG(text));
	fflush(stdout);
}

/* ---- commands ---- */

static void make_call(struct asked *a);

static void try_again(uv_timer_t *t)
{
	make_call(AR_CONTAINER_OF(t, struct asked, again));
}

static void timer_gone(uv_handle_t *h)
{
	struct asked *a = AR_CONTAINER_OF((uv_timer_t *)h, struct asked, again);

	ar_arena_fini(&a->arena);
	ar_free(a);
}

static void answered(struct ar_call *c)
{
	struct asked *a = AR_CONTAINER_OF(c, struct asked, call);
	char status[16];

	if (c->place != AR_PLACE_HERE) {
		ar_call_fini(c);
		uv_timer_start(&a->again, try_again, AGAIN_MS, 0);
		return;
	}
	snprintf(status, sizeof(status), "%d", c->http);
	say(a->n, status, ar_buf_str(&c->reply));
	ar_call_fini(c);
	uv_close((uv_handle_t *)&a->again, timer_gone);
}

static void make_call(struct asked *a)
{
	a->call = (struct ar_call){ .command = a->command, .body = a->body, .done = answered };
	if (a->command)
		ar_control_call(a->embed->runtime->control, &a->call);
	else
		ar_control_verify(a->embed->runtime->control, &a->call);
}

static void ask(struct embed *e, uint64_t n, enum ar_command command, struct ar_str body)
{
	struct asked *a = ar_new0(sizeof(*a));

	a->embed = e;
	a->n = n;
	a->command = command;
	a->body = ar_arena_str(&a->arena, body);
	uv_timer_init(&e->runtime->loop, &a->again);
	make_call(a);
}

/* ---- events ---- */

static void opened(struct ar_subscription *s)
{
	say(AR_CONTAINER_OF(s, struct following, sub)->n, "opened", AR_STR(""));
}

static void ready(struct ar_subscription *s)
{
	struct following *f = AR_CONTAINER_OF(s, struct following, sub);
	struct ar_frame *frame;

	while ((frame = ar_follow_next(s))) {
		printf("%llu frame %.*s %.*s\n", (unsigned long long)f->n, AR_STR_ARG(frame->id),
		       AR_STR_ARG(frame->json));
		ar_frame_unref(frame);
	}
	fflush(stdout);
}

static void ended(struct ar_subscription *s, const struct ar_error *err)
{
	struct following *f = AR_CONTAINER_OF(s, struct following, sub);

	say(f->n, "ended", ar_str_from(err ? err->msg : ""));
	ar_arena_fini(&f->arena);
	ar_free(f);
}

static void follow(struct embed *e, uint64_t n, struct ar_str body)
{
	static const struct ar_subscription_vtable vtable = { .opened = opened,
							      .ready = ready,
							      .ended = ended };
	struct following *f = ar_new0(sizeof(*f));
	struct ar_subscribe_call call = { 0 };
	struct ar_error err = { 0 };

	f->n = n;
	f->sub.v = &vtable;
	call.body = ar_arena_str(&f->arena, body);
	if (ar_control_subscribe(e->runtime->control, &call, &f->sub, &err) != AR_OK)
		ended(&f->sub, &err);
}

/* ---- lines ---- */

static void take_line(struct embed *e, struct ar_str line)
{
	struct ar_str number, name, body = ar_str_split(ar_str_split(line, ' ', &number), ' ', &name);
	uint64_t n = 0;

	if (!ar_str_to_u64(number, &n))
		return;
	for (int command = 1; command < AR_CMD_COUNT; command++) {
		if (!ar_str_is(name, ar_command_describe((enum ar_command)command)->name))
			continue;
		if (command == AR_CMD_SUBSCRIBE_EVENTS)
			follow(e, n, body);
		else
			ask(e, n, (enum ar_command)command, body);
		return;
	}
	if (ar_str_is(name, "verify"))
		ask(e, n, AR_CMD_NONE, body);
	else
		say(n, "404", AR_STR("{}"));
}

static void room(uv_handle_t *h, size_t wanted, uv_buf_t *ret)
{
	(void)h;
	ret->base = ar_new0(wanted);
	ret->len = wanted;
}

static void heard(uv_stream_t *s, ssize_t got, const uv_buf_t *buf)
{
	struct embed *e = AR_CONTAINER_OF((uv_pipe_t *)s, struct embed, in);
	struct ar_buf left = { 0 };
	struct ar_str rest, line;

	if (got > 0)
		ar_buf_add(&e->line, buf->base, (size_t)got);
	ar_free(buf->base);
	if (got < 0) {
		uv_close((uv_handle_t *)s, NULL);
		kill(getpid(), SIGTERM);
		return;
	}
	for (rest = ar_buf_str(&e->line); rest.len > 0 && memchr(rest.p, '\n', rest.len);) {
		rest = ar_str_split(rest, '\n', &line);
		take_line(e, line);
	}
	ar_buf_adds(&left, rest);
	ar_buf_fini(&e->line);
	e->line = left;
}

static void is_ready(void *arg, const struct ar_host *r)
{
	(void)arg;
	(void)r;
	printf("ready\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct ar_settings_args args = { .no_listeners = true };
	struct ar_host_start start = { .instance = (uint64_t)getpid(), .ready = is_ready };
	struct ar_arena arena = { 0 };
	struct ar_config config;
	struct ar_error err = { 0 };
	struct embed e = { 0 };
	int quiet[2], deaf[2];

	/* A runtime wants somebody to serve: a pair of pipes on which nobody ever speaks. */
	if (pipe(quiet) != 0 || pipe(deaf) != 0)
		return 1;
	start.stdio_in = quiet[0];
	start.stdio_out = deaf[1];
	args.data_dir = argc > 1 ? argv[1] : NULL;
	args.config_file = argc > 2 ? argv[2] : NULL;
	umask(077);
	ar_fault_init();
	if (ar_settings_load(&args, &arena, &config, &err) != AR_OK ||
	    ar_host_open(&config, &start, &e.runtime, &err) != AR_OK) {
		fprintf(stderr, "embed: %s\n", err.msg);
		return 1;
	}
	uv_pipe_init(&e.runtime->loop, &e.in, 0);
	uv_pipe_open(&e.in, STDIN_FILENO);
	uv_read_start((uv_stream_t *)&e.in, room, heard);
	ar_host_run(e.runtime);
	ar_host_free(e.runtime);
	ar_buf_fini(&e.line);
	ar_arena_fini(&arena);
	return 0;
}
