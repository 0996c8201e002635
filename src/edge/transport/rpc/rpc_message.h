/* JSON-RPC 2.0 as text: a message taken apart into requests, and what is said back written down. Knows no
 * connection and calls nothing.
 *
 * An error is always {code, message, data}: the number that the catalogue gives the code, its sentence, and
 * the same error object that HTTP answers with. Pure functions over their arguments. */
#ifndef AR_TRANSPORT_RPC_MESSAGE_H
#define AR_TRANSPORT_RPC_MESSAGE_H

#include "arena.h"
#include "json.h"

#define AR_RPC_BATCH 64 /* requests of one message */
#define AR_RPC_ID_BYTES 256 /* of a request's id as JSON text */

/* One request of a message; text is in the arena that the message was read into. */
struct ar_rpc_request {
	struct ar_str id; /* JSON text; absent: nobody waits for an answer */
	struct ar_str method;
	struct ar_str params; /* JSON text of an object */
	uint16_t code; /* not 0: it is no request, for that reason */
	const char *why;
};

struct ar_rpc_message {
	struct ar_rpc_request *requests;
	size_t count; /* at least one */
	bool is_batch; /* the answers go together, in an array */
};

/* Never fails: a text that is no message at all becomes one refused request with the id null. */
void ar_rpc_message_read(struct ar_json_parser *parser, struct ar_str text, struct ar_arena *a,
			 struct ar_rpc_message *ret);

/* {"jsonrpc","id","result"}; `json` as it is. */
void ar_rpc_write_result(struct ar_buf *out, struct ar_str id, struct ar_str json);

/* {"jsonrpc","id","error"} for a code of the catalogue. */
void ar_rpc_write_error(struct ar_buf *out, struct ar_str id, uint16_t code, const char *message);

/* The error object alone: {"code","message","retryable","next"}. */
void ar_rpc_write_error_object(struct ar_buf *out, uint16_t code, const char *message);

/* The answer that HTTP would give, as a result or as an error. */
void ar_rpc_write_reply(struct ar_json_parser *parser, struct ar_buf *out, struct ar_str id, int http,
			struct ar_str body);

/* Notifications. `error` is the JSON of an error object, absent when there was none. */
void ar_rpc_write_event(struct ar_buf *out, struct ar_str subscription, struct ar_str cursor,
			struct ar_str event);
void ar_rpc_write_ended(struct ar_buf *out, struct ar_str subscription, struct ar_str cursor,
			struct ar_str error);

#endif
