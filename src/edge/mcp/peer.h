/* One connection to a server: opened, agreed upon, kept alive, opened again. Matches answers to requests,
 * gives each a deadline, and says what the server wants. What is asked is its users'. Loop thread only. */
#ifndef AR_MCP_PEER_H
#define AR_MCP_PEER_H

#include "json.h"
#include "list.h"
#include "rpc.h"
#include "wire.h"

#define AR_MCP_PENDING_MAX 256
#define AR_MCP_NEVER INT64_MAX
#define AR_MCP_STARTS_MAX 32

/* What all connections of one source share. */
struct ar_mcp_setup {
	uv_loop_t *loop;
	const struct ar_mcp_options *options;
	struct ar_json_parser *answers; /* of the message being read */
	/* its own: what a callback starts must not end that message's document */
	struct ar_json_parser *requests;
	enum ar_mcp_era era; /* what the server was found to speak; AR_MCP_AUTO: not known */
	size_t peers; /* that are not gone yet, processes and memory */
	void (*on_quiet)(struct ar_mcp_setup *setup); /* the last of them is gone */
};

struct ar_mcp_request;

struct ar_mcp_request_vtable {
	/* One of these ends it; afterwards the memory is its user's. */
	void (*on_answer)(struct ar_mcp_request *r, const struct ar_mcp_message *m); /* RESULT or ERROR */
	void (*on_failed)(struct ar_mcp_request *r, const struct ar_mcp_failure *f);
	void (*on_progress)(struct ar_mcp_request *r, struct ar_json params); /* may be NULL */
};

/* Embedded by its user; set v and deadline (monotonic, or AR_MCP_NEVER). */
struct ar_mcp_request {
	const struct ar_mcp_request_vtable *v;
	ar_usec deadline;
	int64_t id; /* 0: not under way */
	struct ar_list node;
};

struct ar_mcp_peer_events {
	void (*on_ready)(void *owner);
	void (*on_down)(void *owner, const char *why); /* its requests have failed before */
	void (*on_list_changed)(void *owner); /* of the tools */
	/* The server asks for a person. `stream` is the request it belongs to, NULL when that is not
	 * known. */
	void (*on_asked)(void *owner, const struct ar_mcp_message *m, struct ar_mcp_request *stream);
};

enum ar_mcp_peer_state {
	AR_MCP_DOWN = 1,
	AR_MCP_PAUSING, /* opens after a pause */
	AR_MCP_OPENING,
	AR_MCP_READY,
};

/* owner: loop thread */
struct ar_mcp_peer {
	struct ar_mcp_setup *setup;
	const struct ar_mcp_peer_events *events;
	void *owner;
	enum ar_mcp_peer_state state;
	char why[600]; /* it is down */

	/* The rest is of peer.c and handshake.c. */
	struct ar_mcp_wire *wire;
	uv_timer_t timer;
	struct ar_list requests;
	size_t request_count;
	int64_t last_id;
	bool modern;
	const char *version;
	ar_usec open_at, open_deadline, listen_at;
	ar_usec starts[AR_MCP_STARTS_MAX]; /* newest last */
	uint32_t start_count;
	uint32_t failures; /* in a row */
	uint32_t garbled; /* texts in a row that were no messages */
	struct ar_mcp_request hello, listen;
	uint8_t hello_stage;
	uint8_t listen_failures;
	bool asked_twice, skips_probe, reports_changes;
	uint32_t handles; /* wires and the timer, until each is closed */
};

AR_BEGIN_DECLS

struct ar_mcp_peer *ar_mcp_peer_new(struct ar_mcp_setup *setup, const struct ar_mcp_peer_events *events,
				    void *owner);

/* Opens it unless it is open or about to be; on_ready or on_down follows. False when it was opened too often
 * lately: `why` says so. */
bool ar_mcp_peer_open(struct ar_mcp_peer *p);

/* Ends it without events. Requests must have been dropped. */
void ar_mcp_peer_close(struct ar_mcp_peer *p);

/* An id for the next request: the text that is sent must carry it. */
int64_t ar_mcp_peer_id(struct ar_mcp_peer *p);

/* `m` needs text, method, and what goes with them; READY only, except for the handshake. False when too many
 * are pending. */
AR_MUST_USE bool ar_mcp_peer_send(struct ar_mcp_peer *p, struct ar_mcp_request *r, int64_t id,
				  struct ar_mcp_send *m);

/* No end is wanted any more; nothing is called. With `cancel` the server gets a
 * cancellation with that reason. */
void ar_mcp_peer_drop(struct ar_mcp_peer *p, struct ar_mcp_request *r, const char *cancel);

/* The answer to a request of the server: JSON of its id and of the result. */
void ar_mcp_peer_answer(struct ar_mcp_peer *p, struct ar_str id, struct ar_str result);

/* The session at the server is over though the wire is not: down, then it can be opened again. */
void ar_mcp_peer_reset(struct ar_mcp_peer *p, const char *why);

ar_usec ar_mcp_now(void);

/* ---- between peer.c and handshake.c ---- */

void ar_mcp_handshake_begin(struct ar_mcp_peer *p);
void ar_mcp_handshake_acked(struct ar_mcp_peer *p);
void ar_mcp_handshake_listen(struct ar_mcp_peer *p); /* subscribes to changes, in the modern era */
bool ar_mcp_handshake_can_skip_probe(const struct ar_mcp_peer *p);
void ar_mcp_peer_ready(struct ar_mcp_peer *p);
void ar_mcp_peer_down(struct ar_mcp_peer *p, const char *why);
void ar_mcp_peer_arm(struct ar_mcp_peer *p);

AR_END_DECLS

#endif
