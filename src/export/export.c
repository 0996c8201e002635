/* See session_export.h. Finds the thread of each fact, adds up what models used, and hands the fact to its
 * format. Owned by the caller's thread. */
#include "export_priv.h"
#include "mem.h"

#include <string.h>

#define CATALOG_MAX ((size_t)4 << 20)

static const struct ar_export_format *const formats[] = { &ar_export_atif, &ar_export_html,
							  &ar_export_markdown, &ar_export_otlp,
							  &ar_export_replay };

/* ---- reading a fact ---- */

struct ar_str ar_export_str(struct ar_json object, const char *name)
{
	struct ar_str s = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &s);
	return s;
}

int64_t ar_export_int(struct ar_json object, const char *name)
{
	int64_t v = 0;

	ar_json_i64(ar_json_get(object, name), &v);
	return v;
}

struct ar_json ar_export_member(struct ar_json object, const char *name, const char *inner)
{
	return ar_json_get(ar_json_get(object, name), inner);
}

void ar_export_keep(char **at, struct ar_str text)
{
	if (ar_str_absent(text))
		return;
	ar_free(*at);
	*at = ar_str_dup(text);
}

/* ---- parts ---- */

/* Refs of facts that are shown. A format that shows no changes reads those of the first kind alone. */
static const struct {
	const char *type, *member;
	bool is_change;
} refs[] = {
	{ "turn.submitted", "inputRef", false },
	{ "model.completed", "outputRef", false },
	{ "model.completed", "reasoningRef", false },
	{ "model.failed", "outputRef", false },
	{ "tool.failed", "errorRef", false },
	{ "tool.catalog.resolved", "catalogRef", false },
	{ "context.compaction.completed", "summaryRef", false },
	{ "artifact.changed", "diffRef", true },
	{ "action.required", "promptRef", true },
	{ "action.resolved", "responseRef", true },
};

struct parts {
	struct ar_arena *arena;
	size_t max; /* bytes of each */
	struct ar_export_part *at;
	size_t count, room;
};

static void add_part(struct parts *p, struct ar_str ref, size_t max)
{
	if (ar_str_absent(ref))
		return;
	if (p->count == p->room) {
		size_t room = p->room ? p->room * 2 : 4;
		struct ar_export_part *more = ar_arena_alloc(p->arena, room * sizeof(*more));

		if (p->count)
			memcpy(more, p->at, p->count * sizeof(*more));
		p->at = more;
		p->room = room;
	}
	p->at[p->count++] = (struct ar_export_part){ .ref = ref, .max = max };
}

/* A call that is tried again is not among those that the model asked for. */
static void add_call_parts(struct parts *p, struct ar_str type, struct ar_json payload)
{
	struct ar_str answer = ar_export_str(payload, "answerRef");

	if (ar_str_is(type, "model.completed")) {
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(payload, "toolCalls"));
		     ar_json_next(&it);)
			add_part(p, ar_export_str(it.value, "ref"), p->max);
	} else if (ar_str_is(type, "tool.result")) {
		add_part(p, ar_str_absent(answer) ? ar_export_str(payload, "outputRef") : answer, p->max);
	} else if (ar_str_is(type, "tool.started") && !ar_str_absent(ar_export_str(payload, "retryOf"))) {
		add_part(p, ar_export_str(payload, "inputRef"), p->max);
	}
}

size_t ar_export_parts(const struct ar_export *x, struct ar_json fact, struct ar_arena *a,
		       struct ar_export_part **ret)
{
	struct ar_json payload = ar_json_get(fact, "payload");
	struct ar_str type = ar_export_str(fact, "type");
	struct parts p = { .arena = a, .max = x->format->text_max };

	*ret = NULL;
	if (p.max == 0)
		return 0;
	for (size_t i = 0; i < AR_ARRAY_LEN(refs); i++) {
		if (ar_str_is(type, refs[i].type) && (x->format->shows_changes || !refs[i].is_change))
			add_part(&p, ar_export_str(payload, refs[i].member),
				 ar_str_is(type, "tool.catalog.resolved") ? CATALOG_MAX : p.max);
	}
	add_call_parts(&p, type, payload);
	*ret = p.at;
	return p.count;
}

