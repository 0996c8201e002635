/* Trajectories in the ATIF format, version 1.7: one document per session. A step is a message of the user, a
 * note of the runtime, or one answer of the model with the calls that it asked for and their results. Facts
 * around them (permissions, questions, processes, violations) stand in `extra` of the step, with the ids of
 * the log. Threads of child agents, and branches, are trajectories inside that of their parent.
 *
 * A step is written when the next one begins; only the open one of each thread is held. Steps of the first
 * thread go to the output as they are made, those of others to the stream of their thread. */
#include "export_priv.h"
#include "mem.h"

#include <string.h>

#define NOTES_MAX ((size_t)256 << 10) /* bytes of facts in one step */
#define DEPTH_MAX 16 /* of trajectories in each other: the reader of JSON has a limit, too */

/* An input that waits for its turn. */
struct input {
	struct input *next;
	char *turn;
	struct ar_buf step; /* without its number */
};

struct open {
	bool is_step; /* there is one */
	struct ar_buf head; /* members of the step up to its message */
	struct ar_buf calls, results; /* elements of arrays */
	struct ar_buf ids; /* of its calls, a line each */
	struct ar_buf children; /* per line: id of a call, space, thread that it began */
	struct ar_buf notes; /* facts: elements of an array */
	int64_t left_out; /* facts that did not fit */
	int64_t input, output, cached;
	double cost;
	bool has_usage, has_cost;
	struct input *inputs; /* oldest first */
};

static struct open *open_of(struct ar_export_thread *t)
{
	if (!t->open)
		t->open = ar_new0(sizeof(struct open));
	return t->open;
}

static void free_input(struct input *in)
{
	ar_buf_fini(&in->step);
	ar_free(in->turn);
	ar_free(in);
}

static void drop(struct ar_export_thread *t)
{
	struct open *o = t->open;

	if (!o)
		return;
	while (o->inputs) {
		struct input *in = o->inputs;

		o->inputs = in->next;
		free_input(in);
	}
	ar_buf_fini(&o->head);
	ar_buf_fini(&o->calls);
	ar_buf_fini(&o->results);
	ar_buf_fini(&o->ids);
	ar_buf_fini(&o->children);
	ar_buf_fini(&o->notes);
	ar_free(o);
	t->open = NULL;
}

/* ---- pieces of a step ---- */

/* Another element of an array that is written piece by piece. */
static struct ar_jw element(struct ar_buf *array)
{
	struct ar_jw w = ar_jw(array);

	w.comma = array->len > 0;
	ar_jw_open(&w);
	return w;
}

static void add_member(struct ar_jw *w, const char *name, struct ar_json value)
{
	struct ar_buf text = { 0 };

	if (ar_json_type(value) == AR_JSON_NONE || ar_json_type(value) == AR_JSON_NULL)
		return;
	ar_json_print(value, &text);
	ar_jw_mraw(w, name, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void add_ids(struct ar_jw *w, const struct ar_export_fact *f)
{
	static const struct {
		const char *member, *name;
	} ids[] = { { "turnId", "turn_id" },	      { "modelRequestId", "model_request_id" },
		    { "toolCallId", "tool_call_id" }, { "actionId", "action_id" },
		    { "processId", "process_id" },    { "subagentId", "subagent_id" },
		    { "artifactId", "artifact_id" } };

	ar_jw_mstr(w, "event_id", f->id);
	for (size_t i = 0; i < AR_ARRAY_LEN(ids); i++)
		ar_jw_mstr(w, ids[i].name, ar_export_str(f->doc, ids[i].member));
}

static bool has_line(const struct ar_buf *lines, struct ar_str line)
{
	struct ar_str rest = ar_buf_str(lines), one;

	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &one);
		if (ar_str_eq(one, line))
			return true;
	}
	return false;
}

/* A whole step that has no answer of a model in it: its members after the number. */
static void add_plain_step(struct ar_buf *out, const struct ar_export_fact *f, const char *source,
			   struct ar_str message)
{
	struct ar_jw w = ar_jw(out);

	w.comma = true;
	ar_jw_mstr(&w, "timestamp", f->time);
	ar_jw_mstr(&w, "source", ar_str_from(source));
	ar_jw_mstr(&w, "message", message);
	ar_jw_key(&w, "extra");
	ar_jw_open(&w);
	add_ids(&w, f);
	ar_jw_mstr(&w, "fact", f->type);
}

