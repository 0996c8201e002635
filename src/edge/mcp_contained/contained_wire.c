/* See contained_wire.h. Loop thread only.
 *
 *   plan -> spawn agent-init -> READY (descriptors) -> GO -> messages ... -> the program or agent-init ends
 *
 * What is sent before READY waits. To end it our end of the socket is closed: agent-init kills all that is in
 * the sandbox. The object lives until agent-init was waited for and all handles are closed. */
#include "contained_wire.h"

#include "init_client.h"
#include "line_reader.h"
#include "list.h"
#include "mem.h"
#include "rpc.h"
#include "violation_listener.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define READ_SIZE 65536
#define TAIL_MAX 1024 /* of standard error */
#define SHOWN_TAIL 300
#define QUEUE_MAX (16u << 20) /* bytes that the program did not read yet */
#define EXIT_WAIT_MS 500 /* between the end of the program and that of its output */
#define KILL_MS 2000 /* that agent-init gets to end what it started */
#define WORDS_MAX 128

struct contained_wire {
	struct ar_mcp_wire base;
	const struct ar_mcp_contained *boundary;
	struct ar_arena arena;
	struct ar_launch launch;
	struct ar_init_client init;
	struct ar_json_parser *parser;
	struct ar_violation_listener violations; /* answered, so that the program does not wait for it */
	uv_poll_t socket, exit;
	uv_pipe_t in, out, err;
	uv_timer_t timer;
	struct ar_mcp_lines lines;
	struct ar_buf tail;
	struct ar_list waiting; /* struct writing, until READY */
	size_t waiting_bytes;
	char *read_buf;
	char why[512];
	size_t handles; /* not closed yet */
	bool is_planned, is_ready, output_ended, has_listener;
	bool has_exited; /* the program */
	bool is_over; /* agent-init is gone, or was never there */
	bool is_gone; /* on_gone was called */
	bool is_closing;
};

struct writing {
	uv_write_t req;
	struct ar_list node;
	struct contained_wire *wire;
	int64_t id;
	bool wants_ack;
	size_t len;
	char bytes[];
};

static struct contained_wire *wire_of(struct ar_mcp_wire *w)
{
	return AR_CONTAINER_OF(w, struct contained_wire, base);
}

/* ---- the end ---- */

static void free_if_over(struct contained_wire *w)
{
	const struct ar_mcp_wire_events *events = w->base.events;
	void *owner = w->base.owner;
	struct ar_list *node;

	if (!w->is_closing || !w->is_over || w->handles > 0)
		return;
	while ((node = ar_list_pop(&w->waiting)))
		ar_free(AR_CONTAINER_OF(node, struct writing, node));
	if (w->is_planned)
		ar_sandbox_release(w->boundary->sandbox, &w->launch);
	ar_violation_listener_close(&w->violations);
	ar_buf_fini(&w->lines.rest);
	ar_buf_fini(&w->tail);
	ar_json_parser_free(w->parser);
	ar_free(w->read_buf);
	ar_arena_fini(&w->arena);
	ar_free(w);
	events->on_closed(owner);
}

static void handle_closed(uv_handle_t *handle)
{
	struct contained_wire *w = handle->data;

	w->handles--;
	free_if_over(w);
}

static void close_handle(void *handle)
{
	uv_handle_t *h = handle;

	if (h->type != UV_UNKNOWN_HANDLE && !uv_is_closing(h))
		uv_close(h, handle_closed);
}

static void add_handle(struct contained_wire *w, void *handle)
{
	((uv_handle_t *)handle)->data = w;
	w->handles++;
}

static void drop_listener(struct contained_wire *w)
{
	if (w->has_listener && w->boundary->on_listener_gone)
		w->boundary->on_listener_gone(w->boundary->arg, w->boundary->name);
	w->has_listener = false;
}

static void close_if_over(struct contained_wire *w)
{
	if (!w->is_closing || !w->is_over)
		return;
	close_handle(&w->socket);
	close_handle(&w->exit);
	close_handle(&w->violations.poll);
	close_handle(&w->timer);
	free_if_over(w);
}

/* The last lines of standard error, on one line. */
static void add_tail(const struct contained_wire *w, char *out, size_t size)
{
	struct ar_str tail = ar_buf_str(&w->tail);
	size_t at = strlen(out);

	if (tail.len > SHOWN_TAIL)
		tail = ar_str_sub(tail, tail.len - SHOWN_TAIL, SHOWN_TAIL);
	while (tail.len > 0 && strchr(" \t\r\n", tail.p[tail.len - 1]))
		tail.len--;
	if (tail.len == 0)
		return;
	snprintf(out + at, size - at, ": %.*s", AR_STR_ARG(tail));
	for (char *c = out + at; *c; c++) {
		if ((unsigned char)*c < ' ')
			*c = ' ';
	}
}

