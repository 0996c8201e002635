/* See card_route.h. */
#include "a2a/card_route.h"

#include "published.h"
#include "request.h"
#include "server.h"

#define CACHE "public, max-age=300"

static const struct ar_a2a_agent *agent_of(const struct ar_http_request *req)
{
	const struct ar_a2a_published *p = req->carrier->server->ops.a2a;

	if (req->route.name == AR_ROUTE_AGENT_CARD)
		return p->standard;
	return ar_a2a_agent_find(p, req->route.params[0].value);
}

void ar_a2a_card_answer(struct ar_http_request *req)
{
	const struct ar_a2a_published *p = req->carrier->server->ops.a2a;
	const struct ar_a2a_agent *agent = agent_of(req);
	struct ar_a2a_card card = { 0 };

	if (!agent) {
		ar_http_request_refuse(req, AR_ERR_NOT_FOUND, "this server publishes no agent of that name",
				       0);
		return;
	}
	p->card(p->arg,
		&(struct ar_a2a_card_ask){ .agent = agent,
					   .is_pure = ar_str_is(req->head->a2a_version, "1.0") },
		&req->pool, &card);
	req->reply.cache = CACHE;
	ar_reply_add(&req->reply, "ETag", card.etag);
	ar_reply_add(&req->reply, "Last-Modified", card.modified);
	ar_reply_add(&req->reply, "Vary", AR_STR("A2A-Version"));
	if (ar_header_has_tag(req->head->if_none_match, card.etag))
		ar_http_request_answer(req, 304, AR_STR(""));
	else
		ar_http_request_answer(req, 200, card.body);
}
