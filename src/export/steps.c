/* See steps.h. */
#include "steps.h"
#include "mem.h"

#include <string.h>

#define NOTES_MAX 500 /* of one step or call */
#define VALUE_MAX 4096 /* bytes of one member of a note */

struct open {
	struct ar_export_step *step; /* that is not written yet; NULL: none */
	struct ar_export_step *inputs; /* that wait for their turn, oldest first */
	struct ar_export_notes early; /* notes of the next step */
};

/* ---- memory ---- */

static void free_notes(struct ar_export_notes *notes)
{
	while (notes->first) {
		struct ar_export_note *n = notes->first;

		notes->first = n->next;
		for (size_t i = 0; i < AR_EXPORT_MEMBERS; i++)
			ar_free(n->members[i].value);
		ar_free(n->type);
		ar_free(n->id);
		ar_free(n->time);
		ar_free(n->text);
		ar_free(n);
	}
	*notes = (struct ar_export_notes){ 0 };
}

static void free_call(struct ar_export_call *c)
{
	free_notes(&c->notes);
	ar_buf_fini(&c->args);
	ar_buf_fini(&c->result);
	ar_free(c->id);
	ar_free(c->name);
	ar_free(c->child);
	ar_free(c->status);
	ar_free(c->category);
	ar_free(c->event);
	ar_free(c->time);
	ar_free(c->command);
	ar_free(c->profile);
	ar_free(c->exit);
	ar_free(c);
}

static void free_step(struct ar_export_step *s)
{
	while (s->calls) {
		struct ar_export_call *c = s->calls;

		s->calls = c->next;
		free_call(c);
	}
	free_notes(&s->notes);
	ar_buf_fini(&s->text);
	ar_buf_fini(&s->reasoning);
	ar_free(s->turn);
	ar_free(s->id);
	ar_free(s->time);
	ar_free(s->from);
	ar_free(s->options);
	ar_free(s->category);
	ar_free(s);
}

void ar_export_steps_drop(struct ar_export_thread *t)
{
	struct open *o = t->open;

	if (!o)
		return;
	while (o->inputs) {
		struct ar_export_step *s = o->inputs;

		o->inputs = s->next;
		free_step(s);
	}
	if (o->step)
		free_step(o->step);
	free_notes(&o->early);
	ar_free(o);
	t->open = NULL;
}

static struct open *open_of(struct ar_export_thread *t)
{
	if (!t->open)
		t->open = ar_new0(sizeof(struct open));
	return t->open;
}

/* ---- notes ---- */

static char *value_of(struct ar_json v)
{
	struct ar_buf text = { 0 };
	struct ar_arena a = { 0 };
	struct ar_str s;
	char *copy;

	if (ar_json_type(v) == AR_JSON_NONE || ar_json_type(v) == AR_JSON_NULL)
		return NULL;
	if (!ar_json_str(v, &s)) {
		ar_json_print(v, &text);
		s = ar_buf_str(&text);
	}
	copy = ar_str_dup(ar_arena_excerpt(&a, s, VALUE_MAX));
	ar_arena_fini(&a);
	ar_buf_fini(&text);
	return copy;
}

/* A difference, the whole of a question, or an answer in words. An answer that is a decision alone is among
 * the members already. */
static char *text_of(const struct ar_export_fact *f)
{
	struct ar_buf text = { 0 };
	char *copy;

	if (!f->count || ar_str_is(f->type, "model.failed") ||
	    (ar_str_is(f->type, "action.resolved") &&
	     ar_str_is(ar_export_str(f->payload, "decisionSource"), "timeout")))
		return NULL;
	ar_export_add_text(&text, &f->parts[0]);
	copy = ar_str_dup(ar_buf_str(&text));
	ar_buf_fini(&text);
	return copy;
}

