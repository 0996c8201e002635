/* One request, from its head to its reply: everything that belongs to it and is freed with it. The
 * carrier reads it and sends the reply; what happens in between is here, the same for every
 * protocol. Owner: the loop thread. */
#ifndef AR_TRANSPORT_REQUEST_H
#define AR_TRANSPORT_REQUEST_H

#include "admission.h"
#include "carrier.h"
#include "control.h"
#include "id.h"
#include "list.h"
#include "message.h"
#include "router.h"

struct ar_http_request {
	struct ar_carrier *carrier;
	const struct ar_http_head *head; /* the carrier's, as long as the request */
	struct ar_str content; /* its body */
	struct ar_buf *content_buf; /* where that is, if it can go before the request; NULL: it cannot */
	struct ar_target target;
	struct ar_http_route route; /* set by ar_http_request_check(), or by the carrier if it knows */
	struct ar_arena pool; /* of what lives as long as the request */
	struct ar_auth_request auth;
	struct ar_call_origin forwarded_from; /* by the node that passed it on; text in the pool */
	struct ar_str body; /* JSON input of the command */
	struct ar_call call;
	struct ar_buf input; /* JSON made from path and query */
	struct ar_buf text; /* reply that we made ourselves */
	struct ar_reply reply;
	uint64_t arrived; /* milliseconds */
	uint64_t began; /* nanoseconds; 0 when its duration is not reported */
	uint64_t retry_at;
	struct ar_list settle; /* in server->settling while it waits for an owner */
	char retry_after[12]; /* seconds, where that is known; empty: a moment */
	char as_of[24]; /* of AR_AS_OF_HEADER */
	char trace[4 + AR_SESSION_KEY_LEN]; /* an id that was made here; see trace.h */
	bool is_authenticated;
	bool is_admitting; /* inside ar_http_request_admit() */
	bool is_whole; /* its body is there, or there is none */
	bool is_calling; /* the core, or authentication, owes an answer */
};

/* Memory of the carrier's, zeroed or reset, which sets carrier->request, request and content. */
void ar_http_request_init(struct ar_http_request *req, struct ar_carrier *c);
void ar_http_request_fini(struct ar_http_request *req);

/* Instead of fini: zeroed again, but for memory that is kept for the next one. */
void ar_http_request_reset(struct ar_http_request *req);

/* The head is there: checks where it comes from and what it brings, and finds its route.
 * False: a refusal was sent. */
bool ar_http_request_check(struct ar_http_request *req);

/* The route of a head, by the commands of the catalogue; borrows from `path`. */
void ar_http_route_of(const struct ar_http_head *head, struct ar_str path, bool is_peer,
		      struct ar_http_route *ret);

/* Whether it is the question of a browser that comes before a request. */
bool ar_http_request_is_preflight(const struct ar_http_request *req);
void ar_http_request_answer_preflight(struct ar_http_request *req);

/* The head was checked, and its body is still to come: authenticates the caller, so that nothing
 * is gathered for a stranger. True: read the body. False: a refusal was sent, or (is_calling)
 * one is, or carrier->v->admitted() called, later. */
bool ar_http_request_admit(struct ar_http_request *req);

/* The request is whole: authenticates it, unless that was done or is under way, and starts what
 * its route says. The answer may be sent before this returns. */
void ar_http_request_run(struct ar_http_request *req);

/* Starts the command of the route with `body`, for carrier->who; or answers that its caller has to wait. */
void ar_http_request_begin(struct ar_http_request *req);

/* Hands the body to the verification of sessions; answered as a call is. */
void ar_http_request_verify(struct ar_http_request *req);

/* Puts an act that is no command on record, for who asks; then done(), which answers. */
void ar_http_request_record(struct ar_http_request *req, const char *act, ar_call_done_fn *done);

/* Gives the command to the core, also again after it has said that the session's place is not settled. */
void ar_http_request_start(struct ar_http_request *req);

/* Answers with a text that lives in the request. */
void ar_http_request_answer(struct ar_http_request *req, int status, struct ar_str body);

/* Answers with an error of the catalogue under another HTTP status if that is not 0. */
void ar_http_request_refuse(struct ar_http_request *req, uint16_t code, const char *message, int status);

/* More of the body came, `bytes` on top of what makes `len`. False: it is a large one, memory is short,
 * and the request was refused. */
bool ar_http_request_may_grow(struct ar_http_request *req, size_t bytes, size_t len);

/* Refuses a broken request; the connection ends. */
void ar_http_request_fault(struct ar_http_request *req, const struct ar_fault *f);

/* ---- ops.c ---- */

/* Answers a route that is no command, if the caller may ask for it. */
void ar_ops_answer(struct ar_http_request *req);

#endif
