/* The headers that mean something here, by name, and the few things that all protocols do alike with
 * requests and answers. Pure functions, any thread. */
#include "message.h"
#include "status.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define HEADER(name, member) \
	{ \
		name, sizeof(name) - 1, offsetof(struct ar_http_head, member) \
	}

/* Each may come once. */
static const struct {
	const char *name;
	size_t len;
	size_t at;
} known[] = {
	HEADER("host", host),
	HEADER("origin", origin),
	HEADER("sec-fetch-site", fetch_site),
	HEADER("authorization", authorization),
	HEADER("content-type", content_type),
	HEADER("last-event-id", last_event_id),
	HEADER("idempotency-key", idempotency_key),
	HEADER("if-none-match", if_none_match),
	HEADER("access-control-request-method", asked_method),
	HEADER(AR_PRINCIPAL_HEADER, principal),
	HEADER("x-request-id", request_id),
	HEADER("traceparent", trace_parent),
	HEADER("accept", accept),
	HEADER("upgrade", upgrade),
	HEADER("sec-websocket-key", ws_key),
	HEADER("sec-websocket-version", ws_version),
	HEADER("sec-websocket-protocol", ws_protocol),
	HEADER("webhook-id", webhook_id),
	HEADER("webhook-timestamp", webhook_timestamp),
	HEADER("webhook-signature", webhook_signature),
	HEADER("x-hub-signature-256", hub_signature),
	HEADER("x-github-delivery", hub_delivery),
	HEADER("x-gitlab-token", gitlab_token),
	HEADER("x-a2a-notification-token", a2a_token),
	HEADER("a2a-version", a2a_version),
	HEADER("a2a-extensions", a2a_extensions),
	HEADER("x-a2a-extensions", x_a2a_extensions),
};

bool ar_is_word(struct ar_str s, const char *word)
{
	size_t len = strlen(word);

	return s.len == len && strncasecmp(s.p, word, len) == 0;
}

bool ar_header_next(struct ar_str *list, struct ar_str *ret_item)
{
	if (ar_str_empty(*list))
		return false;
	*list = ar_str_split(*list, ',', ret_item);
	*ret_item = ar_str_trim(*ret_item, " \t");
	return true;
}

bool ar_header_has_word(struct ar_str list, const char *word)
{
	struct ar_str item, name;

	while (ar_header_next(&list, &item)) {
		ar_str_split(item, ';', &name);
		if (ar_is_word(ar_str_trim(name, " \t"), word))
			return true;
	}
	return false;
}

bool ar_header_has_tag(struct ar_str list, struct ar_str tag)
{
	struct ar_str one;

	while (ar_header_next(&list, &one)) {
		if (ar_str_starts(one, AR_STR("W/")))
			one = ar_str_sub(one, 2, one.len);
		if (ar_str_is(one, "*") || ar_str_eq(one, tag))
			return true;
	}
	return false;
}

struct ar_str *ar_http_head_slot(struct ar_http_head *r, struct ar_str name)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(known); i++) {
		if (name.len == known[i].len && strncasecmp(name.p, known[i].name, name.len) == 0)
			return (struct ar_str *)(void *)((char *)r + known[i].at);
	}
	return NULL;
}

void ar_reply_add(struct ar_reply *r, const char *name, struct ar_str value)
{
	AR_ASSERT(r->header_count < AR_REPLY_HEADERS);
	r->headers[r->header_count++] = (struct ar_header){ name, value };
}
