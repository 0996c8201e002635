/* Inside edge/a2a: the peer, and a run on its way. Files: client.c (runs and their steps), exchange.c (one
 * request), answer.c (what came). Owner: the loop thread. */
#ifndef AR_EDGE_A2A_CLIENT_PRIV_H
#define AR_EDGE_A2A_CLIENT_PRIV_H

#include "peer_card.h"
#include "a2a_client.h"
#include "hash.h"
#include "list.h"
#include "request.h"
#include "sse_reader.h"
#include "transfer.h"

struct ar_a2a_client {
	struct ar_peer base;
	uv_loop_t *loop;
	struct ar_a2a_options o;
	struct ar_transfer_pool *pool; /* these three: NULL before the first run */
	struct ar_json_parser *parser, *second;
	struct ar_jwks *keys; /* NULL: none is pinned */
	struct ar_list calls;
	int64_t last_id; /* of JSON-RPC */
	bool is_closing;

	/* The card that is used; text in the arena. */
	struct ar_arena card_arena;
	struct ar_peer_card card;
	struct ar_a2a_interface interface;
	ar_usec card_until; /* monotonic; 0: there is none */
};

/* What the last exchange of a call came to. */
struct ar_a2a_outcome {
	enum ar_peer_error error;
	int http;
	int32_t code;
	int64_t retry_after_ms;
	struct ar_str reason;
	bool may_repeat; /* the same can be asked again: it reads only, and the peer was not there */
};

struct ar_a2a_call {
	struct ar_list node;
	struct ar_a2a_client *client;
	struct ar_peer_run *run; /* NULL: it was told its end */
	struct ar_a2a_request request;
	struct ar_transfer transfer;
	uv_timer_t timer;
	struct ar_arena asked, came; /* text of the request; of the answer, until the next event or step */
	struct ar_a2a_reading reading;
	struct ar_buf body; /* of an answer that is no stream */
	struct ar_sse_reader sse;
	struct ar_a2a_outcome outcome;
	struct ar_peer_update *tasks; /* of the answer, in `came` */
	size_t task_count;
	struct ar_str next_page;
	struct ar_peer_update last; /* of FOLLOW: its newest state, text in `kept` */
	struct ar_arena kept;
	struct ar_hash seen; /* digest of the last answer to GET that was told */
	uint64_t events; /* of this run */
	unsigned failures; /* in a row */
	bool is_running; /* the transfer */
	bool is_sent, is_cancelled, is_ended, is_stream, is_head_read, polls, got_event, has_card;
	/* Of FOLLOW by push: nothing is asked until the timer is over; something was posted since the last
	 * question was asked, or before, so that it was asked for that; when it was answered. */
	bool is_waiting, is_woken, was_woken;
	ar_usec asked_at;
};

/* exchange.c: sends call->request; ar_a2a_call_ended() follows with call->outcome. */
void ar_a2a_exchange_start(struct ar_a2a_call *c);

/* client.c */
void ar_a2a_call_ended(struct ar_a2a_call *c);
/* One update of the stream. False: nothing more is wanted of it. */
bool ar_a2a_call_update(struct ar_a2a_call *c, const struct ar_peer_update *u);

/* answer.c: reads what came into the call. */
void ar_a2a_answer_whole(struct ar_a2a_call *c);
bool ar_a2a_answer_event(struct ar_a2a_call *c, struct ar_str text); /* false: the stream ends here */
enum ar_peer_error ar_a2a_answer_fail(struct ar_a2a_call *c, enum ar_peer_error error, const char *why);

static inline ar_usec ar_a2a_now(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

#endif
