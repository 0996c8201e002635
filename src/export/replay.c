/* A case that can be run again: the inputs of the first thread with their options, the answers of the model,
 * and what came of them as facts to compare with. What differs from run to run (ids of the session, the
 * folder of its workspace, durations) is replaced by a name, so that two documents of equal runs are equal
 * from `turns` on. Turns that the runtime made itself, such as summaries, are left out. */
#include "mem.h"
#include "steps.h"

#include <string.h>

struct replay {
	struct ar_export_steps steps;
	struct ar_buf out;
	struct ar_buf answers, facts; /* elements of arrays */
	struct ar_buf context, inventory; /* of the turn: objects with the fact and its refs */
	char *mode, *folder;
	int64_t turns; /* that were written */
	int64_t step; /* of the turn */
	bool is_open; /* a turn is being written */
};

/* ---- what differs from run to run ---- */

static void replace_all(struct ar_buf *text, struct ar_str what, const char *by)
{
	struct ar_buf out = { 0 };
	size_t at = 0;

	if (ar_str_empty(what))
		return;
	while (at < text->len) {
		const char *hit = memmem(text->p + at, text->len - at, what.p, what.len);
		size_t end = hit ? (size_t)(hit - text->p) : text->len;

		ar_buf_add(&out, text->p + at, end - at);
		if (hit)
			ar_buf_addz(&out, by);
		at = hit ? end + what.len : end;
	}
	ar_buf_fini(text);
	*text = out;
}

/* "exit code 0, after 0.012 s" */
static void replace_duration(struct ar_buf *text)
{
	const char *at = text->len ? memmem(text->p, text->len, ", after ", 8) : NULL;
	size_t from = at ? (size_t)(at - text->p) + 8 : 0, end = from;
	struct ar_str seconds;

	while (at && end < text->len && strchr("0123456789.", text->p[end]))
		end++;
	if (end == from)
		return;
	seconds = (struct ar_str){ ar_str_dup((struct ar_str){ text->p + from, end - from }), end - from };
	replace_all(text, seconds, "$SECONDS");
	ar_free((char *)seconds.p);
}