/* ---- writing steps ---- */

/* The first thread is the trajectory itself. */
static size_t stream_of(const struct ar_export_thread *t)
{
	return t->number == 1 ? 0 : t->number;
}

static void begin_document(struct ar_export *x, const struct ar_export_thread *t)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "schema_version", AR_STR("ATIF-v1.7"));
	ar_jw_mstr(&w, "session_id", ar_str_from(x->session));
	ar_jw_mstr(&w, "trajectory_id", ar_str_from(t->id));
	ar_jw_key(&w, "steps");
	ar_jw_open_array(&w);
	ar_export_write_buf(x, stream_of(t), &text);
	ar_buf_fini(&text);
}

/* `rest`: from the comma after the number to the last member. */
static void write_step(struct ar_export *x, struct ar_export_thread *t, struct ar_buf *rest)
{
	struct ar_buf text = { 0 };

	if (t->steps == 0)
		begin_document(x, t);
	ar_buf_addf(&text, "%s\n{\"step_id\":%lld", t->steps ? "," : "", (long long)t->steps + 1);
	t->steps++;
	ar_export_write_buf(x, stream_of(t), &text);
	ar_export_write_buf(x, stream_of(t), rest);
	ar_export_write(x, stream_of(t), "}");
	ar_buf_fini(&text);
}

static void add_metrics(struct ar_jw *w, const struct open *o)
{
	if (!o->has_usage)
		return;
	ar_jw_key(w, "metrics");
	ar_jw_open(w);
	ar_jw_mint(w, "prompt_tokens", o->input);
	ar_jw_mint(w, "completion_tokens", o->output);
	/* A provider may count wrongly; a reader refuses more cached tokens than there were. */
	if (o->cached <= o->input)
		ar_jw_mint(w, "cached_tokens", o->cached);
	if (o->has_cost) {
		ar_jw_key(w, "cost_usd");
		ar_jw_num(w, o->cost);
	}
	ar_jw_close(w);
}

static void add_array(struct ar_jw *w, const char *name, const struct ar_buf *elements)
{
	if (!elements->len)
		return;
	ar_jw_key(w, name);
	ar_jw_open_array(w);
	ar_buf_adds(w->out, ar_buf_str(elements));
	ar_jw_close_array(w);
}

static void clear_step(struct open *o)
{
	ar_buf_clear(&o->head);
	ar_buf_clear(&o->calls);
	ar_buf_clear(&o->results);
	ar_buf_clear(&o->ids);
	ar_buf_clear(&o->children);
	ar_buf_clear(&o->notes);
	o->is_step = o->has_usage = o->has_cost = false;
	o->left_out = o->input = o->output = o->cached = 0;
	o->cost = 0;
}

/* The answer of the model that is open, with what came of its calls. */
static void end_step(struct ar_export *x, struct ar_export_thread *t)
{
	struct open *o = open_of(t);
	struct ar_jw w = ar_jw(&o->head);

	if (!o->is_step)
		return;
	w.comma = true;
	add_array(&w, "tool_calls", &o->calls);
	if (o->results.len) {
		ar_jw_key(&w, "observation");
		ar_jw_open(&w);
		add_array(&w, "results", &o->results);
		ar_jw_close(&w);
	}
	add_metrics(&w, o);
	if (o->notes.len) {
		ar_jw_key(&w, "extra");
		ar_jw_open(&w);
		add_array(&w, "facts", &o->notes);
		if (o->left_out)
			ar_jw_mint(&w, "facts_left_out", o->left_out);
		ar_jw_close(&w);
	}
	write_step(x, t, &o->head);
	clear_step(o);
}

/* A step of the runtime: what it told or did that is no message of anybody. */
static void write_system(struct ar_export *x, const struct ar_export_fact *f, struct ar_str message)
{
	struct ar_buf step = { 0 };
	struct ar_jw w = ar_jw(&step);

	end_step(x, f->thread);
	add_plain_step(&step, f, "system", message);
	w.comma = true;
	add_member(&w, "error", ar_json_get(f->payload, "error"));
	add_member(&w, "status", ar_json_get(f->payload, "status"));
	ar_buf_addz(&step, "}");
	write_step(x, f->thread, &step);
	ar_buf_fini(&step);
}

