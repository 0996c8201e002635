/* The spans of a session as lines that collectors read from a file, each a request of OTLP/JSON. A span is
 * written with the fact that ends it. Ids, names, times and attributes are those with which telemetry sends
 * it while the session works (core/telemetry). */
#include "context.h"
#include "catalog.h"
#include "mem.h"
#include "otlp_open.h"
#include "otlp_row.h"

#include <stdio.h>

#define TEXT_MAX 1024 /* bytes of one value; more is cut */
#define NANO 1000 /* of a microsecond */
#define FLAGS 0x101 /* sampled; the parent is of this process */
#define FLAGS_LINK 0x300 /* the parent is of another */
#define LINE_SPANS 32 /* of one request: readers limit the length of a line */

struct otlp {
	struct ar_otlp_known known;
	struct ar_buf out; /* the span at hand */
	int64_t spans; /* that were written */
};

/* A span that is being written. */
struct draft {
	const struct ar_otlp_row *row;
	const struct ar_export_fact *f;
	const struct ar_otlp_open *open; /* NULL: its beginning is not known */
	struct ar_str trace, own; /* ids of what its trace and itself are of */
	ar_usec start, end;
	bool is_failed;
	struct ar_jw *w;
};

/* ---- attributes ---- */

static void open_attribute(struct ar_jw *w, const char *name)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "key", ar_str_from(name));
	ar_jw_key(w, "value");
	ar_jw_open(w);
}

static void close_attribute(struct ar_jw *w)
{
	ar_jw_close(w);
	ar_jw_close(w);
}

static void add_id(struct ar_jw *w, const char *name, struct ar_str text)
{
	if (ar_str_empty(text))
		return;
	open_attribute(w, name);
	ar_jw_mstr(w, "stringValue", text);
	close_attribute(w);
}

static void add_text(struct ar_jw *w, enum ar_attribute name, struct ar_str text)
{
	add_id(w, ar_attribute_names[name], ar_str_utf8_prefix(text, TEXT_MAX));
}

/* 64-bit numbers are texts in the JSON of protobuf. */
static void add_number(struct ar_jw *w, enum ar_attribute name, int64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%lld", (long long)v);
	open_attribute(w, ar_attribute_names[name]);
	ar_jw_mstr(w, "intValue", ar_str_from(text));
	close_attribute(w);
}

static void add_time(struct ar_jw *w, const char *member, ar_usec t)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)t * NANO);
	ar_jw_mstr(w, member, ar_str_from(text));
}

static void add_seconds(struct ar_jw *w, enum ar_attribute name, int64_t ms)
{
	open_attribute(w, ar_attribute_names[name]);
	ar_jw_key(w, "doubleValue");
	ar_jw_num(w, (double)ms / 1000);
	close_attribute(w);
}

static void add_list(struct ar_jw *w, enum ar_attribute name, struct ar_str text)
{
	open_attribute(w, ar_attribute_names[name]);
	ar_jw_key(w, "arrayValue");
	ar_jw_open(w);
	ar_jw_key(w, "values");
	ar_jw_open_array(w);
	ar_jw_open(w);
	ar_jw_mstr(w, "stringValue", text);
	ar_jw_close(w);
	ar_jw_close_array(w);
	ar_jw_close(w);
	close_attribute(w);
}

static void add_member(const struct draft *d, const char *member, enum ar_attribute name,
		       enum ar_otlp_form form)
{
	struct ar_json v = ar_json_get(d->f->payload, member);
	struct ar_str text = AR_STR_NONE;
	int64_t number;

	ar_json_str(v, &text);
	if (form == AR_OTLP_TEXT)
		add_text(d->w, name, text);
	else if (form == AR_OTLP_LIST)
		add_list(d->w, name, text);
	else if (ar_json_i64(v, &number) && form == AR_OTLP_NUMBER)
		add_number(d->w, name, number);
	else if (ar_json_i64(v, &number))
		add_seconds(d->w, name, number);
}

