/* Drives one MCP source through the tool port for a script: every callback is a line of JSON on standard
 * output, commands are lines of JSON on standard input. The one argument is a JSON object with the options:
 * name, command, args, env, workdir, url, headers, tools, scope (shared|session), era (auto|legacy|modern),
 * trust, connectMs, callMs, idleMs, graceMs, restarts; and answerNow (accept|decline|cancel), with which
 * every question is answered from inside its callback. Commands:
 *   {"do":"call","n":1,"tool":"x_y","args":{...},"session":"s1","deadlineMs":5000}
 *   {"do":"cancel","n":1}
 *   {"do":"answer","n":1,"question":"q1","kind":"accept|decline|cancel","content":{...}}
 *   {"do":"close"}, which the end of the input does too
 * It aborts when the source breaks its contract: a callback before start() returned or after the end, a
 * second end, a call without end. */
#include "json.h"
#include "mcp.h"
#include "mem.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CALLS_MAX 1024
#define LIST_MAX 64

struct probe_call {
	struct ar_tool_call call;
	struct ar_tool tool; /* what start() may look at; gone afterwards, as after a change */
	struct probe *owner;
	struct ar_arena arena;
	int64_t number;
	bool started, done;
};

struct probe {
	struct ar_tool_source *source;
	uv_loop_t loop;
	uv_pipe_t input;
	bool is_gone;
	enum ar_tool_answer_kind answer_now; /* 0: when a command says so */
	struct ar_buf line;
	struct ar_json_parser *commands;
	struct probe_call *calls[CALLS_MAX];
	char bytes[65536];
};

static const char *const outcomes[] = {
	[AR_TOOL_OK] = "ok",	       [AR_TOOL_ERROR] = "error",	  [AR_TOOL_NOT_RUN] = "not_run",
	[AR_TOOL_TIMEOUT] = "timeout", [AR_TOOL_CANCELLED] = "cancelled", [AR_TOOL_LOST] = "lost",
};

static struct ar_jw line_open(struct ar_buf *line, const char *on)
{
	struct ar_jw w = ar_jw(line);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "on", ar_str_from(on));
	return w;
}

static void line_close(struct ar_jw *w, struct ar_buf *line)
{
	ar_jw_close(w);
	ar_buf_addc(line, '\n');
	fwrite(line->p, 1, line->len, stdout);
	fflush(stdout);
	ar_buf_fini(line);
}

static struct ar_jw call_line(struct ar_buf *line, const struct ar_tool_call *call, const char *on)
{
	struct probe_call *c = AR_CONTAINER_OF(call, struct probe_call, call);
	struct ar_jw w = line_open(line, on);

	AR_ASSERT(c->started && !c->done);
	ar_jw_mint(&w, "n", c->number);
	return w;
}

/* ---- callbacks ---- */

static void on_progress(struct ar_tool_call *call, const struct ar_tool_progress *p)
{
	struct ar_buf line = { 0 };
	struct ar_jw w = call_line(&line, call, "progress");

	ar_jw_mstr(&w, "text", p->text);
	ar_jw_key(&w, "percent");
	ar_jw_num(&w, p->percent);
	line_close(&w, &line);
}

static void on_question(struct ar_tool_call *call, const struct ar_tool_question *q)
{
	struct probe *p = AR_CONTAINER_OF(call, struct probe_call, call)->owner;
	struct ar_buf line = { 0 };
	struct ar_jw w = call_line(&line, call, "question");

	ar_jw_mstr(&w, "id", q->id);
	ar_jw_mstr(&w, "prompt", q->prompt);
	ar_jw_mraw(&w, "schema", q->schema);
	ar_jw_mstr(&w, "url", q->url);
	line_close(&w, &line);
	if (p->answer_now)
		p->source->v->answer(p->source, call,
				     &(struct ar_tool_answer){ .question = q->id, .kind = p->answer_now });
}

