/* The end of a request, as the result of a call. Three things are kept apart: it certainly did not run, it
 * ran and said something, nobody knows. A tool that only reads, or may be run twice, has no third: running it
 * again is harmless. No header that we sent is ever part of a sentence. */
#include "http_answer.h"

#include "base64.h"

#include <string.h>
#include <strings.h>

#define SHOWN_ERROR 4096 /* bytes of a refusal's body */

static bool may_repeat(const struct ar_tool *t)
{
	return t->is_read_only || t->is_idempotent;
}

static bool is_type(struct ar_str type, const char *prefix)
{
	size_t len = strlen(prefix);

	return type.len >= len && strncasecmp(type.p, prefix, len) == 0;
}

static bool is_json(struct ar_str type)
{
	struct ar_str bare;

	(void)ar_str_split(type, ';', &bare);
	return is_type(bare, "application/json") || ar_str_ends(bare, AR_STR("+json"));
}

static void fail(struct ar_tool_result *r, enum ar_tool_outcome outcome, const char *category,
		 const char *advice)
{
	r->outcome = outcome;
	r->category = ar_str_from(category);
	r->advice = ar_str_from(advice);
}

/* ---- no answer ---- */

static void end_unsent(const struct ar_http_end *e, struct ar_arena *a, struct ar_tool_result *r)
{
	fail(r, AR_TOOL_NOT_RUN, "network",
	     "nothing was sent; try again later, or check that the service is up");
	r->retryable = true;
	r->message = ar_arena_fmt(a, "%.*s cannot be reached: %s", AR_STR_ARG(e->tool->origin), e->why);
}

static void end_cut(const struct ar_http_end *e, struct ar_arena *a, struct ar_tool_result *r)
{
	r->message = ar_arena_fmt(a, "the connection to %.*s broke after the request was sent: %s",
				  AR_STR_ARG(e->tool->origin), e->why);
	if (may_repeat(e->tool)) {
		fail(r, AR_TOOL_ERROR, "network", "it may be called again");
		r->retryable = true;
		return;
	}
	fail(r, AR_TOOL_LOST, "network", "find out what it has done before calling it again");
}

static void end_late(const struct ar_http_end *e, struct ar_arena *a, struct ar_tool_result *r)
{
	if (!e->is_sent)
		return end_unsent(e, a, r);
	fail(r, AR_TOOL_TIMEOUT, "timeout",
	     may_repeat(e->tool) ? "it may be called again, or asked for less"
				 : "find out what it has done before calling it again");
	r->retryable = may_repeat(e->tool);
	r->message = ar_arena_fmt(a, "%.*s took too long: %s", AR_STR_ARG(e->tool->origin), e->why);
}

static void end_broken(const struct ar_http_end *e, struct ar_arena *a, struct ar_tool_result *r)
{
	switch (e->end) {
	case AR_TRANSFER_UNREACHABLE:
	case AR_TRANSFER_NO_DESCRIPTORS:
		return end_unsent(e, a, r);
	case AR_TRANSFER_TIMEOUT:
		return end_late(e, a, r);
	case AR_TRANSFER_CANCELLED:
		fail(r, AR_TOOL_CANCELLED, "cancelled", NULL);
		r->message = AR_STR("the call was cancelled");
		return;
	case AR_TRANSFER_TOO_LARGE:
	case AR_TRANSFER_STOPPED:
		fail(r, AR_TOOL_ERROR, "too_large", "ask for less at once; what the service did stands");
		r->message = ar_arena_fmt(a, "%.*s answered with too much: %s", AR_STR_ARG(e->tool->origin),
					  e->why);
		return;
	case AR_TRANSFER_NOT_HTTP:
		fail(r, AR_TOOL_ERROR, "protocol", "the operator must check the address of this tool");
		r->message = ar_arena_fmt(a, "%.*s does not answer in HTTP", AR_STR_ARG(e->tool->origin));
		return;
	default:
		return end_cut(e, a, r);
	}
}

/* ---- a refusal ---- */

