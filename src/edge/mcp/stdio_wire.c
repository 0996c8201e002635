/* Messages as lines over the standard streams of a child (see wire.h). What it writes to standard error is
 * kept as a short tail for the sentence that says why it died. Loop thread only.
 *
 * The end, for whatever reason: its input is closed; after a grace its group gets SIGTERM; after another
 * SIGKILL. The object lives until the child was waited for and all handles are closed. */
#include "wire.h"

#include "child.h"
#include "line_reader.h"
#include "list.h"
#include "mem.h"
#include "rpc.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_SIZE 65536
#define TAIL_MAX 2048 /* of standard error */
#define SHOWN_TAIL 300
#define QUEUE_MAX (64u << 20) /* bytes that the child did not read yet */
#define EXIT_WAIT_MS 500 /* between the end of its output and the end of the process, for a better sentence */

enum stage { RUNNING, INPUT_CLOSED, TERMINATED, KILLED };

struct stdio_wire {
	struct ar_mcp_wire base;
	struct ar_mcp_child child;
	uv_pipe_t in, out, err;
	uv_poll_t exit;
	uv_timer_t timer;
	struct ar_mcp_lines lines;
	struct ar_buf tail;
	struct ar_list writes;
	char *read_buf;
	char why[512];
	uint32_t grace_ms;
	enum stage stage;
	int handles; /* not closed yet */
	bool has_child, has_exited, output_ended, is_gone, is_closing;
	int status; /* of waitpid */
};

struct writing {
	uv_write_t req;
	struct stdio_wire *wire;
	int64_t id;
	bool wants_ack;
	char bytes[];
};

static struct stdio_wire *wire_of(struct ar_mcp_wire *w)
{
	return AR_CONTAINER_OF(w, struct stdio_wire, base);
}

/* ---- the end ---- */

static void free_if_over(struct stdio_wire *w)
{
	const struct ar_mcp_wire_events *events = w->base.events;
	void *owner = w->base.owner;

	if (!w->is_closing || w->handles > 0 || (w->has_child && !w->has_exited))
		return;
	ar_buf_fini(&w->lines.rest);
	ar_buf_fini(&w->tail);
	ar_free(w->read_buf);
	ar_free(w);
	events->on_closed(owner);
}

static void on_closed(uv_handle_t *handle)
{
	struct stdio_wire *w = handle->data;

	w->handles--;
	free_if_over(w);
}

static void close_handle(uv_handle_t *handle)
{
	if (handle->type != UV_UNKNOWN_HANDLE && !uv_is_closing(handle))
		uv_close(handle, on_closed);
}

static void describe_exit(struct stdio_wire *w, char *out, size_t size)
{
	if (!w->has_exited)
		snprintf(out, size, "it closed its output");
	else if (WIFSIGNALED(w->status))
		snprintf(out, size, "it was ended by signal %d", WTERMSIG(w->status));
	else
		snprintf(out, size, "it ended with status %d", WEXITSTATUS(w->status));
}

/* The last lines of standard error, on one line. */
static void add_tail(const struct stdio_wire *w, char *out, size_t size)
{
	struct ar_str tail = ar_buf_str(&w->tail);
	size_t at = strlen(out);

	if (tail.len > SHOWN_TAIL)
		tail = ar_str_sub(tail, tail.len - SHOWN_TAIL, SHOWN_TAIL);
	while (tail.len > 0 && strchr(" \t\r\n", tail.p[tail.len - 1]))
		tail.len--;
	if (tail.len == 0)
		return;
	snprintf(out + at, size - at, "; it said: %.*s", AR_STR_ARG(tail));
	for (char *p = out + at; *p; p++)
		*p = (unsigned char)*p < ' ' ? ' ' : *p;
}

static void report_exit(struct stdio_wire *w, const char *why)
{
	char text[512];

	if (w->is_gone || w->is_closing)
		return;
	w->is_gone = true;
	if (why)
		snprintf(text, sizeof(text), "%s", why);
	else
		describe_exit(w, text, sizeof(text));
	add_tail(w, text, sizeof(text));
	snprintf(w->why, sizeof(w->why), "%s", text);
	w->base.events->on_gone(w->base.owner, w->why);
}

