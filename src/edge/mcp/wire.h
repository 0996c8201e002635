/* How messages travel to one server and back: the seam between the protocol and its transports. Loop thread
 * only.
 *
 * Contract: no callback runs inside a call of ours; none but on_closed after close, which may be called from
 * any callback. Every request that was sent ends with a message that answers it or with on_failed, unless it
 * was settled before or the wire is gone. */
#ifndef AR_MCP_WIRE_H
#define AR_MCP_WIRE_H

#include "mcp.h"

struct ar_mcp_send {
	struct ar_str text; /* one message; copied */
	int64_t id; /* of a request; 0: no answer is awaited */
	const char *method; /* NULL: an answer to the server */
	/* What the request is about, where the protocol wants it beside the text; may be absent */
	struct ar_str name;
	struct ar_str headers; /* further lines "Name: value\n" for HTTP */
	bool wants_ack; /* on_acked comes when the message has arrived, or never will */
};

struct ar_mcp_failure {
	bool sent; /* the server may have read it */
	bool timed_out;
	bool garbled; /* an answer came that cannot be read */
	int http; /* status; 0: none */
	struct ar_str body; /* of a refusal; may be a message */
	const char *why;
};

struct ar_mcp_wire_events {
	/* A text that should be a message. `stream` is the request on whose stream it came, 0 when that is
	 * not known. */
	void (*on_message)(void *owner, struct ar_str text, int64_t stream);
	void (*on_failed)(void *owner, int64_t id, const struct ar_mcp_failure *f);
	void (*on_acked)(void *owner);
	/* Nothing comes or goes any more; only close is left to do. */
	void (*on_gone)(void *owner, const char *why);
	/* After close, maybe from inside it: nothing of it is left, no process and no memory. */
	void (*on_closed)(void *owner);
};

struct ar_mcp_wire;

struct ar_mcp_wire_vtable {
	void (*send)(struct ar_mcp_wire *w, const struct ar_mcp_send *m);
	/* The request is over. `abandoned`: no answer came, and none is wanted. */
	void (*settle)(struct ar_mcp_wire *w, int64_t id, bool abandoned);
	/* From here on this revision is spoken. `version` is a literal; NULL: not known yet. */
	void (*agree)(struct ar_mcp_wire *w, const char *version, bool modern);
	/* Ready to hear what the server says unasked. */
	void (*listen)(struct ar_mcp_wire *w);
	void (*close)(struct ar_mcp_wire *w);
};

struct ar_mcp_wire {
	const struct ar_mcp_wire_vtable *v;
	const struct ar_mcp_wire_events *events;
	void *owner;
	bool closing_cancels; /* an abandoned request is cancelled by settling it alone, once modern */
};

AR_BEGIN_DECLS

/* Starts the program of the options. A program that cannot be started is a wire that is gone at once. */
struct ar_mcp_wire *ar_mcp_stdio_open(uv_loop_t *loop, const struct ar_mcp_options *o,
				      const struct ar_mcp_wire_events *events, void *owner);

struct ar_mcp_wire *ar_mcp_http_open(uv_loop_t *loop, const struct ar_mcp_options *o,
				     const struct ar_mcp_wire_events *events, void *owner);

AR_END_DECLS

#endif
