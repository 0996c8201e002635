/* The source: its tools, and each call on its way to a worker thread and back. What the tools do is in their own files.
 *
 * Loop thread, except run_call(). */
#include "local_tools.h"

#include "list.h"
#include "mem.h"
#include "work.h"
#include "workspace.h"

#define DEFAULT_RESULT_BYTES ((uint32_t)256 << 10)
#define MIN_RESULT_BYTES ((uint32_t)8 << 10) /* a line at its longest */
#define END_BYTES 512 /* the remark behind a result */
#define DEFAULT_MS 15000

static const struct ar_local_kind *const kinds[] = {
	&ar_local_read_file,
	&ar_local_list_files,
	&ar_local_find_files,
	&ar_local_search_files,
};

/* owner: loop thread */
struct local_tools {
	struct ar_tool_source source;
	uv_loop_t *loop;
	struct ar_local_options options;
	struct ar_json_parser *parser;
	struct ar_tool tools[AR_ARRAY_LEN(kinds)];
	struct ar_buf schemas[AR_ARRAY_LEN(kinds)];
	struct ar_list calls;
	bool is_closed;
};

struct local_call {
	struct ar_list node;
	uv_work_t request;
	struct local_tools *owner;
	struct ar_tool_call *call; /* NULL: its caller has been told */
	const struct ar_local_kind *kind;
	struct ar_local_work work;
};

static void free_if_done(struct local_tools *t)
{
	if (!t->is_closed || !ar_list_empty(&t->calls))
		return;
	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++)
		ar_buf_fini(&t->schemas[i]);
	ar_json_parser_free(t->parser);
	ar_free(t);
}

static void tell_cancelled(struct ar_tool_call *c)
{
	c->source_state = NULL;
	c->v->on_done(c,
		      &(struct ar_tool_result){ .outcome = AR_TOOL_CANCELLED,
						.category = AR_STR("cancelled"),
						.message = AR_STR("The call was cancelled."),
						.advice = AR_STR("Call it again if it is still wanted.") });
}

static void tell_failure(struct ar_tool_call *c, struct ar_local_work *w)
{
	struct ar_str advice = ar_str_from(w->advice);
	struct ar_str parts[] = { w->message, AR_STR(" "), advice };

	c->source_state = NULL;
	c->v->on_done(c, &(struct ar_tool_result){ .outcome = w->outcome,
						   .text = ar_arena_join(&w->arena, parts, 3),
						   .category = ar_str_from(w->category),
						   .message = w->message,
						   .advice = advice });
}

static void tell(struct ar_tool_call *c, struct ar_local_work *w)
{
	if (ar_local_is_cancelled(w)) {
		tell_cancelled(c);
		return;
	}
	if (ar_local_failed(w)) {
		tell_failure(c, w);
		return;
	}
	c->source_state = NULL;
	c->v->on_done(c, &(struct ar_tool_result){ .outcome = AR_TOOL_OK,
						   .text = ar_buf_str(&w->text),
						   .images = &w->image,
						   .image_count = ar_str_absent(w->image.mime) ? 0 : 1 });
}

static void run_call(uv_work_t *request)
{
	struct local_call *c = AR_CONTAINER_OF(request, struct local_call, request);

	if (!ar_local_failed(&c->work) && !ar_local_is_cancelled(&c->work))
		c->kind->run(&c->work);
}

static void call_ended(uv_work_t *request, int status AR_UNUSED)
{
	struct local_call *c = AR_CONTAINER_OF(request, struct local_call, request);
	struct local_tools *t = c->owner;

	ar_list_del(&c->node);
	if (c->call)
		tell(c->call, &c->work);
	ar_buf_fini(&c->work.text);
	ar_arena_fini(&c->work.arena);
	ar_free(c);
	free_if_done(t);
}

static void read_args(struct local_tools *t, struct local_call *c, struct ar_str text)
{
	struct ar_json args;

	if (ar_json_parse(t->parser, text, &args, NULL) != AR_OK) {
		ar_local_fail(&c->work, "invalid_arguments", "Call it again with a JSON object.",
			      "The arguments are no JSON.");
		return;
	}
	ar_local_read_args(&c->work, c->kind, args);
}

static void start(struct ar_tool_source *s, struct ar_tool_call *call)
{
	struct local_tools *t = AR_CONTAINER_OF(s, struct local_tools, source);
	struct local_call *c = ar_new0(sizeof(*c));
	struct ar_clock *clock = ar_clock_system();

	c->owner = t;
	c->call = call;
	c->kind = kinds[call->tool - t->tools];
	c->work.workspace = ar_arena_str(&c->work.arena, call->scope.workspace);
	c->work.max_bytes = t->options.max_result_bytes;
	c->work.until = clock->mono(clock) + (ar_usec)t->options.max_ms * 1000;
	read_args(t, c, call->args);
	call->source_state = c;
	ar_list_push(&t->calls, &c->node);
	AR_ASSERT(uv_queue_work(t->loop, &c->request, run_call, call_ended) == 0);
}

static void stop_work(struct local_call *c)
{
	atomic_store(&c->work.is_cancelled, true);
	(void)uv_cancel((uv_req_t *)&c->request); /* refused once a thread has it: then the flag ends it */
}

static void cancel(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *call)
{
	if (call->source_state)
		stop_work(call->source_state);
}

/* These tools ask nothing. */
static void answer(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *c AR_UNUSED,
		   const struct ar_tool_answer *a AR_UNUSED)
{
}

static void close_source(struct ar_tool_source *s)
{
	struct local_tools *t = AR_CONTAINER_OF(s, struct local_tools, source);

	AR_LIST_FOR_SAFE (it, &t->calls) {
		struct local_call *c = AR_CONTAINER_OF(it, struct local_call, node);
		struct ar_tool_call *call = c->call;

		c->call = NULL;
		stop_work(c);
		if (call)
			tell_cancelled(call);
	}
	t->is_closed = true;
	free_if_done(t);
}

static const struct ar_tool_source_vtable vtable = { start, cancel, answer, close_source };

static void describe(struct local_tools *t, size_t i)
{
	ar_local_write_schema(kinds[i], &t->schemas[i]);
	t->tools[i] = (struct ar_tool){
		.name = ar_str_from(kinds[i]->name),
		.title = ar_str_from(kinds[i]->title),
		.description = ar_str_from(kinds[i]->description),
		.schema = ar_buf_str(&t->schemas[i]),
		.owner = AR_TOOL_LOCAL,
		.capabilities = AR_TOOL_READ | AR_TOOL_FILESYSTEM,
		.is_read_only = true,
		.is_concurrency_safe = true,
		.is_idempotent = true,
	};
}

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value ? value : fallback;
}

struct ar_tool_source *ar_local_tools_new(uv_loop_t *loop, const struct ar_local_options *o)
{
	struct local_tools *t = ar_new0(sizeof(*t));
	uint32_t bytes = or_default(o->max_result_bytes, DEFAULT_RESULT_BYTES);

	t->loop = loop;
	t->options.max_result_bytes = (bytes > MIN_RESULT_BYTES ? bytes : MIN_RESULT_BYTES) - END_BYTES;
	t->options.max_ms = or_default(o->max_ms, DEFAULT_MS);
	t->parser = ar_json_parser_new();
	ar_list_init(&t->calls);
	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++)
		describe(t, i);
	t->source = (struct ar_tool_source){
		.v = &vtable,
		.name = "local",
		.tools = t->tools,
		.is_ready = true,
		.trouble = ar_workspace_unavailable(),
	};
	t->source.tool_count = t->source.trouble ? 0 : AR_ARRAY_LEN(kinds);
	return &t->source;
}