static void advance(struct stdio_wire *w);

static void on_grace_over(uv_timer_t *timer)
{
	advance(timer->data);
}

/* The next step of ending the child; the timer calls again. */
static void advance(struct stdio_wire *w)
{
	if (w->has_exited || !w->has_child)
		return;
	if (w->stage == RUNNING) {
		close_handle((uv_handle_t *)&w->in);
		w->stage = INPUT_CLOSED;
	} else if (w->stage == INPUT_CLOSED) {
		ar_mcp_child_signal(&w->child, SIGTERM);
		w->stage = TERMINATED;
	} else if (w->stage == TERMINATED) {
		ar_mcp_child_signal(&w->child, SIGKILL);
		w->stage = KILLED;
	}
	if (w->stage != KILLED)
		uv_timer_start(&w->timer, on_grace_over, w->grace_ms, 0);
}

static void on_late(uv_timer_t *timer)
{
	struct stdio_wire *w = timer->data;

	report_exit(w, NULL);
}

static void end_if_silent(struct stdio_wire *w)
{
	if (w->is_closing)
		return;
	if (w->has_exited && w->output_ended)
		report_exit(w, NULL);
	else
		uv_timer_start(&w->timer, on_late, EXIT_WAIT_MS, 0);
}

static void on_exit(uv_poll_t *poll, int status AR_UNUSED, int events AR_UNUSED)
{
	struct stdio_wire *w = poll->data;

	uv_poll_stop(poll);
	w->status = ar_mcp_child_end(&w->child);
	w->has_exited = true;
	close_handle((uv_handle_t *)poll);
	if (w->is_closing)
		close_handle((uv_handle_t *)&w->timer);
	end_if_silent(w);
	free_if_over(w);
}

/* ---- what it says ---- */

static bool on_line(void *owner, struct ar_str line)
{
	struct stdio_wire *w = owner;

	w->base.events->on_message(w->base.owner, line, 0);
	return !w->is_closing && !w->is_gone;
}

static void on_alloc(uv_handle_t *handle, size_t size AR_UNUSED, uv_buf_t *ret)
{
	struct stdio_wire *w = handle->data;

	*ret = uv_buf_init(w->read_buf, READ_SIZE);
}

static void on_output(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct stdio_wire *w = stream->data;

	if (n < 0) {
		w->output_ended = true;
		uv_read_stop(stream);
		end_if_silent(w);
		return;
	}
	if (ar_mcp_lines_feed(&w->lines, (struct ar_str){ buf->base, (size_t)n }) == AR_E_LIMIT)
		report_exit(w, "it sent a message larger than 8 MiB");
}

static void on_complaint(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct stdio_wire *w = stream->data;

	if (n < 0) {
		uv_read_stop(stream);
		return;
	}
	ar_buf_add(&w->tail, buf->base, (size_t)n);
	if (w->tail.len > TAIL_MAX)
		ar_buf_eat(&w->tail, w->tail.len - TAIL_MAX);
}

/* ---- what we say ---- */

static void on_written(uv_write_t *req, int status)
{
	struct writing *x = AR_CONTAINER_OF(req, struct writing, req);
	struct stdio_wire *w = x->wire;
	struct ar_mcp_failure f = { .why = "the server no longer reads" };

	/* A line that did not leave whole is none that the server could obey. */
	if (status < 0 && x->id != 0 && !w->is_closing)
		w->base.events->on_failed(w->base.owner, x->id, &f);
	if (x->wants_ack && !w->is_closing)
		w->base.events->on_acked(w->base.owner);
	ar_free(x);
}

