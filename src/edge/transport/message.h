/* A request as every protocol hands it on, and the answer that goes back: what a request looks at, and
 * nothing of how the bytes are framed. Pure. */
#ifndef AR_TRANSPORT_MESSAGE_H
#define AR_TRANSPORT_MESSAGE_H

#include "str.h"

/* Why a request is refused: the HTTP status and a sentence. */
struct ar_fault {
	int status;
	const char *why;
};

/* Who asked, when a node passes a request on. */
#define AR_PRINCIPAL_HEADER "Agentruntime-Principal"

/* Newest fact of the session when its event stream began: what the owner tells the node
 * that passes the stream on. */
#define AR_AS_OF_HEADER "Agentruntime-As-Of"

/* Borrowed from the bytes that were read; header values are trimmed, absent when the header is. */
struct ar_http_head {
	struct ar_str method;
	struct ar_str target;
	struct ar_str host; /* Host, or :authority */
	struct ar_str origin;
	struct ar_str fetch_site; /* Sec-Fetch-Site */
	struct ar_str authorization;
	struct ar_str content_type;
	struct ar_str last_event_id;
	struct ar_str idempotency_key;
	struct ar_str if_none_match;
	struct ar_str asked_method; /* Access-Control-Request-Method */
	struct ar_str principal; /* of AR_PRINCIPAL_HEADER; only believed from a node of the cluster */
	struct ar_str request_id; /* X-Request-Id, as it came */
	struct ar_str trace_parent; /* traceparent, as it came */
	struct ar_str accept;
	struct ar_str upgrade; /* the protocols that are offered; only looked at when is_upgrade */
	struct ar_str ws_key, ws_version, ws_protocol; /* Sec-WebSocket-... */
	struct ar_str webhook_id, webhook_timestamp, webhook_signature; /* of Standard Webhooks */
	struct ar_str hub_signature, hub_delivery; /* X-Hub-Signature-256, X-GitHub-Delivery */
	struct ar_str gitlab_token; /* X-Gitlab-Token */
	struct ar_str a2a_token; /* X-A2A-Notification-Token */
	struct ar_str a2a_version, a2a_extensions, x_a2a_extensions; /* the last of A2A 0.3 */
	bool is_upgrade; /* the connection may become another protocol's */
};

/* Where the value of a header belongs; NULL for one that means nothing here. Case does not count. */
struct ar_str *ar_http_head_slot(struct ar_http_head *r, struct ar_str name);

/* Equality of header words: case does not count. */
bool ar_is_word(struct ar_str s, const char *word);

/* The next item of a list with commas between, without the blanks around it. False: there is none. */
bool ar_header_next(struct ar_str *list, struct ar_str *ret_item);

/* Whether the word is in such a list; what stands behind a `;` in an item does not count. */
bool ar_header_has_word(struct ar_str list, const char *word);

/* Whether If-None-Match has the tag: `*`, or a list of tags; a weak one is as good here. */
bool ar_header_has_tag(struct ar_str list, struct ar_str tag);

#define AR_REPLY_HEADERS 8

struct ar_header {
	const char *name; /* as HTTP/1 writes it */
	struct ar_str value; /* lives in the request or longer, at most a few hundred bytes */
};

struct ar_reply {
	int status;
	const char *type; /* of the content; NULL: application/json */
	struct ar_str body; /* lives in the request */
	struct ar_header headers[AR_REPLY_HEADERS]; /* beside those that every reply has */
	size_t header_count;
	const char *cache; /* Cache-Control; NULL: no-store */
	bool is_close; /* the connection is of no further use */
};

/* Over the count that fits it is a bug. */
void ar_reply_add(struct ar_reply *r, const char *name, struct ar_str value);

#endif