/* The text of a member, the same for equal runs. */
static void add_text(struct ar_export *x, struct ar_jw *w, const char *name, struct ar_str value)
{
	struct replay *r = x->own;
	struct ar_str session = ar_str_from(x->session), rest, kind;
	struct ar_buf text = { 0 };

	if (ar_str_absent(value))
		return;
	ar_buf_adds(&text, value);
	replace_all(&text, ar_str_from(r->folder), "$WORKSPACE");
	rest = ar_str_split(session, '_', &kind);
	replace_all(&text, rest, "$SESSION");
	ar_jw_mstr(w, name, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* ---- elements ---- */

static struct ar_jw begin_element(struct ar_buf *array)
{
	struct ar_jw w = ar_jw(array);

	w.comma = array->len > 0;
	ar_jw_open(&w);
	return w;
}

static const char *member_of(const struct ar_export_notes *notes, const char *type, const char *member)
{
	for (const struct ar_export_note *n = notes->first; n; n = n->next) {
		for (size_t i = 0; i < AR_EXPORT_MEMBERS && n->members[i].value; i++) {
			if (strcmp(n->type, type) == 0 && strcmp(n->members[i].name, member) == 0)
				return n->members[i].value;
		}
	}
	return NULL;
}

/* Facts around a call by their types. Those that depend on the time that it took are not among them. */
static void add_types(struct ar_jw *w, const struct ar_export_notes *notes)
{
	ar_jw_key(w, "around");
	ar_jw_open_array(w);
	for (const struct ar_export_note *n = notes->first; n; n = n->next) {
		if (strncmp(n->type, "checkpoint.", 11) != 0)
			ar_jw_str(w, ar_str_from(n->type));
	}
	ar_jw_close_array(w);
}

static void add_answer(struct replay *r, const struct ar_export_step *s)
{
	const char *failed = member_of(&s->notes, "model.failed", "outcome");
	const char *status = member_of(&s->notes, "model.failed", "status");
	struct ar_jw w = begin_element(&r->answers);

	if (failed) {
		ar_jw_mstr(&w, "failed", ar_str_from(failed));
		ar_jw_mraw(&w, "status", ar_str_from(status));
	}
	ar_jw_mstr(&w, "text", ar_buf_str(&s->text));
	ar_jw_key(&w, "calls");
	ar_jw_open_array(&w);
	for (const struct ar_export_call *c = s->calls; c; c = c->next) {
		ar_jw_open(&w);
		ar_jw_mstr(&w, "name", ar_str_from(c->name));
		ar_jw_mstr(&w, "arguments", ar_buf_str(&c->args));
		ar_jw_close(&w);
	}
	ar_jw_close_array(&w);
	ar_jw_close(&w);
}

static void add_call_fact(struct ar_export *x, struct replay *r, struct ar_export_call *c)
{
	struct ar_jw w = begin_element(&r->facts);

	ar_jw_mint(&w, "step", r->step);
	ar_jw_mstr(&w, "call", ar_str_from(c->name));
	add_text(x, &w, "arguments", ar_buf_str(&c->args));
	ar_jw_mstr(&w, "permission", ar_str_from(member_of(&c->notes, "permission.evaluated", "decision")));
	ar_jw_mstr(&w, "decision", ar_str_from(member_of(&c->notes, "action.resolved", "decision")));
	ar_jw_mstr(&w, "profile", ar_str_from(c->profile));
	ar_jw_mstr(&w, "status", ar_str_from(c->status));
	ar_jw_mstr(&w, "category", ar_str_from(c->category));
	ar_jw_mstr(&w, "exit", ar_str_from(c->exit));
	ar_jw_mstr(&w, "path", ar_str_from(member_of(&c->notes, "artifact.changed", "path")));
	ar_jw_mstr(&w, "version", ar_str_from(member_of(&c->notes, "artifact.changed", "versionId")));
	if (c->command)
		replace_duration(&c->result);
	add_text(x, &w, "result", ar_buf_str(&c->result));
	add_types(&w, &c->notes);
	ar_jw_close(&w);
}

/* ---- turns ---- */

static void begin_turn(struct ar_export *x, struct replay *r, const struct ar_export_step *s)
{
	struct ar_jw w = ar_jw(&r->out);

	ar_buf_addz(&r->out, r->turns ? ",\n" : "");
	r->turns++;
	r->step = 0;
	r->is_open = true;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "turnId", ar_str_from(s->turn));
	ar_jw_mstr(&w, "eventId", ar_str_from(s->id));
	ar_jw_mstr(&w, "input", ar_buf_str(&s->text));
	ar_jw_mraw(&w, "options", ar_str_from(s->options));
	ar_export_write_buf(x, 1, &r->out);
}

/* Where the context and the tools of the turn are in the log. */
static void write_refs(struct replay *r)
{
	if (r->context.len)
		ar_buf_addf(&r->out, "\"context\":%.*s,", AR_STR_ARG(ar_buf_str(&r->context)));
	if (r->inventory.len)
		ar_buf_addf(&r->out, "\"toolInventory\":%.*s,", AR_STR_ARG(ar_buf_str(&r->inventory)));
}

static void close_turn(struct ar_export *x, struct replay *r)
{
	if (!r->is_open)
		return;
	r->is_open = false;
	ar_buf_addz(&r->out, ",");
	write_refs(r);
	ar_buf_addz(&r->out, "\"answers\":[");
	ar_buf_adds(&r->out, ar_buf_str(&r->answers));
	ar_buf_addz(&r->out, "],\"facts\":[");
	ar_buf_adds(&r->out, ar_buf_str(&r->facts));
	ar_buf_addz(&r->out, "]}");
	ar_buf_clear(&r->answers);
	ar_buf_clear(&r->facts);
	ar_export_write_buf(x, 1, &r->out);
}

static void add_end(struct replay *r, const struct ar_export_step *s)
{
	struct ar_jw w = begin_element(&r->facts);

	ar_jw_mint(&w, "step", r->step);
	ar_jw_mstr(&w, "end", ar_str_from(s->from));
	ar_jw_mstr(&w, "category", ar_str_from(s->category));
	ar_jw_close(&w);
}

static void add_step(struct ar_export *x, struct replay *r, const struct ar_export_step *s)
{
	bool has_failed = member_of(&s->notes, "model.failed", "outcome");
	struct ar_jw w;

	r->step++;
	add_answer(r, s);
	w = begin_element(&r->facts);
	ar_jw_mint(&w, "step", r->step);
	ar_jw_mstr(&w, "model", has_failed ? AR_STR("failed") : AR_STR("completed"));
	add_text(x, &w, "answer", ar_buf_str(&s->text));
	ar_jw_close(&w);
	for (struct ar_export_call *c = s->calls; c; c = c->next)
		add_call_fact(x, r, c);
}

static void write_step(struct ar_export *x, struct ar_export_thread *t, const struct ar_export_step *s)
{
	struct replay *r = x->own;

	if (t->number > 1)
		return;
	if (s->kind == AR_STEP_INPUT) {
		close_turn(x, r);
		if (!s->from || strcmp(s->from, "system") != 0)
			begin_turn(x, r, s);
	} else if (r->is_open && s->kind == AR_STEP_ANSWER) {
		add_step(x, r, s);
	} else if (r->is_open && s->kind == AR_STEP_END) {
		add_end(r, s);
		close_turn(x, r);
	}
}

static void add_refs(struct ar_jw *w, struct ar_json refs)
{
	for (struct ar_json_iter it = ar_json_iter(refs); ar_json_next(&it);) {
		struct ar_str ref;

		if (ar_json_str(it.value, &ref))
			ar_jw_str(w, ref);
	}
}

/* The newest ones count: a turn that changes neither has those of the turn before. */
static void keep_refs(struct replay *r, const struct ar_export_fact *f)
{
	static const char *const lists[] = { "memoryRefs", "knowledgeRefs", "workspaceRefs", "browserRefs",
					     "instructionRefs" };
	bool is_context = ar_str_is(f->type, "context.resolved");
	struct ar_buf *out = is_context ? &r->context : &r->inventory;
	struct ar_jw w;

	if ((!is_context && !ar_str_is(f->type, "tool.catalog.resolved")) || !f->thread ||
	    f->thread->number > 1)
		return;
	ar_buf_clear(out);
	w = ar_jw(out);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "eventId", f->id);
	ar_jw_key(&w, "refs");
	ar_jw_open_array(&w);
	for (size_t i = 0; is_context && i < AR_ARRAY_LEN(lists); i++)
		add_refs(&w, ar_json_get(f->payload, lists[i]));
	if (!is_context && !ar_str_absent(ar_export_str(f->payload, "catalogRef")))
		ar_jw_str(&w, ar_export_str(f->payload, "catalogRef"));
	ar_jw_close_array(&w);
	ar_jw_close(&w);
}

