/* Tables from status codes and error codes to what the runtime knows: category and whether to try again. Pure. */
#include "openai_error.h"

#include <curl/curl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_MIN 6
#define DAY_MS (24.0 * 3600 * 1000)
#define CODE_TEXT 64
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

/* Values of error.code or error.type that say more than the status does. */
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

static bool contains(struct ar_str text, const char *part)
{
	return text.len > 0 && memmem(text.p, text.len, part, strlen(part));
}

/* The code, else the sentence (some servers give no code for it), else the type. A type as general as
 * "invalid_request_error" comes with many statuses and decides only where there is none. */
static struct meaning refine(struct ar_json error, struct ar_str message, int http)
{
	struct meaning m = http ? meaning_of_status(http) : unknown;
	struct ar_str code = AR_STR_NONE;
	int64_t status;

	if (ar_json_i64(ar_json_get(error, "code"), &status) && status >= 400 && status <= 599)
		m = meaning_of_status(status);
	if (ar_json_str(ar_json_get(error, "code"), &code) && find_code(code, &m))
		return m;
	if (contains(message, "maximum context length"))
		return (struct meaning){ "context_length", false };
	if (!ar_json_str(ar_json_get(error, "type"), &code))
		return m;
	if (!http || !ar_str_is(code, "invalid_request_error"))
		find_code(code, &m);
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

void ar_openai_reject(struct ar_arena *a, struct ar_json_parser *json, int http, struct ar_str body,
		      struct ar_model_result *r)
{
	struct ar_json doc = { 0 }, error;
	struct ar_str message = body;

	if (body.len > 0 && ar_json_parse(json, body, &doc, NULL) != AR_OK)
		doc = (struct ar_json){ 0 };
	error = ar_json_get(doc, "error");
	message = message_of(error, message_of(doc, body));
	set(r, AR_MODEL_REJECTED, refine(error, message, http));
	r->http = http;
	r->message = ar_arena_fmt(a, "the model server answered %d%s%.*s", http, message.len ? ": " : "",
				  AR_STR_ARG(message));
}

void ar_openai_fail(struct ar_arena *a, struct ar_json error, struct ar_model_result *r)
{
	struct ar_str message = ar_str_utf8_prefix(message_of(error, AR_STR("no message")), MESSAGE_MAX);

	set(r, AR_MODEL_FAILED, refine(error, message, 0));
	r->message = ar_arena_fmt(a, "the model server reported an error in its answer: %.*s",
				  AR_STR_ARG(message));
}

/* A whole decimal number; strtod alone would take hex, signs and trailing text. */
static bool to_number(struct ar_str s, double *ret)
{
	char text[CODE_TEXT];

	if (s.len == 0 || s.len >= sizeof(text))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if ((s.p[i] < '0' || s.p[i] > '9') && s.p[i] != '.')
			return false;
		text[i] = s.p[i];
	}
	text[s.len] = '\0';
	*ret = strtod(text, NULL);
	return isfinite(*ret);
}

static int64_t clamp_ms(double ms)
{
	if (ms <= 0)
		return 0;
	return (int64_t)(ms < DAY_MS ? ms : DAY_MS);
}

int64_t ar_openai_retry_after(struct ar_str in_ms, struct ar_str after, ar_usec wall_now)
{
	char text[CODE_TEXT];
	double n;
	time_t at;

	if (to_number(in_ms, &n))
		return clamp_ms(n);
	if (to_number(after, &n))
		return clamp_ms(n * 1000);
	if (after.len == 0 || after.len >= sizeof(text))
		return 0;
	memcpy(text, after.p, after.len);
	text[after.len] = '\0';
	at = curl_getdate(text, NULL);
	return at < 0 ? 0 : clamp_ms((double)at * 1000 - (double)wall_now / 1000);
}

struct ar_str ar_openai_mask(struct ar_arena *a, struct ar_str text, struct ar_str secret)
{
	struct ar_buf out = { 0 };
	struct ar_str ret;

	/* Masking comes before cutting: half a secret would not be found. */
	while (secret.len >= SECRET_MIN && text.len >= secret.len) {
		const char *hit = memmem(text.p, text.len, secret.p, secret.len);

		if (!hit)
			break;
		ar_buf_add(&out, text.p, (size_t)(hit - text.p));
		ar_buf_addz(&out, "***");
		text = ar_str_sub(text, (size_t)(hit - text.p) + secret.len, text.len);
	}
	ar_buf_adds(&out, text);
	ret = ar_arena_str(a, ar_str_utf8_prefix(ar_buf_str(&out), AR_OPENAI_EXCERPT));
	ar_buf_fini(&out);
	return ret;
}
