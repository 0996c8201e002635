/* Tools in C: a source of port/tool.h whose work is done by functions of the owner, on any thread. A run
 * belongs to the owner until it is finished, whatever became of the call meanwhile. Owner: the driving
 * thread, but for what is marked. */
#include "json.h"
#include "mem.h"
#include "runtime_priv.h"
#include "tool.h"

#include <string.h>

struct source {
	struct ar_tool_source base;
	struct ar_runtime *runtime;
	struct ar_list runs; /* whose calls are open */
};

struct ar_tool_run {
	struct ar_mailbox_message message; /* of the finish */
	struct ar_list node; /* in source->runs while somebody waits */
	struct ar_mailbox *mail;
	struct ar_tool_call *call; /* NULL: nobody waits any more */
	const struct ar_tool_def *def;
	char *id;
	enum ar_tool_end end; /* any thread, then the message's */
	char *text;
};

struct progress {
	struct ar_mailbox_message message;
	struct ar_tool_run *run;
	char *text;
	double percent;
};

/* ---- ends ---- */

static void finish_call(struct ar_tool_run *run, const struct ar_tool_result *result)
{
	struct ar_tool_call *call = run->call;

	run->call = NULL;
	ar_list_del(&run->node);
	call->source_state = NULL;
	call->v->on_done(call, result);
}

static void on_finish(struct ar_mailbox_message *message, void *owner)
{
	static const enum ar_tool_outcome outcomes[] = { [AR_TOOL_END_OK] = AR_TOOL_OK,
							 [AR_TOOL_END_ERROR] = AR_TOOL_ERROR,
							 [AR_TOOL_END_NOT_RUN] = AR_TOOL_NOT_RUN };
	struct ar_tool_run *run = AR_CONTAINER_OF(message, struct ar_tool_run, message);
	bool is_ok = run->end == AR_TOOL_END_OK;

	if (owner && run->call)
		finish_call(run, &(struct ar_tool_result){
					 .outcome = outcomes[run->end],
					 .text = ar_str_from(run->text),
					 .category = is_ok ? AR_STR_NONE : AR_STR("tool_error"),
					 .message = is_ok ? AR_STR_NONE : ar_str_from(run->text) });
	ar_mailbox_unref(run->mail);
	ar_free(run->id);
	ar_free(run->text);
	ar_free(run);
}

static void end_early(struct ar_tool_run *run, enum ar_tool_outcome outcome, const char *category,
		      const char *message)
{
	finish_call(run, &(struct ar_tool_result){ .outcome = outcome,
						   .category = ar_str_from(category),
						   .message = ar_str_from(message) });
}

/* ---- the source ---- */

static void start(struct ar_tool_source *base, struct ar_tool_call *call)
{
	struct source *s = AR_CONTAINER_OF(base, struct source, base);
	struct ar_tool_run *run = ar_new0(sizeof(*run));
	struct ar_str id = ar_str_empty(call->operation_id) ? call->tool_call_id : call->operation_id;
	char *args = ar_str_dup(call->args);

	run->mail = ar_mailbox_ref(s->runtime->mail);
	run->call = call;
	run->def = &s->runtime->tools[call->tool - base->tools];
	run->id = ar_str_dup(id);
	call->source_state = run;
	ar_list_push(&s->runs, &run->node);
	run->def->run(run->def->arg, run, args, call->args.len);
	ar_free(args);
}

/* The call ends at once. What the tool still does is its own matter: nobody can say how far it comes. */
static void cancel(struct ar_tool_source *base AR_UNUSED, struct ar_tool_call *call)
{
	struct ar_tool_run *run = call->source_state;

	if (!run)
		return;
	end_early(run, AR_TOOL_CANCELLED, "cancelled", "The call was cancelled.");
	if (run->def->cancel)
		run->def->cancel(run->def->arg, run);
}

static void on_answer(struct ar_tool_source *base AR_UNUSED, struct ar_tool_call *call AR_UNUSED,
		      const struct ar_tool_answer *answer AR_UNUSED)
{
}

static void close_source(struct ar_tool_source *base)
{
	struct source *s = AR_CONTAINER_OF(base, struct source, base);

	AR_LIST_FOR_SAFE (it, &s->runs)
		end_early(AR_CONTAINER_OF(it, struct ar_tool_run, node), AR_TOOL_LOST, "lost",
			  "The runtime stopped while the tool ran.");
	s->runtime->source = NULL;
	ar_free(s);
}

struct ar_tool_source *ar_runtime_open_tools(void *runtime)
{
	static const struct ar_tool_source_vtable callbacks = {
		.start = start, .cancel = cancel, .answer = on_answer, .close = close_source
	};
	struct ar_runtime *r = runtime;
	struct source *s = ar_new0(sizeof(*s));

	s->base = (struct ar_tool_source){ .v = &callbacks,
					   .name = "embedder",
					   .tools = r->offers,
					   .tool_count = r->tool_count,
					   .is_ready = true };
	s->runtime = r;
	ar_list_init(&s->runs);
	r->source = &s->base;
	return &s->base;
}

/* ---- any thread ---- */

