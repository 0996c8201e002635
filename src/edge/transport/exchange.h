/* One request and its answer. The carrier has read the request and sends the answer; what happens in between is here,
 * the same for every protocol. Owner: the loop thread. */
#ifndef AR_TRANSPORT_EXCHANGE_H
#define AR_TRANSPORT_EXCHANGE_H

#include "carrier.h"
#include "control.h"
#include "auth.h"
#include "id.h"
#include "list.h"
#include "message.h"
#include "router.h"

struct ar_exchange {
	struct ar_carrier *carrier;
	const struct ar_request *request; /* the carrier's, as long as the exchange */
	struct ar_str content; /* body of the request */
	struct ar_target target;
	const struct ar_command_desc
		*known; /* what is POSTed, if the carrier knows; NULL: the path says it */
	const struct ar_command_desc *command;
	struct ar_str body; /* JSON input of the command */
	uint64_t arrived; /* milliseconds */
	uint64_t began; /* nanoseconds; 0 when nobody is told how long it took */
	uint64_t retry_at;
	struct ar_list settle; /* in server->settling while it waits for an owner */
	struct ar_call call;
	struct ar_buf input; /* JSON made from path and query */
	struct ar_buf text; /* reply that we made ourselves */
	struct ar_reply reply;
	struct ar_auth_request auth;
	struct ar_arena pool; /* of what lives as long as this */
	struct ar_call_origin told; /* by the node that passed it on; text in the arena of the entry */
	char retry_after[12]; /* seconds, where that is known; empty: a moment */
	char as_of[24]; /* of AR_AS_OF_HEADER */
	bool is_let_in; /* the door knows who asks */
	bool is_calling; /* the core, or the door, owes an answer */
	char trace[4 + AR_ID_CORE]; /* an id that was made here; see trace.h */
};

/* Memory of the carrier's, zeroed or reset, which sets carrier->x, request and content. */
void ar_exchange_init(struct ar_exchange *x, struct ar_carrier *c);
void ar_exchange_fini(struct ar_exchange *x);

/* Instead of fini: zeroed again, but that the call's memory is kept for the next one. */
void ar_exchange_reset(struct ar_exchange *x);

/* The head is there: checks where it comes from and what it brings. False: a refusal was sent. */
bool ar_exchange_check(struct ar_exchange *x);

/* The command that a POST to this path is, for the carrier to remember; NULL for everything else, and for streams. */
const struct ar_command_desc *ar_exchange_posted(const struct ar_request *request, struct ar_str path);

/* The request is there: routes it and starts the call or the stream. The answer may be sent before this
 * returns. */
void ar_exchange_run(struct ar_exchange *x);

/* The door has let it in: carrier->who asks. */
void ar_exchange_admitted(struct ar_exchange *x);

/* Hands the body to the verification of sessions; answered as a call is. */
void ar_exchange_verify(struct ar_exchange *x);

/* Puts an act that is no command on record, for who asks; then done(), which answers. */
void ar_exchange_record(struct ar_exchange *x, const char *act, ar_call_done_fn *done);

/* Gives the command to the core, also again after it has said that the session's place is not settled. */
void ar_exchange_start(struct ar_exchange *x);

/* Answers with a text that lives in the exchange. */
void ar_exchange_answer(struct ar_exchange *x, int status, struct ar_str body);

/* Answers with an error of the catalogue under another HTTP status if that is not 0. */
void ar_exchange_refuse(struct ar_exchange *x, uint16_t code, const char *message, int status);

/* More of the body came, `bytes` on top of what makes `len`. False: it is a large one, memory is short, and the request was refused. */
bool ar_exchange_may_grow(struct ar_exchange *x, size_t bytes, size_t len);

/* Refuses a broken request; the connection ends. */
void ar_exchange_fault(struct ar_exchange *x, const struct ar_fault *f);

/* ---- ops.c ---- */

/* Answers a route that is no command. */
void ar_ops_answer(struct ar_exchange *x, enum ar_route_name name);

#endif