static void add_note(struct ar_export_notes *notes, const struct ar_export_fact *f)
{
	const char *const *members = ar_export_members(f->type);
	struct ar_export_note *n;
	size_t at = 0;

	if (notes->count >= NOTES_MAX) {
		notes->left_out++;
		return;
	}
	n = ar_new0(sizeof(*n));
	n->type = ar_str_dup(f->type);
	n->id = ar_str_dup(f->id);
	n->time = ar_str_dup(f->time);
	n->text = text_of(f);
	for (size_t i = 0; members && i < AR_EXPORT_MEMBERS && members[i]; i++) {
		char *value = value_of(ar_json_get(f->payload, members[i]));

		if (value) {
			n->members[at].name = members[i];
			n->members[at++].value = value;
		}
	}
	if (!notes->first)
		notes->end = &notes->first;
	*notes->end = n;
	notes->end = &n->next;
	notes->count++;
}

/* ---- steps ---- */

static struct ar_export_step *new_step(const struct ar_export_fact *f, enum ar_export_step_kind kind,
				       struct ar_str from)
{
	struct ar_export_step *s = ar_new0(sizeof(*s));

	s->kind = kind;
	s->turn = ar_str_dup(ar_export_str(f->doc, "turnId"));
	s->id = ar_str_dup(f->id);
	s->time = ar_str_dup(f->time);
	s->from = ar_str_dup(from);
	s->last_call = &s->calls;
	s->duration = -1;
	return s;
}

/* Notes that came while there was no step are of this one. */
static void take_early(struct open *o, struct ar_export_step *s)
{
	s->notes = o->early;
	o->early = (struct ar_export_notes){ 0 };
}

static void write_step(struct ar_export *x, struct ar_export_thread *t, struct ar_export_step *s,
		       struct ar_export_steps *steps)
{
	steps->write(x, t, s);
	t->steps++;
	free_step(s);
}

static void end_step(struct ar_export *x, struct ar_export_thread *t, struct ar_export_steps *steps)
{
	struct open *o = open_of(t);
	struct ar_export_step *s = o->step;

	o->step = NULL;
	if (s)
		write_step(x, t, s, steps);
}

static struct ar_export_call *call_of(struct ar_export_step *s, struct ar_str id)
{
	struct ar_export_call *c = s && !ar_str_absent(id) ? s->calls : NULL;

	while (c && !ar_str_eq(ar_str_from(c->id), id))
		c = c->next;
	return c;
}

static struct ar_export_call *add_call(struct ar_export_step *s, struct ar_str id, struct ar_str name,
				       struct ar_export_part args)
{
	struct ar_export_call *c = ar_new0(sizeof(*c));

	c->id = ar_str_dup(ar_str_absent(id) ? AR_STR("") : id);
	c->name = ar_str_dup(ar_str_absent(name) ? AR_STR("") : name);
	c->duration = -1;
	ar_export_add_text(&c->args, &args);
	*s->last_call = c;
	s->last_call = &c->next;
	return c;
}

/* ---- facts ---- */

static void on_submitted(struct ar_export *x, const struct ar_export_fact *f,
			 struct ar_export_steps *steps AR_UNUSED)
{
	struct ar_str source = ar_export_str(f->payload, "source");
	struct ar_export_part part = ar_export_part(f, ar_export_str(f->payload, "inputRef"));
	struct ar_export_step *s = new_step(f, AR_STEP_INPUT, source), **end = &open_of(f->thread)->inputs;

	if (ar_str_is(source, "system"))
		ar_buf_adds(&s->text, ar_export_str(f->payload, "inputPreview"));
	else
		ar_export_add_input(x, &s->text, &part);
	if (ar_json_type(ar_json_get(f->payload, "options")) == AR_JSON_OBJECT) {
		struct ar_buf options = { 0 };

		ar_json_print(ar_json_get(f->payload, "options"), &options);
		ar_export_keep(&s->options, ar_buf_str(&options));
		ar_buf_fini(&options);
	}
	while (*end)
		end = &(*end)->next;
	*end = s;
}

static void on_started(struct ar_export *x, const struct ar_export_fact *f, struct ar_export_steps *steps)
{
	struct open *o = open_of(f->thread);

	end_step(x, f->thread, steps);
	steps->counts.turns++;
	for (struct ar_export_step **at = &o->inputs; *at; at = &(*at)->next) {
		struct ar_export_step *s = *at;

		if (!ar_str_eq(ar_str_from(s->turn), ar_export_str(f->doc, "turnId")))
			continue;
		*at = s->next;
		take_early(o, s);
		write_step(x, f->thread, s, steps);
		return;
	}
}

