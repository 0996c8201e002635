/* A page that a person reads and prints: one file without scripts, pictures or anything from elsewhere. Text
 * of models, tools and people is shown, never obeyed: markup is escaped, controls and unseen characters are
 * written out. It repeats facts with the ids of their events and judges nothing.
 *
 * Each thread is written to its own stream; the head, whose sums are known last, comes first in the page. */
#include "base64.h"
#include "hash.h"
#include "html_style.h"
#include "mem.h"
#include "steps.h"
#include "text/harmless.h"

#include <string.h>

#define OPEN_MAX 600 /* bytes of a result that need not be unfolded */
#define FOLDED " " /* before a title: what it names is shown elsewhere, too */

struct page {
	struct ar_export_steps steps;
	struct ar_buf out;
	struct ar_buf nav; /* entries of the turns */
};

/* ---- text ---- */

static void add_escaped(struct ar_buf *out, struct ar_str text)
{
	struct ar_buf plain = { 0 };

	ar_harmless_add(&plain, text, AR_HARMLESS_TEXT);
	for (size_t i = 0; i < plain.len; i++) {
		switch (plain.p[i]) {
		case '&':
			ar_buf_addz(out, "&amp;");
			break;
		case '<':
			ar_buf_addz(out, "&lt;");
			break;
		case '>':
			ar_buf_addz(out, "&gt;");
			break;
		case '"':
			ar_buf_addz(out, "&quot;");
			break;
		case '\'':
			ar_buf_addz(out, "&#39;");
			break;
		default:
			ar_buf_addc(out, plain.p[i]);
		}
	}
	ar_buf_fini(&plain);
}

static void add_z(struct ar_buf *out, const char *text)
{
	add_escaped(out, ar_str_from(text ? text : ""));
}

/* <tag class=...>text</tag>, our own words as tag. */
static void add_element(struct ar_buf *out, const char *tag, const char *class, struct ar_str text)
{
	ar_buf_addf(out, "<%s class=\"%s\">", tag, class);
	add_escaped(out, text);
	ar_buf_addf(out, "</%s>", tag);
}

/* 2026-11-18T09:28:19.247146Z as 2026-11-18 09:28:19 */
static void add_time(struct ar_buf *out, const char *time)
{
	struct ar_str t = ar_str_from(time ? time : "");

	ar_buf_addz(out, "<time>");
	add_escaped(out, ar_str_sub(t, 0, 10));
	ar_buf_addc(out, ' ');
	add_escaped(out, ar_str_sub(t, 11, 8));
	ar_buf_addz(out, "</time>");
}

static void add_event(struct ar_buf *out, const char *id)
{
	if (id)
		add_element(out, "code", "ref", ar_str_from(id));
}

/* One line per line of the text, those of a difference with their colour. */
static void add_difference(struct ar_buf *out, struct ar_str text)
{
	static const struct {
		const char *prefix, *class;
	} kinds[] = {
		{ "+++", "file" }, { "---", "file" }, { "@@", "place" }, { "+", "add" }, { "-", "del" }
	};

	ar_buf_addz(out, "<pre class=\"diff\">");
	while (!ar_str_empty(text)) {
		const char *class = "same";
		struct ar_str line;

		text = ar_str_split(text, '\n', &line);
		for (size_t i = AR_ARRAY_LEN(kinds); i-- > 0;) {
			if (ar_str_starts(line, ar_str_from(kinds[i].prefix)))
				class = kinds[i].class;
		}
		add_element(out, "span", class, line);
		ar_buf_addc(out, '\n');
	}
	ar_buf_addz(out, "</pre>");
}

static void add_folded(struct ar_buf *out, const char *title, struct ar_str text)
{
	bool is_open = text.len <= OPEN_MAX && title[0] != FOLDED[0];

	if (ar_str_empty(text))
		return;
	ar_buf_addf(out, "<details%s><summary>%s <small>%zu bytes</small></summary><pre>",
		    is_open ? " open" : "", title, text.len);
	add_escaped(out, text);
	ar_buf_addz(out, "</pre></details>\n");
}