struct ar_export_part ar_export_part(const struct ar_export_fact *f, struct ar_str ref)
{
	for (size_t i = 0; i < f->count; i++) {
		if (ar_str_eq(f->parts[i].ref, ref))
			return f->parts[i];
	}
	return (struct ar_export_part){ .ref = ref, .why = AR_STR("unavailable") };
}

void ar_export_add_text(struct ar_buf *out, const struct ar_export_part *p)
{
	if (ar_str_absent(p->ref))
		return;
	if (ar_str_absent(p->text)) {
		ar_buf_addf(out, "[%.*s: %.*s]", AR_STR_ARG(p->why), AR_STR_ARG(p->ref));
		return;
	}
	ar_buf_adds(out, p->text);
	if (p->size > (int64_t)p->text.len)
		ar_buf_addf(out, "\n[%lld bytes in all: %.*s]", (long long)p->size, AR_STR_ARG(p->ref));
}

void ar_export_add_input(struct ar_export *x, struct ar_buf *out, const struct ar_export_part *p)
{
	struct ar_json doc;

	if (ar_str_absent(p->text) || ar_json_parse(x->parser, p->text, &doc, NULL) != AR_OK) {
		ar_export_add_text(out, p);
		return;
	}
	for (struct ar_json_iter it = ar_json_iter(doc); ar_json_next(&it);) {
		struct ar_str text = ar_export_str(it.value, "text"), kind = ar_export_str(it.value, "type");

		if (out->len)
			ar_buf_addc(out, '\n');
		if (!ar_str_absent(text))
			ar_buf_adds(out, text);
		else
			ar_buf_addf(out, "[%.*s]", AR_STR_ARG(ar_str_absent(kind) ? AR_STR("part") : kind));
	}
	ar_json_parser_trim(x->parser);
}

/* ---- which facts are shown, and of what ---- */

static const struct {
	const char *type;
	const char *members[AR_EXPORT_MEMBERS];
} shown[] = {
	{ "permission.evaluated", { "decision", "decisionSource", "decisionReason", "sandboxProfile" } },
	{ "permission.resolved", { "outcome", "decisionSource", "decisionReason" } },
	{ "action.required", { "actionType", "prompt", "expiresAt" } },
	{ "action.resolved", { "decision", "decisionSource", "actor", "approvals" } },
	{ "hook.completed",
	  { "decision", "reason", "handlerRef", "originalInputRef", "updatedInputRef",
	    "updatedToolOutputRef" } },
	{ "hook.failed", { "errorCategory", "message", "failMode", "handlerRef" } },
	{ "process.started", { "safeCommand", "cwd", "profile", "networkDecision" } },
	{ "process.completed", { "exitCode", "status", "durationMs", "outputRefs" } },
	{ "process.failed", { "failureKind", "error", "outputRefs" } },
	{ "process.terminated", { "terminatedBy", "reason", "signal", "exitCode" } },
	{ "sandbox.violation", { "boundary", "attempted", "effect", "errnoName", "count", "violationRef" } },
	{ "artifact.changed", { "change", "path", "versionId", "readRef", "diffRef" } },
	{ "model.failed", { "outcome", "error", "status", "attempt" } },
	{ "routing.decided", { "selectedModel", "decisionSource", "decisionReason" } },
	{ "routing.fallback.applied", { "from", "to", "reason" } },
	{ "routing.not_possible", { "reason", "excluded", "hardConstraints" } },
	{ "rate_limit.hit", { "source", "limit", "retryAfterMs" } },
	{ "quota.low", { "quotaKind", "remaining", "limit" } },
	{ "quota.blocked", { "quotaKind", "limit", "resetAt" } },
	{ "limit.changed", { "limitKind", "limitState" } },
	{ "output.spilled", { "sizeBytes", "mediaType", "expiresAt" } },
	{ "output.truncated", { "originalSize", "keptSize", "rawOutputRef" } },
	{ "output.redacted", { "redaction" } },
	{ "output.expired", { "expiresAt", "expiredAt" } },
	{ "context.compaction.failed", { "trigger", "error" } },
	{ "history.rollback.completed", { "target", "removedTurnIds" } },
	{ "checkpoint.created", { "checkpointId", "phase", "tree", "files" } },
	{ "checkpoint.failed", { "phase", "category", "message" } },
	{ "checkpoint.restored", { "targetId", "files", "changesRef" } },
	{ "subagent.spawned", { "childThreadId", "role", "nickname", "depth" } },
	{ "subagent.completed", { "resultRef", "usage" } },
	{ "subagent.failed", { "error", "lastMessageRef" } },
	{ "subagent.closed", { "closedBy", "reason" } },
	{ "task.blocked", { "statusReason" } },
	{ "task.failed", { "failureCategory" } },
	{ "task.timed_out", { "limitKind", "limitMs", "elapsedMs" } },
	{ "evidence.changed",
	  { "kind", "packRef", "replayRef", "reviewRef", "traceRef", "verificationOutcomes" } },
	{ "channel.permission_returned", { "decision", "decidingSide", "source" } },
	{ "runtime.warning", { "code", "message" } },
	{ "runtime.error", { "code", "message" } },
};