/* Our end closed means: kill everything. */
static void kill_all(struct contained_wire *w)
{
	if (w->init.socket < 0)
		return;
	close_handle(&w->socket);
	ar_init_client_close(&w->init);
	drop_listener(w);
}

static void report_gone(struct contained_wire *w)
{
	char text[sizeof(w->why)];

	if (w->is_gone || w->is_closing)
		return;
	w->is_gone = true;
	snprintf(text, sizeof(text), "%s", *w->why ? w->why : "it ended");
	add_tail(w, text, sizeof(text));
	snprintf(w->why, sizeof(w->why), "%s", text);
	w->base.events->on_gone(w->base.owner, w->why);
}

static void on_late(uv_timer_t *timer)
{
	report_gone(timer->data);
}

/* What it wrote before its end is read first, and how it ended is waited for. */
static void report_if_silent(struct contained_wire *w)
{
	if (w->is_closing || w->is_gone)
		return;
	if (!w->is_ready || (w->output_ended && (w->has_exited || w->is_over)))
		report_gone(w);
	else
		uv_timer_start(&w->timer, on_late, EXIT_WAIT_MS, 0);
}

/* ---- what it writes ---- */

static bool on_line(void *owner, struct ar_str line)
{
	struct contained_wire *w = owner;

	w->base.events->on_message(w->base.owner, line, 0);
	return !w->is_closing && !w->is_gone;
}

static void on_alloc(uv_handle_t *handle, size_t size AR_UNUSED, uv_buf_t *ret)
{
	struct contained_wire *w = handle->data;

	*ret = uv_buf_init(w->read_buf, READ_SIZE);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct contained_wire *w = stream->data;

	if (n < 0) {
		w->output_ended = true;
		uv_read_stop(stream);
		if (!*w->why)
			snprintf(w->why, sizeof(w->why), "it closed its output");
		report_if_silent(w);
		return;
	}
	if (ar_mcp_lines_feed(&w->lines, (struct ar_str){ buf->base, (size_t)n }) == AR_E_LIMIT) {
		uv_read_stop(stream);
		snprintf(w->why, sizeof(w->why), "it sent a message larger than 8 MiB");
		report_gone(w);
	}
}

static void on_complaint(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct contained_wire *w = stream->data;

	if (n < 0) {
		uv_read_stop(stream);
		return;
	}
	ar_buf_add(&w->tail, buf->base, (size_t)n);
	if (w->tail.len > TAIL_MAX)
		ar_buf_eat(&w->tail, w->tail.len - TAIL_MAX);
}

/* ---- what it is sent ---- */

static void on_written(uv_write_t *req, int status)
{
	struct writing *x = AR_CONTAINER_OF(req, struct writing, req);
	struct contained_wire *w = x->wire;
	struct ar_mcp_failure f = { .why = "the server no longer reads" };

	/* A line that did not leave whole is none that the server could obey. */
	if (status < 0 && x->id != 0 && !w->is_closing)
		w->base.events->on_failed(w->base.owner, x->id, &f);
	if (x->wants_ack && !w->is_closing)
		w->base.events->on_acked(w->base.owner);
	ar_free(x);
}

/* One that cannot be written is dropped: on_gone is due, which ends what waits. */
static void write_out(struct contained_wire *w, struct writing *x)
{
	uv_buf_t buf = uv_buf_init(x->bytes, (unsigned)x->len);

	if (uv_is_closing((uv_handle_t *)&w->in) ||
	    uv_stream_get_write_queue_size((uv_stream_t *)&w->in) > QUEUE_MAX ||
	    uv_write(&x->req, (uv_stream_t *)&w->in, &buf, 1, on_written) != 0) {
		ar_free(x);
		snprintf(w->why, sizeof(w->why), "it does not read");
		kill_all(w); /* agent-init ends, which is reported */
	}
}

static void wire_send(struct ar_mcp_wire *base, const struct ar_mcp_send *m)
{
	struct contained_wire *w = wire_of(base);
	struct writing *x;

	if (w->is_over || w->waiting_bytes > QUEUE_MAX)
		return; /* on_gone is due */
	x = ar_new0(sizeof(*x) + m->text.len + 1);
	*x = (struct writing){ .wire = w, .id = m->id, .wants_ack = m->wants_ack, .len = m->text.len + 1 };
	memcpy(x->bytes, m->text.p, m->text.len);
	x->bytes[m->text.len] = '\n';
	if (w->is_ready) {
		write_out(w, x);
		return;
	}
	w->waiting_bytes += x->len;
	ar_list_push(&w->waiting, &x->node);
}