/* ---- notes ---- */

static const char *class_of(const char *type)
{
	static const struct {
		const char *part, *class;
	} kinds[] = { { "violation", "bad" },  { ".failed", "bad" },	   { "error", "bad" },
		      { "action.", "ask" },    { "quota.", "warn" },	   { "limit", "warn" },
		      { "warning", "warn" },   { "task.blocked", "warn" }, { "timed_out", "bad" },
		      { "terminated", "warn" } };

	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		if (strstr(type, kinds[i].part))
			return kinds[i].class;
	}
	return "";
}

static void add_note(struct ar_buf *out, const struct ar_export_note *n)
{
	ar_buf_addf(out, "<li class=\"%s\">", class_of(n->type));
	add_element(out, "b", "type", ar_str_from(n->type));
	for (size_t i = 0; i < AR_EXPORT_MEMBERS && n->members[i].value; i++) {
		ar_buf_addf(out, " <i>%s</i> ", n->members[i].name);
		add_z(out, n->members[i].value);
	}
	ar_buf_addc(out, ' ');
	add_event(out, n->id);
	if (n->text && strcmp(n->type, "artifact.changed") == 0)
		add_difference(out, ar_str_from(n->text));
	else if (n->text)
		add_folded(out, strcmp(n->type, "action.resolved") == 0 ? FOLDED "answer" : "text",
			   ar_str_from(n->text));
	ar_buf_addz(out, "</li>\n");
}

static void add_notes(struct ar_buf *out, const struct ar_export_notes *notes)
{
	if (!notes->first)
		return;
	ar_buf_addz(out, "<ul class=\"facts\">\n");
	for (const struct ar_export_note *n = notes->first; n; n = n->next)
		add_note(out, n);
	if (notes->left_out)
		ar_buf_addf(out, "<li class=\"warn\">%lld more facts are not shown</li>\n",
			    (long long)notes->left_out);
	ar_buf_addz(out, "</ul>\n");
}

/* ---- steps ---- */

static void add_head(struct ar_buf *out, const char *who, const struct ar_export_step *s)
{
	ar_buf_addz(out, "<p class=\"who\">");
	add_element(out, "b", "", ar_str_from(who));
	ar_buf_addc(out, ' ');
	if (s->from)
		add_element(out, "span", "from", ar_str_from(s->from));
	ar_buf_addc(out, ' ');
	add_time(out, s->time);
	if (s->kind == AR_STEP_ANSWER && s->input + s->output > 0)
		ar_buf_addf(out, " <span>%lld tokens in, %lld out</span>", (long long)s->input,
			    (long long)s->output);
	ar_buf_addc(out, ' ');
	add_event(out, s->id);
	ar_buf_addz(out, "</p>\n");
}

static void add_call(struct ar_buf *out, const struct ar_export_call *c)
{
	bool is_good = c->status && strcmp(c->status, "ok") == 0;

	ar_buf_addf(out, "<div class=\"call %s\"><p class=\"who\">", is_good ? "good" : "bad");
	add_element(out, "b", "tool", ar_str_from(c->name));
	ar_buf_addc(out, ' ');
	add_element(out, "span", "status", ar_str_from(c->status ? c->status : "no end recorded"));
	if (c->category)
		add_element(out, "span", "from", ar_str_from(c->category));
	if (c->exit) {
		ar_buf_addz(out, "<span>exit ");
		add_z(out, c->exit);
		ar_buf_addz(out, "</span>");
	}
	if (c->profile)
		add_element(out, "span", "profile", ar_str_from(c->profile));
	if (c->duration >= 0)
		ar_buf_addf(out, " <span>%.3f s</span>", (double)c->duration / 1000);
	ar_buf_addc(out, ' ');
	add_event(out, c->id);
	add_event(out, c->event);
	ar_buf_addz(out, "</p>\n<pre class=\"args\">");
	if (c->command) {
		ar_buf_addz(out, "$ ");
		add_z(out, c->command);
	} else {
		add_escaped(out, ar_buf_str(&c->args));
	}
	ar_buf_addz(out, "</pre>\n");
	if (c->child) {
		ar_buf_addz(out, "<p>Began the agent of <a href=\"#");
		add_z(out, c->child);
		ar_buf_addz(out, "\">");
		add_z(out, c->child);
		ar_buf_addz(out, "</a></p>\n");
	}
	if (c->command)
		add_folded(out, FOLDED "arguments", ar_buf_str(&c->args));
	add_folded(out, is_good ? "result" : "what the model read", ar_buf_str(&c->result));
	add_notes(out, &c->notes);
	ar_buf_addz(out, "</div>\n");
}

