/* The source: each call on its way to a process and back. Arguments are read in exec_args.c, words for the
 * model are made in report.c.
 *
 *   PLANNED -> RUNNING (a process was asked for) -> [ACTING] -> done;  PLANNED -> ACTING -> done
 *
 * Nothing is called back from start(): a timer of no time takes the planned ones up. Loop thread. */
#include "exec_tools.h"

#include "exec_priv.h"
#include "list.h"
#include "mem.h"
#include "report.h"
#include "exec_args.h"

#define DEFAULT_TIMEOUT_MS 120000
#define DEFAULT_MAX_MS 3600000
#define FIRST_OUTPUT_MS 1000 /* that a new terminal is given to say something */

enum stage {
	PLANNED = 1,
	RUNNING,
	ACTING,
};

/* owner: loop thread */
struct exec_tools {
	struct ar_tool_source source;
	uv_timer_t later;
	struct ar_exec_options options;
	struct ar_json_parser *parser;
	struct ar_tool tools[AR_EXEC_KIND_COUNT];
	struct ar_list calls;
};

struct exec_call {
	struct ar_list node;
	struct ar_tool_call *call;
	enum ar_exec_kind kind;
	enum stage stage;
	struct ar_arena arena;
	struct ar_str process_id; /* of a terminal that was opened */
	const char *fault; /* NULL: its arguments are good */
	struct ar_exec_args args;
};

/* ---- ends ---- */

static void finish_call(struct exec_call *c, const struct ar_tool_result *result)
{
	struct ar_tool_call *call = c->call;

	call->source_state = NULL;
	ar_list_del(&c->node);
	call->v->on_done(call, result);
	ar_arena_fini(&c->arena);
	ar_free(c);
}

static void finish_text(struct exec_call *c, struct ar_str text)
{
	finish_call(c, &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = text });
}

static void finish_failed(struct exec_call *c, enum ar_tool_outcome outcome, const char *category,
			  struct ar_str message, const char *advice)
{
	struct ar_str parts[] = { message, AR_STR(" "), ar_str_from(advice) };

	finish_call(c, &(struct ar_tool_result){ .outcome = outcome,
						 .text = ar_arena_join(&c->arena, parts, 3),
						 .category = ar_str_from(category),
						 .message = message,
						 .advice = parts[2] });
}

static void finish_cancelled(struct exec_call *c)
{
	finish_failed(c, AR_TOOL_CANCELLED, "cancelled", AR_STR("The call was cancelled."),
		      "Call it again if it is still wanted.");
}

/* ---- what it asks for ---- */

static int64_t time_of(const struct exec_tools *t, const struct ar_exec_args *w)
{
	int64_t ms = w->timeout_ms;

	if (ms == 0)
		ms = w->is_background ? t->options.max_ms : t->options.timeout_ms;
	return ms < t->options.max_ms ? ms : t->options.max_ms;
}

static void request_process(struct exec_tools *t, struct exec_call *c)
{
	const struct ar_exec_args *w = &c->args;

	c->stage = RUNNING;
	if (!ar_str_absent(c->call->process_id))
		return; /* it is there from before a restart */
	c->call->v->on_process(c->call, &(struct ar_process_spec){ .argv = w->argv,
								   .argc = w->argc,
								   .cwd = w->cwd,
								   .input = w->input,
								   .has_input = w->is_background &&
										ar_str_absent(w->input),
								   .tty = w->tty,
								   .rows = w->rows,
								   .columns = w->columns,
								   .timeout_ms = time_of(t, w),
								   .profile = c->call->profile,
								   .command = w->command,
								   .justification = w->justification });
}

static void request_act(struct exec_call *c)
{
	c->stage = ACTING;
	if (c->call->v->on_process_act)
		c->call->v->on_process_act(c->call, &c->args.act);
	else
		finish_failed(c, AR_TOOL_NOT_RUN, "unavailable", AR_STR("Processes cannot be reached here."),
			      "Continue without it.");
}

static void start_planned(struct exec_tools *t, struct exec_call *c)
{
	if (c->fault)
		finish_failed(c, AR_TOOL_NOT_RUN, "invalid_arguments", ar_str_from(c->fault),
			      "Correct the arguments and call again.");
	else if (c->kind == AR_EXEC_SHELL || c->kind == AR_EXEC_TERMINAL)
		request_process(t, c);
	else
		request_act(c);
}

static struct exec_call *next_planned(struct exec_tools *t)
{
	AR_LIST_FOR (it, &t->calls) {
		struct exec_call *c = AR_CONTAINER_OF(it, struct exec_call, node);

		if (c->stage == PLANNED)
			return c;
	}
	return NULL;
}