static void add_ids(struct ar_export *x, const struct draft *d)
{
	const struct otlp *o = x->own;
	struct ar_str thread = ar_export_str(d->f->doc, "threadId");

	add_text(d->w, AR_ATTR_SESSION, ar_export_str(d->f->doc, "sessionId"));
	add_text(d->w, AR_ATTR_RUNTIME, ar_str_from(x->runtime ? x->runtime : ""));
	add_text(d->w, AR_ATTR_TENANT, ar_str_from(o->known.tenant ? o->known.tenant : "local"));
	add_text(d->w, AR_ATTR_EVENT, d->f->id);
	add_number(d->w, AR_ATTR_SEQUENCE, ar_export_int(d->f->doc, "sequence"));
	add_text(d->w, AR_ATTR_CONVERSATION, thread);
	for (int i = 0; i < AR_SCOPE_COUNT; i++) {
		struct ar_str id = ar_export_str(d->f->doc, ar_scope_names[i]);

		if (i == AR_SCOPE_SUBAGENT && ar_str_absent(id))
			id = ar_otlp_child(&o->known, thread);
		if (ar_scope_attributes[i])
			add_id(d->w, ar_scope_attributes[i], id);
	}
}

static void add_usage(struct ar_jw *w, int64_t input, int64_t output, int64_t cached)
{
	add_number(w, AR_ATTR_INPUT_TOKENS, input);
	add_number(w, AR_ATTR_OUTPUT_TOKENS, output);
	add_number(w, AR_ATTR_CACHED_TOKENS, cached);
}

static void add_route(struct ar_jw *w, const struct ar_otlp_open *turn)
{
	const struct {
		enum ar_attribute name;
		const char *text;
	} texts[] = { { AR_ATTR_PROVIDER, turn->provider },
		      { AR_ATTR_REQUEST_MODEL, turn->model },
		      { AR_ATTR_ROUTING_MODE, turn->mode },
		      { AR_ATTR_ROUTING_SOURCE, turn->source } };

	for (size_t i = 0; i < AR_ARRAY_LEN(texts); i++)
		add_text(w, texts[i].name, ar_str_from(texts[i].text ? texts[i].text : ""));
	add_number(w, AR_ATTR_ROUTING_FALLBACKS, turn->fallbacks);
}

static void add_turn(const struct draft *d)
{
	const struct ar_otlp_open *turn = d->open;

	add_text(d->w, AR_ATTR_AGENT, AR_STR("agentd"));
	if (!turn)
		return;
	if (!turn->started || turn->started > turn->submitted)
		add_text(d->w, AR_ATTR_QUEUED_TURN, d->own);
	if (turn->started)
		add_number(d->w, AR_ATTR_QUEUE_WAIT, (turn->started - turn->submitted) / 1000);
	add_number(d->w, AR_ATTR_REQUESTS, turn->requests);
	add_usage(d->w, turn->input, turn->output, turn->cached);
	if (turn->requests > 0 && turn->unpriced == 0)
		add_number(d->w, AR_ATTR_COST, turn->cost);
	if (turn->is_routed)
		add_route(d->w, turn);
}

static void add_model_usage(const struct draft *d)
{
	static const struct {
		const char *member;
		enum ar_attribute name;
	} counts[] = { { "inputTokens", AR_ATTR_INPUT_TOKENS },
		       { "outputTokens", AR_ATTR_OUTPUT_TOKENS },
		       { "cachedTokens", AR_ATTR_CACHED_TOKENS } };
	struct ar_json usage = ar_json_get(d->f->payload, "usage");
	int64_t count;

	for (size_t i = 0; i < AR_ARRAY_LEN(counts); i++) {
		if (ar_json_i64(ar_json_get(usage, counts[i].member), &count))
			add_number(d->w, counts[i].name, count);
	}
}

/* A name that is no tool's is a text of the model's own: it may be anything, and stays here. */
static struct ar_str subject_of(const struct draft *d)
{
	if (d->row->span == AR_SPAN_INTERACTION)
		return AR_STR("agentd");
	if (!d->row->subject || ar_str_is(ar_export_str(d->f->payload, "errorCategory"), "tool_unavailable"))
		return AR_STR_NONE;
	return ar_export_str(d->f->payload, d->row->subject);
}

static bool has_operation(enum ar_span_type type)
{
	return type == AR_SPAN_INTERACTION || type == AR_SPAN_TASK_RUN || type == AR_SPAN_MODEL_REQUEST ||
	       type == AR_SPAN_TOOL_CALL;
}

