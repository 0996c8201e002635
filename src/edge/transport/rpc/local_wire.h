/* The wire of one call from inside the process: no bytes, no descriptor. A call is answered once;
 * subscribe_events opens a stream instead. As over every other wire, a session of another node is asked
 * for there. Owner: the loop thread. */
#ifndef AR_TRANSPORT_RPC_LOCAL_WIRE_H
#define AR_TRANSPORT_RPC_LOCAL_WIRE_H

#include "status.h"
#include "str.h"

struct ar_http_server;
struct ar_local;
struct ar_principal;

/* Text is valid until the callback returns. None of them may call into the wire. */
struct ar_local_vtable {
	void (*result)(void *arg, struct ar_str json);
	void (*failed)(void *arg, struct ar_str json); /* {"error":{...}} */
	void (*event)(void *arg, struct ar_str cursor, struct ar_str json);
	void (*ended)(void *arg, struct ar_str json); /* {"error":{...}}; absent: as asked */
	bool (*takes_more)(void *arg); /* whether events are wanted now */
};

/* `who` lives until ar_local_close(); NULL: the operator. */
struct ar_local *ar_local_open(struct ar_http_server *s, const struct ar_local_vtable *v, void *arg,
			       const struct ar_principal *who);

/* Once. params: a JSON object. It may be answered before this returns. */
void ar_local_ask(struct ar_local *l, struct ar_str method, struct ar_str params);

/* Events are wanted again. */
void ar_local_drained(struct ar_local *l);

/* Nothing is called any more. The memory goes when the core owes no answer. */
void ar_local_close(struct ar_local *l);

#endif
