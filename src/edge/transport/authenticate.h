/* Who a request comes from, and whether it is let in: what the transport shows to the door (port/auth.h), what it remembers of the answer,
 * and how a principal goes with a request to another node. Every protocol comes through here. Owner: the loop thread. */
#ifndef AR_TRANSPORT_AUTHENTICATE_H
#define AR_TRANSPORT_AUTHENTICATE_H

#include "buf.h"
#include "auth.h"
#include "list.h"

struct ar_carrier;
struct ar_exchange;
struct ar_http_server;
struct ar_request;

/* Somebody who was let in, for as long as their request, stream or connection lasts. The operator needs none. */
struct ar_http_admission {
	struct ar_principal who; /* its text is behind this struct */
	struct ar_http_server *server;
	struct ar_list node; /* in server->admissions while it is watched */
	void (*expired)(struct ar_http_admission
				*v); /* what was shown is not good any more: end what is open. May free it. */
	void *owner;
	enum ar_auth_slot slot;
	bool is_acquired; /* entered, and not left yet */
};

/* NULL for the operator, who is never limited or shut out. */
struct ar_http_admission *ar_http_admission_new(struct ar_http_server *s, const struct ar_principal *who);
void ar_http_admission_free(struct ar_http_admission *v); /* leaves first; v may be NULL */

/* A command or stream begins and ends; v may be NULL. */
AR_MUST_USE enum ar_status ar_http_admission_acquire(struct ar_http_admission *v, enum ar_auth_slot slot,
						     uint32_t *ret_retry_ms, struct ar_error *err);
void ar_http_admission_release(struct ar_http_admission *v);

/* From now on the door is asked again every second whether v is still good; until it leaves or is freed. */
void ar_http_admission_watch(struct ar_http_admission *v, void (*expired)(struct ar_http_admission *v),
			     void *owner);
void ar_http_admissions_check(struct ar_http_server *s);

/* Whether a bearer came with the request; it may still be a bad one. */
bool ar_request_has_bearer(const struct ar_request *r);

/* Shows the door what came with the request; ar_exchange_admitted() follows, or a refusal is sent. */
void ar_request_authenticate(struct ar_exchange *x);

/* Lets the command in, or answers that it has to wait. */
bool ar_request_acquire(struct ar_exchange *x, enum ar_auth_slot slot);

/* What is left of the admission on a carrier. */
void ar_carrier_drop_admission(struct ar_carrier *c);

/* A principal on its way to another node, which trusts it because it comes from a node of the cluster: header lines. NULL: the
 * operator. */
void ar_principal_write_header(const struct ar_principal *who, const struct ar_call_origin *from,
			       struct ar_buf *out);

/* Where a request came from, for the audit trail. Text lives as long as the exchange. */
struct ar_call_origin ar_request_origin(const struct ar_exchange *x);

#endif