static void add_own(const struct draft *d)
{
	const struct ar_span_desc *desc = &ar_span_descs[d->row->span];

	add_text(d->w, AR_ATTR_SPAN_KIND, ar_str_from(desc->word));
	if (has_operation(d->row->span))
		add_text(d->w, AR_ATTR_OPERATION, ar_str_from(desc->name));
	if (d->row->outcome)
		add_text(d->w, AR_ATTR_OUTCOME, ar_str_from(d->row->outcome));
	for (size_t i = 0; i < AR_OTLP_MEMBERS && d->row->members[i].name; i++)
		add_member(d, d->row->members[i].name, d->row->members[i].attribute, d->row->members[i].form);
	if (d->row->span == AR_SPAN_INTERACTION)
		add_turn(d);
	if (ar_str_is(d->f->type, "model.completed"))
		add_model_usage(d);
	if (d->row->span == AR_SPAN_TOOL_CALL)
		add_text(d->w, AR_ATTR_TOOL, subject_of(d));
	if (d->row->span == AR_SPAN_TOOL_CALL || (d->row->span == AR_SPAN_TASK_RUN && d->open))
		add_number(d->w, AR_ATTR_ATTEMPT, d->open ? d->open->attempt : 1);
}

/* ---- a span ---- */

static bool has_failed(const struct ar_otlp_row *row, struct ar_json payload)
{
	struct ar_str verdict = row->verdict ? ar_export_str(payload, row->verdict) : AR_STR_NONE;

	if (row->span == AR_SPAN_TOOL_CALL)
		return ar_str_is(verdict, "failed") || ar_str_is(verdict, "timed_out");
	return row->category && !ar_str_is(verdict, "cancelled");
}

static void add_failure(const struct draft *d)
{
	bool is_inside = d->is_failed && ar_str_is(ar_str_from(d->row->category), "category");
	struct ar_json from = is_inside ? ar_json_get(d->f->payload, "error") : d->f->payload;
	struct ar_str category = d->is_failed ? ar_export_str(from, d->row->category) : AR_STR_NONE;

	if (d->is_failed)
		add_text(d->w, AR_ATTR_ERROR_TYPE, ar_str_empty(category) ? AR_STR("_OTHER") : category);
}

static ar_usec start_of(const struct draft *d)
{
	ar_usec start = d->open ? d->open->started : 0;
	int64_t ms = d->row->ms ? ar_export_int(d->f->payload, d->row->ms) : 0;

	if (!start && d->open)
		start = d->open->submitted;
	if (!start && ms > 0 && ms < d->end / 1000)
		start = d->end - ms * 1000;
	return start && start < d->end ? start : d->end;
}

/* The id of what it is a part of; absent: it is the root. */
static struct ar_str parent_of(const struct draft *d)
{
	static const char *const order[] = { "toolCallId", "turnId", "runId" };

	for (size_t i = 0; d->row->span != AR_SPAN_INTERACTION && i < AR_ARRAY_LEN(order); i++) {
		struct ar_str id = ar_export_str(d->f->doc, order[i]);

		if (!ar_str_absent(id) && !ar_str_eq(id, d->own))
			return id;
	}
	return AR_STR_NONE;
}

static void add_link(const struct draft *d)
{
	const char *parent = d->row->span == AR_SPAN_INTERACTION && d->open ? d->open->parent : NULL;
	struct ar_trace_context c;

	if (!parent || !ar_traceparent_parse(ar_str_from(parent), &c))
		return;
	ar_jw_key(d->w, "links");
	ar_jw_open_array(d->w);
	ar_jw_open(d->w);
	ar_jw_mstr(d->w, "traceId", (struct ar_str){ parent + 3, 32 });
	ar_jw_mstr(d->w, "spanId", (struct ar_str){ parent + 36, 16 });
	ar_jw_mint(d->w, "flags", c.flags | FLAGS_LINK);
	ar_jw_close(d->w);
	ar_jw_close_array(d->w);
}

static void add_name(const struct draft *d, struct ar_arena *a)
{
	const struct ar_span_desc *desc = &ar_span_descs[d->row->span];
	struct ar_str subject = subject_of(d);

	ar_jw_mstr(d->w, "name",
		   ar_str_empty(subject) ? ar_str_from(desc->name)
					 : ar_arena_fmt(a, "%s %.*s", desc->name, AR_STR_ARG(subject)));
	ar_jw_mint(d->w, "kind", desc->kind);
}

