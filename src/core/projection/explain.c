/* See explain.h. What a fact means in words is a table: a sentence with members of the payload in
 * braces; a part in brackets is left out when its member is missing. */
#include "explain.h"
#include "mem.h"

#define TEXT_MAX 1000
#define OPEN_TURNS_MAX 256

struct ar_open_turn {
	struct ar_str id;
	uint64_t sequence;
};

static const struct {
	const char *type, *sentence;
} sentences[] = {
	{ "turn.submitted", "submitted by {source}[, {status}]" },
	{ "queue.changed", "queue: {change}" },
	{ "turn.started", "started" },
	{ "task.profile.resolved", "needs of a model: {requiredCapabilities}, latency {latencyTarget}, "
				   "fallback {fallbackPolicy} ({source})" },
	{ "routing.candidates.resolved", "{candidateCount} models qualify[; left out: {excluded}]" },
	{ "routing.decided", "model {selectedProvider}/{selectedModel}: {decisionReason}" },
	{ "routing.single_candidate", "model {selectedModel}, the only one: {decisionReason}" },
	{ "routing.fallback.applied", "from {from.model} to {to.model}: {reason}" },
	{ "routing.not_possible", "no model qualifies: {reason}[; left out: {excluded}]" },
	{ "context.resolved", "context of about {tokenEstimate} tokens[; system prompt {systemPrompt}]"
			      "[; left out: {omissions}]" },
	{ "context.compaction.started", "history of {tokensBefore} tokens is shortened ({trigger})" },
	{ "context.compaction.completed", "history went from {tokensBefore} to {tokensAfter} tokens" },
	{ "context.compaction.failed", "history was not shortened: {error.message}" },
	{ "cost.estimated", "a call to {model} is estimated at [{amount}][ {currency}][{costClass}]" },
	{ "cost.recorded", "{inputTokens} tokens sent, {outputTokens} received: {amount}[ {currency}]" },
	{ "quota.low", "{quotaKind}: {remaining} of {limit} left" },
	{ "quota.blocked", "{quotaKind}: the limit of {limit} is used up" },
	{ "limit.changed", "a {limitKind} limit changed[ ({source})]" },
	{ "rate_limit.hit", "slowed down by the {source}[, for {retryAfterMs} ms]" },
	{ "model.requested", "asked {provider}/{model}, attempt {attempt}[, for {purpose}]" },
	{ "model.completed", "the model answered and stopped: {stopReason}" },
	{ "model.failed", "the model call failed ({error.category}): {error.message}" },
	{ "tool.catalog.resolved", "tools of the turn were selected" },
	{ "permission.evaluated",
	  "{decision}: {decisionReason} (by {decisionSource}, mode {mode})[; rules {ruleRefs}]" },
	{ "permission.requested", "a {requestedFrom} is asked to decide" },
	{ "permission.resolved", "{outcome} by {decisionSource}: {decisionReason}" },
	{ "action.required", "waits for a decision ({actionType})[: {prompt}]" },
	{ "action.resolved", "decided: {decision} (by {decisionSource})" },
	{ "hook.started", "hook {handlerRef} is called at {hookPoint}" },
	{ "hook.completed", "the hook decided {decision}[: {reason}]" },
	{ "hook.failed", "the hook failed ({errorCategory}), so: {failMode}" },
	{ "policy.changed", "the policy of the {scope} changed" },
	{ "sandbox.applied", "sandbox {mode}, network {network}" },
	{ "sandbox.violation", "sandbox violation ({boundary}): {attempted}, {effect}" },
	{ "process.started", "runs {safeCommand}[ ({profile})]" },
	{ "process.completed", "exited with {exitCode}[ after {durationMs} ms]" },
	{ "process.failed", "the process failed ({failureKind}): {error.message}" },
	{ "process.terminated", "ended by {terminatedBy}: {reason}" },
	{ "tool.started", "{toolName} begins ({policy})[, attempt {attempt}][ after {retryOf}]" },
	{ "tool.result", "the tool answered[ in {durationMs} ms]" },
	{ "tool.failed", "no result, {status} ({errorCategory})[; {recoveryAdvice}]" },
	{ "output.truncated", "the model read {keptSize} of {originalSize} bytes" },
	{ "output.redacted", "secrets were redacted ({redaction.count})" },
	{ "run.status", "{phase}: {title}[: {detail}]" },
	{ "task.retrying", "tried again: {retryReason}" },
	{ "task.blocked", "blocked: {statusReason}" },
	{ "task.lost", "lost: {reason}" },
	{ "task.attempt.failed", "attempt ended {status} ({failureCategory})" },
	{ "turn.completed", "completed: {stopReason}" },
	{ "turn.failed", "{status}: {error.message}[; {error.recoveryAdvice}]" },
	{ "thread.updated", "the thread is {status}[ ({statusDetail})]: {reason}" },
	{ "runtime.warning", "{message}" },
	{ "workspace.preparing", "the folder of the session is filled ({isolation})" },
	{ "workspace.prepared",
	  "the folder of the session has {files} files ({method})[, {leftOut} left out]" },
	{ "checkpoint.started", "a checkpoint of the files is made ({phase} of the turn)" },
	{ "checkpoint.created", "the files are kept: {files} of them[, {leftOut} left out]" },
	{ "checkpoint.failed", "no checkpoint ({category}): {message}" },
	{ "history.rollback.completed", "taken out of the conversation" },
};