/* ---- facts ---- */

static void on_submitted(struct ar_export *x, const struct ar_export_fact *f)
{
	struct open *o = open_of(f->thread);
	struct ar_export_part part = ar_export_part(f, ar_export_str(f->payload, "inputRef"));
	struct input *in = ar_new0(sizeof(*in)), **end = &o->inputs;
	struct ar_str source = ar_export_str(f->payload, "source");
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&in->step);

	if (ar_str_is(source, "system"))
		ar_buf_adds(&text, ar_export_str(f->payload, "inputPreview"));
	else
		ar_export_add_input(x, &text, &part);
	add_plain_step(&in->step, f, ar_str_is(source, "system") ? "system" : "user", ar_buf_str(&text));
	w.comma = true;
	ar_jw_mstr(&w, "source", source);
	add_member(&w, "options", ar_json_get(f->payload, "options"));
	add_member(&w, "attachments", ar_json_get(f->payload, "attachments"));
	ar_buf_addz(&in->step, "}");
	in->turn = ar_str_dup(ar_export_str(f->doc, "turnId"));
	while (*end)
		end = &(*end)->next;
	*end = in;
	ar_buf_fini(&text);
}

static void on_started(struct ar_export *x, const struct ar_export_fact *f)
{
	struct open *o = open_of(f->thread);

	end_step(x, f->thread);
	for (struct input **at = &o->inputs; *at; at = &(*at)->next) {
		struct input *in = *at;

		if (!ar_str_eq(ar_str_from(in->turn), ar_export_str(f->doc, "turnId")))
			continue;
		*at = in->next;
		write_step(x, f->thread, &in->step);
		free_input(in);
		return;
	}
}

static void on_requested(struct ar_export *x, const struct ar_export_fact *f)
{
	end_step(x, f->thread);
}

static void add_call(struct ar_export *x, struct open *o, const struct ar_export_fact *f, struct ar_json call,
		     struct ar_str id)
{
	struct ar_export_part args = ar_export_part(f, ar_export_str(call, "ref"));
	struct ar_jw w = element(&o->calls);
	struct ar_json doc;
	bool is_whole = !ar_str_absent(args.text) && args.size <= (int64_t)args.text.len &&
			ar_json_parse(x->parser, args.text, &doc, NULL) == AR_OK &&
			ar_json_type(doc) == AR_JSON_OBJECT;

	ar_jw_mstr(&w, "tool_call_id", id);
	ar_jw_mstr(&w, "function_name", ar_export_str(call, "name"));
	ar_jw_mraw(&w, "arguments", is_whole ? args.text : AR_STR("{}"));
	ar_jw_key(&w, "extra");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "provider_call_id", ar_export_str(call, "id"));
	ar_jw_mstr(&w, "arguments_ref", args.ref);
	if (!is_whole)
		ar_jw_mstr(&w, "arguments_text", ar_str_absent(args.text) ? args.why : args.text);
	ar_jw_close(&w);
	ar_jw_close(&w);
	ar_buf_adds(&o->ids, id);
	ar_buf_addc(&o->ids, '\n');
}

static void begin_answer(struct open *o, const struct ar_export_fact *f)
{
	struct ar_export_part text = ar_export_part(f, ar_export_str(f->payload, "outputRef"));
	struct ar_export_part thought = ar_export_part(f, ar_export_str(f->payload, "reasoningRef"));
	struct ar_jw w = ar_jw(&o->head);
	struct ar_buf message = { 0 };

	w.comma = true;
	o->is_step = true;
	ar_jw_mstr(&w, "timestamp", f->time);
	ar_jw_mstr(&w, "source", AR_STR("agent"));
	ar_jw_mstr(&w, "model_name", ar_export_str(f->payload, "model"));
	ar_export_add_text(&message, &text);
	ar_jw_mstr(&w, "message", ar_buf_str(&message));
	if (!ar_str_absent(thought.ref)) {
		ar_buf_clear(&message);
		ar_export_add_text(&message, &thought);
		ar_jw_mstr(&w, "reasoning_content", ar_buf_str(&message));
	}
	ar_jw_mint(&w, "llm_call_count", 1);
	ar_buf_fini(&message);
}