const char *const *ar_export_members(struct ar_str type)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(shown); i++) {
		if (ar_str_is(type, shown[i].type))
			return shown[i].members;
	}
	return NULL;
}

/* ---- threads ---- */

static struct ar_export_thread *thread_of(struct ar_export *x, struct ar_str id)
{
	struct ar_export_thread *t = ar_str_absent(id) ? NULL : ar_map_get(&x->by_id, id);

	if (t || ar_str_absent(id))
		return t;
	t = ar_new0(sizeof(*t));
	t->id = ar_str_dup(id);
	if (x->count == x->room) {
		x->room = x->room ? x->room * 2 : 8;
		x->threads = ar_grow(x->threads, x->room, sizeof(struct ar_export_thread *));
	}
	x->threads[x->count++] = t;
	t->number = x->count;
	ar_map_put(&x->by_id, ar_str_from(t->id), t);
	return t;
}

static void begin_thread(struct ar_export *x, const struct ar_export_fact *f)
{
	struct ar_export_thread *parent;

	if (!f->thread)
		return;
	parent = thread_of(x, ar_export_str(f->payload, "parentThreadId"));
	f->thread->parent = parent && parent != f->thread ? parent->number : 0;
	ar_export_keep(&f->thread->reason, ar_export_str(f->payload, "reason"));
}

/* ---- sums ---- */

bool ar_export_amount(struct ar_export *x, struct ar_json amount, double *ret)
{
	struct ar_json number;
	struct ar_str text;

	if (ar_json_str(amount, &text) && ar_json_parse(x->parser, text, &number, NULL) == AR_OK)
		return ar_json_num(number, ret);
	return ar_json_num(amount, ret);
}

static void add_cost(struct ar_export *x, struct ar_export_sums *s, const struct ar_export_fact *f)
{
	struct ar_str currency = ar_export_str(f->payload, "currency");
	double amount;

	s->input += ar_export_int(f->payload, "inputTokens");
	s->output += ar_export_int(f->payload, "outputTokens");
	s->cached += ar_export_int(f->payload, "cachedTokens");
	s->calls++;
	if (!ar_export_amount(x, ar_json_get(f->payload, "amount"), &amount)) {
		s->unpriced++;
		return;
	}
	s->cost += amount;
	if (!ar_str_absent(currency) && currency.len < sizeof(s->currency))
		memcpy(s->currency, currency.p, currency.len);
}

static void add_sums(struct ar_export *x, const struct ar_export_fact *f)
{
	if (!ar_str_is(f->type, "cost.recorded"))
		return;
	add_cost(x, &x->sums, f);
	if (f->thread)
		add_cost(x, &f->thread->sums, f);
}

/* ---- the walk ---- */

