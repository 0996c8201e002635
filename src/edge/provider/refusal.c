/* Tables from status codes and error codes to what the runtime knows: category and whether to try again.
 * Pure. */
#include "refusal.h"

#include "pacing.h"

#include <string.h>

#define MESSAGE_MAX (64 * 1024) /* kept for masking, which comes before the cut to an excerpt */

struct meaning {
	const char *category;
	bool retryable;
};

static const struct {
	int first, last;
	struct meaning m;
} by_status[] = {
	{ 400, 400, { "invalid_request", false } }, { 401, 401, { "auth", false } },
	{ 402, 402, { "quota", false } },	    { 403, 403, { "auth", false } },
	{ 404, 404, { "not_found", false } },	    { 408, 408, { "timeout", true } },
	{ 409, 409, { "conflict", true } },	    { 429, 429, { "rate_limited", true } },
	{ 405, 499, { "invalid_request", false } }, { 503, 503, { "overloaded", true } },
	{ 504, 504, { "timeout", true } },	    { 529, 529, { "overloaded", true } },
	{ 500, 599, { "server_error", true } },	    { 300, 399, { "redirect", false } },
};

/* Values of error.code, error.status, error.type or a detail's reason that say more than the status does. */
static const struct {
	const char *code;
	struct meaning m;
} by_code[] = {
	{ "context_length_exceeded", { "context_length", false } },
	{ "exceed_context_size_error", { "context_length", false } },
	{ "insufficient_quota", { "quota", false } },
	{ "billing_hard_limit_reached", { "quota", false } },
	{ "rate_limit_exceeded", { "rate_limited", true } },
	{ "rate_limit_error", { "rate_limited", true } },
	{ "invalid_api_key", { "auth", false } },
	{ "authentication_error", { "auth", false } },
	{ "model_not_found", { "not_found", false } },
	{ "content_filter", { "content_filter", false } },
	{ "content_policy_violation", { "content_filter", false } },
	{ "overloaded_error", { "overloaded", true } },
	{ "invalid_request_error", { "invalid_request", false } },
	{ "server_error", { "server_error", true } },
	/* Anthropic */
	{ "billing_error", { "quota", false } },
	{ "enforced_spend_limit_reached", { "quota", false } },
	{ "permission_error", { "auth", false } },
	{ "not_found_error", { "not_found", false } },
	{ "conflict_error", { "conflict", true } },
	{ "request_too_large", { "invalid_request", false } },
	{ "timeout_error", { "timeout", true } },
	{ "api_error", { "server_error", true } },
	/* OpenAI Responses */
	{ "invalid_prompt", { "invalid_request", false } },
	/* Gemini */
	{ "API_KEY_INVALID", { "auth", false } },
	{ "INVALID_ARGUMENT", { "invalid_request", false } },
	{ "FAILED_PRECONDITION", { "invalid_request", false } },
	{ "UNAUTHENTICATED", { "auth", false } },
	{ "PERMISSION_DENIED", { "auth", false } },
	{ "NOT_FOUND", { "not_found", false } },
	{ "RESOURCE_EXHAUSTED", { "rate_limited", true } },
	{ "INTERNAL", { "server_error", true } },
	{ "UNAVAILABLE", { "overloaded", true } },
	{ "DEADLINE_EXCEEDED", { "timeout", true } },
};

/* Sentences of servers that have no code for a conversation that is too long. */
static const char *const too_long[] = {
	"maximum context length",
	"prompt is too long",
	"exceeds the maximum number of tokens",
};

/* An error that says nothing else about itself. */
static const struct meaning unknown = { "server_error", true };

static struct meaning meaning_of_status(int64_t http)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(by_status); i++) {
		if (http >= by_status[i].first && http <= by_status[i].last)
			return by_status[i].m;
	}
	return unknown;
}

static bool find_code(struct ar_str code, struct meaning *ret)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(by_code); i++) {
		if (!ar_str_is(code, by_code[i].code))
			continue;
		*ret = by_code[i].m;
		return true;
	}
	return false;
}

static bool says_too_long(struct ar_str text)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(too_long); i++) {
		if (text.len > 0 && memmem(text.p, text.len, too_long[i], strlen(too_long[i])))
			return true;
	}
	return false;
}