static void write_images(struct ar_jw *w, const struct ar_tool_result *r)
{
	ar_jw_key(w, "images");
	ar_jw_open_array(w);
	for (size_t i = 0; i < r->image_count; i++) {
		ar_jw_open(w);
		ar_jw_mstr(w, "mime", r->images[i].mime);
		ar_jw_mint(w, "len", (int64_t)r->images[i].data.len);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

static void on_done(struct ar_tool_call *call, const struct ar_tool_result *r)
{
	struct probe_call *c = AR_CONTAINER_OF(call, struct probe_call, call);
	struct ar_buf line = { 0 };
	struct ar_jw w = call_line(&line, call, "done");

	ar_jw_mstr(&w, "outcome", ar_str_from(outcomes[r->outcome]));
	ar_jw_mstr(&w, "text", r->text);
	ar_jw_mraw(&w, "structured", r->structured);
	write_images(&w, r);
	ar_jw_mstr(&w, "category", r->category);
	ar_jw_mstr(&w, "message", r->message);
	ar_jw_mstr(&w, "advice", r->advice);
	ar_jw_mbool(&w, "retryable", r->retryable);
	line_close(&w, &line);
	c->done = true;
	AR_ASSERT(call->source_state == NULL);
	ar_arena_fini(&c->arena);
}

static const struct ar_tool_call_vtable call_vtable = { .on_progress = on_progress,
							.on_question = on_question,
							.on_done = on_done };

static void write_tool(struct ar_jw *w, const struct ar_tool *t)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "name", t->name);
	ar_jw_mstr(w, "description", t->description);
	ar_jw_mstr(w, "title", t->title);
	ar_jw_mstr(w, "origin", t->origin);
	ar_jw_mraw(w, "schema", t->schema);
	ar_jw_mint(w, "capabilities", t->capabilities);
	ar_jw_mbool(w, "readOnly", t->is_read_only);
	ar_jw_mbool(w, "concurrencySafe", t->is_concurrency_safe);
	ar_jw_mbool(w, "destructive", t->is_destructive);
	ar_jw_mbool(w, "idempotent", t->is_idempotent);
	ar_jw_close(w);
}

static void on_changed(void *arg)
{
	struct probe *p = arg;
	struct ar_buf line = { 0 };
	struct ar_jw w = line_open(&line, "changed");

	ar_jw_mbool(&w, "ready", p->source->is_ready);
	ar_jw_mstr(&w, "trouble", ar_str_from(p->source->trouble));
	ar_jw_key(&w, "tools");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < p->source->tool_count; i++)
		write_tool(&w, &p->source->tools[i]);
	ar_jw_close_array(&w);
	line_close(&w, &line);
}

/* ---- commands ---- */

static struct ar_str text(struct ar_json object, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &s);
	return s;
}

static int64_t number(struct ar_json object, const char *name, int64_t otherwise)
{
	ar_json_i64(ar_json_get(object, name), &otherwise);
	return otherwise;
}

static struct ar_str raw(struct ar_arena *a, struct ar_json object, const char *name)
{
	struct ar_json v = ar_json_get(object, name);
	struct ar_buf out = { 0 };
	struct ar_str s = AR_STR_NONE;

	if (ar_json_type(v) == AR_JSON_NONE)
		return s;
	ar_json_print(v, &out);
	s = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return s;
}

static void do_call(struct probe *p, struct ar_json command)
{
	int64_t n = number(command, "n", 1), ms = number(command, "deadlineMs", 0);
	struct probe_call *c = ar_new0(sizeof(*c));
	struct ar_clock *clock = ar_clock_system();

	AR_ASSERT(n >= 0 && n < CALLS_MAX && !p->calls[n]);
	p->calls[n] = c;
	c->owner = p;
	c->number = n;
	c->tool.name = ar_arena_str(&c->arena, text(command, "tool"));
	c->call.v = &call_vtable;
	c->call.tool = &c->tool;
	c->call.args = raw(&c->arena, command, "args");
	c->call.session_id = ar_arena_str(&c->arena, text(command, "session"));
	c->call.deadline = ms > 0 ? clock->mono(clock) + ms * 1000 : 0;
	p->source->v->start(p->source, &c->call);
	c->started = true;
}

static enum ar_tool_answer_kind kind_of(struct ar_str word)
{
	static const char *const words[] = { "accept", "decline", "cancel" };

	for (size_t i = 0; i < AR_ARRAY_LEN(words); i++) {
		if (ar_str_is(word, words[i]))
			return AR_TOOL_ANSWER_ACCEPT + (enum ar_tool_answer_kind)i;
	}
	return 0;
}

static void do_answer(struct probe *p, struct probe_call *c, struct ar_json command)
{
	struct ar_tool_answer a = { .question = text(command, "question"),
				    .kind = kind_of(text(command, "kind")) };

	a.content = raw(&c->arena, command, "content");
	p->source->v->answer(p->source, &c->call, &a);
}

static void close_all(struct probe *p)
{
	if (!p->source)
		return;
	p->source->v->close(p->source);
	p->source = NULL;
	for (size_t i = 0; i < CALLS_MAX; i++)
		AR_ASSERT(!p->calls[i] || p->calls[i]->done);
	uv_close((uv_handle_t *)&p->input, NULL);
}

static void run_command(struct probe *p, struct ar_str line)
{
	struct ar_json command;
	struct ar_error err;
	struct ar_str what;
	struct probe_call *c;

	AR_ASSERT(ar_json_parse(p->commands, line, &command, &err) == AR_OK);
	what = text(command, "do");
	c = p->calls[number(command, "n", 1)];
	if (ar_str_is(what, "call"))
		do_call(p, command);
	else if (ar_str_is(what, "close"))
		close_all(p);
	else if (c && !c->done && ar_str_is(what, "cancel"))
		p->source->v->cancel(p->source, &c->call);
	else if (c && !c->done && ar_str_is(what, "answer"))
		do_answer(p, c, command);
}