/* A session or a thread is explained by its newest turn, everything else by the one it is in. */
static const struct kind {
	const char *prefix, *name, *member;
	bool is_by_newest;
} kinds[] = {
	{ "tool_", "tool_call", "toolCallId", false },
	{ "proc_", "process", "processId", false },
	{ "action_", "action", "actionId", false },
	{ "turn_", "turn", "turnId", false },
	{ "task_", "task", "taskId", false },
	{ "run_", "run", "runId", false },
	{ "attempt_", "run", "attemptId", false },
	{ "step_", "step", "stepId", false },
	{ "mreq_", "model_request", "modelRequestId", false },
	{ "thread_", "thread", "threadId", true },
	{ "sess_", "session", "sessionId", true },
	{ "", "turn", "turnId", false }, /* turns may have any name */
};

static const struct kind *kind_of(struct ar_str id)
{
	const struct kind *k = kinds;

	while (!ar_str_starts(id, ar_str_from(k->prefix)))
		k++;
	return k;
}

const char *ar_explain_kind(struct ar_str id)
{
	return kind_of(id)->name;
}

static struct ar_str text_of(struct ar_json object, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &text);
	return text;
}

static bool has_text(struct ar_json fact, const char *name, struct ar_str value)
{
	return !ar_str_absent(value) && ar_str_eq(text_of(fact, name), value);
}

static uint64_t sequence_of(struct ar_json fact)
{
	int64_t n = 0;

	ar_json_i64(ar_json_get(fact, "sequence"), &n);
	return (uint64_t)n;
}

/* ---- finding ---- */

static bool is_end(struct ar_str type)
{
	return ar_str_is(type, "turn.completed") || ar_str_is(type, "turn.failed");
}

static void note_turn(struct ar_explanation *x, struct ar_json fact, struct ar_str type)
{
	struct ar_str id = text_of(fact, "turnId");

	if (!x->open)
		x->open = ar_arena_alloc(&x->arena, OPEN_TURNS_MAX * sizeof(*x->open));
	if (ar_str_is(type, "turn.submitted") && x->open_count < OPEN_TURNS_MAX)
		x->open[x->open_count++] =
			(struct ar_open_turn){ ar_arena_str(&x->arena, id), sequence_of(fact) };
	for (size_t i = 0; is_end(type) && i < x->open_count; i++) {
		if (!ar_str_eq(x->open[i].id, id))
			continue;
		x->open[i] = x->open[--x->open_count];
		return;
	}
}

