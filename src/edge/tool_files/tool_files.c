/* The source: its tools, and each call on its way through agent-files and back. Running it is contained.c's,
 * reading its answer answer.c's. Loop thread only. */
#include "tool_files.h"

#include "answer.h"
#include "contained.h"
#include "files.h"
#include "list.h"
#include "mem.h"

#define KINDS_MAX 16

/* owner: loop thread */
struct tool_files {
	struct ar_tool_source source;
	uv_loop_t *loop;
	struct ar_sandbox *sandbox;
	struct ar_tool_files_options options;
	struct ar_json_parser *parser;
	struct ar_tool tools[KINDS_MAX];
	struct ar_buf schemas[KINDS_MAX];
	struct ar_list calls;
};

struct files_call {
	struct ar_list node;
	struct tool_files *owner;
	struct ar_tool_call *call;
	const struct ar_files_kind *kind;
	enum ar_sandbox_profile profile;
	struct ar_contained *contained;
};

static void end_call(struct files_call *f, const struct ar_tool_result *r)
{
	struct ar_tool_call *call = f->call;

	ar_list_del(&f->node);
	call->source_state = NULL;
	ar_free(f);
	call->v->on_done(call, r);
}

static void contained_done(void *arg, const struct ar_contained_end *end)
{
	struct files_call *f = arg;
	struct ar_files_answer answer = { .parser = f->owner->parser,
					  .profile = f->profile,
					  .tool = f->kind->name,
					  .writes = f->kind->writes };

	end_call(f, ar_files_answer_read(&answer, end));
	ar_arena_fini(&answer.arena);
}

/* Least that does it: a tool that reads gets no more, and one that writes needs no network. What was settled
 * without any boundary stays so. */
static enum ar_sandbox_profile profile_of(const struct tool_files *t, const struct files_call *f)
{
	enum ar_sandbox_profile settled = f->call->profile;
	bool is_danger = settled == AR_SANDBOX_DANGER_FULL_ACCESS;

	if (f->kind->writes)
		return is_danger || settled == AR_SANDBOX_READ_ONLY ? settled : AR_SANDBOX_WORKSPACE_WRITE;
	return is_danger && !ar_sandbox_host_of(t->sandbox)->profiles[AR_SANDBOX_READ_ONLY].is_available
		       ? settled
		       : AR_SANDBOX_READ_ONLY;
}

static void start_call(struct ar_tool_source *s, struct ar_tool_call *call)
{
	struct tool_files *t = AR_CONTAINER_OF(s, struct tool_files, source);
	struct files_call *f = ar_new0(sizeof(*f));
	AR_AUTO(ar_buf_fini) struct ar_buf request = { 0 };

	f->owner = t;
	f->call = call;
	f->kind = ar_files_kind_at((size_t)(call->tool - t->tools));
	f->profile = profile_of(t, f);
	call->source_state = f;
	ar_list_push(&t->calls, &f->node);
	ar_files_write_request(&(struct ar_files_request){ .tool = call->tool->name,
							   .args = call->args,
							   .workspace = call->workspace,
							   .max_bytes = t->options.max_result_bytes,
							   .max_ms = t->options.max_ms },
			       &request);
	f->contained = ar_contained_start(t->loop, t->sandbox,
					  &(struct ar_contained_spec){ .program = "agent-files",
								       .input = ar_buf_str(&request),
								       .session_id = call->session_id,
								       .call_id = call->tool_call_id,
								       .workspace = call->workspace,
								       .profile = f->profile,
								       .output_max = AR_FILES_ANSWER_MAX,
								       .done = contained_done,
								       .arg = f });
}

static void cancel_call(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *call)
{
	struct files_call *f = call->source_state;

	if (f)
		ar_contained_stop(f->contained);
}

/* These tools ask nothing. */
static void answer_call(struct ar_tool_source *s AR_UNUSED, struct ar_tool_call *c AR_UNUSED,
			const struct ar_tool_answer *a AR_UNUSED)
{
}

static void close_source(struct ar_tool_source *s)
{
	struct tool_files *t = AR_CONTAINER_OF(s, struct tool_files, source);

	AR_LIST_FOR_SAFE (it, &t->calls) {
		struct files_call *f = AR_CONTAINER_OF(it, struct files_call, node);

		ar_contained_drop(f->contained);
		end_call(f, ar_files_answer_cancelled());
	}
	for (size_t i = 0; i < KINDS_MAX; i++)
		ar_buf_fini(&t->schemas[i]);
	ar_json_parser_free(t->parser);
	ar_free(t);
}

static const struct ar_tool_source_vtable vtable = {
	.start = start_call, .cancel = cancel_call, .answer = answer_call, .close = close_source
};

static void describe_tool(struct tool_files *t, size_t i, const struct ar_files_kind *kind)
{
	ar_files_write_schema(kind, &t->schemas[i]);
	t->tools[i] = (struct ar_tool){
		.name = ar_str_from(kind->name),
		.title = ar_str_from(kind->title),
		.description = ar_str_from(kind->description),
		.schema = ar_buf_str(&t->schemas[i]),
		.owner = AR_TOOL_LOCAL,
		.capabilities =
			(kind->writes ? AR_TOOL_WRITE | AR_TOOL_ARTIFACT : AR_TOOL_READ) | AR_TOOL_FILESYSTEM,
		.is_read_only = !kind->writes,
		.is_concurrency_safe = !kind->writes,
		.is_idempotent = kind->is_idempotent,
		.is_confined = true,
		.works_in_folder = true,
	};
}

struct ar_tool_source *ar_tool_files_new(uv_loop_t *loop, struct ar_sandbox *sandbox,
					 const struct ar_tool_files_options *o)
{
	struct tool_files *t = ar_new0(sizeof(*t));
	const struct ar_files_kind *kind;
	size_t count = 0;

	t->loop = loop;
	t->sandbox = sandbox;
	t->options = *o;
	t->parser = ar_json_parser_new();
	ar_list_init(&t->calls);
	for (; (kind = ar_files_kind_at(count)) != NULL; count++) {
		AR_ASSERT(count < KINDS_MAX);
		describe_tool(t, count, kind);
	}
	t->source = (struct ar_tool_source){
		.v = &vtable, .name = "files", .tools = t->tools, .tool_count = count, .is_ready = true
	};
	return &t->source;
}