static void keep_environment(struct replay *r, const struct ar_export_fact *f)
{
	if (ar_str_is(f->type, "workspace.bound"))
		ar_export_keep(&r->folder, ar_export_str(ar_json_get(f->payload, "binding"), "folder"));
	if (!ar_str_is(f->type, "context.resolved"))
		return;
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(f->payload, "policyFacts"));
	     ar_json_next(&it);)
		ar_export_keep(&r->mode, ar_export_str(it.value, "mode"));
}

static void take_fact(struct ar_export *x, const struct ar_export_fact *f)
{
	struct replay *r = x->own;

	if (!r) {
		r = x->own = ar_new0(sizeof(*r));
		r->steps.write = write_step;
	}
	keep_environment(r, f);
	keep_refs(r, f);
	ar_export_steps_fact(x, f, &r->steps);
}

/* ---- the document ---- */

static void add_tools(struct ar_export *x, struct ar_jw *w)
{
	struct ar_json tools;

	ar_jw_key(w, "tools");
	ar_jw_open_array(w);
	if (x->tools && ar_json_parse(x->parser, ar_str_from(x->tools), &tools, NULL) == AR_OK) {
		for (struct ar_json_iter it = ar_json_iter(tools); ar_json_next(&it);)
			ar_jw_str(w, ar_export_str(it.value, "toolName"));
	}
	ar_jw_close_array(w);
}

static void end(struct ar_export *x)
{
	struct replay *r = x->own;
	struct ar_jw w;

	if (!r)
		return;
	ar_export_steps_end(x, &r->steps);
	close_turn(x, r);
	if (!r->turns)
		return;
	w = ar_jw(&r->out);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "type", AR_STR("agentruntime.case/1"));
	ar_jw_mstr(&w, "sessionId", ar_str_from(x->session));
	ar_jw_mint(&w, "facts", x->facts);
	ar_jw_mstr(&w, "permissionMode", ar_str_from(r->mode));
	ar_jw_mbool(&w, "hasWorkspace", r->folder);
	ar_jw_mint(&w, "childAgents", r->steps.counts.agents);
	add_tools(x, &w);
	ar_jw_key(&w, "turns");
	ar_buf_addz(&r->out, "[\n");
	ar_export_write_buf(x, 0, &r->out);
	x->sink.copy(x->sink.arg, 1);
	ar_buf_addz(&r->out, "\n]");
	if (x->members)
		ar_buf_addf(&r->out, ",%s", x->members);
	ar_buf_addz(&r->out, "}\n");
	ar_export_write_buf(x, 0, &r->out);
}

static void fini(struct ar_export *x)
{
	struct replay *r = x->own;

	if (!r)
		return;
	ar_buf_fini(&r->out);
	ar_buf_fini(&r->answers);
	ar_buf_fini(&r->facts);
	ar_buf_fini(&r->context);
	ar_buf_fini(&r->inventory);
	ar_free(r->mode);
	ar_free(r->folder);
}

const struct ar_export_format ar_export_replay = { "replay", take_fact,	     end, ar_export_steps_drop, fini,
						   false,    (size_t)1 << 20 };