static const struct refusal {
	int from, to;
	const char *category, *advice;
	bool is_retryable;
} refusals[] = {
	{ 300, 399, "redirected",
	  "redirects are not followed; the operator must give this tool the address it leads to", false },
	{ 401, 401, "auth", "the operator must check the credentials of this tool", false },
	{ 403, 403, "auth", "the service does not allow this; the operator may have to grant more", false },
	{ 407, 407, "auth", "the operator must check the proxy", false },
	{ 404, 404, "not_found", "check what the arguments name", false },
	{ 410, 410, "not_found", "it no longer exists", false },
	{ 408, 408, "timeout", "try again", true },
	{ 409, 409, "conflict", "look at the current state first, then decide again", false },
	{ 413, 413, "too_large", "send less", false },
	{ 429, 429, "rate_limited", "wait, then try again", true },
	{ 400, 499, "invalid_request", "read what the service says and change the arguments", false },
};

static void end_refused(const struct ar_http_end *e, struct ar_arena *a, struct ar_tool_result *r)
{
	static const struct refusal server = { 500, 599, "service_error",
					       "the service failed; try again later", true };
	const struct refusal *why = &server;

	for (size_t i = 0; i < AR_ARRAY_LEN(refusals) && why == &server; i++) {
		if (e->status >= refusals[i].from && e->status <= refusals[i].to)
			why = &refusals[i];
	}
	fail(r, AR_TOOL_ERROR, why->category, why->advice);
	if (e->status == 401)
		r->credential = e->tool->origin;
	r->retryable = why->is_retryable && (why != &server || may_repeat(e->tool));
	r->message = ar_arena_fmt(a, "%.*s answered with status %d%s%.*s", AR_STR_ARG(e->tool->origin),
				  e->status, e->retry_after.len ? "; retry after " : "",
				  (int)e->retry_after.len, e->retry_after.p ? e->retry_after.p : "");
	if (e->body.len && ar_str_is_utf8(e->body))
		r->text = ar_arena_fmt(a, "%.*s:\n%.*s", AR_STR_ARG(r->message),
				       AR_STR_ARG(ar_str_utf8_prefix(e->body, SHOWN_ERROR)));
}

/* ---- an answer ---- */

static bool is_image(struct ar_str type)
{
	return is_type(type, "image/png") || is_type(type, "image/jpeg") || is_type(type, "image/gif") ||
	       is_type(type, "image/webp");
}

static void read_image(const struct ar_http_end *e, struct ar_arena *a, struct ar_tool_result *r)
{
	struct ar_tool_image *image = ar_arena_alloc(a, sizeof(*image));
	struct ar_str bare;

	(void)ar_str_split(e->type, ';', &bare);
	image->mime = ar_arena_str(a, bare);
	image->data = ar_base64(a, e->body);
	r->images = image;
	r->image_count = 1;
	r->text = ar_arena_fmt(a, "an image (%.*s, %zu bytes)", AR_STR_ARG(bare), e->body.len);
}

static void end_answered(const struct ar_http_end *e, struct ar_json_parser *p, struct ar_arena *a,
			 struct ar_tool_result *r)
{
	struct ar_json v;

	r->outcome = AR_TOOL_OK;
	if (is_image(e->type) && e->body.len)
		return read_image(e, a, r);
	if (!ar_str_is_utf8(e->body)) {
		r->text = ar_arena_fmt(a, "%zu bytes that are no text (%.*s)", e->body.len, (int)e->type.len,
				       e->type.p ? e->type.p : "");
		return;
	}
	r->text = e->body.len ? e->body : ar_arena_fmt(a, "done (status %d, no content)", e->status);
	if (is_json(e->type) && !ar_json_parse(p, e->body, &v, NULL) && ar_json_type(v) == AR_JSON_OBJECT)
		r->structured = e->body;
}

struct ar_tool_result ar_http_result(const struct ar_http_end *e, struct ar_json_parser *p,
				     struct ar_arena *a)
{
	struct ar_tool_result r = { 0 };

	if (e->end != AR_TRANSFER_COMPLETE)
		end_broken(e, a, &r);
	else if (e->status >= 200 && e->status <= 299)
		end_answered(e, p, a, &r);
	else
		end_refused(e, a, &r);
	return r;
}
