/* Who a request comes from, as the transport sees it: the credentials that it came with, its origin for
 * the audit trail, and how a principal goes with a request to another node. Owner: the loop thread. */
#ifndef AR_TRANSPORT_CREDENTIALS_H
#define AR_TRANSPORT_CREDENTIALS_H

#include "auth.h"
#include "buf.h"

struct ar_http_head;
struct ar_http_request;

/* Whether a bearer came with the request; it may still be a bad one. */
bool ar_http_head_has_bearer(const struct ar_http_head *h);

struct ar_credentials ar_http_request_credentials(const struct ar_http_request *req);

/* Where a request came from, for the audit trail. Text lives as long as the request. */
struct ar_call_origin ar_http_request_origin(const struct ar_http_request *req);

/* A principal on its way to another node, which trusts it because it comes from a node of the cluster:
 * header lines. NULL: the operator. */
void ar_principal_write_header(const struct ar_principal *who, const struct ar_call_origin *from,
			       struct ar_buf *out);

/* And there: false when the header is absent or wrong. Text lives in the pool; fills req->forwarded_from. */
AR_MUST_USE bool ar_http_request_read_principal(struct ar_http_request *req, struct ar_principal *ret);

#endif
