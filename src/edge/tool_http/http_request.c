/* The address and the headers of one call. What an argument holds is never trusted: it is encoded, cannot
 * name another host, and cannot climb out of the path that the operator wrote. */
#include "http_request.h"

#include "buf.h"
#include "mem.h"

#include <string.h>
#include <strings.h>

/* ---- the declaration ---- */

static struct ar_str after_scheme(struct ar_str url)
{
	if (url.len >= 7 && strncasecmp(url.p, "http://", 7) == 0)
		return ar_str_sub(url, 7, url.len);
	if (url.len >= 8 && strncasecmp(url.p, "https://", 8) == 0)
		return ar_str_sub(url, 8, url.len);
	return AR_STR_NONE;
}

static struct ar_str authority_of(struct ar_str url)
{
	struct ar_str rest = after_scheme(url);
	size_t len = 0;

	while (len < rest.len && !memchr("/?#", rest.p[len], 3))
		len++;
	return (struct ar_str){ rest.p, len };
}

struct ar_str ar_http_host(struct ar_str url)
{
	struct ar_str host = authority_of(url), rest;
	const char *at;
	size_t port;

	if (ar_str_absent(host))
		return AR_STR("");
	at = memrchr(host.p, '@', host.len);
	if (at)
		host = ar_str_sub(host, (size_t)(at - host.p) + 1, host.len);
	if (host.len && host.p[0] == '[') {
		rest = ar_str_split(host, ']', &host);
		return ar_str_absent(rest) ? AR_STR("") : ar_str_sub(host, 1, host.len);
	}
	for (port = 0; port < host.len && host.p[port] != ':';)
		port++;
	return ar_str_sub(host, 0, port);
}

static bool has_control(struct ar_str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
			return true;
	}
	return false;
}

static bool is_header(struct ar_str line)
{
	struct ar_str name, value = ar_str_split(line, ':', &name);

	if (ar_str_absent(value) || name.len == 0 || has_control(value))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		if ((unsigned char)name.p[i] <= ' ' || (unsigned char)name.p[i] >= 0x7f)
			return false;
	}
	return true;
}

enum ar_status ar_http_plan_check(const struct ar_http_plan *p, struct ar_error *err)
{
	static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE" };
	struct ar_str url = ar_str_from(p->url), authority = authority_of(url);
	bool is_known = false;

	for (size_t i = 0; i < AR_ARRAY_LEN(methods); i++)
		is_known |= strcmp(p->method, methods[i]) == 0;
	if (!is_known)
		return ar_fail(err, AR_E_INVALID, "the method must be GET, POST, PUT, PATCH or DELETE");
	if (ar_str_absent(after_scheme(url)) || ar_http_host(url).len == 0)
		return ar_fail(err, AR_E_INVALID, "the url must begin with http:// or https:// and a host");
	if (memchr(authority.p, '{', authority.len))
		return ar_fail(err, AR_E_INVALID, "the url may have {members} only after the host");
	if (has_control(url) || memchr(url.p, ' ', url.len))
		return ar_fail(err, AR_E_INVALID, "the url must not have spaces or control characters");
	for (size_t i = 0; i < p->header_count; i++) {
		if (!is_header(ar_str_from(p->headers[i])))
			return ar_fail(err, AR_E_INVALID, "header %zu must be 'Name: value' in one line",
				       i + 1);
	}
	return AR_OK;
}

/* ---- the address ---- */

static void add_encoded(struct ar_buf *b, struct ar_str s)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (size_t i = 0; i < s.len; i++) {
		if (s.p[i] && strchr(plain, s.p[i]))
			ar_buf_addc(b, s.p[i]);
		else
			ar_buf_addf(b, "%%%02X", (unsigned char)s.p[i]);
	}
}

/* A string as it is, everything else as JSON. */
static struct ar_str text_of(struct ar_json v, struct ar_buf *scratch)
{
	struct ar_str s;

	if (ar_json_str(v, &s))
		return s;
	ar_buf_clear(scratch);
	ar_json_print(v, scratch);
	return ar_buf_str(scratch);
}

static struct ar_json arg_of(struct ar_json args, struct ar_str name)
{
	for (struct ar_json_iter it = ar_json_iter(args); ar_json_next(&it);) {
		if (ar_str_eq(it.name, name))
			return it.value;
	}
	return (struct ar_json){ 0 };
}

/* The next {member} of a template: what is before it goes to *ret_before, its name to *ret_name (absent:
 * there is none), the rest is returned. */
static struct ar_str next_member(struct ar_str from, struct ar_str *ret_before, struct ar_str *ret_name)
{
	struct ar_str rest = ar_str_split(from, '{', ret_before), after;

	*ret_name = AR_STR_NONE;
	if (ar_str_absent(rest))
		return rest;
	after = ar_str_split(rest, '}', ret_name);
	if (ar_str_absent(after)) { /* a brace that nobody closes is a brace */
		*ret_before = from;
		*ret_name = AR_STR_NONE;
	}
	return after;
}

static bool is_in_url(const char *template, struct ar_str name)
{
	struct ar_str rest = ar_str_from(template), before, member;

	while (!ar_str_absent(rest)) {
		rest = next_member(rest, &before, &member);
		if (!ar_str_absent(member) && ar_str_eq(member, name))
			return true;
	}
	return false;
}

