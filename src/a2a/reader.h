/* What a peer says, read from its JSON (A2A 1.0) into the words of the peer port. A peer may say anything:
 * each size has a limit, ids and words are lines of text, what contradicts the standard is refused with a
 * sentence. Unknown members are passed over. Pure functions; text lives in the arena. */
#ifndef AR_A2A_READER_H
#define AR_A2A_READER_H

#include "json.h"
#include "peer/peer.h"

#define AR_A2A_ID_MAX 256
#define AR_A2A_MESSAGE_MAX ((size_t)64 * 1024) /* bytes of a status message; what is longer is cut */
#define AR_A2A_ARTIFACTS_MAX 256 /* of a task */
#define AR_A2A_PARTS_MAX 256 /* of an artifact or message */
#define AR_A2A_TASKS_MAX 100 /* of a page */
#define AR_A2A_INTERFACES_MAX 16

/* The way to read: where text goes, what may come, and why something was refused. */
struct ar_a2a_reading {
	struct ar_arena *arena;
	size_t bytes_max; /* of the parts of artifacts in one document, decoded */
	size_t bytes; /* read so far */
	const char *why; /* a sentence; set when something else than AR_PEER_OK is returned */
};

/* An error that the peer reports of itself. */
struct ar_a2a_fault {
	int32_t code; /* JSON-RPC; 0: none */
	struct ar_str reason; /* its sentence, harmless to print; absent: none */
};

struct ar_a2a_interface {
	struct ar_str url, binding, version, tenant; /* tenant: absent: none */
};

struct ar_a2a_card {
	struct ar_str name, description, version;
	struct ar_a2a_interface interfaces[AR_A2A_INTERFACES_MAX]; /* as the peer prefers them */
	size_t interface_count;
	bool has_streaming, has_push;
	bool is_repeat_safe; /* it has the extension AR_A2A_MESSAGE_ID_EXTENSION */
	struct ar_str required; /* an extension that a client must know; absent: none */
};

AR_BEGIN_DECLS

/* By either spelling: TASK_STATE_INPUT_REQUIRED or input-required. Any other word is UNKNOWN. */
enum ar_peer_state ar_a2a_state(struct ar_str word);

/* The result in a JSON-RPC response to the request with this id. Otherwise what its error means. */
enum ar_peer_error ar_a2a_read_rpc(struct ar_a2a_reading *r, struct ar_json doc, int64_t id,
				   struct ar_json *ret_result, struct ar_a2a_fault *ret_fault);

/* What an answer of HTTP+JSON that is no success means; an absent document is one that could not be read. */
enum ar_peer_error ar_a2a_read_http_error(struct ar_a2a_reading *r, int status, struct ar_json doc,
					  struct ar_a2a_fault *ret_fault);

/* Task: GetTask and CancelTask. */
enum ar_peer_error ar_a2a_read_task(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_update *ret);

/* StreamResponse: an event of a stream, and (only task and message) the answer to SendMessage. */
enum ar_peer_error ar_a2a_read_event(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_update *ret);

/* The task that a push is about, in either version; absent: it names none. False: it is no push. Nothing
 * else of it is read. The text lives as long as the document. */
bool ar_a2a_push_task(struct ar_json v, struct ar_str *ret);

/* ListTasksResponse. */
enum ar_peer_error ar_a2a_read_list(struct ar_a2a_reading *r, struct ar_json v, struct ar_peer_update **ret,
				    size_t *ret_count, struct ar_str *ret_next);

/* AgentCard, also one of 0.3, whose interfaces have the version it names. */
enum ar_peer_error ar_a2a_read_card(struct ar_a2a_reading *r, struct ar_json v, struct ar_a2a_card *ret);

AR_END_DECLS

#endif