static void write_span(struct ar_export *x, const struct draft *d, struct ar_arena *a)
{
	struct ar_str session = ar_export_str(d->f->doc, "sessionId"), parent = parent_of(d);

	ar_jw_open(d->w);
	ar_jw_mstr(d->w, "traceId", ar_trace_text(a, session, d->trace));
	ar_jw_mstr(d->w, "spanId", ar_span_text(a, session, d->own));
	ar_jw_mstr(d->w, "parentSpanId", ar_span_text(a, session, parent));
	add_name(d, a);
	add_time(d->w, "startTimeUnixNano", d->start);
	add_time(d->w, "endTimeUnixNano", d->end);
	ar_jw_key(d->w, "attributes");
	ar_jw_open_array(d->w);
	add_ids(x, d);
	add_own(d);
	add_failure(d);
	ar_jw_close_array(d->w);
	add_link(d);
	if (d->is_failed)
		ar_jw_mraw(d->w, "status", AR_STR("{\"code\":2}"));
	ar_jw_mint(d->w, "flags", FLAGS);
	ar_jw_close(d->w);
}

/* ---- lines ---- */

static void begin_line(struct ar_export *x, struct ar_jw *w)
{
	ar_buf_addz(w->out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
	w->comma = false;
	add_text(w, AR_ATTR_SERVICE_NAME, AR_STR("agentd"));
	add_text(w, AR_ATTR_SERVICE_INSTANCE, ar_str_from(x->runtime ? x->runtime : ""));
	add_text(w, AR_ATTR_SDK_NAME, AR_STR("agentruntime"));
	add_text(w, AR_ATTR_SDK_LANGUAGE, AR_STR("c"));
	add_text(w, AR_ATTR_SDK_VERSION, AR_STR(AR_VERSION));
	ar_buf_addz(w->out, "]},\"scopeSpans\":[{\"scope\":{\"name\":\"agentd\",\"version\":\"" AR_VERSION
			    "\"},\"spans\":[");
	w->comma = false;
}

static void end_line(struct ar_buf *out)
{
	ar_buf_addz(out, "],\"schemaUrl\":\"" AR_TELEMETRY_SCHEMA_URL
			 "\"}],\"schemaUrl\":\"" AR_TELEMETRY_SCHEMA_URL "\"}]}\n");
}

static void end(struct ar_export *x)
{
	struct otlp *o = x->own;

	if (!o || o->spans == 0)
		return;
	end_line(&o->out);
	ar_export_write_buf(x, 0, &o->out);
}

/* ---- the walk ---- */

static struct ar_str own_of(const struct ar_otlp_row *row, const struct ar_export_fact *f)
{
	if (row->span == AR_SPAN_HOOK_RUN)
		return ar_export_str(f->payload, "hookRunRef");
	return row->id ? ar_export_str(f->doc, row->id) : f->id;
}

static struct ar_str trace_of(struct ar_json fact)
{
	static const char *const order[] = { "turnId", "runId", "evidenceId" };
	struct ar_str id = AR_STR_NONE;

	for (size_t i = 0; i < AR_ARRAY_LEN(order) && ar_str_absent(id); i++)
		id = ar_export_str(fact, order[i]);
	return id;
}

static void add_span(struct ar_export *x, struct draft *d)
{
	struct otlp *o = x->own;
	struct ar_jw w = ar_jw(&o->out);
	struct ar_arena a = { 0 };

	d->w = &w;
	d->start = start_of(d);
	d->is_failed = has_failed(d->row, d->f->payload);
	w.comma = true;
	if (o->spans > 0 && o->spans % LINE_SPANS == 0)
		end_line(&o->out);
	if (o->spans++ % LINE_SPANS == 0)
		begin_line(x, &w);
	write_span(x, d, &a);
	ar_export_write_buf(x, 0, &o->out);
	ar_arena_fini(&a);
}

static void fact(struct ar_export *x, const struct ar_export_fact *f)
{
	struct draft d = { .f = f, .row = ar_otlp_row_of(f) };
	struct otlp *o = x->own;

	if (!o)
		o = x->own = ar_new0(sizeof(*o));
	ar_otlp_learn(x, &o->known, f);
	if (!d.row)
		return;
	d.trace = trace_of(f->doc);
	d.own = own_of(d.row, f);
	if (ar_str_absent(d.trace) || ar_str_absent(d.own) || !ar_time_parse(f->time, &d.end))
		return;
	d.open = ar_otlp_find(&o->known, d.row->span, d.own);
	add_span(x, &d);
	ar_otlp_forget(&o->known, d.row->span, d.own);
}

static void drop(struct ar_export_thread *t AR_UNUSED)
{
}

static void fini(struct ar_export *x)
{
	struct otlp *o = x->own;

	if (!o)
		return;
	ar_otlp_known_fini(&o->known);
	ar_buf_fini(&o->out);
}

const struct ar_export_format ar_export_otlp = {
	.name = "otlp", .fact = fact, .end = end, .drop = drop, .fini = fini
};
