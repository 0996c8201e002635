/* Who a request comes from, and whether it is let in: what the transport shows to the door (port/door.h), what it remembers of the answer,
 * and how a principal goes with a request to another node. Every protocol comes through here. Owner: the loop thread. */
#ifndef AR_TRANSPORT_ENTRY_H
#define AR_TRANSPORT_ENTRY_H

#include "buf.h"
#include "door.h"
#include "list.h"

struct ar_carrier;
struct ar_exchange;
struct ar_http_server;
struct ar_request;

/* Somebody who was let in, for as long as their request, stream or connection lasts. The operator needs none. */
struct ar_visit {
	struct ar_principal who; /* its text is behind this struct */
	struct ar_http_server *server;
	struct ar_list node; /* in server->visits while it is watched */
	void (*expired)(
		struct ar_visit *v); /* what was shown is not good any more: end what is open. May free it. */
	void *owner;
	enum ar_pass pass;
	bool is_inside; /* entered, and not left yet */
};

/* NULL for the operator, who is never limited or shut out. */
struct ar_visit *ar_visit_new(struct ar_http_server *s, const struct ar_principal *who);
void ar_visit_free(struct ar_visit *v); /* leaves first; v may be NULL */

/* A command or stream begins and ends; v may be NULL. */
AR_MUST_USE enum ar_status ar_visit_enter(struct ar_visit *v, enum ar_pass pass, uint32_t *ret_retry_ms,
					  struct ar_error *err);
void ar_visit_leave(struct ar_visit *v);

/* From now on the door is asked again every second whether v is still good; until it leaves or is freed. */
void ar_visit_watch(struct ar_visit *v, void (*expired)(struct ar_visit *v), void *owner);
void ar_visits_check(struct ar_http_server *s);

/* Whether a bearer came with the request; it may still be a bad one. */
bool ar_entry_has_bearer(const struct ar_request *r);

/* Shows the door what came with the request; ar_exchange_admitted() follows, or a refusal is sent. */
void ar_entry_admit(struct ar_exchange *x);

/* Lets the command in, or answers that it has to wait. */
bool ar_entry_enter(struct ar_exchange *x, enum ar_pass pass);

/* What is left of the visit on a carrier. */
void ar_entry_over(struct ar_carrier *c);

/* A principal on its way to another node, which trusts it because it comes from a node of the cluster: header lines. NULL: the
 * operator. */
void ar_entry_write_header(const struct ar_principal *who, const struct ar_call_origin *from,
			   struct ar_buf *out);

/* Where a request came from, for the audit trail. Text lives as long as the exchange. */
struct ar_call_origin ar_entry_origin(const struct ar_exchange *x);

#endif