const char *ar_tool_run_id(const struct ar_tool_run *run)
{
	return run->id;
}

static void on_progress(struct ar_mailbox_message *message, void *owner)
{
	struct progress *p = AR_CONTAINER_OF(message, struct progress, message);
	struct ar_tool_call *call = owner ? p->run->call : NULL;

	if (call)
		call->v->on_progress(call, &(struct ar_tool_progress){ ar_str_from(p->text), p->percent });
	ar_free(p->text);
	ar_free(p);
}

/* Messages keep their order, so the run is there when this one is delivered. */
void ar_tool_progress(struct ar_tool_run *run, const char *text, double percent)
{
	struct progress *p = ar_new0(sizeof(*p));

	p->message.deliver = on_progress;
	p->run = run;
	p->text = ar_str_dup(ar_str_from(text ? text : ""));
	p->percent = percent;
	ar_mailbox_post(run->mail, &p->message);
}

void ar_tool_finish(struct ar_tool_run *run, enum ar_tool_end end, const char *text)
{
	run->message.deliver = on_finish;
	run->end = end <= AR_TOOL_END_NOT_RUN ? end : AR_TOOL_END_ERROR;
	run->text = ar_str_dup(ar_str_from(text ? text : ""));
	ar_mailbox_post(run->mail, &run->message);
}

/* ---- definitions ---- */

static enum ar_status check_def(struct ar_runtime *r, const struct ar_tool_def *def, struct ar_error *err)
{
	struct ar_json doc;

	if (r->is_driven)
		return ar_fail(err, AR_E_INVALID, "a tool is added before the runtime is driven");
	if (!def->name || !ar_tool_is_name(ar_str_from(def->name)))
		return ar_fail(err, AR_E_INVALID, "a tool's name is 1 to 64 of A-Z a-z 0-9 _ -");
	if (!def->description || !def->schema || !def->run)
		return ar_fail(err, AR_E_INVALID, "tool %s: description, schema and run are needed",
			       def->name);
	if (strlen(def->description) > AR_TOOL_DESCRIPTION_MAX || strlen(def->schema) > AR_TOOL_SCHEMA_MAX)
		return ar_fail(err, AR_E_INVALID, "tool %s: description or schema is too long", def->name);
	if (ar_json_parse(r->parser, ar_str_from(def->schema), &doc, NULL) != AR_OK ||
	    ar_json_type(doc) != AR_JSON_OBJECT)
		return ar_fail(err, AR_E_INVALID, "tool %s: the schema is no JSON object", def->name);
	for (size_t i = 0; i < r->tool_count; i++) {
		if (strcmp(r->tools[i].name, def->name) == 0)
			return ar_fail(err, AR_E_INVALID, "tool %s was added before", def->name);
	}
	return AR_OK;
}

static struct ar_tool offer_of(const struct ar_tool_def *def)
{
	bool is_read_only = def->flags & AR_TOOL_FLAG_READ_ONLY;

	return (struct ar_tool){ .name = ar_str_from(def->name),
				 .description = ar_str_from(def->description),
				 .schema = ar_str_from(def->schema),
				 .owner = AR_TOOL_LOCAL,
				 .capabilities =
					 AR_TOOL_CUSTOM | (is_read_only ? AR_TOOL_READ : AR_TOOL_WRITE),
				 .is_read_only = is_read_only,
				 .is_concurrency_safe = def->flags & AR_TOOL_FLAG_PARALLEL,
				 .is_destructive = def->flags & AR_TOOL_FLAG_DESTRUCTIVE,
				 .is_idempotent = def->flags & AR_TOOL_FLAG_IDEMPOTENT };
}

int ar_runtime_add_tool(struct ar_runtime *r, const struct ar_tool_def *def, struct ar_runtime_error *ret_err)
{
	struct ar_tool_def d = { 0 };
	struct ar_error err = { 0 };

	ar_copy_sized(&d, sizeof(d), def, def->size);
	if (check_def(r, &d, &err) != AR_OK)
		return ar_runtime_report(&err, ret_err);
	d.name = ar_str_dup(ar_str_from(d.name));
	d.description = ar_str_dup(ar_str_from(d.description));
	d.schema = ar_str_dup(ar_str_from(d.schema));
	r->tools = ar_grow(r->tools, r->tool_count + 1, sizeof(*r->tools));
	r->offers = ar_grow(r->offers, r->tool_count + 1, sizeof(*r->offers));
	r->tools[r->tool_count] = d;
	r->offers[r->tool_count++] = offer_of(&d);
	r->source->tools = r->offers;
	r->source->tool_count = r->tool_count;
	r->source->on_changed(r->source->arg);
	return AR_RUNTIME_OK;
}

void ar_runtime_free_tools(struct ar_runtime *r)
{
	for (size_t i = 0; i < r->tool_count; i++) {
		ar_free((void *)(uintptr_t)r->tools[i].name);
		ar_free((void *)(uintptr_t)r->tools[i].description);
		ar_free((void *)(uintptr_t)r->tools[i].schema);
	}
	ar_free(r->tools);
	ar_free(r->offers);
}
