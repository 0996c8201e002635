/* A session as plain Markdown. Text of models, tools and people stands in fenced blocks whose fence is
 * longer than any in the text: a reader that renders the file shows it and obeys nothing of it. */
#include "mem.h"
#include "steps.h"
#include "text/harmless.h"

#include <string.h>

struct document {
	struct ar_export_steps steps;
	struct ar_buf out;
};

/* ---- text ---- */

static size_t longest_fence(struct ar_str text)
{
	size_t longest = 2, run = 0;

	for (size_t i = 0; i < text.len; i++) {
		run = text.p[i] == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void add_block(struct ar_buf *out, const char *language, struct ar_str text)
{
	size_t fence = longest_fence(text) + 1;

	if (ar_str_empty(text))
		return;
	ar_buf_addz(out, "\n");
	for (size_t i = 0; i < fence; i++)
		ar_buf_addc(out, '`');
	ar_buf_addf(out, "%s\n", language);
	ar_harmless_add(out, text, AR_HARMLESS_TEXT);
	if (!ar_str_ends(text, AR_STR("\n")))
		ar_buf_addc(out, '\n');
	for (size_t i = 0; i < fence; i++)
		ar_buf_addc(out, '`');
	ar_buf_addz(out, "\n");
}

/* Foreign words inside a line: what Markdown would read has a backslash before it. */
static void add_words(struct ar_buf *out, const char *text)
{
	struct ar_buf plain = { 0 };

	ar_harmless_add(&plain, ar_str_from(text ? text : ""), AR_HARMLESS_LINE);
	for (size_t i = 0; i < plain.len; i++) {
		if (plain.p[i] && strchr("\\`*_{}[]()<>#+-!|~&:", plain.p[i]))
			ar_buf_addc(out, '\\');
		ar_buf_addc(out, plain.p[i]);
	}
	ar_buf_fini(&plain);
}

/* Ids of our own. */
static void add_id(struct ar_buf *out, const char *id)
{
	if (id && !strchr(id, '`'))
		ar_buf_addf(out, " `%s`", id);
}

/* ---- steps ---- */

static void add_notes(struct ar_buf *out, const struct ar_export_notes *notes)
{
	for (const struct ar_export_note *n = notes->first; n; n = n->next) {
		ar_buf_addf(out, "%s- %s", n == notes->first ? "\n" : "", n->type);
		for (size_t i = 0; i < AR_EXPORT_MEMBERS && n->members[i].value; i++) {
			ar_buf_addf(out, "%s %s ", i ? "," : ":", n->members[i].name);
			add_words(out, n->members[i].value);
		}
		add_id(out, n->id);
		ar_buf_addz(out, "\n");
		if (n->text)
			add_block(out, strcmp(n->type, "artifact.changed") == 0 ? "diff" : "text",
				  ar_str_from(n->text));
	}
	if (notes->left_out)
		ar_buf_addf(out, "- %lld more facts are not shown\n", (long long)notes->left_out);
}

static void add_call(struct ar_buf *out, const struct ar_export_call *c)
{
	ar_buf_addz(out, "\n#### Call ");
	add_words(out, c->name);
	ar_buf_addz(out, ": ");
	add_words(out, c->status ? c->status : "no end recorded");
	if (c->category) {
		ar_buf_addz(out, ", ");
		add_words(out, c->category);
	}
	if (c->duration >= 0)
		ar_buf_addf(out, ", %.3f s", (double)c->duration / 1000);
	add_id(out, c->id);
	add_id(out, c->event);
	ar_buf_addz(out, "\n");
	add_block(out, "json", ar_buf_str(&c->args));
	add_block(out, "text", ar_buf_str(&c->result));
	if (c->child) {
		ar_buf_addz(out, "\nBegan the agent of thread");
		add_id(out, c->child);
		ar_buf_addz(out, ".\n");
	}
	add_notes(out, &c->notes);
}

static void begin_step(struct document *d, const struct ar_export_step *s)
{
	static const char *const names[] = { [AR_STEP_INPUT] = "Input",
					     [AR_STEP_ANSWER] = "Answer",
					     [AR_STEP_SUMMARY] = "Summary that replaces what was said before",
					     [AR_STEP_END] = "End" };

	if (s->kind == AR_STEP_INPUT) {
		ar_buf_addf(&d->out, "\n## Turn %lld", (long long)d->steps.counts.turns);
		add_id(&d->out, s->turn);
		ar_buf_addz(&d->out, "\n");
	}
	ar_buf_addf(&d->out, "\n### %s: ", names[s->kind]);
	add_words(&d->out, s->from);
	ar_buf_addf(&d->out, ", %s", s->time ? s->time : "");
	if (s->kind != AR_STEP_INPUT)
		ar_buf_addf(&d->out, ", %lld tokens in, %lld out", (long long)s->input, (long long)s->output);
	add_id(&d->out, s->id);
	ar_buf_addz(&d->out, "\n");
}

static void write_step(struct ar_export *x, struct ar_export_thread *t, const struct ar_export_step *s)
{
	struct document *d = x->own;

	begin_step(d, s);
	if (s->reasoning.len) {
		ar_buf_addz(&d->out, "\nReasoning:\n");
		add_block(&d->out, "text", ar_buf_str(&s->reasoning));
	}
	add_block(&d->out, "text", ar_buf_str(&s->text));
	for (const struct ar_export_call *c = s->calls; c; c = c->next)
		add_call(&d->out, c);
	add_notes(&d->out, &s->notes);
	ar_export_write_buf(x, t->number, &d->out);
}

static void take_fact(struct ar_export *x, const struct ar_export_fact *f)
{
	struct document *d = x->own;

	if (!d) {
		d = x->own = ar_new0(sizeof(*d));
		d->steps.write = write_step;
	}
	ar_export_steps_fact(x, f, &d->steps);
}

/* ---- the document ---- */

static void begin_document(struct ar_export *x, struct ar_buf *out, const struct ar_export_counts *c)
{
	const struct ar_export_sums *s = &x->sums;

	ar_buf_addz(out, "# ");
	add_words(out, x->title && *x->title ? x->title : x->session);
	ar_buf_addf(out, "\n\n- session `%s`, runtime `%s`\n- %s to %s, %lld facts\n", x->session, x->runtime,
		    x->first, x->last, (long long)x->facts);
	ar_buf_addf(out, "- %lld turns, %lld failed; %lld calls, %lld without a result; %lld questions\n",
		    (long long)c->turns, (long long)c->failed_turns, (long long)c->calls,
		    (long long)c->failed_calls, (long long)c->questions);
	ar_buf_addf(out, "- %lld tokens in (%lld cached), %lld out; cost ", (long long)s->input,
		    (long long)s->cached, (long long)s->output);
	if (s->unpriced || !s->calls)
		ar_buf_addz(out, s->calls ? "unknown\n" : "none\n");
	else
		ar_buf_addf(out, "%.6f %s\n", s->cost, s->currency);
}

static void end(struct ar_export *x)
{
	struct document *d = x->own;

	if (!d)
		return;
	ar_export_steps_end(x, &d->steps);
	begin_document(x, &d->out, &d->steps.counts);
	for (size_t i = 0; i < x->count; i++) {
		const struct ar_export_thread *t = x->threads[i];

		if (!t->steps)
			continue;
		if (t->number > 1) {
			ar_buf_addf(&d->out, "\n# Thread %zu", t->number);
			add_id(&d->out, t->id);
			ar_buf_addz(&d->out, "\n");
		}
		ar_export_write_buf(x, 0, &d->out);
		x->sink.copy(x->sink.arg, t->number);
	}
	ar_export_write_buf(x, 0, &d->out);
}

static void drop_document(struct ar_export *x)
{
	struct document *d = x->own;

	if (d)
		ar_buf_fini(&d->out);
}

const struct ar_export_format ar_export_markdown = { "markdown",	   take_fact,	  end,
						     ar_export_steps_drop, drop_document, true,
						     (size_t)1 << 20 };