static void add_message(struct ar_buf *out, const char *class, const char *who,
			const struct ar_export_step *s)
{
	ar_buf_addf(out, "<div class=\"step %s\">", class);
	add_head(out, who, s);
	add_folded(out, "reasoning", ar_buf_str(&s->reasoning));
	if (s->text.len) {
		ar_buf_addz(out, "<pre class=\"text\">");
		add_escaped(out, ar_buf_str(&s->text));
		ar_buf_addz(out, "</pre>\n");
	}
	for (const struct ar_export_call *c = s->calls; c; c = c->next)
		add_call(out, c);
	add_notes(out, &s->notes);
	ar_buf_addz(out, "</div>\n");
}

static void begin_turn(struct page *p, const struct ar_export_step *s)
{
	const struct ar_str text = ar_str_utf8_prefix(ar_buf_str(&s->text), 80);

	ar_buf_addz(&p->out, "<section class=\"turn\" id=\"");
	add_z(&p->out, s->turn);
	ar_buf_addf(&p->out, "\"><h3>Turn %lld <small>", (long long)p->steps.counts.turns);
	add_z(&p->out, s->turn);
	ar_buf_addz(&p->out, "</small></h3>\n");
	ar_buf_addz(&p->nav, "<li><a href=\"#");
	add_z(&p->nav, s->turn);
	ar_buf_addz(&p->nav, "\">");
	add_escaped(&p->nav, text.len ? text : AR_STR("turn"));
	ar_buf_addz(&p->nav, "</a></li>\n");
}

static void add_end(struct ar_buf *out, const struct ar_export_step *s)
{
	bool is_good = s->from && strcmp(s->from, "completed") == 0;

	ar_buf_addf(out, "<div class=\"end %s\">", is_good ? "good" : "bad");
	add_head(out, "ended", s);
	ar_buf_addz(out, "<p>");
	if (s->duration >= 0)
		ar_buf_addf(out, "%.1f s, ", (double)s->duration / 1000);
	ar_buf_addf(out, "%lld tokens in (%lld cached), %lld out", (long long)s->input, (long long)s->cached,
		    (long long)s->output);
	ar_buf_addz(out, "</p>\n");
	if (s->text.len) {
		ar_buf_addz(out, "<pre class=\"text\">");
		add_escaped(out, ar_buf_str(&s->text));
		ar_buf_addz(out, "</pre>\n");
	}
	add_notes(out, &s->notes);
	ar_buf_addz(out, "</div></section>\n");
}

static void write_step(struct ar_export *x, struct ar_export_thread *t, const struct ar_export_step *s)
{
	struct page *p = x->own;

	switch (s->kind) {
	case AR_STEP_INPUT:
		begin_turn(p, s);
		add_message(&p->out, "input", "input", s);
		break;
	case AR_STEP_ANSWER:
		add_message(&p->out, "answer", "answer", s);
		break;
	case AR_STEP_SUMMARY:
		ar_buf_addf(&p->out,
			    "<p class=\"boundary\">What was said before was replaced by a summary: %lld "
			    "tokens became %lld.</p>\n",
			    (long long)s->input, (long long)s->output);
		add_message(&p->out, "summary", "summary", s);
		break;
	default:
		add_end(&p->out, s);
	}
	ar_export_write_buf(x, t->number, &p->out);
	/* The nav waits beside the threads, in a stream of its own: a long session has many turns. */
	ar_export_write_buf(x, AR_EXPORT_NAV, &p->nav);
}