static void wire_settle(struct ar_mcp_wire *base AR_UNUSED, int64_t id AR_UNUSED, bool abandoned AR_UNUSED)
{
}

static void wire_agree(struct ar_mcp_wire *base AR_UNUSED, const char *version AR_UNUSED,
		       bool modern AR_UNUSED)
{
}

static void wire_listen(struct ar_mcp_wire *base AR_UNUSED)
{
}

/* It should have seen our end closed. */
static void on_kill_timer(uv_timer_t *timer)
{
	struct contained_wire *w = timer->data;

	if (w->init.pidfd >= 0)
		pidfd_send_signal(w->init.pidfd, SIGKILL, NULL, 0);
}

static void wire_close(struct ar_mcp_wire *base)
{
	struct contained_wire *w = wire_of(base);

	w->is_closing = true;
	close_handle(&w->in);
	close_handle(&w->out);
	close_handle(&w->err);
	kill_all(w);
	if (!w->is_over)
		uv_timer_start(&w->timer, on_kill_timer, KILL_MS, 0);
	close_if_over(w);
}

static const struct ar_mcp_wire_vtable vtable = { wire_send, wire_settle, wire_agree, wire_listen,
						  wire_close };

/* ---- what agent-init says ---- */

static bool open_stream(struct contained_wire *w, uv_pipe_t *pipe, int fd)
{
	if (fd < 0)
		return false;
	uv_pipe_init(w->timer.loop, pipe, 0);
	add_handle(w, pipe);
	if (uv_pipe_open(pipe, fd) == 0)
		return true;
	close(fd);
	return false;
}

static void serve_listener(struct contained_wire *w, int fd)
{
	if (fd < 0)
		return;
	if (!w->boundary->on_listener) {
		close(fd);
		return;
	}
	w->has_listener = true;
	w->boundary->on_listener(w->boundary->arg, w->boundary->name, fd);
}

static void on_ready(struct contained_wire *w, struct ar_init_client_message *m)
{
	struct ar_list *node;

	if (!open_stream(w, &w->in, ar_init_client_take_fd(m, "stdin")) ||
	    !open_stream(w, &w->out, ar_init_client_take_fd(m, "stdout")) ||
	    !open_stream(w, &w->err, ar_init_client_take_fd(m, "stderr"))) {
		snprintf(w->why, sizeof(w->why), "its streams could not be opened");
		kill_all(w);
		return;
	}
	if (ar_violation_listener_open(&w->violations, w->timer.loop, ar_init_client_take_fd(m, "notify"),
				       m->json, &w->arena))
		add_handle(w, &w->violations.poll);
	serve_listener(w, ar_init_client_take_fd(m, "proxy"));
	w->is_ready = true;
	uv_read_start((uv_stream_t *)&w->out, on_alloc, on_output);
	uv_read_start((uv_stream_t *)&w->err, on_alloc, on_complaint);
	ar_init_client_go(&w->init);
	while ((node = ar_list_pop(&w->waiting)))
		write_out(w, AR_CONTAINER_OF(node, struct writing, node));
}

static void on_failed(struct contained_wire *w, struct ar_json v)
{
	struct ar_str step = AR_STR("?"), message = AR_STR("");

	ar_json_str(ar_json_get(v, "step"), &step);
	ar_json_str(ar_json_get(v, "message"), &message);
	snprintf(w->why, sizeof(w->why), "it could not be run in its sandbox (%.*s: %.*s)",
		 AR_STR_ARG(ar_str_utf8_prefix(step, 64)), AR_STR_ARG(ar_str_utf8_prefix(message, 300)));
}

static void on_exit_message(struct contained_wire *w, struct ar_json v)
{
	struct ar_str name = AR_STR_NONE;
	int64_t code = 0;

	w->has_exited = true;
	if (ar_json_i64(ar_json_get(v, "code"), &code))
		snprintf(w->why, sizeof(w->why), "it ended with status %lld", (long long)code);
	else if (ar_json_str(ar_json_get(v, "signal"), &name))
		snprintf(w->why, sizeof(w->why), "it was ended by %.*s",
			 AR_STR_ARG(ar_str_utf8_prefix(name, 32)));
	report_if_silent(w);
}

