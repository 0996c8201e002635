/* One request of A2A on its way to an answer or a stream: it asks commands of the catalogue, as who sent it,
 * one after the other, follows the facts of one task, and writes what they mean in A2A. It hangs on the
 * carrier of the request, as an event stream does. Owner: the loop thread. */
#ifndef AR_TRANSPORT_A2A_EXCHANGE_H
#define AR_TRANSPORT_A2A_EXCHANGE_H

#include "a2a_message.h"
#include "a2a_task.h"
#include "list.h"
#include "request.h"
#include "v03.h"

struct ar_a2a_agent;
struct ar_a2a_published;
struct ar_local;
struct ar_a2a_exchange;
struct ar_a2a_list;

enum ar_a2a_op {
	AR_A2A_OP_NONE,
	AR_A2A_OP_SEND,
	AR_A2A_OP_STREAM,
	AR_A2A_OP_GET,
	AR_A2A_OP_LIST,
	AR_A2A_OP_CANCEL,
	AR_A2A_OP_SUBSCRIBE,
	AR_A2A_OP_PUSH_SET, /* of a push configuration */
	AR_A2A_OP_PUSH_GET,
	AR_A2A_OP_PUSH_LIST,
	AR_A2A_OP_PUSH_DELETE,
	AR_A2A_OP_EXTENDED_CARD,
};

/* A command was answered; `json` is its result, or {"error"} with is_good false. */
typedef void ar_a2a_next_fn(struct ar_a2a_exchange *x, bool is_good, struct ar_json json);

struct ar_a2a_exchange {
	struct ar_carrier *carrier;
	struct ar_http_server *server;
	const struct ar_a2a_published *published;
	const struct ar_a2a_agent *agent;
	struct ar_arena arena;
	struct ar_arena facts; /* of the task that is folded */
	struct ar_list node; /* in server->a2a */
	struct ar_list due; /* in server->a2a_due while there is something to do */

	enum ar_a2a_op op;
	enum ar_a2a_version version; /* that the request names; none names 0.3 */
	struct ar_str old; /* method of 1.0 that a request of 0.3 means; absent: it is one of 1.0 */
	bool is_rpc; /* JSON-RPC; else HTTP+JSON */
	bool is_v1_type; /* the client names application/a2a+json */
	bool has_cursors; /* it asked for the extension */
	struct ar_str id; /* of the JSON-RPC request, JSON text */
	struct ar_str channel, key; /* of the caller, and of the message */
	struct ar_a2a_send send;
	struct ar_str session; /* of the context of a message */
	struct ar_a2a_push push; /* that an operation about one names */
	struct ar_principal inner; /* the caller, for commands that only the runtime may send */
	bool is_push_set; /* the one that came with a message */
	int status; /* of an answer over HTTP+JSON; 0: 200 */
	struct ar_a2a_list *list;
	uint64_t after; /* facts up to here are known to the client; 0: none */
	uint64_t until; /* milliseconds: an answer is due, whatever the task does */
	int64_t history;

	struct ar_a2a_task task;
	uint64_t as_of; /* facts up to here were read */
	ar_a2a_next_fn *loaded; /* what comes when the task is read */

	struct ar_local *call; /* the command that is asked */
	ar_a2a_next_fn *next;
	struct ar_buf got;
	bool has_got, is_got_good;

	struct ar_local *following; /* the facts of the task from now on */
	struct ar_buf events; /* that came and are not folded: lines of JSON */
	bool is_following_over, may_follow_again;
	unsigned tries; /* to follow, since the last fact */

	unsigned owed; /* changes that are written when the content of an artifact is there */
	bool is_streaming, is_busy, is_ending, is_over;
	bool is_task_owed; /* the first event of the stream is not written yet */
};

/* ---- exchange.c ---- */

/* Asks a command; `params` is JSON. `next` is called from the flush, never before this returns. */
void ar_a2a_ask(struct ar_a2a_exchange *x, const char *method, struct ar_str params, ar_a2a_next_fn *next);

/* The same for a command that is for the runtime alone: the caller was found to be allowed what it does. */
void ar_a2a_ask_inner(struct ar_a2a_exchange *x, const char *method, struct ar_str params,
		      ar_a2a_next_fn *next);

/* Answers; x is gone afterwards. `result` is what the binding HTTP+JSON answers with. */
void ar_a2a_answer(struct ar_a2a_exchange *x, struct ar_str result);
void ar_a2a_refuse(struct ar_a2a_exchange *x, const struct ar_a2a_failure *f);
void ar_a2a_refuse_with(struct ar_a2a_exchange *x, enum ar_a2a_code code, const char *why);

/* The refusal of a command, in the words of A2A. */
void ar_a2a_refuse_inner(struct ar_a2a_exchange *x, struct ar_json json);

/* ---- dialect.c ---- */

/* A method of 0.3 becomes that of 1.0, and its params: they are read by the server's parser again. */
bool ar_a2a_read_old(struct ar_a2a_exchange *x, struct ar_str *method, struct ar_json *params);

/* A result or an event of 1.0 in the version of the request; where that is 0.3, written into `room`. */
struct ar_str ar_a2a_as_asked(struct ar_a2a_exchange *x, struct ar_str json, struct ar_buf *room);

/* ---- follow.c ---- */

/* Reads all facts of x->task.id, then x->loaded. */
void ar_a2a_load(struct ar_a2a_exchange *x, ar_a2a_next_fn *loaded);

/* The task is loaded: answers with it now, when it is settled, or streams it. */
void ar_a2a_follow(struct ar_a2a_exchange *x);

/* Whether the task is one of this caller's with this agent. */
bool ar_a2a_is_own(const struct ar_a2a_exchange *x);

/* The first event of a stream, and what comes after it. */
void ar_a2a_begin_events(struct ar_a2a_exchange *x);

/* Folds what came; from the flush. */
void ar_a2a_take_events(struct ar_a2a_exchange *x);
void ar_a2a_end_stream(struct ar_a2a_exchange *x);

/* Answers with the task as it is. */
void ar_a2a_answer_task(struct ar_a2a_exchange *x);

/* ---- send.c ---- */

void ar_a2a_send(struct ar_a2a_exchange *x);
void ar_a2a_cancel(struct ar_a2a_exchange *x);

/* ---- push.c ---- */

static inline bool ar_a2a_is_push(enum ar_a2a_op op)
{
	return op >= AR_A2A_OP_PUSH_SET && op <= AR_A2A_OP_PUSH_DELETE;
}

bool ar_a2a_read_push_request(struct ar_a2a_exchange *x, struct ar_json params, struct ar_a2a_failure *f);
void ar_a2a_push(struct ar_a2a_exchange *x);

/* Whether a configuration can be taken; false: it was refused, and x is gone. */
bool ar_a2a_push_check(struct ar_a2a_exchange *x, const struct ar_a2a_push *p);

/* What becomes of the task after `begin` goes there from now on. */
void ar_a2a_push_set(struct ar_a2a_exchange *x, const struct ar_a2a_push *p, uint64_t begin,
		     ar_a2a_next_fn *next);

/* ---- list.c ---- */

void ar_a2a_list_tasks(struct ar_a2a_exchange *x);
void ar_a2a_list_free(struct ar_a2a_exchange *x);
bool ar_a2a_list_needs_content(const struct ar_a2a_list *l);
bool ar_a2a_read_list_request(struct ar_a2a_exchange *x, struct ar_json params, struct ar_a2a_failure *f);

#endif