static void take_fact(struct ar_export *x, const struct ar_export_fact *f)
{
	struct page *p = x->own;

	if (!p) {
		p = x->own = ar_new0(sizeof(*p));
		p->steps.write = write_step;
	}
	ar_export_steps_fact(x, f, &p->steps);
}

/* ---- the head of the page ---- */

static void add_policy(struct ar_buf *out)
{
	struct ar_hash hash = ar_hash_of(ar_str_from(ar_html_style));
	struct ar_arena a = { 0 };
	struct ar_str text = ar_base64(&a, (struct ar_str){ (const char *)hash.b, AR_HASH_LEN });

	ar_buf_addf(out,
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
		    "'sha256-%.*s'; base-uri 'none'; form-action 'none'\">\n",
		    AR_STR_ARG(text));
	ar_arena_fini(&a);
}

static void begin_page(struct ar_export *x, struct ar_buf *out)
{
	struct ar_str title = ar_str_from(x->title && *x->title ? x->title : x->session);

	ar_buf_addz(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
	add_policy(out);
	ar_buf_addz(out, "<meta name=\"referrer\" content=\"no-referrer\">\n"
			 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
	add_escaped(out, title);
	ar_buf_addf(out, "</title>\n<style>%s</style></head>\n<body><main>\n<header><h1>", ar_html_style);
	add_escaped(out, title);
	ar_buf_addz(out, "</h1>\n");
}

static void add_row(struct ar_buf *out, const char *name, struct ar_str value)
{
	ar_buf_addf(out, "<tr><th>%s</th><td>", name);
	add_escaped(out, value);
	ar_buf_addz(out, "</td></tr>\n");
}

static void add_cost(struct ar_buf *out, const struct ar_export_sums *s)
{
	struct ar_buf text = { 0 };

	ar_buf_addf(&text, "%lld in (%lld cached), %lld out, in %lld model calls", (long long)s->input,
		    (long long)s->cached, (long long)s->output, (long long)s->calls);
	add_row(out, "Tokens", ar_buf_str(&text));
	ar_buf_clear(&text);
	if (s->calls > s->unpriced)
		ar_buf_addf(&text, "%.6f %s", s->cost, s->currency);
	if (s->unpriced)
		ar_buf_addf(&text, "%sunknown for %lld of %lld calls", text.len ? "; " : "",
			    (long long)s->unpriced, (long long)s->calls);
	add_row(out, "Cost", text.len ? ar_buf_str(&text) : AR_STR("no model call"));
	ar_buf_fini(&text);
}

static void add_models(struct ar_export *x, struct ar_buf *out)
{
	struct ar_buf text = { 0 };

	for (size_t i = 0; i < x->count; i++) {
		const char *model = x->threads[i]->model;

		if (!model || (text.len && memmem(text.p, text.len, model, strlen(model))))
			continue;
		ar_buf_addf(&text, "%s%s", text.len ? ", " : "", model);
	}
	add_row(out, "Models", text.len ? ar_buf_str(&text) : AR_STR("none answered"));
	ar_buf_fini(&text);
}

/* One word per kind of fact: exported, or not_applicable where the session has none; not_recorded where there
 * may be some that no fact tells of. */
static void add_signal(struct ar_buf *out, const char *name, int64_t count, bool may_be_unseen)
{
	ar_buf_addf(out, "<tr><td>%s</td><td>%lld</td><td>%s</td></tr>\n", name, (long long)count,
		    count	    ? "exported"
		    : may_be_unseen ? "not_recorded"
				    : "not_applicable");
}

static void add_signals(struct ar_buf *out, const struct ar_export_counts *c, const struct ar_export_sums *s)
{
	const struct {
		const char *name;
		int64_t count;
	} signals[] = {
		{ "turns", c->turns },	       { "failed turns", c->failed_turns },
		{ "tool calls", c->calls },    { "calls without a result", c->failed_calls },
		{ "questions", c->questions }, { "processes", c->processes },
		{ "file versions", c->files }, { "checkpoints", c->checkpoints },
		{ "child agents", c->agents }, { "summaries", c->summaries },
		{ "limits", c->limits },
	};

	ar_buf_addz(out, "<table class=\"signals\"><tr><th>Signal</th><th>Facts</th><th>State</th></tr>\n");
	for (size_t i = 0; i < AR_ARRAY_LEN(signals); i++)
		add_signal(out, signals[i].name, signals[i].count, false);
	/* a boundary does not see all that it refuses (violationsUnseen) */
	add_signal(out, "sandbox violations", c->violations, c->boundaries > 0);
	ar_buf_addf(out, "<tr><td>cost</td><td>%lld</td><td>%s</td></tr>\n</table>\n", (long long)s->calls,
		    !s->calls	  ? "not_applicable"
		    : s->unpriced ? "not_recorded"
				  : "exported");
}

static void add_summary(struct ar_export *x, struct ar_buf *out)
{
	struct ar_buf facts = { 0 };

	ar_buf_addz(out, "<table>\n");
	add_row(out, "Session", ar_str_from(x->session));
	add_row(out, "Runtime", ar_str_from(x->runtime));
	add_row(out, "First fact", ar_str_from(x->first));
	add_row(out, "Last fact", ar_str_from(x->last));
	ar_buf_addf(&facts, "%lld", (long long)x->facts);
	add_row(out, "Facts", ar_buf_str(&facts));
	ar_buf_fini(&facts);
	add_models(x, out);
	add_cost(out, &x->sums);
	ar_buf_addz(out, "</table>\n");
}

static void write_thread(struct ar_export *x, const struct ar_export_thread *t, struct ar_buf *out)
{
	ar_buf_addz(out, "<section class=\"thread\" id=\"");
	add_z(out, t->id);
	ar_buf_addf(out, "\"><h2>Thread %zu <small>", t->number);
	add_z(out, t->id);
	ar_buf_addz(out, " ");
	add_z(out, t->reason);
	if (t->parent) {
		ar_buf_addz(out, " of ");
		add_z(out, x->threads[t->parent - 1]->id);
	}
	ar_buf_addz(out, "</small></h2>\n");
	ar_export_write_buf(x, 0, out);
	x->sink.copy(x->sink.arg, t->number);
	ar_export_write(x, 0, "</section>\n");
}

static void end(struct ar_export *x)
{
	struct page *p = x->own;

	if (!p)
		return;
	ar_export_steps_end(x, &p->steps);
	begin_page(x, &p->out);
	ar_buf_addz(&p->out, "<div class=\"tables\">\n");
	add_summary(x, &p->out);
	add_signals(&p->out, &p->steps.counts, &x->sums);
	ar_buf_addz(&p->out,
		    "</div>\n<p class=\"note\">Facts of the log, with the ids of their events. Nothing "
		    "here is a verdict.</p></header>\n<nav><h2>Turns</h2><ol>\n");
	ar_export_write_buf(x, 0, &p->out);
	x->sink.copy(x->sink.arg, AR_EXPORT_NAV);
	ar_export_write(x, 0, "</ol></nav>\n");
	for (size_t i = 0; i < x->count; i++) {
		if (x->threads[i]->steps)
			write_thread(x, x->threads[i], &p->out);
	}
	ar_export_write(x, 0, "</main></body></html>\n");
}

static void drop_page(struct ar_export *x)
{
	struct page *p = x->own;

	if (!p)
		return;
	ar_buf_fini(&p->out);
	ar_buf_fini(&p->nav);
}

const struct ar_export_format ar_export_html = {
	"html", take_fact, end, ar_export_steps_drop, drop_page, true, (size_t)64 << 10
};