static void stdio_send(struct ar_mcp_wire *base, const struct ar_mcp_send *m)
{
	struct stdio_wire *w = wire_of(base);
	struct writing *x = ar_new0(sizeof(*x) + m->text.len + 1);
	uv_buf_t buf;

	x->wire = w;
	x->id = m->id;
	x->wants_ack = m->wants_ack;
	memcpy(x->bytes, m->text.p, m->text.len);
	x->bytes[m->text.len] = '\n';
	buf = uv_buf_init(x->bytes, (unsigned)m->text.len + 1);
	if (!w->has_child || uv_is_closing((uv_handle_t *)&w->in) ||
	    uv_stream_get_write_queue_size((uv_stream_t *)&w->in) > QUEUE_MAX ||
	    uv_write(&x->req, (uv_stream_t *)&w->in, &buf, 1, on_written) != 0) {
		/* on_gone is due or will end what waits; a server that does not read at all is ended. */
		ar_free(x);
		if (w->stage == RUNNING)
			advance(w);
	}
}

static void stdio_settle(struct ar_mcp_wire *base AR_UNUSED, int64_t id AR_UNUSED, bool abandoned AR_UNUSED)
{
}

static void stdio_agree(struct ar_mcp_wire *base AR_UNUSED, const char *version AR_UNUSED,
			bool modern AR_UNUSED)
{
}

static void stdio_listen(struct ar_mcp_wire *base AR_UNUSED)
{
}

static void stdio_close(struct ar_mcp_wire *base)
{
	struct stdio_wire *w = wire_of(base);

	w->is_closing = true;
	close_handle((uv_handle_t *)&w->out);
	close_handle((uv_handle_t *)&w->err);
	advance(w);
	if (!w->has_child || w->has_exited) {
		close_handle((uv_handle_t *)&w->in);
		close_handle((uv_handle_t *)&w->timer);
	}
	free_if_over(w);
}

static const struct ar_mcp_wire_vtable vtable = { stdio_send, stdio_settle, stdio_agree, stdio_listen,
						  stdio_close };

/* ---- the beginning ---- */

static void open_pipe(struct stdio_wire *w, uv_pipe_t *pipe, int fd)
{
	uv_pipe_init(w->timer.loop, pipe, 0);
	pipe->data = w;
	w->handles++;
	AR_ASSERT(uv_pipe_open(pipe, fd) == 0);
}

static void watch_child(struct stdio_wire *w)
{
	w->has_child = true;
	open_pipe(w, &w->in, w->child.in);
	open_pipe(w, &w->out, w->child.out);
	open_pipe(w, &w->err, w->child.err);
	AR_ASSERT(uv_poll_init(w->timer.loop, &w->exit, w->child.exit_fd) == 0);
	w->exit.data = w;
	w->handles++;
	uv_poll_start(&w->exit, UV_READABLE, on_exit);
	uv_read_start((uv_stream_t *)&w->out, on_alloc, on_output);
	uv_read_start((uv_stream_t *)&w->err, on_alloc, on_complaint);
}

static void on_not_started(uv_timer_t *timer)
{
	struct stdio_wire *w = timer->data;

	report_exit(w, w->why);
}

struct ar_mcp_wire *ar_mcp_stdio_open(uv_loop_t *loop, const struct ar_mcp_options *o,
				      const struct ar_mcp_wire_events *events, void *owner)
{
	struct stdio_wire *w = ar_new0(sizeof(*w));
	struct ar_error err = { 0 };

	w->base = (struct ar_mcp_wire){ .v = &vtable, .events = events, .owner = owner };
	w->grace_ms = o->exit_grace_ms;
	w->lines = (struct ar_mcp_lines){ on_line, w, { .cap = AR_MCP_MESSAGE_MAX } };
	w->read_buf = ar_new0(READ_SIZE);
	uv_timer_init(loop, &w->timer);
	w->timer.data = w;
	w->handles = 1;
	if (ar_mcp_child_start(o, &w->child, &err) == AR_OK) {
		watch_child(w);
	} else {
		snprintf(w->why, sizeof(w->why), "%s", err.msg);
		uv_timer_start(&w->timer, on_not_started, 0, 0);
	}
	return &w->base;
}
