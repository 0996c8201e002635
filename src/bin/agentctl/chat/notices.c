/* See chat.h: choices of the runtime that a person may want to know of, one dim line each. What is usual is
 * not told. */
#include "chat/chat.h"

#define MEMBER_MAX 160

/* Whether the event is worth a line at all. */
static bool is_block(struct ar_chat *t AR_UNUSED, struct ar_json payload)
{
	struct ar_str decision = ar_api_str(payload, "decision");

	return ar_str_is(decision, "block") || ar_str_is(decision, "deny") || ar_str_is(decision, "ask");
}

static bool is_retry(struct ar_chat *t AR_UNUSED, struct ar_json payload)
{
	return ar_str_is(ar_api_str(payload, "phase"), "retrying");
}

static bool is_approval(struct ar_chat *t AR_UNUSED, struct ar_json payload)
{
	return ar_str_is(ar_api_str(payload, "phase"), "action_approved");
}

static bool is_other_model(struct ar_chat *t, struct ar_json payload)
{
	struct ar_str model = ar_api_str(payload, "selectedModel");

	if (ar_str_eq(model, ar_buf_str(&t->shown_model)))
		return false;
	ar_buf_clear(&t->shown_model);
	ar_buf_adds(&t->shown_model, model);
	return true;
}

static const struct {
	const char *type;
	const char *words;
	const char *members[3]; /* of the payload, dots go down */
	bool (*is_worth)(struct ar_chat *t, struct ar_json payload); /* NULL: always */
} rows[] = {
	{ "routing.single_candidate", "model", { "selectedModel", "decisionReason" }, is_other_model },
	{ "routing.decided", "model", { "selectedModel", "decisionReason" }, is_other_model },
	{ "routing.fallback.applied", "falling back to another model", { "to.model", "reason" }, NULL },
	{ "routing.not_possible", "no model can answer", { "reason" }, NULL },
	{ "context.compaction.started", "shortening the conversation", { "trigger", "tokensBefore" }, NULL },
	{ "context.compaction.completed", "shortened to tokens", { "tokensAfter", "summaryPreview" }, NULL },
	{ "context.compaction.failed", "shortening failed", { "error.message" }, NULL },
	{ "hook.completed", "hook", { "handlerRef", "decision", "reason" }, is_block },
	{ "hook.failed", "hook failed", { "handlerRef", "message", "failMode" }, NULL },
	{ "quota.low", "quota low", { "quotaKind", "remaining", "limit" }, NULL },
	{ "quota.blocked", "quota used up", { "quotaKind", "limit", "resetAt" }, NULL },
	{ "rate_limit.hit", "slowed down", { "source", "retryAfterMs" }, NULL },
	{ "run.status", "retrying", { "title", "detail" }, is_retry },
	{ "run.status", "approved", { "title", "detail" }, is_approval },
	{ "task.retrying", "resumed", { "retryReason" }, NULL },
	{ "runtime.warning", "warning", { "message" }, NULL },
	{ "runtime.error", "error", { "message", "recoveryAdvice" }, NULL },
};

static void print_member(struct ar_out *o, struct ar_json v, const char *before)
{
	struct ar_buf text = { 0 };
	struct ar_str word;

	if (ar_json_type(v) == AR_JSON_NONE || ar_json_type(v) == AR_JSON_NULL)
		return;
	if (!ar_json_str(v, &word)) {
		ar_json_print(v, &text);
		word = ar_buf_str(&text);
	}
	if (!ar_str_empty(word)) {
		ar_out_printf(o, "%s", before);
		ar_out_line(o, ar_str_utf8_prefix(word, MEMBER_MAX));
	}
	ar_buf_fini(&text);
}

void ar_chat_notice(struct ar_chat *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	size_t i = 0;

	while (i < AR_ARRAY_LEN(rows) &&
	       (!ar_str_is(e->type, rows[i].type) || (rows[i].is_worth && !rows[i].is_worth(t, payload))))
		i++;
	if (i == AR_ARRAY_LEN(rows) || !ar_chat_begin(t, AR_STYLE_DIM))
		return;
	ar_out_printf(t->side, "· %s", rows[i].words);
	for (size_t k = 0; k < AR_ARRAY_LEN(rows[i].members) && rows[i].members[k]; k++)
		print_member(t->side, ar_api_path(payload, rows[i].members[k]), k ? ", " : ": ");
	ar_chat_end(t);
}