static void on_later(uv_timer_t *timer)
{
	struct exec_tools *t = timer->data;
	struct exec_call *c;

	while ((c = next_planned(t)))
		start_planned(t, c);
}

/* ---- the port ---- */

static const char *read_args(struct exec_tools *t, struct exec_call *c)
{
	static const enum ar_tool_act_kind acts[AR_EXEC_KIND_COUNT] = { [AR_EXEC_WRITE] = AR_TOOL_ACT_WRITE,
									[AR_EXEC_READ] = AR_TOOL_ACT_READ,
									[AR_EXEC_STOP] = AR_TOOL_ACT_END };
	struct ar_str workspace = c->call->workspace;
	const char *fault = NULL;
	struct ar_json args;

	if (ar_json_parse(t->parser, c->call->args, &args, NULL) != AR_OK)
		return "the arguments are no JSON";
	if (c->kind == AR_EXEC_SHELL)
		(void)ar_exec_read_command(args, workspace, &c->arena, &c->args, &fault);
	else if (c->kind == AR_EXEC_TERMINAL)
		(void)ar_exec_read_terminal(args, workspace, &c->arena, &c->args, &fault);
	else
		(void)ar_exec_read_act(args, acts[c->kind], &c->arena, &c->args, &fault);
	return fault;
}

static void start_call(struct ar_tool_source *s, struct ar_tool_call *call)
{
	struct exec_tools *t = AR_CONTAINER_OF(s, struct exec_tools, source);
	struct exec_call *c = ar_new0(sizeof(*c));

	c->call = call;
	c->kind = (enum ar_exec_kind)(call->tool - t->tools);
	c->stage = PLANNED;
	c->fault = read_args(t, c);
	call->source_state = c;
	ar_list_push(&t->calls, &c->node);
	AR_ASSERT(uv_timer_start(&t->later, on_later, 0, 0) == 0);
}

/* The process of a call is ended by the runtime, which then reports its end; without one there is nothing to
 * wait for. */
static void cancel_call(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *call)
{
	if (call->source_state)
		finish_cancelled(call->source_state);
}

/* These tools ask nothing. */
static void answer_call(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *c AR_UNUSED,
			const struct ar_tool_answer *a AR_UNUSED)
{
}

static void finish_background(struct exec_call *c, struct ar_str process_id)
{
	finish_text(
		c,
		ar_arena_fmt(&c->arena,
			     "It runs in the background as %.*s. Read what it writes with process_read, stop "
			     "it with process_stop.",
			     AR_STR_ARG(process_id)));
}

static void process_began(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *call,
			  struct ar_str process_id)
{
	struct exec_call *c = call->source_state;

	if (!c || !c->args.is_background)
		return;
	c->stage = RUNNING;
	if (!c->args.tty || !call->v->on_process_act) {
		finish_background(c, process_id);
		return;
	}
	c->process_id = ar_arena_str(&c->arena, process_id);
	c->args.act = (struct ar_tool_act){ .kind = AR_TOOL_ACT_READ,
					    .process_id = c->process_id,
					    .wait_ms = FIRST_OUTPUT_MS };
	request_act(c);
}

static void process_ended(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *call,
			  const struct ar_process_result *r)
{
	struct exec_call *c = call->source_state;
	struct ar_exec_ending ending = ar_exec_ending_of(r->end);
	struct ar_buf text = { 0 }, json = { 0 }, line = { 0 };

	if (!c)
		return;
	if (ar_exec_was_denied(r))
		ending = (struct ar_exec_ending){ AR_TOOL_ERROR, "sandbox",
						  "The sandbox refused what the text names; do without it, "
						  "or ask for more with sandbox=... and a justification." };
	ar_exec_write_result(r, &text);
	ar_exec_write_end(r->end, &line);
	ar_exec_result_json(r, &json);
	finish_call(c, &(struct ar_tool_result){ .outcome = ending.outcome,
						 .text = ar_buf_str(&text),
						 .structured = ar_buf_str(&json),
						 .category = ar_str_from(ending.category),
						 .message = ar_buf_str(&line),
						 .advice = ar_str_from(ending.advice) });
	ar_buf_fini(&text);
	ar_buf_fini(&json);
	ar_buf_fini(&line);
}

/* ---- what became of an act ---- */