/* An empty one would leave its segment out, a dot would climb: both ask for another place than the operator
 * wrote. */
static enum ar_status add_member(struct ar_buf *url, struct ar_json args, struct ar_str name,
				 struct ar_error *err)
{
	struct ar_json v = arg_of(args, name);
	struct ar_buf scratch = { 0 };
	struct ar_str text, shown = ar_str_utf8_prefix(name, 64);
	enum ar_status status = AR_OK;

	if (!v.doc || ar_json_type(v) == AR_JSON_NULL)
		return ar_fail(err, AR_E_INVALID, "the argument '%.*s' is needed for the address",
			       AR_STR_ARG(shown));
	text = text_of(v, &scratch);
	if (text.len == 0 || ar_str_is(text, ".") || ar_str_is(text, ".."))
		status = ar_fail(err, AR_E_INVALID, "the argument '%.*s' must not be empty, '.' or '..'",
				 AR_STR_ARG(shown));
	else
		add_encoded(url, text);
	ar_buf_fini(&scratch);
	return status;
}

static void add_pair(struct ar_buf *url, bool is_first, struct ar_str name, struct ar_json v)
{
	struct ar_buf scratch = { 0 };

	ar_buf_addc(url, is_first ? '?' : '&');
	add_encoded(url, name);
	ar_buf_addc(url, '=');
	add_encoded(url, text_of(v, &scratch));
	ar_buf_fini(&scratch);
}

/* Arrays repeat their name; null is as good as absent. */
static void add_query(struct ar_buf *url, const char *template, struct ar_json args)
{
	bool is_first = !strchr(template, '?');

	for (struct ar_json_iter it = ar_json_iter(args); ar_json_next(&it);) {
		enum ar_json_type type = ar_json_type(it.value);

		if (is_in_url(template, it.name) || type == AR_JSON_NULL)
			continue;
		if (type != AR_JSON_ARRAY) {
			add_pair(url, is_first, it.name, it.value);
			is_first = false;
			continue;
		}
		for (struct ar_json_iter item = ar_json_iter(it.value); ar_json_next(&item);) {
			add_pair(url, is_first, it.name, item.value);
			is_first = false;
		}
	}
}

enum ar_status ar_http_url(const struct ar_http_plan *p, struct ar_json args, char **ret,
			   struct ar_error *err)
{
	struct ar_str rest, before, name;
	struct ar_buf url = { .cap = 1u << 20 };
	enum ar_status status = AR_OK;

	/* A fragment is for the program that shows a page. */
	(void)ar_str_split(ar_str_from(p->url), '#', &rest);
	while (!ar_str_absent(rest) && !status) {
		rest = next_member(rest, &before, &name);
		ar_buf_adds(&url, before);
		if (!ar_str_absent(name))
			status = add_member(&url, args, name, err);
	}
	if (!status && !p->sends_body)
		add_query(&url, p->url, args);
	ar_buf_addc(&url, '\0');
	if (!status && url.failed)
		status = ar_fail(err, AR_E_LIMIT, "the arguments are too long for an address");
	if (status) {
		ar_buf_fini(&url);
		return status;
	}
	*ret = url.p;
	return AR_OK;
}

/* ---- the headers ---- */

static bool is_declared(const struct ar_http_plan *p, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < p->header_count; i++) {
		if (strncasecmp(p->headers[i], name, len) == 0 && p->headers[i][len] == ':')
			return true;
	}
	return false;
}

static void add_header(struct curl_slist **list, const struct ar_http_plan *p, const char *name,
		       struct ar_str value)
{
	struct ar_buf line = { 0 };

	if (ar_str_absent(value) || has_control(value) || is_declared(p, name))
		return;
	ar_buf_addf(&line, "%s: %.*s", name, AR_STR_ARG(value));
	ar_buf_addc(&line, '\0');
	*list = curl_slist_append(*list, line.p);
	ar_buf_fini(&line);
}

struct curl_slist *ar_http_headers(const struct ar_http_plan *p, const struct ar_tool_call *call)
{
	struct curl_slist *list = NULL;

	for (size_t i = 0; i < p->header_count; i++)
		list = curl_slist_append(list, p->headers[i]);
	if (p->sends_body)
		add_header(&list, p, "Content-Type", AR_STR("application/json"));
	add_header(&list, p, "Accept", AR_STR("application/json, text/*;q=0.9, */*;q=0.5"));
	add_header(&list, p, "User-Agent", AR_STR("agent-runtime/" AR_VERSION));
	/* The same for every try of one call: a service can distinguish a retry from a second call. */
	add_header(&list, p, "Idempotency-Key",
		   ar_str_absent(call->operation_id) ? call->tool_call_id : call->operation_id);
	add_header(&list, p, "X-AgentRuntime-Session", call->session_id);
	add_header(&list, p, "X-AgentRuntime-Turn", call->turn_id);
	add_header(&list, p, "X-AgentRuntime-Tool-Call", call->tool_call_id);
	add_header(&list, p, "traceparent", call->trace_parent);
	/* Without this a long body would wait for a "100 Continue" that many servers never send. */
	return curl_slist_append(list, "Expect:");
}