static void belongs(struct ar_explanation *x, struct ar_json fact)
{
	struct ar_str turn = text_of(fact, "turnId");

	if (ar_str_absent(turn))
		return;
	if (!ar_str_eq(turn, x->turn)) {
		x->turn = ar_arena_str(&x->arena, turn);
		x->first = sequence_of(fact);
		for (size_t i = 0; i < x->open_count; i++) {
			if (ar_str_eq(x->open[i].id, turn))
				x->first = x->open[i].sequence;
		}
	}
	if (ar_str_eq(text_of(fact, "actionId"), x->id) || ar_str_eq(text_of(fact, "processId"), x->id))
		x->call = ar_arena_str(&x->arena, text_of(fact, "toolCallId"));
	if (ar_str_eq(text_of(fact, "toolCallId"), x->id) && ar_str_absent(x->action))
		x->action = ar_arena_str(&x->arena, text_of(fact, "actionId"));
	if (ar_str_absent(x->permission))
		x->permission =
			ar_arena_str(&x->arena, text_of(ar_json_get(fact, "payload"), "permissionRef"));
}

bool ar_explain_find(struct ar_explanation *x, struct ar_json fact)
{
	struct ar_str type = text_of(fact, "type");

	if (ar_str_is(type, "turn.submitted"))
		note_turn(x, fact, type);
	if (has_text(fact, kind_of(x->id)->member, x->id))
		belongs(x, fact);
	if (is_end(type))
		note_turn(x, fact, type);
	return !is_end(type) || !has_text(fact, "turnId", x->turn) || kind_of(x->id)->is_by_newest;
}

/* ---- collecting ---- */

static struct ar_json payload_member(struct ar_json payload, struct ar_str path)
{
	struct ar_str rest = path, part;
	struct ar_json v = payload;
	char name[64];

	while (!ar_str_empty(rest)) {
		rest = ar_str_split(rest, '.', &part);
		if (part.len >= sizeof(name))
			return (struct ar_json){ 0 };
		for (size_t i = 0; i < part.len; i++)
			name[i] = part.p[i];
		name[part.len] = '\0';
		v = ar_json_get(v, name);
	}
	return v;
}

static bool add_member(struct ar_buf *out, struct ar_json payload, struct ar_str path)
{
	struct ar_json v = payload_member(payload, path);
	struct ar_str text;
	enum ar_json_type type = ar_json_type(v);

	if (type == AR_JSON_NONE || type == AR_JSON_NULL || (type == AR_JSON_ARRAY && ar_json_len(v) == 0))
		return false;
	if (ar_json_str(v, &text))
		ar_buf_adds(out, text);
	else
		ar_json_print(v, out);
	return !ar_json_str(v, &text) || !ar_str_empty(text);
}

/* Adds up to the end or a closing bracket; false when a member was missing. */
static bool add_part(struct ar_buf *out, struct ar_json payload, struct ar_str *rest)
{
	bool is_whole = true;

	while (!ar_str_empty(*rest) && rest->p[0] != ']') {
		struct ar_str path;
		char c = rest->p[0];

		*rest = ar_str_sub(*rest, 1, rest->len);
		if (c == '{') {
			*rest = ar_str_split(*rest, '}', &path);
			is_whole = add_member(out, payload, path) && is_whole;
		} else if (c == '[') {
			size_t before = out->len;

			if (!add_part(out, payload, rest))
				out->len = before;
			*rest = ar_str_sub(*rest, 1, rest->len);
		} else {
			ar_buf_addc(out, c);
		}
	}
	return is_whole;
}

static const char *sentence_for(struct ar_str type)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(sentences); i++) {
		if (ar_str_is(type, sentences[i].type))
			return sentences[i].sentence;
	}
	return NULL;
}

