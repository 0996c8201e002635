/* See contained.h. Loop thread only.
 *
 *   plan -> spawn agent-init -> READY (descriptors, what the kernel says) -> GO -> output ... EXIT -> done ->
 *   its process is waited for -> free
 *
 * The end is reported when the program has exited and its output has ended, or when
 * agent-init itself is gone. */
#include "contained.h"

#include "boundary_text.h"
#include "init_client.h"
#include "violation_listener.h"
#include "mem.h"

#include <signal.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define KILL_MS 2000 /* that agent-init gets to end what it started */
#define SAID_MAX 2048
#define READ_SIZE 65536

/* owner: loop thread */
struct ar_contained {
	struct ar_sandbox *sandbox;
	struct ar_arena arena;
	struct ar_launch launch;
	struct ar_init_client init; /* the process, and our end of its socket */
	struct ar_json_parser *parser;
	struct ar_process_ready ready;
	uv_poll_t socket, exit;
	struct ar_violation_listener violations;
	uv_pipe_t out, err;
	uv_timer_t later; /* reports a failed start when the loop runs; kills what does not stop */
	size_t handles; /* not closed yet */
	struct ar_buf output, stderr_text;
	char *read_buf;
	size_t output_max;
	void (*done)(void *arg, const struct ar_contained_end *end); /* NULL: already called, or not wanted */
	void *arg;
	struct ar_contained_end end;
	bool is_planned, is_ready, output_ended, is_stopped;
	bool is_over; /* agent-init is gone, or was never there */
};

/* ---- the end ---- */

static void free_if_over(struct ar_contained *c)
{
	if (!c->is_over || c->handles > 0)
		return;
	if (c->is_planned)
		ar_sandbox_release(c->sandbox, &c->launch);
	ar_violation_listener_close(&c->violations);
	ar_buf_fini(&c->output);
	ar_buf_fini(&c->stderr_text);
	ar_free(c->read_buf);
	ar_json_parser_free(c->parser);
	ar_arena_fini(&c->arena);
	ar_free(c);
}

static void handle_closed(uv_handle_t *handle)
{
	struct ar_contained *c = handle->data;

	c->handles--;
	free_if_over(c);
}

static void close_handle(void *handle)
{
	uv_handle_t *h = handle;

	if (h->type != UV_UNKNOWN_HANDLE && !uv_is_closing(h))
		uv_close(h, handle_closed);
}

static void add_handle(struct ar_contained *c, void *handle)
{
	((uv_handle_t *)handle)->data = c;
	c->handles++;
}

/* Our end closed means: kill everything. */
static void close_init(struct ar_contained *c)
{
	close_handle(&c->socket);
	ar_init_client_close(&c->init);
}

static void report_end(struct ar_contained *c)
{
	void (*done)(void *arg, const struct ar_contained_end *end) = c->done;

	c->done = NULL;
	c->end.output = ar_buf_str(&c->output);
	c->end.stderr_text = ar_buf_str(&c->stderr_text);
	c->end.ready = c->is_ready ? &c->ready : NULL;
	c->end.violation_count =
		ar_violation_listener_violations(&c->violations, &c->arena, &c->end.violations);
	if (c->is_stopped)
		c->end.outcome = AR_CONTAINED_STOPPED;
	if (done)
		done(c->arg, &c->end);
}

static bool has_output(const struct ar_contained *c)
{
	return c->out.type != UV_UNKNOWN_HANDLE;
}

/* Everything that can come has come. */
static void finish_if_over(struct ar_contained *c)
{
	bool is_silent = !has_output(c) || c->output_ended || (c->is_over && c->is_stopped);

	if (!c->is_over && c->end.outcome == AR_CONTAINED_EXITED && is_silent)
		close_init(c);
	if (c->done && is_silent && (c->end.outcome == AR_CONTAINED_EXITED || c->is_over)) {
		if (!c->end.outcome)
			c->end.outcome = c->is_ready ? AR_CONTAINED_LOST : AR_CONTAINED_NOT_STARTED;
		report_end(c);
	}
	if (!c->is_over || c->done)
		return;
	close_init(c);
	close_handle(&c->exit);
	close_handle(&c->out);
	close_handle(&c->err);
	close_handle(&c->violations.poll);
	close_handle(&c->later);
	free_if_over(c);
}

/* ---- output ---- */