static void read_socket(struct contained_wire *w)
{
	struct ar_init_client_message m;

	while (!w->is_closing && ar_init_client_read(&w->init, w->parser, &m)) {
		if (m.kind == AR_INIT_READY && !w->is_ready)
			on_ready(w, &m);
		if (m.kind == AR_INIT_FAILED)
			on_failed(w, m.json);
		if (m.kind == AR_INIT_EXIT)
			on_exit_message(w, m.json);
		ar_init_client_message_fini(&m);
	}
}

static void on_socket(uv_poll_t *poll, int status AR_UNUSED, int events AR_UNUSED)
{
	struct contained_wire *w = poll->data;

	read_socket(w);
	if (w->init.is_hung_up)
		uv_poll_stop(poll);
}

/* agent-init is gone, and with it all that it started. */
static void on_exit(uv_poll_t *poll, int status AR_UNUSED, int events AR_UNUSED)
{
	struct contained_wire *w = poll->data;

	uv_poll_stop(poll);
	read_socket(w);
	kill_all(w);
	ar_init_client_wait(&w->init);
	w->is_over = true;
	report_if_silent(w);
	close_if_over(w);
}

/* ---- the beginning ---- */

static size_t words_of(const struct ar_mcp_options *o, struct ar_str *ret)
{
	size_t count = 0;

	ret[count++] = ar_str_from(o->command);
	for (size_t i = 0; o->args && o->args[i] && count < WORDS_MAX; i++)
		ret[count++] = ar_str_from(o->args[i]);
	return count;
}

static enum ar_status make_plan(struct contained_wire *w, const struct ar_mcp_options *o,
				struct ar_error *err)
{
	struct ar_str argv[WORDS_MAX], env[WORDS_MAX];
	const struct ar_mcp_contained *b = w->boundary;
	struct ar_process_spec spec = {
		.argv = argv,
		.argc = words_of(o, argv),
		.env = env,
		.has_input = true,
		.profile = b->profile,
		.session_id = b->user,
		.call_id = b->name,
		.workspace = b->folder,
		.is_apart = b->is_apart,
		.withheld = UINT64_MAX, /* secrets are for commands that a session runs */
	};
	enum ar_status status;

	for (; o->env && o->env[spec.env_count] && spec.env_count < WORDS_MAX; spec.env_count++)
		env[spec.env_count] = ar_str_from(o->env[spec.env_count]);
	status = ar_sandbox_plan(b->sandbox, &spec, &w->arena, &w->launch, err);
	w->is_planned = status == AR_OK;
	return status;
}

static void watch_init(struct contained_wire *w)
{
	uv_poll_init(w->timer.loop, &w->socket, w->init.socket);
	add_handle(w, &w->socket);
	uv_poll_start(&w->socket, UV_READABLE | UV_DISCONNECT, on_socket);
	uv_poll_init(w->timer.loop, &w->exit, w->init.pidfd);
	add_handle(w, &w->exit);
	uv_poll_start(&w->exit, UV_READABLE, on_exit);
}

struct ar_mcp_wire *ar_mcp_contained_open(uv_loop_t *loop, const struct ar_mcp_options *o,
					  const struct ar_mcp_wire_events *events, void *owner)
{
	struct contained_wire *w = ar_new0(sizeof(*w));
	struct ar_error err = { 0 };
	struct ar_str init;

	w->base = (struct ar_mcp_wire){ .v = &vtable, .events = events, .owner = owner };
	w->boundary = o->wire_arg;
	w->init = (struct ar_init_client){ .socket = -1, .pidfd = -1 };
	w->parser = ar_json_parser_new();
	w->lines = (struct ar_mcp_lines){ on_line, w, { .cap = AR_MCP_MESSAGE_MAX } };
	w->read_buf = ar_grow(NULL, READ_SIZE, 1);
	ar_violation_listener_init(&w->violations);
	ar_list_init(&w->waiting);
	uv_timer_init(loop, &w->timer);
	add_handle(w, &w->timer);
	init = ar_sandbox_helper(w->boundary->sandbox, "agent-init", &w->arena);
	if (make_plan(w, o, &err) == AR_OK &&
	    ar_init_client_open(&w->init, init.p, w->launch.plan, AR_STR(""), &err) == AR_OK) {
		watch_init(w);
		return &w->base;
	}
	w->is_over = true;
	snprintf(w->why, sizeof(w->why), "%s", err.msg);
	uv_timer_start(&w->timer, on_late, 0, 0);
	return &w->base;
}