static void give_buffer(uv_handle_t *handle, size_t size AR_UNUSED, uv_buf_t *ret)
{
	struct probe *p = handle->data;

	*ret = uv_buf_init(p->bytes, sizeof(p->bytes));
}

static void on_input(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct probe *p = stream->data;
	const char *end;

	if (n < 0) {
		close_all(p);
		return;
	}
	ar_buf_add(&p->line, buf->base, (size_t)n);
	while (p->line.len > 0 && p->source && (end = memchr(p->line.p, '\n', p->line.len))) {
		size_t len = (size_t)(end - p->line.p);

		run_command(p, (struct ar_str){ p->line.p, len });
		ar_buf_eat(&p->line, len + 1);
	}
}

/* ---- options ---- */

static const char *copy(struct ar_arena *a, struct ar_json options, const char *name)
{
	return ar_arena_str(a, text(options, name)).p;
}

static const char *const *copy_list(struct ar_arena *a, struct ar_json options, const char *name)
{
	struct ar_json list = ar_json_get(options, name);
	const char **ret = ar_arena_alloc(a, (LIST_MAX + 1) * sizeof(*ret));
	size_t n = 0;

	if (ar_json_type(list) == AR_JSON_NONE)
		return NULL;
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it) && n < LIST_MAX;) {
		struct ar_str s = AR_STR("");

		ar_json_str(it.value, &s);
		ret[n++] = ar_arena_str(a, s).p;
	}
	return ret;
}

static void read_options(struct ar_arena *a, struct ar_json v, struct ar_mcp_options *o)
{
	struct ar_str era = text(v, "era");

	o->name = copy(a, v, "name");
	o->command = copy(a, v, "command");
	o->args = copy_list(a, v, "args");
	o->env = copy_list(a, v, "env");
	o->workdir = copy(a, v, "workdir");
	o->url = copy(a, v, "url");
	o->headers = copy_list(a, v, "headers");
	o->tools = copy_list(a, v, "tools");
	o->scope = ar_str_is(text(v, "scope"), "session") ? AR_MCP_PER_SESSION : AR_MCP_SHARED;
	o->era = ar_str_is(era, "legacy")   ? AR_MCP_LEGACY
		 : ar_str_is(era, "modern") ? AR_MCP_MODERN
					    : AR_MCP_AUTO;
	ar_json_bool(ar_json_get(v, "trust"), &o->trust_annotations);
	o->connect_timeout_ms = (uint32_t)number(v, "connectMs", 0);
	o->call_timeout_ms = (uint32_t)number(v, "callMs", 0);
	o->idle_timeout_ms = (uint32_t)number(v, "idleMs", 0);
	o->exit_grace_ms = (uint32_t)number(v, "graceMs", 0);
	o->restarts_per_minute = (uint32_t)number(v, "restarts", 0);
}

static void on_gone(void *arg)
{
	struct probe *p = arg;

	AR_ASSERT(!p->source && !p->is_gone);
	p->is_gone = true;
}

static void run(struct probe *p, struct ar_json options)
{
	struct ar_mcp_options o = { 0 };
	struct ar_arena arena = { 0 };

	uv_loop_init(&p->loop);
	p->answer_now = kind_of(text(options, "answerNow"));
	read_options(&arena, options, &o);
	o.on_gone = on_gone;
	o.arg = p;
	p->source = ar_mcp_source_new(&p->loop, &o);
	p->source->on_changed = on_changed;
	p->source->arg = p;
	uv_pipe_init(&p->loop, &p->input, 0);
	p->input.data = p;
	AR_ASSERT(uv_pipe_open(&p->input, 0) == 0);
	uv_read_start((uv_stream_t *)&p->input, give_buffer, on_input);
	uv_run(&p->loop, UV_RUN_DEFAULT);
	AR_ASSERT(p->is_gone && uv_loop_close(&p->loop) == 0);
	ar_arena_fini(&arena);
}

int main(int argc, char **argv)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct probe *p = ar_new0(sizeof(*p));
	struct ar_json options;
	struct ar_error err;

	if (argc != 2 || ar_json_parse(json, ar_str_from(argv[1]), &options, &err) != AR_OK) {
		fprintf(stderr, "usage: mcp-probe '{\"name\":...,\"command\":...}'\n");
		return 2;
	}
	signal(SIGPIPE,
	       SIG_IGN); /* as the transport does in agentd: a server may die while it is written to */
	p->commands = ar_json_parser_new();
	run(p, options);
	for (size_t i = 0; i < CALLS_MAX; i++)
		ar_free(p->calls[i]);
	ar_buf_fini(&p->line);
	ar_json_parser_free(p->commands);
	ar_json_parser_free(json);
	ar_free(p);
	return 0;
}
