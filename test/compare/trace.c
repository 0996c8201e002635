/* See trace.h. */
#include "trace.h"
#include "describe.h"
#include "neutral.h"
#include "process/record.h"

#include <string.h>

#define SHOWN_MAX 4096 /* bytes of a content */

static void add_text(struct ar_buf *out, const char *name, struct ar_str text)
{
	if (!ar_str_absent(text))
		ar_buf_addf(out, " %s=%.*s", name, AR_STR_ARG(text));
}

static void add_number(struct ar_buf *out, const char *name, int64_t n)
{
	if (n)
		ar_buf_addf(out, " %s=%lld", name, (long long)n);
}

static void add_hash(struct ar_buf *out, const struct ar_hash *hash)
{
	const unsigned char *p = (const unsigned char *)hash;

	for (size_t i = 0; i < sizeof(*hash); i++)
		ar_buf_addf(out, "%02x", p[i]);
}

static void add_texts(struct ar_buf *out, const char *name, struct ar_texts texts)
{
	struct ar_jw w = ar_jw(out);

	if (!texts.at)
		return;
	ar_buf_addf(out, " %s=", name);
	ar_jw_texts(&w, texts);
}

static void add_calls(struct ar_buf *out, const struct ar_shape_requested_call_list *calls)
{
	struct ar_jw w = ar_jw(out);

	if (!calls->at)
		return;
	ar_buf_addf(out, " uses=");
	ar_list_encode(&ar_shape_requested_call_desc, calls, &w);
}

static void add_ending(struct ar_buf *out, const struct ar_effect *e)
{
	static const struct ar_shape_process_ending unknown;
	const struct ar_process_record *p = e->kind == AR_EFFECT_TOOL_CALL ? e->tool_call.process : NULL;
	const struct ar_shape_process_ending *ending;
	struct ar_jw w = ar_jw(out);

	if (!p || ar_process_is_running(p))
		return;
	ending = p->end ? p->end : &unknown;
	ar_buf_addf(out, "ending ");
	ar_struct_encode(&ar_shape_process_ending_desc, ending, ending->extra_, &w);
	ar_buf_addc(out, '\n');
}

static void add_message(struct ar_buf *out, const struct ar_context_entry *m)
{
	ar_buf_addf(out, "\n  message %lld", (long long)m->role);
	add_text(out, "ref", m->ref);
	add_number(out, "bytes", m->bytes);
	add_text(out, "call", m->tool_call_id);
	add_texts(out, "images", m->images);
	add_calls(out, &m->uses);
	add_text(out, "echo", m->echo);
}

static void add_lists(struct ar_buf *out, const struct ar_neutral_effect *e)
{
	for (size_t i = 0; i < e->message_count; i++)
		add_message(out, &e->messages[i]);
	for (size_t i = 0; i < e->tool_count; i++)
		ar_buf_addf(out, "\n  tool %.*s", AR_STR_ARG(e->tools[i]->name));
	for (size_t i = 0; i < e->part_count; i++) {
		ar_buf_addf(out, "\n  part %d", (int)e->parts[i].form);
		add_text(out, "literal", e->parts[i].literal);
		add_text(out, "ref", e->parts[i].ref);
	}
}

static void add_effect(struct ar_buf *out, const struct ar_neutral_effect *e)
{
	const struct {
		const char *name;
		struct ar_str text;
	} texts[] = {
		{ "thread", e->thread },   { "turn", e->turn },
		{ "step", e->step },	   { "request", e->model_request },
		{ "options", e->options }, { "route", e->route },
		{ "model", e->model },	   { "question", e->question },
		{ "answer", e->answer },   { "content", e->answer_content },
		{ "subject", e->subject }, { "tool", e->tool },
		{ "args", e->args_ref },   { "operation", e->operation },
		{ "process", e->process }, { "handle", e->handle },
		{ "by", e->by },	   { "reason", e->reason },
		{ "signal", e->signal },   { "bytes", e->bytes },
		{ "handler", e->handler },
	};
	const struct {
		const char *name;
		int64_t n;
	} numbers[] = {
		{ "sees", e->can_see },	   { "transcript", e->is_transcript },
		{ "at", e->at },	   { "input", e->input },
		{ "profile", e->profile }, { "grace", e->grace_ms },
		{ "number", e->number },   { "eof", e->is_eof },
	};

	ar_buf_addf(out, "effect %d", e->kind);
	for (size_t i = 0; i < AR_ARRAY_LEN(texts); i++)
		add_text(out, texts[i].name, texts[i].text);
	for (size_t i = 0; i < AR_ARRAY_LEN(numbers); i++)
		add_number(out, numbers[i].name, numbers[i].n);
	add_lists(out, e);
	ar_buf_addc(out, '\n');
}

struct ar_str ar_trace_args(int command, const void *args, struct ar_arena *a)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str json;

	if (!args) /* a test of a command that is not built */
		return AR_STR_NONE;
	ar_struct_encode(&ar_command_describe((enum ar_command)command)->in, args, AR_STR_NONE, &w);
	json = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return json;
}

void *ar_trace_read_args(int command, struct ar_str json, struct ar_arena *a)
{
	const struct ar_struct_desc *d = &ar_command_describe((enum ar_command)command)->in;
	struct ar_json_parser *parser;
	void *args;
	struct ar_json v;

	if (ar_str_absent(json))
		return NULL;
	parser = ar_json_parser_new();
	args = ar_arena_alloc(a, d->size);
	AR_ASSERT(ar_json_parse(parser, json, &v, NULL) == AR_OK &&
		  ar_struct_decode(d, v, a, args, NULL, NULL) == AR_OK);
	ar_json_parser_free(parser);
	return args;
}

/* The store keeps each once. */
static bool is_repeated(const struct ar_decision *d, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (memcmp(&d->contents[i].hash, &d->contents[at].hash, sizeof(struct ar_hash)) == 0)
			return true;
	}
	return false;
}

void ar_trace_decision(enum ar_status rc, const struct ar_error *err, const struct ar_decision *d,
		       struct ar_buf *out)
{
	if (rc != AR_OK) {
		ar_buf_addf(out, "refused %s: %s\n", ar_error_describe(err->code)->name, err->msg);
		return;
	}
	for (size_t i = 0; i < d->event_count; i++) {
		ar_buf_addf(out, "fact ");
		ar_event_encode(&d->events[i], out);
		ar_buf_addc(out, '\n');
	}
	for (size_t i = 0; i < d->content_count; i++) {
		if (is_repeated(d, i))
			continue;
		ar_buf_addf(out, "content %zu ", d->contents[i].bytes.len);
		add_hash(out, &d->contents[i].hash);
		ar_buf_addf(out, " %.*s\n",
			    (int)(d->contents[i].bytes.len < SHOWN_MAX ? d->contents[i].bytes.len
								       : SHOWN_MAX),
			    d->contents[i].bytes.p);
	}
	for (size_t i = 0; i < d->effect_count; i++) {
		struct ar_neutral_effect effect = ar_neutral_from_effect(&d->effects[i]);

		add_effect(out, &effect);
		add_ending(out, &d->effects[i]);
	}
	ar_buf_addf(out, "reply %.*s\n", AR_STR_ARG(d->reply));
}