static void on_note(struct ar_export *x, const struct ar_export_fact *f);

static void on_answer(struct ar_export *x, const struct ar_export_fact *f)
{
	struct open *o = open_of(f->thread);
	struct ar_json usage = ar_json_get(f->payload, "usage");

	if (f->thread->is_aside)
		return;
	end_step(x, f->thread);
	begin_answer(o, f);
	o->has_usage = ar_json_type(usage) == AR_JSON_OBJECT;
	o->input = ar_export_int(usage, "inputTokens");
	o->output = ar_export_int(usage, "outputTokens");
	o->cached = ar_export_int(usage, "cachedTokens");
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(f->payload, "toolCalls")); ar_json_next(&it);)
		add_call(x, o, f, it.value, ar_export_str(it.value, "toolCallId"));
	on_note(x, f);
}

/* What there was of an answer that failed is one, too: the next attempt begins anew. */
static void on_model_failed(struct ar_export *x, const struct ar_export_fact *f)
{
	if (f->thread->is_aside)
		return;
	end_step(x, f->thread);
	begin_answer(open_of(f->thread), f);
	on_note(x, f);
}

static void on_cost(struct ar_export *x AR_UNUSED, const struct ar_export_fact *f)
{
	struct open *o = open_of(f->thread);

	if (!o->is_step || f->thread->is_aside || !ar_str_is(ar_export_str(f->payload, "currency"), "USD"))
		return;
	o->has_cost = ar_json_num(ar_json_get(f->payload, "amount"), &o->cost);
}

static void on_tool_started(struct ar_export *x, const struct ar_export_fact *f)
{
	struct open *o = open_of(f->thread);
	struct ar_str id = ar_export_str(f->doc, "toolCallId"), again = ar_export_str(f->payload, "retryOf");
	struct ar_buf call = { 0 };
	struct ar_jw w = ar_jw(&call);
	struct ar_json_parser *parser;
	struct ar_json doc;

	if (!o->is_step || ar_str_absent(again) || has_line(&o->ids, id))
		return;
	/* Written as the model would have asked for it. */
	ar_jw_open(&w);
	ar_jw_mstr(&w, "name", ar_export_str(f->payload, "toolName"));
	ar_jw_mstr(&w, "ref", ar_export_str(f->payload, "inputRef"));
	ar_jw_mstr(&w, "id", again);
	ar_jw_close(&w);
	parser = ar_json_parser_new();
	if (ar_json_parse(parser, ar_buf_str(&call), &doc, NULL) == AR_OK)
		add_call(x, o, f, doc, id);
	ar_json_parser_free(parser);
	ar_buf_fini(&call);
}

/* The thread that a call began; absent: none. */
static struct ar_str child_of(const struct open *o, struct ar_str call)
{
	struct ar_str rest = ar_buf_str(&o->children), line, id;

	while (!ar_str_empty(rest)) {
		struct ar_str child;

		rest = ar_str_split(rest, '\n', &line);
		child = ar_str_split(line, ' ', &id);
		if (ar_str_eq(id, call))
			return child;
	}
	return AR_STR_NONE;
}

static void add_child_ref(struct ar_export *x, struct ar_jw *w, struct ar_str child)
{
	ar_jw_key(w, "subagent_trajectory_ref");
	ar_jw_open_array(w);
	ar_jw_open(w);
	ar_jw_mstr(w, "trajectory_id", child);
	ar_jw_mstr(w, "session_id", ar_str_from(x->session));
	ar_jw_close(w);
	ar_jw_close_array(w);
}