static void on_answer(struct ar_export *x, const struct ar_export_fact *f, struct ar_export_steps *steps)
{
	struct open *o = open_of(f->thread);
	struct ar_json usage = ar_json_get(f->payload, "usage");
	struct ar_export_part text = ar_export_part(f, ar_export_str(f->payload, "outputRef"));
	struct ar_export_part thought = ar_export_part(f, ar_export_str(f->payload, "reasoningRef"));
	struct ar_export_step *s;

	if (f->thread->is_aside)
		return;
	end_step(x, f->thread, steps);
	s = o->step = new_step(f, AR_STEP_ANSWER, ar_export_str(f->payload, "model"));
	take_early(o, s);
	ar_export_add_text(&s->text, &text);
	ar_export_add_text(&s->reasoning, &thought);
	s->input = ar_export_int(usage, "inputTokens");
	s->output = ar_export_int(usage, "outputTokens");
	s->cached = ar_export_int(usage, "cachedTokens");
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(f->payload, "toolCalls"));
	     ar_json_next(&it);) {
		add_call(s, ar_export_str(it.value, "toolCallId"), ar_export_str(it.value, "name"),
			 ar_export_part(f, ar_export_str(it.value, "ref")));
		steps->counts.calls++;
	}
	if (ar_str_is(f->type, "model.failed"))
		add_note(&s->notes, f);
}

static void on_tool_started(struct ar_export *x AR_UNUSED, const struct ar_export_fact *f,
			    struct ar_export_steps *steps)
{
	struct ar_export_step *s = open_of(f->thread)->step;
	struct ar_str id = ar_export_str(f->doc, "toolCallId");
	struct ar_export_call *c = call_of(s, id);

	if (!s)
		return;
	if (!c) {
		c = add_call(s, id, ar_export_str(f->payload, "toolName"),
			     ar_export_part(f, ar_export_str(f->payload, "inputRef")));
		steps->counts.calls++;
	}
	ar_export_keep(&c->profile, ar_export_str(f->payload, "sandboxProfile"));
}

static void on_tool_end(struct ar_export *x AR_UNUSED, const struct ar_export_fact *f,
			struct ar_export_steps *steps)
{
	struct ar_export_call *c = call_of(open_of(f->thread)->step, ar_export_str(f->doc, "toolCallId"));
	int64_t duration;

	steps->counts.failed_calls += ar_str_is(f->type, "tool.failed");
	if (!c)
		return;
	ar_export_keep(&c->status, ar_export_str(f->payload, "status"));
	ar_export_keep(&c->category, ar_export_str(f->payload, "errorCategory"));
	ar_export_keep(&c->event, f->id);
	ar_export_keep(&c->time, f->time);
	if (ar_json_i64(ar_json_get(f->payload, "durationMs"), &duration))
		c->duration = duration;
	if (f->count)
		ar_export_add_text(&c->result, &f->parts[0]);
	else
		ar_buf_adds(&c->result, ar_export_str(f->payload, "preview"));
}

static void keep_of_note(struct ar_export_call *c, const struct ar_export_fact *f)
{
	if (ar_str_is(f->type, "subagent.spawned"))
		ar_export_keep(&c->child, ar_export_str(f->payload, "childThreadId"));
	if (ar_str_is(f->type, "process.started"))
		ar_export_keep(&c->command, ar_export_str(f->payload, "safeCommand"));
	if (ar_str_is(f->type, "process.completed")) {
		ar_free(c->exit);
		c->exit = value_of(ar_json_get(f->payload, "exitCode"));
	}
}

/* Stands with the call that it is about, else with the step. */
static void on_note(struct ar_export *x AR_UNUSED, const struct ar_export_fact *f,
		    struct ar_export_steps *steps AR_UNUSED)
{
	struct open *o = open_of(f->thread);
	struct ar_str id = ar_export_str(f->doc, "toolCallId");
	struct ar_export_call *c;