static bool find_member(struct ar_json object, const char *name, struct meaning *ret)
{
	struct ar_str code;

	return ar_json_str(ar_json_get(object, name), &code) && find_code(code, ret);
}

/* Google's list of details: a reason is better than the status, and it may say how long to wait. */
static bool read_details(struct ar_json details, struct meaning *ret, int64_t *retry_after_ms)
{
	struct ar_str delay;
	bool found = false;

	if (ar_json_type(details) != AR_JSON_ARRAY)
		return false;
	for (struct ar_json_iter it = ar_json_iter(details); ar_json_next(&it);) {
		found = find_member(it.value, "reason", ret) || found;
		if (ar_json_str(ar_json_get(it.value, "retryDelay"), &delay))
			*retry_after_ms = ar_pacing_duration(delay);
	}
	return found;
}

/* Types that come with many statuses and decide only where there is none. */
static bool is_general(struct ar_str type)
{
	return ar_str_is(type, "invalid_request_error") || ar_str_is(type, "api_error") ||
	       ar_str_is(type, "server_error");
}

/* The code, else the sentence (some servers give no code for it), else the type. */
static struct meaning refine(struct ar_json error, struct ar_str message, struct ar_model_result *r)
{
	struct meaning m = r->http ? meaning_of_status(r->http) : unknown;
	struct ar_str type = AR_STR("");
	int64_t status;

	if (ar_json_i64(ar_json_get(error, "code"), &status) && status >= 400 && status <= 599)
		m = meaning_of_status(status);
	if (read_details(ar_json_get(error, "details"), &m, &r->retry_after_ms) ||
	    find_member(error, "code", &m))
		return m;
	if (says_too_long(message))
		return (struct meaning){ "context_length", false };
	find_member(error, "status", &m);
	ar_json_str(ar_json_get(error, "type"), &type);
	if (!r->http || !is_general(type))
		find_code(type, &m);
	return m;
}

static struct ar_str message_of(struct ar_json error, struct ar_str otherwise)
{
	struct ar_str s = AR_STR_NONE;

	if (ar_json_str(error, &s) || ar_json_str(ar_json_get(error, "message"), &s))
		return s;
	return otherwise;
}

static void set(struct ar_model_result *r, enum ar_model_outcome outcome, struct meaning m)
{
	r->outcome = outcome;
	r->category = ar_str_from(m.category);
	r->retryable = m.retryable;
}

void ar_refusal_reject(struct ar_arena *a, struct ar_json_parser *json, int http, struct ar_str body,
		       struct ar_model_result *r)
{
	struct ar_json doc = { 0 }, error;
	struct ar_str message = body;

	if (body.len > 0 && ar_json_parse(json, body, &doc, NULL) != AR_OK)
		doc = (struct ar_json){ 0 };
	/* Without "alt=sse" a list of answers is one, and a refusal is its only element. */
	if (ar_json_type(doc) == AR_JSON_ARRAY)
		doc = ar_json_at(doc, 0);
	error = ar_json_get(doc, "error");
	message = message_of(error, message_of(doc, body));
	r->http = http;
	set(r, AR_MODEL_REJECTED, refine(error, message, r));
	r->payload = ar_arena_str(a, body);
	r->message = ar_arena_fmt(a, "the model server answered %d%s%.*s", http, message.len ? ": " : "",
				  AR_STR_ARG(message));
}

void ar_refusal_fail(struct ar_arena *a, struct ar_json error, struct ar_model_result *r)
{
	struct ar_str message = ar_str_utf8_prefix(message_of(error, AR_STR("no message")), MESSAGE_MAX);
	struct ar_buf payload = { 0 };

	set(r, AR_MODEL_FAILED, refine(error, message, r));
	ar_json_print(error, &payload);
	r->payload = ar_arena_str(a, ar_str_utf8_prefix(ar_buf_str(&payload), MESSAGE_MAX));
	ar_buf_fini(&payload);
	r->message = ar_arena_fmt(a, "the model server reported an error in its answer: %.*s",
				  AR_STR_ARG(message));
}