static void on_tool_end(struct ar_export *x, const struct ar_export_fact *f)
{
	static const char *const kept[] = { "status",	  "errorCategory", "outputRef",	 "errorRef",
					    "durationMs", "permissionRef", "sandboxRef", "changesRef" };
	struct open *o = open_of(f->thread);
	struct ar_str call = ar_export_str(f->doc, "toolCallId"), child = child_of(o, call);
	struct ar_export_part none = { .ref = AR_STR_NONE };
	const struct ar_export_part *part = f->count ? &f->parts[0] : &none;
	struct ar_buf text = { 0 };
	struct ar_jw w;

	if (!o->is_step)
		return;
	w = element(&o->results);
	if (has_line(&o->ids, call))
		ar_jw_mstr(&w, "source_call_id", call);
	if (f->count)
		ar_export_add_text(&text, part);
	else
		ar_buf_adds(&text, ar_export_str(f->payload, "preview"));
	ar_jw_mstr(&w, "content", ar_buf_str(&text));
	if (!ar_str_absent(child))
		add_child_ref(x, &w, child);
	ar_jw_key(&w, "extra");
	ar_jw_open(&w);
	add_ids(&w, f);
	for (size_t i = 0; i < AR_ARRAY_LEN(kept); i++)
		add_member(&w, kept[i], ar_json_get(f->payload, kept[i]));
	ar_jw_close(&w);
	ar_jw_close(&w);
	ar_buf_fini(&text);
}

/* Thread and turn of this fact are the parent's. */
static void on_spawned(struct ar_export *x, const struct ar_export_fact *f)
{
	struct open *o = open_of(f->thread);
	struct ar_str call = ar_export_str(f->payload, "toolCallId");

	if (!ar_str_absent(call)) {
		ar_buf_addf(&o->children, "%.*s %.*s\n", AR_STR_ARG(call),
			    AR_STR_ARG(ar_export_str(f->payload, "childThreadId")));
	}
	on_note(x, f);
}