static void on_alloc(uv_handle_t *handle, size_t wanted AR_UNUSED, uv_buf_t *ret)
{
	struct ar_contained *c = handle->data;

	if (!c->read_buf)
		c->read_buf = ar_grow(NULL, READ_SIZE, 1);
	*ret = uv_buf_init(c->read_buf, READ_SIZE);
}

static void add_capped(struct ar_buf *to, size_t cap, const char *bytes, size_t len)
{
	size_t room = cap - to->len;

	ar_buf_add(to, bytes, len < room ? len : room);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct ar_contained *c = stream->data;

	if (n > 0) {
		c->end.is_cut = c->end.is_cut || c->output.len + (size_t)n > c->output_max;
		add_capped(&c->output, c->output_max, buf->base, (size_t)n);
	}
	if (n >= 0)
		return;
	c->output_ended = true;
	uv_read_stop(stream);
	finish_if_over(c);
}

static void on_stderr(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct ar_contained *c = stream->data;

	if (n > 0)
		add_capped(&c->stderr_text, SAID_MAX, buf->base, (size_t)n);
	if (n < 0)
		uv_read_stop(stream);
}

static void open_stream(struct ar_contained *c, uv_pipe_t *pipe, int fd, uv_read_cb on_read)
{
	if (fd < 0)
		return;
	uv_pipe_init(c->socket.loop, pipe, 0);
	add_handle(c, pipe);
	if (uv_pipe_open(pipe, fd) != 0)
		close(fd);
	else
		uv_read_start((uv_stream_t *)pipe, on_alloc, on_read);
}

/* ---- what agent-init says ---- */

static void on_ready(struct ar_contained *c, struct ar_init_client_message *m)
{
	c->ready = (struct ar_process_ready){
		.cwd = ar_str_from(c->launch.plan->cwd),
		.read_roots = c->launch.read_roots,
		.write_roots = c->launch.write_roots,
		.environment = c->launch.environment,
		.limits = c->launch.limits,
		.boundary = ar_boundary_text(&c->arena, m->json, c->launch.guarantees),
	};
	c->is_ready = true;
	open_stream(c, &c->out, ar_init_client_take_fd(m, "stdout"), on_output);
	open_stream(c, &c->err, ar_init_client_take_fd(m, "stderr"), on_stderr);
	if (ar_violation_listener_open(&c->violations, c->socket.loop, ar_init_client_take_fd(m, "notify"),
				       m->json, &c->arena))
		add_handle(c, &c->violations.poll);
	if (!c->is_stopped)
		ar_init_client_go(&c->init);
}

static void on_failed(struct ar_contained *c, struct ar_json v)
{
	struct ar_str step = AR_STR("?"), message = AR_STR("");

	ar_json_str(ar_json_get(v, "step"), &step);
	ar_json_str(ar_json_get(v, "message"), &message);
	c->end.outcome = AR_CONTAINED_NOT_STARTED;
	c->end.message = ar_arena_fmt(&c->arena, "it could not be run in its sandbox (%.*s: %.*s)",
				      AR_STR_ARG(step), AR_STR_ARG(message));
}

static void on_exit_message(struct ar_contained *c, struct ar_json v)
{
	int64_t code = 0;

	c->end.outcome = AR_CONTAINED_EXITED;
	c->end.exit_code = ar_json_i64(ar_json_get(v, "code"), &code) ? (int)code : 128 + SIGKILL;
}

static void on_message(struct ar_contained *c, struct ar_init_client_message *m)
{
	if (m->kind == AR_INIT_READY && !c->is_ready)
		on_ready(c, m);
	if (m->kind == AR_INIT_FAILED && c->end.outcome == 0)
		on_failed(c, m->json);
	if (m->kind == AR_INIT_EXIT)
		on_exit_message(c, m->json);
}

static void read_socket(struct ar_contained *c)
{
	struct ar_init_client_message m;

	while (ar_init_client_read(&c->init, c->parser, &m)) {
		on_message(c, &m);
		ar_init_client_message_fini(&m);
	}
}

static void on_socket(uv_poll_t *poll, int status AR_UNUSED, int events AR_UNUSED)
{
	struct ar_contained *c = poll->data;

	read_socket(c);
	if (c->init.is_hung_up)
		uv_poll_stop(poll);
	finish_if_over(c);
}