static void write_status(const struct exec_call *c, const struct ar_tool_acted *r, struct ar_buf *out)
{
	struct ar_str id = c->args.act.process_id;

	if (r->standing == AR_TOOL_PROCESS_OVER) {
		ar_buf_addf(out, "%.*s is over: ", AR_STR_ARG(id));
		if (r->end)
			ar_exec_write_end(r->end, out);
		else
			ar_buf_addz(out, "how it ended is not known");
	} else if (c->args.act.kind == AR_TOOL_ACT_END) {
		ar_buf_addf(out, "%.*s is being stopped", AR_STR_ARG(id));
	} else if (c->args.act.kind == AR_TOOL_ACT_WRITE) {
		ar_buf_addf(out, "written to %.*s", AR_STR_ARG(id));
	} else {
		ar_buf_addf(out, "%.*s runs", AR_STR_ARG(id));
	}
}

static void finish_read(struct exec_call *c, const struct ar_tool_acted *r, struct ar_buf *out)
{
	if (c->args.act.kind == AR_TOOL_ACT_READ) {
		ar_buf_addf(out, "; bytes %llu to %llu of its output:\n\n", (unsigned long long)r->offset,
			    (unsigned long long)(r->offset + r->output.len));
		if (r->output.len > 0)
			ar_exec_write_output(r->output, false, r->is_binary, out);
		else
			ar_buf_addz(out, "(nothing)");
	}
	finish_text(c, ar_buf_str(out));
}

static void process_acted(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *call,
			  const struct ar_tool_acted *r)
{
	struct exec_call *c = call->source_state;
	struct ar_buf text = { 0 };

	if (!c)
		return;
	write_status(c, r, &text);
	if (r->standing == AR_TOOL_PROCESS_UNKNOWN)
		finish_failed(c, AR_TOOL_NOT_RUN, "not_found",
			      AR_STR("No process of this session has that processId."),
			      "Use one that shell or terminal_open gave.");
	else if (r->standing == AR_TOOL_PROCESS_BUSY)
		finish_failed(c, AR_TOOL_NOT_RUN, "busy", AR_STR("It has not read what was written before."),
			      "Read its output, then write again.");
	else if (r->standing == AR_TOOL_PROCESS_CLOSED)
		finish_failed(c, AR_TOOL_NOT_RUN, "closed", AR_STR("Its input is closed."),
			      "Start another process if more has to be written.");
	else if (r->standing == AR_TOOL_PROCESS_OVER && c->args.act.kind == AR_TOOL_ACT_WRITE)
		finish_failed(c, AR_TOOL_NOT_RUN, "closed", ar_arena_str(&c->arena, ar_buf_str(&text)),
			      "Start another process if more has to be written.");
	else
		finish_read(c, r, &text);
	ar_buf_fini(&text);
}

/* ---- life ---- */

static void on_closed(uv_handle_t *handle)
{
	struct exec_tools *t = handle->data;

	ar_json_parser_free(t->parser);
	ar_free(t);
}

static void close_source(struct ar_tool_source *s)
{
	struct exec_tools *t = AR_CONTAINER_OF(s, struct exec_tools, source);

	AR_LIST_FOR_SAFE (it, &t->calls)
		finish_cancelled(AR_CONTAINER_OF(it, struct exec_call, node));
	uv_close((uv_handle_t *)&t->later, on_closed);
}

static const struct ar_tool_source_vtable vtable = { .start = start_call,
						     .cancel = cancel_call,
						     .answer = answer_call,
						     .process_began = process_began,
						     .process_ended = process_ended,
						     .process_acted = process_acted,
						     .close = close_source };

struct ar_tool_source *ar_exec_tools_new(uv_loop_t *loop, const struct ar_exec_options *o)
{
	struct exec_tools *t = ar_new0(sizeof(*t));

	t->options.timeout_ms = o->timeout_ms ? o->timeout_ms : DEFAULT_TIMEOUT_MS;
	t->options.max_ms = o->max_ms ? o->max_ms : DEFAULT_MAX_MS;
	t->parser = ar_json_parser_new();
	t->later.data = t;
	AR_ASSERT(uv_timer_init(loop, &t->later) == 0);
	ar_list_init(&t->calls);
	for (int i = 0; i < AR_EXEC_KIND_COUNT; i++) {
		t->tools[i] = *ar_exec_tool((enum ar_exec_kind)i);
		if (t->tools[i].runs_process)
			t->tools[i].limit_ms = t->options.max_ms;
	}
	t->source = (struct ar_tool_source){ .v = &vtable,
					     .name = "exec",
					     .tools = t->tools,
					     .tool_count = AR_EXEC_KIND_COUNT,
					     .is_ready = true };
	return &t->source;
}