	if (ar_str_absent(id))
		id = ar_export_str(f->payload, "toolCallId");
	c = call_of(o->step, id);
	if (c)
		keep_of_note(c, f);
	add_note(c ? &c->notes : o->step ? &o->step->notes : &o->early, f);
}

static void on_summary(struct ar_export *x, const struct ar_export_fact *f, struct ar_export_steps *steps)
{
	struct ar_export_part part = ar_export_part(f, ar_export_str(f->payload, "summaryRef"));
	struct ar_export_step *s;

	end_step(x, f->thread, steps);
	s = new_step(f, AR_STEP_SUMMARY, ar_export_str(f->payload, "trigger"));
	take_early(open_of(f->thread), s);
	ar_export_add_text(&s->text, &part);
	s->input = ar_export_int(f->payload, "tokensBefore");
	s->output = ar_export_int(f->payload, "tokensAfter");
	write_step(x, f->thread, s, steps);
}

static void on_turn_end(struct ar_export *x, const struct ar_export_fact *f, struct ar_export_steps *steps)
{
	struct ar_json usage = ar_json_get(f->payload, "usage");
	struct ar_export_step *s;
	int64_t duration;

	end_step(x, f->thread, steps);
	s = new_step(f, AR_STEP_END, ar_export_str(f->payload, "status"));
	take_early(open_of(f->thread), s);
	ar_buf_adds(&s->text, ar_export_str(ar_json_get(f->payload, "error"), "message"));
	ar_export_keep(&s->category, ar_export_str(ar_json_get(f->payload, "error"), "category"));
	s->input = ar_export_int(usage, "inputTokens");
	s->output = ar_export_int(usage, "outputTokens");
	s->cached = ar_export_int(usage, "cachedTokens");
	if (ar_json_i64(ar_json_get(f->payload, "durationMs"), &duration))
		s->duration = duration;
	steps->counts.failed_turns += ar_str_is(f->type, "turn.failed");
	write_step(x, f->thread, s, steps);
}

static const struct {
	const char *type;
	void (*run)(struct ar_export *x, const struct ar_export_fact *f, struct ar_export_steps *steps);
} rows[] = {
	{ "turn.submitted", on_submitted },  { "turn.started", on_started },
	{ "turn.completed", on_turn_end },   { "turn.failed", on_turn_end },
	{ "model.completed", on_answer },    { "model.failed", on_answer },
	{ "tool.started", on_tool_started }, { "tool.result", on_tool_end },
	{ "tool.failed", on_tool_end },	     { "context.compaction.completed", on_summary },
};

static void count_fact(struct ar_export_counts *c, struct ar_str type)
{
	const struct {
		const char *type;
		int64_t *count;
	} counted[] = {
		{ "action.required", &c->questions },  { "process.started", &c->processes },
		{ "sandbox.applied", &c->boundaries }, { "sandbox.violation", &c->violations },
		{ "artifact.changed", &c->files },     { "context.compaction.completed", &c->summaries },
		{ "limit.changed", &c->limits },       { "rate_limit.hit", &c->limits },
		{ "quota.low", &c->limits },	       { "quota.blocked", &c->limits },
		{ "subagent.spawned", &c->agents },    { "checkpoint.created", &c->checkpoints },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(counted); i++)
		*counted[i].count += ar_str_is(type, counted[i].type);
}

void ar_export_steps_fact(struct ar_export *x, const struct ar_export_fact *f, struct ar_export_steps *steps)
{
	count_fact(&steps->counts, f->type);
	if (!f->thread)
		return;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		if (ar_str_is(f->type, rows[i].type)) {
			rows[i].run(x, f, steps);
			return;
		}
	}
	if (ar_export_members(f->type))
		on_note(x, f, steps);
}

void ar_export_steps_end(struct ar_export *x, struct ar_export_steps *steps)
{
	for (size_t i = 0; i < x->count; i++)
		end_step(x, x->threads[i], steps);
}