/* agent-init is gone, and with it all that it started. */
static void on_exit(uv_poll_t *poll, int status AR_UNUSED, int events AR_UNUSED)
{
	struct ar_contained *c = poll->data;

	uv_poll_stop(poll);
	read_socket(c);
	ar_init_client_wait(&c->init);
	c->is_over = true;
	finish_if_over(c);
}

/* ---- the beginning ---- */

static void start_failed(uv_timer_t *timer)
{
	struct ar_contained *c = timer->data;

	c->is_over = true;
	finish_if_over(c);
}

static void fail_later(struct ar_contained *c, const char *message, bool is_unavailable)
{
	c->end.outcome = AR_CONTAINED_NOT_STARTED;
	c->end.is_unavailable = is_unavailable;
	c->end.message = ar_arena_str(&c->arena, ar_str_from(message));
	uv_timer_start(&c->later, start_failed, 0, 0);
}

/* The store belongs to whom the workspace does, so that its mount has the same map of ids. */
static void add_store(struct ar_contained *c, const struct ar_contained_spec *spec)
{
	struct ar_plan *p = c->launch.plan;

	p->write_roots.count = 0;
	p->write_roots.at[p->write_roots.count++] = ar_arena_str(&c->arena, spec->store).p;
	if (!ar_str_absent(spec->second))
		p->write_roots.at[p->write_roots.count++] = ar_arena_str(&c->arena, spec->second).p;
	p->reads_workspace = spec->reads_workspace;
	if (p->reads_workspace)
		p->protected_paths.count = 0; /* all of it is read-only */
}

static enum ar_status make_plan(struct ar_contained *c, const struct ar_contained_spec *spec,
				struct ar_error *err)
{
	struct ar_str program = ar_sandbox_helper(c->sandbox, spec->program, &c->arena);
	struct ar_process_spec process = {
		.argv = &program,
		.argc = 1,
		.input = spec->input,
		.profile = spec->profile,
		.session_id = spec->session_id,
		.call_id = spec->call_id,
		.workspace = spec->workspace,
	};
	enum ar_status status = ar_sandbox_plan(c->sandbox, &process, &c->arena, &c->launch, err);

	c->is_planned = status == AR_OK;
	if (status == AR_OK && !ar_str_absent(spec->store))
		add_store(c, spec);
	if (status == AR_OK)
		ar_init_client_add_program(c->launch.plan, program);
	return status;
}

static void watch_init(struct ar_contained *c, uv_loop_t *loop)
{
	uv_poll_init(loop, &c->socket, c->init.socket);
	add_handle(c, &c->socket);
	uv_poll_start(&c->socket, UV_READABLE | UV_DISCONNECT, on_socket);
	uv_poll_init(loop, &c->exit, c->init.pidfd);
	add_handle(c, &c->exit);
	uv_poll_start(&c->exit, UV_READABLE, on_exit);
}

struct ar_contained *ar_contained_start(uv_loop_t *loop, struct ar_sandbox *s,
					const struct ar_contained_spec *spec)
{
	struct ar_contained *c = ar_new0(sizeof(*c));
	struct ar_error err = { 0 };

	c->sandbox = s;
	c->parser = ar_json_parser_new();
	c->done = spec->done;
	c->arg = spec->arg;
	c->output_max = spec->output_max;
	c->init = (struct ar_init_client){ .socket = -1, .pidfd = -1 };
	ar_violation_listener_init(&c->violations);
	uv_timer_init(loop, &c->later);
	add_handle(c, &c->later);
	enum ar_status status = make_plan(c, spec, &err);

	if (status == AR_OK)
		status = ar_init_client_open(&c->init, ar_sandbox_helper(s, "agent-init", &c->arena).p,
					     c->launch.plan, spec->input, &err);
	if (status == AR_OK)
		watch_init(c, loop);
	else
		fail_later(c, err.msg, status == AR_E_UNAVAILABLE);
	return c;
}

/* It should have seen our end closed. */
static void on_kill_timer(uv_timer_t *timer)
{
	struct ar_contained *c = timer->data;

	if (c->init.pidfd >= 0)
		pidfd_send_signal(c->init.pidfd, SIGKILL, NULL, 0);
}

void ar_contained_stop(struct ar_contained *c)
{
	c->is_stopped = true;
	if (c->init.socket < 0)
		return;
	close_init(c);
	uv_timer_start(&c->later, on_kill_timer, KILL_MS, 0);
}

void ar_contained_drop(struct ar_contained *c)
{
	c->done = NULL;
	ar_contained_stop(c);
}