static void keep_session(struct ar_export *x, const struct ar_export_fact *f)
{
	struct ar_json tools = ar_json_get(f->payload, "tools");

	if (ar_str_is(f->type, "session.created") || ar_str_is(f->type, "session.updated"))
		ar_export_keep(&x->title, ar_export_str(f->payload, "title"));
	if (!ar_str_is(f->type, "tool.catalog.resolved"))
		return;
	if (ar_json_type(tools) == AR_JSON_ARRAY) {
		struct ar_buf text = { 0 };

		ar_json_print(tools, &text);
		ar_export_keep(&x->tools, ar_buf_str(&text));
		ar_buf_fini(&text);
	} else {
		ar_export_keep(&x->tools, ar_export_part(f, ar_export_str(f->payload, "catalogRef")).text);
	}
}

static void keep_model(const struct ar_export_fact *f)
{
	if (!f->thread)
		return;
	if (ar_str_is(f->type, "model.requested")) {
		struct ar_str purpose = ar_export_str(f->payload, "purpose");

		f->thread->is_aside = !ar_str_absent(purpose) && !ar_str_is(purpose, "turn");
	}
	if (ar_str_is(f->type, "model.completed") && !f->thread->is_aside)
		ar_export_keep(&f->thread->model, ar_export_str(f->payload, "model"));
}

void ar_export_fact(struct ar_export *x, struct ar_json fact, const struct ar_export_part *parts,
		    size_t count)
{
	struct ar_export_fact f = {
		.doc = fact,
		.payload = ar_json_get(fact, "payload"),
		.type = ar_export_str(fact, "type"),
		.id = ar_export_str(fact, "eventId"),
		.time = ar_export_str(fact, "timestamp"),
		.parts = parts,
		.count = count,
	};

	f.thread = thread_of(x, ar_export_str(fact, "threadId"));
	if (!x->facts++) {
		ar_export_keep(&x->session, ar_export_str(fact, "sessionId"));
		ar_export_keep(&x->runtime, ar_export_str(fact, "runtimeId"));
		ar_export_keep(&x->first, f.time);
	}
	ar_export_keep(&x->last, f.time);
	if (ar_str_is(f.type, "thread.started"))
		begin_thread(x, &f);
	keep_session(x, &f);
	keep_model(&f);
	add_sums(x, &f);
	x->format->fact(x, &f);
}

void ar_export_add_members(struct ar_export *x, struct ar_str members)
{
	ar_export_keep(&x->members, members);
}

void ar_export_end(struct ar_export *x)
{
	x->format->end(x);
}

void ar_export_write(struct ar_export *x, size_t stream, const char *text)
{
	x->sink.write(x->sink.arg, stream, ar_str_from(text));
}

void ar_export_write_buf(struct ar_export *x, size_t stream, struct ar_buf *text)
{
	if (text->len)
		x->sink.write(x->sink.arg, stream, ar_buf_str(text));
	ar_buf_clear(text);
}

struct ar_export *ar_export_new(struct ar_str format, const struct ar_export_sink *sink)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(formats); i++) {
		struct ar_export *x;

		if (!ar_str_is(format, formats[i]->name))
			continue;
		x = ar_new0(sizeof(*x));
		x->format = formats[i];
		x->sink = *sink;
		x->parser = ar_json_parser_new();
		return x;
	}
	return NULL;
}

void ar_export_free(struct ar_export *x)
{
	for (size_t i = 0; i < x->count; i++) {
		struct ar_export_thread *t = x->threads[i];

		x->format->drop(t);
		ar_free(t->id);
		ar_free(t->reason);
		ar_free(t->model);
		ar_free(t);
	}
	ar_free(x->threads);
	ar_map_fini(&x->by_id);
	ar_json_parser_free(x->parser);
	ar_free(x->session);
	ar_free(x->runtime);
	ar_free(x->title);
	ar_free(x->tools);
	ar_free(x->first);
	ar_free(x->last);
	ar_free(x->members);
	if (x->format->fini)
		x->format->fini(x);
	ar_free(x->own);
	ar_free(x);
}