static void add_reason(struct ar_explanation *x, struct ar_json fact, const char *sentence)
{
	struct ar_reason *r = &x->reasons[x->count++ % AR_EXPLAIN_MAX];
	struct ar_str rest = ar_str_from(sentence);
	struct ar_buf text = { 0 };

	add_part(&text, ar_json_get(fact, "payload"), &rest);
	*r = (struct ar_reason){
		.sequence = sequence_of(fact),
		.time = ar_arena_str(&x->arena, text_of(fact, "timestamp")),
		.type = ar_arena_str(&x->arena, text_of(fact, "type")),
		.text = ar_arena_str(&x->arena, ar_str_utf8_prefix(ar_buf_str(&text), TEXT_MAX)),
	};
	ar_buf_fini(&text);
}

static bool is_kind(const struct ar_explanation *x, const char *name)
{
	return ar_str_is(ar_str_from(x->kind), name);
}

/* A fact about the turn as a whole, not about another call or step of it. */
static bool is_about_turn(struct ar_json fact)
{
	return ar_str_absent(text_of(fact, "toolCallId")) && ar_str_absent(text_of(fact, "actionId")) &&
	       ar_str_absent(text_of(fact, "modelRequestId"));
}

static bool is_wanted(struct ar_explanation *x, struct ar_json fact)
{
	if (!has_text(fact, "turnId", x->turn))
		return false;
	if (has_text(fact, kind_of(x->id)->member, x->id))
		return true;
	if (is_kind(x, "tool_call") || is_kind(x, "action") || is_kind(x, "process"))
		return has_text(fact, "toolCallId", x->call) || has_text(fact, "actionId", x->action) ||
		       has_text(fact, "eventId", x->permission);
	return is_about_turn(fact);
}

/* Of the turn, whatever of it is explained. */
static void keep_instructions(struct ar_explanation *x, struct ar_json fact)
{
	struct ar_json refs = ar_json_get(ar_json_get(fact, "payload"), "instructionRefs");
	struct ar_buf text = { 0 };

	if (!has_text(fact, "turnId", x->turn) || ar_json_type(refs) != AR_JSON_ARRAY)
		return;
	ar_json_print(refs, &text);
	x->instructions = ar_arena_str(&x->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* A call that is tried again goes on under another id. */
static void follow_retry(struct ar_explanation *x, struct ar_json fact)
{
	struct ar_str before = text_of(ar_json_get(fact, "payload"), "retryOf");

	if (!ar_str_absent(before) && (ar_str_eq(before, x->id) || ar_str_eq(before, x->call)))
		x->call = ar_arena_str(&x->arena, text_of(fact, "toolCallId"));
}

bool ar_explain_collect(struct ar_explanation *x, struct ar_json fact)
{
	struct ar_str type = text_of(fact, "type");
	const char *sentence = sentence_for(type);

	if (ar_str_is(type, "tool.started"))
		follow_retry(x, fact);
	if (ar_str_is(type, "context.resolved"))
		keep_instructions(x, fact);
	if (sentence && is_wanted(x, fact))
		add_reason(x, fact, sentence);
	/* A process may outlive its turn. */
	return !is_end(type) || !has_text(fact, "turnId", x->turn) || is_kind(x, "process");
}

/* ---- telling ---- */

struct ar_str ar_explain_summary(const struct ar_explanation *x)
{
	return x->count == 0 ? AR_STR("nothing is known about it yet")
			     : x->reasons[(x->count - 1) % AR_EXPLAIN_MAX].text;
}

void ar_explain_write(const struct ar_explanation *x, struct ar_jw *w)
{
	size_t first = x->count > AR_EXPLAIN_MAX ? x->count - AR_EXPLAIN_MAX : 0;

	ar_jw_open_array(w);
	for (size_t i = first; i < x->count; i++) {
		const struct ar_reason *r = &x->reasons[i % AR_EXPLAIN_MAX];

		ar_jw_open(w);
		ar_jw_mint(w, "sequence", (int64_t)r->sequence);
		ar_jw_mstr(w, "time", r->time);
		ar_jw_mstr(w, "type", r->type);
		ar_jw_mstr(w, "text", r->text);
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
}

void ar_explain_fini(struct ar_explanation *x)
{
	ar_arena_fini(&x->arena);
}