static void on_compacted(struct ar_export *x, const struct ar_export_fact *f)
{
	struct ar_export_part part = ar_export_part(f, ar_export_str(f->payload, "summaryRef"));
	struct ar_buf text = { 0 };

	ar_buf_addz(&text, "What was said before was replaced by this summary: ");
	ar_export_add_text(&text, &part);
	write_system(x, f, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void on_turn_failed(struct ar_export *x, const struct ar_export_fact *f)
{
	struct ar_str message = ar_export_str(ar_json_get(f->payload, "error"), "message");
	struct ar_buf text = { 0 };

	ar_buf_addf(&text, "The turn ended as %.*s: ", AR_STR_ARG(ar_export_str(f->payload, "status")));
	ar_buf_adds(&text, ar_str_absent(message) ? AR_STR("no reason was recorded") : message);
	write_system(x, f, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void on_turn_completed(struct ar_export *x, const struct ar_export_fact *f)
{
	end_step(x, f->thread);
}

/* Stands with the step that is open, or with the next one. */
static void on_note(struct ar_export *x AR_UNUSED, const struct ar_export_fact *f)
{
	const char *const *members = ar_export_members(f->type);
	struct open *o = open_of(f->thread);
	struct ar_jw w;

	if (o->notes.len > NOTES_MAX) {
		o->left_out++;
		return;
	}
	w = element(&o->notes);
	ar_jw_mstr(&w, "type", f->type);
	ar_jw_mstr(&w, "timestamp", f->time);
	add_ids(&w, f);
	for (size_t i = 0; members && i < AR_EXPORT_MEMBERS && members[i]; i++)
		add_member(&w, members[i], ar_json_get(f->payload, members[i]));
	ar_jw_close(&w);
}

static const struct {
	const char *type;
	void (*run)(struct ar_export *x, const struct ar_export_fact *f);
} rows[] = {
	{ "turn.submitted", on_submitted },
	{ "turn.started", on_started },
	{ "turn.completed", on_turn_completed },
	{ "turn.failed", on_turn_failed },
	{ "model.requested", on_requested },
	{ "model.completed", on_answer },
	{ "model.failed", on_model_failed },
	{ "cost.recorded", on_cost },
	{ "tool.started", on_tool_started },
	{ "tool.result", on_tool_end },
	{ "tool.failed", on_tool_end },
	{ "subagent.spawned", on_spawned },
	{ "context.compaction.completed", on_compacted },
};

static void take_fact(struct ar_export *x, const struct ar_export_fact *f)
{
	if (!f->thread)
		return;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		if (ar_str_is(f->type, rows[i].type)) {
			rows[i].run(x, f);
			return;
		}
	}
	if (ar_export_members(f->type))
		on_note(x, f);
}

/* ---- the end of the document ---- */

static void add_tools(struct ar_export *x, struct ar_jw *w)
{
	struct ar_json tools;

	if (!x->tools || ar_json_parse(x->parser, ar_str_from(x->tools), &tools, NULL) != AR_OK)
		return;
	ar_jw_key(w, "tool_definitions");
	ar_jw_open_array(w);
	for (struct ar_json_iter it = ar_json_iter(tools); ar_json_next(&it);) {
		ar_jw_open(w);
		ar_jw_mstr(w, "type", AR_STR("function"));
		ar_jw_key(w, "function");
		ar_jw_open(w);
		ar_jw_mstr(w, "name", ar_export_str(it.value, "toolName"));
		ar_jw_mstr(w, "description", ar_export_str(it.value, "description"));
		add_member(w, "parameters", ar_json_get(it.value, "inputSchema"));
		ar_jw_close(w);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

static void add_agent(struct ar_export *x, struct ar_jw *w, const struct ar_export_thread *t)
{
	ar_jw_key(w, "agent");
	ar_jw_open(w);
	ar_jw_mstr(w, "name", AR_STR("agentruntime"));
	ar_jw_mstr(w, "version", AR_STR(AR_VERSION));
	ar_jw_mstr(w, "model_name", ar_str_from(t->model));
	if (t->number == 1)
		add_tools(x, w);
	ar_jw_key(w, "extra");
	ar_jw_open(w);
	ar_jw_mstr(w, "runtime_id", ar_str_from(x->runtime));
	ar_jw_close(w);
	ar_jw_close(w);
}

static void add_totals(struct ar_jw *w, const struct ar_export_thread *t)
{
	const struct ar_export_sums *s = &t->sums;

	ar_jw_key(w, "final_metrics");
	ar_jw_open(w);
	ar_jw_mint(w, "total_prompt_tokens", s->input);
	ar_jw_mint(w, "total_completion_tokens", s->output);
	ar_jw_mint(w, "total_cached_tokens", s->cached);
	/* A sum that leaves calls out would be read as the whole. */
	if (s->calls && !s->unpriced && strcmp(s->currency, "USD") == 0) {
		ar_jw_key(w, "total_cost_usd");
		ar_jw_num(w, s->cost);
	}
	ar_jw_mint(w, "total_steps", t->steps);
	ar_jw_close(w);
}

static void end_trajectory(struct ar_export *x, struct ar_export_thread *t, size_t depth);

static void add_children(struct ar_export *x, const struct ar_export_thread *t, size_t depth)
{
	bool is_first = true;

	for (size_t i = 1; i < x->count; i++) {
		struct ar_export_thread *child = x->threads[i];
		/* A second thread of the session came from none. */
		bool is_of_it = child->parent == t->number || (t->number == 1 && child->parent == 0);

		if (!is_of_it || child->steps == 0 || depth >= DEPTH_MAX)
			continue;
		ar_export_write(x, 0, is_first ? ",\n\"subagent_trajectories\":[\n" : ",\n");
		is_first = false;
		x->sink.copy(x->sink.arg, child->number);
		end_trajectory(x, child, depth + 1);
	}
	if (!is_first)
		ar_export_write(x, 0, "]");
}

static void end_trajectory(struct ar_export *x, struct ar_export_thread *t, size_t depth)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_buf_addz(&text, "\n]");
	w.comma = true;
	add_agent(x, &w, t);
	add_totals(&w, t);
	ar_jw_key(&w, "extra");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "title", t->number == 1 ? ar_str_from(x->title) : AR_STR_NONE);
	ar_jw_mstr(&w, "thread_id", ar_str_from(t->id));
	ar_jw_mstr(&w, "began_as", ar_str_from(t->reason));
	ar_jw_close(&w);
	ar_export_write_buf(x, 0, &text);
	ar_buf_fini(&text);
	add_children(x, t, depth);
	ar_export_write(x, 0, "}");
}

static void end(struct ar_export *x)
{
	for (size_t i = 0; i < x->count; i++)
		end_step(x, x->threads[i]);
	if (x->count == 0 || x->threads[0]->steps == 0)
		return;
	end_trajectory(x, x->threads[0], 0);
	ar_export_write(x, 0, "\n");
}

const struct ar_export_format ar_export_atif = { "atif", take_fact, end, drop, NULL, false, (size_t)1 << 20 };
