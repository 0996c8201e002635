/* The front door: every command of every transport comes in here as a name and a JSON text, and leaves as an HTTP-like status
 * and a JSON text. Decodes and validates by the catalogue, finds the session, hands writes to its inbox and answers
 * reads. Owner: the loop thread. */
#ifndef AR_CONTROL_CONTROL_H
#define AR_CONTROL_CONTROL_H

#include "arena.h"
#include "buf.h"
#include "catalog.h"
#include "follow.h"
#include "json.h"
#include "place.h"

struct ar_control;
struct ar_call;
struct ar_engine;

typedef void ar_call_done_fn(struct ar_call *c);

/* One command on its way. The caller owns it (zeroed), fills the first part, and keeps it until done(). */
struct ar_call {
	enum ar_command command;
	struct ar_str body; /* JSON object; empty counts as {} */
	struct ar_str account; /* who asks; scopes idempotency keys */
	bool is_from_peer; /* another node passed it on: it is answered here or refused, never passed on again */
	ar_call_done_fn *done;

	enum ar_place place; /* result: when not HERE nothing was done, and nothing below but `peer` is set */
	struct ar_str peer; /* PEER: the owner's address; lives as long as the call */
	int http; /* result: 200, 202, or the error's status */
	struct ar_buf reply; /* result: JSON text */

	struct ar_arena arena; /* private from here on */
	struct ar_control *control;
	const void *input; /* struct ar_cmd_<name>_in */
	struct ar_call_work *work;
};

/* placement: NULL when every session is worked on here. */
struct ar_control *ar_control_new(struct ar_engine *engine, struct ar_follow *follow, struct ar_store *store,
				  const struct ar_placement *placement);
void ar_control_free(struct ar_control *c);

/* Exactly one done() per call; it may come before this returns. A call that belongs elsewhere comes back with its place: the caller
 * passes it on, or (after ar_call_fini and zeroing) calls again in a moment. */
void ar_control_call(struct ar_control *c, struct ar_call *call);
void ar_call_fini(struct ar_call *c);

/* Verification of stored sessions, an operation beside the commands: {"sessionId"} or a page {"cursor","limit"}, with "repair" wanted or
 * not, to {"sessions":[{sessionId,status,facts,findings}],"elsewhere","nextCursor"}. `command` and `account` are not looked at; a call
 * is always answered here: sessions that another node works on are counted in `elsewhere`. */
void ar_control_verify(struct ar_control *c, struct ar_call *call);

struct ar_subscribe_call {
	struct ar_str body; /* JSON input of subscribe_events */
	bool is_from_peer;
	enum ar_place place; /* result */
	struct ar_str peer; /* result: PEER, the owner's address, valid until control returns to the loop */
};

/* subscribe_events. A refusal is returned with its catalogue code; code not_owner with `place` when the session is elsewhere: nothing
 * was begun. Otherwise the subscription's callbacks follow (see follow.h), the first of them opened() or ended() (e.g.
 * session_not_found). */
AR_MUST_USE enum ar_status ar_control_subscribe(struct ar_control *c, struct ar_subscribe_call *call,
						struct ar_subscription *s, struct ar_error *err);

/* {"error":{code,message,retryable,next}} for transports that refuse before a call exists. Returns the HTTP status. */
int ar_control_error(uint16_t code, const char *message, struct ar_buf *out);

#endif
